"""Groups in C: operations on each element, in blocks that stay in the first cache.

What is an expression stands with others in one loop, in registers. What a loop of NumPy's computes
has its operands in scratch memory of one block, or where they are. An array that does not lie flat
is read into scratch first. Sums of all elements are added in pairs, block by block, as NumPy adds.
"""

from __future__ import annotations

import math
from typing import Any

from chainrules_compile.c.items import Argument, Group, Literal, Operation
from chainrules_compile.c.kernels import Kernels, head
from chainrules_compile.c.lowering import BLOCK, SLOT
from chainrules_compile.c.memory import Shape, Version, contiguous
from chainrules_compile.c.storage import Storage
from chainrules_compile.c.text import c_type, raw_type

_PARALLEL = 1 << 16
"""From so many results on, of all operations of a group, threads pay for being woken."""

_TASK = 1 << 13
"""So many elements one thread adds up at once."""

_STATEMENTS = 48
"""How many expressions one loop has at most."""

_READ = 4
"""So many results of one loop other loops read; more would not stay in the first cache."""


class Piece:
    """Part of a group that one loop runs: expressions, or one loop of NumPy's, or one sum."""

    def __init__(self, operations: list[Operation], is_loop: bool) -> None:
        self.operations = operations
        self.is_loop = is_loop
        self.read: set[Version] = set()

    @property
    def has_room(self) -> bool:
        """Whether one more expression may join."""
        few = len(self.operations) < _STATEMENTS and len(self.read) < _READ
        return not self.is_loop and few


def pieces_of(group: Group) -> tuple[list[Piece], dict[Version, int]]:
    """Return the pieces of a group, and in which each result is computed."""
    pieces: list[Piece] = []
    where: dict[Version, int] = {}
    for op in group.operations:
        given = [x.view.version for x in op.operands if isinstance(x, Argument)]
        need = max([where.get(version, -1) for version in given], default=-1)
        own = op.expression is None
        j = None
        if not own:
            for k in range(len(pieces) - 1, max(need, 0) - 1, -1):
                if pieces[k].has_room:
                    j = k
                    break
        else:
            for version in given:
                if version in where:
                    pieces[where[version]].read.add(version)
        if j is None:
            pieces.append(Piece([], own))
            j = len(pieces) - 1
        pieces[j].operations.append(op)
        where[op.out.version] = j
    return pieces, where


def inside(block: int, dims: Shape) -> int:
    """Return how many of the last dims one turn of a block reads: 0 if their ends do not fit."""
    whole = 1
    for k, m in enumerate(reversed(dims)):
        if block % (whole * m):
            fits = block % whole == 0 and m % (block // whole) == 0
            return k + 1 if fits else k
        whole *= m
    return len(dims)


def _cost(block: int, dims: Shape, strides: Shape, size: int) -> float:
    """Estimate the cycles that reading an element takes which does not lie flat."""
    inner = inside(block, dims)
    if not inner:
        return 3.0 + 40.0 / dims[-1]
    if dims[-1] % block == 0:
        return 10.0 / block if strides[-1] == size else 1.0
    turns = max(block // math.prod(dims[-inner:]), 1)
    return 1.0 + 4.0 / dims[-1] + 12.0 * turns / block


class Loop:
    """Text of a loop, and what it is given where it is a function of its own."""

    def __init__(self) -> None:
        self.heads: list[str] = []
        self.lines: list[str] = []
        self.parameters: list[str] = []
        self.given: list[str] = []
        self._numbers: dict[str, str] = {}

    def number(self, text: str, kind: str = "double") -> str:
        """Return a number."""
        if text not in self._numbers:
            name = self._numbers[text] = f"q{len(self._numbers)}"
            self.parameters.append(f"const {kind} {name}")
            self.given.append(text)
        return self._numbers[text]

    def _pointer(self, address: str, kind: str, own: bool) -> str:
        if not own:
            return f"(({kind}*){address})"
        name = f"p{len(self.parameters)}"
        self.parameters.append(f"{kind}* restrict {name}")
        self.given.append(f"({kind}*){address}")
        return name

    def read(self, address: str, kind: str, own: bool) -> str:
        """Return an element of memory, read once."""
        name = f"y{len(self.heads)}"
        pointer = self._pointer(address, f"const {kind}", own)
        self.heads.append(f"const {kind} {name} = {pointer}[i];")
        return name

    def store(self, address: str, kind: str, name: str, own: bool) -> None:
        """Write a result to memory."""
        self.lines.append(f"{self._pointer(address, kind, own)}[i] = {name};")


class GroupWriter:
    """Writing of one group."""

    def __init__(self, group: Group, storage: Storage, kernels: Kernels) -> None:
        self.group = group
        self.storage = storage
        self.kernels = kernels
        self.pieces, self.where = pieces_of(group)
        self._pointers: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self._hoisted: dict[str, str] = {}
        self._last: dict[Any, int] = {}
        self._slots: dict[Any, int] = {}
        self._spare: list[int] = []
        self._most = 0
        self._totals: list[Operation] = []
        self._body: list[str] = []
        self._has_totals = any([op.is_total for op in group.operations])
        self._block = self._rows()
        large = group.size * len(group.operations) >= _PARALLEL
        self._is_parallel = kernels.threads > 1 and large and all(map(_is_silent, group.operations))

    def write(self) -> None:
        """Write the kernel, and the statement that calls it."""
        self._lives()
        for j, piece in enumerate(self.pieces):
            if not piece.is_loop:
                self._expressions(j, piece)
            elif piece.operations[0].is_total:
                self._total(piece.operations[0])
            else:
                self._loop(piece.operations[0])
            for key in [k for k, last in self._last.items() if last == j and k in self._slots]:
                self._spare.append(self._slots[key])
        n = self.group.size
        body = "".join([f"  {line}\n" for line in self._body])
        hoisted = "".join([f"  {line}\n" for line in self._hoisted.values()])
        if self._totals:
            self._with_totals(body, hoisted)
            return
        if n <= BLOCK:
            text = f"  enum {{ b = 0, n = {n} }};\n{hoisted}{body}"
        else:
            w = self._block
            tail = f"    I n = {n}L - b < {w} ? {n}L - b : {w};\n"
            before = ""
            if self._is_parallel:
                before = "  char* const first = s;\n  IN_PARALLEL\n"
                tail += f"    char* s = first + MINE({self.kernels.scratch});\n"
            text = f"{hoisted}{before}  for (I b = 0; b < {n}L; b += {w}) {{\n{tail}{body}  }}\n"
        self.kernels.call(text, self._pointers, self._numbers)

    def _with_totals(self, body: str, hoisted: str) -> None:
        """Write a kernel that halves the elements as NumPy does, until they are a block."""
        kinds = [c_type(op.out.dtype) for op in self._totals]
        names = [f"t{i}" for i in range(len(kinds))]
        fields = " ".join([f"{kind} {name};" for kind, name in zip(kinds, names, strict=True)])
        parameters = "void** L, char* s"
        parameters += "".join([f", char* a{i}" for i in range(len(self._pointers))])
        parameters += "".join([f", const double z{i}" for i in range(len(self._numbers))])
        given = "L, s" + "".join([f", a{i}" for i in range(len(self._pointers))])
        given += "".join([f", z{i}" for i in range(len(self._numbers))])
        add = " ".join([f"t.{name} += u.{name};" for name in names])
        before = (
            f"typedef struct {{ {fields} }} KERNEL_t;\n"
            f"NOINLINE KERNEL_t KERNEL_part({parameters}, I b, I n) {{\n"
            f"  if (n > W) {{\n    I h = n / 2; h -= h % 8;\n"
            f"    KERNEL_t t = KERNEL_part({given}, b, h);\n"
            f"    KERNEL_t u = KERNEL_part({given}, b + h, n - h);\n"
            f"    {add} return t;\n  }}\n  KERNEL_t t;\n{hoisted}{body}  return t;\n}}\n"
        )
        text = f"  KERNEL_t t = KERNEL_part({given}, 0, {self.group.size}L);\n"
        if self._is_parallel:
            own = given.replace("L, s", f"L, s + MINE({self.kernels.scratch})", 1)
            before += (
                f"NOINLINE KERNEL_t KERNEL_shared({parameters}, I b, I n) {{\n"
                f"  if (n <= {_TASK}) return KERNEL_part({own}, b, n);\n"
                f"  I h = n / 2; h -= h % 8; KERNEL_t t, u;\n"
                f"  BY_ANOTHER t = KERNEL_shared({given}, b, h);\n"
                f"  u = KERNEL_shared({given}, b + h, n - h);\n"
                f"  ALL_DONE {add} return t;\n}}\n"
            )
            all_of_it = f"t = KERNEL_shared({given}, 0, {self.group.size}L);"
            text = f"  KERNEL_t t;\n  ONE_OF_THEM {all_of_it}\n"
        for name, kind, op in zip(names, kinds, self._totals, strict=True):
            # A sum begins with zero, which makes 0 of -0.
            text += f"  AT({kind}, {self._pointer(op.out.version.buffer.place)}) = 0 + t.{name};\n"
        self.kernels.call(f"{before}/*BODY*/{text}", self._pointers, self._numbers)

    # ---------------------------------------------------------------------------- operands

    def _rows(self) -> int:
        """Return how many elements a block has: those for which reading costs least."""
        n = self.group.size
        if self._has_totals or n <= BLOCK:
            return min(n, BLOCK)
        spread = {
            (x.dims, x.strides, x.dtype.itemsize)
            for op in self.group.operations
            for x in op.operands
            if isinstance(x, Argument) and not (x.is_flat or x.is_number)
        }
        sizes = {BLOCK}
        for dims, *_ in spread:
            whole = 1
            for m in reversed(dims):
                sizes |= {d * whole for d in range(1, min(m, BLOCK // whole) + 1) if m % d == 0}
                whole *= m
                if whole > BLOCK:
                    break
                sizes.add(BLOCK // whole * whole)
        each = len(self.group.operations)
        return min(
            sizes, key=lambda size: 40 * each / size + sum([_cost(size, *x) for x in spread])
        )

    def _lives(self) -> None:
        """Note the last piece in which each result, and each array that is read, is used."""
        for j, piece in enumerate(self.pieces):
            for op in piece.operations:
                if op.is_total:
                    out = op.out.version.buffer.place
                    assert out is not None
                    self._pointer(out)
                for x in op.operands:
                    if isinstance(x, Argument):
                        self._last[self._key(x)] = j

    def _key(self, x: Argument) -> Any:
        if x.view.version in self.where:
            return x.view.version
        return x.view.version, x.view.offset, x.dims, x.strides

    def _pointer(self, text: str | None) -> str:
        assert text is not None
        return f"a{self._pointers.setdefault(text, len(self._pointers))}"

    def _address(self, x: Argument) -> str:
        place, offset = x.view.version.buffer.place, x.view.offset
        return self._pointer(f"({place} + {offset})" if offset else place)

    def _slot(self, key: Any) -> str:
        """Return scratch memory of a block."""
        if key not in self._slots:
            if not self._spare:
                self._spare.append(self._most)
                self._most += 1
            self._slots[key] = self._spare.pop()
        return f"(s + {self._slots[key] * SLOT})"

    def _flat(self, x: Argument) -> str:
        """Return the address of the block of an operand that is no number."""
        version = x.view.version
        if version in self.where and version not in self.storage.outside:
            return self._slot(version)
        if x.is_flat:
            return f"({self._address(x)} + b * {x.dtype.itemsize})"
        key = self._key(x)
        if key not in self._slots:
            address = self._address(x)
            if x.strides[-1] == x.dtype.itemsize and self._is_within_row(x):
                return f"({self._row(x, address)})"
            self._body.append(self._load(x, self._slot(key), address))
        return self._slot(key)

    def _is_within_row(self, x: Argument) -> bool:
        return x.dims[-1] % self._block == 0 and not self._has_totals

    def _row(self, x: Argument, place: str) -> str:
        """Return where a block begins that is a part of a row."""
        below = 1
        for m, step in reversed([*zip(x.dims, x.strides, strict=True)]):
            if step:
                row = f"b / {below}" if below > 1 else "b"
                row = row if below * m == self.group.size else f"{row} % {m}"
                place += f" + {row} * {step}"
            below *= m
        return place

    def _load(self, x: Argument, to: str, source: str) -> str:
        """Write the reading of a block to scratch memory."""
        kind, size = raw_type(x.dtype), x.dtype.itemsize
        inner = 0 if self._has_totals else inside(self._block, x.dims)
        if not inner:
            ns, ss = ", ".join(map(str, x.dims)), ", ".join(map(str, x.strides))
            arrays = f"(const I[]){{{ns}}}, (const I[]){{{ss}}}"
            return f"load{size}({to}, {source}, b, n, {len(x.dims)}, {arrays});"
        # What one turn reads is all of the last dims, and a part of the one before, maybe.
        dims, strides, whole = list(x.dims[-inner:]), x.strides[-inner:], math.prod(x.dims[-inner:])
        turns = ""
        if whole > self._block:
            dims[0] = self._block // math.prod(dims[1:])
        else:
            turns = f"for (I k = 0; k < n; k += {whole}) "
        element = "(b + k)" if turns else "b"
        place = source
        for d in range(len(x.dims) - (inner if whole > self._block else inner + 1), -1, -1):
            below = math.prod(x.dims[d + 1 :])
            if x.strides[d]:
                row = f"{element} / {below}" if below > 1 else element
                row = row if below * x.dims[d] == self.group.size else f"({row}) % {x.dims[d]}"
                place += f" + {row} * {x.strides[d]}"
        where, steps = ("k" if turns else "0"), contiguous(tuple(dims), 1)
        where += "".join([f" + i{d} * {step}" for d, step in enumerate(steps)])
        given = "".join([f" + i{d} * {step}" for d, step in enumerate(strides) if step])
        each = f"(({kind}*){to})[{where}] = AT(const {kind}, p{given});"
        loops = "".join([head(d, m) for d, m in enumerate(dims[:-1])])
        loops += "IVDEP " + head(len(dims) - 1, dims[-1])
        return f"{turns}{{ const char* p = {place}; {loops}{each} }}"

    def _number(self, x: Argument) -> str:
        """Return a number that is the same for all elements, read before the loop."""
        kind = c_type(x.dtype)
        address = self._address(x)
        name = f"c{address[1:]}_{kind}"
        self._hoisted[name] = f"const {kind} {name} = AT({kind}, {address});"
        return name

    def _literal(self, x: Literal) -> str:
        if c_type(x.dtype) != "double":
            return x.text
        return f"z{self._numbers.setdefault(x.text, len(self._numbers))}"

    def _out(self, op: Operation) -> str:
        version = op.out.version
        if version in self.storage.outside:
            return f"({self._pointer(version.buffer.place)} + b * {op.out.dtype.itemsize})"
        return self._slot(version)

    # ------------------------------------------------------------------------------ pieces

    def _expressions(self, j: int, piece: Piece) -> None:
        """Write one loop of expressions: a function of its own where there are several blocks."""
        own = self.group.size > BLOCK
        names: dict[Version, str] = {}
        reads: dict[Any, str] = {}
        loop = Loop()
        for op in piece.operations:
            given = []
            for x in op.operands:
                if isinstance(x, Literal):
                    text = self._literal(x)
                    given.append(loop.number(text) if own and text[0] == "z" else text)
                elif x.view.version in names:
                    given.append(names[x.view.version])
                elif x.is_number:
                    text = self._number(x)
                    given.append(loop.number(text, c_type(x.dtype)) if own else text)
                else:
                    key, kind = self._key(x), c_type(x.dtype)
                    if key not in reads:
                        reads[key] = loop.read(self._flat(x), kind, own)
                    given.append(reads[key])
            kind = c_type(op.out.dtype)
            name = names[op.out.version] = f"x{len(names)}"
            loop.lines.append(f"{kind} {name} = {converted(op, given)};")
            if op.out.version in self.storage.outside or self._last.get(op.out.version, j) != j:
                loop.store(self._out(op), kind, name, own)
        inner = "".join([f"    {line}\n" for line in (*loop.heads, *loop.lines)])
        text = f"IVDEP for (I i = 0; i < n; i++) {{\n{inner}  }}"
        if not own:
            self._body.append(text)
            return
        function = self.kernels.function(", ".join(["I n", *loop.parameters]), f"  {text}\n")
        self._body.append(f"{function}({', '.join(['n', *loop.given])});")

    def _loop(self, op: Operation) -> None:
        given = []
        for k, x in enumerate(op.operands):
            if isinstance(x, Literal):
                kind = c_type(x.dtype)
                self._body.append(f"{{ const {kind} q{k} = {self._literal(x)};")
                given.append(f"(char*)&q{k}, 0")
            elif x.is_number:
                given.append(f"{self._address(x)}, 0")
            else:
                given.append(f"{self._flat(x)}, {x.dtype.itemsize}")
        if op.vector is not None:
            texts = ", ".join([*given, self._out(op)])
            self._body.append(f"vec_{op.vector}{op.out.dtype.itemsize}({texts}, n);")
        else:
            texts = ", ".join([*given, f"{self._out(op)}, {op.out.dtype.itemsize}"])
            self._body.append(f"call{len(op.operands)}(L, {op.loop}, {texts}, n);")
        closing = "}" * sum([isinstance(x, Literal) for x in op.operands])
        self._body.append(closing)

    def _total(self, op: Operation) -> None:
        (x,) = op.operands
        assert isinstance(x, Argument)
        step = x.dtype.itemsize
        self._body.append(f"t.t{len(self._totals)} = pairwise{step}({self._flat(x)}, n, {step});")
        self._totals.append(op)


def _is_silent(op: Operation) -> bool:
    """Tell whether no thread needs the interpreter, as loops of whole numbers do to raise."""
    return op.loop < 0 or all([x.dtype.kind == "f" for x in op.operands])


def converted(op: Operation, given: list[str]) -> str:
    """Return an expression of an operation, its operands in the types that it is of."""
    assert op.expression is not None
    pairs = zip(op.types, op.operands, given, strict=True)
    texts = [x if c_type(y.dtype) == kind else f"(({kind}){x})" for kind, y, x in pairs]
    return op.expression.format(*texts)
