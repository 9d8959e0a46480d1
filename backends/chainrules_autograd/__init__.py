"""autograd's public names over our tape, and rules for autograd itself.

A package moves to the tape by changing its import lines: ``import autograd.numpy as np`` becomes
``import chainrules_autograd.numpy as np``, and likewise for ``scipy``, ``extend``, ``misc``,
``builtins`` and ``test_util``; ``chainrules migrate`` does this. With `as_autograd`, unchanged
modules that import autograd use these modules.

`export` and `import_rule` transfer rules to and from autograd; they import it (`engine`).
"""

import importlib
from typing import TYPE_CHECKING, Any

from chainrules_autograd.builtins import dict, isinstance, list, tuple, type
from chainrules_autograd.differential_operators import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)
from chainrules_autograd.extend import primitive
from chainrules_autograd.module_aliases import as_autograd

if TYPE_CHECKING:
    from chainrules_autograd.engine import (
        AutogradConfig,
        config,
        export,
        import_rule,
        supports,
        transformations,
    )

__all__ = [
    "AutogradConfig",
    "as_autograd",
    "checkpoint",
    "config",
    "deriv",
    "dict",
    "elementwise_grad",
    "export",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "import_rule",
    "isinstance",
    "jacobian",
    "list",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_vjp",
    "multigrad_dict",
    "primitive",
    "supports",
    "tensor_jacobian_product",
    "transformations",
    "tuple",
    "type",
    "value_and_grad",
    "vector_jacobian_product",
]

_OF_THE_ENGINE = frozenset(
    ("AutogradConfig", "config", "export", "import_rule", "supports", "transformations")
)


def __getattr__(name: str) -> Any:
    if name in _OF_THE_ENGINE:  # importing it imports autograd
        return getattr(importlib.import_module("chainrules_autograd.engine"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
