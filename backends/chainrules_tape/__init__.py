"""Small automatic differentiation engine: record calls of primitives and replay them backwards.

The engine knows no function by name: it looks up the rule of each call in `chainrules_py`.
"""

from typing import TYPE_CHECKING, Any

from chainrules_py import ignore_derivatives
from chainrules_py.extend import asarray, full
from chainrules_tape.assembly import Tape, Variable
from chainrules_tape.checkpoint.calls import checkpoint, name
from chainrules_tape.functions.grad import grad, jvp, linearize, stop_gradient, value_and_grad, vjp
from chainrules_tape.functions.hooks import hook
from chainrules_tape.functions.jacobian import gauss_newton_vp, hessian, hvp, jacobian, sparsity
from chainrules_tape.inspect.saved_calls import debug_nans
from chainrules_tape.transform import transformations

if TYPE_CHECKING:
    from chainrules_kit.sparsity import DensePatternWarning, Plan

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


def __getattr__(name: str) -> Any:
    """Import the names for sparse Jacobians on first use, because they load NumPy."""
    if name in ("DensePatternWarning", "Plan"):
        import chainrules_kit.sparsity

        return getattr(chainrules_kit.sparsity, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
