"""Calls of ``scipy.optimize``."""

from __future__ import annotations

import numpy as np

from tests.libraries.scipy.samples.common import draw, sample

P = np.array([1.3, 0.7])
T = np.linspace(0.1, 1.0, 7)
G = draw(6, 2)


def _bowl(p):
    """A convex function whose least place moves with p."""
    return lambda x: ((x - p) ** 2).sum() + 0.1 * (x**4).sum()


for _name in ("bisect", "brenth", "brentq", "ridder", "toms748"):
    sample(
        f"optimize.{_name}",
        P,
        call=lambda f, p: f(lambda x: x**2 * p[1] - p[0], 0.0, 5.0, xtol=1e-13),
        step=1e-4,
    )
sample("optimize.newton", P, call=lambda f, p: f(lambda x: x**2 * p[1] - p[0], 1.0))
sample(
    "optimize.root_scalar",
    P,
    call=lambda f, p: f(lambda x: x**2 * p[1] - p[0], bracket=(0.0, 5.0)).root,
)
sample(
    "optimize.fsolve", P, call=lambda f, p: f(lambda x: x**2 - p, np.ones(2), xtol=1e-13), step=1e-4
)
sample(
    "optimize.root", P, call=lambda f, p: f(lambda x: x**2 - p, np.ones(2), tol=1e-13).x, step=1e-4
)
for _name in (
    "broyden1",
    "broyden2",
    "anderson",
    "newton_krylov",
    "diagbroyden",
):
    sample(
        f"optimize.{_name}",
        P,
        call=lambda f, p: f(lambda x: x - np.cos(x) * p * 0.3, np.ones(2), f_tol=1e-10),
        step=1e-4,
    )
sample(
    "optimize.fixed_point",
    P,
    call=lambda f, p: f(lambda x: np.cos(x) * p * 0.5, np.ones(2), xtol=1e-12),
)
sample("optimize.minimize", P, call=lambda f, p: f(_bowl(p), np.zeros(2), tol=1e-9).x, step=1e-3)
sample("optimize.minimize", P, call=lambda f, p: f(_bowl(p), np.zeros(2), tol=1e-9).fun, step=1e-3)
sample(
    "optimize.minimize",
    P,
    call=lambda f, p: f(_bowl(p), np.zeros(2), bounds=[(0, 0.5), (None, None)], tol=1e-10).x,
    step=1e-3,
)
sample(
    "optimize.minimize",
    P,
    call=lambda f, p: f(_bowl(p), np.zeros(2), bounds=[(0, p[0] * 0.1), (None, None)], tol=1e-10).x,
    step=1e-3,
)
sample(
    "optimize.minimize",
    P,
    call=lambda f, p: (
        f(
            _bowl(p),
            np.zeros(2),
            constraints={"type": "eq", "fun": lambda x: x.sum() - p[0]},
            tol=1e-12,
        ).x
    ),
    step=1e-3,
)
sample(
    "optimize.minimize",
    P,
    call=lambda f, p: (
        f(
            _bowl(p),
            np.zeros(2),
            constraints=[{"type": "ineq", "fun": lambda x: 0.5 * p[1] - x[0]}],
            tol=1e-12,
        ).x
    ),
    step=1e-3,
)
sample(
    "optimize.minimize",
    P,
    call=lambda f, p: f(_bowl(p), np.zeros(2), jac=lambda x: 2 * (x - p) + 0.4 * x**3, tol=1e-9).x,
    step=1e-3,
)
sample(
    "optimize.minimize_scalar",
    P,
    call=lambda f, p: f(lambda x: (x - p[0]) ** 2 + p[1] * x**4).x,
    step=1e-3,
)
for _name in ("fmin_bfgs", "fmin_cg"):
    sample(
        f"optimize.{_name}",
        P,
        call=lambda f, p: f(_bowl(p), np.zeros(2), disp=0, gtol=1e-8),
        step=1e-2,
    )
for _name in ("fmin", "fmin_powell"):
    sample(
        f"optimize.{_name}",
        P,
        call=lambda f, p: f(_bowl(p), np.zeros(2), disp=0, ftol=1e-14, xtol=1e-9),
        step=1e-2,
    )
sample(
    "optimize.fmin_l_bfgs_b",
    P,
    call=lambda f, p: f(_bowl(p), np.zeros(2), approx_grad=True, pgtol=1e-9, factr=10)[0],
    step=1e-2,
)
sample(
    "optimize.fmin_slsqp",
    P,
    call=lambda f, p: f(_bowl(p), np.zeros(2), iprint=0, acc=1e-14),
    step=1e-2,
)
sample(
    "optimize.fmin_tnc",
    P,
    call=lambda f, p: f(_bowl(p), np.zeros(2), approx_grad=True, disp=0, ftol=1e-14)[0],
    step=1e-2,
)
sample(
    "optimize.fminbound",
    P,
    call=lambda f, p: f(lambda x: (x - p[0]) ** 2 + p[1] * x**4, -3, 3, xtol=1e-9),
    step=1e-2,
)
sample("optimize.brent", P, call=lambda f, p: f(lambda x: (x - p[0]) ** 2 + p[1] * x**4), step=1e-2)
sample(
    "optimize.golden", P, call=lambda f, p: f(lambda x: (x - p[0]) ** 2 + p[1] * x**4), step=1e-2
)
sample(
    "optimize.least_squares",
    P,
    call=lambda f, p: (
        f(
            lambda x: x[0] * T + x[1] ** 3 * T**2 - np.sin(p[0] * T) - p[1],
            np.ones(2),
            xtol=1e-13,
            ftol=1e-13,
            gtol=1e-13,
        ).x
    ),
    step=1e-3,
)
sample(
    "optimize.least_squares",
    P,
    call=lambda f, p: (
        f(lambda x: x * p + x**2 - 1.5 * p[0], np.ones(2) * 0.2, bounds=([0, 0], [0.4, 5])).x
    ),
    step=1e-3,
)
sample(
    "optimize.leastsq",
    P,
    call=lambda f, p: f(
        lambda x: x[0] * T + x[1] ** 3 * T**2 - np.sin(p[0] * T) - p[1], np.ones(2), xtol=1e-13
    )[0],
    step=1e-3,
)
sample(
    "optimize.curve_fit",
    np.sin(T),
    call=lambda f, y: f(lambda t, a, b: a * t + b * t**3, T, y)[0],
    step=1e-3,
)
sample(
    "optimize.curve_fit",
    np.sin(T),
    call=lambda f, y: f(lambda t, a, b: a * t + b * t**3, T, y)[1],
    step=1e-4,
)
sample("optimize.nnls", G, draw(6), call=lambda f, a, b: f(a, b)[0])
sample("optimize.lsq_linear", G, draw(6), call=lambda f, a, b: f(a, b, tol=1e-13).x, step=1e-4)
sample(
    "optimize.lsq_linear",
    G,
    draw(6),
    call=lambda f, a, b: f(a, b, bounds=([-0.01, -5], [0.01, 5]), tol=1e-13).x,
    step=1e-4,
)
sample(
    "optimize.linprog",
    np.array([-1.0, -2.0]),
    np.array([[1.0, 1.0], [1.0, 3.0]]),
    np.array([4.0, 6.0]),
    call=lambda f, c, a, b: f(c, A_ub=a, b_ub=b).x,
    step=1e-4,
)
sample(
    "optimize.linprog",
    np.array([-1.0, -2.0]),
    np.array([[1.0, 1.0], [1.0, 3.0]]),
    np.array([4.0, 6.0]),
    call=lambda f, c, a, b: f(c, A_ub=a, b_ub=b).fun,
    step=1e-4,
)
sample(
    "optimize.milp",
    np.array([-1.0, -2.0]),
    call=lambda f, c: f(c, bounds=__import__("scipy").optimize.Bounds(0, 3)).x,
)
sample("optimize.linear_sum_assignment", draw(3, 3), call=lambda f, c: c[f(c)])
sample("optimize.isotonic_regression", draw(7), call=lambda f, y: f(y).x)
sample("optimize.approx_fprime", P, call=lambda f, p: f(p, lambda x: (x**2).sum(), 1e-3))
for _name in ("rosen", "rosen_der", "rosen_hess"):
    sample(f"optimize.{_name}", draw(4))
sample("optimize.rosen_hess_prod", draw(4), draw(4, seed=1))
sample(
    "optimize.basinhopping",
    P,
    call=lambda f, p: f(_bowl(p), np.zeros(2), niter=2, rng=0).x,
    step=1e-2,
)
sample(
    "optimize.differential_evolution",
    P,
    call=lambda f, p: f(_bowl(p), [(-3, 3)] * 2, rng=0, tol=1e-12).x,
    step=1e-2,
)
sample(
    "optimize.dual_annealing",
    P,
    call=lambda f, p: f(_bowl(p), [(-3, 3)] * 2, rng=0, maxiter=50).x,
    step=1e-2,
)
sample("optimize.shgo", P, call=lambda f, p: f(_bowl(p), [(-3, 3)] * 2).x, step=1e-2)
sample("optimize.direct", P, call=lambda f, p: f(_bowl(p), [(-3, 3)] * 2).fun, step=1e-2)
sample(
    "optimize.brute", P, call=lambda f, p: f(_bowl(p), [(-3, 3)] * 2, Ns=5, finish=None), step=1e-2
)
