"""Guards in source: what a program asks, and returns ``MISS`` where the answer is another."""

from __future__ import annotations

from typing import Any, Protocol

from chainrules_compile.calls import MissError, expect, expect_form
from chainrules_compile.errors import MISS
from chainrules_compile.writers.spelling import Speller
from chainrules_py.program import Call


class Asker(Speller, Protocol):
    """Writer of NumPy source, which writes questions."""

    def call(self, call: Call) -> str:
        """Return a call as an expression."""
        ...

    def asked(self, x: Any) -> str:
        """Return a question as an expression that `not` may stand before."""
        ...


def guard_line(s: Asker, call: Call) -> str:
    """Return the line that asks, and returns where the answer is another."""
    miss = s.scope.name(MISS, "MISS")
    if call.function in (expect, expect_form):
        return f"if {test_of(s, call)}: return {miss}"
    error = s.scope.name(MissError, "MissError")
    return f"try: {s.call(call)}\n    except {error}: return {miss}"


def test_of(s: Asker, call: Call) -> str:
    """Return what is true where an answer, or the form of a value, is another than was noted."""
    if call.function is expect:
        x, answer = call.operands
        kind = call.options["kind"]
        if kind is bool:
            return f"{'not ' if answer else ''}{s.asked(x)}"
        if kind is type:
            return f"{s.text(x)}.__class__ is not {s.constant(answer)}"
        return f"{s.bound(kind)}({s.text(x)}) != {answer!r}"
    x, (shape, dtype, *lies) = call.operands
    text = s.text(x)
    test = f"{text}.shape != {shape!r} or {text}.dtype != {s.constant(dtype)}"
    if lies:
        test = f"{text}.__class__ is not {s.constant(x.type)} or {test}"
        is_c, strides = lies == [None], f"{text}.strides != {lies[0]!r}"
        test += f" or {f'not {text}.flags.c_contiguous' if is_c else strides}"
    return test
