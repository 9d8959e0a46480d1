"""Hares and lynxes: Lotka and Volterra's equations, fitted to the pelts of 1900 to 1920.

Thousands of pelts that the Hudson's Bay Company collected: Hewitt, The Conservation of the Wild
Life of Canada (1921). The rates and the first numbers are fitted to the logarithms, by residuals
whose Jacobian is that of SciPy's solve_ivp.
"""

from __future__ import annotations

import numpy as np
import scipy.integrate
import scipy.optimize

import chainrules_scipy
from chainrules_tape import jacobian

HARES = [
    *(30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1),
    *(40.3, 57.0, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7),
]
LYNXES = [
    *(4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4),
    *(8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6),
]
pelts = np.array([HARES, LYNXES])
years = np.arange(21.0)


def populations(p: np.ndarray) -> np.ndarray:
    """Return the numbers of both in each year, of the logarithms of rates and first numbers."""
    birth, catch, death, growth, hares, lynxes = np.exp(p)

    def change(t: float, y: np.ndarray) -> np.ndarray:
        return np.stack([y[0] * (birth - catch * y[1]), y[1] * (growth * y[0] - death)])

    start = np.stack([hares, lynxes])
    found: np.ndarray = scipy.integrate.solve_ivp(
        change, (0.0, 20.0), start, t_eval=years, rtol=1e-6, atol=1e-6
    ).y
    return found


def residuals(p: np.ndarray) -> np.ndarray:
    """Return how far the logarithms are from those of the pelts."""
    found: np.ndarray = np.log(populations(p) / pelts).reshape(-1)
    return found


def fit(steps: int = 50) -> scipy.optimize.OptimizeResult:
    """Fit, from a guess near what biologists say."""
    start = np.log([0.5, 0.025, 0.8, 0.025, 30.0, 4.0])
    with chainrules_scipy.install():
        return scipy.optimize.least_squares(
            residuals, start, jac=jacobian(residuals), max_nfev=steps
        )


if __name__ == "__main__":
    names = ("births of hares", "their deaths", "deaths of lynxes", "their births")
    for name, value in zip(names, np.exp(fit().x), strict=False):
        print(f"{name:18} {value:.4f}")
