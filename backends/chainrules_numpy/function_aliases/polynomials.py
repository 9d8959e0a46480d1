"""Aliases of polynomials whose coefficients start with the highest."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.composites import polynomials as p
from chainrules_numpy.function_aliases.alias_constructors import row
from chainrules_py import UnsupportedKeywordError
from chainrules_py import ops as v
from chainrules_py.extend import AsArgument, Call, Lowering


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


row(np.poly, p.poly, None, seq_of_zeros=coefficients("zeros"))
for _f, _composite in ((np.polyadd, p.polyadd), (np.polysub, p.polysub), (np.polymul, p.polymul)):
    row(_f, _composite, None, a1=coefficients("p"), a2=coefficients("q"))
row(np.polydiv, p.polydiv, None, u=coefficients("p"), v=coefficients("q"))
row(np.polyder, p.polyder, None, p=coefficients("p"), m=AsArgument("m", int))
row(
    np.polyint,
    low.gives_arrays(p.polyint),
    None,
    p=coefficients("p"),
    m=AsArgument("m", int),
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
    deg=AsArgument("deg", int),
)
