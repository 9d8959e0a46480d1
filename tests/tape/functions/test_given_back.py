"""Functions that give values hidden in objects: each mode says so, for results and for aux.

Kinds of objects, times modes, times where they stand. What holds constants alone is a constant.
"""

from __future__ import annotations

import collections
import itertools
import queue
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array

from chainrules_py import ChainRulesError, NotDifferentiableError
from chainrules_scipy import interpolate, rotation, spatial, stats
from chainrules_scipy import sparse as sparse_functions
from chainrules_tape import Tape, checkpoint, grad, jacobian, jvp, linearize, vjp
from chainrules_tape.tools import taylor
from tests.fuzz.hiding import HIDING, Own, captured

X, DOT = np.array([1.0, 2.0, 3.5]), np.array([0.5, -1.0, 2.0])
STEPS = np.arange(3.0)


def _module(a: Any) -> Any:
    found: Any = types.ModuleType("found")
    found.w = a
    return found


def _queued(a: Any) -> Any:
    found: Any = queue.Queue()
    found.put(a)
    return found


def _diagonal(a: Any) -> Any:
    return sparse_functions.with_data(csc_array(np.diag(X)), a)


_COPIES = {"itself", "number", "list", "dict", "dataclass", "dataclasses"}
_COPIES |= {"object array", "memoryview", "flat", "nditer", "array.array", "ctypes", "set", "bytes"}
_COPIES |= {"broadcast", "structured array", "factorised", "bytearray", "file in memory"}
_COPIES |= {"decimal", "fraction", "convenience polynomial"}
"""What is a structure, or asks for numbers, which tracers refuse."""
_FURTHER = {"cache", "iterator", "cycle", "map", "generator", "factory", "cell", "exception"}
_FURTHER |= {"context variable", "class", "base of a class"}
"""What a tracer is further inside of than one level, or is given by when it is asked."""


class Labelled:
    """A quantity with a unit, say: it has the members of an array."""

    def __init__(self, values: Any) -> None:
        self.values = values

    dtype = property(lambda self: self.values.dtype)
    shape = property(lambda self: self.values.shape)


KINDS: dict[str, Callable[[Any], Any]] = {
    name: hiding.make for name, hiding in HIDING.items() if name not in _COPIES | _FURTHER
} | {
    "labelled": Labelled,
    "user list": lambda a: collections.UserList([a]),
    "items": lambda a: {"a": a}.items(),
    "bound method": lambda a: a.sum,
    "bound method of a list": lambda a: [a].append,
    "slice": lambda a: slice(a[0], a[1]),
    "module": _module,
    "pullback": lambda a: vjp(np.sin, a)[1],
    "push": lambda a: linearize(np.sin, a)[1],
    "spline": lambda a: interpolate.CubicSpline(STEPS, a),
    "derivative of a spline": lambda a: interpolate.CubicSpline(STEPS, a).derivative(),
    "frozen": lambda a: stats.norm(a[0], a[1]),
    "density": stats.gaussian_kde,
    "rotation": rotation.Rotation.from_rotvec,
    "tree": lambda a: spatial.KDTree(a[:, None]),
    "solution": lambda a: interpolate.PchipInterpolator(STEPS, a).antiderivative(),
}
BESIDE = {"spline", "derivative of a spline", "solution", "tree"}
"""What has SciPy's object beside it, which is given as aux."""
PLACES: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "alone": lambda make: lambda x: make(2.0 * x),
    "beside numbers": lambda make: lambda x: (np.sum(x), {"h": make(2.0 * x)}),
}
MODES: dict[str, Callable[[Any], Any]] = {
    "vjp": lambda f: vjp(f, X),
    "jvp": lambda f: jvp(f, (X,), (DOT,)),
    "many directions": lambda f: jvp(f, (X,), (np.eye(3),), batched=True),
    "linearize": lambda f: linearize(f, X),
    "jacobian": lambda f: jacobian(f)(X),
    "aux of grad": lambda f: grad(lambda x: (np.sum(x), f(x)), has_aux=True)(X),
    "aux of jvp": lambda f: jvp(lambda x: (np.sum(x), f(x)), (X,), (DOT,), has_aux=True),
    "nested": lambda f: jvp(lambda x: vjp(f, x)[0], (X,), (DOT,)),
    "taylor": lambda f: taylor(f, X, DOT, 1),
}
CASES = list(itertools.product(KINDS, PLACES, MODES))
SAMPLE = [
    case for n, case in enumerate(CASES) if case[1:] == ("beside numbers", "jvp") or n % 13 == 0
]


def _refused(kind: str, place: str, mode: str) -> None:
    if "aux" in mode and kind in BESIDE:
        return
    with pytest.raises(ChainRulesError, match="where no derivative sees it"):
        MODES[mode](PLACES[place](KINDS[kind]))


@pytest.mark.parametrize("kind, place, mode", SAMPLE)
def test_what_hides_in_a_result_is_refused(kind, place, mode):
    _refused(kind, place, mode)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_all_that_hides_in_results_is_refused(mode):
    for kind, place in itertools.product(KINDS, PLACES):
        _refused(kind, place, mode)


@pytest.mark.parametrize("kind", KINDS)
def test_what_holds_constants_is_constant(kind):
    """Also where it is the object of which another one is made inside."""
    f = lambda x: (np.sum(x * x), KINDS[kind](np.array([1.0, 2.0, 4.0])))
    assert vjp(f, X)[0][0] == jvp(f, (X,), (DOT,))[0][0] == np.sum(X * X)
    assert jvp(f, (X,), (DOT,))[1][0] == linearize(f, X)[1](DOT)[0] == 2.0 * np.sum(X * DOT)
    np.testing.assert_array_equal(grad(f, has_aux=True)(X)[0], 2.0 * X)


def test_the_error_names_function_object_and_remedy():
    def model(x):
        return {"loss": np.sum(x), "state": types.SimpleNamespace(w=x * 2.0)}

    match = r"result of model \(.*\) has .*SimpleNamespace.* or a dataclass of them"
    with pytest.raises(NotDifferentiableError, match=match):
        jvp(model, (X,), (DOT,))
    with pytest.raises(NotDifferentiableError, match=r"aux of .* has function"):
        vjp(lambda x: (np.sum(x), captured(x)), X, has_aux=True)


def test_a_loss_that_hides_numbers_is_refused():
    with Tape() as tape:
        x = tape.variable(X)
        loss = np.sum(x), types.SimpleNamespace(w=x)
    with pytest.raises(NotDifferentiableError, match="the loss has"):
        tape.grad(loss, x)


def test_tracers_of_the_differentiation_outside_stay_in_objects():
    """The outer one sees them: they are its own."""
    f = lambda x: jvp(lambda z: (np.sum(z), Own(x)), (X,), (DOT,))[0][1].a
    np.testing.assert_array_equal(jacobian(f)(X), np.eye(3))


READ = {name: hiding for name, hiding in HIDING.items() if name in KINDS and hiding.read}


@pytest.mark.parametrize("name", READ)
def test_checkpoints_give_what_hides_numbers(name):
    """What is in it is compared when they run again, and nothing else."""
    make, read = READ[name]
    for f in (
        lambda x: np.sum(read(checkpoint(lambda x: make(x * x))(x)) * x),
        lambda x: np.sum(read(checkpoint(lambda x: {"h": make(x * x), "n": x})(x)["h"]) * x),
    ):
        np.testing.assert_allclose(grad(f)(X), 3.0 * X**2, rtol=1e-15)
    f = lambda x: np.sum(checkpoint(lambda x: (x * x, make(np.ones(2))))(x)[0])
    np.testing.assert_array_equal(grad(f)(X), 2.0 * X)


@pytest.mark.parametrize("kind", ["spline"])
def test_aux_has_scipys_own_interpolators(kind):
    """As plots want them."""
    make, at = KINDS[kind], np.array([[0.5]])
    known, f = make(X), lambda x: (np.sum(x), {"fit": make(x)})
    for found in (grad(f, has_aux=True)(X)[1], jvp(f, (X,), (DOT,), has_aux=True)[2]):
        assert type(found["fit"]) is type(known.theirs)
        np.testing.assert_allclose(found["fit"](at), known(at))
    nested = lambda x: np.sum(grad(f, has_aux=True)(x)[1]["fit"](at))
    with pytest.raises(ChainRulesError):
        grad(nested)(X)


class Log:
    """An object that holds much, and nothing that is differentiated."""

    def __init__(self, n: int) -> None:
        self.rows = [{"loss": float(i)} for i in range(n)]


def test_an_object_that_holds_much_is_a_constant() -> None:
    large = Log(60_000)
    assert grad(lambda x: (np.sum(x * x), large), has_aux=True)(np.ones(2))[1] is large
