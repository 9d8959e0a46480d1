"""A small engine: it records calls of primitives, and plays the records backwards.

It knows no function by name: what a call means is asked of `chainrules_py`.
"""

from chainrules_tape.api import grad, jvp, value_and_grad, vjp
from chainrules_tape.tape import Tape, Variable

__all__ = ["Tape", "Variable", "grad", "jvp", "value_and_grad", "vjp"]

chainrules_contract = 1
