"""Emission: a lowered program as one function of C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_compile.c.groups import GroupWriter, converted
from chainrules_compile.c.items import (
    RAISES,
    Argument,
    Copy,
    Finite,
    Gather,
    Group,
    Guard,
    Item,
    Kernel,
    Literal,
    Operation,
    Product,
    Reduction,
    Scan,
)
from chainrules_compile.c.kernels import Kernels, at, head, nest
from chainrules_compile.c.lowering import SLOT
from chainrules_compile.c.memory import Shape, View, axes_in_order, numpy_order
from chainrules_compile.c.storage import Storage
from chainrules_compile.c.text import c_type, literal, raw_type


def emit(items: list[Item], outputs: list[View], name: str, threads: int = 1) -> tuple[str, int]:
    """Return the text of a program, and how many bytes it works in.

    Parameters
    ----------
    items : list of Item
        What it does.
    outputs : list of View
        What it gives: each all of a buffer of its own.
    name : str
        What the function is called.
    threads : int
        How many threads large groups run on.
    """
    for i, view in enumerate(outputs):
        view.version.buffer.place = f"O[{i}]"
    scratch = scratch_of(items)
    kernels = Kernels(name, threads, scratch)
    storage = Storage(items, outputs, scratch * threads)
    for i, item in enumerate(items):
        if i not in storage.needless:
            writer = _WRITERS[type(item)]
            writer(kernels, storage, item)
    return kernels.text(), storage.size


def scratch_of(items: list[Item]) -> int:
    """Return how many bytes of scratch memory the groups of a program may need."""
    most = 0
    for item in items:
        if isinstance(item, Group) and item.size > 1:
            arrays = sum([1 + len(op.operands) for op in item.operations])
            most = max(most, arrays)
    return max(most * SLOT, 64)


def address(view: View) -> str:
    """Return where an array begins."""
    place = view.version.buffer.place
    assert place is not None
    return f"({place} + {view.offset})" if view.offset else place


def number(x: Any) -> str:
    """Return a number in memory, or a literal."""
    if isinstance(x, Literal):
        return x.text
    view = x.view if isinstance(x, Argument) else x
    return f"AT({c_type(view.dtype)}, {address(view)})"


def _group(kernels: Kernels, storage: Storage, group: Group) -> None:
    if group.size == 1:
        kernels.statements += [_statement(op) for op in group.operations]
    elif group.size:
        GroupWriter(group, storage, kernels).write()


def _statement(op: Operation) -> str:
    """Write an operation on numbers."""
    kind = c_type(op.out.dtype) if op.expression is not None else ""
    if op.expression is None:
        given = []
        heads = ""
        for k, x in enumerate(op.operands):
            if isinstance(x, Literal):
                heads += f"const {c_type(x.dtype)} q{k} = {x.text}; "
                given.append(f"(char*)&q{k}, 0")
            else:
                given.append(f"{address(x.view)}, 0")
        given.append(f"{address(op.out)}, 0")
        return f"{{ {heads}call{len(op.operands)}(L, {op.loop}, {', '.join(given)}, 1); }}"
    given = [number(x) for x in op.operands]
    text = f"AT({kind}, {address(op.out)}) = {converted(op, given)};"
    if op.check is None or op.expression is None:
        return text
    if op.check == RAISES:
        return f"if (raises({', '.join(given)}, &{number(op.out)})) return 1;"
    test = op.check.format(*[f"({x})" for x in given])
    return f"if ({test}) return 1; {text}"


def _copy(kernels: Kernels, _: Storage, item: Copy) -> None:
    target, source = item.target, item.source
    axes = axes_in_order(target.shape, target.strides)
    dims = tuple([target.shape[d] for d in axes])
    if not target.size:
        return
    steps = [tuple([target.strides[d] for d in axes])]
    pointers = [address(target)]
    numbers: list[str] = []
    if isinstance(source, View):
        spread = source.broadcast(target.shape)
        steps.append(tuple([spread.strides[d] for d in axes]))
        pointers.append(address(source))
    dims, steps = together(dims, steps)
    plain = item.expression == "{1}"
    kind = raw_type(target.dtype) if plain and isinstance(source, View) else c_type(target.dtype)
    if isinstance(source, View):
        given = f"AT(const {kind}, {at('a1', steps[1])})"
    elif kind == "double":
        numbers.append(source.text)
        given = "z0"
    else:
        given = source.text
    there = f"AT({kind}, {at('a0', steps[0])})"
    text = f"{there} = {item.expression.format(there, given)};"
    kernels.call(f"  {vectorised(dims)}{text}\n", pointers, numbers)


def vectorised(dims: Shape) -> str:
    """Return the heads of loops over dims, of which the last does not depend on its turns."""
    if not dims:
        return ""
    last = len(dims) - 1
    return f"{nest(dims[:-1])}\n  IVDEP {nest(dims[-1:], last)}"


def together(dims: Shape, steps: list[Shape]) -> tuple[Shape, list[Shape]]:
    """Collapse dims along which all arrays go on as they did."""
    found: list[int] = []
    strides: list[list[int]] = [[] for _ in steps]
    for d, n in enumerate(dims):
        if n == 1:
            continue
        if found and all([s[-1] == step[d] * n for s, step in zip(strides, steps, strict=True)]):
            found[-1] *= n
            for s, step in zip(strides, steps, strict=True):
                s[-1] = step[d]
        else:
            found.append(n)
            for s, step in zip(strides, steps, strict=True):
                s.append(step[d])
    return tuple(found), [tuple(s) for s in strides]


_REGISTERS = 16


def _reduction(kernels: Kernels, _: Storage, item: Reduction) -> None:
    """Write a reduction: NumPy runs over the axes by their steps, the shortest innermost."""
    source, out = item.source, item.out
    kept = _kept_strides(item)
    step, is_complex = out.dtype.itemsize, out.dtype.kind == "c"
    kind = raw_type(out.dtype) if is_complex else c_type(out.dtype)
    axes = numpy_order(source.shape, source.strides)
    dims, (steps, into) = together(
        tuple([source.shape[d] for d in axes]),
        [tuple([source.strides[d] for d in axes]), tuple([kept[d] for d in axes])],
    )
    pointers = [address(out), address(source)]
    size = max(out.size, 0)
    lines = []
    if is_complex:
        lines.append(f"  memset(a0, 0, {size * step});\n")
    elif item.start is not None:
        lines.append(f"  for (I i = 0; i < {size}; i++) (({kind}*)a0)[i] = {item.start};\n")
    else:
        lines.append(_first(item, kept, kind))
    if source.size:
        lines.append(_reduce(item, dims, steps, into, kind, step))
    kernels.call("".join(lines), pointers)


def _kept_strides(item: Reduction) -> Shape:
    """Return the steps in the result for each axis of what is reduced."""
    source, out = item.source, item.out
    if len(out.shape) == len(source.shape):
        return tuple([0 if d in item.axes else s for d, s in enumerate(out.strides)])
    rest = iter(out.strides)
    return tuple([0 if d in item.axes else next(rest) for d in range(len(source.shape))])


def _first(item: Reduction, kept: Shape, kind: str) -> str:
    """Begin with the first element along the axes that go."""
    axes = [d for d in range(len(kept)) if d not in item.axes]
    dims = tuple([item.source.shape[d] for d in axes])
    to = at("a0", tuple([kept[d] for d in axes]))
    given = at("a1", tuple([item.source.strides[d] for d in axes]))
    return f"  {nest(dims)}AT({kind}, {to}) = AT({kind}, {given});\n"


_ALONE: Shape = (0,)


def _reduce(item: Reduction, dims: Shape, steps: Shape, into: Shape, kind: str, step: int) -> str:
    if not dims:
        dims, steps, into = (1,), (step,), _ALONE
    *outer, n = dims
    to, given = at("a0", into[:-1]), at("a1", steps[:-1])
    s, t = steps[-1], into[-1]
    is_sum = (
        item.start is not None and kind in ("double", "float") and item.start.startswith("(0x0")
    )
    if is_sum and t == 0:
        text = f"AT({kind}, {to}) += pairwise{step}({given}, {n}L, {s});"
        if n < 8:  # what NumPy adds one after the other
            each = f"for (I k = 0; k < {n}; k++) r += AT({kind}, {given} + k * {s});"
            text = f"{{ {kind} r = ({kind})-0.0; {each} AT({kind}, {to}) += r; }}"
    elif is_sum and n <= _REGISTERS and outer and not into[-2]:
        return _in_registers(dims, steps, into, kind)
    elif is_sum:
        j = len(outer)
        text = f"for (I i{j} = 0; i{j} < {n}; i{j}++) "
        text += f"AT({kind}, {to} + i{j} * {t}) += AT({kind}, {given} + i{j} * {s});"
    else:
        text = f"call2(L, {item.loop}, {to}, {t}, {given}, {s}, {to}, {t}, {n}L);"
    return f"  {nest(tuple(outer))}{text}\n"


def _in_registers(dims: Shape, steps: Shape, into: Shape, kind: str) -> str:
    """Write a sum of rows, a few columns of which are kept in registers, in the same order."""
    k = len(dims) - 1
    last = max([d for d in range(k) if into[d]], default=-1) + 1
    to, n = at("a0", into[:last]) + f" + i{k} * {into[k]}", dims[k]
    columns = f"UNROLLED {head(k, n)}"
    rows = "".join([head(d, dims[d]) for d in range(last, k)])
    begin = f"{kind} r[{n}]; {columns}r[i{k}] = AT({kind}, {to});"
    add = f"{rows}{columns}r[i{k}] += AT({kind}, {at('a1', steps)});"
    end = f"{columns}AT({kind}, {to}) = r[i{k}];"
    return f"  {nest(dims[:last])}{{ {begin}\n  {add}\n  {end} }}\n"


def _product(kernels: Kernels, _: Storage, item: Product) -> None:
    a, b, out = item.a, item.b, item.out
    (m, n), q = a.shape[-2:], b.shape[-1]
    stack = out.shape[:-2]
    steps = [stacked(x, stack) for x in (a, b, out)]
    given = [at(f"a{i}", s) for i, s in enumerate(steps)]
    if item.is_small:
        text = small_product(item, given)
        kernels.call(f"  {nest(stack)}{{\n{text}  }}\n", [address(x) for x in (a, b, out)])
        return
    ends = [
        f"{x}, {v.strides[-2]}, {v.strides[-1]}" for x, v in zip(given, (a, b, out), strict=True)
    ]
    text = f"  {nest(stack)}matmul(L, {item.loop}, {', '.join(ends)}, {m}, {n}, {q});\n"
    kernels.call(text, [address(x) for x in (a, b, out)])


def small_product(item: Product, given: list[str]) -> str:
    """Write a product as loops, of which the innermost runs along memory."""
    kind, step = c_type(item.out.dtype), item.out.dtype.itemsize
    (m, n), q = item.a.shape[-2:], item.b.shape[-1]
    (a, b, out), (am, an), (bn, bq) = given, item.a.strides[-2:], item.b.strides[-2:]
    om, oq = item.out.strides[-2:]
    if q == 1 or (bq != step and am == step):  # the other way round: along columns
        a, b, m, q, am, an, bn, bq, om, oq = b, a, q, m, bq, bn, an, am, oq, om
    lines = [f"for (I i = 0; i < {m}; i++) {{"]
    each = f"AT(const {kind}, {a} + i * {am} + k * {an})"
    if bq != step and bn == step and an == step:
        total = f"{kind} r = 0; SUMS for (I k = 0; k < {n}; k++) r += {each} * "
        total += f"AT(const {kind}, {b} + k * {step} + j * {bq});"
        lines.append(f"  for (I j = 0; j < {q}; j++) {{ {total}")
        lines.append(f"    AT({kind}, {out} + i * {om} + j * {oq}) = r; }}")
    else:
        lines.append(f"  {kind} r[{q}]; for (I j = 0; j < {q}; j++) r[j] = 0;")
        lines.append(f"  for (I k = 0; k < {n}; k++) {{ const {kind} x = {each};")
        more = f"r[j] += x * AT(const {kind}, {b} + k * {bn} + j * {bq});"
        lines.append(f"    IVDEP for (I j = 0; j < {q}; j++) {more} }}")
        lines.append(
            f"  for (I j = 0; j < {q}; j++) AT({kind}, {out} + i * {om} + j * {oq}) = r[j];"
        )
    return "".join([f"    {line}\n" for line in [*lines, "}"]])


def stacked(x: View, stack: Shape) -> Shape:
    """Return the steps of a stack of matrices along the axes of another stack."""
    own = x._replace(shape=x.shape[:-2], strides=x.strides[:-2])
    return own.broadcast(stack).strides


def _gather(kernels: Kernels, _: Storage, item: Gather) -> None:
    out, source, indices, axis = item.out, item.source, item.indices, item.axis
    if not out.size:
        return
    many, k, dims = len(indices), len(indices[0].shape), out.shape
    rest = [*range(axis), *range(axis + k, len(dims))]
    steps = [*source.strides[:axis], *source.strides[axis + many :]]
    place = "".join([f" + i{d} * {s}" for d, s in zip(rest, steps, strict=True) if s])
    place += "".join([f" + j{q} * {source.strides[axis + q]}" for q in range(many)])
    kind = raw_type(out.dtype) if item.write in (None, "{1}") else c_type(out.dtype)
    there, here = f"AT({kind}, a1{place})", f"AT({kind}, {at('a0', out.strides)})"
    text = f"{here} = {there};"
    if item.write is not None:
        text = f"{there} = {item.write.format(there, here)};"
    checks = ""
    for q, index in enumerate(indices):
        n, where = source.shape[axis + q], f"a{2 + q}"
        where += "".join([f" + i{axis + d} * {s}" for d, s in enumerate(index.strides) if s])
        checks += f"I j{q} = AT(int64_t, {where}); j{q} += j{q} < 0 ? {n} : 0; "
        checks += f"if (j{q} < 0 || j{q} >= {n}) {{ *s = 1; return; }} "
    heads = "".join([head(axis + d, dims[axis + d]) for d in range(k)])
    inner = "".join([head(d, dims[d]) for d in rest])
    body = f"  *s = 0;\n  {heads}{{ {checks}{inner}{text} }}\n"
    kernels.call(body, [address(out), address(source), *map(address, indices)])
    kernels.statements.append("if (*w) return 1;")


def _kernel(kernels: Kernels, _: Storage, item: Kernel) -> None:
    kernels.call(item.text, [address(x) for x in (*item.outs, *item.given)])
    if item.may_miss:
        kernels.statements.append("if (*w) return 1;")


def _scan(kernels: Kernels, _: Storage, item: Scan) -> None:
    out, source, axis = item.out, item.source, item.axis
    if not out.size:
        return
    kind, outer = c_type(out.dtype), [d for d in range(len(out.shape)) if d != axis]
    to, given = [at(f"a{i}", _steps(x, outer)) for i, x in enumerate((out, source))]
    s, t = out.strides[axis], source.strides[axis]
    each = item.expression.format("r", f"AT({kind}, {given} + j * {t})")
    text = f"AT({kind}, {to} + j * {s}) = r = {each};"
    first = f"{kind} r = AT({kind}, {to}) = AT({kind}, {given});"
    loop = f"for (I j = 1; j < {out.shape[axis]}; j++) {text}"
    heads = nest(tuple([out.shape[d] for d in outer]))
    kernels.call(f"  {heads}{{ {first} {loop} }}\n", [address(out), address(source)])


def _steps(view: View, axes: list[int]) -> Shape:
    return tuple([view.strides[d] for d in axes])


def _finite(kernels: Kernels, _: Storage, item: Finite) -> None:
    source = item.source
    n, step, kind = source.size, source.dtype.itemsize, c_type(source.dtype)
    where = address(source)
    text = "fabs" if kind == "double" else "fabsf"
    if not source.shape:
        test = f"{text}({number(source)}) < INFINITY"
        kernels.statements.append(f"AT(uint8_t, {address(item.out)}) = {test};")
        return
    steps = f"{n * step}, {step}"
    given = f"{where}, {steps}, {where}, {step}, {step}, (char*)&r, {step}, {step}, 1, {n}, 1"
    call = f"matmul(L, {item.loop}, {given});"
    kernels.statements.append(
        f"{{ {kind} r = 0; {call} AT(uint8_t, {address(item.out)}) = {text}(r) < INFINITY; }}"
    )


def _guard(kernels: Kernels, _: Storage, item: Guard) -> None:
    given = number(item.view)
    if type(item.answer) is bool:
        test = f"{'!' if item.answer else ''}{given}"
    else:
        test = f"{given} != {literal(item.answer, item.view.dtype)}"
    kernels.statements.append(f"if ({test}) return 1;")


_WRITERS: dict[type[Item], Callable[[Kernels, Storage, Any], None]] = {
    Group: _group,
    Copy: _copy,
    Reduction: _reduction,
    Product: _product,
    Gather: _gather,
    Scan: _scan,
    Kernel: _kernel,
    Finite: _finite,
    Guard: _guard,
}
