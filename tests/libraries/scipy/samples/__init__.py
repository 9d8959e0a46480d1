"""Calls of SciPy's functions as people write them: a file for each of its modules."""
