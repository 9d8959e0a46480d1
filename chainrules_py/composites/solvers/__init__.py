"""Building blocks of solvers and integrators; they work on plain values, and on any library's.

Nothing in here is differentiated, but for the steps of `chainrules_py.composites.solvers.stepping`:
the rules of the words that call it say what the derivatives of a solution are, without how it was
found.
"""
