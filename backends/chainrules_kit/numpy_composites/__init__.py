"""NumPy's functions beyond the operations, written in operations; adapters share them."""
