"""Emission of a lowered program as one C function."""

from __future__ import annotations

from typing import Any

from chainrules_compile.c.buffer_assignment import Storage
from chainrules_compile.c.buffers import View
from chainrules_compile.c.elementwise_loops import GroupWriter, converted, slots_of
from chainrules_compile.c.expression_text import c_type, literal
from chainrules_compile.c.item_builder import SLOT
from chainrules_compile.c.kernels import Kernels
from chainrules_compile.c.program_items import (
    RAISES,
    Argument,
    Group,
    Guard,
    Item,
    Literal,
    Operation,
)


def emit(items: list[Item], outputs: list[View], name: str, threads: int = 1) -> tuple[str, int]:
    """Return the text of a program, and the size of its workspace in bytes.

    Parameters
    ----------
    items : list of Item
        The items of the program.
    outputs : list of View
        The outputs: each covers a separate buffer.
    name : str
        The name of the function.
    threads : int
        The number of threads that large groups run on.
    """
    for i, view in enumerate(outputs):
        view.version.buffer.place = f"O[{i}]"
    groups = [item for item in items if isinstance(item, Group) and item.size > 1]
    scratch = max([64, *[slots_of(group) * SLOT for group in groups]])
    kernels = Kernels(name, threads, scratch)
    storage = Storage(items, outputs, scratch * threads)
    for item in items:
        if isinstance(item, Guard):
            kernels.statements.append(_guard(item))
        elif not isinstance(item, Group):
            kernels.call(item.text, [address(x) for x in (*item.outs, *item.given)])
            kernels.statements += ["if (*w) return 1;"] * item.may_miss
        elif item.size == 1:
            kernels.statements += map(_statement, item.operations)
        elif item.size:
            GroupWriter(item, storage, kernels).write()
    return kernels.text(), storage.size


def address(view: View) -> str:
    """Return the address of the first element of a view."""
    place = view.version.buffer.place
    return f"({place} + {view.offset})" if view.offset else place


def number(x: Any) -> str:
    """Return a number in memory, or a literal, as an expression."""
    if isinstance(x, Literal):
        return x.text
    view = x.view if isinstance(x, Argument) else x
    return f"AT({c_type(view.dtype)}, {address(view)})"


def _statement(op: Operation) -> str:
    """Write an operation on numbers as a statement."""
    given = [number(x) for x in op.operands]
    if op.expression is None:
        heads = "".join([
            f"{c_type(x.dtype)} q{k} = {text}; "
            for k, (x, text) in enumerate(zip(op.operands, given, strict=True))
        ])  # fmt: skip
        texts = "".join([f"(char*)&q{k}, 0, " for k in range(len(given))])
        return f"{{ {heads}call{len(given)}(L, {op.loop}, {texts}{address(op.out)}, 0, 1); }}"
    if op.check == RAISES:
        return f"if (raises({', '.join(given)}, &{number(op.out)})) return 1;"
    text = f"{number(op.out)} = {converted(op, given)};"
    test = op.check and op.check.format(*[f"({x})" for x in given])
    return f"if ({test}) return 1; {text}" if test else text


def _guard(item: Guard) -> str:
    if type(item.answer) is bool:
        test = f"{'!' if item.answer else ''}{number(item.view)}"
    else:
        test = f"{number(item.view)} != {literal(item.answer, item.view.dtype)}"
    return f"if ({test}) return 1;"
