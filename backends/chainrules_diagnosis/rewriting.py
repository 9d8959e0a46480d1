"""What else an author may have written: one expression of a definition at a time, changed.

Each rewriting undoes one mistake that people make in writing: another number, another name, another
function, an operator, an index or an axis one off, something forgotten, or something too many.
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, NamedTuple

from chainrules_diagnosis.expressions import Slot, is_text, shown_at, slots_of
from chainrules_diagnosis.sources import Source


class Rewriting(NamedTuple):
    """One expression that is written otherwise.

    Attributes
    ----------
    line : int
        Where it stands.
    code : code
        The function's, with it.
    texts : callable
        Writes what stands there, and what may be meant, while the rewriting is looked at; the
        second is empty where two expressions are exchanged.
    """

    line: int
    code: CodeType
    texts: Callable[[], tuple[str, str]]


def rewritings(source: Source, *, compares: bool, limit: int = 2000) -> Iterator[Rewriting]:
    """List the rewritings of a definition, those that people need most often first.

    With ``compares`` those of what is compared as well.
    """
    slots = [s for s in slots_of(source) if compares or not _is_compared(s)]
    single = (((slot, new),) for change in _CHANGES for slot in slots for new in change(slot))
    for places in itertools.islice(itertools.chain(single, _exchanges(slots)), limit):
        before = [slot.node for slot, _ in places]
        for (slot, new), old in zip(places, before, strict=True):
            slot.put(_located(new, old))
        try:
            code = source.compiled()
            if code is not None:
                texts = functools.partial(_texts, places, before)
                yield Rewriting(getattr(before[0], "lineno", 0), code, texts)
        finally:
            for (slot, _), old in zip(places, before, strict=True):
                slot.put(old)


def _is_compared(slot: Slot) -> bool:
    return any(isinstance(s.node, ast.Compare) for s in (*slot.above, slot))


def _texts(places: Any, before: list[Any]) -> tuple[str, str]:
    if len(places) > 1:
        return " and ".join([_code(node) for node in before]), ""
    ((slot, new),) = places
    after = shown_at(slot)
    slot.put(before[0])
    # As much around both as is short around the longer one.
    shown = min(after, shown_at(slot), key=[slot, *reversed(slot.above)].index)
    here = _code(shown.node)
    slot.put(new)
    return here, _code(shown.node)


def _code(node: Any) -> str:
    text = re.sub(r"(?<![\w)\]])--(?=\d)", "", ast.unparse(node))  # as of another sign of -1
    return f"`{text.replace(_ARRAY, 'np')}`"


def _exchanges(slots: list[Slot]) -> Iterator[tuple[tuple[Slot, Any], tuple[Slot, Any]]]:
    """List pairs of values of one expression, each in the place of the other."""
    values = [s for s in slots if is_value(s) and s.above]
    for a, b in itertools.combinations(values, 2):
        apart = not any(s.node is a.node for s in b.above)
        if apart and a.above[0].parent is b.above[0].parent and not _alike(a.node, b.node):
            yield (a, b.node), (b, a.node)


def _alike(a: Any, b: Any) -> bool:
    return ast.dump(a) == ast.dump(b)


def _located(after: Any, before: Any) -> Any:
    """Say of new nodes that they stand where the old one stood."""
    todo = [after]
    while todo:
        node = todo.pop()
        if "lineno" in node._attributes and not hasattr(node, "lineno"):
            ast.copy_location(node, before)
            todo += ast.iter_child_nodes(node)
    return after


# ----------------------------------------------------------------------------------- changes


def _numbers(slot: Slot) -> Iterator[Any]:
    """Another number: a factor more or less, the other sign, one more or less."""
    node = slot.node
    if not isinstance(node, ast.Constant) or type(node.value) not in (int, float):
        return
    n: Any = node.value
    if slot.role in ("index", "option"):
        found: list[Any] = [n + 1, n - 1, -n - 1] if type(n) is int else []
    else:
        found = [
            2 * n,
            n / 2,
            -n,
            n + 1,
            n - 1,
            3 * n,
            n / 3,
            4 * n,
            n / 4,
            n * n,
            1 / n if n else n,
        ]
    for value in dict.fromkeys(found):
        whole = int(value) if type(n) is int and value == int(value) else value
        yield _number(whole)


def _number(n: Any) -> Any:
    return ast.UnaryOp(ast.USub(), ast.Constant(-n)) if n < 0 else ast.Constant(n)


_OPERATORS: dict[type, tuple[type, ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add, ast.MatMult),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Div,),
    ast.MatMult: (ast.Mult,),
    ast.Lt: (ast.LtE, ast.Gt, ast.GtE),
    ast.LtE: (ast.Lt, ast.GtE, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt, ast.LtE),
    ast.GtE: (ast.Gt, ast.LtE, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}


def _operators(slot: Slot) -> Iterator[Any]:
    """Another operator, or its two sides exchanged."""
    node = slot.node
    if isinstance(node, ast.BinOp):
        for kind in _OPERATORS.get(type(node.op), ()):
            yield ast.BinOp(node.left, kind(), node.right)
        if isinstance(node.op, (ast.Sub, ast.Div, ast.MatMult, ast.Pow)):
            yield ast.BinOp(node.right, node.op, node.left)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for kind in _OPERATORS.get(type(node.ops[0]), ()):
            yield ast.Compare(node.left, [kind()], node.comparators)
    if isinstance(node, ast.Call) and len(node.args) > 1:
        first, second, *rest = node.args
        if not isinstance(first, ast.Compare):
            yield ast.Call(node.func, [second, first, *rest], node.keywords)
        if len(rest) == 1:  # where(c, a, b)
            yield ast.Call(node.func, [first, rest[0], second], node.keywords)


_FUNCTIONS = (
    ("sin", "cos"),
    ("sinh", "cosh"),
    ("tan", "tanh", "arctan"),
    ("exp", "log", "expm1", "log1p", "exp2"),
    ("log2", "log10", "log"),
    ("sum", "mean"),
    ("var", "std"),
    ("max", "min"),
    ("amax", "amin"),
    ("argmax", "argmin"),
    ("maximum", "minimum"),
    ("tril", "triu"),
    ("floor", "ceil", "round"),
    ("inner", "outer", "dot", "matmul"),
    ("fft", "ifft"),
    ("rfft", "irfft"),
    ("abs", "sign", "square", "sqrt"),
    ("logical_and", "logical_or"),
    ("less", "less_equal", "greater", "greater_equal"),
    ("cumsum", "cumprod"),
    ("digamma", "gammaln", "gamma"),
    ("zeros_like", "ones_like"),
)


def _functions(slot: Slot) -> Iterator[Any]:
    """Another function, as the cosine for the sine."""
    node = slot.node
    if slot.role == "function" and isinstance(node, ast.Attribute):
        for group in _FUNCTIONS:
            if node.attr in group:
                for name in group:
                    yield ast.Attribute(node.value, name, ast.Load())


def _other_names(slot: Slot) -> Iterator[Any]:
    """List other names that are at hand, and for an axis that is written the one that is given."""
    node = slot.node
    if isinstance(node, ast.Name) and slot.role != "function" and node.id in slot.names:
        for name in slot.names:
            yield ast.Name(name, ast.Load())
    if isinstance(node, ast.Constant) and isinstance(slot.parent, ast.keyword):
        if slot.parent.arg in slot.names:
            yield ast.Name(slot.parent.arg, ast.Load())
        if type(node.value) is bool:
            yield ast.Constant(not node.value)


def _along(slot: Slot) -> Iterator[Any]:
    """Along an axis, what is taken of the whole array."""
    node = slot.node
    name = getattr(node.func, "attr", "") if isinstance(node, ast.Call) else ""
    if name in ("sum", "mean", "max", "min", "prod", "std", "var", "norm") and not node.keywords:
        for n in (-1, 0):
            axis = ast.keyword("axis", _number(n))
            for kept in ([], [ast.keyword("keepdims", ast.Constant(True))]):
                yield ast.Call(node.func, node.args, [axis, *kept])


def _left_out(slot: Slot) -> Iterator[Any]:
    """Something less: a factor, a term, a function around, a transpose, a sign, an index."""
    node = slot.node
    if slot.role in ("function", "index"):
        return
    if isinstance(node, ast.BinOp):
        yield node.left
        yield node.right
    if isinstance(node, ast.UnaryOp):
        yield node.operand
    if isinstance(node, ast.Call) and node.args:
        yield node.args[0]
    if isinstance(node, ast.Call) and node.keywords:
        for k in range(len(node.keywords)):
            yield ast.Call(node.func, node.args, [*node.keywords[:k], *node.keywords[k + 1 :]])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        yield node.func.value
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        yield node.value


def is_value(slot: Slot) -> bool:
    """Tell whether an expression is computed for its value, and is more than a constant."""
    kinds = (ast.Name, ast.BinOp, ast.Call, ast.Attribute, ast.Subscript, ast.UnaryOp)
    return slot.role == "value" and isinstance(slot.node, kinds)


def _turned(slot: Slot) -> Iterator[Any]:
    """List the other sign, a multiple, a power; the transpose, the conjugate, another order."""
    if is_value(slot):
        for form in _FORMS:
            yield form.filled(slot.node)


def _indices(slot: Slot) -> Iterator[Any]:
    """List indices that are one more or less, and slices that leave out another end."""
    node, one = slot.node, ast.Constant(1)
    if slot.role == "index" and isinstance(node, (ast.Name, ast.BinOp)):
        yield ast.BinOp(node, ast.Sub(), one)
        yield ast.BinOp(node, ast.Add(), one)
    if isinstance(node, ast.Slice):
        for low, high in ((one, None), (None, ast.UnaryOp(ast.USub(), one)), (None, None)):
            yield ast.Slice(low, high, node.step)


_ARRAY = "__import__('numpy')"
_TEXTS = (
    "-{}",
    "2 * {}",
    "{} / 2",
    "{}.T",
    "3 * {}",
    "{} ** 2",
    "{} ** 0.5",
    "1 / {}",
    "(1 - {})",
    "(1 + {})",
    "{}.conj()",
    "{}[::-1]",
    "{}[..., None]",
    "{}[None]",
    "1j * {}",
    "-1j * {}",
    "({} + {}.T)",
    "({} + {}.T) / 2",
    f"{_ARRAY}.roll({{}}, 1)",
    f"{_ARRAY}.roll({{}}, -1)",
    f"{_ARRAY}.tril({{}})",
    f"{_ARRAY}.triu({{}})",
    f"({{}} - {_ARRAY}.mean({{}}))",
    f"({{}} - {_ARRAY}.diag({_ARRAY}.diag({{}})) / 2)",
    f"({{}} + {_ARRAY}.diag({_ARRAY}.diag({{}})))",
    f"({{}} - {_ARRAY}.diag({_ARRAY}.diag({{}})))",
    f"{_ARRAY}.sum({{}})",
    f"{_ARRAY}.cumsum({{}})",
)


class _Form:
    """An expression with holes; one at a time is filled in."""

    def __init__(self, text: str) -> None:
        whole = ast.parse(text.replace("{}", "_hole"), mode="eval")
        self.holes: list[tuple[Any, Any]] = []
        for around in ast.walk(whole):
            for field, value in ast.iter_fields(around):
                places = enumerate(value) if isinstance(value, list) else [(field, value)]
                holes = [k for k, x in places if isinstance(x, ast.Name) and x.id == "_hole"]
                self.holes += [
                    (value if isinstance(value, list) else vars(around), k) for k in holes
                ]
        self.body = whole.body

    def filled(self, node: Any) -> Any:
        for around, place in self.holes:
            around[place] = node
        return self.body


_FORMS = tuple(map(_Form, _TEXTS))


def _products(slot: Slot) -> Iterator[Any]:
    """List factors and terms that are at hand, and a matrix on the other side."""
    node = slot.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        other = ast.BinOp(node.right, ast.MatMult(), node.left)
        both = ast.BinOp(node, ast.Add(), other)
        yield ast.BinOp(both, ast.Div(), ast.Constant(2))
    if not is_value(slot):
        return
    is_factor = isinstance(slot.parent, ast.BinOp) and isinstance(
        slot.parent.op, (ast.Mult, ast.Div, ast.Pow)
    )
    if is_factor:
        return
    for name in slot.names:
        for operator in (ast.Mult, ast.Div, ast.Sub, ast.Add):
            yield ast.BinOp(node, operator(), ast.Name(name, ast.Load()))


def _subscripts(slot: Slot) -> Iterator[Any]:
    """Other subscripts of an einsum: two of them exchanged, or two letters of one."""
    node = slot.node
    if not is_text(node):
        return
    inputs, _, output = node.value.replace(" ", "").partition("->")
    parts = [*inputs.split(","), output]
    for i, k in itertools.combinations(range(len(parts)), 2):
        changed = list(parts)
        changed[i], changed[k] = parts[k], parts[i]
        yield _subscript(changed)
    for n, part in enumerate(parts):
        for i, k in itertools.combinations(range(len(part)), 2):
            letters = list(part)
            letters[i], letters[k] = part[k], part[i]
            yield _subscript([*parts[:n], "".join(letters), *parts[n + 1 :]])


def _subscript(parts: list[str]) -> Any:
    return ast.Constant(f"{','.join(parts[:-1])}->{parts[-1]}")


_CHANGES: tuple[Callable[[Slot], Iterator[Any]], ...] = (
    _subscripts,
    _numbers,
    _operators,
    _functions,
    _along,
    _other_names,
    _indices,
    _left_out,
    _turned,
    _products,
)
