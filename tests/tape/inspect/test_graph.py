"""A tape as a picture."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from chainrules_tape import Tape
from chainrules_tape.inspect.text import nodes_of
from chainrules_tape.pictures.graph import place

A, B = np.array([0.25, 0.5]), np.array([2.0, 3.0])


def drawn():
    with Tape(differentiable=True) as tape:
        a, b = tape.variable(A, "a"), tape.variable(B, "b<")
        np.sum((a + b) * b)
    return tape


def test_the_graph_for_graphviz():
    text = drawn().to_dot()
    edges = re.findall(r"n(\d+) -> n(\d+)", text)
    assert edges == [("0", "2"), ("1", "2"), ("2", "3"), ("1", "3"), ("3", "4")]
    assert text.count("[label=") == 5
    assert 'label="v0 = a + b<\\nfloat64[2] 2.25 3.5"' in text


def test_the_graph_as_a_picture():
    tape = drawn()
    root = ET.fromstring(tape.to_svg())
    tags = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert tags.count("rect") == 5
    assert tags.count("path") == 5
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert "v0 = a + b<" in texts
    assert "float64[2] 2.25 3.5" in texts
    assert tape._repr_svg_() == tape.to_svg()


def test_boxes_do_not_overlap_and_stand_below_what_they_are_made_of():
    with Tape() as tape:
        xs = [tape.variable(float(i), f"x{i}") for i in range(6)]
        ys = [x * y for x, y in itertools.pairwise(xs)]
        sum(ys) * ys[0]
    nodes = nodes_of(tape)
    for row in place(nodes):
        for left, right in itertools.pairwise(row):
            assert left.x + left.width / 2 < right.x - right.width / 2
    assert all(nodes[p].y < node.y for node in nodes for p in node.parents)


@pytest.mark.parametrize("closed", [True, False])
def test_pictures_of_open_and_closed_tapes(closed):
    tape = Tape()
    x = tape.variable(A, "x")
    np.sin(x)
    if closed:
        tape.close()
    assert "sin(x)" in tape.to_svg()


def test_an_empty_tape():
    ET.fromstring(Tape().to_svg())
