"""The rows of products, determinants and norms."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_numpy import lowerings as low
from chainrules_numpy.functions.common import axis, ignored, row
from chainrules_numpy.linalg import GUFUNC
from chainrules_numpy.rows import alias
from chainrules_py import vocabulary as v
from chainrules_py.extend import Call
from chainrules_py.extend import products_composites as p

_name: Any
_composite: Any


def _terms(call: Call, operands: tuple[Any, ...]) -> None:
    """Make arrays of operands that are lists or numbers, which subscripts and axes are not."""
    places = range(1, len(operands)) if type(operands[0]) is str else range(0, len(operands) - 1, 2)
    given = [low.array_of(x) if i in places else x for i, x in enumerate(operands)]
    call.operands["operands"] = tuple(given)


alias(
    np.einsum,
    to=p.einsum,
    parameters={
        "operands": None,
        "out": None,
        "optimize": False,
        "order": "K",
        "casting": "safe",
        "dtype": None,
    },
    positional=("operands",),
    gather="operands",
    lower={"operands": _terms, "order": ignored},
    refuse=("out", "casting", "dtype"),
)
row(np.linalg.det, v.det)
row(np.linalg.norm, p.norm, "x", axis=axis)
row(np.linalg.vector_norm, v.vector_norm, "x", axis=axis)
row(np.linalg.matrix_norm, p.matrix_norm, "x")
row(np.linalg.matrix_power, p.matrix_power, None)
row(np.linalg.matrix_transpose, v.matrix_transpose, "x")
row(np.linalg.multi_dot, p.multi_dot, None, refuse=("out",), arrays=low.as_arrays)
row(np.linalg.cross, p.cross_of_three, None)
row(np.cross, p.cross, None, a=low.as_array("a"), b=low.as_array("b"))
row(np.kron, p.kron, None, a=low.as_array("a"), b=low.as_array("b"))
row(
    np.vdot,
    p.vdot,
    None,
    parameters={"a": None, "b": None},
    a=low.as_array("a"),
    b=low.as_array("b"),
)
for _name, _composite in (("matvec", p.matvec), ("vecmat", p.vecmat)):
    if hasattr(np, _name):  # since NumPy 2.2
        alias(
            getattr(np, _name),
            to=_composite,
            parameters={"x1": None, "x2": None} | GUFUNC,
            positional=("x1", "x2"),
            refuse=tuple(GUFUNC),
        )
