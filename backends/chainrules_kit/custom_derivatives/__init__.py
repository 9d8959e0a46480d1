"""Forms of other systems: derivatives stated as in JAX, Enzyme and others.

Each form writes to the same table as `chainrules_py.rule`, which every engine reads:

``augmented_rule(f, forward, backward)``
    ``forward(x) -> (y, saved)`` and ``backward(*saved, y_bar)``, for a primitive.
``custom_vjp``, ``custom_jvp``
    The decorators of JAX: ``f.defvjp(fwd, bwd)``, ``f.defjvp(jvp)``, ``f.defjvps(...)``.
``user_grad(x)(region)``
    A block of code that runs once in place, with a user-defined derivative; also in a loop.
``once_differentiable(half)``
    Half of a rule whose own derivative is an error.

They state one mode, and the engine transposes it for the other. `chainrules_py.rule` states both.

This package also has parts that adapters share: rules made of an engine's own functions
(`import_rule`), and hooks around the rules of a function (`hang_on_rules`).
"""

from chainrules_kit.custom_derivatives.augmented_rule import augmented_rule
from chainrules_kit.custom_derivatives.custom_jvp_vjp import CustomFunction, custom_jvp, custom_vjp
from chainrules_kit.custom_derivatives.first_order import once_differentiable
from chainrules_kit.custom_derivatives.hooks import Hook, Passing, differentiated, hang_on_rules
from chainrules_kit.custom_derivatives.inline_blocks import user_grad

__all__ = [
    "CustomFunction",
    "Hook",
    "Passing",
    "differentiated",
    "augmented_rule",
    "custom_jvp",
    "custom_vjp",
    "hang_on_rules",
    "once_differentiable",
    "user_grad",
]
