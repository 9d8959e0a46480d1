"""Models that are fitted: networks, regressions, Gaussians, mixtures, cameras, sequences."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.others.other import Other
from benchmarks.programs import camera, dense, likelihood, mixture, recurrent


def in_single(inputs: Callable[[], tuple[Any, ...]]) -> Callable[[], tuple[Any, ...]]:
    """Turn inputs into single precision."""
    return lambda: tuple([x.astype(np.float32) for x in inputs()])


def mlp(name: str, batch: int, *sizes: int, single: bool = False, small: bool = True) -> Other:
    """Build the cross-entropy of a perceptron."""
    inputs = dense.perceptron_inputs(batch, *sizes)
    return Other(
        name,
        in_single(inputs) if single else inputs,
        6,
        dense.perceptron,
        dense.perceptron_by_hand,
        small=small,
        rtol=1e-4 if single else 1e-9,
    )


def logistic(name: str, points: int, width: int, small: bool) -> Other:
    """Build the loss of a logistic regression."""
    return Other(
        name,
        functools.partial(dense.logistic_inputs, points, width),
        1,
        dense.logistic,
        dense.logistic_by_hand,
        small=small,
    )


# ----------------------------------------------------------------------------- Gaussian densities


def chol_in_jax(jax: Any) -> Callable[..., Any]:
    """Build the density of a Gaussian process with JAX's solver for triangles."""
    solve = jax.scipy.linalg.solve_triangular
    return likelihood.likelihood(jax.numpy, lambda a, b, upper: solve(a, b, lower=not upper))


def by_cholesky(name: str, points: int, small: bool) -> Other:
    """Build the log-density of a Gaussian process, by a Cholesky factor."""
    return Other(
        name,
        functools.partial(likelihood.inputs, points),
        3,
        likelihood.likelihood,
        likelihood.by_hand,
        scanned=chol_in_jax,
        small=small,
    )


def gaussian(xp: Any) -> Callable[..., Any]:
    """Build the log-density of a Gaussian in its mean and covariance, by solve and slogdet."""

    def loss(mean: Any, covariance: Any, x: Any) -> Any:
        off = x - mean
        _, logdet = xp.linalg.slogdet(covariance)
        return -0.5 * (off @ xp.linalg.solve(covariance, off) + logdet)

    return loss


def gaussian_by_hand(mean: Any, covariance: Any, x: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the log-density and its gradient from one inverse."""
    off = x - mean
    inverse = np.linalg.inv(covariance)
    right, left = inverse @ off, off @ inverse
    value = -0.5 * (off @ right + np.linalg.slogdet(covariance)[1])
    covariance_bar = np.outer(left, right)
    covariance_bar -= inverse.T
    covariance_bar *= 0.5
    return value, (0.5 * (left + right), covariance_bar)


def gaussian_inputs(size: int) -> tuple[Any, ...]:
    """Make a mean, a covariance and a point."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(size, size)) / np.sqrt(size)
    return rng.normal(size=size), a @ a.T + np.eye(size), rng.normal(size=size)


def by_solve(name: str, size: int, small: bool) -> Other:
    """Build the log-density of a Gaussian, by solve and slogdet."""
    inputs = functools.partial(gaussian_inputs, size)
    return Other(name, inputs, 2, gaussian, gaussian_by_hand, small=small)


# ------------------------------------------------------------------------------------------ ADBench


def gmm(name: str, points: int, dimension: int, parts: int) -> Other:
    """Build the log-likelihood of ADBench's mixture of Gaussians."""
    inputs = functools.partial(mixture.inputs, points, dimension, parts)
    return Other(name, inputs, 4, mixture.mixture, mixture.by_hand)


def ba(name: str, observations: int, small: bool) -> Other:
    """Build the sum of squares of ADBench's bundle adjustment."""
    inputs = functools.partial(
        camera.inputs, max(observations // 60, 5), max(observations // 3, 8), observations
    )
    return Other(name, inputs, 3, camera.bundle, camera.by_hand, small=small)


def lstm(name: str, steps: int, small: bool) -> Other:
    """Build the loss of a recurrent network of 32 units over so many steps."""
    return Other(
        name,
        functools.partial(recurrent.inputs, steps),
        3,
        recurrent.lstm,
        recurrent.by_hand,
        scanned=recurrent.scanned,
        small=small,
    )


MODELS = (
    mlp("mlp_tiny", 8, 4, 8, 8, 3),
    mlp("mlp_b32", 32, 784, 512, 512, 10, small=False),
    mlp("mlp_b1024", 1024, 784, 512, 512, 10, small=False),
    mlp("mlp_b1024_f32", 1024, 784, 512, 512, 10, single=True, small=False),
    logistic("logreg_200x10", 200, 10, True),
    logistic("logreg_20000x500", 20_000, 500, False),
    by_cholesky("gauss_chol_20", 20, True),
    by_cholesky("gauss_chol_500", 500, False),
    by_solve("gauss_solve_20", 20, True),
    by_solve("gauss_solve_500", 500, False),
    gmm("gmm_N10_d2_K5", 10, 2, 5),
    gmm("gmm_N1000_d10_K25", 1000, 10, 25),
    ba("ba_p10", 10, True),
    ba("ba_p10000", 10_000, False),
    lstm("lstm_T20_h32", 20, True),
    lstm("lstm_T200_h32", 200, False),
)
