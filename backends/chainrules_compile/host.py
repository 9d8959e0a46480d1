"""Host of noted values: asked what a call of a word with one among its operands runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile.calls import made_again
from chainrules_compile.errors import RecordingError, Unfit
from chainrules_compile.noted import Noted
from chainrules_compile.recorder import Recorder, shares
from chainrules_compile.scans import rolled_scan
from chainrules_kit import listeners
from chainrules_py import Primitive, vocabulary
from chainrules_py.extend import flatten, plain, register_host
from chainrules_py.program import Call
from chainrules_py.vocabulary import add_along_axis, add_at, copy, report
from chainrules_py.vocabulary.higher_order import scanning


def host(
    word: Primitive[..., Any],
    classes: tuple[type, ...],
    implementation: Callable[..., Any] | None,
) -> Callable[..., Any] | None:
    """Return the function that a call of a word with noted operands runs."""
    if implementation is None:
        return None
    if word in (add_at, add_along_axis):
        return adding(word, implementation)
    function: Any = implementation if isinstance(implementation, np.ufunc) else word
    compute = implementation
    if implementation is word._fallback or (implementation is word.__wrapped__ and not word.opaque):
        return lambda *operands, **options: inline(word, compute, operands, options)

    def call(*operands: Any, **options: Any) -> Any:
        recorder = recorder_of(operands)
        if recorder is None:
            return compute(*operands, **options)
        if word is copy and shares.get():
            return operands[0]
        recorder.words.add(word)
        if options.keys() != word.options.keys():
            operands, options = word.normalise(operands, options)
        return recorder.compute(function, compute, operands, options)

    return call


def inline(word: Any, body: Any, operands: Any, options: Any) -> Any:
    """Call the body of a word on noted values; note the word itself if it needs plain ones."""
    recorder = recorder_of(operands)
    if recorder is None:
        return body(*operands, **options)
    recorder.words.add(word)
    if word is report and bool(vocabulary.any(operands[0])):
        msg = "a derivative is not determined here"
        raise Unfit(msg, once=True)  # the function itself warns, or raises
    mark = recorder.mark()
    try:
        return body(*operands, **options)
    except RecordingError:
        recorder.go_back(mark)
        operands, options = word.normalise(operands, options)
        return recorder.compute(word, body, operands, options)


def adding(word: Any, compute: Any) -> Callable[..., Any]:
    """Return what a call runs of a word that adds to a buffer."""

    def call(x: Any, *rest: Any, **options: Any) -> Any:
        recorder = recorder_of((x, *rest))
        if recorder is None:
            return compute(x, *rest, **options)
        return recorder.add_at(word, x, rest, options)

    return call


def recorder_of(operands: tuple[Any, ...]) -> Recorder | None:
    """Return the recorder of the noted values among operands, or in them.

    There may be none: what an engine looks up once for a call is run for what comes to it, as a
    cotangent in which nothing is noted beside a plain array that was captured.
    """
    for x in operands:
        if isinstance(x, Noted):
            return x.recorder  # type: ignore[no-any-return]
    return next((x.recorder for x in flatten(operands)[0] if isinstance(x, Noted)), None)


def mark_again(given: Any, begins: bool) -> None:
    """Note that calls are made again of some values, from here on or so far."""
    recorder = recorder_of(tuple(map(plain, flatten(given)[0])))
    if recorder is not None:
        recorder.calls.append(Call(made_again, (begins,), {}, ()))


@functools.cache
def listen() -> None:
    """Have calls of words on noted values come here."""
    listeners.append(mark_again)
    scanning.append(rolled_scan)
    register_host(Noted, host)
