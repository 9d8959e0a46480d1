"""Ownership: outputs share no memory with inputs, constants, or each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_compile.internal_functions import laid_out
from chainrules_compile.passes.analysis import changed, contiguous, is_contiguous, roots, size
from chainrules_py.extend import type_info
from chainrules_py.ops.engine_operations import duplicate
from chainrules_py.program import Call, Program, Value

Layout = tuple[int, ...]


def with_own_outputs(program: Program) -> Program:
    """Return the program with copies of the outputs whose memory is shared.

    A copy keeps the order in memory of the axes.
    """
    if not any([is_held(x) for x in program.outputs]):
        return program
    of = roots(program)
    shared = {of[x] for x in (*program.inputs, *program.constants)}
    calls = list(program.calls)
    outputs: list[object] = []
    for i, x in enumerate(program.outputs):
        outputs.append(x)
        if not is_held(x):
            continue
        if of[x] in shared or (x.memory is not None and _is_part(x, x.memory)):
            copied, options, layout = _copied(x)
            outputs[i] = own = Value(f"{x.name}_own{i}", x.type, x.shape, x.dtype, None, layout)
            constant = program.constants.get(x)
            if constant is None or copied is laid_out or constant.tobytes().strip(b"\0"):
                calls.append(Call(copied, (x,), options, (own,)))
            else:  # no memory is read
                calls.append(Call(np.zeros, (x.shape,), {"dtype": x.dtype}, (own,)))
        shared.add(of[x])
    return changed(program, calls=tuple(calls), outputs=tuple(outputs))


def _copied(x: Value) -> tuple[Any, dict[str, Any], Layout]:
    """Return the function that copies an array, its options, and the layout of the copy."""
    shape, step = x.shape or (), x.dtype.itemsize
    if is_contiguous(x) or x.layout is None or 0 in (*shape, *x.layout):
        return duplicate, {}, contiguous(shape, step)
    long = [i for i, n in enumerate(shape) if n != 1]
    steps = dict(zip(long, x.layout, strict=True))
    axes = sorted(range(len(shape)), key=lambda i: -abs(steps.get(i, 0)))
    if axes == sorted(axes):
        return duplicate, {}, contiguous(shape, step)
    lies: Layout = contiguous(tuple([shape[i] for i in axes]), step)
    each = dict(zip([i for i in axes if shape[i] > 1], lies, strict=True))
    return laid_out, {"axes": tuple(axes)}, tuple([each[i] for i in long])


def is_held(x: Any) -> bool:
    """Return whether an output is a value that has memory."""
    return type(x) is Value and type_info(x.type or object).memory is not None


def _is_part(x: Value, root: Value) -> bool:
    """Return whether a view keeps much larger memory alive, or is broadcast."""
    part, whole = size(x), size(root)
    return 2 * part <= whole or part > whole
