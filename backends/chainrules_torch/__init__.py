"""PyTorch, as chainrules_py sees it: its tensors as arrays, and its autograd as an engine.

Importing this registers the tensors and how they compute the words. `export` makes a PyTorch
function of whatever has a rule.
"""

from chainrules_torch import arrays, elementwise, hosting, indexing, linalg, manipulation, special
from chainrules_torch.callback import callback
from chainrules_torch.config import TorchConfig, config
from chainrules_torch.exporting import Exported, export
from chainrules_torch.importing import import_rule
from chainrules_torch.installing import Installed, install
from chainrules_torch.support import supports

__all__ = [
    "Exported",
    "Installed",
    "TorchConfig",
    "arrays",
    "callback",
    "config",
    "elementwise",
    "export",
    "hosting",
    "import_rule",
    "indexing",
    "install",
    "linalg",
    "manipulation",
    "special",
    "supports",
]

chainrules_contract = 1
