"""Signatures of saved modules: that of the function, as far as the program is for it."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import textwrap
from collections.abc import Callable
from inspect import Parameter
from typing import Any

from chainrules_compile.scope import identifier

Said = Callable[[Any], str | None]
"""Gives the text of an object, or None of what cannot be written."""


def headed(source: str, name: str, f: Any, said: Said) -> str:
    """Return a source whose function has the parameters, and the docstring, of another.

    What was left out in the call that recorded it is no parameter: it has the value that it had.
    """
    (function,) = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    lines = source.split("\n")
    first = function.body[0].lineno - 1
    header = f"def {name}{_signature(f, function.args, said)}:"
    return "\n".join([*lines[: function.lineno - 1], header, *_doc(f), *lines[first:]])


def _doc(f: Any) -> list[str]:
    """Return the lines of what a function says of itself."""
    text = getattr(f, "__doc__", None)
    if (
        not isinstance(text, str)
        or not text
        or text in (type(f).__doc__, functools.partial.__doc__)
    ):
        return []
    text = inspect.cleandoc(text).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    end = "\n" if "\n" in text or text.endswith('"') else ""
    return textwrap.indent(f'"""{text}{end}"""', "    ").split("\n")


class _Text:
    """A default, as it is written."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _signature(f: Any, given: ast.arguments, said: Said) -> inspect.Signature:
    """Return what a program takes, in the order and ways of its function where these are told."""
    by_place, by_name = [x.arg for x in given.posonlyargs], [x.arg for x in given.kwonlyargs]
    own = [Parameter(x, Parameter.POSITIONAL_ONLY) for x in by_place]
    own += [Parameter(x, Parameter.KEYWORD_ONLY) for x in by_name]
    rest = [Parameter(given.kwarg.arg, Parameter.VAR_KEYWORD)] if given.kwarg else []
    with contextlib.suppress(TypeError, ValueError):  # where nobody tells, or defaults come first
        parameters = inspect.signature(f).parameters.values()
        known = {identifier(p.name): p for p in parameters if p.kind not in _MANY}
        if {*by_place} <= known.keys():
            found = _some(known, {*by_place, *by_name}, said)
            found += [Parameter(x, Parameter.KEYWORD_ONLY) for x in by_name if x not in known]
            return inspect.Signature([*found, *rest])
    return inspect.Signature([*own, *rest])


_MANY = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def _some(known: dict[str, Parameter], taken: set[str], said: Said) -> list[Parameter]:
    """Return the parameters that a program takes; those after one that it does not, by name."""
    found: list[Parameter] = []
    beside = False
    for name, p in known.items():
        if name not in taken:
            beside |= p.kind is not Parameter.KEYWORD_ONLY
            continue
        kind = Parameter.KEYWORD_ONLY if beside else p.kind
        text = None if p.default is Parameter.empty else said(p.default)
        default = Parameter.empty if text is None else _Text(text)
        found.append(Parameter(name, kind, default=default))
    return found
