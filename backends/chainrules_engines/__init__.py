"""Small adapters for engines: MyGrad, PyTensor, Thunder, tinygrad.

Each module imports its engine; `chainrules_py.export(f, to=...)` imports the module.
"""

__all__ = ["mygrad", "pytensor", "thunder", "tinygrad"]
