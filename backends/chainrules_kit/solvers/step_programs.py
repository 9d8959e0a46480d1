"""Cache of compiled programs for the computation at each step of a solution.

Recording a step costs fifty times as much as running its program. The function of the next call is
usually another object with the same code: functions are compared by their code and their cells, and
the program compares the values that they look up elsewhere.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import types
import warnings
from collections.abc import Callable
from typing import Any, final

import numpy as np

from chainrules_kit.solvers.vectors import direction
from chainrules_py import ops as v
from chainrules_py.extend import Closure, Hole, Tree, default_compiler, kind_of, settled

_MOST = 64
"""Largest number of programs in the cache, and of counters of unused programs."""
_DEEP = 4
"""Depth to which functions in the cells of functions are compared."""
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_IN_A_ROW = 3
"""Number of unused programs after which a function is no longer compiled."""
_IN_C = 8
"""Number of uses after which a program is compiled to C, if possible: this takes half a second."""
_programs: dict[Any, Any] = {}
_unused: dict[Any, int] = {}


class _Same:
    """Key that is equal only if its value is the same object."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def _form(x: Any, deep: int = _DEEP) -> Any:
    """Return a key that is equal for functions that differ only in captured arrays."""
    if isinstance(x, Closure):
        return Closure, _form(x.template, deep)
    if isinstance(x, Hole):
        return Hole, int(x)
    if isinstance(x, _PLAIN):
        return type(x), repr(x)
    if isinstance(x, types.MethodType):
        return _form(x.__func__, deep), _Same(x.__self__)
    if isinstance(x, functools.partial):
        parts = x.func, *x.args, *x.keywords.values()
        return functools.partial, tuple(x.keywords), tuple([_form(y, deep) for y in parts])
    if not isinstance(x, types.FunctionType) or not deep:
        return _Same(x)
    cells = [_content(cell) for cell in x.__closure__ or ()]
    stated = [*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
    known = tuple([_form(y, deep - 1) for y in (*cells, *stated)])
    return x.__code__, _Same(x.__globals__), len(cells), known


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the cell is empty
        return cell


@final
class Program:
    """Compiled function of a function and operands; it is dropped if a call fails.

    Parameters
    ----------
    call : callable
        The function that is called as ``call(f, *operands)``.
    f : callable
        The function that is compiled with it, as a function of its captured values.
    compiled : callable
        The compiled function, which takes the captured values instead of f.
    """

    __slots__ = ("_call", "_compiled", "_f", "captured")

    def __init__(self, call: Callable[..., Any], f: Any, compiled: Any) -> None:
        self._call, self._f, self._compiled = call, f, compiled
        self.captured = tuple(f.captured) if isinstance(f, Closure) else ()

    def __call__(self, *operands: Any) -> Any:
        """Call the program, or the function itself if the program fails."""
        if self._compiled is not None:
            try:
                return self._compiled(self.captured, *operands)
            except Exception:  # the call below raises any real error
                self._compiled = None
        return self._call(self._f, *operands)


def program_of(
    call: Callable[..., Any],
    about: Any,
    f: Any,
    operands: Any,
    times: list[float],
    check: Callable[..., bool],
) -> Program | None:
    """Return the program of ``call(about, f, *operands)``, or None if there is none.

    There is none without a compiler, for arrays of other libraries than NumPy, and for a function
    that needs its operands as plain numbers.

    Parameters
    ----------
    call : callable
        A module-level function.
    about : object
        Its first argument, which is hashable.
    f : callable
        The user's function.
    operands : tuple
        The operands of the first call: a state, the time, and others.
    times : list of float
        The times at which the program is tested.
    check : callable
        ``check(result, f, *operands)`` returns whether a result is that of f, which may have
        changed in ways that the program does not detect. Captured values and operands are changed a
        little for the test, because zeros would hide the factors of a product.
    """
    own = Tree(f).leaves
    for x in (*own, *Tree(operands).leaves):
        if kind_of(x) != "real" or not (type(x) is float or type(x).__module__ == "numpy"):
            return None
    if (own and not isinstance(f, Closure)) or (compiler := default_compiler()) is None:
        return None
    kind = call, about, _Same(getattr(inner := getattr(f, "template", f), "__code__", inner))
    key, call = (call, about, _form(f)), functools.partial(call, about)
    f = settled(f)
    tree = Tree((f, operands))
    near, (y, _, *rest) = tree.build(map(_beside, tree.leaves, itertools.count()))
    captured, calls = near.captured if own else (), [(y, t, *rest) for t in times]
    while (kept := _programs.pop(key, None)) is not None or _unused.get(kind, 0) < _IN_A_ROW:
        uses, compiled = kept or (0, compiler.compile(_recipe(call, f), strict=True))
        _unused[kind] = 0 if uses else _unused.get(kind, 0) + 1
        _trim(_unused)
        if uses == _IN_C:
            with contextlib.suppress(Exception):  # without a compiler of C
                compiled = compiler.compile(_recipe(call, f), target="c", strict=True)
        program = Program(call, f, compiled)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the user has not compiled anything
                is_right = all([check(compiled(captured, *xs), near, *xs) for xs in calls])
        except Exception:  # the function cannot be recorded, or it raises
            return None
        if compiled.as_it_is:
            return None
        if is_right:
            _programs[key] = uses + 1, compiled
            _trim(_programs)
            return program
        if uses:
            forget()
    return None


def _beside(x: Any, seed: int) -> Any:
    """Return a number or array a little beside x: no element is 0, and sums do not cancel."""
    factor = 1.0 - 0.01 * v.abs(direction(x, float(seed)))
    if not isinstance(x, np.ndarray):
        return type(x)((x or 1e-6) * factor)
    # In the layout of x: a program is of one.
    return np.multiply(x + (x == 0.0) * x.dtype.type(1e-6), factor, out=np.empty_like(x))


def forget() -> None:
    """Drop all programs: what one looked up has changed without being detected."""
    _programs.clear()


def _trim(table: dict[Any, Any]) -> None:
    """Remove the oldest entries."""
    while len(table) > _MOST:
        table.pop(next(iter(table)), None)


def _recipe(call: Any, f: Any) -> Any:
    """Return the function to compile, such that the compiler tracks what f looks up."""
    made: Any = functools.partial(_around, call, f)
    made.recipe = _around, tuple(_functions_in(f)), {}
    return made


def _functions_in(f: Any, deep: int = _DEEP) -> list[Any]:
    """Return a function and those in its cells: a wrapper may hold the user's function."""
    f = f.template if isinstance(f, Closure) else f
    cells = f.__closure__ or () if isinstance(f, types.FunctionType) and deep else ()
    inside = [x for x in map(_content, cells) if callable(x)]
    return [f, *[y for x in inside for y in _functions_in(x, deep - 1)]]


def _around(call: Any, f: Any, captured: Any, *operands: Any) -> Any:
    return call(f.around(captured) if isinstance(f, Closure) else f, *operands)
