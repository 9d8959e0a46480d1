"""SciPy, as chainrules_py sees it: its functions, of values that are differentiated too.

The ufuncs of ``scipy.special`` take traced values as they are. SciPy's functions that are written
in Python make plain arrays of their arguments first; the modules here, which have the names of
SciPy's, have functions of the same names and parameters that take traced values as well. `install`
puts them under SciPy's own names. A module is imported when something of SciPy's is seen.
"""

import importlib
from typing import Any

from chainrules_py.extend import later
from chainrules_scipy import refusals
from chainrules_scipy._private import OF_ALL_SPARSE_ARRAYS, OF_SPARSE_ARRAYS
from chainrules_scipy.installing import OURS, Installed, install
from chainrules_scipy.other_engines import by_numpy

__all__ = ["Installed", "by_numpy", "install", "refusals"]

chainrules_contract = 1

importlib.import_module("scipy")  # what stands for it cannot be imported without it

for _theirs, _ours in OURS.items():
    later(_ours, _theirs)
later("chainrules_scipy.ufuncs", "scipy.special")
for _operations in ("special", "information", "bessel", "matrix_functions"):
    later("chainrules_scipy.implementations", f"chainrules_py.ops.{_operations}")

# An array that is passed to a function brings its module; one that it only multiplies is a plain
# array of SciPy's, and its operators have to be told before.
later("chainrules_scipy.sparse", *OF_SPARSE_ARRAYS)
later("chainrules_scipy.sparse.hints", OF_ALL_SPARSE_ARRAYS)


def __getattr__(name: str) -> Any:
    if f"{__name__}.{name}" in OURS.values():
        return importlib.import_module(f"{__name__}.{name}")
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
