"""Migration of programs written for autograd: rewrites their import lines, and nothing else."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import itertools
import re
from collections.abc import Sequence

THERE, HERE = "autograd", "chainrules_autograd"


@dataclasses.dataclass(frozen=True)
class Migrated:
    """A migrated program.

    Attributes
    ----------
    text : str
        The program.
    notes : tuple of str
        Imports that could not be migrated, each with its line.
    """

    text: str
    notes: tuple[str, ...]


def migrated(text: str) -> Migrated:
    r"""Rewrite the import lines of a program that is written for autograd.

    Everything else is unchanged, comments, spaces, and line ends included.

    Parameters
    ----------
    text : str
        The program.

    Returns
    -------
    Migrated
        The new text, and notes on imports without a counterpart.

    Raises
    ------
    SyntaxError
        If the program is not valid Python.

    Examples
    --------
    >>> print(migrated("import autograd.numpy as np\nfrom autograd import grad\n").text, end="")
    import chainrules_autograd.numpy as np
    from chainrules_autograd import grad
    """
    tree = ast.parse(text)
    lines = lines_of(text)
    starts = [0, *itertools.accumulate(map(len, lines))]
    notes: list[str] = []
    changes: list[tuple[int, int, str]] = []

    def change(node: ast.ImportFrom | ast.alias, new: str, before: str = "") -> None:
        """Replace the module of an import, whose name may have spaces and backslashes in it."""
        offset = len(lines[node.lineno - 1].encode()[: node.col_offset].decode())
        found = re.compile(before + _DOTTED).match(text, starts[node.lineno - 1] + offset)
        if found is not None:
            changes.append((*found.span("module"), new))

    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and _is_theirs(node.module or ""):
            module, names = node.module or "", [alias.name for alias in node.names]
            new = _renamed(module)
            if module in _INNER and _are_public(names):
                new = f"{HERE}.extend"
            else:
                _note(module, node.lineno, notes, names)
            if "*" in names and module != THERE:
                notes.append(f"line {node.lineno}: import the names of {module} one by one")
            change(node, new, f"from{_GAP}")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if not _is_theirs(alias.name):
                    continue
                _note(alias.name, node.lineno, notes)
                new = _renamed(alias.name)
                if alias.asname is None and "." not in alias.name:
                    new += f" as {THERE}"
                elif alias.asname is None:
                    notes.append(
                        f"line {node.lineno}: what is called autograd.… after "
                        f"`import {alias.name}` is called {HERE}.… now"
                    )
                change(alias, new)
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return Migrated(text, tuple(notes))


def lines_of(text: str) -> list[str]:
    r"""Return the lines of a program as Python counts them: no form feed or U+2028 ends one.

    Examples
    --------
    >>> lines_of("a\f\r\nb\rc")
    ['a\x0c\r\n', 'b\r', 'c']
    """
    return [line for line in re.split(r"(?<=\n)|(?<=\r)(?!\n)", text) if line]


_GAP = r"(?:[ \t\f]|\\(?:\r\n|\r|\n))*"
_DOTTED = rf"(?P<module>\w+(?:{_GAP}\.{_GAP}\w+)*)"

_INNER = ("autograd.core", "autograd.tracer")
"""Modules of autograd's engine; what is public of them is in ``autograd.extend``."""


def _are_public(names: Sequence[str]) -> bool:
    extend = importlib.import_module(f"{HERE}.extend")
    return all([hasattr(extend, name) for name in names])


def _is_theirs(module: str) -> bool:
    return module == THERE or module.startswith(f"{THERE}.")


def _renamed(module: str) -> str:
    return HERE + module.removeprefix(THERE)


def _note(module: str, line: int, notes: list[str], names: Sequence[str] = ()) -> None:
    """Note a module, or names in one, that have no counterpart."""
    from chainrules_autograd.module_aliases import MODULES  # loads the tape: only where needed

    inner = module.removeprefix(THERE)
    if inner not in MODULES:
        if not inner.startswith(".scipy.stats."):
            notes.append(
                f"line {line}: {module} has no counterpart; it is an inner module of autograd's"
            )
        return
    found = importlib.import_module(_renamed(module))
    notes += [
        f"line {line}: {name} of {module} has no counterpart"
        for name in names
        if name != "*" and f"{inner}.{name}" not in MODULES and not hasattr(found, name)
    ]
