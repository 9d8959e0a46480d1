"""Names of mistakes, from matrices and from messages of errors; independent of rules."""

from chainrules_py.testing.diagnosis.heat_map import heat_map
from chainrules_py.testing.diagnosis.jacobian_mistakes import Block, join_halves, name_jacobian
from chainrules_py.testing.diagnosis.jacobian_table import Table
from chainrules_py.testing.diagnosis.ratio import name_ratio, scale_of
from chainrules_py.testing.diagnosis.type_and_shape_mistakes import (
    is_said,
    name_at_call,
    name_dtypes,
    name_nonlinearity,
    name_projection,
    name_types,
)

__all__ = [
    "Block",
    "Table",
    "heat_map",
    "is_said",
    "join_halves",
    "name_at_call",
    "name_dtypes",
    "name_jacobian",
    "name_nonlinearity",
    "name_projection",
    "name_ratio",
    "name_types",
    "scale_of",
]
