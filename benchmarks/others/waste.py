"""Work that nothing needs: results without use, parameters without effect, terms that repeat.

By hand they are computed as they are written; dead code and terms that repeat are what a compiler
is to find.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.others.chains import vector
from benchmarks.others.other import Other
from benchmarks.programs import neighbours
from chainrules_py import LinearMap, primitive, rule

PIECES, PARAMETERS = 200, 200


def pieces(xp: Any, x: Any) -> tuple[Any, ...]:
    """Compute many results, of which the programs use the first."""
    return tuple([xp.sin(x * (1.0 + 0.01 * i)) for i in range(PIECES)])


def of_a_tuple(xp: Any) -> Callable[..., Any]:
    """Build the sum of squares of the first of many results."""

    def loss(x: Any) -> Any:
        first, *_ = pieces(xp, x)
        return xp.sum(first * first)

    return loss


def of_a_tuple_by_hand(x: Any) -> tuple[Any, tuple[Any]]:
    """Compute all results, and the gradient of the first."""
    first, *_ = pieces(np, x)
    return first @ first, (2.0 * first * np.cos(x),)


def of_a_whole(xp: Any) -> Callable[..., Any]:
    """Build the sum of squares of the beginning of many results in one array."""

    def loss(x: Any) -> Any:
        first = xp.concatenate(pieces(xp, x))[: x.shape[0]]
        return xp.sum(first * first)

    return loss


def of_a_whole_by_hand(x: Any) -> tuple[Any, tuple[Any]]:
    """Compute all results in one array, and the gradient of the first."""
    first = np.concatenate(pieces(np, x))[: x.shape[0]]
    return first @ first, (2.0 * first * np.cos(x),)


# ------------------------------------------------------------------------------------- logsumexp


@primitive
def logsumexp(x: Any) -> Any:
    """Compute the logarithm of a sum of exponentials, with a rule of its own."""
    m = np.max(x)
    return m + np.log(np.sum(np.exp(x - m)))


@rule(logsumexp)
def logsumexp_rule(x):  # type: ignore[no-untyped-def]
    """dy = softmax(x)ᵀ dx."""
    y = logsumexp(x)
    push = lambda x_dot, p: np.sum(p * x_dot)
    pull = lambda y_bar, p: y_bar * p
    return y, (LinearMap(push, pull, np.exp(x - y)),)


def in_library(xp: Any, built_in: bool) -> Any:
    """Return the logsumexp of a library; for NumPy, SciPy's or the one above."""
    name = xp.__name__.partition(".")[0]
    if name == "numpy" and not built_in:
        return logsumexp
    if name == "torch":
        return lambda x: xp.logsumexp(x, 0)
    modules = {"numpy": "chainrules_scipy.special", "autograd": "autograd.scipy.special"}
    return importlib.import_module(modules[name]).logsumexp


def repeated(uses: int, built_in: bool, xp: Any) -> Callable[..., Any]:
    """Build a sum of multiples of one logsumexp, which is computed for each."""
    lse = in_library(xp, built_in)

    def loss(x: Any) -> Any:
        total = 0.0
        for i in range(uses):
            total = total + (1.0 + 0.001 * i) * lse(x)
        return total

    return loss


def repeated_scanned(uses: int, jax: Any) -> Callable[..., Any]:
    """Build the same, its loop a scan."""

    def loss(x: Any) -> Any:
        def body(total: Any, i: Any) -> Any:
            return total + (1.0 + 0.001 * i) * jax.scipy.special.logsumexp(x), None

        return jax.lax.scan(body, 0.0, jax.numpy.arange(uses))[0]

    return loss


def repeated_by_hand(uses: int, x: Any) -> tuple[Any, tuple[Any]]:
    """Compute the sum term by term, and its gradient."""
    total, x_bar = 0.0, np.zeros_like(x)
    for i in range(uses):
        weight, m = 1.0 + 0.001 * i, np.max(x)
        e = np.exp(x - m)
        s = np.sum(e)
        total += weight * (m + np.log(s))
        e *= weight / s
        x_bar += e
    return total, (x_bar,)


def varied(uses: int, xp: Any) -> Callable[..., Any]:
    """Build a sum of the logsumexp of multiples."""
    lse = in_library(xp, False)

    def loss(x: Any) -> Any:
        total = 0.0
        for i in range(uses):
            total = total + lse((1.0 + 0.01 * i) * x)
        return total

    return loss


def varied_scanned(uses: int, jax: Any) -> Callable[..., Any]:
    """Build the same, its loop a scan."""

    def loss(x: Any) -> Any:
        def body(total: Any, i: Any) -> Any:
            return total + jax.scipy.special.logsumexp((1.0 + 0.01 * i) * x), None

        return jax.lax.scan(body, 0.0, jax.numpy.arange(uses))[0]

    return loss


def varied_by_hand(uses: int, x: Any) -> tuple[Any, tuple[Any]]:
    """Compute the sum and its gradient."""
    total, x_bar = 0.0, np.zeros_like(x)
    for i in range(uses):
        k = 1.0 + 0.01 * i
        y = k * x
        m = np.max(y)
        e = np.exp(y - m)
        s = np.sum(e)
        total += m + np.log(s)
        e *= k / s
        x_bar += e
    return total, (x_bar,)


def _repeated(name: str, uses: int, size: int, built_in: bool = False) -> Other:
    return Other(
        name,
        functools.partial(vector, size),
        1,
        functools.partial(repeated, uses, built_in),
        functools.partial(repeated_by_hand, uses),
        scanned=functools.partial(repeated_scanned, uses),
        small=built_in or uses < 1000,
    )


def _zeros(size: int) -> tuple[Other, ...]:
    few, x = size == 10, functools.partial(vector, size)
    parameters = functools.partial(neighbours.unused_inputs, PARAMETERS, size)
    unused, by_hand = neighbours.unused, neighbours.unused_by_hand
    return (
        Other(f"zero_tuple_n{size}", x, 1, of_a_tuple, of_a_tuple_by_hand, small=few),
        Other(f"zero_concat_n{size}", x, 1, of_a_whole, of_a_whole_by_hand, small=few),
        Other(f"zero_params_n{size}", parameters, 1, unused, by_hand, small=few),
    )


WASTE = (
    *_zeros(10),
    *_zeros(10_000),
    _repeated("custom_lse_n10", 1000, 10),
    _repeated("custom_lse_n1e5", 10, 100_000),
    _repeated("builtin_lse_n10", 1000, 10, built_in=True),
)
"""The programs whose gain is that of work left out."""
VARIED = Other(
    "custom_lse_var",
    functools.partial(vector, 10),
    1,
    functools.partial(varied, 100),
    functools.partial(varied_by_hand, 100),
    scanned=functools.partial(varied_scanned, 100),
)
