"""Ownership: outputs share no memory with inputs, constants, and each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_compile.calls import laid_out
from chainrules_compile.passes.values import changed, contiguous, is_contiguous, roots, size
from chainrules_py.extend import type_info
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary.views import duplicate

Layout = tuple[int, ...]


def with_own_outputs(program: Program) -> Program:
    """Return the program with copies of those outputs whose memory somebody else has."""
    return _with_copies(program, lambda x: (duplicate, {}, _in_order(x)))


def with_own_outputs_as_they_lie(program: Program) -> Program:
    """Return the program with such copies in the order of the axes that the outputs have."""
    return _with_copies(program, _as_it_lies)


def _in_order(x: Value) -> Layout:
    return contiguous(x.shape or (), x.dtype.itemsize)


def _as_it_lies(x: Value) -> tuple[Any, dict[str, Any], Layout]:
    """Return what copies an array, with its options, and how the copy lies."""
    if is_contiguous(x) or x.layout is None:
        return duplicate, {}, _in_order(x)
    long = [i for i, n in enumerate(x.shape or ()) if n != 1]
    step = dict(zip(long, x.layout, strict=True))
    axes = sorted(range(len(x.shape or ())), key=lambda i: -abs(step.get(i, 0)))
    return laid_out, {"axes": tuple(axes)}, x.layout


def _with_copies(program: Program, way: Callable[[Value], Any]) -> Program:
    if not any([is_held(x) for x in program.outputs]):
        return program
    of = roots(program)
    shared = {of[x] for x in (*program.inputs, *program.constants)}
    calls = list(program.calls)
    outputs: list[object] = []
    for i, x in enumerate(program.outputs):
        if not is_held(x):
            outputs.append(x)
            continue
        root = of[x]
        if root in shared or (x.memory is not None and _is_part(x, x.memory)):
            copied, options, layout = way(x)
            own = Value(f"{x.name}_own{i}", x.type, x.shape, x.dtype, None, layout)
            calls.append(Call(copied, (x,), options, (own,)))
            outputs.append(own)
        else:
            outputs.append(x)
        shared.add(root)
    return changed(program, calls=tuple(calls), outputs=tuple(outputs))


def is_held(x: Any) -> bool:
    """Tell whether an output is a value that has memory."""
    return type(x) is Value and type_info(x.type or object).memory is not None


def _is_part(x: Value, root: Value) -> bool:
    """Tell whether a view would keep memory that is much larger alive, or cannot be written to."""
    if x is root:
        return False
    part, whole = size(x), size(root)
    return 2 * part <= whole or part > whole
