"""The page about engines says of calls, and counts, what is so."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from chainrules_py import Config, rrule
from chainrules_py import vocabulary as v
from chainrules_py.extend import bind, find_rule

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen")
OPTIONS = ("sum", "max", "min", "prod", "sort", "softmax", "logsumexp", "std", "var", "mean")


def test_the_names_of_the_door_that_an_engine_takes_are_counted():
    names = {*re.findall(r"\bextend\.(\w+)", (ROOT / "examples/engine.py").read_text("utf-8"))}
    (said,) = re.findall(
        r"with (\w+) names of the door", (ROOT / "docs/build-an-engine.md").read_text("utf-8")
    )
    assert said == NUMBERS[len(names) - 10], sorted(names)


@pytest.mark.parametrize("name", OPTIONS)
def test_a_call_by_hand_runs_with_what_the_page_says_completes_it(name):
    word, x, config = getattr(v, name), np.array([0.3, 0.7, 0.5]), Config()
    value, pullback = rrule(word, x)
    y_bar = np.ones_like(value)
    operands, options = word.normalise((x,), {})
    bound = bind(find_rule(word, (np.ndarray,), config), (np.ndarray,), (True,), "reverse")
    y, (pull, _, *saved) = bound.run(None, *operands, **options)
    np.testing.assert_array_equal(y, value)
    np.testing.assert_array_equal(pull(y_bar, *saved), pullback(y_bar)[0])
