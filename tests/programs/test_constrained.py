"""Constrained optimisation problems, differentiated through the conditions for their solution."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from chainrules_py.composites.higher_order import minimize, root
from chainrules_py.testing.cases.differences import derivative
from chainrules_tape import grad, jvp, vjp

PATH = Path(__file__).resolve().parents[2] / "examples" / "chain.py"
LENGTHS = np.array([0.4, 0.25, 0.3, 0.45])
WEIGHTS = np.array([1.0, 2.0, 1.5])


@pytest.fixture(scope="module")
def chain():
    spec = importlib.util.spec_from_file_location("chain_example", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -------------------------------------------------------------------------- the hanging chain


def test_the_chain_keeps_to_its_lengths_and_is_in_balance(chain):
    state = chain.hang(LENGTHS, WEIGHTS)
    parts = chain.links(state["places"])
    np.testing.assert_allclose(np.linalg.norm(parts, axis=1), LENGTHS, rtol=1e-12)
    pull = (state["tension"] / LENGTHS)[:, None] * parts
    balance = pull[:-1] - pull[1:] + np.outer(WEIGHTS, [0.0, 1.0])
    np.testing.assert_allclose(balance, 0.0, atol=1e-11)


def test_multipliers_are_what_the_constraints_cost(chain):
    """The envelope theorem: the least energy changes with a length by the tension of its link."""

    def energy(lengths, weights):
        return np.sum(weights * chain.hang(lengths, weights)["places"][:, 1])

    state = chain.hang(LENGTHS, WEIGHTS)
    by_length, by_weight = grad(energy, (0, 1))(LENGTHS, WEIGHTS)
    np.testing.assert_allclose(by_length, -state["tension"], rtol=1e-10)
    np.testing.assert_allclose(by_weight, state["places"][:, 1], rtol=1e-10)


def test_derivatives_of_the_solution_in_every_nesting(chain):
    def loss(lengths):
        state = chain.hang(lengths, WEIGHTS)
        return np.sum(state["places"] ** 2) + np.sum(np.log(state["tension"]))

    u, w = np.random.default_rng(0).standard_normal((2, 4)) / 10
    slope, _ = derivative(lambda t: np.atleast_1d(loss(LENGTHS + t * u)))
    assert grad(loss)(LENGTHS) @ u == pytest.approx(slope[0], rel=1e-8)
    assert jvp(loss, (LENGTHS,), (u,))[1] == pytest.approx(slope[0], rel=1e-8)
    bend, _ = derivative(lambda t: grad(loss)(LENGTHS + t * w))
    products = [
        jvp(grad(loss), (LENGTHS,), (w,))[1],
        grad(lambda at: np.sum(grad(loss)(at) * w))(LENGTHS),
        grad(lambda at: jvp(loss, (at,), (w,))[1])(LENGTHS),
    ]
    for product in products:
        np.testing.assert_allclose(product, bend, rtol=1e-6, atol=1e-6)


def test_a_root_of_a_root(chain):
    heights = chain.hang(LENGTHS, WEIGHTS)["places"][:, 1]

    def lengths(heights):
        return chain.lengths_for(heights, np.sum(LENGTHS), WEIGHTS)

    np.testing.assert_allclose(lengths(heights), LENGTHS, rtol=1e-8)
    u = np.array([0.5, -1.0, 0.3]) / 10
    h = 1e-4
    expected = (lengths(heights + h * u) - lengths(heights - h * u)) / (2 * h)
    np.testing.assert_allclose(jvp(lengths, (heights,), (u,))[1], expected, rtol=1e-5)
    y_bar = np.arange(4.0)
    pulled = vjp(lengths, heights)[1](y_bar)[0]
    assert pulled @ u == pytest.approx(y_bar @ expected, rel=1e-5)


def test_the_example_runs():
    done = subprocess.run([sys.executable, str(PATH)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    tension, slope = (
        next(line for line in lines if line.startswith(start)).partition("[")[2]
        for start in ("tension", "what a longer link")
    )
    assert tension == slope
    true, found = (line.partition("[")[2] for line in lines if line.endswith("0.2081]"))
    assert true == found


# ----------------------------------------------------------------------------- inequalities


def onto_simplex(y):
    """The nearest point with x ≥ 0 and Σ x = 1, by its Karush-Kuhn-Tucker conditions.

    That x ≥ 0, m ≥ 0 and x m = 0 is one smooth equation each (A. Fischer, 1992), wherever not both
    are zero.
    """

    def conditions(z, y):
        x, m, price = z["x"], z["multiplier"], z["price"]
        return {
            "x": x - y + price - m,
            "multiplier": x + m - np.sqrt(x * x + m * m),
            "price": np.sum(x) - 1.0,
        }

    n = y.shape[0]
    start = {"x": np.full(n, 1.0 / n), "multiplier": np.full(n, 0.1), "price": 0.0}
    return root(conditions, start, y)["x"]


def test_projection_onto_the_simplex():
    y = np.array([0.9, -0.3, 0.4, 0.35, -1.0])
    x = onto_simplex(y)
    inside = np.array([True, False, True, True, False])
    np.testing.assert_allclose(x, np.where(inside, y + (1 - y[inside].sum()) / 3, 0.0), atol=1e-12)
    # On the face it is a projection onto a plane.
    expected = np.diag(1.0 * inside) - np.outer(inside, inside) / 3
    for k, e in enumerate(np.eye(5)):
        np.testing.assert_allclose(jvp(onto_simplex, (y,), (e,))[1], expected[:, k], atol=1e-10)
        pulled = vjp(onto_simplex, y)[1](e)[0]
        np.testing.assert_allclose(pulled, expected[k], atol=1e-10)
    bend = jvp(grad(lambda y: np.sum(onto_simplex(y) ** 2)), (y,), (np.ones(5),))[1]
    np.testing.assert_allclose(bend, 2 * expected @ np.ones(5), atol=1e-9)


def test_hyperparameter_of_a_ridge_regression():
    """The outer problem's gradient through the inner one's minimum, against the closed form."""
    rng = np.random.default_rng(1)
    a, b, a_new, b_new = (
        rng.standard_normal((12, 4)),
        rng.standard_normal(12),
        rng.standard_normal((6, 4)),
        rng.standard_normal(6),
    )

    def validation(log_penalty):
        def training(w):
            return np.sum((a @ w - b) ** 2) + np.exp(log_penalty) * np.sum(w * w)

        w = minimize(training, np.zeros(4))
        return np.sum((a_new @ w - b_new) ** 2)

    def closed(log_penalty):
        w = np.linalg.solve(a.T @ a + np.exp(log_penalty) * np.eye(4), a.T @ b)
        return np.sum((a_new @ w - b_new) ** 2)

    for first in (grad, lambda f: lambda x: jvp(f, (x,), (1.0,))[1]):
        assert first(validation)(0.3) == pytest.approx(grad(closed)(0.3), rel=1e-9)
        assert grad(first(validation))(0.3) == pytest.approx(grad(grad(closed))(0.3), rel=1e-8)


@pytest.mark.parametrize("kind", ["linear", "nonlinear", "dict"])
def test_constraints_of_a_product_with_what_is_differentiated(kind):
    """SciPy hands its own buffer to constraints; x[0] is 2 / (p² + 1) on the line p x + y = 1."""
    scipy_optimize = pytest.importorskip("scipy.optimize")
    from chainrules_scipy.optimize import minimize as minimized

    def nearest(p):
        a = np.stack([p, 1.0])
        constraints = {
            "linear": lambda: scipy_optimize.LinearConstraint(a[None], -np.inf, 1.0),
            "nonlinear": lambda: scipy_optimize.NonlinearConstraint(lambda x: a @ x, -np.inf, 1.0),
            "dict": lambda: {"type": "ineq", "fun": lambda x: 1.0 - a @ x},
        }[kind]()
        away = lambda x: np.sum((x - np.array([2.0, 1.0])) ** 2)
        return minimized(away, np.zeros(2), constraints=constraints, method="SLSQP").x[0]

    assert grad(nearest)(1.3) == pytest.approx(-4 * 1.3 / (1.3**2 + 1) ** 2, rel=1e-6)
