"""Derivatives under autograd's names and with its signatures."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import chainrules_tape as tape
from chainrules_autograd.core import make_jvp as _make_jvp
from chainrules_autograd.core import make_vjp as _make_vjp
from chainrules_autograd.tree_map import conjugated, is_complex
from chainrules_autograd.wrap_util import unary_to_nary

Function = Callable[..., Any]

make_vjp = unary_to_nary(_make_vjp)
make_jvp = unary_to_nary(_make_jvp)


def _ones(ans: Any) -> Any:
    return np.ones_like(ans) if np.ndim(ans) else 1.0


@unary_to_nary
def value_and_grad(fun: Function, x: Any) -> tuple[Any, Any]:
    """Compute the value, and the gradient with respect to the argument ``argnum``.

    Examples
    --------
    >>> value_and_grad(lambda x, y: x * y, 1)(2.0, 3.0)
    (6.0, 2.0)
    """
    ans, gradient = tape.value_and_grad(fun)(x)
    return ans, conjugated(gradient)


@unary_to_nary
def grad(fun: Function, x: Any) -> Any:
    """Compute the gradient with respect to the argument ``argnum``, or to those of a tuple.

    Examples
    --------
    >>> grad(lambda x, y: x * y, (0, 1))(2.0, 3.0)
    (3.0, 2.0)
    """
    return conjugated(tape.grad(fun)(x))


@unary_to_nary
def elementwise_grad(fun: Function, x: Any) -> Any:
    """Compute the sum of the rows of the Jacobian; for an elementwise function, its derivative.

    Examples
    --------
    >>> elementwise_grad(np.square)(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    vjp, ans = _make_vjp(fun, x)
    if is_complex(ans):
        raise TypeError("elementwise_grad is of real results; write make_vjp")
    return vjp(_ones(ans))


@unary_to_nary
def deriv(fun: Function, x: Any) -> Any:
    """Push ones forward; for an elementwise function, this is its derivative."""
    return _make_jvp(fun, x)(np.ones_like(x))[1]


@unary_to_nary
def jacobian(fun: Function, x: Any) -> Any:
    """Compute all partial derivatives: axes of the result first, then those of the argument.

    Examples
    --------
    >>> jacobian(lambda x: x[::-1] ** 2)(np.array([1.0, 3.0]))
    array([[0., 6.],
           [2., 0.]])
    """
    return conjugated(tape.jacobian(fun)(x))


@unary_to_nary
def holomorphic_grad(fun: Function, x: Any) -> Any:
    """Compute the complex derivative of a holomorphic function."""
    return grad(lambda x: np.real(fun(x)))(x)


def grad_named(fun: Function, argname: str) -> Function:
    """Compute the gradient with respect to a named argument."""
    return grad(fun, list(inspect.signature(fun).parameters).index(argname))  # type: ignore[no-any-return]


@unary_to_nary
def hessian(fun: Function, x: Any) -> Any:
    """Compute all second derivatives.

    Examples
    --------
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 3.0]))
    array([[6., 2.],
           [2., 0.]])
    """
    return jacobian(jacobian(fun))(x)


@unary_to_nary
def make_hvp(fun: Function, x: Any) -> tuple[Function, Any]:
    """Return products with the Hessian at a point, and the gradient there."""
    return _make_vjp(grad(fun), x)


def hessian_tensor_product(fun: Function, argnum: int = 0) -> Function:
    """Return a function ``(*args, tensor, **options)``: the Hessian times the tensor.

    Examples
    --------
    >>> f = hessian_tensor_product(lambda x: x[0] ** 2 * x[1])
    >>> f(np.array([1.0, 3.0]), np.array([1.0, 0.0]))
    array([6., 2.])
    """
    gradient = grad(fun, argnum)

    def along(*args: Any, **options: Any) -> Any:
        *xs, tensor = args
        return np.tensordot(gradient(*xs, **options), tensor, np.ndim(tensor))

    return grad(along, argnum)  # type: ignore[no-any-return]


hessian_vector_product = hessian_tensor_product


def tensor_jacobian_product(fun: Function, argnum: int = 0) -> Function:
    """Return a function ``(*args, tensor, **options)``: the tensor times the Jacobian."""

    def along(*args: Any, **options: Any) -> Any:
        *xs, tensor = args
        return np.tensordot(tensor, fun(*xs, **options), axes=np.ndim(tensor))

    return jacobian(along, argnum)  # type: ignore[no-any-return]


vector_jacobian_product = tensor_jacobian_product


@unary_to_nary
def make_jvp_reversemode(fun: Function, x: Any) -> Function:
    """Return products of the Jacobian with tangents; computed by forward mode here."""
    jvp = _make_jvp(fun, x)
    return lambda v: jvp(v)[1]


def _half_square(x: Any) -> Any:
    return 0.5 * np.sum(x**2, axis=-1)


def make_ggnvp(f: Function, g: Function = _half_square, f_argnum: int = 0) -> Function:
    """Return products with the generalised Gauss-Newton matrix: Jᵀ H J, with H of g at f(x).

    Examples
    --------
    >>> product = make_ggnvp(lambda x: 3.0 * x)(np.array([1.0, 2.0]))
    >>> product(np.array([1.0, 0.0]))
    array([9., 0.])
    """

    def make(f: Function, x: Any) -> Function:
        pull, y = _make_vjp(f, x)
        curve, _ = _make_vjp(grad(g), y)
        push = _make_jvp(f, x)
        return lambda v: pull(curve(push(v)[1]))

    return unary_to_nary(make)(f, f_argnum)  # type: ignore[no-any-return]


@unary_to_nary
def grad_and_aux(fun: Function, x: Any) -> tuple[Any, Any]:
    """Compute the gradient of the first result, and return the second unchanged."""
    gradient, aux = tape.grad(fun, has_aux=True)(x)
    return conjugated(gradient), aux


def multigrad_dict(fun: Function) -> Function:
    """Compute the gradients with respect to all arguments, as a dict by name.

    Examples
    --------
    >>> multigrad_dict(lambda x, y=2.0: x * y)(3.0)
    {'x': 2.0, 'y': 3.0}
    """
    signature = inspect.signature(fun)

    def gradients(*args: Any, **options: Any) -> dict[str, Any]:
        bound = signature.bind(*args, **options)
        bound.apply_defaults()

        def named(arguments: dict[str, Any]) -> Any:
            call = inspect.BoundArguments(signature, arguments)
            return fun(*call.args, **call.kwargs)

        found: dict[str, Any] = grad(named)(dict(bound.arguments))
        return found

    return gradients


def checkpoint(fun: Function) -> Function:
    """Wrap a function so that its intermediate values are recomputed instead of kept."""

    @functools.wraps(fun)
    def wrapped(*args: Any, **options: Any) -> Any:
        return tape.checkpoint(lambda *xs: fun(*xs, **options))(*args)

    return wrapped
