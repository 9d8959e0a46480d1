"""JAX, as chainrules_py sees it: its arrays and tracers, and rules for its transformations.

Importing this registers the arrays and how they compute the words. `export` makes a function of JAX
of whatever has a rule; `import_rule` makes a rule of a function of JAX.
"""

from chainrules_jax import arrays, host, matrices, odes, solving
from chainrules_jax.arrays import JaxArray
from chainrules_jax.callbacks import callback
from chainrules_jax.config import JaxConfig, config
from chainrules_jax.exporting import export, supports
from chainrules_jax.importing import import_rule
from chainrules_jax.installing import Installed, install

__all__ = [
    "Installed",
    "JaxArray",
    "JaxConfig",
    "arrays",
    "callback",
    "config",
    "export",
    "host",
    "import_rule",
    "install",
    "matrices",
    "odes",
    "solving",
    "supports",
]

chainrules_contract = 1
