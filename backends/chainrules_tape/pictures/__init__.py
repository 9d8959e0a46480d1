"""Pictures of recorded calls: graphs for Graphviz or as SVG, and formulas.

This package knows neither tapes nor programs: its functions take nodes and return text.
"""

from chainrules_tape.pictures.formulas import formula
from chainrules_tape.pictures.graph import Node, graphviz, svg
from chainrules_tape.pictures.notebook import load_ipython_extension, of_variable

__all__ = ["Node", "formula", "graphviz", "load_ipython_extension", "of_variable", "svg"]
