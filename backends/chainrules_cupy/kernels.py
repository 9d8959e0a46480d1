"""Kernels that compute an element-by-element function, or its sum along axes, in one launch.

The text of a kernel is written from the rule itself, so that no derivative is stated twice.
"""

from __future__ import annotations

import contextlib
import functools
import zlib
from collections.abc import Callable
from typing import Any, final

import cupy
import numpy as np

from chainrules_cupy.captured import Captured
from chainrules_cupy.expressions import Expression, Program, trace
from chainrules_py.extend import invalidate
from chainrules_py.vocabulary.reductions import sum

made: dict[Any, Kernel] = {}
"""The kernels made so far, for whoever wants to see or to compile them."""

PICK = "template <typename A> __device__ A pick(bool c, A x, A y) { return c ? x : y; }"
"""A choice between two values, as a function: of both the values are there."""

_DTYPES = "fdFD"
_CHANGES = 16
"""How often what a function captures may change before its kernels are given up."""

_TRIED = tuple(map(np.dtype, "dD"))
"""What tells whether there is anything to fuse; kernels are made for each dtype that comes."""


@final
class Kernel:
    """An element-by-element function of n arrays of one dtype, as two kernels of CuPy's.

    Attributes
    ----------
    lines : list of str
        What it does, an operation in a line.
    results : tuple of str
        The names of what it gives.
    """

    def __init__(
        self,
        lines: list[str],
        results: tuple[str, ...],
        types: tuple[str, ...],
        is_complex: bool,
        outs: tuple[str, ...],
    ) -> None:
        self.lines, self.results, self.types, self.is_complex = lines, results, types, is_complex
        self.outs = outs
        # The same in every process: what CuPy has compiled once it keeps on the disk.
        text = "\n".join([*lines, *results, *types, *outs, str(is_complex)])
        self.name = f"chainrules_{zlib.crc32(text.encode()):08x}"
        self._each: Any = None
        self._sum: Any = None

    @property
    def each(self) -> Any:
        """For each element."""
        if self._each is None:
            stores = [f"y{i} = {result};" for i, result in enumerate(self.results)]
            self._each = cupy.ElementwiseKernel(
                self._parameters,
                ", ".join([f"{out} y{i}" for i, out in enumerate(self.outs)]),
                "\n".join([*self.lines, *stores]),
                self.name,
                preamble=PICK,
            )
        return self._each

    @property
    def _parameters(self) -> str:
        return ", ".join(f"{type_} x{i}" for i, type_ in enumerate(self.types))

    @property
    def sum(self) -> Any:
        """Its sum, of the only result."""
        if self._sum is None:
            parameters = self._parameters
            body = "\n".join([*self.lines, f"return {self.results[0]};"])
            function = (
                f"template <typename T> __device__ T {self.name}_of({parameters}) {{ {body} }}"
            )
            names = ", ".join(f"x{i}" for i in range(len(self.types)))
            self._sum = cupy.ReductionKernel(
                parameters,
                "T y",
                f"{self.name}_of({names})",
                "a + b",
                "y = a",
                "0",
                f"{self.name}_sum",
                preamble=f"{PICK}\n{function}",
            )
        return self._sum

    def __repr__(self) -> str:
        return f"<kernel {self.name}: {' '.join(self.lines)}>"


def kernel_for(
    program: Program, names: tuple[str, ...], types: tuple[str, ...], outs: tuple[str, ...] = ()
) -> Kernel:
    """Return the kernel of these lines, which is made once and then reused.

    ``types`` are those of its parameters: ``T``, or ``bool``; and ``outs`` those of its results,
    all of them ``T`` where nothing is said.
    """
    outs = outs or ("T",) * len(names)
    key = (*program.lines, names, types, outs, program.is_complex)
    kernel = made.get(key)
    if kernel is None:
        new = Kernel(program.lines, names, types, program.is_complex, outs)
        kernel = made.setdefault(key, new)
    return kernel


@final
class Fused:
    """The kernels of an element-by-element function of n operands, one for each dtype.

    Numbers that it captures are written into them: where those have changed, others are made.

    Attributes
    ----------
    gain : int
        As how many operations it is one launch; 0 where it is none.
    """

    def __init__(self, f: Callable[..., Any], n: int) -> None:
        self.f, self.n = f, n
        self._found: dict[str, tuple[Kernel, Any, bool] | None] = {}
        self._captured, self._changes = Captured(f), 0
        found = [self._of(dtype) for dtype in _TRIED]
        self.gain = max([len(of[0].lines) for of in found if of is not None], default=0)

    def of(self, operands: tuple[Any, ...]) -> tuple[Kernel, Any, bool] | None:
        """Find the kernel for operands that are arrays of one dtype and real numbers, or None.

        With it come the places of its results among the function's, and whether that is one only.
        """
        dtype = None
        for x in operands:
            if type(x) is cupy.ndarray:
                if dtype is None:
                    dtype = x.dtype
                elif x.dtype is not dtype and x.dtype != dtype:
                    return None
            elif type(x) not in (int, float):
                return None
        if dtype is None or dtype.char not in _DTYPES:
            return None
        if self._captured.has_changed():
            self._begin_again()
        try:
            return self._found[dtype.char]
        except KeyError:
            return self._of(dtype)

    def _begin_again(self) -> None:
        """Forget the kernels; after so many times there are none: to compile one takes too long."""
        self._changes += 1
        often = self._changes > _CHANGES
        self._found = dict.fromkeys(_DTYPES) if often else {}
        self._captured = Captured(None if often else self.f)

    def _of(self, dtype: Any) -> tuple[Kernel, Any, bool] | None:
        found = None
        with contextlib.suppress(Exception):  # what is not done element by element has no kernel
            found = self._traced(dtype)
        self._found[dtype.char] = found
        return found

    def _traced(self, dtype: Any) -> tuple[Kernel, Any, bool] | None:
        program, given, single = trace(self.f, self.n, dtype)
        computed = [x.name for x in given if isinstance(x, Expression) and not _is_operand(x.name)]
        names = tuple(dict.fromkeys(computed))
        if not names:
            return None
        places = [
            names.index(x.name) if isinstance(x, Expression) and x.name in names else _operand(x)
            for x in given
        ]
        return kernel_for(program, names, ("T",) * self.n), places, single

    def __call__(self, *operands: Any) -> Any:
        """Compute the function, in one launch where that is possible."""
        found = self.of(operands)
        if found is None:
            return self.f(*operands)
        kernel, places, single = found
        y = kernel.each(*operands)
        if single:
            return y
        return _assembled(places, y if len(kernel.results) > 1 else (y,), operands)

    def sum(self, operands: tuple[Any, ...], axes: Any) -> Any:
        """Sum the function along axes, kept with length one, in one launch if possible."""
        found = self.of(operands)
        if found is None or not found[2]:
            return sum(self.f(*operands), axis=axes, keepdims=True)
        return found[0].sum(*operands, axis=axes, keepdims=True)


def _is_operand(name: str) -> bool:
    return name.startswith("x")


def _operand(x: Any) -> Any:
    return (int(x.name[1:]),) if isinstance(x, Expression) else [x]


def _assembled(places: Any, found: Any, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Order the results: computed ones by number, operands in a tuple, constants in a list."""
    return tuple(
        [
            found[p] if type(p) is int else operands[p[0]] if type(p) is tuple else p[0]
            for p in places
        ]
    )


on = True


def fuse_pulls(enabled: bool) -> None:
    """Turn kernels for the pulls of rules on or off from now on; they are on by default."""
    global on
    on = enabled
    invalidate()


def fused(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return an element-by-element function that is one launch for arrays of one dtype.

    Of other arrays, of tracers and of other libraries' it is the function itself.
    """
    once = _when_called(f)

    @functools.wraps(f)
    def one(*operands: Any) -> Any:
        return once()(*operands)

    return one


def fused_sum(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return the sum of an element-by-element function along axes, which stay, as one launch."""
    once = _when_called(f)

    @functools.wraps(f)
    def one(*operands: Any, axis: Any) -> Any:
        return once().sum(operands, axis)

    return one


def _when_called(f: Callable[..., Any]) -> Callable[[], Fused]:
    """Made at the first call: the rules that a trace needs may not be there before."""
    return functools.cache(lambda: Fused(f, f.__code__.co_argcount))


def together(f: Callable[..., Any], n: int, least: int) -> Callable[..., Any] | None:
    """Return a function of n operands as one launch; None if it has under `least` operations."""
    one = Fused(f, n)
    if one.gain < least:
        return None

    def run(*operands: Any) -> Any:  # on which a rule writes what it is
        return one(*operands)

    return run


def summed(f: Callable[..., Any], n: int) -> Callable[..., Any] | None:
    """``(plan, *operands) -> plan(f(*operands))`` in one launch."""
    one = Fused(f, n)
    if not one.gain:
        return None

    def run(plan: Any, *operands: Any) -> Any:
        found = one.of(operands)
        if found is None:
            return plan(f(*operands))
        ndim = max([getattr(x, "ndim", 0) for x in operands])
        axes = plan.axes if type(plan.axes) is tuple else (plan.axes,)
        axes = tuple([axis % ndim for axis in axes])
        return plan.shaped(found[0].sum(*operands, axis=axes, keepdims=plan.keepdims))

    return run
