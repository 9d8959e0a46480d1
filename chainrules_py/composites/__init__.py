"""NumPy-like functions written in words, shared by every library.

Some files say how words are computed by other words as well. They are imported when one of these
words is first looked up, as those with rules are.
"""

from chainrules_py.loading import later

__all__ = ["COMPUTED"]

COMPUTED = {
    "builtins": (
        "creation",
        "elementwise",
        "manipulation",
        "predicates",
        "selection",
        "trigonometry",
    ),
    "composites.decompositions": ("decompositions",),
    "composites.elementwise": ("selection",),
    "composites.higher_order": ("higher_order",),
    "composites.lacking.elementwise": ("elementwise", "predicates", "selection", "trigonometry"),
    "composites.lacking.indexing": ("indexing",),
    "composites.lacking.information": ("information",),
    "composites.lacking.integers": ("predicates",),
    "composites.lacking.manipulation": ("creation", "manipulation", "polynomials"),
    "composites.lacking.matrices": ("contraction", "decompositions", "linalg", "polynomials"),
    "composites.lacking.reductions": ("reductions", "selection", "sorting"),
    "composites.lacking.statistics": ("interpolation", "statistics"),
    "composites.matrix_functions": ("matrix_functions",),
    "composites.products": ("contraction",),
    "composites.standard": ("creation", "indexing", "joining", "manipulation", "reductions"),
}
"""Files, with the families of the words that they compute."""

for _file, _families in COMPUTED.items():
    later(f"chainrules_py.{_file}", *[f"chainrules_py.vocabulary.{f}" for f in _families])
