"""NumPy-like functions written in words, shared by every library."""
