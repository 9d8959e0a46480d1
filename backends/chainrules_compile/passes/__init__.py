"""Passes: functions from a program to an equivalent program, one in each module."""

from __future__ import annotations

from collections.abc import Callable

from chainrules_compile.passes.buffer_reuse import with_buffers
from chainrules_compile.passes.checkpoint_marks import without_marks
from chainrules_compile.passes.dead_code import without_dead_code
from chainrules_compile.passes.known_zeros import with_diagonals
from chainrules_compile.passes.output_copies import with_own_outputs
from chainrules_compile.passes.python_scalars import with_plain_numbers
from chainrules_compile.passes.row_additions import with_added_rows
from chainrules_compile.passes.scan_bodies import with_own_turns
from chainrules_compile.passes.short_sums import with_short_sums
from chainrules_compile.passes.simplify import simplified
from chainrules_compile.passes.slice_updates import with_parts
from chainrules_py.program import Program

Pass = Callable[[Program], Program]

PASSES: dict[str, Pass] = {
    "simplify": simplified,
    "recomputation": without_marks,
    "dead code": without_dead_code,
    "parts": with_parts,
    "dead parts": without_dead_code,
    "zeros": with_diagonals,
    "turns": with_own_turns,
    "plain numbers": with_plain_numbers,
    "short sums": with_short_sums,
    "rows": with_added_rows,
    "own outputs": with_own_outputs,
    "lifetimes": with_buffers,
}
"""The passes, in the order in which they run."""

FOR_NUMPY = ("plain numbers", "short sums", "rows")
"""Passes for the target NumPy alone."""


def passes_of(target: str) -> dict[str, Pass]:
    """Return the passes for a target."""
    return {t: step for t, step in PASSES.items() if target == "numpy" or t not in FOR_NUMPY}
