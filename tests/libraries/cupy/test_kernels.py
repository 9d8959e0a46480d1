"""The kernels that rules become on CuPy: their numbers, how many they are, that they compile."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.special

from chainrules_py import Primitive, rrule, rules_for, vocabulary
from chainrules_py import vocabulary as v
from chainrules_py.errors import RuleError
from chainrules_py.extend import bind, find_rule
from chainrules_py.testing import run_samples, to_numpy
from chainrules_py.testing.run import words_of
from chainrules_tape import grad, hvp, jvp
from tests.fake_gpu.backend import ON_HOST

RNG = np.random.default_rng(5)
X, Y = RNG.uniform(0.5, 1.5, (2, 4, 3))


@pytest.fixture
def kernels(on):
    return importlib.import_module("chainrules_cupy.kernels")


@pytest.fixture
def lazy(on, monkeypatch):
    """Halves of rules are fused however small the arrays are."""
    module = importlib.import_module("chainrules_cupy.lazy")
    monkeypatch.setattr(module, "least", 0)
    return module


def close(a, b):
    np.testing.assert_allclose(to_numpy(a), to_numpy(b), rtol=1e-12, atol=1e-12)


def launches(host, f):
    before = host.memory.launches
    f()
    return host.memory.launches - before


# -------------------------------------------------------------------------------- how many launches

# A rule, the operands, and in how many launches it is pulled back.
PULLS = {
    "sin": (v.sin, (X,), 1),
    "tanh": (v.tanh, (X,), 1),
    "multiply": (v.multiply, (X, Y), 1),
    "divide": (v.divide, (X, Y), 1),
    "hypot": (v.hypot, (X, Y), 1),
    "logaddexp": (v.logaddexp, (X, Y), 1),
    "multiply, second broadcast": (v.multiply, (X, Y[0]), 2),
    "divide, second broadcast": (v.divide, (X, Y[0]), 2),
    "multiply, both broadcast": (v.multiply, (X[:, :1], Y[0]), 2),
}


@pytest.mark.parametrize("name", PULLS)
def test_elementwise_pullbacks_are_one_launch_for_each_sum(name, host, on, kernels):
    word, operands, most = PULLS[name]
    there = [on.asarray(x) for x in operands]
    y, expected = rrule(word, *operands)
    counts = []
    for switch in (True, False):
        kernels.fuse_pulls(switch)
        try:
            y_bar, pullback = rrule(word, *there)
            counts.append(launches(host, lambda p=pullback, y_bar=y_bar: p(y_bar)))
            for have, want in zip(pullback(y_bar), expected(y), strict=True):
                close(have, want)
        finally:
            kernels.fuse_pulls(True)
    assert counts[0] == most < counts[1]


HALVES = {
    "var": (v.var, {"axis": 1}, 2),
    "std": (v.std, {"axis": 0}, 6),
    "softmax": (v.softmax, {"axis": 1}, 2),
    "log_softmax": (v.log_softmax, {"axis": 1}, 2),
    "logsumexp": (v.logsumexp, {"axis": 1}, 3),
    "vector_norm": (v.vector_norm, {"axis": 1}, 3),
}


@pytest.mark.parametrize("name", HALVES)
def test_pullbacks_of_any_rule_become_few_launches(name, host, on, lazy):
    word, options, most = HALVES[name]
    expected_y, expected = rrule(word, X, **options)
    y, pullback = rrule(word, on.asarray(X), **options)
    close(y, expected_y)
    assert launches(host, lambda: pullback(y)) <= most
    close(pullback(y)[0], expected(expected_y)[0])
    assert not lazy._plain


@pytest.mark.parametrize("word, most", [(v.softmax, 3), (v.log_softmax, 4), (v.logsumexp, 4)])
def test_sums_of_exponentials(word, most, host, on):
    x = on.asarray(X)
    assert launches(host, lambda: word(x, axis=1)) <= most
    extreme = np.array([[-np.inf, -np.inf], [1e300, 1.0], [-np.inf, 0.0]])
    with np.errstate(all="ignore"):
        close(word(on.asarray(extreme), axis=1), word(extreme, axis=1))


def layer_norm(x, scale):
    z = (x - np.mean(x, axis=1, keepdims=True)) / np.sqrt(np.var(x, axis=1, keepdims=True) + 1e-5)
    return np.sum(np.tanh(z * scale) ** 2)


def attention(x, scale):
    return np.sum(v.softmax((x @ x.T) * 0.5, axis=1) @ x * scale)


def looked_up(x, scale):
    return np.sum(np.take(x, np.array([3, 0, 0]), axis=0) * scale)


@pytest.mark.parametrize("program, least", [(layer_norm, 14), (attention, 3), (looked_up, 1)])
def test_whole_programs_take_fewer_launches(program, least, host, on, kernels, lazy):
    there, places, counts = (on.asarray(X), on.asarray(Y[0])), (0, 1), {}
    for switch in (True, False):
        kernels.fuse_pulls(switch)
        try:
            for have, want in zip(
                grad(program, places)(*there), grad(program, places)(X, Y[0]), strict=True
            ):
                close(have, want)
            counts[switch] = launches(host, lambda: grad(program, places)(*there))
        finally:
            kernels.fuse_pulls(True)
    assert counts[False] - counts[True] >= least, counts


def test_every_rule_as_it_is_fused(lazy):
    """Two samples of every word whose pull is a program of its own."""
    general = [w for w in words_of() if any(s.recipe.pen == "rule" for s in rules_for(w))]
    summary = run_samples(general, backends=[ON_HOST], depth="cheap")
    assert len(general) > 50
    assert summary.passed, summary


# ------------------------------------------------------------------------------------ whole chains


def test_a_chain_of_the_users_is_two_launches(host, on):
    from chainrules_cupy import fuse

    def chain(x):
        for k in range(10):
            x = np.tanh(x * (1.0 + 0.1 * k)) + x
        return x

    fused = fuse(chain)
    x = on.asarray(X)
    y, pullback = rrule(fused, x)
    assert launches(host, lambda: rrule(fused, x)) == 1
    assert launches(host, lambda: pullback(y)) == 1
    close(y, chain(X))
    close(grad(lambda x: np.sum(fused(x)))(x), grad(lambda x: np.sum(chain(x)))(X))
    t = np.cos(X)
    close(
        hvp(lambda x: np.sum(fused(x) ** 2), (x,), (on.asarray(t),))[0],
        hvp(lambda x: np.sum(chain(x) ** 2), (X,), (t,))[0],
    )
    close(jvp(fused, (x,), (on.asarray(t),))[1], jvp(chain, (X,), (t,))[1])


def test_operands_of_a_chain_broadcast(on):
    from chainrules_cupy import fuse

    @fuse
    def gate(x, scale, shift):
        return np.where(x > 0, x * scale + shift, np.exp(x) - 1.0)

    plain = lambda x, scale, shift: np.where(x > 0, x * scale + shift, np.exp(x) - 1.0)
    operands = (X - 1.0, Y[0], 0.25)
    there = tuple([on.asarray(x) if isinstance(x, np.ndarray) else x for x in operands])
    have = grad(lambda *xs: np.sum(gate(*xs) ** 2), (0, 1, 2))(*there)
    want = grad(lambda *xs: np.sum(plain(*xs) ** 2), (0, 1, 2))(*operands)
    for a, b in zip(have, want, strict=True):
        close(a, b)


def test_complex_chains(on):
    from chainrules_cupy import fuse

    fused = fuse(lambda z: z * np.exp(-z) + 1.0 / z, complex="holomorphic")
    z = X + 1j * Y
    loss = lambda f, z: np.sum(np.abs(f(z)) ** 2)
    close(
        grad(lambda z: loss(fused, z))(on.asarray(z)),
        grad(lambda z: loss(lambda z: z * np.exp(-z) + 1.0 / z, z))(z),
    )


@pytest.mark.parametrize(
    "f, because",
    [
        (lambda x: np.sum(x), "sum"),
        (lambda x: x * np.ones(3), "captured"),
        (lambda x: x if x > 0 else -x, "asked for"),
        (lambda x: np.linalg.inv(x), "inv"),
    ],
)
def test_what_is_not_done_element_by_element_is_refused(f, because, on):
    from chainrules_cupy import fuse

    with pytest.raises(RuleError, match=because):
        fuse(f)


CHAINS = {
    "gelu": lambda x, y: 0.5 * x * (1 + scipy.special.erf(x / np.sqrt(2.0))) * y,
    "sigmoid": lambda x, y: scipy.special.expit(x) + scipy.special.log_expit(y),
    "softplus": lambda x, y: np.logaddexp(x, 0.0) + np.logaddexp(x, y),
    "remainders": lambda x, y: x % y + np.remainder(-x, 0.7) + x // y + np.fmod(x, 0.3),
    "entropy": lambda x, y: scipy.special.xlogy(x, y) + scipy.special.gammaln(x),
    "bounds": lambda x, y: np.clip(x, 0.7, y) + np.maximum(x, 0.9) * np.fmin(x, y),
    "signs": lambda x, y: np.sign(x - 1) * abs(y - 1) + np.copysign(x, y - 1),
    "powers": lambda x, y: x**3 + y**-0.5 + x**y + np.hypot(x, y) + np.cbrt(x),
    "circles": lambda x, y: np.arctan2(x, y) + np.deg2rad(x) * np.sinc(y),
    "made": lambda x, y: np.full_like(x, 2.0) * x + np.nan_to_num(y) + np.heaviside(x, 0.5),
    "selected": lambda x, y: np.select([x > 1, y > 1], [x * y, x / y], 0.0),
}


@pytest.mark.parametrize("name", CHAINS)
def test_functions_of_a_chain(name, on):
    from chainrules_cupy import fuse

    chain = CHAINS[name]
    fused = fuse(chain)
    there = (on.asarray(X), on.asarray(Y))
    close(fused(*there), chain(X, Y))
    have = grad(lambda x, y: np.sum(fused(x, y) * y), (0, 1))(*there)
    want = grad(lambda x, y: np.sum(chain(x, y) * y), (0, 1))(X, Y)
    for a, b in zip(have, want, strict=True):
        close(a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_chain_knows_its_dtype(dtype, on):
    from chainrules_cupy import fuse

    fused = fuse(lambda x: x * np.finfo(x.dtype).eps)
    x = np.ones(3, dtype)
    close(fused(on.asarray(x)) / np.finfo(dtype).eps, x)
    g = grad(lambda x: np.sum(fused(x)))(on.asarray(x))
    assert g.dtype == dtype
    close(g / np.finfo(dtype).eps, x)


# ----------------------------------------------------------------------------------- benchmarks


@pytest.fixture
def bench():
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    try:
        return importlib.import_module("benchmarks.bench_cupy")
    finally:
        sys.path.pop(0)


@pytest.mark.parametrize("name", ["NETWORK", "CHAIN"])
def test_benchmarks_compute_the_same(name, bench, cp):
    pytest.importorskip("torch")
    programs, size = getattr(bench, name), bench.Size((7, 5, 6, 4), 8, 100)
    for make in programs.values():
        expected, wanted = programs["CuPy by hand"](cp, size)()
        value, found = make(cp, size)()
        if name == "CHAIN":
            found, wanted = [found], [wanted]
        for a, b in zip((value, *found), (expected, *wanted), strict=True):
            np.testing.assert_allclose(to_numpy(a), to_numpy(b), rtol=1e-5, atol=1e-5)


def test_benchmarks_are_skipped_without_a_gpu(bench, host, on):
    for suite in (bench.Network, bench.Chain):
        for name in suite.programs:
            with pytest.raises(NotImplementedError, match="GPU"):
                suite().setup(name)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "programs, ours, theirs, most",
    [
        ("NETWORK", "chainrules_py", "CuPy by hand", 1.15),
        ("NETWORK", "chainrules_py", "PyTorch", 1.0),
        ("CHAIN", "chainrules_py, fused", "CuPy by hand", 0.5),
    ],
)
def test_speed(programs, ours, theirs, most, bench):
    cp, size = bench.library(), bench.Size()
    try:
        runs = [bench.finished(getattr(bench, programs)[name](cp, size)) for name in (ours, theirs)]
    except NotImplementedError as error:
        pytest.skip(str(error))
    assert bench.ratio(*runs, rounds=25, seconds=0.02) <= most


# ---------------------------------------------------------------------------- that they compile


def made_kernels(kernels, cp):
    """The kernels of all rules of element-by-element functions, of other rules, and of chains."""
    from chainrules_cupy import fuse

    for chain in CHAINS.values():
        for x in (cp.asarray(X), cp.asarray(X[0])):
            y, pullback = rrule(fuse(chain), x, cp.asarray(Y))
            pullback(y)
    for word, options, _ in HALVES.values():
        for x in (X, X + 1j):
            try:
                y, pullback = rrule(word, cp.asarray(x), **options)
                pullback(y)
            except Exception:  # no complex numbers
                continue
    for word in vars(vocabulary).values():
        if not isinstance(word, Primitive) or word.variadic or not word.operands:
            continue
        types = (cp.ndarray,) * len(word.operands)
        rule = find_rule(word, types)
        recipe = getattr(rule and rule.reverse, "recipe", None)
        if getattr(recipe, "pen", "") != "scalar_rule":
            continue
        wanted = tuple([p is not None for p in recipe.partials])
        run = bind(rule, types, wanted, "reverse").run
        for x in (X[0], X[0] + 0j):
            for last in (X[0], X):
                operands = [cp.asarray(x)] * (len(types) - 1) + [cp.asarray(last.astype(x.dtype))]
                try:
                    _, (pull, _, *saved) = run(None, *operands)
                    pull(cp.asarray(np.broadcast_to(x, last.shape)), *saved)
                except Exception:  # no complex numbers, or nothing that CuPy has
                    continue
    return list(kernels.made.values())


def sources_of(kernel, dtype, cp):
    """The whole texts that CuPy makes of a kernel, and of its sum if that was asked for."""
    of = {"T": dtype, "bool": np.dtype(bool)}
    operands = [of[kind] for kind in kernel.types]
    results = [of[kind] for kind in kernel.outs]
    yield text_of(kernel.each, operands, results, {"T": dtype}, cp)
    if kernel._sum is not None:
        yield text_of(kernel.sum, operands, [dtype], {"T": dtype}, cp)


def text_of(kernel, operands, results, types, cp):
    """What CuPy makes of a kernel for arrays of these dtypes, in a namespace of its own."""
    from cupy._core import _carray, _kernel, _reduction, _scalar

    def info(kind, cls, dtype):
        made = _kernel._ArgInfo.__new__(_kernel._ArgInfo)
        made.__setstate__((kind, True, dtype and dtype.type, True, 2, cls))
        return made

    arguments = [info(1, cp.ndarray, dtype) for dtype in (*operands, *results)]
    indexer, pairs = info(2, _carray.Indexer, None), [(k, t.type) for k, t in types.items()]
    if hasattr(kernel, "operation"):
        code = _kernel._get_elementwise_kernel_code(
            (*arguments, indexer),
            _kernel._TypeMap(tuple(pairs)),
            kernel.params,
            kernel.operation,
            kernel.name,
            kernel.preamble,
        )
    else:
        stride = info(3, _scalar.CScalar, np.dtype(np.int32))
        code = _reduction._ReductionKernel_get_cached_function_code(
            kernel.nin,
            kernel.nout,
            kernel._params,
            (*arguments, indexer, indexer, stride),
            _kernel._TypeMap((*pairs, ("IndexT", np.int32))),
            kernel.name,
            512,
            kernel.reduce_type,
            kernel.identity,
            kernel.map_expr,
            kernel.reduce_expr,
            kernel.post_map_expr,
            kernel.preamble,
            kernel.options,
        )
    name = "_".join([kernel.name, *(t.name for t in operands)])
    code = code.replace(f"void {kernel.name}(", f"void {name}(")
    return f"namespace in_{name} {{\n{code}\n}}\n"


def written_kernels(cp):
    """The kernels that are written by hand, as texts."""
    from chainrules_cupy import indexing, matrices

    integers, long = np.dtype(np.int32), np.dtype(np.int64)
    yield text_of(matrices._exchanged, [integers, long], [long], {"I": integers}, cp)
    for dtype in map(np.dtype, "fdFDl"):
        yield text_of(indexing.sums(), [dtype, long, long], [dtype], {"T": dtype}, cp)


HEADERS = ("complex.cuh", "carray.cuh", "atomics.cuh", "math_constants.h")


def compile_all(sources, cp):
    from cupy_backends.cuda.libs import nvrtc

    include = Path(cp.__file__).parent / "_core" / "include"
    text = "".join(f"#include <cupy/{name}>\n" for name in HEADERS) + "\n".join(sources)
    program = nvrtc.createProgram(text, "kernels.cu", (), ())
    libraries = [include / "cupy" / "_cccl" / part for part in ("libcudacxx", "thrust", "cub")]
    options = [f"-I{path}" for path in (include, *libraries)]
    try:
        nvrtc.compileProgram(program, (*options, "--std=c++17", "-arch=compute_80", "-w"))
    except Exception:
        log = nvrtc.getProgramLog(program)
        errors = "\n".join(re.findall(r"[^\n]*error:[^\n]*\n[^\n]*", log)[:20])
        pytest.fail(errors or log[:3000], pytrace=False)
    return nvrtc.getPTX(program)


def needs_compiler():
    if importlib.util.find_spec("nvidia") is None:
        return True
    return not list(
        Path(next(iter(importlib.import_module("nvidia").__path__))).rglob("libnvrtc.so*")
    )


DTYPES = [
    pytest.param("float32", id="float32"),
    pytest.param("float64", marks=pytest.mark.slow),
    pytest.param("complex64", marks=pytest.mark.slow),
    pytest.param("complex128", marks=pytest.mark.slow),
]


@pytest.mark.skipif(needs_compiler(), reason="nvidia-cuda-nvrtc is not installed")
@pytest.mark.parametrize("name", DTYPES)
def test_kernels_compile(name, cp, kernels, lazy):
    dtype = np.dtype(name)
    chosen = [k for k in made_kernels(kernels, cp) if k.is_complex == (dtype.kind == "c")]
    assert len(chosen) > (50 if dtype.kind == "f" else 30)
    texts = [text for k in chosen for text in sources_of(k, dtype, cp)]
    assert len(texts) > len(chosen)  # sums among them
    texts += written_kernels(cp) if name == "float32" else []
    ptx = compile_all(texts, cp)
    text = ptx.decode() if isinstance(ptx, bytes) else ptx
    assert text.count(".entry") == len(texts)
