"""Kernels: functions of C, one for each text; programs repeat themselves, compilers need not."""

from __future__ import annotations

from collections.abc import Iterable

from chainrules_native.compilers import CompilerError
from chainrules_native.memory import Shape
from chainrules_native.turns import rolled

_CHUNK = 300
"""How many statements a function of the driver has: long ones cost compilers more than that."""


MOST_STATEMENTS = 20_000
"""Longer programs stay NumPy's; what is a loop counts once."""


class Kernels:
    """Functions that a program calls, and the statements that call them.

    Attributes
    ----------
    statements : list of str
        What the program does, in order.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.statements: list[str] = []
        self._texts: dict[tuple[str, str], str] = {}
        self._functions: dict[tuple[str, str], str] = {}

    def call(self, body: str, pointers: Iterable[str], numbers: Iterable[str] = ()) -> None:
        """Call a kernel of this text, whose pointers are ``a0``, ... and numbers ``z0``, ..."""
        pointers, numbers = list(pointers), list(numbers)
        parameters = ["void** L", "char* s"]
        parameters += [f"char* a{i}" for i in range(len(pointers))]
        parameters += [f"const double z{i}" for i in range(len(numbers))]
        self.call_text(", ".join(parameters), body, ["L", "w", *pointers, *numbers])

    def function(self, parameters: str, body: str) -> str:
        """Return the name of a function that kernels call."""
        key = parameters, body
        return self._functions.setdefault(key, f"{self._name}_loop{len(self._functions)}")

    def call_text(self, parameters: str, body: str, given: list[str]) -> None:
        """Call a kernel."""
        name = self._texts.setdefault((parameters, body), f"{self._name}_{len(self._texts)}")
        self.statements.append(f"{name}({', '.join(given)});")

    def text(self) -> str:
        """Return all kernels, and the function that calls them."""
        lines, name = [], self._name
        for (parameters, body), function in self._functions.items():
            lines.append(f"NOINLINE void {function}({parameters}) {{\n{body}}}")
        for (parameters, body), kernel in self._texts.items():
            before, _, inside = body.rpartition("/*BODY*/")
            lines.append(before.replace("KERNEL", kernel))
            lines.append(
                f"NOINLINE void {kernel}({parameters}) {{\n{inside.replace('KERNEL', kernel)}}}"
            )
        statements = rolled(self.statements)
        size = sum([n for _, n in statements])
        if size > MOST_STATEMENTS:
            msg = f"a program of {size} statements is too long for a compiler of C"
            raise CompilerError(msg)
        chunks = _chunks(statements)
        for i, chunk in enumerate(chunks):
            head = (
                "NOINLINE int"
                if len(chunks) == 1
                else 'NOINLINE __attribute__((optimize("O1"))) int'
            )
            lines.append(f"{head} {name}_part{i}(char** I, char** O, char* w, void** L) {{")
            lines += [f"  {statement}" for statement in chunk]
            lines.append("  return 0;\n}")
        calls = " || ".join([f"{name}_part{i}(I, O, w, L)" for i in range(len(chunks))]) or "0"
        lines.append(f"int {name}(char** I, char** O, char* w, void** L) {{ return {calls}; }}")
        return "\n".join(lines)


def _chunks(statements: list[tuple[str, int]]) -> list[list[str]]:
    chunks: list[list[str]] = []
    room = 0
    for statement, size in statements:
        if room < size:
            chunks.append([])
            room = _CHUNK
        chunks[-1].append(statement)
        room -= size
    return chunks


def nest(dims: Shape, first: int = 0) -> str:
    """Return the heads of loops over dims."""
    return "".join([head(d, n) for d, n in enumerate(dims, first)])


def head(d: int, n: int) -> str:
    """Return the head of a loop over a dim."""
    return f"for (I i{d} = 0; i{d} < {n}; i{d}++) "


def at(pointer: str, strides: Shape) -> str:
    """Return an address in such loops."""
    steps = "".join([f" + i{d} * {step}" for d, step in enumerate(strides) if step])
    return pointer + steps
