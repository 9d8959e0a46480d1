"""Functions of matrices that are made of other words."""

from __future__ import annotations

from typing import Any

from chainrules_py import vocabulary as v
from chainrules_py.arrays import Array
from chainrules_py.rules.matrix_functions import bordered, corner

__all__: list[str] = []


@v.expm_frechet.implement
def expm_frechet_standard(x: Array, t: Array) -> Any:
    """By a matrix of twice the size: eight times the work of `expm`."""
    return corner(v.expm(bordered(x, t)))
