"""Names of mistakes: how a wrong Jacobian differs from the right one, in words.

A grammar of hypotheses. Each changes the right Jacobian as a mistake would change it; the first, in
order of simplicity, that gives the wrong one at every point that was looked at is the name. Where
these say little, definitions are read: which expression, written otherwise, makes it the right one.
Nothing here knows what a rule is: matrices and functions go in, and words come out.
"""

from chainrules_diagnosis.arrangements import symmetrised
from chainrules_diagnosis.block import Axes, Evidence, Place, scale_of
from chainrules_diagnosis.conduct import (
    is_said,
    name_at_call,
    name_dtypes,
    name_nonlinearity,
    name_projection,
    name_types,
)
from chainrules_diagnosis.constants import (
    arrays_in,
    compared_in,
    dtypes_in,
    held_by,
    is_named,
    names_of,
    numbers_in,
)
from chainrules_diagnosis.drawing import heat_map
from chainrules_diagnosis.names import join_halves, join_operands, name_jacobian
from chainrules_diagnosis.operands import (
    all_of,
    around,
    backwards,
    cut,
    extended,
    first_element,
    floating,
    is_cast,
    is_float_array,
    is_number,
    is_numpy,
    is_one_sided,
    is_sorted,
    is_whole,
    of_axes,
    of_both_signs,
    of_entries,
    of_lengths,
    of_size,
    read_only,
    shuffled,
    stacked,
    strided,
    symmetric_as,
    times,
    turned,
    upside_down,
    with_numbers,
    with_signs,
    with_tie,
    with_zeros,
)
from chainrules_diagnosis.options import other_axes, other_values, turned_axes
from chainrules_diagnosis.ratio import name_ratio
from chainrules_diagnosis.repairs import name_written
from chainrules_diagnosis.stairs import grain, jumps, narrows, slope_behind_stairs, slopes
from chainrules_diagnosis.table import Table

__all__ = [
    "Axes",
    "Evidence",
    "Place",
    "Table",
    "all_of",
    "around",
    "arrays_in",
    "backwards",
    "compared_in",
    "cut",
    "dtypes_in",
    "extended",
    "first_element",
    "floating",
    "grain",
    "heat_map",
    "held_by",
    "is_cast",
    "is_float_array",
    "is_named",
    "is_number",
    "is_numpy",
    "is_one_sided",
    "is_said",
    "is_sorted",
    "is_whole",
    "join_halves",
    "join_operands",
    "jumps",
    "name_at_call",
    "name_dtypes",
    "name_jacobian",
    "name_nonlinearity",
    "name_projection",
    "name_ratio",
    "name_types",
    "name_written",
    "names_of",
    "narrows",
    "numbers_in",
    "of_axes",
    "of_both_signs",
    "of_entries",
    "of_lengths",
    "of_size",
    "other_axes",
    "other_values",
    "read_only",
    "scale_of",
    "shuffled",
    "slope_behind_stairs",
    "slopes",
    "stacked",
    "strided",
    "symmetric_as",
    "symmetrised",
    "times",
    "turned",
    "turned_axes",
    "upside_down",
    "with_numbers",
    "with_signs",
    "with_tie",
    "with_zeros",
]
