"""Random numbers: states of generators, and hints for draws with differentiated parameters.

NumPy shows nobody that a draw is made. With plain parameters draws are constants, as they should
be; a traced parameter is refused, and the refusal says how the draw is made from one that has no
parameters. So the derivative is that of the same random numbers, moved.
"""

from __future__ import annotations

import functools
import operator
import random
from typing import Any

import numpy as np

from chainrules_py.extend import advise, register_generator

_name: str

MOVED = {
    "normal": "loc + scale * rng.standard_normal(shape)",
    "uniform": "low + (high - low) * rng.random(shape)",
    "exponential": "scale * rng.standard_exponential(shape)",
    "laplace": "loc + scale * rng.laplace(size=shape)",
    "logistic": "loc + scale * rng.logistic(size=shape)",
    "gumbel": "loc + scale * rng.gumbel(size=shape)",
    "rayleigh": "scale * rng.rayleigh(size=shape)",
    "lognormal": "np.exp(mean + sigma * rng.standard_normal(shape))",
    "weibull": "rng.standard_exponential(shape) ** (1 / a)",
    "pareto": "np.expm1(rng.standard_exponential(shape) / a)",
    "power": "np.exp(-rng.standard_exponential(shape) / a)",
    "multivariate_normal": "mean + rng.standard_normal((n, d)) @ np.linalg.cholesky(cov).T",
    "gamma": "scale * rng.standard_gamma(ignore_derivatives(k), shape); in k itself a draw has no "
    "derivative: differentiate the logarithm of the probability of what was drawn",
    "choice": "x[rng.choice(len(x), size)], with plain probabilities",
    "permutation": "x[rng.permutation(len(x))]",
    "permuted": "x[rng.permutation(len(x))]",
    "shuffle": "x = x[rng.permutation(len(x))]",
}
"""What has the same distribution, of draws that have no parameters; ``np.random`` is an rng too."""

OTHERS = (
    "beta",
    "binomial",
    "chisquare",
    "dirichlet",
    "f",
    "geometric",
    "hypergeometric",
    "integers",
    "logseries",
    "multinomial",
    "negative_binomial",
    "noncentral_chisquare",
    "noncentral_f",
    "poisson",
    "randint",
    "standard_gamma",
    "standard_t",
    "triangular",
    "vonmises",
    "wald",
    "zipf",
)
"""Draws that jump with their parameters, or are moved by them in no simple way."""

for _class in (np.random.Generator, np.random.RandomState):
    for _name, _line in MOVED.items():
        if hasattr(_class, _name):
            advise(
                getattr(_class, _name),
                f"{_name} draws from plain parameters: write, with rng a np.random.Generator or "
                f"np.random itself, {_line}",
            )
    for _name in OTHERS:
        if hasattr(_class, _name):
            advise(
                getattr(_class, _name),
                f"{_name} draws from plain parameters, and a draw has no derivative in them: draw "
                f"with ignore_derivatives(parameter), and differentiate the logarithm of the "
                f"probability of what was drawn",
            )


def _putting(x: np.random.Generator, state: Any) -> functools.partial[None]:
    return functools.partial(setattr, x.bit_generator, "state", state)


_shared: Any = np.random.get_state, random.getstate  # methods of those that everybody draws from
register_generator(np.random.Generator, lambda x: x.bit_generator.state, _putting)
_bits: list[Any] = [
    getattr(np.random, each) for each in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
]
for _class in _bits:
    register_generator(
        _class,
        operator.attrgetter("state"),
        lambda x, state: functools.partial(setattr, x, "state", state),
    )
register_generator(
    np.random.RandomState,
    np.random.RandomState.get_state,
    lambda x, state: functools.partial(x.set_state, state),
    _shared[0].__self__,
)
register_generator(
    random.Random,
    random.Random.getstate,
    lambda x, state: functools.partial(x.setstate, state),
    _shared[1].__self__,
)
