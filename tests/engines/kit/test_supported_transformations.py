"""Support as it is found by trying: a call that loses something does not pass for right."""

from pathlib import Path

import numpy as np
import pytest

from chainrules_autograd import export
from chainrules_autograd.engine.transformation_list import transformations
from chainrules_kit import nestings, supported
from chainrules_kit.supported_transformations import _as_vector
from chainrules_py import ops as v

X = np.array([0.3, -0.7, 1.2])


def test_what_is_tried_is_the_call():
    exported = export(v.sin)
    z, f = _as_vector(exported, exported, (X,), {})
    table, u = transformations.table, np.ones(3)
    np.testing.assert_allclose(f(z), np.sum(np.sin(X)))
    np.testing.assert_allclose(table["grad"].run(f, z, u), np.cos(X))
    np.testing.assert_allclose(table["jvp"].run(f, z, u), np.sum(np.cos(X)))
    for name in ("grad of grad", "jvp of grad", "grad of jvp"):
        np.testing.assert_allclose(table[name].run(f, z, u), -np.sin(X))


@pytest.mark.parametrize("order", [0, 1, 2, np.inf])
def test_it_goes_as_far_as_nothing_raises(order):
    def refuse(*_):
        raise ArithmeticError("no further")

    stated = nestings(lambda f: f, lambda f, z, u: f(z))
    of = {"grad": 1, "jvp": 1, "third order": 3, "grad of grad of grad": 3}
    table = {
        name: each._replace(run=(lambda f, z, u: f(z)) if of.get(name, 2) <= order else refuse)
        for name, each in stated.items()
    }
    found = supported(export(v.sin), (X,), {}, transformations._replace(table=table))
    assert (found.grad, found.jvp, found.order) == (order >= 1, order >= 1, order)
    assert (found.vmap, found.jit) == (False, False)


def test_no_name_of_the_package_is_a_module_of_it():
    """The one that is imported first would hide the other."""
    import chainrules_kit

    files = {path.stem for path in Path(chainrules_kit.__file__).parent.glob("*.py")}
    assert not files & {*chainrules_kit.__all__}
