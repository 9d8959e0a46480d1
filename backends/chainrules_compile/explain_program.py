"""Text of a program for `explain`: arguments, passes, guards and allocations."""

from __future__ import annotations

import timeit
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from chainrules_compile.compile_one_call import CompiledProgram
from chainrules_compile.guards import PLAIN, Guards
from chainrules_compile.internal_functions import expect, expect_form
from chainrules_compile.loop_node import Loop
from chainrules_compile.passes.analysis import is_array, size
from chainrules_compile.passes.buffer_reuse import Into
from chainrules_compile.scope import Scope
from chainrules_py.program import Program


def explained(program: CompiledProgram, name: str) -> str:
    """Return a text of a program: its arguments, its passes, its guards, and its allocations."""
    facts = ", ".join([f"{name}: {fact}" for name, fact in program.facts])
    lines = [f"{name}({facts})"]
    lines += [f"  {title:13s}{n:6d} calls" for title, n in program.steps]
    lines += [f"  guard        {text}" for text in guarding(program.guards)]
    lines += [f"  {text}" for text in guards(program)]
    for title, each in zip(("recorded", "written"), program.calls, strict=True):
        lines.append("  {:12s} {:,} bytes, in {:,} arrays".format(title, *allocated(each)))
    return "\n".join(lines)


def guards(program: CompiledProgram) -> Iterator[str]:
    """Yield lines for the captured arrays and for the expected answers and shapes."""
    noted, written = program.calls
    known = {name for name, _ in program.facts}
    captured = [x for x in noted.inputs if x.name not in known]
    if captured:
        yield f"captured     {', '.join(map(repr, captured))}"
    answers: dict[str, int] = {}
    for call in written:
        if call.function is expect:
            asked = f"{call.options['kind'].__name__} is {call.operands[1]!r}"
        elif call.function is expect_form:
            asked = f"shape is {call.operands[1][0]}"
        else:
            continue
        answers[asked] = answers.get(asked, 0) + 1
    if answers:
        texts = [f"{asked}{f' ({n} times)' if n > 1 else ''}" for asked, n in answers.items()]
        yield f"guarded      {', '.join(texts)}"


def allocated(program: Program) -> tuple[int, int]:
    """Count the bytes and the arrays that a program allocates, in all iterations of its loops."""
    bytes_, arrays = 0, 0
    for call in program:
        f = call.function
        if type(f) is Loop:
            each = allocated(f.body)
            bytes_, arrays = bytes_ + each[0] * f.turns, arrays + each[1] * f.turns
        elif type(f) is not Into:
            new = [y for y in call.results if is_array(y) and y.memory is None and y.dtype]
            bytes_ += sum([size(y) * y.dtype.itemsize for y in new])
            arrays += len(new)
    return bytes_, arrays


def guarding(guards: Guards) -> Iterator[str]:
    """Yield a line for each guard, and the time that all guards take in a call."""
    for x in guards.lookups:
        value = f"module {x.value.__name__}" if isinstance(x.value, ModuleType) else repr(x.value)
        yield f"{x.name} {'==' if isinstance(x.value, PLAIN) else 'is'} {value[:40]}"
    scope, made = Scope(), dict[str, Any]()
    exec(f"def test():\n    {guards.line(scope)}\n", scope.data, made)  # noqa: S102
    yield f"all guards take {timeit.timeit(made['test'], number=2000) * 500:.2f} us"
