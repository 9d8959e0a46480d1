"""The vocabulary: the functions that rules are stated for and written in.

Declarations only, named as in the array-API standard, then as in NumPy. Operands are positional,
options keyword-only. It is also the namespace of a tracer: words called on one are traced.
"""

import sys
from typing import Any

from chainrules_py.primitives.rows.alias import aliases
from chainrules_py.values.type_info import _tracer_namespace
from chainrules_py.vocabulary.bessel import *
from chainrules_py.vocabulary.contraction import *
from chainrules_py.vocabulary.creation import *
from chainrules_py.vocabulary.decompositions import *
from chainrules_py.vocabulary.elementwise import *
from chainrules_py.vocabulary.fourier import *
from chainrules_py.vocabulary.higher_order import *
from chainrules_py.vocabulary.indexing import *
from chainrules_py.vocabulary.information import *
from chainrules_py.vocabulary.interpolation import *
from chainrules_py.vocabulary.joining import *
from chainrules_py.vocabulary.linalg import *
from chainrules_py.vocabulary.manipulation import *
from chainrules_py.vocabulary.matrix_functions import *
from chainrules_py.vocabulary.operators import *
from chainrules_py.vocabulary.polynomials import *
from chainrules_py.vocabulary.predicates import *
from chainrules_py.vocabulary.reductions import *
from chainrules_py.vocabulary.reporting import *
from chainrules_py.vocabulary.selection import *
from chainrules_py.vocabulary.sorting import *
from chainrules_py.vocabulary.special import *
from chainrules_py.vocabulary.statistics import *
from chainrules_py.vocabulary.trigonometry import *

_tracer_namespace[:] = [sys.modules[__name__]]


def __getattr__(name: str) -> Any:
    """Say what to write, where a rule asks for a word by the name that a library gives it."""
    msg = f"the vocabulary has no word {name}"
    found = [
        (getattr(f, "__module__", ""), row.word.__name__)
        for f, row in aliases.items()
        if getattr(f, "__name__", "_") == name
    ]
    places = sorted([(len(module), module, word) for module, word in found if module])
    if places and name[0] != "_":
        _, module, word = places[0]
        ours = f"{word}, or " if word in globals() else ""
        msg += f"; write {ours}{module}.{name}, which takes traced values"
    raise AttributeError(msg)
