"""The rows of NumPy's functions: which word, or which composite of words, each of them is."""
