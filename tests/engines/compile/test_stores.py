"""Attributes that a function gives a value and does not read: others read them."""

from __future__ import annotations

import array
import copy
import functools
import warnings

import numpy as np
import pytest

from chainrules_compile import RecordingWarning, compile
from chainrules_tape import grad, vjp

pytestmark = pytest.mark.filterwarnings("ignore::chainrules_compile.RecordingWarning")


class Cell:
    """What is stored in, in any of these ways."""

    n: object = 0

    def __init__(self):
        self.cfg, self.n = None, 0

    def put(self, x):
        self.n = len(x)

    @property
    def size(self):
        return self.n

    @size.setter
    def size(self, n):
        self.n = n


class Slots:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0


def of_method(cell):
    def f(x):
        cell.put(x)
        return np.sum(x**2)

    return f


def of_attribute(cell):
    def f(x):
        cell.n = len(x)
        return np.sum(x**2)

    return f


def of_local_name(cell):
    def f(x, n=None):
        n = len(x)
        cell.n = n
        return np.sum(x**2)

    return f


def of_property(cell):
    def f(x):
        cell.size = len(x)
        return np.sum(x**2)

    return f


def of_branch(cell):
    def f(x):
        if np.sum(x) > 2.5:
            cell.n = "large"
        else:
            cell.n = "small"
        return np.sum(x**2)

    return f


WAYS = of_method, of_attribute, of_local_name, of_property, of_branch


def seen(make, wrap, cell, sizes=(2, 3, 2, 3, 3, 2), reset=False):
    """Return what is stored after each call."""
    f, found = wrap(make(cell)), []
    for n in sizes:
        f(np.ones(n))
        found.append(cell.n)
        if reset:
            cell.n = 0
    return found


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("form", ["value", "gradient"])
@pytest.mark.parametrize("make", WAYS)
def test_what_is_stored_is_stored_at_each_call(make, form, reset):
    of = (lambda f: f) if form == "value" else grad
    expected = seen(make, of, Cell(), reset=reset)
    assert seen(make, lambda f: compile(of(f)), Cell(), reset=reset) == expected
    if make in (of_attribute, of_local_name, of_branch):
        assert seen(make, lambda f: compile(of(f)), Slots(), reset=reset) == expected


@pytest.mark.parametrize("wrap", [lambda f: f, compile])
def test_modes_that_two_functions_set(wrap):
    cell = Cell()

    def train(x):
        cell.n = "train"
        return x * 2.0

    def test(x):
        cell.n = "test"
        return x * 3.0

    for f in [wrap(train), wrap(test)] * 4:
        f(np.ones(2))
    found = []
    both = wrap(train), wrap(test)
    for f in both * 4:
        f(np.ones(2))
        found.append(cell.n)
    assert found == ["train", "test"] * 4


# --------------------------------------------------------------------- functions in results


class Model:
    def __init__(self, w):
        self.w = w

    def loss(self, x):
        return np.sum(self.w * x)

    def load(self, w):
        self.w = w

    def swap(self, w):
        del self.w
        self.w = w


def by_methods(name):
    def f(x):
        model = Model(np.sin(x))
        return model.loss, getattr(model, name)

    return f


def by_buffer(x):
    held = array.array("d", [1.0, 1.0, 1.0])

    def put(w):
        held[0] = 5.0

    return lambda z: np.sum(x * z) * held[0], put


def by_class(x):
    class Settings:
        k = 2.0

    def put(w):
        Settings.k = 5.0

    return lambda z: np.sum(x * z) * Settings.k, put


def by_loop(x):
    models = [Model(x), Model(2 * x)]

    def put(w):
        for model in models:
            model.w = w

    return lambda z: sum([model.loss(z) for model in models]), put


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    "make", [by_methods("load"), by_methods("swap"), by_buffer, by_class, by_loop]
)
def test_what_one_function_stores_another_sees(make, first):
    answers = []
    for f in (make, compile(make)):
        loss, put = f(np.ones(3))
        found = [loss(np.ones(3))] if first else []
        put(np.full(3, 5.0))
        answers.append([*found, loss(np.ones(3)), loss(np.arange(3.0))])
    assert answers[0] == answers[1]


class Acts:
    @staticmethod
    def relu(z):
        return np.maximum(z, 0.0)


def helper(x):
    return np.sum(x)


def wrapped(x):
    @functools.wraps(helper)
    def w(z):
        return helper(z) * x

    return w


def test_functions_of_classes_and_functions_that_bear_another_name():
    y, relu = compile(lambda x: (np.sum(x), Acts.relu))(np.ones(2))
    assert y == 2.0
    assert relu is Acts.relu
    np.testing.assert_array_equal(compile(wrapped)(np.ones(2))(np.ones(3)), [3.0, 3.0])


def test_a_function_in_a_result_has_its_attributes_and_copies():
    def f(x):
        def g(z):
            g.calls += 1
            return np.sum(x * z)

        g.calls, g.label = 0, "p"
        return g

    g = compile(f)(np.ones(2))
    assert (g.label, g.__name__, g.calls) == ("p", "g", 0)
    assert (g(1.0), g.calls, g(1.0), g.calls) == (2.0, 1, 2.0, 2)
    with pytest.raises(AttributeError, match="has no attribute 'shape'"):
        g.shape
    pull = compile(lambda x: vjp(np.sin, x)[1])(np.ones(2))
    for copied in (copy.copy(pull), copy.deepcopy(pull)):
        np.testing.assert_array_equal(copied(np.ones(2))[0], np.cos(np.ones(2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RecordingWarning)
        np.testing.assert_array_equal(pull(np.ones(2))[0], np.cos(np.ones(2)))
