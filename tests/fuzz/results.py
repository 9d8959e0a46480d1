"""What a function with a rule gives for its value: the derivative in every engine, or an error.

Each function is the sine, of which the result is put into something. The program adds the numbers
that are found in the result to those of x: what takes the result for a constant has ones.
"""

from __future__ import annotations

import contextlib
import dataclasses
import decimal
import fractions
import functools
import importlib
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_kit.custom_derivatives import augmented_rule, custom_jvp, custom_vjp
from chainrules_py import (
    ChainRulesError,
    LinearMap,
    Tangent,
    export,
    frule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py import ops as v
from chainrules_tape import checkpoint, grad, jacobian, jvp, linearize, vjp

X = np.array([0.5, 1.0])
DUE = 1.0 + np.cos(X)
"""The gradient of every program."""


@dataclasses.dataclass
class Box:
    """A structure of one field."""

    a: Any


def _narrow(name: str) -> Callable[[Any], Any]:
    def make(a: Any) -> Any:
        return np.asarray(a).astype(getattr(importlib.import_module("ml_dtypes"), name))

    return make


def _of(name: str, function: str) -> Callable[[Any], Any]:
    return lambda a: getattr(importlib.import_module(name), function)(np.asarray(a))


def _objects(a: Any) -> Any:
    return np.array([float(y) for y in a], object)


def _record(a: Any) -> Any:
    return np.array([(float(y),) for y in a], [("a", float)])


def _sum(a: Any) -> float:
    return float(np.sum(a))


KINDS: dict[str, Callable[[Any], Any]] = {
    "array": lambda a: a,
    "list": lambda a: [a],
    "tuple beside a text": lambda a: (a, "text"),
    "dict": lambda a: {"a": a},
    "dataclass": Box,
    "float32": lambda a: a.astype(np.float32),
    "number": _sum,
    "number of NumPy's": np.sum,
    "array without axes": lambda a: np.asarray(np.sum(a)),
    "objects": _objects,
    "objects in a list": lambda a: [_objects(a)],
    "record": _record,
    "bfloat16": _narrow("bfloat16"),
    "bfloat16 in a list": lambda a: [_narrow("bfloat16")(a)],
    "float8": _narrow("float8_e4m3fn"),
    "array of JAX": _of("jax.numpy", "asarray"),
    "tensor": _of("torch", "from_numpy"),
    "array of MLX": _of("mlx.core", "array"),
}
"""What becomes of the sines, by NumPy; the first are seen by every engine."""
_SEEN = list(KINDS)[:6]
_DOTS: dict[str, Callable[[Any], Any]] = {name: KINDS[name] for name in _SEEN[:5]}
_DOTS |= dict.fromkeys(("objects in a list", "bfloat16 in a list"), KINDS["list"])
_DOTS["tuple beside a text"] = Tangent[tuple[Any, ...]]
_DOTS |= dict.fromkeys(("number", "number of NumPy's", "array without axes"), v.sum)


def _first(bar: Any) -> Any:
    """Return the cotangent of the sines, of that of what they were put into."""
    if isinstance(bar, Tangent):
        return bar.fields()[0][1]
    if isinstance(bar, (list, tuple)):
        return bar[0]
    return getattr(bar, "a", bar["a"] if isinstance(bar, dict) else bar)


def _pulled(x: Any, bar: Any) -> Any:
    return v.cos(x) * _first(bar)


def _pushing(f: Any, dot: Any) -> Callable[[Any, Any], Any]:
    return lambda ts, x: (f(x), dot(v.cos(x) * ts[0]))


FORMS: dict[str, Callable[[Any, Any], Any]] = {}
"""How the derivative is stated: of the body, and of what puts a tangent where the sines are."""


def _form(state: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    FORMS[state.__name__.strip("_")] = state
    return state


@_form
def _scalar_rule(f: Any, dot: Any) -> Any:
    f = primitive(f)
    scalar_rule(f, lambda _y, x: v.cos(x))
    return f


@_form
def _rule(f: Any, dot: Any) -> Any:
    f = primitive(f)

    @rule(f)
    def f_rule(x):  # type: ignore[no-untyped-def]
        return f(x), (LinearMap(lambda t, x: dot(v.cos(x) * t), lambda t, x: _pulled(x, t), x),)

    return f


@_form
def _rrule(f: Any, dot: Any) -> Any:
    f = primitive(f)
    rrule.register(f)(lambda x: (f(x), lambda bar: (_pulled(x, bar),)))
    return f


@_form
def _frule(f: Any, dot: Any) -> Any:
    f = primitive(f)
    frule.register(f)(_pushing(f, dot))
    return f


@_form
def _augmented_rule(f: Any, dot: Any) -> Any:
    f = primitive(f)
    augmented_rule(f, lambda x: (f(x), (x,)), lambda x, bar: (_pulled(x, bar),))
    return f


@_form
def _augmented_rule_again(f: Any, dot: Any) -> Any:
    f = primitive(f)
    augmented_rule(f, lambda x: (f(x), (x,)), lambda x, bar: (_pulled(x, bar),), recompute=True)
    return f


@_form
def _defvjp(f: Any, dot: Any) -> Any:
    f = custom_vjp(f)
    f.defvjp(lambda x: (f(x), x), lambda x, bar: (_pulled(x, bar),))
    return f


@_form
def _defvjp_of_the_body(body: Any, dot: Any) -> Any:
    f = custom_vjp(body)
    f.defvjp(lambda x: (body(x), x), lambda x, bar: (_pulled(x, bar),))
    return f


@_form
def _defvjp_again(f: Any, dot: Any) -> Any:
    f = custom_vjp(f)
    f.defvjp(lambda x: (f(x), x), lambda x, bar: (_pulled(x, bar),), recompute=True)
    return f


@_form
def _defjvp(f: Any, dot: Any) -> Any:
    f = custom_jvp(f)
    f.defjvp(lambda xs, ts: (f(*xs), dot(v.cos(xs[0]) * ts[0])))
    return f


@_form
def _defjvps(f: Any, dot: Any) -> Any:
    f = custom_jvp(f)
    f.defjvps(lambda t, y, x: dot(v.cos(x) * t))
    return f


@_form
def _both_registered(f: Any, dot: Any) -> Any:
    f = _rrule(f, dot)
    frule.register(f)(_pushing(f, dot))
    return f


def total(y: Any, add: Callable[[Any], Any]) -> Any:
    """Add up the numbers that are found in a result, wherever they are."""
    if isinstance(y, str):
        return 0.0
    if isinstance(y, dict):
        return total(list(y.values()), add)
    if isinstance(y, Box | types.SimpleNamespace):
        return total(y.a, add)
    if isinstance(y, types.FunctionType):
        return total(y(), add)
    if isinstance(y, (fractions.Fraction, decimal.Decimal)):
        return float(y)
    if isinstance(y, np.ndarray) and y.dtype.names:
        return total(y["a"], add)
    if getattr(y, "dtype", None) is not None:
        return add(y)
    return sum([total(part, add) for part in y]) if hasattr(y, "__iter__") else y


def _loss(f: Any, add: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: add(x) + total(f(x), add)


def _bars(y: Any) -> Any:
    """Return ones for a cotangent, in the form of a result."""
    if isinstance(y, (list, tuple)):
        return type(y)(["text" if isinstance(part, str) else _bars(part) for part in y])
    if isinstance(y, dict):
        return {key: _bars(part) for key, part in y.items()}
    if isinstance(y, Box):
        return Box(_bars(y.a))
    return 1.0 if type(y) is float else np.ones(np.shape(y), getattr(y, "dtype", float))


def _rrule_of(f: Any) -> Any:
    y, pullback = rrule(f, X)
    return 1.0 + np.asarray(pullback(_bars(y))[0], float)


def _frule_of(f: Any) -> Any:
    each = [frule((e,), f, X)[1] for e in np.eye(2)]
    return 1.0 + np.array([float(np.sum(_first(t))) for t in each])


def _pushed(push: Callable[[Any], Any], like: Callable[[Any], Any]) -> Any:
    return np.array([float(push(like(e))) for e in np.eye(2)])


def _torch(how: str) -> Callable[[Any], Any]:
    def found(f: Any) -> Any:
        import torch

        g, x = _loss(export(f, to="torch"), torch.sum), torch.tensor(X)
        if how == "jvp":
            return _pushed(lambda t: torch.func.jvp(g, (x,), (t,))[1], torch.tensor)
        if how == "grad":
            return torch.func.grad(g)(x).numpy()
        x.requires_grad_()
        return torch.autograd.grad(g(x), x)[0].numpy()

    return found


def _jax(how: str) -> Callable[[Any], Any]:
    def found(f: Any) -> Any:
        import jax
        import jax.numpy as jnp

        with jax.enable_x64(True):
            add = lambda a: jnp.sum(jnp.asarray(a, float))  # JAX adds no float8 to another
            g, x = _loss(export(f, to="jax"), add), jnp.asarray(X)
            if how == "jvp":
                return _pushed(lambda t: jax.jvp(g, (x,), (t,))[1], jnp.asarray)
            if how == "linearize":
                return _pushed(jax.linearize(g, x)[1], jnp.asarray)
            return np.asarray((jax.jit if how == "jit" else lambda h: h)(jax.grad(g))(x))

    return found


def _autograd(how: str) -> Callable[[Any], Any]:
    def found(f: Any) -> Any:
        autograd: Any = importlib.import_module("autograd")
        g = _loss(export(f, to="autograd"), importlib.import_module("autograd.numpy").sum)
        if how == "jvp":
            return _pushed(lambda t: autograd.make_jvp(g)(X)(t)[1], np.asarray)
        return autograd.grad(g)(X)

    return found


def _mlx(how: str) -> Callable[[Any], Any]:
    def found(f: Any) -> Any:
        import mlx.core as mx

        g, x = _loss(export(f, to="mlx"), mx.sum), mx.array(X.astype(np.float32))
        if how == "jvp":
            return _pushed(
                lambda t: mx.jvp(g, [x], [t])[1][0].item(), lambda e: mx.array(e.astype("f"))
            )
        return np.array(mx.grad(g)(x))

    return found


def _compiled(f: Any) -> Any:
    from chainrules_compile import compile as compiled

    return compiled(grad(_loss(f, np.sum)))(X)


DOORS: dict[str, Callable[[Any], Any]] = {
    "rrule": _rrule_of,
    "frule": _frule_of,
    "tape, grad": lambda f: grad(_loss(f, np.sum))(X),
    "tape, vjp": lambda f: vjp(_loss(f, np.sum), X)[1](1.0)[0],
    "tape, jvp": lambda f: _pushed(lambda t: jvp(_loss(f, np.sum), (X,), (t,))[1], np.asarray),
    "tape, linearize": lambda f: _pushed(linearize(_loss(f, np.sum), X)[1], np.asarray),
    "tape, jacobian": lambda f: jacobian(_loss(f, np.sum), mode="forward")(X),
    "tape, checkpoint": lambda f: grad(checkpoint(_loss(f, np.sum)))(X),
    **{f"torch, {how}": _torch(how) for how in ("backward", "grad", "jvp")},
    **{f"jax, {how}": _jax(how) for how in ("grad", "jvp", "linearize", "jit")},
    **{f"autograd, {how}": _autograd(how) for how in ("grad", "jvp")},
    **{f"mlx, {how}": _mlx(how) for how in ("grad", "jvp")},
    "compile": _compiled,
}
_FOREIGN = ("array of JAX", "tensor", "array of MLX")
_TRACING = ("jax, jit", "torch, grad", "compile")
"""Doors that what calls NumPy in a rule does not go through."""
NEEDS = {"array of JAX": "jax", "tensor": "torch", "array of MLX": "mlx", "compile": "numpy"}
NEEDS |= dict.fromkeys(("bfloat16", "bfloat16 in a list", "float8"), "ml_dtypes")


@functools.cache
def is_there(library: str) -> bool:
    """Tell whether a library can be imported."""
    with contextlib.suppress(ImportError):
        importlib.import_module("mlx.core" if library == "mlx" else library)
        return True
    return False


def verdict(kind: str, form: str, door: str) -> str:
    """Tell what is wrong: neither the derivative nor an error of ours; an error where it fits."""
    engine = door.partition(",")[0]
    needed = (NEEDS.get(kind, "numpy"), engine if f"{engine}, grad" in DOORS else "numpy")
    if not all(map(is_there, [n for n in needed if n != "tape"])):
        return ""
    make = KINDS[kind]
    f = FORMS[form](lambda x: make(np.sin(np.asarray(x))), _DOTS.get(kind, lambda t: t))
    try:
        found = np.asarray(DOORS[door](f), float)
    except ChainRulesError as error:
        fits = kind in _SEEN and (kind in ("array", "float32") or form != "scalar_rule")
        asks = form == "defvjp_of_the_body" and door in _TRACING
        if not fits or asks or (kind, door) == ("tuple beside a text", "compile"):
            return ""
        return f"{type(error).__name__}: {error}"[:300]
    except IndexError as error:  # a field of a traced record
        return "" if kind == "record" else f"{type(error).__name__}: {error}"[:300]
    except (TypeError, ValueError) as error:  # NumPy's, where it is given another's array
        mixed = type(error).__name__ == "TypePromotionError" and kind == "float8"
        mixed |= kind in _FOREIGN and engine in ("rrule", "frule", "tape", "autograd", "compile")
        return "" if mixed else f"{type(error).__name__}: {error}"[:300]
    except Exception as error:  # JAX has one of its own for ours in a callback
        ours = type(error).__name__ == "JaxRuntimeError" and "NotDifferentiable" in str(error)
        return "" if ours else f"{type(error).__name__}: {error}"[:300]
    near = 0.1 if "float8" in kind else 2e-2 if "bfloat16" in kind else 1e-4
    return "" if np.allclose(found, DUE, atol=near) else f"{found} for {DUE}"
