"""Values of other engines as arguments of what computes with NumPy."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from chainrules_kit import CONSTANT, called_by_numpy, is_hosted
from chainrules_py import ChainRulesError, NotDifferentiableError, Primitive
from chainrules_py.extend import Tracer, closed, describe, flatten, inside


def by_numpy(f: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that computes with NumPy take values of other engines (a decorator).

    Its value and derivatives are computed on the host, the derivatives by the installed engine:
    to any order, and also under PyTorch's and JAX's transformations.

    Parameters
    ----------
    f : callable
        Returns arrays and numbers, or structures of them. Captured values are constant.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from scipy.special import gammaln
    >>> import chainrules_torch
    >>> f = by_numpy(lambda x: np.sum(gammaln(x)))
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.grad(f(x), x)
    (tensor([-0.5772,  0.4228]),)
    """

    @functools.wraps(f)
    def function(*args: Any, **options: Any) -> Any:
        hosted = any(map(is_hosted, flatten((args, options))[0]))
        return called_by_numpy(f, args, options) if hosted else f(*args, **options)

    return function


def run(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call a function of ours; for values of another engine by NumPy, unless it is an operation.

    Functions among the arguments may compute with values of the other engine.
    """
    leaves = flatten((args, options))[0]
    functions = [x for x in leaves if callable(x) and not isinstance(x, type)]
    captured = any(map(is_hosted, flatten([closed(x) for x in functions])[0]))
    ours = isinstance(function, Primitive) or any([isinstance(x, Tracer) for x in leaves])
    if ours or not (captured or any(map(is_hosted, leaves))):
        return function(*args, **options)
    if captured or _held((args, options)):
        with in_our_words((args, options)):
            return function(*args, **options)
    if functions:
        # NumPy or the other engine reject each other's values, or warn of them.
        with (
            suppress(Exception),
            warnings.catch_warnings(action="ignore", category=DeprecationWarning),
        ):
            y = function(*args, **options)
            if not all([isinstance(x, CONSTANT) for x in flatten(y)[0]]):
                return y
    # NumPy cannot read whole numbers that are traced, nor do functions of tensors take its arrays.
    with in_our_words((args, options), (TypeError, RuntimeError)):
        return called_by_numpy(function, args, options)


def _held(x: Any) -> bool:
    """Return whether a structure, as a sparse array, holds values of another engine."""
    if type(x) in (list, tuple, dict):
        return any(map(_held, x.values() if type(x) is dict else x))
    return not is_hosted(x) and any(map(is_hosted, flatten(x)[0]))


@contextmanager
def in_our_words(arguments: Any, kinds: Any = Exception) -> Iterator[None]:
    """Raise with what to write, if NumPy raised because of another engine's value."""
    try:
        yield
    except ChainRulesError:
        raise
    except kinds as error:
        held = [closed(x) if callable(x) else x for x in inside(arguments)]
        hosted = next(filter(is_hosted, flatten(held)[0]), None)
        if hosted is None:
            raise
        raise NotDifferentiableError(
            f"{describe(hosted)} is another engine's value, in what computes with NumPy: write all "
            f"that is computed of it there as one function, and call by_numpy(function), which is "
            f"chainrules_scipy's; for functions of tensors or of JAX's arrays, write "
            f"chainrules_py.ops.root(f, x0), minimize(f, x0) or odeint(f, y0, t)"
        ) from error


def values_of(x: Any) -> Any:
    """Return the values of another engine's array, for NumPy to read."""
    with in_our_words(x):
        return np.asarray(x)
