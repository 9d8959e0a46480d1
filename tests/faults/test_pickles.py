"""What is pickled is the same in a process that was started anew."""

from __future__ import annotations

import contextlib
import copy
import multiprocessing
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import cloudpickle
import numpy as np
import pytest

import chainrules_compile
import chainrules_py
import chainrules_tape
from chainrules_numpy.composites import mapping
from chainrules_py import LinearMap, MutationError, TracerError, primitive, rrule, rule, scalar_rule
from chainrules_py.composites import higher_order
from chainrules_tape import grad, linearize, vjp
from tests.faults import made_here

AGAIN_OR_PICKLED = copy.copy, copy.deepcopy, pickle.dumps, cloudpickle.dumps
NAMES = list(made_here.maps())


def bytes_of(pickled):
    """In the other process: load each, ask, and answer in bytes."""
    loaded = [pickle.loads(part) for part in pickled]
    return [b"".join(np.asarray(y).tobytes() for y in _parts(ask(f))) for f, ask in loaded]


def _parts(y):
    return y if isinstance(y, tuple) else (y,)


def test_in_a_process_that_was_started_anew():
    made = list(made_here.maps().values())
    expected = [b"".join(np.asarray(y).tobytes() for y in _parts(ask(f))) for f, ask in made]
    pickled = [pickle.dumps(pair) for pair in made]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        # Whatever comes first imports what the others need.
        found = pool.submit(bytes_of, pickled[::-1]).result(120)[::-1]
        gradients = list(pool.map(grad(made_here.total), [made_here.X, 2 * made_here.X]))
    assert {n for n, a, b in zip(NAMES, found, expected, strict=True) if a != b} == set()
    np.testing.assert_array_equal(gradients[1], grad(made_here.total)(2 * made_here.X))


FACES = (chainrules_py, chainrules_tape, chainrules_compile, higher_order, mapping)
STATES = {"primitive", "rule", "scalar_rule", "linear_rule", "bilinear_rule", "non_differentiable"}
STATES |= {"opt_out", "overriding", "register_structure", "strict"}
ALSO = ((), (made_here.X,), (3,))


def functions_in(y):
    """List the functions that something is, or holds."""
    parts = y if isinstance(y, tuple) else y.values() if isinstance(y, dict) else (y,)
    return [part for part in parts if callable(part) and not isinstance(part, type)]


def test_whatever_makes_a_function_makes_one_that_is_pickled():
    """Every public function is called with a function, and with what else it may want."""
    f, makers = made_here.step, {}
    for face in FACES:
        for name in set(face.__all__) - STATES:
            call = getattr(face, name)
            for also in () if isinstance(call, type) or not callable(call) else ALSO:
                with contextlib.suppress(Exception):
                    makers.setdefault(name, []).extend(functions_in(call(f, *also)))
    makers = {name: made for name, made in makers.items() if any([x is not f for x in made])}
    assert len(makers) > 8, makers
    again = {name: [pickle.loads(pickle.dumps(x)) for x in made] for name, made in makers.items()}
    assert list(again) == list(makers)


SCRIPT = '''
import multiprocessing, pickle, subprocess, sys
import cloudpickle
import numpy as np
from chainrules_py import LinearMap, primitive, rrule, rule, scalar_rule
from chainrules_tape import checkpoint, grad, hessian, vjp

@primitive
def softplus(x):
    return np.logaddexp(0.0, x)

scalar_rule(softplus, lambda y, x: np.exp(x - y))

@primitive
def twice(x):
    return 2.0 * x

@rule(twice)
def twice_rule(x):
    return 2.0 * x, (LinearMap(lambda t: 2.0 * t, lambda t: 2.0 * t),)

def loss(x):
    return np.sum(softplus(x) * twice(x))

@grad
def slope(x):
    return np.sum(twice(x) * x)

def of(f, x):
    return np.asarray(f(x))

if __name__ == "__main__":
    x, one = np.ones(2), np.float64(1.0)
    made = {
        "grad": (grad(loss), x), "hessian": (hessian(loss), x), "slope": (slope, x),
        "checkpoint": (checkpoint(loss), x), "softplus": (softplus, x),
        "vjp": (vjp(loss, x)[1], one), "rrule": (rrule(twice, x)[1], x),
    }
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for name, (f, at) in made.items():
            np.testing.assert_array_equal(pool.apply(of, (f, at)), of(f, at), name)
    load = """if True:
        import pickle, sys
        for part in pickle.load(sys.stdin.buffer):
            try:
                pickle.loads(part)
            except AttributeError as error:
                print(error)
    """
    sent = pickle.dumps([cloudpickle.dumps(f) for f, _ in made.values()])
    run = subprocess.run([sys.executable, "-c", load], input=sent, capture_output=True)
    said = run.stdout.decode().splitlines()
    assert len(said) == len(made) and all("__main__" in line for line in said), (said, run)
    print("done")
'''


def test_what_a_script_defines(tmp_path):
    """Processes that are started for it run it as well; others say that they do not."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT, encoding="utf-8")
    run = [sys.executable, str(path)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr


@pytest.mark.parametrize("name", sorted(made_here.exports()))
def test_exports(name):
    exported, _ = made_here.exports()[name]
    again = pickle.loads(pickle.dumps(exported))
    assert type(again) is type(exported)
    assert getattr(again, "__name__", None) == getattr(exported, "__name__", None)


def test_pullbacks_of_functions_without_a_name_go_with_cloudpickle():
    c = 3.0
    _, pullback = vjp(lambda x: c * x * x, 2.0)
    assert pickle.loads(cloudpickle.dumps(pullback))(1.0) == (12.0,)


@pytest.mark.parametrize("again", AGAIN_OR_PICKLED)
def test_a_tape_says_what_to_write(again):
    tape = chainrules_tape.Tape()
    np.sum(tape.variable(made_here.X) ** 2)
    with pytest.raises(TracerError, match="cannot be copied or pickled"):
        again(tape)


def closure():
    @primitive
    def local(x):
        return x * x

    @rule(local)
    def local_rule(x):
        return x * x, (LinearMap(lambda t: 2 * x * t, lambda t: 2 * x * t),)

    return local


@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps])
def test_what_no_module_has_says_what_to_do(dumps):
    f = closure()
    for thing in (f, rrule(f, 2.0)[1], vjp(f, 2.0)[1], grad(f)):
        with pytest.raises(pickle.PicklingError, match=r"rule local.*at the top level of a module"):
            dumps(thing)


SLOPES = [2.0]


@primitive
def sloped(x):
    return SLOPES[0] * x


scalar_rule(sloped, lambda _y, x: SLOPES[0] + 0 * x)


def through(x):
    return SLOPES[0] * x


PULLED = {
    "rrule": lambda: rrule(sloped, 0.0)[1],
    "vjp": lambda: vjp(sloped, 0.0)[1],
    "linearize": lambda: linearize(through, 0.0)[1],
}
AGAIN = {
    "pickled": lambda f: pickle.loads(pickle.dumps(f)),
    "copied": copy.copy,
    "copied whole": copy.deepcopy,
}


@pytest.mark.parametrize("name", PULLED)
@pytest.mark.parametrize("again", AGAIN)
def test_a_copy_sees_what_the_call_saw(name, again, monkeypatch):
    monkeypatch.setitem(globals(), "SLOPES", [2.0])
    pull = PULLED[name]()
    assert AGAIN[again](pull)(1.0) in (2.0, (2.0,))


@pytest.mark.parametrize("name", PULLED)
def test_a_pickle_is_read_where_the_same_is_seen(name, monkeypatch):
    monkeypatch.setitem(globals(), "SLOPES", [2.0])
    pickled = pickle.dumps(PULLED[name]())
    assert pickle.loads(pickled)(1.0) in (2.0, (2.0,))


@pytest.mark.parametrize("again", AGAIN)
def test_a_copy_of_a_pullback_compares_what_was_saved(again):
    x = np.ones(3)
    _, pull = rrule(np.sin, x)
    x[:] = 7.0
    with pytest.raises(MutationError, match="sin saved"):
        AGAIN[again](pull)(x)
