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
``chainrules_tape.tools.sparsity``
    The plans and products of ``jacobian(f, sparsity=...)``.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chainrules_tape.tools.batching import vmap
    from chainrules_tape.tools.checkpoint_schedules import checkpoint_chain
    from chainrules_tape.tools.constant_blocks import no_record
    from chainrules_tape.tools.derived_rules import derive_rule
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

_HOMES = {
    "batching": "vmap",
    "checkpoint_schedules": "checkpoint_chain",
    "constant_blocks": "no_record",
    "derived_rules": "derive_rule",
    "numeric_rules": "NumericDerivativeWarning numeric_rule",
    "profiling": "Profile profile",
    "reversible_loops": "reversible",
    "saved_values_report": "Saved SavedValue show_saved",
    "taylor_series": "even taylor",
    "test_vectors": "oracle",
    "text_rules": "text_rule",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a name on first use, because most programs use one tool, and few the compiler."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(
        name, getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    )
