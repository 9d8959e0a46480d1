"""Loops that are found among statements say what the statements say, each in its place."""

import operator
import re
import warnings

import numpy as np
import pytest

from chainrules_compile import RecordingWarning, compile
from chainrules_compile.c import kernels, rolled_loops
from chainrules_compile.c.rolled_loops import rolled
from chainrules_tape import value_and_grad
from tests.engines.compile.c.near import near

LOOP = re.compile(r"for \(long t = 0; t < (\d+); t\+\+\) \{\n(.*)\n  \}", re.DOTALL)
PLACE = re.compile(r"\((\d+) \+ t \* (-?\d+)L\)")


def written_out(lines):
    for line in lines:
        text, size = line.text, line.size
        loop = LOOP.fullmatch(text)
        if loop is None:
            assert size == 1
            yield text
            continue
        inside = [each.strip() for each in loop[2].splitlines()]
        assert size == len(inside)
        for t in range(int(loop[1])):
            yield from (PLACE.sub(lambda m, t=t: str(int(m[1]) + t * int(m[2])), x) for x in inside)


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
    assert rolled(["f();"]) == [("f();", [], 1)]
    assert rolled(["f();"] * 9) == [("for (long t = 0; t < 9; t++) {\n    f();\n  }", [], 1)]


def test_a_statement_that_repeats_unevenly_rules_out_all_loops_around_it(monkeypatch):
    """Of 300 turns with an index that is read from a table, each start was tried again."""
    rng, tries, look = np.random.default_rng(0), [], rolled_loops._Tries._alike
    monkeypatch.setattr(
        rolled_loops._Tries, "_alike", lambda *given: tries.append(1) or look(*given)
    )
    turns = [
        [
            *(f"run{k}(w + {8 * (30 * t + k)});" for k in range(29)),
            f"run29(w + {rng.integers(99)});",
        ]
        for t in range(300)
    ]
    statements = [x for turn in turns for x in turn]
    assert list(written_out(rolled(statements))) == statements
    assert len(tries) < len(statements) / 2


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


OPERATORS = (operator.add, operator.sub, operator.mul, operator.truediv, np.hypot, np.maximum)


def without_order(n, seed, dtype=np.float64):
    """Return a function of numbers and rows whose operations do not repeat themselves."""
    drawn = np.random.default_rng(seed)
    steps = [
        (OPERATORS[drawn.integers(len(OPERATORS))], *drawn.integers(1, 9, 2), drawn.random())
        for _ in range(n)
    ]

    def f(x, y, row):
        values = [x, y, dtype(0.5), x, y, x + y, x - y, x * y]
        for step, i, j, number in steps:
            a = values[-i] * dtype(round(number, 1)) if number < 0.5 else values[-i]
            values.append(step(a, values[-j]) if number < 0.95 else np.sum(np.sin(row * a)))
            values[-1] = values[-1] / (1 + abs(values[-1]))
        return values[-1] + values[-2]

    return f


@pytest.mark.usefixtures("native")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_statements_in_a_table_say_the_same(monkeypatch, dtype):
    monkeypatch.setattr(kernels, "_FEWEST_IN_TABLE", 1)
    f = value_and_grad(without_order(60, 3, dtype), (0, 1, 2))
    row = np.linspace(0, 1, 5).astype(dtype)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error", RecordingWarning)
        for points in ((0.3, 0.7), (-2.0, 5.5)), ((0.0, 1.0), (np.inf, 2.0)):
            g = compile(f, target="c")  # its numbers are static: few programs of each
            for x, y in points:
                xs = dtype(x), dtype(y), row * dtype(x)
                assert near(g(*xs), f(*xs)), g.source


@pytest.mark.slow
@pytest.mark.usefixtures("native")
@pytest.mark.parametrize("seed", range(4))
def test_a_long_program_without_order(seed):
    f = without_order(20_000, seed)
    g, xs = compile(f, target="c"), (np.float64(0.3), np.float64(0.7), np.ones(3))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error", RecordingWarning)
        for x in (1.0, -2.5):
            given = tuple([each * x for each in xs])
            assert near(g(*given), f(*given))
    assert "native" in g.source


@pytest.mark.usefixtures("native")
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_kernels_that_differ_in_numbers_are_one(dtype, monkeypatch):
    texts = []
    monkeypatch.setattr(kernels, "rolled", lambda x: texts.append(list(x)) or rolled(x))
    x = np.linspace(0.1, 2.0, 9).astype(dtype)

    def f(x):
        for k in range(1, 9):
            x = np.cumsum(x * dtype_of(0.1 * k) - dtype_of(k))
        return x

    dtype_of = np.dtype(dtype).type
    assert near(compile(f, target="c")(x), f(x))
    called = {line.partition("(")[0] for lines in texts for line in lines if "_numbers +" in line}
    assert len(called) == 1
