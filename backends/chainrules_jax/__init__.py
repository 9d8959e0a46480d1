"""JAX support: arrays and tracers as array types, and rules for JAX's transformations.

Importing this package registers the arrays and their implementations of the operations. `export`
turns a function with a rule into a JAX function; `import_rule` turns a JAX function into a rule.
"""

from chainrules_jax import (
    _private,  # noqa: F401  # pyright: ignore[reportUnusedImport]  # first: it says what to install
    arrays,
)
from chainrules_jax.array_types import JaxArray
from chainrules_jax.engine import derivative_choice
from chainrules_jax.engine.callback import callback
from chainrules_jax.engine.export import export, supports, transformations
from chainrules_jax.engine.import_rule import import_rule
from chainrules_jax.engine.rule_config import JaxConfig, config

__all__ = [
    "JaxArray",
    "JaxConfig",
    "arrays",
    "callback",
    "config",
    "export",
    "derivative_choice",
    "import_rule",
    "supports",
    "transformations",
]

chainrules_contract = 1
