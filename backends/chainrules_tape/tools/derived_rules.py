"""Rules from programs: the compiled derivative of a function's own body as its rule."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile import compile as compiled
from chainrules_py import Primitive, RuleError, is_zero, primitive, zero_tangent
from chainrules_py.extend import (
    FruleRecipe,
    RruleRecipe,
    Source,
    any_types,
    canonicalize,
    describe,
    flatten,
    kind_of,
    name_of,
    state,
    varies,
)
from chainrules_tape import jvp, vjp


def derive_rule(f: Callable[..., Any], *samples: tuple[Any, ...]) -> Primitive[..., Any]:
    """Make a function one operation, whose rule is the derivative of its body.

    Engines see one call with one rule instead of all calls in f. The rule is a compiled program
    for NumPy arrays; operands that another differentiation, or another engine, traces are
    differentiated through the body.

    Parameters
    ----------
    f : callable
        A function of arrays, numbers and structures of them, without options.
    *samples : tuple
        Operands at which the rule is compiled and tested, one tuple for each combination of types:
        at least one.

    Returns
    -------
    Primitive
        Takes the arguments of f. Its rule has both modes.

    Raises
    ------
    RuleError
        If there is no sample, if f has options, or if the program's derivative differs from the
        body's at a sample.

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_tape import grad
    >>> swish = derive_rule(lambda x: x / (1.0 + np.exp(-x)), (np.ones(3),))
    >>> grad(lambda x: np.sum(swish(x)))(np.zeros(2))
    array([0.5, 0.5])
    """
    operation = primitive(f)
    fits = samples and all([type(xs) is tuple for xs in samples])
    if operation.options or operation.variadic or not fits:
        raise RuleError(
            f"derive_rule({name_of(f)}, ...) takes a function of operands alone, here "
            f"{operation.signature}, and samples, a tuple of operands each, here "
            f"{describe(samples)}; write derive_rule({name_of(f)}, (x, ...))"
        )
    operation.opaque = True
    body = operation.__wrapped__

    # The compiler follows what the arguments of a partial look up, and nothing in a library's code.
    pulled, pushed = functools.partial(_pulled, body), functools.partial(_pushed, body)
    pull, push = compiled(pulled), compiled(pushed)

    def derived_rrule(*xs: Any) -> Any:
        def pulled_back(y_bar: Any) -> Any:
            # The body runs again: an engine sees operands in a closure, but nothing on a tape.
            bars = (pulled if varies((y_bar, xs)) else pull)(y_bar, *xs)
            return tuple([canonicalize(x, bar) for x, bar in zip(xs, bars, strict=True)])

        return body(*xs), pulled_back

    def derived_frule(ts: Any, *xs: Any) -> Any:
        ts = tuple([zero_tangent(x) if is_zero(t) else t for t, x in zip(ts, xs, strict=True)])
        return body(*xs), (pushed if varies((ts, xs)) else push)(ts, *xs)

    for xs in samples:
        y = body(*xs)
        _compare(operation, pull(y, *xs), pulled(y, *xs))
        _compare(operation, push(xs, *xs), pushed(xs, *xs))
    source = Source.caller(f"derive_rule({operation.__name__})", 2)
    state(operation, any_types(operation), source, RruleRecipe(derived_rrule, False))
    state(operation, any_types(operation), source, FruleRecipe(derived_frule, False))
    return operation


def _pulled(f: Any, y_bar: Any, *xs: Any) -> Any:
    return vjp(f, *xs)[1](y_bar)


def _pushed(f: Any, ts: Any, *xs: Any) -> Any:
    return jvp(f, xs, ts)[1]


def _compare(operation: Primitive[..., Any], found: Any, expected: Any) -> None:
    """Raise unless two derivatives are equal up to rounding."""
    pairs = zip(flatten(found)[0], flatten(expected)[0], strict=True)
    numbers = [(a, b) for a, b in pairs if kind_of(b) in ("real", "complex")]
    if not all([np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True) for a, b in numbers]):
        raise RuleError(
            f"the compiled derivative of {operation.__name__} is another than that of its body "
            f"at a "
            f"sample; state a rule, or report the program"
        )
