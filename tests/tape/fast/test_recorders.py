"""Rules that compute the value themselves, recorded: zeros, thunks, captures, views, the guard."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view as windows

from chainrules_py import (
    LinearMap,
    MutationError,
    NoTangent,
    RuleError,
    Tangent,
    ZeroTangent,
    primitive,
    rrule,
    rule,
)
from chainrules_py.tangents.thunks import Thunk
from chainrules_tape import Tape, grad, jacobian, jvp, value_and_grad, vjp
from tests.plain import needs_short_ways

RNG = np.random.default_rng(11)


def fresh(*shape):
    return RNG.uniform(0.5, 1.5, shape or (4,))


def product_that_saves(saved_of, pull):
    """x c, differentiated in x by a rule that saves what is asked of it."""

    @primitive
    def product(x, c):
        return x * c

    @rule(product)
    def product_rule(x: np.ndarray, c: np.ndarray):
        return x * c, (LinearMap(None, pull, *saved_of(x, c)), NoTangent())

    return product


# ------------------------------------------------------------------------------- what pulls give


@primitive
def silent(x, *, how):
    return 2.0 * x


@rule(silent)
def silent_rule(x: np.ndarray, *, how):
    if how == "map":
        return 2.0 * x, (ZeroTangent(),)
    pulls = {
        "zero": lambda y_bar: ZeroTangent(),
        "none": lambda y_bar: NoTangent(),
        "thunk": lambda y_bar: Thunk(lambda: 2.0 * y_bar),
        "zero thunk": lambda y_bar: Thunk(lambda: ZeroTangent()),
        "wide": lambda y_bar: 2.0 * np.stack([y_bar, y_bar]),
        "single": lambda y_bar: (2.0 * y_bar).astype(np.float32),
    }
    return 2.0 * x, (LinearMap(lambda x_dot: 2.0 * x_dot, pulls[how]),)


HOW = {"map": 0, "zero": 0, "none": 0, "zero thunk": 0, "thunk": 2, "wide": 4, "single": 2}


@pytest.mark.parametrize("how", HOW)
def test_what_a_pull_gives_is_added_or_is_nothing(how):
    x, expected = fresh(), float(HOW[how])
    g = grad(lambda x: np.sum(silent(x, how=how)))(x)
    assert g.dtype == x.dtype
    np.testing.assert_allclose(g, np.full(4, expected))
    # Before and behind another use of the same variable, and where it is no leaf.
    for f in (
        lambda x: np.sum(silent(x, how=how) + 5.0 * x),
        lambda x: np.sum(5.0 * x + silent(x, how=how)),
        lambda x: np.sum(silent(x * 1.0, how=how)) + np.sum(5.0 * x),
    ):
        np.testing.assert_allclose(grad(f)(x), np.full(4, 5.0 + expected))


@pytest.mark.parametrize("how", ["zero", "none", "map"])
def test_nothing_flows_on_through_a_zero(how):
    """A dense zero would meet the infinite slope of the root before it."""
    x = np.zeros(3)
    with Tape() as tape:
        a = tape.variable(x)
        loss = np.sum(silent(np.sqrt(a), how=how))
    assert isinstance(tape.grad(loss, a), ZeroTangent)


@pytest.mark.parametrize("how", ["thunk", "wide", "zero"])
def test_pulled_back_twice_and_in_batches(how):
    x = fresh()
    y, pullback = vjp(lambda x: silent(x, how=how), x)
    np.testing.assert_array_equal(y, 2.0 * x)
    for _ in range(2):
        np.testing.assert_allclose(pullback(np.ones(4))[0], np.full(4, float(HOW[how])))
    if how != "wide":  # whose pull takes one direction, and says nothing else
        f = jacobian(lambda x: silent(x, how=how), mode="reverse")
        np.testing.assert_allclose(f(x), HOW[how] * np.eye(4))


@needs_short_ways
def test_links_are_an_index_for_one_operand_and_two_for_two():
    a, b = fresh(3, 3) + 3 * np.eye(3), fresh(3)
    with Tape() as tape:
        x, y = tape.variable(a), tape.variable(b)
        np.linalg.inv(x)
        np.linalg.solve(x, y)
        np.linalg.solve(x, b)
        np.linalg.solve(a, y)
    assert [type(record[1]) for record in tape[2:]] == [int, tuple, int, int]


# ------------------------------------------------------------------------------- structures


def test_results_that_are_structures():
    a = fresh(4, 4) + 4 * np.eye(4)
    sign, logdet = np.linalg.slogdet(a)
    y, pullback = vjp(np.linalg.slogdet, a)
    assert type(y) is type(np.linalg.slogdet(a))
    assert y == (sign, logdet)
    (bar,) = pullback(Tangent.of(type(y), {"logabsdet": 1.0}))
    np.testing.assert_allclose(bar, np.linalg.inv(a).T, rtol=1e-12)
    (bar,) = pullback(Tangent.of(type(y), {"sign": 1.0}))
    np.testing.assert_array_equal(bar, np.zeros((4, 4)))
    g = grad(lambda a: np.sum(np.linalg.qr(a)[1] ** 2))(a)  # the sum of squares of a itself
    np.testing.assert_allclose(g, 2 * a, rtol=1e-10)


# ------------------------------------------------------------------------------- the guard


def pull_of_saved(y_bar, c):
    return y_bar * c


SAVED = {  # how a rule keeps an operand: what it saves, and its pull
    "itself": (lambda x, c: (c,), pull_of_saved),
    "a view": (lambda x, c: (c[::-1],), lambda y_bar, c: y_bar * c[::-1]),
    "in a tuple": (lambda x, c: ((c, 1),), lambda y_bar, pair: y_bar * pair[0]),
    "in a dict": (lambda x, c: ({"c": c},), lambda y_bar, kept: y_bar * kept["c"]),
    "a memoryview": (lambda x, c: (c.data,), lambda y_bar, kept: y_bar * np.asarray(kept)),
    "memory": (lambda x, c: (np.asarray(c.data),), pull_of_saved),
    "by DLPack": (lambda x, c: (np.from_dlpack(c),), pull_of_saved),
    "windows": (lambda x, c: (windows(c, 1),), lambda y_bar, kept: y_bar * kept[:, 0]),
}


@pytest.mark.parametrize("guard", ["sample", "full"])
@pytest.mark.parametrize("how", SAVED)
def test_what_a_rule_saved_of_a_plain_operand_is_watched(how, guard):
    f = product_that_saves(*SAVED[how])
    x, c = fresh(), fresh()
    tape = Tape(guard=guard)
    with tape:
        a = tape.variable(x)
        loss = np.sum(f(a, c))
        c[0] = 7.0
    with pytest.raises(MutationError):
        tape.grad(loss, a)


@pytest.mark.parametrize("how", ["a cell", "a default", "a keyword"])
def test_what_the_halves_close_over_is_watched(how):
    @primitive
    def f(x, c):
        return x * c

    @rule(f)
    def f_rule(x: np.ndarray, c: np.ndarray):
        if how == "a cell":
            pull = lambda y_bar: y_bar * c
        elif how == "a default":
            pull = lambda y_bar, c=c: y_bar * c
        else:
            pull = lambda y_bar, *, c=c: y_bar * c
        return x * c, (LinearMap(None, pull), NoTangent())

    x, c = fresh(), fresh()
    with Tape(guard="sample") as tape:
        a = tape.variable(x)
        loss = np.sum(f(a, c))
        c[0] = 7.0
    with pytest.raises(MutationError):
        tape.grad(loss, a)


def test_what_no_pull_reads_may_be_written_to():
    """The right side of equations whose matrix is differentiated in: the solution is saved."""
    a, b = fresh(3, 3) + 3 * np.eye(3), fresh(3)
    expected = grad(lambda a: np.sum(np.linalg.solve(a, b) ** 2))(a)

    def loss(a):
        z = np.linalg.solve(a, b)
        b[:] = 0.0
        return np.sum(z**2)

    np.testing.assert_array_equal(grad(loss)(a), expected)
    b[:] = 1.0

    def loss_of(b):
        z = np.linalg.solve(a, b)
        a[0, 0] = 9.0
        return np.sum(z)

    with pytest.raises(ValueError, match="read-only"):
        grad(loss_of)(b)


def test_what_a_pull_may_read():
    x = fresh()
    for saved in ((x[1:],), (1.0, x), (object(),)):
        with Tape() as tape:
            tape.capture(x, (None, None, *saved), closes=True)
            assert len(tape.held) == 1
    tape = Tape()
    tape.capture(x, (None, None, x.copy(), 2, "a", None, pull_of_saved), closes=True)
    assert not tape.held


# ------------------------------------------------------------------------------- views


@primitive
def part(x):
    return x[1:]


@primitive
def itself(x):
    return x


@rule(part)
def part_rule(x: np.ndarray):
    def pull(y_bar):
        x_bar = np.zeros(4)
        x_bar[1:] = y_bar
        return x_bar

    return x[1:], (LinearMap(lambda x_dot: x_dot[1:], pull),)


@rule(itself)
def itself_rule(x: np.ndarray):
    return x, (LinearMap(lambda x_dot: x_dot, lambda y_bar: y_bar),)


@primitive
def windowed(x):
    return windows(x, 3)[:, 0]


@rule(windowed)
def windowed_rule(x: np.ndarray):
    pull = lambda y_bar: np.concatenate([y_bar, np.zeros(2)])
    return windows(x, 3)[:, 0], (LinearMap(lambda x_dot: x_dot[:-2], pull),)


def test_a_window_is_seen_to_be_a_view():
    def loss(x):
        x = x * 1.0
        y = windowed(x)
        x[0] = 3.0 * x[1]
        return np.sum(y * y)

    x = np.array([1.0, 2.0, 3.0, 4.0])
    value, x_bar = value_and_grad(loss)(x)
    assert value == loss(x) == 40.0
    assert x_bar.tolist() == [0.0, 40.0, 0.0, 0.0]


@pytest.mark.parametrize("f", [part, itself])
def test_a_result_that_is_a_view_is_seen_to_be_one(f):
    """Written to, it would change its operand in NumPy: so it does, or says that it cannot."""
    x = fresh()

    def loss(x):
        x = x * 1.0
        y = f(x)
        y *= 3.0
        return np.sum(x)

    plain = loss(x)
    try:
        value = vjp(loss, x)[0]
    except MutationError:
        return
    assert value == plain
    start = 4 - len(f(x))
    np.testing.assert_array_equal(grad(loss)(x), [1.0] * start + [3.0] * (4 - start))


# ------------------------------------------------------------------------------- the contract


@pytest.mark.parametrize(
    "answer", [lambda x: x, lambda x: (x, ()), lambda x: (x, (None,)), lambda x: (x, (1, 2))]
)
def test_what_a_rule_has_to_return(answer):
    @primitive
    def f(x):
        return x

    @rule(f)
    def f_rule(x: np.ndarray):
        return answer(x)

    for call in (lambda: grad(lambda x: np.sum(f(x)))(fresh()), lambda: rrule(f, fresh())):
        with pytest.raises(RuleError, match=r"return|gives"):
            call()


def test_maps_in_a_list_will_do():
    @primitive
    def f(x):
        return 2.0 * x

    @rule(f)
    def f_rule(x: np.ndarray):
        return 2.0 * x, [LinearMap(None, lambda y_bar: 2.0 * y_bar)]

    np.testing.assert_array_equal(grad(lambda x: np.sum(f(x)))(fresh()), np.full(4, 2.0))


CALLS = {
    "cholesky": lambda x: np.linalg.cholesky(x @ x.T + 4 * np.eye(4)),
    "solve in both": lambda x: np.linalg.solve(x + 4 * np.eye(4), x[0]),
    "solve in the matrix": lambda x: np.linalg.solve(x + 4 * np.eye(4), np.arange(4.0)),
    "solve in the right side": lambda x: np.linalg.solve(np.eye(4) + 1.0, x),
    "inv": lambda x: np.linalg.inv(x + 4 * np.eye(4)),
    "det": np.linalg.det,
    "log-likelihood": lambda x: np.sum(
        np.linalg.solve(np.linalg.cholesky(x @ x.T + 4 * np.eye(4)), np.arange(4.0)) ** 2
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_second_order_in_both_nestings(name):
    f = CALLS[name]
    loss = lambda x: np.sum(np.sin(f(x)))
    x, t = fresh(4, 4), fresh(4, 4)
    over = jvp(grad(loss), (x,), (t,))[1]
    under = grad(lambda x: jvp(loss, (x,), (t,))[1])(x)
    back = vjp(grad(loss), x)[1](t)[0]  # a Hessian is symmetric
    h = 1e-4
    g = grad(loss)
    d = (8 * (g(x + h * t) - g(x - h * t)) - (g(x + 2 * h * t) - g(x - 2 * h * t))) / (12 * h)
    for found in (over, under, back):
        np.testing.assert_allclose(found, d, rtol=1e-7, atol=1e-8)
