"""Names of mistakes in a Jacobian that is too large to be written down, from random directions.

A mistake is named where images of a few random directions all show it: numbers that are off by one
factor in each of a million elements are no accident. Where they show none, the same call with less
of everything is looked at, and named if it is wrong too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_diagnosis import join_halves, join_operands, name_ratio, scale_of
from chainrules_py.testing.data.case import Case
from chainrules_py.testing.data.coordinates import Coordinates
from chainrules_py.testing.data.smaller import smaller
from chainrules_py.testing.report.patterns import diagnose

_DIRECTIONS = 3


def name_by_directions(case: Case) -> str:
    """Say what is wrong with the derivatives of a large call, in words; empty if it is not sure."""
    found = _name_here(case)
    small = smaller(case)
    if small is None:
        return found
    part, table = diagnose(small)
    if table is None and small.inputs.size == case.inputs.size:
        return "right to few digits"
    if table is None:
        return f"wrong only for large arrays{f' ({found})' if found else ''}"
    # Counts and lengths of the small call are not those of this one.
    counts = ("wrong numbers", "factor", "element", "entries")
    return found or part if any(word in part for word in counts) else part


def _name_here(case: Case) -> str:
    rng = np.random.default_rng(1)
    halves: dict[str, dict[int, str]] = {"push": {}, "pull": {}}
    w = _drawn(rng, 1.0 / case.sizes)
    start = 0
    for number, part in enumerate(case.parts):
        inside = slice(start, start + part.size)
        start += part.size
        if not part.size:
            continue
        u = np.zeros((len(case.steps), _DIRECTIONS))
        u[inside] = _drawn(rng, case.steps[inside])
        want, error = case.differences(u)
        if not case.smooth or not np.all(np.isfinite(want)):
            return ""
        slack = 1e-7 * scale_of(want) + 50 * error
        if case.has_push:
            have = _pushed(case, u)
            if not _is_close(have, want, slack):
                halves["push"][number] = _name_push(case, have, want, slack)
        if case.has_pull:
            product = w.T @ want
            slack = 1e-7 * scale_of(product) + 50 * np.abs(w).T @ error
            if not _is_close(_pulls(case, w).T @ u, product, slack):
                halves["pull"][number] = _name_pull(case, u, w, product, part)
    wrong = {half: names for half, names in halves.items() if names and all(names.values())}
    active = sum(part.size > 0 for part in case.parts)
    told = {
        half: join_operands(case.operand_names(), names, active) for half, names in wrong.items()
    }
    count = case.has_push + case.has_pull
    return join_halves(told, count, both=count == 2) if told else ""


def _drawn(rng: Any, sizes: Any) -> Any:
    """Draw directions of few digits, whose images do not grow with their number."""
    drawn = np.round(64 * rng.standard_normal((len(sizes), _DIRECTIONS))) / 64
    return drawn * (sizes / 2.0 ** np.round(np.log2(len(sizes)) / 2))[:, None]


def _pushed(case: Case, u: Any) -> Any:
    return np.stack([case.seen_tangent(case.push(d)[1]) for d in u.T], axis=1)


def _pulls(case: Case, w: Any) -> Any:
    _, pullback = case.kept_pullback()
    return np.stack([case.bars_vector(pullback(case.cotangent(d))) for d in w.T], axis=1)


def _is_close(have: Any, want: Any, slack: Any) -> bool:
    return bool(np.all(np.abs(have - want) <= slack))


def _named(case: Case, have: Any, want: Any) -> str | None:
    """Name what single images show; None if that is nothing."""
    if np.any(np.isnan(have)):
        return "NaN"
    if not np.any(have):
        return "zero"
    return name_ratio(have, want, single=False) or (None if case.pick is None else "")


def _name_push(case: Case, have: Any, want: Any, slack: Any) -> str:
    if (name := _named(case, have, want)) is not None:
        return name
    if _is_close(have, _conjugate(case.raw, want), slack):
        return "conjugated"
    rows = np.flatnonzero(np.any(np.abs(have - want) > slack, axis=1))
    if len(rows) == 1 < len(want):
        label = case.raw.labels()[int(rows[0])]
        return f"one element of {len(want)} ({label} of the result)"
    return ""


def _name_pull(case: Case, u: Any, w: Any, want: Any, part: Coordinates) -> str:
    bars = _pulls(case, w)
    if (name := _named(case, bars.T @ u, want)) is not None:
        return name
    slack = 1e-6 * scale_of(want)
    u_conj, bars_conj = _conjugate(case.inputs, u), _pulls(case, _conjugate(case.raw, w))
    guesses = bars.T @ u_conj, bars_conj.T @ u, bars_conj.T @ u_conj
    if any(_is_close(guess, want, slack) for guess in guesses):
        return "conjugated"
    shape = part.shape
    if part.kind == "real" and len(shape) > 1 and shape[-1] == shape[-2] and len(case.parts) == 1:
        swapped = np.swapaxes(u.reshape(*shape, -1), -2, -3).reshape(u.shape)
        if _is_close(bars.T @ swapped, want, slack):
            return "transposed"
    return ""


def _conjugate(of: Coordinates, vectors: Any) -> Any:
    """Turn the sign of imaginary parts."""
    return np.stack([of.vector(_conjugated(of.tangent(d))) for d in vectors.T], axis=1)


def _conjugated(t: Any) -> Any:
    return t.map_with(lambda _, part: _conjugated(part)) if hasattr(t, "map_with") else np.conj(t)
