"""Groups in C: elementwise operations, in blocks that fit the first cache.

Expressions share one loop, with intermediate results in registers. A NumPy loop reads its operands
from scratch memory of one block, or from their arrays. An array that is not contiguous is first
copied to scratch memory. A sum gives one number per block.
"""

from __future__ import annotations

import math
from typing import Any

from chainrules_compile.c.buffer_assignment import Storage
from chainrules_compile.c.buffers import Shape, Version, contiguous
from chainrules_compile.c.expression_text import c_type, raw_type
from chainrules_compile.c.item_builder import BLOCK, SLOT
from chainrules_compile.c.kernels import Kernels, at, nest
from chainrules_compile.c.program_items import Argument, Group, Literal, Operand, Operation

_PARALLEL = 1 << 16
"""Minimum number of results of all operations of a group for which threads pay."""

_STATEMENTS = 48
"""Maximum number of expressions in one loop."""

Piece = list[Operation]


def pieces_of(group: Group) -> tuple[list[Piece], dict[Version, int]]:
    """Return the loops of a group, and the index of the loop that computes each result.

    A loop contains expressions, or one operation that NumPy has a loop for, or one sum.
    """
    pieces: list[Piece] = []
    where: dict[Version, int] = {}
    read: list[set[Version]] = []  # by piece, the results that NumPy loops read
    for op in group.operations:
        given = [x.view.version for x in op.operands if isinstance(x, Argument)]
        first, own = (
            max([where.get(version, 0) for version in given], default=0),
            op.expression is None,
        )
        for version in given if own else ():
            if version in where:
                read[where[version]].add(version)
        free = [
            k
            for k in range(first, 0 if own else len(pieces))
            if pieces[k][0].expression is not None
            and len(pieces[k]) < _STATEMENTS
            and len(read[k]) < 4
        ]
        if not free:
            free = [len(pieces)]
            pieces.append([])
            read.append(set())
        pieces[free[-1]].append(op)
        where[op.out.version] = free[-1]
    return pieces, where


def inside(block: int, dims: Shape) -> int:
    """Return how many of the last dims a block covers or divides; 0 if block ends do not align."""
    whole = 1
    for k, m in enumerate(reversed(dims)):
        if block % (whole * m):
            return k + (block % whole == 0 and m % (block // whole) == 0)
        whole *= m
    return len(dims)


def _cost(block: int, dims: Shape, strides: Shape, size: int) -> float:
    """Estimate the cycles for reading an element of an operand that is not contiguous."""
    inner = inside(block, dims)
    if not inner:
        return 3.0 + 40.0 / dims[-1]
    if dims[-1] % block == 0:
        return 10.0 / block if strides[-1] == size else 1.0
    turns = max(block // math.prod(dims[-inner:]), 1)
    return 1.0 + 4.0 / dims[-1] + 12.0 * turns / block


class GroupWriter:
    """Writing of one group as a kernel."""

    def __init__(self, group: Group, storage: Storage, kernels: Kernels) -> None:
        self.group, self.storage, self.kernels = group, storage, kernels
        self.pieces, self.where = pieces_of(group)
        self._pointers: dict[str, int] = {}
        self._hoisted: dict[str, str] = {}
        self._slots: dict[Any, int] = {}
        self._spare = [*range(slots_of(group))][::-1]
        self._body: list[str] = []
        self._block = self._rows()
        self._last = {
            self._key(x): j
            for j, piece in enumerate(self.pieces)
            for op in piece
            for x in op.operands
            if isinstance(x, Argument)
        }

    def write(self) -> None:
        """Write the kernel, and the statement that calls it."""
        for j, piece in enumerate(self.pieces):
            if piece[0].expression is None:
                self._call(piece[0])
            else:
                self._expressions(j, piece)
            for key in [k for k in self._slots if self._last.get(k) == j]:
                self._spare.append(self._slots.pop(key))
        n, w = self.group.size, self._block
        body = "".join([f"  {line}\n" for line in (*self._hoisted.values(), *self._body)])
        if n <= BLOCK:
            self.kernels.call(f"  enum {{ b = 0, n = {n} }};\n{body}", self._pointers)
            return
        before, tail = "", f"    I n = {n}L - b < {w} ? {n}L - b : {w};\n"
        large = n * len(self.group.operations) >= _PARALLEL
        if self.kernels.threads > 1 and large and all(map(_is_silent, self.group.operations)):
            before = "  char* const first = s;\n  IN_PARALLEL\n"
            tail += f"    char* s = first + MINE({self.kernels.scratch});\n"
        text = f"{before}  for (I b = 0; b < {n}L; b += {w}) {{\n{tail}{body}  }}\n"
        self.kernels.call(text, self._pointers)

    # ---------------------------------------------------------------------------- operands

    def _rows(self) -> int:
        """Return the number of elements in a block for which reading costs least."""
        operations, n = self.group.operations, self.group.size
        if n <= BLOCK or any([op.is_total for op in operations]):
            return min(n, BLOCK)
        spread = {
            (x.dims, x.strides, x.dtype.itemsize)
            for op in operations
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
        each = 40 * len(operations)
        return min(sizes, key=lambda size: each / size + sum([_cost(size, *x) for x in spread]))

    def _key(self, x: Argument) -> Any:
        version = x.view.version
        return version if version in self.where else (version, x.view.offset, x.dims, x.strides)

    def _pointer(self, place: str, offset: int = 0) -> str:
        text = f"({place} + {offset})" if offset else place
        return f"a{self._pointers.setdefault(text, len(self._pointers))}"

    def _address(self, x: Argument) -> str:
        return self._pointer(x.view.version.buffer.place, x.view.offset)

    def _slot(self, key: Any) -> str:
        """Return the address of scratch memory for a block."""
        if key not in self._slots:
            self._slots[key] = self._spare.pop()
        return f"(s + {self._slots[key] * SLOT})"

    def _flat(self, x: Argument) -> str:
        """Return the address of the block of an operand that is not a number."""
        version = x.view.version
        if version in self.where and version not in self.storage.outside:
            return self._slot(version)
        if x.is_flat:
            return f"({self._address(x)} + b * {x.dtype.itemsize})"
        key = self._key(x)
        if key not in self._slots:
            self._body.append(self._load(x, self._slot(key), self._address(x)))
        return self._slot(key)

    def _load(self, x: Argument, to: str, source: str) -> str:
        """Write the copy of a block to scratch memory."""
        kind, size = raw_type(x.dtype), x.dtype.itemsize
        inner = inside(self._block, x.dims)
        if not inner:
            ns, ss = ", ".join(map(str, x.dims)), ", ".join(map(str, x.strides))
            arrays = f"(const I[]){{{ns}}}, (const I[]){{{ss}}}"
            return f"load{size}({to}, {source}, b, n, {len(x.dims)}, {arrays});"
        # One iteration reads all of the last dims, and perhaps a part of the one before.
        dims, strides = list(x.dims[-inner:]), x.strides[-inner:]
        whole, outer = math.prod(dims), len(x.dims) - inner
        turns, element, first = f"for (I k = 0; k < n; k += {whole}) ", "(b + k)", "k"
        if whole > self._block:
            dims[0], outer = self._block // math.prod(dims[1:]), outer + 1
            turns, element, first = "", "b", "0"
        place = source
        for d in range(outer):
            below = math.prod(x.dims[d + 1 :])
            if x.strides[d]:
                place += f" + {element} / {below} % {x.dims[d]} * {x.strides[d]}"
        shape, last = tuple(dims), len(dims) - 1
        loops = f"{nest(shape[:-1])}IVDEP {nest(shape[-1:], last)}"
        there = f"(({kind}*){to})[{at(first, contiguous(shape, 1))}]"
        each = f"{there} = AT(const {kind}, {at('p', strides)});"
        return f"{turns}{{ const char* p = {place}; {loops}{each} }}"

    def _number(self, x: Argument) -> str:
        """Return the name of a number that is the same for all elements, read before the loop."""
        kind, address = c_type(x.dtype), self._address(x)
        name = f"c{address[1:]}_{kind}"
        self._hoisted[name] = f"const {kind} {name} = AT({kind}, {address});"
        return name

    def _out(self, op: Operation) -> str:
        version = op.out.version
        if version not in self.storage.outside:
            return self._slot(version)
        return f"({self._pointer(version.buffer.place)} + b * {op.out.dtype.itemsize})"

    # ------------------------------------------------------------------------------ pieces

    def _expressions(self, j: int, piece: Piece) -> None:
        """Write one loop of expressions."""
        names: dict[Any, str] = {}
        heads: list[str] = []
        lines: list[str] = []
        for op in piece:
            given = [self._element(x, names, heads) for x in op.operands]
            version, kind = op.out.version, c_type(op.out.dtype)
            name = names[version] = f"x{len(lines)}"
            lines.append(f"{kind} {name} = {converted(op, given)};")
            if version in self.storage.outside or self._last.get(version, j) != j:
                lines.append(f"(({kind}*){self._out(op)})[i] = {name};")
        inner = "".join([f"    {line}\n" for line in (*heads, *lines)])
        self._body.append(f"IVDEP for (I i = 0; i < n; i++) {{\n{inner}  }}")

    def _element(self, x: Operand, names: dict[Any, str], heads: list[str]) -> str:
        """Return an element of an operand, which is read once."""
        if isinstance(x, Literal):
            return x.text
        if x.is_number and x.view.version not in names:
            return self._number(x)
        key = self._key(x)
        if key not in names:
            names[key], kind = f"y{len(heads)}", c_type(x.dtype)
            heads.append(f"const {kind} {names[key]} = ((const {kind}*){self._flat(x)})[i];")
        return names[key]

    def _call(self, op: Operation) -> None:
        """Write a call of a NumPy loop or a vector function, or the sum of a block."""
        given, heads, step = [], "", op.out.dtype.itemsize
        for k, x in enumerate(op.operands):
            if isinstance(x, Literal):
                heads += f"const {c_type(x.dtype)} q{k} = {x.text}; "
                given.append(f"(char*)&q{k}, 0")
            elif x.is_number:
                given.append(f"{self._address(x)}, 0")
            else:
                given.append(f"{self._flat(x)}, {x.dtype.itemsize}")
        texts = ", ".join(given)
        if op.is_total:
            start, _ = given[0].split(", ")
            to = f"{self._pointer(op.out.version.buffer.place)} + b / W * {step}"
            text = f"AT({c_type(op.out.dtype)}, {to}) = pairwise{step}({start}, n, {step});"
        elif op.vector is not None:
            text = f"vec_{op.vector}{step}({texts}, {self._out(op)}, n);"
        else:
            text = f"call{len(given)}(L, {op.loop}, {texts}, {self._out(op)}, {step}, n);"
        self._body.append(f"{{ {heads}{text} }}")


def slots_of(group: Group) -> int:
    """Return the maximum number of blocks of scratch memory that a group needs at once."""
    return sum([1 + len(op.operands) for op in group.operations])


def _is_silent(op: Operation) -> bool:
    """Return whether an operation does not need the GIL; loops of integers may raise."""
    return op.loop < 0 or all([x.dtype.kind == "f" for x in op.operands])


def converted(op: Operation, given: list[str]) -> str:
    """Return the expression of an operation, with casts of its operands."""
    assert op.expression is not None
    pairs = zip(op.types, op.operands, given, strict=True)
    texts = [x if c_type(y.dtype) == kind else f"(({kind}){x})" for kind, y, x in pairs]
    return op.expression.format(*texts)
