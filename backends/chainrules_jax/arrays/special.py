"""Special functions of JAX's arrays, by ``jax.scipy.special`` or by NumPy's implementations.

The derivatives are those of our rules: JAX's functions lack them in some operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.scipy.special as jax_special
import numpy as np

from chainrules_jax.engine.callback import called_back, compute_by, like_one_element
from chainrules_jax.engine.value_conversions import OURS
from chainrules_py import Primitive
from chainrules_py import ops as v
from chainrules_py.extend import kind_of
from chainrules_py.ops import bessel_and_hypergeometric, gamma_and_erf, sigmoid_softmax_entropy

chainrules_contract = 1


# JAX's other functions take fewer dtypes, or are less precise, than NumPy's implementations.
_OF_JAX = [
    "beta",
    "betaln",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfinv",
    "expi",
    "expit",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "betainc",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "log_ndtr",
    "logit",
    "ndtr",
    "ndtri",
    "rel_entr",
    "xlog1py",
    "xlogy",
]
"""Functions of ``jax.scipy.special`` with the same name, for real numbers."""


def _by_numpy(operation: Primitive[..., Any]) -> Callable[..., Any]:
    """Return a function that computes an operation by its implementation for NumPy."""

    def body(*operands: Any, **options: Any) -> Any:
        computed = operation.plain_implementation(tuple(map(type, operands)))
        with np.errstate(all="ignore"):
            return computed(*operands, **options)

    return called_back(operation, body, like_one_element(body), vectorized=True, elementwise=True)


def _computed(operation: Primitive[..., Any]) -> Callable[..., Any]:
    other = _by_numpy(operation)
    if operation.__name__ not in _OF_JAX:
        return other
    own: Callable[..., Any] = getattr(jax_special, operation.__name__)
    return lambda *xs, **options: (other if "complex" in map(kind_of, xs) else own)(*xs, **options)


_OF_AXES = (v.logsumexp, v.softmax, v.log_softmax)
OURS.update(_OF_AXES)

for _module in (gamma_and_erf, bessel_and_hypergeometric, sigmoid_softmax_entropy):
    for _name in _module.__all__:
        _operation = getattr(_module, _name)
        if isinstance(_operation, Primitive) and _operation not in _OF_AXES:
            compute_by(_operation, _computed(_operation))
            OURS.add(_operation)
