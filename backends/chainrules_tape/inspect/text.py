"""Text of a tape: one line for each record, such as ``v3 = v2 * b``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NoReturn

from chainrules_py.extend import describe, type_info
from chainrules_py.ops import binary_operators, square_operator, unary_operators
from chainrules_tape.core.bare_tape import BareTape
from chainrules_tape.core.cotangent_routing import parents
from chainrules_tape.core.variable import BareVariable

if TYPE_CHECKING:
    from chainrules_tape.pictures import Node  # imported only for drawing, because it takes 4 ms


_SIGNS = {
    "__add__": "+",
    "__sub__": "-",
    "__mul__": "*",
    "__truediv__": "/",
    "__floordiv__": "//",
    "__mod__": "%",
    "__pow__": "**",
    "__matmul__": "@",
    "__neg__": "-",
}
_infix = {w: _SIGNS[name] for name, (w, _) in binary_operators.items() if name in _SIGNS}
_prefix = {w: _SIGNS[name] for name, (w, _) in unary_operators.items() if name in _SIGNS}
_UNKNOWN = "…"
"""Placeholder of a constant operand, where the tape does not keep the calls."""


def _given_by_the_tape(name: str) -> property:
    """Return a property of PyTorch's tensors that raises: a tape gives the gradient."""

    def missing(self: Any) -> NoReturn:
        message = f"{type(self).__name__!r} object has no attribute {name!r}"
        raise AttributeError(f"{message}; write tape.grad(loss, x)", name=name, obj=self)

    return property(missing)


class Named(BareVariable):
    """Variables that have a name in listings of their tape."""

    __slots__ = ()

    @property
    def tape_name(self) -> str:
        """The given name, or v and a number."""
        return name_of(self.tape, self.place)

    backward, grad = _given_by_the_tape("backward"), _given_by_the_tape("grad")

    def _repr_html_(self) -> str:
        from chainrules_tape.pictures import of_variable  # which takes 4 ms

        return of_variable(self)


def listing(tape: BareTape) -> str:
    """Return a line for each record of a tape, with values where the tape keeps them."""
    lines = []
    for index in range(len(tape)):
        line = f"{name_of(tape, index)} = {operation(tape, index)}"
        value = value_of(tape, index)
        lines.append(line if value is None else f"{line}  # {describe(value)}")
    return "\n".join(lines) or repr(tape)


def name_of(tape: BareTape, index: int) -> str:
    """Return the given name of a record, or v and its number among the unnamed."""
    names = tape.notes.names if tape.notes is not None else {}
    if index in names:
        return names[index]
    return f"v{index - sum(1 for named in names if named < index)}"


def value_of(tape: BareTape, index: int) -> Any:
    """Return the value of a record, on tapes that keep calls; otherwise None."""
    calls = tape.notes.calls if tape.notes is not None else None
    return calls[index].value if calls and index in calls else None


def operation(tape: BareTape, index: int) -> str:
    """Return the right-hand side of a record's line, in terms of the names of its operands."""
    pull, links = tape[index][:2]
    if pull is None:
        return "input"
    if isinstance(said := getattr(pull, "shown", None), str):  # a dropped record
        return f"{_UNKNOWN}  ({said})"
    statement = getattr(pull, "statement", None)
    calls = tape.notes.calls if tape.notes is not None else None
    if statement is None:  # the field of a structure, recorded with its key
        return f"{name_of(tape, links)}[{tape[index][3]!r}]"
    primitive = statement.primal
    if calls and index in calls:
        call = calls[index]
        shown = [_operand(tape, payload, link) for payload, link in call.opened]
        defaults = primitive.options
        options = [f"{n}={x!r}" for n, x in call.options.items() if defaults.get(n, x) != x]
    else:
        names = [name_of(tape, parent) for parent in parents(links)]
        wanted = getattr(pull, "wanted", ())
        if sum(wanted) != len(names):  # not told by an operation's own way of recording
            wanted = [True] * len(names) + [False] * (len(primitive.operands) - len(names))
        rest = iter(names)
        shown, options = [next(rest) if known else _UNKNOWN for known in wanted], []
    return _written(primitive, shown, options)


def _operand(tape: BareTape, payload: Any, link: Any) -> str:
    if type(link) is int:
        return name_of(tape, link)
    if link is not None:
        return "(" + ", ".join(name_of(tape, parent) for parent in parents(link)) + ")"
    cls = type(payload)
    if type_info(cls).is_array and not type_info(cls).is_number:
        return describe(payload)
    return re.sub(r" at 0x[0-9a-f]+", "", repr(payload))


def _written(primitive: Any, operands: list[str], options: list[str]) -> str:
    if len(operands) == 2 and primitive in _infix and not options:
        return f"{operands[0]} {_infix[primitive]} {operands[1]}"
    if primitive is square_operator[0]:
        return f"{operands[0]} ** 2"
    if len(operands) == 1 and primitive in _prefix and not options:
        return f"{_prefix[primitive]}{operands[0]}"
    return f"{primitive.__name__}({', '.join([*operands, *options])})"


SMALL = 6


def nodes_of(tape: BareTape) -> list[Node]:
    """Return the nodes to draw."""
    from chainrules_tape.pictures import Node

    nodes = []
    for index, record in enumerate(tape):
        name, value, is_input = name_of(tape, index), value_of(tape, index), record[0] is None
        title = name if is_input else f"{name} = {operation(tape, index)}"
        detail = "" if value is None else _value(value)
        nodes.append(Node(title, detail, parents(record[1]), is_input))
    return nodes


def _value(value: Any) -> str:
    """Show a number, or the elements of a small array; for other values, the dtype and shape."""
    if type_info(type(value)).is_number:
        return f"{value:.6g}"
    shown = describe(value)
    if getattr(value, "ndim", None) == 1 and value.shape[0] <= SMALL:
        return f"{shown} {' '.join(f'{x:.4g}' for x in value.tolist())}"
    return shown
