"""MLX, as chainrules_py sees it: its arrays, and rules for its transformations.

Importing this registers the arrays and how they compute the words.
"""

from chainrules_mlx import arrays

__all__ = ["arrays"]

chainrules_contract = 1
