"""Rows: which operation each function of a library is, and what it does with the arguments."""
