"""A small engine: it records calls of primitives, and plays the records backwards.

It knows no function by name: what a call means is asked of `chainrules_py`.
"""

from chainrules_tape.api import grad, jvp, value_and_grad, vjp
from chainrules_tape.debugging import debug_nans
from chainrules_tape.imperative import hook
from chainrules_tape.tape import Tape
from chainrules_tape.variables import Variable

__all__ = ["Tape", "Variable", "debug_nans", "grad", "hook", "jvp", "value_and_grad", "vjp"]

chainrules_contract = 1
