"""Recorder: records reads, views and in-place writes, in addition to calls.

A program has no in-place writes. An array that is written to gets a new value, and so do the
arrays that it is a view of; other views of these are read again at their next use.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, NoReturn

import numpy as np

from chainrules_compile.errors import MISS, RecordingError, Unfit
from chainrules_compile.internal_functions import Through, Written, laid_out
from chainrules_compile.layouts import is_compact, layout_of
from chainrules_compile.passes.analysis import flat
from chainrules_compile.recorded_calls import UNSURE, Notes
from chainrules_compile.recorded_types import METADATA
from chainrules_compile.recorded_values import Noted, Reading, holds_tracers, plain
from chainrules_compile.statistics_steps import in_steps
from chainrules_py.extend import aliases, call_native, flatten, joined, type_info
from chainrules_py.ops.engine_operations import Index, duplicate, read, read_whole, store
from chainrules_py.program import Call, Value

shares: ContextVar[bool] = ContextVar("shares", default=False)
"""Whether derivatives stay inside the program, so that engines' copies of them are omitted."""


@contextlib.contextmanager
def sharing(yes: bool = True) -> Iterator[None]:
    """Set whether the copies that engines make of derivatives are omitted."""
    token = shares.set(yes)
    try:
        yield
    finally:
        shares.reset(token)


def apart(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that runs without `sharing`, so that derivatives in it are copied."""

    def inside(*xs: Any) -> Any:
        with sharing(False):
            return f(*xs)

    return inside


class Recorder(Notes):
    """Record of one run of a function, including the arrays that it writes to."""

    # ------------------------------------------------------------------------ reading and writing

    def call_function(self, function: Any, operands: Any, keywords: dict[str, Any]) -> Any:
        """Compute and record a call of a library function."""
        if function in METADATA:
            return function(*map(plain, operands), **keywords)
        if keywords.get("out") is not None:
            return self.write_result(function, "", operands, keywords)
        if function in WRITERS:
            first = keywords.pop(WRITERS[function], *operands[:1])
            return self.write_by(function, (first, *operands[1:]), keywords)
        if function is np.nan_to_num and not (*operands[1:2], keywords.get("copy", True))[0]:
            raise RecordingError(
                "nan_to_num(x, copy=False) writes to an array that it is given, in a function that "
                "is being compiled; use what np.nan_to_num(x) gives"
            )
        if (y := in_steps(function, operands, keywords)) is not None:
            return y
        return self.compute(function, function, operands, keywords)

    def call_method(self, name: str, member: Any, operands: Any, keywords: dict[str, Any]) -> Any:
        """Compute and record a method call."""
        operands = joined(operands)
        if name in WRITING_METHODS:
            return self.write_by(member, operands, keywords)
        if keywords.get("out") is not None:
            return self.write_result(member, "", operands, keywords)
        if name in REFUSED_METHODS:
            raise RecordingError(
                f"{name}() changes an array of a function that is being compiled; write "
                f"{REFUSED_METHODS[name]}"
            )
        if member in aliases and holds_tracers((operands, keywords)):  # an engine's, as of X.dot(w)
            return call_native(member, operands, keywords)
        return self.compute(member, member, operands, keywords)

    def attribute(self, x: Noted, name: str) -> Any:
        """Compute and record a property."""
        if name in ("flat", "ctypes", "data", "base"):
            raise RecordingError(
                f"a compiled function reads {name} of an array, which no program has; "
                f"write x.reshape(-1)"
            )
        return self.call(PROPERTIES.setdefault(name, operator.attrgetter(name)), (x,), {})

    def read(self, x: Noted, where: Any) -> Any:
        """Compute and record ``x[where]``."""
        pattern, arrays = Index.split(where, as_index)
        y = x.payload[pattern.join(tuple(map(plain, arrays)))]
        made = self.note(read, (x, *arrays), {"index": pattern}, y)
        reading = getattr(made, "reading", None)
        if reading is not None and not arrays:
            reading.where = pattern
        return made

    def read_again(self, x: Noted) -> None:
        """Record the reading of a view again, after its parent was written to."""
        reading = x.reading
        assert reading is not None
        places = tuple([self.operand(y) for y in reading.operands])
        parent = reading.parent.current
        x.noted = self._value(x.payload, self._name(), parent.memory or parent)
        results = [Value(self._name()) for _ in range(reading.results)]
        results[reading.index] = x.noted
        self.calls.append(Call(reading.function, places, reading.options, tuple(results)))

    def read_only(self, x: Noted) -> Noted:
        """Return a recorded array with the same elements that cannot be written to."""
        memory = type_info(type(x.payload)).memory
        assert memory is not None
        assert memory.read_only is not None
        call = read, (x,), {"index": read_whole}
        return self._noted(memory.read_only(x.payload), self.mine(x).current, x, call)

    # ------------------------------------------------------------------------------------- memory

    def owner(self, array: Any) -> Any:
        """Return the recorded value of an array; the array itself if there is none."""
        found = self._owners.get(id(array))
        noted = None if found is None else found()
        return noted if noted is not None and noted.payload is array else array

    def laid_out(self, x: Noted, like: Any) -> Any:
        """Record a copy of an array with the axis order in memory of another."""
        strides = plain(like).strides
        axes = tuple(sorted(range(len(strides)), key=lambda i: -abs(strides[i])))
        return self.call(laid_out, (x,), {"axes": axes})

    def own(self, stated: Any, x: Noted, theirs: tuple[Any, ...]) -> Any:
        """Return an array, or a recorded copy where its library returns a copy to the user."""
        kept = shares.get() or stated(x.payload, tuple(map(plain, theirs))) is x.payload
        return x if kept else duplicate(x)

    def apart(self, names: dict[Value, str], scope: Any) -> list[str]:
        """Return the statement that returns ``MISS`` if inputs share memory, where it matters.

        Raises
        ------
        Unfit
            If inputs or captured arrays share memory in this call.
        """
        given, self.given = self.given, []  # the program outlives the arguments
        if not (self.overlaps or store in self.operations):
            return []
        arrays = [x for x in self.inputs if x.type is np.ndarray]
        if not are_apart(*[*given, *self.captured.values()]):
            raise Unfit(
                "arrays that share memory are given, or captured, and written to", once=True
            )
        if len(arrays) < 2:
            return []
        test, miss = scope.name(are_apart, "are_apart"), scope.name(MISS, "MISS")
        return [f"if not {test}({', '.join([names[x] for x in arrays])}):\n        return {miss}"]

    # ------------------------------------------------------------------------------------ writing

    def write(self, x: Noted, where: Any, value: Any) -> None:
        """Record ``x[where] = value``: the array gets a new value."""
        pattern, arrays = Index.split(where, as_index)
        reading = getattr(value, "reading", None)
        if reading is not None and reading.parent is x and reading.where == pattern:
            return  # the second half of x[i] += y
        self._check_writable(x)
        operands = (x.current, self.operand(value), *map(self.operand, arrays))
        x.payload[pattern.join(tuple(map(plain, arrays)))] = plain(value)
        self._become(x, store, operands, {"index": pattern})

    def write_operator(self, x: Noted, function: Any, other: Any) -> None:
        """Record ``x += other`` or another in-place operator."""
        self._check_writable(x)
        operands = (x.current, self.operand(other))
        now, theirs = x.payload, plain(other)
        y = function(now, theirs)
        getattr(operator, f"i{function.__name__.strip('_')}")(now, theirs)  # such as iadd
        alike = type(y) is type(now) and y.dtype == now.dtype
        if alike and (x.reading is not None or layout_of(y) == layout_of(now)):
            self._become(x, function, operands, {}, y)
        else:
            value = self._value(y, self._name(), None)
            self.calls.append(Call(function, operands, {}, (value,)))
            self._become(x, store, (operands[0], value), {"index": read_whole})

    def add_at(
        self, operation: Any, x: Any, rest: tuple[Any, ...], options: dict[str, Any]
    ) -> None:
        """Record an operation that adds to a buffer of an engine, such as `scatter_add`."""
        if not isinstance(x, Noted):
            msg = "a traced value is added to a plain buffer"  # no engine of this project does
            raise RecordingError(msg)
        self._check_writable(x)
        operands = (x.current, *map(self.operand, rest))
        implementation = operation.implementation((x.payload_type, *map(type, map(plain, rest))))
        implementation(x.payload, *map(plain, rest), **options)
        self._become(x, operation, operands, options)

    def write_by(self, function: Any, operands: Any, keywords: dict[str, Any]) -> None:
        """Record a function that writes into its first operand, and returns None."""
        x, *rest = map(joined, operands)
        if not isinstance(x, Noted):
            refuse_plain(function)
        self._check_writable(x)
        written = Written(function, tuple(keywords))
        given = (x.current, *map(self.operand, (*rest, *keywords.values())))
        function(x.payload, *map(plain, rest), **{k: plain(y) for k, y in keywords.items()})
        self._become(x, written, given, {})

    def write_result(
        self, function: Any, method: str, operands: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        """Record a function that writes its result, or its results, into ``out``."""
        keywords = dict(keywords)
        outs = keywords.pop("out")
        outs = outs if type(outs) is tuple else (outs,)
        given = [out for out in outs if out is not None]
        if not all([isinstance(out, Noted) for out in given]):
            refuse_plain(function)
        leaves = method == "__call__" or function in (np.clip, np.ndarray.clip)
        where = keywords.pop("where", True) if leaves else True  # in a sum it selects the summands
        if method not in ("", "__call__"):
            function = getattr(function, method)
        y = self.call(function, operands, keywords)
        pairs = list(zip(outs, y if len(outs) > 1 else (y,), strict=True))
        for out, z in [pair for pair in pairs if pair[0] is not None]:
            self.write(out, ..., z if where is True else self.call(np.where, (where, z, out), {}))
        results = tuple([z if out is None else out for out, z in pairs])
        return results if len(outs) > 1 else results[0]

    def writes(self, x: Noted) -> int:
        """Return how often the memory of an array was written to."""
        while x.reading is not None:
            x = x.reading.parent
        return self._writes.get(id(x.payload), 0)

    def _check_writable(self, x: Noted) -> None:
        self.check_errors()
        parent = self.mine(x)
        while (reading := parent.reading) is not None:
            if reading.place is None:
                raise RecordingError(
                    "a view of several arrays is written to in a function that is being compiled; "
                    "write to a copy, or to the array itself"
                )
            parent = reading.parent
        if parent.current.memory not in (None, UNSURE) or parent.current in self.inputs:
            raise RecordingError(
                "an argument, or an array that shares its memory, is written to in a function that "
                "is being compiled; write to a copy: x = x.copy()"
            )

    def _become(self, x: Noted, function: Any, operands: Any, options: Any, y: Any = None) -> None:
        """Record the call that gives the new value of an array; update the arrays that it views."""
        x.noted = value = self._value(copied(x.payload) if y is None else y, self._name(), None)
        of_two = not options and len(operands) == 2 and type(operands[1]) is Value
        made = flat(function, operands, (value,)) if of_two else None
        self.calls.append(made or Call(function, operands, options, (value,)))
        forget_views(x)
        part = x
        while part.reading is not None:
            parent = part.reading.parent
            self._write_back(part, part.reading)
            forget_views(parent, part)
            part = parent
        self._writes[id(part.payload)] = self._writes.get(id(part.payload), 0) + 1
        # The new values own their memory: where the layout of a view differs, it is read again.
        while x.reading is not None:
            if x.noted is not None and x.noted.layout != layout_of(x.payload):
                x.noted = None
            x = x.reading.parent

    def _write_back(self, part: Noted, reading: Reading) -> None:
        """Record the new value of an array after a write to a view of it."""
        parent, place = reading.parent, reading.place
        before, now = parent.current, part.noted
        parent.noted = self._value(copied(parent.payload), self._name(), None)
        if reading.where is not None:
            options = {"index": reading.where}
            self.calls.append(Call(store, (before, now), options, (parent.noted,)))
            return
        assert place is not None
        rest = [x for x in reading.operands if x is not parent]
        index = None if reading.results == 1 else reading.index
        through = Through(reading.function, place, index)
        places = (before, now, *map(self.operand, rest))
        self.calls.append(Call(through, places, reading.options, (parent.noted,)))


WRITERS = {
    np.copyto: "dst",
    np.putmask: "a",
    np.place: "arr",
    np.put: "a",
    np.put_along_axis: "arr",
    np.fill_diagonal: "a",
}
"""Library functions that write into their first operand, and return None; the operand's name."""
WRITING_METHODS = frozenset(("fill", "sort", "partition", "put"))
REFUSED_METHODS = {
    "resize": "x = np.resize(x, shape)",
    "itemset": "x[i] = value",
    "setflags": "x = x.copy()",
}
PROPERTIES: dict[str, Any] = {}


def refuse_plain(function: Any) -> NoReturn:
    """Raise for a recorded value that is written into a plain array.

    Raises
    ------
    RecordingError
        Always; the message says what to write instead.
    """
    raise RecordingError(
        f"np.{function.__name__} is to write into a plain array, which the next call would not see;"
        f" make the array in the function, as np.zeros_like(x, shape=n), with dtype=bool for a "
        f"mask, or use the result"
    )


def are_apart(*arrays: Any) -> bool:
    """Return whether no two arrays may share memory."""
    share = np.may_share_memory
    return not any([share(x, y) for i, x in enumerate(arrays) for y in arrays[:i]])


def copied(x: Any) -> Any:
    """Return an array with the layout of a copy; its elements may differ."""
    return x if is_compact(x) else np.empty_like(x)


def forget_views(x: Noted, but: Noted | None = None) -> None:
    """Mark the views of an array to be read again, except one."""
    if x.views is None:
        return
    living = [(reference, view) for reference in x.views if (view := reference()) is not None]
    x.views = [reference for reference, _ in living]
    for _, view in living:
        if view is not but:
            view.noted = None
            forget_views(view)


def as_index(entry: Any) -> Any:
    """Return a list in an index as an array; recorded if it contains recorded numbers."""
    if any([isinstance(x, Noted) for x in flatten(entry)[0]]):
        return np.stack([as_index(x) if isinstance(x, (list, tuple)) else x for x in entry])
    return np.asarray(entry) if len(entry) else np.zeros((0,), np.intp)
