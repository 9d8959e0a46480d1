"""Aliases of functions whose result is read off values, and is not differentiable."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.function_aliases.alias_constructors import constants
from chainrules_numpy.late_alias import alias
from chainrules_py import ops as v
from chainrules_py.extend import comparing, shortcuts, untraced

_f: Any

constants(
    np.shape,
    np.ndim,
    np.size,
    np.isclose,
    np.allclose,
    np.array_equal,
    np.array_equiv,
    np.isrealobj,
    np.iscomplexobj,
    np.isneginf,
    np.isposinf,
    np.min_scalar_type,
    np.may_share_memory,
    np.shares_memory,
)

comparing |= {np.allclose, np.array_equal, np.array_equiv}
shortcuts[inspect.unwrap(np.linalg.norm).__code__] = "np.linalg.norm"


def einsum_path(*operands: Any, **keywords: Any) -> Any:
    """Find the order of contraction of an einsum, which depends on shapes only."""
    return np.einsum_path(*map(untraced, operands), **keywords)


def common_type(arrays: Any) -> Any:
    """Return the common scalar class of arrays."""
    return np.common_type(*map(untraced, arrays))


def result_type(values: Any) -> Any:
    """Return the result dtype of values; Python numbers are weakly typed."""
    return np.result_type(*map(untraced, values))


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Return whether a conversion is safe; Python numbers are not allowed."""
    return np.can_cast(untraced(from_), to, casting)


def isreal(x: Any) -> Any:
    """Return where the imaginary part is 0."""
    x = untraced(x)
    return np.isreal(x) if low.is_numpys(x) else v.equal(v.imag(x), 0)


def iscomplex(x: Any) -> Any:
    """Return where the imaginary part is not 0."""
    x = untraced(x)
    return np.iscomplex(x) if low.is_numpys(x) else v.not_equal(v.imag(x), 0)


for _f in (result_type, can_cast, isreal, iscomplex):
    _f.reads_types = True
for _f, _operation in ((np.can_cast, can_cast), (np.isreal, isreal), (np.iscomplex, iscomplex)):
    alias(_f, to=_operation)
alias(np.einsum_path, to=einsum_path, parameters={})
alias(np.common_type, to=common_type, parameters={"arrays": ()}, gather="arrays")
alias(np.result_type, to=result_type, parameters={"values": ()}, gather="values")
