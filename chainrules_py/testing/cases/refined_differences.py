"""Differences again where a rule disagrees with them: closer by, and number by number.

At first one step serves all numbers of an operand. It is too long near jumps, and for a number far
smaller than those beside it; and rounding of operands may change a derivative by more than values
alone show.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from chainrules_py.testing.cases.case import Case
from chainrules_py.testing.cases.differences import derivative, slopes

_CLOSER, _MIXED = (0, 11, 22, 33), (13, 22, 33)
Images: TypeAlias = Callable[[Case], Any]


def look_again(case: Case, images: Images, want: Any, allowed: Any) -> tuple[Any, Any]:
    """Return the refined differences to compare with a rule, and their tolerances.

    ``images`` returns the derivatives of a case, with a column for each input direction; ``want``
    and ``allowed`` are those of `Case.judged`.
    """
    have = images(case)
    with np.errstate(all="ignore"):
        if not np.any(_is_wrong(have, want, allowed)):
            return want, allowed
        want, allowed = want.copy(), allowed.copy()
        for j in range(want.shape[1]):
            _look_at_column(case, j, have[:, j], want, allowed)
        wrong = _is_wrong(have, want, allowed)
        if np.any(wrong) and not case.is_large:
            rounding = _rounding_of_rule(case, images)
            allowed[wrong] = np.fmax(allowed, rounding)[wrong]
    case.say_fine_structure()
    return want, allowed


def _is_wrong(have: Any, want: Any, allowed: Any) -> Any:
    same = (have == want) | (np.isnan(have) & np.isnan(want)) | np.isinf(allowed)
    return ~(same | (np.abs(have - want) <= allowed))


def _look_at_column(case: Case, j: int, have: Any, wants: Any, slacks: Any) -> None:
    want, allowed = wants[:, j], slacks[:, j]
    places = np.flatnonzero(_is_wrong(have, want, allowed))
    if not len(places):
        return
    d, n = case.u[:, j], len(case.steps)
    is_single = np.count_nonzero(d) <= 1
    if not is_single and case.has_singles:
        # A derivative is linear: a mixture shows no more than its parts. Where a part was compared
        # at shorter steps, differences along the mixture are inconclusive.
        parts, first = wants[places, :n], [a[places, :n] for a in case.judged()[:2]]
        near = np.abs(parts @ d - have[places]) <= 1e-6 * np.abs(parts) @ np.abs(d)
        near &= np.all(np.isfinite(first[1]), axis=1)
        closer = (parts != first[0]) | (slacks[places, :n] != first[1])
        lost = np.isinf(first[1]).any(axis=1) & (not case.jointly)  # but for equal numbers
        allowed[places[near | lost | closer.any(axis=1)]] = np.inf
        return
    wide, gap = case.wide(), np.abs(have - want)[places]
    there = lambda t: case.value_there(wide.moved(t * d))[places]
    size = 1.0 / np.max(np.abs(d) / case.steps)
    number = np.abs(case.bars_vector(case.operands)) @ np.abs(d)
    size = number / np.sum(d * d) if is_single and number else size
    closer_by = _CLOSER if is_single else _MIXED
    looked = [derivative(there, size * 2.0**-n) for n in closer_by]
    for found, error in looked:
        near = np.abs(have[places] - found) <= np.maximum(allowed[places], 10 * error)
        taken = near & (10 * error < 0.4 * gap)
        want[places[taken]] = have[places[taken]]
        gap[taken] = 0.0
    lost = np.zeros(len(places), bool)
    if not is_single:  # some have no derivative, though by chance they seemed to
        found, error = looked[0]
        lost = 50 * error > case.settling * np.fmax(np.abs(found), np.abs(have[places] - found))
        want[places] = np.where(gap != 0.0, found, want[places])
        allowed[places] = np.maximum(allowed[places], 10 * error)
    allowed[places[lost & (gap != 0.0)]] = np.inf


def _rounding_of_rule(case: Case, images: Images) -> Any:
    """Measure the effect of the last digits of operands and of the value on derivatives."""
    numbers = np.maximum(np.abs(case.bars_vector(case.operands)), 1e-6 * case.steps)
    lengths = np.max(np.abs(case.u) / numbers[:, None], axis=0, initial=0.0)
    values = np.multiply.outer(np.abs(case.seen(case.y)), lengths)
    apart = 8 * jitter(case, images, case.precision)
    if not case.is_extreme:
        apart = np.minimum(apart, 1e-2 * np.abs(images(case)))
    return apart + 16 * case.precision * values


def jitter(case: Case, images: Images, digits: float) -> Any:
    """Measure how much derivatives change if operands change in their last digits."""
    rng = np.random.default_rng(3)
    numbers, here = digits * np.abs(case.bars_vector(case.operands)), images(case)
    apart = np.zeros(here.shape)
    for _ in range(4):
        steps = rng.choice([-2.0, -1.0, 1.0, 2.0], len(numbers)) * numbers
        with contextlib.suppress(Exception):  # the rule raises there
            there = images(case.beside(tuple(case.inputs.moved(steps))))
            apart = np.fmax(apart, np.abs(there - here))
    return apart


def slopes_at(case: Case, j: int, digits: int) -> tuple[Any, Any, Any]:
    """Compute the one-sided quotients along an input direction, and their tolerance."""
    wide, d = case.wide(), case.u[:, j]
    size = 1.0 / max(float(np.max(np.abs(d) / case.steps, initial=0.0)), 1e-300)
    return slopes(lambda t: case.value_there(wide.moved(t * d)), size, digits)


def is_vertical(case: Case, j: int, least: float = 0.0) -> Any:
    """Return for each number of the result whether its quotients have no limit.

    They have none at a jump, at a vertical tangent, and at the edge of a domain. Where quotients
    closer by are less than ``least`` times the others, the limit is 0.
    """
    near, nearer = slopes_at(case, j, 20), slopes_at(case, j, 30)
    lost = np.zeros(len(case.sizes), bool)
    for there, closer in zip(near[:2], nearer[:2], strict=True):
        slack = 0.05 * np.abs(closer) + near[2] + nearer[2]
        apart = (np.abs(closer - there) > slack) & (np.abs(closer) >= least * np.abs(there))
        lost |= ~(np.isfinite(there) & np.isfinite(closer)) | apart
    return lost
