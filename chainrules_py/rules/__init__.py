"""The rules of operations: the mathematics and its source, independent of any library.

A file is imported when one of its operations is first looked up. To import all of them takes a
quarter of the time of importing NumPy.
"""

from chainrules_py.primitives.plugins import later

FILES = {
    "bessel_and_hypergeometric": ("special.bessel_and_hypergeometric", "special.gamma_and_erf"),
    "contraction": ("linalg.determinants_and_norms", "contraction"),
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
        "higher_order.odeint",
    ),
    "indexing": ("indexing",),
    "sigmoid_softmax_entropy": ("sigmoid_softmax_entropy",),
    "interpolation": ("interpolation",),
    "joining": ("joining",),
    "linalg": (
        "linalg.diagonals_and_triangles",
        "linalg.determinants_and_norms",
        "linalg.products",
        "linalg.linear_systems",
        "decompositions.svd",
    ),
    "manipulation": ("manipulation",),
    "matrix_functions": ("matrix_functions",),
    "polynomials": ("polynomials",),
    "predicates": ("predicates",),
    "reductions": ("reductions",),
    "degeneracy_reports": ("degeneracy_reports",),
    "selection": ("selection",),
    "sorting": ("sorting",),
    "gamma_and_erf": ("special.gamma_and_erf",),
    "statistics": ("statistics",),
    "trigonometry": ("trigonometry",),
}
"""The files with the rules of each family of operations."""

for _family, _files in FILES.items():
    for _file in _files:
        later(f"{__name__}.{_file}", f"chainrules_py.ops.{_family}")
later(f"{__name__}.even_functions_of_roots", "chainrules_py.tracing.roots")
