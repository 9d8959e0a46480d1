"""Drawings of what is recorded: the graph of a list of calls, for Graphviz, or as SVG; formulas.

Nothing here knows what a tape or a program is: nodes go in, and text comes out.
"""

from chainrules_tape.pictures.formulas import formula
from chainrules_tape.pictures.graph import Node, graphviz, svg
from chainrules_tape.pictures.notebook import load_ipython_extension, of_variable

__all__ = ["Node", "formula", "graphviz", "load_ipython_extension", "of_variable", "svg"]
