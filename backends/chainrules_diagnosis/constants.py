"""Constants in the code of functions: words, and numbers that something is compared with."""

from __future__ import annotations

import contextlib
import dis
from collections.abc import Iterable, Iterator
from types import CodeType
from typing import Any

import numpy as np

from chainrules_diagnosis.sources import names_in, reached


def words_in(functions: Iterable[Any]) -> list[str]:
    """List the words in the code of functions, which options may be compared with.

    Examples
    --------
    >>> words_in([lambda x, mode: x if mode == "same" else -x])
    ['same']
    """
    found: dict[str, None] = {}
    for code in _codes(functions):
        for constant in code.co_consts:
            listed = constant if isinstance(constant, (tuple, frozenset)) else (constant,)
            found |= {x: None for x in listed if isinstance(x, str) and x.isidentifier()}
    return list(found)[:_MANY]


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
    return next((list(g) for g in _WORDS.get(option, ()) if given in g), [])


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


def compared_in(functions: Iterable[Any]) -> list[float]:
    """List the numbers in the code of functions with which something is compared there.

    Examples
    --------
    >>> compared_in([lambda x: x if x.size > 64 else -x])
    [64]
    """
    found: dict[float, None] = {}
    for code in _codes(functions):
        before: list[Any] = []
        for step in dis.get_instructions(code):
            if step.opname == "COMPARE_OP":
                found |= {n: None for n in before[-_NEAR:] if type(n) in (int, float)}
            if step.opname not in ("CACHE", "PRECALL", "PUSH_NULL"):
                before.append(step.argval if "CONST" in step.opname or "INT" in step.opname else "")
    return list(found)[:_FEW]


_FEW, _NEAR = 4, 4


def arrays_in(function: Any) -> list[Any]:
    """List the arrays that a function holds: of the names around it that its code has.

    Examples
    --------
    >>> weights = np.ones(3)
    >>> arrays_in(lambda x: weights * x)
    [array([1., 1., 1.])]
    """
    found: list[Any] = []
    for f in reached([function]):
        found += [f.__globals__.get(name) for name in names_in(f.__code__)]
        for cell in f.__closure__ or ():
            with contextlib.suppress(ValueError):  # it is empty yet
                found.append(cell.cell_contents)
    return [x for x in found if isinstance(x, np.ndarray)]


def _codes(functions: Iterable[Any]) -> Iterator[CodeType]:
    codes = [f.__code__ for f in reached(functions)]
    for code in codes:
        codes += [c for c in code.co_consts if isinstance(c, CodeType)]
        yield code
