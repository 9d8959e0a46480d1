"""Least places, under bounds and constraints too, fits, and linear programs."""

from __future__ import annotations

import functools
import inspect
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as native

from chainrules_py import UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import advise, default_engine, varies
from chainrules_scipy.agreeing import Later, answer
from chainrules_scipy.following import follow_all
from chainrules_scipy.optimize.roots import NEAR, as_tuple, parted, solved
from chainrules_scipy.rows import (
    anchored,
    array_of,
    constant,
    of_values,
    readable,
    refused,
    reject,
    stands_for,
)

# As they are now: later ours may stand under their names, which would call themselves.
NATIVE: Any = types.SimpleNamespace(**vars(native))


class Constraints:
    """Constraints of all kinds that SciPy takes, of functions that hold traced values.

    Parameters
    ----------
    given : sequence
        Dictionaries, ``LinearConstraint`` and ``NonlinearConstraint``.
    bounds : tuple of array, optional
        The least and the greatest that the numbers themselves may be.
    """

    def __init__(self, given: Any, bounds: tuple[Any, Any] | None) -> None:
        self.parts = [_part(c) for c in (given if isinstance(given, (list, tuple)) else [given])]
        self.bounds = bounds

    def plain(self) -> Any:
        """Return the constraints as SciPy takes them, of plain numbers."""
        return [
            native.NonlinearConstraint(
                lambda x, f=f: np.atleast_1d(readable(f(x))), readable(low), readable(high)
            )
            for f, low, high in self.parts
        ]

    def held(self, x: Any) -> Any:
        """Return the function of what is 0 at the place x, and which of it are inequalities."""
        rows: list[tuple[Any, Any, Any, int]] = []
        parts = [(1e-5, *part) for part in self.parts]
        for share, f, low, high in [
            *parts,
            *([(1e-6, _same, *self.bounds)] if self.bounds else ()),
        ]:
            y = np.atleast_1d(readable(f(x)))
            known = [np.broadcast_to(readable(end), y.shape) for end in (low, high)]
            equal = known[0] == known[1]
            for sign, end, e in ((1, low, known[0]), (-1, high, known[1])):
                tight = np.isfinite(e) & (np.abs(y - e) <= share * (1 + np.abs(y)))
                tight &= ~equal if sign < 0 else True
                rows += [(f, end, i, 0 if equal[i] else sign) for i in np.flatnonzero(tight)]

        def equations(z: Any) -> Any:
            return v.stack(*[_element(f(z), i) - _element(end, i) for f, end, i, _ in rows])

        return equations, np.array([sign for *_, sign in rows])


def _same(x: Any) -> Any:
    return x


def _element(x: Any, i: int) -> Any:
    """Return an element of an array, or a number that stands for all of them."""
    x = v.reshape(array_of(x), shape=(-1,))
    return x[i if x.shape[0] > 1 else 0]


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
        return NATIVE.root(lambda z: readable(residual(z)), z0, tol=1e-13).x

    start = np.concatenate([x, forces])
    weak = (signs != 0) & (np.abs(forces) <= 1e-7 * (1 + np.max(np.abs(at), initial=0)))
    if weak.any() or np.any((signs * forces) < 0):
        reject("a constraint is met at the solution, and does not hold it: its sides differ there")
    return v.root(system, start, solver=found, tol=1e-5)[:n]


def _least(f: Any, start: Any, solver: Any, held: Any = None) -> tuple[Any, Any]:
    """Minimise f by a solver of SciPy's; return its answer as well. Constraints may hold it."""
    kept: list[Any] = []

    def found(residual: Any, x0: Any) -> Any:
        kept[:] = kept[:] or [solver(x0)]
        return kept[0].x

    if held is not None:
        kept[:] = [solver(readable(start))]
        place = held_place(f, held, kept[0].x)
        if place is not None:
            return place, kept[0]
    return v.minimize(f, start, solver=found, tol=NEAR), kept[0]


def minimized(f: Any, near: Any) -> Any:
    """Return where f is least, near where it is known to be."""

    def solver(x0: Any) -> Any:
        shape = np.shape(x0)
        found = NATIVE.minimize(
            lambda x: float(readable(f(x.reshape(shape)))), x0, method="Nelder-Mead", options=_CLOSE
        )
        found.x = found.x.reshape(shape)
        return found

    return _least(f, array_of(near), solver)[0]


_CLOSE = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000, "maxfev": 8000}


@stands_for(native.minimize)
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
    start = v.reshape(array_of(readable(x0)), shape=(-1,))
    if jac is True:
        fun, jac = parted(fun, args)
    elif callable(jac):
        jac = of_values(jac, args)

    def f(x: Any) -> Any:
        return fun(x, *args)

    held = None
    if bounds is not None or constraints not in ((), []):
        within = None if bounds is None else ends(bounds, start.shape[0])
        held = Constraints(constraints, within)

    def solver(start: Any) -> Any:
        return NATIVE.minimize(
            lambda x: float(readable(f(x))),
            start,
            method=method,
            jac=jac,
            bounds=list(zip(*map(readable, held.bounds), strict=True))
            if held and held.bounds
            else None,
            constraints=() if held is None else held.plain(),
            tol=1e-10 if tol is None else tol,
            callback=callback,
            options=options,
        )

    x, found = _least(f, start, solver, held)
    return answer("minimize(...)", found, x=x, fun=f(x), **_slopes(f, x, found))


def _slopes(f: Any, x: Any, found: Any) -> dict[str, Any]:
    """Return the fields of a result that are the gradient at its solution."""

    def slope(name: str) -> Later:
        return Later(lambda: anchored(found[name], default_engine().grad(f)(x)))

    # ``jac`` of trust-constr is a list, of its constraints.
    arrays = [k for k in ("jac", "grad") if isinstance(found.get(k), np.ndarray)]
    return {k: slope(k) for k in arrays if found[k].shape == np.shape(readable(x))}


@stands_for(native.minimize_scalar)
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

    def f(x: Any) -> Any:
        return fun(x, *args)

    def solver(_: Any) -> Any:
        plain = None if bounds is None else tuple(map(readable, bounds))
        return NATIVE.minimize_scalar(
            lambda x: float(readable(f(x))), bracket, plain, (), method, tol, options
        )

    found = None if bounds is None else solver(0.0)
    x = None if bounds is None else _at_end(f, found, bounds)
    x, found = _least(f, 0.0, solver) if x is None else (x, found)
    return answer("minimize_scalar(...)", found, x=x, fun=f(x))


def _at_end(f: Any, found: Any, bounds: Any) -> Any:
    """Return the bound that a number is held by, which the search only comes near to."""
    for end, sign in zip(bounds, (1, -1), strict=True):
        near = float(readable(end))
        if abs(found.x - near) < 1e-4 * (1 + abs(near)):
            step = 1e-6 * (1 + abs(near)) * sign
            if float(readable(f(near))) < float(readable(f(near + step))):
                return anchored(found.x, array_of(end))
    return None


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


@stands_for(native.least_squares)
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
    start = v.reshape(array_of(readable(x0)), shape=(-1,))

    def residuals(x: Any) -> Any:
        return v.reshape(array_of(fun(x, *args, **kwargs)), shape=(-1,))

    def solver(start: Any) -> Any:
        return NATIVE.least_squares(
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
    held: Any = None
    if varies((low, high)) or np.any(np.isfinite(low)) or np.any(np.isfinite(high)):
        n = start.shape[0]
        low, high = (v.broadcast_to(array_of(end), shape=(n,)) for end in (low, high))
        held = Constraints((), (low, high))
    x, found = _least(cost, start, solver, held)
    more = _slopes(cost, x, found)
    if loss == "linear" and isinstance(found.jac, np.ndarray):
        more["jac"] = Later(lambda: anchored(found.jac, _jacobian(residuals, x)))
    return answer("least_squares(...)", found, fun=residuals(x), **{"x": x, "cost": cost(x)} | more)


@stands_for(native.curve_fit)
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
    plain = NATIVE.curve_fit(
        of_values(f), *at, **{k: o for k, o in options.items() if o is not None}
    )
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
        warnings.warn(msg, native.OptimizeWarning, stacklevel=3)
        return np.full(inverse.shape, np.inf)
    return inverse * (v.vecdot(r, r) / (r.shape[0] - x.shape[0]))


FOLLOWED: dict[str, Any] = follow_all(
    native, "approx_fprime", "rosen", "rosen_der", "rosen_hess", "rosen_hess_prod"
)


def _number(y: Any) -> Any:
    """Return plain numbers of what a function gives."""
    if isinstance(y, tuple):
        return tuple(map(_number, y))
    y = readable(y)
    return float(y) if np.ndim(y) == 0 else y


def _around(f: Any, x: Any, bounds: Any = None) -> Any:
    """Return the place x that a search came to, as the solution of its equations."""
    near = np.array(x, float)  # searches go on writing to theirs
    if bounds is not None:
        place = held_place(f, Constraints((), ends(bounds, near.size)), near)
        if place is not None:
            return anchored(x, place)
    return anchored(x, minimized(f, near))


def _search(name: str) -> Callable[..., Any]:
    """Make a search that returns the place, a tuple that begins with it, or a result."""
    theirs = getattr(native, name)
    signature = inspect.signature(theirs)
    of = next(iter(signature.parameters))

    @functools.wraps(theirs)
    def function(*args: Any, **options: Any) -> Any:
        given = dict(signature.bind(*args, **options).arguments)
        local = dict(given.get("minimizer_kwargs") or {})
        held = any(given.get(k) not in (None, ()) for k in _HOLDING)
        if held or set(local) - {"args", "bounds", "method", "options", "tol"}:
            reject(
                f"{name} with constraints or a minimizer of its own has no derivative here; call "
                "minimize with them",
                UnsupportedKeywordError,
            )
        f, operands = given.pop(of), as_tuple(given.pop("args", local.pop("args", ())))
        given |= {"minimizer_kwargs": local} if "minimizer_kwargs" in given else {}
        for slope in ("fprime", "fhess", "fhess_p"):
            if given.get(slope) is not None:
                given[slope] = functools.partial(_after, given[slope], operands)
        given |= {k: readable(given[k]) for k in ("x0", "x1", "x2") if k in given}

        def compute(x: Any) -> Any:
            y = f(x, *operands)
            return y[0] if isinstance(y, tuple) else y

        direct = given.get("fprime") is None and not given.get("approx_grad")
        both = name in ("fmin_tnc", "fmin_l_bfgs_b") and direct
        plain = functools.partial(_after, f if both else compute, operands if both else ())
        found = theirs(plain, **given)
        bounds = given.get("bounds") or local.get("bounds")
        if isinstance(found, native.OptimizeResult):
            x = _around(compute, found.x, bounds)
            return answer(f"{name}(...)", found, x=x, fun=anchored(found.fun, compute(x)))
        if not isinstance(found, tuple):
            return _around(compute, found, bounds)
        x = _around(compute, found[0], bounds)
        # The least value follows, but for fmin_tnc and where only the way there is asked for.
        least = isinstance(found[1], (float, np.ndarray)) and np.ndim(found[1]) == 0
        more = {"_1": anchored(found[1], compute(x))} if least else {}
        return answer(f"{name}(...)", found, _0=x, **more)

    return stands_for(theirs)(function)


_HOLDING = ("constraints", "eqcons", "f_eqcons", "ieqcons", "f_ieqcons")


def _after(f: Any, operands: Any, x: Any, *rest: Any) -> Any:
    return _number(f(x, *rest, *operands))


SEARCHES = {
    name: _search(name)
    for name in (
        *("basinhopping", "brent", "differential_evolution", "direct", "dual_annealing", "fmin"),
        *("fmin_bfgs", "fmin_cg", "fmin_l_bfgs_b", "fmin_ncg", "fmin_powell", "fmin_slsqp"),
        *("fmin_tnc", "fminbound", "golden", "shgo"),
    )
}


def _equation(name: str) -> Callable[..., Any]:
    theirs = getattr(native, name)

    @functools.wraps(theirs)
    def function(F: Any, xin: Any, **options: Any) -> Any:
        def solver(residual: Any, start: Any) -> Any:
            near = theirs(lambda x: np.asarray(readable(residual(x))), start, **options)
            return NATIVE.root(residual, near, tol=1e-13).x, near

        return solved(F, array_of(readable(xin)), solver)[0]

    return stands_for(theirs)(function)


EQUATIONS = {
    name: _equation(name)
    for name in (
        *("anderson", "broyden1", "broyden2", "diagbroyden", "excitingmixing", "linearmixing"),
        "newton_krylov",
    )
}


@stands_for(native.leastsq)
def leastsq(
    func: Any,
    x0: Any,
    args: Any = (),
    Dfun: Any = None,
    full_output: bool = False,
    *_: Any,
    **options: Any,
) -> tuple[Any, ...]:
    """Find where a sum of squares is least: as ``scipy.optimize.leastsq``."""
    if full_output:
        reject(
            "leastsq(full_output=True) has no derivative here; call curve_fit or least_squares",
            UnsupportedKeywordError,
        )
    return least_squares(func, x0, args=as_tuple(args), method="lm").x, 1


def _free_least_squares(a: Any, b: Any, x: Any, low: Any, high: Any) -> Any:
    """Solve for what lies on no bound; the rest is where it is."""
    near = 1e-8 * (1 + np.abs(x))
    at_low, at_high = x - readable(low) <= near, readable(high) - x <= near
    free = np.flatnonzero(~(at_low | at_high))
    full = v.where(at_low, low, v.where(at_high, high, 0.0))
    slope = readable(a).T @ (readable(a) @ x - readable(b))
    if np.any(np.abs(slope[at_low | at_high]) <= 1e-10 * (1 + np.max(np.abs(slope), initial=0))):
        reject("a bound is met at the solution, and does not hold it: its sides differ there")
    if not free.size:
        return full
    columns = a[:, free]
    rest = b - v.matmul(a, full)
    normal = v.matmul(v.matrix_transpose(columns), columns)
    y = v.solve(normal, v.matmul(v.matrix_transpose(columns), rest))
    places = np.zeros((len(x), len(free)))
    places[free, np.arange(len(free))] = 1
    return full + v.matmul(places, y)


@stands_for(native.nnls)
def nnls(A: Any, b: Any, **options: Any) -> tuple[Any, Any]:
    """Find the least squares without negative numbers: as ``scipy.optimize.nnls``."""
    a, b = array_of(A), array_of(b)
    known = NATIVE.nnls(readable(a), readable(b), **options)[0]
    zeros = np.zeros(len(known))
    x = _free_least_squares(a, b, known, zeros, zeros + np.inf)
    return x, v.vector_norm(v.matmul(a, x) - b)


@stands_for(native.lsq_linear)
def lsq_linear(A: Any, b: Any, bounds: Any = (-np.inf, np.inf), **options: Any) -> Any:
    """Find the least squares under bounds: as ``scipy.optimize.lsq_linear``."""
    a, b = array_of(A), array_of(b)
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    n = a.shape[1]
    low, high = (v.broadcast_to(array_of(end), shape=(n,)) for end in (low, high))
    plain = (readable(low), readable(high))
    found = NATIVE.lsq_linear(readable(a), readable(b), plain, **options | {"tol": 1e-13})
    x = _free_least_squares(a, b, found.x, low, high)
    rest = v.matmul(a, x) - b
    return answer("lsq_linear(...)", found, x=x, fun=rest, cost=0.5 * v.vecdot(rest, rest))


@stands_for(native.linprog)
def linprog(
    c: Any,
    A_ub: Any = None,
    b_ub: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = (0, None),
    method: str = "highs",
    callback: Any = None,
    options: Any = None,
    x0: Any = None,
    integrality: Any = None,
) -> Any:
    """Solve a linear program: a corner moves with the constraints that meet there."""
    if integrality is not None and np.any(integrality):
        reject("solutions in integers jump, and have no derivative")
    c = array_of(c)
    n = c.shape[0]
    given: list[Any] = [None if x is None else array_of(x) for x in (A_ub, b_ub, A_eq, b_eq)]
    given[1::2] = [None if x is None else v.reshape(x, shape=(-1,)) for x in given[1::2]]
    plain = [None if x is None else readable(x) for x in given]
    single = len(bounds) == 2 and all(np.ndim(e) == 0 for e in bounds)
    low, high = ends([bounds] * n if single else bounds, n)
    pairs = list(zip(readable(low), readable(high), strict=True))
    found = NATIVE.linprog(readable(c), *plain, pairs, method, callback, options)
    if found.x is None:
        return found
    above, limits, equal, sums = given
    meeting = {
        "eqlin": (equal, sums),
        "ineqlin": (above, limits),
        "lower": (np.eye(n), low),
        "upper": (np.eye(n), high),
    }
    meeting = {k: rows for k, rows in meeting.items() if rows[0] is not None}
    held = {k: np.flatnonzero(np.abs(found[k].residual) <= 1e-8) for k in meeting}
    matrix, right = (
        v.concat(*[meeting[k][i][at] for k, at in held.items()], axis=0) for i in (0, 1)
    )
    if matrix.shape[0] != n or np.linalg.matrix_rank(readable(matrix)) < n:
        reject(
            f"{matrix.shape[0]} constraints meet at the solution, of {n} numbers: a derivative "
            "has a corner where just as many do"
        )
    x = anchored(found.x, v.solve(matrix, right))
    prices = v.solve(v.matrix_transpose(matrix), c)  # of what meets at the corner, in its order
    parts, start = {}, 0
    for k, (rows, end) in meeting.items():
        rest, known = end - v.matmul(rows, x), found[k].marginals
        places = np.zeros((len(known), n))
        places[held[k], start + np.arange(len(held[k]))] = 1
        start += len(held[k])
        fields = {"residual": -rest if k == "lower" else rest}
        fields["marginals"] = anchored(known, v.matmul(places, prices))
        parts[k] = native.OptimizeResult(found[k], **fields)
    slack, con = (parts.get(k, found[k]).residual for k in ("ineqlin", "eqlin"))
    fields = {"x": x, "fun": v.vecdot(c, x), "slack": slack, "con": con}
    return answer("linprog(...)", found, **fields, **parts)


@stands_for(native.isotonic_regression, arrays="y")
def isotonic_regression(y: Any, *, weights: Any = None, increasing: bool = True) -> Any:
    """Fit a monotone sequence, of means of blocks: as ``scipy.optimize.isotonic_regression``."""
    w = v.ones_like(y) if weights is None else array_of(weights)
    found = NATIVE.isotonic_regression(readable(y), weights=readable(w), increasing=increasing)
    blocks = found.blocks
    shares = np.zeros((len(blocks) - 1, y.shape[0]))
    for i in range(len(shares)):
        shares[i, blocks[i] : blocks[i + 1]] = 1
    means = v.matmul(shares, w * y) / v.matmul(shares, w)
    found.x, found.weights = v.matmul(means, shares), v.matmul(shares, w)
    return found


linear_sum_assignment = constant(native.linear_sum_assignment)
advise(native.brute, "brute looks at a grid: start minimize at what it finds for plain numbers")
refused(
    native,
    {
        "fmin_cobyla": "call minimize with constraints",
        "milp": "solutions in integers jump: fix them, and take linprog",
        "quadratic_assignment": "assignments jump: take ignore_derivatives(x) before",
    },
)
