"""Sorts, masks, places along axes, contractions and norms in C, with NumPy's bits."""

import mpmath
import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_py import ops as v
from chainrules_tape import value_and_grad
from tests.engines.compile.c.near import near
from tests.engines.compile.c.test_c import SPECIAL, compiled
from tests.engines.compile.c.test_small_systems import check, flat

pytestmark = pytest.mark.usefixtures("native")
RNG = np.random.default_rng(11)
U, M = RNG.standard_normal((5, 4, 6)), RNG.standard_normal((4, 5))
FIRST, SECOND = np.array([0, -1, 2]), np.array([2, 0, 1])
KEEP = np.array([True, False, True, True, False])
SORTED = {
    "sort": lambda x: (np.sort(x), np.sort(x, axis=0), np.sort(x.T, axis=1)),
    "stable": lambda x: (np.sort(x, stable=True), np.sort(x[:, ::-1], axis=0, kind="stable")),
    "places": lambda x: (np.argsort(x), np.argsort(x, axis=0), np.argsort(x.T, stable=True)),
    "first": lambda x: (np.argmax(x, axis=1), np.argmin(x, axis=0), np.argmax(x.T, axis=0)),
    "kept": lambda x: (v.argmax(x, axis=1, keepdims=True), v.argmin(x, keepdims=True) * 2),
    "truth": lambda x: (np.any(x > 1, axis=0), np.all(x, axis=1), np.all(x > 0, keepdims=True)),
    "along": lambda x: (
        np.take_along_axis(x, np.argsort(x, axis=1), axis=1),
        v.put_along_axis_add(x, x[:, :2] * 2.0, np.argsort(x, axis=1)[:, :2], axis=1),
    ),
}
CHOSEN = {
    "a mask": lambda x: x[x > 0],
    "rows": lambda x: (x[:, KEEP] * 2.0)[::-1],
    "columns": lambda x: x[np.sum(x, axis=1) > -9.0] + 1.0,
    "places": lambda x: x[np.nonzero(x > 0)] * np.nonzero(x > 0)[1],
    "apart": lambda x: (x[:3, None] * x[None])[FIRST, :, SECOND],
    "behind": lambda x: (x[:3, None] * x[None])[..., SECOND],
}
CONTRACTED = {
    "tensordot": lambda x: (np.tensordot(x, U, ([0, 1], [1, 0])), np.tensordot(x, x, (1, 1))),
    "all": lambda x: np.tensordot(x, x * 2.0, 2),
    "none": lambda x: np.tensordot(x, x, 0),
    "inner": lambda x: (np.inner(x, x), np.inner(x[0], x[:, ::-1]), np.inner(x[0], x[1])),
    "norms": lambda x: (np.linalg.norm(x), np.linalg.norm(x.T[1:]), np.linalg.norm(x[:, ::2])),
    "along": lambda x: (np.linalg.norm(x, axis=0), np.linalg.norm(x, axis=1, keepdims=True)),
    "of a row": lambda x: (np.linalg.norm(x[0]), np.linalg.norm(x[:, 1]), v.vector_norm(x[1:, :3])),
    "each": lambda x: np.einsum("ij,kil->ljki", x * -0.0, U),
    "spread": lambda x: np.einsum("ij,k->kij", x, x[0]),
}
TABLE = SORTED | CHOSEN | CONTRACTED


def test_all_at_once():
    f = lambda x: tuple([y for f in TABLE.values() for y in flat(f(x))])
    check(f, M, np.asfortranarray(M), whole=False)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*runs as it is")  # counts of a mask are others each time
@pytest.mark.parametrize("name", TABLE)
def test_each_operation_and_its_derivative(name):
    f = TABLE[name]
    g = compiled(f)
    d = value_and_grad(lambda x: sum([np.sum(np.sin(y) * y) for y in flat(f(x))]))
    h = compiled(d)
    for x in (M, M * 1.5, M.T.copy().T, -M, M[::-1], np.round(M)):
        assert near(g(x), f(x))
        if name not in ("places", "first", "kept", "truth"):
            assert near(h(x), d(x))


@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)])
def test_sorts_of_special_numbers(dtype):
    # In what order equal elements come, and zeros of both signs, is NumPy's to say.
    with np.errstate(over="ignore"):
        x = np.tile(SPECIAL.astype(dtype), 40)
    RNG.shuffle(x)

    def f(x):
        values = np.sort(x), np.sort(x, stable=True)
        places = np.argsort(x), np.argsort(x, stable=True)
        return (*values, *places, np.argmax(x), np.argmin(x[:5]))

    g = compiled(f)
    for y in (x, x[::-1].copy(), np.abs(x)):
        found, wanted = g(y), f(y)
        assert near(found, wanted)


def test_another_count_of_a_mask_takes_the_function():
    f = value_and_grad(lambda x: np.sum(x[x > 0] ** 2))
    g = compiled(f)
    for x in (M, -M, np.abs(M), M * 2.0, -np.abs(M)):
        assert near(g(x), f(x))


EINSUMS = ["ij->j", "ij->", "ij,kjl->ikl", "ij,kjl->il", "ij,ij->i", "ij,ij->", "ij,kjl->jki"]


@pytest.mark.slow
@pytest.mark.parametrize("subscripts", EINSUMS)
def test_sums_of_products_in_another_order(subscripts):
    operands = [
        U.mT[:, :, :4].copy() if "k" in s else M for s in subscripts.split("->")[0].split(",")
    ]
    operands = [np.ascontiguousarray(U.transpose(2, 0, 1)) if x.ndim == 3 else x for x in operands]
    f = value_and_grad(lambda x: np.sum(np.sin(np.einsum(subscripts, x, *operands[1:]))))
    g = compile(f, target="c")
    (value, slope), (wanted, wanted_slope) = g(operands[0]), f(operands[0])
    assert "einsum" not in g.source
    np.testing.assert_allclose(value, wanted, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(slope, wanted_slope, rtol=1e-12, atol=1e-13)


def test_a_sum_of_products_is_as_near_as_it_can_be():
    x, y = RNG.standard_normal((2, 6, 9))
    g = compile(lambda x, y: np.einsum("ij,ij->i", x, y) * 1.0, target="c")
    with mpmath.workdps(40):
        wanted = [
            float(mpmath.fdot(map(mpmath.mpf, a), map(mpmath.mpf, b)))
            for a, b in zip(x, y, strict=True)
        ]
    np.testing.assert_allclose(g(x, y), wanted, rtol=1e-13, atol=1e-14)
