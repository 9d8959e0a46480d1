"""An array of NumPy's on the left of an engine's: in rules of one mode and of both, and in code."""

import operator

import numpy as np
import pytest

from chainrules_py import (
    LinearMap,
    NotDifferentiableError,
    ProjectionError,
    export,
    frule,
    primitive,
    rrule,
    rule,
)

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")

W = np.array([[1.0, 2.0], [3.0, 4.0]])
X = np.array([[0.5, 1.5], [2.5, 0.7]])
CONSTANTS = {"matrix": W, "number": np.float64(2.0)}
LINEAR = {
    "W * t": lambda w, t: w * t,
    "W @ t": lambda w, t: w @ t,
    "0 * W - t": lambda w, t: 0 * w - t,
    "0 * W + t": lambda w, t: 0 * w + t,
}
CASES = [(name, of) for name in LINEAR for of in CONSTANTS if of == "matrix" or "@" not in name]


def by_rrule(half):
    f = primitive(lambda x: x * 1.0)
    rrule.register(f)(lambda x: (x * 1.0, lambda bar: (half(bar),)))
    return f


def by_frule(half):
    f = primitive(lambda x: x * 1.0)
    frule.register(f)(lambda dots, x: (x * 1.0, half(dots[0])))
    return f


def by_rule(half):
    f = primitive(lambda x: x * 1.0)
    rule(f)(lambda x: (x * 1.0, (LinearMap(half, half),)))
    return f


FORMS = {"forward": by_frule, "reverse": by_rrule, "both": by_rule}


def of_torch(f, mode):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    f, x = export(f, to="torch"), torch.tensor(X)
    if mode == "forward":
        return torch.func.jvp(f, (x,), (torch.ones_like(x),))[1]
    return torch.func.vjp(f, x)[1](torch.ones_like(x))[0]


def of_torch_backward(f, mode):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.tensor(X, requires_grad=True)
    return torch.autograd.grad(export(f, to="torch")(x).sum(), x)[0]


def of_jax(f, mode, compiled=lambda derivative: derivative):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    f = export(f, to="jax")

    def derivative(_):
        x = jax.numpy.asarray(X)
        if mode == "forward":
            return jax.jvp(f, (x,), (jax.numpy.ones_like(x),))[1]
        return jax.vjp(f, x)[1](jax.numpy.ones_like(x))[0]

    # Always: JAX keeps NumPy's arrays that it has met in the precision that it met them in.
    with jax.enable_x64(True):
        return compiled(derivative)(0)


def of_jax_compiled(f, mode):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    return of_jax(f, mode, jax.jit)


def of_autograd(f, mode):
    autograd = pytest.importorskip("autograd", reason="autograd is not installed")
    f = export(f, to="autograd")
    if mode == "forward":
        return autograd.make_jvp(f)(X)(np.ones_like(X))[1]
    return autograd.make_vjp(f)(X)[0](np.ones_like(X))


def of_mlx(f, mode):
    mx = pytest.importorskip("mlx.core", reason="MLX is not installed")
    f, x = export(f, to="mlx"), mx.array(X.astype(np.float32))
    if mode == "forward":
        return mx.jvp(f, [x], [mx.ones_like(x)])[1][0]
    return mx.vjp(f, [x], [mx.ones_like(x)])[1][0]


ENGINES = {
    "torch": of_torch,
    "torch, backward": of_torch_backward,
    "jax": of_jax,
    "jax, compiled": of_jax_compiled,
    "autograd": of_autograd,
    "mlx": of_mlx,
}


def transposed(name, w):
    """Return what a linear function, or its transpose, makes of ones."""
    half = lambda t: LINEAR[name](w, t)
    basis = [half(np.eye(4)[i].reshape(2, 2)) for i in range(4)]
    return np.array([np.sum(y) for y in basis]).reshape(2, 2)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "engine",
    [pytest.param(e, marks=[pytest.mark.slow] if e == "jax, compiled" else []) for e in ENGINES],
)
def test_rule_with_a_constant_on_the_left_is_right_or_says_what_to_write(engine, form, mode):
    """It is right wherever a mode is transposed, and NumPy's arrays give way to the engine's."""
    if engine == "torch, backward" and mode == "forward":
        pytest.skip("backward is reverse mode")
    for name, of in CASES:
        w = CONSTANTS[of]
        f = FORMS[form](lambda t, name=name, w=w: LINEAR[name](w, t))
        stated = form in (mode, "both")
        # A rule of the other mode: what it makes of ones is what its transpose is.
        wanted = LINEAR[name](w, np.ones((2, 2))) if stated else transposed(name, w)
        found, said = None, ""
        try:
            found = ENGINES[engine](f, mode)
        except (NotDifferentiableError, ProjectionError) as error:
            said = str(error).replace("ops.", "write ") if "the rule of" in str(error) else ""
            if engine == "mlx":  # whose arrays NumPy makes its own
                said = str(error).replace("convert it", "write").replace("give an", "write")
        if found is None:
            may_refuse = engine == "mlx" or (engine.startswith("torch") and of != "number")
            assert may_refuse, (name, of)
            assert "write" in said
            continue
        tolerance = 1e-6 if engine in ("mlx", "jax") else 1e-12
        np.testing.assert_allclose(np.asarray(found), wanted, tolerance, err_msg=f"{name} {of}")


OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "@": operator.matmul,
    "**": operator.pow,
    "//": operator.floordiv,
    "%": operator.mod,
    "<": operator.lt,
    ">": operator.gt,
    "divmod()": divmod,
}
