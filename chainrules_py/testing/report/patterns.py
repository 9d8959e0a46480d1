"""Names of mistakes, of what checks have found: what `testing.diagnosis` says about a case."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from chainrules_py.testing.checks.operands import shuffled, symmetric_as
from chainrules_py.testing.data.case import Case
from chainrules_py.testing.diagnosis import (
    Block,
    Table,
    join_halves,
    name_jacobian,
    scale_of,
)

_FEW = 4096
"""Up to so many entries a Jacobian is looked at elsewhere as well."""


def diagnose(case: Case, given: Case | None = None) -> tuple[str, Table | None]:
    """Say what is wrong with the derivatives of a rule, in words, and where.

    Both halves are compared with differences, or with each other where there are none; a name has
    to hold at some points around as well, and what would be right at the call that was given too.
    """
    if any(c is not None and has_state(c) for c in (case, given)):
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
    again = jacobian_tables(case.beside(case.operands))
    if wrong.keys() <= again.keys() and all(again[half].is_within for half in wrong):
        name = "state between calls"
    return name, next(iter(wrong.values()))


def has_state(case: Case) -> bool:
    """Tell whether a half, made anew, gives something else than it gave before."""
    found = []
    for c in (case, case.beside(case.operands), case.beside(case.operands)):
        push = c.pushed()[:, -1] if case.has_push and not case.is_large else ()
        pull = c.bars_vector(c.bars()) if case.has_pull and not case.is_large else ()
        found.append(np.append(push, pull))
    return not all(np.allclose(x, found[0], 1e-6, 0.0, equal_nan=True) for x in found[1:])


def _around(case: Case, tables: Mapping[str, Table]) -> list[tuple[Case, dict[str, Table]]]:
    """Find other points of the same shapes, with other numbers for options that are any number."""
    found: list[tuple[Case, dict[str, Table]]] = []
    if any(table.want.size > _FEW for table in tables.values()):
        return found
    values = case.inputs.vector(case.operands)
    for far in (0.25, 0.125, 0.0):
        wave = far * np.cos(np.arange(1.0, case.inputs.size + 1) / (far or 1.0))
        moved = case.inputs.moved(values * wave) if far else map(shuffled, case.operands)
        operands = tuple(map(symmetric_as, case.operands, moved))
        known = {k: x for k, x in _options(case).items() if type(x) is float}
        options = {**case.options, **{k: x * (1.0 + far) for k, x in known.items()}}
        if (other := _call(case, operands, options)) is not None:
            there: dict[str, Table] = {}
            with contextlib.suppress(Exception):  # the rule raises an error there
                there = jacobian_tables(other)
            shapes = [[(h, t.want.shape) for h, t in known.items()] for known in (there, tables)]
            if shapes[0] == shapes[1]:
                found.append((other, there))
    return found


def _options(case: Case) -> Mapping[str, Any]:
    """Return the options of a call, with the numbers that were left to their defaults."""
    default = getattr(case.f, "options", {})
    return {**{k: x for k, x in default.items() if type(x) in (int, float)}, **case.options}


def _call(case: Case, operands: tuple[Any, ...], options: Mapping[str, Any]) -> Case | None:
    """Make the same call elsewhere; None where the function does not take it."""
    try:
        other = Case(
            case.f, operands, dict(options), case.gauge, case.smooth, 0, None, derived=True
        )
    except Exception:
        return None
    other.halves, other.has_push, other.has_pull = case.halves, case.has_push, case.has_pull
    return other if np.all(np.isfinite(other.vector_of_values())) else None


def _blocks(case: Case, table: Table) -> dict[int, Block]:
    """Cut what is known of one half at a call into a block for each operand that has columns."""
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
    """Put the whole Jacobian by each half beside that by differences, or else by the push."""
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
