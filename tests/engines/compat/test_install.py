"""Functions in the namespaces of engines: all of a list or none, and out again in any order."""

import importlib
from types import SimpleNamespace

import numpy as np
import pytest

from chainrules_compat.install import Installed
from chainrules_py import NoRuleError
from chainrules_py import vocabulary as v

ENGINES = {"torch": "torch", "jax": "jax.numpy", "autograd": "autograd.numpy"}


@pytest.fixture(params=list(ENGINES))
def engine(request):
    """The adapter of an engine, and the namespace that it puts functions into."""
    space = pytest.importorskip(ENGINES[request.param], reason="the engine is not installed")
    return SimpleNamespace(
        adapter=importlib.import_module(f"chainrules_{request.param}"), space=space
    )


def test_a_list_that_fails_in_the_middle_leaves_nothing(engine):
    before = engine.space.abs
    with pytest.raises(NoRuleError, match=r"no namespace .*nowhere"):
        engine.adapter.install("abs", **{"sin_of_ours": v.sin, "nowhere.sin": v.sin})
    assert engine.space.abs is before
    assert not hasattr(engine.space, "sin_of_ours")


def test_what_is_no_function_is_refused_before_anything_is_put(engine):
    with pytest.raises(NoRuleError, match="cannot be called"):
        engine.adapter.install(sin_of_ours=v.sin, number=3)
    assert not hasattr(engine.space, "sin_of_ours")


def test_a_class_is_no_namespace():
    """Its attributes are in no table that could be written to."""
    torch = pytest.importorskip("torch")
    adapter = importlib.import_module("chainrules_torch")
    with pytest.raises(NoRuleError, match="no namespace 'Tensor'"):
        adapter.install(**{"Tensor.sin_of_ours": v.sin})
    assert not hasattr(torch.Tensor, "sin_of_ours")


@pytest.mark.parametrize("first", ["older", "newer"])
def test_in_whatever_order_they_are_removed(engine, first):
    install, space = engine.adapter.install, engine.space
    before = space.abs
    older, newer = install("abs", ours=v.sin), install("abs", ours=v.cos)
    on_top = space.abs, space.ours
    if first == "older":
        older.remove()
        assert (space.abs, space.ours) == on_top
        newer.remove()
    else:
        newer.remove()
        assert space.abs not in (before, on_top[0])
        assert space.ours is not on_top[1]
        older.remove()
    assert space.abs is before
    assert not hasattr(space, "ours")
    older.remove()  # again, to no effect
    assert space.abs is before


def test_tables_come_back_in_any_order():
    table, space = {"f": "theirs"}, SimpleNamespace(__name__="engine")
    one, two, three = (Installed(space) for _ in range(3))
    for n, installed in enumerate((one, two, three)):
        installed.entry("f", table, "f", n)
        installed.entry("g", table, "g", n)
        assert table["f"] != n  # nothing happens before all is known
        installed.put()
    one.remove()
    assert table == {"f": 2, "g": 2}
    three.remove()
    assert table == {"f": 1, "g": 1}
    two.remove()
    assert table == {"f": "theirs"}


def test_a_table_that_refuses_an_entry_is_left_as_it_was():
    class Refusing(dict):
        def __setitem__(self, key, value):
            if key == "bad":
                raise ValueError(key)
            super().__setitem__(key, value)

    table = Refusing(f="theirs")
    installed = Installed(SimpleNamespace(__name__="engine"))
    for key in ("f", "good", "bad"):
        installed.entry(key, table, key, "ours")
    with pytest.raises(ValueError, match="bad"):
        installed.put()
    assert table == {"f": "theirs"}
    assert installed.names == ()


def test_all_that_autograd_lacks_stays_while_anybody_has_it_installed():
    autograd = pytest.importorskip("autograd", reason="autograd is not installed")
    from autograd import numpy as anp
    from autograd.core import primitive_jvps, primitive_vjps

    import chainrules_autograd

    before = len(primitive_vjps), len(primitive_jvps), anp.median
    x = np.array([3.0, 1.0, 2.0])
    older = chainrules_autograd.install()
    names = older.names
    newer = chainrules_autograd.install()
    assert newer.names == names
    older.remove()
    assert list(autograd.grad(anp.median)(x)) == [0.0, 0.0, 1.0]
    assert list(autograd.grad(before[2])(x)) == [0.0, 0.0, 1.0]  # what others kept of it
    newer.remove()
    assert (len(primitive_vjps), len(primitive_jvps), anp.median) == before
