"""The programs that engines are compared on: every engine computes the same gradient."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
try:
    from benchmarks.bench_programs import Programs
    from benchmarks.peers import differs
    from benchmarks.programs import ENGINES, OURS, PROGRAMS, engine, leaves
finally:
    sys.path.remove(str(ROOT))

HEAVY = ("MLP 784", "logistic", "1000 uses", "chain of 1e+05", "Rosenbrock", "chain of 300")
PEERS = [name for name in ENGINES if name != "NumPy by hand"]
MANY = 17
"""So many are computed by all peers each time; by ours, all programs are."""
COMPILED = (
    ("MLP 10-32-32-10, batch 32", "JAX, jit"),
    ("chain of 1000 operations, length 4", "JAX, jit, scan"),
)


def cases():
    for i, name in enumerate(PROGRAMS):
        for peer in PEERS:
            if peer.startswith("JAX"):  # it compiles for seconds
                light = (name, peer) in COMPILED
            else:
                light = peer == OURS or not (
                    i >= MANY or name.startswith(HEAVY) or peer == "PyTorch, 2 threads"
                )
            marks = [] if light else [pytest.mark.slow]
            yield pytest.param(name, peer, id=f"{name} by {peer}", marks=marks)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name, peer", list(cases()))
def test_every_engine_computes_what_is_computed_by_hand(name, peer):
    program = PROGRAMS[name]
    if peer in program.without or (peer == "JAX, jit, scan" and program.scanned is None):
        pytest.skip("not for this engine; asv skips it too")
    if peer != OURS:
        pytest.importorskip(peer.partition(",")[0].lower().replace("pytorch", "torch"))
    arguments = program.inputs()
    wanted = leaves(engine("NumPy by hand", program, arguments)())
    if peer.startswith("JAX"):
        import jax

        with jax.enable_x64(True):
            found = engine(peer, program, arguments)()
    else:
        try:
            found = engine(peer, program, arguments)()
        except RecursionError:
            pytest.skip("walks programs by recursion; the table says so")
    assert differs(program, wanted, found) == ""


def test_the_gradients_by_hand_are_right():
    """Against differences along a random direction: what all engines are compared with."""
    rng = np.random.default_rng(1)
    for program in PROGRAMS.values():
        if program.name.startswith(HEAVY) and "Rosenbrock" not in program.name:
            continue
        single = any([np.asarray(x).dtype == np.float32 for x in program.inputs()])
        arguments = program.inputs()
        moving = arguments[: program.moving]
        loss = program.loss(np)
        _, bars = program.by_hand(*arguments)
        ts = [rng.normal(size=np.shape(x)) for x in moving]

        def along(h, moving=moving, ts=ts, loss=loss, arguments=arguments):
            moved = [
                list(np.asarray(x) + h * t) if isinstance(x, list) else x + h * t
                for x, t in zip(moving, ts, strict=True)
            ]
            return loss(*moved, *arguments[len(moving) :])

        h = 1e-2 if single else 1e-6
        slope = (along(h) - along(-h)) / (2 * h)
        found = sum(np.vdot(bar, t) for bar, t in zip(bars, ts, strict=True))
        np.testing.assert_allclose(
            found, slope, rtol=1e-3 if single else 1e-5, err_msg=program.name
        )


def test_the_suite_runs(monkeypatch):
    from benchmarks import bench_programs

    monkeypatch.setattr(
        bench_programs, "ratio", lambda ours, theirs, **_: (ours(), theirs(), 1.0)[2]
    )
    suite = Programs()
    suite.setup("MLP 10-32-32-10, batch 32", "chainrules_tape")
    suite.time_value_and_gradient("MLP 10-32-32-10, batch 32", "chainrules_tape")
    assert suite.track_ratio_to_numpy_by_hand("", "") == 1.0
    with pytest.raises(NotImplementedError):
        suite.setup("chain of 1e+05 scalars", "JAX, jit")
