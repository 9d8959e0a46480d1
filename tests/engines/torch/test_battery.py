"""PyTorch differentiates functions with rules as if they were its own: the battery, eight ways.

Each entry becomes a function from one real vector to another. Complex operands are made from it,
and results taken apart, outside of the entry, so that PyTorch's convention for complex numbers
counts as well. The truth is differences of the entry, and of its gradient on the tape, in NumPy.
"""

from __future__ import annotations

import functools
import shutil

import numpy as np
import pytest

import chainrules_tape
from chainrules_py import ops as v
from chainrules_py.values.pytree import flatten, unflatten
from tests.engines.battery import points

torch = pytest.importorskip("torch")
chainrules_torch = pytest.importorskip("chainrules_torch")

from torch.autograd import forward_ad, gradcheck, gradgradcheck  # noqa: E402
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap  # noqa: E402

# PyTorch says this of what it calls itself.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Torchinductor does not support code generation:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*have not yet implemented the batching rule:UserWarning"),
]

QUICK = {
    "sin complex", "multiply complex", "pow", "getitem array", "sort", "svd complex", "root",
    "rule", "structure complex", "custom_vjp", "scalar_rule", "frule and rrule",
}  # fmt: skip
"""What PyTorch itself differences in `make test`, and what it compiles in `make test-all`."""


def each(quick=None):
    """A test for each point of the battery."""
    return [
        pytest.param(
            point,
            id=point.name,
            marks=() if quick is None or point.name in quick else pytest.mark.slow,
        )
        for point in points()
    ]


def start(point):
    """All that has derivatives, as one real vector."""
    parts = [np.asarray(x) for x in point.xs]
    return np.concatenate(
        [np.stack([x.real, x.imag]).ravel() if np.iscomplexobj(x) else x.ravel() for x in parts]
    )


def vector_function(point, f, asarray):
    """The entry, or what it was exported to, from such a vector to a real vector."""
    leaves, treedef = flatten(point.operands)
    leaves = [asarray(x) if isinstance(x, np.ndarray) else x for x in leaves]
    parts = [(np.size(x), np.shape(x), np.iscomplexobj(x)) for x in point.xs]
    places, options, gauge = point.moving, dict(point.entry.options), point.entry.gauge

    def call(z):
        given, begin = list(leaves), 0
        for i, (n, shape, is_complex) in zip(places, parts, strict=True):
            x = z[begin : begin + n].reshape(shape)
            begin += n
            if is_complex:
                x = x + 1j * z[begin : begin + n].reshape(shape)
                begin += n
            given[i] = x
        y = f(*unflatten(treedef, given), **options)
        return reals(y if gauge is None else gauge(y))

    return call


def reals(y):
    """The floating-point numbers in a result, as one vector."""
    parts = []
    for leaf in flatten(y)[0]:
        name = str(leaf.dtype)
        if "complex" in name:
            parts += [v.real(leaf), v.imag(leaf)]
        elif "float" in name:
            parts.append(leaf)
    return v.concat(*[v.reshape(part, shape=(-1,)) for part in parts])


def weights(n):
    """Of the entries of a result, all different."""
    return 0.5 + np.cos(1.0 + np.arange(n))


def scalar_function(point, f, asarray):
    """The same, further on to a number that depends on all of the result, to every order."""
    vector = vector_function(point, f, asarray)
    scale = asarray(weights(len(vector_function(point, point.entry.f, np.asarray)(start(point)))))

    def call(z):
        return (scale * v.sin(vector(z))).sum()

    return call


def differences(f, z):
    """The derivatives of a function of a vector along each axis, last."""
    h = 1e-3
    columns = []
    for step in np.eye(len(z)) * h:
        near, far = f(z + step) - f(z - step), f(z + 2 * step) - f(z - 2 * step)
        columns.append((8 * near - far) / (12 * h))
    return np.stack(columns, -1)


class Truth:
    """Of a point, and of one next to it: what NumPy gives."""

    def __init__(self, point):
        self.z = start(point)
        self.batch = np.stack([self.z, 1.01 * self.z])
        self.direction = np.cos(np.arange(len(self.z)))
        self.vector = vector_function(point, point.entry.f, np.asarray)
        self.scalar = scalar_function(point, point.entry.f, np.asarray)

    @functools.cached_property
    def y(self):
        return self.vector(self.z)

    @functools.cached_property
    def jacobian(self):
        return differences(self.vector, self.z)

    def gradient(self, z):
        y = self.vector(z)
        return (weights(len(y)) * np.cos(y)) @ differences(self.vector, z)

    @functools.cached_property
    def hessian(self):
        return differences(chainrules_tape.grad(self.scalar), self.z)


TRUTHS = {}


def tensor_functions(point):
    """The truth, and the exported entry: vector to vector, and vector to number."""
    if point.name not in TRUTHS:
        TRUTHS[point.name] = Truth(point)
    f = chainrules_torch.export(point.entry.f)
    vector = vector_function(point, f, torch.asarray)
    return TRUTHS[point.name], vector, scalar_function(point, f, torch.asarray)


def close(found, expected, tolerance=1e-6):
    found = found.detach().numpy()
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(
        found, expected, rtol=tolerance, atol=tolerance * max(1.0, np.abs(expected).max())
    )


@pytest.mark.parametrize("point", each())
def test_value_and_backward_twice(point):
    true, vector, scalar = tensor_functions(point)
    z = torch.tensor(true.z, requires_grad=True)
    close(vector(z.detach()), true.y, 1e-12)
    close(vector(z), true.y, 1e-12)
    (g,) = torch.autograd.grad(scalar(z), z, create_graph=True)
    close(g, true.gradient(true.z))
    (product,) = torch.autograd.grad(g @ torch.asarray(true.direction), z)
    close(product, true.hessian @ true.direction)


@pytest.mark.parametrize("point", each())
def test_grad(point):
    true, _, scalar = tensor_functions(point)
    close(grad(scalar)(torch.asarray(true.z)), true.gradient(true.z))


@pytest.mark.parametrize("point", each())
def test_vmap(point):
    true, vector, scalar = tensor_functions(point)
    batch = torch.asarray(true.batch)
    close(vmap(vector)(batch), np.stack([true.vector(z) for z in true.batch]), 1e-12)
    close(vmap(grad(scalar))(batch), np.stack([true.gradient(z) for z in true.batch]))
    gradient = grad(lambda batch: vmap(scalar)(batch).sum())(batch)
    close(gradient, np.stack([true.gradient(z) for z in true.batch]))


@pytest.mark.parametrize("point", each())
def test_jacobians(point):
    true, vector, _ = tensor_functions(point)
    z = torch.asarray(true.z)
    close(jacrev(vector)(z), true.jacobian)
    close(jacfwd(vector)(z), true.jacobian)


@pytest.mark.parametrize("point", each())
def test_hessian(point):
    true, _, scalar = tensor_functions(point)
    z = torch.asarray(true.z)
    close(hessian(scalar)(z), true.hessian)
    close(jacrev(grad(scalar))(z), true.hessian)


@pytest.mark.parametrize("point", each())
def test_jvp(point):
    true, vector, scalar = tensor_functions(point)
    z, t = torch.asarray(true.z), torch.asarray(true.direction)
    y, y_dot = jvp(vector, (z,), (t,))
    close(y, true.y, 1e-12)
    close(y_dot, true.jacobian @ true.direction)
    second = jvp(lambda z: jvp(scalar, (z,), (t,))[1], (z,), (t,))[1]
    close(second, true.direction @ true.hessian @ true.direction)
    with forward_ad.dual_level():
        dual = vector(forward_ad.make_dual(z, t))
        close(forward_ad.unpack_dual(dual).tangent, true.jacobian @ true.direction)


@pytest.mark.parametrize("point", each(QUICK))
def test_gradcheck(point):
    true, vector, _ = tensor_functions(point)
    z = torch.tensor(true.z, requires_grad=True)
    assert gradcheck(vector, (z,), check_forward_ad=True)
    if point.entry.order > 2:
        assert gradgradcheck(vector, (z,), check_fwd_over_rev=True)


def compiled(point, backend):
    """The entry as a program of its tensors alone, and that program compiled."""
    leaves, treedef = flatten(point.operands)
    at = [i for i, x in enumerate(leaves) if i in point.moving or isinstance(x, np.ndarray)]
    xs = [torch.tensor(leaves[i], requires_grad=i in point.moving) for i in at]
    entry, options = point.entry, dict(point.entry.options)
    # PyTorch's compiler takes tensors, numbers, text, and tuples, lists and dicts of these. What
    # else an exported function is given, it has to have before.
    if entry.gauge is not None or "index" in options or any(map(callable, leaves)):
        gauge = entry.gauge or (lambda y: y)

        def bound(*xs):
            given = list(leaves)
            for i, x in zip(at, xs, strict=True):
                given[i] = x
            return gauge(entry.f(*unflatten(treedef, given), **options))

        f, names, rest = chainrules_torch.export(bound), (), {}
    else:
        f, rest = chainrules_torch.export(entry.f), options
        names = tuple(point.operands[0]) if isinstance(point.operands[0], dict) else ()

    def program(*xs):
        n = len(names)
        layers = [dict(zip(names, xs[:n], strict=True))] if n else []
        return leaves_of(f(*layers, *xs[n:], **rest))

    torch.compiler.reset()
    return program, torch.compile(program, fullgraph=True, backend=backend), xs


def leaves_of(y):
    return y if isinstance(y, torch.Tensor) else tuple(y)


def check_compiled(point, backend):
    program, fast, xs = compiled(point, backend)
    gradients = []
    for f in (program, fast):
        for x in xs:
            x.grad = None
        y = f(*xs)
        parts = [y] if isinstance(y, torch.Tensor) else [part for part in y if part.requires_grad]
        total = sum(
            [torch.sin(torch.view_as_real(p) if p.is_complex() else p).sum() for p in parts]
        )
        total.backward()
        gradients.append((*[p.detach() for p in parts], *[x.grad for x in xs if x.requires_grad]))
    for eager, found in zip(*gradients, strict=True):
        torch.testing.assert_close(found, eager, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("point", each({*QUICK, *[point.name for point in points()][::3]}))
def test_compile(point):
    """All in one graph, for the value and for the gradient, as in eager programs."""
    check_compiled(point, "aot_eager")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="PyTorch's compiler needs one for C++")
@pytest.mark.parametrize(
    "point", [pytest.param(point, id=point.name) for point in points() if point.name in QUICK]
)
def test_compile_to_machine_code(point):
    check_compiled(point, "inductor")
