"""MLX's arrays: every operation beside NumPy's numbers, and programs on the tape."""

from __future__ import annotations

import dataclasses
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from chainrules_py import NoRuleError, ProjectionError, TracerError, rrule
from chainrules_py import ops as v
from chainrules_py.testing.cases.backends import Backend, backend
from chainrules_py.testing.cases.calls_from_samples import instances
from chainrules_py.testing.cases.coordinates import Coordinates
from chainrules_py.testing.sample_runs import operations_of
from chainrules_py.values.structure import fields_of, is_structure_type
from chainrules_tape import grad, hvp, jacobian, jvp, value_and_grad

mx = pytest.importorskip("mlx.core", reason="MLX is not installed")

from chainrules_mlx import namespace  # noqa: E402

RTOL = 3e-4


def asarray(x):
    """In single precision, which MLX computes most functions in."""
    x = np.asarray(x)
    single = {"float64": np.float32, "complex128": np.complex64}.get(x.dtype.name)
    return mx.array(x if single is None else x.astype(single))


@dataclasses.dataclass(frozen=True)
class Mlx(Backend):
    xp = namespace
    device = None

    def asarray(self, x):
        return asarray(x)


MLX = Mlx("mlx", "mlx")


def numbers(x):
    """The numbers in a value; nothing of NumPy's may come out of MLX's."""
    if is_structure_type(type(x)):
        return [n for _, field in fields_of(x) for n in numbers(field)]
    return [np.array(x)] if isinstance(x, (mx.array, np.ndarray, np.generic)) else []


def leaves(x):
    if is_structure_type(type(x)):
        return [n for _, field in fields_of(x) for n in leaves(field)]
    return [x]


def near(have, want, rtol=RTOL):
    have, want = np.asarray(have), np.asarray(want)
    finite = np.abs(want[np.isfinite(want)]) if want.dtype.kind in "fc" else []
    np.testing.assert_allclose(have, want, rtol=rtol, atol=rtol * max(1.0, *finite, 1.0))


# ----------------------------------------------------------------------------- every operation

LACKED = {
    *("beta", "betainc", "betaln", "binom", "boxcox", "boxcox1p", "cosm1", "dawsn", "digamma"),
    *("ellipe", "ellipk", "ellipkm1", "entr", "erfc", "erfcinv", "erfcx", "erfi", "exp1", "exp10"),
    *("expi", "expm", "expm_frechet", "exprel", "fresnel", "gamma", "gammainc", "gammaincc"),
    *("gammaln", "gammasgn", "huber", "hyp0f1", "hyp1f1", "hyp2f1", "i0", "i0e", "i1", "i1e"),
    *("inv_boxcox", "inv_boxcox1p", "iv", "ive", "j0", "j1", "jv", "k0", "k0e", "k1", "k1e"),
    *("kl_div", "kv", "kve", "lambertw", "log_ndtr", "logm", "loggamma", "ndtr", "ndtri"),
    *("nextafter", "owens_t", "polygamma", "pseudo_huber", "qr_raw", "rel_entr", "rgamma", "sici"),
    *("solve_sylvester", "spacing", "spence", "sqrtm", "wofz", "y0", "y1", "yv", "zeta"),
}
"""Operations that MLX has no function for."""
OF_REALS = {
    *("adjugate", "cholesky", "convolve", "det", "erf", "erfinv", "expit", "expm1", "log_expit"),
    *("logit", "lstsq", "lu_factor", "matrix_rank", "pinv", "qr", "slogdet", "svd", "svdvals"),
    *("unitary_factor", "cholesky_cotangent", "cholesky_tangent"),
}
"""Operations that MLX computes of real numbers alone."""
PARTLY = {"getitem", "qr", "unitary_factor"}
"""An index of True; more columns than the matrix; a rule that needs `solve_sylvester`."""
ORDER = {"eig", "eigvals", "roots"}
"""Their results have no order of their own: `test_eigenvalues`."""


def samples(operation):
    return [i for i in instances(operation) if i.sample.has_arrays]


def agree(instance):
    """See that value and cotangents are NumPy's."""
    sample = instance.sample
    operands, options = instance.build(backend("numpy"))
    expected, back = rrule(instance.operation, *operands, **options)
    operands, options = instance.build(MLX)
    y, pullback = rrule(instance.operation, *operands, **options)
    assert not [x for x in leaves(y) if isinstance(x, (np.ndarray, np.generic))]
    gauge = sample.gauge or (lambda y: y)
    for a, b in zip(numbers(gauge(y)), numbers(gauge(expected)), strict=True):
        near(a, b)
    seed = Coordinates(expected).tangent(
        np.random.default_rng(0).standard_normal(Coordinates(expected).size)
    )
    if not isinstance(seed, (np.ndarray, np.generic)) or sample.gauge is not None:
        return
    for bar, other in zip(pullback(asarray(seed)), back(seed), strict=True):
        assert not [x for x in leaves(bar) if isinstance(x, (np.ndarray, np.generic))]
        for a, b in zip(numbers(bar), numbers(other), strict=True):
            near(a, b)


def judge(operation, some):
    name = operation.__name__
    for instance in some:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            error = refusal(instance)
        lacks = name in LACKED | PARTLY or (instance.complex and name in OF_REALS)
        if isinstance(error, NoRuleError):
            assert lacks, error
            assert "nothing computes" in str(error)
        elif error is None:
            assert name not in LACKED
        else:  # a complex number in a real array; no numbers
            assert name == "full_like" or "empty array" in str(error)


def refusal(instance):
    try:
        agree(instance)
    except (NoRuleError, ProjectionError, ValueError) as error:
        return error


EVERY = [w for w in operations_of() if w.__name__ not in {*ORDER, "to_device"} and samples(w)]


@pytest.mark.parametrize("operation", EVERY, ids=lambda operation: operation.__name__)
def test_operation_has_the_numbers_of_numpy(operation):
    some = samples(operation)
    judge(operation, [*some[:1], *[i for i in some[1:] if i.complex][-1:]])


@pytest.mark.nightly
@pytest.mark.parametrize("operation", EVERY, ids=lambda operation: operation.__name__)
def test_every_sample_has_the_numbers_of_numpy(operation):
    judge(operation, samples(operation))


def test_operations_that_are_computed_are_counted():
    """As the documentation says it."""
    every = [w for w in operations_of() if samples(w)]
    page = (Path(__file__).parents[3] / "docs/mlx.md").read_text(encoding="utf-8")
    said = re.search(r"Of the (\d+) operations\s+with samples,? MLX computes (\d+)", page)
    assert tuple(map(int, said.groups())) == (len(every), len(every) - len(LACKED))


@pytest.mark.parametrize("operation", [v.eig, v.eigvals])
def test_eigenvalues(operation):
    """In whatever order: the derivative of their sum of squares is that of tr(A²)."""
    a = asarray([[1.0, 0.3, 0.2], [-0.4, 2.0, 0.1], [0.2, 0.5, -1.0]])
    values = lambda a: v.eig(a).eigenvalues if operation is v.eig else v.eigvals(a)
    squares = lambda a: v.real(v.sum(values(a) ** 2))
    near(grad(squares)(a), 2 * np.array(a).T)
    near(np.sort_complex(np.array(values(a))), np.sort_complex(np.linalg.eigvals(np.array(a))))


# ----------------------------------------------------------------------- programs on the tape

W, X = np.linspace(-1.0, 1.0, 4), np.random.default_rng(0).standard_normal((5, 4))


def written(w, x):
    z = x * w
    z[1:3] = w
    z[0, 0] = 2.0
    z *= z
    return v.sum(z)


PROGRAMS = {
    "elementwise": lambda w, x: v.sum(v.tanh(x * w) ** 2 + v.exp(-x) / (1.0 + w * w)),
    "matmul": lambda w, x: v.sum((x @ w) ** 3),
    "softmax": lambda w, x: v.sum(v.log_softmax(x * w, axis=1)[:, 0]),
    "log-likelihood": lambda w, x: v.sum(v.logaddexp(x @ w, 0.0 * w[0])),
    "slices": lambda w, x: v.sum(v.sin(x[1:, :2] * w[2:] - x[:-1, 2:])),
    "steps": lambda w, x: v.sum(x[::-2, 1] * w[0]) + x[-1, -1],
    "places": lambda w, x: v.sum(x[[0, 0, 3]] @ w),
    "masks": lambda w, x: v.sum((w * x)[(w * x) > 0.0] ** 2),
    "sort": lambda w, x: v.sum(v.sort(x, axis=0)[:2, :] * w),
    "solve": lambda w, x: v.sum(v.solve(v.matrix_transpose(x) @ x, w)),
    "cholesky": lambda w, x: v.sum(v.cholesky(v.matrix_transpose(x) @ x) @ w),
    "methods": lambda w, x: (x * w).sum(axis=0).reshape(2, 2).T.mean() + (x * w).flatten()[3],
    "writes": written,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_have_the_derivatives_of_numpy(name):
    f = PROGRAMS[name]
    w, x = asarray(W), asarray(X)
    value, slopes = value_and_grad(f, (0, 1))(w, x)
    expected, bars = value_and_grad(f, (0, 1))(W, X)
    assert isinstance(value, mx.array)
    assert slopes[0].dtype == mx.float32
    for a, b in zip([value, *slopes], [expected, *bars], strict=True):
        near(a, b)
    near(jvp(f, (w, x), (w, x))[1], jvp(f, (W, X), (W, X))[1])
    bent = hvp(lambda w: f(w, 1.0 * x), (w,), (w,)) if name != "masks" else None
    if bent is not None:
        near(bent[0], hvp(lambda w: f(w, X), (W,), (W,))[0], rtol=1e-3)


def test_arrays_stand_on_either_side_of_traced_values():
    x = asarray(W)
    sides = lambda w, x: v.sum(
        (2.0 - w) * x + x * w + x / (3.0 + w) - (x - w) ** 2 + x**2 * w**3 + (x @ w) * (x < w)
    )
    near(grad(lambda w: sides(w, x))(0.5 * x), grad(lambda w: sides(w, W))(0.5 * W))
    near(jacobian(lambda w: v.sin(asarray(X) @ w))(x), np.cos(X @ W)[:, None] * X)


@pytest.mark.parametrize(
    "method",
    [
        lambda x: x.split(2, axis=1)[1],
        lambda x: x.split([1])[0],
        lambda x: x.moveaxis(0, 1),
        lambda x: x.diag(1),
        lambda x: x[0].diag(-1),
        lambda x: x.diagonal(-1),
        lambda x: x.reshape(2, 5, 2).diagonal(axis1=2, axis2=0),
        lambda x: x.round() * x,
        lambda x: (10 * x).round(1) * x,
        lambda x: (x * x).rsqrt(),
    ],
)
def test_methods_have_the_derivatives_of_mlx(method):
    loss = lambda x: (method(x) * mx.arange(method(x).size).reshape(method(x).shape)).sum()
    near(grad(loss)(asarray(X)), mx.grad(loss)(asarray(X)))


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "//", "%", "**", "@", "[0] ="])
def test_writes_to_plain_arrays_say_what_to_write(sign):
    write = f"s{sign} x" if "[" in sign else f"s {sign}= x"
    with pytest.raises(TracerError, match=r"written into the plain float32\[4\]"):
        grad(lambda x: exec(write, {"s": 1.0 * asarray(W), "x": x}))(asarray(W))


def test_a_sum_of_a_loop_is_written_without_an_operator_in_place():
    def total(x, in_place):
        s = mx.array(0.0)
        for k in range(3):
            if in_place:
                s += x[k] ** 2
            else:
                s = s + x[k] ** 2
        return s

    with pytest.raises(TracerError, match=r"use s = s \+ x\[k\] \*\* 2"):
        grad(lambda x: total(x, True))(asarray(W))
    near(grad(lambda x: total(x, False))(asarray(W)), [*2 * W[:3], 0.0])


def test_an_update_at_places_is_written_with_numpys_function():
    x, i = asarray(W), mx.array([0, 0, 2])

    def written(x, y):
        z = x + 0
        np.add.at(z, i, y)
        return (z * z).sum()

    with pytest.raises(TracerError, match=r"z = x \+ 0, then np\.add\.at\(z, i, y\)"):
        grad(lambda x: x.at[i].add(2.0 * x[:3]).sum())(x)
    added = mx.grad(lambda x: (x.at[i].add(2.0 * x[:3]) ** 2).sum())(x)
    near(grad(lambda x: written(x, 2.0 * x[:3]))(x), added)


def test_operators_of_arrays_are_what_they_were():
    x, mask = asarray(W), asarray(W) > 0
    near(x * 2.0 + 1.0 / x - x**2, W * 2.0 + 1.0 / W - W**2)
    assert (x == x).all().item()
    assert (mask & ~mask).any().item() is False
    y = x * 1.0
    y += x
    y[0] = 3.0
    near(y, [3.0, *2.0 * W[1:]])
    for wrong in (object(), "a"):
        with pytest.raises((TypeError, ValueError)):
            x * wrong


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_precisions_are_kept(dtype):
    x = asarray(W).astype(getattr(mx, dtype))
    found = grad(lambda x: v.sum(v.tanh(x) * 2.0 + x[0] * x))(x)
    assert found.dtype == x.dtype
    wanted = grad(lambda x: v.sum(v.tanh(x) * 2.0 + x[0] * x))(W)
    near(np.array(found.astype(mx.float32)), wanted, rtol=3e-2 if "16" in dtype else 1e-5)


def test_complex_numbers_have_the_adjoint_as_gradient():
    z = asarray(np.array([1.0 + 2.0j, -0.5j]))
    near(grad(lambda z: v.sum(v.abs(z) ** 2))(z), 2 * np.array(z))
    a = np.array([[2.0 + 1.0j, 0.3], [0.1j, 1.0 - 1.0j]])
    loss = lambda a: v.sum(v.abs(v.solve(a, v.inv(a))) ** 2)
    near(grad(loss)(asarray(a)), grad(loss)(a), rtol=1e-3)


def test_integers_and_masks_are_data():
    n, x = mx.array([1, 2, 0]), asarray([1.0, 2.0, 3.0])
    near(grad(lambda x: v.sum(x[n] * n))(x), [0.0, 1.0, 2.0])
    assert v.argsort(x).dtype == mx.int32
    assert (v.argmin(x) - 1).item() == -1  # MLX's own have no sign


@pytest.mark.parametrize("operation", [v.sum, v.prod, v.mean, v.any, v.all, v.count_nonzero])
@pytest.mark.parametrize("shape, axis", [((0,), None), ((0, 3), 0), ((0, 3), 1), ((2, 0, 3), 1)])
def test_reductions_of_no_elements_come_back(operation, shape, axis):
    """MLX's own, called often enough, do not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = operation(np.zeros(shape), axis=axis)
    for _ in range(20):
        mx.eval(mx.ones((7,)))
        near(np.array(operation(mx.zeros(shape), axis=axis)), want)
    assert grad(lambda x: v.sum(v.sin(x)))(mx.zeros((0,))).shape == (0,)


def test_functions_of_mlx_are_operations():
    x = asarray(W)
    y, pullback = rrule(mx.tanh, x)
    near(y, np.tanh(W))
    near(pullback(x)[0], W / np.cosh(W) ** 2)


def test_what_it_lacks_is_refused():
    with pytest.raises(NoRuleError, match="nothing computes gammaln"):
        v.gammaln(asarray(W))
    with pytest.raises(NoRuleError, match=r"of complex numbers: .* call it on arrays of NumPy"):
        v.cholesky(asarray(np.eye(2) + 0j))
