"""PyTorch's own functions and methods, of values of the tape: what PyTorch gives.

The samples are those that PyTorch tests itself with: value, pullback, and tangent beside it.
"""

import importlib
import linecache
import operator
import re
import types
import warnings

import pytest

from chainrules_py import (
    ChainRulesError,
    NotDifferentiableError,
    TracerError,
    UnsupportedKeywordError,
)
from chainrules_py.extend import aliases
from chainrules_tape import grad, jvp, vjp

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("expecttest", reason="PyTorch's samples ask for it")
chainrules_torch = pytest.importorskip("chainrules_torch")  # its rows

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the import
    from torch.testing._internal.common_methods_invocations import op_db

    from tests.engines.torch.samples_of_torch import HERMITIAN, key

pytestmark = pytest.mark.filterwarnings("ignore")  # of PyTorch
leaves = torch.utils._pytree.tree_leaves


def method(f):
    """A method, as a function that asks its first operand for it."""
    return lambda x, *operands, **options: getattr(x, f.__name__)(*operands, **options)


CONVERTS = ("bfloat16", "bool", "cdouble", "cfloat", "double", "float", "half", "int", "long")
DIFFERENT = {
    "tensordot": "PyTorch sums over what it would have to repeat",
    "linalg.svd": "PyTorch leaves out cotangents of vectors that complete a basis",
    "cat": "PyTorch leaves out what has no elements beside matrices",
    "gather": "operations take no places along an axis that there is not",
    "linalg.norm subgradients_at_zero": (
        "of norms of singular values at 0 PyTorch takes the subgradient that its SVD gives, "
        "and we take 0, as of all other norms"
    ),
}
"""By function, why a sample is another."""


def forms(op):
    """The method and the function of an entry, if they are operations."""
    found = {"method": op.method_variant, "function": op.op}
    known = {name: f for name, f in found.items() if f is not None and f in aliases}
    called = lambda name, f: method(f) if name == "method" or f.__name__ in CONVERTS else f
    return {name: called(name, f) for name, f in known.items()}


CASES = [(key(op), form, op, f) for op in op_db for form, f in forms(op).items()]


def floats(y):
    return [x for x in y if x.dtype.is_floating_point or x.dtype.is_complex]


def opened(sample):
    """The tensors of a sample that have derivatives, and the call with others in their place."""
    given, tree = torch.utils._pytree.tree_flatten((sample.input, *sample.args))
    moves = [isinstance(x, torch.Tensor) and x.is_floating_point() for x in given]

    def call(f, xs):
        rest = iter(xs)
        put = [next(rest) if m else x for m, x in zip(moves, given, strict=True)]
        operands = torch.utils._pytree.tree_unflatten(put, tree)
        return [x for x in leaves(f(*operands, **sample.kwargs)) if hasattr(x, "dtype")]

    return [x.detach() for x, m in zip(given, moves, strict=True) if m], call


def symmetric(x):
    return (x + x.mH) / 2 if x.ndim > 1 and x.shape[-1] == x.shape[-2] else x


def differs(a, b):
    """Tell what is other; PyTorch has no gradient where ours is zero."""
    a, b = (torch.as_tensor(x).detach().resolve_conj() for x in (a, b))
    if a.shape != b.shape and (a.any() or b.any()):
        return f"{tuple(a.shape)} for {tuple(b.shape)}"
    rough = 1e-2 if b.element_size() < 4 else 1e-5
    same = torch.allclose(a.to(b.dtype), b, rtol=rough, atol=rough / 1e3, equal_nan=True)
    return "" if same else f"{a} for {b}"


def compared(f, sample, form):
    """Compare value, pullback and tangent of a sample with PyTorch's; None if it has no such."""
    xs, call = opened(sample)
    theirs = [x.clone().requires_grad_() for x in xs]
    try:
        due = call(f, theirs)
        moving = [y.requires_grad for y in due]
        bars = [torch.randn(y.shape, dtype=y.dtype) for y in due if y.requires_grad]
        moved = [y for y in due if y.requires_grad]
        want = torch.autograd.grad(moved, theirs, bars, allow_unused=True) if moved else ()
    except (RuntimeError, TypeError, IndexError):
        return None
    if not xs:
        return None
    dots = [form(torch.randn(x.shape, dtype=x.dtype)) for x in xs]
    kept = []

    def ours(*xs):
        kept[:] = call(f, xs)
        return tuple([y for y, moves in zip(kept, moving, strict=True) if moves])

    _, pull = vjp(ours, *xs)
    have = pull(tuple(bars)) if moved else ()
    _, ys_dot = jvp(ours, tuple(xs), tuple(dots))
    zero = lambda x: x if isinstance(x, torch.Tensor) else torch.zeros(())
    inner = lambda xs, ys: sum(
        [(zero(x).conj() * zero(y)).sum().real for x, y in zip(xs, ys, strict=True)],
        torch.zeros(()),
    )
    values = [getattr(y, "value", y) for y in kept]
    pairs = [*zip(values, due, strict=True), *zip(have, want, strict=True)]
    rough = min([y.element_size() for y in due], default=8) < 4
    if moved and not rough:
        pairs.append((inner(bars, ys_dot), inner(map(form, map(zero, want)), dots)))
    return [said for a, b in pairs if (said := differs(form(zero(a)), form(zero(b))))]


def differing(op, f, most):
    """List what is other than PyTorch's, and count what was compared."""
    torch.manual_seed(0)
    found, count = [], 0
    form = symmetric if key(op) in HERMITIAN else lambda x: x
    for n, sample in enumerate(op.sample_inputs("cpu", torch.float64)):
        if n == most:
            break
        try:
            said = compared(f, sample, form)
        except UnsupportedKeywordError:  # refused, with its name
            said = None
        except Exception as error:
            said = [f"{type(error).__name__}: {error}"]
        count += said is not None
        found += [f"sample {n}: {text}" for text in said or ()]
    return found, count


IDS = [f"{name}-{form}" for name, form, *_ in CASES]


@pytest.mark.parametrize("name, form, op, f", CASES[::20], ids=IDS[::20])
def test_some_samples(name, form, op, f):
    found, _ = differing(op, f, 2)
    assert not found or name in DIFFERENT, "\n".join(found[:5])


@pytest.mark.slow
@pytest.mark.parametrize("name, form, op, f", CASES, ids=IDS)
def test_every_sample(name, form, op, f):
    found, _ = differing(op, f, None)
    assert bool(found) == (name in DIFFERENT), "\n".join(found[:5])


X = torch.tensor([[0.5, -1.2], [2.3, 0.7]], dtype=torch.float64)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (X * x).sum(),
        lambda x: (X @ x - X / x).sum(),
        lambda x: (2.0 * (X + 3.0) ** x).sum(),
        lambda x: x.T.mT.H.real.sum() + x.mH[0].sum(),
        lambda x: x.view(-1, 1).expand(-1, 3).to(torch.float64).double().pow(2).sum(),
        lambda x: x.max(0).values.sum() * x.sort(dim=1, descending=True).values[0, 0],
        lambda x: torch.stack([x, X, x * x]).sum(dim=(0, 1)).prod(),
        lambda x: torch.nn.functional.softmax(x, dim=-1)[0].log().sum(),
        lambda x: torch.linalg.solve(x, X).sum() + torch.einsum("ij,kj->", x, x),
        lambda x: (x - x.detach()).square().sum() + x.numel() * x.dim() * x.sum(),
        lambda x: x.reshape(x.size(0), x.size()[1]).sum() * x.size(-1) + x[0, 0] ** len(x.size()),
        lambda x: torch.full_like(x, 2.0).sum() + x.new_full((3,), 2.0).sum() * x[0, 0],
        lambda x: torch.where(x > 0, x, -x).sum() if x.is_floating_point() else x.sum(),
    ],
)
def test_programs_that_are_written_for_pytorch(f):
    truth = X.clone().requires_grad_()
    (want,) = torch.autograd.grad(f(truth), truth)
    torch.testing.assert_close(grad(f)(X), want)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x[:, :1] + x.mm(x.t()[:, :1])).square().sum(),
        lambda x: x.index_select(1, torch.tensor([1, 1])).prod() + x[X > 0].sum(),
        lambda x: x.logsumexp(1).sum() * x.norm() + x.chunk(2, 1)[0].pow(3).sum(),
    ],
)
def test_such_programs_at_second_order(f):
    truth = torch.func.jvp(torch.func.grad(f), (X,), (X,))[1]
    torch.testing.assert_close(jvp(grad(f), (X,), (X,))[1], truth)


SQUARE = torch.tensor([[0.5, -1.2, 1.0], [2.3, 0.7, -0.4], [0.1, 1.0, 0.3]], dtype=torch.float64)


@pytest.mark.filterwarnings("ignore:Using torch.cross")
@pytest.mark.parametrize(
    "f",
    [
        lambda x: torch.cross(x, SQUARE.T),
        lambda x: x.cross(SQUARE.T),
        lambda x: torch.cross(x[:, :, None] * SQUARE[:, :2], SQUARE[:, :, None] * SQUARE[:, :2]),
        lambda x: torch.linalg.cross(x, SQUARE.T),
        lambda x: torch.div(x.detach(), 0.1, rounding_mode="floor") * x,
        lambda x: torch.div(x.detach(), 0.1, rounding_mode="trunc") * x,
        lambda x: torch.relu(torch.where(x == 1.0, torch.nan, x)),
        lambda x: torch.nn.functional.relu(x / (x != 1.0)),
        lambda x: torch.norm(x, 3, dim=1),
        lambda x: torch.norm(x, torch.inf),
        lambda x: torch.norm(x, "nuc"),
        lambda x: torch.norm(x, p=1, dim=0, dtype=torch.float64),
        lambda x: torch.linalg.norm(x),
        lambda x: torch.linalg.norm(x[0], 3),
        lambda x: torch.linalg.norm(x, dim=1, keepdim=True),
        lambda x: torch.linalg.norm(x.float(), "nuc", dtype=torch.float64),
        lambda x: torch.linalg.norm(x[None], 1, dim=(2, 1)),
        lambda x: torch.linalg.matrix_norm(x * torch.ones(2, 1, 1), ord=2),
        lambda x: torch.linalg.matrix_norm(x, dim=(1, 0), keepdim=True),
    ],
)
def test_functions_by_default_where_zero_and_where_nothing_is_known(f):
    truth = SQUARE.clone().requires_grad_()
    weights = torch.arange(1.0, f(SQUARE).numel() + 1).reshape(f(SQUARE).shape)
    want = f(truth)
    y, pull = vjp(f, SQUARE)
    torch.testing.assert_close(y, want.detach(), equal_nan=True)
    (due,) = torch.autograd.grad(want, truth, weights.double())
    torch.testing.assert_close(pull(weights.double())[0], due, equal_nan=True)


def test_what_is_written_through_a_view_is_there():
    def f(x):
        y = x * 1.0
        y.view(-1)[0] = 3.0
        y.t()[1, 0] = 4.0
        return y.square().sum()

    torch.testing.assert_close(grad(f)(X), 2 * X * torch.tensor([[0, 0], [1, 1]]))


@pytest.mark.parametrize(
    "f", [lambda x: torch.mvlgamma(x, 2).sum(), lambda x: x.renorm(2, 0, 1.0).sum()]
)
def test_what_is_no_operation_is_refused(f):
    with pytest.raises((ChainRulesError, AttributeError), match=r"derivative|differentiable"):
        grad(f)(X)


@pytest.mark.parametrize("f", [lambda x: x.sum(out=X), lambda x: torch.nn.functional.relu(x, True)])
def test_what_has_no_derivative_is_refused(f):
    with pytest.raises(ChainRulesError, match="takes no"):
        grad(f)(X)


@pytest.mark.parametrize("home", ["torch.nn.functional", "torch.linalg"])
def test_what_is_refused_is_named_as_it_is_written(home):
    named, wrong = 0, []
    for name, f in dict(vars(importlib.import_module(home))).items():
        if name.startswith("_") or not callable(f) or isinstance(f, type):
            continue
        try:
            grad(lambda x, f=f: f(x).sum())(X)
        except NotDifferentiableError as error:
            found = re.match(
                r"torch\.(\S+) has no derivative that is known[^$]*import_rule", str(error)
            )
            if found is not None:
                named += 1
                there = "._" not in found[1] and callable(operator.attrgetter(found[1])(torch))
                wrong += [] if there else [str(error)]
        except Exception:  # what asks for other operands says so by itself
            continue
    assert named
    assert not wrong


METHODS = {
    "median": lambda x: x.median(),
    "nanmedian": lambda x: x.nanmedian(),
    "topk": lambda x: x.topk(2).values.sum(),
    "logdet": lambda x: (x[:, None] * x + torch.eye(4)).logdet(),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_without_a_rule_is_written_as_pytorchs_function(name):
    """NumPy's function of this name may be another one: the median of four is no mean here."""
    x = torch.tensor([1.0, 2.0, 3.0, 10.0], dtype=torch.float64)
    made = re.escape(f"write {name} = chainrules_torch.import_rule(torch.{name})")
    with pytest.raises(TracerError, match=made):
        grad(METHODS[name])(x)


CALLED = {
    "grad itself": lambda x: grad(torch.frac)(x),
    "by getattr": lambda x: grad(lambda x: getattr(torch, "frac")(x))(x),  # noqa: B009
    "in a list": lambda x: grad(lambda x: [torch.frac][0](x))(x),
    "by its path": lambda x: grad(lambda x: torch.frac(x))(x),
}


@pytest.mark.parametrize("name", CALLED)
def test_a_function_without_a_rule_is_imported_by_a_name(name):
    x = torch.tensor(1.5, dtype=torch.float64)
    with pytest.raises(NotDifferentiableError) as caught:
        CALLED[name](x)
    write = re.search("write (.*), which has its own derivative", str(caught.value))
    assert write is not None
    exec(write[1], space := {"torch": torch, "chainrules_torch": chainrules_torch})
    assert grad(space["frac"])(x) == 1.0


IN_PLACE = {
    "y.add_(x[1])": "y",
    "y.mul_(x)": "y",
    "y[0].mul_(x[1])": "y",
    "v.sub_(x[2])": "y[2] * y * v",
    "y.clamp_(0.6, 1.5)": "y",
    "y.tanh_()": "y",
    "array = (y * x).exp_()": "array * y",
    "b.m.pow_(2)": "b.m",
}


@pytest.mark.parametrize("program", IN_PLACE)
def test_what_is_advised_for_a_method_that_writes_is_pytorchs_program(program):
    def run(x, text, result):
        y = x * 1.0
        space = {"x": x, "y": y, "v": y[1:2], "b": types.SimpleNamespace(m=x * 3.0)}
        linecache.cache["in_place.py"] = len(text), None, [text], "in_place.py"
        exec(compile(text, "in_place.py", "exec"), space)
        return (torch.exp(eval(result, space)) * x).sum()

    x = torch.tensor([0.5, 1.25, 2.0], dtype=torch.float64, requires_grad=True)
    (truth,) = torch.autograd.grad(run(x, program, IN_PLACE[program]), x)
    with pytest.raises(TracerError) as caught:
        grad(run)(x.detach(), program, IN_PLACE[program])
    write = str(caught.value).rpartition("write ")[2].replace(", and ", "; ")
    given = re.fullmatch(r".*_(\(.*\))", program)
    assert given is not None
    write = write.replace("(...)", given[1])
    torch.testing.assert_close(grad(run)(x.detach(), write, IN_PLACE[program]), truth)


ONLY_WRITTEN = {
    "zero_": lambda y: y.zero_(),
    "fill_": lambda y: y.fill_(2.0),
    "copy_": lambda y: y.copy_(X),
    "normal_": lambda y: y.normal_(),
}


@pytest.mark.parametrize("name", ONLY_WRITTEN)
def test_a_method_that_only_writes_is_an_assignment(name):
    with pytest.raises(TracerError, match=r"write y\[\.\.\.\] = \.\.\., its new value$"):
        grad(lambda x: [y := x * 1.0, ONLY_WRITTEN[name](y), y.sum()][2])(X)


OTHERS = {
    "unfold": lambda x: (x.unfold(0, 2, 1) ** 2).sum(),
    "sum_to_size": lambda x: (x.sum_to_size(1) ** 2).sum(),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_method_that_is_no_function_of_pytorchs_is_imported(name):
    with pytest.raises(TracerError, match=name) as caught:
        grad(OTHERS[name])(X)
    f = eval(str(caught.value).rpartition(" = ")[2].partition(", which")[0])
    x = X.clone().requires_grad_()
    (truth,) = torch.autograd.grad(OTHERS[name](x), x)
    of = {"unfold": lambda x: f(x, 0, 2, 1), "sum_to_size": lambda x: f(x, 1)}[name]
    torch.testing.assert_close(grad(lambda x: (of(x) ** 2).sum())(X), truth)


def test_a_type_is_a_dtype_and_what_is_differentiated_requires_its_gradient():
    with pytest.raises(TracerError, match=r"use \.to\(dtype\)"):
        grad(lambda x: x.type(torch.float64).sum())(X)
    with pytest.raises(TracerError, match=r"leave \.requires_grad_\(\) out"):
        grad(lambda x: x.requires_grad_().sum())(X)
