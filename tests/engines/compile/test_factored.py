"""One factorisation for all that is asked of a matrix: bits of NumPy's functions, and errors."""

import numpy as np
import pytest

from chainrules_compile import compile, factors, quick_factors
from chainrules_compile.passes import FOR_NUMPY, LOOSE, PASSES
from chainrules_py import vocabulary as v
from chainrules_py.extend import flatten
from chainrules_tape import hvp, value_and_grad

RNG = np.random.default_rng(9)
linked = pytest.mark.skipif(
    not factors.agrees(65)[0], reason="NumPy's LAPACK is not found, or rounds otherwise"
)


def matrices(n):
    """Return matrices of every structure that a derivative may look for."""
    a = RNG.normal(size=(n, n)) + np.sqrt(n) * np.eye(n)
    d = np.diag(RNG.uniform(1.0, 2.0, n))
    return {
        "any": a,
        "any, by columns": np.asfortranarray(a),
        "symmetric": a @ a.T / n + np.eye(n),
        "lower": np.tril(a),
        "upper": np.triu(a),
        "diagonal": d,
        "symmetric, with zeros": d + d[::-1] * 0.1 - np.fliplr(np.diag(np.eye(n)[0])),
    }


def likelihood(a, b):
    return b @ np.linalg.solve(a, b) + np.linalg.slogdet(a)[1]


def of_inverse(a, b):
    return (
        np.sum(np.sin(np.linalg.inv(a))) + np.linalg.det(a / 3.0) + b @ np.linalg.inv(a / 3.0) @ b
    )


def of_columns(a, b):
    x = np.linalg.solve(a, np.outer(b, b[:3]))
    return np.sum(x * np.linalg.solve(a, x)) + np.sum(np.linalg.solve(a.T, b))


FUNCTIONS = [likelihood, of_inverse, of_columns]


def same_bits(f, *args):
    """Compare a compiled function with the function, for these arguments and others."""
    g = compile(f)
    for xs in (args, [x * 0.75 for x in args]):
        wanted, found = flatten(f(*xs))[0], flatten(g(*xs))[0]
        for x, y in zip(wanted, found, strict=True):
            assert np.asarray(x).tobytes() == np.asarray(y).tobytes()
    return g.source


@linked
@pytest.mark.parametrize("f", FUNCTIONS)
def test_bits_of_every_structure(f):
    for name, a in matrices(70).items():
        b = RNG.normal(size=70)
        source = same_bits(value_and_grad(f, argnums=(0, 1)), a, b)
        assert "factored(" in source, name


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 16, 17, 64, 65, 99, 100, 120, 141, 142, 200, 260])
def test_bits_of_every_size(n):
    for f in FUNCTIONS:
        for name in ("any", "symmetric"):
            if f is of_columns and n < 3:
                continue
            a, b = matrices(n)[name], RNG.normal(size=n)
            same_bits(value_and_grad(f, argnums=(0, 1)), a, b)
            same_bits(lambda a, b, f=f: hvp(f, (a, b), (a, b)), a, b)


@linked
def test_infinite_and_missing_numbers():
    a, b = matrices(66)["symmetric"], RNG.normal(size=66)
    a[3, 3] = np.nan
    g = value_and_grad(likelihood)
    with np.errstate(all="ignore"):
        for wanted, found in zip(flatten(g(a, b))[0], flatten(compile(g)(a, b))[0], strict=True):
            np.testing.assert_array_equal(wanted, found)


@pytest.mark.parametrize("exact", [True, False])
def test_singular_matrices_raise(exact):
    a, b = matrices(68)["any"], RNG.normal(size=68)
    g = compile(value_and_grad(likelihood), exact=exact)
    g(a, b)
    a[:, 4] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        g(a, b)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        factors.factored(np.zeros((3, 3)))


@pytest.mark.parametrize("scipy", [True, False], ids=["with SciPy", "without"])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_looser_programs_need_not_look(f, scipy, monkeypatch):
    if not scipy:
        monkeypatch.setattr(quick_factors, "_scipy", lambda: None)
    g = value_and_grad(f, argnums=(0, 1))
    for n in (3, 20, 64, 75):
        for a in matrices(n).values():
            b, quick = RNG.normal(size=n), compile(g, exact=False)
            found = flatten(quick(a, b))[0]
            assert "factored(" in quick.source
            for x, y in zip(flatten(g(a, b))[0], found, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-9 * np.max(np.abs(x)))


def test_determinants_that_are_too_large():
    for scale in (1e10, 1e-10, -1e10):
        a = scale * matrices(80)["any"]
        both = factors.factored(a)
        with np.errstate(over="ignore"):
            wanted = np.linalg.det(a)
        assert factors.determinant(*both) == pytest.approx(wanted)
        assert factors.log_determinant(*both) == pytest.approx(tuple(np.linalg.slogdet(a)))


def test_where_lapack_is_not_found(monkeypatch):
    a, b = matrices(70)["any"], RNG.normal(size=70)
    monkeypatch.setattr(factors, "_LAPACK", None)
    both = factors.factored(a)
    np.testing.assert_array_equal(factors.solved(*both, b), np.linalg.solve(a, b))
    np.testing.assert_array_equal(factors.turned(*both, b), np.linalg.solve(a.T, b))
    np.testing.assert_array_equal(factors.inverse(*both), np.linalg.inv(a))
    assert factors.log_determinant(*both) == tuple(np.linalg.slogdet(a))
    assert factors.determinant(*both) == np.linalg.det(a)
    factors.agrees.cache_clear()
    try:
        assert factors.agrees(70) == (False, False)
        g = compile(value_and_grad(likelihood))
        g(a, b)
        assert "factored(" not in g.source
    finally:
        factors.agrees.cache_clear()


def test_other_matrices_are_left_alone():
    for a in (matrices(40)["any"], np.stack([matrices(70)["any"]] * 2)):
        g = compile(lambda a: np.sum(np.linalg.inv(a)) + np.sum(np.linalg.slogdet(a)[1]))
        g(a)
        assert "factored(" not in g.source
    # One call alone, and factors of Cholesky's, which need none to go back.
    g = compile(value_and_grad(lambda a: np.sum(np.linalg.solve(np.linalg.cholesky(a), a[0]))))
    g(matrices(70)["symmetric"])
    assert "factored(" not in g.source


def test_inverses_in_rules():
    for n in (0, 1, 5, 64, 65):
        for dtype in ("f", "d", "F", "D"):
            a = (matrices(n)["any"] if n else np.zeros((0, 0))).astype(dtype)
            tolerance = 1e3 * np.finfo(dtype).eps
            for x in (a, a.T, np.asfortranarray(a)):
                y = v.inv_again(x)
                assert y.dtype == x.dtype
                np.testing.assert_allclose(y, np.linalg.inv(x), rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(v.inv_again(np.ones((2, 1, 1))), np.ones((2, 1, 1)))
    for wrong in (np.ones((2, 2)), np.ones((2, 3))):
        with pytest.raises(np.linalg.LinAlgError):
            v.inv_again(wrong)


def test_the_pass_is_of_numpy_alone():
    assert "factors" in FOR_NUMPY
    assert PASSES["factors"] is not LOOSE["factors"]


def test_a_factor_that_is_not_there_at_the_first_call():
    """One that `slogdet` and `det` share raises; that of each alone does not."""
    f = lambda a: np.linalg.slogdet(a)[0] + np.linalg.det(a)
    program = compile(f, exact=False)
    for a in (np.array([[1.0, 2.0], [2.0, 4.0]]), np.diag([1.0, 3.0]), np.zeros((2, 2))):
        assert program(a) == pytest.approx(f(a))
    assert len(program.programs) == 1
