"""MLX, as chainrules_py sees it: its arrays, and rules for its transformations.

Importing this registers the arrays and how they compute the operations. `export` makes a function
of MLX of whatever has a rule.
"""

from chainrules_mlx import arrays
from chainrules_mlx.engine import host
from chainrules_mlx.engine.config import MlxConfig, config
from chainrules_mlx.engine.export import export, supports
from chainrules_mlx.engine.transform import transformations

__all__ = ["MlxConfig", "arrays", "config", "export", "host", "supports", "transformations"]

chainrules_contract = 1
