"""NumPy, as chainrules_py sees it: tables, and the exceptions to them. Importing this registers them."""

from chainrules_numpy import implementations, ufuncs

__all__ = ["implementations", "ufuncs"]

chainrules_contract = 1
