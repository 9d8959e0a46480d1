"""Factors of matrices and their derivatives, in C: NumPy's bits, and nothing left to it."""

import warnings

import numpy as np
import pytest

from chainrules_py import vocabulary as v
from chainrules_tape import hvp, value_and_grad
from tests.engines.compile.shadow import same
from tests.engines.native.test_native import compiled

pytestmark = pytest.mark.usefixtures("native")
RNG = np.random.default_rng(7)


def positive(*shape):
    a = RNG.standard_normal(shape)
    return a @ a.mT + shape[-1] * np.eye(shape[-1])


SQUARE = {
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "slogdet": np.linalg.slogdet,
    "lower factor": np.linalg.cholesky,
    "upper factor": lambda a: np.linalg.cholesky(a, upper=True),
    "eigenvalues": np.linalg.eigvalsh,
    "eigenvalues of the upper half": lambda a: np.linalg.eigvalsh(a, UPLO="U"),
    "eigenvectors": np.linalg.eigh,
    "eigenvectors of the upper half": lambda a: np.linalg.eigh(a, UPLO="U"),
    "solutions": lambda a: np.linalg.solve(a, a[..., :2] * 3.0),
    "of one right side": lambda a: np.linalg.solve(a, a.reshape(-1)[: a.shape[-1]]),
    "of a lower triangle": lambda a: v.solve_triangular(a, a[..., :2] * 3.0),
    "of an upper triangle": lambda a: v.solve_triangular(a, a[..., :2], upper=True),
}
ANY = {
    "QR": np.linalg.qr,
    "complete QR": lambda a: np.linalg.qr(a, mode="complete"),
    "SVD": np.linalg.svd,
    "thin SVD": lambda a: np.linalg.svd(a, full_matrices=False),
    "singular values": lambda a: np.linalg.svd(a, compute_uv=False),
    "the same": np.linalg.svdvals,
}
ONE = {
    "of one lower triangle": lambda a: v.solve_triangular(a, a[0] * 2.0),
    "of one upper triangle": lambda a: v.solve_triangular(a.T, a[:, :1], upper=True),
    "of ones on the diagonal": lambda a: v.solve_triangular(a, a[1], unit_diagonal=True),
    "of many": lambda a: v.solve_triangular(a, np.concatenate([a, a * 2.0], 1)),
    "solved again": lambda a: v.solve_again(np.tril(a), a[0]) + v.solve_again(a, a[0]),
    "inverted again": v.inv_again,
    "solved again, upper": lambda a: v.solve_again(np.triu(a), a[0]),
}


def flat(y):
    return [x for part in y for x in flat(part)] if isinstance(y, tuple) else [y]


def all_of(table):
    return lambda a: tuple([x for f in table.values() for x in flat(f(a))])


def check(f, *args):
    """Compare with the program for other numbers, layouts too; nothing is left to NumPy."""
    g = compiled(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for a in args:
            for _ in range(2):
                assert same(g(a), f(a))
    assert len([line for line in g.source.splitlines() if "native" in line]) == 1, g.source


def test_every_factor_of_one_matrix():
    a = positive(6, 6)
    check(all_of(SQUARE | ANY | ONE), a, a * 1.5, a.T)


def test_every_factor_of_a_stack():
    # Of several axes, of which a loop of NumPy's knows one.
    check(all_of(SQUARE | ANY), positive(2, 3, 4, 4))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(8, 5), (5, 8), (2, 7, 3), (1, 4), (4, 1), (2, 2, 3, 6)])
def test_matrices_that_are_not_square(shape):
    a = RNG.standard_normal(shape)
    check(all_of(ANY), a, a * 0.3, np.asfortranarray(a), a[..., ::-1])


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 17, 40])
def test_matrices_of_other_sizes(n):
    a = positive(n, n)
    table = SQUARE | ONE if n > 2 else SQUARE
    f = all_of(table)
    g = compiled(f)
    for x in (a, a.T, np.asfortranarray(a), a * 0.7):
        assert same(g(x), f(x))


def total(f):
    return lambda a: sum([np.sum(np.cos(y) * y) for y in flat(f(a))])


SMALL = {"solve": SQUARE["of one right side"], "factor": SQUARE["lower factor"], "QR": ANY["QR"]}


def test_some_derivatives():
    f = value_and_grad(lambda a: sum([total(g)(a) for g in SMALL.values()]))
    check(f, positive(5, 5))


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 17, 40])
@pytest.mark.parametrize("name", [*SQUARE, *ANY])
def test_each_derivative(name, n):
    f = total((SQUARE | ANY)[name])
    a, w = positive(n, n), positive(n, n)
    for form in (value_and_grad(f), lambda a: hvp(f, (a,), (w,))):
        g = compiled(form)
        for x in (a, a * 1.1, a.T.copy().T):
            try:
                wanted = form(x)
            except Exception as error:  # a derivative that is not there
                with pytest.raises(type(error)):
                    g(x)
                break
            assert same(g(x), wanted)


@pytest.mark.parametrize("name", ["inv", "lower factor", "eigenvectors", "of one right side"])
@pytest.mark.slow
def test_what_raises_without_the_program_raises_with_it(name):
    f, a = SQUARE[name], positive(4, 4)
    g = compiled(lambda a: [y * 2.0 for y in flat(f(a))])
    g(a)
    for bad in (np.zeros((4, 4)), -a, a * np.nan, a * np.inf):
        try:
            with np.errstate(all="ignore"):
                wanted = [y * 2.0 for y in flat(f(bad))]
        except np.linalg.LinAlgError:
            with pytest.raises(np.linalg.LinAlgError):
                g(bad)
            continue
        assert same(g(bad), wanted)
    assert same(g(a), [y * 2.0 for y in flat(f(a))])


def test_what_numpy_turns_round_leaves_as_it_lies_there():
    # A lower triangle is eliminated backwards, and more columns than rows stay NumPy's.
    def f(a):
        y = v.solve_triangular(a, a[:, :2] * 3.0)
        many = v.solve_triangular(a, np.concatenate([a, a * 2.0], 1))
        return y, many, y @ a[:2] + np.sum(y)

    a = positive(40, 40)
    g = compiled(f)
    assert same(g(a), f(a))
    assert same(g(a * 2.0), f(a * 2.0))
    assert "native_2" in g.source
