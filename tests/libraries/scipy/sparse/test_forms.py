"""What operations of traced sparse arrays give: sparse or dense arrays, of SciPy's shape."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LaplacianNd, LinearOperator, aslinearoperator

import chainrules_scipy
from chainrules_py import ChainRulesError, NotDifferentiableError
from chainrules_scipy.sparse import TracedSparse
from chainrules_tape import grad, jvp

SHAPES: dict[str, Any] = {
    "3x3": ((3, 3), ([2, 0, 1, 2, 0], [0, 2, 1, 2, 0])),
    "1x3": ((1, 3), ([0, 0], [0, 2])),
    "3x1": ((3, 1), ([0, 2], [0, 0])),
    "2x3": ((2, 3), ([0, 1, 1], [1, 0, 2])),
    "1x1": ((1, 1), ([0], [0])),
}
FORMATS = ("csr", "csc", "coo", "dia", "bsr", "lil", "dok")


def _row(a: Any) -> Any:
    """Return a vector to multiply from the right."""
    return np.arange(1.0, a.shape[1] + 1)


def _column(a: Any) -> Any:
    return np.arange(1.0, a.shape[0] + 1)


OPERATIONS: dict[str, Any] = {
    "A @ x": lambda a: a @ _row(a),
    "x @ A": lambda a: _column(a) @ a,
    "A @ list": lambda a: a @ list(_row(a)),
    "A @ X": lambda a: a @ np.ones((a.shape[1], 1)),
    "X @ A": lambda a: np.ones((1, a.shape[0])) @ a,
    "dot": lambda a: a.dot(_row(a)),
    "A.T @ x": lambda a: a.T @ _column(a),
    "A * x": lambda a: a * _row(a),
    "x * A": lambda a: _column(a) * a,
    **{f"sum {k}": lambda a, k=k: a.sum(axis=k) for k in (None, 0, 1, -1)},
    **{f"mean {k}": lambda a, k=k: a.mean(axis=k) for k in (None, 0, 1)},
    "A + X": lambda a: a + np.ones(a.shape),
    "X - A": lambda a: np.ones(a.shape) - a,
    "A + 0": lambda a: a + 0,
    "A + 2": lambda a: a + 2.0,
    "2 - A": lambda a: 2.0 - a,
    "A / 2": lambda a: a / 2.0,
    "A / X": lambda a: a / (1 + np.ones(a.shape)),
    "multiply": lambda a: a.multiply(_row(a)),
    "diagonal": lambda a: a.diagonal(),
    **{
        f"A[{name}]": lambda a, i=index: a[i]
        for name, index in {
            "0": 0,
            "-1": -1,
            "0, 0": (0, 0),
            ":, 0": (slice(None), 0),
            "0:1": slice(0, 1),
            "[0]": [0],
            "[-1]": np.array([-1]),
            "[0], [0]": ([0], [0]),
            "[0], :": ([0], slice(None)),
            ":, [0]": (slice(None), [0]),
            ":": slice(None),
        }.items()
    },
    "A[truths]": lambda a: a[np.arange(a.shape[0]) == 0],
    "A[[0]] @ x": lambda a: a[[0]] @ _row(a),
    "A[0:1] @ x": lambda a: a[0:1] @ _row(a),
    "x @ A[:, [0]]": lambda a: _column(a) @ a[:, [0]],
    "A[0] @ x": lambda a: a[0] @ _row(a),
    "x @ A[:, 0]": lambda a: _column(a) @ a[:, 0],
    "A[:, 0].toarray": lambda a: a[:, 0].toarray(),
    "2 * A[0]": lambda a: 2.0 * a[0],
    "x * A[0]": lambda a: a[0] * _row(a),
    "x + A[0]": lambda a: _row(a) + a[0],
    "A[0].sum": lambda a: a[0].sum(),
    "tocsr @ x": lambda a: a.tocsr() @ _row(a),
    "tocoo @ x": lambda a: a.tocoo() @ _row(a),
    "2A @ x": lambda a: (2.0 * a) @ _row(a),
    "(A + A) @ x": lambda a: (a + a) @ _row(a),
    "A.T @ A @ x": lambda a: (a.T @ a) @ _row(a),
    "hstack @ x": lambda a: sparse.hstack([a, a]) @ np.tile(_row(a), 2),
    "issparse": lambda a: sparse.issparse(a) * a.sum(),
    "isspmatrix": lambda a: sparse.isspmatrix(a) * a.sum(),
}
ALL = list(itertools.product(FORMATS, ("array", "matrix"), SHAPES))
SAMPLE = ALL[::9]


def _is_sparse(y: Any) -> bool:
    return isinstance(y, TracedSparse) or sparse.issparse(y)


def _form(y: Any) -> Any:
    """Tell whether something is sparse, dense or a matrix, and of which shape."""
    kind = "sparse" if _is_sparse(y) else "matrix" if isinstance(y, np.matrix) else "dense"
    return kind, np.shape(y) if kind == "dense" else y.shape


def _built(format: str, kind: str, shape: str, q: Any) -> Any:
    of, places = SHAPES[shape]
    listed = format if format in ("csr", "csc", "coo") else "csr"
    made = getattr(sparse, f"{listed}_{kind}")((q, places), shape=of)
    return made if listed == format else getattr(made, f"to{format}")()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "format, kind, shape",
    [pytest.param(*x, marks=[] if x in SAMPLE else pytest.mark.slow) for x in ALL],
)
def test_forms(format, kind, shape):
    q = np.linspace(0.5, 1.7, len(SHAPES[shape][1][0]))
    for name, operation in OPERATIONS.items():
        forms: list[Any] = []

        def f(q, operation=operation, forms=forms):
            y = operation(_built(format, kind, shape, q))
            forms.append(_form(y))
            return np.sum(np.cos(_dense(y)))

        try:
            known = f(q)
        except (TypeError, ValueError, IndexError, NotImplementedError, AttributeError) as error:
            if isinstance(error, AttributeError):
                continue  # of formats that lack a method of others
            with chainrules_scipy.install(), pytest.raises((type(error), ChainRulesError)):
                jvp(f, (q,), (np.ones_like(q),))
            continue
        try:
            with chainrules_scipy.install(), warnings.catch_warnings():
                value, slope = jvp(f, (q,), (np.ones_like(q),))
                back = np.sum(grad(f)(q))
        except NotDifferentiableError:
            of_one_axis = ("A[0]", "A[-1]", "A[:, 0]", "A[0] @ x", "x @ A[:, 0]", "A[:, 0].toarray")
            of_one_axis += ("2 * A[0]", "x * A[0]", "x + A[0]", "A[0].sum", "A[[0], [0]]")
            assert kind == "matrix" or name in ("A + 2", "2 - A", "x * A", *of_one_axis), name
            continue
        assert len(set(forms)) == 1, (name, forms)
        h = 1e-6
        truth = (f(q + h) - f(q - h)) / (2 * h)
        np.testing.assert_allclose(
            [value, slope, back], [known, truth, truth], rtol=1e-6, atol=1e-8
        )


WITH_TRACED: dict[str, Any] = {
    "A + X": lambda a, x: a + x * x[:, None],
    "X + A": lambda a, x: x * x[:, None] + a,
    "A - X": lambda a, x: a - x * x[:, None],
    "X - A": lambda a, x: x * x[:, None] - a,
    "A / X": lambda a, x: (a / (x * x[:, None])).sum(),
    "A / c": lambda a, x: (a / x[1]) @ x,
    "X @ A": lambda a, x: (x * x[:, None]) @ a,
    "x @ A": lambda a, x: x @ a,
}


@pytest.mark.skipif(not hasattr(sparse.csr_array, "mT"), reason="SciPy 1.18 has it")
def test_the_transposed_of_matrices():
    f = lambda q: sparse.csr_array((q, ([0, 1], [1, 1])), shape=(2, 2)).mT.toarray()[1, 0] ** 2
    with chainrules_scipy.install():
        assert abs(grad(f)(np.array([3.0, 5.0]))[0] - 6.0) < 1e-12


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", WITH_TRACED)
def test_arrays_of_numbers_beside_traced_ones(format, name):
    a = sparse.csr_array([[2.0, 0, 1], [0, 3, 0], [0.5, 0, 1.7]]).asformat(format)
    f = lambda x: np.sum(np.cos(WITH_TRACED[name](a, x)))
    x, h = np.array([0.3, 1.2, 0.7]), 1e-6
    truth = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(grad(f)(x), truth, rtol=1e-6, atol=1e-8)


M = np.array([[2.0, 0, 1], [0.3, 3, 0], [0.5, 0, 1.7]])


class Shifted(LinearOperator):
    """Another matrix than the one in its attribute A."""

    def __init__(self, a):
        self.A = a
        super().__init__(float, a.shape)

    def _matvec(self, x):
        return self.A @ x + x

    def _adjoint(self):
        return Shifted(self.A.T)


class OfMatrices(LinearOperator):
    def __init__(self, a):
        self.array = a
        super().__init__(a.dtype, a.shape)

    def _matmat(self, x):
        return self.array @ x

    def _rmatmat(self, x):
        return self.array.conj().T @ x


OPERATORS: dict[str, Any] = {
    "dense": aslinearoperator(M),
    "complex": aslinearoperator(M + 1j * M[::-1]),
    "csr": aslinearoperator(sparse.csr_array(M)),
    "shifted": Shifted(M),
    "of matrices": OfMatrices(M),
    "of functions": LinearOperator((3, 3), lambda x: M @ x, lambda x: M.T @ x, dtype=float),
    "of a grid": LaplacianNd((3,)),
}
DERIVED: dict[str, Any] = {
    "A": lambda a: a,
    "A.T": lambda a: a.T,
    "A.H": lambda a: a.H,
    "A.T @ A": lambda a: a.T @ a,
    "A + A.T": lambda a: a + a.T,
    "A ** 2": lambda a: a**2,
    "(2j * A).H": lambda a: (2j * a).H,
}
USED: dict[str, Any] = {
    "A @ x": lambda a, x: a @ x,
    "A(x)": lambda a, x: a(x),
    "A.matvec": lambda a, x: a.matvec(x),
    "A.rmatvec": lambda a, x: a.rmatvec(x),
    "A @ X": lambda a, x: a @ (x[:, None] * np.arange(1.0, 3.0)),
    "A @ column": lambda a, x: a @ x[:, None],
    "A.rmatmat": lambda a, x: a.rmatmat(x[:, None] * np.arange(1.0, 3.0)),
    "x @ A": lambda a, x: x @ a,
    "x * A": lambda a, x: x * a,
    "X @ A": lambda a, x: (np.arange(1.0, 3.0)[:, None] * x) @ a,
    "(A * x[0]) @ x": lambda a, x: (a * x[0]) @ x,
}


@pytest.mark.parametrize("derived", DERIVED)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_take_traced_vectors(name, derived):
    a, x, h = DERIVED[derived](OPERATORS[name]), np.array([0.3, 1.2, 0.7]), 1e-6
    for used, f in USED.items():
        plain = lambda x, f=f: np.sum(np.cos(f(a, x).real) + np.sin(f(a, x).imag))
        known, truth = f(a, x), [(plain(x + h * e) - plain(x - h * e)) / (2 * h) for e in np.eye(3)]
        with chainrules_scipy.install():
            np.testing.assert_allclose(jvp(lambda x, f=f: f(a, x), (x,), (x,))[0], known, 1e-12)
            np.testing.assert_allclose(grad(plain)(x), truth, 1e-6, 1e-6, err_msg=used)


def _dense(y: Any) -> Any:
    return y.A if isinstance(y, np.matrix) else y.toarray() if _is_sparse(y) else y


def test_matrices_are_refused():
    """Of the older classes SciPy gives a np.matrix, whose * and shapes are others."""
    m = sparse.csr_matrix([[2.0, 0, 1], [0, 3, 0], [0.5, 0, 1.7]])
    for f in (
        lambda m: np.sum(np.abs(np.ones((3, 1)) - m.sum(axis=1))),
        lambda m: np.sum(m.mean(axis=0)),
        lambda m: np.sum(m + np.ones((3, 3))),
        lambda m: np.sum(m[[0, 1], [0, 1]]),
    ):
        with pytest.raises(NotDifferentiableError, match=r"np\.matrix: write .*csr_array"):
            grad(f)(m)
