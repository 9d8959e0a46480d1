"""PyTorch support: tensors as arrays, and PyTorch's autograd as an engine.

Importing this package registers tensors and their implementations of the operations. `export` turns
any function with a rule into a PyTorch function.
"""

from chainrules_torch import (
    _private,  # noqa: F401  # pyright: ignore[reportUnusedImport]  # first: it says what to install
    aliases,
    arrays,
)
from chainrules_torch.engine import derivative_choice
from chainrules_torch.engine.callback import callback
from chainrules_torch.engine.export import Exported, export
from chainrules_torch.engine.exported_function_support import supports, transformations
from chainrules_torch.engine.import_rule import import_rule
from chainrules_torch.engine.rule_config import TorchConfig, config

__all__ = [
    "Exported",
    "TorchConfig",
    "arrays",
    "callback",
    "config",
    "export",
    "derivative_choice",
    "import_rule",
    "aliases",
    "supports",
    "transformations",
]

chainrules_contract = 1
