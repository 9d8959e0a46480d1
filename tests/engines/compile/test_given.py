"""What functions give: functions are programs, objects are as they are."""

from __future__ import annotations

import collections
import dataclasses
import functools

import numpy as np
import pytest

import chainrules_scipy.interpolate
from chainrules_compile import compile
from chainrules_tape import linearize, value_and_grad, vjp
from tests.engines.compile.shadow import same

X = np.array([1.0, 2.0, 3.5])
STEPS = np.arange(3.0)


class Model:
    """An object that can be called, with an attribute and a method."""

    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return self.w * x

    def loss(self, x):
        return np.sum(self(x) ** 2)


METHODS = {
    "sum": (lambda x: (2.0 * x).sum, ()),
    "sum of an argument": (lambda x: x.sum, ()),
    "dot": (lambda x: x.dot, (X,)),
    "operator": (lambda x: (1.0 + x[0]).__add__, (1.0,)),
    "append": (lambda x: [x].append, (1.0,)),
    "get": (lambda x: {"a": 2.0 * x}.get, ("a",)),
    "item": (lambda x: [2.0 * x].__getitem__, (0,)),
    "popleft": (lambda x: collections.deque([2.0 * x]).popleft, ()),
    "object": (lambda x: Model(2.0 * x), (X,)),
    "spline": (lambda x: chainrules_scipy.interpolate.CubicSpline(STEPS, x), (0.5,)),
}
FUNCTIONS = {
    "closure": (lambda x: lambda y: x * y, (X,)),
    "partial": (lambda x: functools.partial(np.multiply, 2.0 * x), (X,)),
    "method of an object": (lambda x: Model(2.0 * x).loss, (X,)),
    "pullback": (lambda x: vjp(np.sin, x)[1], (X,)),
    "push": (lambda x: linearize(np.sin, x)[1], (X,)),
}


@pytest.mark.parametrize("give, args", METHODS.values(), ids=list(METHODS))
def test_methods_and_objects_run_as_they_are(give, args):
    compiled = compile(lambda x: give(x))
    with pytest.warns(UserWarning, match="is no program, and runs as it is"):
        compiled(X)
    for x in (X, X + 1.0):
        found = compiled(x)
        assert type(found) is type(give(x))
        np.testing.assert_array_equal(found(*args), give(x)(*args))


@pytest.mark.parametrize("give, args", METHODS.values(), ids=list(METHODS))
@pytest.mark.filterwarnings("ignore:.*runs as it is")
def test_so_they_do_beside_functions(give, args):
    compiled = compile(lambda x: (give(x), lambda y: x * y))
    for x in (X, X + 1.0):
        found, function = compiled(x)
        np.testing.assert_array_equal(found(*args), give(x)(*args))
        np.testing.assert_array_equal(function(3.0), 3.0 * x)


@pytest.mark.parametrize("give, args", FUNCTIONS.values(), ids=list(FUNCTIONS))
def test_functions_are_programs(give, args):
    compiled = compile(lambda x: (np.sum(x), give(x)))
    for x in (X, X + 1.0):
        np.testing.assert_allclose(compiled(x)[1](*args), give(x)(*args), rtol=1e-15)
    assert compiled.programs


@pytest.mark.filterwarnings("ignore:.*runs as it is")
def test_objects_keep_their_members():
    np.testing.assert_array_equal(compile(Model)(X).w, X)
    make = chainrules_scipy.interpolate.CubicSpline
    assert compile(lambda x: make(STEPS, x))(X).derivative()(0.5) == make(STEPS, X).derivative()(
        0.5
    )


class Lazy:
    """An object that computes something when it is first asked, and keeps it."""

    def __init__(self, w):
        self.w = w

    @functools.cached_property
    def total(self):
        return np.sum(self.w) * 2.0

    @functools.cached_property
    def scaled(self):
        return self.w * self.total


LazyData = dataclasses.make_dataclass("LazyData", ["w"], bases=(Lazy,))


@pytest.mark.parametrize("kind", [Lazy, LazyData])
@pytest.mark.parametrize("ask", [lambda m: m.total, lambda m: np.sum(m.scaled)])
@pytest.mark.parametrize("transform", [lambda f: f, lambda f: value_and_grad(f, 1)])
@pytest.mark.filterwarnings("ignore:.*each call changes:chainrules_compile.RecordingWarning")
def test_cached_properties_of_arguments_are_no_changes(kind, ask, transform):
    f = transform(lambda m, x: np.sum(x * x) * ask(m))
    compiled = compile(f)
    for turn in range(6):
        if turn % 3 == 0:
            mine, theirs = kind(X + turn), kind(X + turn)
        found, expected = compiled(mine, X * turn), f(theirs, X * turn)
        assert same(found, expected)
        assert not any([hasattr(x, "payload") for x in vars(mine).values()])
