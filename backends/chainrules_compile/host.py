"""Host of noted values: asked what a call of a word with one among its operands runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile.errors import RecordingError
from chainrules_compile.noted import Noted
from chainrules_compile.recorder import Recorder
from chainrules_py import Primitive
from chainrules_py.extend import flatten, register_host
from chainrules_py.vocabulary import add_along_axis, add_at


def host(
    word: Primitive[..., Any],
    classes: tuple[type, ...],
    implementation: Callable[..., Any] | None,
) -> Callable[..., Any] | None:
    """Return the function that a call of a word with noted operands runs."""
    if implementation is None:
        return None
    if word in (add_at, add_along_axis):
        return lambda x, *rest, **options: recorder_of((x, *rest)).add_at(word, x, rest, options)
    function: Any = implementation if isinstance(implementation, np.ufunc) else word
    compute = implementation
    if implementation is word._fallback or (implementation is word.__wrapped__ and not word.opaque):
        return lambda *operands, **options: inline(word, compute, operands, options)

    def call(*operands: Any, **options: Any) -> Any:
        recorder = recorder_of(operands)
        recorder.words.add(word)
        if options.keys() != word.options.keys():
            operands, options = word.normalise(operands, options)
        return recorder.compute(function, compute, operands, options)

    return call


def inline(word: Any, body: Any, operands: Any, options: Any) -> Any:
    """Call the body of a word on noted values; note the word itself if it needs plain ones."""
    recorder = recorder_of(operands)
    recorder.words.add(word)
    mark = recorder.mark()
    try:
        return body(*operands, **options)
    except RecordingError:
        recorder.go_back(mark)
        operands, options = word.normalise(operands, options)
        return recorder.compute(word, body, operands, options)


def recorder_of(operands: tuple[Any, ...]) -> Recorder:
    """Return the recorder of the noted values among operands, or in them."""
    noted = next(x for x in (*operands, *flatten(operands)[0]) if isinstance(x, Noted))
    recorder: Recorder = noted.recorder
    return recorder


def listen() -> None:
    """Have calls of words on noted values come here."""
    if Noted not in _listening:
        _listening.add(Noted)
        register_host(Noted, host)


_listening: set[type] = set()
