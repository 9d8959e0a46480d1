"""NumPy-like functions written in words, shared by every library that names them its own."""
