"""Where functions are 0, or give what they are given."""

from __future__ import annotations

import copy
import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from chainrules_py import vocabulary as v
from chainrules_scipy.agreeing import answer
from chainrules_scipy.rows import array_of, of_values, readable, stands_for

# As they are now: later ours may stand under their names, which would call themselves.
_fixed_point, _fsolve, _root, _root_scalar = (
    scipy.optimize.fixed_point,
    scipy.optimize.fsolve,
    scipy.optimize.root,
    scipy.optimize.root_scalar,
)

NEAR = 1e-5
"""How far SciPy's solution may be from the equation: its tolerances are of the order of 1e-8."""


def as_tuple(args: Any) -> tuple[Any, ...]:
    """Return further arguments as SciPy takes them: one may stand alone."""
    return args if isinstance(args, tuple) else (args,)


def parted(f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return the value, and the slope at plain numbers, of a function that gives both."""
    plain = of_values(f, args)
    return lambda x, *args: f(x, *args)[0], lambda x: plain(x)[1]


def solved(g: Callable[..., Any], start: Any, solver: Any) -> tuple[Any, Any]:
    """Find a root of g by a solver of SciPy's; return its last answer as well."""
    kept: list[Any] = []

    def f(x: Any) -> Any:
        y = g(x)
        return array_of(y) if isinstance(y, (list, tuple)) else y

    def found(residual: Any, x0: Any) -> Any:
        kept[:] = [solver(lambda x: readable(residual(x)), x0)]
        return kept[0][0]

    return v.root(f, start, solver=found, tol=NEAR), kept[0]


def _of_numbers(name: str) -> Callable[..., Any]:
    """Make a function that finds a root between two ends, or from a start on."""
    native = getattr(scipy.optimize, name)
    signature = inspect.signature(native)
    of = next(iter(signature.parameters))

    @functools.wraps(native)
    def function(*args: Any, **options: Any) -> Any:
        given = dict(signature.bind(*args, **options).arguments)
        f, operands = given.pop(of), as_tuple(given.pop("args", ()))
        starts = [readable(array_of(given.pop(k))) for k in ("a", "b", "x0") if k in given]
        wants_all = given.pop("full_output", False)
        slopes = {k: given[k] for k in ("fprime", "fprime2") if given.get(k) is not None}
        given |= {k: of_values(slope, operands) for k, slope in slopes.items()}

        def solver(residual: Any, _: Any) -> Any:
            return native(residual, *starts, full_output=True, **given)

        start = sum(starts) / len(starts)
        x, (_, *rest) = solved(lambda x: f(x, *operands), start, solver)
        rest = [with_root(r, x) if isinstance(r, dict) else r for r in rest]
        return (x, *rest) if wants_all else x

    function.__doc__ = (
        f"Find a root, of the parameters of ``scipy.optimize.{name}``.\n\n    Ends and starts have "
        "no derivative."
    )
    function.__module__ = __name__
    return stands_for(native)(function)


bisect, brenth, brentq = map(_of_numbers, ("bisect", "brenth", "brentq"))
newton, ridder, toms748 = map(_of_numbers, ("newton", "ridder", "toms748"))


@stands_for(scipy.optimize.root_scalar)
def root_scalar(f: Any, args: Any = (), method: Any = None, **options: Any) -> Any:
    """Find a root of a function of one number."""
    args = as_tuple(args)

    def solver(residual: Any, _: Any) -> Any:
        found = _root_scalar(lambda x: float(residual(x)), method=method, **given)
        return found.root, found

    given = dict(options)
    for name in ("fprime", "fprime2"):
        if callable(g := options.get(name)):
            given[name] = of_values(g, args)
    if options.get("fprime") is True:
        f, given["fprime"] = parted(f, args)
    bracket = options.get("bracket")
    start = options.get("x0") if bracket is None else np.mean(readable(bracket))
    start = float(readable(0.0 if start is None else start))
    x, (_, found) = solved(lambda x: f(x, *args), start, solver)
    return with_root(found, x)


def with_root(report: Any, x: Any) -> Any:
    """Return what SciPy says of its search, with the root that is differentiated."""
    report = copy.copy(report)
    report["root"] = x
    return report


@stands_for(scipy.optimize.root)
def root(
    fun: Any,
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    jac: Any = None,
    tol: Any = None,
    callback: Any = None,
    options: Any = None,
) -> Any:
    """Find a root of a function of several numbers."""
    args = as_tuple(args)
    slopes = of_values(jac, args) if callable(jac) else None
    if jac is True:
        fun, slopes = parted(fun, args)

    def solver(residual: Any, start: Any) -> Any:
        found = _root(residual, start, (), method, slopes, tol, callback, options)
        return found.x, found

    x, (_, found) = solved(lambda x: fun(x, *args), array_of(readable(x0)), solver)
    still = {name: found[name] for name in ("fun", "fvec") if name in found}  # 0 for all arguments
    return answer("root(...)", found, x=x, **still)


@stands_for(scipy.optimize.fsolve)
def fsolve(
    func: Any, x0: Any, args: Any = (), fprime: Any = None, full_output: Any = 0, **options: Any
) -> Any:
    """Find a root of a function of several numbers."""
    args = as_tuple(args)
    slopes = None if fprime is None else of_values(fprime, args)

    def solver(residual: Any, start: Any) -> Any:
        return _fsolve(residual, start, (), slopes, True, **options)

    start = v.reshape(array_of(readable(x0)), shape=(-1,))
    x, (_, report, *rest) = solved(lambda x: func(x, *args), start, solver)
    if rest[0] != 1 and not full_output:
        warnings.warn(rest[1], RuntimeWarning, stacklevel=2)
    if not full_output:
        return x
    infos = answer("fsolve(...)[1]", report | {"x": 0.0}, x=x, fvec=report["fvec"])
    del infos["x"]
    return x, infos, *rest


@stands_for(scipy.optimize.fixed_point)
def fixed_point(
    func: Any, x0: Any, args: Any = (), xtol: float = 1e-8, maxiter: int = 500, method: str = "del2"
) -> Any:
    """Find what a function gives if it is given it."""
    args = as_tuple(args)

    def solver(residual: Any, start: Any) -> Any:
        f = lambda x: residual(x) + x
        return (_fixed_point(f, start, (), xtol, maxiter, method),)

    return solved(lambda x: func(x, *args) - x, array_of(readable(x0)), solver)[0]
