"""Plants of right rules, each with one mistake: a table of functions, and one of mistakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import ops as v
from tests.testing.planted.build import (
    COMPLEX,
    FIVE,
    MANY,
    POSITIVE,
    REGULAR,
    SQUARE,
    VECTOR,
    Plant,
    Right,
    X,
    Z,
    acting,
    both,
    frozen,
    mt,
    of_gradients,
)
from tests.testing.planted.draws import given

Half = Callable[..., Any]
ROWS = MANY.reshape(500, 100)
CHOSEN = np.asarray([0, 2, 2, 4])
mm = v.matmul


def softmax(x):
    return v.exp(x - v.max(x)) / v.sum(v.exp(x - v.max(x)))


def softmax_half(t, x):
    return softmax(x) * (t - v.sum(softmax(x) * t))


def sums(x):
    return v.cumulative_sum(x, axis=-1)


def added(t, x):
    zeros = v.full_like(t, shape=x.shape, fill=0.0)
    return v.scatter_add(zeros, t, CHOSEN, index=v.Index((v.Index.HOLE,)))


def column(x):
    return v.expand_dims(x, axis=-1)


def outer(a, b):
    return column(a) * b


def length(x):
    return v.sqrt(v.sum(x * x) + 1.0)


PRODUCT = acting(lambda a, b: b, lambda a, b: a)
DOT = of_gradients(lambda a, b: b, lambda a, b: a)
QUOTIENT = acting(lambda a, b: 1.0 / b, lambda a, b: -a / (b * b))
QUADRATIC = of_gradients(lambda x, a: mm(a + mt(a), x), lambda x, a: outer(x, x))
WHOLE = (lambda t, x, b: t, lambda t, x, b: t * 1.0)
ROW = (lambda t, x, b: v.broadcast_to(t, shape=x.shape), lambda t, x, b: v.sum(t, axis=0))
COLUMN = (
    lambda t, x, b: v.broadcast_to(column(t), shape=x.shape),
    lambda t, x, b: v.sum(t, axis=-1),
)
LEFT = (lambda t, a, b: mm(t, b), lambda t, a, b: mm(t, mt(b)))
RIGHTMOST = (lambda t, a, b: mm(a, t), lambda t, a, b: mm(mt(a), t))
OUTER = (
    (lambda t, a, b: outer(t, b), lambda t, a, b: mm(t, b)),
    (lambda t, a, b: outer(a, t), lambda t, a, b: mm(mt(t), a)),
)
INVERSE = (
    lambda t, x: -mm(mm(v.inv(x), t), v.inv(x)),
    lambda t, x: -mm(mm(mt(v.inv(x)), t), mt(v.inv(x))),
)
COLUMNS = (lambda t, x: v.sum(t, axis=0), lambda t, x: v.broadcast_to(t, shape=x.shape))
SUMS = (lambda t, x: sums(t), lambda t, x: v.flip(sums(v.flip(t))))
FOURIER = (lambda t, x: v.fft(t), lambda t, x: v.ifft(t, norm="forward"))
TWO = (lambda t, x: (v.cos(x) * t, -v.sin(x) * t), lambda t, x: v.cos(x) * t[0] - v.sin(x) * t[1])

RULES: dict[str, tuple[Any, ...]] = {
    "sine": (v.sin, (X,), *acting(v.cos)),
    "sine of many": (v.sin, (MANY,), *acting(v.cos)),
    "product": (v.multiply, (X, Z), *PRODUCT),
    "quotient": (v.divide, (X, POSITIVE), *QUOTIENT),
    "exponential": (v.exp, (COMPLEX,), *acting(v.exp)),
    "complex product": (v.multiply, (COMPLEX, COMPLEX * 1j + 1.0), *PRODUCT),
    "sums of columns": (lambda x: v.sum(x, axis=0), (X,), COLUMNS),
    "mean": (v.mean, (X,), *of_gradients(lambda x: (0.0 * x + 1.0) / x.size)),
    "variance": (v.var, (FIVE,), *of_gradients(lambda x: 2.0 * (x - v.mean(x)) / x.size)),
    "dot": (lambda a, b: v.sum(a * b), (FIVE, FIVE[::-1] + 0.5), *DOT),
    "length": (length, (VECTOR,), *of_gradients(lambda x: x / length(x))),
    "logarithm of sums": (v.logsumexp, (FIVE,), *of_gradients(softmax)),
    "softmax": (softmax, (FIVE,), (softmax_half, softmax_half)),
    "row added": (v.add, (X, VECTOR), WHOLE, ROW),
    "row added to many": (v.add, (ROWS, ROWS[0]), WHOLE, ROW),
    "column added": (lambda x, b: x + column(b), (X, VECTOR[:2]), WHOLE, COLUMN),
    "matrices": (mm, (SQUARE, SQUARE + 1.0), LEFT, RIGHTMOST),
    "matrix and vector": (mm, (SQUARE, VECTOR), (LEFT[0], lambda t, a, x: outer(t, x)), RIGHTMOST),
    "transpose": (mt, (SQUARE,), (lambda t, x: mt(t),) * 2),
    "inverse": (v.inv, (REGULAR,), INVERSE),
    "quadratic form": (lambda x, a: v.sum(x * mm(a, x)), (VECTOR, SQUARE), *QUADRATIC),
    "outer product": (outer, (VECTOR, VECTOR + 1.0), *OUTER),
    "cumulative sum": (sums, (FIVE,), SUMS),
    "reversed": (v.flip, (FIVE,), (lambda t, x: v.flip(t),) * 2),
    "gather": (lambda x: v.take(x, CHOSEN), (FIVE,), (lambda t, x: v.take(t, CHOSEN), added)),
    "Fourier": (v.fft, (COMPLEX.reshape(-1)[:4],), FOURIER),
    "two results": (lambda x: (v.sin(x), v.cos(x)), (X,), TWO),
}
"""A function, operands, and the right halves of each of these."""


def single(y):
    return v.astype(y, dtype=np.complex64 if "complex" in str(y.dtype) else np.float32)


def without_last(y):
    return v.where(np.arange(y.size).reshape(y.shape) == y.size - 1, 0.0, y)


def with_last_twice(y, *xs):
    return y * (1.0 + (np.arange(y.size) == y.size - 1).reshape(y.shape))


def drawn(y, *xs):
    return y * (1.0 + 0.1 * np.random.random())  # noqa: NPY002


def frozen_operands(half: Half) -> Half:
    return lambda t, *xs: half(t, *map(frozen, xs))


def in_place(half: Half) -> Half:
    """Write to what is given, and give what is right."""

    def changed(t, *xs):
        t *= 2.0
        return half(t / 2.0, *xs)

    return changed


def growing(half: Half) -> Half:
    """Give more at each call."""
    calls: list[int] = []
    return lambda t, *xs: calls.append(1) or half(t, *xs) * float(len(calls))


def in_one_room(half: Half) -> Half:
    """Give the same array at each call."""
    rooms: dict[Any, Any] = {}

    def changed(t, *xs):
        y = np.asarray(half(t, *xs))
        room = rooms.setdefault((y.shape, y.dtype), np.empty_like(y))
        room[...] = y
        return room

    return changed


def by_the_first(half: Half) -> Half:
    """Keep the operands of the first call, for all of their shapes."""
    kept: dict[Any, Any] = {}
    return lambda t, *xs: half(t, *kept.setdefault(tuple(map(np.shape, xs)), xs))


def failing(half: Half) -> Half:
    def changed(t, *xs):
        raise IndexError(f"no element {np.size(xs[0])}")

    return changed


def overwriting(half: Half) -> Half:
    def pull(t, x):
        x_bar = np.zeros(x.shape)
        x_bar[CHOSEN] = t
        return x_bar

    return pull


def after(change: Any) -> Any:
    """What makes of a half one that gives this of what it gives, of ``(y, *operands)``."""
    return lambda half: lambda t, *xs: change(half(t, *xs), *xs)


def before(change: Any) -> Any:
    return lambda half: lambda t, *xs: half(change(t), *xs)


def instead(other: Half) -> Any:
    return lambda half: other


MISTAKES: dict[str, tuple[str, Any, str]] = {
    "factor": ("both", after(lambda y, *xs: 2.0 * y), "factor 2"),
    "third": ("both", after(lambda y, *xs: y / 3.0), "factor 1/3"),
    "sign": ("both", after(lambda y, *xs: -y), "wrong sign"),
    "zero": ("both", after(lambda y, *xs: 0.0 * y), "zero"),
    "NaN": ("both", after(lambda y, *xs: y * (xs[-1] / xs[-1])), "NaN"),
    "last twice": ("both", after(with_last_twice), "factor 2 in"),
    "frozen": ("both", frozen_operands, "second order wrong"),
    "first call": ("both", by_the_first, "wrong only for another point"),
    "sign back": ("pull", after(lambda y, *xs: -y), "wrong sign"),
    "factor back": ("pull", after(lambda y, *xs: 3.0 * y), "factor 3"),
    "factor ahead": ("push", after(lambda y, *xs: 3.0 * y), "in the push"),
    "zero ahead": ("push", after(lambda y, *xs: 0.0 * y), "in the push"),
    "constant": ("pull", after(lambda y, *xs: y + 1.0), "not linear in the cotangent"),
    "constant ahead": ("push", after(lambda y, *xs: y + 1.0), "not linear in the tangent"),
    "absolute": ("pull", before(v.abs), "not linear in the cotangent"),
    "ones": ("pull", before(lambda t: 0.0 * t + 1.0), "ignores the cotangent"),
    "ones ahead": ("push", before(lambda t: 0.0 * t + 1.0), "ignores the tangent"),
    "single": ("pull", after(lambda y, *xs: single(y)), "float32 result | complex64 result"),
    "single ahead": ("push", after(lambda y, *xs: single(y)), "float32 result"),
    "None": ("pull", instead(lambda t, *xs: None), "None for a tangent"),
    "reversed": ("pull", after(lambda y, *xs: v.flip(y)), "reverse order"),
    "shifted": ("pull", after(lambda y, *xs: v.roll(y, shift=1)), "off by | wrong places"),
    "transposed": ("pull", after(lambda y, *xs: mt(y)), "transposed | for argument 2"),
    "conjugated": ("pull", after(lambda y, *xs: v.conj(y)), "conjugated"),
    "last lost": ("pull", after(lambda y, *xs: without_last(y)), "zero in"),
    "first for sum": ("pull", instead(lambda t, *xs: t[0]), "missing sum over axis 0"),
    "column for sum": ("pull", instead(lambda t, *xs: t[:, 0]), "missing sum over axis 1"),
    "mean for sum": ("pull", instead(lambda t, *xs: v.mean(t, axis=0)), "mean instead of sum"),
    "not summed": ("pull", instead(lambda t, *xs: t), "missing sum | wrong shape | diagonal"),
    "overwritten": ("pull", overwriting, "repeated index overwritten"),
    "in place": ("pull", in_place, "cotangent mutated"),
    "in place ahead": ("push", in_place, "tangent mutated"),
    "state": ("pull", growing, "pulling back twice | what was saved"),
    "one room": ("pull", in_one_room, "aliased cotangent | what was saved"),
    "drawn": ("pull", after(drawn), "pulling back twice"),
    "drawn ahead": ("push", after(drawn), "state between calls"),
    "raises": ("pull", failing, "raises IndexError"),
    "raises ahead": ("push", failing, "raises IndexError"),
    "as the push": ("transpose", None, "transpose forgotten | transposed | conjugated"),
}
"""Which halves of the last operand are changed, by what, and what is to be said of it."""

NUMBERS = "factor, sign, zero, last twice, sign back, factor ahead"
TABLE = {  # the mistakes that are made in each
    "sine": f"{NUMBERS}, third, factor back, zero ahead, constant, constant ahead, absolute, ones,"
    " ones ahead, single, single ahead, in place, in place ahead, state, one room, drawn,"
    " drawn ahead, raises, raises ahead, None, NaN, frozen, first call, shifted, last lost",
    "sine of many": "factor, sign back, reversed, zero, frozen, one room, state",
    "product": f"{NUMBERS}, factor back, shifted, in place, frozen, first call",
    "quotient": f"{NUMBERS}, frozen",
    "exponential": "conjugated, factor, constant, single, NaN, in place ahead",
    "complex product": f"{NUMBERS}, conjugated, shifted",
    "sums of columns": "factor, not summed, reversed, shifted, ones, in place",
    "mean": "third, sign, constant ahead, state, raises",
    "variance": "factor, sign back, reversed, last lost, frozen",
    "dot": f"{NUMBERS}, reversed, raises ahead, frozen",
    "length": "factor, sign back, frozen, first call, drawn",
    "logarithm of sums": "shifted, ones, frozen",
    "softmax": "factor, sign, zero ahead, reversed, shifted, frozen, first call",
    "row added": "first for sum, factor, sign back, zero, reversed, constant",
    "row added to many": "first for sum, mean for sum, sign",
    "column added": "column for sum, not summed, factor",
    "matrices": f"{NUMBERS}, transposed, as the push, shifted, single, one room",
    "matrix and vector": "as the push, reversed, zero, factor ahead",
    "transpose": "transposed, last lost",
    "inverse": "as the push, transposed, sign, frozen",
    "quadratic form": "factor, transposed, sign back, frozen",
    "outer product": "factor, zero, reversed, sign",
    "cumulative sum": "as the push, not summed, reversed, last lost",
    "reversed": "reversed, shifted, last twice",
    "gather": "overwritten, factor, shifted, zero ahead, in place",
    "Fourier": "conjugated, factor, reversed, as the push, constant, state",
    "two results": "sign back, frozen, state, None, first call",
}


def planted(name: str, mistake: str) -> Plant:
    """The function with this mistake in the halves of its last operand."""
    value, operands, *halves = RULES[name]
    where, change, says = MISTAKES[mistake]
    push, pull = halves[-1]
    push, pull = {
        "both": lambda: (change(push), change(pull)),
        "push": lambda: (change(push), pull),
        "pull": lambda: (push, change(pull)),
        "transpose": lambda: (push, push),
    }[where]()
    return Plant(both(value, *halves[:-1], (push, pull)), operands, says)


WRONG: dict[str, Plant] = {
    f"{name}: {mistake}": planted(name, mistake)
    for name, mistakes in TABLE.items()
    for mistake in mistakes.split(", ")
}
RIGHT: dict[str, Right] = {
    name: Right(both(value, *halves), given(*operands))
    for name, (value, operands, *halves) in RULES.items()
}
