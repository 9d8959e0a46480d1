"""Draw the graph of a list of calls: for Graphviz, or as SVG."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from html import escape

WIDTH_OF_LETTER, HEIGHT, GAP, STEP, MARGIN = 7.2, 40, 24, 76, 16


@dataclasses.dataclass
class Node:
    """The value of one call in the picture.

    Attributes
    ----------
    title, detail : str
        Its two lines: the operation, and its value.
    parents : tuple of int
        Indices of its operands.
    is_input : bool
        Whether it is an input.
    x, y : float
        The center of its box, once `place` has set it.
    """

    title: str
    detail: str
    parents: tuple[int, ...]
    is_input: bool = False
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        """Width of the node, from its longer line."""
        return max(WIDTH_OF_LETTER * max(len(self.title), len(self.detail)) + 20, HEIGHT)


def graphviz(nodes: Sequence[Node], name: str) -> str:
    r"""Return the graph in the DOT language of Graphviz.

    Parameters
    ----------
    nodes : sequence of Node
        The calls, in their order.
    name : str
        Name of the graph.

    Returns
    -------
    str
        The graph with one node for each call, and an edge from each of its operands.

    Examples
    --------
    >>> from chainrules_tape.pictures import Node, graphviz
    >>> print(graphviz([Node("x", "", (), True), Node("y = sin(x)", "0.5", (0,))], "tape"))
    digraph tape {
      node [shape=box, fontname=monospace];
      n0 [label="x", shape=ellipse];
      n1 [label="y = sin(x)\n0.5"];
      n0 -> n1;
    }
    """
    lines = [f"digraph {name} {{", "  node [shape=box, fontname=monospace];"]
    for index, node in enumerate(nodes):
        label = (node.title + (f"\n{node.detail}" if node.detail else "")).replace("\\", "\\\\")
        label = label.replace('"', r"\"").replace("\n", r"\n")
        shape = ", shape=ellipse" if node.is_input else ""
        lines.append(f'  n{index} [label="{label}"{shape}];')
        lines += [f"  n{parent} -> n{index};" for parent in node.parents]
    return "\n".join([*lines, "}"])


def svg(nodes: Sequence[Node]) -> str:
    """Draw the graph: inputs on top, each value below the values it was computed from.

    Parameters
    ----------
    nodes : sequence of Node
        The calls, in their order; their positions are set.

    Returns
    -------
    str
        An SVG element.

    Examples
    --------
    >>> from chainrules_tape.pictures import Node, svg
    >>> svg([Node("x", "", (), True), Node("y = sin(x)", "0.5", (0,))]).count("<rect")
    2
    """
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


def place(nodes: Sequence[Node]) -> list[list[Node]]:
    """Arrange nodes in rows by their distance from the inputs, close to their operands."""
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
