"""Rules stated in every form, of operands that are whole numbers, narrow ones, in every engine.

Each computes x k² without wrapping, and its rule computes with k². So a derivative is that of the
same numbers in float64.
"""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile import compile
from chainrules_kit.custom_derivatives import augmented_rule, custom_jvp, custom_vjp, user_grad
from chainrules_py import LinearMap, export, frule, primitive, rrule, rule, scalar_rule
from chainrules_tape import checkpoint, grad, jvp, linearize, vjp

Draw = tuple[str, str, str, str]


def body(x: Any, k: Any) -> Any:
    """Compute x k² in real numbers."""
    return x * (k * 1.0) ** 2


def _partials(f: Any) -> Any:
    scalar_rule(f, lambda _y, x, k: k * k, lambda _y, x, k: 2 * k * x)
    return f


def _maps(f: Any) -> Any:
    @rule(f)
    def f_rule(x, k):  # type: ignore[no-untyped-def]
        half = lambda t, p: t * p
        return f(x, k), (LinearMap(half, half, k * k), LinearMap(half, half, 2 * k * x))

    return f


def _push(f: Any) -> Any:
    @frule.register(f)
    def f_frule(tangents, x, k):  # type: ignore[no-untyped-def]
        x_dot, k_dot = tangents
        return f(x, k), k * k * x_dot + 2 * k * x * k_dot

    return f


def _pull(f: Any) -> Any:
    @rrule.register(f)
    def f_rrule(x, k):  # type: ignore[no-untyped-def]
        return f(x, k), lambda bar: (bar * (k * k), bar * (2 * k * x))

    return f


def _pair(f: Any, **keywords: Any) -> Any:
    backward = lambda kk, k, x, bar: (bar * kk, bar * 2 * k * x)
    augmented_rule(f, lambda x, k: (f(x, k), (k * k, k, x)), backward, **keywords)
    return f


def _vjp(f: Any, **keywords: Any) -> Any:
    g = custom_vjp(f)
    backward = lambda saved, bar: (bar * saved[0], bar * 2 * saved[1] * saved[2])
    g.defvjp(lambda x, k: (f(x, k), (k * k, k, x)), backward, **keywords)
    return g


def _recomputed(f: Any) -> Any:
    g = custom_vjp(f)
    backward = lambda saved, bar: (bar * saved[0], bar * 2 * saved[1] * saved[2])
    g.defvjp(lambda x, k: (f(x, k), (k * k, k, x)), backward, recompute=True)
    return g


def _jvp(f: Any) -> Any:
    g = custom_jvp(f)

    @g.defjvp
    def g_jvp(xs, ts):  # type: ignore[no-untyped-def]
        (x, k), (x_dot, k_dot) = xs, ts
        return f(x, k), k * k * x_dot + (0.0 if _still(k_dot) else 2 * k * x * k_dot)

    return g


def _still(t: Any) -> bool:
    return type(t).__name__ == "NoTangent"


def _jvps(f: Any) -> Any:
    g = custom_jvp(f)
    g.defjvps(lambda t, y, x, k: k * k * t, lambda t, y, x, k: 2 * k * x * t)
    return g


def _region(f: Any) -> Any:
    def g(x: Any, k: Any) -> Any:
        @user_grad(x, k)
        def y(x: Any, k: Any) -> Any:
            return f(x, k), lambda bar: (bar * (k * k), bar * (2 * k * x))

        return y

    return g


def _of_dict(f: Any) -> Any:
    """The narrow numbers in a dict, beside what is differentiated."""
    g = custom_vjp(lambda p: f(p["x"], p["k"]))

    def forward(p: Any) -> Any:
        return f(p["x"], p["k"]), (p["k"] * p["k"], p["k"], p["x"])

    def backward(saved: Any, bar: Any) -> Any:
        return ({"x": bar * saved[0], "k": bar * 2 * saved[1] * saved[2]},)

    g.defvjp(forward, backward)
    return lambda x, k: g({"x": x, "k": k})


FORMS: dict[str, Callable[[Any], Any]] = {
    "scalar_rule": lambda f: _partials(primitive(f)),
    "rule": lambda f: _maps(primitive(f)),
    "frule": lambda f: _push(primitive(f)),
    "rrule": lambda f: _pull(primitive(f)),
    "augmented_rule": lambda f: _pair(primitive(f)),
    "augmented_rule, recompute": lambda f: _pair(primitive(f), recompute=True),
    "custom_vjp": _vjp,
    "custom_vjp, recompute": _recomputed,
    "defjvp": _jvp,
    "defjvps": _jvps,
    "user_grad": _region,
    "custom_vjp of a dict": _of_dict,
}
KINDS = {
    "int8": [100, 3], "uint8": [200, 3], "int16": [300, 3], "uint16": [300, 3],
    "int32": [70000, 3], "uint32": [70000, 3], "int64": [2**32, 3], "uint64": [2**33, 3],
}  # fmt: skip
POINTS: dict[str, Callable[[Any], Any]] = {
    "array": lambda a: a,
    "0-d": lambda a: np.asarray(a[0]),
    "scalar": lambda a: a[0],
}

# ----------------------------------------------------------------------------------- the doors
# Each gives the derivative in x, in the direction of ones.


def _ones(x: Any) -> Any:
    return np.ones_like(x) if isinstance(x, np.ndarray) else 1.0


def _sum(f: Any, k: Any) -> Any:
    return lambda x: np.sum(f(x, k))


TAPE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "grad": lambda f, x, k: grad(_sum(f, k))(x),
    "vjp of both": lambda f, x, k: vjp(f, x, k)[1](_ones(x))[0],
    "jvp": lambda f, x, k: jvp(lambda x: f(x, k), (x,), (_ones(x),))[1],
    "linearize": lambda f, x, k: linearize(lambda x: f(x, k), x)[1](_ones(x)),
    "checkpoint": lambda f, x, k: grad(checkpoint(_sum(f, k)))(x),
    "compile": lambda f, x, k: compile(grad(lambda x, k: np.sum(f(x, k))))(x, k),
    "compile jvp": lambda f, x, k: compile(lambda x, k: jvp(f, (x, k), (_ones(x), 0.0 * k))[1])(
        x, k
    ),
    "second order": lambda f, x, k: (
        grad(lambda x: jvp(lambda x: np.sum(x * f(x, k)), (x,), (_ones(x),))[1])(x) / 2
    ),
}
IN_K: dict[str, Callable[[Any, Any, Any], Any]] = {
    "vjp in k": lambda f, x, k: vjp(f, x, k)[1](_ones(x))[1],
    "jvp in k": lambda f, x, k: jvp(lambda k: f(x, k), (k,), (_ones(x),))[1],
    "linearize in k": lambda f, x, k: linearize(lambda k: f(x, k), k)[1](_ones(x)),
}


def _torch(f: Any, x: Any, k: Any, to: Any) -> Any:
    torch: Any = importlib.import_module("torch")
    g, a, b = export(f, to="torch"), torch.tensor(np.asarray(x)), torch.tensor(np.asarray(k))
    if to == "jvp":
        return torch.func.jvp(lambda a: g(a, b), (a,), (torch.ones_like(a),))[1].numpy()
    a.requires_grad_()
    g(a, b).sum().backward()
    return a.grad.numpy()


def _jax(f: Any, x: Any, k: Any, to: Any) -> Any:
    jax: Any = importlib.import_module("jax")
    with jax.enable_x64(True):
        g, a, b = export(f, to="jax"), jax.numpy.asarray(x), jax.numpy.asarray(k)
        pull = jax.grad(lambda a: jax.numpy.sum(g(a, b)))
        return np.asarray(jax.jit(pull)(a) if to == "jit" else pull(a))


def _autograd(f: Any, x: Any, k: Any, to: Any) -> Any:
    autograd: Any = importlib.import_module("autograd")
    g = export(f, to="autograd")
    return autograd.grad(lambda a: importlib.import_module("autograd.numpy").sum(g(a, k)))(x)


ENGINES: dict[str, Callable[[Any, Any, Any], Any]] = {
    f"{name} {to}": functools.partial(run, to=to)
    for name, run, doors in (
        ("torch", _torch, ("grad", "jvp")),
        ("jax", _jax, ("grad", "jit")),
        ("autograd", _autograd, ("grad",)),
    )
    for to in doors
}
DOORS = TAPE | IN_K | ENGINES


def everything(doors: Any = (*TAPE, *IN_K)) -> list[Draw]:
    """List all draws: form, dtype, operand, door."""
    found: Any = itertools.product(FORMS, KINDS, POINTS, doors)
    return [*found]


def wrong(form: str, kind: str, point: str, door: str) -> str:
    """Tell what is wrong with a draw; nothing if it is right."""
    f = FORMS[form](body)
    x, k = POINTS[point](np.array([0.5, 1.5])), POINTS[point](np.array(KINDS[kind], kind))
    if door.startswith(("torch", "jax", "autograd")) and form == "user_grad":
        return ""  # a region is code of the tape's
    if form == "nondiff_argnums" and door in (*IN_K, "vjp of both", "compile jvp"):
        return ""  # these differentiate in k as well
    wide = k.astype(np.float64)
    due = 2 * wide * x if door in IN_K else wide * wide
    value = f(x, k)
    found = np.asarray(DOORS[door](f, x, k))
    if not np.array_equal(value, body(x, k)):
        return f"the value is {value}"
    due = np.sum(due) if np.shape(found) != np.shape(due) else due
    return "" if np.allclose(found, due, rtol=1e-12) else f"{found} for {due}"
