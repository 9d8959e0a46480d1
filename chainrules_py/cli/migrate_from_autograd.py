"""Migration of programs written for autograd: rewrites their import lines, and nothing else."""

from __future__ import annotations

import ast
import dataclasses
import importlib
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
    lines = text.splitlines(keepends=True)
    notes: list[str] = []
    changes: list[tuple[int, int, int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and _is_theirs(node.module or ""):
            module, names = node.module or "", [alias.name for alias in node.names]
            new = _renamed(module)
            if module in _INNER and _are_public(names):
                new = f"{HERE}.extend"
            else:
                _note(module, node.lineno, notes, names)
            if any([alias.name == "*" for alias in node.names]) and module.endswith("numpy"):
                notes.append(f"line {node.lineno}: import the names of {module} one by one")
            start = lines[node.lineno - 1].encode().index(module.encode(), node.col_offset)
            changes.append((node.lineno, start, len(module.encode()), new))
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
                changes.append((alias.lineno, alias.col_offset, len(alias.name.encode()), new))
    for line, start, length, new in sorted(changes, reverse=True):
        raw = lines[line - 1].encode()
        lines[line - 1] = (raw[:start] + new.encode() + raw[start + length :]).decode()
    return Migrated("".join(lines), tuple(notes))


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
