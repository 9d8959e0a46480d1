"""Formulas of programs: what is read from a formula is what the program computes."""

from __future__ import annotations

import re

import numpy as np
import pytest

from chainrules_compile import compile as compile_
from chainrules_py import ops as v
from chainrules_py import rules_for
from chainrules_tape.pictures import formula

X, Y = np.array([0.3, 0.7]), np.array([1.2, 2.5])


def written(f, *xs):
    compiled = compile_(f)
    compiled(*xs)
    return formula(compiled.programs[0].recorded)


@pytest.mark.parametrize(
    "f, text",
    [
        (lambda x: x + 1.0, "x + 1"),
        (lambda x: -x, "-x"),
        (lambda x: 2.0 * x, r"2 \, x"),
        (lambda x: x * x, "x^2"),
        (lambda x: (x + 1.0) * x, r"\left(x + 1\right) \, x"),
        (lambda x: x - (x - 1.0), r"x - \left(x - 1\right)"),
        (lambda x: x - (-1.0), "x + 1"),
        (lambda x: v.exp(-x) / x, r"\frac{e^{-x}}{x}"),
        (lambda x: v.exp(x) ** 3.0, r"\left(e^{x}\right)^{3}"),
        (lambda x: v.sin(x) * np.pi, r"\sin x \, \pi"),
        (lambda x: v.sin(2.0 * x), r"\sin \left(2 \, x\right)"),
        (lambda x: v.digamma(x), r"\psi\left(x\right)"),
        (lambda x: -0.5 * x, r"-\tfrac{1}{2} \, x"),
        (lambda x: 1e-9 * x, r"1 \cdot 10^{-9} \, x"),
        (
            lambda x: v.where(x > 0, x, 0.0),
            r"\begin{cases} x & x > 0 \\ 0 & \text{else} \end{cases}",
        ),
    ],
)
def test_formula(f, text):
    assert written(f, X) == text


def test_what_is_used_twice_has_a_letter():
    text = written(lambda x: v.exp(v.sin(x) + v.cos(x)) * (v.sin(x) + v.cos(x)) ** 3.0, X)
    assert text.startswith("u = ") or text.count(r"\sin") == 2


@pytest.mark.parametrize("name", ["sin", "tan", "sqrt", "logaddexp", "multiply", "pow", "erf"])
def test_formula_of_a_partial_computes_the_partial(name):
    """Read back as Python, a formula gives the numbers of the rule."""
    operation = getattr(v, name)
    xs = (X, Y)[: len(operation.operands)]
    y = operation(*xs)
    for partial in rules_for(operation)[0].recipe.partials:
        text = written(partial, y, *xs)
        given = dict(zip(partial.__code__.co_varnames, (y, *xs), strict=False))
        found = eval(as_python(text), {**vars(np), "v": v}, given)
        np.testing.assert_allclose(found, partial(y, *xs) + 0.0 * y, rtol=1e-5)


def as_python(text):
    text = re.sub(r"\\tfrac\{2\}\{\\sqrt\{\\pi\}\}", "(2 / sqrt(pi))", text)
    text = re.sub(r"\\tfrac\{1\}\{2\}", "0.5", text)
    text = re.sub(r"\\operatorname\{(\w+)\}", r"\1", text)
    text = text.replace(r"\left[y = 0\right]", "(y == 0)")
    text = text.replace(r"\left(", "(").replace(r"\right)", ")").replace(r"\,", "*")
    text = text.replace(r"\ln", "log").replace("log (", "log(")
    text = text.replace(r"\left|", "abs(").replace(r"\right|", ")")
    text = re.sub(r"e\^\{([^{}]*)\}", r"exp(\1)", text)
    text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1) / (\2))", text)
    text = re.sub(r"e\^\{([^{}]*)\}", r"exp(\1)", text)
    text = re.sub(r"\\(sin|cos|log) (\w)", r"\1(\2)", text)
    text = re.sub(r"\^\{([^{}]*)\}", r"**(\1)", text).replace("^2", "**2")
    return text.replace("log y", "log(y)").replace("log x", "log(x)")
