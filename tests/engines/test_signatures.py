"""Signatures of exported functions: those of the functions, for whoever reads them."""

import inspect

import numpy as np
import pytest

from chainrules_py import export, primitive
from chainrules_py.engines.export import exporter
from chainrules_py.errors import ContractError

ENGINES = ("autograd", "jax", "mlx", "mygrad", "pytensor", "tinygrad", "torch")


def plain(x, y=2.0, *, scale=1.0):
    return scale * (x - y)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")
def test_they_are_those_of_the_functions(engine):
    try:
        exporter(engine)
    except ContractError as error:
        pytest.skip(str(error))
    for f in (plain, primitive(plain), np.linalg.norm):
        exported = export(f, to=engine)
        assert next(iter(inspect.signature(exported).parameters)) == "x"
    exported = export(plain, to=engine)
    assert inspect.signature(exported) == inspect.signature(plain)
    assert inspect.getfullargspec(exported) == inspect.getfullargspec(plain)
