"""One launch for an element-by-element function, and one for its sum along axes.

The text of a kernel is written from the rule itself, so that no derivative is stated twice.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable
from typing import Any, final

import cupy

from chainrules_cupy.expressions import Expression, Program, trace
from chainrules_py.dispatch import invalidate
from chainrules_py.fusing import register_fuser
from chainrules_py.vocabulary.reductions import sum

__all__ = ["Kernel", "fuse_pulls", "fused", "fused_sum", "kernel_of", "made"]

made: dict[Any, Kernel] = {}
"""The kernels made so far, for whoever wants to see or to compile them."""

PICK = "template <typename A> __device__ A pick(bool c, A x, A y) { return c ? x : y; }"
"""A choice between two values, as a function: of both the values are there."""

_REAL, _COMPLEX = "fd", "FD"


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
        self, lines: list[str], results: tuple[str, ...], types: tuple[str, ...], complex: bool
    ) -> None:
        self.lines, self.results, self.types, self.complex = lines, results, types, complex
        # The same in every process: what CuPy has compiled once it keeps on the disk.
        text = "\n".join([*lines, *results, *types, str(complex)])
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
                ", ".join(f"T y{i}" for i in range(len(self.results))),
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

    def fits(self, arrays: tuple[Any, ...]) -> bool:
        """Whether these are arrays of one dtype that it is for, and real numbers."""
        dtype = None
        for x in arrays:
            if type(x) is cupy.ndarray:
                if dtype is None:
                    dtype = x.dtype
                elif x.dtype is not dtype and x.dtype != dtype:
                    return False
            elif type(x) not in (int, float):
                return False
        return dtype is not None and dtype.char in (_COMPLEX if self.complex else _REAL)

    def __repr__(self) -> str:
        return f"<kernel {self.name}: {'; '.join(self.lines)}>"


def kernel_for(program: Program, names: tuple[str, ...], types: tuple[str, ...]) -> Kernel:
    """The kernel of these lines, which is made once.

    ``types`` are those of its parameters: ``T``, or ``bool``.
    """
    key = (*program.lines, names, types, program.complex)
    kernel = made.get(key)
    if kernel is None:
        kernel = made.setdefault(key, Kernel(program.lines, names, types, program.complex))
    return kernel


def kernel_of(f: Callable[..., Any], n: int, complex: bool) -> tuple[Kernel | None, Any]:
    """The kernel of a function, and what puts its results in the order of the function's.

    The kernel is None where it would do nothing.
    """
    program, given, single = trace(f, n, complex)
    computed = [x.name for x in given if isinstance(x, Expression) and not _is_operand(x.name)]
    names = tuple(dict.fromkeys(computed))
    kernel = kernel_for(program, names, ("T",) * n) if names else None
    places = [
        names.index(x.name) if isinstance(x, Expression) and x.name in names else _operand(x)
        for x in given
    ]
    return kernel, (places, single)


def _is_operand(name: str) -> bool:
    return name.startswith("x")


def _operand(x: Any) -> Any:
    return (int(x.name[1:]),) if isinstance(x, Expression) else [x]


def _assembled(places: Any, found: Any, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results in order: computed ones by number, operands in a tuple, constants in a list."""
    return tuple(
        [
            found[p] if type(p) is int else operands[p[0]] if type(p) is tuple else p[0]
            for p in places
        ]
    )


_on = True


def fuse_pulls(on: bool) -> None:
    """Whether the pulls of rules become kernels of their own, from now on; they do by default."""
    global _on
    _on = on
    invalidate()


def fused(f: Callable[..., Any]) -> Callable[..., Any]:
    """An element-by-element function of arrays of one dtype as one launch.

    Of other arrays, of tracers and of other libraries' it is the function itself.
    """
    n = f.__code__.co_argcount
    found: list[Callable[..., Any]] = []

    @functools.wraps(f)
    def one(*operands: Any) -> Any:
        if not found:
            found.append(_together(f, n, 1) or f)
        return found[0](*operands)

    return one


def fused_sum(f: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of an element-by-element function along axes, which stay, as one launch."""
    n = f.__code__.co_argcount
    found: list[dict[bool, tuple[Kernel, Any]]] = []

    @functools.wraps(f)
    def one(*operands: Any, axis: Any) -> Any:
        if not found:
            found.append(_kernels(f, n, least=1))
        for kernel, _ in found[0].values():
            if kernel.fits(operands):
                return kernel.sum(*operands, axis=axis, keepdims=True)
        return sum(f(*operands), axis=axis, keepdims=True)

    return one


def _together(f: Callable[..., Any], n: int, least: int) -> Callable[..., Any] | None:
    kernels = _kernels(f, n, least)
    if not kernels:
        return None

    def together(*operands: Any) -> Any:
        for kernel, (places, single) in kernels.values():
            if kernel.fits(operands):
                found = kernel.each(*operands)
                if single:
                    return found
                return _assembled(places, found if len(kernel.results) > 1 else (found,), operands)
        return f(*operands)

    return together


@final
class _Fuser:
    """What the core asks when it binds a rule for arrays of CuPy's."""

    def together(self, f: Callable[..., Any], n: int) -> Callable[..., Any] | None:
        """One launch, where f would take several."""
        return _together(f, n, 2) if _on else None

    def lazily(self, half: Callable[..., Any], y_bar: Any, *saved: Any) -> Any:
        """A half of any rule."""
        from chainrules_cupy.lazy import lazily

        return lazily(half, y_bar, *saved) if _on else half(y_bar, *saved)

    def summed(self, f: Callable[..., Any], n: int) -> Callable[..., Any] | None:
        """One launch for the function and its sum."""
        kernels = _kernels(f, n, least=1) if _on else {}
        if not kernels:
            return None

        def fused(plan: Any, *operands: Any) -> Any:
            for kernel, _ in kernels.values():
                if kernel.fits(operands):
                    ndim = max([getattr(x, "ndim", 0) for x in operands])
                    axes = plan.axes if type(plan.axes) is tuple else (plan.axes,)
                    axes = tuple([axis % ndim for axis in axes])
                    return plan.shaped(kernel.sum(*operands, axis=axes, keepdims=plan.keepdims))
            return plan(f(*operands))

        return fused


def _kernels(f: Callable[..., Any], n: int, least: int) -> dict[bool, tuple[Kernel, Any]]:
    """The kernels of a function for real and for complex numbers, as far as there are such."""
    found: dict[bool, tuple[Kernel, Any]] = {}
    for complex in (False, True):
        try:
            kernel, how = kernel_of(f, n, complex)
        except Exception:  # something that is not done element by element: then it is no kernel
            continue
        if kernel is not None and len(kernel.lines) >= least:
            found[complex] = kernel, how
    return found


register_fuser(cupy.ndarray, _Fuser())
