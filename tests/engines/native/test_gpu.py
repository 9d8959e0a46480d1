"""Programs for CuPy: what the function gives, in fewer launches; kernels that compile; graphs."""

import ctypes
import functools
import itertools
import shutil
import subprocess
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest

from chainrules_compile import RecordingError, RecordingWarning, compile
from chainrules_compile.compiled import close
from chainrules_native import gpu, graphs
from chainrules_py import RuleError
from chainrules_py.extend import flatten, unflatten
from chainrules_tape import grad, hvp, jvp, value_and_grad
from tests.engines.compile.random_programs import ERRORS, SAID, arguments, forms, run
from tests.libraries.cupy.test_kernels import compile_all, needs_compiler, sources_of

RNG = np.random.default_rng(3)
X, Y = RNG.standard_normal((2, 4, 5))
I = np.array([0, 3, 3])  # noqa: E741


@pytest.fixture
def sent(on):
    """Take the arrays among arguments to the device."""

    def sent(*xs):
        leaves, tree = flatten(xs)
        there = [on.asarray(x) if isinstance(x, np.ndarray) else x for x in leaves]
        return unflatten(tree, there)

    return sent


@pytest.fixture
def check(sent):
    """Compare a function with its programs at some kinds of arguments."""

    def check(f, *args, forms=6):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error", RecordingWarning)
            g = compile(f, target="cupy", exact=False)
            for xs in itertools.islice(arguments(args), forms):
                there = sent(*xs)
                wanted = f(*there)
                for _ in range(2):
                    assert close(g(*there), wanted), g.source
        return g

    return check


def test_it_is_announced():
    settings = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    assert settings["project"]["entry-points"]["chainrules_py.writers"]["cupy"] == (
        "chainrules_native.gpu:write"
    )


def attention(x, y):
    scores = x @ y.T * 0.5
    e = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    return np.sum((e / np.sum(e, axis=1, keepdims=True)) @ y)


def written(x, y):
    z = np.zeros((4, 5), like=x) + x * 1.0
    z[1:3] = y[:2] * x[2:]
    z[:, 0] *= 2.0
    return np.sum(np.sin(z) * z)


def filtered(x, y):
    state = x[0]
    for row in y:
        state = np.tanh(state * 0.9 + row) - 0.1 * state**2
    return np.sum(state * np.sum(x, axis=0))


FUNCTIONS = {
    "elements": lambda x, y: x * y + np.sin(x) / (1.0 + y**2),
    "truths": lambda x, y: (x > y, np.where(x > 0.0, x, 2.0 * y), (x > 0.0) & (y > 0.0)),
    "sums": lambda x, y: (np.sum(x * y), np.sum(np.exp(x), axis=0), (x - y).mean(axis=-1)),
    "shapes": lambda x, y: (x.T @ y, x[:, None] * y[None], np.broadcast_to(x[0] * 2.0, (4, 5))),
    "lines": lambda x, y: (np.sort(x * y, axis=1), np.cumsum(x, axis=0), np.max(x - y, axis=1)),
    "indices": lambda x, y: (x[I] * y[1:2], np.concatenate([x, y])[::-2], np.roll(x * y, 1)),
    "gradient": value_and_grad(lambda x, y: np.sum(np.exp(x) * y / (1.0 + x**2)), (0, 1)),
    "of broadcasts": grad(lambda x, y: np.sum(np.tanh(x * y[0] + y[:, :1]) ** 2), (0, 1)),
    "of gathers": grad(lambda x, y: np.sum(x[I] ** 2) + np.sum(x[:, 1:3] * y[:, :2]), (0, 1)),
    "of a softmax": value_and_grad(attention, (0, 1)),
    "of writes": value_and_grad(written, (0, 1)),
    "of a loop": grad(filtered, (0, 1)),
    "of maxima": grad(lambda x, y: np.sum(np.maximum(x, y) * np.max(x, axis=0)), (0, 1)),
    "products": lambda x, y: hvp(lambda x: np.sum(np.tanh(x @ y.T) ** 3), (x,), (y,)),
    "pushed": lambda x, y: jvp(lambda x: np.sqrt(x * x + 1.0) * y, (x,), (y,)),
    "complex": lambda x, y: np.abs(np.exp(1j * x) * y),
    "numbers": lambda x, y: (x * np.float64(2.0) + 3, np.pi * y, x**2, 1 / (y * y + 1)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_of_the_function(name, check, on):
    g = check(FUNCTIONS[name], X, Y, forms=2)
    wanted = FUNCTIONS[name](X, Y)
    found = flatten(g(on.asarray(X), on.asarray(Y)))[0]
    for x, want in zip(found, flatten(wanted)[0], strict=True):
        np.testing.assert_allclose(x.get(), want, rtol=1e-11, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_other_arguments_and_single_precision(name, check):
    check(FUNCTIONS[name], X, Y)
    check(FUNCTIONS[name], X.astype(np.float32), Y.astype(np.float32), forms=2)


LAUNCHES = {"elements": 1, "sums": 4, "gradient": 2, "of a loop": 30, "pushed": 1, "numbers": 1}
"""How many launches some of them take at most."""


@pytest.mark.parametrize("name", LAUNCHES)
def test_runs_are_one_launch(name, host, sent, check):
    f, xs = FUNCTIONS[name], sent(X, Y)
    g = check(f, X, Y, forms=1)
    counts = []
    for call in (f, g):
        before = host.memory.launches
        call(*xs)
        counts.append(host.memory.launches - before)
    assert counts[1] <= LAUNCHES[name] < counts[0]


def test_captured_arrays_and_functions_of_cupys(check, cp):
    w, b = cp.asarray(X.T), 0.5

    def f(x):
        h = cp.tanh(w @ x + b) - cp.exp(-(x.T @ w.T).T)
        return cp.sum(h * h), w * 2.0

    check(f, X)
    check(value_and_grad(lambda x: f(x)[0]), X)


def test_questions_are_asked_again(check, sent):
    def f(x, y):
        return np.sum(x * y) * (2.0 if np.sum(x) > 0.0 else -3.0)

    g = check(value_and_grad(f), np.abs(X), Y, forms=4)
    assert len(g.programs) == 2
    assert "graph" not in g.source


def test_numbers_are_arguments(check):
    check(lambda x, a: (x * a + 1.0, np.sum(x) / a), X, 0.7)
    check(value_and_grad(lambda x, a: np.sum(np.sin(x * a)) * a, (0, 1)), X, 0.7)


def test_what_is_refused(sent):
    with pytest.raises(RuleError, match="exact=False"):
        compile(np.sin, target="cupy")
    g = compile(lambda x: x * 2.0, target="cupy", exact=False)
    with pytest.raises(RecordingError, match="programs compute with CuPy's arrays"):
        g(X)
    with pytest.raises(RecordingError, match="programs compute with NumPy's arrays"):
        compile(lambda x: x * 2.0)(*sent(X))


def test_without_cupy(monkeypatch):
    writer = gpu.Writer()
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    with pytest.raises(RuleError, match=r"pip install chainrules-py\[cuda13\]"):
        _ = writer.arrays


# ------------------------------------------------------------------------------------- kernels


@pytest.fixture
def made(check, cp):
    """The kernels of the functions above: of real numbers, as nothing else had made any."""
    from chainrules_cupy import kernels

    before = dict(kernels.made)
    kernels.made.clear()
    for f in FUNCTIONS.values():
        check(f, X, Y, forms=1)
    found = [k for k in kernels.made.values() if not k.is_complex]
    kernels.made.update(before)
    assert len(found) > 30
    return found


@pytest.mark.slow
@pytest.mark.skipif(needs_compiler(), reason="nvidia-cuda-nvrtc is not installed")
def test_kernels_compile(made, cp):
    texts = [text for k in made for text in sources_of(k, np.dtype(float), cp)]
    ptx = compile_all(dict.fromkeys(texts), cp)
    text = ptx.decode() if isinstance(ptx, bytes) else ptx
    assert text.count(".entry") == len(set(texts))


HEAD = """
#include <cmath>
#include <algorithm>
using namespace std;
typedef double T;
template <typename A> A pick(bool c, A x, A y) { return c ? x : y; }
"""


def in_cpp(kernel, number):
    """Write a kernel as a function of C++ that loops over elements."""
    places = [f"const {t}* p{i}" for i, t in enumerate(kernel.types)]
    outs = [f"{t}* q{i}" for i, t in enumerate(kernel.outs)]
    reads = [f"const {t} x{i} = p{i}[k];" for i, t in enumerate(kernel.types)]
    stores = [f"q{i}[k] = {result};" for i, result in enumerate(kernel.results)]
    body = "\n".join([*reads, *kernel.lines, *stores]).replace("T", "double")
    head = ", ".join(["int n", *places, *outs]).replace("T", "double")
    return f'extern "C" void f{number}({head}) {{ for (int k = 0; k < n; k++) {{\n{body}\n}} }}\n'


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no compiler of C++")
def test_kernels_mean_in_cpp_what_they_mean_here(made, cp, host, tmp_path):
    text = HEAD + "".join([in_cpp(kernel, i) for i, kernel in enumerate(made)])
    (tmp_path / "kernels.cpp").write_text(text)
    command = ["g++", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-o", "k.so", "kernels.cpp"]
    subprocess.run(command, cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "k.so"))
    kinds = {"T": np.float64, "bool": np.bool_}
    for i, kernel in enumerate(made):
        given = [RNG.standard_normal(50) > 0.0 if t == "bool" else RNG.standard_normal(50)
                 for t in kernel.types]  # fmt: skip
        outs = [np.empty(50, kinds[t]) for t in kernel.outs]
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*given, *outs)]
        getattr(library, f"f{i}")(50, *pointers)
        wanted = kernel.each(*map(cp.asarray, given))
        for y, want in zip(outs, wanted if type(wanted) is tuple else (wanted,), strict=True):
            np.testing.assert_allclose(y, want.get(), rtol=1e-13, atol=1e-15, err_msg=str(kernel))


# -------------------------------------------------------------------------------------- graphs


@pytest.fixture
def captures(monkeypatch, host, cp):
    """Stand in for CUDA, which captures launches: they are computed again, to the same places."""
    seen = []

    def capture(lines, given):
        outputs = lines(*given)
        seen.append(lines)

        def launch(_stream):
            for y, z in zip(outputs, lines(*given), strict=True):
                y[...] = z

        return launch, outputs, None

    stream = type("Stream", (), {"ptr": 0})()
    monkeypatch.setattr(graphs, "capture", capture)
    monkeypatch.setattr(cp.cuda, "get_current_stream", lambda: stream)
    return seen


def graph_of(compiled):
    return next(x for x in compiled.programs[0].scope.values() if isinstance(x, graphs.Graph))


def test_a_program_becomes_a_graph(captures, on, sent):
    f = value_and_grad(lambda x, y: np.sum(np.tanh(x @ y.T)), (0, 1))
    g = compile(f, target="cupy", exact=False)
    x, y = sent(X, Y)
    kept = []
    for turn in range(8):
        given = (x, on.asarray(Y + turn)) if turn > 4 else (x, y)
        found, wanted = g(*given), f(*given)
        assert close(found, wanted)
        kept.append((found, wanted))
    assert all([close(*pair) for pair in kept])  # results are not written to again
    assert graph_of(g).state == "graph"
    assert len(captures) == 2  # once where the arrays lay, once with memory of its own for one
    x[...] = on.asarray(X * 2.0)
    assert close(g(x, y), f(x, y))
    view = on.asarray(np.asfortranarray(Y))
    assert close(g(x, view), f(x, view))


def test_numbers_are_those_of_the_graph(captures, sent):
    f = lambda x, a: x * a + np.sin(x)
    g = compile(f, target="cupy", exact=False)
    (x,) = sent(X)
    for a in (2.0, 2.0, 2.0, 2.0, 2.0, 3.0, 2.0, -0.0, 0.0):
        assert close(g(x, a), f(x, a))
    assert graph_of(g).state == "graph"


def test_what_cannot_be_captured_runs_line_by_line(monkeypatch, captures, sent):
    def refuse(lines, given):
        raise RuntimeError("a stream is waited for")

    monkeypatch.setattr(graphs, "capture", refuse)
    f = lambda x: np.linalg.solve(x @ x.T, x) * 2.0
    g = compile(f, target="cupy", exact=False)
    (x,) = sent(X)
    for _ in range(6):
        assert close(g(x), f(x))
    assert "waited for" in graph_of(g).state


def test_a_graph_that_gives_something_else_is_dropped(monkeypatch, captures, sent):
    real = graphs.capture

    def wrong(lines, given):
        _launch, outputs, pool = real(lines, given)
        return (lambda stream: [y.fill(0.0) for y in outputs]), outputs, pool

    monkeypatch.setattr(graphs, "capture", wrong)
    f = lambda x: x * 2.0 + 1.0
    g = compile(f, target="cupy", exact=False)
    (x,) = sent(X)
    for _ in range(6):
        assert close(g(x), f(x))
    assert graph_of(g).state == "the graph gives another result"


def test_arguments_that_come_from_other_places_each_time(captures, sent):
    f = lambda *xs: functools.reduce(lambda a, b: a * b + 1.0, xs)
    g = compile(f, target="cupy", exact=False)
    base = [RNG.standard_normal(3) for _ in range(12)]
    kept = []
    for turn in range(16):
        there = list(sent(*base))
        if turn > 3:
            there[:turn] = sent(*[x + turn for x in base[:turn]])
        kept.append(there)
        assert close(g(*there), f(*there))


@pytest.mark.gpu
def test_graphs_on_a_device(sent, cp):
    f = value_and_grad(attention, (0, 1))
    g = compile(f, target="cupy", exact=False)
    for turn in range(8):
        x, y = sent(X + turn, Y - turn)
        assert close(g(x, y), f(x, y))
    assert graph_of(g).state == "graph"


# ------------------------------------------------------------------------------ random programs


def check_device(sent, program):
    """Compare a program and its derivatives on CuPy's arrays, compiled, with what they are."""
    for f in forms(program):
        g = compile(f, target="cupy", exact=False)
        for xs in itertools.islice(arguments(program.leaves), 4):
            there = sent(*xs)
            try:
                wanted = f(*there)
            except Exception:  # also what CuPy has not
                SAID["raises"] += 1
                break
            try:
                found = g(*there)
            except (*ERRORS, RecordingError):
                SAID["refused"] += 1
                break
            assert close(found, wanted), f"{found} for {wanted}\n{g.source}"
            SAID["close"] += 1


@pytest.mark.nightly
@pytest.mark.parametrize("turn", range(10))
def test_random_programs(sent, turn):
    run(functools.partial(check_device, sent), 10, turn)
