"""Tangents as vectors, and back."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from chainrules_py import NoTangent, Tangent, ZeroTangent
from chainrules_py.testing import Draw, backends, random_tangent, to_numpy
from chainrules_py.testing.cases.calls_from_samples import draw
from chainrules_py.testing.cases.coordinates import Coordinates
from chainrules_py.testing.cases.differences import derivative


@dataclasses.dataclass
class Point:
    place: np.ndarray
    weight: float
    name: str


VALUES = [
    2.0,
    1 + 2j,
    np.float32(2.0),
    np.ones(3),
    np.ones((2, 3), np.complex64),
    np.ones((0, 3)),
    (1.0, np.ones(2)),
    [np.ones(2), "name"],
    {"a": 1.0, "b": np.ones(2)},
    Point(np.ones(2), 3.0, "p"),
]


@pytest.mark.parametrize("x", VALUES, ids=lambda x: type(x).__name__)
def test_coordinates_there_and_back(x):
    of = Coordinates(x)
    vector = np.random.default_rng(0).standard_normal(of.size)
    np.testing.assert_allclose(of.vector(of.tangent(vector)), vector, rtol=1e-6)
    assert len(of.labels()) == of.size
    np.testing.assert_array_equal(of.vector(ZeroTangent()), np.zeros(of.size))


@pytest.mark.parametrize("x", [3, True, "name", None, np.arange(3), np.ones(2, bool)])
def test_what_no_small_step_leads_on_from_has_no_coordinates(x):
    assert Coordinates(x).size == 0
    assert random_tangent(x, 0) == NoTangent()


def test_random_tangent_is_like_its_primal():
    for backend in backends():
        x = backend.asarray(np.ones((2, 3), np.float32))
        t = random_tangent(x, 0)
        assert type(t) is type(x)
        assert (t.shape, t.dtype) == (x.shape, x.dtype)
        assert t.device == x.device
        np.testing.assert_array_equal(to_numpy(t), random_tangent(np.ones((2, 3), np.float32), 0))


def test_random_tangent_of_a_dataclass():
    t = random_tangent(Point(np.ones(2), 3.0, "p"), 0)
    assert isinstance(t, Tangent)
    assert t.place.shape == (2,)
    assert t.name == NoTangent()


@pytest.mark.parametrize(
    "f, expected",
    [
        (lambda t: np.exp([t]), 1.0),
        (lambda t: np.sin([2 * t + 1]), 2 * np.cos(1)),
        (lambda t: np.log([1e-3 + t]), 1e3),
        (lambda t: np.sqrt([2e-4 + t]), 0.5 / np.sqrt(2e-4)),
        (lambda t: np.abs([t + 0.015]), 1.0),
        (lambda t: np.asarray([t**3]), 0.0),
    ],
)
def test_differences_settle_on_the_derivative(f, expected):
    """Near a kink, and near the edge of the domain, at a smaller step."""
    value, error = derivative(f)
    assert abs(value[0] - expected) <= max(1e-10 * abs(expected), 50 * error[0], 1e-12)
    assert error[0] <= 1e-6 * max(1.0, abs(expected))


@pytest.mark.parametrize(
    "f", [lambda t: np.abs([t]), lambda t: np.maximum([t], 0.0), lambda t: np.full(1, np.nan)]
)
def test_differences_at_a_kink_do_not_settle(f):
    """Central differences of the absolute value are 0 at 0, at every step."""
    _, error = derivative(f)
    assert error[0] > 0.01


@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
def test_draws_that_are_apart_are_apart(shape):
    values = np.sort(draw(Draw(shape, apart=0.2), np.random.default_rng(0)), axis=None)
    assert values.size < 2 or np.min(np.diff(values)) >= 0.2
    assert values.size < 2 or -2 <= values[0] <= values[-1] <= 2


def test_draws_that_do_not_fit_are_an_error():
    with pytest.raises(ValueError, match="do not fit"):
        draw(Draw((9,), apart=1.0), np.random.default_rng(0))


@pytest.mark.parametrize(
    "what, kind",
    [(Draw(), "f"), (Draw(kind="int"), "i"), (Draw(kind="bool"), "b"), (Draw(kind="complex"), "c")],
)
def test_draws_have_their_kind(what, kind):
    assert draw(what, np.random.default_rng(0)).dtype.kind == kind


def test_a_draw_without_shape_is_a_python_number():
    assert type(draw(Draw(None), np.random.default_rng(0))) is float
    assert type(draw(Draw(None), np.random.default_rng(0), complex=True)) is complex
