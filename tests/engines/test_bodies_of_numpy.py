"""Bodies in NumPy, under every constructor, in PyTorch and MLX: one value in all modes."""

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import augmented_rule, custom_jvp, custom_vjp
from chainrules_py import (
    NoRuleError,
    NotDifferentiableError,
    export,
    frule,
    primitive,
    rrule,
)
from chainrules_py import ops as v

pytestmark = [
    pytest.mark.filterwarnings("ignore:__array_wrap__ must accept context:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning"),
]

X = np.array([0.5, 1.0, 1.5, 2.0])


def filled(x):
    z = np.empty_like(x)
    z[...] = x
    return z * x


BODIES = {
    "sum": lambda x: np.sum(x * x),
    "mean": lambda x: np.mean(x),
    "max": lambda x: np.max(x),
    "var": lambda x: np.var(x),
    "std": lambda x: x / np.std(x),
    "any": lambda x: x * np.any(x),
    "all": lambda x: x * np.all(x > 0),
    "copy": lambda x: x.copy() * 2.0,
    "astype": lambda x: x.astype(float),
    "filled": filled,
    "a method": lambda x: np.sum(x) / x.std(),
}
COMPILED = ("sum", "copy", "filled", "a method")
"""What is compiled as well, which takes a second each."""


def of_rrule(body):
    f = primitive(lambda x: body(x))

    @rrule.register(f)
    def f_rrule(x):
        return f(x), lambda y_bar: (x * v.sum(y_bar),)

    return f


def of_frule(body):
    f = primitive(lambda x: body(x))

    @frule.register(f)
    def f_frule(tangents, x):
        return f(x), f(x) * v.sum(x * tangents[0])

    return f


def of_augmented_rule(body):
    f = primitive(lambda x: body(x))
    augmented_rule(f, lambda x: (f(x), (x,)), lambda x, y_bar: (x * v.sum(y_bar),))
    return f


def of_defvjp(body):
    f = custom_vjp(lambda x: body(x))
    f.defvjp(lambda x: (f(x), x), lambda x, y_bar: (x * v.sum(y_bar),))
    return f


def of_defjvp(body):
    f = custom_jvp(lambda x: body(x))

    @f.defjvp
    def f_jvp(primals, tangents):
        y = f(*primals)
        return y, y * v.sum(primals[0] * tangents[0])

    return f


def of_defjvps(body):
    f = custom_jvp(lambda x: body(x))
    f.defjvps(lambda x_dot, y, x: y * v.sum(x * x_dot))
    return f


REVERSE = (of_rrule, of_augmented_rule, of_defvjp)
FORMS = (*REVERSE, of_frule, of_defjvp, of_defjvps)


def slope_of(form, body):
    """Pull ones back, by what the form states."""
    y = np.asarray(body(X))
    return X * (y.size if form in REVERSE else np.sum(y))


def close(have, want, what="", rtol=1e-12):
    np.testing.assert_allclose(have, want, rtol=rtol, atol=rtol, err_msg=what)


@pytest.fixture
def torch():
    found = pytest.importorskip("torch", reason="PyTorch is not installed")
    found._dynamo.reset()
    return found


def compiled(torch, f):
    def run(x):
        torch._dynamo.reset()
        return torch.compile(f, backend="aot_eager", fullgraph=True)(x)

    return run


def with_gradient(f):
    def run(x):
        return f(x.clone().requires_grad_()).detach()

    return run


def backward(torch, f):
    def run(x):
        x = x.clone().requires_grad_()
        return torch.autograd.grad(f(x).sum(), x)[0]

    return run


def values_in(torch, f):
    """Yield the name of each mode, and the function in it."""
    yield "eager", f
    yield "requires_grad", with_gradient(f)
    yield "vmap", lambda x: torch.vmap(f)(x[None])[0]
    yield "vjp", lambda x: torch.func.vjp(f, x)[0]
    yield "jvp", lambda x: torch.func.jvp(f, (x,), (x,))[0]
    yield "strided", lambda x: f(torch.stack([x, x], 1)[:, 0])
    yield "compile", compiled(torch, f)
    yield "compile of vmap", compiled(torch, lambda x: torch.vmap(f)(x[None])[0])


def slopes_in(torch, f):
    """Yield the name of each way to a gradient, and the function."""
    total = lambda x: f(x).sum()
    yield "backward", backward(torch, f)
    yield "grad", torch.func.grad(total)
    yield "vmap of grad", lambda x: torch.vmap(torch.func.grad(total))(x[None])[0]
    yield "jacrev", torch.func.jacrev(total)
    yield "jacfwd", torch.func.jacfwd(total)
    yield "compile of grad", compiled(torch, torch.func.grad(total))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", BODIES)
def test_they_have_numpys_values_and_the_stated_slopes_in_torch(name, form, torch):
    body = BODIES[name]
    f, x = export(form(body), to="torch"), torch.tensor(X)
    is_compiled = name in COMPILED
    for mode, run in values_in(torch, f):
        if "compile" not in mode or is_compiled:
            close(run(x), body(X), mode)
    close(f(x.bfloat16()).float(), body(X), rtol=2e-2)
    for mode, run in slopes_in(torch, f):
        if "compile" not in mode or is_compiled:
            close(run(x), slope_of(form, body), mode)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", BODIES)
def test_they_have_numpys_values_and_the_stated_slopes_in_mlx(name, form):
    mx = pytest.importorskip("mlx.core", reason="MLX is not installed")
    body = BODIES[name]
    f, x = export(form(body), to="mlx"), mx.array(X.astype(np.float32))
    total = lambda x: f(x).sum()
    close(np.array(f(x)), body(X), rtol=1e-5)
    close(np.array(mx.vjp(lambda x: f(x), [x], [mx.ones_like(f(x))])[0][0]), body(X), rtol=1e-5)
    close(np.array(mx.grad(total)(x)), slope_of(form, body), rtol=1e-5)
    (slope,) = mx.jvp(total, [x], [mx.ones_like(x)])[1]
    close(np.array(slope), slope_of(form, body).sum(), rtol=1e-5)
    slope = mx.grad(lambda x: mx.grad(total)(x).sum())(x)  # keeps what it is made of
    assert slope.shape == x.shape
    for run in (mx.vmap(f), mx.compile(f), mx.vmap(mx.grad(total))):
        with pytest.raises(NotDifferentiableError, match="looks at values"):
            mx.eval(run(x[None]))


def methods_with_two_meanings(torch):
    """Find the methods that tensors and NumPy's arrays have, which give other numbers."""
    arguments = ((), (0,), (1,), (2,), (0, 1))
    found = []
    for name in sorted({*dir(torch.Tensor)} & {*dir(np.ndarray)}):
        if name.startswith("_"):
            continue
        for given in arguments:
            for shape in ((4,), (2, 2)):
                x = X.reshape(shape)
                try:
                    ours = np.asarray(getattr(x.copy(), name)(*given), float)
                    theirs = getattr(torch.tensor(x), name)(*given)
                    assert isinstance(theirs, torch.Tensor)
                    theirs = np.asarray(theirs, float)
                except Exception:  # one of the two has no such call
                    continue
                if ours.shape != theirs.shape or not np.allclose(ours, theirs):
                    found.append((name, given, shape))
    return found


def test_a_method_means_the_same_in_all_modes_of_torch(torch):
    """`x.std()` beside `np.tanh(x)` is PyTorch's eagerly, and was NumPy's where that failed."""
    cases = methods_with_two_meanings(torch)
    assert {"std", "var", "repeat", "transpose"} <= {name for name, _, _ in cases}
    for name, given, shape in cases:
        x = torch.tensor(X).reshape(shape)
        call = lambda x, name=name, given=given: 1.0 * getattr(x, name)(*given)
        for body in (
            lambda x, call=call: call(np.tanh(x)),
            lambda x, call=call: call(x * float(x.sum())),
        ):
            for form in (of_rrule, of_defvjp):
                f = export(form(body), to="torch")
                want = body(x)
                close(torch.vmap(f)(x[None])[0], want, name)
                close(f(x.bfloat16()).float(), want, name, rtol=5e-2)
                close(torch.func.vjp(f, x)[0], want, name)
                if name == "std":
                    close(compiled(torch, f)(x), want, name)


def test_a_rule_that_gives_arrays_to_such_functions(torch):
    f = custom_vjp(lambda x: np.sum(x))
    f.defvjp(lambda x: (np.sum(x), x), lambda x, y_bar: (x * y_bar,))
    x = torch.tensor(X, requires_grad=True)
    y = export(f, to="torch")(x)
    assert y == 5.0
    np.testing.assert_allclose(torch.autograd.grad(y, x)[0], X)


@pytest.mark.parametrize("held", [lambda x: [(x, x)], lambda x: {"x": x}], ids=["list", "dict"])
@pytest.mark.parametrize("body", [np.dot, lambda x, y: np.sum(x * y)], ids=["dot", "sum"])
def test_a_number_computed_from_tensors_in_a_structure_is_a_tensor(body, held, torch):
    """A plain number had no gradient under `torch.func`."""
    first = lambda p: p["x"] if isinstance(p, dict) else p[0][0]
    f = primitive(lambda p: body(first(p), first(p)))

    @rrule.register(f)
    def f_rrule(p: list | dict):
        x = first(p)
        bar = lambda t: {"x": t} if isinstance(p, dict) else [(t, 0.0 * x)]
        return f(p), lambda y_bar: (bar(2 * y_bar * x),)

    loss = lambda x: export(f, to="torch")(held(x)) * x.sum()
    want = 2 * X * X.sum() + X @ X
    for name, run in (("backward", backward(torch, loss)), ("grad", torch.func.grad(loss))):
        close(run(torch.tensor(X)), want, name)
    close(torch.vmap(torch.func.grad(loss))(torch.tensor(X)[None])[0], want, "vmap of grad")
    close(torch.func.jvp(loss, (torch.tensor(X),), (torch.tensor(X),))[1], want @ X, "jvp")


def test_texts_beside_the_numbers_of_a_result_are_kept_in_all_modes(torch):
    @primitive
    def fitted(x):
        return np.sum(x * x), 7, "large" if np.sum(x) > 6 else "small"

    @rrule.register(fitted)
    def fitted_rule(x):
        return fitted(x), lambda y_bar: (2 * x * y_bar[0],)

    f, x = export(fitted, to="torch"), torch.tensor(X)
    loss = lambda x: f(x)[0] if f(x)[2] == "small" else 0.0 * x.sum()
    for name, run in slopes_in(torch, loss):
        if name in ("backward", "grad", "vmap of grad"):
            close(run(x), 2 * X, name)
    with pytest.raises(NotDifferentiableError, match=r"cannot depend on values.*'small'.*'large'"):
        torch.vmap(lambda x: f(x)[0])(torch.stack([x, 2 * x]))


def test_the_error_that_a_rule_leaves_torch_by_is_named(torch):
    """`x.size` is a method of tensors: the rule runs on NumPy's arrays, to first order."""

    @primitive
    def mean(x):
        return np.mean(x * x)

    @rrule.register(mean)
    def mean_rule(x):
        return v.mean(x * x), lambda y_bar: (2 * y_bar * x / x.size,)

    f, x = export(mean, to="torch"), torch.tensor(X)
    close(torch.func.grad(f)(x), X / 2)
    with pytest.raises(NotDifferentiableError, match=r"TypeError: unsupported operand"):
        torch.func.hessian(f)(x)


def test_without_a_rule_there_is_no_derivative_of_what_numpy_computes(torch):
    f = primitive(lambda x: np.sum(x))
    assert export(f, to="torch")(torch.tensor(X)) == 5.0
    with pytest.raises(NoRuleError, match="has no rule"):
        export(f, to="torch")(torch.tensor(X, requires_grad=True))
    mx = pytest.importorskip("mlx.core", reason="MLX is not installed")
    assert export(f, to="mlx")(mx.array([2.0, 3.0])) == 5.0
    with pytest.raises(NoRuleError, match="has no rule"):
        mx.grad(export(f, to="mlx"))(mx.array([2.0, 3.0]))
    with pytest.raises(NotDifferentiableError, match="looks at values"):
        mx.eval(mx.vmap(export(f, to="mlx"))(mx.array([[2, 3]])))


def test_a_body_that_is_wrong_says_so_as_numpy_does(torch):
    f = custom_vjp(lambda x: np.sum(x, axis=7))
    with pytest.raises(ValueError, match="axis 7 is out of bounds"):
        export(f, to="torch")(torch.tensor(X))
    mx = pytest.importorskip("mlx.core", reason="MLX is not installed")
    with pytest.raises(ValueError, match="axis 7 is out of bounds"):
        export(f, to="mlx")(mx.array([2.0, 3.0]))
