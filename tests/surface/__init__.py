"""NumPy's functions as people call them: names, calls, what is checked, and the tables of it."""
