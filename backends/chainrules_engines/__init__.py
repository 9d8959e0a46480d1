"""Engines with a small adapter each: MyGrad, PyTensor, Thunder, tinygrad.

A module imports its engine, and is imported by `chainrules_py.export(f, to=...)`.
"""

__all__ = ["mygrad", "pytensor", "thunder", "tinygrad"]
