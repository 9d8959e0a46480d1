"""SciPy's examples: a survival model, and hares and lynxes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import chainrules_scipy
from chainrules_tape import jvp

pytest.importorskip("scipy")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def program(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_survival():
    """What R's survreg prints for these data."""
    found, errors = program("survival").fit()
    np.testing.assert_allclose(found, [2.248, 1.267, -0.312], atol=1e-3)
    np.testing.assert_allclose(errors, [0.166, 0.311, 0.147], atol=1e-3)


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
    """Near the means that B. Carpenter's case study of Stan (2018) finds with priors."""
    rates = np.exp(program("lynx").fit().x[:4])
    np.testing.assert_allclose(rates, [0.545, 0.028, 0.803, 0.024], rtol=0.05)
