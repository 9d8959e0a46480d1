"""Functions that give sparse arrays: of SciPy's class, with tangents in the order of its data."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

import chainrules_scipy
from chainrules_compile import compile
from chainrules_py import NotDifferentiableError, Tangent
from chainrules_tape import checkpoint, grad, jvp, linearize, vjp
from tests.libraries.scipy.sparse.test_layouts import MAKERS, OPERATIONS, Q

FORMS = tuple(f"{form}_{kind}" for form in ("csr", "csc", "coo") for kind in ("array", "matrix"))
MORE = {
    "columns": lambda a, q: a.tocsc()[:, [2, 0, 1]],
    "turned": lambda a, q: a[[2, 0, 1]],
    "turned back": lambda a, q: a[:, [1, 2, 0]],
    "less its transpose": lambda a, q: a - 2 * a.T,
    "alike": lambda a, q: a - a.copy(),
    "in a dict": lambda a, q: {"y": a @ a, "n": 3},
}
GIVEN = OPERATIONS | MORE
ALL = list(itertools.product(("of numbers", "of itself", "of its slope"), FORMS, GIVEN))
SAMPLE = ALL[::5]


def _of(y):
    return y["y"] if isinstance(y, dict) else y


def _seed(y, data):
    t = Tangent[type(_of(y))](data=data)
    return Tangent[dict]({"y": t}) if isinstance(y, dict) else t


def _filled(a, data):
    other = a.copy()
    other.data = data
    return other


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "of, form, operation",
    [pytest.param(*x, marks=[] if x in SAMPLE else pytest.mark.slow) for x in ALL],
)
def test_result(of, form, operation):
    """Its derivatives are those of the dense array that it is, whatever order it stores."""
    rng = np.random.default_rng(7)
    a = getattr(sparse, form)(MAKERS["csr_array"](Q))
    at = Q[:5] if of == "of numbers" else a

    def f(a):
        if of == "of numbers":
            a = getattr(sparse, form)((a, ([2, 0, 1, 2, 0], [0, 2, 1, 2, 0])), shape=(3, 3))
        return GIVEN[operation](a, Q)

    def moved(step):
        return f(at + step * way) if of == "of numbers" else f(_filled(a, a.data + step * way))

    way = rng.normal(size=5)
    with chainrules_scipy.install():
        try:
            known = f(at)
        except (AttributeError, TypeError, ValueError, NotImplementedError):
            return  # formats that lack an operator
        try:
            if of == "of its slope":
                check_slope(f, a, way, rng)
                return
            y, pullback = vjp(f, at)
        except NotDifferentiableError as error:
            message = str(error)
            assert "tocsr" in message or "np.matrix" in message or "M @ " in message
            return
        assert type(_of(y)) is type(_of(known))
        np.testing.assert_allclose(_of(y).toarray(), _of(known).toarray())
        weights = rng.normal(size=_of(y).data.shape)
        (bar,) = pullback(_seed(y, weights))
        dot = way if of == "of numbers" else Tangent[type(a)](data=way)
        _, y_dot = jvp(f, (at,), (dot,))
    got = _of(y_dot).data
    h = 1e-6
    truth = (_of(moved(h)).toarray() - _of(moved(-h)).toarray()) / (2 * h)
    np.testing.assert_allclose(_filled(_of(y), got).toarray(), truth, atol=1e-7)
    back = bar if of == "of numbers" else bar.data
    np.testing.assert_allclose(np.sum(got * weights), np.sum(back * way), rtol=1e-9, atol=1e-9)


def check_slope(f, a, way, rng):
    """Compare the derivative of a gradient in a sparse array, which is one, with differences."""
    weights = rng.normal(size=_of(f(a)).shape)

    def slope(a):
        return grad(lambda a: np.sum(np.cos(_of(f(a)).toarray()) * weights))(a)

    y, pullback = vjp(slope, a)
    assert type(y) is Tangent[type(a)]
    (bar,) = pullback(Tangent[type(a)](data=way))
    _, y_dot = jvp(slope, (a,), (Tangent[type(a)](data=way),))
    h = 1e-5
    ahead, behind = (slope(_filled(a, a.data + s * way)).data for s in (h, -h))
    truth = (ahead - behind) / (2 * h)
    np.testing.assert_allclose(y_dot.data, truth, atol=1e-7)
    np.testing.assert_allclose(bar.data, truth, atol=1e-7)  # a Hessian is symmetric


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("save", ["nothing", "all"])
def test_run_again(form, save):
    """What a checkpoint gives is the same array when it is run again, whoever looks at it."""
    a, w = getattr(sparse, form)(MAKERS["csr_array"](Q)), np.array([0.3, -0.8, 1.1])
    looks = [
        lambda b: np.sum(np.tanh(b.T @ np.ones(b.shape[0]))),
        lambda b: np.sum(b.tocsr().data ** 2 * np.arange(1.0, 1 + b.tocsr().data.shape[0])),
        lambda b: np.sum(b.toarray() ** 3),
    ]
    compared = 0
    with chainrules_scipy.install():
        for name, operation in GIVEN.items():
            for look in looks:
                f = lambda a, operation=operation: operation(a, Q)
                total = lambda a, f=f, look=look: look(_of(f(a))) * np.sum(w)
                try:
                    want = grad(total)(a).data
                except (NotDifferentiableError, AttributeError, TypeError, ValueError):
                    continue
                again = lambda a, f=f, look=look: look(_of(checkpoint(f, save=save)(a))) * np.sum(w)
                np.testing.assert_allclose(grad(again)(a).data, want, err_msg=name)
                compared += 1
    assert compared > 40


def test_a_row_is_no_result():
    """A sparse array of one axis: it was no tangent at all, in silence."""
    a = sparse.csr_array(MAKERS["csr_array"](Q))
    pushed = lambda f: jvp(f, (a,), (Tangent[sparse.csr_array](data=np.ones(5)),))
    with chainrules_scipy.install():
        for f in (lambda a: a[0], lambda a: (a[:, 1], 2.0), lambda a: {"y": a[0] * 2.0}):
            for drive in (pushed, lambda f: linearize(f, a), lambda f: vjp(f, a)):
                with pytest.raises(NotDifferentiableError, match="one axis"):
                    drive(f)
        assert grad(lambda a: (a[[0]] * 2.0).sum())(a).data.tolist() == [2.0, 2.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("by", [3, 3.0, np.float32(3), np.float64(3)])
def test_quotients_in_single_precision(by):
    a = sparse.csr_array(MAKERS["csr_array"](Q).astype(np.float32))
    y, _ = vjp(lambda a: a / by, a)
    assert y.dtype == (a / by).dtype
    np.testing.assert_array_equal(y.data, (a / by).data)


@pytest.mark.filterwarnings("ignore:`kron` is switching:DeprecationWarning")  # SciPy 1.18
@pytest.mark.parametrize("k", [0, 1])
def test_kron_of_dense_arrays(k):
    pair = [np.array([[1.0, 2.0], [0.5, 3.0]]), np.array([[0.3, 1.0], [1.5, 2.0]])]
    weights, way, h = np.cos(np.arange(16.0)).reshape(4, 4), np.sin(pair[k]), 1e-6

    def total(x):
        operands = [x if i == k else y for i, y in enumerate(pair)]
        return np.sum(weights * sparse.kron(*operands).toarray())

    truth = (total(pair[k] + h * way) - total(pair[k] - h * way)) / (2 * h)
    with chainrules_scipy.install():
        slope = grad(total)(pair[k])
    assert abs(np.sum(slope * way) - truth) < 1e-8


def test_kron_of_arrays_without_elements():
    empty = sparse.csr_array((2, 2))
    with chainrules_scipy.install():
        y, pullback = vjp(lambda a: sparse.kron(a, a, format="csr"), empty)
        assert y.shape == (4, 4)
        (bar,) = pullback(Tangent[type(y)](data=y.data))
    assert bar.data.shape == (0,)


def test_where_elements_stand_is_no_number():
    """A program may ask for places, which are the same at each call."""
    a = sparse.csr_array(MAKERS["csr_array"](Q))
    f = grad(lambda a: np.sum(a.data**2 * a.indices) * a.nnz)
    program = compile(f)
    np.testing.assert_array_equal(program(a).data, f(a).data)
    np.testing.assert_allclose(program(a).data, 2.0 * a.data * a.indices * a.nnz)
    assert len(program.programs) == 1


def test_an_index_that_views_what_a_record_has_locked():
    """SciPy made its view of the index writeable again, which NumPy refused."""
    owner = np.arange(3)
    view = owner.view()
    eye = sparse.csr_array(np.eye(3))

    def f(x):
        taken = x[owner]  # the record makes the owner read-only
        a = sparse.csr_array((taken, (np.arange(3), np.arange(3))), shape=(3, 3)) + eye
        return a[view, view[::-1]].sum() + a[view].sum()

    with chainrules_scipy.install():
        assert grad(f)(np.ones(3)).tolist() == [1.0, 2.0, 1.0]


def test_a_compiled_function_may_give_one():
    """Its elements were taken to live on after the call."""
    a = sparse.csr_array([[1.0, 2.0], [0.0, 3.0]])
    run = compile(lambda x: chainrules_scipy.sparse.with_data(a, x * x), strict=True)
    for x in (np.ones(3), np.arange(3.0)):
        assert type(run(x)) is sparse.csr_array
        np.testing.assert_array_equal(run(x).data, x * x)
