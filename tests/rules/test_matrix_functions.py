"""Functions of matrices: both modes against eigenvalues and their divided differences."""

import numpy as np
import pytest

from chainrules_py import frule, rrule
from chainrules_py import ops as v


def along(f, df, w, V, D):
    """The derivative along D by the Daleckii-Krein theorem: Higham, theorem 3.11."""
    gaps = np.subtract.outer(w, w) + np.eye(len(w))
    F = np.where(np.eye(len(w)) > 0, np.diag(df(w)), np.subtract.outer(f(w), f(w)) / gaps)
    return V @ (F * np.linalg.solve(V, D @ V)) @ np.linalg.inv(V)


@pytest.mark.parametrize(
    "operation, f, df",
    [(v.logm, np.log, lambda w: 1 / w), (v.sqrtm, np.sqrt, lambda w: 0.5 / np.sqrt(w))],
    ids=["logm", "sqrtm"],
)
@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")
@pytest.mark.parametrize("draw", range(40))
def test_of_real_matrices_with_negative_eigenvalues(draw, operation, f, df):
    """The value is complex, and both modes stay on the side of the cut that it is on."""
    rng = np.random.default_rng(draw)
    n = int(rng.integers(2, 6))
    V = rng.standard_normal((n, n))
    w = rng.uniform(0.5, 3, n) * np.where(rng.random(n) < 0.5, -1, 1) + 0j
    x = np.real(V @ np.diag(w) @ np.linalg.inv(V))
    D = rng.standard_normal((n, n))
    y, y_dot = frule((D,), operation, x)
    y_bar = rng.standard_normal((n, n)) + (
        1j * rng.standard_normal((n, n)) if np.iscomplexobj(y) else 0
    )
    (x_bar,) = rrule(operation, x)[1](y_bar)
    truth = along(f, df, w, V, D)
    error = 1e-9 * np.linalg.cond(V) ** 2 * max(1, np.max(np.abs(truth)))
    assert np.max(np.abs(y_dot - truth)) < error
    assert abs(np.sum(x_bar * D) - np.sum(np.real(np.conj(y_bar) * truth))) < n * n * error


@pytest.mark.filterwarnings("ignore:logm result may", "ignore:The logm input matrix may")
@pytest.mark.parametrize("scale", [2.0**-465, 2.0**600])
def test_the_logarithm_of_a_scaled_matrix_has_the_slope_divided_by_the_scale(scale):
    x, D = np.array([[3.0, 1.0], [0.5, 2.0]]), np.array([[1.0, 0.3], [-0.2, 0.7]])
    found, truth = frule((D,), v.logm, scale * x)[1], frule((D,), v.logm, x)[1]
    np.testing.assert_allclose(found * scale, truth, rtol=1e-13)
