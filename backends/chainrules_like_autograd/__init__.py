"""The public names of autograd, over our tape: a package moves by changing its import lines.

``import autograd.numpy as np`` becomes ``import chainrules_like_autograd.numpy as np``, and so do
``scipy``, ``extend``, ``misc``, ``builtins`` and ``test_util``; ``chainrules migrate`` does it.
With `as_autograd` modules that import autograd get these ones, unchanged.
"""

from chainrules_like_autograd.aliases import as_autograd
from chainrules_like_autograd.builtins import dict, isinstance, list, tuple, type
from chainrules_like_autograd.differential_operators import (
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
from chainrules_like_autograd.extend import primitive

__all__ = [
    "as_autograd",
    "checkpoint",
    "deriv",
    "dict",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "isinstance",
    "jacobian",
    "list",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_vjp",
    "multigrad_dict",
    "primitive",
    "tensor_jacobian_product",
    "tuple",
    "type",
    "value_and_grad",
    "vector_jacobian_product",
]
