"""Operands of calls that take no traced numbers: lists and numbers of Python's, for remedies."""

from __future__ import annotations

import ast

from chainrules_py.extend import Line, untraced

JOINED = "write v + np.zeros_like(x, shape=()) for the array v of objects, for a traced x"


def is_name(node: ast.AST) -> bool:
    """Return whether an expression names a value, and does not make one."""
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))


def is_list(line: Line, node: ast.AST | None) -> bool:
    """Return whether an expression is a list: as it is written, or of a name that is traced."""
    if isinstance(node, ast.BinOp):  # [x] * 3
        return is_list(line, node.left) or is_list(line, node.right)
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in ("list", "tuple", "sorted")
    shown = isinstance(node, (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp))
    return shown or (node is not None and isinstance(line.resolved(node), (list, tuple)))


def is_number(line: Line, node: ast.AST) -> bool:
    """Return whether an expression is of traced numbers of Python's, which have no ``astype``."""
    parts = [node] if line.resolved(node) is not None else [*ast.walk(node)]
    found = [untraced(line.resolved(part)) for part in parts if any(line.traced(part))]
    known = [x for x in found if x is not None]
    return bool(known) and all([isinstance(x, (float, complex)) for x in known])
