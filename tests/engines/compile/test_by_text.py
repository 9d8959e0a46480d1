"""Names that a function looks up by a text: a program is for what they stood for."""

from __future__ import annotations

import builtins
import importlib
import inspect
import operator
import sys

import numpy as np
import pytest

from chainrules_bridge.reach import Reach
from chainrules_compile import compile
from chainrules_tape import grad

W = np.ones(3)
PARTS = ("W",)
TEXT = "W * 1.0"
CODE = builtins.compile("W", "text", "eval")
look, run = globals, eval


def helper(x):
    return x * W


def by_exec(x):
    found = {}
    exec("y = W", globals(), found)
    return np.sum(x * found["y"])


def by_default(x, around=globals):
    return np.sum(x * around()["W"])


def by_cell():
    around = globals
    return lambda x: np.sum(x * around()["W"])


def by_itself(x):
    return np.sum(x * by_itself.__globals__["W"])


def by_name(x):
    around = globals()
    name = "W"
    return np.sum(x * around[name])


WAYS = {
    "a name": lambda x: np.sum(x * W),
    "an item": lambda x: np.sum(x * globals()["W"]),
    "get": lambda x: np.sum(x * globals().get("W", 0.0)),
    "a name of the dict": by_name,
    "inside": lambda x: (lambda: np.sum(x * globals()["W"]))(),
    "all items": lambda x: np.sum(x * next(y for k, y in globals().items() if k == "W")),
    "an operator": lambda x: np.sum(x * operator.itemgetter("W")(globals())),
    "another name": lambda x: np.sum(x * look()["W"]),
    "builtins": lambda x: np.sum(x * builtins.globals()["W"]),
    "a default": by_default,
    "a cell": by_cell(),
    "itself": by_itself,
    "a frame": lambda x: np.sum(x * sys._getframe().f_globals["W"]),
    "inspect": lambda x: np.sum(x * inspect.currentframe().f_globals["W"]),
    "eval": lambda x: np.sum(x * eval("W")),
    "eval of more": lambda x: np.sum(eval("x * (W + 0.0)")),
    "eval of a helper": lambda x: np.sum(eval("helper(x)")),
    "eval of a text": lambda x: np.sum(x * eval(TEXT)),
    "eval of code": lambda x: np.sum(x * eval(CODE)),
    "eval by another name": lambda x: np.sum(x * run("W")),
    "builtins' eval": lambda x: np.sum(x * builtins.eval("W")),
    "exec": by_exec,
    "the module": lambda x: np.sum(x * sys.modules[__name__].W),
    "an attribute": lambda x: np.sum(x * getattr(sys.modules[__name__], "W")),  # noqa: B009
    "imported": lambda x: np.sum(x * importlib.import_module(__name__).W),
}
COMPUTED = {  # all of the module counts, where there may be what no program can have
    "joined": lambda x: np.sum(x * globals()["".join(("", PARTS[0]))]),
    "written": lambda x: np.sum(x * globals()[f"{PARTS[0]}"]),
    "its dict": lambda x: np.sum(x * vars(sys.modules[__name__])["W"]),
}
CHANGES = {
    "bound": lambda: np.full(3, 2.0),
    "of whole numbers": lambda: np.arange(3),
    "a number": lambda: 3.0,
}


def put(value):
    global W
    W = value


@pytest.fixture(autouse=True)
def _as_it_was():
    put(np.ones(3))
    yield
    put(np.ones(3))


@pytest.mark.filterwarnings("ignore::chainrules_compile.RecordingWarning")
@pytest.mark.parametrize(
    "way", [*WAYS, *[pytest.param(way, marks=pytest.mark.slow) for way in COMPUTED]]
)
@pytest.mark.parametrize("of", [lambda f: f, grad], ids=["value", "gradient"])
def test_another_value_is_another_program(way, of):
    f, x = of((WAYS | COMPUTED)[way]), np.array([1.0, 2.0, 3.0])
    compiled = compile(f)
    assert np.array_equal(compiled(x), f(x))
    assert compiled.programs or way in COMPUTED
    W[0] = 9.0
    assert np.array_equal(compiled(x), f(x)), "written to"
    for name, value in CHANGES.items():
        put(value())
        assert np.array_equal(compiled(x), f(x)), name


@pytest.mark.parametrize("way", WAYS)
def test_what_a_rule_looks_up_so_is_seen(way):
    reach = Reach([WAYS[way]])
    assert reach.changed() is None
    put(np.full(3, 2.0))
    assert reach.changed() is not None


def later(x):
    return np.sum(x) * globals().get("LATER", 1.0)


def test_a_name_that_comes_later():
    x = np.ones(2)
    compiled = compile(later)
    assert compiled(x) == 2.0
    try:
        globals()["LATER"] = 5.0
        assert compiled(x) == 10.0
    finally:
        del globals()["LATER"]
    assert compiled(x) == 2.0
