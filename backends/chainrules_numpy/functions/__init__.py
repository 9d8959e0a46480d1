"""Aliases of NumPy's functions: which operation, or composite of operations, each of them is."""
