"""Where functions are least, and which parameters fit best."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize

from chainrules_py import NotDifferentiableError, UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import default_engine
from chainrules_scipy.optimize.roots import NEAR, as_tuple
from chainrules_scipy.rows import array_of, readable, stands_for

# As they are now: later ours may stand under their names, which would call themselves.
_least_squares: Any = scipy.optimize.least_squares
_minimize: Any = scipy.optimize.minimize
_minimize_scalar: Any = scipy.optimize.minimize_scalar


def _least(f: Any, start: Any, solver: Any, kept: list[Any], ends: Any = None) -> Any:
    """Minimise f by a solver of SciPy's, whose answer is kept; it may lie on none of the ends."""

    def found(residual: Any, x0: Any) -> Any:
        kept[:] = [solver(x0)]
        if ends is not None:
            _refuse_ends(kept[0].x, *ends)
        return kept[0].x

    return v.minimize(f, start, solver=found, tol=NEAR)


def minimized(f: Any, near: Any) -> Any:
    """Return where f is least, near where it is known to be."""

    def solver(x0: Any) -> Any:
        return _minimize(lambda x: float(readable(f(x))), x0, method="Nelder-Mead", options=_CLOSE)

    return _least(f, near, solver, [])


_CLOSE = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000, "maxfev": 8000}


def _refuse_ends(x: Any, low: Any, high: Any) -> None:
    """Raise where a bound holds the solution: there its derivatives are others."""
    reach = 1e-6 * (1 + np.abs(x))
    if np.any((x - low < reach) | (high - x < reach)):
        msg = "the solution lies on a bound, where its derivative is that of the bound"
        raise NotDifferentiableError(msg)


@stands_for(scipy.optimize.minimize)
def minimize(
    fun: Any,
    x0: Any,
    args: Any = (),
    method: Any = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: Any = None,
    callback: Any = None,
    options: Any = None,
) -> Any:
    """Find where a function is least.

    Parameters
    ----------
    fun : callable
        Gives a number.
    x0 : array, shape (n,)
        Where to start.
    args : tuple
        Further arguments.
    method, tol, callback, options
        As SciPy has them.
    jac, hess, hessp : None
        Not taken: SciPy takes differences, and derivatives are ours.
    bounds : sequence, optional
        On none of which the solution may lie.
    constraints : tuple
        Not taken: empty.

    Returns
    -------
    OptimizeResult
        As ``scipy.optimize.minimize``, with ``x`` and ``fun``.

    Raises
    ------
    UnsupportedKeywordError
        If there are derivatives or constraints.
    NotDifferentiableError
        If the solution lies on a bound.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> f = lambda a: minimize(lambda x: np.sum((x - a) ** 2 + x**4), np.ones(1)).x[0]
    >>> round(float(grad(f)(6.0)), 4)
    0.0865
    """
    if constraints not in ((), []) or any(d not in (None, False) for d in (jac, hess, hessp)):
        msg = "minimize with constraints or derivatives is not for traced values; leave them out"
        raise UnsupportedKeywordError(msg)
    args = as_tuple(args)
    kept: list[Any] = []
    start = v.reshape(array_of(readable(x0)), shape=(-1,))

    def f(x: Any) -> Any:
        return fun(x, *args)

    def solver(start: Any) -> Any:
        return _minimize(
            lambda x: float(readable(f(x))),
            start,
            method=method,
            bounds=bounds,
            tol=1e-10 if tol is None else tol,
            callback=callback,
            options=options,
        )

    x = _least(f, start, solver, kept, None if bounds is None else _ends(bounds, start.shape[0]))
    return _with(kept[0], x=x, fun=f(x))


def _ends(bounds: Any, n: int) -> Any:
    """Return the lower and the upper bounds, of n numbers."""
    if hasattr(bounds, "lb"):
        return bounds.lb, bounds.ub
    pairs = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in bounds]
    return np.asarray(pairs, float).reshape(n, 2).T


def _with(found: Any, **fields: Any) -> Any:
    """Return SciPy's answer, with what is differentiated."""
    return scipy.optimize.OptimizeResult(found, **fields)


@stands_for(scipy.optimize.minimize_scalar)
def minimize_scalar(
    fun: Any,
    bracket: Any = None,
    bounds: Any = None,
    args: Any = (),
    method: Any = None,
    tol: Any = None,
    options: Any = None,
) -> Any:
    """Find where a function of one number is least.

    Parameters
    ----------
    fun : callable
        Of a number, and ``args``.
    bracket, method, tol, options
        As SciPy has them.
    bounds : tuple of two numbers, optional
        On none of which the solution may lie.
    args : tuple
        Further arguments.

    Returns
    -------
    OptimizeResult
        As ``scipy.optimize.minimize_scalar``, with ``x`` and ``fun``.

    Raises
    ------
    NotDifferentiableError
        If the solution lies on a bound.

    Examples
    --------
    >>> round(float(minimize_scalar(lambda x: (x - 2.0) ** 2).x), 6)
    2.0
    """
    args = as_tuple(args)
    kept: list[Any] = []

    def f(x: Any) -> Any:
        return fun(x, *args)

    def solver(_: Any) -> Any:
        return _minimize_scalar(
            lambda x: float(readable(f(x))), bracket, bounds, (), method, tol, options
        )

    x = _least(f, 0.0, solver, kept, None if bounds is None else tuple(map(readable, bounds)))
    return _with(kept[0], x=x, fun=f(x))


@stands_for(scipy.optimize.least_squares)
def least_squares(
    fun: Any,
    x0: Any,
    jac: Any = "2-point",
    bounds: Any = (-np.inf, np.inf),
    method: str = "trf",
    ftol: Any = 1e-8,
    xtol: Any = 1e-8,
    gtol: Any = 1e-8,
    x_scale: Any = None,
    loss: str = "linear",
    f_scale: float = 1.0,
    args: Any = (),
    kwargs: Any = None,
    **options: Any,
) -> Any:
    """Find where a sum of squares is least.

    Parameters
    ----------
    fun : callable
        Gives the residuals.
    x0 : array, shape (n,)
        Where to start.
    bounds : tuple of two
        On none of which the solution may lie.
    jac, method, ftol, xtol, gtol, x_scale, f_scale, **options
        As SciPy has them.
    loss : str
        "linear".
    args, kwargs
        Further arguments.

    Returns
    -------
    OptimizeResult
        As ``scipy.optimize.least_squares``, with ``x``, ``fun`` and ``cost``.

    Raises
    ------
    UnsupportedKeywordError
        If the loss is another one, or there is a Jacobian.
    NotDifferentiableError
        If the solution lies on a bound.

    Examples
    --------
    >>> t = np.arange(4.0)
    >>> print(least_squares(lambda p: p[0] * t - 2.0 * t, [1.0]).x.round(6))
    [2.]
    """
    if loss != "linear" or callable(jac):
        msg = f"least_squares(loss={loss!r}, jac={jac!r}) is not for traced values; leave them out"
        raise UnsupportedKeywordError(msg)
    kwargs = kwargs or {}
    args = as_tuple(args)
    kept: list[Any] = []
    start = v.reshape(array_of(readable(x0)), shape=(-1,))

    def residuals(x: Any) -> Any:
        return v.reshape(array_of(fun(x, *args, **kwargs)), shape=(-1,))

    def solver(start: Any) -> Any:
        return _least_squares(
            lambda x: readable(residuals(x)),
            start,
            jac,
            tuple(map(readable, bounds)) if isinstance(bounds, tuple) else bounds,
            method,
            *(t if t is None else min(t, 1e-12) for t in (ftol, xtol, gtol)),
            **options | ({} if x_scale is None else {"x_scale": x_scale}),
        )

    def cost(x: Any) -> Any:
        r = residuals(x)
        return 0.5 * v.vecdot(r, r)

    ends = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else tuple(map(readable, bounds))
    x = _least(cost, start, solver, kept, ends)
    return _with(kept[0], x=x, fun=residuals(x), cost=cost(x))


@stands_for(scipy.optimize.curve_fit)
def curve_fit(
    f: Any,
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    **options: Any,
) -> Any:
    """Fit the parameters of a function to data.

    Parameters
    ----------
    f : callable
        Of the places and the parameters.
    xdata, ydata : array
        Places, and values there.
    p0 : array, optional
        Where to start; ones by default.
    sigma : array, shape (m,), optional
        The errors of the values.
    absolute_sigma : bool
        Whether these are absolute.
    **options
        Not taken, but ``maxfev``.

    Returns
    -------
    tuple of two arrays
        The parameters, and their covariance, as ``scipy.optimize.curve_fit``.

    Raises
    ------
    UnsupportedKeywordError
        If something else is given.

    Examples
    --------
    >>> t = np.arange(4.0)
    >>> print(curve_fit(lambda t, a: a * t, t, 2.0 * t)[0].round(6))
    [2.]
    """
    rest = {k: value for k, value in options.items() if value is not None and k != "maxfev"}
    if rest or np.ndim(sigma) > 1:
        msg = f"curve_fit with {sorted(rest) or 'a matrix for sigma'} is not for traced values"
        raise UnsupportedKeywordError(msg)
    start = readable(p0) if p0 is not None else np.ones(f.__code__.co_argcount - 1)
    y = array_of(ydata)
    errors = None if sigma is None else array_of(sigma)

    def residuals(p: Any) -> Any:
        r = f(xdata, *[p[i] for i in range(p.shape[0])]) - y
        return r if errors is None else r / errors

    x = least_squares(residuals, start, method="lm").x
    return x, _covariance(residuals, x, sigma is not None and absolute_sigma)


def _covariance(residuals: Any, x: Any, is_absolute: bool) -> Any:
    """(JᵀJ)⁻¹, times the variance of the residuals unless these are in units of their errors."""
    jacobian = [default_engine().jvp(residuals, (x,), (e,))[1] for e in np.eye(x.shape[0])]
    columns = v.stack(*jacobian, axis=-1)
    inverse = v.inv(v.matmul(v.matrix_transpose(columns), columns))
    if is_absolute:
        return inverse
    r = residuals(x)
    return inverse * (v.vecdot(r, r) / (r.shape[0] - x.shape[0]))
