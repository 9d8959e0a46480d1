"""Arrays of numpy.ma: wherever one could enter, an error that names the line to write."""

from __future__ import annotations

import re

import numpy as np
import pytest

from chainrules_py import ChainRulesError, frule, rrule
from chainrules_py import ops as v
from chainrules_tape import Tape, grad, hvp, jacobian, jvp, linearize, value_and_grad, vjp

W = np.array([1.0, 2.0, 3.0, 4.0])
M = np.ma.array([0.5, 1.5, 2.5, 3.5], mask=[False, True, False, False])
PLACES = np.ma.array([0, 1], mask=[False, True])
LINE = "np.ma.getmaskarray|m.filled"


def written(index, value):
    def f(w):
        w = w.copy()
        w[index] = value
        return np.sum(w * w)

    return f


def added(w):
    w = w.copy()
    w += M
    return np.sum(w)


def filled(w):
    z = np.zeros(4, like=w)
    z[:] = M
    return np.sum(z * w)


# Functions of a traced array, beside a masked one.
BESIDE = {
    "ufunc": lambda w: np.sum(np.multiply(w, M)),
    "ufunc, masked first": lambda w: np.sum(np.multiply(M, w)),
    "operator": lambda w: np.sum(w * M),
    "operator of the masked": lambda w: np.sum(M * w),
    "subtract": lambda w: (M - w).sum(),
    "compare": lambda w: np.sum(w * (w > M)),
    "matmul": lambda w: w @ M,
    "matmul, masked first": lambda w: M @ w,
    "dot": lambda w: np.dot(w, M),
    "outer": lambda w: np.sum(np.outer(w, M)),
    "inner": lambda w: np.inner(M, w),
    "tensordot": lambda w: np.tensordot(w, M, 1),
    "einsum": lambda w: np.einsum("i,i->", M, w),
    "kron": lambda w: np.sum(np.kron(w, M)),
    "maximum": lambda w: np.sum(np.maximum(w, M)),
    "hypot": lambda w: np.sum(np.hypot(w, M)),
    "power": lambda w: np.sum(w**M),
    "clip": lambda w: np.sum(np.clip(w, M, 5.0)),
    "where condition": lambda w: np.sum(np.where(M > 2, w, 0.0)),
    "where choice": lambda w: np.sum(np.where(w > 2, w, M)),
    "select": lambda w: np.sum(np.select([M > 2], [w])),
    "concatenate": lambda w: np.sum(np.concatenate([w, M])),
    "stack": lambda w: np.sum(np.stack([M, w])),
    "append": lambda w: np.sum(np.append(w, M)),
    "hstack": lambda w: np.sum(np.hstack([w, M])),
    "sum where": lambda w: np.sum(w, where=M > 2),
    "mean where": lambda w: np.mean(w, where=M > 2),
    "average weights": lambda w: np.average(w, weights=M),
    "interp": lambda w: np.sum(np.interp(w, M, M)),
    "polyval": lambda w: np.sum(np.polyval(M, w)),
    "trapezoid": lambda w: np.trapezoid(w, M),
    "cov": lambda w: np.sum(np.cov(w, M)),
    "solve": lambda w: np.sum(np.linalg.solve(np.ma.array(np.eye(4)), w)),
    "index by mask": lambda w: np.sum(w[M > 2]),
    "index by places": lambda w: np.sum(w[PLACES]),
    "take": lambda w: np.sum(np.take(w, PLACES)),
    "take_along_axis": lambda w: np.sum(np.take_along_axis(w, PLACES, 0)),
    "repeat": lambda w: np.sum(np.repeat(w, np.ma.array([1, 2, 1, 1]))),
    "write": written(slice(None), M),
    "write by mask": written(M > 2, 0.0),
    "write in place": filled,
    "add in place": added,
    "masked itself": lambda w: np.sum(w * np.ma.masked),
    "element that is masked": lambda w: np.sum(w * M[1]),
    "method dot": lambda w: w.dot(M),
    "method of the masked": lambda w: M.dot(w),
    "method clip": lambda w: w.clip(M, 5.0).sum(),
    "method take": lambda w: w.take(PLACES).sum(),
    "method sum where": lambda w: w.sum(where=M > 2),
    "np.ma.multiply": lambda w: np.ma.multiply(M, w).sum(),
    "np.ma.sqrt": lambda w: np.ma.sqrt(w).sum(),
    "np.ma.divide": lambda w: np.ma.divide(w, M).sum(),
    "np.ma.sum": lambda w: np.ma.sum(w),
    "np.ma.mean": lambda w: np.ma.mean(w),
    "np.ma.var": lambda w: np.ma.var(w),
    "np.ma.array": lambda w: np.ma.array(w, mask=M.mask).sum(),
    "np.ma.masked_where": lambda w: np.ma.masked_where(M.mask, w).sum(),
    "np.ma.masked_invalid": lambda w: np.ma.masked_invalid(w).sum(),
    "np.ma.masked_greater": lambda w: np.ma.masked_greater(w, 2.0).sum(),
    "np.ma.where": lambda w: np.ma.where(M > 2, w, 0.0).sum(),
    "np.ma.concatenate": lambda w: np.ma.concatenate([M, w]).sum(),
    "np.ma.dot": lambda w: np.ma.dot(M, w),
    "np.ma.average": lambda w: np.ma.average(w, weights=M),
    "np.ma.median": lambda w: np.ma.median(w),
    "np.ma.std": lambda w: np.ma.std(w),
}


OF_OBJECTS = {
    "operator of the masked", "subtract", "method of the masked", *[n for n in BESIDE if "ma." in n]
}  # fmt: skip
"""Where ``np.ma`` makes an array of objects of the one that is traced."""


@pytest.mark.parametrize("f", [f for n, f in BESIDE.items() if n not in OF_OBJECTS])
@pytest.mark.parametrize(
    "ask",
    [lambda f: grad(f)(W), lambda f: jvp(f, (W,), (np.ones(4),))],
    ids=["reverse", "forward"],
)
def test_beside_a_traced_array_it_is_refused(f, ask):
    with pytest.raises(ChainRulesError, match=LINE):
        ask(f)


@pytest.mark.parametrize("name", sorted(OF_OBJECTS))
def test_an_array_of_objects_in_a_masked_one_is_right_or_refused(name):
    f, w = BESIDE[name], W + 0.1  # M ends between elements
    try:
        slope = grad(f)(w)
    except (ChainRulesError, TypeError) as error:
        text = str(error) + str(getattr(error, "__notes__", ""))
        assert re.search(
            f"{LINE}|array of objects|holds what is being differentiated|derivative would be lost",
            text,
        ), text
        return
    rows = 1e-6 * np.eye(4)
    truth = [(f(w + row) - f(w - row)) / 2e-6 for row in rows]
    np.testing.assert_allclose(slope, truth, rtol=1e-6, atol=1e-8)


# Functions of a masked array itself; in most nothing is computed that a rule would refuse.
OF_IT = {
    "itself": lambda x: x[0] * 1.0,
    "sum": np.sum,
    "method": lambda x: x.sum(),
    "ufunc": lambda x: np.sum(np.sin(x)),
    "constant": lambda x: 3.0,
    "np.ma.sum": np.ma.sum,
}


@pytest.mark.parametrize("f", OF_IT.values(), ids=list(OF_IT))
@pytest.mark.parametrize(
    "ask",
    [
        lambda f: grad(f)(M),
        lambda f: jvp(f, (M,), (W,)),
        lambda f: vjp(f, M),
        lambda f: linearize(f, M),
        lambda f: jacobian(f)(M),
        lambda f: hvp(f, (M,), (W,)),
        lambda f: grad(lambda p: f(p["x"]))({"x": M, "y": 1.0}),
    ],
    ids=["grad", "jvp", "vjp", "linearize", "jacobian", "hvp", "structure"],
)
def test_no_derivative_is_taken_in_it(f, ask):
    with pytest.raises(ChainRulesError, match=LINE):
        ask(f)


def test_a_masked_number_has_no_gradient_of_one():
    """It had: nothing but the identity was asked."""
    with pytest.raises(ChainRulesError, match=LINE):
        grad(lambda x: x)(np.ma.array(2.0, mask=True))


def test_a_tape_takes_none():
    with Tape() as tape, pytest.raises(ChainRulesError, match=LINE):
        tape.variable(M)


@pytest.mark.parametrize("f", [v.sin, np.sin, v.sum, np.sum, np.isnan, v.isnan, np.sign, np.sort])
def test_rules_refuse_it(f):
    with pytest.raises(ChainRulesError, match=LINE):
        rrule(f, M)
    with pytest.raises(ChainRulesError, match=LINE):
        frule((np.ones(4),), f, M)


TANGENTS = {
    "pullback": lambda: rrule(np.sin, W)[1](M),
    "frule": lambda: frule((M,), np.sin, W),
    "jvp": lambda: jvp(lambda x: x * x, (W,), (M,)),
    "vjp": lambda: vjp(lambda x: x * x, W)[1](M),
    "linearize": lambda: linearize(lambda x: x * x, W)[1](M),
    "hvp": lambda: hvp(lambda x: np.sum(x**3), (W,), (M,)),
    "in a structure": lambda: jvp(lambda p: p["x"] ** 2, ({"x": W},), ({"x": M},)),
    "seed": lambda: seeded(M),
}


def seeded(seed):
    with Tape() as tape:
        x = tape.variable(W)
        y = x * x
    return tape.grad(y, x, seed)


@pytest.mark.parametrize("ask", TANGENTS.values(), ids=list(TANGENTS))
def test_it_is_no_tangent(ask):
    """It was one: products left what is masked as it was, and the sum counted it."""
    with pytest.raises(ChainRulesError, match=LINE):
        ask()


def test_the_line_to_write_gives_the_derivative():
    x, mask = M.data, np.ma.getmaskarray(M)

    def mean_square(x):
        return np.sum(np.where(mask, 0.0, x) ** 2) / np.sum(~mask)

    value, slope = value_and_grad(mean_square)(x)
    np.testing.assert_allclose(value, np.ma.mean(M**2))
    np.testing.assert_allclose(slope, np.where(mask, 0.0, 2 * x / 3))
    np.testing.assert_array_equal(grad(lambda w: np.sum(w * M.filled(0)))(W), M.filled(0))


def test_what_no_derivative_is_taken_in_may_be_one():
    """As another argument, as what is handed through, or where its data are read."""
    np.testing.assert_array_equal(grad(lambda w, m: np.sum(w * m.filled(0)))(W, M), M.filled(0))
    (_, aux), slope = value_and_grad(lambda w: (np.sum(w), M), has_aux=True)(W)
    assert aux is M
    np.testing.assert_array_equal(slope, np.ones(4))


def test_a_quantity_is_refused_with_its_own_line():
    members = {"__module__": "astropy.units.quantity", "tobytes": None}
    q = np.ones(3).view(type("Quantity", (np.ndarray,), members))
    with pytest.raises(ChainRulesError, match=r"write q\.to_value\(unit\)"):
        grad(np.sum)(q)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_matrices_are_refused_with_their_own_line():
    m = np.asmatrix(np.eye(2))
    for ask in (
        lambda: grad(np.sum)(m),
        lambda: jvp(lambda x: x * x, (np.eye(2),), (m,)),
        lambda: rrule(np.sin, np.eye(2))[1](m),
    ):
        with pytest.raises(ChainRulesError, match=r"np\.asarray"):
            ask()
