"""Functions of a user's own in one launch, and their derivatives in another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import cupy
import numpy as np

from chainrules_cupy.expressions import trace
from chainrules_cupy.kernels import fused
from chainrules_py import RuleError, Scalar, ZeroTangent, primitive, scalar_rule
from chainrules_py import vocabulary as v
from chainrules_py.extend import default_engine, name_of, type_info

# Partials of the result, which they do not use, and of so many operands.
_ARITIES: dict[int, Callable[[Any], Any]] = {
    1: lambda d: lambda _y, a: d(a),
    2: lambda d: lambda _y, a, b: d(a, b),
    3: lambda d: lambda _y, a, b, c: d(a, b, c),
    4: lambda d: lambda _y, a, b, c, e: d(a, b, c, e),
    5: lambda d: lambda _y, a, b, c, e, g: d(a, b, c, e, g),
    6: lambda d: lambda _y, a, b, c, e, g, h: d(a, b, c, e, g, h),
}


def fuse(
    f: Callable[..., Any] | None = None, *, complex: Literal["holomorphic", "real"] | None = None
) -> Any:
    """Make one launch of a function that acts element by element, and one of its pullback.

    A chain of twenty operations on an array is otherwise twenty launches, each of which reads and
    writes all of it.

    Parameters
    ----------
    f : callable
        Of one to six arrays or numbers, of one dtype; they broadcast. It calls NumPy's or CuPy's
        functions, words, and operators.
    complex : {"holomorphic", "real"}, optional
        What its derivatives mean at complex numbers, as for `chainrules_py.scalar_rule`.

    Returns
    -------
    Primitive
        It takes arrays of any library; those of CuPy's in one launch.

    Raises
    ------
    RuleError
        If f does anything that is not done element by element, or uses arrays that are not its
        operands.

    Notes
    -----
    Derivatives are those of the words in f, in the order of its operands; of any order, for they
    are functions of the same kind. Python's ``if`` on elements raises: write ``np.where``.
    The function is written for one element: in it ``x.shape`` is ``()``.

    Numbers that f captures are written into the kernel. Where one of them has changed at a call,
    another kernel is written and compiled, and after sixteen changes f is called as it is, in as
    many launches as it has operations: make an operand of what changes often.

    Examples
    --------
    >>> import cupy as cp, numpy as np
    >>> from chainrules_cupy import fuse
    >>> from chainrules_tape import grad
    >>> @fuse
    ... def swish(x):
    ...     return x / (1 + np.exp(-x))
    >>> grad(lambda x: swish(x).sum())(cp.asarray([0.0, 1.0]))
    array([0.5       , 0.92767051])
    """
    if f is None:
        return lambda f: fuse(f, complex=complex)
    word: Any = primitive(f)
    n = len(word.operands)
    if n not in _ARITIES or word.options or word.variadic:
        msg = f"fuse({name_of(f)}): a function of one to six operands, and nothing else"
        raise RuleError(msg)
    try:
        trace(f, n, np.dtype("d" if complex is None else "D"))
    except Exception as error:
        why = str(error).partition(";")[0]  # not what to write for a word that nothing computes
        msg = f"fuse({name_of(f)}): not done element by element: {why}"
        raise RuleError(msg) from None
    scalar_rule(word, *[_ARITIES[n](_partial(f, i)) for i in range(n)], complex=complex)
    one = fused(f)
    operand: Any = cupy.ndarray | Scalar
    for first in range(n):
        types = (*[Scalar] * first, cupy.ndarray, *[operand] * (n - first - 1))
        word.implement(one, types=types)
    return word


def _partial(f: Callable[..., Any], i: int) -> Callable[..., Any]:
    """Build the derivative of a function in operand i, as a function of all its operands."""

    def partial(*xs: Any) -> Any:
        engine = default_engine()
        if engine is None:
            msg = "fuse() takes derivatives by an engine; install one, as chainrules_tape"
            raise RuleError(msg)
        tangents: list[Any] = [ZeroTangent()] * len(xs)
        tangents[i] = v.ones_like(xs[i]) if type_info(type(xs[i])).is_array else 1.0
        return engine.jvp(f, xs, tuple(tangents))[1]

    return partial
