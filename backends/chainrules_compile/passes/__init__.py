"""Passes: each takes a program and gives one that computes the same, in a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection

from chainrules_compile.passes.blocks import with_blocks
from chainrules_compile.passes.dead_code import without_dead_code
from chainrules_compile.passes.elements import with_elements
from chainrules_compile.passes.factored import (
    with_shared_factors,
    with_shared_factors_loosely,
)
from chainrules_compile.passes.filled import with_filled
from chainrules_compile.passes.from_zero import with_sums_from_zero
from chainrules_compile.passes.lifetimes import with_buffers
from chainrules_compile.passes.loose import loosened
from chainrules_compile.passes.numbers import with_plain_numbers, with_plain_numbers_loosely
from chainrules_compile.passes.ownership import with_own_outputs
from chainrules_compile.passes.parts import with_parts
from chainrules_compile.passes.products import with_joined_products
from chainrules_compile.passes.questions import with_one_question
from chainrules_compile.passes.recall import without_marks
from chainrules_compile.passes.remade import with_remade
from chainrules_compile.passes.rows import with_added_rows
from chainrules_compile.passes.shares import with_shares
from chainrules_compile.passes.short_sums import with_short_sums
from chainrules_compile.passes.signs import with_signs
from chainrules_compile.passes.simplify import simplified
from chainrules_compile.passes.thin import with_thin_spread
from chainrules_compile.passes.triangles import with_triangles
from chainrules_compile.passes.turns import with_own_turns, with_short_turns
from chainrules_compile.passes.unread import without_unread
from chainrules_compile.passes.wrappers import with_plain_calls
from chainrules_compile.passes.zeros import with_zero_patterns, with_zero_patterns_loosely
from chainrules_py.program import Program

Pass = Callable[[Program], Program]

PASSES: dict[str, Pass] = {
    "wrappers": with_plain_calls,
    "simplify": simplified,
    "recall": without_marks,
    "elements": with_elements,
    "signs": with_signs,
    "dead code": without_dead_code,
    "shares": with_shares,
    "zero patterns": with_zero_patterns,
    "factors": with_shared_factors,
    "parts": with_parts,
    "unread": without_unread,
    "from zero": with_sums_from_zero,
    "filled": with_filled,
    "dead parts": without_dead_code,
    "turns": with_own_turns,
    "plain numbers": with_plain_numbers,
    "one question": with_one_question,
    "short sums": with_short_sums,
    "rows": with_added_rows,
    "thin": with_thin_spread,
    "remade": with_remade,
    "blocks": with_blocks,
    "own outputs": with_own_outputs,
    "lifetimes": with_buffers,
}
"""What a program goes through, in this order.

After those that ask, the program that it was before has to stand by.
"""

ASKING = (with_triangles, with_zero_patterns, with_zero_patterns_loosely, with_one_question)
"""Those that put questions into a program that it did not have."""

LOOSE: dict[str, Pass] = {
    "wrappers": with_plain_calls,
    "simplify": simplified,
    "triangles": with_triangles,
    "looser": loosened,
    "simplify again": simplified,
    "products": with_joined_products,
    **{title: step for title, step in PASSES.items() if title not in ("wrappers", "simplify")},
    "zero patterns": with_zero_patterns_loosely,
    "factors": with_shared_factors_loosely,
    "plain numbers": with_plain_numbers_loosely,
}
"""The same, for programs that need not have the bits."""

FOR_NUMPY = (
    *("wrappers", "shares", "zero patterns", "factors", "from zero", "plain numbers"),
    *("one question", "short sums", "rows", "thin", "remade", "blocks"),
)
"""Those that other targets do without: their programs ask each, and pass through arrays at once."""


def passes_of(target: str, exact: bool, wanted: Collection[str] | None = None) -> dict[str, Pass]:
    """Return what a program for a target goes through; a writer may want some of it alone."""
    passes = PASSES if exact else LOOSE
    if wanted is None:
        wanted = [t for t in passes if target == "numpy" or t not in FOR_NUMPY]
    elif "lifetimes" not in wanted:  # its turns compute new arrays as well
        passes = {**passes, "turns": with_short_turns}
    return {t: step for t, step in passes.items() if t in wanted}
