"""Random programs of NumPy's functions, and hashes of what they give."""
