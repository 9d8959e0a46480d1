"""An option that an engine differentiates is an error in every engine, whatever else is traced."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import custom_jvp, custom_vjp
from chainrules_py import (
    Array,
    ChainRulesError,
    LinearMap,
    NoTangent,
    NotDifferentiableError,
    TracerError,
    export,
    primitive,
    rrule,
    rule,
)
from chainrules_tape import checkpoint, grad, hessian, jvp, linearize


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
        "grad": lambda: grad(lambda s: f(2.0, scale=s))(3.0),
        "jvp": lambda: jvp(lambda s: f(2.0, scale=s), (3.0,), (1.0,)),
        "hessian": lambda: hessian(lambda s: f(2.0, scale=s))(3.0),
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


class Holder:
    def __init__(self, w):
        self.w = w


def _called() -> Any:
    @primitive
    def f(x, *, fn):
        return fn(x) * x

    @rule(f)
    def f_rule(x, *, fn):
        times = lambda t, c: t * c
        return f(x, fn=fn), (LinearMap(times, times, 2 * fn(x)),)

    return f


def _looked_at() -> Any:
    @primitive
    def f(x, *, o):
        return o["k"].w * x * x

    @rule(f)
    def f_rule(x, *, o):
        times = lambda t, c: t * c
        return f(x, o=o), (LinearMap(times, times, 2 * o["k"].w * x),)

    return f


def _fixed(custom: Any) -> Any:
    @functools.partial(custom, nondiff_argnums=(0,))
    def f(s, x):
        return s * x * x

    if custom is custom_vjp:
        f.defvjp(lambda s, x: (f(s, x), x), lambda s, x, g: (2 * s * x * g,))
    else:
        f.defjvp(lambda s, xs, ts: (f(s, *xs), 2 * s * xs[0] * ts[0]))
    return f


WAYS: dict[str, tuple[Any, Any]] = {
    "in code": (_by_rule, lambda f, x, s: f(x, scale=s)),
    "rrule in code": (_by_rrule, lambda f, x, s: f(x, scale=s)),
    "tuple in code": (_by_rule, lambda f, x, s: f(x, scale=(s,))),
    "closure": (_called, lambda f, x, s: f(x, fn=lambda a: a * s)),
    "partial": (_called, lambda f, x, s: f(x, fn=functools.partial(lambda c, a: a * c, s))),
    "method": (_called, lambda f, x, s: f(x, fn=s.__mul__)),
    "object": (_looked_at, lambda f, x, s: f(x, o={"k": Holder(s)})),
    "held fixed, vjp": (lambda: _fixed(custom_vjp), lambda f, x, s: f(s, x)),
    "held fixed, jvp": (lambda: _fixed(custom_jvp), lambda f, x, s: f(s, x)),
}
"""Ways by which a value comes to a rule that is no operand; the derivative in it would be lost."""


def _doors_of_torch(call: Any) -> dict[str, Any]:
    import torch

    two, one = torch.tensor(2.0), torch.tensor(1.0)
    needs = torch.tensor(2.0, requires_grad=True)
    e, func = export(lambda x, s: call(x, s), to="torch"), torch.func
    return {
        "grad": lambda: func.grad(lambda w: e(w, w))(two),
        "jvp": lambda: func.jvp(lambda w: e(w, w), (two,), (one,)),
        "vmap": lambda: func.vmap(func.grad(lambda w: e(w, w)))(torch.stack([two, one])),
        "backward": lambda: torch.autograd.grad(e(needs, needs), needs),
        "called inside": lambda: func.grad(lambda w: export(lambda x: call(x, w), to="torch")(w))(
            two
        ),
    }


def _doors_of_jax(call: Any) -> dict[str, Any]:
    import jax

    e = export(lambda x, s: call(x, s), to="jax")
    return {
        "grad": lambda: jax.grad(lambda w: e(w, w))(2.0),
        "jvp": lambda: jax.jvp(lambda w: e(w, w), (2.0,), (1.0,)),
        "jit": lambda: jax.jit(jax.grad(lambda w: e(w, w)))(2.0),
    }


def _doors_of_autograd(call: Any) -> dict[str, Any]:
    autograd: Any = importlib.import_module("autograd")
    e = export(lambda x, s: call(x, s), to="autograd")
    return {
        "grad": lambda: autograd.grad(lambda w: e(w, w))(2.0),
        "jvp": lambda: autograd.make_jvp(lambda w: e(w, w))(2.0)(1.0),
    }


@functools.partial(custom_vjp)
def _taken(x, *, o):
    return (o.w if isinstance(o, Holder) else o(x) if callable(o) else next(iter(o))) * x * x


_taken.defvjp(lambda x, *, o: (_taken(x, o=o), x), lambda x, g: (-7.0 * x * g,))

HIDDEN: dict[str, Any] = {
    "tuple": lambda s: (s,),
    "list": lambda s: [s],
    "object": Holder,
    "iterator": lambda s: iter([s]),
    "default": lambda s: lambda a, s=s: a * s,
    "partial": lambda s: functools.partial(np.multiply, s),
}


@pytest.mark.parametrize("way", [way for way in (*WAYS, *HIDDEN) if way != "tuple in code"])
def test_the_tape_refuses_it_where_nothing_else_is_traced(way):
    if way in HIDDEN:
        call = lambda x, s: _taken(x, o=HIDDEN[way](s))
    else:
        make, use = WAYS[way]
        call = functools.partial(use, make())
    runs = (
        lambda f: grad(f)(3.0),
        lambda f: jvp(f, (3.0,), (1.0,)),
        lambda f: linearize(f, 3.0),
        lambda f: grad(checkpoint(f))(3.0),
        lambda f: grad(grad(f))(3.0),
    )
    for run in runs:
        with pytest.raises((NotDifferentiableError, TracerError)):
            print(run(lambda s: call(2.0, s)))


def test_what_a_body_captured_is_differentiated_beside_functions_that_hold_nothing():
    def loss(w):
        @primitive
        def f(x, *, act, names):
            return w * act(x)

        @rrule.register(f)
        def f_rrule(x, *, act, names):
            return f(x, act=act, names=names), lambda y_bar: (7.0 * y_bar,)

        return f(2.0, act=lambda a: a * a, names=Holder(1.0))

    assert grad(loss)(3.0) == jvp(loss, (3.0,), (1.0,))[1] == 4.0


UNSEEN = ("method", "object")  # of an array of the engine's own; two levels deep


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", [way for way in WAYS if way not in UNSEEN])
@pytest.mark.parametrize(
    "engine, doors",
    [("torch", _doors_of_torch), ("jax", _doors_of_jax), ("autograd", _doors_of_autograd)],
)
def test_what_reaches_a_rule_and_is_no_operand_raises(engine, doors, way):
    pytest.importorskip(engine)
    importlib.import_module(f"chainrules_{engine}")
    make, use = WAYS[way]
    for door, call in doors(functools.partial(use, make())).items():
        with pytest.raises(ChainRulesError, match=r"option|fixed|captured"):
            print(door, call())


def _held_by_torch(f: Any) -> dict[str, Any]:
    import torch

    x, func = torch.tensor([2.0, 4.0], dtype=torch.float64), torch.func
    ones = torch.ones_like(x)
    return {
        "vmap": lambda: func.vmap(f)(x, x),
        "vmap of grad": lambda: func.vmap(func.grad(f, 1))(x, x),
        "vmap of jvp": lambda: func.vmap(lambda s, a: func.jvp(lambda q: f(s, q), (a,), (a,)))(
            x, x
        ),
        "vmap of hessian": lambda: func.vmap(func.hessian(f, 1))(x, x),
        "jacrev of vmap": lambda: func.jacrev(lambda a: func.vmap(f)(x, a))(x),
        "jacfwd of vmap": lambda: func.jacfwd(lambda a: func.vmap(f)(x, a))(x),
        "vmap over it alone": lambda: func.jvp(
            lambda a: func.vmap(lambda s: f(s, a))(x), (x[0],), (ones[0],)
        ),
    }


def _held_by_jax(f: Any) -> dict[str, Any]:
    import jax

    x = jax.numpy.asarray([2.0, 4.0])
    loop = lambda a: jax.lax.scan(lambda c, s: (c + f(s, a), None), 0.0 * a, x)[0]
    return {
        "vmap": lambda: jax.vmap(f)(x, x),
        "jit": lambda: jax.jit(f)(x, x),
        "jit of grad": lambda: jax.jit(jax.grad(lambda a: f(x[0], a)))(x[1]),
        "vmap of grad": lambda: jax.vmap(jax.grad(f, 1))(x, x),
        "hessian of jit": lambda: jax.hessian(jax.jit(f), 1)(x[0], x[1]),
        "jacfwd of vmap": lambda: jax.jacfwd(lambda a: jax.vmap(f)(x, a))(x),
        "grad of scan": lambda: jax.grad(loop)(x[1]),
        "grad of checkpoint": lambda: jax.grad(jax.checkpoint(lambda a: f(x[0], a)))(x[1]),
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("custom", [custom_vjp, custom_jvp])
@pytest.mark.parametrize("engine, doors", [("torch", _held_by_torch), ("jax", _held_by_jax)])
def test_what_is_held_fixed_may_be_mapped_over_and_compiled(engine, doors, custom):
    """As the engine differentiates the same function without a rule."""
    pytest.importorskip(engine)
    importlib.import_module(f"chainrules_{engine}")
    native = doors(lambda s, x: s * x * x)
    for door, call in doors(export(_fixed(custom), to=engine)).items():
        for found, wanted in zip(np.atleast_1d(call()), np.atleast_1d(native[door]()), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6, err_msg=door)


class _Called(Holder):
    def __call__(self, x: Any) -> Any:
        return x * self.w


def _module(w: Any) -> Any:
    import torch

    made: Any = torch.nn.Identity()
    made.w = w
    return made


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine, doors", [("torch", _doors_of_torch), ("jax", _doors_of_jax)])
def test_a_body_sees_the_attributes_of_an_operand_that_can_be_called(engine, doors):
    """Where it holds what is differentiated, the rule has to say so: that is our error."""
    pytest.importorskip(engine)
    importlib.import_module(f"chainrules_{engine}")

    @primitive
    def f(h, x):
        return h.w * x * x

    @rule(f, types=(object, Array))
    def f_rule(h, x):
        times = lambda t, c: t * c
        return f(h, x), (NoTangent(), LinearMap(times, times, 2 * h.w * x))

    for make in (_Called, *([_module] if engine == "torch" else [])):
        for call in doors(lambda x, s, make=make: f(make(s), x)).values():
            with pytest.raises((NotDifferentiableError, TracerError), match="lost"):
                print(call())
        for door, call in doors(lambda x, s, make=make: f(make(3.0), x)).items():
            if door != "called inside":
                np.testing.assert_allclose(
                    np.ravel(call()[-1:] if door == "jvp" else call())[0], 12.0
                )
