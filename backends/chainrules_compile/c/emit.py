"""Emission: a lowered program as one function of C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_compile.c.groups import GroupWriter, converted
from chainrules_compile.c.items import (
    RAISES,
    Argument,
    Copy,
    Group,
    Guard,
    Item,
    Kernel,
    Literal,
    Operation,
)
from chainrules_compile.c.kernels import Kernels, at, nest
from chainrules_compile.c.lowering import SLOT
from chainrules_compile.c.memory import Shape, View, axes_in_order, together
from chainrules_compile.c.storage import Storage
from chainrules_compile.c.text import c_type, literal, raw_type


def emit(items: list[Item], outputs: list[View], name: str, threads: int = 1) -> tuple[str, int]:
    """Return the text of a program, and how many bytes it works in.

    Parameters
    ----------
    items : list of Item
        What it does.
    outputs : list of View
        What it gives: each all of a buffer of its own.
    name : str
        What the function is called.
    threads : int
        How many threads large groups run on.
    """
    for i, view in enumerate(outputs):
        view.version.buffer.place = f"O[{i}]"
    scratch = scratch_of(items)
    kernels = Kernels(name, threads, scratch)
    storage = Storage(items, outputs, scratch * threads)
    for i, item in enumerate(items):
        if i not in storage.needless:
            writer = _WRITERS[type(item)]
            writer(kernels, storage, item)
    return kernels.text(), storage.size


def scratch_of(items: list[Item]) -> int:
    """Return how many bytes of scratch memory the groups of a program may need."""
    most = 0
    for item in items:
        if isinstance(item, Group) and item.size > 1:
            arrays = sum([1 + len(op.operands) for op in item.operations])
            most = max(most, arrays)
    return max(most * SLOT, 64)


def address(view: View) -> str:
    """Return where an array begins."""
    place = view.version.buffer.place
    assert place is not None
    return f"({place} + {view.offset})" if view.offset else place


def number(x: Any) -> str:
    """Return a number in memory, or a literal."""
    if isinstance(x, Literal):
        return x.text
    view = x.view if isinstance(x, Argument) else x
    return f"AT({c_type(view.dtype)}, {address(view)})"


def _group(kernels: Kernels, storage: Storage, group: Group) -> None:
    if group.size == 1:
        kernels.statements += [_statement(op) for op in group.operations]
    elif group.size:
        GroupWriter(group, storage, kernels).write()


def _statement(op: Operation) -> str:
    """Write an operation on numbers."""
    kind = c_type(op.out.dtype) if op.expression is not None else ""
    if op.expression is None:
        given = []
        heads = ""
        for k, x in enumerate(op.operands):
            if isinstance(x, Literal):
                heads += f"const {c_type(x.dtype)} q{k} = {x.text}; "
                given.append(f"(char*)&q{k}, 0")
            else:
                given.append(f"{address(x.view)}, 0")
        given.append(f"{address(op.out)}, 0")
        return f"{{ {heads}call{len(op.operands)}(L, {op.loop}, {', '.join(given)}, 1); }}"
    given = [number(x) for x in op.operands]
    text = f"AT({kind}, {address(op.out)}) = {converted(op, given)};"
    if op.check is None or op.expression is None:
        return text
    if op.check == RAISES:
        return f"if (raises({', '.join(given)}, &{number(op.out)})) return 1;"
    test = op.check.format(*[f"({x})" for x in given])
    return f"if ({test}) return 1; {text}"


def _copy(kernels: Kernels, _: Storage, item: Copy) -> None:
    target, source = item.target, item.source
    axes = axes_in_order(target.shape, target.strides)
    dims = tuple([target.shape[d] for d in axes])
    if not target.size:
        return
    steps = [tuple([target.strides[d] for d in axes])]
    pointers = [address(target)]
    numbers: list[str] = []
    if isinstance(source, View):
        spread = source.broadcast(target.shape)
        steps.append(tuple([spread.strides[d] for d in axes]))
        pointers.append(address(source))
    dims, steps = together(dims, steps)
    plain = item.expression == "{1}"
    kind = raw_type(target.dtype) if plain and isinstance(source, View) else c_type(target.dtype)
    if isinstance(source, View):
        given = f"AT(const {kind}, {at('a1', steps[1])})"
    elif kind == "double":
        numbers.append(source.text)
        given = "z0"
    else:
        given = source.text
    there = f"AT({kind}, {at('a0', steps[0])})"
    text = f"{there} = {item.expression.format(there, given)};"
    kernels.call(f"  {vectorised(dims)}{text}\n", pointers, numbers)


def vectorised(dims: Shape) -> str:
    """Return the heads of loops over dims, of which the last does not depend on its turns."""
    if not dims:
        return ""
    last = len(dims) - 1
    return f"{nest(dims[:-1])}\n  IVDEP {nest(dims[-1:], last)}"


def _kernel(kernels: Kernels, _: Storage, item: Kernel) -> None:
    kernels.call(item.text, [address(x) for x in (*item.outs, *item.given)])
    if item.may_miss:
        kernels.statements.append("if (*w) return 1;")


def _guard(kernels: Kernels, _: Storage, item: Guard) -> None:
    given = number(item.view)
    if type(item.answer) is bool:
        test = f"{'!' if item.answer else ''}{given}"
    else:
        test = f"{given} != {literal(item.answer, item.view.dtype)}"
    kernels.statements.append(f"if ({test}) return 1;")


_WRITERS: dict[type[Item], Callable[[Kernels, Storage, Any], None]] = {
    Group: _group,
    Copy: _copy,
    Kernel: _kernel,
    Guard: _guard,
}
