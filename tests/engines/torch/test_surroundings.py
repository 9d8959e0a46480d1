"""Exported functions in whatever surrounds a call: the numbers of PyTorch's own operations there.

Each form of statement, in each of the places that programs put a function in: checkpoints, modules,
dual numbers, hooks, threads, modes. Beside it the same function in PyTorch's operations.
"""

from __future__ import annotations

import copy
import threading

import pytest

import chainrules_kit.custom_derivatives as compat
from chainrules_py import (
    LinearMap,
    MutationError,
    frule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py import ops as v

torch = pytest.importorskip("torch")

from torch.autograd import forward_ad, functional  # noqa: E402
from torch.func import (  # noqa: E402
    functional_call,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)
from torch.utils.checkpoint import checkpoint  # noqa: E402

from chainrules_torch import export  # noqa: E402

F64 = torch.float64
FORMS = {}
PLACES = {}
WRITTEN = (
    "inplace operand", "inplace view", "inplace double", "inplace result", "optimizer between",
    "mutation allowed",
)  # fmt: skip
"""Places where something is written to that a derivative may need."""


def form(make):
    """Enter a form of statement of sin x, or of x y + x."""
    FORMS[make.__name__.replace("_", " ")] = make
    return make


def place(run):
    """Enter a place: from a function and its operands to numbers."""
    PLACES[run.__name__.replace("_", " ")] = run
    return run


def sine():
    return primitive(lambda x: v.sin(x))


def product():
    return primitive(lambda x, y: x * y + x)


@form
def one_partial():
    f = sine()
    scalar_rule(f, lambda _y, x: v.cos(x))
    return f


@form
def maps_of_what_was_computed():
    f = sine()

    def stated(x):
        c = v.cos(x)
        return f(x), (LinearMap(lambda t, c: t * c, lambda b, c: b * c, c),)

    rule(f)(stated)
    return f


@form
def maps_that_close_over():
    f = sine()

    def stated(x):
        return f(x), (LinearMap(lambda t: t * v.cos(x), lambda b: b * v.cos(x)),)

    rule(f)(stated)
    return f


@form
def reverse_alone():
    f = sine()
    rrule.register(f)(lambda x: (f(x), lambda b: (b * v.cos(x),)))
    return f


@form
def forward_alone():
    f = sine()
    frule.register(f)(lambda dots, x: (f(x), dots[0] * v.cos(x)))
    return f


@form
def custom_vjp():
    f = compat.custom_vjp(lambda x: v.sin(x))
    f.defvjp(lambda x: (v.sin(x), x), lambda x, b: (b * v.cos(x),))
    return f


@form
def code():
    f = one_partial()
    return lambda x: 0.5 * f(x) + 0.5 * v.sin(x)


@form
def operation():
    return v.sin


@form
def two_maps():
    f = product()

    def stated(x, y):
        return f(x, y), (
            LinearMap(lambda t, y: t * (y + 1.0), lambda z, y: z * (y + 1.0), y),
            LinearMap(lambda t, x: t * x, lambda z, x: z * x, x),
        )

    rule(f)(stated)
    return f


@form
def two_partials():
    f = product()
    scalar_rule(f, lambda z, x, y: y + 1.0, lambda z, x, y: x)
    return f


@form
def two_reverse_alone():
    f = product()
    rrule.register(f)(lambda x, y: (f(x, y), lambda b: (b * (y + 1.0), b * x)))
    return f


def of(y):
    """Return a sum in which each element counts differently."""
    return (y * torch.arange(1, y.numel() + 1, dtype=y.dtype).reshape(y.shape)).sum()


def leaves(xs):
    return [x.detach().clone().requires_grad_() for x in xs]


def gradients(y, xs, **options):
    return list(
        torch.autograd.grad(of(y), xs, allow_unused=True, materialize_grads=True, **options)
    )


def first(f, xs):
    return lambda a: of(f(a, *xs[1:]))


def pair(x):
    return torch.stack([x, x + 1])


@place
def backward_thrice(f, xs):
    xs = leaves(xs)
    for _ in range(3):
        of(f(*xs)).backward()
    return [x.grad for x in xs]


@place
def graph_retained(f, xs):
    xs = leaves(xs)
    y = of(f(*xs))
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    found = gradients(y, xs, create_graph=True)
    return [x.grad for x in xs] + found + gradients(sum(map(of, found)), xs)


@place
def checkpoint_reentrant(f, xs):
    xs = leaves(xs)
    of(checkpoint(lambda *a: f(*[2 * x for x in a]), *xs, use_reentrant=True)).backward()
    return [x.grad for x in xs]


@place
def checkpoint_nested(f, xs):
    xs = leaves(xs)
    inner = lambda *a: checkpoint(f, *a, use_reentrant=False)
    found = gradients(checkpoint(inner, *xs, use_reentrant=False), xs, create_graph=True)
    return found + gradients(sum(map(of, found)), xs)


class Module(torch.nn.Module):
    def __init__(self, f, xs):
        super().__init__()
        self.f = f
        self.ps = torch.nn.ParameterList([torch.nn.Parameter(x.clone()) for x in xs])

    def forward(self, k=1.0):
        return self.f(*self.ps) * k


@place
def module_copied(f, xs):
    module = copy.deepcopy(Module(f, xs))
    of(module(2.0)).backward()
    of(module(2.0)).backward()
    return [p.grad for p in module.ps]


@place
def module_functional(f, xs):
    module = Module(f, xs)
    given = {k: pair(p.detach()) for k, p in module.named_parameters()}
    found = vmap(grad(lambda p: of(functional_call(module, p, (2.0,)))))(given)
    return list(found.values())


@place
def optimizer_steps(f, xs):
    module = Module(f, xs)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        of(module()).backward()
        optimizer.step()
    return [p.detach() for p in module.ps]


@place
def optimizer_between(f, xs):
    module = Module(f, xs)
    y = of(module())
    with torch.no_grad():
        for p in module.ps:
            p.add_(1.0)
    y.backward()
    return [p.grad for p in module.ps]


@place
def transforms_nested(f, xs):
    g = first(f, xs)
    nested = [jacfwd(jacfwd(g)), jacrev(jacrev(g)), jacfwd(jacrev(g)), jacrev(jacfwd(g))]
    return [h(xs[0]) for h in nested] + [vmap(hessian(g))(pair(xs[0]))]


@place
def transforms_mapped(f, xs):
    x = torch.stack([xs[0], xs[0] + 1, xs[0] - 1], -1)
    at = lambda a: f(a, *xs[1:])
    last = x.ndim - 1
    mapped = vmap(at, in_dims=last, out_dims=last)(x)
    pushed = vmap(lambda t: jvp(f, tuple(xs), (t,) * len(xs)))(pair(xs[0]))
    return [mapped, *pushed, vmap(at, chunk_size=2)(x.movedim(-1, 0))]


@place
def halves_kept(f, xs):
    y, pull = vjp(f, *xs)
    z, push = linearize(f, *xs)
    mapped = vmap(pull)(torch.stack([y, y * 2]))
    return [y, z, *pull(y), *pull(2 * y), *mapped, push(*xs)]


@place
def backward_mapped(f, xs):
    xs = leaves(xs)
    y = f(*xs)
    back = lambda b: torch.autograd.grad(y, xs, b, retain_graph=True)
    return list(vmap(back)(torch.stack([torch.ones_like(y), y.detach()])))


@place
def backward_of_mapped(f, xs):
    xs = leaves(xs)
    return gradients(vmap(lambda a: f(a, *xs[1:]))(pair(xs[0])), xs)


@place
def dual_numbers(f, xs):
    with forward_ad.dual_level():
        y = f(*[forward_ad.make_dual(x, torch.ones_like(x)) for x in xs])
        z = f(forward_ad.make_dual(xs[0], xs[0]), *xs[1:])
        return [*forward_ad.unpack_dual(y), *forward_ad.unpack_dual(z)]


@place
def dual_numbers_recorded(f, xs):
    xs = leaves(xs)
    with forward_ad.dual_level():
        y = f(*[forward_ad.make_dual(x, torch.ones_like(x)) for x in xs])
        y, t = forward_ad.unpack_dual(y)
        return [y, t, *gradients(t, xs)]


@place
def dual_numbers_of_gradients(f, xs):
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x, torch.ones_like(x)) for x in xs]
        return [forward_ad.unpack_dual(grad(first(f, duals))(duals[0])).tangent]


@place
def hooks(f, xs):
    xs = leaves(xs)
    y = f(*xs)
    y.register_hook(lambda g: 3 * g)
    y.retain_grad()
    y.grad_fn.register_prehook(lambda bars: tuple([2 * bar for bar in bars]))
    y.grad_fn.register_hook(lambda bars, _: tuple([None if b is None else 5 * b for b in bars]))
    seen = []
    xs[0].register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    of(y).backward()
    return [x.grad for x in xs] + [y.grad, *seen]


@place
def expanded(f, xs):
    ones = leaves([x.reshape(-1)[:1] for x in xs])
    found = gradients(f(*[x.expand(5) for x in ones]), ones)
    zero = [x.expand(4).detach().requires_grad_() for x in ones]
    return found + list(torch.autograd.grad(f(*zero).sum(), zero))


@place
def transposed(f, xs):
    xs = leaves([torch.stack([x.reshape(-1)] * 3).t() for x in xs])
    return gradients(f(*xs), xs)


@place
def same_twice(f, xs):
    (x,) = leaves(xs[:1])
    beside = [x, x.detach()][: len(xs)]
    return gradients(f(*[x] * len(xs)), [x]) + gradients(f(*beside), [x])


@place
def whole_numbers_beside(f, xs):
    found = []
    k = torch.arange(xs[0].numel()).reshape(xs[0].shape)
    for beside in (k, k > 1, 2.5, 3)[: 4 * (len(xs) - 1)]:
        (x,) = leaves(xs[:1])
        found += gradients(f(x, beside), [x])
        found += [g(lambda a, b=beside: of(f(a, b)))(xs[0]) for g in (hessian, jacfwd)]
    return found


def gradients_after(write, f, xs):
    """Take gradients when the operands were written to."""
    xs = leaves(xs)
    made = [2 * x for x in xs]
    y = f(*made)
    for x in made:
        write(x)
    return gradients(y, xs)


@place
def inplace_operand(f, xs):
    return gradients_after(lambda x: x.mul_(3), f, xs)


@place
def inplace_view(f, xs):
    return gradients_after(lambda x: x.view(-1).__setitem__(0, 7.0), f, xs)


@place
def inplace_double(f, xs):
    xs = leaves(xs)
    made = [2 * x for x in xs]
    found = gradients(f(*made), xs, create_graph=True)
    for x in made:
        x.mul_(3)
    return gradients(sum(map(of, found)), xs)


@place
def inplace_result(f, xs):
    xs = leaves(xs)
    y = f(*[2 * x for x in xs])
    y.mul_(3)
    return gradients(y, xs)


@place
def mutation_allowed(f, xs):
    xs = leaves(xs)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        return inplace_operand(f, xs)


@place
def saved_elsewhere(f, xs):
    xs = leaves(xs)
    pack = lambda t: t.detach().clone().numpy()
    with torch.autograd.graph.saved_tensors_hooks(pack, torch.from_numpy):
        y = f(*[2 * x for x in xs])
    with torch.autograd.graph.save_on_cpu():
        z = f(*[2 * x for x in xs])
    return gradients(y, xs) + gradients(z, xs)


@place
def inference(f, xs):
    with torch.inference_mode():
        inside = f(*xs)
        made = [x.clone() for x in xs]
    assert inside.is_inference()
    return [inside.clone(), f(*made)]


@place
def modes_of_recording(f, xs):
    xs = leaves(xs)
    with torch.no_grad():
        y = f(*xs)
        with torch.enable_grad():
            z = f(*xs)

    def half_constant(a):
        with torch.no_grad():
            b = f(a, *xs[1:])
        return of(b * a)

    assert not y.requires_grad
    return [y, *gradients(z, xs), grad(half_constant)(xs[0].detach())]


@place
def autocast(f, xs):
    xs = leaves(xs)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = f(*xs)
        found = [grad(first(f, [x.detach() for x in xs]))(xs[0].detach())]
    return found + gradients(y, xs)


def in_threads(run):
    """Return what a function gives of four numbers, each in a thread of its own."""
    found, errors = {}, []

    def one(i):
        try:
            found[i] = run(i)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [y for i in range(4) for y in found[i]]


@place
def threads(f, xs):
    xs = leaves(xs)
    y = f(*xs)
    back = lambda i: gradients((i + 1) * y, xs, create_graph=True, retain_graph=True)

    def both(i):
        own = leaves([x + i for x in xs])
        plain = [x.detach() for x in own]
        return [*gradients(f(*own), own), vmap(grad(first(f, plain)))(pair(plain[0]))]

    return in_threads(back) + in_threads(both)


@place
def functional_of_autograd(f, xs):
    ones = tuple([torch.ones_like(x) for x in xs])
    g = lambda *a: of(f(*a))
    pushed = functional.jvp(f, tuple(xs), ones)[1]
    return [*functional.vhp(g, tuple(xs), ones)[1], *functional.hvp(g, tuple(xs), ones)[1], pushed]


@place
def functional_vectorized(f, xs):
    g = lambda *a: of(f(*a))
    found = list(functional.jacobian(f, tuple(xs), vectorize=True))
    found += functional.jacobian(f, tuple(xs), vectorize=True, strategy="forward-mode")
    return found + [t for row in functional.hessian(g, tuple(xs), vectorize=True) for t in row]


@place
def gradcheck(f, xs):
    xs = leaves(xs)
    torch.autograd.gradcheck(f, xs, check_forward_ad=True, check_undefined_grad=True)
    torch.autograd.gradgradcheck(f, xs)
    return []


@place
def cotangent_differentiated(f, xs):
    xs, bar = leaves(xs), torch.ones_like(xs[0]).requires_grad_()
    return gradients(sum(torch.autograd.grad(f(*xs), xs, bar, create_graph=True)), [bar])


@place
def inside_a_function_by_hand(f, xs):
    class Around(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *xs):
            ctx.save_for_backward(*xs)
            return f(*xs)

        @staticmethod
        def backward(ctx, bar):
            with torch.enable_grad():
                xs = leaves(ctx.saved_tensors)
                return torch.autograd.grad(f(*xs), xs, bar)

    xs = leaves(xs)
    return gradients(Around.apply(*xs), xs)


@place
def few_elements(f, xs):
    none, one = leaves([x.reshape(-1)[:0] for x in xs]), leaves([x.reshape(-1)[0] for x in xs])
    plain = [x.detach() for x in one]
    second = grad(grad(lambda a: f(a, *plain[1:])))(plain[0])
    return gradients(f(*none), none) + gradients(f(*one), one) + [second]


@place
def asked_for_some(f, xs):
    xs = leaves(xs)
    of(f(*xs)).backward(inputs=[xs[-1]])
    beside = torch.zeros(2, requires_grad=True)
    return [xs[-1].grad, *gradients(f(*xs), [*xs, beside])]


@place
def under_a_device(f, xs):
    xs = leaves(xs)
    with torch.device("meta"):
        y = f(*xs)
    return gradients(y, xs)


def truth(n):
    return torch.sin if n == 1 else lambda x, y: x * y + x


def numbers(where, f, xs):
    """Return the numbers of a function at a place; None where what they need was written to."""
    try:
        return PLACES[where](f, xs)
    except MutationError:
        return None
    except RuntimeError as error:
        if "modified by an inplace operation" in str(error):
            return None
        raise


def check(name, some):
    """Compare a form with PyTorch's operations at some places; return where it is refused."""
    made = FORMS[name]()
    n = 2 if name.startswith("two") else 1
    xs = [k * (torch.arange(1, 5, dtype=F64).reshape(2, 2) * 0.3 - 0.5) for k in (1.0, -0.7)][:n]
    f, refused = export(made), []
    for where in some:
        found = numbers(where, f, xs)
        if found is None:
            refused.append(where)
            continue
        expected = numbers(where, truth(n), xs)
        if expected is None:  # such maps keep nothing that PyTorch's sine keeps
            assert name == "maps of what was computed"
            continue
        assert len(found) == len(expected), where
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a.detach(), b.detach(), rtol=1e-8, atol=1e-8, msg=where)
    return refused


pytestmark = [
    pytest.mark.filterwarnings("ignore:.*performance drop:UserWarning"),
    pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node:UserWarning"),
]


@pytest.mark.parametrize("name", ["one partial", "reverse alone", "forward alone", "two maps"])
def test_places(name):
    some = [*PLACES][::2] if "alone" in name else PLACES
    assert not check(name, [where for where in some if where not in WRITTEN])


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_all_places(name):
    assert not check(name, [where for where in PLACES if where not in WRITTEN])
