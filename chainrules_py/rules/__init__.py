"""The rules of operations: the mathematics and its source, independent of any library.

A file is imported when one of its operations is first looked up. To import all of them takes a
quarter of the time of importing NumPy.
"""

from chainrules_py.primitives.plugins import later

FILES = {
    "bessel": ("special.bessel", "special.special"),
    "contraction": ("contraction.determinants", "contraction.einsum"),
    "creation": ("creation",),
    "decompositions": (
        "decompositions.cholesky",
        "decompositions.eigen",
        "decompositions.least_squares",
        "decompositions.qr",
        "linalg.linear_systems",
    ),
    "elementwise": ("elementwise",),
    "fourier": ("fourier",),
    "higher_order": (
        "higher_order.map_reduce_scan",
        "higher_order.implicit",
        "higher_order.integration",
    ),
    "indexing": ("indexing",),
    "log_exp_functions": ("log_exp_functions",),
    "interpolation": ("interpolation",),
    "joining": ("joining",),
    "linalg": ("linalg.matrices", "linalg.products", "linalg.linear_systems", "linalg.svd"),
    "manipulation": ("manipulation",),
    "matrix_functions": ("matrix_functions",),
    "polynomials": ("polynomials",),
    "predicates": ("predicates",),
    "reductions": ("reductions",),
    "undetermined": ("undetermined",),
    "selection": ("selection",),
    "sorting": ("sorting",),
    "special": ("special.special",),
    "statistics": ("statistics",),
    "trigonometry": ("trigonometry",),
}
"""The files with the rules of each family of operations."""

for _family, _files in FILES.items():
    for _file in _files:
        later(f"{__name__}.{_file}", f"chainrules_py.ops.{_family}")
