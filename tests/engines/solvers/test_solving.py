"""Solvers on plain values: what they find, what they say where they do not, and when they come."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from chainrules_py import ConvergenceError, NotDifferentiableError, RuleError
from chainrules_py.vocabulary import fixed_point, linear_solve, minimize, root
from chainrules_py.vocabulary.higher_order import check_isolated


def printed(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_package_comes_with_the_first_of_its_words():
    """Not with the core, an engine, or a word of another family."""
    code = (
        "import sys, numpy as np\n"
        "from chainrules_py import frule, vocabulary as v\n"
        "from chainrules_tape import grad\n"
        "grad(lambda x: np.sum(np.exp(x)))(np.ones(2))\n"
        "print('chainrules_solvers' in sys.modules)\n"
        "print(v.root(lambda x: x * x - 4.0, 1.0))\n"
        "print('chainrules_solvers' in sys.modules)"
    )
    assert printed(code) == ["False", "2.0", "True"]


def test_what_somebody_else_computes_comes_before():
    code = (
        "from typing import Any\n"
        "from chainrules_py.vocabulary import root\n"
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
    with pytest.raises(ConvergenceError, match="falls without end"):
        minimize(lambda x: -x, 0.0)
    with pytest.raises(ConvergenceError, match="singular to working precision"):
        linear_solve(lambda y: np.ones((2, 2)) @ y, np.ones(2))
    with pytest.raises(ConvergenceError, match="norm of the residual"):
        linear_solve(lambda y: np.diag([1.0, 0.0]) @ y, np.ones(2), solver="gmres")
    with pytest.raises(ConvergenceError, match="curvature -1"):
        linear_solve(lambda y: -y, np.ones(2), solver="cg")
    with pytest.raises(ConvergenceError, match="singular where the norm of the residual is 4"):
        root(lambda x: x * x - 4.0, 0.0)


def test_solver_that_did_not_solve_is_noticed():
    with pytest.raises(ConvergenceError, match=r"no solution: the norm of the residual is 0\.5"):
        root(lambda x: x - 2.0, 0.0, solver=lambda f, x0: 1.5)
    assert root(lambda x: x - 2.0, 0.0, solver=lambda f, x0: 1.9, tol=0.1) == 1.9


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
    assert check_isolated(lambda x: x * x - 4.0, 2.0, **how) is None
    with pytest.raises(NotDifferentiableError, match=r"root: the Jacobian.*singular"):
        check_isolated(lambda x: x * x, 0.0, **how)
