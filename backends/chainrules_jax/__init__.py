"""JAX, as chainrules_py sees it: its arrays and tracers, and rules for its transformations.

Importing this registers the arrays and how they compute the operations. `export` makes a function
of JAX of whatever has a rule; `import_rule` makes a rule of a function of JAX.
"""

from chainrules_jax import (
    _private,  # noqa: F401  # pyright: ignore[reportUnusedImport]  # first: it says what to install
    arrays,
)
from chainrules_jax.array_types import JaxArray
from chainrules_jax.engine import host
from chainrules_jax.engine.callback import callback
from chainrules_jax.engine.config import JaxConfig, config
from chainrules_jax.engine.export import export, supports
from chainrules_jax.engine.import_rule import import_rule
from chainrules_jax.engine.transform import transformations

__all__ = [
    "JaxArray",
    "JaxConfig",
    "arrays",
    "callback",
    "config",
    "export",
    "host",
    "import_rule",
    "supports",
    "transformations",
]

chainrules_contract = 1
