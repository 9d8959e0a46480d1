"""Names of the mistakes that checks found: `testing.diagnosis`, applied to a case."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from chainrules_py.testing.cases.case import Case
from chainrules_py.testing.cases.operand_variants import symmetric_as
from chainrules_py.testing.diagnosis import (
    Block,
    Table,
    join_halves,
    name_jacobian,
    scale_of,
)

_FEW = 4096
"""Up to this many entries, a Jacobian is also compared at another point."""


def diagnose(case: Case, given: Case | None = None) -> tuple[str, Table | None]:
    """Return the name of what is wrong with the derivatives of a rule, and the table of it.

    Both halves are compared with differences, or with each other where there are none; a name must
    hold at another point as well.
    """
    if any(c is not None and _has_state(c) for c in (case, given)):
        return "state between calls", None
    tables = jacobian_tables(case)
    wrong = {half: table for half, table in tables.items() if not table.is_within}
    if not wrong:
        return "", None
    points = [(case, tables), *_around(case, tables)]
    called = case.operand_names()
    names = {
        half: name_jacobian([_blocks(c, t[half]) for c, t in points], called) for half in wrong
    }
    name = join_halves(names, len(tables), both=case.has_push and case.has_pull)
    return name, next(iter(wrong.values()))


def _has_state(case: Case) -> bool:
    """Return whether a half gives another result when it is computed again."""
    again = case.beside(case.operands)
    halves = [Case.pushed] * case.has_push + [Case.pulled] * case.has_pull
    pairs = [(half(case), half(again)) for half in halves]
    return not all(np.allclose(x, y, 1e-6, 0.0, equal_nan=True) for x, y in pairs)


def _around(case: Case, tables: Mapping[str, Table]) -> list[tuple[Case, dict[str, Table]]]:
    """Return another point of the same shapes, if any: a name at one may be an accident."""
    values = case.inputs.vector(case.operands)
    moved = case.inputs.moved(values * 0.25 * np.cos(np.arange(1.0, case.inputs.size + 1)))
    operands = tuple(map(symmetric_as, case.operands, moved))
    try:
        other = case.another(operands, derived=True)
        there = jacobian_tables(other)
    except Exception:  # the function, or its rule, rejects it
        return []
    shapes = [{half: t.want.shape for half, t in found.items()} for found in (there, tables)]
    known = shapes[0] == shapes[1] and np.all(np.isfinite(other.vector_of_values()))
    return [(other, there)] if known and sum(t.want.size for t in there.values()) <= _FEW else []


def _blocks(case: Case, table: Table) -> dict[int, Block]:
    """Split the table of one half into a block for each operand that has columns."""
    gathers = any(p.kind == "int" for p in case.parts) or "index" in case.options
    allowed = np.broadcast_to(table.allowed, table.want.shape)
    known = np.isfinite(allowed)
    ends = np.cumsum([part.size for part in case.parts])[:-1]
    matrices = np.where(known, table.have, 0.0), np.where(known, table.want, 0.0), allowed
    have, want, slack = (np.split(m, ends, axis=1) for m in matrices)
    digits = max(1e-6, 4 * case.precision)
    return {
        i: Block(have[i], want[i], slack[i], part, case.raw, digits, gathers)
        for i, part in enumerate(case.parts)
        if part.size
    }


def jacobian_tables(case: Case) -> dict[str, Table]:
    """Compare the whole Jacobian of each half with that by differences, or else with the push."""
    found = case.jacobians()
    reference = "differences" if "differences" in found else "push"
    want = found.get(reference)
    if want is None:
        return {}
    names = case.output_names(), case.coordinate_names()
    allowed = found.get("allowed", 1e-9 * scale_of(want))
    allowed = np.maximum(allowed, np.minimum(10 * allowed, 1e-3 * scale_of(want)))
    return {
        half: Table(found[half], want, *names, allowed, (half, reference))
        for half in ("push", "pull")
        if half in found and half != reference
    }
