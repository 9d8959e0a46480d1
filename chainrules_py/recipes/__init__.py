"""How each kind of statement is specialised: one recipe for each pen.

A recipe has ``forward(request)`` and ``reverse(request)``, which give a `Bound`, or None if no
derivative flows.
"""

from chainrules_py.recipes.general import FruleRecipe, GeneralRecipe, RruleRecipe
from chainrules_py.recipes.linear import BilinearRecipe, ConstantRecipe, LinearRecipe
from chainrules_py.recipes.scalar import ScalarRecipe
from chainrules_py.recipes.transposed import AugmentedRecipe, PushedRecipe

__all__ = [
    "AugmentedRecipe",
    "BilinearRecipe",
    "ConstantRecipe",
    "FruleRecipe",
    "GeneralRecipe",
    "LinearRecipe",
    "PushedRecipe",
    "RruleRecipe",
    "ScalarRecipe",
]
