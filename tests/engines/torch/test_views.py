"""Exported functions that give an operand, or a view of one, and writes to either."""

import itertools
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from chainrules_compat import custom_jvp, custom_vjp  # noqa: E402
from chainrules_py import (  # noqa: E402
    LinearMap,
    MutationError,
    frule,
    linear_rule,
    overriding,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py import vocabulary as v  # noqa: E402
from chainrules_torch import export  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")

X = torch.arange(1.0, 7.0, dtype=torch.float64).reshape(2, 3) / 3
BODIES = {
    "operand": lambda x: x,
    "slice": lambda x: x[::2, 1:],
    "transpose": lambda x: x.T,
    "reshape": lambda x: x.reshape(3, 2),
    "diagonal": lambda x: torch.diagonal(x),
    "row": lambda x: x[1],
    "expanded": lambda x: x[None],
}


def transposed(body):
    """Pull back through what takes elements, each at most once."""
    places = body(torch.arange(X.numel()).reshape(X.shape)).reshape(-1)

    def pull(g):
        zeros = torch.zeros(X.numel(), dtype=g.dtype)
        return zeros.index_add(0, places, g.reshape(-1)).reshape(X.shape)

    return pull


def by_linear_rule(f, body):
    linear_rule(f, lambda g, x: transposed(body)(g))


def by_rule(f, body):
    rule(f)(lambda x: (f(x), (LinearMap(lambda t: 1.0 * body(t), transposed(body)),)))


def by_frule(f, body):
    frule.register(f)(lambda dots, x: (f(x), body(dots[0]) * 1.0))


PENS = {"linear_rule": by_linear_rule, "rule": by_rule, "frule": by_frule}


def writes(F, which):
    """Return a program that writes to a result or to what it may be a view of."""

    def program(q):
        z = q * 1
        y = F(z)
        (y if which == "result" else z).mul_(3)
        return (z * z).sum() + (y * y * y).sum()

    return program


def same(found, expected):
    if torch.is_tensor(found):
        return torch.allclose(found, expected)
    return all(map(torch.allclose, found, expected))


def jvp(p):
    return torch.func.jvp(p, (X,), (torch.cos(X),))


def of_dual_numbers(p):
    with torch.autograd.forward_ad.dual_level():
        y = p(torch.autograd.forward_ad.make_dual(X, torch.cos(X)))
        return tuple(torch.autograd.forward_ad.unpack_dual(y))


def mapped(p):
    return torch.func.vmap(p)(torch.stack([X, 2 * X]))


def jvp_of_jvp(p):
    return torch.func.jvp(lambda x: torch.func.jvp(p, (x,), (X,))[1], (X,), (torch.cos(X),))


def mapped_jvp(p):
    return torch.func.vmap(lambda x: torch.func.jvp(p, (x,), (X,))[1])(torch.stack([X, 2 * X]))


WAYS = {
    "jvp": jvp,
    "dual numbers": of_dual_numbers,
    "jacfwd": lambda p: torch.func.jacfwd(p)(X),
    "vmap": mapped,
    "jvp of jvp": jvp_of_jvp,
    "vmap of jvp": mapped_jvp,
}


@pytest.mark.parametrize("pen", PENS)
@pytest.mark.parametrize("name", BODIES)
def test_writes_to_views_are_those_of_pytorch(name, pen):
    body = BODIES[name]
    f = primitive(lambda x: body(x))
    PENS[pen](f, body)
    F = export(f)
    wrong = []
    for way, run in WAYS.items():
        for which in ("result", "operand"):
            found, expected = run(writes(F, which)), run(writes(body, which))
            if not same(found, expected):
                wrong.append((way, which, found, expected))
    assert not wrong


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("which", ["result", "operand"])
def test_what_is_pulled_back_through_is_refused(name, which):
    f = primitive(lambda x: BODIES[name](x))
    by_rule(f, BODIES[name])
    program = writes(export(f), which)
    with pytest.raises((RuntimeError, MutationError), match="modified"):
        torch.func.grad(program)(X)
    with pytest.raises((RuntimeError, MutationError), match="modified"):
        program(X.clone().requires_grad_()).backward()


def of_partial(f):
    scalar_rule(f, lambda y, x: 3.0 * x**2)


def of_result(f):
    scalar_rule(f, lambda y, x: 3.0 * y / x)


def of_map(f):
    rule(f)(lambda x: (f(x), (LinearMap(lambda t: 3 * x**2 * t, lambda g: 3 * x**2 * g),)))


def of_push(f):
    frule.register(f)(lambda dots, x: (f(x), 3 * x**2 * dots[0]))


@pytest.mark.parametrize("stated", [of_partial, of_result, of_map, of_push])
def test_a_result_that_is_written_to_is_refused_in_our_words(stated):
    f = primitive(lambda x: x * x * x)
    stated(f)
    F = export(f)

    def backward(**options):
        q = X.clone().requires_grad_()
        return torch.autograd.grad(F(q * 1).mul_(2).sum(), q, **options)[0]

    ways = {
        "backward": backward,
        "create_graph": lambda: backward(create_graph=True),
        "grad": lambda: torch.func.grad(lambda x: F(x * 1).mul_(2).sum())(X),
    }
    for way in ways.values():
        with pytest.raises(MutationError, match=r"clone\(\)"):
            way()
    pushed = torch.func.jvp(lambda x: F(x * 1).mul_(2), (X,), (X,))[1]
    np.testing.assert_allclose(pushed, 6 * X**3)


def test_words_that_give_views():
    for word, body in ((v.matrix_transpose, lambda x: x.mT), (v.real, lambda x: x)):
        for way, run in WAYS.items():
            found, expected = run(writes(export(word), "result")), run(writes(body, "result"))
            assert same(found, expected), (word, way)


def test_a_derivative_that_is_another_is_kept():
    f = primitive(lambda x: x)
    rule(f)(lambda x: (f(x), (LinearMap(lambda t: -t, lambda g: -g),)))
    F = export(f)
    for _ in range(2):
        y, y_dot = torch.func.jvp(F, (X,), (X,))
        np.testing.assert_allclose(y_dot, -X)
        np.testing.assert_allclose(y, X)
        np.testing.assert_allclose(torch.func.jacfwd(lambda x: F(x).sum())(X), -np.ones((2, 3)))


# --------------------------------------------- writes, of which the operand alone is used further


BACK = {
    "operand": lambda g: g,
    "row": lambda g: torch.stack([0 * g, g]),
    "reshape": lambda g: g.reshape(2, 3),
}
"""The pulls of some, in functions that have names on the tape."""


def pull_of(body):
    return next(BACK[name] for name in BACK if BODIES[name] is body)


def of_rrule(body):
    f, back = primitive(lambda x: body(x)), pull_of(body)

    @rrule.register(f)
    def f_rrule(x):
        y = f(x)
        return y, lambda g: (back(g + 0 * y),)

    return f


def of_custom_vjp(body):
    f, back = custom_vjp(lambda x: body(x)), pull_of(body)
    f.defvjp(lambda x: (body(x), None), lambda _, g: (back(g),))
    return f


def of_custom_jvp(body):
    f = custom_jvp(lambda x: body(x))
    f.defjvp(lambda primals, dots: (body(*primals), 1.0 * body(*dots)))
    return f


def stated_by(pen):
    def stated(body):
        f = primitive(lambda x: body(x))
        pen(f, body)
        return f

    return stated


def of_several(body):
    f = primitive(lambda x: (2 * x, body(x)))

    def pull(g):
        return 2 * g[0] + transposed(body)(g[1])

    rule(f)(lambda x: (f(x), (LinearMap(lambda t: (2 * t, 1.0 * body(t)), pull),)))
    return lambda x: f(x)[1]


def of_scalar_rule(body):
    f = primitive(lambda x: body(x))
    scalar_rule(f, lambda y, x: 1.0 + 0 * x)
    return f


FORMS = {
    **{name: stated_by(pen) for name, pen in PENS.items()},
    "rrule": of_rrule,
    "custom_vjp": of_custom_vjp,
    "custom_jvp": of_custom_jvp,
    "several results": of_several,
    "scalar_rule": of_scalar_rule,
}


def without_gradients(y):
    with torch.no_grad():
        y.mul_(2)


def set_to_number(y):
    y[..., 0] = 3.0


HOW = {
    "mul_": lambda y: y.mul_(2),
    "zero_": lambda y: y.zero_(),
    "item": set_to_number,
    "view of it": lambda y: y.unsqueeze(0).mul_(2),
    "no_grad": without_gradients,
    "detached": lambda y: y.detach().mul_(2),
}


def eager_backward(p):
    q = X.clone().requires_grad_()
    return torch.autograd.grad(p(q), q)[0]


def hessian_of_mapped(p):
    return torch.func.hessian(lambda q: torch.func.vmap(p)(q).sum())(torch.stack([X, 2 * X]))


PULLED = {
    "backward": eager_backward,
    "grad": lambda p: torch.func.grad(p)(X),
    "grad_and_value": lambda p: torch.func.grad_and_value(p)(X),
    "vjp": lambda p: torch.func.vjp(p, X)[1](torch.ones((), dtype=X.dtype)),
    "jacrev": lambda p: torch.func.jacrev(p)(X),
    "hessian": lambda p: torch.func.hessian(p)(X),
    "vmap of grad": lambda p: torch.func.vmap(torch.func.grad(p))(torch.stack([X, 2 * X])),
    "grad of grad": lambda p: torch.func.grad(lambda q: torch.func.grad(p)(q).sin().sum())(X),
    "jvp of grad": lambda p: torch.func.jvp(torch.func.grad(p), (X,), (X,)),
    "grad of jvp": lambda p: torch.func.grad(lambda q: torch.func.jvp(p, (q,), (X,))[1])(X),
    "hessian of vmap": hessian_of_mapped,
}


def base_alone(F, how):
    """Return a program that writes to a result, and goes on with what it may be a view of."""

    def program(q):
        z = q * 1
        how(F(z))
        return (z * z).sum()

    return program


def silent(F, body, ways):
    """Return the ways that give something else than PyTorch's own view, without a word."""
    wrong = []
    for (way, run), (name, how) in itertools.product(ways.items(), HOW.items()):
        try:
            found = run(base_alone(F, how))
        except (MutationError, RuntimeError) as error:
            if not ("inplace" in str(error) or "clone()" in str(error)):
                raise
            continue
        if not same(found, run(base_alone(body, how))):
            wrong.append((way, name))
    return wrong


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [*BACK])
def test_no_write_is_lost(name, form):
    body = BODIES["operand" if form == "scalar_rule" else name]
    f = FORMS[form](body)
    assert not silent(export(f), body, PULLED)
    assert not silent(f, body, PULLED)


def test_a_write_is_refused_with_what_to_write():
    f = of_rrule(BODIES["row"])
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        torch.func.grad(base_alone(export(f), HOW["mul_"]))(X)
    for how in ("no_grad", "detached"):
        with pytest.raises(MutationError, match=r"\(x\)\.clone\(\) before writing to it"):
            torch.func.grad(base_alone(export(f), HOW[how]))(X)


RESHAPE = export(np.reshape)
WORDS = {
    "reshape": (lambda z: RESHAPE(z, (3, 2)), BODIES["reshape"]),
    "transpose": (export(np.transpose), BODIES["transpose"]),
    "matrix_transpose": (export(v.matrix_transpose), BODIES["transpose"]),
    "squeeze": (export(np.squeeze), BODIES["operand"]),
    "expand_dims": (lambda z: export(np.expand_dims)(z, 0), BODIES["expanded"]),
    "real": (export(np.real), BODIES["operand"]),
    "conj": (export(np.conj), BODIES["operand"]),
    "positive": (export(np.positive), BODIES["operand"]),
    "astype": (lambda z: export(v.astype)(z, dtype=z.dtype), BODIES["operand"]),
    "diagonal": (export(np.diagonal), BODIES["diagonal"]),
    "windows": (
        lambda z: export(v.sliding_window_view)(z, window_shape=(1,), axis=(1,)),
        lambda z: z.unfold(1, 1, 1),
    ),
}


@pytest.mark.parametrize("word", WORDS)
def test_views_of_words_are_written_to_as_those_of_pytorch(word):
    ours, theirs = WORDS[word]
    for (way, run), (name, how) in itertools.product({**PULLED, **WAYS}.items(), HOW.items()):
        found, expected = run(base_alone(ours, how)), run(base_alone(theirs, how))
        assert same(found, expected), (way, name)


def test_parts_of_complex_numbers_are_written_to_as_those_of_pytorch():
    def loss(real):
        def of(x):
            z = torch.complex(x, x * x)
            real(z).mul_(2)
            return (z * z).real.sum()

        return of

    ours, theirs = loss(export(np.real)), loss(torch.real)
    assert same(torch.func.grad(ours)(X), torch.func.grad(theirs)(X))
    assert same(torch.func.hessian(ours)(X), torch.func.hessian(theirs)(X))


def test_a_word_with_a_rule_of_somebody_keeps_it():
    f = export(v.matrix_transpose)

    def seven(x):
        return v.matrix_transpose(x), (LinearMap(lambda t: 7 * t.mT, lambda g: 7 * g.mT),)

    with overriding(v.matrix_transpose, seven):
        np.testing.assert_allclose(torch.func.grad(lambda x: f(x).sum())(X), 7 * np.ones((2, 3)))
        with pytest.raises(RuntimeError, match="inplace"):
            torch.func.grad(base_alone(f, HOW["zero_"]))(X)
    np.testing.assert_allclose(torch.func.grad(lambda x: f(x).sum())(X), np.ones((2, 3)))


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")
@pytest.mark.parametrize("form", ["rule", "frule", "rrule"])
def test_no_write_is_lost_in_compiled_programs(form):
    body = BODIES["row"]
    F, wrong = export(FORMS[form](body)), []
    ways = {
        "grad": lambda p: torch.compile(torch.func.grad(p), backend="aot_eager")(X),
        "backward": lambda p: eager_backward(torch.compile(p, backend="aot_eager")),
    }
    for (way, run), name in itertools.product(ways.items(), ("mul_", "no_grad")):
        torch.compiler.reset()
        try:
            found = run(base_alone(F, HOW[name]))
        except Exception as error:  # of the compiler, around what PyTorch or we say
            if not re.search(r"inplace|clone\(\)|outs_to_grad", str(error)):
                raise
            continue
        expected = {"grad": torch.func.grad, "backward": lambda p: lambda _: eager_backward(p)}
        if not same(found, expected[way](base_alone(body, HOW[name]))(X)):
            wrong.append((way, name))
    assert not wrong


def test_views_of_words_are_written_to_in_compiled_programs():
    ours, theirs = WORDS["reshape"]
    program = base_alone(ours, HOW["mul_"])
    compiled = torch.compile(torch.func.grad(program), backend="aot_eager", fullgraph=True)
    expected = torch.func.grad(base_alone(theirs, HOW["mul_"]))(X)
    np.testing.assert_allclose(compiled(X), expected)


def test_a_compiled_closure_that_holds_a_view_is_not_read_where_nothing_lies():
    F = export(of_rrule(BODIES["row"]))
    torch.compiler.reset()
    compiled = torch.compile(lambda q: F(q * 1).sum(), backend="aot_eager")
    np.testing.assert_array_equal(eager_backward(compiled), [[0, 0, 0], [1, 1, 1]])
