"""autograd as an engine, whose arrays are NumPy's.

`export` turns a function with a rule into one that autograd differentiates. Operations can be
called on autograd's boxes directly.
"""

from chainrules_autograd.engine import (
    _private,  # noqa: F401  # pyright: ignore[reportUnusedImport]  # first: it says what to install
    calls,
)
from chainrules_autograd.engine.export import export, supports
from chainrules_autograd.engine.import_rule import import_rule
from chainrules_autograd.engine.rule_config import AutogradConfig, config
from chainrules_autograd.engine.transformation_list import transformations

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
