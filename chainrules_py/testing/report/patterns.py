"""Names of mistakes, of what checks have found: what `chainrules_diagnosis` says about a case."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from chainrules_diagnosis import Evidence, Place, join_halves, name_jacobian
from chainrules_py.testing.data.case import Case, scale_of
from chainrules_py.testing.report.report import Table

_FEW = 4096
"""Up to so many entries a Jacobian is looked at elsewhere as well."""

_Found: TypeAlias = dict[Any, tuple[Case, dict[str, Table]] | None]


def diagnose(case: Case) -> tuple[str, Table | None]:
    """Say what is wrong with the derivatives of a rule, in words, and where.

    Both halves are compared with differences, or with each other where there are none; a name has
    to hold at some points around as well.
    """
    tables = jacobian_tables(case)
    wrong = {half: table for half, table in tables.items() if not table.is_within}
    if not wrong:
        return "", None
    points: list[tuple[Case, dict[str, Table], _Found]] = [(case, tables, {})]
    points += [(*point, {}) for point in _around(case, tables)]
    names = {
        half: name_jacobian([_evidence(c, half, t[half], found) for c, t, found in points])
        for half in wrong
    }
    both = case.has_push and case.has_pull
    return join_halves(names, len(tables), both=both), next(iter(wrong.values()))


def _around(case: Case, tables: Mapping[str, Table]) -> list[tuple[Case, dict[str, Table]]]:
    """Find other points of the same shapes, with other numbers for options that are any number."""
    found: list[tuple[Case, dict[str, Table]]] = []
    if any(table.want.size > _FEW for table in tables.values()):
        return found
    values = case.inputs.vector(case.operands)
    for far in (0.25, 0.125, 0.0):
        wave = far * np.cos(np.arange(1.0, case.inputs.size + 1) / (far or 1.0))
        operands = case.inputs.moved(values * wave)
        if not far:  # in another order
            operands = tuple([_backwards(x) for x in case.operands])
        options = {
            name: x * (1.0 + far) if type(x) is float else x for name, x in case.options.items()
        }
        if (other := _call(case, operands, options)) is not None:
            there = jacobian_tables(other)
            same = {h: t.want.shape for h, t in there.items()}
            if same == {h: t.want.shape for h, t in tables.items()}:
                found.append((other, there))
    return found


def _backwards(x: Any) -> Any:
    """Reverse a vector of numbers."""
    is_vector = type(x) is np.ndarray and x.ndim == 1 and x.dtype.kind in "fc"
    return x[::-1].copy() if is_vector else x


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
    place = Place(case.parts, case.raw, case.operand_names(), case.options, gathers)

    def elsewhere(changed: Mapping[int, Any], options: Mapping[str, Any]) -> Evidence | None:
        key = tuple([(i, x.tobytes()) for i, x in changed.items()]), tuple(options.items())
        if key not in found:
            found[key] = _tables_at(case, changed, options)
        there = found[key]
        return None if there is None else _evidence(there[0], half, there[1][half], {})

    few = table.want.size <= _FEW
    digits = max(1e-6, 4 * case.precision)
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
    allowed = np.maximum(allowed, np.minimum(10 * allowed, 1e-3 * scale_of(want)))
    return {
        half: Table(found[half], want, *names, allowed, (half, reference))
        for half in ("push", "pull")
        if half in found and half != reference
    }


_SHAPES = re.compile(r"a cotangent of shape \((.*?)\) cannot belong to a primal of shape \((.*?)\)")
_STRUCTURE = re.compile(r"is no tangent of Space\((\w+)\)")


def projection_failure(text: str) -> str:
    """Say why a cotangent could not be projected: an axis too many, or another shape."""
    found = _SHAPES.search(text)
    if "None" in text:
        return "None for a tangent"
    if (kind := _STRUCTURE.search(text)) is not None:
        return f"write Tangent[{kind[1]}]"
    if found is None:
        return "wrong structure or shape"
    have, of = ([int(n) for n in g.split(",") if n.strip()] for g in found.groups())
    for k in range(len(have)):
        if have[:k] + have[k + 1 :] == of:
            return f"missing sum over axis {k}"
    return "wrong shape"


def name_nonlinearity(half: str, images: Any, given: Any, apart: float) -> str:
    """Name what a half does that is not linear, of images and what they are of, as columns.

    They are so far ``apart`` from those of a linear map, relative to the largest of them.
    """
    if apart < 1e-5:
        return "float32 result for float64 input"
    what = "cotangent" if half == "pull" else "tangent"
    nonzero = np.any(given != 0, axis=0)
    kept = images[:, nonzero]
    if kept.shape[1] > 1 and np.any(kept) and np.allclose(kept, kept[:, :1] + 0 * kept):
        return f"ignores the {what}"
    return f"not linear in the {what}"
