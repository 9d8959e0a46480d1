"""Least places, under bounds and constraints too, and parameters that fit best."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize

from chainrules_py import UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import default_engine, varies
from chainrules_scipy.agreeing import Later, answer
from chainrules_scipy.optimize.roots import NEAR, as_tuple
from chainrules_scipy.rows import anchored, array_of, of_values, readable, reject, stands_for

_root: Any = scipy.optimize.root
_NEAR = 1e-6


class Constraints:
    """Constraints of all kinds that SciPy takes, of functions that hold traced values.

    Parameters
    ----------
    given : sequence
        Dictionaries, ``LinearConstraint`` and ``NonlinearConstraint``.
    bounds : sequence or Bounds, optional
        Of the numbers themselves.
    n : int
        How many there are.
    """

    def __init__(self, given: Any, bounds: Any, n: int) -> None:
        many = given if isinstance(given, (list, tuple)) else [given]
        self.parts = [_part(c) for c in many]
        self.bounds: Any = None if bounds is None else ends(bounds, n)

    def plain(self) -> Any:
        """Return the constraints as SciPy takes them, of plain numbers."""
        return [
            scipy.optimize.NonlinearConstraint(
                lambda x, f=f: np.atleast_1d(readable(f(x))), readable(low), readable(high)
            )
            for f, low, high in self.parts
        ]

    def held(self, x: Any) -> Any:
        """Return the function of what is 0 at the place x, and which of it are inequalities."""
        near, plain = _NEAR * (1 + np.abs(x)), readable
        rows: list[tuple[Any, Any, Any, int]] = []
        for f, low, high in self.parts:
            y = np.atleast_1d(plain(f(x)))
            for sign, end in ((1, low), (-1, high)):
                e = np.broadcast_to(plain(end), y.shape)
                equal = np.broadcast_to(plain(low), y.shape) == np.broadcast_to(
                    plain(high), y.shape
                )
                tight = np.isfinite(e) & (np.abs(y - e) <= 1e-5 * (1 + np.abs(y)))
                tight = tight & (~equal if sign < 0 else True)
                rows += [(f, end, i, 0 if equal[i] else sign) for i in np.flatnonzero(tight)]
        for sign, end in zip((1, -1), self.bounds or (), strict=False):
            e = np.broadcast_to(plain(end), x.shape)
            rows += [(None, end, i, sign) for i in np.flatnonzero(np.abs(x - e) <= near)]

        def equations(z: Any) -> Any:
            values = []
            for f, end, i, _ in rows:
                y = z if f is None else v.reshape(array_of(f(z)), shape=(-1,))
                e = array_of(end)
                values.append(
                    y[i] - (e[i] if e.ndim and e.shape[0] > 1 else v.reshape(e, shape=()))
                )
            return v.stack(*values)

        return equations, np.array([sign for *_, sign in rows])


def _part(c: Any) -> tuple[Any, Any, Any]:
    if isinstance(c, dict):
        args = c.get("args", ())
        args = args if isinstance(args, tuple) else (args,)
        return lambda x: c["fun"](x, *args), 0.0, 0.0 if c["type"] == "eq" else np.inf
    if hasattr(c, "A"):
        return lambda x: v.matmul(array_of(c.A), x), c.lb, c.ub
    return c.fun, c.lb, c.ub


def ends(bounds: Any, n: int) -> tuple[Any, Any]:
    """Return the lower and the upper bounds of n numbers."""
    if hasattr(bounds, "lb"):
        return array_of(bounds.lb), array_of(bounds.ub)
    pairs = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in bounds]
    if len(pairs) != n:
        reject(f"{len(pairs)} bounds for {n} numbers", ValueError)
    low, high = zip(*pairs, strict=True)
    return v.stack(*map(array_of, low)), v.stack(*map(array_of, high))


def held_place(f: Any, constraints: Constraints, x: Any) -> Any:
    """Return the place x, as the solution of what holds it; None if nothing does.

    Raises
    ------
    NotDifferentiableError
        If a constraint that is met has no force: there the derivatives of both sides differ.
    """
    equations, signs = constraints.held(x)
    if not signs.size:
        return None
    n, engine = len(x), default_engine()

    def slope(z: Any, forces: Any) -> Any:
        return engine.grad(lambda p: array_of(f(p)) - v.vecdot(forces, equations(p)))(z)

    def system(z: Any) -> Any:
        place, forces = z[:n], z[n:]
        return v.concat(slope(place, forces), equations(place), axis=0)

    at = readable(slope(x, np.zeros(len(signs))))
    columns = np.stack([readable(slope(x, e)) for e in np.eye(len(signs))], axis=1)
    forces = np.linalg.lstsq(at[:, None] - columns, at, rcond=None)[0]

    def found(residual: Any, z0: Any) -> Any:
        return _root(lambda z: readable(residual(z)), z0, tol=1e-13).x

    start = np.concatenate([x, forces])
    weak = (signs != 0) & (np.abs(forces) <= 1e-7 * (1 + np.max(np.abs(at), initial=0)))
    if weak.any() or np.any((signs * forces) < 0):
        reject("a constraint is met at the solution, and does not hold it: its sides differ there")
    return v.root(system, start, solver=found, tol=1e-5)[:n]


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
