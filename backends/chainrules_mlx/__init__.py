"""MLX support: its arrays as array types, and rules for its transformations.

Importing this package registers the arrays and their implementations of the operations. `export`
turns a function with a rule into an MLX function.
"""

from chainrules_mlx import arrays
from chainrules_mlx.engine import derivative_choice
from chainrules_mlx.engine.export import export, supports
from chainrules_mlx.engine.rule_config import MlxConfig, config
from chainrules_mlx.engine.transformation_list import transformations

__all__ = [
    "MlxConfig",
    "arrays",
    "config",
    "export",
    "derivative_choice",
    "supports",
    "transformations",
]

chainrules_contract = 1
