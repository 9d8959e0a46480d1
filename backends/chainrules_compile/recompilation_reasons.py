"""Reasons why one function has many programs: the guards whose answers differ between them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chainrules_compile.compile_one_call import CompiledProgram
from chainrules_compile.internal_functions import expect, expect_form, is_finite, name_of
from chainrules_compile.writers.call_source import OPERATORS
from chainrules_py.ops.engine_operations import read
from chainrules_py.program import Call, Program, Value

NOTHING_ELSE = "they differ in what was captured, or in how arguments lie in memory"
IN_A_ROW = 3
"""Number of recordings in vain after which a function runs uncompiled."""
_MOST = 3
"""Number of guards that a message lists."""


def why_many(programs: Sequence[CompiledProgram], needed: Mapping[str, str]) -> str:
    """Return a text of how programs differ, largest differences first, and how to avoid them.

    It lists static arguments, and the guards of the function whose answers differed. `needed` has
    the refusals because of which arguments are static without being named in ``static=``.
    """
    facts: dict[tuple[str, str], set[str]] = {}
    asked: dict[tuple[str, str], list[Any]] = {}
    for program in programs:
        for name, fact in program.facts:
            facts.setdefault(_place(name, program.source), set()).add(fact)
        for key, answer in dict(_questions(program.recorded)).items():
            asked.setdefault(key, []).append(answer)
    found = [
        (
            len(each),
            f"{place} was {_some(sorted(each))}",
            needed.get(name, _REMEDIES["argument" if name == place else "part"]),
        )
        for (name, place), each in facts.items()
    ]
    for (kind, text), answers in asked.items():
        different = [*dict.fromkeys(map(repr, answers))]
        found.append(
            (
                len(different),
                f"{kind}({text}) was asked in {len(answers)} programs, and was {_some(different)}",
                _REMEDIES.get(kind, _REMEDIES["int"]),
            )
        )
    # The guards after a branch may depend on its answer.
    told = sorted([x for x in found if x[0] > 1], key=lambda x: -x[0])[:_MOST]
    if not told:
        return NOTHING_ELSE
    _, facts_told, remedies = zip(*told, strict=True)
    return f"{'; '.join(facts_told)}: {'; '.join(dict.fromkeys(remedies))}"


def _place(name: str, source: str) -> tuple[str, str]:
    """Return the name of a value in a program, and its place in an argument as users write it."""
    found = re.search(rf"^    {name} = (\w+)([.[].*)$", source, re.MULTILINE)
    if found is None or f"**{found[1]}" in source:  # a keyword
        return name, name
    return name, _place(found[1], source)[1] + found[2]


def why_in_a_row(programs: Sequence[CompiledProgram], needed: Mapping[str, str]) -> str:
    """Return why the last recordings were in vain, and how to avoid that; empty if they were not.

    They were if three programs of the newest one's signature do not recur, and differ in more than
    layouts. Each that recurs excuses two that do not: they may be branches not yet seen again.
    """
    same = [x for x in programs if x.signature == programs[0].signature]
    once = [x for x in same if not x.recurs]
    if len(once) - 2 * (len(same) - len(once)) < IN_A_ROW:
        return ""
    differ = [x.guards.differing(y.guards) for x, y in itertools.pairwise(once)]
    differ.append(set(once[0].guards.changed()))
    if all(differ):
        text = ", ".join(sorted(set.intersection(*differ) or set.union(*differ)))
        why = (
            f"{text} is another each time; pass {text} as an argument, or name a global otherwise "
            f"than the attribute that is read"
        )
    elif (why := why_many(once, needed)) == NOTHING_ELSE:
        return ""
    return f"recorded {len(once)} times for too few calls, and runs as it is: {why}"


def none_fits(
    programs: Sequence[CompiledProgram], unkept: int, last: str, needed: Mapping[str, str]
) -> str:
    """Return the message that no more programs are recorded, and why.

    If more calls gave no program than there are programs, `last` is the reason of the last one.
    """
    if unkept <= len(programs):
        return (
            f"has {len(programs)} programs, and none fits this call, which runs as it is; "
            f"{why_many(programs, needed)}"
        )
    return (
        f"has {len(programs)} programs, and {unkept} calls that gave none; those that no program "
        f"fits run as they are from now on. The last {last}"
    )


_REMEDIES = {
    "argument": "pass what varies as an array or a floating number, or name it in static=, and "
    "give arrays of few shapes",
    "part": "pass what varies as an array or a floating number, float(n) for a count n, and give "
    "arrays of few shapes",
    "bool": "write np.where(test, x, y) for a branch by a number",
    "int": "use the number as a place alone, x[i], or compute with it in arrays",
    "by_numpy": "call it outside, and pass what it gives as an argument",
    "shape": "write np.where(mask, x, 0) for x[mask], whose shape depends on numbers",
}


def _some(texts: Sequence[str]) -> str:
    return ", ".join(texts[:_MOST]) + f" ... ({len(texts)} in all)" * (len(texts) > _MOST)


def _questions(program: Program) -> Iterator[tuple[tuple[str, str], Any]]:
    """Yield the guards of a program that a person wrote, by kind and text, with the answers."""
    made = {y: call for call in program.calls for y in call.results}
    for call in program.calls:
        asked = made.get(call.operands[0]) if call.function is expect else call
        if call.function is expect and getattr(asked, "function", None) is not is_finite:
            yield (
                (
                    call.options["kind"].__name__.replace("index", "int"),
                    _text(call.operands[0], made, 3),
                ),
                call.operands[1],
            )
        elif call.function is expect_form:
            yield ("shape", _text(call.operands[0], made, 3)), call.operands[1][0]
        elif constants := getattr(call.options.get("run"), "constants", None):
            yield ("by_numpy", name_of(call.options["run"].f)), constants


def _text(x: Any, made: dict[Value, Call], depth: int) -> str:
    """Return the expression of a value as source text, abbreviated beyond a depth."""
    call = made.get(x) if type(x) is Value else None
    if call is None:
        return x.name if type(x) is Value else repr(x)[:20]
    if not depth:
        return "..."
    operands = [_text(y, made, depth - 1) for y in call.operands]
    if len(operands) == 2 and (sign := OPERATORS.get(call.function)) is not None:
        return f"{operands[0]} {sign} {operands[1]}"
    if call.function is read and len(operands) == 1:
        return f"{operands[0]}[{repr(call.options['index'])[6:-1]}]"
    return f"{name_of(call.function)}({', '.join(operands)})"
