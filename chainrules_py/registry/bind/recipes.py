"""Recipes, one per pen: each specialises one kind of statement.

A recipe has ``forward(request)`` and ``reverse(request)``, which give a `Bound`, or None if no
derivative flows.
"""

from chainrules_py.registry.bind.elementwise import ElementwiseRecipe
from chainrules_py.registry.bind.general import FruleRecipe, GeneralRecipe, RruleRecipe
from chainrules_py.registry.bind.linear import BilinearRecipe, ConstantRecipe, LinearRecipe

__all__ = [
    "BilinearRecipe",
    "ConstantRecipe",
    "FruleRecipe",
    "GeneralRecipe",
    "LinearRecipe",
    "RruleRecipe",
    "ElementwiseRecipe",
]
