"""Sums over named axes, determinants and norms: hard places, and what is refused."""

import itertools
import warnings

import numpy as np
import pytest

from chainrules_py import (
    DegeneracyWarning,
    NotDifferentiableError,
    TracerError,
    UnsupportedKeywordError,
)
from chainrules_py import ops as v
from chainrules_tape import grad, hessian, jvp, vjp

RNG = np.random.default_rng(3)


def test_the_adjugate_is_the_matrix_of_cofactors():
    for x in (RNG.normal(size=(4, 4)), np.diag([1.0, 2.0, 0.0]), np.zeros((3, 3)), np.eye(1)):
        n = len(x)
        cofactors = np.empty_like(x)
        for i, j in itertools.product(range(n), repeat=2):
            minor = np.delete(np.delete(x, i, 0), j, 1)
            cofactors[j, i] = (-1) ** (i + j) * np.linalg.det(minor)
        np.testing.assert_allclose(v.adjugate(x), cofactors, atol=1e-13)


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
@pytest.mark.parametrize("kind", [float, complex])
def test_the_determinant_at_every_rank(rank, kind):
    """Cofactor expansion has neither a division nor a factorisation."""

    def by_expansion(x):
        n = x.shape[0]
        if n == 1:
            return x[0, 0]
        return sum(
            (-1) ** j * x[0, j] * by_expansion(np.concatenate([x[1:, :j], x[1:, j + 1 :]], axis=1))
            for j in range(n)
        )

    u = RNG.normal(size=(3, rank)).astype(kind)
    if kind is complex:
        u = u + 1j * RNG.normal(size=(3, rank))
    x = u @ RNG.normal(size=(rank, 3))
    t = RNG.normal(size=(3, 3)).astype(kind)
    first = vjp(np.linalg.det, x)[1](kind(1.0))[0]
    np.testing.assert_allclose(first, vjp(by_expansion, x)[1](kind(1.0))[0], atol=1e-12)
    np.testing.assert_allclose(
        jvp(np.linalg.det, (x,), (t,))[1], jvp(by_expansion, (x,), (t,))[1], atol=1e-12
    )

    def slope(f):
        return lambda x: jvp(f, (x,), (t,))[1]

    second = vjp(slope(np.linalg.det), x)[1](kind(1.0))[0]
    np.testing.assert_allclose(second, vjp(slope(by_expansion), x)[1](kind(1.0))[0], atol=1e-11)


def test_norms_at_zero_have_the_gradient_zero():
    for order in (None, 1, 2, 3, np.inf):
        np.testing.assert_array_equal(
            grad(lambda x, order=order: np.linalg.norm(x, order))(np.zeros(3)), 0.0
        )
    with pytest.warns(DegeneracyWarning, match="function of the sum of squares"):
        assert np.all(hessian(np.linalg.norm)(np.zeros(3)) == 0.0)


BENT = {
    "norm": lambda x: np.exp(-np.linalg.norm(x)),
    "norm along an axis": lambda x: np.sum(np.sin(np.linalg.norm(x[None], axis=1)) ** 2),
    "hypot": lambda x: np.hypot(x[0], x[1]) ** 3,
}


@pytest.mark.parametrize("name", BENT)
@pytest.mark.parametrize("ways", list(itertools.product("fr", repeat=2)), ids="".join)
def test_a_second_derivative_of_a_length_of_zero_is_reported(name, ways):
    f = BENT[name]
    for way in reversed(ways):
        f = grad_of(f) if way == "r" else along(f)
    with pytest.warns(DegeneracyWarning):
        f(np.zeros(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(np.array([0.3, -0.4]))
        grad(BENT[name])(np.zeros(2))


def grad_of(f):
    return lambda x: np.sum(grad(f)(x))


def along(f):
    return lambda x: jvp(f, (x,), (np.array([0.6, 0.3]),))[1]


def test_the_curvature_of_a_hypotenuse_that_is_nearly_a_leg():
    found = hessian(lambda x: np.hypot(x[0], x[1]))(np.array([1e9, 1.0]))
    np.testing.assert_allclose(found, np.array([[1.0, -1e9], [-1e9, 1e18]]) / 1e27, rtol=1e-14)


def test_ties_of_the_largest_norm_are_split_evenly():
    x = np.array([2.0, -2.0, 1.0])
    bar = grad(lambda x: np.linalg.norm(x, np.inf))(x)
    np.testing.assert_allclose(bar, [0.5, -0.5, 0.0])
    t = np.array([1.0, 3.0, 5.0])
    assert jvp(lambda x: np.linalg.norm(x, np.inf), (x,), (t,))[1] == pytest.approx(bar @ t)


def test_the_hessian_of_a_norm():
    x = RNG.normal(size=4)
    r = np.linalg.norm(x)
    expected = np.eye(4) / r - np.outer(x, x) / r**3
    np.testing.assert_allclose(hessian(np.linalg.norm)(x), expected, atol=1e-12)


def test_the_norm_of_large_elements():
    x = np.array([3e150, 4e150])
    np.testing.assert_allclose(grad(np.linalg.norm)(x), [0.6, 0.8])


@pytest.mark.parametrize("keyword", [{"dtype": float}, {"casting": "unsafe"}])
def test_what_einsum_refuses(keyword):
    with pytest.raises(UnsupportedKeywordError, match=next(iter(keyword))):
        grad(lambda x: np.einsum("i->", x, **keyword))(np.ones(3))
    with pytest.raises((UnsupportedKeywordError, TracerError)):
        grad(lambda x: np.einsum("i->", x, out=np.zeros(())))(np.ones(3))


@pytest.mark.parametrize("subscripts", ["ij,jk", "ba,jk", "...j,jk->...k", " ij, jk -> ik"])
def test_abbreviated_subscripts_of_the_operation(subscripts):
    """Its value is NumPy's; the rule took an absent arrow for an empty output."""
    x = np.arange(6.0).reshape(2, 3)
    f = lambda x: v.einsum(x, x.T, subscripts=subscripts)
    with pytest.raises(NotDifferentiableError, match="letters with '->'"):
        grad(lambda x: np.sum(f(x)))(x)
    with pytest.raises(NotDifferentiableError, match="letters with '->'"):
        jvp(f, (x,), (x,))


def test_einsum_of_the_wrong_number_of_operands():
    with pytest.raises(ValueError, match="names 2 operands"):
        grad(lambda x: np.einsum("i,j->", x))(np.ones(3))


def test_einsum_with_a_pass_for_each_of_many_operands():
    jax = pytest.importorskip("jax")
    xs = [RNG.normal(size=shape) for shape in ((3, 4), (4, 5), (5, 3), (3, 3))]
    text = "ab,bc,cd,de->ae"
    with jax.enable_x64(True):
        expected = jax.grad(
            lambda *xs: jax.numpy.sum(jax.numpy.einsum(text, *xs) ** 2), argnums=(0, 1, 2, 3)
        )(*xs)
    found = grad(lambda *xs: np.sum(np.einsum(text, *xs) ** 2), argnums=(0, 1, 2, 3))(*xs)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


TERMS = [term for n in range(4) for term in map("".join, itertools.permutations("abcd", n))]
PAIRS = [(x, y) for x in TERMS for y in TERMS if {*x, *y} and {*"abcd"} >= {*x, *y}]


@pytest.mark.parametrize("part", range(8))
def test_cotangents_of_two_operands_are_sums_whichever_axes_they_share(part):
    """Products of matrices, or not: against NumPy's own loop over all axes."""
    rng = np.random.default_rng(part)
    for i in range(part, len(PAIRS), 8 * 5):
        x, y = PAIRS[i]
        letters = sorted({*x, *y})
        output = "".join(c for c in letters if rng.random() < 0.5)
        output = "".join(rng.permutation([*output])) if output else ""
        lengths = {c: int(n) for c, n in zip("abcd", rng.integers(1, 5, 4), strict=True)}
        # An axis of one operand may have the length one beside another length of the other's.
        xs = rng.standard_normal([lengths[c] if rng.random() < 0.9 else 1 for c in x])
        ys = rng.standard_normal([lengths[c] if rng.random() < 0.9 else 1 for c in y])
        shapes = dict(zip(x, xs.shape, strict=True))
        full = {c: max(shapes.get(c, 1), n) for c, n in zip(y, ys.shape, strict=True)}
        full = shapes | full
        z, pullback = vjp(lambda a, b: np.einsum(f"{x},{y}->{output}", a, b), xs, ys)  # noqa: B023
        z_bar = rng.standard_normal(np.shape(z))
        wide_x = np.broadcast_to(xs, [full[c] for c in x])
        wide_y = np.broadcast_to(ys, [full[c] for c in y])
        ones = np.ones([full[c] for c in letters])
        for found, term, mine, other, array in (
            (pullback(z_bar)[0], x, xs, y, wide_y),
            (pullback(z_bar)[1], y, ys, x, wide_x),
        ):
            pattern = f"{output},{other},{''.join(letters)}->{term}"
            expected = np.einsum(pattern, z_bar, array, ones)
            for axis, n in enumerate(np.shape(mine)):
                expected = expected if n != 1 else expected.sum(axis, keepdims=True)
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13, err_msg=pattern)


def test_the_gradient_of_the_determinant_of_a_matrix_with_nan_is_nan():
    x = np.stack([2.0 * np.eye(2), np.full((2, 2), np.nan), np.ones((2, 2))])
    with np.errstate(invalid="ignore"):
        found = grad(lambda x: np.sum(np.linalg.det(x)))(x)
    wanted = [[[2, 0], [0, 2]], np.full((2, 2), np.nan), [[1, -1], [-1, 1]]]
    np.testing.assert_allclose(found, wanted, atol=1e-14)
