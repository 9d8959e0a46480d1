"""Whole derivatives: Jacobians, Hessians, and products with them.

A Jacobian is a batch of basis vectors, pushed or pulled through each rule at once; see
docs/design/batched-seeds.md.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from chainrules_py import NotDifferentiableError, is_zero, zero_tangent
from chainrules_py.extend import describe, kind_of, name_of, new_level
from chainrules_tape.forward.dual import dual, open_dual
from chainrules_tape.functions.arguments import Arguments, Names, Numbers
from chainrules_tape.functions.blocks import Blocks, Mode, blocks_of
from chainrules_tape.functions.grad import entering_tangents, jvp, vjp
from chainrules_tape.functions.results import flatten, own_all, tangents_of, values_of
from chainrules_tape.functions.run import ReverseRun, check_scalar, one

__all__ = ["gauss_newton_vp", "hessian", "hvp", "jacobian"]


def jacobian(
    f: Callable[..., Any],
    argnums: Numbers = None,
    mode: Mode = "auto",
    *,
    argnames: Names = None,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """All partial derivatives of a function.

    Parameters
    ----------
    f : callable
        A function of arrays, numbers, and structures of them.
    argnums, argnames : optional
        The arguments to differentiate in; see `grad`.
    mode : {"auto", "forward", "reverse"}
        Whether the basis of the inputs is pushed forward, or that of the results pulled back; by
        default whichever is smaller, for which f may have to be run twice.
    has_aux : bool
        Whether f returns ``(result, aux)``; the Jacobian is then ``(jacobian, aux)``.
    holomorphic : bool
        Says that f is holomorphic where a complex result depends on a complex argument: one matrix
        J with ``dy = J dx`` is its derivative only then.

    Returns
    -------
    callable
        Takes what f takes. Its result has the structure of f's result, and for each array in that
        the structure of the argument (a tuple of these for several arguments), with arrays of shape
        ``y.shape + x.shape``: ``J[i, j] = dy[i] / dx[j]``. Dense zeros where nothing flows, and
        `NoTangent()` for what cannot be perturbed. For real y and complex x it is the gradient of
        each y[i], as `grad` has it, for complex y and real x the derivative of y.

    Raises
    ------
    NotDifferentiableError
        When called, if there is no real or complex number in the result, or it is not said to be
        holomorphic where it has to be.

    Examples
    --------
    >>> import numpy as np
    >>> jacobian(lambda x: x[:2] * x[2])(np.array([1.0, 2.0, 3.0]))
    array([[3., 0., 1.],
           [0., 3., 2.]])
    """
    arguments = Arguments(f, argnums, argnames)
    if mode not in ("auto", "forward", "reverse"):
        msg = f"mode={mode!r}; write 'forward', 'reverse' or 'auto'"
        raise NotDifferentiableError(msg)

    @functools.wraps(f, assigned=("__name__", "__doc__"), updated=())
    def jacobian_of(*operands: Any, **keywords: Any) -> Any:
        xs, of_chosen = arguments.pick(operands, keywords)
        leaves: list[Any] = []
        tree = flatten(xs, leaves)
        of_leaves = lambda *leaves: of_chosen(*values_of(tree, leaves))
        found = blocks_of(of_leaves, leaves, mode, f, has_aux=has_aux, holomorphic=holomorphic)
        whole = found.whole(arguments, tree)
        return (whole, found.aux) if has_aux else whole

    return jacobian_of


def hessian(
    f: Callable[..., Any],
    argnums: Numbers = None,
    *,
    argnames: Names = None,
    has_aux: bool = False,
) -> Callable[..., Any]:
    """All second partial derivatives of a function.

    The gradient is taken in reverse mode, and the basis of the arguments pushed through that.

    Parameters
    ----------
    f : callable
        A function of real arrays, numbers, and structures of them; most often with one number for a
        result.
    argnums, argnames : optional
        The arguments to differentiate in; see `grad`.
    has_aux : bool
        Whether f returns ``(result, aux)``; the Hessian is then ``(hessian, aux)``.

    Returns
    -------
    callable
        Takes what f takes. Its result has the structure of f's result, in that twice that of the
        argument, with arrays of shape ``y.shape + x1.shape + x2.shape``.

    Raises
    ------
    NotDifferentiableError
        When called, if an argument is complex: the second derivative is then no complex matrix.

    Examples
    --------
    >>> import numpy as np
    >>> hessian(lambda x: x[0] * x[1] ** 2)(np.array([2.0, 3.0]))
    array([[0., 6.],
           [6., 4.]])
    """
    arguments = Arguments(f, argnums, argnames)

    @functools.wraps(f, assigned=("__name__", "__doc__"), updated=())
    def hessian_of(*operands: Any, **keywords: Any) -> Any:
        xs, of_chosen = arguments.pick(operands, keywords)
        leaves: list[Any] = []
        tree = flatten(xs, leaves)
        if any([kind_of(x) == "complex" for x in leaves]):
            msg = (
                f"hessian of {name_of(f)} in {describe(xs)}: in complex numbers the second "
                f"derivative is a map over the real ones, and no complex matrix; hvp multiplies "
                f"with it, or take real and imaginary parts as arguments"
            )
            raise NotDifferentiableError(msg)
        first: list[Blocks] = []

        def gradient(*leaves: Any) -> Any:
            of_leaves = lambda *leaves: of_chosen(*values_of(tree, leaves))
            found = blocks_of(of_leaves, leaves, "reverse", f, has_aux=has_aux)
            first[:] = [found]
            return (found.rows, found.aux) if has_aux else found.rows

        second = blocks_of(gradient, leaves, "forward", f, has_aux=has_aux)
        (found,) = first
        found.rows = _values(found.rows, iter(second.delivered(arguments, tree)))
        whole = found.whole(arguments, tree)
        return (whole, second.aux) if has_aux else whole

    return hessian_of


def _values(rows: list[Any], values: Iterator[Any]) -> list[Any]:
    """Rows around other values, in their order."""
    return [row if is_zero(row) else [next(values) for _ in row] for row in rows]


def hvp(
    f: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Compute the product H v of a function's Hessian and a direction: the gradient's derivative.

    It costs a few gradients, and no matrix is made.

    Parameters
    ----------
    f : callable
        A function with one real number for a result.
    primals : tuple
        Its arguments.
    tangents : tuple
        The direction v: one tangent per primal.

    Returns
    -------
    tuple
        One product per primal, in its structure.

    Raises
    ------
    NotDifferentiableError
        If the result is not one real number.
    ProjectionError
        If a tangent does not belong to its primal.

    Notes
    -----
    H v is the gradient of the derivative along v, so reverse mode over forward mode: the tape
    records plain arrays. The other way round, B. A. Pearlmutter, "Fast exact multiplication by the
    Hessian" (1994), the backward pass carries tangents along, at up to twice the time.

    Examples
    --------
    >>> hvp(lambda x, y: x * x * y, (2.0, 3.0), (1.0, 0.0))
    (6.0, 4.0)
    """
    leaves: list[Any] = []
    tree = flatten(primals, leaves)
    ts = entering_tangents("hvp", tree, primals, tangents)

    def along(*xs: Any) -> Any:
        """Compute the derivative of f in the direction, whose gradient is the product."""
        level = new_level()
        entered = [dual(x, t, level) for x, t in zip(xs, ts, strict=True)]
        y, y_dot = open_dual(f(*values_of(tree, entered)), level)
        check_scalar(y)
        return zero_tangent(y) if is_zero(y_dot) else y_dot

    run = ReverseRun(along, tuple(leaves))
    bars = run.bars([one(run.y)], consume=True)
    return tangents_of(tree, own_all(leaves, bars, (*leaves, *ts)))  # type: ignore[no-any-return]


def gauss_newton_vp(
    f: Callable[..., Any],
    loss: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
) -> tuple[Any, ...]:
    """Compute Jᵀ H J v, with J the Jacobian of f, and H the Hessian of a loss at f's result.

    Parameters
    ----------
    f : callable
        The inner function, as of the parameters of a model.
    loss : callable
        Of f's result, with one real number for a result. Where it is convex, the matrix is positive
        semidefinite.
    primals : tuple
        The arguments of f.
    tangents : tuple
        The direction v: one tangent per primal.

    Returns
    -------
    tuple
        One product per primal, in its structure.

    Notes
    -----
    N. N. Schraudolph, "Fast curvature matrix-vector products for second-order gradient descent"
    (2002). f is run twice: once with v pushed along, and once to pull back.

    Examples
    --------
    >>> gauss_newton_vp(lambda x: x * x, lambda y: 0.5 * y * y, (3.0,), (1.0,))
    (36.0,)
    """
    y, y_dot = jvp(f, primals, tangents)
    (product,) = hvp(loss, (y,), (y_dot,))
    _, pullback = vjp(f, *primals)
    return pullback(product)  # type: ignore[no-any-return]
