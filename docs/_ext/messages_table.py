"""``{messages}``: each class of errors and warnings, from its docstring, with one example.

The examples are run when the page is built, and by ``tests/house/test_messages.py``.
"""

from __future__ import annotations

import linecache
import textwrap
import warnings
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from chainrules_py import errors

HEAD = """\
import math
import numpy as np
from chainrules_py import *
from chainrules_tape import *
"""
EXAMPLES = {
    "NoRuleError": """\
        @primitive
        def f(x):
            return x * x

        rrule(f, 2.0)""",
    "AmbiguousRuleError": """\
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
    "RuleError": """\
        @primitive
        def f(x, y):
            return x * y

        scalar_rule(f, lambda z, x, y: y)""",
    "NotDifferentiableError": "grad(lambda x: (np.sum(x), x))(np.ones(2))",
    "UnsupportedKeywordError": 'grad(lambda x: np.sum(np.sin(x, signature="d->d")))(np.ones(2))',
    "ProjectionError": "jvp(np.sin, (np.ones(2),), (np.ones(3),))",
    "MutationError": """\
        with Tape(guard="sample") as tape:
            x, c = tape.variable(np.ones(2)), np.ones(2)
            y = np.sum(x * c)
            c[0] = 5.0
        tape.grad(y, x)""",
    "TracerError": "grad(lambda x: math.sin(x))(1.0)",
    "NanError": """\
        with debug_nans(), np.errstate(all="ignore"):
            grad(lambda x: np.sum(np.log(x)))(np.array([-1.0]))""",
    "ConvergenceError": """\
        from chainrules_py.ops import root

        root(lambda x: x * x + 1.0, 1.0)""",
    "ContractError": 'export(np.sin, to="unknown")',
    "ProgramError": """\
        from chainrules_py.program import Program, Value

        Program("f", (), (), (Value("y", float),))""",
    "DegeneracyWarning": """\
        grad(lambda a: np.linalg.qr(a)[0][0, 0])(np.zeros((2, 2)))""",
    "LostDerivativeWarning": "grad(lambda x: 1.0)(2.0)",
    "PackageWarning": """\
        import warnings

        from chainrules_py.errors import PackageWarning
        from chainrules_py.primitives.plugins import failures, not_loaded

        failures["chainrules_thing"] = "could not be imported: ImportError: no thing"
        warnings.warn(not_loaded()[-1], PackageWarning)
        del failures["chainrules_thing"]""",
}
"""By class, a program that ends in an error, or gives a warning."""
CLASSES = [
    found
    for found in vars(errors).values()
    if isinstance(found, type)
    and issubclass(found, (errors.ChainRulesError, Warning))
    and found is not errors.ChainRulesError
]


def code_of(name: str) -> str:
    return textwrap.dedent(EXAMPLES[name])


def raised(name: str) -> BaseException | Warning | None:
    """The error that a program ends in, or the first warning of ours that it gives."""
    space: dict[str, Any] = {"__name__": "program"}
    text = HEAD + code_of(name)
    linecache.cache["program.py"] = len(text), None, text.splitlines(keepends=True), "program.py"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(compile(text, "program.py", "exec"), space)  # noqa: S102
        except Exception as error:
            return error
    return next((w.message for w in caught if type(w.message) in CLASSES), None)  # type: ignore[return-value]


def said(error: Any) -> str:
    """What a program says, without folders."""
    notes = [str(error), *getattr(error, "__notes__", ())]
    return "\n".join(notes).replace(f"{errors.__file__.rpartition('/chainrules_py/')[0]}/", "")


def summary(cls: type) -> str:
    return (cls.__doc__ or "").strip().partition("\n")[0]


class Messages(Directive):
    def run(self) -> list[nodes.Node]:
        return [self.of_class(cls) for cls in CLASSES]

    def of_class(self, cls: type) -> nodes.Node:
        name = cls.__name__
        section = nodes.section("", nodes.title("", name), ids=[name.lower()])
        section += nodes.paragraph("", summary(cls).replace("`", ""))
        for text, language in ((code_of(name), "python"), (said(raised(name)), "text")):
            block = nodes.literal_block(text, text)
            block["language"] = language
            section += block
        return section


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("messages", Messages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
