"""Programs that compute with complex numbers between, which stay lines of NumPy."""

import itertools
import warnings

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_compile.c import native_programs
from chainrules_tape import jvp, value_and_grad
from tests.engines.compile.c.near import near
from tests.engines.compile.c.test_c import check as check_whole

pytestmark = pytest.mark.usefixtures("native")
MAKERS = [
    lambda x: 1j * x,
    lambda x: x + 1j * x[::-1],
    lambda x: np.exp(1j * x),
    lambda x: x.astype(np.result_type(x, np.complex64)),
    lambda x: np.sqrt(x + 0j),
    lambda x: x - (2.0 - 1j),
]
MIDDLES = [
    lambda z, x: z,
    lambda z, x: z * x,
    lambda z, x: z * z - z,
    lambda z, x: np.conj(z) * z / (2.0 + x),
    lambda z, x: np.where(x > 0.5, z, x),
    lambda z, x: z.T @ z,
    lambda z, x: z @ x.T,
    lambda z, x: z[1:] + np.concatenate([z, z])[1 : z.shape[0]],
    lambda z, x: np.sum(z, axis=0) * x,
    lambda z, x: np.mean(z) + z,
    lambda z, x: np.cumsum(z, axis=1),
    lambda z, x: np.stack([z, z * 2.0]).reshape(-1),
    lambda z, x: z**3,
    lambda z, x: z[np.array([0, 2, 2])],
    lambda z, x: np.broadcast_to(z[:1], z.shape) + z,
]
ENDS = [
    lambda z: np.sum(z.imag**2),
    lambda z: np.sum(z.real),
    lambda z: np.sum(np.abs(z)),
    lambda z: np.sum(np.angle(z) ** 2),
]
ALL = list(itertools.product(MAKERS, MIDDLES, ENDS))
X = np.linspace(0.1, 1.0, 12).reshape(4, 3)


def program(maker, middle, end):
    return lambda x: end(middle(maker(x), x * 2.0 + 1.0)) + np.sum(np.sin(x) * x)


def check(f, dtype):
    x = X.astype(dtype)
    for g in (f, value_and_grad(f), lambda x: jvp(f, (x,), (x,))):
        compiled = compile(g, target="c")
        for y in (x, -x, np.asfortranarray(x)):
            assert near(compiled(y), g(y)), compiled.source
        yield compiled


@pytest.mark.parametrize("case", range(0, len(ALL), 120))
def test_bits_are_those_of_the_function(case):
    for compiled in check(program(*ALL[case]), np.float64):
        assert "native" in compiled.source


def test_arithmetic_of_what_has_no_gaps():
    def f(x):
        z = np.exp(1j * x) * (x + 2j) - np.conj(x * 1j) / (x + (1.0 - 2j))
        return np.abs(z) + z.real, np.sin(z).imag, z == -z, x.astype(complex) * z

    check_whole(f, X, whole=False)
    check_whole(f, np.linspace(-3.0, 2.0, 5000).reshape(50, 100), whole=False)


@pytest.mark.nightly
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", range(len(ALL)))
def test_bits_are_those_of_the_function_for_all(case, dtype):
    list(check(program(*ALL[case]), dtype))


@pytest.mark.parametrize(
    "maker", [0, *[pytest.param(i, marks=pytest.mark.slow) for i in range(1, len(MAKERS))]]
)
def test_none_is_refused(maker, monkeypatch):
    # Written, but for what the compiler makes: the function itself gives the results.
    monkeypatch.setattr(native_programs, "loaded", lambda *given: None)
    monkeypatch.setattr(native_programs, "program", lambda *given: np.sin)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for middle, end in itertools.product(MIDDLES, ENDS if maker else ENDS[:2]):
            f = value_and_grad(program(MAKERS[maker], middle, end))
            compile(f, target="c")(X)


def test_products_and_sums():
    def f(x):
        z = x + 1j * x[::-1]
        products = z @ z.T, z @ z[0], z[0] @ z[1], z[None] @ z.T, z.T[:, ::2] @ z[::2, :2]
        return (*products, np.sum(z), np.sum(z, axis=0), np.sum(z.T, axis=0), np.sum(z[:, 1:]))

    g = compile(f, target="c")
    for x in (X, -X, np.asfortranarray(X), X * -0.0, X.astype(np.float32)):
        assert near(g(x), f(x))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(9,), (5, 40, 6), (3000,), (7, 300), (600, 1), (2, 3, 4, 5)])
@pytest.mark.parametrize("one", [np.complex128(1j), np.complex64(1j)])
def test_sums_are_added_in_the_order_of_numpy_s(shape, one):
    x = np.random.default_rng(2).standard_normal(shape).astype(one.real.dtype)
    axes = [None, *range(len(shape)), *[(0, d) for d in range(1, len(shape))]]

    def f(x):
        z = x * one
        return (*[np.sum(z, axis=axis) for axis in axes], np.sum(z.T, axis=0), np.mean(z[::2]))

    g = compile(f, target="c")
    for y in (x, -x, np.asfortranarray(x), x[::-1], x * -0.0):
        assert near(g(y), f(y))


ONE = ["multiply", "square", "add", "subtract", "divide", "sin", "exp", "sqrt", "absolute", "conj"]


@pytest.mark.parametrize(
    "kind", [np.complex128, pytest.param(np.complex64, marks=pytest.mark.slow)]
)
def test_one_number_is_rounded_as_numpy_rounds_it(kind):
    def f(z, w):
        ufuncs = [getattr(np, name) for name in ONE]
        return tuple([g(z, w) if g.nin == 2 else g(z) for g in ufuncs])

    rng = np.random.default_rng(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for shape in ((), (1,), (1, 1)):
            g, h = (compile(f, target="c") for _ in range(2))
            for _ in range(20):
                z, w = [kind(complex(*rng.standard_normal(2))) for _ in range(2)]
                assert near(h(z, w), f(z, w))
                z, w = (np.full(shape, x) for x in (z, w))
                assert near(g(z, w), f(z, w)), g.source
