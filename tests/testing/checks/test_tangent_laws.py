"""The laws of tangent spaces: kept by what we have, and broken ones are found."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

from chainrules_py import register_structure
from chainrules_py.testing import RuleCheckError, backends, check_tangent_type


@dataclasses.dataclass
class Layer:
    weight: np.ndarray
    bias: float
    name: str = "layer"


class Pair(NamedTuple):
    left: float
    right: np.ndarray


VALUES = [
    2.0,
    1 + 2j,
    3,
    True,
    "name",
    np.float32(2.0),
    np.float64(2.0),
    np.asarray(1.5),
    np.ones((2, 3)),
    np.ones((2, 3), np.complex64),
    np.ones((0, 3)),
    np.arange(3),
    (1.0, np.ones(2)),
    (),
    [np.ones(2), "name"],
    {"a": 1.0, "b": np.ones(2)},
    Pair(1.0, np.ones(2)),
    Layer(np.ones((2, 2)), 1.0),
    {"layers": [Layer(np.ones(2), 1.0), Layer(np.ones(3), 2.0)], "rate": 0.1},
]


@pytest.mark.parametrize("primal", VALUES, ids=lambda x: f"{type(x).__name__}")
@pytest.mark.parametrize("seed", [0, 1])
def test_laws_hold(primal, seed):
    assert check_tangent_type(primal, seed=seed).passed


@pytest.mark.parametrize("backend", backends(), ids=str)
def test_laws_hold_on_every_library(backend):
    assert check_tangent_type((backend.asarray(np.ones((2, 3))), 1.0)).passed


def test_class_is_called_for_a_value():
    @dataclasses.dataclass
    class Start:
        x: float = 1.0

    assert check_tangent_type(Start).verdict("move") == "passed"


def test_structure_that_is_rebuilt_wrongly_is_found():
    class Wrong:
        def __init__(self, left, right):
            self.left, self.right = left, right

    register_structure(Wrong, lambda p: vars(p).items(), lambda p, xs: Wrong(xs[1], xs[0]))
    with pytest.raises(RuleCheckError, match="breaks the law of move"):
        check_tangent_type(Wrong(1.0, 2.0))


def test_structure_that_loses_its_type_is_found():
    class Base:
        def __init__(self, x):
            self.x = x

    class Derived(Base): ...

    register_structure(Base, lambda p: vars(p).items(), lambda p, xs: Base(*xs))
    with pytest.raises(RuleCheckError, match="breaks the law of move"):
        check_tangent_type(Derived(1.0))
