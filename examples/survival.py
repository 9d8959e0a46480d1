"""How long leukaemia stays away: a survival model with censoring, fitted and with standard errors.

Weeks of remission of 42 children, half of them on 6-mercaptopurine: Freireich et al., Blood 21
(1963) 699. Of those that were still well when the study ended, only that is known.

The program is written with SciPy's own names; chainrules_scipy.install() has them take what is
differentiated.
"""

from __future__ import annotations

import numpy as np
import scipy.optimize
import scipy.stats

import chainrules_scipy
from chainrules_tape import grad, hessian

TREATED = (
    *("6", "6", "6", "6+", "7", "9+", "10", "10+", "11+", "13", "16", "17+", "19+", "20+", "22"),
    *("23", "25+", "32+", "32+", "34+", "35+"),
)
OTHERS = (
    *("1", "1", "2", "2", "3", "4", "4", "5", "5", "8", "8", "8", "8", "11", "11", "12", "12"),
    *("15", "17", "22", "23"),
)

weeks = np.array([float(t.rstrip("+")) for t in TREATED + OTHERS])
ended = np.array([not t.endswith("+") for t in TREATED + OTHERS])
treated = np.repeat([1.0, 0.0], [len(TREATED), len(OTHERS)])


def loss(p: np.ndarray) -> float:
    """Return minus the log-likelihood: of a time that ended its density, else of lasting longer.

    The logarithm of time is p[0] + p[1] * treated + exp(p[2]) * noise, as Weibull has it.
    """
    scale, shape = np.exp(p[0] + p[1] * treated), np.exp(-p[2])
    density = scipy.stats.weibull_min.logpdf(weeks, shape, scale=scale)
    beyond = scipy.stats.weibull_min.logsf(weeks, shape, scale=scale)
    found: float = -np.sum(np.where(ended, density, beyond))
    return found


def fit() -> tuple[np.ndarray, np.ndarray]:
    """Return the parameters, and their standard errors: of the inverse of the Hessian."""
    with chainrules_scipy.install():
        found = scipy.optimize.minimize(loss, np.array([2.0, 0.0, 0.0]), jac=grad(loss)).x
        return found, np.sqrt(np.diagonal(np.linalg.inv(hessian(loss)(found))))


if __name__ == "__main__":
    for name, value, error in zip(("intercept", "treated", "log(scale)"), *fit(), strict=True):
        print(f"{name:12} {value:7.3f}  ± {error:.3f}")
