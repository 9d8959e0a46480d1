"""A tape as a picture: the graph of its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chainrules_py.extend import describe, type_info
from chainrules_tape.core.links import parents
from chainrules_tape.core.tape import BareTape
from chainrules_tape.inspect.text import listing, name_of, operation, value_of

if TYPE_CHECKING:
    from chainrules_tape.pictures import Node  # imported where something is drawn: it costs 4 ms

SMALL = 6


def nodes_of(tape: BareTape) -> list[Node]:
    """List the nodes to draw."""
    from chainrules_tape.pictures import Node

    nodes = []
    for index, record in enumerate(tape):
        name, value = name_of(tape, index), value_of(tape, index)
        is_input = record[0] is None
        title = name if is_input else f"{name} = {operation(tape, index)}"
        detail = "" if value is None else _value(value)
        nodes.append(Node(title, detail, parents(record[1]), is_input))
    return nodes


def _value(value: Any) -> str:
    """Show a number, or the elements of a small array; of other values, the dtype and shape."""
    if type_info(type(value)).is_number:
        return f"{value:.6g}"
    shown = describe(value)
    if getattr(value, "ndim", None) == 1 and value.shape[0] <= SMALL:
        return f"{shown} {' '.join(f'{x:.4g}' for x in value.tolist())}"
    return shown


class Drawable(BareTape):
    """Tapes that show themselves: as text, and as a graph."""

    __slots__ = ()

    def __str__(self) -> str:
        return listing(self)

    def to_dot(self) -> str:
        """Return the graph of the calls, in the language of Graphviz."""
        from chainrules_tape.pictures import graphviz

        return graphviz(nodes_of(self), "tape")

    def to_svg(self) -> str:
        """Return the graph of the calls, drawn: shapes, and the values that the tape keeps."""
        from chainrules_tape.pictures import svg

        return svg(nodes_of(self))

    _repr_svg_ = to_svg
