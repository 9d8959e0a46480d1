"""What a compiled function sees besides its arguments, changed between two calls: it is seen.

The generator is that of rules that look something up (`tests.fuzz.captures`): every pen, every way
to a value, written to or replaced. Here it is the function itself, with its rule, that is called
again, and has to give what it gives without `compile`.
"""

from __future__ import annotations

import gc
import random
import warnings
import weakref

import numpy as np
import pytest

from chainrules_compile import RecordingError, comparing, compile
from chainrules_compile.held import equal
from chainrules_tape import value_and_grad
from tests.engines.compile.shadow import same
from tests.fuzz.captures import (
    CHANGES,
    HABITS,
    KINDS,
    ORDERED,
    ORDERS,
    PENS,
    WAYS,
    X,
    habitual,
    made,
    ordered,
)

DOORS = ("plain", "value_and_grad")
pytestmark = pytest.mark.filterwarnings("ignore")


def loss_of(f, door):
    loss = lambda x: np.sum(f(x))
    return loss if door == "plain" else value_and_grad(loss)


def verdict(pen, way, kind, change, door):
    """Tell what a draw gives: "right", "refused", "nothing to do", or what is wrong."""
    draw = made(pen, way, kind, change)
    if draw is None:
        return "nothing to do"
    f = loss_of(draw.f, door)
    compiled = compile(f)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for turn in range(4):
                if turn == 2:
                    draw.change()
                found, wanted = compiled(X), f(X)
                if not same(found, wanted):
                    return f"wrong in turn {turn}: {found} for {wanted}"
    except RecordingError as error:
        return f"refused: {error}"
    except Exception as error:
        try:
            f(X)
        except type(error):
            return "raises"
        return f"wrong: {type(error).__name__}: {error}"
    n = len(compiled.programs)
    return "right" if n == 1 or change != "nothing" else f"wrong: {n} programs"


def everything():
    return [
        (pen, way, kind, change, door)
        for pen in PENS
        for way in WAYS
        for kind in KINDS
        for change in CHANGES
        for door in DOORS
    ]


def judge(draws):
    wrong = [f"{draw}: {said}" for draw in draws if "wrong" in (said := verdict(*draw))]
    assert not wrong, "\n".join(wrong[:5])


def test_what_is_captured_is_seen():
    judge(random.Random(0).sample(everything(), 40))


def test_what_is_captured_is_seen_where_the_question_is_written_out(monkeypatch):
    monkeypatch.setattr(comparing, "OFTEN", 1)
    judge(random.Random(1).sample(everything(), 40))


def test_a_question_that_is_asked_often_is_written_out_and_sees_each_change():
    scope = {"np": np, "w": np.arange(3.0), "wide": np.ones(5000), "k": [2.0]}
    exec(
        "def g(x, y=1.0): return x * y + k[0] * np.sum(wide)\n"
        "def other(x, y=3.0): return x - y\n"
        "def f(x): return np.sum(g(np.sin(x)) * w)\n",
        scope,
    )
    f, g = value_and_grad(scope["f"]), scope["g"]
    w = scope["w"]

    def emptied():
        del scope["w"]
        assert "w" not in scope
        scope["w"] = w

    changes = (
        lambda: w.__setitem__(0, 5.0),
        lambda: setattr(w, "shape", (1, 3)),
        lambda: setattr(w, "shape", (3,)),
        lambda: scope.update(w=np.ones(3)),
        lambda: scope["wide"].fill(2.0),  # a sample of a large one is compared
        lambda: scope["k"].__setitem__(0, 3.0),
        lambda: setattr(g, "__defaults__", (4.0,)),
        lambda: setattr(g, "__code__", scope["other"].__code__),
        lambda: scope.update(g=scope["other"]),
        emptied,
    )
    compiled = compile(f)
    for change in (lambda: None, *changes):
        change()
        for _ in range(comparing.OFTEN + 2):
            found = compiled(X)
        assert same(found, f(X))
        text = compiled.programs[0].scope["captured_has_changed"].__code__.co_filename
        assert text == "<string>"
    del scope["w"]
    with pytest.raises(NameError):
        compiled(X)


@pytest.mark.nightly
@pytest.mark.parametrize("pen", PENS)
def test_all_that_is_captured_is_seen(pen):
    judge([draw for draw in everything() if draw[0] == pen])


@pytest.mark.parametrize("habit", HABITS)
def test_what_a_function_changes_itself_is_its_own_business(habit):
    f = value_and_grad(lambda x: np.sum(habitual("rule", habit).f(x)))
    compiled = compile(f)
    for _ in range(3):
        assert same(compiled(X), f(X))
    assert len(compiled.programs) == 1


def test_what_a_static_argument_holds_is_seen():
    class Layer:
        def __init__(self, w):
            self.w = w

    layer = Layer(np.ones(3))
    compiled = compile(lambda x, layer: x * layer.w)
    assert same(compiled(X, layer), X)
    layer.w[0] = 4.0
    assert same(compiled(X, layer), X * layer.w)
    layer.w = np.arange(3.0)
    assert same(compiled(X, layer), X * layer.w)


def test_defaults_code_and_helpers_of_helpers():
    scope = {"np": np}
    exec(
        "def g(x): return x * 2.0\n"
        "def h(x): return g(x)\n"
        "def f(x, y=2.0, *, z=2.0): return h(x) * y * z\n"
        "def k(x): return x * 7.0\n",
        scope,
    )
    f, other = scope["f"], scope["k"]
    other.__name__ = "g"
    compiled = compile(f)
    for change in (
        lambda: f.__kwdefaults__.update(z=3.0),
        lambda: setattr(f, "__defaults__", (5.0,)),
        lambda: scope.update(g=other),
        lambda: setattr(other, "__code__", (lambda x: x * 11.0).__code__),
    ):
        assert same(compiled(X), f(X))
        change()
        assert same(compiled(X), f(X))


def test_name_that_comes_to_hide_a_builtin():
    scope = {"np": np}
    exec("def f(x):\n    return abs(x)", scope)
    compiled = compile(scope["f"])
    assert same(compiled(-X), X)
    scope["abs"] = np.negative
    assert same(compiled(X), -X)


def test_large_array_is_seen_by_sample_and_in_full_up_to_a_million():
    w = np.ones(1_000_000)
    compiled = compile(lambda x: np.sum(x * w))
    assert compiled(2.0) == 2e6
    w[123_456] = 2.0
    assert compiled(2.0) == 2e6 + 2.0


@pytest.mark.parametrize(
    "x, y, told",
    [
        (1, 1.0, False),
        (0.0, -0.0, False),
        (float("nan"), float("nan"), True),
        ((1, "a"), (1, "a"), True),
        (np.float64(1), np.float64(1), True),
        (1, True, False),
        ([], [], False),
    ],
)
def test_equal_is_to_the_bit(x, y, told):
    assert equal(x, y) is told


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("held", ORDERED)
def test_entries_in_another_order(held, order):
    entries, f = ordered(held)
    f = loss_of(f, "value_and_grad")
    compiled = compile(f)
    assert same(compiled(X), f(X))
    ORDERS[order](entries)
    assert same(compiled(X), f(X))
    assert same(compiled(X), f(X))
    assert len(compiled.programs) == 2


@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")
def test_layout_that_cannot_be_put_back():
    data = np.linspace(0.5, 2.0, 6).copy()

    def f(x):
        data.strides = (0,)
        return x * np.sum(data)

    with pytest.raises(RecordingError, match="a view"):
        compile(f)(2.0)


@pytest.mark.parametrize("calls", [1, 300])  # then what was captured is asked by one expression
def test_a_program_goes_with_the_function_that_has_it(calls):
    """It waited for the garbage collector, with all that it had captured."""
    factor = np.linspace(1.0, 2.0, 3)
    compiled = compile(
        value_and_grad(lambda x: (np.sum(np.sin(x) * factor), {"x": x}), has_aux=True)
    )
    for k in range(calls):
        compiled(np.full(3, 0.5 + k))
    assert len(compiled.programs) == 1
    gc.collect()
    scope = weakref.ref(compiled.programs[0].scope)
    gc.disable()
    try:
        del compiled
        assert scope() is None
    finally:
        gc.enable()
