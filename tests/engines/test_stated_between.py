"""A rule that is stated, overridden or taken away between a call and its derivative, in engines."""

import contextlib
import functools

import numpy as np
import pytest

from chainrules_py import (
    LinearMap,
    Numeric,
    export,
    frule,
    overriding,
    primitive,
    rrule,
    rule,
    scalar_rule,
    unregister,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr:UserWarning"),
]

X = np.array([0.5, 1.5, 2.0])


def times(k, x):
    return lambda t: t * (k * x**2)


def by_scalar_rule(f, k):
    scalar_rule(f, lambda y, x: k * x**2)


def by_rule(f, k):
    rule(f)(lambda x: (f(x), (LinearMap(times(k, x), times(k, x)),)))


def by_rrule(f, k):
    rrule.register(f)(lambda x: (f(x), lambda bar: (times(k, x)(bar),)))


def by_frule(f, k):
    frule.register(f)(lambda dots, x: (f(x), times(k, x)(dots[0])))


FORMS = {"scalar_rule": by_scalar_rule, "rule": by_rule, "rrule": by_rrule, "frule": by_frule}


def made(form, k):
    f = primitive(lambda x: x * x * x)
    FORMS[form](f, k)
    return f


def other(f, k):
    return overriding(f, lambda x: (f(x), (LinearMap(times(k, x), times(k, x)),)), types=(Numeric,))


class Change:
    """From a table where the derivative is 10 x**2, to one where it is 3 x**2."""

    def __init__(self, kind, form):
        self.kind, self.form = kind, form
        self.block = contextlib.ExitStack()
        self.f = made(form, 3.0 if kind == "ends" else 10.0)
        if kind == "ends":
            self.block.enter_context(other(self.f, 10.0))

    def __call__(self):
        if self.kind == "ends":
            self.block.close()
        elif self.kind == "begins":
            self.block.enter_context(other(self.f, 3.0))
        else:
            unregister(self.f)
            FORMS[self.form](self.f, 3.0)


KINDS = ("ends", "begins", "stated anew")


def torch_ways(F, change):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.tensor(X)
    ones = torch.ones_like(x)

    def call(x):
        y = F(x)
        change()
        return y

    def held():
        pull = torch.func.vjp(F, x)[1]
        change()
        return pull(ones)[0]

    def linearized():
        push = torch.func.linearize(F, x)[1]
        change()
        return push(ones)

    def backward(**options):
        q = x.clone().requires_grad_()
        y = F(q)
        change()
        return torch.autograd.grad(y.sum(), q, **options)[0]

    def twice():
        q = x.clone().requires_grad_()
        y = F(q)
        change()
        (slope,) = torch.autograd.grad(y.sum(), q, create_graph=True)
        return torch.autograd.grad(slope.sum(), q)[0]

    total = lambda x: call(x).sum()
    mapped = torch.func.vmap(torch.func.grad(total))
    return {
        "vjp": held,
        "linearize": linearized,
        "backward": backward,
        "create_graph": lambda: backward(create_graph=True),
        "grad": lambda: torch.func.grad(total)(x),
        "jvp": lambda: torch.func.jvp(call, (x,), (ones,))[1],
        "vmap": lambda: mapped(x),
        "jacrev": lambda: torch.diagonal(torch.func.jacrev(call)(x)),
        "jacfwd": lambda: torch.diagonal(torch.func.jacfwd(call)(x)),
        "backward twice": twice,
        "hessian": lambda: torch.diagonal(torch.func.hessian(total)(x)),
        "grad of grad": lambda: torch.func.grad(lambda x: torch.func.grad(total)(x).sum())(x),
    }


def jax_ways(F, change):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    x = jax.numpy.asarray(X, np.float32)
    ones = jax.numpy.ones_like(x)

    def call(x):
        y = F(x)
        change()
        return y

    def held(f):
        pull = jax.vjp(f, x)[1]
        change()
        return pull(ones)[0]

    def linearized():
        push = jax.linearize(F, x)[1]
        change()
        return push(ones)

    total = lambda x: call(x).sum()
    return {
        "vjp": lambda: held(F),
        "vjp of jit": lambda: held(jax.jit(F)),
        "vjp of checkpoint": lambda: held(jax.checkpoint(F)),
        "linearize": linearized,
        "grad": lambda: jax.grad(total)(x),
        "jvp": lambda: jax.jvp(call, (x,), (ones,))[1],
        "grad of jit": lambda: jax.grad(jax.jit(total))(x),
        "grad of checkpoint": lambda: jax.grad(jax.checkpoint(total))(x),
        "jit of grad": lambda: jax.jit(jax.grad(total))(x),
        "vmap": lambda: jax.vmap(jax.grad(total))(x),
        "jacfwd": lambda: jax.numpy.diagonal(jax.jacfwd(call)(x)),
        "hessian": lambda: jax.numpy.diagonal(jax.hessian(total)(x)),
        "grad of grad": lambda: jax.grad(lambda x: jax.grad(total)(x).sum())(x),
    }


def autograd_ways(F, change):
    autograd = pytest.importorskip("autograd", reason="autograd is not installed")

    def call(x):
        y = F(x)
        change()
        return y

    def held():
        pull = autograd.make_vjp(F)(X)[0]
        change()
        return pull(np.ones_like(X))

    slope = autograd.elementwise_grad(call)
    return {
        "make_vjp": held,
        "elementwise_grad": lambda: slope(X),
        "make_jvp": lambda: autograd.make_jvp(call)(X)(np.ones_like(X))[1],
        "grad of grad": lambda: autograd.elementwise_grad(slope)(X),
    }


def mlx_ways(F, change):
    mx = pytest.importorskip("mlx.core", reason="MLX is not installed")
    x = mx.array(X.astype(np.float32))
    ones = mx.ones_like(x)

    def call(x):
        y = F(x)
        change()
        return y

    total = lambda x: call(x).sum()
    return {
        "grad": lambda: mx.grad(total)(x),
        "vjp": lambda: mx.vjp(call, [x], [ones])[1][0],
        "jvp": lambda: mx.jvp(call, [x], [ones])[1][0],
        "grad of grad": lambda: mx.grad(lambda x: mx.grad(total)(x).sum())(x),
    }


ENGINES = {"torch": torch_ways, "jax": jax_ways, "autograd": autograd_ways, "mlx": mlx_ways}
TWICE = ("backward twice", "hessian", "grad of grad")


QUICK = ("scalar_rule", "ends"), ("rule", "begins"), ("rrule", "stated anew"), ("frule", "ends")
CASES = [
    pytest.param(
        engine,
        form,
        kind,
        marks=[] if (form, kind) in QUICK[: 1 if engine == "jax" else 4] else pytest.mark.slow,
    )
    for engine in ENGINES
    for form in FORMS
    for kind in KINDS
]


@pytest.mark.parametrize("engine, form, kind", CASES)
def test_the_rule_of_the_call_is_that_of_the_derivative(engine, form, kind):
    ways = [*ENGINES[engine](None, None)]
    wrong = []
    for name in ways:
        change = Change(kind, form)
        F = export(change.f, to=engine)
        once = functools.cache(change)  # the first call changes it
        try:
            found = ENGINES[engine](F, once)[name]()
        finally:
            change.block.close()
        expected = 20.0 * X if name in TWICE else 10.0 * X**2
        found = np.asarray(found.detach() if engine == "torch" else found)
        if not np.allclose(found, expected, rtol=1e-5):
            wrong.append((name, found, expected))
    assert not wrong
