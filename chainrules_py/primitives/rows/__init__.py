"""Rows: which word each function of a library is, and what it does with the arguments."""
