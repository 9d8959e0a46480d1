"""What to write where NumPy would not trace: its value is that of the program, and traced."""

from __future__ import annotations

import ast
import cmath
import functools
import importlib
import itertools
import linecache
import math
import re
import sys

import numpy as np
import pytest

from chainrules_numpy.composites.mapping import vectorize
from chainrules_py import ChainRulesError, ignore_derivatives, primitive, rrule
from chainrules_tape import grad, value_and_grad, vjp
from chainrules_tape.tools import NumericDerivativeWarning, numeric_rule

X = np.arange(12.0).reshape(3, 4) / 7.0
W = np.array([0.2, 0.9, -0.4, 0.5])

METHODS = {
    "dot": lambda w: np.mean(X.dot(w)),
    "dot of an expression": lambda w: np.mean((2.0 * X).dot(w)),
    "dot of many": lambda w: np.sum(X.dot(np.stack([w] * 60, axis=1))),
}


@pytest.mark.parametrize("name", METHODS)
def test_the_function_of_a_method_of_a_plain_array(name):
    with pytest.raises(ChainRulesError, match=rf"use np\.{name.partition(' ')[0]}\("):
        grad(METHODS[name])(W)


def written(f, *given):
    """The line that a refusal says to write, run after what the program did before."""
    with pytest.raises(ChainRulesError) as caught:
        grad(lambda a: np.sum(f(a.copy())))(*given)
    return str(caught.value).rpartition("use ")[2]


def summed(b):
    row = b[1]
    np.cumsum(row, out=row)
    return b


def test_what_is_written_into_an_array_stays_in_it():
    write = written(summed, X)
    assert "[...] = np." in write

    def instead(b):
        b = b.copy()
        exec(write, {"np": np, "row": b[1], "b": b})
        return np.sum(b * b)

    value, slope = value_and_grad(instead)(X)
    assert value == np.sum(summed(X.copy()) ** 2)
    assert np.any(slope)


def of_windows(a):
    w = np.lib.stride_tricks.sliding_window_view(a, (2, 2), writeable=True)
    w[0, 0] = 1.0
    return a


def test_a_window_is_not_written_to():
    refused = r"sliding_window_view\(writeable=...\) has no deriv(.|\n)*write to a, as in a"
    with pytest.raises(ChainRulesError, match=refused):
        grad(lambda a: np.sum(of_windows(a * 1.0)))(X)


def test_what_an_option_changes_is_not_left_out():
    square = X[:, :3]
    assert ".astype('f4')" in written(lambda a: np.trace(a, dtype="f4"), square)
    for f in (
        lambda a: np.matmul(a, square, axes=[(1, 0), (0, 1), (0, 1)]),
        lambda a: np.vecdot(a, square, keepdims=True),
        lambda a: np.matmul(a, square, axes=((1, 0), (0, 1), (0, 1))),
        lambda a: np.concatenate([a * 1j, a], dtype=float, casting="unsafe"),
        lambda a: np.einsum("ij,ij", a * 1j, a, dtype=float, casting="unsafe"),
        lambda a: rrule(np.sin, a, where=square > 1.0)[0],
        lambda a: rrule(np.trace, a, dtype="f4")[0],
    ):
        assert "apply it to operands or result" in written(f, square)


def part_of_a_plain_array(x):
    whole = np.zeros((2, 4))
    part = whole[0]
    np.cumsum(x, out=part)
    return np.sum(whole)


def several_outputs(x):
    part, whole = np.zeros(4), np.zeros(4)
    np.modf(x, out=(part, whole))
    return np.sum(part)


@pytest.mark.parametrize(
    "f, write",
    [
        (part_of_a_plain_array, "to part where it is made, or to the array that it is a part of"),
        (several_outputs, "write b[...] = y for each of its arrays b and results y"),
        (lambda x: np.modf(x, x * 0.0, x), "write b[...] = y for each of its arrays b and"),
        (lambda x: np.modf(x, x * 0.0), "write b[...] = y for each of its arrays b and results y"),
        (lambda x: np.nditer(x * 1, op_flags=["readwrite"]), "np.ndindex((x * 1).shape), with (x "),
        (eval("lambda x: np.cumsum(x, out=x)"), "write b[...] = cumsum(...)"),  # without a source
        (eval("lambda x: np.modf(x, out=(x, x))"), "write b[...] = y for each of its arrays b and"),
        (eval("lambda x: np.full_like(W, x[0])"), "use np.full_like(y, y, shape=np.shape(x))"),
        (eval("lambda x: np.cumsum(x, None, None, x)"), "write b[...] = cumsum(...), where b is"),
    ],
)
def test_an_output_is_not_left_out(f, write):
    with pytest.raises(ChainRulesError, match=re.escape(write)):
        grad(f)(W)


polynomial, chebyshev = np.polynomial.polynomial, np.polynomial.chebyshev
FIT = np.polynomial.Polynomial.fit
WEIGHTS, DEGREES, LINE = np.array([0.5, 1.0, 2.0, 1.5]), [0, 2], np.arange(4.0)
GAPS, CHOICES = np.array([1.0, np.nan]), [LINE]
INSTEAD = [
    "polynomial.polyfit(LINE, x, 2)",
    "chebyshev.chebfit(LINE, np.outer(x, x), 2)",
    "np.divide.reduce(np.outer(x, x), axis=1)",
    "np.hypot.reduce(np.outer(x, x)[:1])",
    "np.subtract.accumulate(np.outer(x, x), axis=-1)",
    "np.add.reduceat(np.outer(x, x), [0, 2, 1, 3])",
    "np.add.reduceat(np.outer(x, x), [0, 2, 1, 3], axis=-1)",
    "np.multiply.reduceat(np.outer(x, x), DEGREES, 1)",
    "np.max(X, axis=1, initial=x[1], keepdims=True)",
    "np.sum(X, axis=1, initial=x[1]) * 2.0",
    "np.maximum.reduce(X, axis=1, initial=x[1])",
    "np.add.reduce(X, axis=1, initial=x[0]) * 2.0",
    "np.piecewise(LINE, [LINE > 1.0], [lambda t: t * x[0], x[1]])",
    "np.sum(np.array([np.cos(t) * x[0] for t in LINE], dtype=float))",
    "np.full(4, 0.0, float) + np.array((0.5, 1.0) + tuple(x[:2]), dtype=float)",
    "np.int64(x) * x",
    "np.vectorize(np.linalg.inv, signature='(n,m)->(n,m)')(x * np.eye(4))",
    "np.vectorize(lambda t: t * t)(x).astype(float)",
    "(v := np.array(x), np.ravel(v.real).astype(float))[1]",
    "sum((v := np.outer(x, x).tolist())[0] + v[1][:1])",
    "sum((v := np.reshape(x, (2, 1, 2)).tolist())[1][0] + v[0][0][1:])",
    "np.arange(0.0, x[1], x[1] / 4)",
    "np.arange(x[0], 9.0, step=x[1] / 4)",
    "X.sum(initial=x[0]) * 2.0",
    "X.max(axis=1, initial=x[1])",
    "np.full_like(X, x[0])",
    "np.nan_to_num(GAPS, nan=x[1])",
    "np.nanvar(X, axis=1, mean=x[0])",
    "polynomial.polyint([1.0, 2.0], k=x[1])",
    "np.exp(np.select([x > 1.4], [1.0], default=x))",
    "np.exp(np.select([x > 1.4], CHOICES, x))",
]
KEPT = ", which is a constant, or make y of floats: it is of int64, after 'from chainrules_py"
MADE = " after the line that makes it: it is read-only"
ZERO = "np.zeros_like(x, shape=())"
PART = " to y where it is made, or to the array that it is a part of"
WRITTEN = {
    "y = np.asarray(x * 1)\n«»\ny.fill(x[0])": f"write «y = np.copy(y)»{MADE}",
    "y = np.asarray(x * 1)\n«»\ny.put([0], x[1])": f"write «y = np.copy(y)»{MADE}",
    "y = np.asarray(x * 1)\n«»\nnp.add.at(y, [0, 0], x[1])": f"write «y = np.copy(y)»{MADE}",
    "y = np.array(2.0)\n«»\ny[()] += x[1]": "write «y = np.full_like(x, y, shape=())» before",
    "y = np.full(4, 2.0)«»\ny.fill(x[1])": f"add« + {ZERO}»{PART}",
    "y = np.ones(4, int)\ny[0] = «x[0] * 3»": f"use «ignore_derivatives(x[0] * 3)»{KEPT}",
    "y = np.ones(4, int)\ny[0] -= «x[0] * 3»": f"use «ignore_derivatives(x[0] * 3)»{KEPT}",
    "y = np.ones(4, int)\ny[:2] = «[x[0], x[1]]»": f"use «ignore_derivatives([x[0], x[1]])»{KEPT}",
    "y = np.zeros_like(x, dtype=int)\n«y.put([0], x[1])»": (
        f"use «y.put([0], ignore_derivatives(x[1]))»{KEPT}"
    ),
    "def g(y, x):\n    y *= x\ny = np.full(4, 1.0)«»\ng(y, x)": f"add« + {ZERO}»{PART}",
    "def g(y):\n    y *= x\n    return y\ny = g(np.ones(4)«»)": f"add« + {ZERO}»{PART}",
    "def g(y, x):\n    np.sin(x, out=y)\ny = np.ones(4)«»\ng(y, x)": f"add« + {ZERO}»{PART}",
    "y = np.zeros(4)«»\ndef g(x):\n    y[:2] += x\ng(x[:2])": f"add« + {ZERO}»{PART}",
    "y = np.zeros(4)«»\ny[1:3] = x[:2]": f"add« + {ZERO}»{PART}",
    "y = np.ones(4)«»\ny += x**2": f"add« + {ZERO}»{PART}",
    "y = np.empty(shape=4)«»\nfor i in range(4):\n    y[i] = x[i] * i": f"add« + {ZERO}»{PART}",
    "k = np.arange(4)\ny = np.zeros_like(k, dtype=float)«»\ny[0], y[1] = x[0], x[1]": (
        f"add« + {ZERO}»{PART}"
    ),
    "y = np.zeros(4)\n«np.cumsum(x, out=y)»": (
        f"write «y = y + {ZERO}; y[...] = np.cumsum(x)» for it, and add {ZERO}{PART}"
    ),
}
"""Programs that write into y, and what is written in place of their part in «»."""


def of_text(program):
    """Return the sum of an expression in x, weighted, as a function whose source is known."""
    text = f"lambda x: np.sum(np.cos(np.arange(1.0, 1.0 + np.size(y := {program}))) * np.ravel(y))"
    linecache.cache["model.py"] = len(text), None, [f"{text}\n"], "model.py"
    space = {**globals(), "functools": functools, "itertools": itertools, "vectorize": vectorize}
    return eval(compile(text, "model.py", "eval"), space)


@pytest.mark.parametrize("square", ["v * v", "v"])
def test_elements_in_an_array_of_objects_take_part_in_a_masked_result(square):
    f = of_text(f"(v := np.array(x), np.minimum(x, {square}, where=x > 1.4, out=0.0 * x))[1]")
    value, slope = value_and_grad(f)(W + 1.0)
    truth = [(f(W + 1.0 + h) - f(W + 1.0 - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
    assert value == f(W + 1.0)
    np.testing.assert_allclose(slope, truth, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("program", INSTEAD)
def test_what_is_written_instead_is_the_same_program(program):
    f, x = of_text(program), W + 1.0
    with pytest.raises(ChainRulesError) as caught:
        grad(f)(x)
    _, where, write = str(caught.value).splitlines()
    form = r"  use (.*?)(?:, which .*| in place of (.*))?(?:,? after '.*| for its value at t|)"
    instead, part = re.fullmatch(form, write).groups()
    refused = part or where.partition(": ")[2]
    assert refused in ast.unparse(ast.parse(program))
    at = "(0.5)" * ("polyval" in instead)
    mended = ast.unparse(ast.parse(program)).replace(
        refused + at, instead.replace(", t)", ", 0.5)")
    )
    g = of_text(mended)
    np.testing.assert_allclose(g(x), f(x), rtol=1e-12)
    truth = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(grad(g)(x), truth, rtol=1e-6, atol=1e-8)


class Held:
    """A list of traced values, and a model, whose methods give values that no name leads to."""

    def __init__(self, p):
        self.p, self.log = p, [p, p * p]

    def __iter__(self):
        return iter(self.log)

    def at(self, t):
        return self.p[0] * np.exp(self.p[1] * t)

    def complex_at(self, t):
        return self.p[0] * np.exp(1j * self.p[1] * t)


LISTS = [
    "[h.sum() for h in Held(p)]",
    "[h.sum() for h in (p, p * p)]",
    "[Held(p).at(t) for t in range(3)]",
    "[m.at(t) for t in ts]",
    "[abs(m.complex_at(t)) for t in ts]",
    "[a * b for a, b in zip(p, ts)]",
    "[[m.at(t) * s for s in ts] for t in ts]",
    "[[m.at(t), 1.0] for t in ts]",
    "[p[0], 2.0, p[1]]",
    "(p[0], 2.0)",
    "[p[0]] * 3",
    "list(map(m.at, ts))",
    "rows",
    "m.log",
    "d['b']",
    "sorted([m.at(t) for t in ts])",
]
COMPLEX = [
    "[m.complex_at(t) for t in ts]",
    "[h.sum() * 1j for h in m]",
    "[a * 1j * i for i, a in enumerate(p)]",
    "[[m.complex_at(t), 1.0] for t in ts]",
    "[v * 1j for v in d['b']]",
    "list(map(m.complex_at, ts))",
    "[m.complex_at(t) if t > 0.15 else 0j for t in ts]",
    "1j * p",
    "f(m.complex_at(0.5))",
]
KEPT_KINDS = [
    *[f"np.array({each}, dtype=float)" for each in LISTS],
    *[f"np.asarray({each}, complex)" for each in LISTS],
    *[f"np.array({each}).astype(float)" for each in LISTS if "rows" not in each],
    *[f"np.{f}({each})" for f in ("array", "copy", "sum") for each in COMPLEX if "f(" not in each],
    *[f"np.array({each}, dtype=complex)" for each in COMPLEX],
    *[f"np.fromiter(({each}), float)" for each in LISTS[:6]],
    *[f"np.mean({each}, dtype=float)" for each in LISTS[:3]],
    *["float(p[0]) * p[1]", "math.sin(p[0] + 1.0) ** 2", "2.0 / math.log(p[0], 3)"],
    *["complex(p[0], p[1])", "math.fsum(v * v for v in p)"],
    *["math.hypot(*p, 1.0)", "cmath.exp(1j * p[0])", "np.float64(p[1]) * p[0]"],
    *["p[1] * ts[int(p[0])]", "p[1] * sum(range(int(p[0] + 3.0)))"],
    *["np.random.default_rng(0).normal(p, 1.0)", "np.random.default_rng(0).gumbel(p[0], p[1], 3)"],
    *["np.sin(p, out=np.zeros(2))", "np.log(p, where=p > 0.5, out=np.ones(2))"],
    *["np.full(3, p[0], dtype=complex)", "np.vectorize(f)(p * 1j)"],
    *["np.sum(ts, initial=p[0])", "ts.dot(p)", "np.linalg.norm([m.at(t) for t in ts])"],
]


@pytest.mark.parametrize("program", KEPT_KINDS)
def test_what_is_advised_has_the_value_and_the_derivative(program):
    """The expression that an error says to write, in place of the one at its place."""

    def of(text):
        whole = f"lambda p, m, rows, d: np.sum(np.abs({text}) ** 2)"
        linecache.cache["kept.py"] = len(whole), None, [f"{whole}\n"], "kept.py"
        space = {**globals(), "ts": np.array([0.1, 0.2]), "f": lambda v: v * v}
        g = eval(compile(whole, "kept.py", "eval"), {**space, "vectorize": vectorize})
        return lambda p: g(p, Held(p), [[p[0], 1.0], [p[1], p[0]]], {"b": [p[0], p[1] * p[0]]})

    f, x = of(program), np.array([0.7, 0.4])
    truth = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
    try:
        np.testing.assert_allclose(grad(f)(x), truth, rtol=1e-5, atol=1e-8)
    except ChainRulesError as error:
        _, where, write = str(error).splitlines()
        refused, written = where.rpartition("kept.py:1: ")[2], write.removeprefix("  use ")
        written = re.split(r", (?=which|with|after)", written)[0]
        kept = ast.unparse(ast.parse(program))
        if "..." in refused:
            refused = kept
        g = of(kept.replace(refused, written))
        np.testing.assert_allclose(g(x), f(x), rtol=1e-10)
        np.testing.assert_allclose(grad(g)(x), truth, rtol=1e-5, atol=1e-8)


def of_statements(program):
    """Return a function of x that runs statements, and sums what is then in y, weighted."""
    lines = ["def f(x):", *program.splitlines(), "return np.sum(np.cos(y) * x)"]
    text, space = "\n    ".join(lines), {"np": np, "ignore_derivatives": ignore_derivatives}
    linecache.cache["write.py"] = len(text), None, text.splitlines(True), "write.py"
    exec(compile(text, "write.py", "exec"), space)
    return space["f"]


@pytest.mark.parametrize("program", WRITTEN)
def test_what_is_written_into_an_array_is_the_same(program):
    before, known, after = re.split("[«»]", program)
    said, write, rest = re.split("[«»]", WRITTEN[program])
    mended, x = of_statements(before + write + after), W + 1.0
    f = of_statements(before + known + after)
    with pytest.raises(
        ChainRulesError, match=re.escape(said + write.rpartition("; ")[2].replace("+ ", "") + rest)
    ):
        grad(f)(x)
    truth = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(mended(x), f(x), rtol=1e-12)
    np.testing.assert_allclose(grad(mended)(x), truth, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "x, stored",
    [
        (3, "y[0] = x / 2"),
        (np.int64(3), "y[0] = x / 2"),
        (np.array([3, 4]), "y[0] = x[1] / 2"),
        (np.array([3, 4]), "y.flat[0] = x[1]"),
    ],
)
def test_a_buffer_for_whole_numbers_holds_floats(x, stored):
    f = of_statements(f"y = np.ones(2)\n{stored}")
    with pytest.raises(ChainRulesError) as caught:
        grad(f)(x)
    zero = re.search(r"add (np\.zeros_like\(x, float, shape=\(\)\)) to y", str(caught.value))[1]
    mended = of_statements(f"y = np.ones(2) + {zero}\n{stored.replace('flat', 'ravel()')}")
    unit = np.eye(np.size(x)).reshape(-1, *np.shape(x))
    truth = [(f(x + 1e-6 * h) - f(x - 1e-6 * h)) / 2e-6 for h in unit]
    np.testing.assert_allclose(np.ravel(grad(mended)(x)), truth, rtol=1e-6)


def test_an_array_without_a_name_is_given_one():
    with pytest.raises(
        ChainRulesError, match=r"add np\.zeros_like\(s, shape=\(\)\) to X\.copy\(\) where it"
    ):
        grad(lambda s: np.fill_diagonal(X.copy(), s))(2.0)

    def filled(s):
        b = X.copy() + np.zeros_like(s, shape=())
        np.fill_diagonal(b, s)
        return np.sum(b**2)

    assert grad(filled)(2.0) == 12.0


@pytest.mark.parametrize(
    "program, write",
    [
        ("np.array(x, dtype=float, ndmin=2)", "use x.astype(float), with np.expand_dims to 2 axes"),
        ("np.array([x[0]], float, ndmin=3)", ".astype(float), with np.expand_dims to 3 axes"),
        ("polynomial.polyfit(LINE, x, DEGREES, w=LINE)", "of the columns of np.polynomial.poly"),
        ("polynomial.polyfit(LINE, x, deg=1, full=True)[0]", "np.linalg.lstsq of the columns of"),
        ("chebyshev.chebfit(LINE, x, 1, w=WEIGHTS)", "of np.polynomial.chebyshev.chebvander"),
        ("FIT(LINE, x, 1, [0.0, 4.0])(0.5)", "of np.polynomial.polynomial.polyvander"),
        ("np.divide.reduce(np.outer(x, x), keepdims=True)", "with np.divide of two"),
        ("np.hypot.reduce(np.outer(x, x), axis=(0, 1))", "with np.hypot of two"),
        ("np.divide.reduce(*[np.outer(x, x), 1])", "write a loop over the elements of the axis"),
        ("functools.partial(np.divide.reduce, axis=1)(np.outer(x, x))", "write a loop over"),
        ("np.add.reduceat(np.outer(x, x), indices=DEGREES)", "with np.add of two"),
        ("np.subtract.reduce(X, axis=1, initial=x[0])", "with np.subtract of two"),
        ("np.min(X, axis=1, initial=x[1], where=X > 0.5)", "np.minimum(y, x[1]) for the result y"),
        ("np.add.reduce(X, 1, np.float32, initial=x[1])", "np.add(y, x[1]) for the result y"),
    ],
)
def test_options_that_the_code_would_leave_out_are_met_in_words(program, write):
    with pytest.raises(ChainRulesError, match=re.escape(write)):
        grad(of_text(program))(W + 1.0)


@pytest.mark.parametrize(
    "program",
    [
        "np.sum(np.array(x), where=x > 1.0)",
        "np.mean(np.vectorize(lambda t: t * t)(x), where=x > 1.0)",
        "np.array(x).reshape(1, 2, 2).prod(1, where=LINE[:2] > 0.0)",
        "np.add.reduce(np.array(x), where=x > 1.0)",
    ],
)
def test_a_masked_result_of_objects_is_that_of_their_sum_with_zero(program):
    f, x = of_text(program), W + 1.0
    with pytest.raises(ChainRulesError, match=r"write v \+ np\.zeros_like\(x, shape=\(\)\) for"):
        grad(f)(x)
    part = re.search(r"np\.(array|vectorize\(.*\))\(x\)", program)[0]
    g = of_text(program.replace(part, f"({part} + np.zeros_like(x, shape=()))"))
    truth = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(grad(g)(x), truth, rtol=1e-6, atol=1e-8)


def test_parts_are_reduced_by_their_own_function():
    with pytest.raises(ChainRulesError, match=r"np\.maximum\.reduce\(x\[begin:max\("):
        grad(lambda x: np.sum(np.maximum.reduceat(x, [0, 2])))(W)


FOLLOWED = {
    "item of one": (lambda x: x.item(0) ** 2, "x[0]"),
    "item of a matrix": (lambda x: np.outer(x, x).item(1, 1) * 2.0, "[1, 1]"),
    "tolist": (lambda x: sum([*x.tolist(), 1.0]), "list(x)"),
    "tolist of a number": (lambda x: np.sum(x).tolist() ** 2, "np.sum(x)"),
    "a root of a negative number": (lambda x: cmath.sqrt(-x[0]).imag, "np.sqrt((-x[0]) + 0j)"),
    "a length of three": (
        lambda x: math.hypot(x[0], x[1], x[2]),
        "np.linalg.norm(np.stack([x[0], x[1], x[2]]))",
    ),
    "a length of all": (lambda x: math.hypot(*x), "np.linalg.norm(np.stack([*x]))"),
    "what a text is given": (
        lambda x: len("{:.3f} {:.3f}".format(*x[:2])) * x[0],
        "*ignore_derivatives(x[:2])",
    ),
    "a tensor's method": (lambda x: x.norm(), "np.linalg.norm(x) for x.norm()"),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_what_is_written_instead_keeps_the_value(name):
    f, write = FOLLOWED[name]
    with pytest.raises(ChainRulesError) as caught:
        grad(f)(W + 1.0)
    assert write in str(caught.value)


def test_the_third_argument_of_a_ufunc_is_its_output():
    with pytest.raises(TypeError, match="ArrayType"):
        grad(lambda x: np.hypot(x[0], x[1], x[2]))(W)
    with pytest.raises(TypeError, match="ArrayType"):
        grad(lambda x, y, z: np.multiply(x, y, z), (0, 1, 2))(2.0, 3.0, 4.0)


STRIDED = [
    ("(x.itemsize, x.itemsize)", "C", float),
    ("(x.itemsize, x.itemsize)", "C", np.float32),
    ("(8, 24)", "F", float),
]


@pytest.mark.parametrize("strides, order, dtype", STRIDED)
def test_an_index_reads_what_strides_read(strides, order, dtype):
    """Of places in the layout of the array, and as wide as its elements."""
    text, x = f"as_strided(x, (2, 2), {strides})", np.asarray(X, dtype, order=order)
    linecache.cache["strides.py"] = len(text), None, [text], "strides.py"
    code, reads = compile(text, "strides.py", "eval"), np.lib.stride_tricks.as_strided
    space = {"np": np, "as_strided": reads, "x": x}
    total = lambda code, x: np.sum(np.real(eval(code, space, {"x": x})))
    with pytest.raises(
        ChainRulesError, match=r"sliding_window_view\(x, window_shape\), or an index"
    ):
        grad(functools.partial(total, code))(x)
    places = np.arange(x.size).reshape(x.shape).astype(f"i{x.itemsize}", order=order)
    write = f"np.ravel(x)[{text.replace('d(x,', 'd(places,')}]"
    space["places"] = places
    np.testing.assert_array_equal(eval(write, space), eval(code, space))
    truth = [total(code, np.asarray(x + e, order=order)) - total(code, x) for e in PLACES]
    slope = grad(functools.partial(total, write))(x)
    np.testing.assert_allclose(slope.ravel(), truth, atol=1e-6)


PLACES = np.eye(X.size, dtype=np.float32).reshape(-1, *X.shape)


PACKAGE = """
import dataclasses
import functools
import numpy as np

def peak(x, sigma=1.0, gamma=1.0):
    return float(np.sum(x)) * sigma / float(np.sum(gamma))

def matrix(x):
    raise TypeError(f"expected a matrix, got 1d {type(x).__name__}")

def item(x):
    return x.item(0)

def wrapped(draw):
    return lambda *given: draw(*given)

normal = wrapped(np.random.normal)

def do(name, *given):
    return globals()[name](*given)

def distances(x):
    from scipy.spatial.distance import cdist
    return np.sum(cdist(x[:, None], x[:2, None]) ** 3)

def lowest(x):
    from scipy.sparse.linalg import eigsh
    return eigsh(x[:, None] * x + np.diag(np.arange(4.0)), k=1, sigma=-1.0)[0][0]

@functools.lru_cache
def pauli(name):
    return np.eye(4)

class Held:
    def __init__(self, x):
        self.x = x
    def scaled(self, k):
        return float(np.sum(self.x)) * k
    def __call__(self, x):
        return float(np.sum(x)) * float(np.sum(self.x))
    def __matmul__(self, x):
        return self(x)
    def __eq__(self, other):
        raise TypeError("it is compared with what it does not know")

@dataclasses.dataclass
class Scale:
    k: float
    def __call__(self, x):
        return self.k * float(x[0])
"""


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    home = tmp_path_factory.mktemp("env") / "site-packages"
    (home / "thinlib").mkdir(parents=True)
    (home / "thinlib" / "__init__.py").write_text(PACKAGE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(home)
        yield importlib.import_module("thinlib")
        del sys.modules["thinlib"]


def called(program, lib):
    """Return a function of x that is one expression, whose source is known, and its names."""
    linecache.cache["call.py"] = len(program), None, [program], "call.py"
    space = {"np": np, "lib": lib, "P": (1.5, 2.0), "k": 2.0, "f": lib.peak, "own": lib.Held(W)}
    space |= {"scale": lib.Scale(2.0), "primitive": primitive}
    code = compile(program, "call.py", "eval")
    return (lambda x: eval(code, space, {"x": x})), space


def test_a_call_of_a_package_is_made_an_operation(lib):
    f, _ = called("lib.peak(1.2, sigma=0.8, gamma=x)", lib)
    op = primitive(lambda x: lib.peak(1.2, sigma=0.8, gamma=x))
    numeric_rule(op)
    with pytest.raises(ChainRulesError, match=r"make it an operation \(peak .*: op = primitive\("):
        grad(f)(W + 1.0)
    truth = [(f(W + 1.0 + h) - f(W + 1.0 - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
    with pytest.warns(NumericDerivativeWarning):
        found = grad(lambda x: op(x))(W + 1.0)
    np.testing.assert_allclose(found, truth, rtol=1e-6)


@pytest.mark.parametrize(
    "program, name",
    [
        ("lib.peak(x, k, gamma=x * x)", "peak"),
        ("f(2.0 * x, gamma=[3.0])", "peak"),
        ("lib.peak(x @ lib.pauli('X'))", "peak"),
        ("lib.peak(*(x, 1.0, 0.3))", "peak"),
        ("lib.peak(x, *P)", "peak"),
        ("lib.peak(x, **{'gamma': 2.0})", "peak"),
        ("lib.peak([x, x])", "peak"),
        ("lib.Held(x).scaled(2)", "Held.scaled"),
        ("lib.Held(x)(x)", "Held.__call__"),
        ("own @ x", "Held.__matmul__"),
        ("own(x)", "Held.__call__"),
        ("sum(map(lib.peak, x))", "peak"),
        ("scale(np.array([x[0], x[1]], object))", "Scale.__call__"),
        ("grad(lib.peak)(x)", "peak"),
        ("vjp(lib.peak, x)", "peak"),
    ],
)
def test_an_operation_is_advised_with_the_place_that_takes_plain_values(program, name, lib):
    f, space = called(program, lib)
    space |= {"grad": grad, "vjp": vjp}
    with pytest.raises(ChainRulesError) as caught:
        (f if program.startswith(("grad", "vjp")) else grad(f))(W)
    said = str(caught.value)
    assert f"make it an operation ({name} takes plain values, at thinlib/__init__.py:" in said
    assert "ignore_derivatives" not in said
    assert len(said) <= 400


def test_the_error_of_a_package_stays(lib):
    with pytest.raises(TypeError, match="expected a matrix") as caught:
        grad(lambda x: lib.matrix(x))(W)
    assert not isinstance(caught.value, ChainRulesError)
    assert "thinlib/__init__.py" in caught.value.__notes__[0]


@pytest.mark.parametrize("name", ["distances", "lowest"])
def test_a_package_that_calls_scipy_is_imported_after_an_installation(lib, name):
    f = getattr(lib, name)
    installed = pytest.importorskip("chainrules_scipy").install
    write = r"call chainrules_scipy\.install\(\) before 'import thinlib', after 'import"
    with pytest.raises(ChainRulesError, match=write):
        grad(lambda x: f(x))(W)
    with installed():
        found = grad(lambda x: f(x))(W)
    steps = 1e-6 * np.eye(4)
    truth = [(f(W + h) - f(W - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(found, truth, rtol=1e-6)


def test_a_function_that_is_called_as_a_method_is_no_array(lib):
    with pytest.raises(ChainRulesError, match=r"item\(\) of a traced") as caught:
        grad(lambda x: lib.item(x))(W)
    assert "op = primitive(...) of a function of all that is traced" in str(caught.value)


def test_a_draw_by_a_package_is_made_an_operation(lib):
    with pytest.raises(ChainRulesError, match=r"make it an operation \(do takes plain values"):
        grad(lambda x: lib.do("normal", x[0], 1.0))(W)


def test_an_array_that_arguments_pass_on_keeps_their_dtype():
    def asarray(x, *a, **k):
        return np.asarray(x, *a, **k)

    with pytest.raises(ChainRulesError, match=r"stack\(x\), with \.astype\(dtype\) if a dtype"):
        grad(lambda x: np.sum(asarray([x[0], x[1]], float)))(W)


@pytest.mark.parametrize(
    "sets", ["d.flags.writeable = True", "d.flags['WRITEABLE'] = True", "d.setflags(write=True)"]
)
def test_a_diagonal_that_is_made_writable_is_filled(sets):
    f = of_statements(f"y = np.outer(x, x); d = np.diag(y)\n{sets}\nd[:] = x**3")
    with pytest.raises(ChainRulesError, match="has no derivative that is known"):
        grad(f)(LINE)
    mended = of_statements("y = np.outer(x, x)\nnp.fill_diagonal(y, x**3)")
    truth = [(f(LINE + h) - f(LINE - h)) / 2e-6 for h in 1e-6 * np.eye(len(LINE))]
    np.testing.assert_allclose(grad(mended)(LINE), truth, rtol=1e-6)


def test_flags_that_are_read_are_a_constant():
    with pytest.raises(ChainRulesError, match=r"use ignore_derivatives\(x\)\.flags, which is"):
        grad(lambda x: np.sum(x) * x.flags.c_contiguous)(W)


SERIES = np.polynomial.Polynomial


@pytest.mark.parametrize("other", ["a", None, {}, object()])
def test_a_series_beside_what_is_no_number_raises_what_numpy_raises(other):
    for f in (lambda c: (SERIES(c) + other)(2.0), lambda c: (SERIES(c) * other)(2.0)):
        with pytest.raises(TypeError) as numpys:
            f(W)
        with pytest.raises(TypeError) as ours:
            grad(f)(W)
        assert str(ours.value) == str(numpys.value)


def test_a_series_beside_complex_numbers_is_multiplied_by_its_value():
    with pytest.raises(ChainRulesError, match=re.escape("polyvander(t, len(c) - 1) @ c * z")):
        grad(lambda c: (SERIES(c) * 1j)(2.0).imag)(W)
    value = lambda c: (polynomial.polyvander(2.0, 3) @ c * 1j).imag.sum()
    np.testing.assert_allclose(grad(value)(W), 2.0 ** np.arange(4))
    with pytest.raises(ChainRulesError, match=re.escape("write c.astype(float)")):
        grad(lambda c: (SERIES(c) + np.ones(2))(2.0))(W.astype("f4"))
