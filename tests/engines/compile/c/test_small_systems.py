"""Small dense systems and their derivatives in C; other factors stay NumPy's."""

import warnings

import numpy as np
import pytest

from chainrules_compile.c import native_programs
from chainrules_py import ops as v
from chainrules_tape import hvp, value_and_grad
from tests.engines.compile.c.near import near
from tests.engines.compile.c.test_c import compiled
from tests.engines.compile.shadow import alike

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
SMALL = {
    "inv": np.linalg.inv,
    "inverted again": v.inv_again,
    "slogdet": np.linalg.slogdet,
    "factor": np.linalg.cholesky,
    "solutions": lambda a: np.linalg.solve(a, a[:, :2] * 3.0),
    "of one right side": lambda a: np.linalg.solve(a, a[0]),
    "of a lower triangle": lambda a: v.solve_triangular(a, a[:, :2] * 3.0),
    "of an upper triangle": lambda a: v.solve_triangular(a, a[:, :2], upper=True),
    "of one lower triangle": lambda a: v.solve_triangular(a, a[0] * 2.0),
    "of one upper triangle": lambda a: v.solve_triangular(a.T, a[:, :1], upper=True),
    "of ones on the diagonal": lambda a: v.solve_triangular(a, a[1] * 0.1, unit_diagonal=True),
    "of many": lambda a: v.solve_triangular(a, np.concatenate([a, a * 2.0], 1)),
    "solved again": lambda a: v.solve_again(np.tril(a), a[0]) + v.solve_again(a, a[0]),
}


def flat(y):
    return [x for part in y for x in flat(part)] if isinstance(y, tuple) else [y]


def all_of(table):
    return lambda a: tuple([x for f in table.values() for x in flat(f(a))])


def check(f, *args, whole=True):
    """Compare with the program for other numbers, layouts too; nothing is left to NumPy."""
    g = compiled(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for a in args:
            for _ in range(2):
                assert near(g(a), f(a))
    if whole:
        assert len([line for line in g.source.splitlines() if "native" in line]) == 1, g.source


@pytest.mark.parametrize("n", [1, 2, 6, 33, 64])
def test_small_systems_are_c(n):
    a = positive(n, n) / n
    table = SMALL if n > 1 else {k: f for k, f in SMALL.items() if "[1]" not in k}
    table = {k: f for k, f in table.items() if n > 1 or k != "of ones on the diagonal"}
    check(all_of(table), a, a * 1.5, a.T, np.asfortranarray(a))


def gaussian(a, b):
    x = np.linalg.solve(a, b)
    return np.sum(b * x) + np.linalg.slogdet(a)[1] + np.sum(np.linalg.solve(a.T, b * x) ** 2)


@pytest.mark.parametrize("n", [1, 2, 17, 64])
def test_a_matrix_and_its_transpose_are_factored_once(n, monkeypatch):
    texts, loaded = [], native_programs.loaded
    monkeypatch.setattr(
        native_programs, "loaded", lambda text, n: texts.append(text) or loaded(text, n)
    )
    a, b = RNG.standard_normal((n, n)) + n * np.eye(n), RNG.standard_normal(n)
    f = value_and_grad(gaussian, (0, 1))
    g = compiled(f)
    for x in (a, np.asfortranarray(a), a[::-1].copy()):
        assert near(g(x, b), f(x, b))
    assert all([text.count(" small_factors(a") == 1 for text in texts])
    assert texts


def test_other_factors_and_stacks_stay_numpy_s():
    a = positive(6, 6)
    check(all_of(SQUARE | ANY), a, a * 1.5, a.T, whole=False)
    check(all_of(SQUARE | ANY), positive(2, 3, 4, 4), whole=False)


def test_what_is_larger_stays_numpy_s():
    a = positive(65, 65) / 65
    check(all_of(SMALL), a, whole=False)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(8, 5), (5, 8), (2, 7, 3), (1, 4), (4, 1), (2, 2, 3, 6)])
def test_matrices_that_are_not_square(shape):
    a = RNG.standard_normal(shape)
    check(all_of(ANY), a, a * 0.3, np.asfortranarray(a), a[..., ::-1], whole=False)


def total(f):
    return lambda a: sum([np.sum(np.cos(y) * y) for y in flat(f(a))])


QUICK = ("factor", "of one right side", "slogdet")
NAMES = [pytest.param(k, marks=[] if k in QUICK else [pytest.mark.slow]) for k in SMALL]


@pytest.mark.parametrize("n", [3, 17])
@pytest.mark.parametrize("name", NAMES)
def test_each_derivative(name, n):
    f = total(SMALL[name])
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
            found = g(x)
            # 17 rows with ones on the diagonal lose eight digits; 3 I is a constant.
            assert near(found, wanted) or alike(form, (x,), {}, found, wanted)


@pytest.mark.parametrize("name", ["inv", "factor", "of one right side"])
def test_what_raises_without_the_program_raises_with_it(name):
    f, a = SMALL[name], positive(4, 4)
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
        assert near(g(bad), wanted)
    assert near(g(a), [y * 2.0 for y in flat(f(a))])
