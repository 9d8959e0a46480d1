"""Arrays of numpy.ma, matrices and quantities with units are refused wherever they could enter.

NumPy does not dispatch the functions of ``np.ma``, and does not define the result of other
functions for masked arrays, so that a derivative could belong to another program. Use an array and
its mask, as two values, instead. The classes are given by name, as importing ``numpy.ma`` takes
time.
"""

from __future__ import annotations

from chainrules_py.extend import refuse_type

INSTEAD = (
    "write x, mask = m.data, np.ma.getmaskarray(m), and np.where(mask, 0.0, x), whose derivative "
    "is zero where the mask is true (a mean divides by np.sum(~mask))"
)

refuse_type("numpy.ma.MaskedArray", INSTEAD)
refuse_type("numpy.ma.core.MaskedArray", INSTEAD)
refuse_type(
    "astropy.units.quantity.Quantity", "write q.to_value(unit), its array, and the unit outside"
)
refuse_type("numpy.matrix", "write np.asarray(m), and @ for the product of matrices")
