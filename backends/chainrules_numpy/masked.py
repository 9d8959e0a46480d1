"""Arrays of numpy.ma, and matrices: refused wherever they could enter.

The functions of ``np.ma`` show a call to nobody, and what the others do with a masked array NumPy
does not say: so a derivative would be that of another program. What is meant is written with an
array and its mask, as two values. The classes are named, for to import ``numpy.ma`` takes time.
"""

from __future__ import annotations

from chainrules_py.extend import refuse_type

INSTEAD = (
    "write x, mask = m.data, np.ma.getmaskarray(m), and np.where(mask, 0.0, x), whose derivative "
    "is zero where the mask is true (a mean divides by np.sum(~mask)); or m.filled(0)"
)

refuse_type("numpy.ma.MaskedArray", INSTEAD)
refuse_type("numpy.ma.core.MaskedArray", INSTEAD)
refuse_type("numpy.matrix", "write np.asarray(m), and @ for the product of matrices")
