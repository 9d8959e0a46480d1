"""Kernels: C functions, one for each distinct text, and the driver that calls them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

from chainrules_compile.c.buffers import Shape
from chainrules_compile.c.compilers import CompilerError
from chainrules_compile.c.rolled_loops import HOLE, Line, filled, rolled

_CHUNK = 300
"""Maximum number of statements of a driver function: compile time grows faster than length."""


MOST_STATEMENTS = 20_000
"""Maximum number of statements in C; a loop, or a form in a table, counts once."""

_FEWEST_IN_TABLE = 2000
"""Minimum number of statements in a table: a compiler takes 0.5 ms each, a row 3 ns per run."""

_MOST_FORMS = 1000
"""Maximum number of cases of a table driver; more take longer to compile than statements."""

_FEWEST_ALIKE = 4
"""Minimum number of kernels that differ in numbers alone for which one is compiled."""

_FLOAT = re.compile(r"-?0x[0-9a-f.]+p[+-]\d+f?")
_QUICKLY = 'NOINLINE __attribute__((optimize("O1")))'
_DRIVEN = "char** I, char** O, char* w, void** L"


class Kernels:
    """Functions of a program, and the statements that call them.

    Attributes
    ----------
    statements : list of str
        The statements of the program, in order.
    threads : int
        The number of threads that large groups run on.
    scratch : int
        The scratch memory of each thread in bytes.
    """

    def __init__(self, name: str, threads: int = 1, scratch: int = 0) -> None:
        self._name = name
        self.threads = threads
        self.scratch = scratch
        self.statements: list[str] = []
        self._texts: dict[str, str] = {}

    def call(self, body: str, pointers: Iterable[str]) -> None:
        """Append a call of the kernel with this text; its pointers are ``a0``, ``a1``, ..."""
        given = ["L", "w", *pointers]
        parameters = "".join([f", char* a{i}" for i in range(len(given) - 2)])
        text = f"(void** L, char* s{parameters}) {{\n{body}}}"
        name = self._texts.setdefault(text, f"{self._name}_{len(self._texts)}")
        self.statements.append(f"{name}({', '.join(given)});")

    def text(self) -> str:
        """Return all kernels, and the driver that calls them."""
        lines = self._kernels()
        statements = rolled(self.statements)
        lines += _tabled(self._name, statements) or _straight(self._name, statements)
        return "\n".join(lines)

    def _kernels(self) -> list[str]:
        """Return the kernels; those that differ in numbers alone are one, which reads these."""
        alike: dict[str, dict[str, list[str]]] = {}
        for text, kernel in self._texts.items():
            alike.setdefault(_FLOAT.sub(HOLE, text), {})[kernel] = _FLOAT.findall(text)
        lines, table = [], list[str]()
        heads: dict[str, str] = {}
        for form, found in alike.items():
            if len(found) < _FEWEST_ALIKE:
                lines += [f"NOINLINE void {kernel}{filled(form, x)}" for kernel, x in found.items()]
                continue
            name, first = next(iter(found.items()))
            lines.append(f"NOINLINE void {name}{_reading(form, first)}")
            for kernel, numbers in found.items():
                heads[kernel] = f"{name}({self._name}_numbers + {len(table)}, "
                table += numbers
        calls = [statement.partition("(") for statement in self.statements]
        self.statements = [heads.get(name, name + mark) + rest for name, mark, rest in calls]
        head = f"static const double {self._name}_numbers[] = {{{', '.join(table)}}};"
        return [head, *lines] if table else lines


def _reading(form: str, numbers: list[str]) -> str:
    """Return a kernel that reads the numbers in the holes of its form before its loops."""
    reads = [f"  const __typeof__({x}) k_{j} = K[{j}];\n" for j, x in enumerate(numbers)]
    text = filled(form, [f"k_{j}" for j in range(len(numbers))])
    head, _, body = text.partition("{\n")
    return f"(const double* K, {head[1:]}{{\n{''.join(reads)}{body}"


def _straight(name: str, statements: list[Line]) -> list[str]:
    """Write a driver that contains each statement."""
    size = sum([line.size for line in statements])
    if size > MOST_STATEMENTS:
        raise CompilerError(f"a program of {size} statements is too long for a compiler of C")
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
    """Return the statements in groups of about the size of a function."""
    begins = itertools.accumulate([line.size for line in statements], initial=0)
    pairs = itertools.groupby(zip(begins, statements, strict=False), lambda pair: pair[0] // _CHUNK)
    return [[line for _, line in group] for _, group in pairs]


def _tabled(name: str, statements: list[Line]) -> list[str]:
    """Write a driver that reads the statements and their numbers from a table.

    Each form of a statement is compiled once. The result is empty if there are few statements, or
    too many forms.
    """
    if sum([line.size for line in statements]) < _FEWEST_IN_TABLE:
        return []
    floats: dict[str, int] = {}
    cases: dict[str, tuple[int, int]] = {}
    rows = []
    for line in statements:
        text, row = _with_places(line, floats)
        case, _ = cases.setdefault(text, (len(cases), line.size))
        rows.append(",".join(map(str, [case, *row])))
    if sum([size for _, size in cases.values()]) > _MOST_FORMS:
        return []
    table = ",\n".join(rows)
    return [
        f"static const long {name}_rows[] = {{\n{table}}};",
        f"static const double {name}_floats[] = {{{', '.join([*floats, '0'])}}};",
        f"{_QUICKLY} int {name}_steps({_DRIVEN}) {{",
        f"  const long* p = {name}_rows; const double* D = {name}_floats;",
        f"  while (p < {name}_rows + sizeof({name}_rows) / sizeof(long)) switch (*p) {{",
        *[
            f"  case {case}: {{ {text} }} p += {text.count('p[') + 1}; break;"
            for text, (case, _) in cases.items()
        ],
        "  }\n  return 0;\n}",
        f"int {name}({_DRIVEN}) {{ return {name}_steps(I, O, w, L); }}",
    ]


_HELD = re.compile(rf"({HOLE}|{_FLOAT.pattern})")


def _with_places(line: Line, floats: dict[str, int]) -> tuple[str, list[int]]:
    """Return a statement that reads its numbers from a table row, and the row."""
    if line.size > 1:
        return line.text, []
    text, *pieces = _HELD.split(line.form)
    numbers, row = iter(line.numbers), list[int]()
    for held, after in zip(pieces[::2], pieces[1::2], strict=True):
        row.append(next(numbers) if held == HOLE else floats.setdefault(held, len(floats)))
        place = f"p[{len(row)}]"
        kind = "float" if held.endswith("f") else "double"
        text += (place if held == HOLE else f"({kind})D[{place}]") + after
    return text, row


def nest(dims: Shape, first: int = 0) -> str:
    """Return the heads of nested loops over dims."""
    return "".join([head(d, n) for d, n in enumerate(dims, first)])


def head(d: int, n: int) -> str:
    """Return the head of a loop over a dim."""
    return f"for (I i{d} = 0; i{d} < {n}; i{d}++) "


def at(pointer: str, strides: Shape) -> str:
    """Return the address of an element in these loops."""
    steps = "".join([f" + i{d} * {step}" for d, step in enumerate(strides) if step])
    return pointer + steps
