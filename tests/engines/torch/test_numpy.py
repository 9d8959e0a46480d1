"""Functions of NumPy's exported to PyTorch, called as NumPy is: lists, dtypes, NumPy's arrays."""

import importlib
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch.autograd import forward_ad  # noqa: E402

import chainrules_py  # noqa: E402
from chainrules_py import NotDifferentiableError, ignore_derivatives, primitive  # noqa: E402
from chainrules_py import ops as v  # noqa: E402
from chainrules_py.values.pytree import flatten, unflatten  # noqa: E402
from chainrules_tape import grad, hvp, jvp  # noqa: E402
from chainrules_torch import export  # noqa: E402
from tests.fuzz.constants import DOORS  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")

X = np.array([[0.7, -1.1, 0.0, 2.3], [0.2, 3.1, -0.4, 1.9], [5.3, 0.6, 1.4, -2.7]])
PLACES = np.array([[2, 0, -1, 1]])

CALLS = {
    # Where NumPy asks its operand, a tensor answers something else.
    "nonzero": lambda np, x: np.nonzero(x),
    "flatnonzero": lambda np, x: np.flatnonzero(x),
    "argwhere": lambda np, x: np.argwhere(x),
    "where": lambda np, x: np.where(x),
    "isreal": lambda np, x: np.isreal(x),
    # Numbers have the digits that NumPy gives them.
    "percentile of a list": lambda np, x: np.percentile(x, [7.0, 51.0, 93.0], axis=0),
    "gradient of lists": lambda np, x: np.gradient(x, [0.0, 0.1, 0.3], [0, 1, 2, 4]),
    "append a number": lambda np, x: np.append(x, 0.1),
    "convolve a list": lambda np, x: np.convolve(x[0], [0.1, 0.2, 0.7]),
    "average": lambda np, x: np.average(x[:, 0], weights=[0.1, 0.7, 0.3]),
    # Dtypes of NumPy's, and bounds of dtypes.
    "sin of a dtype": lambda np, x: np.sin(x, dtype="float64"),
    "cumsum of a dtype": lambda np, x: np.cumsum(x, axis=1, dtype=float),
    "interp": lambda np, x: np.interp(x[0], [-3.0, 0.0, 3.0], [1.0, 0.0, 9.0]),
    "nan_to_num": lambda np, x: np.nan_to_num(x),
    "max of some": lambda np, x: np.max(x, axis=0, initial=-9.0, where=[True, False, True, True]),
    "stack of a dtype": lambda np, x: np.stack([x, x * 2.0], dtype="float64"),
    "sort_complex": lambda np, x: np.real(np.sort_complex(x)),
    "poly": lambda np, x: np.poly(x[0]),
    "polymul": lambda np, x: np.polymul(x[0], x[1, :2]),
    # What asks for flags, and for a number of elements.
    "ravel": lambda np, x: np.ravel(x),
    "insert": lambda np, x: np.insert(x, 2, x[0, 1]),
    "delete": lambda np, x: np.delete(x, 1, axis=0),
    # Arrays of NumPy's beside tensors.
    "take": lambda np, x: np.take(x, [0, -1, 0], axis=-1),
    "take_along_axis": lambda np, x: np.take_along_axis(x, PLACES, 1),
    "clip between lists": lambda np, x: np.clip(x[0], [-0.5, 0.0, 0.1, 0.2], [0.0, 0.5, 1.0, 1.0]),
    "multiply": lambda np, x: np.multiply(x, X[::-1]),
}


class Exported:
    """NumPy, each function of which is exported."""

    def __getattr__(self, name):
        return export(getattr(np, name))


@pytest.mark.parametrize("name", CALLS)
def test_as_numpy_is_called(name):
    call = CALLS[name]
    expected = [np.asarray(y) for y in flatten(call(np, X))[0]]
    weights = [np.cos(np.arange(y.size)).reshape(y.shape) for y in expected]
    x = torch.tensor(X, requires_grad=True)
    found = flatten(call(Exported(), x))[0]
    assert len(found) == len(expected)
    for y, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(y.detach().numpy(), want, rtol=1e-14, atol=1e-14)
        assert y.numpy(force=True).dtype == want.dtype
    if expected[0].dtype.kind != "f":
        return
    total = lambda ys, np: sum([np.sum(w * y) for w, y in zip(weights, ys, strict=True)])
    want = grad(lambda x: total(flatten(call(np, x))[0], np))(X)
    ours = sum([(torch.tensor(w) * y).sum() for w, y in zip(weights, found, strict=True)])
    np.testing.assert_allclose(torch.autograd.grad(ours, x)[0], want, rtol=1e-12, atol=1e-12)


def test_i0_and_its_derivatives_under_vmap_and_in_a_compiled_program():
    special = pytest.importorskip("scipy.special")
    f, x = export(np.i0), torch.tensor(X)
    slope = torch.func.grad(f)
    for order, g in enumerate((f, slope, torch.func.grad(slope))):
        found = torch.vmap(torch.vmap(g))(x)
        np.testing.assert_allclose(found, special.ivp(0, X, order), rtol=1e-14)
    program = torch.compile(f, backend="aot_eager", fullgraph=True)
    x.requires_grad_()
    (bar,) = torch.autograd.grad(program(x).sum(), x)
    np.testing.assert_allclose(bar, special.i1(X), rtol=1e-14)


@pytest.mark.parametrize("f", [np.roots, np.real_if_close, np.emath.sqrt])
def test_a_result_whose_form_depends_on_numbers_is_refused_under_vmap(f):
    with pytest.raises(NotDifferentiableError, match="call it outside"):
        torch.vmap(export(f))(torch.tensor(X) + 0j if f is np.real_if_close else torch.tensor(X))


def test_tensors_in_lists_keep_their_gradients():
    q = torch.tensor(30.0, dtype=torch.float64, requires_grad=True)
    x = torch.tensor(X)
    value = export(np.percentile)(x, [q, 80.0], axis=1).sum()
    want = grad(lambda q: np.sum(np.percentile(X, q, axis=1)))(30.0)
    assert abs(torch.autograd.grad(value, q)[0].item() - want) < 1e-12
    (bar,) = torch.autograd.grad(export(np.convolve)([q, 0.1], x[0]).sum(), q)
    assert abs(bar.item() - X[0].sum()) < 1e-12


def test_a_dual_number_does_not_become_an_array_of_numpys_in_silence():
    f = export(lambda x: torch.as_tensor(np.linalg.norm(x)) + v.sum(x))
    x = torch.tensor([3.0, 4.0])
    assert f(x) == 12.0
    with forward_ad.dual_level():
        assert f(x) == 12.0
        with pytest.raises(NotDifferentiableError, match="does not become an array of NumPy's"):
            f(forward_ad.make_dual(x, torch.ones(2)))
    with pytest.raises(NotDifferentiableError, match="does not become an array of NumPy's"):
        torch.func.jvp(f, (x,), (torch.ones(2),))
    with pytest.raises(
        NotDifferentiableError, match=r"(?s)array of NumPy's.*test_numpy.py:"
    ) as told:
        f(x.requires_grad_())
    write = "chainrules_py.export(np.linalg.norm, to='torch')"
    assert f"write {write} for np.linalg.norm" in str(told.value)
    norm = eval(write, {"np": np, "chainrules_py": chainrules_py})
    (bar,) = torch.autograd.grad(export(lambda x: norm(x) + v.sum(x))(x), x)
    torch.testing.assert_close(bar, torch.tensor([1.6, 1.8]))
    with pytest.raises(NotDifferentiableError, match="array of NumPy's"):
        export(lambda x: x * np.arange(2.0))(x)


PLAIN = {
    "item": lambda x: x[0].item(),
    "float": lambda x: float(x[0]),
    "int": lambda x: int(x[0] * 10.0),
    "complex": lambda x: abs(complex(x[0])),
    "tolist": lambda x: x.tolist()[0],
    "round": lambda x: round(float(x[0]), 1),
    "math": lambda x: math.sin(x[0]),
    "text": lambda x: len(str(x[0].item())),
}


@pytest.mark.parametrize("door", [door for engine, door in DOORS if engine == "torch"])
@pytest.mark.parametrize("name", PLAIN)
def test_no_tensor_becomes_a_number_in_silence(name, door):
    for f in (lambda x: v.sum(x * PLAIN[name](x)), primitive(lambda x: v.sum(x * PLAIN[name](x)))):
        with pytest.raises(NotDifferentiableError, match="does not become a plain number"):
            DOORS["torch", door](f)


@pytest.mark.parametrize("name", ["item", "float", "math"])
def test_what_is_said_to_be_constant_becomes_a_number(name):
    f = lambda x: v.sum(x * PLAIN[name](ignore_derivatives(x)))
    want = PLAIN[name](np.array([0.3]))
    np.testing.assert_allclose(DOORS["torch", "grad"](f), [want] * 3, rtol=1e-12)


def test_a_size_is_a_leaf():
    size = torch.ones(2, 3).shape
    leaves, treedef = flatten({"shape": size, "x": 1.0})
    assert leaves == [size, 1.0]
    assert unflatten(treedef, leaves)["shape"] is size


OF_TENSORS = {
    "a scalar of NumPy's": lambda x: np.exp(x @ x.T / np.sqrt(3.0)) * np.float64(0.5),
    "inner, outer": lambda x: np.inner(x, x) + np.outer(x[0, :3], x[1, :3]),
    "sinc, copy": lambda x: np.sinc(np.copy(x)),
    "matrix_transpose": lambda x: x @ np.matrix_transpose(x),
    "where": lambda x: np.where(True, np.where(x > 1, x**3, -x), 3.0),
}


@pytest.mark.parametrize("name", OF_TENSORS)
def test_functions_of_numpys_of_tensors_on_the_tape(name):
    f = lambda x: np.sum(OF_TENSORS[name](x) ** 2)
    for made in (grad(f), lambda x: hvp(f, (x,), (x,)), lambda x: jvp(f, (x,), (x,))[1]):
        found = made(torch.tensor(X / 3))
        assert torch.is_tensor(flatten(found)[0][0])
        np.testing.assert_allclose(flatten(found)[0][0], flatten(made(X / 3))[0][0], rtol=1e-9)


# ------------------------------------------------------------------------------ SciPy's functions


@pytest.fixture(scope="module")
def scipy():
    """SciPy with our functions in place of its own."""
    installed = pytest.importorskip("chainrules_scipy")
    pytest.importorskip("scipy.stats")
    with installed.install():
        yield importlib.import_module("scipy")


SAMPLES = {
    "linalg.block_diag": lambda scipy: scipy.linalg.block_diag,
    "stats.bartlett": lambda scipy: scipy.stats.bartlett,
    "stats.f_oneway": lambda scipy: scipy.stats.f_oneway,
    "stats.levene": lambda scipy: scipy.stats.levene,
    "stats.obrientransform": lambda scipy: scipy.stats.obrientransform,
}


@pytest.mark.parametrize("name", SAMPLES)
def test_scipys_functions_of_any_number_of_samples(scipy, name):
    f = SAMPLES[name](scipy)
    total = lambda f, *xs: sum([(y * y).sum() for y in flatten(f(*xs))[0]])
    xs = [torch.tensor(x, requires_grad=True) for x in X]
    y = total(export(f), *xs)
    np.testing.assert_allclose(y.detach(), total(f, *X), rtol=1e-12)
    for k, bar in enumerate(torch.autograd.grad(y, xs)):
        want = grad(lambda *xs: total(f, *xs), k)(*X)
        np.testing.assert_allclose(bar, want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["pdtrik", "nbdtrin", "bdtrin"])
def test_a_solution_of_scipys_has_no_derivative_by_another_engine(scipy, name):
    """Its steps follow the order of the derivative, which PyTorch does not tell: 0 was wrong."""
    f = getattr(scipy.special, name)
    xs = [torch.tensor([x], dtype=torch.float64) for x in (0.4, 0.3, 0.6, 0.7)[: f.nin]]
    np.testing.assert_array_equal(export(f)(*xs), f(*[x.numpy() for x in xs]))
    for last in (False, True):
        given = [x.clone().requires_grad_(not last or x is xs[-1]) for x in xs]
        with pytest.raises(NotDifferentiableError, match=r"counts the orders.*root"):
            export(f)(*given)


# ------------------------------------------------------------------------- values that are hidden

ROWS = np.abs(X) + 0.3
HIDDEN = {
    "average": lambda np, sp, x: np.average(x, weights=x**2),
    "average of all": lambda np, sp, x: np.average(x, weights=x**2, returned=True)[1],
    "cov": lambda np, sp, x: np.cov(x, aweights=x),
    "polymul": lambda np, sp, x: np.polymul(x, x[:2]),
    "quantile": lambda np, sp, x: np.quantile(x, x[:2] / 7),
    "percentile": lambda np, sp, x: np.percentile(x, x[0], method="hazen"),
    "logsumexp": lambda np, sp, x: sp.logsumexp(x, b=x),
    "logsumexp of one": lambda np, sp, x: sp.logsumexp(x, b=x[0], keepdims=True),
    "logsumexp with a sign": lambda np, sp, x: sp.logsumexp(x, b=2 - x, return_sign=True)[0],
    "logsumexp of weights": lambda np, sp, x: sp.logsumexp(x, b=[1.0, 0.0, 2.0, -0.1]),
}


class ExportedSpecial:
    """SciPy's special functions, each of which is exported."""

    def __init__(self, special):
        self.special = special

    def __getattr__(self, name):
        return export(getattr(self.special, name))


@pytest.mark.parametrize("name", HIDDEN)
def test_a_check_of_values_is_left_out_where_they_are_hidden(scipy, name):
    ours = lambda x: HIDDEN[name](Exported(), ExportedSpecial(scipy.special), x)
    theirs = lambda x: HIDDEN[name](np, scipy.special, x)
    rows = torch.tensor(ROWS)
    np.testing.assert_allclose(torch.vmap(ours)(rows), [theirs(x) for x in ROWS], rtol=1e-12)
    found = torch.vmap(torch.func.grad(lambda x: ours(x).sum()))(rows)
    want = [grad(lambda x: np.sum(theirs(x)))(x) for x in ROWS]
    np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)


CHECKED = {
    "average": (lambda w: export(np.average)(torch.ones(2), weights=0 * w), "sum to zero"),
    "cov": (lambda w: export(np.cov)(torch.ones(2), aweights=-w), "cannot be negative"),
    "quantile": (lambda w: export(np.quantile)(torch.ones(2), 1 + w), "must be in the range"),
}


@pytest.mark.parametrize("name", CHECKED)
def test_values_that_are_differentiated_are_checked(name):
    f, message = CHECKED[name]
    w = torch.ones(2)
    for call in (
        lambda: f(w),
        lambda: f(w.requires_grad_()),
        lambda: torch.func.jacrev(f)(w.detach()),
        lambda: torch.func.jacfwd(f)(w.detach()),
    ):
        with pytest.raises((ValueError, ZeroDivisionError), match=message):
            call()


def test_weights_that_are_only_marked_as_negative(scipy):
    b = torch.conj(torch.tensor([1 - 2j, 3 - 0.5j], dtype=torch.complex128)).imag
    assert b.is_neg()
    x = torch.tensor([0.3, 0.7], dtype=torch.float64)
    places = np.array([0.1, 0.8])
    for weights in (b, b.detach().requires_grad_()):
        found = export(scipy.special.logsumexp)(x, b=weights)
        np.testing.assert_allclose(found.detach(), np.log(2 * np.exp(0.3) + 0.5 * np.exp(0.7)))
        assert export(np.histogram)(places, bins=2, weights=weights)[0].tolist() == [2.0, 0.5]


STEPS = ["angle", "sign", "floor", "ceil", "trunc", "rint", "round", "imag", "fix", "heaviside"]


@pytest.mark.parametrize("name", STEPS)
def test_a_step_has_a_derivative_of_zero(name):
    f = export(getattr(np, name))
    x = torch.tensor([1.3, -2.1, 0.2], dtype=torch.float64, requires_grad=True)
    call = (lambda x: f(x, 0.5)) if name == "heaviside" else f
    assert torch.autograd.grad(call(x).sum(), x)[0].tolist() == [0, 0, 0]
    np.testing.assert_array_equal(call(x).detach(), call(x.detach()))


CONJUGATE = torch.conj(torch.tensor([[1 + 2j, 3j], [1.0, 2 - 1j]], dtype=torch.complex128))
FLAGGED = {"conjugate": CONJUGATE, "negative": CONJUGATE.imag}
OF_VIEWS = ["trace", "diag", "diagonal", "ravel", "kron", "atleast_3d", "angle", "transpose", "sin"]


@pytest.mark.parametrize("flag", FLAGGED)
@pytest.mark.parametrize("name", OF_VIEWS)
def test_forward_mode_of_a_tensor_that_is_only_marked(name, flag):
    f, x = export(getattr(np, name)), FLAGGED[flag]
    call = (lambda x: f(x, x)) if name == "kron" else f
    plain = x.resolve_conj().resolve_neg()
    assert (x.is_conj(), x.is_neg()) != (plain.is_conj(), plain.is_neg()) == (False, False)
    for dot in (torch.ones_like(plain), plain * plain):
        found = torch.func.jvp(call, (x,), (dot,))
        torch.testing.assert_close(found, torch.func.jvp(call, (plain,), (dot,)))
        with forward_ad.dual_level():
            y = forward_ad.unpack_dual(call(forward_ad.make_dual(x, dot)))
        torch.testing.assert_close(y.tangent, found[1])
