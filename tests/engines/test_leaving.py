"""Bodies and rules that leave an engine: by NumPy, for a number of Python's, for a branch.

A body is called back. A rule is refused wherever somebody may ask for its derivative.
"""

import contextlib
import importlib
import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.ndimage
import scipy.stats

from chainrules_kit.custom_derivatives import custom_jvp
from chainrules_py import (
    NoRuleError,
    NotDifferentiableError,
    RuleError,
    Tangent,
    export,
    primitive,
    rrule,
    scalar_rule,
)
from chainrules_py import ops as v
from chainrules_tape import grad

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")

X = np.array([0.7, -1.1])
BODIES = {
    "of NumPy": lambda x: np.log1p(np.exp(x)),
    "of NumPy's array": lambda x: np.log1p(np.exp(np.asarray(x))),
    "of a number": lambda x: math.log1p(math.exp(float(x))),
    "with a branch": lambda x: v.log1p(v.exp(x)) if x.sum() > 100.0 else v.log(1.0 + v.exp(x)),
}
SLOPE = 1.0 / (1.0 + np.exp(-X))
PARTIALS = {
    "float": lambda _y, x: math.cos(float(x)),
    "item": lambda _y, x: math.cos(x.item()),
    "NumPy": lambda _y, x: np.cos(np.asarray(x)),
}


def _number(x):
    return x.item() if hasattr(x, "item") else x


def softplus_by(body):
    @primitive
    def softplus(x):
        return body(x)

    scalar_rule(softplus, lambda _y, x: 1.0 / (1.0 + v.exp(-x)))
    return softplus


def sine_with(partial):
    @primitive
    def sine(x):
        return v.sin(x)

    scalar_rule(sine, partial)
    return sine


@pytest.fixture
def torch():
    found = pytest.importorskip("torch", reason="PyTorch is not installed")
    found._dynamo.reset()
    return found


@pytest.fixture
def jax(double):
    return pytest.importorskip("jax", reason="JAX is not installed")


@pytest.mark.parametrize("body", BODIES)
def test_a_body_that_leaves_pytorch_is_called_back(body, torch, near):
    from chainrules_torch import export

    f, xs = export(softplus_by(BODIES[body])), torch.tensor(X)
    slope = torch.func.grad(lambda x: f(x).sum())
    near(torch.vmap(f)(xs), np.log1p(np.exp(X)))
    near(torch.vmap(slope)(xs), SLOPE)
    near(torch.vmap(torch.func.grad(slope))(xs), SLOPE * (1 - SLOPE))
    x = torch.tensor(X[0], requires_grad=True)
    near(torch.autograd.grad(f(x), x)[0], SLOPE[0])
    near(slope(x.detach().bfloat16()).float(), SLOPE[0], rtol=1e-2)
    assert slope(x.detach().bfloat16()).dtype is torch.bfloat16
    for g, want in ((f, np.log1p(np.exp(X[0]))), (slope, SLOPE[0])):
        torch._dynamo.reset()
        near(torch.compile(g, backend="eager", fullgraph=True)(x.detach()), want)


@pytest.mark.parametrize("body", BODIES)
def test_a_body_that_leaves_jax_is_called_back(body, jax, near):
    from chainrules_jax import export

    f = export(softplus_by(BODIES[body]))
    near(jax.jit(f)(X[0]), np.log1p(np.exp(X[0])))
    near(jax.vmap(f)(X), np.log1p(np.exp(X)))
    for g in (jax.vmap(jax.grad(f)), jax.jit(jax.vmap(jax.grad(f)))):
        near(g(X), SLOPE)
    near(jax.jit(jax.hessian(f))(X[0]), SLOPE[0] * (1 - SLOPE[0]))
    near(jax.lax.scan(lambda c, x: (c + f(x), None), 0.0, X)[0], np.log1p(np.exp(X)).sum())


def test_a_body_that_gives_other_shapes_than_it_did_on_trial_is_an_error(torch, jax):
    from chainrules_jax import export as to_jax
    from chainrules_torch import export as to_torch

    @primitive
    def positive(x):
        return np.asarray(x)[np.asarray(x) > 0]

    scalar_rule(positive, lambda _y, _x: 1.0)
    with pytest.raises(Exception, match="said shapes") as caught:
        jax.jit(to_jax(positive))(X)
    assert "RuleError" in str(caught.value) or isinstance(caught.value, RuleError)
    compiled = torch.compile(to_torch(positive), backend="aot_eager", fullgraph=True)
    with pytest.raises(RuleError, match="said shapes"):
        compiled(torch.tensor(X))


def test_a_body_that_fails_on_trial_is_refused_with_the_line_to_write(torch, jax):
    from chainrules_jax import export as to_jax
    from chainrules_torch import export as to_torch

    @primitive
    def choosy(x):
        if np.asarray(x)[0] != X[0]:
            raise FloatingPointError("other numbers")
        return np.exp(np.asarray(x))

    scalar_rule(choosy, lambda y, _x: y)
    with pytest.raises(NoRuleError, match=r"chainrules_jax.callback\(choosy, result="):
        jax.jit(to_jax(choosy))(X)
    with pytest.raises(Exception, match=r"chainrules_torch.callback\(choosy, result="):
        torch.compile(to_torch(choosy), backend="eager", fullgraph=True)(torch.tensor(X))


def test_a_body_that_gives_nothing_on_trial_is_refused(torch, jax):
    """JAX never calls what gives no elements: nobody would see that it gives more."""
    from chainrules_jax import export as to_jax
    from chainrules_torch import export as to_torch

    @primitive
    def large(x):
        return np.asarray(x)[np.asarray(x) > 100.0]

    scalar_rule(large, lambda _y, _x: 1.0)
    for run in (jax.jit(to_jax(large)), jax.vmap(to_jax(large))):
        with pytest.raises(NoRuleError, match=r"chainrules_jax.callback\(large, result="):
            run(1000.0 * abs(X[None]))
    with pytest.raises(Exception, match=r"chainrules_torch.callback\(large, result="):
        torch.compile(to_torch(large), backend="eager", fullgraph=True)(torch.tensor(X))


def test_what_is_wrong_with_a_body_is_raised_as_it_is(torch, jax):
    from chainrules_jax import export as to_jax
    from chainrules_torch import export as to_torch

    @primitive
    def broken(x):
        raise FloatingPointError("not today")

    scalar_rule(broken, lambda y, _x: y)
    for call in (lambda: to_torch(broken)(torch.tensor(X)), lambda: jax.jit(to_jax(broken))(X)):
        with pytest.raises(FloatingPointError, match="not today"):
            call()


class AlarmedError(Exception):
    """What a signal handler raises."""


@pytest.mark.parametrize("error", [AlarmedError, TimeoutError, MemoryError])
def test_a_body_that_somebody_else_interrupts_is_not_called_back(error, torch, jax):
    """It would run on, and nobody would hear of the error."""

    def interrupted(x):
        if not isinstance(x, np.ndarray):
            raise error
        return 2.0 * x

    f = softplus_by(interrupted)
    with pytest.raises(error):
        export(f, to="torch")(torch.ones(2, requires_grad=True))
    with pytest.raises(error):
        jax.jit(export(f, to="jax"))(X)


def test_a_checkpoint_of_pytorch_stops_a_body_that_has_captured_what_is_differentiated(torch):
    a, x = (torch.tensor(number, requires_grad=True) for number in (1.25, 0.5))

    @primitive
    def f(x):
        return v.sin(x) * a**2

    scalar_rule(f, lambda y, x: v.cos(x) * a**2)
    y = torch.utils.checkpoint.checkpoint(export(f, to="torch"), x.detach(), use_reentrant=False)
    torch.testing.assert_close(torch.autograd.grad(y, a)[0], 2.0 * a * torch.sin(x))


@pytest.mark.parametrize("partial", PARTIALS)
def test_a_rule_that_leaves_pytorch_is_refused_where_its_derivative_is_asked(partial, torch, near):
    from chainrules_torch import export

    f = export(sine_with(PARTIALS[partial]))
    x = torch.tensor(X[0], requires_grad=True)
    near(torch.autograd.grad(f(x), x)[0], np.cos(X[0]))
    func = torch.func
    ways = (func.grad, func.jacfwd, func.jacrev)
    runs = [lambda a=a, b=b: a(b(f))(x.detach()) for a, b in itertools.product(ways, ways)]
    first = torch.autograd.grad(f(x) * x, x, create_graph=True)[0]
    near(first.detach(), np.cos(X[0]) * X[0] + np.sin(X[0]))
    runs.append(lambda: torch.autograd.grad(first, x))
    runs.append(lambda: torch.autograd.grad(func.grad(lambda x: f(x) * x)(x), x))
    near(func.vmap(func.grad(f))(torch.tensor(X)), np.cos(X))
    for run in runs:
        with pytest.raises(NotDifferentiableError, match=r"does not become|asks for"):
            run()


@pytest.mark.parametrize("partial", ["float", "NumPy"])  # JAX itself takes item() for a constant
def test_a_rule_that_leaves_jax_is_refused_where_its_derivative_is_asked(partial, jax, near):
    from chainrules_jax import export

    f = export(sine_with(PARTIALS[partial]))
    near(jax.grad(f)(X[0]), np.cos(X[0]))
    ways = (jax.grad, jax.jacfwd, jax.jacrev)
    near(jax.jit(jax.grad(f))(X[0]), np.cos(X[0]))
    near(jax.vmap(jax.grad(f))(X), np.cos(X))
    for a, b in itertools.product(ways, ways):
        with pytest.raises(NotDifferentiableError, match="the rule of sine computes with NumPy"):
            a(b(f))(X[0])


def importers():
    """Cube plus sine, imported from each engine that is here."""
    found = {"operations": lambda x: v.sin(x) + x**3}
    with contextlib.suppress(ImportError):
        import autograd.numpy as anp

        from chainrules_autograd import import_rule as of_autograd

        found["autograd"] = of_autograd(lambda x: anp.sin(x) + x**3)
    with contextlib.suppress(ImportError):
        import jax.numpy as jnp

        from chainrules_jax import import_rule as of_jax

        found["jax"] = of_jax(lambda x: jnp.sin(x) + x**3, operands=1)
    with contextlib.suppress(ImportError):
        import torch

        from chainrules_torch import import_rule as of_torch

        found["torch"] = of_torch(lambda x: torch.sin(x) + x**3)
    return found


WAYS_OF_TORCH = {
    "value": lambda t, f: lambda x: f(x),
    "func.grad": lambda t, f: t.func.grad(lambda x: f(x).sum()),
    "hessian": lambda t, f: t.func.hessian(lambda x: f(x).sum()),
    "jacfwd": lambda t, f: t.func.jacfwd(f),
    "vmap": lambda t, f: lambda x: t.vmap(f)(t.stack([x, 2 * x])),
    "vmap of grad": lambda t, f: (
        lambda x: t.vmap(t.func.grad(lambda x: f(x).sum()))(t.stack([x, 2 * x]))
    ),
    "jvp": lambda t, f: lambda x: t.func.jvp(f, (x,), (x,))[1],
    "twice": lambda t, f: lambda x: twice(t, f, x.clone().requires_grad_()),
    "compiled": lambda t, f: (
        lambda x: twice(t, t.compile(f, backend="aot_eager"), x.clone().requires_grad_(), once=True)
    ),
}


def twice(torch, f, x, *, once=False):
    (bar,) = torch.autograd.grad(f(x).sum(), x, create_graph=not once)
    return bar if once else torch.autograd.grad((bar**2).sum(), x)[0]


@pytest.mark.parametrize("way", [*WAYS_OF_TORCH])
def test_what_any_engine_imports_runs_in_every_way_of_pytorch(way, torch, near):
    from chainrules_torch import export

    x = torch.tensor(X)
    torch._dynamo.reset()
    run = WAYS_OF_TORCH[way]
    right = run(torch, lambda x: torch.sin(x) + x**3)(x)
    for f in importers().values():
        near(run(torch, export(f))(x), right, rtol=1e-10)


OPTIONS = [{}, {"power": 3}, {"power": 2.0}, {"axes": (0, 1)}, {"axes": [1], "power": 1}]


@pytest.mark.parametrize("options", OPTIONS)
def test_parameters_behind_the_operands_of_an_imported_function_are_options(options, torch, near):
    from chainrules_torch import export, import_rule

    def f(x, w, *, power=2, axes=(0,)):
        return (x**power * w).sum(axes)

    imported = import_rule(f, operands=2)
    x, w = np.outer(X, X) + 2.0, np.outer(X, [1.0, 2.0])
    whole = lambda sum, g: lambda x, w: sum(g(x, w, **options) ** 2)
    right = [torch.tensor(y, requires_grad=True) for y in (x, w)]
    bars = torch.autograd.grad(whole(torch.sum, f)(*right), right)
    bars_torch = torch.autograd.grad(whole(torch.sum, export(imported))(*right), right)
    for i, bar in enumerate(bars):
        near(grad(whole(np.sum, imported), i)(x, w), bar)
        near(bars_torch[i], bar)
    near(imported(x, w, **options), f(torch.tensor(x), torch.tensor(w), **options))


def test_functions_that_one_engine_imports_run_in_the_other(torch, jax, near):
    """In all transformations: eager, mapped, compiled."""
    import chainrules_jax
    import chainrules_torch

    gelu = chainrules_torch.export(chainrules_jax.import_rule(jax.nn.gelu))
    native = lambda x: torch.nn.functional.gelu(x, approximate="tanh")
    matrix = torch.tensor(np.outer(X, X) + 0.3).T
    for way in (torch.func.grad, torch.func.hessian):
        runs = [way(lambda x, f=f: (f(x) ** 2).sum()) for f in (gelu, native)]
        near(runs[0](matrix), runs[1](matrix), rtol=1e-10)
        near(torch.vmap(runs[0])(matrix), torch.vmap(runs[1])(matrix), rtol=1e-10)
    leaf = matrix.clone().requires_grad_()
    torch._dynamo.reset()
    for f in (gelu, torch.compile(gelu, backend="eager", fullgraph=True)):
        bars = [torch.autograd.grad(g(leaf).sum(), leaf)[0] for g in (f, native)]
        near(bars[0], bars[1], rtol=1e-10)
    silu = chainrules_jax.export(chainrules_torch.import_rule(torch.nn.functional.silu))
    for way in (jax.grad, jax.hessian):
        runs = [way(lambda x, f=f: (f(x) ** 2).sum()) for f in (silu, jax.nn.silu)]
        for wrap in (lambda f: f, lambda f: jax.jit(jax.vmap(f))):
            at = np.outer(X, X)
            near(wrap(runs[0])(at), wrap(runs[1])(at), rtol=1e-10)


def test_numbers_that_one_library_knows_are_numbers_there_whatever_was_asked_before(jax):
    """`bfloat16` is none to NumPy."""
    from chainrules_jax import export

    narrow = jax.numpy.asarray(X[0], jax.numpy.bfloat16)
    with pytest.raises(Exception, match="bfloat16"):
        grad(lambda x: np.sum(x * x))(np.asarray(narrow)[None])
    found = jax.grad(export(softplus_by(BODIES["of a number"])))(narrow)
    assert abs(float(found) - SLOPE[0]) < 1e-2


def test_compiled_programs_know_one_exported_function_from_another(torch, near):
    from chainrules_torch import export

    operations = {v.sin: np.sin, v.exp: np.exp, v.tanh: np.tanh}
    x = torch.tensor(X[0], requires_grad=True)
    compiled = torch.compile(lambda f, x: f(x), backend="eager", fullgraph=True)

    class Layer(torch.nn.Module):
        def __init__(self, f):
            super().__init__()
            self.f = f

        def forward(self, x):
            return self.f(x)

    layer = Layer(None)
    whole = torch.compile(layer, backend="eager")
    for operation, plain in operations.items():
        f = layer.f = export(operation)
        for y in (
            compiled(f, x),
            torch.compile(f, backend="eager")(x),
            torch.compile(Layer(f), backend="eager")(x),
            whole(x),
        ):
            near(y.detach(), plain(X[0]))
    slopes = [torch.compile(torch.func.grad(export(w)), backend="eager") for w in operations]
    h = 1e-6
    for slope, plain in zip(slopes, operations.values(), strict=True):
        near(slope(x.detach()), (plain(X[0] + h) - plain(X[0] - h)) / (2 * h), rtol=1e-8)


def test_any_number_of_exported_functions_is_compiled(torch, near):
    """The compiler makes at most eight programs of one code."""
    from chainrules_torch import export

    for k in range(12):
        f = torch.compile(export(lambda x, k=k: x * k), backend="eager", fullgraph=True)
        near(f(torch.tensor(2.0)), 2.0 * k)


@pytest.mark.parametrize("number", [np.float64(1.5), np.float32(1.5), np.array(1.5), 1.5])
def test_numbers_of_numpy_are_cotangents_of_tensors(number, torch, near):
    from chainrules_torch import export

    @primitive
    def product(x, y):
        return x * y

    @rrule.register(product)
    def product_rrule(x, y):
        return product(x, y), lambda z_bar: (z_bar * y, number)

    y = torch.tensor(3.0, requires_grad=True)
    near(torch.func.grad(export(product), 1)(torch.tensor(2.0), y.detach()), 1.5)
    near(torch.autograd.grad(export(product)(torch.tensor(2.0), y), y)[0], 1.5)


@pytest.mark.parametrize("number", [2.0, np.float64(2.0), np.float32(2.0)])
def test_what_is_saved_may_have_hooks(number, torch, near):
    """Also where a rule states one mode, where an operation solves; with NumPy's numbers beside."""
    from chainrules_torch import export

    @custom_jvp
    def forward_only(x, y):
        return v.sin(x) * y

    @forward_only.defjvp
    def forward_only_jvp(primals, tangents):
        x, y = primals
        return forward_only(x, y), v.cos(x) * y * tangents[0] + v.sin(x) * tangents[1]

    f, root = export(forward_only), export(v.root)
    one = torch.tensor(1.0)
    square_root = lambda a: root(lambda x: x * x - a, one)
    calls = {lambda x: f(x, number): 2 * math.cos(0.7), square_root: 0.5 / math.sqrt(0.7)}
    checkpoint = torch.utils.checkpoint.checkpoint
    for call, slope in calls.items():
        x = torch.tensor(0.7, requires_grad=True)
        for kept in (False, True):
            y = checkpoint(call, x, use_reentrant=False)
            near(torch.autograd.grad(y, x, create_graph=kept)[0].detach(), slope, rtol=1e-6)
        with torch.autograd.graph.save_on_cpu():
            y = call(x)
        near(torch.autograd.grad(y, x)[0], slope, rtol=1e-6)


def test_options_that_change_are_compiled_again(torch):
    from chainrules_torch import export

    total = export(v.sum)
    compiled = torch.compile(lambda x, axis: total(x, axis=axis), backend="eager")
    x = torch.ones(2, 3)
    assert [tuple(compiled(x, axis).shape) for axis in (0, 1, 0)] == [(3,), (2,), (3,)]


def test_elements_of_a_batch_may_be_solved_already(torch, near):
    from chainrules_torch import export

    solve = export(v.root)
    square_root = lambda a, x0: solve(lambda x: x * x - a, x0)
    a, x0 = torch.tensor([4.0, 2.0, 9.0]), torch.tensor([2.0, 1.0, 3.0])
    near(torch.vmap(square_root)(a, x0), np.sqrt(a.numpy()), rtol=1e-6)
    near(torch.vmap(torch.func.grad(square_root))(a, x0), 0.5 / np.sqrt(a.numpy()), rtol=1e-6)


SMALL = [(v.expm1, -40.0, math.exp(-40.0)), (v.sinc, 1e-10, -(math.pi**2) / 3.0 * 1e-10)]


@pytest.mark.parametrize("operation, x, slope", SMALL)
def test_operations_called_on_an_engines_values_keep_the_digits(operation, x, slope, torch, jax):
    value = torch.tensor(x, dtype=torch.float64)
    for found in (
        jax.grad(operation)(x),
        jax.jit(jax.grad(operation))(x),
        torch.func.grad(operation)(value),
    ):
        assert float(found) == pytest.approx(slope, rel=1e-12)


@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")  # which the compiler reads
def test_results_in_dicts_are_compiled_around(torch, near):
    from chainrules_torch import export

    @primitive
    def named(x):
        return {"sine": v.sin(x)}

    @rrule.register(named)
    def named_rrule(x):
        return named(x), lambda bar: (bar["sine"] * v.cos(x),)

    f, x = export(named), torch.tensor(X, requires_grad=True)
    compiled = torch.compile(lambda x: f(2.0 * x)["sine"].sum(), backend="eager")
    near(torch.autograd.grad(compiled(x), x)[0], 2.0 * np.cos(2.0 * X))


LEAVING = {
    "NumPy's function": lambda x: np.sin(x),
    "NumPy's array": lambda x: np.asarray(x) * x,
    "a number": lambda x: float(x[0]) * x,
}
BRANCHES = {
    "a branch": lambda x: x if x[0] > 0 else 2.0 * x,
    "a loop": lambda x: sum([x for _ in range(int(v.sum(x) > 0) + 1)], 0.0 * x),
}


@pytest.mark.parametrize("name", [*LEAVING, *BRANCHES])
def test_code_that_leaves_an_engine_is_refused_in_our_words(name, torch, jax):
    """With what to write; code that branches runs where the engine has values."""
    runs, x = [], torch.tensor(X)
    f, g = (export({**LEAVING, **BRANCHES}[name], to=engine) for engine in ("torch", "jax"))
    slope, of_jax = torch.func.grad(lambda x: f(x).sum()), jax.grad(lambda x: g(x).sum())
    runs = [lambda: torch.func.vmap(slope)(x[None]), lambda: jax.jit(of_jax)(X)]
    if name in LEAVING:
        runs += [lambda: slope(x), lambda: of_jax(X), lambda: jax.vmap(of_jax)(X[None])]
    for run in runs:
        with pytest.raises(NotDifferentiableError, match=r"\n  (use|write|put|leave) "):
            run()


def test_scipys_text_computes_with_numpy_in_other_engines(torch, jax, near):
    """Called back whole: in a graph it was made beside JAX's arrays, or refused."""
    import chainrules_scipy

    x, weights = np.append(X, 0.4), np.arange(1.0, 4.0) ** 2
    with chainrules_scipy.install():
        truth = grad(lambda x: np.sum(scipy.stats.zscore(x) * weights))(x)
    f, g = (export(scipy.stats.zscore, to=engine) for engine in ("torch", "jax"))
    slope = torch.func.grad(lambda x: (f(x) * torch.tensor(weights)).sum())
    of_jax = jax.grad(lambda x: (g(x) * weights).sum())
    for found in (slope(torch.tensor(x)), torch.func.vmap(slope)(torch.tensor(x[None]))[0]):
        near(found, truth)
    for found in (of_jax(x), jax.jit(of_jax)(x), jax.vmap(of_jax)(x[None])[0]):
        near(found, truth)


def test_methods_of_scipys_distributions_are_what_stands_for_them(torch, jax, near):
    import chainrules_autograd
    import chainrules_jax
    import chainrules_torch

    normal, several = scipy.stats.norm.logpdf, scipy.stats.multivariate_normal.logpdf
    near(torch.func.grad(lambda x: chainrules_torch.export(normal)(x).sum())(torch.tensor(X)), -X)
    near(jax.grad(lambda x: chainrules_jax.export(normal)(x).sum())(X), -X)
    of_autograd = pytest.importorskip("autograd").grad
    for f in (normal, several):
        near(of_autograd(lambda x, f=f: chainrules_autograd.export(f)(x).sum())(X), -X)


def test_what_numpy_reads_backwards_stands_beside_tensors(torch, near):
    x = torch.tensor(X, requires_grad=True)
    y = export(scipy.ndimage.correlate1d, to="torch")(x, np.arange(3.0)[::-1], mode="wrap")
    near(torch.autograd.grad(y.sum(), x)[0], [3.0, 3.0])


def test_the_lower_triangle_of_a_vector_is_a_matrix(jax, near):
    f = export(np.tril, to="jax")
    near(jax.jit(jax.jacrev(f))(X), np.stack([np.tril(row) for row in np.eye(2)], -1))


COMPILED = {
    "choose of booleans": lambda x: export(np.choose, to="jax")(x > 0.0, [x, 2.0 * x]),
    "linspace of numbers": lambda x: x[0] * export(np.linspace, to="jax")(0.0, 1.0, 4),
    "lexsort": lambda x: x[export(np.lexsort, to="jax")((x,))],
    "delete": lambda x: export(np.delete, to="jax")(x, -1),
    "repeat": lambda x: export(np.repeat, to="jax")(x, 3),
}
IN_NUMPY = {
    "choose of booleans": lambda x: np.where(x > 0.0, 2.0 * x, x),
    "linspace of numbers": lambda x: x[0] * np.linspace(0.0, 1.0, 4),
    "lexsort": np.sort,
    "delete": lambda x: x[:-1],
    "repeat": lambda x: np.repeat(x, 3),
}


@pytest.mark.parametrize("name", COMPILED)
def test_booleans_counts_and_lists_of_arrays_in_what_jax_compiles(name, jax, near):
    near(jax.jit(COMPILED[name])(jax.numpy.asarray(X)), IN_NUMPY[name](X))


def test_bodies_with_a_rule_may_read_items(jax):
    from chainrules_jax import export

    f = export(softplus_by(lambda x: v.log(1.0 + v.exp(x)) * (_number(x) / _number(x))))
    near_slope = jax.grad(f)(jax.numpy.asarray(X[0]))
    assert near_slope == pytest.approx(SLOPE[0])
    assert jax.grad(lambda x: x * x.item())(jax.numpy.asarray(2.0)) == 2.0  # JAX's own, as it was


@pytest.mark.slow
def test_where_nothing_of_numpy_was_asked_for_yet(torch, jax):
    code = """
import jax, torch, chainrules_jax, chainrules_torch
silu = chainrules_jax.export(chainrules_torch.import_rule(torch.nn.functional.silu))
print(float(jax.jit(jax.grad(silu))(jax.numpy.asarray(0.0))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "0.5\n", done.stderr


CALLS = {
    "by position": lambda f, x: f(x, 2.0),
    "the second by name": lambda f, x: f(x, k=2.0),
    "all by name": lambda f, x: f(k=2.0, a=x),
    "an array by name": lambda f, x: f(2.0, k=x),
}


@pytest.mark.parametrize("engine", ["torch", "jax", "autograd"])
def test_imported_functions_take_operands_by_name(engine, near):
    pytest.importorskip(engine)
    import_rule = importlib.import_module(f"chainrules_{engine}").import_rule
    f = import_rule(lambda a, k: a * k)
    for call in CALLS.values():
        near(call(f, X), 2.0 * X, rtol=1e-6)
        near(grad(lambda x, call=call: np.sum(call(f, x)))(X), 2.0 + 0.0 * X, rtol=1e-6)
    option = import_rule(lambda a, *, k: a * k)
    if engine == "torch":
        for g in (option, import_rule(importlib.import_module("torch").mul)):
            for run in (lambda x, g=g: g(x, k=2.0), grad(lambda x, g=g: np.sum(g(x, k=2.0)))):
                with pytest.raises(TypeError, match=r"import_rule\(functools\.partial\(.*k="):
                    run(X)
    else:
        near(grad(lambda x: np.sum(option(x, k=2.0)))(X), 2.0 + 0.0 * X, rtol=1e-6)
        with pytest.raises(TypeError, match=r"missing a required .*k"):
            grad(lambda x: np.sum(option(x)))(X)


# --------------------------------------------------------------- structures that are called back

PARAMETERS = {
    "a dict": (dict, lambda a: {"a": a, "name": "k"}, lambda p: p["a"]),
    "a list": (list, lambda a: [2.0, a], lambda p: p[1]),
    "a tuple in a tuple": (tuple, lambda a: ((a,), 1), lambda p: p[0][0]),
}


@pytest.mark.parametrize("kind", PARAMETERS)
def test_a_body_of_structures_is_called_back(kind):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    cls, made, part = PARAMETERS[kind]

    @primitive
    def scaled(p, x):
        return np.asarray(part(p)) * np.asarray(x) ** 2

    def scaled_rule(p, x):
        return scaled(p, x), lambda bar: (
            Tangent[dict](a=v.sum(bar * x**2)),
            bar * part(p) * 2 * x,
        )

    scaled_rule.__annotations__ = {"p": cls}
    rrule.register(scaled)(scaled_rule)
    chainrules_torch = pytest.importorskip("chainrules_torch")
    chainrules_torch.callback(scaled, result=lambda p, x: x)
    f, x = export(scaled, to="torch"), torch.tensor(X)
    whole = lambda a: f(made(a), x)
    for_each = np.outer(X, X**2)
    np.testing.assert_allclose(torch.func.vmap(whole)(x).numpy(), for_each)
    compiled = torch.compile(whole, fullgraph=True, backend="aot_eager")
    np.testing.assert_allclose(compiled(x[0]).numpy(), for_each[0])
    if cls is dict:
        slopes = torch.func.vmap(torch.func.grad(lambda a: whole(a).sum()))(x)
        np.testing.assert_allclose(slopes.numpy(), np.full(2, np.sum(X**2)))
