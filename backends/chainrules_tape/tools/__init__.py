"""Tools that use the tape, the compiler and the rules.

``vmap``
    Map a function of one example over many.
``taylor``
    Coefficients of the power series of a program.
``even``
    Even functions of a length, with derivatives at 0.
``profile``
    Time and memory of each rule, by line.
``derive_rule``, ``text_rule``, ``numeric_rule``
    Rules derived from a program, from text, and from finite differences.
``no_record``
    A block that counts as constant.
``show_saved``
    The arrays that a gradient keeps, and the reason for each.
``checkpoint_chain``, ``reversible``
    Loops that keep few values and recompute the rest, and loops whose steps are inverted.
``oracle``
    Calls of operations, with their derivatives, as JSON.
``chainrules_tape.tools.chainrules_jl_functions``
    Functions under the names of ChainRules.jl.
"""

from chainrules_tape.tools.batching import vmap
from chainrules_tape.tools.checkpoint_schedules import checkpoint_chain
from chainrules_tape.tools.derived_rules import derive_rule
from chainrules_tape.tools.no_record import no_record
from chainrules_tape.tools.numeric_rules import NumericDerivativeWarning, numeric_rule
from chainrules_tape.tools.profiling import Profile, profile
from chainrules_tape.tools.reversible_loops import reversible
from chainrules_tape.tools.saved_values_report import Saved, SavedValue, show_saved
from chainrules_tape.tools.taylor_series import even, taylor
from chainrules_tape.tools.test_vectors import oracle
from chainrules_tape.tools.text_rules import text_rule

__all__ = [
    "NumericDerivativeWarning",
    "Profile",
    "Saved",
    "SavedValue",
    "checkpoint_chain",
    "derive_rule",
    "even",
    "no_record",
    "numeric_rule",
    "oracle",
    "profile",
    "reversible",
    "show_saved",
    "taylor",
    "text_rule",
    "vmap",
]
