"""The transformations of PyTorch, stated for others to run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from chainrules_kit import Transformation, Transformations, nestings
from chainrules_torch.engine.export import export

_func: Any = torch.func
_compile: Any = torch.compile


def _rows(z: Any, u: Any) -> Any:
    """Two rows, the second of which is asked for: one for the other would be wrong."""
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
        **nestings(_func.grad, lambda f, z, u: _func.jvp(f, (z,), (u,))[1]),
        "backward": Transformation("gradient", _backward),
        "double backward": Transformation("curvature", _double_backward),
        "vmap": Transformation("value", lambda f, z, u: _func.vmap(f)(_rows(z, u))[1]),
        "vmap of grad": Transformation(
            "gradient", lambda f, z, u: _func.vmap(_func.grad(f))(_rows(z, u))[1], "vmap"
        ),
        "jacrev": Transformation("gradient", lambda f, z, u: _func.jacrev(f)(z)),
        "jacfwd": Transformation("gradient", lambda f, z, u: _func.jacfwd(f)(z)),
        "hessian": Transformation("curvature", lambda f, z, u: _func.hessian(f)(z) @ u),
        "compile": Transformation("value", lambda f, z, u: _compiled(f)(z)),
        "backward of compile": Transformation(
            "gradient", lambda f, z, u: _backward(_compiled(f), z, u), "compile"
        ),
    },
    torch.tensor,
)
