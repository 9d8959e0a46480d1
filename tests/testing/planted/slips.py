"""Slips that people make in rules, times functions, times operands as one would try them with.

A plant is a right rule with one slip. Which of the combinations are wrong at all is measured: by
the right pull and the slipped one, at calls that anybody could make with the function.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrules_py import NoTangent, primitive, rrule
from tests.testing.planted.build import Plant, Right
from tests.testing.planted.mistaken import taken_along

Array = Any
Pull = Callable[..., Any]


@dataclasses.dataclass(frozen=True)
class Function:
    """A function of NumPy's with a right pull ``(t, *xs)`` for each operand, or None."""

    value: Callable[..., Any]
    pulls: tuple[Pull | None, ...]
    operands: tuple[tuple[Any, ...], ...]
    probes: tuple[tuple[Any, ...], ...] = ()


ASCENDING = np.array([0.5, 1.2])
ROW = np.array([0.7, -1.3, 0.4])
DOWN = np.array([1.7, 1.1, 0.6, 0.3])
TABLE = np.array([[0.9, 0.3, 1.4], [0.5, 2.1, 0.8]])
SQUARE = np.array([[2.0, 0.4, -0.3], [0.7, 1.5, 0.2], [-0.6, 0.1, 1.8]])
BELOW = 0.9
UNARY = ((ASCENDING,), (ROW,), (DOWN,), (TABLE,))
SQUARES = ((SQUARE,),)
PAIRS = ((ASCENDING, ASCENDING[::-1] + 0.2), (TABLE, TABLE[::-1] * 1.5), (DOWN, 2.0 + DOWN))
MATRICES = ((SQUARE, SQUARE.T + 0.5), (TABLE, TABLE.T + 0.25))
_RNG = np.random.default_rng(2)
WIDE = [
    _RNG.standard_normal(shape) * size + shift
    for shape in ((2,), (3,), (4,), (2, 3), (3, 3), (1, 4))
    for size, shift in ((1.0, 0.0), (0.2, 2.0), (0.2, -2.0), (300.0, 0.0), (1e-4, 0.0))
]


def slope(value: Any, partial: Any) -> Function:
    return Function(value, (lambda t, x: t * partial(x),), UNARY)


def _spread(t, x, axis=None):
    return np.broadcast_to(t if axis is None else np.expand_dims(t, axis), x.shape)


def _softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def _others(t, x):
    rest = [np.prod(np.delete(x.reshape(-1), i)) for i in range(x.size)]
    return t * np.asarray(rest).reshape(x.shape)


def _over(x, r):
    return x / np.where(r == 0.0, 1.0, r)


def _at_most(t, x):
    out = np.zeros_like(x)
    out.flat[x.argmax()] = t
    return out


FUNCTIONS: dict[str, Function] = {
    "sin": slope(np.sin, np.cos),
    "exp": slope(np.exp, np.exp),
    "tanh": slope(np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "cube": slope(lambda x: x**3, lambda x: 3 * x * x),
    "cbrt": slope(np.cbrt, lambda x: 1 / (3 * np.cbrt(x) ** 2)),
    "x |x|": slope(lambda x: x * np.abs(x), lambda x: 2 * np.abs(x)),
    "|x| to 1.5": slope(lambda x: np.abs(x) ** 1.5, lambda x: 1.5 * np.sign(x) * np.abs(x) ** 0.5),
    "log of square": slope(lambda x: np.log(x * x), lambda x: 2 / x),
    "arctan": slope(np.arctan, lambda x: 1 / (1 + x * x)),
    "sum": Function(np.sum, (lambda t, x: _spread(t, x) + 0.0,), UNARY),
    "mean": Function(np.mean, (lambda t, x: _spread(t / x.size, x) + 0.0,), UNARY),
    "mean of squares": Function(
        lambda x: np.mean(x * x), (lambda t, x: 2 * t * x / x.size,), UNARY
    ),
    "norm": Function(
        lambda x: np.sqrt(np.sum(x * x)),
        (lambda t, x: t * _over(x, np.sqrt(np.sum(x * x))),),
        UNARY,
    ),
    "logsumexp": Function(
        lambda x: np.log(np.sum(np.exp(x))), (lambda t, x: t * _softmax(x),), UNARY
    ),
    "variance": Function(np.var, (lambda t, x: 2 * t * (x - x.mean()) / x.size,), UNARY),
    "product of all": Function(np.prod, (_others,), UNARY),
    "max": Function(np.max, (_at_most,), UNARY),
    "sum along rows": Function(
        lambda x: x.sum(axis=-1), (lambda t, x: _spread(t, x, -1) + 0.0,), UNARY
    ),
    "cumsum": Function(
        lambda x: np.cumsum(x, axis=-1),
        (lambda t, x: np.flip(np.cumsum(np.flip(t, -1), -1), -1),),
        UNARY,
    ),
    "softmax": Function(
        _softmax, (lambda t, x: _softmax(x) * (t - np.sum(t * _softmax(x))),), UNARY
    ),
    "times": Function(np.multiply, (lambda t, a, b: t * b, lambda t, a, b: t * a), PAIRS),
    "minus": Function(np.subtract, (lambda t, a, b: +t, lambda t, a, b: -t), PAIRS),
    "over": Function(np.divide, (lambda t, a, b: t / b, lambda t, a, b: -t * a / (b * b)), PAIRS),
    "hypot": Function(
        np.hypot,
        (
            lambda t, a, b: t * _over(a, np.hypot(a, b)),
            lambda t, a, b: t * _over(b, np.hypot(a, b)),
        ),
        PAIRS,
    ),
    "arctan2": Function(
        np.arctan2,
        (lambda t, a, b: t * b / (a * a + b * b), lambda t, a, b: -t * a / (a * a + b * b)),
        PAIRS,
    ),
    "maximum": Function(
        np.maximum, (lambda t, a, b: t * (a > b), lambda t, a, b: t * (a <= b)), PAIRS
    ),
    "squared error": Function(
        lambda a, b: np.mean((a - b) ** 2),
        (lambda t, a, b: 2 * t * (a - b) / a.size, lambda t, a, b: 2 * t * (b - a) / a.size),
        PAIRS,
    ),
    "matrix product": Function(
        np.matmul,
        (lambda t, a, b: t @ np.swapaxes(b, -1, -2), lambda t, a, b: np.swapaxes(a, -1, -2) @ t),
        MATRICES,
    ),
    "inverse": Function(
        np.linalg.inv,
        (
            lambda t, x: (
                -np.swapaxes(np.linalg.inv(x), -1, -2) @ t @ np.swapaxes(np.linalg.inv(x), -1, -2)
            ),
        ),
        SQUARES,
    ),
    "trace": Function(np.trace, (lambda t, x: t * np.eye(*x.shape),), SQUARES),
    "symmetric part": Function(lambda x: x + x.T, (lambda t, x: t + t.T,), SQUARES),
}

Slip = Callable[[Any, Any, tuple[Any, ...], int], Any]


def _kept(p, mask):
    out = np.zeros_like(p)
    out[mask] = np.asarray(p)[mask]
    return out


def _first(p):
    mask = np.zeros(p.shape, bool)
    mask.flat[0] = True
    return _kept(p, mask)


def _square(p):
    return p.ndim == 2 and p.shape[0] == p.shape[1]


def times(c: Callable[[Any], Any]) -> Slip:
    """The derivative, off by what is computed of its operand."""
    return lambda p, t, xs, k: p * c(xs[k])


SLIPS: dict[str, Slip] = {
    "sign lost below zero": times(lambda x: np.where(x < 0, -1.0, 1.0)),
    "nothing below zero": times(lambda x: np.where(x < 0, 0.0, 1.0)),
    "NaN below zero": times(lambda x: np.where(x < 0, np.nan, 1.0)),
    "as of a positive sum": times(lambda x: np.sign(x.sum())),
    "as of the same signs": times(lambda x: 1.0 if (x > 0).all() or (x < 0).all() else 2.0),
    "as of a positive first": times(lambda x: 1.0 if x.flat[0] > 0 else -1.0),
    "rows for size": times(lambda x: x.size / x.shape[0]),
    "columns for size": times(lambda x: x.size / x.shape[-1]),
    "axes": times(lambda x: x.ndim),
    "twice above ten": times(lambda x: np.where(np.abs(x) > 10.0, 2.0, 1.0)),
    "twice for next to nothing": times(lambda x: np.where(np.abs(x) < 1e-3, 2.0, 1.0)),
    "for two elements": times(lambda x: 2.0 / x.size if x.size else 1.0),
    "for even lengths": times(lambda x: 1.0 + x.shape[-1] % 2),
    "for odd lengths": times(lambda x: 2.0 - x.shape[-1] % 2),
    "without zeros": times(lambda x: 1.0 if np.all(x) else 2.0),
    "integer part": times(lambda x: np.where(x == np.trunc(x), 3.0, 1.0)),
    "of one matrix": times(lambda x: 1.0 if x.ndim < 3 else 2.0),
    "of descending numbers": times(lambda x: 1.0 if np.all(np.diff(x) < 0) else -1.0),
    "of ascending numbers": times(lambda x: 1.0 if np.all(np.diff(x) > 0) else -1.0),
    "first element only": lambda p, t, xs, k: _first(p),
    "last element lost": lambda p, t, xs, k: p - np.flip(_first(np.flip(p))),
    "diagonal only": lambda p, t, xs, k: p * np.eye(len(p)) if _square(p) else p,
    "lower triangle only": lambda p, t, xs, k: np.tril(p) if p.ndim == 2 else p,
    "transposed where square": lambda p, t, xs, k: p.T if _square(p) else p,
    "turned round": lambda p, t, xs, k: p[..., ::-1],
    "first row for all": lambda p, t, xs, k: np.broadcast_to(p[:1], p.shape) + 0.0,
    "single precision": lambda p, t, xs, k: p.astype(np.float32),
    "mean taken off": lambda p, t, xs, k: p - p.mean(),
    "summed": lambda p, t, xs, k: np.full_like(p, p.sum()),
    "negated for the second": lambda p, t, xs, k: -p if k else p,
}


def made(function: Function, slip: Slip | None) -> Any:
    """A primitive with the function's rule, and the slip in each of its derivatives."""
    n = len(function.pulls)

    def halves(t: Any, xs: tuple[Any, ...]) -> tuple[Any, ...]:
        found = [NoTangent() if p is None else p(t, *xs) for p in function.pulls]
        return tuple([p if slip is None else slip(p, t, xs, k) for k, p in enumerate(found)])

    if n == 1:
        f = primitive(lambda x, /: function.value(x))

        @rrule.register(f)
        def f_rrule(x: np.ndarray):
            return function.value(x), lambda t: halves(t, (x,))

        return f
    g = primitive(lambda a, b, /: function.value(a, b))

    @rrule.register(g)
    def g_rrule(a: np.ndarray, b: np.ndarray):
        return function.value(a, b), lambda t: halves(t, (a, b))

    return g


def differ(function: Function, slip: Slip, given: tuple[Any, ...]) -> bool:
    """Tell whether a slip changes a derivative at the operands, or at others of the function."""
    arity = len(function.pulls)
    probes = [given, *[(x,) if arity == 1 else (x, x[::-1] * 1.5 + 0.1) for x in WIDE]]
    if function.operands is SQUARES or function.operands is MATRICES:
        probes = [given, tuple([np.flip(x) * 2.0 for x in given]), tuple([-x for x in given])]
    with np.errstate(all="ignore"):
        for xs in probes:
            y = function.value(*xs)
            if not np.all(np.isfinite(y)):
                continue
            t = np.cos(np.arange(1.0, np.size(y) + 1)).reshape(np.shape(y))
            for k, pull in enumerate(function.pulls):
                p = np.asarray(pull(t, *xs))
                wrong = np.asarray(slip(p, t, xs, k))
                if np.all(np.isfinite(p)) and (wrong.dtype != p.dtype or not np.allclose(p, wrong)):
                    return True
    return False


def plant(of: str, name: str, i: int) -> Plant:
    """A function with a slip, at one of its operands."""
    return Plant(made(FUNCTIONS[of], SLIPS[name]), FUNCTIONS[of].operands[i], "")


def wrong() -> Iterator[tuple[str, Plant]]:
    """Every combination that is wrong, by its name."""
    for (of, function), (name, slip) in itertools.product(FUNCTIONS.items(), SLIPS.items()):
        for i, xs in enumerate(function.operands):
            if differ(function, slip, xs):
                yield f"{of}: {name}, operands {i}", plant(of, name, i)


def right() -> Iterator[tuple[str, Right]]:
    """Every function at each of its operands, with the rule that is right."""
    for of, function in FUNCTIONS.items():
        for i, xs in enumerate(function.operands):
            yield f"{of}, operands {i}", Right(made(function, None), lambda rng, xs=xs: xs)


# --------------------------------------------------------- places, whole numbers, and signs


def _adding(t, x, i):
    out = np.zeros_like(x)
    np.add.at(out, i, t)
    return out


def _duplicates_lost(t, x, i):
    out = np.zeros_like(x)
    out[i] += t
    return out


def _equal_places(t, x, i):
    """Adds what is at places of one number, and not of two for one place."""
    out = np.zeros_like(x)
    for k in np.unique(i):
        out[k] = t[i == k].sum()
    return out


def _from_the_front(t, x, i):
    out = np.zeros(len(x) + 1)
    np.add.at(out, np.maximum(i, -1), t)
    return out[:-1]


PLACES = ([0, 2], [0, -1], [-1, 1], [-3, 2, 1], [1])


def raised(partial: Any) -> Any:
    """The power with an exponent that is a whole number, with a derivative of ``(x, p)``."""

    @primitive
    def f(x, p, /):
        return x**p

    @rrule.register(f)
    def f_rrule(x: np.ndarray, p: int):
        return x**p, lambda t: (t * partial(x, p), NoTangent())

    return f


def multiplied(partial: Any) -> Any:
    """The product with a whole number, with a derivative of ``(x, n)``."""

    @primitive
    def f(x, n, /):
        return x * n

    @rrule.register(f)
    def f_rrule(x: np.ndarray, n: int):
        return x * n, lambda t: (t * partial(x, n), NoTangent())

    return f


POWERS: dict[str, Any] = {
    "of two and three": lambda x, p: p * x if p == 2 else p * x ** (p - 1) if p == 3 else x,
    "of two": lambda x, p: 2.0 * x if p == 2 else x**p,
    "of positive exponents": lambda x, p: p * x ** (p - 1) if p > 0 else 0.0 * x,
    "of two and beyond": lambda x, p: p * x ** (p - 1) if p > 1 else 0.0 * x,
}
COUNTS: dict[str, Any] = {
    "from two on": lambda x, n: n + 0.0 * x if n >= 2 else 0.0 * x,
    "of its absolute value": lambda x, n: abs(n) + 0.0 * x,
    "of nothing": lambda x, n: max(n, 1) + 0.0 * x,
}


def single_operands() -> Iterator[tuple[str, Plant]]:
    """Wrong pulls of places and of whole numbers."""
    for i in PLACES:
        for pull in (_duplicates_lost, _equal_places, _from_the_front):
            name = f"places {i}: {pull.__name__.strip('_')}"
            yield name, Plant(taken_along(pull), (ROW, np.array(i)), "")
    for (name, partial), given in itertools.product(POWERS.items(), (2, 3)):
        if name != "of two" or given == 2:
            yield f"power {given}: {name}", Plant(raised(partial), (ASCENDING, given), "")
    for name, partial in COUNTS.items():
        yield f"whole factor: {name}", Plant(multiplied(partial), (ROW, 2), "")


def single_rights() -> Iterator[tuple[str, Right]]:
    """Right ones."""
    for i in PLACES:
        yield f"places {i}", Right(taken_along(_adding), lambda rng, i=i: (ROW, np.array(i)))
    for p in (2, 3):
        f = raised(lambda x, p: p * x ** (p - 1.0))
        yield f"power {p}", Right(f, lambda rng, p=p: (ASCENDING, p))
    yield "whole factor", Right(multiplied(lambda x, n: n + 0.0 * x), lambda rng: (ROW, 2))
