"""Aliases of NumPy's functions: the operation, or composite of operations, for each of them."""
