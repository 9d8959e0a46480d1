"""SciPy for chainrules_py: its functions, for traced values too.

The ufuncs of ``scipy.special`` take traced values directly. SciPy's functions that are written in
Python convert their arguments to plain arrays first; the modules here, named like SciPy's, have
functions of the same names and parameters that also take traced values. `install` puts them under
SciPy's own names. A module is imported when an object of its SciPy module is first seen.
"""

import importlib
from typing import Any

from chainrules_py.extend import later
from chainrules_scipy._private import OF_SPARSE_ARRAYS
from chainrules_scipy.host_computation import by_numpy
from chainrules_scipy.installation import OURS, Installed, install

__all__ = ["Installed", "by_numpy", "install"]

chainrules_contract = 1

try:
    importlib.import_module("scipy")
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"chainrules_scipy needs SciPy ({error}): pip install 'chainrules-py[scipy]'",
        name=error.name,
    ) from error

for _theirs, _ours in OURS.items():
    later(_ours, _theirs)
later("chainrules_scipy.ufunc_rules", "scipy.special")
for _operations in (
    "gamma_and_erf",
    "sigmoid_softmax_entropy",
    "bessel_and_hypergeometric",
    "matrix_functions",
):
    later("chainrules_scipy.implementations", f"chainrules_py.ops.{_operations}")

# A sparse array that is passed to a function loads its module; for one that a function only
# multiplies by, see `chainrules_scipy.sparse_operators`.
later("chainrules_scipy.sparse", *OF_SPARSE_ARRAYS)


def __getattr__(name: str) -> Any:
    if f"{__name__}.{name}" in OURS.values():
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
