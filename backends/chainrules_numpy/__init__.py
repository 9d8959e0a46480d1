"""NumPy, as chainrules_py sees it: tables, and the exceptions to them.

Importing this registers its types, its ufuncs, and the functions that most programs call; the rest
when something of it is first seen.
"""

import numpy as np

if tuple(map(int, np.__version__.split(".")[:2])) < (2, 4):
    from chainrules_numpy.signatures import tell

    tell()

from chainrules_numpy import (
    broadcasting,
    library,
    linalg,
    masked,
    memory,
    objects,
    plain_number_errors,
    ufuncs,
    write_hints,
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
    "broadcasting",
    "elementwise",
    "library",
    "indexing",
    "joining",
    "linalg",
    "manipulation",
    "masked",
    "memory",
    "objects",
    "reductions",
    "ufuncs",
    "plain_number_errors",
    "write_hints",
]

chainrules_contract = 1

_WAITING = {
    "functions.ascending": ("numpy.polynomial.polynomial",),
    "functions.creation": ("numpy",),
    "functions.decompositions": ("numpy.linalg",),
    "functions.facts": ("numpy",),
    "functions.fourier": ("numpy.fft",),
    "functions.higher_order": ("numpy",),
    "functions.polynomials": ("numpy",),
    "functions.products": ("numpy", "numpy.linalg"),
    "functions.sets": ("numpy",),
    "functions.sorting": ("numpy",),
    "functions.statistics": ("numpy",),
    "masked_entrances": ("numpy.ma.core", "numpy.ma.extras"),
    "methods": ("numpy.generic", "numpy.ndarray"),
    "plain_number_hints": ("cmath", "math"),
    "random": ("numpy.random",),
    "ufunc_methods": ("numpy",),
    "writes": ("numpy", "numpy.generic", "numpy.ndarray"),
}
"""Files with rows, and the modules and classes of NumPy's whose functions these are of."""

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
    "special": ("information",),
    "statistics": ("statistics",),
}
"""Files with what NumPy computes in another way than by a function of the same name."""

for _file, _modules in _WAITING.items():
    later(f"{__name__}.{_file}", *_modules)
for _file, _families in _COMPUTED.items():
    later(f"{__name__}.{_file}", *[f"chainrules_py.ops.{f}" for f in _families])
