"""autograd, as chainrules_py sees it: an engine whose arrays are NumPy's.

`export` makes a function that autograd differentiates of whatever has a rule. Operations can be
called on autograd's boxes as they are.
"""

from chainrules_autograd.engine import (
    _private,  # noqa: F401  # pyright: ignore[reportUnusedImport]  # first: it says what to install
    calls,
)
from chainrules_autograd.engine.config import AutogradConfig, config
from chainrules_autograd.engine.exporting import export, supports
from chainrules_autograd.engine.importing import import_rule
from chainrules_autograd.engine.transform import transformations

__all__ = [
    "AutogradConfig",
    "calls",
    "config",
    "export",
    "import_rule",
    "supports",
    "transformations",
]

chainrules_contract = 1
