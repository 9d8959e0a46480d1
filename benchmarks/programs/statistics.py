"""Losses of statistics: linear models, survival, a mixed model, variational inference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.programs.program import Program

# ------------------------------------------------------------------------- counts


def poisson(xp: Any) -> Callable[..., Any]:
    """Build the loss of counts whose logarithms are linear."""

    def loss(w: Any, x: Any, y: Any) -> Any:
        eta = x @ w
        return xp.sum(xp.exp(eta) - y * eta) / x.shape[0]

    return loss


def poisson_by_hand(w: Any, x: Any, y: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the loss of counts and its gradient."""
    n, eta = x.shape[0], x @ w
    rate = np.exp(eta)
    return np.sum(rate - y * eta) / n, (((rate - y) / n) @ x,)


def poisson_inputs() -> tuple[Any, ...]:
    """Weights, points, counts."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 8))
    return 0.2 * rng.normal(size=8), x, rng.poisson(2.0, size=500).astype(float)


def negative_binomial(xp: Any) -> Callable[..., Any]:
    """Build the loss of counts that scatter more; Gamma's quotients are sums of logarithms."""

    def loss(w: Any, size: Any, x: Any, y: Any, counts: Any, ks: Any) -> Any:
        r, eta, n = xp.exp(size), x @ w, x.shape[0]
        apart = xp.sum(counts * xp.log(r + ks)) + n * r * size
        return -(apart - xp.sum((r + y) * xp.log(r + xp.exp(eta)) - y * eta)) / n

    return loss


def negative_binomial_by_hand(
    w: Any, size: Any, x: Any, y: Any, counts: Any, ks: Any
) -> tuple[Any, tuple[Any, ...]]:
    """Compute the loss of counts that scatter more and its gradient."""
    r, eta, n = np.exp(size), x @ w, x.shape[0]
    rate = np.exp(eta)
    both, above, shifted = r + rate, r + y, r + ks
    logs = np.log(both)
    apart = np.sum(counts * np.log(shifted)) + n * r * size
    value = -(apart - np.sum(above * logs - y * eta)) / n
    share = above / both
    r_bar = np.sum(counts / shifted) + n * size + n - np.sum(logs) - np.sum(share)
    return value, (((share * rate - y) / n) @ x, -r * r_bar / n)


def negative_binomial_inputs() -> tuple[Any, ...]:
    """Weights, the logarithm of the size, points, counts, how many counts exceed a number."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(400, 6)), rng.negative_binomial(3, 0.4, size=400).astype(float)
    ks = np.arange(y.max())
    counts = np.sum(y[:, None] > ks, axis=0).astype(float)
    return 0.2 * rng.normal(size=6), np.asarray(0.5), x, y, counts, ks


# ----------------------------------------------------------------------- classes


def softmax(xp: Any) -> Callable[..., Any]:
    """Build the cross-entropy of classes."""

    def loss(w: Any, b: Any, x: Any, labels: Any) -> Any:
        z = x @ w + b
        return xp.sum(xp.log(xp.sum(xp.exp(z), 1)) - xp.sum(z * labels, 1)) / x.shape[0]

    return loss


def softmax_by_hand(w: Any, b: Any, x: Any, labels: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the cross-entropy of classes and its gradient."""
    n, z = x.shape[0], x @ w + b
    e = np.exp(z)
    total = np.sum(e, 1)
    value = np.sum(np.log(total) - np.sum(z * labels, 1)) / n
    z_bar = (e / total[:, None] - labels) / n
    return value, (x.T @ z_bar, np.sum(z_bar, 0))


def softmax_inputs() -> tuple[Any, ...]:
    """Weights, offsets, points, and labels as rows of the identity."""
    rng = np.random.default_rng(0)
    labels = np.eye(5)[rng.integers(0, 5, 300)]
    return rng.normal(size=(10, 5)), rng.normal(size=5), rng.normal(size=(300, 10)), labels


def hinge(xp: Any) -> Callable[..., Any]:
    """Build the squared hinge loss of a linear classifier, with a penalty."""

    def loss(w: Any, x: Any, labels: Any) -> Any:
        margin = 1.0 - labels * (x @ w)
        short = xp.where(margin > 0, margin, 0.0)
        return xp.sum(short * short) / x.shape[0] + 0.01 * xp.sum(w * w)

    return loss


def hinge_by_hand(w: Any, x: Any, labels: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the squared hinge loss and its gradient."""
    n, margin = x.shape[0], 1.0 - labels * (x @ w)
    short = np.where(margin > 0, margin, 0.0)
    value = np.sum(short * short) / n + 0.01 * np.sum(w * w)
    return value, ((labels * short * (-2.0 / n)) @ x + 0.02 * w,)


def hinge_inputs() -> tuple[Any, ...]:
    """Weights, points, labels of 1 and -1."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 20))
    return 0.3 * rng.normal(size=20), x, np.sign(rng.normal(size=1000))


# ---------------------------------------------------------------------- survival


def cox(xp: Any) -> Callable[..., Any]:
    """Build the partial likelihood of proportional hazards; the latest times come first."""

    def loss(w: Any, x: Any, events: Any) -> Any:
        eta = x @ w
        at_risk = xp.cumsum(xp.exp(eta), 0)
        return -xp.sum(events * (eta - xp.log(at_risk))) / x.shape[0]

    return loss


def cox_by_hand(w: Any, x: Any, events: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the partial likelihood and its gradient."""
    n, eta = x.shape[0], x @ w
    e = np.exp(eta)
    at_risk = np.cumsum(e)
    value = -np.sum(events * (eta - np.log(at_risk))) / n
    later = np.cumsum((events / at_risk)[::-1])[::-1]
    return value, (((e * later - events) / n) @ x,)


def cox_inputs() -> tuple[Any, ...]:
    """Weights, points, and whether an event was seen."""
    rng = np.random.default_rng(0)
    x, events = rng.normal(size=(300, 6)), (rng.uniform(size=300) < 0.7).astype(float)
    return 0.3 * rng.normal(size=6), x, events


# ------------------------------------------------------------ a model with random intercepts


def mixed(xp: Any) -> Callable[..., Any]:
    """Build the marginal likelihood of groups that have offsets of their own."""

    def loss(w: Any, noise: Any, spread: Any, x: Any, y: Any) -> Any:
        groups, m = y.shape
        r = y - x @ w
        total = xp.sum(r, 1)
        s, t = xp.exp(2.0 * noise), xp.exp(2.0 * spread)
        v = s + m * t
        squares = xp.sum(r * r) / s - t * xp.sum(total * total) / (s * v)
        return 0.5 * squares + 0.5 * groups * ((m - 1) * xp.log(s) + xp.log(v))

    return loss


def mixed_by_hand(w: Any, noise: Any, spread: Any, x: Any, y: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the marginal likelihood of groups and its gradient."""
    groups, m = y.shape
    r = y - x @ w
    total = np.sum(r, 1)
    s, t = np.exp(2.0 * noise), np.exp(2.0 * spread)
    v = s + m * t
    sv, rr, tt = s * v, np.sum(r * r), np.sum(total * total)
    value = 0.5 * (rr / s - t * tt / sv) + 0.5 * groups * ((m - 1) * np.log(s) + np.log(v))
    r_bar = r / s - (t / sv * total)[:, None]
    s_bar = 0.5 * (t * tt * (s + v) / (sv * sv) - rr / (s * s) + groups * ((m - 1) / s + 1 / v))
    t_bar = 0.5 * (t * tt * m / (sv * v) - tt / sv + groups * m / v)
    w_bar = -(r_bar.reshape(-1) @ x.reshape(-1, x.shape[-1]))
    return value, (w_bar, 2.0 * s * s_bar, 2.0 * t * t_bar)


def mixed_inputs() -> tuple[Any, ...]:
    """Weights, two logarithms of deviations, points and observations by groups."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 8, 5))
    y = rng.normal(size=(40, 1)) + rng.normal(size=(40, 8))
    return rng.normal(size=5), np.asarray(-0.1), np.asarray(0.2), x, y


# ----------------------------------------------------------------- variational inference


def variational(xp: Any) -> Callable[..., Any]:
    """Build the bound of a Bayesian logistic regression, by draws of a normal distribution."""

    def loss(mean: Any, spread: Any, draws: Any, x: Any, labels: Any) -> Any:
        w = mean + xp.exp(spread) * draws
        margin = (w @ x) * labels
        missed = xp.sum(xp.log1p(xp.exp(-margin))) + 0.5 * xp.sum(w * w)
        return missed / draws.shape[0] - xp.sum(spread)

    return loss


def variational_by_hand(
    mean: Any, spread: Any, draws: Any, x: Any, labels: Any
) -> tuple[Any, tuple[Any, ...]]:
    """Compute the bound and its gradient."""
    n, scaled = draws.shape[0], np.exp(spread) * draws
    w = mean + scaled
    e = np.exp(-((w @ x) * labels))
    value = (np.sum(np.log1p(e)) + 0.5 * np.sum(w * w)) / n - np.sum(spread)
    w_bar = ((-labels * e / (1.0 + e)) @ x.T + w) / n
    return value, (np.sum(w_bar, 0), np.sum(w_bar * scaled, 0) - 1.0)


def variational_inputs() -> tuple[Any, ...]:
    """Means, logarithms of deviations, draws, points in columns, labels of 1 and -1."""
    rng = np.random.default_rng(0)
    mean, spread = 0.2 * rng.normal(size=(2, 10))
    draws, x = rng.normal(size=(20, 10)), rng.normal(size=(10, 100))
    return mean, spread, draws, x, np.sign(rng.normal(size=100))


POISSON = Program(
    "Poisson regression 500 x 8", poisson_inputs, 1, poisson, poisson_by_hand, 10, 6, 500
)
NEGATIVE_BINOMIAL = Program(
    "negative binomial regression 400 x 6",
    negative_binomial_inputs,
    2,
    negative_binomial,
    negative_binomial_by_hand,
    7,
    5,
    400,
)
SOFTMAX = Program(
    "softmax regression 300 x 10, 5 classes",
    softmax_inputs,
    2,
    softmax,
    softmax_by_hand,
    4,
    3,
    1500,
)
HINGE = Program("squared hinge 1000 x 20", hinge_inputs, 1, hinge, hinge_by_hand, 10, 6, 1000)
COX = Program("Cox partial likelihood n = 300", cox_inputs, 1, cox, cox_by_hand, 8, 6, 300)
MIXED = Program(
    "random intercepts, 40 groups of 8", mixed_inputs, 3, mixed, mixed_by_hand, 10, 7, 320
)
VARIATIONAL = Program(
    "variational logistic regression, 20 draws",
    variational_inputs,
    2,
    variational,
    variational_by_hand,
    5,
    4,
    2000,
)
