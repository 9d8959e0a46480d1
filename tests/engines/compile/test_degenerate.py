"""Arrays without axes, names that change while a function runs, defects of passes and writers."""

import functools
import warnings

import numpy as np
import pytest

import chainrules_tape as ct
from chainrules_compile import RecordingWarning, compile, passes
from chainrules_py import ChainRulesError, primitive
from chainrules_py import ops as v
from tests.engines.compile.shadow import ask

ZERO_D, ROW, TABLE = np.array(2.0), np.arange(5.0), np.arange(6.0).reshape(2, 3)
CALLS = {
    "flip": (lambda x: np.flip(x), ZERO_D),
    "flip beside": (lambda x: np.convolve(x, ROW) ** 2, ZERO_D),
    "kept axes": (lambda x: v.softmax(x) * 2, ZERO_D),
    "sum over axis 0": (lambda x: np.fmax(np.stack([x, x]), np.sum(x, axis=0)), ZERO_D),
    "sum over axis -1": (lambda x: x * np.sum(x, axis=-1, keepdims=True), ZERO_D),
    "sum over none": (lambda x: np.sum(x, axis=()) * x, TABLE),
    "product over none": (lambda x: np.prod(x, axis=()), TABLE),
    "product over none, kept": (lambda x: np.prod(x, axis=(), keepdims=True), ROW),
    "largest over none": (lambda x: np.max(x, axis=()) * x, TABLE),
    "running product": (lambda x: v.cumulative_prod(x, axis=0), ZERO_D),
    "running sum": (lambda x: v.cumulative_sum(x, axis=-1) * x, ZERO_D),
    "a new axis by True": (lambda x: x[True] ** 2, ROW),
    "no element by False": (lambda x: np.sum(x[False] ** 2) + x, ROW),
    "True and a place": (lambda x: x[2, True] * x[0], ROW),
    "conditions": (lambda x: np.select([x > 1, x > 0], [x, 2 * x]), ZERO_D),
    "condition of a number": (lambda x: np.select([x > 1], [x * x], x), np.float64(2.0)),
}
MADE = {
    "alone": lambda f: f,
    "value_and_grad": lambda f: ct.value_and_grad(lambda x: np.sum(f(x))),
    "jvp": lambda f: lambda x: ct.jvp(f, (x,), (x,)),
    "hvp": lambda f: lambda x: ct.hvp(lambda x: np.sum(f(x) ** 2), (x,), (x,)),
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("name", CALLS)
def test_without_axes(name, made):
    f, x = CALLS[name]
    assert ask(MADE[made](f), (x,)) == "equal"


@pytest.mark.parametrize("p", [np.nan, np.inf, -np.inf, 1e300, 2.5, -0.0], ids=str)
@pytest.mark.parametrize("power", [lambda x, p: x**p, np.power, np.float_power])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_powers_that_are_no_whole_numbers(power, p):
    for x in (np.array([0.5, 1.0, 2.0]), np.float64(2.0)):
        f = ct.value_and_grad(lambda x: np.sum(power(x, p)))
        compiled = compile(f)
        np.testing.assert_equal(compiled(x), f(x))
        assert len(compiled.programs) == 1


@pytest.mark.parametrize("argnums", [np.int64(1), (np.int64(1),), [0, 1]], ids=repr)
def test_labels_take_what_argnums_takes(argnums):
    made = ct.grad(lambda x, y: np.sum(x * y * y), argnums)
    assert ask(made, (ROW, ROW + 1)) == "equal"


class Own(np.ndarray):
    """Arrays of a class of one's own."""


def test_arrays_of_a_class_of_one_s_own_run_as_they_are():
    f = ct.grad(lambda x: np.sum(x * x))
    compiled = compile(f)
    with pytest.warns(RecordingWarning, match=r"is a Own, .* pass np.asarray\(x\)"):
        found = compiled(np.ones(3).view(Own))
    assert type(found) is Own
    assert found.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyError, TypeError, SyntaxError])
def test_a_defect_of_a_pass_is_no_error_of_the_caller(monkeypatch, error):
    def broken(program):
        raise error("of its own")

    monkeypatch.setitem(passes.PASSES, "simplify", broken)
    compiled = compile(ct.grad(lambda x: np.sum(x * x)))
    with pytest.warns(RecordingWarning, match=f"{error.__name__}: .*of its own.*please report it"):
        assert compiled(ROW).tolist() == (2 * ROW).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(ROW).tolist() == (2 * ROW).tolist()


LOOPED = {
    "root": lambda g, x: v.root(lambda y: g(y) + y**3 - np.sum(x), 1.0),
    "fixed point": lambda g, x: v.fixed_point(lambda y: np.sin(g(y)) * 0.1 + x, x),
    "minimize": lambda g, x: v.minimize(lambda y: np.sum((y - x) ** 2 + g(y) * y), x),
    "linear solve": lambda g, x: v.linear_solve(lambda y: g(y) + y * 2, x),
    "piecewise": lambda g, x: np.piecewise(x, [x > 1, x <= 1], [g, lambda y: -g(y)]),
    "along an axis": lambda g, x: np.apply_along_axis(g, 0, x),
    "an operation of one's own": lambda g, x: applied(g, x),
    "in a list": lambda g, x: applied_first([g], x),
    "by a method": lambda g, x: applied(Held(g).call, x),
    "in part": lambda g, x: applied(functools.partial(lambda z, y: g(y) + z, 1.0), x),
}


@primitive
def applied(f, x):
    """Call a function."""
    return f(x)


@primitive
def applied_first(fs, x):
    """Call the first of several functions."""
    return fs[0](x)


class Held:
    def __init__(self, f):
        self.f = f

    def call(self, x):
        return self.f(x)


@pytest.mark.parametrize("made", ["alone", "value_and_grad", "jvp"])
@pytest.mark.parametrize("name", LOOPED)
def test_functions_see_the_names_as_they_were(name, made):
    """A program calls them when the loop is over, whose names they look up."""

    def f(x):
        total = 0.0
        for k in (1.0, 2.0, 3.0):

            def helper(y):
                return k * y  # noqa: B023

            total = total + np.sum(LOOPED[name](lambda y: helper(y) + k, x))  # noqa: B023
        return total

    x = np.array([0.5, 1.5, 2.5])
    try:
        MADE[made](f)(x)
    except ChainRulesError:
        return  # of operations of one's own no rule is stated
    assert ask(MADE[made](f), (x,)) == "equal"
