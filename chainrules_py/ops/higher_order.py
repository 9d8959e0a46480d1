"""Operations that are given functions.

What such a function captured counts among the operands: `chainrules_py.primitives.closures.convert`
finds it. The rules reach the engine that differentiates the function through its config.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from chainrules_py.ops.creation import full_like
from chainrules_py.ops.indexing import index
from chainrules_py.ops.joining import stack
from chainrules_py.primitives.closures.effects import HigherOrder
from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.pytree import flatten, unflatten

__all__ = [
    "fixed_point",
    "linear_solve",
    "map",
    "minimize",
    "odeint",
    "reduce",
    "root",
    "scan",
]

Function = Callable[..., Any]


@HigherOrder
def root(
    f: Function,
    x0: Any,
    /,
    *params: Any,
    solver: Function | None = None,
    linear_solver: Function | str | None = None,
    batch: int = 0,
    tol: float | None = None,
    max_steps: int | None = None,
) -> Any:
    """Find the x with f(x, *params) = 0.

    Its derivatives are those of the solution, in the parameters and in what f captured: they do
    not depend on how it was found, and the start has none.

    Parameters
    ----------
    f : callable
        Gives as many numbers as x has, in the same shapes and order.
    x0 : array, number, or structure of them
        Where to start.
    *params : array, number, or structure of them
        What f depends on besides, and what it captured may be left there.
    solver : callable, optional
        ``solver(residual, x0)`` gives x, where ``residual(x)`` is f with its parameters; Newton's
        method by default.
    linear_solver : {"dense", "gmres", "cg"} or callable, optional
        What solves with the Jacobian and its transpose where derivatives are taken: as ``solver``
        of `linear_solve`.
    batch : int
        How many leading axes of x count independent problems.
    tol : float, optional
        How long the last step may be, relative to x; of a solver of your own, how large the
        residual beside that of a relative change of x. What the dtype allows, by default.
    max_steps : int, optional
        How many steps of Newton's method, 50 by default.

    Returns
    -------
    x : same structure as x0

    Raises
    ------
    ConvergenceError
        If no solution is found, with the norm of the residual.
    NotDifferentiableError
        Where it is differentiated, if the Jacobian is singular at the solution.

    Notes
    -----
    The implicit function theorem: with A = ∂f/∂x at the solution, dx = -A⁻¹ (∂f/∂p) dp.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> round(root(lambda x, a: x * x - a, 1.0, 4.0), 12)
    2.0
    >>> round(grad(lambda a: root(lambda x: x * x - a, 1.0))(4.0), 12)
    0.25
    """


@HigherOrder
def fixed_point(
    f: Function,
    x0: Any,
    /,
    *params: Any,
    solver: Function | str | None = None,
    linear_solver: Function | str | None = None,
    batch: int = 0,
    tol: float | None = None,
    max_steps: int | None = None,
) -> Any:
    """Find the x with f(x, *params) = x by applying f again and again.

    Its derivatives are those of the solution, as of `root`, which says what the options are.

    Parameters
    ----------
    f : callable
        Gives the structure of x.
    x0 : array, number, or structure of them
        Where to start.
    *params : array, number, or structure of them
        What f depends on besides.
    solver : {"newton"} or callable, optional
        ``"newton"`` is Newton's method for x - f(x, *params) = 0; a function is called as
        ``solver(f, x0)``, with the parameters in f.
    linear_solver, batch, tol
        As of `root`.
    max_steps : int, optional
        1000 by default.

    Raises
    ------
    ConvergenceError
        If it does not settle, with the length of the last step.
    NotDifferentiableError
        Where it is differentiated, if 1 is an eigenvalue of the Jacobian of f at the solution.

    Examples
    --------
    >>> from chainrules_py.ops import cos
    >>> round(fixed_point(cos, 1.0), 6)
    0.739085
    """


minimize = root.alike(
    "minimize",
    """Find the x at which f(x, *params) is least, among those near the start.

    Its derivatives are those of the stationary point, a `root` of the gradient of f.

    Parameters
    ----------
    f : callable
        Gives one real number.
    x0 : array, number, or structure of them
        Where to start.
    *params : array, number, or structure of them
        What f depends on besides.
    solver : callable, optional
        ``solver(f, x0)`` gives x, with the parameters in f; by default a quasi-Newton method
        (L-BFGS), and Newton's method for the last digits.
    linear_solver, batch, tol
        As of `root`; the operator is the Hessian of f.
    max_steps : int, optional
        1000 by default.

    Raises
    ------
    ConvergenceError
        If no minimum is found, with the norm of the gradient.
    NotDifferentiableError
        Where it is differentiated, if the Hessian is singular at the solution.

    Examples
    --------
    >>> round(minimize(lambda x, a: (x - a) * (x - a), 0.0, 3.0), 12)
    3.0
    """,
)


@HigherOrder
def linear_solve(
    matvec: Function,
    b: Any,
    /,
    *params: Any,
    solver: Function | str | None = None,
    transpose_solve: Function | str | None = None,
    symmetric: bool = False,
    batch: int = 0,
    tol: float | None = None,
    max_steps: int | None = None,
) -> Any:
    """Find the y with matvec(y, *params) = b, for a function that is linear in y.

    Parameters
    ----------
    matvec : callable
        Takes and gives the structure of b.
    b : array, number, or structure of them
        The right-hand side.
    *params : array, number, or structure of them
        What the operator depends on.
    solver : {"dense", "gmres", "cg"} or callable, optional
        ``"dense"`` writes the operator out as a matrix; ``"gmres"`` and ``"cg"`` use products
        alone, ``"cg"`` of symmetric, positive definite operators. A function is called as
        ``solver(matvec, b)``, with the parameters in matvec. By default ``"dense"`` up to 256
        unknowns, ``"gmres"`` beyond.
    transpose_solve : {"dense", "gmres", "cg"} or callable, optional
        The same for the transposed operator, in reverse mode; by default the solver, which then
        is given the products with the transpose.
    symmetric : bool
        Whether the operator is its own transpose (of complex numbers, its own adjoint).
    batch : int
        How many leading axes count independent problems.
    tol : float, optional
        How large the residual may be, relative to ‖b‖ + ‖A‖‖y‖.
    max_steps : int, optional
        How many products; 10 times the number of unknowns by default.

    Raises
    ------
    ConvergenceError
        If the operator is singular, or no solution is found, with the norm of the residual.

    Examples
    --------
    >>> import numpy as np
    >>> linear_solve(lambda y: 2.0 * y, np.array([2.0, 6.0]))
    array([1., 3.])
    """


@HigherOrder
def odeint(
    f: Function,
    y0: Any,
    t: Any,
    /,
    *params: Any,
    rtol: float | None = None,
    atol: float | None = None,
    method: str = "dopri5",
    max_steps: int = 100_000,
) -> Any:
    """Compute the states y(t) of dy/dt = f(y, t, *params) that starts with y(t[0]) = y0.

    Parameters
    ----------
    f : callable
        The rate of change, in the structure of y.
    y0 : array, number, or structure of them
        The state at the first time.
    t : array of shape (n,)
        The times, increasing or decreasing.
    *params : array, number, or structure of them
        What the rate depends on.
    rtol, atol : float, optional
        The error of each step that is allowed, relative and absolute; the square root of the
        dtype's resolution by default, 1.5e-8 in double precision.
    method : {"dopri5", "bosh3"}
        The pair of Dormand and Prince of orders 5 and 4, or that of Bogacki and Shampine of orders
        3 and 2. Both are explicit: stiff equations cost them very many steps.
    max_steps : int
        In all.

    Returns
    -------
    y : structure of y0
        Each array with a leading axis for the times.

    Raises
    ------
    ConvergenceError
        If the step becomes too small for the time, or there are too many; with the time reached.

    Notes
    -----
    Derivatives, in the initial state, the times, the parameters and what f captured, are those of
    the Runge-Kutta formula on the steps that were taken, divided further where these do not
    resolve how errors and parameters act: see docs/design/higher-order.md.

    Examples
    --------
    >>> import numpy as np
    >>> odeint(lambda y, t, k: -k * y, 1.0, np.array([0.0, 1.0]), 2.0).round(6)
    array([1.      , 0.135335])
    """


@HigherOrder
def map(f: Function, /, *xs: Any) -> Any:
    """Stack the results of f on each slice along the leading axis.

    Parameters
    ----------
    f : callable
        Takes one slice of each of the operands, and gives arrays, numbers, or a structure of them.
    *xs : array, or structure of arrays, of one slice at least
        Their leading axes are equally long.

    Returns
    -------
    y : structure that f gives
        Each array with a leading axis.

    Examples
    --------
    >>> import numpy as np
    >>> map(lambda a, b: a @ b, np.ones((3, 2)), np.arange(6.0).reshape(3, 2))
    array([1., 5., 9.])
    """
    if not xs:
        msg = "map() takes what f is to be applied to, besides f"
        raise TypeError(msg)
    slices = [slices_of(x) for x in xs]
    if len({len(s) for s in slices}) != 1 or not slices[0]:
        lengths = [len(s) for s in slices]
        msg = (
            f"map() of operands with {lengths} slices along the leading axis; "
            f"they have to have equally many, and at least one"
        )
        raise ValueError(msg)
    like = flatten(xs)[0][0]
    return stacked([f(*one) for one in zip(*slices, strict=True)], like)


@HigherOrder
def reduce(f: Function, xs: Any, /, initial: Any = None) -> Any:
    """f(...f(f(initial, x₀), x₁)..., xₙ), as `functools.reduce`.

    Parameters
    ----------
    f : callable
        From what was reached so far, and the next element, to what is reached next.
    xs : array, list, tuple, or structure of arrays
        The elements: those of a list or tuple, the slices of all else along the leading axis.
    initial : optional
        What to begin with; the first element, if it is None.

    Examples
    --------
    >>> import numpy as np
    >>> reduce(lambda a, x: 0.5 * a + x, np.array([1.0, 2.0, 3.0]), 8.0)
    np.float64(5.25)
    """
    elements = xs if type(xs) in (list, tuple) else slices_of(xs)
    if initial is None:
        return functools.reduce(f, elements)
    return functools.reduce(f, elements, initial)


scanning: list[Function] = []
"""Each may compute a scan by one turn of it, from what `scan` takes; or gives None."""


@HigherOrder
def scan(f: Function, initial: Any, xs: Any, /, *, length: int | None = None) -> Any:
    """Carry a value along the slices of xs, and stack what each step gives besides.

    Parameters
    ----------
    f : callable
        From what is carried, and the next slice, to what is carried on, and a result: arrays,
        numbers, structures of them, or None.
    initial : array, number, or structure of them
        What to begin with.
    xs : array, structure of arrays, or None
        Their leading axes are equally long, of one slice at least. With None, f is given None
        each time.
    length : int, optional
        How many steps; needed where xs is None.

    Returns
    -------
    carry : structure that f carries
        What the last step carries on.
    ys : structure that f gives
        Each array with a leading axis; None, if f gives None.

    Examples
    --------
    >>> import numpy as np
    >>> scan(lambda s, x: (s + x, s * x), 0.0, np.array([1.0, 2.0, 3.0]))
    (np.float64(6.0), array([0., 2., 9.]))
    """
    for rolled in scanning:
        if (found := rolled(f, initial, xs, length)) is not None:
            return found
    steps = [None] * (length or 0) if xs is None else slices_of(xs)
    if not steps or (length is not None and length != len(steps)):
        msg = (
            f"scan() of {len(steps)} slices along the leading axis, with length={length}; there "
            f"has to be one at least, and length, if it is given, has to be their number"
        )
        raise ValueError(msg)
    carry, results = initial, []
    for x in steps:
        carry, y = f(carry, x)
        results.append(y)
    if all([y is None for y in results]):
        return carry, None
    return carry, stacked(results, flatten((initial, xs))[0][0])


# ------------------------------------------------------ asked for rules, of what computes the
# operations


@primitive
def check_isolated(
    f: Function, x: Any, /, *params: Any, name: str, linear_solver: Any, batch: int
) -> None:
    """See that a root of ``f(x, *params)`` is an isolated one, so that it has a derivative.

    Parameters
    ----------
    f, x, *params
        The equations, and where they hold: plain values.
    name : str
        The operation that gave x, for messages.
    linear_solver, batch
        As of `root`.

    Raises
    ------
    NotDifferentiableError
        If the Jacobian is singular at x.
    """


@primitive
def odeint_steps(
    f: Function,
    y0: Any,
    t: Any,
    /,
    *params: Any,
    rtol: float | None,
    atol: float | None,
    method: str,
    max_steps: int,
) -> Any:
    """Solve as `odeint`, and list the steps from each time to the next on which to differentiate.

    Operands and options are those of `odeint`, as plain values. What is returned has the solution
    as ``ys``, and steps by ``intervals``. A step is called as ``step(f, y, t0, t1, *params)``, with
    a state and the two times; it gives the state at its end. Where ``program`` is not None,
    ``pull(ys_bar)`` gives cotangents of f, the state at first, the times, and the parameters.
    """


@primitive
def transposed(recipe: Any, request: Any, /) -> Any:
    """Bind the mode that a recipe of one mode does not state: the transpose of the one it does.

    Raises
    ------
    NotDifferentiableError
        When that is run, if what is stated is not linear in the (co)tangents.
    """


def slices_of(x: Any) -> list[Any]:
    """List the slices along the leading axis of all arrays in a structure."""
    leaves, treedef = flatten(x)
    shapes: list[Any] = [getattr(leaf, "shape", ()) for leaf in leaves]
    lengths = {shape[0] if shape else None for shape in shapes}
    if len(lengths) != 1 or None in lengths:
        msg = (
            f"there are no slices along the leading axis of arrays of shapes {shapes}; "
            f"each has to have one, and all the same length"
        )
        raise ValueError(msg)
    return [unflatten(treedef, [index(leaf, i) for leaf in leaves]) for i in range(shapes[0][0])]


def stacked(results: list[Any], like: Any) -> Any:
    """Equal structures as one, in which each array has a leading axis for them.

    Numbers become arrays of the library, and the dtype, of ``like``.
    """
    found = [flatten(result) for result in results]
    treedef = found[0][1]
    if any(other != treedef for _, other in found):
        msg = f"the results are not of one structure: {treedef!r} is the first"
        raise ValueError(msg)
    columns = zip(*[leaves for leaves, _ in found], strict=True)
    return unflatten(treedef, [stack(*[arrayed(x, like) for x in column]) for column in columns])


def arrayed(x: Any, like: Any) -> Any:
    """Turn a number into an array without axes, where the array ``like`` lives."""
    if x is None or isinstance(x, (str, bytes)):
        msg = (
            f"{x!r} is not a number or array, of which results are stacked; give one for each slice"
        )
        raise TypeError(msg)
    return x if hasattr(x, "dtype") else x * full_like(like, shape=(), fill=1)


map.is_program = reduce.is_program = scan.is_program = True
