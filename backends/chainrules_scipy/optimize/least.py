"""Least places, under bounds and constraints too, fits, and linear programs."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
import scipy.optimize as native

from chainrules_py import UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import advise, default_engine, varies
from chainrules_scipy.agreeing import Later, answer
from chainrules_scipy.following import follow_all
from chainrules_scipy.installing import place
from chainrules_scipy.optimize.roots import NEAR, as_tuple, solved
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


FOLLOWED: dict[str, Any] = follow_all(
    native, "approx_fprime", "rosen", "rosen_der", "rosen_hess", "rosen_hess_prod"
)


def _of_numbers(f: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function give plain numbers."""

    def of_numbers(*args: Any, **options: Any) -> Any:
        y = f(*args, **options)
        return tuple(map(_number, y)) if isinstance(y, tuple) else _number(y)

    return of_numbers


def _number(y: Any) -> Any:
    y = readable(y)
    return float(y) if np.ndim(y) == 0 else y


def _around(f: Any, x: Any, bounds: Any = None) -> Any:
    """Return the place x that a search came to, as the solution of its equations."""
    near = np.array(x, float)  # searches go on writing to theirs
    if bounds is not None:
        place = held_place(f, Constraints((), bounds, near.size), near)
        if place is not None:
            return anchored(x, place)
    return anchored(x, minimized(f, near))


def _search(name: str) -> Callable[..., Any]:
    """Make a search that returns the place, or a tuple that begins with it."""
    theirs = getattr(native, name)
    signature = inspect.signature(theirs)
    of = next(iter(signature.parameters))
    slopes = ("fprime", "fhess", "fhess_p")

    @functools.wraps(theirs)
    def function(*args: Any, **options: Any) -> Any:
        given = dict(signature.bind(*args, **options).arguments)
        f, operands = given.pop(of), as_tuple(given.pop("args", ()))
        if name == "fmin_slsqp" and (set(given) & {"eqcons", "f_eqcons", "ieqcons", "f_ieqcons"}):
            reject(
                "fmin_slsqp with constraints has no derivative here; call minimize with them",
                UnsupportedKeywordError,
            )
        if name == "fmin_cobyla":
            reject(
                "fmin_cobyla has no derivative here; call minimize with constraints",
                UnsupportedKeywordError,
            )
        for slope in slopes:
            if given.get(slope) is not None:
                given[slope] = _of_numbers(functools.partial(_after, given[slope], operands))
        for start in ("x0", "x1", "x2"):
            if start in given:
                given[start] = readable(given[start])

        def compute(x: Any) -> Any:
            y = f(x, *operands)
            return y[0] if isinstance(y, tuple) else y

        direct = given.get("fprime") is None and not given.get("approx_grad")
        both = name in ("fmin_tnc", "fmin_l_bfgs_b") and direct
        found = theirs(_of_numbers((lambda x: f(x, *operands)) if both else compute), **given)
        if not isinstance(found, tuple):
            return _around(compute, found, given.get("bounds"))
        x = _around(compute, found[0], given.get("bounds"))
        # The least value follows, but for fmin_tnc and where only the way there is asked for.
        least = isinstance(found[1], (float, np.ndarray)) and np.ndim(found[1]) == 0
        more = {"_1": anchored(found[1], compute(x))} if least else {}
        return answer(f"{name}(...)", found, _0=x, **more)

    return stands_for(theirs)(function)


def _after(f: Any, operands: Any, x: Any, *rest: Any) -> Any:
    return f(x, *rest, *operands)


SEARCHES = {
    name: _search(name)
    for name in (
        *("brent", "fmin", "fmin_bfgs", "fmin_cg", "fmin_cobyla", "fmin_l_bfgs_b", "fmin_ncg"),
        *("fmin_powell", "fmin_slsqp", "fmin_tnc", "fminbound", "golden"),
    )
}


def _everywhere(name: str) -> Callable[..., Any]:
    """Make a search for the least place of all."""
    theirs = getattr(native, name)
    signature = inspect.signature(theirs)

    @functools.wraps(theirs)
    def function(*args: Any, **options: Any) -> Any:
        given = dict(signature.bind(*args, **options).arguments)
        func, operands = given.pop("func"), as_tuple(given.pop("args", ()))
        local = dict(given.get("minimizer_kwargs") or {})
        if given.get("constraints") or set(local) - {"args", "bounds", "method", "options", "tol"}:
            reject(
                f"{name} with constraints or a minimizer of its own has no derivative here",
                UnsupportedKeywordError,
            )
        operands = as_tuple(local.pop("args", operands))
        if local or "minimizer_kwargs" in given:
            given["minimizer_kwargs"] = local

        def compute(x: Any) -> Any:
            return func(x, *operands)

        found = theirs(_of_numbers(compute), **given)
        x = _around(compute, found.x, given.get("bounds") or local.get("bounds"))
        return answer(f"{name}(...)", found, x=x, fun=anchored(found.fun, compute(x)))

    return stands_for(theirs)(function)


EVERYWHERE = {
    name: _everywhere(name)
    for name in ("basinhopping", "differential_evolution", "direct", "dual_annealing", "shgo")
}


def _equation(name: str) -> Callable[..., Any]:
    theirs = getattr(native, name)

    @functools.wraps(theirs)
    def function(F: Any, xin: Any, **options: Any) -> Any:
        def solver(residual: Any, start: Any) -> Any:
            near = theirs(lambda x: np.asarray(readable(residual(x))), start, **options)
            return native_root(residual, near, tol=1e-13).x, near

        return solved(F, array_of(readable(xin)), solver, [])

    return stands_for(theirs)(function)


native_root: Any = native.root
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
    known = native_nnls(readable(a), readable(b), **options)[0]
    zeros = np.zeros(len(known))
    x = _free_least_squares(a, b, known, zeros, zeros + np.inf)
    return x, v.vector_norm(v.matmul(a, x) - b)


native_nnls: Any = native.nnls


@stands_for(native.lsq_linear)
def lsq_linear(A: Any, b: Any, bounds: Any = (-np.inf, np.inf), **options: Any) -> Any:
    """Find the least squares under bounds: as ``scipy.optimize.lsq_linear``."""
    a, b = array_of(A), array_of(b)
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    n = a.shape[1]
    low, high = (v.broadcast_to(array_of(end), shape=(n,)) for end in (low, high))
    plain = (readable(low), readable(high))
    found = native_lsq(readable(a), readable(b), plain, **options | {"tol": 1e-13})
    x = _free_least_squares(a, b, found.x, low, high)
    rest = v.matmul(a, x) - b
    return answer("lsq_linear(...)", found, x=x, fun=rest, cost=0.5 * v.vecdot(rest, rest))


native_lsq: Any = native.lsq_linear


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
    found = native_linprog(readable(c), *plain, pairs, method, callback, options)
    if found.x is None:
        return found
    above, limits, equal, sums = given
    rows: list[Any] = []
    limited: list[Any] = []
    held: dict[str, Any] = {}
    if equal is not None:
        rows, limited, held = [equal], [sums], {"eqlin": np.arange(sums.shape[0])}
    if above is not None:
        held["ineqlin"] = tight = np.flatnonzero(np.abs(found.slack) <= 1e-8)
        rows.append(above[tight])
        limited.append(limits[tight])
    for name, end in (("lower", low), ("upper", high)):
        held[name] = at = np.flatnonzero(np.abs(found.x - readable(end)) <= 1e-8)
        rows.append(np.eye(n)[at])
        limited.append(end[at])
    matrix, right = v.concat(*rows, axis=0), v.concat(*limited, axis=0)
    if matrix.shape[0] != n or np.linalg.matrix_rank(readable(matrix)) < n:
        reject(
            f"{matrix.shape[0]} constraints meet at the solution, of {n} numbers: a derivative "
            "has a corner where just as many do"
        )
    x = anchored(found.x, v.solve(matrix, right))
    slack = found.slack if above is None else limits - v.matmul(above, x)
    con = found.con if equal is None else sums - v.matmul(equal, x)
    rests = {"eqlin": con, "ineqlin": slack, "lower": x - low, "upper": high - x}
    prices = v.solve(v.matrix_transpose(matrix), c)  # of what meets at the corner, in its order
    parts, start = {}, 0
    for name, rest in rests.items():
        marginals = found[name].marginals
        if name in held:
            places = np.zeros((len(marginals), n))
            places[held[name], start + np.arange(len(held[name]))] = 1
            start += len(held[name])
            marginals = anchored(marginals, v.matmul(places, prices))
        fields = {"residual": rest, "marginals": marginals}
        parts[name] = native.OptimizeResult(found[name], **fields)
    fields = {"x": x, "fun": v.vecdot(c, x), "slack": slack, "con": con}
    return answer("linprog(...)", found, **fields, **parts)


native_linprog: Any = native.linprog


@stands_for(native.isotonic_regression, arrays="y")
def isotonic_regression(y: Any, *, weights: Any = None, increasing: bool = True) -> Any:
    """Fit a monotone sequence, of means of blocks: as ``scipy.optimize.isotonic_regression``."""
    w = v.ones_like(y) if weights is None else array_of(weights)
    found = native_isotonic(readable(y), weights=readable(w), increasing=increasing)
    blocks = found.blocks
    shares = np.zeros((len(blocks) - 1, y.shape[0]))
    for i in range(len(shares)):
        shares[i, blocks[i] : blocks[i + 1]] = 1
    means = v.matmul(shares, w * y) / v.matmul(shares, w)
    found.x, found.weights = v.matmul(means, shares), v.matmul(shares, w)
    return found


native_isotonic: Any = native.isotonic_regression


def linear_sum_assignment(cost_matrix: Any, maximize: bool = False) -> tuple[Any, Any]:
    """Assign rows to columns, which is constant: as ``scipy.optimize.linear_sum_assignment``."""
    return native_assignment(readable(array_of(cost_matrix)), maximize)  # type: ignore[no-any-return]


native_assignment: Any = native.linear_sum_assignment
place(native.linear_sum_assignment, linear_sum_assignment)
for _native, _reason in (
    (native.milp, "solutions in integers jump, and have no derivative: fix them, and take linprog"),
    (native.brute, "brute looks at a grid, which does not move: start minimize at what it finds"),
    (native.quadratic_assignment, "assignments jump, and have no derivative"),
):
    advise(_native, f"{_reason}; of plain numbers, take ignore_derivatives(x) before")
