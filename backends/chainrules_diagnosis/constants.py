"""Constants in the code of functions: words, and numbers that something is compared with."""

from __future__ import annotations

import contextlib
import dis
import functools
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from chainrules_diagnosis.sources import names_in, reached, walked


def words_in(functions: Iterable[Any]) -> list[str]:
    """List the words in the code of functions, which options may be compared with, or looked up.

    Examples
    --------
    >>> words_in([lambda x, mode: x if mode == "same" else -x])
    ['same']
    >>> times = {"once": 1.0, "twice": 2.0}
    >>> words_in([lambda x, mode: times[mode] * x])
    ['once', 'twice']
    """
    reach = walked(functions)
    codes = [code for f in reach if isinstance(f, FunctionType) for code in _with_inner(f.__code__)]
    written = [_flat(constant) for code in codes for constant in code.co_consts]
    found = [*[x for flat in written for x in flat], *reach]
    return list(dict.fromkeys(x for x in found if isinstance(x, str) and x.isidentifier()))[:_MANY]


_MANY = 12


def words_for(option: str, given: str) -> list[str]:
    """List the words that an option of this name takes in NumPy and its relatives, beside one.

    Examples
    --------
    >>> words_for("reduction", "mean")
    ['mean', 'sum', 'none']
    >>> words_for("reduction", "all"), words_for("colour", "red")
    ([], [])
    """
    groups = [group for group in _WORDS.get(option, ()) if given in group]
    return list(dict.fromkeys(word for group in groups for word in group))


_WORDS = {
    "mode": (
        ("constant", "edge", "reflect", "symmetric", "wrap"),
        ("full", "same", "valid"),
        ("mean", "sum", "max"),
        ("nearest", "linear", "cubic"),
        ("raise", "clip", "wrap"),
    ),
    "padding": (
        ("same", "valid"),
        ("zeros", "reflect", "replicate", "circular"),
        ("SAME", "VALID"),
    ),
    "reduction": (("mean", "sum", "none"),),
    "norm": (("backward", "ortho", "forward"),),
    "order": (("C", "F", "A"),),
    "side": (("left", "right"),),
    "uplo": (("U", "L"),),
    "UPLO": (("U", "L"),),
    "approximate": (("none", "tanh"),),
    "method": (("linear", "lower", "higher", "midpoint", "nearest"),),
}


def is_named(functions: Iterable[Any], part: str) -> bool:
    """Tell whether the code of functions has a name with this in it.

    Examples
    --------
    >>> is_named([lambda x: np.isnan(x)], "nan"), is_named([abs, lambda x: -x], "nan")
    (True, False)
    """
    return any(part in name for name in names_of(functions))


def names_of(functions: Iterable[Any]) -> set[str]:
    """List the names in the code of functions.

    Examples
    --------
    >>> sorted(names_of([lambda x: np.floor(x)]))
    ['floor', 'np']
    """
    return {name for f in reached(functions) for name in names_in(f.__code__)}


def iterates(functions: Iterable[Any]) -> bool:
    """Tell whether functions repeat something until they stop, or ask a solver that does.

    Examples
    --------
    >>> def halved(x):
    ...     while x > 1e-9:
    ...         x = x / 2
    ...     return x
    >>> iterates([halved]), iterates([lambda x: [n * x for n in range(3)]])
    (True, False)
    """
    reach = reached(functions)
    codes = [code for f in reach for code in _with_inner(f.__code__)]
    steps = [step for code in codes if code.co_name[:1] != "<" for step in _steps(code)]
    return any("BACKWARD" in step.opname for step in steps) or bool(_SOLVERS & names_of(reach))


_SOLVERS = {"root", "minimize", "newton", "fsolve", "odeint", "solve_ivp", "linear_solve"}
_SOLVERS |= {"cg", "bicg", "bicgstab", "gmres", "lgmres", "minres", "qmr", "lsqr", "lsmr"}


def compared_in(functions: Iterable[Any]) -> list[float]:
    """List the numbers with which something is compared in functions, written there or named.

    Examples
    --------
    >>> compared_in([lambda x: x if x.size > 64 else -x])
    [64]
    >>> compared_in([lambda x: x if len(x) in (5, 7) else -x])
    [5, 7]
    >>> limit = 8
    >>> compared_in([lambda x: x if x.size > limit else -x])
    [8]
    """
    written: dict[float, None] = {}
    named: dict[float, None] = {}
    for f in reached(functions):
        for code in _with_inner(f.__code__):
            before: list[tuple[bool, Any]] = []
            local: dict[str, Any] = {}
            for step in _steps(code):
                if step.opname in ("COMPARE_OP", "CONTAINS_OP"):
                    flat = [(own, n) for own, x in before[-_NEAR:] for n in _flat(x)]
                    near = [(own, n) for own, n in flat if type(n) in (int, float)]
                    written |= {n: None for own, n in near if own}
                    named |= {n: None for own, n in near if not own}
                last = before[-1][1] if before else ""
                if step.opname == "STORE_FAST":
                    local[step.argval] = last
                if step.opname not in ("CACHE", "PRECALL", "PUSH_NULL"):
                    before.append(_number_of(step, f, local, last))
    return list(written | named)[:_FEW]


@functools.lru_cache(maxsize=512)
def _steps(code: CodeType) -> list[Any]:
    return list(dis.get_instructions(code))


def dtypes_in(functions: Iterable[Any]) -> list[str]:
    """List the dtypes that functions name, as names or words, but double precision.

    Examples
    --------
    >>> dtypes_in([lambda x: 2 * x if x.dtype == np.float16 else x])
    ['float16']
    """
    reach = list(functions)
    found = names_of(reach) | {*words_in(reach)}
    return [name for name, said in _DTYPES.items() if said & found]


_DTYPES = {
    "float16": {"float16", "half", "f2"},
    "float32": {"float32", "single", "f4"},
    "complex64": {"complex64", "csingle", "c8"},
}


def _number_of(step: Any, f: Any, local: dict[str, Any], last: Any) -> tuple[bool, Any]:
    """Find what an instruction puts on the stack, as far as it is known, and if it is written."""
    name = step.argval
    if "CONST" in step.opname or "INT" in step.opname:
        return True, name
    if step.opname == "LOAD_FAST":
        return False, local.get(name, "")
    if step.opname == "LOAD_GLOBAL":
        return False, f.__globals__.get(name, "")
    if step.opname == "LOAD_DEREF" and name in f.__code__.co_freevars:
        with contextlib.suppress(ValueError):  # it is empty yet
            return False, f.__closure__[f.__code__.co_freevars.index(name)].cell_contents
    if step.opname == "LOAD_ATTR" and (isinstance(last, type) or type(last) is ModuleType):
        return False, vars(last).get(name, "")
    return False, ""


_FEW, _NEAR = 6, 4


def numbers_in(functions: Iterable[Any]) -> tuple[list[Any], bool]:
    """List all numbers that functions name, but 0, and tell if anything may be equal to them.

    Those that something is compared with come first. They are written in code, or held: by
    defaults, closures, names, attributes, entries of tuples and keys of dictionaries.

    Examples
    --------
    >>> numbers_in([lambda x, n=37.0: 2.0 * x if x == n else x])
    ([37.0, 2.0], True)
    >>> numbers_in([lambda x: 3 * x])
    ([3], False)
    >>> def solve(x):
    ...     for _ in range(300):
    ...         x = x / 2
    ...     return x
    >>> numbers_in([solve])
    ([2], False)
    """
    reach = walked(functions)
    codes = [code for f in reach if isinstance(f, FunctionType) for code in _with_inner(f.__code__)]
    steps = [step for code in codes for step in _steps(code)]
    rounds = {id(step) for code in codes for step in _rounds(_steps(code))}
    names = {name for code in codes for name in code.co_names}
    names |= {getattr(x, "__name__", "") for x in reach if callable(x)}
    asks = bool(_EQUAL & names) or any(map(_asks_if_equal, steps))
    held = [n for x in reach for n in (x.tolist() if _is_short(x) else (x,))]
    consts = [s for s in steps if "CONST" in s.opname or "INT" in s.opname]
    written = tuple([s.argval for s in consts if id(s) not in rounds])
    found = dict.fromkeys(
        [n for n in (*compared_in(functions), *held, *_flat(written)) if _is_number(n)]
    )
    return list(found)[:_MANY], asks or any(type(x) is dict for x in reach)


def _rounds(steps: list[Any]) -> Iterator[Any]:
    """List constants that count rounds, ``for _ in range(n)``: no length has to do with them."""
    steps = [s for s in steps if s.opname not in ("CACHE", "PRECALL", "PUSH_NULL", "NOT_TAKEN")]
    read = {name for s in steps if "LOAD_FAST" in s.opname for name in _flat(s.argval)}
    for k in range(len(steps) - 5):
        asks, n, *loop, place = steps[k : k + 6]
        is_loop = [s.opname.partition("_")[0] for s in loop] == ["CALL", "GET", "FOR"]
        if asks.argval == "range" and is_loop and place.argval not in read:
            yield n


def _is_number(n: Any) -> bool:
    return type(n) in (int, float, complex) and bool(n) and bool(np.isfinite(n))


def _is_short(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.ndim > 0 and x.size <= _MANY


def _flat(x: Any) -> list[Any]:
    return [n for part in x for n in _flat(part)] if isinstance(x, (tuple, frozenset)) else [x]


def _asks_if_equal(step: Any) -> bool:
    """Tell whether an instruction compares, or looks up in what is written there."""
    return step.opname in ("CONTAINS_OP", "BUILD_CONST_KEY_MAP", "BUILD_MAP") or (
        step.opname == "COMPARE_OP" and any(sign in str(step.argval) for sign in ("==", "!="))
    )


_EQUAL = {"isin", "in1d", "equal", "not_equal", "isclose", "allclose", "array_equal", "eq", "ne"}
_EQUAL |= {"count_nonzero", "flatnonzero", "nonzero", "searchsorted", "index", "get"}


def arrays_in(function: Any) -> list[Any]:
    """List the arrays that a function holds: of the names around it that its code has.

    Examples
    --------
    >>> weights = np.ones(3)
    >>> arrays_in(lambda x: weights * x)
    [array([1., 1., 1.])]
    """
    return [x for x in held_by([function]) if isinstance(x, np.ndarray)]


def held_by(functions: Iterable[Any]) -> list[Any]:
    """List what functions hold, of which type ever.

    Examples
    --------
    >>> rate = 0.5
    >>> held_by([lambda x: rate * x])
    [0.5]
    """
    found: list[Any] = []
    for f in reached(functions):
        names = [name for name in names_in(f.__code__) if name in f.__globals__]
        found += [f.__globals__[name] for name in names]
        for cell in f.__closure__ or ():
            with contextlib.suppress(ValueError):  # it is empty yet
                found.append(cell.cell_contents)
    return found


def _codes(functions: Iterable[Any]) -> Iterator[CodeType]:
    return (code for f in reached(functions) for code in _with_inner(f.__code__))


def _with_inner(code: CodeType) -> list[CodeType]:
    """List code, and what is defined in it."""
    codes = [code]
    for outer in codes:
        codes += [c for c in outer.co_consts if isinstance(c, CodeType)]
    return codes
