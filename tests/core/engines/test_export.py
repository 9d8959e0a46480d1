"""Exporters, by the names of their engines."""

import sys
import types

import numpy as np
import pytest

import chainrules_autograd
from chainrules_kit import resolved
from chainrules_py import RuleError, UnsupportedKeywordError, export
from chainrules_py import ops as v
from chainrules_py.engines.export import exporter, exporters
from chainrules_py.extend import ContractError
from chainrules_py.primitives import plugins
from chainrules_torch.engine.call_plans import ReusedValue, known_value
from tests.engines.battery import BATTERY, points

X = np.array([0.3, -0.7, 1.2])


def is_array(x):
    return isinstance(x, np.ndarray)


# -------------------------------------------------------------------------------------- exporters


def test_engines_by_name():
    assert {"autograd", "jax", "torch"} <= set(exporters())
    f = export(v.sin, to="autograd")
    assert chainrules_autograd.supports(v.sin, X).grad
    assert f(0.0) == 0.0
    several = export(v.sin, to=["autograd"])
    assert [*several] == ["autograd"]


def test_unknown_and_missing_engines(monkeypatch):
    with pytest.raises(ContractError, match=r"'nothing'; write one of to='autograd', to='jax'"):
        exporter("nothing")
    announced = (("broken", "chainrules_broken"), ("whole", "chainrules_whole"))
    monkeypatch.setattr(plugins, "announced", lambda group: announced)
    monkeypatch.setattr(plugins, "failures", dict(plugins.failures))
    whole = types.ModuleType("chainrules_whole")
    whole.chainrules_contract, whole.export = 1, lambda f: ("whole", f)
    monkeypatch.setitem(sys.modules, "chainrules_whole", whole)
    with pytest.raises(ContractError, match=r"chainrules_broken, .* pip install .*\[broken\]"):
        export(v.sin, to="broken")
    assert export(v.sin, to=["whole"]) == {"whole": ("whole", v.sin)}
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'to'"):
        export(v.sin)


def test_each_exporter_keeps_the_contract():
    for name in ("autograd", "mygrad", "pytensor"):
        pytest.importorskip(name)
        adapter = exporter(name)
        assert adapter.chainrules_contract == 1
        assert adapter.supports(v.sin, X).grad
        with pytest.raises(UnsupportedKeywordError):
            resolved(np.sum, (X,), {"out": X})
        assert callable(adapter.export(v.sin))


def test_the_battery_is_what_it_has_to_be():
    names = [entry.name for entry in BATTERY]
    assert len(names) == len(set(names)) >= 40
    assert {"svd", "sort", "getitem array", "einsum", "solve", "root"} <= set(names)
    constructors = {"scalar_rule", "bilinear_rule", "linear_rule", "rule", "frule and rrule"}
    assert constructors | {"custom_vjp", "custom_jvp", "structure"} <= set(names)
    assert len(points(complex=True)) >= 20


# ------------------------------------------------------------------------------------ known values


def test_known_values_nest_and_end():
    x, y = object(), object()

    def innermost():
        assert known_value(v.cos, (y,), {}).y == "inner"
        assert known_value(v.sin, (x,), {}).y == "outer"
        assert known_value(v.sin, (y,), {}) is None
        assert known_value(v.sin, (x,), {"axis": 0}) is None

    def within():
        ReusedValue(v.cos, (y,), {}, "inner").within(innermost)
        assert known_value(v.cos, (y,), {}) is None
        assert known_value(v.sin, (x,), {}).y == "outer"

    ReusedValue(v.sin, (x,), {}, "outer").within(within)
    assert known_value(v.sin, (x,), {}) is None


def test_an_engine_that_is_misspelt_is_an_error_that_lists_them():
    with pytest.raises(ContractError, match=r"one of to=.*, to='torch'"):
        export(v.sin, to="pytorch")
    with pytest.raises(RuleError, match="not a function"):
        export(3.0, to="torch")
