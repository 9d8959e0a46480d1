"""What watching over arrays costs, counted: reads of them, and frames of a warm derivative."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from chainrules_numpy import memory
from chainrules_py.extend import tables, type_info
from chainrules_tape import Tape, grad, jvp, linearize, value_and_grad, vjp
from tests.plain import needs_short_ways

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))
try:
    from benchmarks import counts
finally:
    sys.path.remove(str(ROOT))


def program(x, w):
    return np.sum(np.tanh(x * w + W[: x.size]) * x)


W = np.linspace(0.1, 0.9, 100_000)


def _on_a_tape(x, w):
    with Tape() as tape:
        a, b = tape.variable(x), tape.variable(w)
        y = program(a, b)
    tape.grad(y, (a, b))


DOORS = {
    "grad": lambda x, w: grad(program, (0, 1))(x, w),
    "value_and_grad": lambda x, w: value_and_grad(program)(x, w),
    "vjp": lambda x, w: vjp(program, x, w)[1](1.0),
    "jvp": lambda x, w: jvp(program, (x, w), (np.ones_like(x), np.ones_like(w))),
    "linearize": lambda x, w: linearize(program, x, w)[1](np.ones_like(x), np.ones_like(w)),
    "Tape": _on_a_tape,
}


@pytest.mark.parametrize("door", DOORS)
def test_what_is_read_of_an_array_does_not_depend_on_its_size(door, monkeypatch):
    read = []

    def counting(a, full):
        print = memory.fingerprint(a, full)
        read.append(len(print) // a.itemsize)
        return print

    info = type_info(np.ndarray)
    assert info.memory is not None
    monkeypatch.setattr(info, "memory", info.memory._replace(fingerprint=counting))
    for n in (1000, 100_000):
        DOORS[door](np.linspace(0.2, 0.8, n), np.linspace(0.3, 0.7, n))
    assert max(read, default=0) <= memory.SAMPLE
    assert not (read and "grad" in door)  # there arrays are read-only


LIMITS = {"jvp": 61, "vjp": 76, "grad": 67, "sum": 49}
"""Frames of the project's own: before arrays were watched these were 72, 80, 75 and 57."""


@needs_short_ways
@pytest.mark.parametrize("name", LIMITS)
def test_what_a_warm_derivative_costs(name, monkeypatch):
    for cls in tuple(tables):  # of pandas, where something has imported it
        monkeypatch.delitem(tables, cls)
    x = np.linspace(0.1, 0.9, 100)
    f = lambda x: np.exp(x * x) * 0.5 - np.tanh(x)
    product = lambda x: np.sum(np.sin(x) * x)
    of_product = grad(product)
    calls = {
        "jvp": lambda: jvp(f, (x,), (np.ones(100),)),
        "vjp": lambda: vjp(f, x)[1](np.ones(100)),
        "grad": lambda: of_product(x),
        "sum": lambda: jvp(product, (x,), (np.ones(100),)),
    }
    for _ in range(3):
        calls[name]()
    assert counts.calls(calls[name]) <= LIMITS[name]
