"""What `minimize` gives is a minimum: a saddle point or a maximum is an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

import chainrules_scipy
from chainrules_kit.solvers.dense import falls
from chainrules_py import ConvergenceError
from chainrules_py.ops import minimize
from chainrules_tape import grad

_rng = np.random.default_rng(0)


@pytest.mark.parametrize(
    "f, x0",
    [
        (lambda z: z[0] ** 2 - z[1] ** 2, np.ones(2)),
        (lambda z: z[0] ** 2 - z[1] ** 2, np.ones(2, np.float32)),
        (lambda z: z[0] ** 2 - z[1] ** 2, (1.0, 1.0)),
        (lambda z: z[0] * z[1], np.ones(2)),
        (lambda z: z[0] * z[1], (1.0, 1.0)),
        (lambda z: -z * z, 0.0),
        (lambda z: np.sum(z[:, 0] ** 2 - z[:, 1] ** 2), np.ones((3, 2))),
    ],
)
def test_saddle_points_and_maxima(f: Any, x0: Any):
    batch = 1 if np.ndim(x0) == 2 else 0
    with pytest.raises(ConvergenceError, match="no minimum"):
        minimize(f, x0, batch=batch)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("x0", [np.ones(2), (1.0, 1.0), np.ones(2, np.float32)])
def test_minima(x0: Any, scale: float):
    """Unknowns in other units, and a form that is nearly flat."""
    f = lambda z: scale * ((z[0] - 2.0) ** 2 + z[0] * z[1] + 0.2501 * z[1] ** 2) + z[1] ** 4
    x = minimize(f, x0)
    assert f(x) <= f(x0)


def test_where_somebody_else_found_the_place():
    """Then the Hessian is known when a derivative is asked for."""

    def saddle(a: Any) -> Any:
        return minimize(
            lambda z: (z[0] - a) ** 2 - (z[1] - a) ** 2,
            np.ones(2),
            solver=lambda f, x0: np.array([2.0, 2.0]),
        )[0]

    with pytest.raises(ConvergenceError, match="no minimum"):
        grad(saddle)(2.0)
    with chainrules_scipy.install():

        def scipys(a: Any) -> Any:
            f = lambda z: (z[0] - a) ** 2 - (z[1] - a) ** 2
            return scipy.optimize.minimize(f, np.full(2, 2.0)).x[0]

        with pytest.raises(ConvergenceError, match="no minimum"):
            grad(scipys)(2.0)


@pytest.mark.parametrize(
    "f, near, truth",
    [
        (lambda x: np.log(np.cosh(x - 0.7)) + 0.1 * x, 0.59966465, 0.7 - np.arctanh(0.1)),
        (lambda x: (1e6 + x) ** 2 - 1e12 - 2e6 * x, 1e-3, 0.0),
        (lambda x: np.sum(np.cosh(x) + 0.5 * np.expm1(x) ** 2), np.full(300, 1e-9), 0.0),
    ],
)
def test_a_start_at_the_minimum(f: Any, near: Any, truth: float):
    """The values there differ by rounding errors alone."""
    np.testing.assert_allclose(minimize(f, near), truth, atol=1e-9)


def test_a_stationary_point_above_the_start():
    with pytest.raises(ConvergenceError, match="greater than at the start"):
        minimize(lambda x: (x * x - 1.0) ** 2 + 0.3 * x, 1.325, max_steps=1)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_signs_of_forms(n: int):
    """By eigenvalues and by elimination, of matrices of all ranks and units."""
    for _ in range(60):
        rank = int(_rng.integers(0, n + 1))
        signs = _rng.choice([1.0, 1.0, -1.0], rank)
        a = _rng.normal(size=(n, rank))
        units = 10.0 ** _rng.integers(-3, 4, n)
        matrix = units[:, None] * ((a * signs) @ a.T) * units
        known = np.linalg.eigvalsh((a * signs) @ a.T)
        if n > rank + 1 or np.min(np.abs(known), initial=1.0, where=np.abs(known) > 1e-9) < 1e-3:
            continue
        negative = bool((known < -1e-6).any())
        assert falls(matrix) == negative
