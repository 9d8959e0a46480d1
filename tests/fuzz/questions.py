"""Programs that ask of what type a value is, and take a branch by the answer."""

from __future__ import annotations

import collections.abc
import functools
import itertools
import numbers
import operator
import random
import typing
from array import array
from collections import deque
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from chainrules_py import TracerError
from chainrules_tape import Tape, grad, jacobian, jvp, linearize, value_and_grad, vjp

TYPES: tuple[Any, ...] = (
    *(float, int, complex, bool, str, list, tuple, object),
    *(np.ndarray, np.generic, np.number, np.inexact, np.floating, np.integer, np.complexfloating),
    *(np.float64, np.float32, np.complex128),
    *(numbers.Number, numbers.Complex, numbers.Real, numbers.Rational, numbers.Integral),
    *(collections.abc.Mapping, collections.abc.Callable, collections.abc.Iterable),
)

UNIONS: tuple[Any, ...] = (
    *(typing.Hashable, typing.Sized, typing.Iterable, typing.Sequence, typing.Callable),
)


def _matched(x: Any) -> str:
    match x:
        case float() | np.floating():
            return "floating"
        case complex():
            return "complex"
        case np.ndarray(ndim=1):
            return "vector"
        case np.ndarray():
            return "array"
    return "none"


def _dispatched() -> Callable[[Any], str]:
    f = functools.singledispatch(lambda x: "none")
    for cls in (float, complex, np.ndarray, np.floating, numbers.Real):
        f.register(cls, lambda x, cls=cls: cls.__name__)
    return f


def _is_one(cls: Any, x: Any) -> bool:
    return isinstance(x, cls)


def _has(name: str, x: Any) -> bool:
    return hasattr(x, name)


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    **{
        f"isinstance(x, {cls.__module__}.{cls.__name__})": functools.partial(_is_one, cls)
        for cls in TYPES
    },
    **{f"isinstance(x, {union})": functools.partial(_is_one, union) for union in UNIONS},
    "isinstance(x, (int, float))": lambda x: isinstance(x, (int, float)),
    "isinstance(x, np.ndarray | float)": lambda x: isinstance(x, np.ndarray | float),
    "np.isscalar(x)": np.isscalar,
    "np.result_type(x, np.float32)": lambda x: np.result_type(x, np.float32),
    "np.result_type(x, x, half)": lambda x: np.result_type(x, x, np.ones(2, np.float16)),
    "np.common_type(x)": lambda x: np.common_type(x) if isinstance(x, np.ndarray) else None,
    "np.iscomplexobj(x)": np.iscomplexobj,
    "np.ndim(x)": np.ndim,
    "np.shape(x)": np.shape,
    "x.__class__": lambda x: x.__class__,
    "match": _matched,
    "singledispatch": _dispatched(),
    "hasattr(x, 'shape')": lambda x: hasattr(x, "shape"),
    "hasattr(x, 'dtype')": lambda x: hasattr(x, "dtype"),
    "callable(x)": callable,
    "np.issubdtype(x.dtype, np.floating)": lambda x: (
        hasattr(x, "dtype") and bool(np.issubdtype(x.dtype, np.floating))
    ),
}
PROTOCOLS = (
    *(typing.SupportsAbs, typing.SupportsFloat, typing.SupportsInt, typing.SupportsRound),
    *(collections.abc.Sized, collections.abc.Container, collections.abc.Collection),
    *(collections.abc.Sequence, collections.abc.Reversible, collections.abc.Iterator),
)
QUESTIONS |= {f"isinstance(x, {p.__name__})": functools.partial(_is_one, p) for p in PROTOCOLS}
QUESTIONS["hasattr(x, '__round__')"] = functools.partial(_has, "__round__")
MEMBERS = {name for cls in (float, complex, np.complex128, np.ndarray) for name in dir(cls)}
QUESTIONS |= {
    f"hasattr(x, {name!r})": functools.partial(_has, name)
    for name in sorted(MEMBERS)
    if not name.startswith("_") and name != "mT"  # of which NumPy itself raises
}
_ODD: list[Any] = [None, ..., NotImplemented, "a", b"a", {}, {3.0}, float, len, slice(3), range(2)]
OTHERS: dict[str, Any] = {
    **{repr(x): x for x in [*_ODD, Fraction(3), Decimal(3), deque([3.0, 4.0])]},
    "an object": object(),
    "an array": array("d", [3.0, 4.0]),
}


def _compared(compare: Callable[[Any, Any], Any], other: Any, x: Any) -> str:
    try:
        y = compare(x, other)
    except TracerError:
        raise
    except TypeError:
        return "no order"
    return f"{type(y).__name__} {np.asarray(y).tolist()}"


QUESTIONS |= {
    f"{compare.__name__}(x, {name})": functools.partial(_compared, compare, other)
    for compare in (operator.eq, operator.ne, operator.lt, operator.ge)
    for name, other in OTHERS.items()
}
VALUES: dict[str, Any] = {
    "float": 3.0,
    "float64": np.float64(3.0),
    "float32": np.float32(3.0),
    "complex": 3.0 + 1.0j,
    "0-d": np.array(3.0),
    "vector": np.array([3.0, 5.0]),
    "float32 vector": np.array([3.0, 5.0], np.float32),
    "matrix": np.array([[3.0, 5.0]]),
    "complex vector": np.array([3.0 + 1.0j]),
}
STEPS: dict[str, Callable[[Any], Any]] = {
    "x": lambda x: x,
    "x * x": lambda x: x * x,
    "x + 1": lambda x: x + 1,
    "np.sum(x)": np.sum,
    "np.sin(x)": np.sin,
    "np.reshape(x, -1)": lambda x: np.reshape(x, -1),
    "np.ravel(x)[0]": lambda x: np.ravel(x)[0],
    "x.real": lambda x: x.real,
    "np.asarray like x": lambda x: np.zeros(2, like=x) if isinstance(x, np.ndarray) else x,
    "abs(x)": abs,
}


def _one(y: Any) -> Any:
    return np.real(np.sum(y))


def _taped(f: Any, x: Any) -> None:
    with Tape() as tape:
        f(tape.variable(x))


def _gradient(f: Callable[[Any], Any]) -> Any:
    return grad(lambda x: _one(f(x)))


DOORS: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda f, x: grad(lambda x: _one(f(x)))(x),
    "value_and_grad": lambda f, x: value_and_grad(lambda x: _one(f(x)))(x),
    "vjp": vjp,
    "jvp": lambda f, x: jvp(f, (x,), (x,)),
    "linearize": linearize,
    "Tape": _taped,
    "grad of grad": lambda f, x: grad(lambda x: _one(grad(lambda x: _one(f(x)))(x)))(x),
    "jvp of grad": lambda f, x: jvp(_gradient(f), (x,), (x,)),
    "jacobian": lambda f, x: jacobian(lambda x: _one(f(x)))(x),
}


def sample(seed: int, n: int | None = None) -> Iterator[tuple[str, str, str, str]]:
    """Draw some programs, without return; all without a number."""
    every = list(itertools.product(QUESTIONS, VALUES, STEPS, DOORS))
    yield from every if n is None else random.Random(seed).sample(every, n)


def verdict(question: str, value: str, step: str, door: str) -> str:
    """Tell what is wrong with a draw; nothing, if the traced program answers as the plain one."""
    asked, x = QUESTIONS[question], VALUES[value]
    answers: list[Any] = []

    def program(x: Any) -> Any:
        y = STEPS[step](x)
        answers.append(asked(y))
        return y * 1.0

    program(x)
    (plain,) = answers
    if value.startswith("complex") and door == "jacobian":
        return ""  # which asks for holomorphic functions
    try:
        DOORS[door](program, x)
    except TracerError:
        return "" if question.startswith("hasattr") else "an error"
    other = [answer for answer in answers if answer != plain]
    return f"{other[0]!r} for {plain!r}" if other else ""
