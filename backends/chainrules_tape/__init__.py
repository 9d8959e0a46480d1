"""A small engine: it records calls of primitives, and plays the records backwards.

It knows no function by name: what a call means is asked of `chainrules_py`.
"""

from chainrules_tape.api import grad, jvp, linearize, stop_gradient, value_and_grad, vjp
from chainrules_tape.checkpointing import checkpoint, checkpoint_chain
from chainrules_tape.creation import asarray, full
from chainrules_tape.debugging import debug_nans
from chainrules_tape.derivatives import gauss_newton_vp, hessian, hvp, jacobian
from chainrules_tape.imperative import hook
from chainrules_tape.tape import Tape
from chainrules_tape.variables import Variable

__all__ = [
    "Tape",
    "Variable",
    "asarray",
    "checkpoint",
    "checkpoint_chain",
    "debug_nans",
    "full",
    "gauss_newton_vp",
    "grad",
    "hessian",
    "hook",
    "hvp",
    "jacobian",
    "jvp",
    "linearize",
    "stop_gradient",
    "value_and_grad",
    "vjp",
]

chainrules_contract = 1
