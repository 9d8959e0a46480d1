"""Host of recorded values: the function that an operation on them runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile.errors import Unfit
from chainrules_compile.internal_functions import made_again
from chainrules_compile.recorded_values import Noted
from chainrules_compile.recorder import Recorder, shares
from chainrules_compile.scan_primitive import rolled_scan
from chainrules_compile.statistics_steps import in_steps
from chainrules_kit import UNFIT, listeners
from chainrules_py import Primitive, ops
from chainrules_py.extend import flatten, plain, register_host
from chainrules_py.ops import add_along_axis, add_at, copy, log_softmax, logsumexp, report, softmax
from chainrules_py.ops.higher_order import scanning
from chainrules_py.program import Call


def host(
    operation: Primitive[..., Any],
    classes: tuple[type, ...],
    implementation: Callable[..., Any] | None,
) -> Callable[..., Any] | None:
    """Return the function that a call of an operation with recorded operands runs."""
    if implementation is None:
        return None
    function: Any = implementation if isinstance(implementation, np.ufunc) else operation
    if operation in (logsumexp, softmax, log_softmax):
        implementation = operation._fallback  # loops that every target can join with others
    compute: Any = implementation
    if implementation is operation._fallback or (
        implementation is operation.__wrapped__ and not operation.opaque
    ):
        return lambda *operands, **options: inline(operation, compute, operands, options)

    def call(*operands: Any, **options: Any) -> Any:
        recorder = recorder_of(operands)
        if recorder is None:
            return compute(*operands, **options)
        if operation in (add_at, add_along_axis):
            return recorder.add_at(operation, operands[0], operands[1:], options)
        if operation is copy and shares.get():
            return operands[0]
        if (y := in_steps(operation, operands, options)) is not None:
            return y
        recorder.operations.add(operation)
        if options.keys() != operation.options.keys():
            operands, options = operation.normalise(operands, options)
        return recorder.compute(function, compute, operands, options)

    return call


def inline(operation: Any, body: Any, operands: Any, options: Any) -> Any:
    """Call the body of an operation on recorded values; record the operation if that fails."""
    recorder = recorder_of(operands)
    if recorder is None:
        return body(*operands, **options)
    recorder.operations.add(operation)
    if operation is report and bool(ops.any(operands[0])):
        raise Unfit(
            "a derivative is not determined here", once=True
        )  # the function itself warns, or raises
    mark = recorder.mark()
    try:
        return body(*operands, **options)
    except UNFIT:  # NumPy's errors too: C code refuses the arrays of objects that it is given
        recorder.go_back(mark)
        operands, options = operation.normalise(operands, options)
        return recorder.compute(operation, body, operands, options)


def recorder_of(operands: tuple[Any, ...]) -> Recorder | None:
    """Return the recorder of the recorded values in the operands; None if there are none.

    An engine looks the function of a call up once, and may then call it without recorded values,
    for example with a plain cotangent and a captured array.
    """
    for x in operands:
        if isinstance(x, Noted):
            return x.recorder  # type: ignore[no-any-return]
    return next((x.recorder for x in flatten(operands)[0] if isinstance(x, Noted)), None)


def mark_again(given: Any, begins: bool) -> None:
    """Mark in the record that a checkpoint begins or ends to recompute calls."""
    recorder = recorder_of(tuple(map(plain, flatten(given)[0])))
    if recorder is not None:
        recorder.calls.append(Call(made_again, (begins,), {}, ()))


@functools.cache
def listen() -> None:
    """Register the host for operations on recorded values, for scans and for checkpoints."""
    listeners.append(mark_again)
    scanning.append(rolled_scan)
    register_host(Noted, host)
