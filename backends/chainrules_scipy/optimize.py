"""Solutions of ``scipy.optimize``, differentiated by the equation that they fulfil.

SciPy finds the solution from plain values. Its derivatives, in the arguments and in captured
values, are those of the operation `root` or `minimize`: they do not depend on how it was found.
"""

from __future__ import annotations

import copy
import functools
import inspect
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as native

from chainrules_kit import is_hosted
from chainrules_py import UnsupportedKeywordError
from chainrules_py import ops as v
from chainrules_py.extend import advise, closed, default_engine, flatten, namespace_of, varies
from chainrules_scipy.composites_and_operand_conversions import (
    anchored,
    array_of,
    attribute,
    constant,
    numbers_of,
    of_values,
    plainly,
    readable,
    refused,
    reject,
    stands_for,
)
from chainrules_scipy.host_computation import in_our_words
from chainrules_scipy.installation import is_traced
from chainrules_scipy.result_checks import answer
from chainrules_scipy.source_copies import follow_all

__all__ = [
    "curve_fit",
    "isotonic_regression",
    "least_squares",
    "leastsq",
    "linear_sum_assignment",
    "linprog",
    "lsq_linear",
    "minimize",
    "minimize_scalar",
    "nnls",
]


# -------- roots and fixed points


# How far SciPy's solution may be from the equation, relative to it and to the numbers from which
# the search began, or to 0.01, since SciPy's tolerances are 1e-8 or more at 0.
NEAR = 1e-5


def moves(f: Any, x: Any) -> bool:
    """Return whether a function's value at x is differentiated; one that holds tensors may be."""
    return is_traced((f,)) or varies(array_of(f(x)))


def settled(operation: Any, f: Any, x: Any, size: float) -> Any:
    """Return a solution that SciPy found, as a function of what f captured.

    Where f captured nothing that is differentiated, SciPy's result is returned unchecked.
    """
    if not moves(f, x):
        return x
    # The start sets the scale of the check; by unequal parts, no usual Jacobian maps it to 0.
    start = 0.0 * x + (size * np.cos(np.arange(np.size(x))).reshape(np.shape(x))).tolist()
    y = f(x)
    if is_hosted(y):
        x, start = map(namespace_of(type(y)).asarray, (x, start))
        with in_our_words(y):
            f(0.0 * y + x)  # raises here, and not in the pull, if f computes with NumPy
    return operation(f, start, solver=lambda *_: x, tol=NEAR)


# SciPy's functions that unpack further arguments, also those of a list or an array. To the others,
# all that is no tuple is a single argument.
_UNPACKING = {
    *("differential_evolution", "direct", "dual_annealing", "fixed_point", "fmin_bfgs", "fmin_cg"),
    *("fmin_l_bfgs_b", "fmin_ncg", "fmin_slsqp", "fmin_tnc", "fminbound", "newton", "shgo"),
}


def as_tuple(theirs: Any, args: Any) -> tuple[Any, ...]:
    """Return the further arguments of one of SciPy's functions as a tuple."""
    return tuple(args) if isinstance(args, tuple) or theirs.__name__ in _UNPACKING else (args,)


class Search:
    """A call of a SciPy search.

    Parameters
    ----------
    theirs : callable
        SciPy's function, whose first parameter is the function that it calls.
    args, options
        The arguments.

    Attributes
    ----------
    given : dict
        The arguments by their names, with plain numbers, as SciPy's function takes them.
    limits : object
        The bounds, as the call has them.
    size : float
        The largest of the numbers from which the search begins, and at least 0.01.
    value : callable
        The function, without the slope if it also returns that.
    """

    def __init__(self, theirs: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.theirs, self.bound = theirs, inspect.signature(theirs).bind(*args, **options)
        self.given: Any = self.bound.arguments
        of = next(iter(self.bound.signature.parameters))
        local = self.given.get("minimizer_kwargs") or {}
        f, further = self.given[of], as_tuple(theirs, self.given.pop("args", local.get("args", ())))
        self.limits = self.given.get("bounds", local.get("bounds"))
        self.held = flatten((closed(f), further))[0]
        if hosted := [x for x in self.held if is_hosted(x)]:
            f = of_library(namespace_of(type(hosted[0])), f)
        for name, x in self.given.items():  # what starts and ends a search does not move its end
            if name in _SLOPES and callable(x):
                self.given[name] = of_values(x, further)
            elif name != "constraints":
                self.given[name] = plainly(x, _read)
        begins = [self.given.get(k) for k in ("x0", "x1", "x2", "a", "b", "bracket", "brack")]
        self.size = max(
            [np.max(np.abs(x), initial=0.01) for x in begins if x is not None], default=1.0
        )
        is_pair = any(self.given.get(name) is True for name in _SLOPES) or (
            theirs.__name__ in ("fmin_tnc", "fmin_l_bfgs_b")
            and not (self.given.get("fprime") or self.given.get("approx_grad"))
        )
        self.given[of] = of_numbers(f, further)

        def value(x: Any) -> Any:
            x = x.copy() if type(x) is np.ndarray else x  # as SciPy does: f may write to it
            y = f(x, *further)[0] if is_pair else f(x, *further)
            return array_of(y) if isinstance(y, (list, tuple)) else y

        self.value = value  # a function, in which an operation finds traced values

    def run(self) -> Any:
        """Return SciPy's result."""
        with in_our_words(self.held):
            return self.theirs(*self.bound.args, **self.bound.kwargs)


def _read(x: Any) -> Any:
    """Return an option with plain numbers; bounds may hold traced ones."""
    return (
        native.Bounds(**{name: readable(each) for name, each in vars(x).items()})
        if isinstance(x, native.Bounds)
        else readable(x)
    )


def of_library(space: Any, f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes SciPy's numbers as arrays of a library."""
    return lambda x, *args: f(
        space.asarray(np.array(x)) if isinstance(x, (float, np.ndarray)) else x, *args
    )


_SLOPES = ("fprime", "fprime2", "fhess", "fhess_p", "jac", "hess", "hessp")


def of_numbers(f: Callable[..., Any], args: tuple[Any, ...] = ()) -> Callable[..., Any]:
    """Return a function of plain numbers that returns plain numbers."""
    plain = of_values(f, args)

    def function(*xs: Any) -> Any:
        y = plain(*xs)
        pair = [numbers_of(each)[()] for each in (y if isinstance(y, tuple) else [y])]
        return tuple(pair) if isinstance(y, tuple) else pair[0]

    return function


def _place(found: Any) -> Any:
    """Return the solution from any form of SciPy's result."""
    found = found[0] if isinstance(found, tuple) else found
    return found.get("root", found.get("x")) if isinstance(found, dict) else found


def _with(found: Any, x: Any, name: str) -> Any:
    """Return SciPy's result with the differentiated solution."""
    if isinstance(found, tuple):
        return (x, *[_with(part, x, f"{name}[{i + 1}]") for i, part in enumerate(found[1:])])
    if not isinstance(found, dict):
        return found
    # The functions are 0 for all arguments.
    known = {k: found[k] for k in ("fun", "fvec") if k in found}
    made, report = copy.copy(found), answer(name, found, x=x, root=x, **known)
    made.update({k: y for k, y in report.items() if k in found})
    return made


def _finder(name: str) -> Callable[..., Any]:
    theirs = getattr(native, name)

    @functools.wraps(theirs)
    def function(*args: Any, **options: Any) -> Any:
        call = Search(theirs, args, options)
        found = call.run()
        near, f = _place(found), call.value
        residual = (lambda x: f(x) - x) if name == "fixed_point" else f
        x = settled(v.root, residual, near, call.size)
        return _with(found, x, f"{name}(...)") if isinstance(found, (tuple, dict)) else x

    return stands_for(
        theirs, says="Find a root: it is differentiated by its equation, and starts are not."
    )(function)


ROOTS = {
    name: _finder(name)
    for name in (
        *("anderson", "bisect", "brenth", "brentq", "broyden1", "broyden2", "diagbroyden"),
        *("excitingmixing", "fixed_point", "fsolve", "linearmixing", "newton", "newton_krylov"),
        *("ridder", "root", "root_scalar", "toms748"),
    )
}


# -------- minima, also under bounds and constraints, fits, and linear programs


# SciPy's functions as of now: ours may replace them later, and would call themselves.
NATIVE: Any = types.SimpleNamespace(**vars(native))


class Constraints:
    """Constraints of all kinds that SciPy takes, whose functions may hold traced values.

    Parameters
    ----------
    given : sequence
        Dictionaries, ``LinearConstraint`` and ``NonlinearConstraint``.
    bounds : tuple of array, optional
        The lower and upper bounds of the numbers themselves.
    """

    def __init__(self, given: Any, bounds: tuple[Any, Any] | None) -> None:
        self.parts = [_part(c) for c in (given if isinstance(given, (list, tuple)) else [given])]
        self.bounds = bounds

    def plain(self) -> Any:
        """Return the constraints for SciPy, with plain numbers."""
        return [
            native.NonlinearConstraint(
                lambda x, f=f: np.atleast_1d(numbers_of(f(x.copy()))), readable(low), readable(high)
            )
            for f, low, high in self.parts
        ]

    def held(self, x: Any, prices: Any = ()) -> list[tuple[Any, Any, Any, int]]:
        """Return the active constraints at x: function, bound, index, and sign of the bound.

        ``prices`` are the multipliers that a search found of the constraints, then of the bounds.
        """
        rows: list[tuple[Any, Any, Any, int]] = []
        for n, (f, low, high) in enumerate(
            [*self.parts, *([(_same, *self.bounds)] if self.bounds else ())]
        ):
            y, share = np.atleast_1d(numbers_of(f(x))), 1e-6 if f is _same else 1e-5
            known = [np.broadcast_to(readable(end), y.shape) for end in (low, high)]
            equal = known[0] == known[1]
            for sign, end, e in ((1, low, known[0]), (-1, high, known[1])):
                gap, price = np.abs(y - e), np.abs(prices[n]) if prices else 0.0
                # A barrier stops further inside, where the multiplier of an active one exceeds gap.
                tight = gap <= np.where(gap < price, 1e-2, share) * (1 + np.abs(y))
                tight &= np.isfinite(e) & (~equal if sign < 0 else True)
                rows += [(f, end, i, 0 if equal[i] else sign) for i in np.flatnonzero(tight)]
        return rows


_same: Any = lambda x: x


def _element(x: Any, i: int) -> Any:
    """Return an element of an array, or a number that applies to all elements."""
    x = v.reshape(array_of(x), shape=(-1,))
    return x[i if x.shape[0] > 1 else 0]


def _part(c: Any) -> tuple[Any, Any, Any]:
    if isinstance(c, tuple):
        return c
    if isinstance(c, dict):
        args = tuple(c.get("args", ()))
        return lambda x: c["fun"](x, *args), 0.0, 0.0 if c["type"] == "eq" else np.inf
    return (lambda x: v.matmul(array_of(c.A), x)) if hasattr(c, "A") else c.fun, c.lb, c.ub


def ends(bounds: Any) -> tuple[Any, Any]:
    """Return the lower and the upper bounds of numbers."""
    if hasattr(bounds, "lb"):
        return array_of(bounds.lb), array_of(bounds.ub)
    pairs = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in bounds]
    low, high = zip(*pairs, strict=True)
    return v.stack(*map(array_of, low)), v.stack(*map(array_of, high))


def held_place(f: Any, constraints: Constraints, x: Any, prices: Any = ()) -> Any:
    """Return x as the solution of its active constraints, with multipliers; None without any.

    Raises
    ------
    NotDifferentiableError
        If the multiplier of an active constraint is 0: the one-sided derivatives differ there.
    """
    rows = constraints.held(x, prices)
    if not rows:
        return None
    n, engine, signs = len(x), default_engine(), np.array([sign for *_, sign in rows])

    def equations(z: Any) -> Any:
        return v.stack(*[_element(f(z), i) - _element(end, i) for f, end, i, _ in rows])

    def slope(z: Any, forces: Any) -> Any:
        return engine.grad(lambda p: array_of(f(p)) - v.vecdot(forces, equations(p)))(z)

    def system(z: Any) -> Any:
        return v.concat(slope(z[:n], z[n:]), equations(z[:n]), axis=0)

    at = readable(slope(x, np.zeros(len(rows))))
    columns = np.stack([readable(slope(x, e)) for e in np.eye(len(rows))], axis=1)
    forces = np.linalg.lstsq(at[:, None] - columns, at, rcond=None)[0]
    weak = (signs != 0) & (np.abs(forces) <= 1e-7 * (1 + np.max(np.abs(at), initial=0)))
    if weak.any() or np.any((signs * forces) < 0):
        reject("a constraint is met at the solution, and does not hold it: its sides differ there")
    z = v.root(
        system,
        np.concatenate([x, forces]),
        solver=lambda f, z0: NATIVE.root(lambda z: readable(f(z)), z0, tol=1e-13).x,
        tol=1e-5,
    )
    return z[:n], z[n:], rows


def located(
    f: Any,
    x: Any,
    held: Constraints | None = None,
    polishes: bool = False,
    prices: Any = (),
    size: float = 0.01,
) -> Any:
    """Return the minimum x of f that a search found, as a function of what f captured.

    Parameters
    ----------
    f : callable
        The function.
    x : array
        The location of the minimum.
    held : Constraints, optional
        Constraints that may be active.
    polishes : bool
        Whether the search stopped before the minimum, so that another one continues from there.
    prices : sequence of array
        The multipliers of the constraints, then of the bounds, if the search found them.
    size : float
        The largest of the numbers from which the search began.
    """
    limits = () if held is None else (*held.parts, (_same, held.bounds))
    if not any([moves(g, x) or varies(at) for g, *at in ((f,), *limits)]):
        return x
    if found := held and held_place(f, held, x, prices):
        return found[0]
    if polishes:
        shape, plain = np.shape(x), of_numbers(f)
        x = NATIVE.minimize(
            lambda y: plain(y.reshape(shape)),
            x,
            method="Nelder-Mead",
            options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000, "maxfev": 8000},
        ).x.reshape(shape)
    return settled(v.minimize, f, x, size)


@stands_for(native.minimize)
@functools.wraps(native.minimize, ["__name__"])
def minimize(*args: Any, **options: Any) -> Any:
    """Find the minimum of a function."""
    call = Search(NATIVE.minimize, args, options)
    given, held = call.given, None
    bounds, constraints = call.limits, given.get("constraints", ())
    given["tol"] = 1e-10 if given.get("tol") is None else given["tol"]
    if bounds is not None or constraints not in ((), []):
        held = Constraints(constraints, None if bounds is None else ends(bounds))
        given |= {
            "constraints": held.plain(),
            "bounds": held.bounds and list(zip(*map(readable, held.bounds), strict=True)),
        }
    found = call.run()
    x = located(  # trust-constr has the multipliers
        call.value, found.x, held, prices=found.get("v", ()), size=call.size
    )
    return answer("minimize(...)", found, x=x, fun=call.value(x), **_slopes(call.value, x, found))


def _slopes(f: Any, x: Any, found: Any) -> dict[str, Any]:
    """Return the fields of a result that are the gradient at a solution that is differentiated.

    Where f computes with another library, they have no derivative.
    """
    # ``jac`` of trust-constr is a list, with those of its constraints.
    arrays = [k for k in ("jac", "grad") if isinstance(found.get(k), np.ndarray)]
    moving = varies(x) and not is_hosted(x)
    fields = [k for k in arrays if moving and found[k].shape == np.shape(readable(x))]
    return {k: anchored(found[k], default_engine().grad(f)(x)) for k in fields}


@stands_for(native.minimize_scalar)
@functools.wraps(native.minimize_scalar, ["__name__"])
def minimize_scalar(*args: Any, **options: Any) -> Any:
    """Find the minimum of a function of one number."""
    call = Search(NATIVE.minimize_scalar, args, options)
    found = call.run()
    x = None if call.limits is None else _at_end(call.value, found, call.limits)
    x = located(call.value, found.x, size=call.size) if x is None else x
    return answer("minimize_scalar(...)", found, x=x, fun=call.value(x))


def _at_end(f: Any, found: Any, bounds: Any) -> Any:
    """Return the bound at which the minimum is, which the search only approaches; else None."""
    for end, sign in zip(bounds, (1, -1), strict=True):
        near = float(readable(end))
        if abs(found.x - near) < 1e-4 * (1 + abs(near)) and float(readable(f(near))) < float(
            readable(f(near + 1e-6 * (1 + abs(near)) * sign))
        ):
            return anchored(found.x, array_of(end))
    return None


# The losses of squared residuals, as in SciPy.
_LOSSES: dict[str, Any] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (v.sqrt(1 + z) - 1),
    "huber": lambda z: v.where(
        readable(z) <= 1, z, 2 * v.sqrt(v.where(readable(z) <= 1, 1.0, z)) - 1
    ),
    "cauchy": v.log1p,
    "arctan": v.atan,
}


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
    """Find the minimum of a sum of squares."""
    if not isinstance(loss, str) or loss not in _LOSSES:
        reject(
            f"least_squares(loss={loss!r}) is not for traced values; take one of {list(_LOSSES)}",
            UnsupportedKeywordError,
        )
    kwargs, args = kwargs or {}, tuple(args)
    start = np.reshape(readable(array_of(x0)), -1)

    def residuals(x: Any) -> Any:
        return v.reshape(array_of(fun(x, *args, **kwargs)), shape=(-1,))

    def cost(x: Any) -> Any:
        r = residuals(x) / f_scale
        return 0.5 * f_scale * f_scale * v.sum(_LOSSES[loss](r * r))

    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    held: Any = None
    if varies((low, high)) or np.any(np.isfinite(low)) or np.any(np.isfinite(high)):
        low, high = (v.broadcast_to(array_of(end), shape=start.shape) for end in (low, high))
        held = Constraints((), (low, high))
    slope = of_values(functools.partial(jac, **kwargs), args) if callable(jac) else jac
    found = NATIVE.least_squares(
        of_numbers(residuals),
        start,
        slope,
        (-np.inf, np.inf) if held is None else tuple(map(readable, held.bounds)),
        method,
        *(t if t is None else min(readable(t), 1e-12) for t in (ftol, xtol, gtol)),
        **plainly(options | {"x_scale": x_scale, "loss": loss, "f_scale": f_scale}),
    )
    x = located(cost, found.x, held, size=np.max(np.abs(start), initial=0.01))
    more = _slopes(cost, x, found)
    if loss == "linear" and isinstance(found.jac, np.ndarray) and varies(x):
        more["jac"] = anchored(found.jac, _jacobian(residuals, x))
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
        reject(
            f"curve_fit with {sorted(rest)} is not for traced values; least_squares has loss, "
            "f_scale and its other options: write least_squares(lambda p: f(x, *p) - y, p0, ...)",
            UnsupportedKeywordError,
        )
    bounds = options.get("bounds", (-np.inf, np.inf))
    limits = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    if p0 is None:
        n = sum(p.kind < p.VAR_POSITIONAL for p in inspect.signature(f).parameters.values()) - 1
        low, high = (np.full(n, readable(array_of(end)), float) for end in limits)
        p0 = 0.5 * (  # as SciPy does: the middle, or 1 from the only end
            np.where(low > -np.inf, low, np.where(high < np.inf, high - 2.0, 0.0))
            + np.where(high < np.inf, high, np.where(low > -np.inf, low + 2.0, 2.0))
        )
    y, is_data = array_of(ydata), isinstance(xdata, (list, tuple, np.ndarray))
    xdata = array_of(xdata) if is_data else xdata  # SciPy converts these to floats
    errors = None if sigma is None else array_of(sigma)
    if options.get("nan_policy") == "omit":
        known = np.atleast_2d(readable(array_of(xdata)))
        kept = np.flatnonzero(~(np.isnan(readable(y)) | np.isnan(known).any(axis=0)))
        xdata, y = array_of(xdata)[..., kept], y[kept]
        errors = errors if errors is None else errors[np.ix_(*[kept] * errors.ndim)]

    factor = None if errors is None or errors.ndim < 2 else v.cholesky(errors)

    def residuals(p: Any) -> Any:
        r = f(xdata, *[p[i] for i in range(p.shape[0])]) - y
        r = r if factor is None else v.solve_triangular(factor, r)
        return r if errors is None or factor is not None else r / errors

    x = least_squares(
        residuals,
        readable(p0),
        bounds=limits,
        method=options.get("method") or ("trf" if "bounds" in options else "lm"),
    ).x
    found = x, _covariance(residuals, x, absolute_sigma)
    if not options.get("full_output"):
        return found
    plain = NATIVE.curve_fit(
        of_values(f),
        *map(readable, (array_of(xdata), y, x, errors)),
        absolute_sigma,
        **{k: o for k, o in options.items() if o is not None},
    )
    return *found, answer("curve_fit(...)[2]", plain[2], fvec=residuals(x)), *plain[3:]


# Options of ``curve_fit`` that do not change the minimum of its squares.
_SEARCHED = {"maxfev", "max_nfev", "bounds", "method", "ftol", "xtol", "gtol", "jac", "epsfcn"} | {
    *("full_output", "check_finite", "nan_policy", "factor", "diag", "x_scale", "diff_step"),
}


def _jacobian(residuals: Any, x: Any) -> Any:
    return v.stack(
        *[default_engine().jvp(residuals, (x,), (e,))[1] for e in np.eye(x.shape[0])], axis=-1
    )


def _covariance(residuals: Any, x: Any, is_absolute: bool) -> Any:
    """Compute (JᵀJ)⁻¹, times the variance of the residuals unless ``is_absolute``."""
    columns = _jacobian(residuals, x)
    inverse = v.inv(v.matmul(v.matrix_transpose(columns), columns))
    if is_absolute:
        return inverse
    r = residuals(x)
    if r.shape[0] <= x.shape[0]:
        warnings.warn(
            "Covariance of the parameters could not be estimated",
            native.OptimizeWarning,
            stacklevel=3,
        )
        return np.full(inverse.shape, np.inf)
    return inverse * (v.vecdot(r, r) / (r.shape[0] - x.shape[0]))


FOLLOWED: dict[str, Any] = follow_all(
    native, "approx_fprime", "rosen", "rosen_der", "rosen_hess", "rosen_hess_prod"
)


def _search(name: str) -> Callable[..., Any]:
    """Make a search that returns the minimum, a tuple that begins with it, or a result."""
    theirs = getattr(native, name)

    @functools.wraps(theirs)
    def function(*args: Any, **options: Any) -> Any:
        call = Search(theirs, args, options)
        local = call.given.get("minimizer_kwargs") or {}
        if any(call.given.get(k) not in (None, ()) for k in _HOLDING) or (
            set(local) - {"args", "bounds", "method", "options", "tol"}
        ):
            reject(
                f"{name} with constraints or a minimizer of its own has no derivative here; call "
                "minimize with them",
                UnsupportedKeywordError,
            )
        local.pop("args", None)
        found = call.run()
        around = np.array(near := _place(found), float)  # a copy: searches go on writing to theirs
        within = None if call.limits is None else Constraints((), ends(call.limits))
        x = anchored(near, located(call.value, around, within, True, size=call.size))
        if isinstance(found, native.OptimizeResult):
            return answer(f"{name}(...)", found, x=x, fun=anchored(found.fun, call.value(x)))
        if not isinstance(found, tuple):
            return x
        # The least value follows, except for fmin_tnc, and if only the path is requested.
        least = isinstance(found[1], (float, np.ndarray)) and np.ndim(found[1]) == 0
        more = {"_1": anchored(found[1], call.value(x))} if least else {}
        return answer(f"{name}(...)", found, _0=x, **more)

    return stands_for(theirs, says="Find where a function is least: that place is differentiated.")(
        function
    )


_HOLDING = ("constraints", "eqcons", "f_eqcons", "ieqcons", "f_ieqcons")
SEARCHES = {
    name: _search(name)
    for name in (
        *("basinhopping", "brent", "differential_evolution", "direct", "dual_annealing", "fmin"),
        *("fmin_bfgs", "fmin_cg", "fmin_l_bfgs_b", "fmin_ncg", "fmin_powell", "fmin_slsqp"),
        *("fmin_tnc", "fminbound", "golden", "shgo"),
    )
}


@stands_for(native.leastsq, without="full_output")
def leastsq(func: Any, x0: Any, args: Any) -> tuple[Any, ...]:
    """Find the minimum of a sum of squares: as ``scipy.optimize.leastsq``."""
    return least_squares(func, x0, args=as_tuple(native.leastsq, args), method="lm").x, 1


def _squares(a: Any, b: Any) -> Callable[[Any], Any]:
    return lambda x: 0.5 * v.sum((v.matmul(a, x) - b) ** 2)


@stands_for(native.nnls)
def nnls(A: Any, b: Any, **options: Any) -> tuple[Any, Any]:
    """Solve a least-squares problem in nonnegative numbers: as ``scipy.optimize.nnls``."""
    a, b = array_of(A), array_of(b)
    known = NATIVE.nnls(readable(a), readable(b), **options)[0]
    x = located(_squares(a, b), known, Constraints((), (np.zeros(len(known)), np.inf)))
    return x, v.vector_norm(v.matmul(a, x) - b)


@stands_for(native.lsq_linear)
def lsq_linear(A: Any, b: Any, bounds: Any = (-np.inf, np.inf), **options: Any) -> Any:
    """Solve a least-squares problem under bounds: as ``scipy.optimize.lsq_linear``."""
    # The columns of a sparse matrix or an operator are its products.
    dense = A @ np.eye(A.shape[1]) if hasattr(A, "tocsr") or hasattr(A, "matvec") else A
    a, b = array_of(dense), array_of(b)
    low, high = (
        v.broadcast_to(array_of(end), shape=(a.shape[1],))
        for end in ((bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds)
    )
    found = NATIVE.lsq_linear(
        readable(a), readable(b), tuple(map(readable, (low, high))), **options | {"tol": 1e-13}
    )
    x = located(_squares(a, b), found.x, Constraints((), (low, high)))
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
    """Solve a linear program: the solution is a corner, which moves with its constraints."""
    if integrality is not None and np.any(integrality):
        reject("solutions in integers jump, and have no derivative")
    if not method.startswith("highs"):
        reject(
            f"linprog(method={method!r}) has no derivative here; leave it out",
            UnsupportedKeywordError,
        )
    c = array_of(c)
    A_ub, A_eq = (x.toarray() if hasattr(x, "toarray") else x for x in (A_ub, A_eq))
    given: Any = [None if x is None else array_of(x) for x in (A_ub, b_ub, A_eq, b_eq)]
    given[1::2] = [None if x is None else v.reshape(x, shape=(-1,)) for x in given[1::2]]
    above, limits, equal, sums = given
    bounds = (0, None) if bounds is None else bounds
    single = len(bounds) == 2 and all(np.ndim(e) == 0 for e in bounds)
    low, high = ends([bounds] * c.shape[0] if single else bounds)
    plain = [*map(readable, given), list(zip(readable(low), readable(high), strict=True))]
    found = NATIVE.linprog(readable(c), *plain, method, callback, options)
    if found.x is None:
        return found
    parts: dict[str, Any] = {}
    if equal is not None:
        parts["eqlin"] = lambda x: v.matmul(equal, x), sums, sums
    if above is not None:
        parts["ineqlin"] = lambda x: v.matmul(above, x), -np.inf, limits
    limited = Constraints([*parts.values()], (low, high))
    held: Any = held_place(lambda x: v.vecdot(c, x), limited, found.x) or (None, None, ())
    x, prices, rows = held
    if len(rows) != c.shape[0]:
        reject(
            f"{len(rows)} constraints meet at the solution, of {c.shape[0]} numbers: a derivative "
            "has a corner where just as many do"
        )
    fields: dict[str, Any] = {}
    parts |= {"lower": (_same, None, low), "upper": (_same, None, high)}
    for name, (f, _, end) in parts.items():
        known, rest = found[name].marginals, f(x) - end if name == "lower" else end - f(x)
        own = [[e is end and i == k for _, e, i, _ in rows] for k in range(len(known))]
        marginals = anchored(known, v.matmul(np.array(own, float), prices))
        fields[name] = native.OptimizeResult(found[name], residual=rest, marginals=marginals)
    slack, con = (fields.get(k, found[k]).residual for k in ("ineqlin", "eqlin"))
    fields |= {"x": anchored(found.x, x), "fun": v.vecdot(c, x), "slack": slack, "con": con}
    return answer("linprog(...)", found, **fields)


@stands_for(native.isotonic_regression, arrays="y")
def isotonic_regression(y: Any, *, weights: Any = None, increasing: bool = True) -> Any:
    """Fit a monotone sequence of block means: as ``scipy.optimize.isotonic_regression``."""
    w = v.ones_like(y) if weights is None else array_of(weights)
    found = NATIVE.isotonic_regression(readable(y), weights=readable(w), increasing=increasing)
    shares = np.repeat(np.eye(len(found.blocks) - 1), np.diff(found.blocks), axis=1)
    means = v.matmul(shares, w * y) / v.matmul(shares, w)
    found.x, found.weights = v.matmul(means, shares), v.matmul(shares, w)
    return found


linear_sum_assignment = constant(native.linear_sum_assignment)
advise(
    native.LinearConstraint,
    "use NonlinearConstraint(lambda x: {0} @ x, lb, ub), after "
    "'from scipy.optimize import NonlinearConstraint'",
)
advise(native.brute, "brute looks at a grid: start minimize at what it finds for plain numbers")
refused(
    native,
    {
        "fmin_cobyla": "call minimize with constraints",
        "milp": "solutions in integers jump: fix them, and take linprog",
        "quadratic_assignment": "assignments jump: take ignore_derivatives(x) before",
    },
)


__getattr__ = functools.partial(attribute, __name__, ROOTS | FOLLOWED | SEARCHES)
