"""The samples, one module per family of operations."""

from __future__ import annotations

import importlib
from typing import Any

from chainrules_py.primitives.primitive import Primitive
from chainrules_py.registry.table import primal_of
from chainrules_py.testing.samples.sample import ENTERED, Sample

_FAMILIES = (
    "contraction creation decompositions elementwise fourier higher_order indexing interpolation "
    "joining linalg manipulation matrix_functions polynomials reductions sorting "
    "special_functions statistics degeneracy_reports"
)
for _family in _FAMILIES.split():
    importlib.import_module(f"{__name__}.{_family}")


def samples_of(operation: Primitive[..., Any]) -> tuple[Sample, ...]:
    """Return the samples of an operation, or a library's function for it; empty if none."""
    return ENTERED.get(primal_of(operation) or operation, ())


def operations_with_samples() -> tuple[Primitive[..., Any], ...]:
    """Return the operations that have samples, in the order of entering."""
    return tuple(ENTERED)
