"""Where functions are least, and which parameters fit best."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize

from chainrules_py import UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import default_engine, varies
from chainrules_scipy.optimize.constrained import Constraints, held_place
from chainrules_scipy.optimize.roots import NEAR, as_tuple
from chainrules_scipy.results import Later, answer
from chainrules_scipy.rows import anchored, array_of, of_values, readable, reject, stands_for

# As they are now: later ours may stand under their names, which would call themselves.
_curve_fit: Any = scipy.optimize.curve_fit
_least_squares: Any = scipy.optimize.least_squares
_minimize: Any = scipy.optimize.minimize
_minimize_scalar: Any = scipy.optimize.minimize_scalar


def _least(f: Any, start: Any, solver: Any, kept: list[Any], held: Any = None) -> Any:
    """Minimise f by a solver of SciPy's, whose answer is kept; constraints may hold it."""

    def found(residual: Any, x0: Any) -> Any:
        kept[:] = kept[:] or [solver(x0)]
        return kept[0].x

    if held is not None:
        kept[:] = [solver(readable(start))]
        place = held_place(f, held, kept[0].x)
        if place is not None:
            return place
    return v.minimize(f, start, solver=found, tol=NEAR)


def minimized(f: Any, near: Any) -> Any:
    """Return where f is least, near where it is known to be."""

    def solver(x0: Any) -> Any:
        shape = np.shape(x0)
        found = _minimize(
            lambda x: float(readable(f(x.reshape(shape)))), x0, method="Nelder-Mead", options=_CLOSE
        )
        found.x = found.x.reshape(shape)
        return found

    return _least(f, array_of(near), solver, [])


_CLOSE = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000, "maxfev": 8000}


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
    """Find where a function is least."""
    args = as_tuple(args)
    kept: list[Any] = []
    start = v.reshape(array_of(readable(x0)), shape=(-1,))
    both = jac is True

    def f(x: Any) -> Any:
        return fun(x, *args)[0] if both else fun(x, *args)

    plain = of_values(jac if callable(jac) else fun, args)

    def slope(x: Any) -> Any:
        return plain(x)[1] if both else plain(x)

    held = None
    if bounds is not None or constraints not in ((), []):
        held = Constraints(constraints, bounds, start.shape[0])

    def solver(start: Any) -> Any:
        return _minimize(
            lambda x: float(readable(f(x))),
            start,
            method=method,
            jac=slope if both or callable(jac) else jac,
            bounds=None
            if bounds is None or held is None
            else list(zip(*map(readable, held.bounds), strict=True)),
            constraints=() if held is None else held.plain(),
            tol=1e-10 if tol is None else tol,
            callback=callback,
            options=options,
        )

    x = _least(f, start, solver, kept, held)
    return answer("minimize(...)", kept[0], x=x, fun=f(x), **_slopes(f, x, kept[0]))


def _slopes(f: Any, x: Any, found: Any) -> dict[str, Any]:
    """Return the fields of a result that are the gradient at its solution."""

    def slope(name: str) -> Later:
        return Later(lambda: anchored(found[name], default_engine().grad(f)(x)))

    # ``jac`` of trust-constr is a list, of its constraints.
    names = [k for k in ("jac", "grad") if np.shape(readable(x)) == np.shape(_array(found.get(k)))]
    return {name: slope(name) for name in names}


def _array(x: Any) -> Any:
    return x if isinstance(x, np.ndarray) else None


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
    """Find where a function of one number is least."""
    args = as_tuple(args)
    kept: list[Any] = []

    def f(x: Any) -> Any:
        return fun(x, *args)

    def solver(_: Any) -> Any:
        plain = None if bounds is None else tuple(map(readable, bounds))
        return _minimize_scalar(
            lambda x: float(readable(f(x))), bracket, plain, (), method, tol, options
        )

    x = None if bounds is None else _at_end(f, solver(0.0), bounds, kept)
    x = _least(f, 0.0, solver, kept) if x is None else x
    return answer("minimize_scalar(...)", kept[0], x=x, fun=f(x))


def _at_end(f: Any, found: Any, bounds: Any, kept: list[Any]) -> Any:
    """Return the bound that a number is held by, which the search only comes near to."""
    kept[:] = [found]
    for end, sign in zip(bounds, (1, -1), strict=True):
        near = float(readable(end))
        if abs(found.x - near) < 1e-4 * (1 + abs(near)):
            step = 1e-6 * (1 + abs(near)) * sign
            if float(readable(f(near))) < float(readable(f(near + step))):
                return anchored(found.x, array_of(end))
    return None


class _Ends(NamedTuple):
    lb: Any
    ub: Any


_LOSSES: dict[str, Any] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (v.sqrt(1 + z) - 1),
    "huber": lambda z: v.where(
        readable(z) <= 1, z, 2 * v.sqrt(v.where(readable(z) <= 1, 1.0, z)) - 1
    ),
    "cauchy": v.log1p,
    "arctan": v.atan,
}
"""Of squares of residuals, as SciPy has them."""


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
    """Find where a sum of squares is least."""
    if not isinstance(loss, str) or loss not in _LOSSES:
        reject(
            f"least_squares(loss={loss!r}) is not for traced values; take one of {list(_LOSSES)}",
            UnsupportedKeywordError,
        )
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
            of_values(lambda x, *args: jac(x, *args, **kwargs), args) if callable(jac) else jac,
            (-np.inf, np.inf) if held is None else tuple(map(readable, held.bounds)),
            method,
            *(t if t is None else min(t, 1e-12) for t in (ftol, xtol, gtol)),
            **options
            | ({} if x_scale is None else {"x_scale": x_scale})
            | {"loss": loss, "f_scale": f_scale},
        )

    def cost(x: Any) -> Any:
        r = residuals(x) / f_scale
        return 0.5 * f_scale * f_scale * v.sum(_LOSSES[loss](r * r))

    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    held = None
    if varies((low, high)) or np.any(np.isfinite(low)) or np.any(np.isfinite(high)):
        n = start.shape[0]
        both = (v.broadcast_to(array_of(end), shape=(n,)) for end in (low, high))
        held = Constraints((), _Ends(*both), n)
    x = _least(cost, start, solver, kept, held)
    more = _slopes(cost, x, kept[0])
    if loss == "linear" and isinstance(kept[0].jac, np.ndarray):
        more["jac"] = Later(lambda: anchored(kept[0].jac, _jacobian(residuals, x)))
    return answer(
        "least_squares(...)", kept[0], fun=residuals(x), **{"x": x, "cost": cost(x)} | more
    )


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
    """Fit the parameters of a function to data."""
    rest = {k for k, value in options.items() if value is not None} - _SEARCHED
    if rest:
        reject(f"curve_fit with {sorted(rest)} is not for traced values", UnsupportedKeywordError)
    start = readable(p0) if p0 is not None else np.ones(f.__code__.co_argcount - 1)
    y = array_of(ydata)
    if isinstance(xdata, (list, tuple, np.ndarray)):  # of which SciPy makes floats
        xdata = array_of(xdata)
    errors = None if sigma is None else array_of(sigma)

    factor = None if errors is None or errors.ndim < 2 else v.cholesky(errors)

    def residuals(p: Any) -> Any:
        r = f(xdata, *[p[i] for i in range(p.shape[0])]) - y
        if factor is not None:
            return v.solve_triangular(factor, r)
        return r if errors is None else r / errors

    bounds, method = options.get("bounds"), options.get("method")
    how = {} if bounds is None else {"bounds": bounds}
    x = least_squares(residuals, start, method=method or ("lm" if not how else "trf"), **how).x
    found = x, _covariance(residuals, x, absolute_sigma)
    if not options.get("full_output"):
        return found
    known = None if errors is None else readable(errors)
    at = (readable(array_of(xdata)), readable(y), readable(x), known, absolute_sigma)
    plain = _curve_fit(of_values(f), *at, **{k: o for k, o in options.items() if o is not None})
    return *found, answer("curve_fit(...)[2]", plain[2], fvec=residuals(x)), *plain[3:]


_SEARCHED = {"maxfev", "max_nfev", "bounds", "method", "ftol", "xtol", "gtol", "jac", "epsfcn"} | {
    *("full_output", "check_finite", "nan_policy", "factor", "diag", "x_scale", "diff_step"),
}
"""Options of ``curve_fit`` that do not change where its squares are least."""


def _jacobian(residuals: Any, x: Any) -> Any:
    columns = [default_engine().jvp(residuals, (x,), (e,))[1] for e in np.eye(x.shape[0])]
    return v.stack(*columns, axis=-1)


def _covariance(residuals: Any, x: Any, is_absolute: bool) -> Any:
    """(JᵀJ)⁻¹, times the variance of the residuals unless these are in units of their errors."""
    columns = _jacobian(residuals, x)
    inverse = v.inv(v.matmul(v.matrix_transpose(columns), columns))
    if is_absolute:
        return inverse
    r = residuals(x)
    if r.shape[0] <= x.shape[0]:
        msg = "Covariance of the parameters could not be estimated"
        warnings.warn(msg, scipy.optimize.OptimizeWarning, stacklevel=3)
        return np.full(inverse.shape, np.inf)
    return inverse * (v.vecdot(r, r) / (r.shape[0] - x.shape[0]))
