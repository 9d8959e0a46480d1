"""Register the arrays of array-api-strict, on import.

Rules are tested on it where there is no GPU: it has a second device that NumPy cannot read,
promotes only as the standard states, and has nothing beyond the standard.
"""

from chainrules_py.testing.array_api_strict import implementations

__all__ = ["implementations"]

chainrules_contract = 1
