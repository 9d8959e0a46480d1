"""Attributes that libraries ask for while an exception is under way: nothing is forgotten by it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import chainrules_scipy.interpolate
from chainrules_compile import compile
from chainrules_compile.recorded_values import CLASSES
from chainrules_py import Tangent
from chainrules_py.extend import flatten
from chainrules_scipy.result_checks import Beside
from chainrules_tape import value_and_grad
from tests.faults.under_way import ask


class Asked:
    """Inherits what answers for all names."""

    def __getattr__(self, name):
        return name


class Derived(Asked):
    pass


@dataclasses.dataclass
class Layer:
    weight: float


@pytest.mark.skipif("sys.version_info >= (3, 13)", reason="CPython asks again")
def test_python_forgets():
    """If it does not, all this is not needed."""
    ask(Derived())
    with pytest.raises(AttributeError):
        Derived().name


def by_methods(x):
    y = np.sin(x).clip(0.0, 0.9).T
    y.sort()
    return y.sum() * x.mean() + x.max().real.item() * float(x.ndim)


def test_methods_of_what_is_noted():
    x = np.array([0.3, 0.7, 1.9])
    compile(by_methods)(x)
    for cls in sorted(CLASSES, key=str):
        ask(cls.__new__(cls))
    for f in (by_methods, value_and_grad(lambda x: x.mean() * np.sin(x).clip(0.0, 0.9).sum())):
        compiled = compile(f)
        for y, z in zip(flatten(compiled(x))[0], flatten(f(x))[0], strict=True):
            assert np.array_equal(y, z)
        assert len(compiled.programs) == 1


def test_fields_of_tangents():
    t = Tangent[Layer](weight=2.0)
    ask(t)
    assert t.weight == 2.0


def descendants(cls):
    for each in type.__subclasses__(cls):
        yield each
        yield from descendants(each)


def test_classes_have_what_answers_for_all_names_themselves():
    """Then Python finds it before it looks whether an exception is under way."""
    assert issubclass(chainrules_scipy.interpolate.Spline, Beside)
    wrong = {
        f"{cls.__module__}.{cls.__qualname__}"
        for cls in descendants(object)
        if str(getattr(cls, "__module__", "")).startswith("chainrules_")
        and any("__getattr__" in vars(base) for base in cls.__mro__[1:])
        and "__getattr__" not in vars(cls)
    }
    # Only what is wrong is looked up there, for its error.
    assert wrong == set()
