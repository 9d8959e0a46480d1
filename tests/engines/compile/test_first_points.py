"""The first call compares a program with its function: here it is a point at which others agree.

Of a matrix of ones, or of zeros, many functions give the same; a pass that takes one for the other
is seen at the next point alone.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from chainrules_compile import RecordingError, compile
from chainrules_py.extend import flatten
from chainrules_tape import grad, hessian, jvp, value_and_grad
from tests.engines.compile.shadow import alike as agrees
from tests.engines.compile.test_forms import CALLS, answer
from tests.surface.point import Point

pytestmark = pytest.mark.filterwarnings("ignore")


def alike(x):
    """Yield arrays of which many functions give the same: ones, zeros, a single one, the unit."""
    yield np.ones_like(x)
    yield np.zeros_like(x)
    first = np.zeros_like(x)
    first.flat[:1] = 1
    yield first
    if x.ndim == 2:
        yield np.eye(*x.shape, dtype=x.dtype)


def check(call):
    """Record a call where it is easily taken for another, and run its program elsewhere."""
    point = Point(call)
    if not point.xs:
        return

    def total(*xs):
        found = [y for y in flatten(point.value(*xs))[0] if hasattr(y, "dtype")]
        return sum([np.sum(np.abs(y)) for y in found if y.dtype.kind in "fciu"])

    places = tuple(range(len(point.xs)))
    for f in (point.value, value_and_grad(total, argnums=places)):
        wanted = answer(f, point.xs)
        if isinstance(wanted, type):
            continue
        starts = [list(alike(x)) if isinstance(x, np.ndarray) else [1.0, x] for x in point.xs]
        for k in range(max(map(len, starts))):
            compiled = compile(f)
            try:
                compiled(*[found[k % len(found)] for found in starts])
                found = compiled(*point.xs)
            except RecordingError:
                break
            except Exception:  # of NumPy, at such a point
                continue
            assert agrees(f, point.xs, {}, found, wanted), (
                f"{call} after point {k}:\n{compiled.explain()}"
            )


@pytest.mark.parametrize("order", [2, None])
def test_norms_of_matrices_are_taken_by_their_order(order):
    """Of a matrix of rank one the length of all elements is the largest singular value."""
    f = lambda x: np.linalg.norm(x, ord=order)
    compiled = compile(f)
    compiled(np.diag([1.0, 0.0, 0.0]))
    x = np.arange(9.0).reshape(3, 3) + np.eye(3)
    assert compiled(x) == f(x)


@pytest.mark.parametrize("call", CALLS[7::150], ids=str)
def test_programs_of_points_where_functions_agree(call):
    check(call)


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS, ids=str)
def test_programs_of_points_where_all_functions_agree(call):
    check(call)


OF_OBJECTS: dict[str, Any] = {
    "max": lambda s: np.max([s, 1.0]) * np.ones(2),
    "min": lambda s: np.min([s, 1.0]) * np.ones(2),
    "method": lambda s: np.array([s, 1.0]).max() * np.ones(2),
    "nan_to_num": lambda s: np.nan_to_num([s, 1.0]) * np.ones(2),
    "norm": lambda s: np.linalg.norm([s, 1.0], np.inf) * np.ones(2),
    "median": lambda s: np.median([s, 1.0, 5.0]) * np.ones(2),
    "of a logarithm": lambda s: np.max([np.log(s), 1.0]) * np.ones(2),
    "clip": lambda s: np.clip(np.array([s, 1.0]), 0.0, 2.0) * np.ones(2),
    "array without axes": lambda s: np.array(s) / 3,
    "sort": lambda s: np.sort([s, 1.0, 0.5]) * np.ones(3),
}
"""Functions that make an array of a number: an array of objects, while they are recorded."""


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("of", [float, np.float64, np.float32, np.array])
@pytest.mark.parametrize("name", OF_OBJECTS)
@pytest.mark.filterwarnings("ignore")
def test_an_array_of_a_number_is_one_of_numbers_wherever_it_is(
    name: str, of: Any, target: Any
) -> None:
    f = OF_OBJECTS[name]
    for places in ((0.5, 0.5, np.nan, 2.0, -1.0, np.inf, -np.inf), (2.0, 2.0, np.nan, 0.5, -3.0)):
        compiled = compile(f, target=target)
        for s in map(of, places):
            np.testing.assert_array_equal(compiled(s), f(s))


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_an_array_of_numbers_stays_a_program(target: Any) -> None:
    f = lambda s, t: np.array([[np.cos(s), -t], [t, 1.0]]) @ np.ones(2) * (1.0 if s > 0 else 2.0)
    compiled = compile(f, strict=True, target=target)
    for s, t in ((0.5, 1.0), (0.7, 2.0), (-0.3, 1.0), (0.5, 3.0)):
        np.testing.assert_allclose(compiled(s, t), f(s, t), rtol=1e-15)
    assert len(compiled.programs) == 2


WRITES = {
    "assigned": lambda b, s, t: operator.setitem(b, 1, np.array([s, 2 * t])),
    "in place": lambda b, s, t: operator.isub(b[0], np.array([s, 2 * t])),
    "in all rows": lambda b, s, t: operator.iadd(b, np.array([s, 1.0])),
    "copied": lambda b, s, t: np.copyto(b, np.array([s, t])),
    "put": lambda b, s, t: np.put(b, [0, 5], np.array([s, t])),
}


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("name", WRITES)
def test_an_array_of_numbers_that_is_written_stays_a_program(name: str, target: Any) -> None:
    def f(s: Any, t: Any) -> Any:
        b = np.zeros_like(s, shape=(3, 2))
        WRITES[name](b, s, t)
        return b

    compiled = compile(f, strict=True, target=target)
    for s, t in ((0.5, 1.0), (0.7, 2.0), (-0.3, 1.0)):
        np.testing.assert_array_equal(compiled(s, t), f(s, t))
    assert len(compiled.programs) == 1


OF_PARAMETERS: dict[str, Any] = {
    "difference": lambda p, y: np.sum((y - np.array([p[0], p[1] * p[0]])) ** 2),
    "reflected": lambda p, y: np.sum((np.array([p[0], 1.0]) / y - p[1]) ** 3),
    "number": lambda p, y: np.sum((y[0] ** np.array([p[0], p[1]])) ** 2),
    "rotation": lambda p, y: np.sum(
        (np.array([[np.cos(p[0]), -p[1]], [p[1], np.cos(p[0])]]) @ y) ** 3
    ),
    "row of it": lambda p, y: np.sum(y @ np.array([[p[0], 1.0], [p[1], p[0]]])) ** 2,
    "method": lambda p, y: y.dot(np.array([p[0], p[1] * p[0]])) ** 2,
    "function": lambda p, y: np.dot(np.array([p[0], p[1] * p[0]]), y) ** 2,
    "joined": lambda p, y: np.sum(np.concatenate([y, np.array([p[0], p[1]])]) ** 3),
    "chosen": lambda p, y: np.sum(np.where(y > 1.5, np.array([p[0], p[1]]), y) ** 3),
    "both in it": lambda p, y: np.sum(np.array([p[0], y[0] * p[1]]) * y) ** 2,
    "largest": lambda p, y: np.maximum(y, np.array([p[0] + 3.0, p[1]])).max() ** 2,
    "outer": lambda p, y: np.sum(np.multiply.outer(y, np.array([p[0], p[1]])) ** 2),
    "compared": lambda p, y: np.sum(p**2) * (2.0 if (y > np.array([p[0], p[1]])).all() else 3.0),
}
"""Functions in which an array of the parameters that are differentiated meets data."""


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("name", OF_PARAMETERS)
def test_an_array_of_parameters_beside_an_argument_that_is_data(name: str, target: Any) -> None:
    f, h = OF_PARAMETERS[name], 1e-6
    slope = compile(grad(f), strict=True, target=target)
    push = compile(
        lambda p, y: jvp(lambda q: f(q, y), (p,), (np.array([0.3, -0.4]),))[1], strict=True
    )
    curvature = compile(hessian(f), strict=True)
    for p, y in (
        (np.array([0.7, 1.3]), np.array([1.1, 2.2])),
        (np.array([0.4, 0.9]), np.array([1.3, 1.9])),
    ):
        found = slope(p, y)
        steps = [(f(p + h * e, y) - f(p - h * e, y)) / (2 * h) for e in np.eye(2)]
        np.testing.assert_allclose(found, steps, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(push(p, y), found @ np.array([0.3, -0.4]), rtol=1e-12)
        rows = [(slope(p + h * e, y) - slope(p - h * e, y)) / (2 * h) for e in np.eye(2)]
        np.testing.assert_allclose(curvature(p, y), rows, rtol=1e-5, atol=1e-6)
    assert len(slope.programs) == 1
