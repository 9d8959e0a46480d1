"""Programs as CUDA graphs: the launches of one call, captured, and launched again at once."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any, final

from chainrules_compile.results import close

Lines = Callable[..., tuple[Any, ...]]

_WARM = 2
"""So many calls run line by line, and compile the kernels."""
_MOST_CAPTURES = 8


@final
class Graph:
    """CUDA graph of a program, where CUDA captures it; otherwise its lines run as they are.

    It belongs to one device and one stream, and to the numbers among the arguments: in other calls
    the lines run. Arrays are read where they lay when it was captured, or, if one has come from
    another place once, copied to memory of its own first.

    Attributes
    ----------
    state : str
        What serves: ``"lines"``, ``"graph"``, or why there is no graph.
    """

    def __init__(self) -> None:
        self.state = "lines"
        self._calls = self._captures = 0
        self._moving: set[int] = set()
        self._captured: Captured | None = None
        self._lock = threading.Lock()

    def __call__(self, lines: Lines, *given: Any) -> tuple[Any, ...]:
        """Run the program."""
        if self._calls <= _WARM:
            self._calls += 1
            return lines(*given)
        if self.state not in ("lines", "graph") or not self._lock.acquire(blocking=False):
            return lines(*given)
        try:
            return self._run(lines, given)
        finally:
            self._lock.release()

    def _run(self, lines: Lines, given: tuple[Any, ...]) -> tuple[Any, ...]:
        captured = self._captured
        if captured is not None:
            if not captured.is_for(given):
                return lines(*given)
            moved = captured.moved(given) - self._moving
            if not moved:
                return captured.run(given)
            self._moving |= moved
        if self._captures >= _MOST_CAPTURES:
            self.state = "arguments come from other places again and again"
            self._captured = None
            return lines(*given)
        self._captures += 1
        try:
            self._captured = captured = Captured(lines, given, self._moving)
            expected, found = lines(*given), captured.run(given)
        except Exception as error:  # what is computed cannot be captured: a solver looks at numbers
            self.state, self._captured = f"{type(error).__name__}: {error}", None
            return lines(*given)
        self.state = "graph"
        if not close(found, expected):
            self.state, self._captured = "the graph gives another result", None
        return expected


@final
class Captured:
    """Launches of one call, which can be launched again."""

    def __init__(self, lines: Lines, given: tuple[Any, ...], moving: set[int]) -> None:
        import cupy

        self._stream = cupy.cuda.get_current_stream()
        self._key = self._found(given)
        self._buffers = tuple([x.copy() if i in moving else x for i, x in enumerate(given)])
        self._moving = tuple(sorted(moving))
        self._places = [_place(x) for x in given]
        self._launch, self._outputs, self._pool = capture(lines, self._buffers)

    def _found(self, given: tuple[Any, ...]) -> Any:
        import cupy

        numbers = [x for x in given if not isinstance(x, cupy.ndarray)]
        return cupy.cuda.get_current_stream().ptr, cupy.cuda.runtime.getDevice(), repr(numbers)

    def is_for(self, given: tuple[Any, ...]) -> bool:
        """Tell whether a call is on the same stream, with the same numbers."""
        return bool(self._found(given) == self._key)

    def moved(self, given: tuple[Any, ...]) -> set[int]:
        """Return which arguments lie elsewhere."""
        return {i for i, x in enumerate(given) if _place(x) != self._places[i]}

    def run(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Launch what was captured, for arguments that lie anywhere where they may."""
        for i in self._moving:
            self._buffers[i][...] = given[i]
        self._launch(self._stream)
        return tuple([y.copy() for y in self._outputs])  # the next launch writes there again


def _place(x: Any) -> Any:
    data = getattr(x, "data", None)
    return None if data is None else (data.ptr, x.strides)


def capture(
    lines: Lines, given: tuple[Any, ...]
) -> tuple[Callable[[Any], None], tuple[Any, ...], Any]:
    """Capture the launches of a call, in memory that nothing else is given.

    Returns
    -------
    launch : callable
        Takes the stream.
    outputs : tuple
        Where the results are.
    pool : object
        Has the memory.
    """
    import cupy

    cupy.cuda.get_current_stream().synchronize()
    pool, stream = cupy.cuda.MemoryPool(), cupy.cuda.Stream(non_blocking=True)
    with cupy.cuda.using_allocator(pool.malloc), stream:
        lines(*given)  # so that all memory is there: none can be had while launches are captured
        stream.synchronize()
        stream.begin_capture()
        try:
            outputs = lines(*given)
        except BaseException:
            with contextlib.suppress(Exception):
                stream.end_capture()
            raise
        graph = stream.end_capture()
    return lambda stream: graph.launch(stream=stream), outputs, pool
