"""Calls of SciPy's functions as people write them, for `install`: a file for each of its modules."""
