"""Thunder: functions with rules as operators of a separate executor."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable
from typing import Any

import thunder  # pyright: ignore[reportMissingImports]
import torch
from thunder.core import dtypes  # pyright: ignore[reportMissingImports]
from thunder.core.prims import get_grad, put_grad  # pyright: ignore[reportMissingImports]
from thunder.core.proxies import TensorProxy  # pyright: ignore[reportMissingImports]
from thunder.core.transforms import register_augmented_forward, register_backward  # pyright: ignore[reportMissingImports]
from thunder.extend import OperatorExecutor, register_executor  # pyright: ignore[reportMissingImports]

from chainrules_kit import (
    Kernel,
    Support,
    Transformation,
    Transformations,
    stated,
    supported,
)
from chainrules_py import NotDifferentiableError
from chainrules_py import export as export_to
from chainrules_py.extend import describe, map_leaves, name_of

chainrules_contract = 1

executor = OperatorExecutor("chainrules")
"""The executor of the operators: pass ``executors=[executor]`` to ``thunder.jit``."""

register_executor(executor)
_numbers = itertools.count()


def export(f: Callable[..., Any], /, *, separate: bool = False) -> Callable[..., Any]:
    """Turn a function with a rule into one that ``thunder.jit`` treats as a single operator.

    Parameters
    ----------
    f : callable
        An operation, a NumPy function that is aliased to one, a function under `primitive`, a
        function with derivatives of its own (`custom_vjp`), or code that is written in these. It
        returns one tensor.
    separate : bool
        How the derivative is registered with Thunder: False for a ``grad_transform``, which states
        value and gradient together, True for ``register_augmented_forward`` and
        ``register_backward``.

    Returns
    -------
    callable
        It takes the arguments of f, with tensors by position and options by name. Under
        ``thunder.jit(..., executors=[executor])`` its calls are single operators. Export outside of
        what ``thunder.jit`` compiles.

    Raises
    ------
    NotDifferentiableError
        If f returns anything but one tensor.
    NoRuleError
        When a gradient is taken, if no rule has a reverse mode.

    Notes
    -----
    Thunder differentiates programs once. The type of an operator's result is found by running f on
    PyTorch tensors without data.

    Examples
    --------
    >>> import thunder, torch
    >>> from chainrules_py import ops as v
    >>> norm = export(v.vector_norm)
    >>> x = torch.tensor([3.0, 4.0], requires_grad=True)
    >>> thunder.jit(lambda x: norm(x), executors=[executor])(x).backward()
    >>> x.grad
    tensor([0.6000, 0.8000])
    """
    name = re.sub(r"\W", "_", f"{name_of(f)}_{next(_numbers)}")
    by_torch = export_to(f, to="torch")

    @functools.wraps(f, updated=())
    def exported(*operands: Any, **options: Any) -> Any:
        return by_torch(*operands, **options)

    def value(*operands: Any, **options: Any) -> Any:
        with torch.no_grad():
            return by_torch(*operands, **options)

    def pull(*given: Any, **options: Any) -> Any:
        *xs, y_bar = given
        moving = [i for i, x in enumerate(xs) if _moves(x)]
        kernel = Kernel(functools.partial(f, **options), len(xs), moving)
        with torch.no_grad():
            bars = kernel.pull(1)(*xs, y_bar)
        return tuple([bar.contiguous() for bar in bars])

    def like(*operands: Any, **options: Any) -> Any:
        y = value(*map(_without_data, operands), **options)
        if not isinstance(y, torch.Tensor):
            raise NotDifferentiableError(
                f"{name_of(f)} gives {describe(y)}, and an operator of Thunder's gives one tensor; "
                f"export a function for each of the parts"
            )
        first = next(x for x in operands if isinstance(x, TensorProxy))
        dtype = dtypes.to_dtype(y.dtype)
        return TensorProxy(like=first, shape=tuple(y.shape), dtype=dtype, requires_grad=False)

    def like_operands(*given: Any, **options: Any) -> Any:
        moved = [x for x in given[:-1] if _moves(x)]
        return tuple([TensorProxy(like=x, requires_grad=False) for x in moved])

    forward = executor.register_operator(name, meta=like, fn=value, replaces=exported)
    backward = executor.register_operator(f"pull_of_{name}", meta=like_operands, fn=pull)

    def gradient(*operands: Any, **options: Any) -> Any:
        y = forward(*operands, **options)
        bars = backward(*operands, get_grad(y), **options)
        for x, bar in zip([x for x in operands if _moves(x)], bars, strict=True):
            put_grad(x, bar)
        return y

    if not separate:
        executor.register_implementation(forward, op=forward, grad_transform=gradient)
        return exported

    @register_augmented_forward(forward.id)  # type: ignore[untyped-decorator]
    def augmented(*operands: Any, **options: Any) -> Any:
        return forward(*operands, **options), (operands, tuple(options.items()))

    @register_backward(forward.id)  # type: ignore[untyped-decorator]
    def backpropagate(operands: Any, options: Any, y_bar: Any) -> Any:
        bars = iter(backward(*operands, y_bar, **dict(options)))
        return tuple([next(bars) if _moves(x) else None for x in operands])

    executor.register_implementation(forward, op=forward)
    return exported


def _moves(x: Any) -> bool:
    """Return whether a value has derivatives: a floating-point tensor, or a proxy of one."""
    if isinstance(x, TensorProxy):
        return bool(dtypes.is_inexact_dtype(x.dtype))
    return isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())


def _without_data(x: Any) -> Any:
    if not isinstance(x, TensorProxy):
        return x
    return torch.empty(tuple(x.shape), dtype=dtypes.to_torch_dtype(x.dtype), device="meta")


def supports(f: Callable[..., Any], /, *operands: Any, **options: Any) -> Support:
    """Return which transformations of Thunder an exported function supports for these operands.

    Parameters
    ----------
    f : callable
        A function, as for `export`.
    *operands, **options
        The arguments of a call, on which each transformation is run.

    Examples
    --------
    >>> import torch
    >>> from chainrules_py import ops as v
    >>> supports(v.sin, torch.ones(3))
    Support(grad=True, jvp=False, vmap=False, jit=True, order=1)
    """
    operands = map_leaves(_on_host, operands)
    constant = stated(f, operands, options).order == 0
    return supported(
        export(f), operands, options, transformations, is_constant=constant, compiled=("jit",)
    )


def _on_host(x: Any) -> Any:
    """Return a real tensor as an array: Thunder traces no conversion between its dtypes."""
    real = isinstance(x, torch.Tensor) and x.is_floating_point()
    return x.double().numpy(force=True) if real else x


def _backward(f: Callable[..., Any], z: Any, _: Any) -> Any:
    z = z.clone().requires_grad_()
    thunder.jit(f, executors=[executor])(z).backward()
    return z.grad


transformations = Transformations(
    {
        "value": Transformation("value", lambda f, z, u: f(z)),
        "backward": Transformation("gradient", _backward),
        "jit": Transformation(
            "value", lambda f, z, u: thunder.jit(f, executors=[executor])(z), "jit"
        ),
    },
    torch.tensor,
)
