"""scipy.sparse: products and systems, with derivatives in the stored elements, to any order."""

from __future__ import annotations

import linecache
import re
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph, linalg

import chainrules_scipy
from chainrules_py import (
    ChainRulesError,
    ConvergenceError,
    NotDifferentiableError,
    ProjectionError,
    Tangent,
    ignore_derivatives,
    rrule,
)
from chainrules_py.testing import check_rule
from chainrules_py.values.structure import fields_of, rebuild
from chainrules_scipy.sparse import (
    Pattern,
    TracedSparse,
    sampled,
    sparse_product,
    sparse_solve,
    spsolve,
    with_data,
)
from chainrules_scipy.sparse.linalg import lsqr, minres
from chainrules_tape import Tape, grad, hvp, jacobian, jvp, linearize, value_and_grad, vjp

FORMATS = ("csr_array", "csc_array", "coo_array", "csr_matrix", "csc_matrix", "coo_matrix")
ROWS, COLUMNS = np.array([0, 0, 1, 2, 2, 4, 4]), np.array([0, 2, 1, 0, 3, 3, 2])


def drawn(*shape, complex=False, seed=0):
    rng = np.random.default_rng((seed, *shape))
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if complex else x


def array(format="csr_array", complex=False, dtype=None):
    """Five rows, one of them empty, and four columns."""
    data = drawn(len(ROWS), complex=complex)
    data = data if dtype is None else data.astype(dtype)
    return getattr(sparse, format)((data, (ROWS, COLUMNS)), shape=(5, 4))


def square(format="csc_array", complex=False):
    a = sparse.random_array((6, 6), density=0.4, rng=np.random.default_rng(1)).toarray()
    a = a + 3.0 * np.eye(6) + (0.5j * a.T if complex else 0.0)
    return getattr(sparse, format)(a)


def dense(a, data):
    """The array with these elements, in NumPy's operations: what derivatives are compared with."""
    rows, columns = Pattern.of(a).rows_columns
    full = np.zeros(a.shape, like=data) + 0.0 * data[0]
    return full + scattered(a, data, rows, columns)


def scattered(a, data, rows, columns):
    places = np.zeros((len(rows), *a.shape))
    places[np.arange(len(rows)), rows, columns] = 1.0
    return np.tensordot(data, places, 1)


LOSSES = {
    "A @ x": (lambda a, x: np.sum(np.sin(a @ x)), (4,)),
    "A @ X": (lambda a, x: np.sum(np.sin(a @ x)), (4, 3)),
    "x @ A": (lambda a, x: np.sum(np.sin(x @ a)), (5,)),
    "X @ A": (lambda a, x: np.sum(np.sin(x @ a)), (3, 5)),
    "A.T @ x": (lambda a, x: np.sum(np.sin(a.T @ x)), (5,)),
    "A.dot(x)": (lambda a, x: np.sum(np.sin(a.dot(x))), (4,)),
    "quadratic": (lambda a, x: x[:5] @ a @ x[5:], (9,)),
    "twice": (lambda a, x: np.sum(a.T @ (a @ x) ** 2), (4,)),
    "scaled": (lambda a, x: np.sum(((-a * 2.0 / x[0]) @ x) ** 2), (4,)),
    "one column": (lambda a, x: np.sum(np.sin(a @ x)), (4, 1)),
}


def real(f):
    """A real loss of complex operands too."""
    return lambda a, x: np.real(f(a, x)) + 0.5 * np.imag(f(a, x))


def agree(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", LOSSES)
def test_products_have_the_derivatives_of_dense_ones(name, format, complex):
    f, shape = LOSSES[name]
    f = real(f)
    a, x = array(format, complex), drawn(*shape, complex=complex)
    by_hand = lambda data, x: f(dense(a, data), x)
    value, (a_bar, x_bar) = value_and_grad(f, (0, 1))(a, x)
    expected, (data_bar, other_bar) = value_and_grad(by_hand, (0, 1))(a.data, x)
    agree(value, expected)
    agree(a_bar.data, data_bar)
    agree(x_bar, other_bar)
    a_dot, x_dot = drawn(a.nnz, complex=complex, seed=5), drawn(*shape, complex=complex, seed=6)
    tangents = Tangent[type(a)](data=a_dot), x_dot
    agree(jvp(f, (a, x), tangents)[1], jvp(by_hand, (a.data, x), (a_dot, x_dot))[1])


@pytest.mark.parametrize("format", ["csr_array", "coo_array", "csc_matrix"])
@pytest.mark.parametrize("name", LOSSES)
def test_products_have_second_derivatives(name, format):
    f, shape = LOSSES[name]
    a, x = array(format), drawn(*shape)
    by_hand = lambda data, x: f(dense(a, data), x)
    a_dot, x_dot = drawn(a.nnz, seed=5), drawn(*shape, seed=6)
    a_bar, x_bar = hvp(f, (a, x), (Tangent[type(a)](data=a_dot), x_dot))
    data_bar, other_bar = hvp(by_hand, (a.data, x), (a_dot, x_dot))
    agree(a_bar.data, data_bar)
    agree(x_bar, other_bar)

    def slope(f, a, x):
        return np.sum(grad(f, 1)(a, x) ** 2)

    reverse_twice = grad(lambda a: slope(f, a, x))(a)
    agree(reverse_twice.data, grad(lambda data: slope(by_hand, data, x))(a.data))


@pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("shape", [(6,), (6, 2), (6, 1)])
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_systems_have_the_derivatives_of_dense_ones(format, shape, complex):
    a, b = square(format, complex), drawn(*shape, complex=complex)

    def f(a, b):
        y = spsolve(a, b)
        return np.sum(np.real(y) ** 2 + np.imag(y) ** 3)

    def by_hand(data, b):
        y = np.linalg.solve(dense(a, data), b)
        return np.sum(np.real(y) ** 2 + np.imag(y) ** 3)

    agree(spsolve(a, b), linalg.spsolve(a, b))
    value, (a_bar, b_bar) = value_and_grad(f, (0, 1))(a, b)
    expected, (data_bar, other_bar) = value_and_grad(by_hand, (0, 1))(a.data, b)
    agree(value, expected)
    agree(a_bar.data, data_bar)
    agree(b_bar, other_bar)
    a_dot, b_dot = drawn(a.nnz, complex=complex, seed=5), drawn(*shape, complex=complex, seed=6)
    tangents = Tangent[type(a)](data=a_dot), b_dot
    agree(jvp(f, (a, b), tangents)[1], jvp(by_hand, (a.data, b), (a_dot, b_dot))[1])
    if not complex:
        a_bar, b_bar = hvp(f, (a, b), tangents)
        data_bar, other_bar = hvp(by_hand, (a.data, b), (a_dot, b_dot))
        agree(a_bar.data, data_bar)
        agree(b_bar, other_bar)


@pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])
def test_the_rules_by_the_judge(complex):
    a, p = array(complex=complex), Pattern.of(array(complex=complex))
    check_rule(sparse_product, a.data, drawn(4, 2, complex=complex), pattern=p, vary=False)
    check_rule(sparse_product, a.data, drawn(5, complex=complex), pattern=p.T, vary=False)
    check_rule(
        sampled, drawn(5, 2, complex=complex), drawn(4, 2, complex=complex), pattern=p, vary=False
    )
    s = square(complex=complex)
    check_rule(sparse_solve, s.data, drawn(6, complex=complex), pattern=Pattern.of(s), vary=False)


def _log_determinant(a):
    return np.sum(np.log(np.abs(linalg.splu(a).U.diagonal())))


def _of_lower(a):
    low = linalg.splu(a, permc_spec="NATURAL").L.toarray()
    return np.sum(np.real(low) ** 3 + np.imag(low) ** 2)


@pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("of", [_log_determinant, _of_lower])
def test_triangular_factors(of, complex):
    """They were plain arrays, and their part of a derivative was lost."""
    a, step = square(complex=complex), 1e-5
    a_dot = drawn(a.nnz, complex=complex, seed=5)
    at = lambda t: of(with_data(a, a.data + t * a_dot))
    slope = (at(step) - at(-step)) / (2 * step)
    with chainrules_scipy.install():
        assert grad(at)(0.0) == pytest.approx(slope, rel=1e-7)
        assert jvp(at, (0.0,), (1.0,))[1] == pytest.approx(slope, rel=1e-7)
        bent = grad(grad(at))(0.0)
        up, down = grad(at)(step), grad(at)(-step)
        agree(linalg.splu(a).U.toarray(), _plain_factor(a))
    assert bent == pytest.approx((up - down) / (2 * step), rel=1e-6)


def _plain_factor(a):
    return linalg.splu(a).U.toarray()


def test_factors_whose_elements_vanish():
    """The middle element of L is 0, and SciPy leaves it out: its derivative is 1."""
    a = sparse.csc_array(np.array([[1.0, 1.0, 0.0], [0.5, 2.0, 2.0], [0.25, 0.25, 6.0]]))
    bump = sparse.csc_array(([1.0], ([2], [1])), shape=(3, 3))
    with chainrules_scipy.install():
        found = grad(lambda k: linalg.splu(a + k * bump, permc_spec="NATURAL").L.toarray()[2, 1])
        assert found(0.0) == pytest.approx(1 / 1.5)


@pytest.mark.parametrize("how", [{"maxiter": 1}, {"rtol": 0.3}])
@pytest.mark.parametrize("name", ["cg", "bicg", "bicgstab", "cgs", "tfqmr", "qmr", "minres"])
def test_an_iteration_that_stopped_elsewhere_has_no_derivative(name, how):
    """It had that of the exact solution, beside another value."""
    a, b = sparse.csc_array([[4.0, 1.0, 0.0], [1.0, 5.0, 2.0], [0.0, 2.0, 6.0]]), drawn(3)
    solve = getattr(chainrules_scipy.sparse, name)
    with pytest.raises(ConvergenceError, match=f"{name} stopped"):
        grad(lambda b: solve(a, b, **how)[0][0])(b)
    agree(solve(a, b, **how)[0], getattr(linalg, name)(a, b, **how)[0])
    agree(grad(lambda b: solve(a, b)[0][0])(b), np.linalg.inv(a.toarray())[0])


def test_elements_are_factored_once(monkeypatch):
    from chainrules_scipy.sparse import patterns_and_products

    calls = []
    monkeypatch.setattr(patterns_and_products, "splu", lambda a: calls.append(1) or linalg.splu(a))
    a, b = square(), drawn(6)
    value_and_grad(lambda a, b: np.sum(spsolve(a, b) ** 2), (0, 1))(a, b)
    assert len(calls) == 1


def test_factors_of_elements_that_were_written_over_are_not_used():
    a, b = square(), drawn(6)
    pattern = Pattern.of(a)
    sparse_solve(a.data, b, pattern=pattern)
    a.data *= 2.0
    agree(sparse_solve(a.data, b, pattern=pattern), np.linalg.solve(a.toarray(), b))


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("of", ["data", "product", "right side"])
def test_systems_whose_indices_are_not_sorted(of):
    """SuperLU sorts the indices of the matrix that it is given in place."""
    p, b = square(), drawn(6)
    q = p.T @ p
    assert not q.has_sorted_indices

    def solution(x):
        if of == "product":
            p_x = with_data(p, x)
            return spsolve(p_x.T @ p_x, b)
        return spsolve(with_data(q, x), b) if of == "data" else spsolve(q, x)

    def loss(x):
        y = solution(x)
        later = with_data(q, x) if of == "data" else q
        return np.sum(np.sin(y)) + np.sum(np.cos(later @ drawn(6, seed=3)) * y)

    def dense_loss(x):
        full = dense(p, x) if of == "product" else dense(q, x) if of == "data" else q.toarray()
        y = np.linalg.solve(full.T @ full if of == "product" else full, x if len(x) == 6 else b)
        later = full if of == "data" else q.toarray()
        return np.sum(np.sin(y)) + np.sum(np.cos(later @ drawn(6, seed=3)) * y)

    at = {"data": q.data.copy(), "product": p.data, "right side": b}[of]
    h = 1e-6
    truth = [(dense_loss(at + h * e) - dense_loss(at - h * e)) / (2 * h) for e in np.eye(len(at))]
    np.testing.assert_allclose(grad(loss)(at), truth, rtol=1e-5, atol=1e-7)
    agree(q.toarray(), (p.T @ p).toarray())


@pytest.mark.parametrize("form", ["dia", "bsr"])
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_constant_matrices_of_other_formats_in_functions_of_solvers(form):
    b, a = drawn(6), square("csr_array")
    a, d = a @ a.T, sparse.diags_array(np.arange(1.0, 7.0)).asformat(form)
    with chainrules_scipy.install():
        solved = grad(lambda b: np.sum(linalg.cg(a, b, M=d, rtol=1e-12)[0]))(b)
        divided = grad(lambda b: np.sum(linalg.spsolve(d, b)))(b)
        repeated = grad(lambda a: (sparse.kron(a, d) @ np.ones(36)).sum())(a)
    agree(solved, np.linalg.solve(a.toarray(), np.ones(6)))
    agree(divided, 1 / np.arange(1.0, 7.0))
    agree(repeated.data, np.full(a.nnz, 21.0))
    with pytest.raises(ChainRulesError, match=r"write x.tocsr\(\)"):
        grad(lambda d: (d @ b).sum())(d)


def test_single_precision_stays():
    a = array(dtype=np.float32)
    a_bar, x_bar = grad(lambda a, x: np.sum((a @ x) ** 2), (0, 1))(a, drawn(4).astype(np.float32))
    assert a_bar.data.dtype == x_bar.dtype == np.float32
    a_bar, x_bar = grad(lambda a, x: np.sum((a @ x) ** 2), (0, 1))(a, drawn(4))
    assert (a_bar.data.dtype, x_bar.dtype) == (np.float32, np.float64)


def diagonal(x, b, name):
    if name == "spsolve":
        return linalg.spsolve(sparse.diags_array(x).tocsc(), b)
    return getattr(linalg, name)(linalg.LinearOperator((2, 2), matvec=lambda v: v * x), b)[0]


@pytest.mark.parametrize("name", ["spsolve", "bicgstab", "gmres"])
@pytest.mark.parametrize("dtypes", ["ff", "fd", "df", "fD", "Df"])
def test_solutions_have_the_precision_of_scipys(name, dtypes):
    x, b = np.array([0.3, 1.1], dtypes[0]), np.array([1.0, 2.0], dtypes[1])
    f = lambda x, b: diagonal(x, b, name)
    known = f(x, b)
    with chainrules_scipy.install():
        value, slope = jvp(f, (x, b), (np.ones_like(x), np.ones_like(b)))
        bars = grad(lambda x, b: np.sum(f(x, b).real), (0, 1))(x, b)
    assert value.dtype == slope.dtype == known.dtype
    np.testing.assert_array_equal(value, known)
    np.testing.assert_allclose(slope, 1 / x - b / x**2, rtol=1e-4)
    assert [bar.dtype for bar in bars] == [x.dtype, b.dtype]


@pytest.mark.parametrize("form", [np.array, sparse.csr_array, linalg.aslinearoperator])
def test_a_shift_is_taken_off_the_diagonal(form):
    a, b, s = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([1.0, 2.0]), 0.5
    found = grad(lambda b, s: minres(form(a), b, shift=s, rtol=1e-13)[0][0], argnums=(0, 1))(b, s)
    inverse = np.linalg.inv(a - s * np.eye(2))
    np.testing.assert_allclose(found[0], inverse[0], rtol=1e-9)
    np.testing.assert_allclose(found[1], (inverse @ inverse @ b)[0], rtol=1e-9)


def test_factors_are_kept_by_precision():
    x = np.array([0.3, 1.1], np.float32)
    pattern = Pattern.of(sparse.diags_array(x).tocsr())
    for dtype in (np.float32, np.float64, np.float32):
        found = sparse_solve(x.astype(dtype), np.ones(2, dtype), pattern=pattern)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, 1 / x.astype(dtype), rtol=2 * np.finfo(dtype).eps)


OF_NUMBERS = {
    "A @ array": lambda a, x: a @ np.array([x[0], x[1] * x[2], x[2], 2.0]),
    "A @ list": lambda a, x: a @ [x[0], x[1] * x[2], x[2], 2.0],
    "A @ columns": lambda a, x: a @ np.array([[x[0], 1.0], [x[1], x[0]], [x[2], 0.0], [0.0, x[3]]]),
    "array @ A": lambda a, x: np.array([x[0], x[1] * x[2], x[2], 2.0, x[3]]) @ a,
    "multiply": lambda a, x: a.multiply(np.array([x[0], x[1] * x[2], x[2], 2.0])).toarray(),
    "A + array": lambda a, x: a + np.array([[x[0], x[1], x[2], 2.0]] * 5),
}


@pytest.mark.parametrize("format", ["csr_array", "lil_array"])
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_a_constant_array_takes_an_array_made_of_traced_numbers(name, format):
    """SciPy was given an array of objects, and refused it."""
    a, x = array().asformat(format[:3]), drawn(4)
    f = lambda x: np.sum(OF_NUMBERS[name](a, x) ** 2)
    numbers = [(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(4)]
    np.testing.assert_allclose(grad(f)(x), numbers, rtol=1e-7, atol=1e-8)


def test_real_elements_have_real_gradients():
    a_bar = grad(lambda a: np.sum(np.abs(a @ drawn(4, complex=True)) ** 2))(array())
    assert a_bar.data.dtype == np.float64


def test_elements_that_repeat_have_each_their_own():
    a = sparse.coo_array((np.array([1.0, 2.0, 3.0]), ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    x = np.array([5.0, 7.0])
    agree(grad(lambda a: np.sum((a @ x) ** 2))(a).data, [2 * 21 * 7, 2 * 21 * 7, 2 * 15 * 5])
    agree(grad(lambda a: np.sum(a.toarray() ** 2))(a).data, [6, 6, 6])


def test_parts_and_sums():
    a, x = square(), drawn(6)
    for f in (
        lambda a: np.sum(a.diagonal() ** 2),
        lambda a: a.sum() ** 2,
        lambda a: np.sum(a.sum(axis=0) ** 2 * x),
        lambda a: np.sum(a.sum(axis=-1) ** 2 * x),
        lambda a: np.sum(a.toarray() ** 3 * x),
        lambda a: np.sum(a.data**2),
        lambda a: np.sum(np.matmul(a, x) ** 2) + np.sum(np.matmul(x, a)),
    ):
        agree(grad(f)(a).data, grad(lambda data, f=f: f(Dense(a, data)))(a.data))


class Dense:
    """The members of a sparse array, on a dense one."""

    def __init__(self, a, data):
        self.full, self.data = dense(a, data), data
        self.toarray, self.sum, self.diagonal = lambda: self.full, self.full.sum, self.full.diagonal

    def __array_ufunc__(self, ufunc, method, *xs):
        return ufunc(*[x.full if isinstance(x, Dense) else x for x in xs])


@pytest.mark.parametrize("format", [*FORMATS, "dia_matrix", "bsr_matrix", "lil_matrix"])
def test_a_constant_times_a_traced_number(format):
    """On either side; ``*`` of the older classes is the product of matrices otherwise."""
    a, x = getattr(sparse, format)(square()), drawn(6)
    for f in (
        lambda c: np.sum(((a * c[0]) @ x) ** 2) + np.sum((c[1] * a) @ x),
        lambda c: np.sum(((a * c[0] + a * c[1]) @ x) ** 2),
        lambda c: np.sum((-(a * (c[0] * c[1])) @ x) ** 2),
    ):
        c = np.array([0.7, -1.2])
        numbers = [(f(c + 1e-6 * e) - f(c - 1e-6 * e)) / 2e-6 for e in np.eye(2)]
        np.testing.assert_allclose(grad(f)(c), numbers, rtol=1e-7)


def test_a_traced_number_is_no_matrix():
    with pytest.raises(ValueError, match="Scalar operands are not allowed"):
        grad(lambda c: (sparse.csr_matrix(square()) @ c).sum())(2.0)


def test_every_way_to_ask():
    a, x = array(), drawn(4)
    f = lambda a: np.sum((a @ x) ** 2)
    slope = grad(f)(a).data
    y, pullback = vjp(lambda a: a @ x, a)
    agree(pullback(2 * y)[0].data, slope)
    _, push = linearize(f, a)
    t = drawn(a.nnz, seed=7)
    agree(push(Tangent[sparse.csr_array](data=t)), slope @ t)
    agree(jacobian(lambda a: a @ x)(a).data, np.eye(5)[:, rows_of(a)] * x[a.indices])
    with Tape() as tape:
        traced = tape.variable(a, "A")
        loss = f(traced)
    assert isinstance(traced, TracedSparse)
    assert "csr_array" in repr(traced)
    agree(tape.grad(loss, traced).data, slope)
    params = {"A": a, "b": x[0]}
    found = grad(lambda p: np.sum((p["A"] @ x + p["b"]) ** 2))(params)
    assert isinstance(found["A"], Tangent[sparse.csr_array])


def rows_of(a):
    return Pattern.of(a).rows_columns[0]


@pytest.mark.parametrize("format", FORMATS)
def test_a_step_down_the_gradient_gives_the_class_back(format):
    a, x = array(format), drawn(4)
    stepped = a - 0.1 * grad(lambda a: np.sum((a @ x) ** 2))(a)
    assert type(stepped) is type(a)
    agree(stepped.toarray(), a.toarray() - 0.1 * (a.toarray() != 0) * np.outer(2 * (a @ x), x))


def test_results_that_are_sparse():
    a = array()
    y, y_dot = jvp(lambda a: a * 3.0, (a,), (Tangent[sparse.csr_array](data=np.ones(a.nnz)),))
    assert type(y) is sparse.csr_array
    agree(y.data, 3 * a.data)
    agree(y_dot.data, np.full(a.nnz, 3.0))


def test_other_elements_on_a_pattern():
    a, x = array(), drawn(4)
    agree(
        grad(lambda c: np.sum((with_data(a, c * a.data) @ x) ** 2))(2.0),
        4 * np.sum((a @ x) ** 2),
    )
    assert type(with_data(a, np.ones(a.nnz))) is sparse.csr_array
    with pytest.raises(ValueError, match="elements"):
        with_data(a, np.ones(3))


def test_it_is_a_structure_of_its_elements():
    for format in FORMATS:
        a = array(format)
        ((name, data),) = fields_of(a)
        assert name == "data"
        assert data is a.data
        assert type(rebuild(a, [data * 2])) is type(a)
        agree(rebuild(a, [data * 2]).toarray(), 2 * a.toarray())


@pytest.mark.parametrize("format", ["bsr_array", "dia_array", "dok_array", "lil_array"])
def test_other_formats(format):
    """As a constant they multiply what is traced; elements to differentiate in they have none."""
    a, x = square("csr_array").asformat(format.split("_")[0]), drawn(6)
    agree(
        grad(lambda x: np.sum((a @ x) ** 2))(x), grad(lambda x: np.sum((a.toarray() @ x) ** 2))(x)
    )
    agree(
        grad(lambda x: np.sum((x @ a) ** 2))(x), grad(lambda x: np.sum((x @ a.toarray()) ** 2))(x)
    )
    with pytest.raises(ChainRulesError, match="tocsr"):
        grad(lambda a: np.sum(a @ x))(a)


# ------------------------------------------------------------------------------------ refusals

A, B, X = array(), square(), drawn(4)
OF_TRACED = {
    "compare": lambda a: (a > 0).sum(),
    "loop": lambda a: sum(row.sum() for row in a),
    "np.sin": lambda a: np.sin(a).sum(),
    "np.sum": lambda a: np.sum(a),
    "np.dot": lambda a: np.dot(a, X).sum(),
    "np.asarray": lambda a: np.asarray(a).sum(),
    "truth": lambda a: a.sum() if a else 0.0,
    "norm": lambda a: linalg.norm(a),
    "cg": lambda a: linalg.cg(a, drawn(5))[0].sum(),
    "scipy's spsolve": lambda a: linalg.spsolve(a.T @ a, X).sum(),
    "vstack": lambda a: (sparse.vstack([a, a]) @ X).sum(),
    "write": lambda a: a.__setitem__((0, 0), 1.0),
}


@pytest.mark.parametrize("name", OF_TRACED)
def test_what_traced_sparse_arrays_cannot_do_is_an_error(name):
    with pytest.raises((ChainRulesError, TypeError)) as caught:
        grad(OF_TRACED[name])(A)
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert re.search("toarray|plain arrays|chainrules_scipy", text)


BESIDE = {
    "np.multiply": (lambda x: np.multiply(x, A).sum(), "csr_array"),
    "np.dot": (lambda x: np.dot(A, x).sum(), "csr_array"),
    "scipy's spsolve": (lambda x: linalg.spsolve(B, np.tile(x, 2)[:6]).sum(), "chainrules_scipy"),
    "cg": (lambda x: linalg.cg(B, np.tile(x, 2)[:6])[0].sum(), "chainrules_scipy.sparse import cg"),
    "splu": (lambda x: linalg.splu(B).solve(np.tile(x, 2)[:6]).sum(), "takes plain values"),
    "coo_array": (
        lambda x: (sparse.coo_array((x, ([0, 1, 2, 3], [0, 1, 2, 3]))) @ X).sum(),
        "with_data",
    ),
    "csr_array with starts": (
        lambda x: (sparse.csr_array((x, [0, 1, 2, 3], [0, 1, 2, 3, 4])) @ X).sum(),
        "with_data",
    ),
    "3 axes": (lambda x: (A @ x.reshape(4, 1, 1)).sum(), "shape"),
    "other lengths": (lambda x: (A @ x[:3]).sum(), "shape"),
}


@pytest.mark.parametrize("name", BESIDE)
def test_what_sparse_arrays_do_with_traced_ones_is_an_error(name):
    f, line = BESIDE[name]
    with pytest.raises((ChainRulesError, ValueError, TypeError), match=line):
        grad(f)(X)


def test_a_sparse_array_is_no_tangent():
    """It may have another pattern, of as many elements."""
    with pytest.raises(ProjectionError, match="one number for each stored element"):
        jvp(lambda a: a @ X, (A,), (A,))
    with pytest.raises(ProjectionError):
        rrule(sparse_product, A.data, X, pattern=Pattern.of(A))[1](A)


def test_a_sparse_right_side():
    b = sparse.csc_array(np.eye(6) + 0.1)
    assert type(spsolve(B, b)) is type(linalg.spsolve(B, b))
    np.testing.assert_allclose((B @ spsolve(B, b)).toarray(), b.toarray(), atol=1e-12)
    with chainrules_scipy.install():
        for f in (spsolve, linalg.spsolve):
            for k in (0, 1, (0, 1)):
                with pytest.raises(NotDifferentiableError, match=r"spsolve\(A, b\.toarray\(\)\)"):
                    grad(lambda a, b, f=f: f(a, b).sum(), k)(B, b)


@pytest.mark.parametrize(
    "places, shape",
    [((np.array([0, 2]),), (3,)), ((np.array([0, 0]), np.array([1, 0]), np.eye(2)[0]), (1, 2, 2))],
)
def test_arrays_of_another_number_of_axes_are_refused(places, shape):
    places = tuple(np.asarray(p, int) for p in places)
    with (
        chainrules_scipy.install(),
        pytest.raises(NotDifferentiableError, match=r"coo_array\(\(d, \(0 \* i, i\)\)\)"),
    ):
        grad(lambda d: sparse.coo_array((d, places), shape=shape).sum())(np.ones(2))


def test_graphs_say_what_to_write():
    w, x = (
        sparse.csr_array([[0, 1.0, 4.0], [1.0, 0, 2.0], [4.0, 2.0, 0]]),
        np.array([1.0, 2.0, 5.0]),
    )
    with chainrules_scipy.install():
        for name, line in {
            "laplacian": "write scipy.sparse.diags",
            "minimum_spanning_tree": r"A\[t.row, t.col\]",
            "shortest_path": "return_predecessors=True",
            "connected_components": r"ignore_derivatives\(A\)",
            "reverse_cuthill_mckee": r"ignore_derivatives\(A\)",
        }.items():
            with pytest.raises(NotDifferentiableError, match=line):
                grad(lambda a, name=name: getattr(csgraph, name)(a) * a.sum())(w)

        def tree(a):
            t = csgraph.minimum_spanning_tree(ignore_derivatives(a)).tocoo()
            return a[t.row, t.col].sum()

        assert tree(w) == csgraph.minimum_spanning_tree(w).sum()
        assert grad(tree)(w).data.tolist() == [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]
        energy = lambda a: x @ ((sparse.diags(a.sum(axis=0)) - a) @ x)
        assert energy(w) == x @ (csgraph.laplacian(w) @ x)
        i, j = w.tocoo().row, w.tocoo().col
        np.testing.assert_allclose(grad(energy)(w).data, x[j] * (x[j] - x[i]))


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="spsolve"):
        spsolve(A, drawn(5))
    with pytest.raises(ValueError, match="spsolve"):
        spsolve(B, drawn(5))
    with pytest.raises(ChainRulesError, match="two axes"):
        grad(lambda a: np.sum(a.data))(sparse.coo_array(np.array([1.0, 0.0, 2.0])))


@pytest.mark.parametrize("k", [-4, -2, -1, 0, 1, 3, 4])
def test_diagonals_beside_the_main_one(k):
    a = array()
    assert np.array_equal(
        value_and_grad(lambda a: np.sum(a.diagonal(k)))(a)[0], a.diagonal(k).sum()
    )
    rows, columns = Pattern.of(a).rows_columns
    found = grad(lambda a: np.sum(a.diagonal(k=k) ** 2))(a).data
    assert np.array_equal(found, np.where(columns - rows == k, 2.0 * a.data, 0.0))


def test_the_tangent_of_a_sparse_result_is_of_its_class():
    """It was of the class of what stands for one while it is traced."""
    a = array()
    y, y_dot = jvp(lambda a: -a, (a,), (Tangent[type(a)](data=np.ones(len(ROWS))),))
    assert type(y) is type(a)
    assert type(y_dot) is Tangent[type(a)]
    y, y_dot = jvp(lambda c: with_data(a, c * a.data), (2.0,), (1.0,))
    assert type(y_dot) is Tangent[type(a)]
    assert np.array_equal(y_dot.data, a.data)


def test_right_sides_may_be_lists():
    a, b = square(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    found = [grad(lambda a, b=b: np.sum(spsolve(a, b)))(a).data for b in (b, np.array(b))]
    assert np.array_equal(*found)


@pytest.mark.parametrize(
    "f, says",
    [
        (lambda a: a.power(0).sum(), "the power 0, which is"),
        (lambda a: a.max(axis=0).sum(), "max along an axis of a csr_array"),
        (lambda a: (a > 0).sum(), "a comparison of a csr_array"),
        (lambda a: (1.0 / a).sum(), "a quotient of a csr_array"),
        (lambda a: 2.0 * lsqr(a, np.ones(5))[3], r"writing lsqr\(\.\.\.\)\[3\]\.plain"),
    ],
)
def test_what_is_refused_is_called_by_its_name(f, says):
    with pytest.raises(ChainRulesError, match=says):
        grad(f)(array())


PROGRAM = """
import numpy as np
from chainrules_tape import {names}
x = np.array([1.0, 2.0])
grad(np.sum)(x)  # before there are sparse arrays
from scipy import sparse
A = sparse.{form}(np.diag([2.0, 4.0]))
print({line})
"""
FIRST = {
    "an argument": ("grad(lambda A: (A @ x).sum())(A.tocsr()).data", "[1. 2.]"),
    "A @ x": ("grad(lambda x: (A @ x).sum())(x)", "[2. 4.]"),
    "x @ A": ("grad(lambda x: (x @ A).sum())(x)", "[2. 4.]"),
    "A.T.dot(x)": ("grad(lambda x: A.T.dot(x).sum())(x)", "[2. 4.]"),
    "A * x[0]": ("grad(lambda x: (A * x[0]).sum())(x)", "[6. 0.]"),
    "A / x[1]": ("grad(lambda x: (A / x[1]).sum())(x)", "[ 0.  -1.5]"),
    "A.multiply(x)": ("grad(lambda x: A.multiply(x).sum())(x)", "[2. 4.]"),
    "A - x": ("grad(lambda x: (A - x[:, None] * x).sum())(x)", "[-6. -6.]"),
    "forward": ("jvp(lambda x: A @ x, (x,), (x,))[1]", "[2. 8.]"),
    "linear": ("linearize(lambda x: A @ x, x)[1](x)", "[2. 8.]"),
    "many": ("vmap(lambda x: A @ x)(np.eye(2)).ravel()", "[2. 0. 0. 4.]"),
    "a tape": ("(t := Tape()).grad(sum(A @ (y := t.variable(x))), y)", "[2. 4.]"),
}


@pytest.mark.parametrize("form", ["csr_array", "dia_matrix"])
@pytest.mark.parametrize("name", FIRST)
def test_the_first_operation_in_a_process_has_its_derivative(name, form):
    """It was refused, as SciPy made a plain array of x, and the next one was not."""
    line, says = FIRST[name]
    if form == "dia_matrix" and name == "A - x":
        pytest.skip("a sum of a matrix and an array is a np.matrix, and is refused")
    names = "Tape, grad, jvp, linearize; from chainrules_tape.tools import vmap"
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(names=names, form=form, line=line)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.stdout.strip(), run.stderr) == (says, "")


def test_singular_values_of_a_diagonal():
    """In another format first; it said to write what was written."""
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0])

    def largest(x):
        a = sparse.diags_array(x).tocsr()  # pyright: ignore[reportArgumentType]
        return linalg.svds(a, k=2, v0=np.ones(5))[1].sum()

    with chainrules_scipy.install():
        agree(grad(largest)(x), [0.0, 0.0, 0.0, 1.0, 1.0])
        agree(grad(lambda x: linalg.onenormest(sparse.diags_array(x)))(x), [0, 0, 0, 0, 1])


DEGENERATE = np.linalg.qr(drawn(6, 6))[0]
DEGENERATE = DEGENERATE @ np.diag([1.0, 2.0, 2.0, 3.0, 5.0, 5.0]) @ DEGENERATE.T
START = np.arange(1.0, 7.0)


def symmetric(x):
    return sparse.csr_array((x + x.T) / 2)


SPECTRA = {
    "eigsh": (
        lambda x: linalg.eigsh(symmetric(x), 3, which="SA", v0=START, return_eigenvectors=False),
        lambda x: np.linalg.eigvalsh((x + x.T) / 2)[:3],
    ),
    "svds": (
        lambda x: linalg.svds(symmetric(x), 3, v0=START, return_singular_vectors=False),
        lambda x: np.linalg.svd((x + x.T) / 2, compute_uv=False)[:3],
    ),
    "projector": (
        lambda x: (lambda u: START @ u @ u.T)(
            linalg.eigsh(symmetric(x), 3, which="SA", v0=START)[1]
        ),
        lambda x: (lambda u: START @ u @ u.T)(np.linalg.eigh((x + x.T) / 2)[1][:, :3]),
    ),
}


@pytest.mark.filterwarnings("ignore::chainrules_py.errors.DegeneracyWarning")
@pytest.mark.parametrize("name", SPECTRA)
def test_equal_eigenvalues_are_each_taken_once(name):
    sparse_one, dense_one = (lambda x, f=f: np.sum(f(x)) for f in SPECTRA[name])
    dot = drawn(6, 6)
    with chainrules_scipy.install():
        y, y_dot = jvp(sparse_one, (DEGENERATE,), (dot,))
        agree(y, sparse_one(DEGENERATE))
    agree(y_dot, jvp(dense_one, (DEGENERATE,), (dot,))[1])


@pytest.mark.parametrize("name", ["lsqr", "lsmr"])
@pytest.mark.parametrize("damp, shape", [(0.7, (8, 5)), (0.0, (3, 5))])
def test_least_squares_start_where_they_are_told(name, damp, shape):
    start, b, tight = drawn(shape[1]), drawn(shape[0]), {"atol": 1e-14, "btol": 1e-14}
    ours = lambda a, x0: getattr(linalg, name)(sparse.csr_array(a), b, damp=damp, x0=x0, **tight)[
        0
    ].sum()

    def exact(a, x0):
        lengths = np.linalg.pinv(
            np.concatenate([a, damp * np.eye(shape[1])])[: None if damp else shape[0]]
        )
        return np.sum(x0 + lengths[:, : shape[0]] @ (b - a @ x0))

    with chainrules_scipy.install():
        found = grad(ours, argnums=(0, 1))(drawn(*shape), start)
    for have, want in zip(found, grad(exact, argnums=(0, 1))(drawn(*shape), start), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("function", [np.add, np.subtract, np.multiply])
def test_numpys_functions_of_two_sparse_arrays(function):
    a, b = square("csr_array"), square("csr_array") * 2.0
    f = lambda data: function(with_data(a, data), b).sum()
    agree(vjp(f, a.data)[0], function(a, b).sum())
    agree(vjp(lambda data: function(b, with_data(a, data)).sum(), a.data)[0], function(b, a).sum())


@pytest.mark.parametrize("name", ["copy", "conj"])
def test_a_copy_has_elements_of_its_own(name):
    def written(A):
        B = getattr(A, name)()
        B.data[0] = 50.0
        return A.sum()

    A = sparse.csr_array(([1.0, 2.0, 3.0], ([0, 1, 2], [1, 0, 2])), shape=(3, 3))
    with chainrules_scipy.install():
        value, slope = value_and_grad(written)(A)
    assert value == written(A.copy()) == 6.0
    assert slope.data.tolist() == [1.0, 1.0, 1.0]


def scaled_elements(A):
    A.data *= 2.0


def squared_elements(A):
    A.data = A.data**2


@pytest.mark.parametrize("write", [scaled_elements, squared_elements])
def test_elements_are_written_as_a_whole(write):
    def written(x):
        A = sparse.csr_array((x, ([0, 1, 2], [1, 0, 2])), shape=(3, 3))
        write(A)
        return np.sum(A @ np.array([1.0, 2.0, 3.0]))

    x = np.array([1.0, 2.0, 3.0])
    expected, step = written(x), 1e-6 * np.eye(3)
    slope = [(written(x + d) - written(x - d)) / 2e-6 for d in step]
    with chainrules_scipy.install():
        value, found = value_and_grad(written)(x)
        assert jvp(written, (x,), (x,))[1] == pytest.approx(found @ x)
    assert value == expected
    np.testing.assert_allclose(found, slope, rtol=1e-6)


ASSEMBLED = [  # how the matrix is made, and a line that writes into it
    ("sparse.lil_matrix((3, 3))", "A[i, i] = k[i]"),
    ("sparse.lil_array((3, 3))", "A[i, 0] += k[i] * k[1]"),
    ("sparse.dok_array((3, 3))", "A[0, i] = k[i]"),
    ("sparse.eye_array(3, format='csr')", "A[i, 1] = k[i]"),
    ("sparse.csc_matrix(np.diag([1.0, 2.0, 3.0]))", "A[i, :] = k * k[i]"),
    ("sparse.eye_array(3, format='csr')", "A.data[i] = k[i]"),
    ("sparse.eye(3, format='csr')", "A.setdiag(k)"),
    ("sparse.lil_array((3, 3))", "A.setdiag(k[1:] * k[0], k=1)"),
    ("sparse.eye_array(3, format='csc')", "A.setdiag(2.0 * k[0] + k[:2], -1)"),
]


def of_program(made, before, write, read):
    text = (
        f"def f(k):\n    A = {made}\n    {before}\n    for i in range(3):\n        {write}\n"
        f"    return np.sum(np.cos({read} @ np.array([1.0, 2.0, 3.0])) * [1.0, 2.0, 3.0])\n"
    )
    linecache.cache["assembly.py"] = len(text), None, text.splitlines(True), "assembly.py"
    space = {"np": np, "sparse": sparse}
    exec(compile(text, "assembly.py", "exec"), space)
    return space


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("made, write", ASSEMBLED)
def test_what_to_write_instead_of_a_traced_number_in_a_constant_matrix(made, write):
    """The advice was to convert the constant, or an array of objects."""
    k = np.array([0.3, -0.7, 1.1])
    f = of_program(made, "pass", write, "A")["f"]
    numbers = [(f(k + h) - f(k - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    with pytest.raises(ChainRulesError) as caught:
        grad(f)(k)
    advice, _, after = str(caught.value).splitlines()[-1].partition(", after ")
    found = re.match(r"  write (.*) once, .*, b for (.*) in the writes, and (.*) for A", advice)
    if found is None:
        space = of_program(made, "pass", advice.removeprefix("  use "), "A")
    else:
        space = of_program(made, found[1], write.replace(found[2], "b"), found[3])
    for line in re.findall("'(.*?)'", after):
        if line != "chainrules_scipy.install()":
            exec(line, space)
    with chainrules_scipy.install():
        value, slope = value_and_grad(space["f"])(k)
    np.testing.assert_allclose(value, f(k), rtol=1e-14)
    np.testing.assert_allclose(slope, numbers, rtol=1e-6, atol=1e-8)
