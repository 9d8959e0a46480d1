"""Places of expressions in a definition: what stands there, what it is for, what is around it."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from typing import Any, final

from chainrules_diagnosis.sources import Source


@final
@dataclasses.dataclass(frozen=True)
class Slot:
    """A place of an expression: the node, the name of the field, and the index in a list.

    Attributes
    ----------
    above : tuple
        The places that it is in, the outermost first.
    names : tuple of str
        What may stand there besides.
    role : str
        "value", "function", "owner" (of an attribute), "index", "test" or "option" (of a keyword).
    """

    parent: Any
    field: str
    index: int | None
    above: tuple[Slot, ...]
    names: tuple[str, ...]
    role: str

    @property
    def node(self) -> Any:
        """What stands there."""
        found = getattr(self.parent, self.field)
        return found if self.index is None else found[self.index]

    def put(self, node: Any) -> None:
        """Put something else there."""
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def slots_of(source: Source) -> Iterator[Slot]:
    """List the places of expressions in a definition, the outermost first."""
    node = source.node
    outside = tuple(n for n in source.function.__code__.co_freevars)
    called = {
        n.func.id
        for part in source.body
        for n in ast.walk(part)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    yield from _inside(node, (), outside, called)


def _inside(
    node: Any, above: tuple[Slot, ...], names: tuple[str, ...], called: set[str]
) -> Iterator[Slot]:
    """List the places in a node, a function's own with the names that it knows."""
    if isinstance(node, (ast.FunctionDef, ast.Lambda)):
        names = tuple(n for n in dict.fromkeys([*_bound(node), *names]) if n not in called)
    skipped = {
        "args",
        "decorator_list",
        "returns",
        "annotation",
        "targets",
        "target",
        "type_params",
    }
    for field, value in ast.iter_fields(node):
        if field in skipped and not isinstance(node, ast.Call):
            continue
        is_list = isinstance(value, list)
        for index, child in enumerate(value if is_list else [value]):
            if not isinstance(child, ast.AST):
                continue
            slot = Slot(node, field, index if is_list else None, above, names, _role(node, field))
            if isinstance(child, _SILENT) or slot.role == "test":
                continue  # another branch that is right here is no mend of the one that is wrong
            if isinstance(child, ast.expr) and not is_text(child, "->"):
                yield slot
            deeper = (*above, slot) if isinstance(child, ast.expr) else ()
            yield from _inside(child, deeper, names, called)


_SILENT = (ast.JoinedStr, ast.FormattedValue, ast.Raise, ast.Assert)


def _bound(node: ast.FunctionDef | ast.Lambda) -> Iterator[str]:
    args = node.args
    yield from (a.arg for a in [*args.posonlyargs, *args.args, *args.kwonlyargs])
    if isinstance(node, ast.FunctionDef):
        for n in ast.walk(node):
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
                yield n.id


def _role(node: Any, field: str) -> str:
    if isinstance(node, ast.Call) and field == "func":
        return "function"
    if isinstance(node, ast.Attribute):
        return "owner"
    if isinstance(node, (ast.If, ast.IfExp)) and field == "test":
        return "test"
    if (isinstance(node, ast.Subscript) and field == "slice") or isinstance(node, ast.Slice):
        return "index"
    return "option" if isinstance(node, ast.keyword) else "value"


def is_text(node: Any, but: str = "") -> bool:
    """Tell whether an expression is a text, without something in it."""
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, str) and not (but and but in value)


_WIDE = 48


def shown_at(slot: Slot) -> Slot:
    """Choose the expression to show: with what is around it, as far as that is short."""
    shown = slot
    for around in reversed(slot.above):
        if len(ast.unparse(around.node)) > _WIDE or isinstance(
            around.node, (ast.Lambda, ast.Tuple)
        ):
            break
        shown = around
        if isinstance(around.node, ast.Call):
            break
    return shown
