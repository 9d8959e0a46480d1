"""Loops that are found among statements say what the statements say, each in its place."""

import re

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_native.turns import rolled
from chainrules_tape import value_and_grad

LOOP = re.compile(r"for \(long t = 0; t < (\d+); t\+\+\) \{\n(.*)\n  \}", re.DOTALL)
PLACE = re.compile(r"\((\d+) \+ t \* (-?\d+)L\)")


def written_out(statements):
    for text, size in statements:
        loop = LOOP.fullmatch(text)
        if loop is None:
            assert size == 1
            yield text
            continue
        lines = [line.strip() for line in loop[2].splitlines()]
        assert size == len(lines)
        for t in range(int(loop[1])):
            yield from (PLACE.sub(lambda m, t=t: str(int(m[1]) + t * int(m[2])), x) for x in lines)


def statements_at_random(rng):
    for _ in range(rng.integers(1, 6)):
        kinds = rng.integers(0, 4, rng.integers(1, 7))
        begin, step = rng.integers(500, 900, (len(kinds), 2)), rng.integers(-9, 9, (len(kinds), 2))
        for t in range(rng.integers(1, 30)):
            for kind, (x, y) in zip(kinds, begin + t * step, strict=True):
                yield f"run{kind}(L, w, (w + {x + (rng.random() < 0.01)}), (I[{y}] + 8), 0x1p+3);"


@pytest.mark.parametrize("turn", range(60))
def test_loops_say_what_the_statements_say(turn):
    statements = list(statements_at_random(np.random.default_rng(turn)))
    assert list(written_out(rolled(statements))) == statements


def test_nothing_and_one_statement():
    assert rolled([]) == []
    assert rolled(["f();"]) == [("f();", 1)]
    assert rolled(["f();"] * 9) == [("for (long t = 0; t < 9; t++) {\n    f();\n  }", 1)]


@pytest.mark.usefixtures("native")
def test_a_long_program_is_a_loop():
    a, rows = np.eye(3) * 0.99, np.random.default_rng(1).standard_normal((300, 3))

    def filtered(x):
        total = 0.0
        for row in rows:
            x = np.tanh(a @ x + row)
            total = total + np.sum(x * x) * 0.5
        return total

    f = value_and_grad(filtered)
    g, x = compile(f, target="c"), np.arange(3.0)
    for scale in (1.0, -2.0):
        y, bar = g(x * scale)
        want, want_bar = f(x * scale)
        assert y == want
        assert np.array_equal(bar, want_bar)
