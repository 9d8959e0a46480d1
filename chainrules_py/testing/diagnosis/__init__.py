"""Names of mistakes: how a wrong Jacobian differs from the right one, in words.

A grammar of hypotheses. Each changes the right Jacobian as a mistake would change it; the first, in
order of simplicity, that gives the wrong one at every point that was looked at is the name. Nothing
here knows what a rule is, or reads how it is written: matrices go in, and words come out.
"""

from chainrules_py.testing.diagnosis.arrangements import symmetrised
from chainrules_py.testing.diagnosis.block import Axes, Evidence, Place, scale_of
from chainrules_py.testing.diagnosis.conduct import (
    is_said,
    name_at_call,
    name_dtypes,
    name_nonlinearity,
    name_projection,
    name_types,
)
from chainrules_py.testing.diagnosis.drawing import heat_map
from chainrules_py.testing.diagnosis.names import join_halves, join_operands, name_jacobian
from chainrules_py.testing.diagnosis.operands import (
    backwards,
    cut,
    exchanged,
    extended,
    first_element,
    floating,
    is_float_array,
    is_number,
    is_numpy,
    is_sorted,
    is_whole,
    meet,
    of_both_signs,
    of_entries,
    of_lengths,
    other_masks,
    read_only,
    reordered,
    shuffled,
    stacked,
    strided,
    symmetric_as,
    tied,
    times,
    turned,
    upside_down,
    with_signs,
    with_tie,
    with_zeros,
)
from chainrules_py.testing.diagnosis.options import (
    other_axes,
    other_values,
    slices_beside,
    spelled,
    turned_axes,
)
from chainrules_py.testing.diagnosis.ratio import name_ratio
from chainrules_py.testing.diagnosis.table import Table

__all__ = [
    "Axes",
    "Evidence",
    "Place",
    "Table",
    "backwards",
    "cut",
    "exchanged",
    "extended",
    "first_element",
    "floating",
    "heat_map",
    "is_float_array",
    "is_number",
    "is_numpy",
    "is_said",
    "is_sorted",
    "is_whole",
    "join_halves",
    "join_operands",
    "meet",
    "name_at_call",
    "name_dtypes",
    "name_jacobian",
    "name_nonlinearity",
    "name_projection",
    "name_ratio",
    "name_types",
    "of_both_signs",
    "of_entries",
    "of_lengths",
    "other_axes",
    "other_masks",
    "other_values",
    "read_only",
    "reordered",
    "scale_of",
    "shuffled",
    "slices_beside",
    "spelled",
    "stacked",
    "strided",
    "symmetric_as",
    "symmetrised",
    "tied",
    "times",
    "turned",
    "turned_axes",
    "upside_down",
    "with_signs",
    "with_tie",
    "with_zeros",
]
