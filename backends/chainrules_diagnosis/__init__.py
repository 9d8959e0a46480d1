"""Names of mistakes: how a wrong Jacobian differs from the right one, in words.

A grammar of hypotheses. Each changes the right Jacobian as a mistake would change it; the first, in
order of simplicity, that gives the wrong one at every point that was looked at is the name. Nothing
here knows what a rule is: matrices go in, and words come out.
"""

from chainrules_diagnosis.block import Axes, Evidence, Place
from chainrules_diagnosis.drawing import heat_map
from chainrules_diagnosis.names import join_halves, join_operands, name_jacobian
from chainrules_diagnosis.ratio import name_ratio

__all__ = [
    "Axes",
    "Evidence",
    "Place",
    "heat_map",
    "join_halves",
    "join_operands",
    "name_jacobian",
    "name_ratio",
]
