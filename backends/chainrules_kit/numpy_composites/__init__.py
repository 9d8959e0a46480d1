"""NumPy's functions beyond the operations, for libraries that compute by fallbacks alone."""
