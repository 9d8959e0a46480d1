"""JAX, as chainrules_py sees it: its arrays and tracers, and `export` of rules to its transformations.

Importing this registers both.
"""

chainrules_contract = 1
