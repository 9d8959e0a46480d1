"""An option that an engine differentiates is an error in every engine, whatever else is traced."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from chainrules_py import LinearMap, NotDifferentiableError, export, primitive, rrule, rule
from chainrules_tape import grad, jvp


def _by_rule() -> Any:
    @primitive
    def f(x, *, scale=1.0):
        return scale * x * x

    @rule(f)
    def f_rule(x, *, scale):
        times = lambda t, c: t * c
        return f(x, scale=scale), (LinearMap(times, times, 2 * x * scale),)

    return f


def _by_rrule() -> Any:
    @primitive
    def f(x, *, scale=1.0):
        return scale * x * x

    @rrule.register(f)
    def f_rrule(x, *, scale):
        return f(x, scale=scale), lambda y_bar: (2 * scale * x * y_bar,)

    return f


def _of_torch(f: Any) -> dict[str, Any]:
    import torch

    e, two, three = export(f, to="torch"), torch.tensor(2.0), torch.tensor(3.0)
    needs = torch.tensor(3.0, requires_grad=True)
    func = torch.func
    return {
        "grad": lambda: func.grad(lambda s: e(two, scale=s))(three),
        "grad of both": lambda: func.grad(lambda s: e(s, scale=s))(three),
        "jvp": lambda: func.jvp(lambda s: e(s, scale=s), (three,), (two,)),
        "backward": lambda: e(two, scale=needs).backward(),
        "backward of both": lambda: e(needs, scale=needs).backward(),
        "in a tuple": lambda: e(needs, scale=(needs,)),
        "jacrev": lambda: func.jacrev(lambda s: e(s, scale=s))(three),
        "hessian": lambda: func.hessian(lambda s: e(s, scale=s))(three),
    }


def _of_jax(f: Any) -> dict[str, Any]:
    import jax

    e = export(f, to="jax")
    return {
        "grad": lambda: jax.grad(lambda s: e(2.0, scale=s))(3.0),
        "grad of both": lambda: jax.grad(lambda s: e(s, scale=s))(3.0),
        "jvp": lambda: jax.jvp(lambda s: e(s, scale=s), (3.0,), (1.0,)),
        "jit": lambda: jax.jit(lambda s: e(2.0, scale=s))(3.0),
        "vmap": lambda: jax.vmap(lambda s: e(2.0, scale=s))(np.ones(3)),
        "hessian": lambda: jax.hessian(lambda s: e(s, scale=s))(3.0),
    }


def _of_autograd(f: Any) -> dict[str, Any]:
    autograd: Any = importlib.import_module("autograd")
    e = export(f, to="autograd")
    return {
        "grad": lambda: autograd.grad(lambda s: e(2.0, scale=s))(3.0),
        "grad of both": lambda: autograd.grad(lambda s: e(s, scale=s))(3.0),
    }


def _of_tape(f: Any) -> dict[str, Any]:
    return {
        "grad of both": lambda: grad(lambda s: f(s, scale=s))(3.0),
        "jvp of both": lambda: jvp(lambda s: f(s, scale=s), (3.0,), (1.0,)),
    }


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
@pytest.mark.parametrize("state", [_by_rule, _by_rrule])
@pytest.mark.parametrize(
    "engine, calls",
    [("torch", _of_torch), ("jax", _of_jax), ("autograd", _of_autograd), (None, _of_tape)],
)
def test_a_traced_option_raises(engine, calls, state):
    if engine is not None:
        pytest.importorskip(engine)
        importlib.import_module(f"chainrules_{engine}")
    found = calls(state())
    for name, call in found.items():
        with pytest.raises(NotDifferentiableError, match="scale of f is an option"):
            print(name, call())


def test_an_option_that_nobody_differentiates_is_taken():
    torch = pytest.importorskip("torch")
    e, x = export(_by_rule(), to="torch"), torch.tensor(2.0, requires_grad=True)
    e(x, scale=3.0).backward()
    assert float(x.grad) == 12.0
