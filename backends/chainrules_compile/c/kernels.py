"""Kernels: functions of C, one for each text; programs repeat themselves, compilers need not."""

from __future__ import annotations

from collections.abc import Iterable

from chainrules_compile.c.compilers import CompilerError
from chainrules_compile.c.memory import Shape
from chainrules_compile.c.turns import Line, rolled

_CHUNK = 300
"""How many statements a function of the driver has: long ones cost compilers more than that."""


MOST_STATEMENTS = 20_000
"""Longer programs stay NumPy's; the turns of a loop count once."""

_QUICKLY = 'NOINLINE __attribute__((optimize("O1")))'
_DRIVEN = "char** I, char** O, char* w, void** L"


class Kernels:
    """Functions that a program calls, and the statements that call them.

    Attributes
    ----------
    statements : list of str
        What the program does, in order.
    threads : int
        How many threads large groups run on.
    scratch : int
        How many bytes of scratch memory each has.
    """

    def __init__(self, name: str, threads: int = 1, scratch: int = 0) -> None:
        self._name = name
        self.threads = threads
        self.scratch = scratch
        self.statements: list[str] = []
        self._texts: dict[str, str] = {}

    def call(self, body: str, pointers: Iterable[str]) -> None:
        """Call a kernel of this text, whose pointers are ``a0``, ``a1`` and so on."""
        given = ["L", "w", *pointers]
        parameters = "".join([f", char* a{i}" for i in range(len(given) - 2)])
        text = f"(void** L, char* s{parameters}) {{\n{body}}}"
        name = self._texts.setdefault(text, f"{self._name}_{len(self._texts)}")
        self.statements.append(f"{name}({', '.join(given)});")

    def text(self) -> str:
        """Return all kernels, and the function that calls them."""
        lines = [f"NOINLINE void {kernel}{text}" for text, kernel in self._texts.items()]
        lines += _driver(self._name, rolled(self.statements))
        return "\n".join(lines)


def _driver(name: str, statements: list[Line]) -> list[str]:
    """Write the function that says each statement."""
    size = sum([line.size for line in statements])
    if size > MOST_STATEMENTS:
        msg = f"a program of {size} statements is too long for a compiler of C"
        raise CompilerError(msg)
    chunks = _chunks(statements)
    head = "NOINLINE" if len(chunks) == 1 else _QUICKLY
    lines = []
    for i, chunk in enumerate(chunks):
        lines.append(f"{head} int {name}_part{i}({_DRIVEN}) {{")
        lines += [f"  {line.text}" for line in chunk]
        lines.append("  return 0;\n}")
    calls = " || ".join([f"{name}_part{i}(I, O, w, L)" for i in range(len(chunks))]) or "0"
    return [*lines, f"int {name}({_DRIVEN}) {{ return {calls}; }}"]


def _chunks(statements: list[Line]) -> list[list[Line]]:
    chunks: list[list[Line]] = []
    room = 0
    for line in statements:
        if room < line.size:
            chunks.append([])
            room = _CHUNK
        chunks[-1].append(line)
        room -= line.size
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
