"""How elements of traced sparse arrays lie: as SciPy's, in every format, after every operation."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from scipy import sparse

import chainrules_scipy
import chainrules_scipy.sparse as ours
from chainrules_py import NotDifferentiableError
from chainrules_tape import value_and_grad

ROWS, COLUMNS = [2, 0, 1, 2, 0], [0, 2, 1, 2, 0]
TWICE, AGAIN = [2, 0, 1, 2, 1], [0, 2, 1, 0, 1]
Q = np.array([0.61, 0.83, -0.42, 0.37, 0.9, -0.55])
WAY = np.array([0.7, -0.4, 0.5, 0.9, -0.3, 0.6])
D = sparse.csr_array(np.array([[1.0, 0, 2], [0, 3, 0], [4, 0, 5]]))


def _listed(name, rows, columns, q):
    return getattr(sparse, name)((q[:5], (rows, columns)), shape=(3, 3))


MAKERS = {
    **{
        f"{name}{' twice' if rows is TWICE else ''}": functools.partial(
            _listed, name, rows, columns
        )
        for name in (
            f"{form}_{kind}" for form in ("csr", "csc", "coo") for kind in ("array", "matrix")
        )
        for rows, columns in ((ROWS, COLUMNS), (TWICE, AGAIN))
    },
    "csr of parts": lambda q: sparse.csr_array((q[:5], [2, 0, 1, 2, 0], [0, 2, 3, 5])),
    "csc of parts": lambda q: sparse.csc_array((q[:5], [2, 0, 1, 0, 0], [0, 2, 3, 5])),
    "with_data": lambda q: ours.with_data(D, q[:5]),
    "dense": lambda q: sparse.csr_array(np.stack([q[:3], q[3:6], q[1:4]])),
    "diags": lambda q: sparse.diags_array([q[:3], q[3:5]], offsets=[0, 1]),  # pyright: ignore[reportArgumentType]
    "dia": lambda q: sparse.dia_array((q.reshape(2, 3), [0, 1]), shape=(3, 3)),
}
OPERATIONS = {
    "it": lambda a, q: a,
    **{
        name: lambda a, q, name=name: getattr(a, name)()
        for name in ("tocsr", "tocsc", "tocoo", "tobsr", "todia", "copy", "transpose", "tanh")
    },
    "T.tocsr": lambda a, q: a.T.tocsr(),
    "asformat": lambda a, q: a.asformat("csc"),
    "lil": lambda a, q: a.tolil().tocsr(),
    "dok": lambda a, q: a.todok().tocsr(),
    "of it": lambda a, q: sparse.csr_array(a),
    "times": lambda a, q: a * q[0],
    "product": lambda a, q: a @ D,
    "product before": lambda a, q: D @ a,
    "square": lambda a, q: a @ a,
    "sum": lambda a, q: a + D,
    "sum before": lambda a, q: D + a,
    "with its transpose": lambda a, q: a + a.T,
    "less itself": lambda a, q: a - a,
    "less": lambda a, q: a - D,
    "multiply": lambda a, q: a.multiply(D),
    "multiply dense": lambda a, q: a.multiply(q[:3]),
    "abs": lambda a, q: abs(a),
    "power": lambda a, q: a.power(2),
    "power below 0": lambda a, q: a.power(-1),
    "rows": lambda a, q: a.tocsr()[[2, 0]],
    "reshape": lambda a, q: a.reshape(1, 9),
    "kron": lambda a, q: sparse.kron(a, D),
    "kronsum": lambda a, q: sparse.kronsum(a, D),
    "hstack": lambda a, q: sparse.hstack([a, D]),
    "hstack csr": lambda a, q: sparse.hstack([a, D], format="csr"),
    "vstack": lambda a, q: sparse.vstack([D, a]),
    "block_diag": lambda a, q: sparse.block_diag([a, D]),
    "tril": lambda a, q: sparse.tril(a),
    "eye": lambda a, q: q[0] * sparse.eye_array(3, format="csr") + a,
    "new data": lambda a, q: ours.with_data(a.tocsr(), np.cos(a.tocsr().data)),
}
READINGS = {
    "data": lambda a: np.sum(a.data**2 * np.cos(1.0 + np.arange(a.data.shape[0]))),
    "nnz": lambda a: a.nnz * a.sum(),
    "format": lambda a: {"csr": 1, "csc": 2, "coo": 3, "bsr": 4, "dia": 5}[a.format] * a.sum(),
    "indices": lambda a: np.sum(a.data**2 * (1.0 + a.indices)),
    "row": lambda a: np.sum(a.data**2 * (1.0 + a.row)),
}
ALL = list(itertools.product(MAKERS, OPERATIONS))
SAMPLE = ALL[::23]


@pytest.fixture(autouse=True)
def _installed():
    with chainrules_scipy.install():
        yield


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "maker, operation",
    [pytest.param(*x, marks=[] if x in SAMPLE else pytest.mark.slow) for x in ALL],
)
def test_layout(maker, operation):
    checked = 0
    for name, read in READINGS.items():

        def f(q, read=read):
            return read(OPERATIONS[operation](MAKERS[maker](q), q))

        try:
            known = f(Q.copy())  # SciPy's methods sort what is shared
        except (AttributeError, ValueError, TypeError, IndexError, NotImplementedError):
            continue
        try:
            value, slope = value_and_grad(f)(Q.copy())
        except NotDifferentiableError:
            continue  # as for elements that SciPy leaves out where they are zero
        h = 1e-5
        truth = (f(Q + h * WAY) - f(Q - h * WAY)) / (2 * h)
        np.testing.assert_allclose(value, known, rtol=1e-10, atol=1e-12, err_msg=name)
        np.testing.assert_allclose(slope @ WAY, truth, rtol=1e-6, atol=1e-8, err_msg=name)
        checked += 1
    # A csc array of parts may have a place several times, also when it is converted.
    assert (
        checked or maker == "csc of parts" or operation in ("less itself", "todia", "tobsr", "less")
    )


def test_what_scipy_leaves_out():
    with pytest.raises(NotDifferentiableError, match="leaves out"):
        value_and_grad(lambda q: np.sum((MAKERS["csr_array"](q) - MAKERS["csr_array"](q)).data))(Q)
    with pytest.raises(NotDifferentiableError, match="tocsr"):
        value_and_grad(lambda q: np.sum(MAKERS["dia"](q).data))(Q)
