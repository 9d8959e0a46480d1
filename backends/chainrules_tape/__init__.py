"""Small automatic differentiation engine: record calls of primitives and replay them backwards.

The engine knows no function by name: it looks up the rule of each call in `chainrules_py`.
"""

import importlib
from typing import TYPE_CHECKING, Any

from chainrules_py import ignore_derivatives
from chainrules_py.extend import asarray, full
from chainrules_tape.checkpoint.checkpoint_and_policies import checkpoint, name
from chainrules_tape.functions.grad_vjp_jvp import (
    grad,
    jvp,
    linearize,
    stop_gradient,
    value_and_grad,
    vjp,
)
from chainrules_tape.inspect.kept_calls import debug_nans
from chainrules_tape.tape import Tape, Variable

if TYPE_CHECKING:
    from chainrules_tape.functions.hooks import hook
    from chainrules_tape.functions.jacobian import gauss_newton_vp, hessian, hvp, jacobian, sparsity
    from chainrules_tape.tools.sparsity import DensePatternWarning, Plan
    from chainrules_tape.transformation_list import transformations

__all__ = [
    "DensePatternWarning",
    "Plan",
    "Tape",
    "Variable",
    "asarray",
    "checkpoint",
    "debug_nans",
    "full",
    "gauss_newton_vp",
    "grad",
    "hessian",
    "hook",
    "hvp",
    "ignore_derivatives",
    "jacobian",
    "jvp",
    "linearize",
    "name",
    "sparsity",
    "stop_gradient",
    "transformations",
    "value_and_grad",
    "vjp",
]

chainrules_contract = 1
__dir__ = lambda: __all__


_HOMES = {
    "chainrules_tape.tools.sparsity": "DensePatternWarning Plan",
    "chainrules_tape.functions.hooks": "hook",
    "chainrules_tape.functions.jacobian": "gauss_newton_vp hessian hvp jacobian sparsity",
    "chainrules_tape.transformation_list": "transformations",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a name on first use, because the first gradient needs none of these."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, getattr(importlib.import_module(_HOME_OF[name]), name))
