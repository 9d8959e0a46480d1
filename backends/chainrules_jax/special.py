"""How JAX computes special functions: by ``jax.scipy.special``, or by what does so for NumPy.

The derivatives are those of our rules: JAX's own functions have one in some of their operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.scipy.special as jax_special
import numpy as np

from chainrules_jax.arrays import is_traced
from chainrules_jax.callbacks import called_back, enter, like_one_element
from chainrules_jax.values import OURS
from chainrules_py import Primitive
from chainrules_py.vocabulary import bessel, information, special

__all__: list[str] = []

chainrules_contract = 1

# The others of JAX take fewer dtypes, or are less precise, than those that NumPy is given.
_OF_JAX = (
    "beta betaln digamma entr erf erfc erfinv expi expit gamma gammainc gammaincc gammaln "
    "betainc i0 i0e i1 i1e kl_div log_ndtr log_softmax logit logsumexp ndtr ndtri "
    "rel_entr softmax xlog1py xlogy"
).split()
"""What stands in ``jax.scipy.special`` under the same name, for real numbers."""


def _by_numpy(word: Primitive[..., Any]) -> Callable[..., Any]:
    """A word as NumPy's backends compute it."""
    found: dict[tuple[type, ...], Callable[..., Any]] = {}

    def body(*operands: Any, **options: Any) -> Any:
        classes = tuple(map(type, operands))
        if classes not in found:
            found[classes] = word.plain_implementation(classes)
        with np.errstate(all="ignore"):
            return found[classes](*operands, **options)

    return called_back(word, body, like_one_element(body), vectorized=True)


def _is_complex(x: Any) -> bool:
    return isinstance(x, complex) or getattr(getattr(x, "dtype", None), "kind", "") == "c"


def _computed(word: Primitive[..., Any]) -> Callable[..., Any]:
    other = _by_numpy(word)
    function = getattr(jax_special, word.__name__, None) if word.__name__ in _OF_JAX else None
    if function is None:
        return other

    def computed(*operands: Any, **options: Any) -> Any:
        compute = other if any(map(_is_complex, operands)) else function
        return compute(*operands, **options)

    return computed


for _module in (special, bessel, information):
    for _name in _module.__all__:
        _word = getattr(_module, _name)
        if isinstance(_word, Primitive):
            enter(_word, _computed(_word))
            OURS.add(_word)
_ = is_traced
