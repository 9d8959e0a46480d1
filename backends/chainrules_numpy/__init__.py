"""NumPy support: array types, aliases, and implementations where NumPy differs.

Importing this package registers NumPy's types and ufuncs, and the functions that most programs
call; the rest is registered at its first use.
"""

import numpy as np

if tuple(map(int, np.__version__.split(".")[:2])) < (2, 4):
    from chainrules_numpy.signatures import tell

    tell()

from chainrules_numpy import (
    broadcast_sums,
    linalg,
    list_and_index_advice,
    memory,
    object_array_methods,
    plain_number_errors,
    refused_array_types,
    registration,
    ufuncs,
)
from chainrules_numpy.functions import (
    elementwise,
    indexing,
    joining,
    manipulation,
    reductions,
)
from chainrules_py.extend import later

__all__ = [
    "broadcast_sums",
    "elementwise",
    "registration",
    "indexing",
    "joining",
    "linalg",
    "manipulation",
    "refused_array_types",
    "memory",
    "object_array_methods",
    "reductions",
    "ufuncs",
    "plain_number_errors",
    "list_and_index_advice",
]

chainrules_contract = 1

_WAITING = {
    "functions.polynomials_ascending": ("numpy.polynomial.polynomial",),
    "functions.creation": ("numpy",),
    "functions.decompositions": ("numpy.linalg",),
    "functions.nondifferentiable": ("numpy",),
    "functions.fourier": ("numpy.fft",),
    "functions.higher_order": ("numpy",),
    "functions.polynomials": ("numpy",),
    "functions.products": ("numpy", "numpy.linalg"),
    "functions.sets": ("numpy",),
    "functions.sorting": ("numpy",),
    "functions.statistics": ("numpy",),
    "masked_array_advice": ("numpy.ma.core", "numpy.ma.extras"),
    "methods": ("numpy.generic", "numpy.ndarray"),
    "plain_number_advice": ("cmath", "math"),
    "random": ("numpy.random",),
    "ufunc_methods": ("numpy",),
    "in_place_functions": ("numpy", "numpy.generic", "numpy.ndarray"),
}
"""Files with aliases, and the NumPy modules and classes that these are for."""

_COMPUTED = {
    "adjoints": ("decompositions", "linalg", "reductions"),
    "arrays": (
        "creation",
        "indexing",
        "joining",
        "manipulation",
        "polynomials",
        "reductions",
        "sorting",
    ),
    "decompositions": ("decompositions",),
    "elementwise": ("elementwise", "predicates", "selection"),
    "products": ("contraction",),
    "special": ("log_exp_functions",),
    "statistics": ("statistics",),
}
"""Files with implementations for which NumPy has no function of the same name and parameters."""

for _file, _modules in _WAITING.items():
    later(f"{__name__}.{_file}", *_modules)
for _file, _families in _COMPUTED.items():
    later(f"{__name__}.{_file}", *[f"chainrules_py.ops.{f}" for f in _families])
