"""The other searches of ``scipy.optimize``, and programs that are linear or of least squares."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as native

from chainrules_py import UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import advise
from chainrules_scipy.agreeing import answer
from chainrules_scipy.following import follow_all
from chainrules_scipy.installing import place
from chainrules_scipy.optimize.least import Constraints, ends, held_place, least_squares, minimized
from chainrules_scipy.optimize.roots import as_tuple, solved
from chainrules_scipy.rows import anchored, array_of, readable, reject, stands_for

FOLLOWED: dict[str, Any] = follow_all(
    native, "approx_fprime", "rosen", "rosen_der", "rosen_hess", "rosen_hess_prod"
)


def _plain(f: Callable[..., Any]) -> Callable[..., Any]:
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
                given[slope] = _plain(functools.partial(_after, given[slope], operands))
        for start in ("x0", "x1", "x2"):
            if start in given:
                given[start] = readable(given[start])

        def compute(x: Any) -> Any:
            y = f(x, *operands)
            return y[0] if isinstance(y, tuple) else y

        direct = given.get("fprime") is None and not given.get("approx_grad")
        both = name in ("fmin_tnc", "fmin_l_bfgs_b") and direct
        found = theirs(_plain((lambda x: f(x, *operands)) if both else compute), **given)
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

        found = theirs(_plain(compute), **given)
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
