"""``{messages}``: what each error says, by programs that raise it, under the name of its class.

The programs are run when the page is built, and by ``tests/house/test_messages.py``.
"""

from __future__ import annotations

import textwrap
import warnings
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from chainrules_py import ChainRulesError

HEAD = """\
import math
import numpy as np
from chainrules_py import *
from chainrules_tape import *
"""
PROGRAMS = {
    "float": "grad(lambda x: float(x) * 2.0)(1.0)",
    "int": "grad(lambda x: sum(x for _ in range(int(x))))(2.0)",
    "math": "grad(lambda x: math.sin(x))(1.0)",
    "np.array": "grad(lambda x: np.sum(np.array([x[0], x[1]], dtype=float)))(np.ones(2))",
    "np.asarray": "grad(lambda x: np.sum(np.asarray(x)))(np.ones(101))",
    "array of objects": ("grad(lambda x: np.max(np.array([x[0], x[1] * np.nan])))(np.ones(2))"),
    "buffer": """\
        def f(x):
            b = np.zeros(2)
            b[0] = x[0]
            return np.sum(b)

        grad(f)(np.ones(2))""",
    "out=": "grad(lambda x: np.sum(np.sin(x, out=np.zeros(2))))(np.ones(2))",
    "np.frompyfunc": (
        "grad(lambda x: np.sum(np.frompyfunc(lambda y: y * y, 1, 1)(x)))(np.ones(2))"
    ),
    "key of a dict": "grad(lambda x: {x: 1.0}[x])(2.0)",
    "item": "grad(lambda x: x[0].item())(np.ones(2))",
    "text of a value": 'grad(lambda x: float(f"{x:.3f}"))(2.0)',
    "random numbers": "grad(lambda x: np.random.normal(x, 1.0))(2.0)",
    "grad(f, x)": "grad(np.sum, np.ones(2))",
    "result that is no number": "grad(np.sin)(np.ones(2))",
    "whole number": "grad(lambda x: x * 2)(3)",
    "nothing to differentiate": 'grad(lambda x: 1.0)("a")',
    "object array": "grad(np.sum)(np.array([1.0, 2.0], object))",
    "shape of a tangent": "jvp(np.sin, (np.ones(2),), (np.ones(3),))",
    "shape of a cotangent": "vjp(np.sin, np.ones(2))[1](np.ones(3))",
    "no rule": """\
        @primitive
        def f(x):
            return x * x

        rrule(f, 2.0)""",
    "no such mode": """\
        @primitive
        def f(x):
            return x * x

        frule((1.0,), f, 2.0)""",
    "rule of a plain function": """\
        def f(x):
            return x * x

        scalar_rule(f, lambda y, x: 2.0 * x)""",
    "operands of a rule": """\
        @primitive
        def f(x, y):
            return x * y

        @rule(f)
        def f_rule(x: Array):
            return x, (identity,)""",
    "two rules": """\
        @primitive
        def f(x, y):
            return x * y

        @rule(f)
        def one(x: Scalar, y: Numeric):
            return x * y, (y, x)

        @rule(f)
        def other(x: Numeric, y: Scalar):
            return x * y, (y, x)

        rrule(f, 2.0, 3.0)""",
    "keyword": 'grad(lambda x: np.sum(np.sin(x, casting="safe")))(np.ones(2))',
    "complex operand": """\
        @primitive
        def f(x):
            return np.square(x)

        scalar_rule(f, lambda y, x: 2.0 * x)
        rrule(f, 1.0j)""",
    "write after it was used": """\
        w = np.ones(2)

        def f(x):
            y = np.sum(w * x)
            w[0] = 3.0
            return y

        grad(f)(np.ones(2))""",
    "tape asked twice": """\
        with Tape() as tape:
            x = tape.variable(2.0)
            y = x * x
        tape.grad(y, x)
        tape.grad(y, x)""",
    "NaN": """\
        with debug_nans(), np.errstate(all="ignore"):
            grad(lambda x: np.sum(np.log(x)))(np.array([-1.0]))""",
    "solver": """\
        from chainrules_py.vocabulary import root

        root(lambda x: x * x + 1.0, 1.0)""",
    "program that uses what is not there": """\
        from chainrules_py.program import Program, Value

        Program("f", (), (), (Value("y", float),))""",
    "no such exporter": 'export(np.sin, to="nobody")',
    "engine's name": "from chainrules_py import grad",
    "function of SciPy": """\
        import scipy.integrate

        grad(lambda k: scipy.integrate.quad(lambda x: x * k, 0, 1)[0])(2.0)""",
}
"""By the anchor on the page, a program that ends in an error."""
CLASSES = [c for c in ChainRulesError.__subclasses__() if c.__module__ == "chainrules_py.errors"]


def code_of(name: str) -> str:
    return textwrap.dedent(PROGRAMS[name])


def raised(name: str) -> BaseException | None:
    """The error that a program ends in."""
    space: dict[str, Any] = {"__name__": "program"}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(HEAD + code_of(name), "program", "exec"), space)  # noqa: S102
    except Exception as error:
        return error
    return None


def anchor(name: str) -> str:
    return "".join([c if c.isalnum() else "-" for c in name.lower()]).strip("-")


def by_class() -> dict[type[BaseException], list[str]]:
    """Programs by the class that they raise, ours first and in the order of their statement."""
    found: dict[type[BaseException], list[str]] = {c: [] for c in CLASSES}
    for name in PROGRAMS:
        error = raised(name)
        cls = next(c for c in type(error).__mro__ if c in found or c.__module__ == "builtins")
        found.setdefault(cls, []).append(name)
    return found


class Messages(Directive):
    def run(self) -> list[nodes.Node]:
        return [self.of_class(cls, names) for cls, names in by_class().items() if names]

    def of_class(self, cls: type[BaseException], names: list[str]) -> nodes.Node:
        section = nodes.section("", nodes.title("", cls.__name__), ids=[anchor(cls.__name__)])
        for name in names:
            section += self.of_program(name)
        return section

    def of_program(self, name: str) -> nodes.Node:
        error = raised(name)
        section = nodes.section("", nodes.title("", name), ids=[anchor(name)])
        text = code_of(name)
        block = nodes.literal_block(text, text)
        block["language"] = "python"
        section += block
        said = nodes.paragraph("", "", nodes.strong("", type(error).__name__))
        notes = "".join([f" {note}" for note in getattr(error, "__notes__", ())])
        said += nodes.Text(f": {error}{notes}")
        section += said
        return section


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("messages", Messages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
