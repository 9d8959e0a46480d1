"""Where functions are 0, or give what they are given."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable
from typing import Any

import scipy.optimize as native

from chainrules_py import vocabulary as v
from chainrules_scipy.agreeing import answer
from chainrules_scipy.precision import plainly
from chainrules_scipy.rows import array_of, numbers_of, of_values, stands_for

NEAR = 1e-5
"""How far SciPy's solution may be from the equation: its tolerances are of the order of 1e-8."""


def as_tuple(args: Any) -> tuple[Any, ...]:
    """Return further arguments as SciPy takes them: one may stand alone."""
    return args if isinstance(args, tuple) else (args,)


class Search:
    """A call of a search of SciPy's.

    Parameters
    ----------
    theirs : callable
        SciPy's function, whose first parameter is the function that it calls.
    args, options
        The arguments.

    Attributes
    ----------
    given : dict
        The arguments by their names, as SciPy's function takes them: of plain numbers.
    value : callable
        The function; where it gives its slope beside the value, the value alone.
    """

    def __init__(self, theirs: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.theirs, self.bound = theirs, inspect.signature(theirs).bind(*args, **options)
        self.given: Any = self.bound.arguments
        of = next(iter(self.bound.signature.parameters))
        local = self.given.get("minimizer_kwargs") or {}
        f, further = self.given[of], as_tuple(self.given.pop("args", local.get("args", ())))
        for name, x in self.given.items():
            if name in _STARTS:
                self.given[name] = plainly(x)
            elif name in _SLOPES and callable(x):
                self.given[name] = of_values(x, further)
        is_pair = any(self.given.get(name) is True for name in _SLOPES)
        is_pair |= theirs.__name__ in ("fmin_tnc", "fmin_l_bfgs_b") and not (
            self.given.get("fprime") or self.given.get("approx_grad")
        )
        self.given[of] = of_numbers(f, further)

        def value(x: Any) -> Any:
            y = f(x, *further)[0] if is_pair else f(x, *further)
            return array_of(y) if isinstance(y, (list, tuple)) else y

        self.value = value  # a function, in which a word finds what is traced

    def run(self) -> Any:
        """Return what SciPy finds."""
        return self.theirs(*self.bound.args, **self.bound.kwargs)


_STARTS = ("x0", "x1", "x2", "xin", "a", "b", "bracket", "brack")
_SLOPES = ("fprime", "fprime2", "fhess", "fhess_p", "jac", "hess", "hessp")


def of_numbers(f: Callable[..., Any], args: tuple[Any, ...] = ()) -> Callable[..., Any]:
    """Return a function of plain numbers, which gives such."""
    plain = of_values(f, args)

    def function(*xs: Any) -> Any:
        y = plain(*xs)
        return tuple(map(_number, y)) if isinstance(y, tuple) else _number(y)

    return function


def _number(y: Any) -> Any:
    return numbers_of(y)[()]


def _place(found: Any) -> Any:
    """Return the solution, of the forms in which SciPy gives it."""
    if isinstance(found, tuple):
        return found[0]
    return found.get("root", found.get("x")) if isinstance(found, dict) else found


def _with(found: Any, x: Any, name: str) -> Any:
    """Return what SciPy found, with the solution that is differentiated."""
    if isinstance(found, native.RootResults):
        report = copy.copy(found)
        report["root"] = x
        return report
    if isinstance(found, tuple):
        return (x, *[_with(part, x, f"{name}[{i + 1}]") for i, part in enumerate(found[1:])])
    if not isinstance(found, dict):
        return found
    still = {k: found[k] for k in ("fun", "fvec") if k in found}  # 0 for all arguments
    report = answer(name, found, x=x, **still)
    if "x" not in found:
        del report["x"]
    return report


def _finder(name: str) -> Callable[..., Any]:
    theirs = getattr(native, name)

    @functools.wraps(theirs)
    def function(*args: Any, **options: Any) -> Any:
        call = Search(theirs, args, options)
        found = call.run()
        near, f = _place(found), call.value
        residual = (lambda x: f(x) - x) if name == "fixed_point" else f
        x = v.root(residual, near, solver=lambda *_: near, tol=NEAR)
        return _with(found, x, f"{name}(...)") if isinstance(found, (tuple, dict)) else x

    function.__doc__ = "Find a root: it is differentiated by its equation, and starts are not."
    function.__module__ = __name__
    return stands_for(theirs)(function)


ROOTS = {
    name: _finder(name)
    for name in (
        *("anderson", "bisect", "brenth", "brentq", "broyden1", "broyden2", "diagbroyden"),
        *("excitingmixing", "fixed_point", "fsolve", "linearmixing", "newton", "newton_krylov"),
        *("ridder", "root", "root_scalar", "toms748"),
    )
}
