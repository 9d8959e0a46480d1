"""Rules from autograd functions: as oracles, or for functions without a rule."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import autograd.numpy
import numpy as np
from autograd.tracer import isbox

from chainrules_autograd.engine.boxes import boxed
from chainrules_autograd.engine.rule_config import as_tuple, make_jvp, make_vjp, moves
from chainrules_kit import refuse_traced_captures
from chainrules_kit.custom_derivatives.rules_from_engine_functions import (
    ImportedRule,
    declared,
    parameters_of_imported,
    state_imported,
    without_rule,
)
from chainrules_py import Primitive
from chainrules_py.extend import (
    flatten,
    map_leaves,
    namespace,
    type_info,
    varies,
)

anp: Any = autograd.numpy


def import_rule(
    f: Callable[..., Any], /, *, operands: int | None = None, to: Callable[..., Any] | None = None
) -> Primitive[..., Any]:
    """Make a primitive that autograd differentiates, for every engine and array library.

    Parameters
    ----------
    f : callable
        A function written in ``autograd.numpy``, of arrays and numbers, or a primitive of autograd,
        whose options keep their defaults.
    operands : int, optional
        How many of its parameters are operands, by position; by default those without a default.
        The others are options, by name.
    to : callable, optional
        A primitive without a rule, which gets this one as a last resort.

    Returns
    -------
    Primitive
        It takes arrays of any library, and returns arrays of the same library; without a copy if
        the two libraries can share memory. With ``to``, that primitive.

    Raises
    ------
    RuleError
        If ``to`` has a rule, which would be replaced silently, or if the parameters of f cannot be
        read.

    Notes
    -----
    The rule records where f is defined, and belongs to the layer of engines: every rule of a
    backend, a third party or the user has precedence. Derivatives of derivatives are functions of
    autograd as well.

    Examples
    --------
    >>> import autograd.numpy
    >>> import numpy as np
    >>> from chainrules_tape import grad
    >>> def softplus(x):
    ...     return anp.logaddexp(0.0, x)
    >>> imported = import_rule(softplus)
    >>> print(grad(lambda x: imported(x).sum())(np.zeros(2)))
    [0.5 0.5]
    """
    # A primitive of autograd has the operands of what it wraps, and no options.
    made_of: Any = getattr(f, "fun", f) if isinstance(f, FunctionType) else f
    names, options = parameters_of_imported(made_of, operands or getattr(made_of, "nin", None))
    options = options if made_of is f else {}
    value = functools.partial(_value, f)
    primal = declared(f, names, options, value) if to is None else without_rule(to, f)
    half = lambda g, n: import_rule(g, operands=n)
    rule = ImportedRule(f, functools.partial(_moving, f), _pushed, _pulled, half)
    state_imported(primal, rule, module=__name__, engine="autograd")
    return primal


def _value(f: Callable[..., Any], xs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Compute the value, in arrays of the operands' library."""
    if any(map(isbox, xs)):
        return f(*xs, **options)
    like = next((x for x in xs if type_info(type(x)).is_array), None)
    try:
        y = f(*map(_entered, xs), **options)
    except Exception:  # NumPy cannot compute with an operand
        refuse_traced_captures(f, varies)
        raise
    return y if like is None or _is_numpy(like) else _left(y, like)


def _moving(f: Callable[..., Any], *xs: Any, **options: Any) -> list[Any]:
    """List the differentiable parts of a result."""
    return [leaf for leaf in flatten(boxed(f(*xs, **options)))[0] if moves(leaf)]


def _as_one(along: Callable[..., list[Any]]) -> Callable[[Any], Any]:
    return lambda moved: as_tuple(tuple(along(*[moved[i] for i in range(len(moved))])))


def _pushed(along: Callable[..., list[Any]], at: tuple[Any, ...], dots: Any) -> list[Any]:
    f, x, ts = _as_one(along), as_tuple(at), as_tuple(tuple(dots))
    try:
        found = make_jvp(f, x)(ts)[1]
    except NotImplementedError:  # autograd has reverse mode only; this is its transpose
        pull, ys = make_vjp(f, x)
        found = make_vjp(pull, as_tuple(tuple([anp.zeros_like(y) for y in ys])))[0](ts)
    return [found[i] for i in range(len(found))]


def _pulled(along: Callable[..., list[Any]], at: tuple[Any, ...], bars: Any) -> list[Any]:
    """Pull back; autograd's cotangents are the conjugates of our adjoints."""
    found = make_vjp(_as_one(along), as_tuple(at))[0](as_tuple(tuple(map(_conjugate, bars))))
    return [_conjugate(found[i]) for i in range(len(at))]


def _conjugate(t: Any) -> Any:
    return anp.conj(t) if anp.iscomplexobj(t) else t


def _is_numpy(x: Any) -> bool:
    return namespace(x) is np


def _entered(x: Any) -> Any:
    """Convert an array of another library to a NumPy array, sharing memory if possible."""
    if not type_info(type(x)).is_array or _is_numpy(x):
        return x
    return np.from_dlpack(x) if hasattr(x, "__dlpack__") else np.asarray(x)


def _left(y: Any, like: Any) -> Any:
    """Convert a result to arrays of the operands' library."""
    xp = namespace(like)
    return map_leaves(lambda leaf: xp.asarray(np.asarray(leaf)) if moves(leaf) else leaf, y)
