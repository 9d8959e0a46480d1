"""Functions applied to elements, slices and axes: NumPy's, and `map`, `reduce` and `scan`."""

from __future__ import annotations

import dataclasses
import functools
import subprocess
import sys

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_numpy.composites import mapping
from chainrules_numpy.composites.mapping import vectorize
from chainrules_py import TracerError, ZeroTangent, frule, rrule
from chainrules_py.ops import map, reduce, scan
from chainrules_tape import grad, jvp, vjp
from chainrules_tape.rule_config import config

RNG = np.random.default_rng(11)
X = RNG.standard_normal((2, 3, 4))
V = RNG.standard_normal(4)


# ------------------------------------------------------------------------------------ map, reduce


@dataclasses.dataclass
class Gate:
    w: np.ndarray
    b: float

    def __call__(self, state, x):
        return np.tanh(self.w * state + self.b * x)


PROGRAMS = {
    "map": (lambda x, y: map(lambda a, b: np.sin(a) * b, x, y), X, X[..., :1]),
    "map, captured": (lambda x, c: map(lambda a: np.sin(a) * c, x), X, V),
    "map of structures": (
        lambda x, c: map(lambda p: {"s": p["a"] @ p["b"], "p": (p["a"] * c, c)}, x),
        {"a": X[0], "b": X[1]},
        1.5,
    ),
    "map to Python numbers": (lambda x: map(lambda a: 2.0, x) * x, V),
    "map of numbers": (lambda x: map(lambda a: a * a, x), V),
    "reduce": (lambda x, s: reduce(lambda s, a: np.sin(s * a), x, s), X[0], V),
    "reduce without initial": (lambda x: reduce(lambda s, a: s * a, x), X[0]),
    "reduce by name": (lambda x, s: reduce(lambda s, a: s * a, x, initial=s), V, 2.0),
    "reduce of a list": (lambda x, y: reduce(lambda s, a: s * a + y, [x, y, 2.0 * x]), V, V + 1),
    "reduce of a structure": (
        lambda x: reduce(lambda s, p: s * p["a"] + p["b"], x, 0.0),
        {"a": V, "b": V + 1},
    ),
    "reduce of a structured state": (
        lambda x, s: reduce(lambda s, a: (s[1], s[0] * a), x, (s, 2.0 * s)),
        V,
        0.7,
    ),
    "scan": (lambda x, s: scan(lambda s, a: (np.sin(s * a), s + a), s, x), X[0], V),
    "scan, captured": (lambda x, c: scan(lambda s, a: (s * c, np.sum(s * a)), x[0], x), X[0], V),
    "scan of structures": (
        lambda x, s: scan(lambda s, p: ({"s": s["s"] * p["a"]}, (s["s"], p["b"])), {"s": s}, x),
        {"a": V, "b": V + 1},
        0.7,
    ),
    "scan without results": (lambda x, s: scan(lambda s, a: (s * a + s, None), s, x)[0], V, 2.0),
    "scan of nothing": (lambda s: scan(lambda s, _: (s * s, s), s, None, length=3), V),
    "a recurrent layer": (lambda g, x, s: reduce(g, x, s), Gate(V, 0.3), X[0], V),
}


@pytest.mark.parametrize("case", sorted(PROGRAMS))
def test_program(case, right):
    f, *operands = PROGRAMS[case]
    right(f, *operands)


def test_reduce_is_functools_reduce():
    def f(s, a):
        return s * a + 1.0

    assert reduce(f, [1.0, 2.0, 3.0]) == functools.reduce(f, [1.0, 2.0, 3.0])
    assert reduce(f, V) == functools.reduce(f, V)
    assert reduce(f, V, 2.0) == functools.reduce(f, V, 2.0)
    assert reduce(f, [], 2.0) == 2.0
    with pytest.raises(TypeError, match="empty"):
        reduce(f, [])
    assert grad(lambda x: functools.reduce(f, x))(V)[0] == grad(lambda x: reduce(f, x))(V)[0]


def test_map_of_nothing_is_refused():
    with pytest.raises(ValueError, match="equally many, and at least one"):
        map(np.sin, np.zeros((0, 2)))
    with pytest.raises(ValueError, match="equally many"):
        map(np.add, np.zeros(2), np.zeros(3))
    with pytest.raises(ValueError, match="no slices"):
        map(np.sin, 2.0)
    with pytest.raises(ValueError, match="equally many, and at least one"):
        map(np.sin)
    with pytest.raises(ValueError, match="not of one structure"):
        map(lambda a: a if a > 0 else (a, a), np.array([1.0, -1.0]))


def test_scan_is_reduce_and_map():
    f = lambda s, a: (s * a + 1.0, s - a)
    carry, ys = scan(f, 2.0, V)
    assert carry == reduce(lambda s, a: f(s, a)[0], V, 2.0)
    states = [2.0, *[reduce(lambda s, a: f(s, a)[0], V[:k], 2.0) for k in range(1, 4)]]
    np.testing.assert_array_equal(ys, np.array(states) - V)


@pytest.mark.parametrize("xs, length", [(None, None), (V, 3), (V[:0], None)])
def test_scan_of_another_length_is_refused(xs, length):
    with pytest.raises(ValueError, match="slices along the leading axis"):
        scan(lambda s, a: (s, a), 1.0, xs, length=length)


def test_rules_through_the_config():
    y, pullback = rrule(config, map, lambda a, b: a * b, V, V + 1)
    np.testing.assert_array_equal(y, V * (V + 1))
    _, a_bar, b_bar = pullback(np.ones(4))
    np.testing.assert_array_equal(a_bar, V + 1)
    np.testing.assert_array_equal(b_bar, V)
    y, y_dot = frule((ZeroTangent(), V, ZeroTangent()), config, map, lambda a, b: a * b, V, V)
    np.testing.assert_array_equal(y_dot, V * V)
    gate = Gate(2.0, 0.5)
    y, pullback = rrule(config, reduce, gate, V, 0.1)
    gate_bar, x_bar, s_bar = pullback(1.0)
    assert gate_bar.w == pytest.approx(grad(lambda w: reduce(Gate(w, 0.5), V, 0.1))(2.0))
    assert s_bar == pytest.approx(grad(lambda s: reduce(gate, V, s))(0.1))
    assert x_bar.shape == V.shape


class Hidden:
    held = None

    def __call__(self, a):
        return a * type(self).held


def test_hidden_value_is_right():
    """The calls are recorded one by one, also those that a rule has recorded."""

    def f(c, x):
        Hidden.held = c
        return np.sum(map(Hidden(), x))

    assert grad(lambda c: f(c, V))(2.0) == pytest.approx(np.sum(V))
    assert grad(lambda c: f(c, V * c))(2.0) == pytest.approx(4.0 * np.sum(V))

    def ruled(c):
        Hidden.held = c
        y, pullback = rrule(config, map, Hidden(), V * c)
        return np.sum(y) + np.sum(pullback(np.ones(4))[1])

    assert grad(ruled)(2.0) == pytest.approx(4.0 * np.sum(V) + 4.0)


def carried(f, xs):
    return scan(lambda s, a: (f(s, a), None), 0.0, xs)[0]


@pytest.mark.parametrize("operation", [map, functools.partial(reduce, initial=0.0), carried])
def test_what_the_function_changes_is_the_callers_own(operation):
    def f(x, loop):
        total, seen, buffer = x[0], [], x * 1.0

        def step(*given):
            nonlocal total
            total = total + given[-1]
            seen.append(total)
            buffer[0] += given[-1]
            return sum(given)

        return np.sum(loop(step, x)) + total * seen[1] + np.sum(buffer * x)

    loop = lambda g, x: sum([g(a) for a in x])
    if operation is not map:
        loop = lambda g, x: functools.reduce(g, x, 0.0)
    assert f(V, operation) == pytest.approx(f(V, loop))
    np.testing.assert_allclose(grad(f)(V, operation), grad(f)(V, loop))
    t = jvp(lambda x: f(x, operation), (V,), (V,))[1]
    assert t == pytest.approx(grad(f)(V, loop) @ V)


# ------------------------------------------------------------------------------------- NumPy's


CALLS = {
    "apply_along_axis": lambda x: np.apply_along_axis(np.cumsum, 1, x),
    "apply_along_axis to numbers": lambda x: np.apply_along_axis(lambda v: np.sum(v * v), 0, x),
    "apply_along_axis to matrices": lambda x: np.apply_along_axis(
        lambda v: np.outer(v, v)[:2], 1, x
    ),
    "apply_along_axis, negative axis": lambda x: np.apply_along_axis(lambda v: v[::2], -3, x),
    "apply_along_axis, arguments": lambda x: np.apply_along_axis(
        lambda v, a, *, b: v**a * b, 2, x, 3, b=x[0, 0, 0]
    ),
    "apply_along_axis, lists": lambda x: np.apply_along_axis(lambda v: [v[0], 2.0 * v[1]], 2, x),
    "apply_over_axes": lambda x: np.apply_over_axes(np.sum, x, [0, -1]),
    "apply_over_axes, one": lambda x: np.apply_over_axes(np.cumsum, x, 1),
    "piecewise": lambda x: np.piecewise(
        x, [x < -0.5, x > 0.5], [np.sin, lambda v: v * v, lambda v: v**3]
    ),
    "piecewise, numbers": lambda x: np.piecewise(x, [x < 0], [2.0, lambda v: v * v]),
    "piecewise, overlapping": lambda x: np.piecewise(x, [x < 0.5, x > -0.5], [np.sin, np.exp]),
    "piecewise, nowhere": lambda x: np.piecewise(x, [x < -100, x > 0.3], [np.log, np.log]),
    "piecewise, arguments": lambda x: np.piecewise(
        x, [x < 0, x >= 0], [lambda v, a, k: a * v * k, lambda v, a, k: v - np.mean(v)], 2.0, k=3.0
    ),
    "piecewise, traced number": lambda x: np.piecewise(x, [x < 0], [x[0, 0, 0], np.sin]),
    "piecewise of a vector": lambda x: np.piecewise(x[0, 0], x[0, 0] > 0, [np.sin]),
}


@pytest.mark.parametrize("case", sorted(CALLS))
def test_call(case, agree):
    agree(CALLS[case], X)


@pytest.mark.parametrize(
    "args",
    [
        (X, [X < 0, X < 0], [1.0, 2.0, 3.0]),
        (X[0, 0, 0], [True], [lambda v: v + 1, 0]),
        (X[0, 0, 0], X[0, 0, 0] < 5, [lambda v: v + 1]),
        (np.arange(5), np.arange(5) > 2, [lambda v: v / 2, 7.7]),
        (np.arange(5), [[True] * 2 + [False] * 3, np.arange(5) > 3], [-1, lambda v: v * v]),
        (np.float32([1, 2]), [np.array([True, False])], [lambda v: v / 3]),
        (X + 1j, [X > 0], [np.exp]),
    ],
)
def test_piecewise_is_numpys(args):
    expected = np.piecewise(*args)
    found = mapping.piecewise(*args)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


def test_numpys_errors():
    for f, match in [
        (lambda x: np.piecewise(x, [x < 0], []), "1 or 2 functions"),
        (lambda x: np.apply_along_axis(np.sum, 3, x), "out of bounds"),
        (lambda x: np.apply_along_axis(np.sum, 0, x[:, :0]), "iteration dimensions"),
        (lambda x: np.apply_over_axes(lambda x, a: np.sum(x), x, [0]), "correct shape"),
    ]:
        with pytest.raises(ValueError, match=match):
            f(X)
        with pytest.raises(ValueError, match=match):
            vjp(f, X)


def test_what_numpy_does_not_show_is_an_error_and_no_zero():
    """A function that captured a value, applied to a plain array."""
    with pytest.raises(TracerError):
        grad(lambda c: np.sum(np.piecewise(X, [X > 0], [lambda v: c * v])))(2.0)
    slope = grad(lambda c: np.sum(np.apply_along_axis(lambda v: c * v, 0, X)))(2.0)
    np.testing.assert_allclose(slope, np.sum(X))


def test_captured_values_of_a_function_that_numpy_shows():
    c = 1.5
    assert grad(lambda c: np.sum(np.apply_along_axis(lambda v: c * v, 0, X * c)))(
        c
    ) == pytest.approx(2 * c * np.sum(X))


# ------------------------------------------------------------------------------------ vectorize


def ramp(a, b):
    return a * np.sin(b) if a > 0 else b * b


VECTORIZED = {
    "broadcast": (ramp, {}, (X, X[0])),
    "number": (ramp, {}, (X, 2.0)),
    "two results": (lambda a: (2.0 * a, a * a), {}, (X,)),
    "dtypes": (lambda a: (2.0 * a, a * a), {"otypes": "fd"}, (X,)),
    "dtype list": (lambda a: 2.0 * a, {"otypes": [np.float32]}, (X,)),
    "first result says": (lambda a: 1.0 if a > 0 else 2, {}, (X,)),
    "narrow whole numbers": (lambda w, p: w * (p + p), {}, (2.0, np.array([100, 200], np.uint8))),
    "truth values": (lambda w, p: w * (p + p), {}, (2.0, X[0] > 0)),
    "of 32 bits": (lambda w, p: w * (p + p / 3), {}, (0.1, X[0].astype(np.float32))),
    "of 32 bits alone": (lambda p: p * p / 3, {}, (X[0].astype(np.float32),)),
    "excluded": (lambda p, x: p[0] * x + p[1], {"excluded": {0}}, (V, X)),
    "signature": (np.matmul, {"signature": "(m,n),(n)->(m)"}, (X, V)),
    "signature, new axis": (lambda v: v[:, None] * v[:2], {"signature": "(n)->(n,k)"}, (X,)),
    "signature, numbers": (lambda v, s: np.sum(v) * s, {"signature": "(n),()->()"}, (X, 2.0)),
    "signature, two": (
        lambda v: (np.sum(v), v * v),
        {"signature": "(n)->(),(n)"},
        (X,),
    ),
    "signature, dtypes": (np.cumsum, {"signature": "(n)->(n)", "otypes": ["f"]}, (X,)),
}


@pytest.mark.parametrize("case", sorted(VECTORIZED))
def test_vectorize_is_numpys(case):
    f, keywords, args = VECTORIZED[case]
    found, expected = vectorize(f, **keywords)(*args), np.vectorize(f, **keywords)(*args)
    several = isinstance(expected, tuple)
    for have, want in zip(
        *((found, expected) if several else ((found,), (expected,))), strict=True
    ):
        np.testing.assert_array_equal(have, want)
        assert have.dtype == want.dtype


@pytest.mark.parametrize("case", ["broadcast", "excluded", "signature", "two results"])
def test_vectorize(case, right):
    f, keywords, args = VECTORIZED[case]
    right(vectorize(f, **keywords), *args)


def test_vectorize_as_a_decorator():
    @vectorize(doc="Twice.", otypes="d", cache=True)
    def twice(x, *, k=2.0):
        """Of x."""
        return k * x

    assert twice.__doc__ == "Twice."
    np.testing.assert_array_equal(twice(V, k=3.0), 3.0 * V)
    np.testing.assert_array_equal(twice(V, k=V), V * V)
    assert twice(np.zeros((0, 2))).shape == (0, 2)
    assert twice(2.0) == 4.0


def test_vectorize_errors():
    with pytest.raises(ValueError, match="size 0"):
        vectorize(np.sin)(np.zeros(0))
    with pytest.raises(ValueError, match="not a valid gufunc signature"):
        vectorize(np.sin, signature="n->n")
    with pytest.raises(ValueError, match=r"\(3,\) does not have the core dimensions \('n',\)"):
        vectorize(np.add, signature="(n),(n)->(n)")(V, V[:3])
    with pytest.raises(TypeError, match="number of positional arguments"):
        vectorize(np.sin, signature="(n)->(n)")(V, V)
    with pytest.raises(ValueError, match="core dimensions"):
        vectorize(np.sin, signature="(n,m)->(n)")(V)
    with pytest.raises(TypeError, match="pass an array"):
        vectorize(np.sin)([1.0, 2.0])
    for f in (vectorize(lambda p: p + p), np.vectorize(lambda p: p + p)):
        with pytest.raises(OverflowError, match="400 out of bounds for uint8"):
            f(np.array([50, 200], np.uint8))
    for f in (vectorize(lambda p: p**0.5), np.vectorize(lambda p: p**0.5)):
        with pytest.raises(TypeError, match="complex"):
            f(np.array([2, -2]))


def test_captured_values_of_vectorized_functions():
    def f(c):
        return np.sum(vectorize(lambda a: c * a if a > 0 else c * c)(X))

    n = np.sum(X <= 0)
    assert grad(f)(2.0) == pytest.approx(np.sum(X[X > 0]) + 4.0 * n)
    assert jvp(grad(f), (2.0,), (1.0,))[1] == pytest.approx(2.0 * n)


@pytest.mark.parametrize("y", [None, "text", b"text"])
def test_what_is_no_number_is_not_stacked(y):
    with pytest.raises(TypeError, match="is not a number or array, of which results are stacked"):
        map(lambda _: {"y": y, "x": 1.0}, X)


@pytest.mark.parametrize("like", [V, V.astype(np.float32), np.arange(4)], ids=str)
def test_truth_values_and_whole_numbers_keep_their_kind(like):
    truths, whole, mixed = map(lambda x: (bool(x > 1), 2**24 + 1, 0 if x > 1 else x), like)
    assert truths.dtype == bool
    assert truths.tolist() == (like > 1).tolist()
    assert whole.dtype == int
    assert whole.tolist() == [2**24 + 1] * 4
    assert mixed.dtype == like.dtype


def test_a_mask_of_a_scan_over_python_numbers_selects():
    def masked(a):
        y, mask = scan(lambda s, _: (s * a, s > 0.85), 1.0, None, length=3)
        return np.sum(V[:3][mask]) * y

    assert masked(0.9) == pytest.approx(np.sum(V[:2]) * 0.9**3)
    assert grad(masked)(0.9) == pytest.approx(np.sum(V[:2]) * 3 * 0.9**2)
    assert compile(masked, strict=True)(0.9) == pytest.approx(masked(0.9))


def test_a_scan_over_python_numbers_alone_needs_no_array():
    program = """
from chainrules_py.ops import scan
from chainrules_tape import grad

halves = lambda a: scan(lambda s, _: (s * a, s), 1.0, None, length=3)
assert halves(0.5)[1].tolist() == [1.0, 0.5, 0.25]
assert grad(lambda a: halves(a)[1][2])(0.5) == 1.0
whole, truths = scan(lambda s, _: (s, (3, True)), (), None, length=2)[1]
assert whole.tolist() == [3, 3]
assert truths.tolist() == [True, True]
"""
    subprocess.run([sys.executable, "-c", program], check=True)
