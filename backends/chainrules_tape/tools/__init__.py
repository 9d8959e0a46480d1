"""Tools above the engines: they use the tape, the compiler and the rules, and none uses them.

``vmap``
    A function of one example becomes one of many.
``taylor``
    The coefficients of a program's power series.
``profile``
    Time and memory of each rule, by line.
``derive_rule``, ``text_rule``, ``numeric_rule``
    Rules from a program, from text, and from finite steps.
``no_record``
    A block that counts as constant.
``show_saved``
    The arrays that a gradient keeps, and why.
``checkpoint_chain``, ``reversible``
    Loops: of few of whose values much is computed again; whose steps are inverted on the way back.
``oracle``
    Calls of operations, with their derivatives, as JSON.
``chainrules_tape.tools.functions``
    Functions that users of ChainRules.jl look for.
"""

from chainrules_tape.tools.batching import vmap
from chainrules_tape.tools.chains import checkpoint_chain
from chainrules_tape.tools.derived_rules import derive_rule
from chainrules_tape.tools.no_record import no_record
from chainrules_tape.tools.numeric import NumericDerivativeWarning, numeric_rule
from chainrules_tape.tools.oracle import oracle
from chainrules_tape.tools.profiling import Profile, profile
from chainrules_tape.tools.reversible import reversible
from chainrules_tape.tools.saved_values import Saved, SavedValue, show_saved
from chainrules_tape.tools.series import taylor
from chainrules_tape.tools.text_rules import text_rule

__all__ = [
    "NumericDerivativeWarning",
    "Profile",
    "Saved",
    "SavedValue",
    "checkpoint_chain",
    "derive_rule",
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
