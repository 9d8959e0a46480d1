"""Names of mistakes, of what checks have found: what `chainrules_diagnosis` says about a case."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from chainrules_diagnosis import (
    Evidence,
    Place,
    Table,
    backwards,
    join_halves,
    name_jacobian,
    name_written,
    scale_of,
    shuffled,
    symmetric_as,
    symmetrised,
)
from chainrules_py.testing.data.case import Case
from chainrules_py.testing.data.closer import look_over_stairs
from chainrules_py.testing.modes import written

_FEW = 4096
"""Up to so many entries a Jacobian is looked at elsewhere as well."""

_Found: TypeAlias = dict[Any, tuple[Case, dict[str, Table]] | None]


def diagnose(
    case: Case, given: Case | None = None, *, briefly: bool = False
) -> tuple[str, Table | None]:
    """Say what is wrong with the derivatives of a rule, in words, and where.

    Both halves are compared with differences, or with each other where there are none; a name has
    to hold at some points around as well, and what would be right at the call that was given too.
    What is no more than told of is named ``briefly``: by this one call.
    """
    if any(c is not None and has_state(c) for c in (case, given)):
        return "state between calls", None
    tables = jacobian_tables(case)
    wrong = {half: table for half, table in tables.items() if not table.is_within}
    if not wrong:
        return "", None
    points: list[tuple[Case, dict[str, Table], _Found]] = [(case, tables, {})]
    if briefly:
        there = {half: _evidence(case, half, table, {}) for half, table in wrong.items()}
        alone = {half: dataclasses.replace(e, elsewhere=None) for half, e in there.items()}
        return _joined(case, [alone], len(tables)), next(iter(wrong.values()))
    points += [(*point, {}) for point in _around(case, tables)]
    seen = [{h: _evidence(c, h, t[h], found) for h in wrong} for c, t, found in points]
    name = _joined(case, seen, len(tables))
    if name == "wrong numbers" and all(symmetrised(e) is not None for e in seen[0].values()):
        for (_, t, _), at in zip(points, seen, strict=True):
            for half, e in at.items():
                want = e.want if (even := symmetrised(e)) is None else even
                at[half] = dataclasses.replace(e, want=want)
                t[half] = dataclasses.replace(t[half], want=want)
        name = _joined(case, seen, len(tables)) or name
    if all(t.want.size <= _FEW and t.titles[1] != "push" for t in tables.values()):
        around = [(c, t) for c, t, _ in points]
        here = [] if given is None else [(given, jacobian_tables(given))]
        right = functools.partial(_right_halves, [*around, *here], set(wrong))
        gives = functools.partial(_gives, [(c, t[half]) for c, t in around for half in wrong])
        primal, is_special = getattr(case.f, "__wrapped__", None), given is not None
        name = name_written(name, written(case), primal, right, gives, is_special=is_special)
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


def _joined(case: Case, points: list[dict[str, Evidence]], count: int) -> str:
    names = {half: name_jacobian([at[half] for at in points]) for half in points[0]}
    return join_halves(names, count, both=case.has_push and case.has_pull)


def _right_halves(points: list[tuple[Case, dict[str, Table]]], wrong: set[str]) -> set[str]:
    """Tell which halves are right now, at all points, and "all" if all of them are."""
    halves = {half for half in points[0][1] if half in wrong}
    right = {h for h in halves if all(_is_right(c, h, t[h]) for c, t in points)}
    rest = points[0][1].keys() - wrong
    kept = right == halves and all(_is_right(*points[0][:1], h, points[0][1][h]) for h in rest)
    return right | ({"all"} if kept else set())


def _is_right(case: Case, half: str, table: Table) -> bool:
    """Tell whether a half is right now, number by number."""
    fresh = case.beside(
        tuple([x.copy() if isinstance(x, np.ndarray) else x for x in case.operands])
    )
    rows = half == "pull"
    for k, e in enumerate(np.eye(table.want.shape[0 if rows else 1])):
        have = fresh.bars_vector(fresh.kept_pullback()[1](fresh.cotangent(e))) if rows else None
        have = fresh.seen_tangent(fresh.push(e)[1]) if have is None else have
        at = (k, slice(None)) if rows else (slice(None), k)
        if not np.all(np.abs(have - table.want[at]) <= table.allowed[at]):
            return False
    return True


def _gives(
    points: list[tuple[Case, Table]], at: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> bool:
    """Tell whether a rule gives, number by number, the derivatives of another function."""
    for case, table in points:
        other = case.beside(case.operands)
        other.f = at(functools.partial(_call_with, case))
        for k, e in enumerate(np.eye(table.want.shape[1])):
            found, error = other.differences(e[:, None])
            slack = 1e-6 * scale_of(table.have) + 50 * error[:, 0]
            if not np.all(np.abs(found[:, 0] - table.have[:, k]) <= slack):
                return False
    return True


def _call_with(case: Case, f: Callable[..., Any]) -> Any:
    return f(*case.operands, **case.options)


def _around(case: Case, tables: Mapping[str, Table]) -> list[tuple[Case, dict[str, Table]]]:
    """Find other points of the same shapes, with other numbers for options that are any number."""
    found: list[tuple[Case, dict[str, Table]]] = []
    if any(table.want.size > _FEW for table in tables.values()):
        return found
    values = case.inputs.vector(case.operands)
    for far in (0.25, 0.125, 0.0, -1.0):
        wave = far * np.cos(np.arange(1.0, case.inputs.size + 1) / (far or 1.0))
        operands = case.inputs.moved(values * wave)
        if far <= 0.0:  # in another order
            operands = tuple([backwards(x) if not far else shuffled(x) for x in case.operands])
            far = 0.0
        operands = tuple(map(symmetric_as, case.operands, operands))
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


def _evidence(case: Case, half: str, table: Table, found: _Found) -> Evidence:
    """Gather what is known of one half at a call, and how to know it elsewhere, once for both."""
    gathers = any(p.kind == "int" for p in case.parts) or "index" in case.options
    place = Place(case.parts, case.raw, case.operand_names(), _options(case), gathers)

    def elsewhere(changed: Mapping[int, Any], options: Mapping[str, Any]) -> Evidence | None:
        key = tuple([(i, x.tobytes()) for i, x in changed.items()]), tuple(options.items())
        if key not in found:
            found[key] = _tables_at(case, changed, options)
        there = found[key]
        return None if there is None else _evidence(there[0], half, there[1][half], {})

    few = table.want.size <= _FEW
    grain = 0.0 if case.is_large or case.grain == np.inf else case.grain
    digits = max(1e-6, 4 * case.precision, 32 * grain)
    return Evidence(
        table.have, table.want, table.allowed, place, elsewhere if few else None, digits
    )


def _tables_at(
    case: Case, changed: Mapping[int, Any], options: Mapping[str, Any]
) -> tuple[Case, dict[str, Table]] | None:
    """Make the call with other operands and options, and its Jacobians; None if there is none."""
    xs = enumerate(case.operands)
    operands = [_like(x, changed[i]) if i in changed else x for i, x in xs]
    other = _call(case, tuple(operands), {**case.options, **options})
    try:
        tables = {} if other is None else jacobian_tables(other)
    except Exception:  # the rule itself does not take it
        return None
    return None if other is None or not tables else (other, tables)


def _like(x: Any, values: Any) -> Any:
    return np.asarray(values, x.dtype) if isinstance(x, np.ndarray) else type(x)(values)


def jacobian_tables(case: Case) -> dict[str, Table]:
    """Put the whole Jacobian by each half beside that by differences, or else by the push."""
    found = case.jacobians()
    reference = "differences" if "differences" in found else "push"
    want = found.get(reference)
    if want is None:
        return {}
    names = case.output_names(), case.coordinate_names()
    allowed = found.get("allowed", 1e-9 * scale_of(want))
    if reference == "differences" and not case.is_large:
        look_over_stairs(
            case, np.eye(want.shape[1]), found["push" if "push" in found else "pull"], want, allowed
        )
    allowed = np.maximum(allowed, np.minimum(10 * allowed, 1e-3 * scale_of(want)))
    return {
        half: Table(found[half], want, *names, allowed, (half, reference))
        for half in ("push", "pull")
        if half in found and half != reference
    }
