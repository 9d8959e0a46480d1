"""Features of memory: what is kept for the gradient, and what is computed again."""

from __future__ import annotations

import functools
import importlib.util
import pickle
import time
import tracemalloc

import numpy as np
import pytest

from chainrules_py import (
    MutationError,
    ProjectionError,
    Rows,
    ZeroTangent,
    primitive,
    scalar_rule,
)
from chainrules_py.extend import accumulate
from chainrules_tape import (
    checkpoint,
    grad,
    hook,
    jacobian,
    jvp,
    name,
    vjp,
)
from chainrules_tape.checkpoint.checkpoint_and_policies import least_kept
from chainrules_tape.tools import checkpoint_chain, show_saved
from chainrules_tape.tools.checkpoint_schedules import first_part, repeated_steps
from tests.features.rows import feature

RNG = np.random.default_rng(0)
X, W, B = RNG.standard_normal((6, 4)), RNG.standard_normal((4, 4)), RNG.standard_normal(4)


def network(x, w, b):
    """Products, functions of elements, a decomposition, a buffer, a mask, a reduction."""
    h = x
    for k in range(3):
        z = name(h @ w, f"z{k}")
        h = np.tanh(z + b) * np.sqrt(1 + z * z)
    s = np.linalg.svd(h, full_matrices=False)[1]
    buffer = np.zeros(4, like=h)
    buffer[1:3] = s[:2]
    buffer[0] = s[3] * 2
    h = np.where(h > 0, h, 0.1 * h)
    return np.sum(h) + np.sum(buffer * buffer) + np.linalg.norm(h[::2])


EXPECTED = grad(network, (0, 1, 2))(X, W, B)


def on_disk(folder):
    count = iter(range(10**6))

    def pack(x):
        path = folder / f"{next(count)}.npy"
        np.save(path, x)
        return path

    return {"pack": pack, "unpack": lambda path: np.load(path, mmap_mode="r")}


def policies(folder):
    named = ["z1"], ["z0", "z2"], []
    yield from ({"save": s} for s in ("all", "nothing", "cheap", "mincut", *named, 0, 500))
    yield {"save": "all", **on_disk(folder)}
    yield {"save": "cheap", **on_disk(folder)}


@feature(53, "save or recompute by policy, per value", page="tape",
         best="PyTorch: selective checkpoint; JAX: policies and names")  # fmt: skip
@feature(57, "pack and unpack hooks on saved values", page="tape",
         best="PyTorch: saved_tensors_hooks")  # fmt: skip
def test_every_policy_gives_the_same_bits(tmp_path):
    for policy in policies(tmp_path):
        f = checkpoint(network, **policy)
        found = grad(f, (0, 1, 2))(X, W, B)
        _, pullback = vjp(f, X, W, B)
        for again in (found, pullback(1.0), pullback(1.0)):
            for x, y in zip(again, EXPECTED, strict=True):
                np.testing.assert_array_equal(x, y)
        captured = grad(lambda w, p=policy: checkpoint(lambda: network(X, w, B), **p)())(W)
        np.testing.assert_array_equal(captured, EXPECTED[1])


@pytest.mark.parametrize("save", ["cheap", ["z1"], 500])
def test_policies_nest_with_other_differentiation(save):
    def bent(f, x):
        return np.sum(grad(f)(x, W, B) ** 2)

    f = checkpoint(network, save=save)
    expected = jvp(grad(network), (X, W, B), (X, W, B))[1]
    np.testing.assert_allclose(jvp(grad(f), (X, W, B), (X, W, B))[1], expected, rtol=1e-9)
    expected = grad(lambda x: bent(network, x))(X)
    np.testing.assert_allclose(grad(lambda x: bent(f, x))(X), expected, rtol=1e-9)
    whole = checkpoint(lambda x: bent(f, x), save=save)
    np.testing.assert_allclose(grad(whole)(X), expected, rtol=1e-9)
    inside = checkpoint(lambda x: f(checkpoint(np.tanh)(x), W, B))
    np.testing.assert_allclose(grad(inside)(X), grad(lambda x: network(np.tanh(x), W, B))(X))
    rows = lambda g: jacobian(lambda x: g(x), mode="reverse")(X[0])
    layer = lambda x: np.tanh(x @ W) * B
    np.testing.assert_array_equal(rows(checkpoint(layer, save=save)), rows(layer))


def test_hooks_and_writes_under_a_policy():
    seen = []

    def f(x):
        y = np.sin(x)
        hook(y, seen.append)
        x[0] = 2.0 * y[1]
        return np.sum(x * y)

    def program(g):
        return grad(lambda x: (lambda z: g(z) + np.sum(z**3))(x * 1.0))(B)

    np.testing.assert_array_equal(program(checkpoint(f, save="cheap")), program(f))
    assert len(seen) == 2


def test_what_people_wrote_runs_once():
    drawn = np.random.default_rng(1)
    runs = []

    @primitive
    def noisy(x):
        runs.append(1)
        return x * (1.0 + drawn.standard_normal())

    scalar_rule(noisy, lambda y, x: y / x)

    def f(x):
        return np.sum(np.sin(noisy(np.exp(x))))

    grad(checkpoint(f, save=[]))(B)
    assert len(runs) == 1


@pytest.mark.parametrize("save", ["cheep", -1, 1.5, [1], True])
def test_no_policy(save):
    with pytest.raises((ValueError, TypeError)):
        checkpoint(network, save=save)
    with pytest.raises(ValueError, match="pack and unpack"):
        checkpoint(network, save="all", pack=lambda x: x)


def test_what_unpack_gives_is_compared():
    f = checkpoint(lambda x: np.sum(np.sin(np.exp(x))), save="all", pack=np.copy, unpack=np.sum)
    with pytest.raises(MutationError, match="unpack gave"):
        grad(f)(B)


def deep(x):
    for _ in range(50):
        x = np.sin(x) * 1.01
    return np.sum(x)


def peak(f):
    x = np.ones(50_000)
    tracemalloc.start()
    grad(f)(x)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found / x.nbytes


def suffices(kept, operands, cheap, read):
    return all(
        [i in kept or (i in cheap and suffices(kept, operands, cheap, operands[i])) for i in read]
    )


@feature(54, "save or recompute by a heuristic over all calls", page="tape",
         best="PyTorch: min-cut partitioner")  # fmt: skip
def test_the_least_cut_keeps_the_fewest_bytes():
    """Of random programs of nine calls, against all sets of values that might be kept."""
    rng = np.random.default_rng(1)
    for _ in range(30):
        n = 9
        sizes = {i: int(rng.integers(1, 6)) for i in range(n)}
        operands = {i: {int(j) for j in rng.integers(0, i, 2)} if i else set() for i in range(n)}
        cheap = {i for i in range(n) if rng.random() < 0.6}
        read = {i for i in range(n) if rng.random() < 0.4}

        sets = [{i for i in range(n) if k >> i & 1} for k in range(1 << n)]
        enough = [s for s in sets if suffices(s, operands, cheap, read)]
        found = least_kept(sizes, operands, cheap, read)
        assert found in enough
        assert sum([sizes[i] for i in found]) == min([sum([sizes[i] for i in s]) for s in enough])


def test_large_sizes_and_long_rows_of_cheap_calls():
    n = 100
    operands = {i: {i - 1} if i else set() for i in range(n)}
    kept = least_kept(dict.fromkeys(range(n), 10**12), operands, set(range(1, n)), {*range(n)})
    assert max(np.diff(sorted(kept))) <= 17
    assert len(kept) < 8


def test_without_scipy_there_is_no_cut(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="save='cheap'"):
        checkpoint(network, save="mincut")


@feature(61, "binomial schedules of checkpoints", page="tape", best="Tapenade: $AD BINOMIAL-CKP")
def test_a_budget_and_a_schedule_bound_the_memory():
    assert peak(deep) > 50
    assert peak(checkpoint(deep, save=8 * 50_000 * 10)) < 25


@functools.cache
def least(n, more):
    if n < 2:
        return 0
    if not more:
        return n * (n - 1) // 2
    return min(m + least(m, more) + least(n - m, more - 1) for m in range(1, n))


def test_revolve_counts_are_reproduced():
    for n in range(1, 45):
        for more in range(6):
            assert repeated_steps(n, more + 1) == least(n, more)
            if n > 1:
                m = first_part(n, more)
                assert m + least(m, more) + least(n - m, max(more - 1, 0)) == least(n, more)


@pytest.mark.parametrize("n, slots", [(1, 1), (2, 1), (10, 1), (10, 3), (25, 4), (56, 5)])
def test_a_chain_runs_as_many_steps_as_the_schedule_says(n, slots):
    runs = []

    def step(x, k):
        runs.append(k)
        return np.sin(x) + 0.1 * k

    def plain(x):
        for k in range(n):
            x = np.sin(x) + 0.1 * k
        return np.sum(x)

    found = grad(lambda x: np.sum(checkpoint_chain(step, np.int64(n), slots=slots)(x)))(B)
    np.testing.assert_array_equal(found, grad(plain)(B))
    assert len(runs) - n == repeated_steps(n, slots)


@feature(58, "show what is saved, by whom, how many bytes and why", page="tape",
         best="JAX: print_saved_residuals")  # fmt: skip
def test_what_is_saved_is_shown():
    saved = show_saved(network, X, W, B, argnums=(0, 1, 2))
    assert saved.nbytes == sum(row.nbytes for row in saved.rows)
    (first,) = [row for row in saved.rows if row.by == "matmul" and row.what == "float64[4,4]"]
    assert first.why == "argument"
    assert "h @ w" in first.where
    assert any(row.by == "svd" for row in saved.rows)
    cheap = show_saved(checkpoint(network, save="cheap"), X, W, B, argnums=(0, 1, 2))
    assert cheap.nbytes < saved.nbytes
    assert sum(row.why == "kept by the policy" for row in cheap.rows) >= 2
    nothing = show_saved(checkpoint(network), X, W, B)
    assert {row.why for row in nothing.rows} == {"to run it again"}
    assert nothing.nbytes == X.nbytes + W.nbytes + B.nbytes
    assert "bytes in" in repr(saved)


def test_what_the_gradient_in_one_argument_keeps_is_shown():
    def f(x, w, n):
        for _ in range(n):
            x = x * w
        return np.sum(x)

    assert show_saved(f, B, B + 1.0, 3).nbytes == B.nbytes  # w alone
    assert show_saved(f, B, B + 1.0, n=3, argnums=1).nbytes == 4 * B.nbytes  # each x, and w


def squeezed(x, n):
    for _ in range(n):
        x = x + 0.1 * np.sin(x)
    return np.sum(x)


def test_the_time_of_a_large_budget_is_linear():
    def seconds(n):
        start = time.process_time()
        grad(checkpoint(squeezed, save=10**9))(B, n)
        return time.process_time() - start

    seconds(100)
    assert seconds(16_000) < 20 * min([seconds(2_000) for _ in range(3)])


# ---------------------------------------------------------------------------- sparse cotangents

TABLE = RNG.standard_normal((10, 3))
PLACES = np.array([[1, 2, 1], [-1, 0, 1]])


def embedded(table, w):
    rows, more = table[PLACES], np.take(table, np.array([3, 3]), axis=0)
    return np.sum(np.tanh(rows @ w)) + np.sum(more * more)


@feature(45, "sparse cotangents of indexing", page="tape", best="Chainer, PyTorch: sparse_grad")
@feature("N12", "a first-class sparse cotangent, which adds, scales and moves", page="tape",
         best="requested in PyTorch, Flux")  # fmt: skip
def test_gradients_of_rows_are_rows():
    w = RNG.standard_normal((3, 2))
    dense, other = grad(embedded, (0, 1))(TABLE, w)
    found, same = grad(embedded, (0, 1), sparse=True)(TABLE, w)
    assert isinstance(found, Rows)
    assert len(found.indices) == 8
    np.testing.assert_allclose(found.dense(), dense)
    np.testing.assert_array_equal(same, other)
    np.testing.assert_allclose(TABLE - 0.1 * found, TABLE - 0.1 * dense)
    table = TABLE.copy()
    found.add_into(table, -0.1)
    np.testing.assert_allclose(table, TABLE - 0.1 * dense)
    np.testing.assert_allclose((found + found).dense(), 2 * dense)
    np.testing.assert_allclose(found + dense, 2 * dense)
    total, owned = accumulate(ZeroTangent(), found, False)
    for t in (found, dense):
        total, owned = accumulate(total, t, owned)
    np.testing.assert_allclose(total, 3 * dense)
    in_a_dict = grad(lambda p: embedded(p["table"], w), sparse=True)({"table": TABLE})["table"]
    np.testing.assert_allclose(in_a_dict.dense(), dense)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).dense(), found.dense())
    _, pullback = vjp(lambda t: t * 2.0, TABLE)  # as a cotangent it is the array
    np.testing.assert_allclose(pullback(found)[0], 2.0 * dense)
    with pytest.raises(ProjectionError):
        found + Rows(np.array([0]), np.ones((1, 2)), np.zeros((4, 2)))
    with pytest.raises(ProjectionError):
        pullback(Rows(np.array([0]), np.ones((1, 2)), np.zeros((4, 2))))


def test_what_is_read_otherwise_is_an_array():
    w = RNG.standard_normal((3, 2))
    for f in (
        lambda t: embedded(t, w) + np.sum(t[2:4]),
        lambda t: np.sum(t[t[:, 0] > 0]),
        lambda t: np.sum(t[:, np.array([0, 2])]),
        lambda t: np.sum(np.sin(t)[PLACES]),
        lambda t: np.sum(t[2] * t[PLACES, np.array([0, 1, 2])][0, 0]),
    ):
        found = grad(f, sparse=True)(TABLE)
        found = found.dense() if isinstance(found, Rows) else found
        np.testing.assert_allclose(found, grad(f)(TABLE))
    bent = jvp(grad(embedded, sparse=True), (TABLE, w), (TABLE, w))[1]
    np.testing.assert_allclose(bent, jvp(grad(embedded), (TABLE, w), (TABLE, w))[1])
    outer = grad(lambda t: np.sum(grad(embedded, sparse=True)(t, w) ** 2))(TABLE)
    np.testing.assert_allclose(outer, grad(lambda t: np.sum(grad(embedded)(t, w) ** 2))(TABLE))


def test_no_table_is_made_of_a_million_rows():
    table, w = np.zeros((1_000_000, 64)), RNG.standard_normal((64, 8))
    places = RNG.integers(0, len(table), 512)
    tracemalloc.start()
    found = grad(lambda t: np.sum(np.tanh(t[places] @ w)), sparse=True)(table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.rows.shape == (512, 64)
    assert peak < table.nbytes / 100
