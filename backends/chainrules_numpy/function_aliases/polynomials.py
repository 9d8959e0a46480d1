"""Aliases of polynomials whose coefficients start with the highest."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.composites import polynomials as p
from chainrules_numpy.function_aliases.alias_constructors import row
from chainrules_py import NotDifferentiableError, UnsupportedKeywordError
from chainrules_py import ops as v
from chainrules_py.extend import AsArgument, Call, Lowering

_f: Any
_composite: Any
in_operations: Any = p


def coefficients(name: str) -> Lowering:
    """Return a lowering for numbers, lists and arrays; a poly1d is refused."""
    as_operand = low.as_keyword(name)

    def lower(call: Call, value: Any) -> None:
        if isinstance(value, np.poly1d):
            raise UnsupportedKeywordError(
                f"{name}= is a poly1d, next to a traced value; write {name}.coeffs"
            )
        as_operand(call, value)

    return lower


def order(name: str) -> Lowering:
    """Return a lowering for a degree, or a number of times, which NumPy truncates."""
    return AsArgument(name, int)


def poly(zeros: Any) -> Any:
    """Compute the polynomial, in the dtype that its zeros would have as eigenvalues."""
    if zeros.ndim == 1:
        zeros = v.astype(zeros, dtype=np.dtype(np.mintypecode(low.numpy_dtype(zeros).char)))
    return p.poly(zeros)


def _on_one_axis(*coefficients: Any) -> None:
    if any([x.ndim > 1 for x in coefficients]):
        raise NotDifferentiableError("Polynomial must be 1d only: its coefficients are on one axis")


def polymul(p: Any, q: Any) -> Any:
    """Multiply polynomials."""
    _on_one_axis(p, q)
    return in_operations.polymul(p, q)


def polydiv(p: Any, q: Any) -> Any:
    """Divide polynomials; refuse coefficients on several axes."""
    _on_one_axis(p, q)
    return in_operations.polydiv(p, q)


def polyder(p: Any, m: int = 1) -> Any:
    """Differentiate a polynomial; refuse coefficients on several axes."""
    _on_one_axis(p)
    return in_operations.polyder(p, m)


row(np.poly, poly, None, seq_of_zeros=coefficients("zeros"))
for _f, _composite in ((np.polyadd, p.polyadd), (np.polysub, p.polysub), (np.polymul, polymul)):
    row(_f, _composite, None, a1=coefficients("p"), a2=coefficients("q"))
row(np.polydiv, polydiv, None, u=coefficients("p"), v=coefficients("q"))
row(np.polyder, polyder, None, p=coefficients("p"), m=order("m"))
row(
    np.polyint,
    low.gives_arrays(p.polyint),
    None,
    p=coefficients("p"),
    m=order("m"),
    k=coefficients("k"),
)
row(np.polyval, p.polyval, None, p=low.as_keyword("p"), x=coefficients("x"))
row(np.roots, v.roots, None, p=low.as_array("p"))
row(np.vander, p.vander, None, x=low.as_array("x"), N=AsArgument("columns", operator.index))
row(
    np.polyfit,
    p.polyfit,
    None,
    x=coefficients("x"),
    y=coefficients("y"),
    w=coefficients("w"),
    deg=order("deg"),
)
