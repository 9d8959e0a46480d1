"""Loops in source: a `for` statement for a call of a `Loop`."""

from __future__ import annotations

from typing import Any, Protocol

from chainrules_compile.loops import Loop
from chainrules_compile.passes.values import is_array, size
from chainrules_compile.scope import Scope
from chainrules_py.program import Call, Program, Value

LARGE = 200
"""From how many elements on the name of an array is given back when it is dead."""


class Writing(Protocol):
    """Writer of statements, in whose source a loop stands.

    Attributes
    ----------
    lines : list of str
        The statements so far.
    names : dict
        The name that each value has, or had last.
    free : list of str
        Names of what is dead.
    """

    scope: Scope
    lines: list[str]
    names: dict[Value, str]
    free: list[str]

    def new(self, x: Value) -> str:
        """Give a value a name that is free."""
        ...

    def unused(self, hint: str) -> str:
        """Return a name that nothing has."""
        ...

    def local(self, hint: str) -> str:
        """Return a name for what is read at once, the same one for each hint."""
        ...

    def text(self, x: Any) -> str:
        """Return an operand as an expression."""
        ...

    def statements(self, program: Program, staying: set[Value]) -> None:
        """Write the calls of a program."""
        ...


def write_loop(writing: Writing, call: Call, dying: list[Value]) -> None:
    """Write a call of a loop; some of its operands die at it."""
    _LoopWriting(writing, call, dying).write()


class _LoopWriting:
    def __init__(self, writing: Writing, call: Call, dying: list[Value]) -> None:
        self.to = writing
        self.call = call
        self.dying = set(dying)
        loop: Loop = call.function
        self.loop = loop
        self.same, self.carried, self.each = loop.split(loop.body.inputs)
        self.next, self.kept = loop.outputs(loop.body.outputs)
        self.ends, self.lists = loop.outputs(call.results)
        self.variables: list[str] = []
        self.ranges: list[str] = []
        self.start: list[str] = []

    def write(self) -> None:
        """Write what comes before the loop, the loop, and give back the names of one turn."""
        to, names, loop = self.to, self.to.names, self.loop
        same, firsts, sequences = loop.split(self.call.operands)
        for x, operand in zip(self.same, same, strict=True):
            names[x] = names[operand]
        for x, first in zip(self.carried, firsts, strict=True):
            self._carry(x, first)
        for x in self.lists:
            names[x] = to.unused("kept")
            to.lines.append(f"{names[x]} = []")
        for x, operand, back in zip(self.each, sequences, loop.backwards, strict=True):
            self._sequence(x, operand, back)
        outside, to.lines = to.lines, [*self.start]
        carries = [names[x] for x in self.carried]
        to.statements(loop.body, {*self.same, *self.carried})
        self._end_of_turn(carries)
        if not to.lines:
            to.lines.append("pass")
        inside, to.lines = to.lines, outside
        to.lines.append(f"for {self._header()}:")
        to.lines += ["    " + line.replace("\n", "\n    ") for line in inside]
        for y, name in zip(self.ends, carries, strict=True):
            names[y] = name
        self._give_back()

    def _carry(self, x: Value, first: Value) -> None:
        """Give a carried value its name: that of the first, if nobody else needs it."""
        to, names = self.to, self.to.names
        alone = self.call.values.count(first) == 1 and first in self.dying
        if alone and first.type is not list:
            names[x] = names[first]
        else:
            to.lines.append(f"{to.new(x)} = {names[first]}")

    def _sequence(self, x: Value, operand: Any, back: bool) -> None:
        """Have a value be each of a sequence in turn; an array goes where the loop makes others.

        So does a large one in any case: to take it from its list costs as much as a call of 20 ns.
        """
        to, name = self.to, self.to.new(x)
        alone = operand in self.dying and self.call.values.count(operand) == 1
        if alone and is_array(x) and (self.lists or size(x) > LARGE):
            if not back:
                to.lines.append(f"{to.names[operand]}.reverse()")
            self.start.append(f"{name} = {to.names[operand]}.pop()")
            return
        text = to.names[operand]
        self.variables.append(name)
        self.ranges.append(f"{self._builtin(reversed)}({text})" if back else text)

    def _builtin(self, function: Any) -> str:
        return self.to.scope.name(function, function.__name__)

    def _end_of_turn(self, carries: list[str]) -> None:
        """Write what a turn leaves for others."""
        to = self.to
        for x, y in zip(self.kept, self.lists, strict=True):
            to.lines.append(f"{to.names[y]}.append({to.text(x)})")
        pairs = [(c, to.text(x)) for c, x in zip(carries, self.next, strict=True)]
        if pairs := [(c, text) for c, text in pairs if c != text]:
            left, right = zip(*pairs, strict=True)
            to.lines.append(f"{', '.join(left)} = {', '.join(right)}")

    def _header(self) -> str:
        if not self.variables:
            return f"{self.to.local('_')} in {self._builtin(range)}({self.loop.turns})"
        if len(self.variables) == 1:
            return f"{self.variables[0]} in {self.ranges[0]}"
        zipped = f"{self._builtin(zip)}({', '.join(self.ranges)})"
        return f"{', '.join(self.variables)} in {zipped}"

    def _give_back(self) -> None:
        """Give back the names of one turn that mean nothing any more."""
        to, names = self.to, self.to.names
        made = {y for call in self.loop.body for y in call.results}
        living = {names[y] for y in self.ends}
        for x in dict.fromkeys([y for y in (*self.next, *self.kept) if y in made]):
            name = names[x]
            if name in living or name in to.free:
                continue
            if is_array(x) and size(x) > LARGE:
                to.lines.append(f"{name} = None")
            to.free.append(name)
