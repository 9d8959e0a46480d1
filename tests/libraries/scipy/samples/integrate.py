"""Calls of ``scipy.integrate``."""

from __future__ import annotations

import numpy as np

from tests.libraries.scipy.samples.common import draw, sample

P, Y = np.array([0.7, 1.3]), draw(9)
X = np.linspace(0.0, 1.0, 9) ** 1.2
T = np.linspace(0.0, 1.0, 5)

sample("integrate.trapezoid", Y, X)
sample("integrate.cumulative_trapezoid", Y, X)
sample("integrate.simpson", Y, X, call=lambda f, y, x: f(y, x=x))
sample("integrate.cumulative_simpson", Y, X, call=lambda f, y, x: f(y, x=x))
sample("integrate.romb", Y, np.array(0.5))
sample("integrate.fixed_quad", P, call=lambda f, p: f(lambda x: np.exp(-p[0] * x), 0.0, p[1])[0])
sample(
    "integrate.quad",
    P,
    call=lambda f, p: f(lambda x, a: np.exp(-a * x), 0.0, p[1], args=(p[0],))[0],
)
sample("integrate.quad_vec", P, call=lambda f, p: f(lambda x: np.exp(-p * x), 0.0, 1.0)[0])
sample(
    "integrate.dblquad",
    P,
    call=lambda f, p: f(lambda y, x: np.exp(-p[0] * x * y), 0, p[1], 0, 1)[0],
)
sample(
    "integrate.tplquad",
    P,
    call=lambda f, p: f(
        lambda z, y, x: p[0] * x * y * z, 0, p[1], 0, 1, 0, 1, epsabs=1e-3, epsrel=1e-3
    )[0],
)
sample(
    "integrate.nquad",
    P,
    call=lambda f, p: f(lambda x, y: np.exp(-p[0] * x * y), [[0, 1], [0, p[1]]])[0],
)
sample(
    "integrate.tanhsinh", P, call=lambda f, p: f(lambda x: np.exp(-p[0] * x), 0.0, p[1]).integral
)
sample(
    "integrate.cubature",
    P,
    call=lambda f, p: f(lambda x: np.exp(-p[0] * x[:, 0]), [0.0], [1.0]).estimate,
)
sample("integrate.nsum", P, call=lambda f, p: f(lambda k: np.exp(-p[0] * k), 1, np.inf).sum)
sample(
    "integrate.qmc_quad",
    P,
    call=lambda f, p: (
        f(
            lambda x: np.exp(-p[0] * x[0]),
            [0.0],
            [1.0],
            qrng=__import__("scipy").stats.qmc.Halton(1, seed=0),
        ).integral
    ),
)
sample(
    "integrate.odeint",
    P,
    call=lambda f, p: f(lambda y, t: -p[0] * y, p[1:], T, rtol=1e-10, atol=1e-10),
    step=1e-4,
)
sample(
    "integrate.solve_ivp",
    P,
    call=lambda f, p: f(lambda t, y: -p[0] * y, (0, 1), p[1:], t_eval=T, rtol=1e-10, atol=1e-10).y,
    step=1e-4,
)
sample(
    "integrate.solve_ivp",
    P,
    call=lambda f, p: f(
        lambda t, y, a: -a * y,
        (0, 1),
        p[1:],
        args=(p[0],),
        method="LSODA",
        dense_output=True,
        rtol=1e-10,
        atol=1e-10,
    ).sol(0.5),
    step=1e-4,
)
sample(
    "integrate.solve_bvp",
    P,
    call=lambda f, p: f(
        lambda x, y: np.stack([y[1], -p[0] * y[0]]),
        lambda a, b: np.stack([a[0], b[0] - p[1]]),
        np.linspace(0, 1, 5),
        np.zeros((2, 5)),
        tol=1e-6,
    ).sol(0.5)[0],
    step=1e-3,
)
sample(
    "integrate.ode",
    P,
    call=lambda f, p: f(lambda t, y: -p[0] * y).set_initial_value(p[1:], 0.0).integrate(1.0),
    step=1e-3,
)
sample("integrate.RK45", P, call=lambda f, p: f(lambda t, y: -p[0] * y, 0.0, p[1:], 1.0).y)
