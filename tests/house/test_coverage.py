"""Every name of NumPy's overridable surface has its answer, and every keyword of it.

The names stand in ``tests/surface/surface_names.csv``, the calls that show the answers in
``tests/surface/calls``, what was checked of them in ``docs/coverage.csv``.
"""

from __future__ import annotations

import collections
import csv
import importlib
import inspect
import io
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import overrides

from chainrules_py import ChainRulesError
from chainrules_py.primitives.aliases.alias import aliases
from chainrules_py.primitives.plugins import see, see_all
from chainrules_py.tracing.array_like import ArrayLike
from chainrules_py.values.find_tracers import find_tracers
from chainrules_tape import jvp, vjp
from tests.surface import coverage
from tests.surface.calls import names_with_calls
from tests.surface.names import function_named, listed_as, listed_names, native_named
from tests.surface.point import Point

see(None, (np.ndarray,))
see_all()
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
    # What makes arrays has two dispatchers, of which one is seen with like= alone.
    with_like = {f"numpy.{row.name}" for row in NAMES}
    natives = [
        *overrides.get_overridable_numpy_ufuncs(),
        *overrides.get_overridable_numpy_array_functions(),
    ]
    missing = {f"{f.__module__}.{f.__name__}" for f in natives if id(f) not in listed}
    missing -= with_like
    missing |= {
        f"ndarray.{member}"
        for member in dir(np.ndarray)
        if not member.startswith("_") and id(getattr(np.ndarray, member)) not in listed
    }
    assert not missing, "enter these in tests/surface/surface_names.csv, and give a row"


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
    # The tape itself says the shape and the dtype of what it traces.
    own = row.name.removeprefix("ndarray.") in vars(ArrayLike)
    assert native_named(row.name) in aliases or own, "it has no row"
    assert any(True for _ in coverage.calls_of(row.name)), "no call is entered for it"


def test_every_keyword_is_exercised_or_refused():
    assert coverage.keywords_without_answer() == {}


def test_every_call_is_of_a_name_that_is_listed():
    for name in names_with_calls():
        listed_as(name)


def test_calls_name_functions_that_are_there():
    absent = {row.name for row in listed_names() if not row.is_there}
    lost = [n for n in names_with_calls() if n not in absent and function_named(n) is None]
    assert not lost


# -------------------------------------------------------------------------- keywords are refused

# By keyword, what a call gives that is not its default.
_VALUES = {
    "dtype": np.float64,
    "device": "cpu",
    "kind": "heapsort",
    "ndmax": 3,
    "signature": "d->d",
}


def other_value(native, keyword):
    """A value that is not the default."""
    default = aliases[native].defaults.get(keyword)
    if isinstance(default, bool):
        return not default
    if keyword == "out":
        return (np.zeros(1), np.zeros(1)) if getattr(native, "nout", 1) > 1 else np.zeros(1)
    return _VALUES.get(keyword, "same_kind" if default == "unsafe" else "something else")


def refusals():
    for row in ANSWERED:
        for keyword, answer in coverage.keywords_of(row.name).items():
            if answer == "refused":
                yield pytest.param(row, keyword, id=f"{row.name}-{keyword}")


@pytest.mark.parametrize("row, keyword", [*refusals()])
def test_refused_keyword_says_so(row, keyword):
    """Whatever else a call gives, of operands that are being differentiated."""
    call = next(c for c in coverage.calls_of(row.name) if Point(c).xs)
    point = Point(call)
    value = other_value(native_named(row.name), keyword)

    def f(*xs):
        operands, keywords = point.arguments(xs)
        return point.f(*operands, **(keywords | {keyword: value}))

    with pytest.raises(ChainRulesError):
        vjp(f, *point.xs)
    with pytest.raises(ChainRulesError):
        jvp(f, tuple(point.xs), tuple(point.directions()))


# ------------------------------------------------------------------------- what has no derivative


# Arguments that a function takes, where it is not an array for each that it requires.
_ARGUMENTS = {
    "ix_": lambda x: (x,),
    "save": lambda x: (io.BytesIO(), x),
    "savez": lambda x: (io.BytesIO(), x),
    "savez_compressed": lambda x: (io.BytesIO(), x),
    "savetxt": lambda x: (io.BytesIO(), x),
    "place": lambda x: (x, [True, False, True], x),
    "put": lambda x: (x, [0], x),
    "put_along_axis": lambda x: (x, np.array([0]), x, 0),
    "fromfunction": lambda x: (lambda i: x, (2,)),
    "ndarray.put": lambda x: ([0], x),
    "ndarray.fill": lambda x: (x[0],),
    "ndarray.partition": lambda x: (1,),
    "ndarray.resize": lambda x: ((2,),),
    "ndarray.setfield": lambda x: (x, float),
    "ndarray.getfield": lambda x: (float,),
    "ndarray.tofile": lambda x: (io.BytesIO(),),
    "ndarray.dump": lambda x: (io.BytesIO(),),
}


def arguments(row, x):
    """Arguments of which one at least is traced, if it is a function."""
    if row.name in _ARGUMENTS:
        return _ARGUMENTS[row.name](x)
    if row.kind == "method":
        return ()
    try:
        parameters = [*inspect.signature(native_named(row.name)).parameters.values()]
    except (TypeError, ValueError):
        return (x,)
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return (x,) * sum(p.kind in positional and p.default is p.empty for p in parameters)


def called(row, x):
    """The function of x, or the method, or what the property is."""
    if row.kind != "method":
        return native_named(row.name)(*arguments(row, x))
    member = getattr(x, row.name.removeprefix("ndarray."))
    return member(*arguments(row, x)) if callable(member) else member


@pytest.mark.parametrize("row", OTHERS, ids=name)
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_name_without_derivative_loses_none(row, mode):
    """An error that says so, or NumPy's own of plain arrays; or what it gives is traced still."""
    x = np.array([0.3, 1.2, 2.1])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            called(row, x.copy())
        errors = (ChainRulesError,)
    except Exception:
        errors = (Exception,)
    # A method that is not there; what reads files wants something that can be read.
    errors += {"method": (AttributeError,)}.get(row.kind, ())
    errors += {"input or output": (TypeError,)}.get(row.reason, ())
    seen = []

    def f(x):
        y = x * 1.0
        seen.append(called(row, y))
        return np.sum(y)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            vjp(f, x) if mode == "reverse" else jvp(f, (x,), (x,))
        except errors:
            return
    assert is_traced(seen[0]) or (row.reason == "writes in place" and seen[0] is None)


def is_traced(y):
    return bool(find_tracers(y))


# ------------------------------------------------------------------------------------ the table


def test_table_is_of_these_names_and_calls():
    """What is known without running them; if it is stale, `make coverage` writes it anew."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        written = {row["name"]: row for row in csv.DictReader(file)}
    for row in NAMES:
        if "n/a absent" in written[row.name].values():
            pytest.skip(f"the table is of an older NumPy, which has no {row.name}")
    wanted = {row.name: coverage.facts(row) for row in coverage.rows()}
    assert written.keys() == wanted.keys()
    stale = [n for n, facts in wanted.items() if not facts.items() <= written[n].items()]
    assert not stale, "say: make coverage"


def test_cells_are_numbers_or_reasons():
    """No gap, and no reason but those of the list."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for column in (f"{c} {k}" for c, kinds in coverage.COLUMNS.items() for k in kinds):
                cell = row[column]
                known = cell.isdigit() or cell.removeprefix("n/a ") in coverage.REASONS
                assert known or (row["answer"] == "none" and not cell), (row["name"], column, cell)
