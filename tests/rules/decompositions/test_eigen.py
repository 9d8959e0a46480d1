"""Eigenvalues and eigenvectors: both modes, gauge, equal eigenvalues, and defective matrices."""

import functools
import warnings

import numpy as np
import pytest

from chainrules_py import DegeneracyWarning, NotDifferentiableError, frule, strict
from chainrules_py import ops as v
from chainrules_tape import grad, jvp
from tests.rules.decompositions.pairings import pairing, slope_along

RNG = np.random.default_rng(6)
difference = functools.partial(slope_along, h=1e-3)
fields = pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])


def draw(*shape, complex=False):
    x = RNG.standard_normal(shape)
    return x + 1j * RNG.standard_normal(shape) if complex else x


def inner_product(a, b):
    return float(np.sum(np.real(np.conj(a) * b)))


def adjoint(a):
    return v.conj(v.matrix_transpose(a))


def unitary(n, complex):
    return np.linalg.qr(draw(n, n, complex=complex))[0]


def with_eigenvalues(values, complex):
    u = unitary(len(values), complex)
    return u @ np.diag(values) @ np.conj(u.T)


def hermitian(x):
    return (x + np.conj(x.mT)) / 2


@pytest.fixture
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def second_order(loss, x, u, w, expected, **close):
    """The mixed second derivative in the three nestings that have reverse mode in them."""

    def slope(x):
        return pairing(grad(loss)(x), w)

    np.testing.assert_allclose(inner_product(grad(slope)(x), u), expected, **close)
    np.testing.assert_allclose(inner_product(jvp(grad(loss), (x,), (u,))[1], w), expected, **close)
    along = grad(lambda x: jvp(loss, (x,), (w,))[1])(x)
    np.testing.assert_allclose(inner_product(along, u), expected, **close)


# ---------------------------------------------------------------- Hermitian matrices


@fields
@pytest.mark.parametrize("triangle", ["L", "U"])
@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 3), (1, 1)], ids=str)
def test_losses_without_gauge_are_exact(shape, triangle, complex, no_warnings):
    n = shape[-1]
    C, D = draw(n, n, complex=complex), draw(n)

    def loss(x):
        w, V = np.linalg.eigh(x, UPLO=triangle)
        y = pairing((V * v.expand_dims(v.exp(0.3 * w), axis=-2)) @ adjoint(V), C)
        return y + v.sum(v.sin(w) * D) + pairing((V * D) @ adjoint(V), C)

    x, dx, u = draw(3, *shape, complex=complex)
    expected = difference(loss, x, dx)
    g = grad(loss)(x)
    np.testing.assert_allclose(inner_product(g, dx), expected, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(jvp(loss, (x,), (dx,))[1], expected, rtol=1e-7, atol=1e-7)
    assert not (np.tril(g, -1) if triangle == "U" else np.triu(g, 1)).any()
    expected = difference(lambda x: pairing(grad(loss)(x), u), x, dx, h=1e-4)
    second_order(loss, x, dx, u, expected, rtol=1e-5, atol=1e-5)


DEGENERATE = {
    "identity": lambda c: np.eye(3) + 0j if c else np.eye(3),
    "zeros": lambda c: np.zeros((3, 3), complex if c else float),
    "diagonal": lambda c: np.diag([2.0, 2.0, 1.0]) + (0j if c else 0.0),
    "pair": lambda c: with_eigenvalues([2.0, 2.0, 1.0, -1.0], c),
    "triple": lambda c: with_eigenvalues([1.0, 3.0, 3.0, 3.0], c),
    "projection": lambda c: with_eigenvalues([1.0, 1.0, 0.0, 0.0], c),
    "batch": lambda c: np.stack(
        [with_eigenvalues([1.0, 1.0, 1.0], c), hermitian(draw(3, 3, complex=c))]
    ),
}
SMOOTH = {
    "trace": lambda x: v.sum(np.linalg.eigh(x).eigenvalues),
    "sum of cubes": lambda x: v.sum(np.linalg.eigh(x).eigenvalues ** 3),
    "of eigenvalues alone": lambda x: v.sum(v.exp(np.linalg.eigvalsh(x))),
    "norm of a function": lambda x: norm_of_exponential(x),
}


def norm_of_exponential(x):
    w, V = np.linalg.eigh(x)
    y = (V * v.expand_dims(v.exp(w), axis=-2)) @ adjoint(V)
    return v.sum(v.real(v.conj(y) * y))


@fields
@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("loss", SMOOTH)
def test_smooth_losses_are_exact_where_eigenvalues_are_equal(name, loss, complex, no_warnings):
    f, x = SMOOTH[loss], DEGENERATE[name](complex)
    dx = draw(*x.shape, complex=complex)
    expected = difference(f, x, dx)
    np.testing.assert_allclose(inner_product(grad(f)(x), dx), expected, rtol=1e-7, atol=1e-7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegeneracyWarning)  # a push does not see the loss
        np.testing.assert_allclose(jvp(f, (x,), (dx,))[1], expected, rtol=1e-7, atol=1e-7)


@fields
def test_projections_onto_spaces_of_equal_eigenvalues_are_exact(complex, no_warnings):
    x, C = with_eigenvalues([1.0, 2.0, 2.0, 2.0], complex), draw(4, 4, complex=complex)

    def loss(x):
        V = np.linalg.eigh(x).eigenvectors[:, 1:]
        return pairing(V @ adjoint(V), C)

    dx = draw(4, 4, complex=complex)
    expected = difference(loss, x, dx)
    np.testing.assert_allclose(inner_product(grad(loss)(x), dx), expected, rtol=1e-7)


@fields
@pytest.mark.parametrize("name", ["identity", "diagonal", "pair"])
def test_function_of_a_matrix_with_equal_eigenvalues_is_reported(name, complex):
    """Its derivative is not in the cotangents; also where the eigenvalues' own are zeros."""
    x = DEGENERATE[name](complex)
    C = np.zeros(x.shape)
    C[0, 1] = 1.0

    def loss(x):
        w, V = np.linalg.eigh(x)
        return pairing((V * v.expand_dims(v.sqrt(3.0 + w), axis=-2)) @ adjoint(V), C)

    with pytest.warns(DegeneracyWarning, match="eigh: eigenvalues are equal"):
        grad(loss)(x)
    with strict(), pytest.raises(NotDifferentiableError, match="eigvalsh"):
        grad(loss)(x)


def test_the_same_is_reported_of_singular_values():
    """At the identity the cotangent of S is zero, and the derivative is C / 2."""
    C = np.zeros((2, 2))
    C[0, 1] = 1.0

    def loss(x):
        U, S, Vh = np.linalg.svd(x)
        return pairing((U * v.sqrt(S)) @ Vh, C)

    with pytest.warns(DegeneracyWarning, match="singular values are equal"):
        grad(loss)(np.eye(2))


def test_choice_of_eigenvectors_is_reported():
    C, x = draw(4, 4, complex=True), hermitian(draw(4, 4, complex=True))
    with pytest.warns(DegeneracyWarning, match="phase"):
        grad(lambda x: pairing(np.linalg.eigh(x).eigenvectors, C))(x)
    x = with_eigenvalues([1.0, 1.0, 2.0], complex=False)
    with pytest.warns(DegeneracyWarning, match="which eigenvectors were returned"):
        grad(lambda x: pairing(np.linalg.eigh(x).eigenvectors, C.real[:3, :3]))(x)
    with pytest.warns(DegeneracyWarning, match="the tangent splits them"):
        jvp(np.linalg.eigh, (x,), (hermitian(draw(3, 3)),))


def test_real_eigenvectors_are_differentiated_as_numpy_returns_them(no_warnings):
    x, dx, C = hermitian(draw(4, 4)), draw(4, 4), draw(4, 4)

    def loss(x):
        return pairing(np.linalg.eigh(x).eigenvectors, C)

    np.testing.assert_allclose(
        inner_product(grad(loss)(x), dx), difference(loss, x, dx, h=1e-4), rtol=1e-7
    )


@pytest.mark.parametrize("name", ["identity", "pair", "batch"])
def test_equal_eigenvalues_share_evenly_in_both_modes(name, no_warnings):
    x = DEGENERATE[name](False)
    weights, dx = draw(*x.shape[:-1]), hermitian(draw(*x.shape))
    _, w_dot = jvp(np.linalg.eigvalsh, (x,), (dx,))
    g = grad(lambda x: v.sum(np.linalg.eigvalsh(x) * weights))(x)
    np.testing.assert_allclose(inner_product(w_dot, weights), inner_product(g, dx), rtol=1e-10)
    if name == "identity":
        np.testing.assert_allclose(w_dot, np.trace(dx) / 3, rtol=1e-12)


def test_unknown_triangle_raises_as_untraced():
    for f in (np.linalg.eigh, np.linalg.eigvalsh):
        with pytest.raises(ValueError, match="UPLO argument must be"):
            jvp(lambda x, f=f: f(x, "x"), (np.eye(2),), (np.eye(2),))


# ---------------------------------------------------------------- general matrices


def apart(n, complex=False):
    return 0.4 * draw(n, n, complex=complex) + np.diag(3.0 * np.arange(n))


@pytest.mark.parametrize("dtype, power", [(float, 530), (float, -600), (np.float32, 64)])
@pytest.mark.parametrize(
    "loss, degree",
    [
        (lambda x: np.real(np.linalg.eigvals(x)[0]), 0),
        (lambda x: np.real(np.linalg.eig(x)[1][0, 0] ** 2), 1),
        (lambda x: np.linalg.qr(x)[0][0, 1], 1),
    ],
    ids=["eigvals", "eig", "qr"],
)
def test_scale_does_not_matter(loss, degree, dtype, power, no_warnings):
    x = np.array([[2.0, 1.0, 0.1], [0.5, 3.0, 1.0], [0.2, 0.3, 5.0]], dtype)
    base, scale = grad(loss)(x), dtype(2.0**power)
    found = grad(loss)(scale * x) * scale**degree
    np.testing.assert_allclose(found, base, rtol=1e-4, atol=1e-6)


KINDS = ["real", "complex", "real with complex eigenvalues"]
TURNING = np.array([[0.2, 5.0, 0.3], [-4.0, 0.1, 0.2], [0.3, -0.2, 9.0]])


@pytest.mark.parametrize("x", [apart(4), apart(4, complex=True), TURNING], ids=KINDS)
def test_eigenvectors_keep_length_and_phase(x, no_warnings):
    """As LAPACK returns them: of length one, with a real largest element."""
    dx = draw(*x.shape, complex=np.iscomplexobj(x))
    w, V = np.linalg.eig(x)
    sign = lambda y: np.sign(np.sum(np.real(y * np.conj(V)), axis=-2))
    f = lambda x: np.linalg.eig(x)[1]
    expected = difference(lambda x: f(x) * sign(f(x)), x, dx, h=1e-4)
    _, (w_dot, V_dot) = frule((dx,), np.linalg.eig, x)
    np.testing.assert_allclose(V_dot, expected, rtol=1e-7, atol=1e-9)
    C = draw(*x.shape, complex=np.iscomplexobj(V))
    g = grad(lambda x: pairing(np.linalg.eig(x).eigenvectors, C))(x)
    np.testing.assert_allclose(inner_product(g, dx), inner_product(C, V_dot), rtol=1e-10)
    assert w_dot.dtype == w.dtype


@pytest.mark.parametrize("x", [apart(3), apart(3, complex=True), TURNING], ids=KINDS)
def test_functions_of_general_matrices_to_second_order(x, no_warnings):
    C = draw(3, 3, complex=True)

    def loss(x):
        w, V = np.linalg.eig(x)
        y = (V * v.expand_dims(v.exp(0.1 * w), axis=-2)) @ v.inv(V)
        return pairing(y, C) + v.sum(v.real(np.linalg.eigvals(x) ** 3))

    dx, u = draw(2, 3, 3, complex=np.iscomplexobj(x))
    np.testing.assert_allclose(inner_product(grad(loss)(x), dx), difference(loss, x, dx), rtol=1e-8)
    expected = difference(lambda x: pairing(grad(loss)(x), u), x, dx)
    second_order(loss, x, dx, u, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("f", [v.eigvals, v.qr, v.svd], ids=lambda f: f.__name__)
def test_a_third_derivative_forward_reports_no_root(f, no_warnings):
    """The rules compare sizes that are 0, of which they take no derivative."""
    x, u = draw(3, 3, complex=True), draw(3, 3, complex=True)

    def loss(x):
        y = f(x)[1] if f is not v.eigvals else v.eigvals(x)
        return v.sum(v.real(v.conj(y) * y) * np.arange(1.0 + y.size)[1:].reshape(y.shape))

    def along(g):
        return lambda x: jvp(g, (x,), (u,))[1]

    second = along(along(loss))
    np.testing.assert_allclose(along(second)(x), difference(second, x, u), rtol=1e-5)


def test_gradients_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    x, C = apart(4), draw(4)
    t = torch.tensor(x, requires_grad=True)
    values = torch.linalg.eigvals(t).real.sort().values
    (values**2 * torch.tensor(C)).sum().backward()
    g = grad(lambda x: v.sum(v.sort(v.real(np.linalg.eigvals(x))) ** 2 * C))(x)
    np.testing.assert_allclose(g, t.grad.numpy(), rtol=1e-10, atol=1e-10)


def test_sums_over_equal_eigenvalues_are_exact():
    """Of a matrix that has all its eigenvectors; of one that has not, it cannot be told."""
    change = draw(3, 3)
    whole = change @ np.diag([2.0, 2.0, 1.0]) @ np.linalg.inv(change)
    block = np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    for x in (whole, block, change @ block @ np.linalg.inv(change), np.eye(3)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            g = grad(lambda x: v.sum(v.real(np.linalg.eigvals(x)) ** 1))(x)
        np.testing.assert_allclose(g, np.eye(3), atol=1e-6)
        assert bool(caught) == (x is not whole and x[0, 1] != 0)


def jordan(value, n, corner=0.0):
    block = value * np.eye(n, dtype=type(value)) + np.eye(n, k=1)
    block[-1, 0] = corner
    return block


MATRICES = {
    **{f"{n} at {value}": jordan(value, n) for n in (2, 3) for value in (1.0, 0.0, 1.0 + 2.0j)},
    "lower": jordan(1.0, 2).T,
    "full": np.array([[3.0, 1.0], [-1.0, 1.0]]),
    "one more": np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0]]),
    "turned": np.linalg.qr(draw(3, 3))[0],
    **{f"corner {c}": jordan(1.0, 2, c) for c in (1e-17, 1e-16, 1e-15, 1e-14, 1e-12, 1e-8, 1.0)},
    **{f"far {c}": jordan(1.0, 3, c) for c in (1e-16, 1e-12, 1e-6, 1.0)},
}
MATRICES["turned"] = MATRICES["turned"] @ MATRICES["one more"] @ MATRICES["turned"].T
MATRICES["two"] = np.block([[jordan(1.0, 2), np.zeros((2, 2))], [np.eye(2), jordan(2.0, 2)]])
# Of eigenvalues, and the same of traces and determinants.
ALIKE = {
    "squares": (lambda w: v.sum(w**2), lambda x: np.trace(x @ x)),
    "cubes": (lambda w: v.sum(w**3), lambda x: np.trace(x @ x @ x)),
    "product": (v.prod, np.linalg.det),
    "polynomial": (lambda w: v.sum(np.poly(w)), lambda x: np.linalg.det(np.eye(len(x)) - x)),
}
VALUES = {"eigvals": np.linalg.eigvals, "eig": lambda x: np.linalg.eig(x)[0]}


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("name", MATRICES)
def test_what_takes_eigenvalues_alike_is_right_or_reported(name, mode):
    """Wherever they split like a root: a right number is one that differences agree with."""
    x = MATRICES[name]
    direction = draw(*x.shape)
    with np.errstate(all="ignore"):
        for of_values, of_matrix in ALIKE.values():
            wanted = difference(lambda x, f=of_matrix: np.real(f(x)), x, direction)
            for values in VALUES.values():
                f = lambda x, g=of_values, values=values: v.real(g(values(x)))
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always", DegeneracyWarning)
                    try:
                        if mode == "forward":
                            found = jvp(f, (x,), (direction,))[1]
                        else:
                            found = inner_product(grad(f)(x), direction)
                    except np.linalg.LinAlgError:
                        assert name == "3 at 0.0"  # eigenvectors that are singular to the last bit
                        continue
                reported = any([w.category is DegeneracyWarning for w in caught])
                assert reported or abs(found - wanted) < 0.05 * max(1.0, abs(wanted))
                assert not (reported and name in ("corner 1.0", "far 1.0", "corner 1e-08"))


def test_eigenvalues_that_meet_for_want_of_vectors_are_reported():
    x = np.array([[2.0, 1.0], [0.0, 2.0]])
    with pytest.warns(DegeneracyWarning, match="no full set of eigenvectors"):
        grad(lambda x: v.max(v.real(np.linalg.eigvals(x))) + np.real(np.linalg.eigvals(x)[0]))(x)
    with pytest.warns(DegeneracyWarning, match="no full set of eigenvectors"):
        jvp(np.linalg.eigvals, (x,), (draw(2, 2),))
    with pytest.warns(DegeneracyWarning, match="no full set of eigenvectors"):
        grad(lambda x: v.sum(np.real(np.linalg.eig(x).eigenvectors)))(x)


def test_equal_eigenvalues_with_eigenvectors_are_reported():
    C = draw(3, 3)

    def function(x):
        w, V = np.linalg.eig(x)
        return pairing((V * v.exp(w)) @ v.inv(V), C)

    with pytest.warns(DegeneracyWarning, match="eig: eigenvalues are equal"):
        grad(function)(np.eye(3))
    with pytest.warns(DegeneracyWarning, match="which eigenvectors"):
        grad(lambda x: pairing(np.linalg.eig(x).eigenvectors, C))(np.eye(3))
    with pytest.warns(DegeneracyWarning, match="use eigvals"):
        jvp(np.linalg.eig, (np.eye(3),), (C,))


@pytest.mark.parametrize("gap", [0.0, 1e-16, 1e-15, 3e-15, 1e-14, 1e-12, 1e-6])
@pytest.mark.parametrize("turned", [False, True], ids=["diagonal", "turned"])
@pytest.mark.parametrize(
    "factor, vectors",
    [(np.linalg.eigh, 1), (np.linalg.eig, 1), (np.linalg.svd, 0)],
    ids=["eigh", "eig", "svd"],
)
def test_what_is_too_close_to_tell_is_reported_in_both_modes(factor, vectors, turned, gap):
    rng = np.random.default_rng(7)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0] if turned else np.eye(3)
    x, R = Q @ np.diag([1.0, 1.0 + gap, 2.0]) @ Q.T, rng.standard_normal((3, 3))

    def loss(a):
        return np.sum(np.real(factor(a)[vectors]) * R)

    found = []
    for take in (lambda: grad(loss)(x), lambda: jvp(loss, (x,), (R,))):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DegeneracyWarning)
            take()
        found.append(bool(caught))
        if caught:
            with strict(), pytest.raises(NotDifferentiableError, match="equal"):
                take()
    assert found == [gap < 3e-14] * 2


# ------------------------------------------------------------------ second derivatives at ties

TIED = {
    "identity": np.eye(3),
    "two of three": np.diag([2.0, 2.0, 0.5]),
    "turned": (lambda q: q @ np.diag([2.0, 2.0, 0.5]) @ q.T)(np.linalg.qr(draw(3, 3))[0]),
    "apart": np.diag([3.0, 2.0, 0.5]),
}
DIRECTIONS = {
    "diagonal": np.diag([1.0, 0.0, 0.0]),
    "across": np.eye(3)[::-1].copy(),
    "drawn": hermitian(draw(3, 3)),
    "all alike": np.eye(3),
}
SPECTRA = {
    "eigvalsh": np.linalg.eigvalsh,
    "eigh": lambda x: np.linalg.eigh(x)[0],
    "eigvals": lambda x: v.real(np.linalg.eigvals(x)),
    "eig": lambda x: v.real(np.linalg.eig(x)[0]),
    "svdvals": np.linalg.svdvals,
    "svd": lambda x: np.linalg.svd(x)[1],
}
ALL_ALIKE = {
    "log": (lambda w: v.sum(v.log(w)), lambda x: np.linalg.slogdet(x)[1]),
    "squares": (lambda w: v.sum(w**2), lambda x: np.sum(x * x)),
    "cubes": (lambda w: v.sum(w**3), lambda x: np.trace(x @ x @ x)),
    "inverse": (lambda w: v.sum(1.0 / w), lambda x: np.trace(np.linalg.inv(x))),
    "flat there": (lambda w: v.sum((w - 2.0) ** 2), lambda x: np.sum((x - 2.0 * np.eye(3)) ** 2)),
    "sum": (v.sum, np.trace),
}
SECOND = {
    "forward over reverse": lambda f, x, d: jvp(lambda x: v.sum(grad(f)(x) * d), (x,), (d,))[1],
    "forward twice": lambda f, x, d: jvp(lambda x: jvp(f, (x,), (d,))[1], (x,), (d,))[1],
    "reverse twice": lambda f, x, d: v.sum(grad(lambda x: v.sum(grad(f)(x) * d))(x) * d),
    "reverse over forward": lambda f, x, d: v.sum(grad(lambda x: jvp(f, (x,), (d,))[1])(x) * d),
}


@pytest.mark.parametrize("nesting", SECOND)
@pytest.mark.parametrize("spectrum", SPECTRA)
def test_second_derivatives_at_equal_values_are_right_or_reported(spectrum, nesting):
    """Of symmetric, positive matrices, along symmetric directions."""
    for name, x in TIED.items():
        for d in DIRECTIONS.values():
            for of_values, of_matrix in ALL_ALIKE.values():
                f = lambda x, g=of_values: g(SPECTRA[spectrum](x))
                wanted = jvp(lambda x, f=of_matrix, d=d: jvp(f, (x,), (d,))[1], (x,), (d,))[1]
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always", DegeneracyWarning)
                    found = SECOND[nesting](f, x, d)
                reported = any([w.category is DegeneracyWarning for w in caught])
                assert reported or abs(found - wanted) < 1e-6 * max(1.0, abs(wanted))
                assert not (reported and name == "apart")
                if spectrum in ("eigvalsh", "svdvals"):  # others ask for vectors as well
                    assert not (reported and d is DIRECTIONS["all alike"])
