"""Sparse Jacobians and Hessians: the numbers of the dense ones, in blocks of scipy.sparse."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
import tracemalloc
import types
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse

from chainrules_compile import compile
from chainrules_py import LinearMap, NotDifferentiableError, primitive, rrule, rule
from chainrules_tape import DensePatternWarning, Plan, grad, hessian, jacobian, sparsity
from tests.fake_gpu.backend import backend

RNG = np.random.default_rng(5)
MODES = ("auto", "forward", "reverse")


def close(have, want, rel=1e-12):
    """A sparse block, and the dense one, whose axes it flattens."""
    assert isinstance(have, sparse.csr_array)
    want = np.asarray(want)
    np.testing.assert_allclose(have.toarray(), want.reshape(have.shape), rel, 1e-12)
    assert have.dtype == want.dtype or not have.nnz


# --------------------------------------------------------------------------------- the patterns


def broyden(x):
    return (3 - 2 * x) * x + 1 + np.append(0.0, -x[:-1]) + np.append(-2 * x[1:], 0.0)


def five_points(u):
    k = int(len(u) ** 0.5)
    p = np.pad(u.reshape(k, k), 1)
    inside = p[1:-1, 1:-1]
    around = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]
    return (4 * inside - around + np.exp(inside) / k**2).reshape(-1)


SHUFFLE = RNG.permutation(144)
A = (sparse.random_array((144, 144), density=0.02, rng=RNG) + sparse.eye_array(144)).tocsr()
BLOCKS = RNG.normal(size=(48, 3, 3))

# A function, how many directions it takes at most, and whether it is dense.
PATTERNS = {
    "band": (broyden, 3, False),
    "blocks": (
        lambda x: np.einsum("bij,bj->bi", BLOCKS, np.sin(x.reshape(48, 3))).ravel(),
        3,
        False,
    ),
    "permuted": (lambda x: broyden(x[SHUFFLE])[np.argsort(SHUFFLE)], 5, False),
    "five points": (five_points, 8, False),
    "random": (lambda x: np.tanh(A @ x), 20, False),
    "arrow": (lambda x: np.append(np.sum(x * x), x[1:] * x[0]), 3, False),
    "dense": (lambda x: x * np.sum(x), 144, True),
    "empty rows": (lambda x: np.concatenate([x[:3] ** 2, np.zeros(40), x[5:9]]), 1, False),
    "where": (lambda x: np.where(x > 0, x * np.roll(x, 1), x), 3, False),
    "sorted": (np.sort, 1, False),
    "maxima": (lambda x: np.max(x.reshape(36, 4), axis=1), 1, False),
    "product at zero": (lambda x: (x * 0.0 + np.roll(x, 1)) ** 2, 2, False),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PATTERNS)
def test_twelve_patterns(name, mode):
    f, most, dense = PATTERNS[name]
    x = RNG.normal(size=144) * (name != "product at zero")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plan = sparsity(f, mode=mode)(x)
        found = jacobian(f, mode=mode, sparsity="detect")(x)
    want = jacobian(f)(x)
    close(found, want)
    close(jacobian(f, sparsity=plan)(x), want)
    close(jacobian(f, sparsity=plan.pattern)(x), want)
    assert [w.category for w in caught] == [DensePatternWarning] * (2 * dense)
    assert mode != "auto" or plan.pushes + plan.pulls <= most
    assert plan.pulls == 0 or mode != "forward"
    assert plan.pushes == 0 or mode != "reverse"
    assert plan.pattern.nnz == 144**2 if dense else plan.pattern.nnz < 5 * 144


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 20),
    st.integers(1, 20),
    st.floats(0, 0.4),
    st.integers(0, 999),
    st.sampled_from(MODES),
)
def test_random_patterns(m, n, density, seed, mode):
    rng = np.random.default_rng(seed)
    i, j = (rng.random((m, n)) < density).nonzero()
    w, x = rng.normal(size=len(i)), rng.normal(size=n)
    rows = sparse.csr_array((np.ones(len(i)), (i, np.arange(len(i)))), shape=(m, len(i)))

    def f(x):
        y = rows @ np.sin(w * x[j])
        return y + y * y

    close(jacobian(f, mode=mode, sparsity="detect")(x), jacobian(f)(x))
    close(hessian(lambda x: np.sum(f(x)), sparsity="detect")(x), hessian(lambda x: np.sum(f(x)))(x))


# --------------------------------------------------------------------------------- the check


BRANCHES = {
    "where": (PATTERNS["where"][0], 1.0),
    "sort": (np.sort, 1.0),
    "max": (lambda x: np.max(x.reshape(10, 3), axis=1), 1.0),
    # 2.0, since with 9.0 all are clipped in one draw of ten.
    "clip": (lambda x: np.abs(np.clip(x, -1, 1)) * np.roll(x, 2), 2.0),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", BRANCHES)
def test_another_branch_is_found_out(kind, mode):
    f, scale = BRANCHES[kind]
    x = RNG.normal(size=30) * scale
    other = -x[::-1] + 0.05
    jac = jacobian(f, mode=mode, sparsity="detect")
    jac(x)
    if mode == "reverse" and kind in ("max", "clip"):
        # The pull multiplies, so that the pattern has both branches.
        close(jac(other), jacobian(f)(other))
    else:
        with pytest.raises(NotDifferentiableError, match=r"entries outside its pattern.*write"):
            jac(other)
    both = Plan(sparsity(f)(x).pattern + sparsity(f)(other).pattern)
    for at in (x, other):
        close(jacobian(f, sparsity=both)(at), jacobian(f)(at))


@pytest.mark.parametrize("mode", MODES)
def test_a_pattern_that_lacks_entries(mode):
    x = RNG.normal(size=20)
    for pattern in (sparse.eye_array(20), sparse.csr_array((20, 20))):
        with pytest.raises(NotDifferentiableError, match="the Jacobian of broyden has entries out"):
            jacobian(broyden, mode=mode, sparsity=pattern)(x)
        jacobian(broyden, mode=mode, sparsity=pattern, check=False)(x)
    loss = lambda x: np.sum(broyden(x) ** 2)
    with pytest.raises(NotDifferentiableError, match="the Hessian of <lambda> has entries"):
        hessian(loss, sparsity=sparse.eye_array(20))(x)


def test_a_small_entry_is_missed_by_no_scale():
    """The bound is that of each row."""
    scale = np.geomspace(1e-150, 1e150, 20)
    f = lambda x: scale * broyden(x)
    with pytest.raises(NotDifferentiableError, match="first at result 19"):
        jacobian(lambda x: np.append(x[:-1] * scale[:-1], f(x)[-1]), sparsity=np.eye(20))(
            np.ones(20)
        )


@pytest.mark.parametrize("seed", range(5))
def test_rounding_is_no_missing_entry(seed):
    """Of sums that cancel, in either precision, and between them."""
    x = np.random.default_rng(seed).normal(size=40)
    f = lambda x, c: (x[1:] * c + x[:-1]) - c * x[1:] * (1 - 1 / c)
    for dtype, large in ((np.float64, 1e6), (np.float32, 1e2)):
        jacobian(f, sparsity="detect")(x.astype(dtype), large)
    jacobian(broyden, sparsity="detect")(x.astype(np.float32))


# ----------------------------------------------------------------------------------- structures


def test_structures_are_blocks():
    def f(p, scale):
        return {"u": scale * p["a"][1:] * p["b"][0, 0], "v": (p["b"] ** 2, p["a"][0])}, "aux"

    p = {"a": RNG.normal(size=4), "b": RNG.normal(size=(2, 3)), "name": "p"}
    found, aux = jacobian(f, sparsity="detect", has_aux=True)(p, 2.0)
    want, _ = jacobian(f, has_aux=True)(p, 2.0)
    assert aux == "aux"
    assert list(found) == ["u", "v"]
    for have, dense in ((found["u"], want["u"]), *zip(found["v"], want["v"], strict=True)):
        assert list(have) == ["a", "b", "name"]
        close(have["a"], dense["a"])
        close(have["b"], dense["b"])
    plan = sparsity(f, has_aux=True)(p, 2.0)
    assert plan.shape == (10, 10)
    close(jacobian(f, sparsity=plan, has_aux=True)(p, 2.0)[0]["v"][0]["b"], want["v"][0]["b"])


@dataclasses.dataclass
class Beam:
    load: object
    width: object


class Pair(NamedTuple):
    first: object
    second: object


def test_fields_are_in_dicts():
    """For a tangent of a dataclass holds no sparse array."""
    f = lambda beam: Pair(beam.load * beam.width, [beam.width**2])
    beam = Beam(RNG.normal(size=3), RNG.normal(size=3))
    found, want = jacobian(f, sparsity="detect")(beam), jacobian(f)(beam)
    close(found["first"]["width"], want.first.width)
    close(found["second"][0]["load"], want.second[0].load)
    loss = lambda beam: np.sum(f(beam).first ** 2)
    bends, want = hessian(loss, sparsity="detect")(beam), hessian(loss)(beam)
    close(bends["load"]["width"], want.load.width)


def test_elements_of_a_sparse_array_are_one_block():
    a = sparse.random_array((5, 5), density=0.5, rng=RNG, format="csr")
    f = lambda a: (a @ np.ones(5)) ** 2
    close(jacobian(f, sparsity="detect")(a)["data"], jacobian(f)(a).data)


def test_arguments():
    f = lambda a, b, c: a * b + c[::-1]
    xs = [RNG.normal(size=5) for _ in range(3)]
    for have, want in zip(
        jacobian(f, (0, 2), sparsity="detect")(*xs), jacobian(f, (0, 2))(*xs), strict=True
    ):
        close(have, want)
    close(jacobian(f, argnames="b", sparsity="detect")(*xs), jacobian(f, 1)(*xs))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "f, kinds",
    [
        (lambda z: z[1:] * z[:-1], "c"),
        (lambda x: x[1:] * np.exp(1j * x[:-1]), "r"),
        (lambda z: np.abs(z[1:]) ** 2 * z[:-1].imag, "c"),
        (lambda x, z: (x[1:] * np.abs(z[:-1]), x * z, x**2), "rc"),
        (lambda z: np.append(np.sum(z * z), z[0] * z[1:]), "c"),
    ],
    ids=["complex", "from real", "to real", "mixed", "arrow"],
)
def test_complex_numbers(f, kinds, mode):
    xs = [
        RNG.normal(size=9) + 1j * RNG.normal(size=9) if k == "c" else RNG.normal(size=9)
        for k in kinds
    ]
    of = {"argnums": tuple(range(len(xs))), "mode": mode, "holomorphic": True}
    found, want = jacobian(f, sparsity="detect", **of)(*xs), jacobian(f, **of)(*xs)
    if kinds != "rc":
        found, want = [found], [want]
    for have, dense in zip(found, want, strict=True):
        for one, other in zip(have, dense, strict=True):
            close(one, other)


def test_without_holomorphic_it_is_refused():
    with pytest.raises(NotDifferentiableError, match="holomorphic"):
        jacobian(lambda z: z * z, sparsity="detect")(np.ones(3) * 1j)


def test_dtypes():
    x = RNG.normal(size=6)
    for mode in ("forward", "reverse"):
        single = jacobian(broyden, mode=mode, sparsity="detect")(x.astype("f"))
        close(single, jacobian(broyden, mode=mode)(x.astype("f")), 1e-5)
    f = lambda a, b: (a[1:] * 2, b * b)
    for have, want in zip(
        jacobian(f, (0, 1), sparsity="detect")(x.astype("f"), x),
        jacobian(f, (0, 1))(x.astype("f"), x),
        strict=True,
    ):
        for one, other in zip(have, want, strict=True):
            close(one, other, 1e-6)


def test_numbers_and_nothing():
    close(jacobian(lambda x: x * x, sparsity="detect")(3.0), np.array([[6.0]]))
    found = jacobian(lambda t: [t[0] * t[1], t[1]], sparsity="detect")([2.0, 3.0])
    assert [[block.toarray().item() for block in row] for row in found] == [[3, 2], [0, 1]]
    close(
        jacobian(lambda x: np.sum(x**2), sparsity="detect")(np.arange(3.0)), np.array([[0.0, 2, 4]])
    )
    for f, n in ((lambda x: x[:0], 3), (lambda x: np.append(x, 1.0), 0), (lambda x: np.ones(2), 3)):
        close(jacobian(f, sparsity="detect")(np.ones(n)), jacobian(f)(np.ones(n)))


# ----------------------------------------------------------------------------------- Hessians


def chained(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@pytest.mark.parametrize(
    "f, pushes",
    [
        (chained, 3),
        (lambda x: x[0] * np.sum(np.sin(x)) + np.sum(x**3), 2),
        (lambda x: np.sum(np.tanh(A @ x)), 144),
        (lambda x: np.sum(five_points(x) ** 2), 20),
        (lambda x: np.sum(x[::2]), 0),
    ],
    ids=["band", "arrow", "random", "five points", "linear"],
)
def test_hessians(f, pushes):
    x = RNG.normal(size=144)
    plan = sparsity(grad(f), symmetric=True)(x)
    assert plan.symmetric
    assert plan.pushes <= pushes
    for pattern in ("detect", plan, plan.pattern):
        close(hessian(f, sparsity=pattern)(x), hessian(f)(x), 1e-9)


def test_hessians_of_structures_and_of_several_numbers():
    f = lambda p: np.sum(p["a"][:3] ** 2 * p["b"][0]) + np.sum(p["a"] ** 3)
    p = {"a": RNG.normal(size=4), "b": RNG.normal(size=(2, 3))}
    found, want = hessian(f, sparsity="detect")(p), hessian(f)(p)
    for k in p:
        for h in p:
            close(found[k][h], want[k][h])
    g = lambda x: x[1:] ** 2 * x[:-1]
    x = RNG.normal(size=5)
    close(hessian(g, sparsity="detect")(x), hessian(g)(x))
    found, aux = hessian(lambda x: (chained(x), x[0]), has_aux=True, sparsity="detect")(x)
    close(found, hessian(chained)(x))
    assert aux == x[0]


# ------------------------------------------------------------------------- compiled, nested


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_compiled(target):
    x = RNG.normal(size=30)
    for make, f in ((jacobian, broyden), (hessian, chained), (jacobian, PATTERNS["arrow"][0])):
        run = compile(make(f, sparsity="detect"), target=target, strict=True)
        for at in (x, x + 1):
            close(run(at), make(f)(at), 1e-9)
        assert len(run.programs) == 1


def test_nested():
    x = RNG.normal(size=6)
    product = lambda jac: lambda x: np.sum((jac(x) @ np.ones(6)) ** 2)
    want = grad(product(jacobian(broyden)))(x)
    np.testing.assert_allclose(grad(product(jacobian(broyden, sparsity="detect")))(x), want)
    scaled = lambda **how: lambda c: np.sum(jacobian(lambda x: c * broyden(x), **how)(x) @ x)
    np.testing.assert_allclose(grad(scaled(sparsity="detect"))(2.0), grad(scaled())(2.0))


def test_a_nested_one_is_checked():
    jac = jacobian(broyden, sparsity=np.eye(6))
    with pytest.raises(NotDifferentiableError, match="entries outside its pattern"):
        grad(lambda x: np.sum(jac(x).data))(RNG.normal(size=6))


def test_infinite_partials_meet_no_zeros():
    """As in the dense one: forward mode gives NaN beside them, and what is pulled is right."""
    f = lambda x: np.sqrt(x) + np.append(x[1:] * 2, 0.0)
    x = np.array([1.0, 0.0, 4.0, 9.0])
    with np.errstate(divide="ignore", invalid="ignore"):
        close(jacobian(f, sparsity="detect")(x), jacobian(f)(x))


def test_what_only_one_mode_is_stated_of():
    @primitive
    def g(x):
        return x**3

    @rrule.register(g)
    def g_rrule(x: np.ndarray):
        return x**3, lambda y_bar: (3 * x**2 * y_bar,)

    x = RNG.normal(size=7)
    f = lambda x: g(x) + np.roll(x, 1)
    close(jacobian(f, sparsity="detect")(x), jacobian(f)(x))


# ---------------------------------------------------------------------------- memory, libraries


def test_no_dense_array_of_twenty_thousand_rows():
    n = 20_000
    x = RNG.normal(size=n)
    tracemalloc.start()
    try:
        jac = jacobian(broyden, sparsity="detect")
        found = jac(x)
        bend = hessian(chained, sparsity="detect")(x[: n // 10])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        jac(x)
        again = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.nnz == 3 * n - 2
    assert bend.nnz == 3 * n // 10 - 2
    np.testing.assert_allclose(found.diagonal(), 3 - 4 * x)
    assert peak < 5_000 * n  # a dense one has 160,000 bytes a row
    assert again < 2_000 * n


def test_a_dense_one_that_is_large_is_refused():
    with pytest.raises(NotDifferentiableError, match=r"\(9000, 9000\), is dense.*write sparsity="):
        jacobian(lambda x: x * np.sum(x), sparsity="detect")(np.ones(9000))


def test_a_derivative_that_raises_of_nan():
    """As solvers do that look at their residual, or at what they are given."""

    @primitive
    def f(x):
        return x**2

    @rule(f)
    def f_rule(x: np.ndarray):
        slope = lambda t: 2 * x * np.asarray_chkfinite(t)
        return x**2, (LinearMap(slope, slope),)

    with pytest.raises(NotDifferentiableError, match=r"raised ValueError for NaN; write sparsity="):
        jacobian(f, sparsity="detect")(np.ones(4))
    close(jacobian(f, sparsity=np.eye(4))(np.ones(4)), 2 * np.eye(4))


def test_the_warning_names_the_line():
    with pytest.warns(DensePatternWarning, match=r"write sparsity=pattern") as caught:
        jacobian(lambda x: x * np.sum(x), sparsity="detect")(np.ones(200))
    assert caught[0].filename == __file__


def test_what_is_given_instead():
    f, x = broyden, np.ones(5)
    with pytest.raises(NotDifferentiableError, match="sparsity='find'; write 'detect'"):
        jacobian(f, sparsity="find")
    with pytest.raises(NotDifferentiableError, match=r"sparsity=\[1\]; write 'detect'"):
        hessian(f, sparsity=[1])
    with pytest.raises(
        NotDifferentiableError, match=r"has shape \(5, 5\), and sparsity= a pattern"
    ):
        jacobian(f, sparsity=np.eye(4))(x)
    with pytest.raises(NotDifferentiableError, match="pattern is not symmetric"):
        hessian(chained, sparsity=np.tri(5))(x)


def test_results_are_the_callers():
    """What is done to one of them in place is not seen by the next."""
    jac, x = jacobian(broyden, sparsity="detect"), RNG.normal(size=8)
    found = jac(x)
    found.data[:] = 0
    found.eliminate_zeros()
    close(jac(x), jacobian(broyden)(x))


def test_it_is_pickled_with_its_plan():
    jac = jacobian(np.sort, sparsity=Plan(np.eye(3)[::-1]))
    again = pickle.loads(pickle.dumps(jac))
    close(again(np.array([3.0, 2.0, 1.0])), np.eye(3)[::-1])


def test_in_scipys_solvers():
    x = np.full(60, -1.0)
    jac = jacobian(broyden, sparsity="detect")
    found = optimize.least_squares(broyden, x, jac=jac)
    assert found.cost < 1e-16
    pattern = sparsity(broyden)(x).pattern
    assert optimize.least_squares(broyden, x, jac_sparsity=pattern).cost < 1e-12


def test_without_scipy():
    line = (
        "import sys; sys.modules['scipy'] = None\n"
        "import numpy as np\nfrom chainrules_tape import *\n"
        "f = lambda x: x * x\n"
        "print(jacobian(f)(np.ones(2))[0, 0], Plan.__name__)\n"
        "try: jacobian(f, sparsity='detect')(np.ones(2))\n"
        "except ImportError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("2.0 Plan\nthis needs scipy.sparse (")
    assert "pip install 'chainrules-py[scipy]'" in run.stdout


def test_on_cupy_it_is_cupys(monkeypatch):
    """With its memory on the host, where cupyx.scipy.sparse has no library to load."""
    on = pytest.importorskip("cupy") and backend("cupy-host")
    if on.missing:
        pytest.skip(on.missing)
    if on.prepare:
        on.prepare()
    cupyx = types.ModuleType("cupyx.scipy.sparse")
    cupyx.csr_matrix = lambda parts, shape: (*parts, shape)
    monkeypatch.setitem(sys.modules, "cupyx.scipy.sparse", cupyx)
    x = RNG.normal(size=6)
    for make, f in ((jacobian, broyden), (hessian, chained)):
        data, indices, indptr, shape = make(f, sparsity="detect")(on.asarray(x))
        assert {type(a).__module__ for a in (data, indices, indptr)} == {"cupy"}
        parts = [a.get() for a in (data, indices, indptr)]
        close(sparse.csr_array(tuple(parts), shape), make(f)(x))


@pytest.mark.gpu
def test_on_a_gpu():
    cupy = pytest.importorskip("cupy")
    cupyx = pytest.importorskip("cupyx.scipy.sparse")
    x = RNG.normal(size=1000)
    for make, f in ((jacobian, broyden), (hessian, chained)):
        found = make(f, sparsity="detect")(cupy.asarray(x))
        assert isinstance(found, cupyx.csr_matrix)
        close(sparse.csr_array(found.get()), make(f)(x))


def test_other_libraries_are_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(NotDifferentiableError, match="SciPy's or CuPy's"):
        jacobian(lambda x: x * x, sparsity="detect")(torch.ones(3))
