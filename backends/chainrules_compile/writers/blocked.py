"""Writing of blocks: a loop over pieces of arrays, with memory for what nobody else needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_compile.passes.blocks import Blocked
from chainrules_compile.passes.values import is_array
from chainrules_compile.writers.shorter import takes_whole_numbers
from chainrules_compile.writers.spelling import Speller
from chainrules_py.program import Call, Value
from chainrules_py.vocabulary import divide


def block_lines(s: Speller, call: Call, targets: list[str]) -> list[str]:
    """Return the statements of a call of `Blocked`, whose results get these names."""
    return _Writing(s, call.function, targets).lines()


class _Writing:
    def __init__(self, s: Speller, blocked: Blocked, targets: list[str]) -> None:
        self.s = s
        self.blocked = blocked
        self.targets = targets
        self.names: dict[Value, str] = {}
        self._free: dict[Any, list[str]] = {}
        self._scratch: dict[str, Any] = {}

    def lines(self) -> list[str]:
        """Write memory, loop, and what the loop does."""
        b, s = self.blocked, self.s
        n, piece, empty = b.length, b.piece, s.bound(np.empty)
        i, j = s.local("i"), s.local("j")
        before, pieces = [], []
        for x in b.inputs:
            self.names[x] = s.text(x)
            if is_array(x) and x.shape != ():
                whole = s.text(x)
                if len(x.shape or ()) != 1:
                    whole = s.local(f"{whole}_flat")
                    before.append(f"{whole} = {s.text(x)}.reshape({n})")
                self.names[x] = s.local(f"{s.text(x)}_piece")
                pieces.append(f"{self.names[x]} = {whole}[{i}:{j}]")
        for y, target in zip(b.outputs, self.targets, strict=True):
            before.append(f"{target} = {empty}({s.text(y.shape)}{self._dtype(y.dtype)})")
            whole = target
            if len(y.shape or ()) != 1:
                whole = s.local(f"{target}_flat")
                before.append(f"{whole} = {target}.reshape({n})")
            self.names[y] = s.local(f"{target}_piece")
            pieces.append(f"{self.names[y]} = {whole}[{i}:{j}]")
        inside = self._calls()
        for name, dtype in self._scratch.items():
            before.append(f"{name} = {empty}({piece}{self._dtype(dtype)})")
        least, places = s.bound(min), s.bound(range)
        loop = [f"{j} = {least}({i} + {piece}, {n})", *pieces]
        if self._scratch and n % piece:
            last = [f"{name} = {name}[:{n % piece}]" for name in self._scratch]
            loop.append(f"if {i} == {n - n % piece}:")
            loop += [f"    {line}" for line in last]
        body = [f"    {line}" for line in (*loop, *inside)]
        return [*before, f"for {i} in {places}(0, {n}, {piece}):", *body]

    def _dtype(self, dtype: Any) -> str:
        return "" if dtype == np.float64 else f", {self.s.constant(dtype)}"

    def _calls(self) -> list[str]:
        calls, found = self.blocked.calls, []
        last = {x: i for i, call in enumerate(calls) for x in call.values}
        own = {*self.blocked.inputs, *self.blocked.outputs}
        for i, call in enumerate(calls):
            (y,) = call.results
            like = None if takes_whole_numbers(call.function) else y
            given = [self._operand(x, like) for x in call.operands]
            for x in dict.fromkeys(call.values):
                if x not in own and last[x] == i:
                    self._free.setdefault(x.dtype, []).append(self.names[x])
            if y not in own:
                self.names[y] = self._place(y.dtype)
            if y in last or y in own:
                found += self._line(call.function, given, self.names[y])
        return found

    def _line(self, function: Any, given: list[str], name: str) -> list[str]:
        if function is not divide:
            return [f"{self.s.bound(function)}({', '.join(given)}, out={name})"]
        state = self.s.scope.name(np.errstate, "errstate")
        return [
            f'with {state}(divide="ignore", invalid="ignore"):',
            f"    {self.s.bound(np.divide)}({', '.join(given)}, out={name})",
        ]

    def _operand(self, x: Any, y: Value | None) -> str:
        if type(x) is Value:
            return self.names[x]
        return self.s.operand(x, y)

    def _place(self, dtype: Any) -> str:
        free = self._free.get(dtype)
        if free:
            return free.pop()
        name = self.s.local(f"t{len(self._scratch) + 1}")
        self._scratch[name] = dtype
        return name
