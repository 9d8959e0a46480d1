"""Operations: the functions that rules are stated for and written in.

Named as in the array-API standard, or else as in NumPy. Operands are positional, options
keyword-only. Files declare operations, but for `engine_operations`, with what engines ask about
reads, writes and memory.
This module is also the array namespace of tracers: operations called on a tracer are traced.
"""

import sys

from chainrules_py.ops.bessel_and_hypergeometric import *
from chainrules_py.ops.contraction import *
from chainrules_py.ops.creation import *
from chainrules_py.ops.decompositions import *
from chainrules_py.ops.degeneracy_reports import *
from chainrules_py.ops.elementwise import *
from chainrules_py.ops.fourier import *
from chainrules_py.ops.gamma_and_erf import *
from chainrules_py.ops.higher_order import *
from chainrules_py.ops.indexing import *
from chainrules_py.ops.interpolation import *
from chainrules_py.ops.joining import *
from chainrules_py.ops.linalg import *
from chainrules_py.ops.manipulation import *
from chainrules_py.ops.matrix_functions import *
from chainrules_py.ops.operators import *
from chainrules_py.ops.polynomials import *
from chainrules_py.ops.predicates import *
from chainrules_py.ops.reductions import *
from chainrules_py.ops.selection import *
from chainrules_py.ops.sigmoid_softmax_entropy import *
from chainrules_py.ops.sorting import *
from chainrules_py.ops.statistics import *
from chainrules_py.ops.trigonometry import *
from chainrules_py.values.type_info import _tracer_namespace

_tracer_namespace[:] = [sys.modules[__name__]]
