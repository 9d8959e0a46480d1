"""Higher-order operations, whose operands are functions.

The values that such a function captured count as operands; they are found by
`chainrules_py.primitives.closures.convert`. The rules differentiate the function with the engine,
through its config.
"""

import functools
from collections.abc import Callable
from typing import Any

from chainrules_py.errors import describe
from chainrules_py.ops.creation import full_like
from chainrules_py.ops.indexing import getitem, index
from chainrules_py.ops.joining import stack
from chainrules_py.ops.predicates import equal
from chainrules_py.primitives.closures.convert import HigherOrder
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

    The solution is differentiated with respect to the parameters and the values that f captured.
    The derivatives do not depend on the solver, and the start has none.

    Parameters
    ----------
    f : callable
        Returns as many numbers as x has, in the same shapes and order.
    x0 : array, number, or structure of them
        The starting point.
    *params : array, number, or structure of them
        Further parameters of f, which may capture them instead.
    solver : callable, optional
        ``solver(residual, x0)`` returns x, where ``residual(x)`` is f with its parameters; Newton's
        method by default.
    linear_solver : {"dense", "gmres", "cg"} or callable, optional
        Solves with the Jacobian and its transpose when derivatives are computed; as the ``solver``
        of `linear_solve`.
    batch : int
        The number of leading batch axes of x, which index independent problems.
    tol : float, optional
        The largest length of the last step, relative to x; for a user-defined solver, the largest
        residual relative to that of a relative change of x. It depends on the dtype by default.
    max_steps : int, optional
        The most steps of Newton's method, 50 by default.

    Returns
    -------
    x : same structure as x0

    Raises
    ------
    ConvergenceError
        If no solution is found; the message has the norm of the residual.
    NotDifferentiableError
        In differentiation, if the Jacobian is singular at the solution.

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
    """Find the x with f(x, *params) = x by iterating f.

    The derivatives are those of the solution, as for `root`, which describes the options.

    Parameters
    ----------
    f : callable
        Returns the structure of x.
    x0 : array, number, or structure of them
        The starting point.
    *params : array, number, or structure of them
        Further parameters of f.
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
        If the iteration does not converge; the message has the length of the last step.
    NotDifferentiableError
        In differentiation, if 1 is an eigenvalue of the Jacobian of f at the solution.

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
        Takes and returns the structure of b.
    b : array, number, or structure of them
        The right-hand side.
    *params : array, number, or structure of them
        The parameters of the operator.
    solver : {"dense", "gmres", "cg"} or callable, optional
        ``"dense"`` builds the matrix of the operator; ``"gmres"`` and ``"cg"`` use products alone,
        and ``"cg"`` requires a symmetric, positive definite operator. A function is called as
        ``solver(matvec, b)``, with the parameters in matvec. The default is ``"dense"`` up to 256
        unknowns, ``"gmres"`` beyond.
    transpose_solve : {"dense", "gmres", "cg"} or callable, optional
        The same for the transposed operator, in reverse mode; by default the solver, called with
        products with the transpose.
    symmetric : bool
        Whether the operator is its own transpose (of complex numbers, its own adjoint).
    batch : int
        The number of leading batch axes, which index independent problems.
    tol : float, optional
        The largest residual, relative to ‖b‖ + ‖A‖‖y‖.
    max_steps : int, optional
        The most products; 10 times the number of unknowns by default.

    Raises
    ------
    ConvergenceError
        If the operator is singular, or no solution is found; the message has the norm of the
        residual.

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
    """Compute the solution y(t) of dy/dt = f(y, t, *params) with y(t[0]) = y0 at the times t.

    Parameters
    ----------
    f : callable
        The rate of change, in the structure of y.
    y0 : array, number, or structure of them
        The state at the first time.
    t : array of shape (n,)
        The times, increasing or decreasing.
    *params : array, number, or structure of them
        The parameters of the rate.
    rtol, atol : float, optional
        The relative and absolute error allowed in each step; by default the square root of the
        dtype's resolution, 1.5e-8 in double precision.
    method : {"dopri5", "bosh3"}
        The pair of Dormand and Prince of orders 5 and 4, or that of Bogacki and Shampine of orders
        3 and 2. Both are explicit, and take very many steps for stiff equations.
    max_steps : int
        The most steps in total.

    Returns
    -------
    y : structure of y0
        Each array with a leading axis for the times.

    Raises
    ------
    ConvergenceError
        If the step becomes too small for the time, or there are too many steps; the message has the
        time reached.

    Notes
    -----
    Derivatives with respect to the initial state, the times, the parameters and the values that f
    captured are those of the Runge-Kutta formula on the steps that were taken. These are divided
    further where they do not resolve how errors and parameters act: see
    docs/design/higher-order.md.

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
        Takes one slice of each operand, and returns arrays, numbers, or a structure of them.
    *xs : array, or structure of arrays, of one slice at least
        Their leading axes have the same length.

    Returns
    -------
    y : structure that f returns
        Each array with a leading axis.

    Examples
    --------
    >>> import numpy as np
    >>> map(lambda a, b: a @ b, np.ones((3, 2)), np.arange(6.0).reshape(3, 2))
    array([1., 5., 9.])
    """
    slices = [slices_of(x) for x in xs]
    if len({len(s) for s in slices}) != 1 or not slices[0]:
        lengths = [len(s) for s in slices]
        raise ValueError(
            f"map() of operands with {lengths} slices along the leading axis; "
            f"they have to have equally many, and at least one"
        )
    return stacked([f(*one) for one in zip(*slices, strict=True)], flatten(xs)[0][0])


@HigherOrder
def reduce(f: Function, xs: Any, /, initial: Any = None) -> Any:
    """Compute f(...f(f(initial, x₀), x₁)..., xₙ), as `functools.reduce` does.

    Parameters
    ----------
    f : callable
        Takes the value so far and the next element, and returns the next value.
    xs : array, list, tuple, or structure of arrays
        The elements of a list or tuple, or the slices of arrays along the leading axis.
    initial : optional
        The initial value; if None, the first element.

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
"""Functions of the arguments of `scan` that compute it from a single iteration, or return None."""


@HigherOrder
def scan(f: Function, initial: Any, xs: Any, /, *, length: int | None = None) -> Any:
    """Carry a value along the slices of xs, and stack the results of the steps.

    Parameters
    ----------
    f : callable
        Takes the carry and the next slice, and returns the next carry and a result: arrays,
        numbers, structures of them, or None.
    initial : array, number, or structure of them
        The initial carry.
    xs : array, structure of arrays, or None
        Their leading axes have the same length, at least one. If None, f is called with None in
        each step.
    length : int, optional
        The number of steps; required if xs is None.

    Returns
    -------
    carry : structure that f carries
        The carry of the last step.
    ys : structure that f returns
        Each array with a leading axis; None if f returns None.

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
        raise ValueError(
            f"scan() of {len(steps)} slices along the leading axis, with length={length}; there "
            f"has to be one at least, and length, if it is given, has to be their number"
        )
    carry, results = initial, []
    for x in steps:
        given = f(carry, x)
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            raise TypeError(
                f"a step of scan returns (carry, y), and this one returned {describe(given)}: "
                f"write return carry, None if it gives nothing besides"
            )
        carry, y = given
        results.append(y)
    if all([y is None for y in results]):
        return carry, None
    return carry, stacked(results, flatten((initial, xs))[0][0])


# ------------------------------------------------------ for rules: implemented with the operations


@primitive
def check_isolated(
    f: Function, x: Any, /, *params: Any, name: str, linear_solver: Any, batch: int
) -> Any:
    """Check that a root of ``f(x, *params)`` is isolated, so that it has a derivative.

    Return the adjoint of the Jacobian, in real coordinates, if it was computed as a matrix.

    Parameters
    ----------
    f, x, *params
        The equations and their solution: plain values.
    name : str
        The operation that returned x, for messages.
    linear_solver, batch
        As for `root`.

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
    """Solve as `odeint` does, and list the steps between the times, for differentiation.

    Operands and options are those of `odeint`, as plain values. The result has the solution in
    ``ys``, and the steps in ``intervals``. A step is called as ``step(f, y, t0, t1, *params)``,
    with a state and two times, and returns the state at t1. If ``program`` is not None,
    ``pull(ys_bar)`` returns cotangents of f, the initial state, the times, and the parameters.
    """


@primitive
def transposed(recipe: Any, request: Any, /) -> Any:
    """Bind the mode that a recipe of one mode lacks, as the transpose of the mode that it has.

    Raises
    ------
    NotDifferentiableError
        When that mode runs, if the other is not linear in the (co)tangents.
    """


def slices_of(x: Any) -> list[Any]:
    """List the slices along the leading axis of all arrays in a structure."""
    leaves, treedef = flatten(x)
    shapes: list[Any] = [getattr(leaf, "shape", ()) for leaf in leaves]
    lengths = {shape[0] if shape else None for shape in shapes}
    if len(lengths) != 1 or None in lengths:
        raise ValueError(
            f"there are no slices along the leading axis of arrays of shapes {shapes}; "
            f"each has to have one, and all the same length: the calls are map(f, xs), "
            f"scan(f, initial, xs) and reduce(f, xs, initial), with np.stack(xs) of a list"
        )
    reads = [
        x.__getitem__
        if hasattr(x, "__getitem__")
        and getattr(getitem.implementation((type(x),)), "subscripts", False)
        else functools.partial(index, x)
        for x in leaves
    ]
    return [unflatten(treedef, [read(i) for read in reads]) for i in range(shapes[0][0])]


def stacked(results: list[Any], like: Any) -> Any:
    """Stack results of the same structure: each array gets a leading axis.

    Numbers become arrays of the library, and the dtype, of ``like``; truth values and whole numbers
    keep their kind.
    """
    found = [flatten(result) for result in results]
    treedef = found[0][1]
    if any(other != treedef for _, other in found):
        raise ValueError(f"the results are not of one structure: {treedef!r} is the first")
    columns = zip(*[leaves for leaves, _ in found], strict=True)
    return unflatten(treedef, [stack(*_arrays(column, like)) for column in columns])


def _arrays(xs: tuple[Any, ...], like: Any) -> list[Any]:
    """Convert numbers to 0-d arrays: of truth values, of whole numbers, or as `arrayed` does."""
    if hasattr(like, "dtype") and {type(x) for x in xs} <= {int, bool}:
        return [x * equal(full_like(like, shape=(), fill=1), 1) for x in xs]
    return [arrayed(x, like) for x in xs]


def arrayed(x: Any, like: Any) -> Any:
    """Convert a number to a 0-d array, in the library and on the device of ``like``."""
    if x is None or isinstance(x, (str, bytes)):
        raise TypeError(
            f"{x!r} is not a number or array, of which results are stacked; give one for each slice"
        )
    if hasattr(x, "dtype") or not hasattr(like, "dtype"):
        return x
    return x * full_like(like, shape=(), fill=1)


map.is_program = reduce.is_program = scan.is_program = True
