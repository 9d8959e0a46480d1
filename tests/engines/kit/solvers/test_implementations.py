"""Solvers on plain values: what they find, what they say where they do not, and when they come."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from chainrules_py import ConvergenceError, NotDifferentiableError, RuleError
from chainrules_py.ops import fixed_point, linear_solve, minimize, odeint, root
from chainrules_py.ops.higher_order import check_isolated
from chainrules_tape import grad, jvp, linearize


def printed(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_package_comes_with_the_first_of_its_operations():
    """Not with the core, an engine, or an operation of another family."""
    code = (
        "import sys, numpy as np\n"
        "from chainrules_py import frule, ops as v\n"
        "from chainrules_tape import grad\n"
        "grad(lambda x: np.sum(np.exp(x)))(np.ones(2))\n"
        "print('chainrules_kit.solvers' in sys.modules)\n"
        "print(v.root(lambda x: x * x - 4.0, 1.0))\n"
        "print('chainrules_kit.solvers' in sys.modules)"
    )
    assert printed(code) == ["False", "2.0", "True"]


def test_what_somebody_else_computes_comes_before():
    code = (
        "from typing import Any\n"
        "from chainrules_py.ops import root\n"
        "@root.implement\n"
        "def mine(f: Any, x: Any, *rest: Any, **options): return 'mine'\n"
        "print(root(lambda x: x, 1.0))"
    )
    assert printed(code) == ["mine"]


# ----------------------------------------------------------------------- where nothing is found


def test_no_solution_is_reported_with_the_residual():
    with pytest.raises(ConvergenceError, match=r"norm.*1"):
        root(lambda x: x * x + 1.0, 0.5)
    with pytest.raises(ConvergenceError, match="did not settle: the last step is of length"):
        fixed_point(lambda x: 2.0 * x + 1.0, 1.0)
    with pytest.raises(ConvergenceError, match=r"singular where|falls without end"):
        minimize(lambda x: -x, 0.0)
    with pytest.raises(ConvergenceError, match="singular to working precision"):
        linear_solve(lambda y: np.ones((2, 2)) @ y, np.ones(2))
    with pytest.raises(ConvergenceError, match="norm of the residual"):
        linear_solve(lambda y: np.diag([1.0, 0.0]) @ y, np.ones(2), solver="gmres")
    with pytest.raises(ConvergenceError, match="'cg' did not converge"):
        linear_solve(lambda y: np.diag([1.0, -1.0]) @ y, np.ones(2), solver="cg")
    with pytest.raises(ConvergenceError, match="singular where the norm of the residual is 4"):
        root(lambda x: x * x - 4.0, 0.0)


def test_solver_that_did_not_solve_is_noticed():
    with pytest.raises(ConvergenceError, match=r"no solution: the norm of the residual is 0\.5"):
        root(lambda x: x - 2.0, 0.0, solver=lambda f, x0: 1.5)
    assert root(lambda x: x - 2.0, 0.0, solver=lambda f, x0: 1.9, tol=0.1) == 1.9


@pytest.mark.parametrize("x0", [1e-17, 3e-16, 1e-12])
def test_a_start_at_a_root_near_0(x0):
    """There the function is its rounding errors, which are no reason to go on."""
    f = lambda a: root(lambda x: 100 * np.exp(x) - 100 + x - a, x0)
    assert abs(f(0.0)) < 1e-15
    assert abs(grad(f)(0.0) - 1 / 101) < 1e-12


def test_operator_that_is_not_linear_is_noticed():
    with pytest.raises(ConvergenceError, match="may not be linear"):
        linear_solve(lambda y: y + 1.0, np.ones(3))
    with pytest.raises(ConvergenceError, match="batch=1"):
        linear_solve(lambda y: np.cumsum(y), np.ones(3), batch=1)


def test_wrong_structures_are_named():
    with pytest.raises(ValueError, match=r"root solves for float64\[2\].*float64\[3\]"):
        root(lambda x: np.ones(3), np.zeros(2))
    with pytest.raises(ValueError, match="there are none in None"):
        root(lambda x: x, None)
    with pytest.raises(ValueError, match="in the same shapes and order"):
        root(lambda x: x + 1j, np.zeros(2))
    with pytest.raises(ValueError, match="the solver of root started from"):
        root(lambda x: x, np.zeros(2), solver=lambda f, x0: np.zeros(3))
    with pytest.raises(ValueError, match="solver='lu' is none of"):
        linear_solve(lambda y: y, np.zeros(2), solver="lu")
    with pytest.raises(NotDifferentiableError, match="one real number"):
        minimize(lambda x: x, np.zeros(2))


def test_array_that_nobody_registered_is_refused():
    class Foreign:
        dtype, shape = "float64", (2,)

    for call in (
        lambda: root(lambda x: x, Foreign()),
        lambda: root(lambda z: (z[0] - 1.0, z[1]), (0.0, Foreign())),
    ):
        with pytest.raises(RuleError, match="register_array_type"):
            call()


def test_isolated_root_is_told_from_a_multiple_one():
    how = {"name": "root", "linear_solver": None, "batch": 0}
    assert check_isolated(lambda x: x * x - 4.0, 2.0, **how).tolist() == [[4.0]]
    with pytest.raises(NotDifferentiableError, match=r"root: the Jacobian.*singular"):
        check_isolated(lambda x: x * x, 0.0, **how)


# -------------------------------------------------------------------------- claims of the caller

LOPSIDED = np.array([[3.0, 1.0], [0.0, 2.0]])
HERMITIAN = np.array([[2.0, 1j], [-1j, 3.0]])


@pytest.mark.parametrize("a", [LOPSIDED, HERMITIAN * (1 + 0.2j)], ids=["real", "complex"])
@pytest.mark.parametrize("mode", ["value", "reverse", "forward"])
def test_a_claim_of_symmetry_is_checked(a, mode):
    """Reverse mode solved with the matrix itself, and its gradient was another one."""

    def f(b):
        return np.sum(np.real(linear_solve(lambda u: a @ u, b * (1 + 0 * a[0, 0]), symmetric=True)))

    run = {"value": f, "reverse": grad(f), "forward": lambda b: jvp(f, (b,), (b,))}[mode]
    with pytest.raises(ConvergenceError, match="symmetric=True says that matvec is symmetric"):
        run(np.ones(2))


def test_conjugate_gradients_of_a_matrix_that_is_not_symmetric():
    """They may converge, to what is right, and the gradient would be wrong."""
    a = np.array([[2.0, 1e-3], [0.0, 1.0]])
    with pytest.raises(ConvergenceError, match="'cg' says that matvec is symmetric"):
        linear_solve(lambda u: a @ u, np.ones(2), solver="cg", max_steps=100)


@pytest.mark.parametrize("a", [LOPSIDED + LOPSIDED.T, HERMITIAN], ids=["real", "complex"])
def test_a_true_claim_of_symmetry(a):
    def f(b, **how):
        return np.sum(np.real(linear_solve(lambda u: a @ u, b * (1 + 0 * a[0, 0]), **how)))

    np.testing.assert_allclose(
        grad(lambda b: f(b, symmetric=True))(np.ones(2)), grad(f)(np.ones(2)), rtol=1e-12
    )


@pytest.mark.parametrize("operation", [root, fixed_point, minimize])
@pytest.mark.parametrize("solver", ["hybr", 3])
def test_solver_that_is_no_function(operation, solver):
    f = lambda a: operation(lambda x: x * x * 0.1 + a, 0.1, solver=solver)
    for run in (f, grad(f)):
        with pytest.raises(ValueError, match=f"of {operation.__name__} is not a function"):
            run(0.2)


# --------------------------------------------------------------------- unknowns that are complex

# Beside each: the solution as a formula of the real number a.
COMPLEX = {
    "root": (lambda a: root(lambda z: z * z - a * 1j, 1 + 1j), lambda a: np.sqrt(a * 1j)),
    "root: passed": (
        lambda a: root(lambda z, a: z * z - a * 1j, 1 + 1j, a),
        lambda a: np.sqrt(a * 1j),
    ),
    "root: beside a real one": (
        lambda a: root(lambda z: (z[0] * z[0] - z[1] * 1j, z[1] - a), (1 + 1j, 1.0))[0],
        lambda a: np.sqrt(a * 1j),
    ),
    "linear_solve": (
        lambda a: linear_solve(lambda z: z * a * 1j, 1 + 1j),
        lambda a: (1 + 1j) / (a * 1j),
    ),
    "fixed_point": (
        lambda a: fixed_point(lambda z: 0.3 * z + a * a * 1j, 1 + 1j),
        lambda a: a * a * 1j / 0.7,
    ),
    "odeint": (
        lambda a: odeint(lambda z, t: z * a * 1j, 1 + 0j, np.array([0.0, 1.0]))[-1],
        lambda a: np.exp(a * 1j),
    ),
}


@pytest.mark.parametrize("part", [np.real, np.imag])
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_number_as_the_unknown(name, part):
    f, formula = COMPLEX[name]
    h = 1e-5
    truth = part(formula(2.0 + h) - formula(2.0 - h)) / (2 * h)
    g = lambda a: part(f(a))
    for found in (grad(g)(2.0), jvp(g, (2.0,), (1.0,))[1], linearize(g, 2.0)[1](1.0)):
        np.testing.assert_allclose(found, truth, rtol=1e-6, atol=1e-8)
    second = part(formula(2.0 + 1e-3) + formula(2.0 - 1e-3) - 2 * formula(2.0)) * 1e6
    np.testing.assert_allclose(grad(grad(g))(2.0), second, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble])
def test_half_and_longer_floats(dtype):
    """NumPy solves no systems of them; the solvers do, in its dtypes."""
    a = np.array([0.5, 1.0, 1.5], dtype)
    cases = {
        "root": lambda a: root(lambda x, a: x**3 + x - a, 0 * a, a),
        "fixed_point": lambda a: fixed_point(lambda x, a: np.sin(x) / 4 + a, 0 * a, a),
        "linear_solve": lambda a: linear_solve(lambda x: x * (a + 3), a),
        "minimize": lambda a: minimize(lambda x, a: np.sum((x - a) ** 2 + x**4), 0 * a, a),
    }
    rtol = max(20 * np.finfo(dtype).eps, 1e-12)
    for name, f in cases.items():
        y, push = linearize(f, a)
        y_dot = push(np.ones(3, dtype))
        wanted, slopes = jvp(f, (a.astype(float),), (np.ones(3),))
        assert y.dtype == y_dot.dtype == grad(lambda a, f=f: np.sum(f(a)))(a).dtype == dtype, name
        np.testing.assert_allclose(y, wanted, rtol=rtol, err_msg=name)
        np.testing.assert_allclose(y_dot, slopes, rtol=rtol, err_msg=name)
