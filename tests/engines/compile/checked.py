"""Programs that check themselves as they run: what was noted of each value, and what is written to.

A program writes over the memory of what it needs no more. What shares that memory is known by the
calls that gave views, and by how arrays lie; here it is asked of NumPy, each time.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import dataclasses
import weakref
from typing import Any

import numpy as np

from chainrules_compile import compile
from chainrules_compile.passes.buffer_reuse import Into
from chainrules_compile.writers.numpy_source import NumpyWriting


def layout(x):
    return tuple([step for step, n in zip(x.strides, x.shape, strict=True) if n > 1])


def is_of(x, cls):
    """Tell whether a value has a class; of plain numbers a quotient by zero is NumPy's float."""
    return type(x) is cls or (cls is float and type(x) is np.float64)


class Run:
    """Checks of one run of a program."""

    def __init__(self, program, given):
        self.calls, self.uses, self.values = program.calls, program.uses(), []
        for value, x in given:
            if isinstance(x, np.ndarray):
                self.values.append((value, weakref.ref(x), True))

    def check(self, i, *found):
        call = self.calls[i]
        for value, x in zip(call.results, found, strict=True):
            if value.type is None or x is None:
                continue
            assert is_of(x, value.type), f"{call} gave a {type(x)}"
            if isinstance(x, np.ndarray):
                facts = x.shape, x.dtype, layout(x) if x.size else value.layout
                wanted = value.shape, value.dtype, value.layout
                assert facts == wanted, f"{call} gave {facts}, and {wanted} was noted"
        if type(call.function) is Into:
            self.check_written(i, call, found[0])
        for value, x in zip(call.results, found, strict=True):
            if isinstance(x, np.ndarray):
                self.values.append((value, weakref.ref(x), False))

    def check_written(self, i, call, x):
        """Raise if somebody sees memory that was written to."""
        for value, reference, given in self.values:
            y = reference()
            if y is None or not np.shares_memory(x, y):
                continue
            assert not given, f"{call} writes to {value}, which was given"
            later = [place for place in self.uses[value] if place > i]
            assert not later, f"{call} writes over {value}, which is used in {later}"


class Checking(NumpyWriting):
    """Writing with a line after each call."""

    def body(self):
        dataclasses.replace(self.program)  # which looks at all values
        names = [f"({self.constant(_Kept(x))}.value, {self.names[x]})" for x in self._given]
        program = self.scope.name(_Kept(self.program), "program")
        start = f"run = {self.bound(Run)}({program}.value, [{', '.join(names)}])"
        self.scope["run"] = None
        body = super().body()
        body.lines.insert(0, start)
        return body

    def telling(self):
        return range(len(self.program))

    def wrote(self, i, call):
        found = [self.names.get(x, "None") if self.uses[x] else "None" for x in call.results]
        if call.results:
            self.lines.append(f"run.check({', '.join([str(i), *found])})")

    @property
    def uses(self):
        found = self.__dict__.get("_uses")
        if found is None:
            found = self.__dict__["_uses"] = self.program.uses()
        return found


class _Kept:
    def __init__(self, value: object) -> None:
        self.value = value


def compile_checked(f: Any, **keywords: Any) -> Any:
    """Compile a function to programs that check themselves."""
    compiled = compile(f, **keywords)
    write = lambda program, names, scope: Checking(program, names, scope).body()
    compiled._setting = compiled._setting._replace(write=write)
    return compiled
