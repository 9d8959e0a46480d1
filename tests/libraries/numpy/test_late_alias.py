"""The rows of NumPy's functions: no keyword is lost, and each is called through the tape."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from chainrules_py import ChainRulesError, Primitive, UnsupportedKeywordError, ops
from chainrules_py.errors import RuleError
from chainrules_py.extend import alias
from chainrules_py.primitives.aliases.alias import aliases
from chainrules_py.primitives.plugins import see, see_all
from chainrules_py.primitives.signature import parameters_of
from chainrules_tape import jvp, vjp

see(None, (np.ndarray,))
see_all()


def is_numpys(f):
    if isinstance(f, np.ufunc):
        return True
    owner = getattr(f, "__objclass__", None)
    module = getattr(f, "__module__", None) or getattr(owner, "__module__", "")
    return (module or "").partition(".")[0] == "numpy"


ROWS = [row for native, row in aliases.items() if is_numpys(native)]
each_row = pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: getattr(row.native, "__qualname__", None) or row.native.__name__
)


def operation_parameters(row):
    operation = row.operation
    if isinstance(operation, Primitive):
        return {
            *operation.operands,
            *operation.options,
            *((operation.variadic,) if operation.variadic else ()),
        }
    return set(parameters_of(operation).names)


def native_parameters(row):
    """The parameters of the function itself, also where the row says them by hand."""
    try:
        signature = inspect.signature(row.native)
    except (TypeError, ValueError):
        return None
    return list(signature.parameters.values())


NEWEST_KNOWN = (2, 5)


@each_row
def test_every_parameter_is_accounted_for(row):
    if tuple(int(n) for n in np.__version__.split(".")[:2]) > NEWEST_KNOWN:
        pytest.skip(f"NumPy {np.__version__} is newer than what the rows were read against")
    assert row.leftover == frozenset()
    parameters = native_parameters(row)
    if parameters is None or row.hands_on:  # with all that is given
        return
    known = operation_parameters(row)
    for place, p in enumerate(parameters):
        if p.kind is p.VAR_KEYWORD:  # NumPy hands these on, and does not say which they are
            continue
        name = p.name.lstrip("*")
        if name in row.names or name in row.refuse:
            continue
        if p.kind is p.POSITIONAL_ONLY and place < len(
            row.positional
        ):  # its name is nobody's business
            continue
        if p.kind is p.VAR_POSITIONAL and row.gather is not None:
            continue
        pytest.fail(f"{name} of {row!r} is neither operand, option, renamed, lowered nor refused")
    for native, name in row.names.items():
        assert name in known or native in row.lower or native in row.refuse


@each_row
def test_defaults_are_those_of_the_function(row):
    """With another default here than there, leaving a keyword out would mean something else."""
    parameters = native_parameters(row)
    if parameters is None or isinstance(row.native, np.ufunc):
        return
    operation = row.operation
    options = (
        operation.options if isinstance(operation, Primitive) else parameters_of(operation).defaults
    )
    for p in parameters:
        if p.default is p.empty or p.default is np._NoValue or p.name not in row.names:
            continue
        if p.name in row.lower or p.name in row.refuse:
            continue
        name = row.names[p.name]
        if name in options:
            assert options[name] == p.default, f"{p.name} of {row!r}"


# ------------------------------------------------------------ each through the tape, with keywords

X = np.array([[0.3, -1.2, 0.7], [1.1, 0.4, -0.6]])
V = np.array([0.3, -1.2, 0.7])
M = np.array([[True, False, True], [True, True, False]])
THIN = X.reshape(2, 1, 3)
CUBE = np.arange(8.0).reshape(2, 2, 2) + 0.5
PLACES = np.array([[0, 0, 1]])


def call(*positional, **keywords):
    return positional, keywords


# Keyword calls by function: operands by their native names too.
CALLS = {
    np.sum: [
        {"a": X, "axis": 0, "keepdims": True},
        {"a": X, "where": M, "initial": 1.0},
        {"a": X, "dtype": np.float64},
    ],
    np.prod: [{"a": X, "axis": 0, "keepdims": True}, {"a": X, "where": M, "initial": 2.0}],
    np.max: [{"a": X, "axis": 1, "keepdims": True}, {"a": X, "where": M, "initial": -9.0}],
    np.amax: [{"a": X, "axis": 1, "keepdims": True}],
    np.min: [{"a": X, "axis": -1, "keepdims": True}, {"a": X, "where": M, "initial": 9.0}],
    np.amin: [{"a": X, "axis": (0, 1)}],
    np.mean: [
        {"a": X, "axis": 0, "keepdims": True},
        {"a": X, "axis": 1, "where": M},
        {"a": X, "dtype": float},
    ],
    np.var: [{"a": X, "axis": 0, "ddof": 1, "keepdims": True}, {"a": X, "correction": 1}],
    np.std: [{"a": X, "axis": 0, "ddof": 1, "keepdims": True}, {"a": X, "correction": 1}],
    np.any: [{"a": X, "axis": 0, "keepdims": True}, {"a": X, "where": M}],
    np.all: [{"a": X, "axis": 0, "keepdims": True}, {"a": X, "where": M}],
    np.argmax: [{"a": X, "axis": 0, "keepdims": True}],
    np.argmin: [{"a": X, "axis": 0, "keepdims": True}],
    np.count_nonzero: [{"a": X, "axis": 0, "keepdims": True}],
    np.cumsum: [{"a": X, "axis": 1, "dtype": float}],
    np.cumprod: [{"a": X, "axis": 1, "dtype": float}],
    np.ptp: [{"a": X, "axis": 0, "keepdims": True}],
    np.diff: [{"a": X, "n": 2, "axis": 1}],
    np.reshape: [call(X, (3, 2), order="F"), call(X, -1)],
    np.ravel: [{"a": X, "order": "F"}],
    np.transpose: [{"a": X, "axes": (1, 0)}],
    np.matrix_transpose: [call(X)],
    np.swapaxes: [{"a": X, "axis1": 0, "axis2": 1}],
    np.moveaxis: [{"a": X, "source": 0, "destination": 1}],
    np.rollaxis: [{"a": X, "axis": 1, "start": 0}],
    np.expand_dims: [{"a": X, "axis": (0, 2)}],
    np.squeeze: [{"a": THIN, "axis": 1}],
    np.broadcast_to: [{"array": X, "shape": (2, 2, 3), "subok": True}],
    np.broadcast_arrays: [call(X, V), call(X, V, subok=True)],
    np.atleast_1d: [call(X)],
    np.atleast_2d: [call(V)],
    np.atleast_3d: [call(X, V)],
    np.flip: [{"m": X, "axis": 1}],
    np.fliplr: [{"m": X}],
    np.flipud: [{"m": X}],
    np.roll: [{"a": X, "shift": 1, "axis": 1}],
    np.tile: [{"A": X, "reps": (2, 1)}],
    np.repeat: [{"a": X, "repeats": [1, 2], "axis": 0}],
    np.astype: [call(X, np.float64)],
    np.copy: [{"a": X}, {"a": X, "subok": True}],
    np.median: [{"a": X.copy(), "overwrite_input": True}],
    np.nanmedian: [{"a": X.copy(), "overwrite_input": True}],
    np.quantile: [{"a": X.copy(), "q": 0.3, "overwrite_input": True}],
    np.percentile: [{"a": X.copy(), "q": 30, "overwrite_input": True}],
    np.nanquantile: [{"a": X.copy(), "q": 0.3, "overwrite_input": True}],
    np.nanpercentile: [{"a": X.copy(), "q": 30, "overwrite_input": True}],
    np.interp: [call(np.longdouble(0.3), np.sort(V), V)],
    np.concatenate: [call((X, X), axis=1), call((X, X), dtype=np.float64)],
    np.stack: [{"arrays": (X, X), "axis": 1}],
    np.vstack: [{"tup": (X, V)}],
    np.hstack: [{"tup": (X, X)}],
    np.dstack: [{"tup": (X, X)}],
    np.column_stack: [{"tup": (V, V)}],
    np.append: [{"arr": X, "values": X, "axis": 0}, {"arr": X, "values": [1.0]}],
    np.split: [{"ary": X, "indices_or_sections": 3, "axis": 1}],
    np.array_split: [{"ary": X, "indices_or_sections": 2, "axis": 1}],
    np.hsplit: [{"ary": X, "indices_or_sections": [1]}],
    np.vsplit: [{"ary": X, "indices_or_sections": 2}],
    np.dsplit: [{"ary": CUBE, "indices_or_sections": 2}],
    np.take: [{"a": X, "indices": [0, 2], "axis": 1}, {"a": X, "indices": [0, 5]}],
    np.take_along_axis: [{"arr": X, "indices": PLACES, "axis": 0}],
    np.sort: [{"a": X, "axis": None}, {"a": X, "axis": 0, "kind": "stable"}],
    np.argsort: [{"a": X, "axis": 0, "kind": "stable"}, {"a": X, "axis": None}],
    np.zeros_like: [{"a": X, "dtype": int, "shape": (2,)}, {"a": X, "device": "cpu"}],
    np.ones_like: [{"a": X, "dtype": int, "shape": 2}, {"a": X, "subok": False}],
    np.full_like: [
        {"a": X, "fill_value": 3, "dtype": float, "shape": (2,)},
        {"a": X, "fill_value": 3, "subok": False, "device": "cpu"},
    ],
    np.shape: [{"a": X}],
    np.ndim: [{"a": X}],
    np.size: [{"a": X, "axis": 0}],
    np.nonzero: [{"a": X}],
    np.flatnonzero: [{"a": X}],
    np.argwhere: [{"a": X}],
    np.array_equal: [{"a1": X, "a2": X, "equal_nan": True}],
    np.iscomplexobj: [{"x": X}],
    np.isrealobj: [{"x": X}],
    np.searchsorted: [{"a": np.sort(V), "v": 0.1, "side": "right"}],
}
if hasattr(np, "cumulative_sum"):
    CALLS[np.cumulative_sum] = [call(X, axis=1, include_initial=True)]
    CALLS[np.cumulative_prod] = [call(X, axis=1, include_initial=True)]
    CALLS[np.unstack] = [call(X, axis=1)]
METHODS = {
    "sum": [{"axis": 0, "keepdims": True}, {"where": M, "initial": 1.0}],
    "prod": [{"axis": 0, "keepdims": True}, {"where": M, "initial": 1.0}],
    "max": [{"axis": 0, "keepdims": True}, {"where": M, "initial": -9.0}],
    "min": [{"axis": 0, "keepdims": True}, {"where": M, "initial": 9.0}],
    "mean": [{"axis": 0, "keepdims": True}, {"where": M}],
    "var": [{"axis": 0, "keepdims": True, "ddof": 1}],
    "std": [{"axis": 0, "keepdims": True, "ddof": 1}],
    "any": [{"axis": 0, "keepdims": True}],
    "all": [{"axis": 0, "keepdims": True}],
    "argmax": [{"axis": 0}],
    "argmin": [{"axis": 0}],
    "cumsum": [{"axis": 0, "dtype": float}],
    "cumprod": [{"axis": 0, "dtype": float}],
    "reshape": [call(3, 2), call((3, 2)), call(-1, order="F")],
    "transpose": [call(), call(1, 0), call((1, 0))],
    "ravel": [{"order": "F"}],
    "flatten": [{"order": "F"}],
    "squeeze": [{"axis": ()}],
    "swapaxes": [call(0, 1)],
    "repeat": [{"repeats": 2, "axis": 0}],
    "astype": [{"dtype": np.float64, "copy": False}, {"dtype": None}],
    "copy": [call()],
    "take": [{"indices": [0, 1], "axis": 1}],
    "argsort": [{"axis": 0}],
    "conj": [call()],
    "conjugate": [call()],
}


def normal(entry):
    return ((), entry) if isinstance(entry, dict) else entry


def is_traceable(x):
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


def through_the_tape(f, positional, keywords):
    """Call f with each float array among its arguments traced, in both modes; its plain values."""
    found = []

    def collect(x):
        if isinstance(x, tuple):
            return tuple([collect(e) for e in x])
        if is_traceable(x):
            found.append(x)
            return _Place(len(found) - 1)
        return x

    pattern, named = (
        collect(tuple(positional)),
        {k: collect(value) for k, value in keywords.items()},
    )

    def fill(x, arrays):
        if isinstance(x, _Place):
            return arrays[x.index]
        return tuple([fill(e, arrays) for e in x]) if isinstance(x, tuple) else x

    def program(*arrays):
        return f(*fill(pattern, arrays), **{k: fill(value, arrays) for k, value in named.items()})

    y, _ = vjp(program, *found)
    z, _ = jvp(program, tuple(found), tuple([np.ones_like(x) for x in found]))
    return y, z


class _Place:
    def __init__(self, index):
        self.index = index


def assert_same(y, expected):
    if isinstance(expected, (tuple, list)):
        assert len(y) == len(expected)
        for a, b in zip(y, expected, strict=True):
            assert_same(a, b)
        return
    assert np.asarray(y).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(y, expected, rtol=1e-14)


@pytest.mark.parametrize("f", CALLS, ids=lambda f: f.__name__)
def test_called_with_keywords(f):
    for positional, keywords in map(normal, CALLS[f]):
        expected = f(*positional, **keywords)
        for y in through_the_tape(f, positional, keywords):
            assert_same(y, expected)


@pytest.mark.parametrize("name", METHODS)
def test_methods_called_with_keywords(name):
    for positional, keywords in map(normal, METHODS[name]):
        expected = getattr(X, name)(*positional, **keywords)
        for y in through_the_tape(
            lambda x, *a, **k: getattr(x, name)(*a, **k), (X, *positional), keywords
        ):
            assert_same(y, expected)


@pytest.mark.parametrize(
    "f", [f for f in CALLS if "out" in aliases[f].refuse], ids=lambda f: f.__name__
)
def test_out_is_refused(f):
    row = aliases[f]
    with pytest.raises(UnsupportedKeywordError, match="out"):
        row.call((), {"out": np.zeros(3)})


def test_a_row_that_loses_an_operand_is_refused():
    v = ops

    with pytest.raises(RuleError, match="weights"):
        alias(lambda a, weights: None, to=v.sum, rename={"a": "x"})


def test_too_many_arguments_and_unknown_keywords():
    row = aliases[np.squeeze]
    with pytest.raises(TypeError):
        row.call((X, 0, 1), {})
    with pytest.raises(TypeError, match="colour"):
        row.call((X,), {"colour": 1})
    with pytest.raises((TypeError, ChainRulesError)):
        row.call((X,), {"a": X})


def test_gathered_positionals():
    row = aliases[np.ndarray.reshape]
    assert row.call((X, 3, 2), {}).options == {"shape": (3, 2)}
    assert row.call((X, (3, 2)), {}).options == {"shape": (3, 2)}
    assert row.call((X, range(2, 4)), {}).options == {"shape": (2, 3)}
    assert row.call((X, -1), {}).options == {"shape": (-1,)}
    assert aliases[np.ndarray.transpose].call((X,), {}).options == {}
    assert aliases[np.ndarray.transpose].call((X, None), {}).options == {}
