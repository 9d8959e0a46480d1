"""NumPy support: array types, aliases, and implementations where NumPy differs.

Importing this package registers NumPy's types and ufuncs, and the functions that most programs
call; the rest is registered at its first use.
"""

import sys

if sys.flags.optimize > 1:  # -OO drops NumPy's docstrings, and the signatures with them
    from chainrules_numpy.signatures import tell

    tell()

from chainrules_numpy import (
    array_types,
    broadcast_sums,
    linalg,
    list_and_index_advice,
    memory,
    object_array_methods,
    refused_array_types,
    translated_errors,
    ufuncs,
)
from chainrules_numpy.function_aliases import (
    elementwise_beyond_ufuncs,
    indexing,
    joining,
    manipulation,
    reductions,
)
from chainrules_py.extend import later

__all__ = [
    "broadcast_sums",
    "elementwise_beyond_ufuncs",
    "array_types",
    "indexing",
    "joining",
    "linalg",
    "manipulation",
    "refused_array_types",
    "memory",
    "object_array_methods",
    "reductions",
    "ufuncs",
    "translated_errors",
    "list_and_index_advice",
]

chainrules_contract = 1

_WAITING = {
    "assertion_advice": ("numpy.testing",),
    "function_aliases.polynomials_ascending": ("numpy.polynomial.polynomial",),
    "function_aliases.creation": ("numpy",),
    "function_aliases.decompositions": ("numpy.linalg",),
    "function_aliases.type_and_shape_queries": ("numpy",),
    "function_aliases.fourier": ("numpy.fft",),
    "function_aliases.higher_order": ("numpy",),
    "function_aliases.polynomials": ("numpy",),
    "function_aliases.products_and_norms": ("numpy", "numpy.linalg"),
    "function_aliases.sets": ("numpy",),
    "function_aliases.sorting": ("numpy",),
    "function_aliases.statistics": ("numpy",),
    "masked_array_advice": ("numpy.ma.core", "numpy.ma.extras"),
    "methods": ("numpy.generic", "numpy.ndarray"),
    "plain_number_advice": ("cmath", "math"),
    "random_draw_advice": ("numpy.random",),
    "ufunc_methods": ("numpy",),
    "in_place_functions": ("numpy", "numpy.generic", "numpy.ndarray"),
}
"""Files with aliases, and the NumPy modules and classes that these are for."""

_COMPUTED = {
    "adjoints": ("decompositions", "linalg"),
    "sum_adjoints": ("contraction", "reductions", "sigmoid_softmax_entropy"),
    "array_operations": (
        "creation",
        "indexing",
        "joining",
        "manipulation",
        "polynomials",
        "reductions",
        "sorting",
    ),
    "triangular_and_cholesky": ("decompositions",),
    "elementwise_overrides": ("elementwise", "predicates", "selection"),
    "products": ("contraction",),
    "softmax_and_logsumexp": ("sigmoid_softmax_entropy",),
    "statistics": ("statistics",),
}
"""Files with implementations for which NumPy has no function of the same name and parameters."""

for _file, _modules in _WAITING.items():
    later(f"{__name__}.{_file}", *_modules)
for _file, _families in _COMPUTED.items():
    later(f"{__name__}.{_file}", *[f"chainrules_py.ops.{f}" for f in _families])
