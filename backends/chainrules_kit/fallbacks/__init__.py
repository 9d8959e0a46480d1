"""Fallbacks for operations that the array-API standard lacks, written in its functions.

They serve libraries without implementations of their own, so that registering a namespace is enough
to support a library. A library that needs speed implements the operation. NumPy functions beyond
the operations are written in operations in `chainrules_numpy.composites`.
"""
