"""Higher-order functions to import, and implementations of operations by other operations.

The files with implementations are imported when one of their operations is first looked up, as the
files with rules are.
"""

from chainrules_py.primitives.plugins import later

COMPUTED = {
    "chainrules_py.composites.python_number_implementations": (
        "creation",
        "elementwise",
        "manipulation",
        "predicates",
        "selection",
        "trigonometry",
    ),
    "chainrules_py.composites.linalg": ("contraction", "decompositions", "matrix_functions"),
    "chainrules_kit.fallbacks.elementwise": (
        "elementwise",
        "predicates",
        "selection",
        "trigonometry",
    ),
    "chainrules_kit.fallbacks.indexing": ("indexing",),
    "chainrules_kit.fallbacks.sigmoid_softmax_entropy": ("sigmoid_softmax_entropy",),
    "chainrules_kit.fallbacks.manipulation_and_creation": (
        "creation",
        "manipulation",
        "polynomials",
    ),
    "chainrules_kit.fallbacks.linalg_and_polynomials": (
        "contraction",
        "decompositions",
        "linalg",
        "polynomials",
    ),
    "chainrules_kit.fallbacks.reductions": ("reductions", "selection", "sorting"),
    "chainrules_kit.fallbacks.statistics": ("interpolation", "statistics"),
    "chainrules_py.composites.array_api_signature_differences": (
        "creation",
        "indexing",
        "joining",
        "manipulation",
        "reductions",
        "selection",
    ),
}
"""Files, with the families of the operations that they implement."""

for _file, _families in COMPUTED.items():
    later(_file, *[f"chainrules_py.ops.{f}" for f in _families])
