"""NumPy-like functions written in operations, shared by all libraries that have them."""
