"""debug(): functions and rules that are none of their operands, and right ones, which pass."""

import concurrent.futures
import functools
import os
import subprocess
import sys
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_py import (
    ChainRulesError,
    LinearMap,
    MutationError,
    NanError,
    Tangent,
    frule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py.testing import DebugError, debug
from chainrules_py.testing.cases.case import Case
from chainrules_tape import grad, hessian, jacobian, jvp, linearize, value_and_grad, vjp
from chainrules_tape.tools import vmap
from tests.testing.planted.corpora import RIGHT as CORPUS

X = np.array([1.0, 2.0, 3.0])


def doubled():
    """Make a function that doubles, without a rule."""

    @primitive
    def double(x, /):
        return 2.0 * x

    return double


def with_pull(pull):
    """Make a function that doubles, whose rule has a pull."""
    double = doubled()

    @rrule.register(double)
    def double_rule(x):
        return 2.0 * x, functools.partial(pull, x)

    return double


def gradient_of(f):
    with debug():
        return grad(lambda x: np.sum(f(x)))(X)


# ------------------------------------------------------------------------------------ wrong rules


def writes_to_its_cotangent():
    def pull(_x, y_bar):
        y_bar *= 2.0
        return (y_bar,)

    return with_pull(pull), "wrote to its cotangent"


def writes_to_its_operand():
    def pull(x, y_bar):
        x[0] = 0.0
        return (2.0 * y_bar,)

    return with_pull(pull), "wrote to its operand"


def writes_when_it_is_called():
    double = doubled()

    @rrule.register(double)
    def double_rule(x):
        y = 2.0 * x
        x *= 0.0
        return y, lambda y_bar: (2.0 * y_bar,)

    return double, "wrote to its operand"


def reuses_scratch():
    scratch = np.empty(3)

    def pull(_x, y_bar):
        return (np.multiply(y_bar, 2.0, out=scratch),)

    return with_pull(pull), "writes to what an earlier call of it gave"


def reuses_the_scratch_of_one_call():
    double = doubled()

    @rrule.register(double)
    def double_rule(x):
        work = np.empty_like(x)
        return 2.0 * x, lambda y_bar: (np.multiply(y_bar, 2.0, out=work),)

    return double, "the pull of .* writes to what an earlier call of it gave"


class Workspace:
    def __init__(self, x):
        self.array = np.empty_like(x)

    def __call__(self, t):
        return np.multiply(t, 2.0, out=self.array)


def reuses_an_object():
    double = doubled()

    @rule(double)
    def double_rule(x):
        half = Workspace(x)
        return 2.0 * x, (LinearMap(half, half),)

    return double, "writes to what an earlier call of it gave"


def keeps_its_first_result():
    double = doubled()

    @rrule.register(double)
    def double_rule(x):
        kept = []

        def pull(y_bar):
            if not kept:
                kept.append(2.0 * y_bar)
            return (kept[0],)

        return 2.0 * x, pull

    return double, "the pull of .* gives something else than at the call: .*a kept result"


def changes_what_it_saved():
    double = doubled()

    @rrule.register(double)
    def double_rule(x):
        k = np.full(3, 2.0)

        def pull(y_bar):
            nonlocal k
            k *= y_bar
            return (1.0 * k,)

        return 2.0 * x, pull

    return double, "k of pull changed"


RNG = np.random.default_rng(0)


def draws():
    return with_pull(lambda _x, b: (b * RNG.random(),)), "gives something else"


def gives_another_value():
    double = doubled()

    @rrule.register(double)
    def double_rule(x):
        return 2.0 * x + 1e-3, lambda y_bar: (2.0 * y_bar,)

    return double, r"the value of double .* is not that of double"


def gives_another_dtype():
    double = doubled()

    @rrule.register(double)
    def double_rule(x):
        return np.float32(2.0) * x.astype(np.float32), lambda y_bar: (2.0 * y_bar,)

    return double, r"float32\[3\], not float64\[3\]"


WRONG = [
    writes_to_its_cotangent, writes_to_its_operand, writes_when_it_is_called, reuses_scratch,
    reuses_the_scratch_of_one_call, reuses_an_object, keeps_its_first_result,
    changes_what_it_saved, draws, gives_another_value, gives_another_dtype,
]  # fmt: skip


@pytest.mark.parametrize("make", WRONG)
def test_a_rule_that_is_no_function_of_its_operands(make):
    f, says = make()
    with pytest.raises((DebugError, MutationError), match=says):
        gradient_of(lambda x: f(1.0 * x))


@pytest.mark.parametrize("make", WRONG)
def test_a_rule_that_is_no_function_of_its_operands_in_second_derivatives(make):
    f, says = make()
    program = lambda x: np.sum(f(1.0 * x))
    for second in (hessian(program), lambda x: jvp(grad(program), (x,), (x,))):
        # The array that another differentiation keeps is read-only.
        with debug(), pytest.raises((DebugError, ValueError), match=f"{says}|is read-only"):
            second(X)


RATE = [2.0]


def test_a_global_that_changes_between_the_call_and_the_pull():
    @primitive
    def scaled(x, /):
        return RATE[0] * x

    scalar_rule(scaled, lambda _y, _x: RATE[0])
    with debug():
        _, pullback = vjp(lambda x: np.sum(scaled(x)), X)
        RATE[0] = 3.0
        with pytest.raises(DebugError, match=r"scaled .* than at the call: .*pass it as an op"):
            pullback(1.0)
    RATE[0] = 2.0


def test_a_push_that_writes():
    double = doubled()

    @frule.register(double)
    def double_rule(tangents, x):
        (t,) = tangents
        t *= 2.0
        return 2.0 * x, t

    with debug(), pytest.raises(MutationError, match="wrote to its tangent"):
        jvp(double, (X,), (X.copy(),))


def test_a_push_that_reuses_the_scratch_of_one_call():
    f, says = reuses_an_object()
    with debug(), pytest.raises(MutationError, match=f"the push of .*{says}"):
        linearize(f, X)[1](X)


# -------------------------------------------------------------------------------- wrong functions


def test_a_function_that_keeps_state():
    calls = []

    def f(x):
        calls.append(1)
        return np.sum(x) * len(calls)

    with debug(), pytest.raises(DebugError, match="f gives another value when it runs again"):
        grad(f)(X)


def test_a_function_that_asks_for_the_class_of_its_argument():
    f = lambda x: np.sum(x) * (2.0 if type(x) is np.ndarray else 1.0)
    with debug(), pytest.raises(DebugError, match="while it is differentiated"):
        value_and_grad(f)(X)


def test_a_nan_that_is_made_of_none():
    @primitive
    def root(x, /):
        return np.sqrt(x)

    scalar_rule(root, lambda y, _x: 0.5 / y)
    with np.errstate(all="ignore"):
        for f in (root, np.sqrt):
            with debug(), pytest.raises(NanError, match=r"root|sqrt"):
                grad(lambda x, f=f: np.sum(f(x)))(-X)
        with debug(nans=False):
            assert np.isnan(grad(lambda x: np.sum(root(x)))(-X)).all()


def test_one_element_of_a_large_array_that_is_written_to():
    c = np.ones(100_000)
    with debug():
        _, pullback = vjp(lambda x: np.sum(x * c), np.ones(100_000))
        c[12_345] = 7.0
        with pytest.raises(MutationError, match="written to"):
            pullback(1.0)


def test_a_compiled_program_that_gives_another_result():
    f = compile(lambda x: np.sum(x * x))
    assert f(X) == f(X) == 14.0
    with debug():
        assert f(X) == 14.0
        f._runs = (lambda x: 15.0,)  # a program that has not seen that something changed
        with pytest.raises(DebugError, match=r"the compiled .* 15, not 14"):
            f(X)


# ------------------------------------------------------------------------------------ right ones


class Pair(NamedTuple):
    a: Any
    b: Any


def remembers():
    memo = {}
    double = doubled()

    @rrule.register(double)
    def double_rule(x):
        key = len(memo)
        memo[key] = x
        return 2.0 * x, lambda y_bar: (2.0 * y_bar + 0.0 * memo[key],)

    return double


def copies_its_scratch():
    scratch = np.empty(3)
    double = doubled()

    def half(t):
        return np.multiply(t, 2.0, out=scratch).copy()

    @rule(double)
    def double_rule(x):
        return 2.0 * x, (LinearMap(half, half),)

    return double


def has_a_mask():
    double = doubled()

    @rrule.register(double)
    def double_rule(x):
        keep = np.random.random(3) < 2.0  # noqa: NPY002
        return 2.0 * x, lambda y_bar: (2.0 * y_bar * keep,)

    return double


def gives_a_structure():
    @primitive
    def both(x, /):
        return Pair(x, 1.0 * x)

    @rrule.register(both)
    def both_rule(x):
        return Pair(x, 1.0 * x), lambda y_bar: (y_bar.a + y_bar.b,)

    return lambda x: both(x).a + both(x).b


def gives_its_cotangent():
    return with_pull(lambda _x, y_bar: (y_bar + y_bar,))


def takes_an_option():
    @primitive
    def power(x, /, *, n):
        return x**n

    @rule(power)
    def power_rule(x, *, n):
        half = lambda t, x: n * x ** (n - 1) * t
        return x**n, (LinearMap(half, half, x),)

    return lambda x: power(x, n=2) / 4.0


RIGHT = [
    remembers, copies_its_scratch, has_a_mask, gives_a_structure, gives_its_cotangent,
    takes_an_option,
]  # fmt: skip


@pytest.mark.parametrize("make", RIGHT)
def test_right_rules_pass(make):
    f = make()
    program = lambda x: np.sum(f(f(x)) * np.sin(x))
    due, jacobian_due = grad(program)(X), jacobian(f)(X)
    with debug():
        np.testing.assert_allclose(grad(program)(X), due)
        np.testing.assert_allclose(vjp(program, X)[1](1.0)[0], due)
        np.testing.assert_allclose(jacobian(f)(X), jacobian_due)


@pytest.mark.parametrize("make", [remembers, gives_a_structure, gives_its_cotangent])
def test_second_derivatives_of_right_rules_pass(make):
    f = make()
    program = lambda x: np.sum(f(f(x)) * np.sin(x))
    seconds = [
        hessian(program),
        jacobian(grad(program)),
        grad(lambda x: np.sum(grad(program)(x) ** 2)),
        vmap(lambda x: jvp(grad(program), (x,), (x,))[1]),
    ]
    at = [X, X, X, np.stack([X, 2.0 * X])]
    for second, x in zip(seconds, at, strict=True):
        due = second(x)
        with debug():
            np.testing.assert_allclose(second(x), due)


def test_derivatives_of_derivatives_pass():
    f = takes_an_option()
    program = lambda x: np.sum(f(f(x)) * np.sin(x))
    due = jacobian(grad(program))(X)
    with debug():
        np.testing.assert_allclose(jacobian(grad(program))(X), due)
        np.testing.assert_allclose(linearize(grad(program), X)[1](X), due @ X)


class Noisy:
    def __init__(self, rng):
        self.rng = rng

    def __call__(self, x):
        return np.sum(x * self.rng.random(3))

    def loss(self, x):
        return self(x)


def test_random_numbers_are_drawn_again():
    rng = np.random.default_rng(0)
    with debug():
        grad(lambda x: np.sum(x * rng.random(3)))(X)
        grad(lambda x: np.sum(x * np.random.random(3)))(X)  # noqa: NPY002
        grad(lambda x: np.sum(x * RNG.random(3)))(X)
        grad(lambda x, r: np.sum(x * r.random(3)))(X, rng)
        grad(lambda x, held: np.sum(x * held["rng"].random(3)))(X, {"rng": rng})
        grad(lambda x, t: np.sum(x * t * RNG.random(3)))(X, 2.0)
        grad(Noisy(rng))(X)
        grad(Noisy(rng).loss)(X)


def test_arguments_that_are_written_to_are_copies():
    def f(x):
        y = 2.0 * x
        y[0] = 0.0
        return np.sum(y)

    with debug():
        assert np.all(grad(f)(X) == [0.0, 2.0, 2.0])
    assert X[0] == 1.0


def test_tangents_of_structures():
    @primitive
    def area(p, /):
        return p.a * p.b

    @rrule.register(area)
    def area_rule(p: Pair):
        pull = lambda y_bar: (Tangent[Pair](a=y_bar * p.b, b=y_bar * p.a),)
        return p.a * p.b, pull

    with debug():
        g = grad(area)(Pair(2.0, 3.0))
    assert (g.a, g.b) == (3.0, 2.0)


def test_nothing_stays_on():
    f, _ = writes_to_its_cotangent()
    with pytest.raises(MutationError):
        gradient_of(f)
    y, pullback = rrule(f, X)
    assert np.all(y == 2.0 * X)
    assert np.all(pullback(np.ones(3))[0] == 2.0)


def test_it_holds_in_its_thread_alone():
    f, _ = writes_to_its_cotangent()
    with debug(), concurrent.futures.ThreadPoolExecutor(1) as pool:
        found = pool.submit(lambda: grad(lambda x: np.sum(f(x)))(X)).result()
        np.testing.assert_array_equal(found, 2.0)
        with pytest.raises(MutationError):
            grad(lambda x: np.sum(f(x)))(X)
    np.testing.assert_array_equal(grad(lambda x: np.sum(f(x)))(X), 2.0)


PROGRAM = """
import numpy as np
from chainrules_py import primitive, rrule
from chainrules_tape import grad

@primitive
def double(x, /):
    return 2.0 * x

@rrule.register(double)
def double_rule(x):
    def pull(b):
        b *= 2.0
        return (b,)
    return 2.0 * x, pull

"""


@pytest.mark.parametrize(
    "line, says",
    [
        ("grad(lambda x: np.sum(double(x)))(np.ones(3))", "wrote to its cotangent"),
        ("grad(lambda x: np.sum(np.log(x)))(-np.ones(3))", "log(float64[3]) gave NaN"),
    ],
)
def test_the_environment_turns_it_on(line, says):
    for flag in ("0", "1"):
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM + line],
            capture_output=True, text=True, env={**os.environ, "CHAINRULES_DEBUG": flag},
        )  # fmt: skip
        assert run.returncode == int(flag)
        assert (says in run.stderr) == (flag == "1")


def test_what_a_function_hands_on_beside_its_value_is_compared():
    seen = []

    def f(x):
        seen.append(1)
        return np.sum(x), {"calls": np.float64(len(seen))}

    with debug(), pytest.raises(DebugError, match="when it runs again"):
        value_and_grad(f, has_aux=True)(X)
    with debug():
        (y, aux), _ = value_and_grad(lambda x: (np.sum(x), [x * 2.0]), has_aux=True)(X)
    assert y == 6.0
    assert aux[0].tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("name", [name for n, name in enumerate(CORPUS) if n % 8 == 0])
def test_right_rules_of_the_corpus_pass(name):
    right = CORPUS[name]
    case = Case(
        right.f, right.make(np.random.default_rng(0)), {**right.options}, None, True, 0, 1.0
    )
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for run in (
            lambda: case.pullback()[1](case.cotangent(case.w[:, -1])),
            lambda: case.push(case.u[:, -1]),
        ):
            try:
                run()
            except ChainRulesError:  # of one mode alone
                continue
            with debug(nans=False):
                run()
