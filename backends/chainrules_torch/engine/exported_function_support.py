"""What PyTorch supports for an exported function, and PyTorch's transformations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from chainrules_kit import (
    Support,
    Transformation,
    Transformations,
    nestings,
    stated,
    supported,
)
from chainrules_py.extend import HigherOrder, primal_of, unbind
from chainrules_torch.engine.export import export, is_program
from chainrules_torch.engine.pulls_and_pushes import is_known
from chainrules_torch.engine.rule_config import config

_compile: Any = torch.compile


def supports(f: Callable[..., Any], /, *operands: Any, **options: Any) -> Support:
    """Return what PyTorch supports for an exported function, with operands like these.

    Parameters
    ----------
    f : callable
        A function, as for `chainrules_torch.export`.
    *operands, **options
        The arguments of a call, on which each transformation is run, also compiled, which takes
        seconds. Without operands, the answer follows from the rules and implementations for
        tensors.

    Returns
    -------
    Support
        ``jit`` is `torch.compile` of the value, and of its gradient if there is one.

    Examples
    --------
    >>> import torch
    >>> from chainrules_py import ops as v
    >>> supports(v.sin)
    Support(grad=True, jvp=True, vmap=True, jit=True, order=inf)
    >>> supports(v.bincount, torch.ones(3, dtype=torch.int64), torch.ones(3)).jit
    False
    """
    if not operands:
        return _stated(f, options)
    return supported(
        export(f),
        operands,
        options,
        transformations,
        is_constant=not stated(f, operands, options, config).order,
        compiled=("compile", "backward of compile"),
    )


def _stated(f: Callable[..., Any], options: dict[str, Any]) -> Support:
    operation = primal_of(unbind(f, ())[0])
    operands = () if operation is None else (torch.zeros(()),) * max(1, len(operation.operands))
    if operation is None or is_program(operation, tuple(map(type, operands))):
        return Support(grad=True, jvp=True, vmap=True, jit=True, order=math.inf)  # what it calls
    fixed = not operation.shape_from_data
    seen = not isinstance(operation, HigherOrder) or is_known(operation)
    return stated(operation, operands, options, config)._replace(vmap=fixed, jit=fixed and seen)


# ------------------------------------------------------------------------ transformations


def _rows(z: Any, u: Any) -> Any:
    """Stack two different rows, so that a result for the wrong one is detected."""
    return torch.stack([z + u / 64, z])


def _backward(f: Callable[..., Any], z: Any, u: Any) -> Any:
    z = z.clone().requires_grad_()
    return torch.autograd.grad(f(z), z)[0]


def _double_backward(f: Callable[..., Any], z: Any, u: Any) -> Any:
    z = z.clone().requires_grad_()
    (bar,) = torch.autograd.grad(f(z), z, create_graph=True)
    return torch.autograd.grad(torch.sum(bar * u), z)[0] if bar.requires_grad else 0 * z


def _compiled(f: Callable[..., Any]) -> Callable[..., Any]:
    torch.compiler.reset()
    whole = _compile(export(f), fullgraph=True, backend="aot_eager")
    return lambda z: whole(z, *getattr(f, "constants", ()))


transformations = Transformations(
    {
        **nestings(torch.func.grad, lambda f, z, u: torch.func.jvp(f, (z,), (u,))[1]),
        "backward": Transformation("gradient", _backward),
        "double backward": Transformation("curvature", _double_backward),
        "vmap": Transformation("value", lambda f, z, u: torch.func.vmap(f)(_rows(z, u))[1]),
        "vmap of grad": Transformation(
            "gradient", lambda f, z, u: torch.func.vmap(torch.func.grad(f))(_rows(z, u))[1], "vmap"
        ),
        "jacrev": Transformation("gradient", lambda f, z, u: torch.func.jacrev(f)(z)),
        "jacfwd": Transformation("gradient", lambda f, z, u: torch.func.jacfwd(f)(z)),
        "hessian": Transformation("curvature", lambda f, z, u: torch.func.hessian(f)(z) @ u),
        "compile": Transformation("value", lambda f, z, u: _compiled(f)(z)),
        "backward of compile": Transformation(
            "gradient", lambda f, z, u: _backward(_compiled(f), z, u), "compile"
        ),
    },
    torch.tensor,
)
