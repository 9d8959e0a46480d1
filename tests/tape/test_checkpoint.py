"""Checkpoints: the same derivatives with less memory, whatever the function uses, and how."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import gc
import random
import secrets
import subprocess
import sys
import threading
import tracemalloc
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainrules_py import LinearMap, MutationError, Tangent, frule, primitive, rrule, rule
from chainrules_tape import (
    Tape,
    checkpoint,
    debug_nans,
    grad,
    hessian,
    hook,
    hvp,
    jacobian,
    jvp,
    linearize,
    name,
    value_and_grad,
    vjp,
)
from chainrules_tape.tools import checkpoint_chain

X = np.linspace(-1.0, 1.0, 5)
W = np.array([0.3, 0.2, 0.5, 0.1, 0.9])


def layer(x, w):
    return np.tanh(np.sin(x * w) * w) + x[::-1]


def plainly(f):
    return f


# Each takes what wraps a function: `checkpoint`, or nothing.


def of_arguments(wrap):
    return lambda w: np.sum(wrap(layer)(wrap(layer)(X, w), w) ** 2)


def of_a_loop(wrap):
    def f(w):
        y = X
        for k in range(3):
            y = wrap(lambda y: np.tanh(y * w * (k + 1)))(y)  # noqa: B023  # which is the point
        return np.sum(y)

    return f


def of_rebound_names(wrap):
    def f(w):
        y = X
        scale = w
        y = wrap(lambda y: y * scale)(y)
        scale = w * w
        return np.sum(y * w)

    return f


def of_structures(wrap):
    def block(p, *, scale, label):
        assert label == "text"
        return {"y": p["x"] * p["w"][0] * scale, "n": 3, "both": (p["w"][0] ** 2, X)}

    def f(w):
        out = wrap(block)({"x": X, "w": [w, 2.0]}, scale=w[0], label="text")
        return np.sum(out["y"]) * out["n"] + np.sum(out["both"][0] * out["both"][1])

    return f


def of_an_object(wrap):
    class Model:
        pass

    def f(w):
        model = Model()
        model.w = w * 2.0
        model.call = wrap(lambda x: np.sin(x * model.w) * x)
        return np.sum(model.call(model.call(X)))

    return f


def of_a_constructor_that_computes(wrap):
    @dataclasses.dataclass
    class Layer:
        w: object

        def __post_init__(self):
            self.norm = np.sqrt(np.sum(self.w**2))

    def f(w):
        layer = Layer(w)
        return np.sum(wrap(lambda y: np.sin(y * layer.norm))(X * w))

    return f


def of_a_partial(wrap):
    def f(w):
        inner = functools.partial(layer, w=w)
        return np.sum(wrap(inner)(X * w) * wrap(inner)(w))

    return f


def of_checkpoints_inside(wrap):
    def f(w):
        inner = lambda y: np.sin(wrap(lambda z: np.exp(z * w))(y) * w)
        return np.sum(wrap(lambda y: inner(inner(y)) * y)(X * w))

    return f


def of_values_that_escape(wrap):
    def f(w):
        kept = []

        def block(y):
            kept.append(np.sin(y * w))
            return kept[-1] * y

        y = wrap(block)(X * w)
        return np.sum(y * kept[0])

    return f


def of_writes(wrap):
    def block(y, w):
        buffer = np.zeros(5, like=y)
        for i in range(5):
            buffer[i] = y[i] * w[-i]
        y += buffer
        y[1:3] *= w[:2]
        return y

    def f(w):
        y = np.sin(X * w)
        z = wrap(block)(y, w)
        return np.sum(z * y)

    return f


def of_a_view_of_what_is_written(wrap):
    def block(y):
        y = y * 1.0
        part = y[1:3]
        y[2] *= y[0]
        return part

    return lambda w: np.sum(wrap(block)(X * w) ** 3) * w[0]


def of_a_captured_value_written_later(wrap):
    def f(w):
        y = w * 2.0
        z = wrap(lambda x: np.sin(x * y))(X)
        y *= 3.0
        return np.sum(z * y)

    return f


def of_constants_made_inside(wrap):
    def block(y):
        mask = np.array([1.0, 0.0, 1.0, 2.0, 0.5])
        return np.sin(y * mask) * mask

    return lambda w: np.sum(wrap(block)(wrap(block)(w)))


PROGRAMS = [
    of_arguments,
    of_a_loop,
    of_rebound_names,
    of_structures,
    of_an_object,
    of_a_constructor_that_computes,
    of_a_partial,
    of_checkpoints_inside,
    of_values_that_escape,
    of_writes,
    of_a_view_of_what_is_written,
    of_a_captured_value_written_later,
    of_constants_made_inside,
]
DERIVATIVES = {
    "grad": grad,
    "forward": lambda f: lambda w: jvp(f, (w,), (X,))[1],
    "pullback twice": lambda f: lambda w: [vjp(f, w)[1](c)[0] for c in (1.0, 2.0)][1],
    "hvp": lambda f: lambda w: hvp(f, (w,), (X,))[0],
    "hessian": hessian,
    "reverse over reverse": lambda f: lambda w: grad(lambda w: grad(f)(w) @ X)(w),
    "reverse over forward": lambda f: lambda w: grad(lambda w: jvp(f, (w,), (X,))[1])(w),
    "jacobian of gradient": lambda f: jacobian(grad(f), mode="reverse"),
    "linearized gradient": lambda f: lambda w: linearize(grad(f), w)[1](X),
}


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_derivatives_are_those_without_checkpoints(program, derivative):
    d = DERIVATIVES[derivative]
    want = d(program(plainly))(W)
    assert np.any(want)
    assert d(program(checkpoint))(W) == pytest.approx(want, rel=1e-13, abs=1e-14)


@pytest.mark.parametrize("save", [None, "cheap", "nothing", ["d"]])
def test_elements_that_are_left_out_stay_zeros(save):
    data = np.array([1.0, np.nan, 3.0])

    def loss(x):
        d = name(x - data, "d")
        return np.nansum(d**2) + np.sum(np.where(np.isnan(data), 0.0, np.exp(d)))

    x, d = np.array([0.5, 0.2, 0.1]), np.array([-0.5, 0.0, -2.9])
    want = (2.0 * d + np.exp(d)) * np.isfinite(data)
    f = checkpoint(loss) if save is None else checkpoint(loss, save=save)
    assert grad(f)(x) == pytest.approx(want)
    pull = vjp(f, x)[1]
    for _ in range(2):  # nothing that is computed again is used up
        assert pull(1.0)[0] == pytest.approx(want)


@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
def test_jacobians_of_many_directions(mode):
    f = lambda w: layer(X * w, w)
    assert jacobian(checkpoint(f), mode=mode)(W) == pytest.approx(jacobian(f)(W), rel=1e-13)
    two = lambda wrap: lambda w: wrap(lambda x: layer(wrap(lambda x: x @ np.outer(w, w))(x), w))(X)
    J = jacobian(two(checkpoint), mode=mode)(W)
    assert pytest.approx(jacobian(two(plainly))(W), rel=1e-13) == J


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 30), st.integers(1, 35))
def test_chains_of_every_length(n, segments):
    step = lambda x, k: np.sin(x) * x[::-1] + 0.01 * k
    loop = lambda x: functools.reduce(step, range(n), x)
    chain = checkpoint_chain(step, n, segments=segments)
    value, slope = value_and_grad(lambda x: np.sum(chain(x)))(X)
    want, slope_wanted = value_and_grad(lambda x: np.sum(loop(x)))(X)
    assert value == want
    assert np.all(slope == slope_wanted)


def test_a_chain_has_at_least_one_segment():
    with pytest.raises(ValueError, match="at least one"):
        checkpoint_chain(lambda x, k: x, 3, segments=0)
    assert checkpoint_chain(lambda x, k: x * 2, 0)(3.0) == 3.0


# ------------------------------------------------------------------------------ memory


def peak(run):
    gc.collect()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("constant", [False, True])
def test_memory_grows_as_the_root(constant):
    x = np.full(20_000, 0.5)

    def step(x, k):
        return np.sin(x) * np.ones(x.shape) if constant else np.sin(x)

    def arrays(n):
        chain = checkpoint_chain(step, n)
        return peak(lambda: grad(lambda x: np.sum(chain(x)))(x)) / x.nbytes

    arrays(4)
    per_step = 4 if constant else 1
    assert arrays(100) < 20 + 12 * (1 + per_step)
    assert arrays(400) < 20 + 22 * (1 + per_step)


def test_checkpoints_between_which_nothing_is_drawn_keep_one_state():
    """A state of Python's generator is 25 kB."""
    block = checkpoint(lambda y: np.tanh(np.tanh(y)))

    def chain(x, n=100):
        for _ in range(n):
            x = block(x)
        return np.sum(x)

    vjp(chain, np.ones(10))
    assert peak(lambda: vjp(chain, np.ones(10))) < 100 * 10_000


def test_what_is_made_again_goes_when_it_was_played():
    alive = []

    @primitive
    def watched(x):
        return 2.0 * x

    @rule(watched)
    def watched_rule(x):
        saved = np.ones(1000)
        alive.append(weakref.ref(saved))
        pull = lambda t, saved: 2.0 * t
        return 2.0 * x, (LinearMap(pull, pull, saved),)

    most = 0

    def look(_):
        nonlocal most
        most = max(most, sum(ref() is not None for ref in alive))

    def f(x):
        for _ in range(10):
            x = checkpoint(lambda x: watched(watched(watched(x))))(x)
            hook(x, look)
            look(None)
        return x

    assert grad(f)(1.0) == 2.0**30
    assert most <= 3
    gc.disable()
    try:
        _, pullback = vjp(f, 1.0)
        pullback(1.0)
        assert not any(ref() is not None for ref in alive)
        del pullback
    finally:
        gc.enable()


def test_no_cycles_are_left():
    x = np.ones(1000)
    ref = None

    def f(w):
        nonlocal ref
        y = w * 2.0
        ref = weakref.ref(y.payload)
        return np.sum(checkpoint(lambda x: np.sin(x * y))(w))

    gc.disable()
    try:
        _, pullback = vjp(f, x)
        pullback(1.0)
        assert ref() is not None
        del pullback
        assert ref() is None
    finally:
        gc.enable()


def test_arrays_are_free_again_when_the_gradient_is_there():
    scale, x = np.array([1.0, 2.0, 3.0]), np.ones(3)
    f = lambda x: np.sum(checkpoint(lambda x: np.sin(x * scale))(x))
    grad(f)(x)
    for array in (scale, x):
        assert array.flags.writeable
    with pytest.raises(RuntimeError, match="inside"):
        grad(lambda x: checkpoint(_raise)(x * scale))(x)
    for array in (scale, x):
        assert array.flags.writeable


def _raise(x):
    y = np.sin(x)
    msg = "inside"
    raise RuntimeError(msg + str(y.shape))


# ------------------------------------------------------------------------------ what it refuses


RNG, OLD_RNG = np.random.default_rng(0), np.random.RandomState(0)
DRAWS = {
    "generator": lambda: RNG.random(5),
    "state": lambda: OLD_RNG.random_sample(5),
    "everybody's": lambda: np.random.rand(5),  # noqa: NPY002
    "python's": lambda: np.array([random.random() for _ in range(5)]),
}


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("at", [0.0, 1.0])
def test_random_numbers_inside_are_drawn_once_more_as_they_were(draw, at):
    drawn = []

    def f(x):
        drawn.append(DRAWS[draw]())
        return x * drawn[-1]

    found = grad(lambda x: np.sum(checkpoint(f)(x)) + 0 * DRAWS[draw]()[0])(np.full(5, at))
    np.testing.assert_array_equal(found, drawn[0])
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert not np.array_equal(DRAWS[draw](), drawn[0])  # they go on where they were


def test_a_generator_that_is_held_beside_a_variable_goes_on_where_it_was():
    rng = np.random.default_rng(0)

    def f(x):
        held = {"x": x, "rng": rng}
        return np.sum(checkpoint(lambda y: y * held["x"] * held["rng"].random(5))(x))

    drawn = np.random.default_rng(0).random((2, 5))
    np.testing.assert_array_equal(grad(f)(W), 2.0 * W * drawn[0])
    np.testing.assert_array_equal(rng.random(5), drawn[1])


def test_random_numbers_of_unknown_generators_are_an_error():
    dropout = checkpoint(lambda x: x * np.frombuffer(secrets.token_bytes(5), np.uint8))
    with pytest.raises(MutationError, match="draw random numbers outside"):
        grad(lambda x: np.sum(dropout(x) ** 2))(X + 3.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 7, 64])
def test_another_result_is_an_error_wherever_it_is_another(n, dtype):
    """Of unknown reasons: one element is another, gone, or exchanged with another one."""
    rng = np.random.default_rng(n)
    x = (1.0 + rng.random(n)).astype(dtype)
    runs, times = [], [np.ones(n, dtype), np.ones(n, dtype)]

    def f(x):
        runs.append(1)
        return x * x * times[len(runs) % 2]

    gradient = grad(lambda x: np.sum(checkpoint(f)(x)))
    gradient(x)
    for what in (0.0, 1.0 + 20 * np.finfo(dtype).eps ** 0.5, np.nan):
        place = rng.integers(n)
        times[1][place] = what
        with pytest.raises(MutationError, match="gave something else"):
            gradient(x)
        times[1][place] = 1.0
    times[1] += 2 * np.finfo(dtype).eps  # as rounding would
    np.testing.assert_allclose(gradient(x), 2.0 * x, rtol=1e-5)


def test_another_way_through_the_function_is_an_error():
    calls = []

    def f(x):
        calls.append(1)
        return np.sin(x) if len(calls) > 1 else np.sin(x * 1.0)

    with pytest.raises(MutationError, match="something else when it was run again"):
        grad(lambda x: np.sum(checkpoint(f)(x)))(X)


@pytest.mark.parametrize("mode", ["sample", "full"])
def test_a_buffer_that_is_written_again_is_an_error(mode):
    def f(x):
        a = np.zeros(5)
        y = np.dot(a, x)
        a[0] = 3.0
        return y + np.dot(a, x)

    with pytest.raises(MutationError, match="which dot saved, was written to"):
        vjp(checkpoint(f), X, guard=mode)[1](1.0)


@pytest.mark.parametrize("save", ["cheap", "mincut", ["q"], 8, "all"])
@pytest.mark.parametrize("run", [grad, lambda f: lambda x: vjp(f, x)[1](1.0)])
def test_a_captured_array_that_is_written_after_it_was_kept_is_an_error(save, run):
    def f(x):
        w, total = np.empty(5), 0.0
        for k in (1.0, 2.0):
            w[:] = k
            total = total + np.sum(checkpoint(lambda x: np.sin(x) * w, save=save)(x))
        return total

    with pytest.raises(MutationError):
        run(f)(X)


def test_an_array_that_is_written_where_it_was_kept_is_an_error():
    def f(x):
        c = np.ones(5)
        y = np.sin(x) * c
        c *= 3.0
        return np.sum(y)

    with pytest.raises(MutationError, match="which multiply saved, was written to"):
        vjp(checkpoint(f, save="cheap"), X)[1](1.0)


def test_a_locked_buffer_that_is_written_when_a_step_runs_again_is_an_error():
    buffer = np.zeros(5)

    def step(x, k):
        buffer[:] = k + 1.0
        return np.sin(x) * buffer

    with pytest.raises(MutationError, match="read-only until"):
        grad(lambda x: np.sum(checkpoint_chain(step, 4, slots=2)(x)))(X)


def test_a_part_of_a_locked_buffer_that_is_written_is_an_error():
    def f(x):
        a = np.arange(5.0)
        part, y = a[1:], np.dot(a, x)
        part[0] = 5.0
        return y

    with pytest.raises(MutationError, match="which dot saved, was written to"):
        grad(checkpoint(f))(X)


# ------------------------------------------------------------------------------ beside the rest


def test_without_a_gradient_it_is_the_function():
    assert checkpoint(layer)(X, W) == pytest.approx(layer(X, W))
    assert checkpoint(layer).__name__ == "layer"
    assert jvp(checkpoint(layer), (X, W), (X, W))[1] == pytest.approx(jvp(layer, (X, W), (X, W))[1])
    runs = []
    counted = checkpoint(lambda x: runs.append(1) or x * 2.0)
    jvp(counted, (1.0,), (1.0,))
    assert len(runs) == 1
    grad(counted)(1.0)
    assert len(runs) == 3


def test_an_argument_that_is_assigned_to_outside_names_stays_the_callers():
    total = 0.0

    def f(w):
        nonlocal total
        total = 0.0

        def block(x):
            nonlocal total
            total = total + np.sum(x.payload if hasattr(x, "payload") else x)
            return np.sin(x)

        return np.sum(checkpoint(block)(w))

    grad(f)(W)
    assert total == pytest.approx(np.sum(W))  # its second run has cells of its own


def test_hooks_inside_run_once_and_see_the_cotangent():
    seen = []

    def block(x):
        y = np.sin(x)
        hook(y, lambda y_bar: seen.append(y_bar) or 2.0 * y_bar)
        return y * 3.0

    found = grad(lambda x: np.sum(checkpoint(block)(x)))(X)
    assert found == pytest.approx(6.0 * np.cos(X))
    assert len(seen) == 1
    assert np.all(seen[0] == 3.0)


def test_gradients_at_values_inside():
    with Tape(persistent=True) as tape:
        x = tape.variable(X, "x")
        kept = []

        def block(x):
            kept.append(np.sin(x))
            return kept[-1] * 3.0

        loss = np.sum(checkpoint(block)(x * 2.0))
    for _ in range(2):
        of_x, of_inside = tape.grad(loss, [x, kept[0]])
        assert of_x == pytest.approx(6.0 * np.cos(2 * X))
        assert np.all(of_inside == 3.0)
    assert "x" in str(tape)
    assert "<svg" in tape.to_svg()


def test_on_tapes_that_keep_their_calls():
    with Tape(differentiable=True) as tape:
        x = tape.variable(0.5, "x")
        slope = tape.grad(checkpoint(lambda x: np.sin(x) * x)(x), x)
        bend = tape.grad(slope, x)
    assert bend.value == pytest.approx(2 * np.cos(0.5) - 0.5 * np.sin(0.5))
    with debug_nans():
        assert grad(checkpoint(np.sin))(0.5) == np.cos(0.5)


def test_several_threads_pull_back_at_once():
    f = lambda w: layer(checkpoint(lambda x: layer(checkpoint(layer)(x, w), w))(X), w)
    _, pullback = vjp(f, W)
    want = vjp(lambda w: layer(layer(layer(X, w), w), w), W)[1](X)[0]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: pullback(X)[0], range(200)):
            assert found == pytest.approx(want, rel=1e-13)


SAVES = ["nothing", "cheap", "mincut", []]


def of_threads(f, x):
    """The gradient by central differences, and the gradient."""
    want = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(len(x))]
    return pytest.approx(np.array(want), rel=1e-6), grad(f)(x)


@pytest.mark.parametrize("save", SAVES, ids=str)
def test_threads_of_the_function_call_it_at_once(save):
    def f(x):
        meet = threading.Barrier(4, timeout=10)

        def body(x, k):
            y = np.sin(k * x)
            meet.wait()
            y = np.exp(y) * x
            meet.wait()
            return np.sum(y)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            return sum(pool.map(lambda k: k * checkpoint(body, save=save)(x, k), range(4)))

    want, found = of_threads(f, np.array([0.3, 0.7]))
    assert found == want


@pytest.mark.parametrize("save", ["cheap", "mincut", []], ids=str)
@pytest.mark.parametrize("before", [True, False])
def test_a_policy_keeps_no_calls_of_other_threads(save, before, monkeypatch):
    """Another thread records just before, or just after, each call is noted."""
    from chainrules_tape.checkpoint.checkpoint_and_policies import Calls

    others, keep = [], Calls.keep
    x, outer = np.array([0.3, 0.7]), threading.get_ident()

    def keeps(self, *call):
        if threading.get_ident() == outer:
            if not before:
                keep(self, *call)
            others.append(pool.submit(lambda: np.sum(np.cos(given[-1] * len(others)))).result())
            if not before:
                return
        keep(self, *call)

    given = []

    def f(x):
        others.clear()
        given.append(x)
        y = checkpoint(lambda x: np.sum(np.exp(np.sin(x) * x)), save=save)(x)
        return y + sum(others)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr(Calls, "keep", keeps)
        found = grad(f)(x)
    n = len(others)
    assert n > 2
    plain = lambda x: np.sum(np.exp(np.sin(x) * x)) + sum(np.sum(np.cos(x * k)) for k in range(n))
    want = [(plain(x + h) - plain(x - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
    assert found == pytest.approx(np.array(want), rel=1e-6)


def test_records_of_other_threads_are_not_dropped_with_its_own():
    def f(x):
        found = []

        def body(x):
            if not found:
                found.append(pool.submit(lambda: np.sum(np.cos(x))).result())
            return np.sum(np.sin(x))

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return checkpoint(body)(x) + found[0]

    with pytest.raises(MutationError, match=r"2 calls for 4.*no other thread may record") as caught:
        grad(f)(X)
    assert len(str(caught.value).partition("\nwhile")[0]) < 400


def test_dataclasses_go_through():
    @dataclasses.dataclass
    class Params:
        w: Any
        b: Any

    block = checkpoint(lambda p: Params(np.sin(p.w) * p.b, p.b * 2.0))
    loss = lambda p: np.sum(block(block(p)).w)
    plain = lambda p: Params(np.sin(p.w) * p.b, p.b * 2.0)
    params = Params(W, 0.5)
    have, want = grad(loss)(params), grad(lambda p: np.sum(plain(plain(p)).w))(params)
    assert isinstance(have, Tangent[Params])
    assert np.all(have.w == want.w)
    assert have.b == want.b


@pytest.mark.parametrize("save", [1.5, None, -1, True, [1]], ids=repr)
def test_what_is_no_policy_is_refused(save):
    with pytest.raises(ValueError, match="write 'nothing', 'cheap'"):
        checkpoint(np.sin, save=save)


@pytest.mark.parametrize("n", [-1, 3.0, "3", None], ids=repr)
def test_what_is_no_number_of_steps_is_refused(n):
    for how in ({}, {"slots": 2}):
        with pytest.raises(ValueError, match="a whole number"):
            checkpoint_chain(lambda x, k: x, n, **how)


def test_a_step_that_differentiates_with_subscripts_runs_again_at_the_first_call():
    """What a class of tracers tried once was recorded on the outer tape, and not when run again."""
    script = (
        "import numpy as np\n"
        "from chainrules_tape import checkpoint, grad\n"
        "energy = lambda q: np.sum((q[1:] - q[:-1]) ** 4) + np.sum(q[np.array([0, 1])] ** 2)\n"
        "step = lambda q: q - 0.01 * grad(energy)(q)\n"
        "q = np.array([0.4, -0.3, 0.7])\n"
        "kept = grad(lambda q: np.sum(checkpoint(step)(checkpoint(step)(q)) ** 3))(q)\n"
        "assert np.array_equal(kept, grad(lambda q: np.sum(step(step(q)) ** 3))(q))\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_generators_are_known_before_a_process_has_met_an_array():
    script = (
        "import numpy as np\n"
        "from chainrules_py.testing import debug\n"
        "from chainrules_tape import checkpoint, grad\n"
        "rng, again = np.random.default_rng(0), np.random.default_rng(0)\n"
        "draw = lambda q: np.sin(q * rng.standard_normal())\n"
        "first, second = again.standard_normal(), again.standard_normal()\n"
        "assert grad(checkpoint(draw))(1.0) == first * np.cos(first)\n"
        "with debug():\n"
        "    assert grad(draw)(1.0) == second * np.cos(second)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize("constructor", [frule, rrule])
@pytest.mark.parametrize("inner", [grad, lambda f: lambda y: jvp(f, (y,), (1.0,))[1]])
def test_the_first_use_of_a_rule_of_one_mode_may_be_inside(constructor, inner):
    """That it is linear is tested once, by calls that are not recorded."""
    wave = primitive(lambda x: np.sin(x))
    if constructor is frule:
        frule.register(wave)(lambda ts, x: (wave(x), np.cos(x) * ts[0]))
    else:
        rrule.register(wave)(lambda x: (wave(x), lambda c: (np.cos(x) * c,)))
    slope = grad(checkpoint(lambda y: inner(wave)(y)))(0.5)
    assert slope == pytest.approx(-np.sin(0.5))
