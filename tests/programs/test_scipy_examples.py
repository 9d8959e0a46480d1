"""SciPy's examples: a survival model, and hares and lynxes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize

import chainrules_scipy
from chainrules_tape import jvp

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def program(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_survival():
    """The least without any derivative, and a Hessian of differences."""
    survival = program("survival")
    found, errors = survival.fit()
    again = scipy.optimize.minimize(
        survival.loss, found + 0.3, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}
    )
    np.testing.assert_allclose(found, again.x, atol=1e-4)
    steps = 1e-3 * np.eye(3)
    second = [
        [
            sum(s * t * survival.loss(found + s * a + t * b) for s in (1, -1) for t in (1, -1))
            for a in steps
        ]
        for b in steps
    ]
    variances = np.diagonal(np.linalg.inv(np.array(second) / 4e-6))
    np.testing.assert_allclose(errors, np.sqrt(variances), rtol=1e-4)


def test_lynx_residuals():
    lynx = program("lynx")
    start = np.log([0.5, 0.025, 0.8, 0.025, 30.0, 4.0])
    way, h = np.random.default_rng(0).normal(size=6), 1e-4
    with chainrules_scipy.install():
        found = jvp(lynx.residuals, (start,), (way,))[1]
        tight = [lynx.residuals(start + s * h * way) for s in (1, -1)]
    np.testing.assert_allclose(found, (tight[0] - tight[1]) / (2 * h), atol=1e-2)


@pytest.mark.slow
def test_lynx():
    """Rates by our Jacobian are those by differences."""
    lynx = program("lynx")
    found = lynx.fit().x
    again = scipy.optimize.least_squares(lynx.residuals, found + 0.05, method="lm")
    np.testing.assert_allclose(found, again.x, rtol=1e-3)
