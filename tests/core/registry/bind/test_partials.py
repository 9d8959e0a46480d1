"""Partials that decide: what they give is asked at every call, and not once."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import frule, primitive, rrule, scalar_rule

DECIDING = {
    "truth": lambda _y, _x, on: 2.0 if on else 1.0,
    "falsehood": lambda _y, _x, on: 1.0 if not on else 2.0,
    "and": lambda _y, _x, on: (on and 2.0) or 1.0,
    "or": lambda _y, _x, on: 1.0 + (on or 0.0),
    "equality": lambda _y, _x, on: 1.0 + (on == 1.0),
    "inequality": lambda _y, _x, on: 2.0 - (on != 1.0),
    "order": lambda _y, _x, on: 2.0 if on > 0.5 else 1.0,
    "identity": lambda _y, _x, on: 1.0 if on is None else 1.0 + on,
    "containment": lambda _y, _x, on: 2.0 if on in (1.0, 7.0) else 1.0,
    "a loop": lambda _y, _x, on: sum([1.0 for _ in range(1 + int(on))]),
    "a default": lambda _y, _x, on=None: 1.0 + on if on else 1.0,
    "a function": lambda _y, _x, on: max(1.0, 2.0 * on),
}


def gate_with(partial):
    @primitive
    def gate(x, on):
        return x * (1.0 + on)

    scalar_rule(gate, partial, None)
    return gate


@pytest.mark.parametrize("partial", DECIDING.values(), ids=list(DECIDING))
@pytest.mark.parametrize("first", [0.0, 1.0])
def test_partials_that_decide_are_asked_at_every_call(partial, first):
    gate = gate_with(partial)
    for on in (first, 1.0 - first, first):
        assert rrule(gate, 3.0, on)[1](1.0)[0] == 1.0 + on
        assert frule((1.0, 0.0), gate, 3.0, on)[1] == 1.0 + on
        x = np.full(2, 3.0)
        np.testing.assert_array_equal(rrule(gate, x, on)[1](np.ones(2))[0], np.full(2, 1.0 + on))
