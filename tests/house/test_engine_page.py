"""The page about engines says of calls, and counts, what is so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chainrules_py import Config, extend, primitive, rrule
from chainrules_py import ops as v
from chainrules_py.extend import bind, find_rule
from chainrules_tape import grad

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen")
OPTIONS = ("sum", "max", "min", "prod", "sort", "softmax", "logsumexp", "std", "var", "mean")


def test_the_names_of_the_door_that_an_engine_takes_are_counted():
    names = {*re.findall(r"\bextend\.(\w+)", (ROOT / "examples/engine.py").read_text("utf-8"))}
    (said,) = re.findall(
        r"with (\w+) names of the door", (ROOT / "docs/build-an-engine.md").read_text("utf-8")
    )
    assert said == NUMBERS[len(names) - 10], sorted(names)
    page = (ROOT / "docs/extend.md").read_text("utf-8").partition("| name | what it is |")[2]
    assert {*re.findall(r"^\| `(\w+)` \|", page.partition("\n\n")[0], re.MULTILINE)} == names
    assert {*re.findall(r"^(\w+)  ", extend.__doc__ or "", re.MULTILINE)} == names


def test_the_lines_of_the_engine_are_counted():
    lines = (ROOT / "examples/engine.py").read_text("utf-8").count("\n")
    assert f"engine in {lines} lines" in (ROOT / "examples/README.md").read_text("utf-8")
    (most,) = re.findall(
        r"less than (\d+) lines", (ROOT / "docs/build-an-engine.md").read_text("utf-8")
    )
    assert lines < int(most)


def test_a_value_of_the_sketch_inside_of_a_dict_is_an_error_that_says_what_to_write():
    """It is an endless recursion with a note; the tape takes such a call."""
    page = (ROOT / "docs/build-an-engine.md").read_text("utf-8")
    (sketch,) = re.findall(r"```\{code-cell\} python3\n(import functools.*?)```", page, re.DOTALL)
    space: dict[str, Any] = {}
    exec(sketch, space)

    @primitive
    def power(circuit):
        return circuit["current"] ** 2 * circuit["resistance"]

    @rrule.register(power)
    def power_rrule(circuit: dict):
        i, r = circuit["current"], circuit["resistance"]
        bar = {"current": 2 * i * r, "resistance": i * i}
        return power(circuit), lambda y_bar: ({k: y_bar * z for k, z in bar.items()},)

    def f(i):
        return power({"current": i, "resistance": 5.0})

    with pytest.raises(RecursionError, match=r"the same operands again.*partition"):
        space["gradient"](f, 2.0)
    assert grad(f)(2.0) == 20.0


@pytest.mark.parametrize("name", OPTIONS)
def test_a_call_by_hand_runs_with_what_the_page_says_completes_it(name):
    operation, x, config = getattr(v, name), np.array([0.3, 0.7, 0.5]), Config()
    value, pullback = rrule(operation, x)
    y_bar = np.ones_like(value)
    operands, options = operation.normalise((x,), {})
    bound = bind(find_rule(operation, (np.ndarray,), config), (np.ndarray,), (True,), "reverse")
    y, (pull, _, *saved) = bound.run(None, *operands, **options)
    np.testing.assert_array_equal(y, value)
    np.testing.assert_array_equal(pull(y_bar, *saved), pullback(y_bar)[0])
