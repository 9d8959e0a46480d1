"""NumPy-like functions written in words, shared by every library.

Some files say how words are computed by other words as well. They are imported when one of these
words is first looked up, as those with rules are.
"""

from chainrules_py.primitives.plugins import later

COMPUTED = {
    "composites.python_numbers": (
        "creation",
        "elementwise",
        "manipulation",
        "predicates",
        "selection",
        "trigonometry",
    ),
    "composites.decompositions": ("decompositions", "matrix_functions"),
    "composites.elementwise": ("selection",),
    "composites.fallbacks.elementwise": ("elementwise", "predicates", "selection", "trigonometry"),
    "composites.fallbacks.indexing": ("indexing",),
    "composites.fallbacks.information": ("information",),
    "composites.fallbacks.manipulation": ("creation", "manipulation", "polynomials"),
    "composites.fallbacks.matrices": ("contraction", "decompositions", "linalg", "polynomials"),
    "composites.fallbacks.reductions": ("reductions", "selection", "sorting"),
    "composites.fallbacks.statistics": ("interpolation", "statistics"),
    "composites.products": ("contraction",),
    "composites.standard": ("creation", "indexing", "joining", "manipulation", "reductions"),
}
"""Files, with the families of the words that they compute."""

for _file, _families in COMPUTED.items():
    later(f"chainrules_py.{_file}", *[f"chainrules_py.vocabulary.{f}" for f in _families])
