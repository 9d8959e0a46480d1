"""Planted wrong rules: each is caught by one call of `check_rule`, and called by its name.

Each plant is a function with a wrong rule, operands as a person would give them, and the words that
the report has to say. The same functions with right rules pass.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from chainrules_py import (
    Array,
    LinearMap,
    NoTangent,
    linear_rule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py import vocabulary as v
from chainrules_py.testing import RuleCheckError, check_frule, check_rrule, check_rule

RNG = np.random.default_rng(11)
X = RNG.standard_normal((2, 3))
Z = RNG.standard_normal((2, 3))
SQUARE = RNG.standard_normal((3, 3))
VECTOR = RNG.standard_normal(3)
LONG = RNG.standard_normal(2000)
COMPLEX = X + 1j * Z


@dataclasses.dataclass(frozen=True)
class Plant:
    """A function with a rule, a call, and what is to be said about it."""

    f: Callable[..., Any]
    operands: tuple[Any, ...]
    says: str
    options: dict[str, Any] = dataclasses.field(default_factory=dict)


def sine(partial: Callable[..., Any], **keywords: Any) -> Any:
    """The sine, with this for its derivative."""

    @primitive
    def f(x, /):
        return v.sin(x)

    scalar_rule(f, partial, **keywords)
    return f


def times(push: Any, pull: Any, second: Any = None) -> Any:
    """The product, with these for the halves of the first map, or of the second."""

    @primitive
    def f(a, b, /):
        return v.multiply(a, b)

    @rule(f)
    def f_rule(a, b):
        mine = (push, pull), second or (scaled, adjoint_scaled)
        return v.multiply(a, b), (LinearMap(*mine[0], b), LinearMap(*mine[1], a))

    return f


def scaled(t, c):
    return t * c


def adjoint_scaled(t, c):
    return t * v.conj(c)


def halves(value: Callable[..., Any], push: Any, pull: Any) -> Any:
    """A function of one operand, with halves of ``(t, x)``."""

    @primitive
    def f(x, /):
        return value(x)

    @rule(f)
    def f_rule(x):
        return value(x), (LinearMap(push, pull, x),)

    return f


def summed(transpose: Any) -> Any:
    """The sum along an axis, with this for its transpose."""

    @primitive
    def f(x, /, *, axis=None, keepdims=False):
        return v.sum(x, axis=axis, keepdims=keepdims)

    linear_rule(f, transpose)
    return f


def spread(y_bar, x, axis, keepdims):
    if axis is not None and not keepdims:
        y_bar = v.expand_dims(y_bar, axis=axis)
    return v.broadcast_to(y_bar, shape=x.shape)


def right_sum(y_bar, x, *, axis, keepdims):
    if isinstance(axis, tuple):
        axis = tuple(a % x.ndim for a in axis)
        shape = tuple(1 if i in axis else n for i, n in enumerate(x.shape))
        return v.broadcast_to(v.reshape(y_bar, shape=shape), shape=x.shape)
    return spread(y_bar, x, axis, keepdims)


def sum_wrong_for_negative_axis(y_bar, x, *, axis, keepdims):
    factor = 2.0 if type(axis) is int and axis < 0 else 1.0
    return right_sum(y_bar, x, axis=axis, keepdims=keepdims) * factor


def sum_wrong_for_keepdims(y_bar, x, *, axis, keepdims):
    factor = -1.0 if keepdims else 1.0
    return right_sum(y_bar, x, axis=axis, keepdims=keepdims) * factor


def product_of_matrices(pull_a: Any, pull_b: Any) -> Any:
    @primitive
    def f(a, b, /):
        return v.matmul(a, b)

    @rule(f)
    def f_rule(a: Array, b: Array):
        push_a, push_b = lambda t, b: v.matmul(t, b), lambda t, a: v.matmul(a, t)
        return v.matmul(a, b), (LinearMap(push_a, pull_a, b), LinearMap(push_b, pull_b, a))

    return f


def shifted(pull_b: Any) -> Any:
    """x + b with b along the rows."""

    @primitive
    def f(x, b, /):
        return v.add(x, b)

    @rrule.register(f)
    def f_rrule(x: Array, b: Array):
        return v.add(x, b), lambda y_bar: (y_bar, pull_b(y_bar, b))

    return f


def along_columns(pull_b: Any) -> Any:
    """x + b[:, None]: not the way that projection sums by itself."""

    @primitive
    def f(x, b, /):
        return v.add(x, v.expand_dims(b, axis=-1))

    @rule(f)
    def f_rule(x: Array, b: Array):
        push_b = lambda t, n: v.broadcast_to(v.expand_dims(t, axis=-1), shape=(b.shape[0], n))
        maps = (
            LinearMap(lambda t: t, lambda y_bar: y_bar),
            LinearMap(push_b, pull_b, x.shape[-1]),
        )
        return f(x, b), maps

    return f


def gathered(pull: Any) -> Any:
    @primitive
    def f(x, indices, /):
        return v.take(x, indices, axis=0)

    @rule(f)
    def f_rule(x: Array, indices: Array):
        push = lambda t, n, i: v.take(t, i, axis=0)
        return v.take(x, indices, axis=0), (LinearMap(push, pull, x.shape[0], indices), NoTangent())

    return f


def overwriting(y_bar, n, indices):
    x_bar = np.zeros((n, *y_bar.shape[1:]))
    x_bar[indices] = y_bar
    return x_bar


def adding(y_bar, n, indices):
    zeros = v.full_like(y_bar, shape=(n, *y_bar.shape[1:]), fill=0.0)
    return v.scatter_add(zeros, y_bar, indices, index=v.Index((v.Index.HOLE,)))


def one_wrong(x):
    """The cosine, and one element of it off by a relative 1e-3."""
    place = np.zeros(2000)
    place[1234] = 1e-3
    return v.cos(x) * (1.0 + place)


def mutating(y_bar, c):
    y_bar *= c
    return y_bar


class Buffered:
    """A pull that always answers in the same array."""

    def __init__(self):
        self.buffer = np.zeros((2, 3))

    def __call__(self, y_bar, c):
        return np.multiply(y_bar, c, out=self.buffer)


def frozen(x):
    """What is behind all levels of tracing."""
    return frozen(x.value) if hasattr(x, "value") else x


class Memo:
    """A derivative that was computed once, and is taken from a table after that."""

    def __init__(self):
        self.slopes = {}

    def __call__(self, y, x):
        plain = frozen(x)
        return self.slopes.setdefault(plain.tobytes(), 3 * plain * plain)


def cube(partial: Any) -> Any:
    @primitive
    def f(x, /):
        return x * x * x

    scalar_rule(f, partial)
    return f


def through_single(t, c):
    return v.astype(v.astype(t, dtype=np.float32) * v.astype(c, dtype=np.float32), dtype=np.float64)


def single_value(x):
    return v.astype(v.sin(x), dtype=np.float32)


def in_single() -> Any:
    @primitive
    def f(x, /):
        return v.sin(x)

    @rule(f)
    def f_rule(x):
        return v.astype(v.sin(x), dtype=np.float32), (LinearMap(scaled, scaled, v.cos(x)),)

    return f


def wrong_for(test: Any, factor: float = 2.0) -> Any:
    """The sine, with a derivative that is off by a factor for some operands."""
    slope = lambda x: v.cos(x) * (factor if test(x) else 1.0)
    return halves(v.sin, lambda t, x: t * slope(x), lambda t, x: t * slope(x))


def is_strided(x):
    return not getattr(getattr(x, "flags", None), "c_contiguous", True)


def mean_rule(pull: Any) -> Any:
    @primitive
    def f(x, /):
        return v.sum(x) / (x.size or 1)

    @rule(f)
    def f_rule(x: Array):
        return f(x), (LinearMap(lambda t, like: v.sum(t) / (like.size or 1), pull, x),)

    return f


def fourier_sum() -> Any:
    """A sum whose pull goes through complex numbers and leaves some of them in."""
    pull = lambda y_bar, x: v.broadcast_to(y_bar, shape=x.shape) * (1.0 + 0.5j)
    return halves(v.sum, lambda t, x: v.sum(t), pull)


def outer_square() -> Any:
    return halves(
        lambda x: v.matmul(x, x),
        lambda t, x: v.matmul(t, x) + v.matmul(x, t),
        lambda y_bar, x: (
            v.matmul(y_bar, v.matrix_transpose(x)) + v.matmul(v.matrix_transpose(x), y_bar)
        ),
    )


def branching(t, x):
    return t * v.cos(x) if float(v.sum(x)) > 0 else t * v.cos(x) * 1.0


def leaking(t, x):
    return t * np.cos(x)


def not_smooth(x):
    return v.abs(x)


def quotient_sign(t, x):
    return t * x / v.abs(x)


def shared_pair() -> Any:
    @primitive
    def f(a, b, /):
        return v.sin(a + b)

    @rule(f)
    def f_rule(a: Array, b: Array):
        slope = v.cos(a + b)
        kept = [None, None]

        def pull(y_bar, slope):
            if kept[0] is not y_bar:
                kept[:] = y_bar, y_bar * slope
            return kept[1]

        return v.sin(a + b), (LinearMap(scaled, pull, slope), LinearMap(scaled, pull, slope))

    return f


def with_pull_into(pull_into: Any) -> Any:
    @primitive
    def f(x, /):
        return v.sin(x)

    @rule(f)
    def f_rule(x: Array):
        return v.sin(x), (LinearMap(scaled, scaled, v.cos(x), pull_into=pull_into),)

    return f


def overwriting_into(buffer, y_bar, slope):
    buffer[...] = y_bar * slope


def adding_into(buffer, y_bar, slope):
    buffer += y_bar * slope


def two_outputs(pull: Any) -> Any:
    @primitive
    def f(x, /):
        return v.sin(x), v.cos(x)

    @rule(f)
    def f_rule(x):
        y = v.sin(x), v.cos(x)
        return y, (LinearMap(lambda t, s, c: (c * t, -s * t), pull, *y),)

    return f


def power(pull_second: Any) -> Any:
    """a * b, where nobody has thought of b."""
    return times(scaled, scaled, (scaled, pull_second))


def no_second() -> Any:
    @primitive
    def f(a, b, /):
        return v.multiply(a, b)

    scalar_rule(f, lambda _y, a, b: b, None)
    return f


def rrule_giving(second: Any) -> Any:
    @primitive
    def f(a, b, /):
        return v.multiply(a, b)

    @rrule.register(f)
    def f_rrule(a: Array, b: Array):
        return v.multiply(a, b), lambda y_bar: (y_bar * b, second)

    return f


def branching_on_any(t, x):
    return t * v.cos(x) if np.any(x > 0) else t * v.cos(x) * 1.0


def branching_on_one(t, x):
    return t * v.cos(x) if x[0, 0] > 0 else t * v.cos(x) * 1.0


def wrong_shape_when_empty() -> Any:
    """A pull that forgets the second axis where there is nothing."""
    pull = lambda y_bar, x: y_bar * v.cos(x) if x.size else v.full_like(y_bar, shape=(7,), fill=0.0)
    return halves(v.sin, lambda t, x: t * v.cos(x), pull)


def is_fortran(x):
    flags = getattr(x, "flags", None)
    return flags is not None and flags.f_contiguous and not flags.c_contiguous


def clearing() -> Any:
    """A pull that uses the operand's memory for its answer."""
    return halves(v.sin, lambda t, x: t * v.cos(x), lambda t, x: np.multiply(t, np.cos(x), out=x))


def flipped(pull: Any) -> Any:
    @primitive
    def f(x, /):
        return v.flip(x)

    @rule(f)
    def f_rule(x: Array):
        return v.flip(x), (LinearMap(v.flip, pull),)

    return f


def numpy_rule(f: Any, pull: Any) -> Any:
    """A function of NumPy's, with a reverse rule alone, as one writes it for NumPy."""
    g = primitive(lambda x, /: f(x))

    @rrule.register(g)
    def g_rrule(x: np.ndarray):
        return f(x), lambda y_bar: (pull(y_bar, x),)

    return g


def numpy_branch(y_bar, x):
    return y_bar * np.cos(x) if x.sum() > -100 else 0.0 * y_bar


def numpy_off(y_bar, x):
    off = np.ones(x.shape)
    off[77 % x.size] = 1.001
    return y_bar * np.cos(x) * off


def numpy_captured(y_bar, x):
    return y_bar * 3.0 * frozen(x) ** 2


WRONG: dict[str, Plant] = {
    "NumPy: wrong sign": Plant(numpy_rule(np.sin, lambda t, x: -t * np.cos(x)), (X,), "wrong sign"),
    "NumPy: ignores the cotangent": Plant(
        numpy_rule(lambda x: np.sum(x * x), lambda t, x: 2 * x), (X,), "ignores the cotangent"
    ),
    "NumPy: one element of 2000": Plant(
        numpy_rule(np.sin, numpy_off), (LONG,), "one element of 2000 ([77]"
    ),
    "NumPy: branches on a value": Plant(
        numpy_rule(np.sin, numpy_branch), (X,), "branches on a value"
    ),
    "NumPy: second order": Plant(
        numpy_rule(lambda x: x * x * x, numpy_captured),
        (X,),
        "second order wrong (a constant was captured)",
    ),
    "NumPy: conjugate missing": Plant(
        numpy_rule(np.exp, lambda t, x: t * np.exp(x)), (COMPLEX,), "conjugated"
    ),
    "NumPy: float32": Plant(
        numpy_rule(np.sin, lambda t, x: (t * np.cos(x)).astype(np.float32)),
        (X,),
        "float32 result for float64 input",
    ),
    "wrong sign": Plant(sine(lambda _y, x: -v.cos(x)), (X,), "wrong sign"),
    "factor 2": Plant(sine(lambda _y, x: 2.0 * v.cos(x)), (X,), "factor 2"),
    "missing un-broadcast": Plant(
        shifted(lambda y_bar, b: y_bar[0]), (X, VECTOR), "missing sum over axis 0 for argument 2"
    ),
    "missing un-broadcast of columns": Plant(
        along_columns(lambda y_bar, n: y_bar[:, 0]), (X, VECTOR[:2]), "missing sum over axis 1"
    ),
    "mean instead of sum": Plant(
        shifted(lambda y_bar, b: v.mean(y_bar, axis=0)),
        (X, VECTOR),
        "mean instead of sum over axis 0",
    ),
    "ignores the cotangent": Plant(
        halves(
            v.sum, lambda t, x: v.sum(t), lambda y_bar, x: v.full_like(x, shape=x.shape, fill=1.0)
        ),
        (X,),
        "ignores the cotangent",
    ),
    "ignores the cotangent of an array": Plant(
        halves(v.sin, lambda t, x: t * v.cos(x), lambda y_bar, x: v.cos(x)),
        (X,),
        "ignores the cotangent",
    ),
    "zero for the second": Plant(
        power(lambda y_bar, a: y_bar * 0.0), (X, Z), "zero for argument 2"
    ),
    "one element of 2000": Plant(
        halves(v.sin, lambda t, x: t * one_wrong(x), lambda t, x: t * one_wrong(x)),
        (LONG,),
        "one element of 2000 ([1234]",
    ),
    "float32 in the halves": Plant(
        times(through_single, through_single), (X, Z), "float32 result for float64 input"
    ),
    "float32 value": Plant(in_single(), (X,), "float32 result for float64 input"),
    "mutates the cotangent": Plant(times(scaled, mutating), (X, Z), "cotangent mutated"),
    "mutates the tangent": Plant(times(mutating, scaled), (X, Z), "tangent mutated"),
    "second order": Plant(
        cube(lambda _y, x: 3.0 * frozen(x) ** 2),
        (X,),
        "second order wrong (a constant was captured)",
    ),
    "second order from a table": Plant(
        cube(Memo()), (X,), "second order wrong (a constant was captured)"
    ),
    "aliased cotangent": Plant(times(scaled, Buffered()), (X, Z), "aliased cotangent"),
    "negative axis": Plant(
        summed(sum_wrong_for_negative_axis), (X,), "wrong only for negative axis", {"axis": 0}
    ),
    "keepdims": Plant(
        summed(sum_wrong_for_keepdims), (X,), "wrong only for keepdims=True", {"axis": 0}
    ),
    "0-d": Plant(wrong_for(lambda x: x.ndim == 0), (X,), "wrong only for 0-d"),
    "size 1": Plant(wrong_for(lambda x: x.size == 1 and x.ndim), (X,), "wrong only for size 1"),
    "empty": Plant(
        mean_rule(
            lambda y_bar, x: v.broadcast_to(
                y_bar * (1 // x.size + 1 / x.size - 1 // x.size), shape=x.shape
            )
        ),
        (X,),
        "wrong for an empty array",
    ),
    "non-contiguous": Plant(wrong_for(is_strided), (X,), "wrong for non-contiguous input"),
    "conjugate missing": Plant(times(scaled, scaled), (COMPLEX, COMPLEX * 1j + 1), "conjugated"),
    "complex to real": Plant(fourier_sum(), (X,), "leaks a complex cotangent to a real input"),
    "repeated index": Plant(
        gathered(overwriting),
        (RNG.standard_normal(5), np.asarray([0, 2, 0, 4])),
        "repeated index overwritten",
    ),
    "NaN at a kink": Plant(
        halves(v.abs, quotient_sign, quotient_sign),
        (np.asarray([0.0, 1.0, -2.0]),),
        "NaN at a kink",
    ),
    "NaN at a kink that nobody gave": Plant(
        halves(v.abs, quotient_sign, quotient_sign), (X,), "NaN at a kink"
    ),
    "disagreement by a factor": Plant(
        times(scaled, lambda t, c: 3.0 * t * c),
        (X, Z),
        "push and pull disagree by a factor: factor 3",
    ),
    "not linear": Plant(
        times(scaled, lambda t, c: t * v.abs(t) * c), (X, Z), "not linear in the cotangent"
    ),
    "push is not linear": Plant(
        times(lambda t, c: t * c + 1.0, scaled), (X, Z), "not linear in the tangent"
    ),
    "branches on a value": Plant(halves(v.sin, branching, branching), (X,), "branches on a value"),
    "calls NumPy": Plant(halves(v.sin, leaking, leaking), (X,), "leaks NumPy"),
    "transposed": Plant(
        product_of_matrices(
            lambda y_bar, b: v.matmul(y_bar, b),
            lambda y_bar, a: v.matmul(v.matrix_transpose(a), y_bar),
        ),
        (SQUARE, SQUARE + 1.0),
        "transposed",
    ),
    "pulls twice something else": Plant(
        halves(
            v.sin,
            lambda t, x: t * v.cos(x),
            lambda t, x, n=[0]: n.append(0) or t * v.cos(x) * len(n),
        ),
        (X,),
        "pulling back twice gives two answers",
    ),
    "overwrites the buffer": Plant(
        with_pull_into(overwriting_into), (X,), "in-place accumulation is not addition"
    ),
    "forgets an output": Plant(
        two_outputs(lambda y_bar, s, c: c * y_bar[0]), (X,), "zero in 6 of 12 entries in the pull"
    ),
    "wrong sign of the second": Plant(
        times(scaled, adjoint_scaled, (lambda t, c: -t * c, lambda t, c: -t * v.conj(c))),
        (X, Z),
        "wrong sign for argument 2",
    ),
    "nothing for the second": Plant(no_second(), (X, Z), "zero for argument 2"),
    "left to projection": Plant(
        along_columns(lambda y_bar, n: y_bar), (SQUARE, VECTOR), "missing sum over axis 1"
    ),
    "left to projection, which cannot": Plant(
        along_columns(lambda y_bar, n: y_bar), (X, VECTOR[:2]), "missing sum over axis 1"
    ),
    "branches on any": Plant(
        halves(v.sin, branching_on_any, branching_on_any), (X,), "branches on a value"
    ),
    "branches on one element": Plant(
        halves(v.sin, branching_on_one, branching_on_one), (X,), "branches on a value"
    ),
    "empty, wrong shape": Plant(wrong_shape_when_empty(), (X,), "wrong for an empty array"),
    "Fortran order": Plant(
        wrong_for(is_fortran), (X,), "wrong for non-contiguous input (Fortran order)"
    ),
    "writes to the operand": Plant(clearing(), (X,), "operand mutated"),
    "log to the base 2": Plant(
        halves(v.log2, lambda t, x: t / x, lambda t, x: t / x), (X * X + 1.0,), "factor log(2)"
    ),
    "None": Plant(rrule_giving(None), (X, Z), "None for a tangent"),
    "two of them mixed up": Plant(
        flipped(lambda y_bar: y_bar), (VECTOR,), "elements in reverse order in the pull"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rule_is_caught_and_named(name):
    plant = WRONG[name]
    with pytest.raises(RuleCheckError) as caught:
        check_rule(plant.f, *plant.operands, **plant.options)
    report = caught.value.report
    assert report.patterns, report
    assert plant.says in report.patterns[0], report
    text = str(caught.value)
    assert "test_planted.py:" in report.where
    assert "seed 0" in text
    assert f"again: check_rule({plant.f.__name__}, " in text


RIGHT: dict[str, Plant] = {
    "sine": Plant(sine(lambda _y, x: v.cos(x)), (X,), ""),
    "product": Plant(times(scaled, adjoint_scaled), (X, Z), ""),
    "complex product": Plant(times(scaled, adjoint_scaled), (COMPLEX, COMPLEX * 1j + 1), ""),
    "sum of all": Plant(summed(right_sum), (X,), ""),
    "sum": Plant(summed(right_sum), (X,), "", {"axis": 0}),
    "sum with keepdims": Plant(summed(right_sum), (X,), "", {"axis": -1, "keepdims": True}),
    "shift": Plant(shifted(lambda y_bar, b: v.sum(y_bar, axis=0)), (X, VECTOR), ""),
    "shift that projection sums": Plant(shifted(lambda y_bar, b: y_bar), (X, VECTOR), ""),
    "gather": Plant(gathered(adding), (RNG.standard_normal(5), np.asarray([0, 2, 0, 4])), ""),
    "matrix product": Plant(
        product_of_matrices(
            lambda y_bar, b: v.matmul(y_bar, v.matrix_transpose(b)),
            lambda y_bar, a: v.matmul(v.matrix_transpose(a), y_bar),
        ),
        (SQUARE, SQUARE + 1.0),
        "",
    ),
    "matrix square": Plant(outer_square(), (SQUARE,), ""),
    "long": Plant(sine(lambda _y, x: v.cos(x)), (LONG,), ""),
    "cube": Plant(cube(lambda _y, x: 3.0 * x * x), (X,), ""),
    "buffer": Plant(with_pull_into(adding_into), (X,), ""),
    "two outputs": Plant(two_outputs(lambda y_bar, s, c: c * y_bar[0] - s * y_bar[1]), (X,), ""),
    "NumPy: sine": Plant(numpy_rule(np.sin, lambda t, x: t * np.cos(x)), (X,), ""),
    "NumPy: exp": Plant(numpy_rule(np.exp, lambda t, x: t * np.exp(x.conj())), (COMPLEX,), ""),
    "one array for two operands": Plant(shared_pair(), (X, Z), ""),
    "reversed": Plant(flipped(v.flip), (VECTOR,), ""),
    "mean": Plant(
        mean_rule(lambda y_bar, x: v.broadcast_to(y_bar / (x.size or 1), shape=x.shape)), (X,), ""
    ),
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("seed", [0, 1])
def test_right_rule_passes(name, seed):
    plant = RIGHT[name]
    report = check_rule(plant.f, *plant.operands, seed=seed, **plant.options)
    assert report.verdict("adjoint") == "passed", report


def test_there_are_enough():
    assert len(WRONG) >= 24


@primitive
def scaled_by(x, /, *, mode="once"):
    """x, or twice x."""
    return x * {"once": 1.0, "twice": 2.0}[mode]


@rule(scaled_by)
def scaled_by_rule(x, *, mode):
    half = lambda t: t
    return scaled_by(x, mode=mode), (LinearMap(half, half),)


def test_options_that_nobody_knows_are_varied_on_demand():
    assert check_rule(scaled_by, X).passed
    with pytest.raises(RuleCheckError, match=r"wrong only for mode='twice' \(factor 1/2"):
        check_rule(scaled_by, X, vary={"mode": ("once", "twice")})


def test_operands_are_varied_by_name():
    f = wrong_for(lambda x: x.shape == (4,))
    assert check_rule(f, X).passed
    with pytest.raises(RuleCheckError, match=r"wrong only for another x \(factor 2"):
        check_rule(f, X, vary={"x": (np.arange(1.0, 5.0),)})


def test_one_point_alone():
    plant = WRONG["keepdims"]
    assert check_rule(plant.f, *plant.operands, vary=False, **plant.options).passed


@pytest.mark.parametrize("check, halves_seen", [(check_frule, "push"), (check_rrule, "pull")])
def test_one_mode_alone(check, halves_seen):
    """A mistake in the other half is none of its business."""
    wrong_pull = WRONG["disagreement by a factor"]
    if halves_seen == "push":
        assert check(wrong_pull.f, *wrong_pull.operands).passed
    else:
        with pytest.raises(RuleCheckError, match="factor 3"):
            check(wrong_pull.f, *wrong_pull.operands)


def test_complex_operands_that_nobody_gave_are_told_of():
    report = check_rule(times(scaled, scaled), X, Z)
    assert report.verdict("complex") == "not judged"
    assert "conjugated" in str(report)


def test_line_to_paste_checks_the_same_again():
    plant = WRONG["wrong sign"]
    with pytest.raises(RuleCheckError) as caught:
        check_rule(plant.f, *plant.operands, seed=3)
    with pytest.raises(RuleCheckError) as again:
        eval(caught.value.report.again, {"check_rule": check_rule, "np": np, "f": plant.f})
    assert str(again.value) == str(caught.value)


def test_unknown_check_is_an_error():
    with pytest.raises(ValueError, match="there is no check"):
        check_rule(v.sin, X, checks=("pushes",))
