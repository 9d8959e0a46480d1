"""Calls of SciPy's functions and objects with all of their options, traced, against SciPy's own."""
