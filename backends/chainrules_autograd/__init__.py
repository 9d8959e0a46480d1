"""autograd, as chainrules_py sees it: an engine whose arrays are NumPy's.

`export` makes a function that autograd differentiates of whatever has a rule; `install` gives
autograd the derivatives that it lacks. Words can be called on autograd's boxes as they are.
"""

from chainrules_autograd import calls
from chainrules_autograd.config import AutogradConfig, config
from chainrules_autograd.exporting import export, supports
from chainrules_autograd.importing import import_rule
from chainrules_autograd.installing import install
from chainrules_autograd.transform import transformations
from chainrules_compat.install import Installed

__all__ = [
    "AutogradConfig",
    "Installed",
    "calls",
    "config",
    "export",
    "import_rule",
    "install",
    "supports",
    "transformations",
]

chainrules_contract = 1
