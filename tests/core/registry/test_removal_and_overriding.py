"""Layers of rules: stated ones, those that override, and blocks, in any order of coming and going.

The truth is a list: of the layers, the highest that has a rule for a class counts, and in it the
rule of the nearest class.
"""

from __future__ import annotations

import itertools
import random
import threading

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_py import (
    Array,
    LinearMap,
    Numeric,
    explain,
    frule,
    identity,
    overriding,
    primitive,
    rrule,
    rule,
    rules_for,
    unregister,
)
from chainrules_tape import grad, jvp
from chainrules_tape.tools import taylor

OPERANDS = {
    "number": 2.0,
    "narrow": np.ones(2, np.float32),
    "wide": np.ones(2),
}
# What a rule is for, and for which operands it counts; of one layer the nearest class comes
# first.
NEAREST = {
    "float": (float, {"number"}),
    "ndarray": (np.ndarray, {"narrow", "wide"}),
    "Array": (Array, {"narrow", "wide"}),
    "Numeric": (Numeric, {"number", "narrow", "wide"}),
}


def reverse(f, x):
    return np.ravel(grad(lambda x: np.sum(f(x)))(x))[0]


def forward(f, x):
    return np.ravel(jvp(f, (x,), (x * 0 + 1,))[1])[0]


def second(f, x):
    """In forward mode over reverse: of a slope that depends on nothing, beside itself."""
    return np.ravel(jvp(grad(lambda x: np.sum(f(x) * x)), (x,), (x * 0 + 1,))[1])[0] / 2


def through_rrule(f, x):
    return np.ravel(rrule(f, x)[1](x * 0 + 1)[0])[0]


def through_frule(f, x):
    return np.ravel(frule((x * 0 + 1,), f, x)[1])[0]


DOORS = (reverse, forward, second, through_rrule, through_frule)


def of_slope(f, slope):
    """A rule that says that the derivative is this."""
    return lambda x: (f(x), (LinearMap(lambda t: t * slope, lambda t: t * slope),))


class Layers:
    """A function, what is stated about it, and what that means."""

    def __init__(self):
        @primitive
        def zero(x):
            return x * 0

        self.f, self.slopes, self.blocks = zero, itertools.count(1), {}
        self.layers: dict[int, dict[str, float]] = {}
        loss = lambda x: np.sum(zero(x))
        self.compiled = {name: compile(grad(loss)) for name in OPERANDS}

    def rule(self, layer, kind):
        """Return a rule of its own slope, and note what it is for."""
        slope = float(next(self.slopes))
        self.layers.setdefault(layer, {})[kind] = slope
        return of_slope(self.f, slope)

    def state(self, kind, override):
        if kind in self.layers.get(int(override), {}):
            return
        stated = self.rule(int(override), kind)
        rule(self.f, types=(NEAREST[kind][0],), override=override)(stated)

    def open(self, kind):
        layer = 2 + max([*self.layers, *self.blocks, 0])
        stated = self.rule(layer, kind)
        self.blocks[layer] = overriding(self.f, stated, types=(NEAREST[kind][0],))
        self.blocks[layer].__enter__()

    def close(self, layer):
        self.blocks.pop(layer).__exit__(None, None, None)
        del self.layers[layer]

    def slope(self, name):
        for layer in sorted(self.layers, reverse=True):
            for kind, (_, fits) in NEAREST.items():
                if kind in self.layers[layer] and name in fits:
                    return self.layers[layer][kind]
        return None

    def check(self, doors):
        for name, x in OPERANDS.items():
            wanted = self.slope(name)
            if wanted is not None:
                assert [door(self.f, x) for door in doors] == [wanted] * len(doors), name
                assert np.ravel(self.compiled[name](x))[0] == wanted, name
                assert "none" not in repr(explain(self.f, x)).partition("not")[0]


def changes(layers, seed, length):
    """Change the rules of a function at random; yield where to look at them."""
    draw = random.Random(seed)
    for _ in range(length):
        kind = draw.choice(list(NEAREST))
        step = draw.choice(["state", "override", "open", "open", "close", "close"])
        if step == "close" and layers.blocks:
            layers.close(draw.choice(list(layers.blocks)))
        elif step == "open":
            layers.open(kind)
        else:
            layers.state(kind, step == "override")
        yield draw.sample(DOORS, 2)
    for layer in list(layers.blocks):
        layers.close(layer)
    yield DOORS


FEW = [*range(6), *[pytest.param(seed, marks=pytest.mark.nightly) for seed in range(6, 150)]]


@pytest.mark.parametrize("seed", FEW)
def test_the_highest_layer_counts(seed):
    layers = Layers()
    layers.state("Numeric", False)
    for doors in changes(layers, seed, 8):
        layers.check(doors)
    assert max(layers.layers) <= 1
    assert all([s.override <= 1 for s in rules_for(layers.f)])


def test_blocks_of_several_threads():
    """Each has a block for another class; all of them count at once, in every thread."""
    layers = Layers()
    layers.state("Numeric", False)
    layers.state("ndarray", True)
    kinds, wanted = ("float", "ndarray", "Array"), {}
    entered, left = threading.Barrier(3), threading.Barrier(3)
    slopes = {kind: layers.rule(2 + i, kind) for i, kind in enumerate(kinds)}
    failures: list[object] = []

    def run(kind):
        try:
            with overriding(layers.f, slopes[kind], types=(NEAREST[kind][0],)):
                entered.wait(20)
                found = {name: reverse(layers.f, x) for name, x in OPERANDS.items()}
                wanted[kind] = found
                left.wait(20)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(kind,)) for kind in kinds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    of_float, *of_arrays = (layers.layers[i][k] for i, k in enumerate(kinds, 2))
    for found in wanted.values():
        assert found["number"] == of_float
        assert {found["wide"], found["narrow"]} <= {*of_arrays}  # whichever came later
    layers.layers = {i: layers.layers[i] for i in (0, 1)}
    layers.check(DOORS)


def test_the_rule_of_a_block_goes_with_the_block():
    """It is not what `unregister` takes: that could be put back after the block."""
    layers = Layers()
    layers.state("Numeric", False)
    layers.state("float", True)
    layers.open("float")
    assert len(unregister(layers.f, float)) == 1
    del layers.layers[1]
    layers.check(DOORS)
    (block,) = layers.blocks
    layers.close(block)
    layers.check(DOORS)
    assert len(rules_for(layers.f)) == 1


@pytest.mark.parametrize("x", [0.5, np.array([0.5, 1.0])], ids=["number", "array"])
def test_series_take_the_rule_of_a_block(x):
    with overriding(np.sin, lambda x: (np.sin(x), (identity,))):
        found = taylor(np.sin, x, np.ones_like(x), 2)
    np.testing.assert_array_equal(found, [np.sin(x), np.ones_like(x), np.zeros_like(x)])
    assert np.all(taylor(np.sin, x, np.ones_like(x), 1)[1] != 1.0)
