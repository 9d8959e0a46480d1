"""A tape as a picture: the graph of its calls, for Graphviz, or drawn here."""

from __future__ import annotations

import dataclasses
from html import escape
from typing import Any

from chainrules_py.extend import describe, type_info
from chainrules_tape.core.links import parents
from chainrules_tape.core.tape import BareTape
from chainrules_tape.inspect.text import listing, name_of, operation, value_of

WIDTH_OF_LETTER, HEIGHT, GAP, STEP, MARGIN = 7.2, 40, 24, 76, 16
SMALL = 6


@dataclasses.dataclass
class Node:
    """A record in the picture.

    Attributes
    ----------
    title, detail : str
        Its two lines: what is computed, and what came of it.
    parents : tuple of int
        Where its operands stand.
    is_input : bool
        Whether nothing flows out of it.
    x, y : float
        The middle of its box, once it is placed.
    """

    title: str
    detail: str
    parents: tuple[int, ...]
    is_input: bool
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        """Width of the node: that of the longer line."""
        return max(WIDTH_OF_LETTER * max(len(self.title), len(self.detail)) + 20, HEIGHT)


def nodes_of(tape: BareTape) -> list[Node]:
    """List the nodes to draw."""
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


def graphviz(tape: BareTape) -> str:
    """Write the graph in the language of Graphviz, one node for each record."""
    lines = ["digraph tape {", "  node [shape=box, fontname=monospace];"]
    for index, node in enumerate(nodes_of(tape)):
        label = (node.title + (f"\n{node.detail}" if node.detail else "")).replace("\\", "\\\\")
        label = label.replace('"', r"\"").replace("\n", r"\n")
        shape = ", shape=ellipse" if node.is_input else ""
        lines.append(f'  n{index} [label="{label}"{shape}];')
        lines += [f"  n{parent} -> n{index};" for parent in node.parents]
    return "\n".join([*lines, "}"])


def svg(tape: BareTape) -> str:
    """Draw the graph: inputs on top, each record below the values it was computed from."""
    nodes = nodes_of(tape)
    rows = place(nodes)
    width = max((n.x + n.width / 2 for n in nodes), default=0) + MARGIN
    height = MARGIN * 2 + HEIGHT + STEP * max(len(rows) - 1, 0)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="monospace" font-size="12">'
        f"<title>{len(nodes)} records</title>"
    )
    parts = [head]
    for node in nodes:
        parts += [_edge(nodes[parent], node) for parent in node.parents]
    parts += map(_box, nodes)
    return "\n".join([*parts, "</svg>"])


def place(nodes: list[Node]) -> list[list[Node]]:
    """Put nodes into rows by how far they are from the inputs, near to what they are made of."""
    depth: list[int] = []
    for node in nodes:
        depth.append(max((depth[p] + 1 for p in node.parents), default=0))
    rows: list[list[Node]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for node, d in zip(nodes, depth, strict=True):
        rows[d].append(node)
    for d, row in enumerate(rows):
        if d:
            row.sort(key=lambda n: sum(nodes[p].x for p in n.parents) / max(len(n.parents), 1))
        right = float(MARGIN)
        for node in row:
            wish = sum(nodes[p].x for p in node.parents) / max(len(node.parents), 1)
            node.x = max(right + node.width / 2, wish)
            node.y = MARGIN + HEIGHT / 2 + STEP * d
            right = node.x + node.width / 2 + GAP
    return rows


def _edge(start: Node, end: Node) -> str:
    top, bottom = start.y + HEIGHT / 2, end.y - HEIGHT / 2
    middle = (top + bottom) / 2
    curve = f"M{start.x:.1f} {top:.1f} C{start.x:.1f} {middle:.1f} {end.x:.1f} {middle:.1f}"
    return f'<path d="{curve} {end.x:.1f} {bottom:.1f}" fill="none" stroke="#8a94a6"/>'


def _box(node: Node) -> str:
    x, y = node.x - node.width / 2, node.y - HEIGHT / 2
    fill, round_ = ("#e3f1e8", HEIGHT / 2) if node.is_input else ("#eef1f6", 6)
    box = (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{node.width:.1f}" height="{HEIGHT}" rx="{round_}" '
        f'fill="{fill}" stroke="#5b6678"/>'
    )
    lines = [node.title, node.detail] if node.detail else [node.title]
    first = node.y + 4 - 7 * (len(lines) - 1)
    texts = [
        f'<text x="{node.x:.1f}" y="{first + 15 * i:.1f}" text-anchor="middle" '
        f'fill="{"#1d2430" if i == 0 else "#5b6678"}">{escape(text)}</text>'
        for i, text in enumerate(lines)
    ]
    return box + "".join(texts)


class Drawable(BareTape):
    """Tapes that show themselves: as text, and as a graph."""

    __slots__ = ()

    def __str__(self) -> str:
        return listing(self)

    def to_dot(self) -> str:
        """Return the graph of the calls, in the language of Graphviz."""
        return graphviz(self)

    def to_svg(self) -> str:
        """Return the graph of the calls, drawn: shapes, and the values that the tape keeps."""
        return svg(self)

    _repr_svg_ = to_svg
