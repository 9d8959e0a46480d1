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
    try:
        part, table = diagnose(small)
    except Exception:  # the rule is for this length alone
        return found
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
        wrong = _wrong_halves(case, u, w)
        if wrong is None:
            return ""
        if "push" in wrong:
            halves["push"][number] = _name_push(case, *wrong["push"])
        if "pull" in wrong:
            halves["pull"][number] = _name_pull(case, u, w, wrong["pull"][1], part)
        for half, images in wrong.items():
            name = halves[half][number] or _one_element(case, half, inside, u, w)
            halves[half][number] = name or (_one_number(case, *images) if half == "push" else "")
    named = {half: names for half, names in halves.items() if names and all(names.values())}
    active = sum(part.size > 0 for part in case.parts)
    told = {
        half: join_operands(case.operand_names(), names, active) for half, names in named.items()
    }
    count = case.has_push + case.has_pull
    return join_halves(told, count, both=count == 2) if told else ""


def _wrong_halves(case: Case, u: Any, w: Any) -> dict[str, tuple[Any, Any, Any]] | None:
    """Return images that are wrong, by halves: given, by differences, and how far they may be."""
    want, error = case.differences(u)
    if not case.smooth or not np.all(np.isfinite(want)):
        return None
    found = {}
    if case.has_push:
        found["push"] = _pushed(case, u), want, 1e-7 * scale_of(want) + 50 * error
    if case.has_pull:
        product, off = w.T @ want, np.abs(w).T @ error
        found["pull"] = _pulls(case, w).T @ u, product, 1e-7 * scale_of(product) + 50 * off
    return {half: images for half, images in found.items() if not _is_close(*images)}


def _one_element(case: Case, half: str, inside: slice, u: Any, w: Any) -> str:
    """Find by halving that the derivatives in one element of an operand alone are wrong."""
    low, high = inside.start, inside.stop
    while high - low > 1:
        middle, wrong = (low + high) // 2, []
        for part in (slice(low, middle), slice(middle, high)):
            there = np.zeros_like(u)
            there[part] = u[part]
            wrong += [part] if half in (_wrong_halves(case, there, w) or ()) else []
        if len(wrong) != 1:
            return ""
        low, high = wrong[0].start, wrong[0].stop
    label = case.inputs.labels()[low] if len(case.parts) > 1 else case.parts[0].labels()[low]
    return f"one element of {inside.stop - inside.start} ({label} of the operand)"


def _one_number(case: Case, have: Any, want: Any, slack: Any) -> str:
    rows = np.flatnonzero(np.any(np.abs(have - want) > slack, axis=1))
    label = case.raw.labels()[int(rows[0])]
    one = len(rows) == 1 < len(want)
    return f"one element of {len(want)} ({label} of the result)" if one else ""


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
    return "conjugated" if _is_close(have, _conjugate(case.raw, want), slack) else ""


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
