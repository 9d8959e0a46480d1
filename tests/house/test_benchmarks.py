"""The benchmarks run, compare programs that compute the same, and what needs no clock holds."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
try:
    from benchmarks import chain, derivatives, report, sparse_jacobians, timing
    from benchmarks.families import BY_HAND, FAMILIES, family
finally:
    sys.path.remove(str(ROOT))

SUITES = (
    "bench_import",
    "bench_check_rule",
    "bench_lookup",
    "bench_memory",
    "bench_rules",
    "bench_tape",
)
LARGE = (1000, 1_000_000, "cupy")
SHORT = 30
HEAVY = (
    "importlib.metadata",
    "inspect",
    "dataclasses",
    *(["ast"] if sys.version_info < (3, 14) else []),  # which NamedTuple loads since
    "email",
    "plum",
    "beartype",
    "numpy",
    "chainrules_tape",
    "chainrules_py.testing",
)


def close(one, other):
    np.testing.assert_allclose(one[0], other[0], rtol=1e-12)
    assert len(one[1]) == len(other[1])
    for a, b in zip(one[1], other[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-14)


def benchmarks_of(suite):
    """``(class, method, combination of parameters)``, as asv finds them."""
    module = importlib.import_module(f"benchmarks.{suite}")
    found = []
    for cls in vars(module).values():
        if not isinstance(cls, type) or cls.__module__ != module.__name__:
            continue
        combinations = [()]
        for values in getattr(cls, "params", ()):
            combinations = [(*chosen, value) for chosen in combinations for value in values]
        for name in vars(cls):
            if re.match(r"(time|timeraw|track)_", name):
                found += [(cls, name, chosen) for chosen in combinations]
    return found


@pytest.mark.parametrize("case", list(chain.SHAPES))
def test_the_tape_computes_what_is_computed_by_hand(case):
    xs = chain.inputs(case)
    close(chain.by_tape(*xs, SHORT), chain.by_hand(*xs, SHORT))


@pytest.mark.parametrize("case", list(chain.SHAPES))
@pytest.mark.parametrize("name", chain.PEERS)
def test_peers_compute_what_is_computed_by_hand(name, case):
    pytest.importorskip(name.partition(",")[0].lower().replace("pytorch", "torch"))
    xs = chain.inputs(case)
    if (name, case) == ("JAX, jit", "broadcast"):
        pytest.skip("compiles for minutes; asv skips it too")
    if name.startswith("JAX"):
        import jax

        with jax.enable_x64(True):
            y, bars = chain.peer(name, *xs, SHORT)()
    else:
        y, bars = chain.peer(name, *xs, SHORT)()
    y, *bars = (t.detach().numpy() if hasattr(t, "detach") else np.asarray(t) for t in (y, *bars))
    close((y, bars), chain.by_hand(*xs, SHORT))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of importing torch.func
@pytest.mark.parametrize("case", derivatives.CASES)
def test_whole_derivatives_are_those_by_hand(case):
    wanted = derivatives.by_hand(case)()
    np.testing.assert_allclose(derivatives.by_tape(case)(), wanted, rtol=1e-9, atol=1e-9)
    for name in ("autograd", "PyTorch, torch.func", "PyTorch, torch.autograd"):
        pytest.importorskip(name.partition(",")[0].lower().replace("pytorch", "torch"))
        try:
            found = derivatives.peer(name, case)()
        except NotImplementedError:
            continue
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", sparse_jacobians.CASES)
def test_sparse_jacobians_are_the_dense_one(case):
    size = 400
    want = sparse_jacobians.by("dense", case, size)()
    for way in ("sparse", "without the check", "compiled", "differences in groups"):
        found = sparse_jacobians.by(way, case, size)().toarray()
        np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-6)
    with pytest.raises(NotImplementedError):
        sparse_jacobians.by("dense", case, 10 * sparse_jacobians.DENSE)


def test_a_chain_with_checkpoints_has_the_gradient_of_one_without(monkeypatch):
    monkeypatch.setitem(derivatives.CHAINS, "1e3 numbers", 1000)  # more than what looks after it
    plain, run = (derivatives.chain("1e3 numbers", checkpointed=c) for c in (False, True))
    assert np.all(plain() == run())
    assert derivatives.peak(run, "1e3 numbers") < derivatives.peak(plain, "1e3 numbers")


def test_a_peer_that_is_not_installed_is_skipped(monkeypatch):
    from benchmarks.bench_tape import ChainOfPeers

    monkeypatch.setitem(sys.modules, "autograd", None)
    with pytest.raises(NotImplementedError):
        ChainOfPeers().setup("autograd", "same shape")
    assert any("not installed" in row[1] for row in report.peers("same shape", 1, ("autograd",)))


@pytest.mark.parametrize("size", [4, 100])
@pytest.mark.parametrize("name", FAMILIES)
def test_rules_compute_what_is_computed_by_hand(name, size):
    """Where nobody wrote it by hand, push and pull are each other's adjoints."""
    of = family(name, size)
    y, y_dot = of.frule()
    again, bars = of.rrule()
    tangents = [t for t in of.tangents if isinstance(t, np.ndarray)]
    bars = [bar for bar, t in zip(bars, of.tangents, strict=True) if isinstance(t, np.ndarray)]
    np.testing.assert_allclose(np.asarray(again), np.asarray(y), rtol=1e-14)
    if name in BY_HAND:
        expected, expected_dot = of.push()
        np.testing.assert_allclose(y, expected, rtol=1e-14)
        np.testing.assert_allclose(y_dot, expected_dot, rtol=1e-13, atol=1e-13)
        close((again, bars), of.pull())
        return
    pushed = np.vdot(of.y_bar, y_dot).real
    pulled = sum(np.vdot(bar, t) for bar, t in zip(bars, tangents, strict=True))
    np.testing.assert_allclose(pushed, pulled, rtol=1e-9)


@pytest.mark.parametrize("suite", SUITES)
def test_every_benchmark_runs(suite, monkeypatch):
    """Once, over a short program, with a clock that is not waited for."""
    monkeypatch.setattr(
        timing,
        "medians",
        lambda functions, **_: {n: (f(), 1.0)[1] for n, f in functions.items()},
    )
    if suite == "bench_check_rule":
        module = importlib.import_module("benchmarks.bench_check_rule")
        monkeypatch.setattr(module, "EVERY", 1000)
    peers = {"autograd", "PyTorch, eager", "JAX, eager"}
    ran = set()
    for cls, method, chosen in benchmarks_of(suite):
        if chosen and chosen[0] in chain.PEERS and chosen[0] not in peers:
            continue
        few = suite != "bench_memory" or chosen in (("autograd",), ("100 parameters", "autograd"))
        if not few or any(value in LARGE for value in chosen):
            continue
        benchmark = cls()
        try:
            if hasattr(benchmark, "setup"):
                benchmark.setup(*chosen)
        except NotImplementedError:
            continue
        answer = getattr(benchmark, method)(*chosen)
        if method.startswith("track_"):
            assert answer >= 0
            assert getattr(benchmark, method).unit
        if method.startswith("timeraw_"):
            compile(answer, method, "exec")
        ran.add((cls.__name__, method))
    assert len(ran) >= 3


def test_the_report_is_a_table(capsys):
    report.main(["lookup", "--rounds", "3"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in lines}) == 1
    assert any("hot lookup" in line and " ns" in line for line in lines)


def test_the_report_names_its_parts(capsys):
    with pytest.raises(SystemExit):
        report.main(["nothing"])
    assert "lookup, import, rules, chain" in capsys.readouterr().err


# ------------------------------------------------------------- what needs no clock to be held to


@pytest.mark.parametrize("case", list(chain.SHAPES))
def test_what_an_operation_of_a_deep_program_costs(case):
    """Per operation: 300 bytes, one record, and few calls of Python functions in both passes."""
    paid = chain.measure_tape(case)
    assert paid["bytes"] <= 300
    assert paid["records"] <= 1.01
    assert paid["blocks"] <= 3
    assert paid["calls"] <= (8 if case == "same shape" else 12)


def test_importing_the_core_loads_nothing_heavy():
    """What it may cost is less than `import numpy`; these modules are what made it cost more."""
    code = f"import sys; import chainrules_py; print([m for m in {HEAVY!r} if m in sys.modules])"
    path = os.pathsep.join([str(ROOT), str(ROOT / "backends")])
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
