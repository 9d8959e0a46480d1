"""Every name of NumPy's overridable surface has its answer, and every keyword of it.

The names stand in ``chainrules_py/testing/surface_names.csv``, the calls that show the answers in
``chainrules_py/testing/calls``, what was checked of them in ``docs/coverage.csv``.
"""

from __future__ import annotations

import collections
import csv
import importlib
import inspect
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import overrides

from chainrules_py import ChainRulesError
from chainrules_py.alias import aliases
from chainrules_py.loading import see
from chainrules_py.testing import coverage
from chainrules_py.testing.surface import (
    function_named,
    listed_names,
    names_with_calls,
    native_named,
    surface_calls,
)
from chainrules_py.testing.surface_point import Point
from chainrules_tape import Variable, jvp, vjp

see(None, (np.ndarray,))
ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "coverage.csv"
NAMES = [row for row in listed_names() if row.is_there]
ANSWERED = [row for row in NAMES if row.answer != "none"]
OTHERS = [row for row in NAMES if row.answer == "none"]

# The modules that NumPy loads when they are asked for, and those that hold functions besides.
MODULES = (
    "char",
    "fft",
    "lib.recfunctions",
    "lib.scimath",
    "lib.stride_tricks",
    "linalg",
    "ma",
    "polynomial.chebyshev",
    "polynomial.hermite",
    "polynomial.hermite_e",
    "polynomial.laguerre",
    "polynomial.legendre",
    "polynomial.polynomial",
    "strings",
    "testing",
)


def name(row):
    return row.name


# ------------------------------------------------------------------------------ the list itself


def test_list_is_the_whole_surface():
    """A newer NumPy with a function that is not listed fails here: enter it, with its answer."""
    for module in MODULES:
        importlib.import_module(f"numpy.{module}")
    listed = {id(native_named(row.name)) for row in NAMES}
    natives = [
        *overrides.get_overridable_numpy_ufuncs(),
        *overrides.get_overridable_numpy_array_functions(),
    ]
    missing = {f"{f.__module__}.{f.__name__}" for f in natives if id(f) not in listed}
    # Like those that make arrays, it says what it is called by its second dispatcher.
    missing |= {
        f"ndarray.{member}"
        for member in dir(np.ndarray)
        if not member.startswith("_") and id(getattr(np.ndarray, member)) not in listed
    }
    assert not missing, "enter these in chainrules_py/testing/surface_names.csv, and give a row"


def test_numbers_of_the_list():
    counts = collections.Counter(r.answer for r in listed_names() if r.kind != "method")
    assert counts == {"differentiable": 274, "constant": 69, "none": 126}


def test_reasons_are_few():
    reasons = collections.Counter(row.reason for row in listed_names())
    assert len(reasons) <= 20
    assert all(bool(row.reason) == (row.answer != "differentiable") for row in listed_names())


# ----------------------------------------------------------------------- what has a derivative


@pytest.mark.parametrize("row", ANSWERED, ids=name)
def test_name_has_an_answer_and_calls_that_show_it(row):
    native = native_named(row.name)
    own = row.name.startswith("ndarray.") and hasattr(Variable, row.name.removeprefix("ndarray."))
    assert native in aliases or own, "it has no row"
    if not own or native in aliases:
        assert any(True for _ in surface_calls(row.name)), "no call is entered for it"


def test_every_keyword_is_exercised_or_refused():
    assert coverage.keywords_without_answer() == {}


def test_calls_name_functions_that_are_there():
    absent = {row.name for row in listed_names() if not row.is_there}
    lost = [n for n in names_with_calls() if n not in absent and function_named(n) is None]
    assert not lost


# -------------------------------------------------------------------------- keywords are refused

# By keyword, what a call gives that is not its default.
_VALUES = {
    "casting": "unsafe",
    "copy": False,
    "device": "cpu",
    "dtype": np.float64,
    "order": "F",
    "signature": "d->d",
    "subok": False,
    "where": np.True_,
    "kind": "heapsort",
}


def refusals():
    for row in ANSWERED:
        for keyword, answer in coverage.keywords_of(row.name).items():
            if answer == "refused":
                yield pytest.param(row, keyword, id=f"{row.name}-{keyword}")


@pytest.mark.parametrize("row, keyword", [*refusals()])
def test_refused_keyword_says_so(row, keyword):
    """Whatever else a call gives, of operands that are being differentiated."""
    call = next(c for c in surface_calls(row.name) if Point(c).xs)
    point = Point(call)

    def f(*xs):
        operands, keywords = point.arguments(xs)
        value = np.zeros(1) if keyword == "out" else _VALUES.get(keyword, "something else")
        return point.f(*operands, **(keywords | {keyword: value}))

    for differentiate in (
        lambda: vjp(f, *point.xs),
        lambda: jvp(f, tuple(point.xs), tuple(point.directions())),
    ):
        with pytest.raises(ChainRulesError):
            differentiate()


# ------------------------------------------------------------------------- what has no derivative


def arguments(row, x):
    """Arguments of which one at least is traced, as far as the function takes any."""
    native = native_named(row.name)
    try:
        parameters = [*inspect.signature(native).parameters.values()]
    except (TypeError, ValueError):
        return (x,)
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [p for p in parameters if p.kind in positional and p.default is p.empty]
    return (x,) * max(1, len(required) if row.kind != "method" else 1)


@pytest.mark.parametrize("row", OTHERS, ids=name)
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_name_without_derivative_loses_none(row, mode):
    """An error that says so; or what it gives is no array of objects, and no plain number."""
    native = native_named(row.name)
    x = np.array([0.3, 1.2, 2.1])
    seen = []

    def f(x):
        if row.kind == "method":
            member = getattr(x, row.name.removeprefix("ndarray."))
            y = member(*([x] if row.reason == "writes in place" else [])) if callable(member) else member
        else:
            y = native(*arguments(row, x))
        seen.append(y)
        return np.sum(x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if mode == "reverse":
                vjp(f, x)
            else:
                jvp(f, (x,), (x,))
        except (ChainRulesError, TypeError, ValueError, AttributeError) as error:
            assert isinstance(error, ChainRulesError), repr(error)
            return
    raise AssertionError(seen)
