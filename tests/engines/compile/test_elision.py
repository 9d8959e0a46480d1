"""Large results lie where NumPy's operators write them: into what nobody has a name for."""

import itertools
import operator
import warnings

import numpy as np
import pytest

from chainrules_compile import RecordingWarning, compile
from chainrules_compile.elision import COMMUTES
from chainrules_tape import value_and_grad, vjp
from tests.engines.compile.shadow import same

M, N = 160, 220
LIES = {
    "rows": lambda x: x.reshape(M, N),
    "columns": lambda x: x.reshape(N, M).T,
    "made": lambda x: 2.0 + np.sin(x).reshape(M, N),
    "made columns": lambda x: 2.0 + np.sin(x.reshape(N, M).T),
    "part": lambda x: (2.0 + np.sin(x.reshape(N, M).T))[:, ::-1],
}
OPERATORS = [*COMMUTES, operator.pow, operator.mod]


def named(apply, first, second):
    return lambda x: (lambda a, b: np.sum(apply(a, b)))(first(x), second(x))


def between(apply, first, second):
    def f(x):
        a = first(x)
        return np.sum(apply(a, second(x)) - apply(first(x), a))

    return f


def written(apply, first, second):
    """Apply an operator as it stands in a line, where nobody has either operand."""
    sign = {
        operator.add: lambda x: np.sum(first(x) + second(x)),
        operator.mul: lambda x: np.sum(first(x) * second(x)),
        operator.sub: lambda x: np.sum(first(x) - second(x)),
        operator.truediv: lambda x: np.sum(first(x) / second(x)),
        operator.floordiv: lambda x: np.sum(first(x) // second(x)),
        operator.pow: lambda x: np.sum(first(x) ** second(x)),
        operator.mod: lambda x: np.sum(first(x) % second(x)),
    }
    return sign[apply]


def check(f):
    draws = [np.random.default_rng(s).uniform(0.5, 2.0, M * N) for s in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RecordingWarning)
        compiled = compile(f)
        for x in (np.ones(M * N), *draws):
            assert same(compiled(x), f(x))
    assert len(compiled.programs) == 1


@pytest.mark.parametrize("way", [written, named, between])
@pytest.mark.parametrize("apply", OPERATORS)
def test_sums_are_added_in_the_order_of_the_function(apply, way):
    pairs = itertools.product(LIES.values(), repeat=2)
    for first, second in [*pairs][:: 3 if way is written else 7]:
        check(way(apply, first, second))


@pytest.mark.slow
@pytest.mark.parametrize("apply", COMMUTES)
def test_gradients_of_such(apply):
    if apply is not operator.floordiv:
        for first, second in itertools.product(LIES.values(), repeat=2):
            check(value_and_grad(written(apply, first, second)))


@pytest.mark.slow
def test_blocks_of_large_arrays():
    def chain(x):
        for k in range(6):
            x = np.sin(x) * 0.3 + x / (1 + x * x) - 0.01 * k
        return x

    f = lambda x: np.sum(chain(x.reshape(350, 400).T) * x.reshape(400, 350))
    compiled, x = compile(f), np.random.default_rng(0).normal(size=140_000)
    compiled(np.zeros(140_000))
    assert same(compiled(x), f(x))


_MANY = np.random.default_rng(0).normal(size=(2, 40_000)).view(complex)[0]
FACTORS = {
    "made first": lambda w, z: np.conj(w) * z,
    "made second": lambda w, z: w * np.conj(z),
    "both made": lambda w, z: np.conj(w) * np.conj(z),
    "a product": lambda w, z: w * (z * w),
    "a sum": lambda w, z: w * (z + w),
    "a copy": lambda w, z: w * z.copy(),
    "a negative": lambda w, z: w * (-z) * z,
    "a transform": lambda w, z: w * np.fft.fft(z),
    "a sum of it": lambda w, z: np.sum(w * (1j * z)),
    "by a name": lambda w, z: np.multiply(w, np.conj(z)),
    "with a name": lambda w, z: (lambda t: w * t + t)(z * w),
    "a constant": lambda w, z: _MANY[: w.size] * np.conj(z),
    "a constant that is made": lambda w, z: np.exp(_MANY[: w.size]) * np.conj(z),
    "a constant, by a name": lambda w, z: np.multiply(_MANY[: w.size], np.conj(z)),
    "a quotient": lambda w, z: w / np.conj(z),
    "in place": lambda w, z: written_in_place(w * 1.0, np.conj(z)),
}


def written_in_place(y, z):
    y *= z * y
    return y


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("n", [16_383, 16_384, 19_000])
@pytest.mark.parametrize("name", FACTORS)
def test_complex_products_are_rounded_by_the_order_of_their_factors(name, n, dtype):
    """The second factor comes first where it is written over: beyond 256 KiB, without a name."""
    f = FACTORS[name]
    draw = lambda seed: np.random.default_rng(seed).normal(size=(2, n)).T.copy().view(complex)[:, 0]
    w, z = draw(1).astype(dtype), draw(2).astype(dtype)
    pulled = lambda w, z: vjp(f, w, z)[1](f(w, z))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RecordingWarning)
        for g in (f, pulled):
            program = compile(g)
            for given in ((w * 0 + 1, z * 0 + 1), (w, z), (z, w)):
                assert same(program(*given), g(*given))
            assert len(program.programs) == 1


@pytest.mark.parametrize("first", [k for k in LIES if k != "part"])
@pytest.mark.parametrize("function", COMMUTES)
def test_constants_beside_what_is_made(function, first):
    constant = np.asfortranarray(np.random.default_rng(5).uniform(1.0, 2.0, (M, N)))
    sign = {
        operator.add: lambda x: np.sum(constant + (LIES[first](x) * 2.0)),
        operator.mul: lambda x: np.sum(constant * (LIES[first](x) * 2.0)),
        operator.sub: lambda x: np.sum(constant - (LIES[first](x) * 2.0)),
        operator.truediv: lambda x: np.sum(constant / (LIES[first](x) * 2.0)),
        operator.floordiv: lambda x: np.sum((constant * 1.0) // (LIES[first](x) * 2.0)),
    }
    check(sign[function])
    check(value_and_grad(sign[function]) if function is not operator.floordiv else sign[function])
