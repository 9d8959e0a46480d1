"""SciPy's functions of matrices and systems in the other forms that they take."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import traceback
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse.linalg
import scipy.stats

import chainrules_scipy
from chainrules_py import DegeneracyWarning, NotDifferentiableError, UnsupportedKeywordError
from chainrules_py import ops as v
from chainrules_tape import grad, jvp, vjp

_rng = np.random.default_rng(7)
STACK = _rng.normal(size=(2, 3, 4, 4))
# Of a Hermitian matrix LAPACK reads the real part of the main diagonal alone.
BANDS = np.array([[0.0, 0.2, -0.1, 0.3], [3.0, 4.0, 3.5, 4.2]]) + 0.1j * _rng.normal(size=(2, 4))
B = np.array([1.0, 0.3])

FORMS: dict[str, tuple[Any, Any]] = {
    "hessenberg": (lambda x: scipy.linalg.hessenberg(x, calc_q=True), STACK),
    "qr, pivoting": (lambda x: scipy.linalg.qr(x, pivoting=True)[:2], STACK),
    "solveh_banded": (lambda x: scipy.linalg.solveh_banded(x, np.ones(4)), BANDS),
    "solveh_banded, lower": (
        lambda x: scipy.linalg.solveh_banded(x, np.ones(4), lower=True),
        BANDS[::-1],
    ),
    "eigvals_banded": (lambda x: scipy.linalg.eigvals_banded(x), BANDS),
    **{
        f"rq, {mode}": (lambda x, mode=mode: scipy.linalg.rq(x, mode=mode), STACK)
        for mode in ("full", "r", "economic")
    },
    **{
        f"{name}, w={w}": (
            lambda x, name=name, w=w, last=last: getattr(scipy.signal, name)(
                (x, [1.0, 0.5], *last), w=w
            )[1:],
            B,
        )
        for names, last in (("dfreqresp dbode", (1.0,)), ("freqresp bode", ()))
        for name in names.split()
        for w in (4, np.int64(3), np.array(2), [0.1, 0.2])
    },
}

# What takes one matrix at a time takes stacks of them, of several axes too, as SciPy's.
_bands = np.concatenate([0.1 * STACK[..., :1, :], STACK[..., 1:2, :] + 5], axis=-2)
_real = np.triu(STACK, 1) + 0.01 * STACK + np.diag([1.0, 3.0, 5.0, 8.0])
_one = np.ones(4)
_definite = STACK @ np.swapaxes(STACK, -1, -2) + np.eye(4)
FORMS |= {
    f"stack, {name}": (f, x)
    for name, f, x in (
        ("eig_banded", lambda x: np.abs(scipy.linalg.eig_banded(x)[1]), _bands),
        ("eigvals_banded", lambda x: scipy.linalg.eigvals_banded(x), _bands),
        ("cholesky_banded", lambda x: scipy.linalg.cholesky_banded(x), _bands),
        ("solve_banded", lambda x: scipy.linalg.solve_banded((0, 1), x, _one), _bands),
        ("solveh_banded", lambda x: scipy.linalg.solveh_banded(x, _one), _bands),
        ("cho_solve_banded", lambda x: scipy.linalg.cho_solve_banded((x, False), _one), _bands),
        ("schur", lambda x: scipy.linalg.schur(x)[0], _real),
        ("funm", lambda x: scipy.linalg.funm(x, np.exp), _real),
        ("expm_cond", lambda x: scipy.linalg.expm_cond(x), 0.3 * STACK),
        ("qr_multiply", lambda x: scipy.linalg.qr_multiply(x, _one)[0], STACK),
        ("eigh_tridiagonal", lambda x: scipy.linalg.eigvalsh_tridiagonal(x, _one[1:]), STACK[0]),
        ("matrix_balance", lambda x: scipy.linalg.matrix_balance(x)[0], STACK),
        ("ldl", lambda x: scipy.linalg.ldl(x)[1], STACK + np.swapaxes(STACK, -1, -2)),
        ("lstsq", lambda x: scipy.linalg.lstsq(x, _one)[0], STACK),
        ("pinv, atol", lambda x: scipy.linalg.pinv(x, atol=0.5, return_rank=True), STACK),
        ("pinvh", lambda x: scipy.linalg.pinvh(x, atol=0.5, return_rank=True), _real + 1),
        ("solve, pos", lambda x: scipy.linalg.solve(_definite, x, assume_a="pos"), _one),
        ("cho_solve", lambda x: scipy.linalg.cho_solve((_real, False), x), _one),
    )
}

# A number for a matrix of one row and one column, columns for vectors.
_two, _weight = np.array([[4.0, 3.0], [-4.5, -3.5]]), np.array([[9.0, 6.0], [6.0, 4.0]])
_b, _rows = np.array([[1.0], [-1.0]]), np.array([[2.0, 1.0], [1.0, 3.0]])
for _name in ("solve_continuous_are", "solve_discrete_are"):
    FORMS[f"{_name}, a number"] = (
        lambda r, _name=_name: getattr(scipy.linalg, _name)(_two, _b, _weight, r),
        np.array(1.5),
    )
for _name in ("expm", "cholesky"):
    FORMS[f"{_name}, a number"] = (
        lambda x, _name=_name: getattr(scipy.linalg, _name)(x),
        np.array(1.5),
    )
_signal = np.sin(np.arange(1.0, 17.0))
for _mu, _bias in ((-4.0, 1.0), (-2.5, 0.5), (-4.0, -1.0)):  # singular ones
    FORMS[f"fht, {_mu}, {_bias}"] = (
        lambda x, how=(_mu, 0.0, _bias): (
            scipy.fft.fht(x, 0.1, *how),
            scipy.fft.ifht(x, 0.1, *how),
        ),
        _signal,
    )
    FORMS[f"fht, {_mu}, {_bias}, spaces"] = (
        lambda dln, how=(_mu, 0.0, _bias): 1e-3 * scipy.fft.fht(_signal, dln, *how),
        np.array(0.1),
    )
# What SciPy decides by an option, a shape or a value.
_window = np.hanning(8) + 0.1
FORMS |= {
    "expm_frechet, a stack": (lambda x: scipy.linalg.expm_frechet(x, STACK[0]), STACK[0, 0]),
    **{
        f"norm, times {k}": (lambda x, k=k: np.array([1 / k]) * scipy.linalg.norm(k * x), B)
        for k in (1e200, 1e-200)
    },
    "funm, disp": (lambda x: scipy.linalg.funm(x, np.exp, disp=False), _real[0, 0]),
    **{
        f"{f.__name__}, disp": (lambda x, f=f.__name__: getattr(scipy.linalg, f)(x, disp=False), x)
        for f, x in ((scipy.linalg.logm, _real[0, 0]), (scipy.linalg.sqrtm, _real[0, 0]))
        if "disp" in inspect.signature(f).parameters  # SciPy 1.18 has none
    },
    "schur, sort": (lambda x: scipy.linalg.schur(x, sort="rhp")[2] * np.sum(x), _real[0, 0]),
    "cho_factor, lower": (lambda x: scipy.linalg.cho_factor(x, True)[1][0] * x, _definite[0]),
    "eig_banded, a column": (lambda x: scipy.linalg.eig_banded(x), np.array([[3.0], [5.0]])),
    "qr_multiply, all columns": (
        lambda x: scipy.linalg.qr_multiply(STACK[0, 0, :, :2], x.copy(), "left", overwrite_c=True),
        _one,
    ),
    "bilinear, zeros": (lambda x: scipy.signal.bilinear([0.0, 0.0, 0.5], x, 0.5), B),
    "welch, window": (lambda x: scipy.signal.welch(_signal, 1.0, x)[1], _window),
    "ShortTimeFFT, windows": (
        lambda x: scipy.signal.ShortTimeFFT(x, 3, 2.0, dual_win=x, scale_to="psd").istft(
            np.ones((5, 4)) + 0j
        ),
        _window,
    ),
    "gaussian_gradient_magnitude, complex": (
        lambda x: scipy.ndimage.gaussian_gradient_magnitude(x, 1.0),
        STACK[0, 0] + 1j * STACK[0, 1],
    ),
}
FORMS["boxcox_llf, of a large power"] = (
    lambda x: scipy.stats.boxcox_llf(-8.0, x),
    np.array([198.0, 233.0, 233.0, 392.0]),
)
FORMS["eigs, real ones"] = (
    lambda x: scipy.sparse.linalg.eigs(
        scipy.sparse.diags_array(x).tocsc(), k=2, v0=np.ones(6), return_eigenvectors=False
    ),
    np.arange(1.0, 7.0),
)
FORMS["linprog, a column"] = (
    lambda b: scipy.optimize.linprog([-1.0, -1.0], A_ub=_rows, b_ub=b).x,
    np.array([[3.0], [4.0]]),
)


_definite = STACK[1, 0] @ STACK[1, 0].T + np.eye(4)
FORMS |= {
    "eigh, some": (lambda x: scipy.linalg.eigh(x, _definite, subset_by_index=[1, 2]), STACK[0, 2]),
    "svd, gesvd": (lambda x: scipy.linalg.svd(x, lapack_driver="gesvd"), STACK[0, 0, :1, :1]),
}


def _parts(y: Any) -> tuple[Any, ...]:
    return tuple(y) if isinstance(y, (tuple, list)) else (y,)


@pytest.mark.filterwarnings("ignore:singular")
@pytest.mark.filterwarnings("ignore:The `disp`:DeprecationWarning")
@pytest.mark.parametrize("name", FORMS)
def test_forms(name: str) -> None:
    f, x = FORMS[name]
    f_parts = lambda x: _parts(f(x))
    t = _rng.normal(size=x.shape) + (1j * _rng.normal(size=x.shape) if x.dtype.kind == "c" else 0)
    known, after, before = map(f_parts, (x, x + 1e-6 * t, x - 1e-6 * t))
    with chainrules_scipy.install():
        y, y_dot = jvp(f_parts, (x,), (t,))
    for i, truth in enumerate(known):
        assert (y[i].shape, y[i].dtype) == (truth.shape, truth.dtype)
        np.testing.assert_allclose(y[i], truth, atol=1e-12)
        np.testing.assert_allclose(y_dot[i], (after[i] - before[i]) / 2e-6, atol=1e-5)


def test_eigenvectors_have_scipys_phases() -> None:
    a = STACK[0] + 1j * STACK[1]
    known = [scipy.linalg.eigh(x)[1] for x in (a, a.real)]
    with chainrules_scipy.install():
        found = [jvp(lambda x: scipy.linalg.eigh(x)[1], (x,), (x,))[0] for x in (a, a.real)]
    for y, truth in zip(found, known, strict=True):
        np.testing.assert_allclose(y, truth, atol=1e-12)
    a, way = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 1.0]]), np.eye(3, k=-1)
    f = lambda t: scipy.linalg.eigh(a + t * way)[1][0, 2]
    with chainrules_scipy.install():
        assert grad(f)(0.0) == pytest.approx((f(1e-6) - f(-1e-6)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize(
    "a", [STACK[0, 0], STACK[0, 0] + 1j * STACK[0, 1]], ids=["real", "complex"]
)
def test_left_eigenvectors_are_as_lapack_turns_them(a: Any) -> None:
    def vectors(a: Any) -> Any:
        return scipy.linalg.eig(a, left=True, right=False)[1]

    way = STACK[1, 0] if a.dtype.kind == "f" else STACK[1, 0] + 1j * STACK[1, 1]
    weights = STACK[1, 1] + 1j * STACK[1, 2]
    ahead = lambda f: (f(a + 1e-5 * way) - f(a - 1e-5 * way)) / 2e-5
    assert np.iscomplex(vectors(a)).any()
    with chainrules_scipy.install():
        slope = lambda a: jvp(vectors, (a,), (way,))[1]
        found, second = slope(a), jvp(slope, (a,), (way,))[1]
        back = np.vdot(vjp(vectors, a)[1](weights), way).real
        np.testing.assert_allclose(second, ahead(slope), rtol=1e-5, atol=1e-6)
    truth = ahead(vectors)
    np.testing.assert_allclose(found, truth, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(back, np.vdot(weights, truth).real, rtol=1e-6)


NARROW = [
    (lambda a: scipy.linalg.eigvals(a), 52, (3, 3)),  # in another order in double precision
    (lambda a: scipy.linalg.svd(a)[0], 9, (2, 3, 3)),  # of other phases there
    (lambda a: scipy.linalg.eig(a)[1], 8, (3, 3)),
    (lambda a: scipy.linalg.eig(a)[1], 8, (2, 3, 3)),
    (lambda a: scipy.linalg.eig(a, left=True)[1], 8, (3, 3)),
]


@pytest.mark.parametrize("f, seed, shape", NARROW)
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_spectra_in_single_precision_are_scipys(f: Any, seed: int, shape: Any, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    a, way = (rng.standard_normal(shape).astype("f") for _ in range(2))
    a = (a if dtype == np.float32 else a + 1j * way).astype(dtype)
    with chainrules_scipy.install():
        y, slope = jvp(f, (a,), (way.astype(dtype),))
    np.testing.assert_allclose(y, f(a), atol=1e-4)
    if seed == 8:  # SciPy keeps order and phases nearby
        ahead = (f(a + 1e-2 * way) - f(a - 1e-2 * way)) / 2e-2
        np.testing.assert_allclose(slope, ahead, atol=2e-2 * np.max(abs(ahead)))


def test_of_equal_elements_the_one_that_lapack_made_real_stays_real() -> None:
    a = np.array([[-2, -2], [2, -2]], np.float32)
    f = lambda a: scipy.linalg.eig(a)[1][0, 0].real
    with chainrules_scipy.install():
        y, slope = jvp(f, (a,), (np.array([[0, 1], [0, 0]], np.float32),))
    # The first element of the vector is √(s / (s + 2)) with s = -a[0, 1].
    assert [y, slope] == pytest.approx([f(a), -(0.5**3.5)])


PENCIL = np.array([[1.0, 2.0], [-3.0, 1.0]]), np.array([[2.0, 1.0], [0.0, 1.0]])


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("unit", [1.0, 1.0 + 0.5j])
def test_free_phases_of_a_generalized_problem_are_reported(left: bool, unit: Any) -> None:
    way = np.array([[0.0, 0.0], [0.0, 1.0]])

    def vectors(t: Any) -> Any:
        return scipy.linalg.eig(PENCIL[0] * unit + way * t, PENCIL[1], left=left)[1]

    def size(t: Any) -> Any:
        V = vectors(t)
        return np.sum(abs(V[0]) ** 2) + (V[1, 1] / V[0, 1]).real

    with chainrules_scipy.install(), warnings.catch_warnings():
        warnings.simplefilter("error")
        slope = grad(size)(0.3)
        with pytest.raises(DegeneracyWarning, match=r"eig\(a, b\).*phases"):
            grad(lambda t: vectors(t)[0, 0].real)(0.3)
    assert slope == pytest.approx((size(0.3 + 1e-6) - size(0.3 - 1e-6)) / 2e-6, rel=1e-6)


def test_left_eigenvectors_of_stacks() -> None:
    a, b = STACK[0, :2], STACK[1, :2]
    f = lambda t: np.sum(abs(scipy.linalg.eig(a + t * np.ones(a.shape), b, left=True)[1]))
    with chainrules_scipy.install():
        assert grad(f)(0.5) == pytest.approx((f(0.5 + 1e-6) - f(0.5 - 1e-6)) / 2e-6, rel=1e-5)


@pytest.mark.parametrize(
    "f",
    [
        lambda p: scipy.stats.pmean([1.0, 2.0, 4.0], p[0]),
        lambda p: scipy.stats.poisson_binom.cdf([1], p)[0],
        lambda p: scipy.stats.poisson_binom.mean(p),
        lambda p: scipy.signal.invresz([1.0], [0.5], 0 * p)[0][0],
        lambda p: scipy.signal.bilinear(p - p[0], [1.0])[0][0],
        lambda p: scipy.linalg.eigvals(np.diag(p), np.diag([1.0, 0.0])).real[0],
        lambda p: scipy.linalg.eig(p[0] * np.eye(2, k=1), left=True)[1].real[0, 0],
        lambda p: scipy.linalg.rq(p[0] * np.array([[0, 1, 2], [0, 3, 1], [0, 0, 0]]))[0][0, 1],
        lambda p: scipy.integrate.solve_ivp(
            lambda t, y: -y, (0.0, 1.0), [1.0], t_eval=[0.6], max_step=p[0]
        ).y[0, 0],
    ],
)
def test_refusals(f: Any) -> None:
    with chainrules_scipy.install(), pytest.raises(NotDifferentiableError, match="derivative"):
        grad(f)(np.array([0.2, 0.5]))


EQUATIONS: dict[str, Any] = {
    "operation": lambda a, b, q: v.solve_sylvester(a, b, q),
    "sylvester": lambda a, b, q: scipy.linalg.solve_sylvester(a, b, q),
    "lyapunov": lambda a, b, q: scipy.linalg.solve_continuous_lyapunov(a, q) + 0 * b,
}


@pytest.mark.parametrize("kinds", list(itertools.product((False, True), repeat=3)))
@pytest.mark.parametrize("name", EQUATIONS)
def test_equations_of_real_beside_complex_matrices(name: str, kinds: tuple[bool, ...]) -> None:
    """SciPy gives for them what solves nothing, unless the real ones have real eigenvalues."""
    matrices = [
        x + 0.3j * x.T if c else x for x, c in zip((*STACK[0, :2], STACK[1, 0]), kinds, strict=True)
    ]
    for k, x in enumerate(matrices):
        t = _rng.normal(size=(4, 4))

        def in_one(x: Any, k: int = k) -> Any:
            return EQUATIONS[name](*matrices[:k], x, *matrices[k + 1 :])

        with chainrules_scipy.install(), contextlib.suppress(NotDifferentiableError):
            found = jvp(in_one, (x,), (t,))[1]
            ahead = (in_one(x + 1e-6 * t) - in_one(x - 1e-6 * t)) / 2e-6
            np.testing.assert_allclose(found, ahead, rtol=1e-4, atol=1e-4)


SINGLE = [np.array(x, np.float32) for x in ([1.0, -1.0], [0.5, 0.5], [1.0, 2.0, 4.0], [0.3])]


@pytest.mark.parametrize("k", range(4))
def test_a_filter_with_a_state_keeps_single_precision(k: int) -> None:
    def f(x: Any) -> Any:
        given: list[Any] = [*SINGLE]
        given[k] = x
        return scipy.signal.lfilter(*given[:3], zi=given[3])

    with chainrules_scipy.install():
        assert [y.dtype for y in vjp(f, SINGLE[k])[0]] == [np.float32, np.float32]


@pytest.mark.parametrize("name", ["sobel", "laplace", "uniform_filter", "spline_filter"])
def test_an_output_that_is_differentiated_is_written_to(name: str) -> None:
    plain = np.arange(16.0).reshape(4, 4) ** 2

    def written(x: Any) -> Any:
        y = x * 2
        getattr(scipy.ndimage, name)(plain * x[0, 0], output=y)
        return y.sum()

    def given(x: Any) -> Any:
        return getattr(scipy.ndimage, name)(plain * x[0, 0]).sum()

    with chainrules_scipy.install():
        np.testing.assert_allclose(grad(written)(plain + 1), grad(given)(plain + 1))
        with pytest.raises(UnsupportedKeywordError, match="output"):
            grad(lambda x: getattr(scipy.ndimage, name)(x, output=plain.copy()).sum())(plain)
        if name != "spline_filter":
            truths = lambda x: getattr(scipy.ndimage, name)(x, output=bool) * np.sum(x)
            assert vjp(truths, plain)[0].shape == (4, 4)


def test_options_that_are_differentiated_are_refused() -> None:
    """SciPy's function was called with them, which called ours, without end."""
    x = np.linspace(0.0, 1.0, 8)
    of_degree = lambda k: scipy.interpolate.make_interp_spline(x, x, k)(0.3)
    with (
        chainrules_scipy.install(),
        pytest.raises(NotDifferentiableError, match="one of its options") as caught,
    ):
        grad(of_degree)(3)
    # Under Python 3.14, LAPACK in a stack of a thousand frames ended the process.
    assert len(traceback.extract_tb(caught.tb)) < 600


@pytest.mark.parametrize("scale", [2.0**-660, 2.0**530])
def test_a_scaled_matrix_has_the_same_slope_of_its_ldl_factor(scale: float) -> None:
    a = np.array([[5.0, 4.0, 0.3], [4.0, 10.25, 5.9], [0.3, 5.9, 25.09]])
    slope = grad(lambda x: chainrules_scipy.linalg.ldl(x)[1][1, 1])
    np.testing.assert_allclose(slope(scale * a), slope(a), rtol=1e-13)
