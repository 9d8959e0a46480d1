"""Extremes that a function subtracts and puts back: nothing flows to them, and nothing is lost."""

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_py import ignore_derivatives
from chainrules_tape import Tape, grad, hessian, hvp, jacobian, value_and_grad, vjp
from chainrules_tape.functions import run


def _largest(x, axis, stop):
    m = np.max(x, axis=axis, keepdims=True)
    return ignore_derivatives(m) if stop else m


def _logsumexp(x, axis=-1, stop=False):
    m = _largest(x, axis, stop)
    return (m + np.log(np.sum(np.exp(x - m), axis=axis, keepdims=True))).squeeze(axis)


def _softmax(x, axis=-1, stop=False):
    e = np.exp(x - _largest(x, axis, stop))
    return e / np.sum(e, axis=axis, keepdims=True)


def _scalar(x, stop=False):
    m = ignore_derivatives(np.max(x)) if stop else np.max(x)
    return np.log(np.mean(np.exp(x - m))) + m


def _without_axes(x, stop=False):
    m = ignore_derivatives(x.max(1)) if stop else x.max(1)
    return m + np.log(np.exp(x - m[:, None]).sum(1))


def _from_below(x, stop=False):
    m = np.min(x, axis=0, keepdims=True)
    m = ignore_derivatives(m) if stop else m
    return m - np.log(np.sum(np.exp(m - x), axis=0, keepdims=True))


def _twice(x, stop=False):
    return _logsumexp(_logsumexp(x, 0, stop)[:, None] + x, 1, stop)


def _log_softmax(x, stop=False):
    z = x - _largest(x, 1, stop)
    return z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))


IDIOMS = {
    "logsumexp": _logsumexp,
    "softmax": lambda x, stop=False: _softmax(x, stop=stop) ** 2,
    "softmax of columns": lambda x, stop=False: np.sin(_softmax(x, 0, stop)),
    "of all": _scalar,
    "without axes": _without_axes,
    "from below": _from_below,
    "twice": _twice,
    "log softmax": lambda x, stop=False: _log_softmax(x, stop)[np.arange(4), [1, 0, 3, 2]],
}
X = np.random.default_rng(5).standard_normal((4, 4))


@pytest.mark.parametrize("name", IDIOMS)
def test_a_shift_costs_and_rounds_as_one_that_is_stopped(name):
    f = IDIOMS[name]
    got = value_and_grad(lambda x: np.sum(f(x)))(X)
    want = value_and_grad(lambda x: np.sum(f(x, stop=True)))(X)
    assert got[0] == want[0]
    np.testing.assert_array_equal(got[1], want[1])


@pytest.mark.parametrize("name", IDIOMS)
def test_derivatives_of_derivatives_know_no_shift(name):
    f = IDIOMS[name]
    loss, stopped = lambda x: np.sum(f(x)), lambda x: np.sum(f(x, stop=True))
    np.testing.assert_allclose(
        hvp(loss, (X,), (X.T,))[-1], hvp(stopped, (X,), (X.T,))[-1], atol=1e-13
    )
    np.testing.assert_allclose(hessian(loss)(X), hessian(stopped)(X), atol=1e-13)
    np.testing.assert_allclose(jacobian(f)(X), jacobian(lambda x: f(x, stop=True))(X), atol=1e-13)


@pytest.mark.parametrize("name", IDIOMS)
def test_compiled_they_keep_the_bits(name):
    f = value_and_grad(lambda x: np.sum(IDIOMS[name](x)))
    compiled = compile(f)
    for x in (X, X.T.copy(), np.round(X), np.zeros((4, 4))):
        for got, want in zip(compiled(x), f(x), strict=True):
            np.testing.assert_array_equal(got, want)
    assert " equal(" not in compiled.source


NOT_SHIFTS = {
    "half of it": lambda x: np.max(x) / 2 + np.log(np.sum(np.exp(x - np.max(x)))),
    "given": lambda x: (np.max(x), x - np.max(x)),
    "not put back": lambda x: np.log(np.sum(np.exp(x - np.max(x, axis=1, keepdims=True)), 1)),
    "other rows": lambda x: np.sum(e := np.exp(x - x.max(1)[:, None]), axis=0) / np.sum(e, 1),
    "turned": lambda x: (e := np.exp(x - x.max(1)[:, None])) / np.sum(e, 1),
    "twice back": lambda x: 2 * (m := np.max(x)) + np.log(np.sum(np.exp(x - m))),
    "squared": lambda x: np.sum(np.exp(x - (m := np.max(x))) ** 2) * np.exp(m),
    "two of them": lambda x: np.exp(x - (m := np.max(x))) * np.sum(np.exp(x - np.min(x))) * m,
    "one more term": lambda x: (e := np.exp(x - np.max(x))) / (1 + np.sum(e)),
    "its exponential": lambda x: np.exp(m := np.max(x)) * np.sum(np.exp(x - m)) * m,
}


def _kept(f):
    """Differentiate with nothing left out."""

    def differentiated(x):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(run, "forget_shifts", lambda *_: None)
            return f(x)

    return differentiated


def _total(y):
    return sum([np.sum(np.sin(part)) for part in (y if type(y) is tuple else (y,))])


@pytest.mark.parametrize("name", [*IDIOMS, *NOT_SHIFTS])
def test_gradients_are_those_of_all_records(name):
    f = {**IDIOMS, **NOT_SHIFTS}[name]
    got = grad(lambda x: _total(f(x)))
    np.testing.assert_allclose(got(X), _kept(got)(X), rtol=1e-11, atol=1e-12)


def test_a_pullback_takes_cotangents_of_each_output():
    y, pullback = vjp(lambda x: (_logsumexp(x), np.max(x, axis=1)), X)
    (got,) = pullback((np.ones(4), np.ones(4)))
    want = _softmax(X) + (X.max(1, keepdims=True) == X)
    np.testing.assert_allclose(got, want, rtol=1e-13)
    assert y[0].shape == (4,)


def test_people_may_ask_a_tape_for_the_extreme():
    with Tape(persistent=True) as tape:
        x = tape.variable(X)
        m = np.max(x)
        y = m + np.log(np.sum(np.exp(x - m)))
    np.testing.assert_allclose(tape.grad(y, x), _softmax(X, (0, 1)), rtol=1e-12)
    np.testing.assert_array_equal(tape.grad(m, x), (X.max() == X) * 1.0)
    assert abs(tape.grad(y, m)) < 1e-14


# ---------------------------------------------------------------------------------- drawn programs


def _drawn(seed):
    """Draw a program of the words that shifts go through, with axes that are easily mistaken."""
    r = np.random.default_rng(seed)
    axis, other = [[None, 0, 1][i] for i in r.integers(0, 3, 2)]
    keeps, polluted = r.random(3) < 0.6, r.random(2) < 0.25
    other = axis if r.random() < 0.7 else other
    plan = r.integers(0, 1 << 30, size=(8, 3))

    def f(x):
        m = np.max(x, axis=axis, keepdims=bool(keeps[0]))
        shift = m[:, None] if np.ndim(m) == 1 and axis == 1 and keeps[1] else m
        e = np.exp(x - shift)
        s = np.sum(e, axis=other, keepdims=bool(keeps[2]))
        pool = [m, e, s, x - shift]
        for k, (kind, i, j) in enumerate(plan[:4]):
            steps = _STEPS if polluted[0] or k > 2 else _SHAPES
            at = int(i) % len(pool)
            pool[at] = steps[kind % len(steps)](pool[at], pool[j % len(pool)], int(i) // 7)
        m, e, s, z = pool
        ends = [(m, np.log(s), np.add), (e, s, np.divide), (z, np.log(s), np.subtract)]
        y = [_broadcast(end)(a, b, 0) for a, b, end in ends]
        y = y[plan[6][0] % 3 :][: 1 + plan[6][1] % 2]
        return sum([np.sum(np.tanh(each)) for each in (*y, *pool[: int(polluted[1])])])

    return f


def _broadcast(function):
    def step(a, b, n):
        try:
            np.broadcast_shapes(np.shape(a), np.shape(b))
        except ValueError:
            return a
        return function(a, b)

    return step


_AXES = [None, 0, -1]
_SHAPES = [
    lambda a, b, n: np.expand_dims(a, [0, -1, (0, -1)][n % 3]),
    lambda a, b, n: np.reshape(a, (-1, 1, 4) if np.size(a) % 4 == 0 and n % 2 else (-1,)),
    lambda a, b, n: a[..., None] if n % 2 else a[None],
    lambda a, b, n: a[..., 0] if np.ndim(a) and np.shape(a)[-1] == 1 else a,
    lambda a, b, n: np.squeeze(a),
    lambda a, b, n: a,
    lambda a, b, n: a,
]
_STEPS = [
    *_SHAPES,
    _broadcast(lambda a, b: a + b),
    _broadcast(lambda a, b: a - b),
    _broadcast(lambda a, b: a * b),
    _broadcast(lambda a, b: a / b),
    lambda a, b, n: np.exp(np.clip(a, None, 3.0) if n % 2 else a),
    lambda a, b, n: np.log(a),
    lambda a, b, n: -a,
    lambda a, b, n: np.sum(a, axis=_AXES[n % 3] if np.ndim(a) else None, keepdims=bool(n % 2)),
    lambda a, b, n: np.mean(a, axis=_AXES[n % 3] if np.ndim(a) else None, keepdims=bool(n % 2)),
    lambda a, b, n: np.transpose(a),
    lambda a, b, n: a + 1.5,
    lambda a, b, n: a * 2.0,
]


def _check(seeds):
    left_out = 0
    with np.errstate(all="ignore"):
        for seed in seeds:
            f, counts = _drawn(seed), []
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(run, "forget_shifts", _counting(counts, run.forget_shifts))
                got = grad(f)(X)
            want = _kept(grad(f))(X)
            left_out += sum(counts)
            scale = np.max(np.abs(want), initial=1.0)
            if np.isfinite(scale) and scale < 1e6:
                np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10 * scale, err_msg=seed)
    return left_out


def _counting(counts, forget):
    def counted(tape, noted, outputs):
        before = [*tape]
        forget(tape, noted, outputs)
        counts.append(any([a is not b for a, b in zip(before, tape, strict=True)]))

    return counted


def test_drawn_programs_lose_nothing():
    assert _check(range(60)) > 1


@pytest.mark.nightly
def test_many_drawn_programs_lose_nothing():
    assert _check(range(1000, 21_000)) > 1000
