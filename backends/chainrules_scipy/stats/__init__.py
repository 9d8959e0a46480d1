"""Distributions and statistics of ``scipy.stats``, for traced values too.

A SciPy distribution under its name, as ``from chainrules_scipy.stats import norm``, has ``pdf``,
``logpdf``, ``cdf``, ``sf``, ``logcdf``, ``logsf``, ``ppf`` and ``isf``, or ``pmf`` and ``logpmf``,
``stats``, ``entropy``, ``fit`` and the like, with derivatives in the value and in all parameters;
everything else is SciPy's. Multivariate distributions have these too. Statistics of samples follow
SciPy's own source.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import scipy.stats

from chainrules_py.extend import advise
from chainrules_scipy.composites_and_operand_conversions import attribute, of_precision
from chainrules_scipy.installation import place_method
from chainrules_scipy.stats import distributions, multivariate_and_sample_statistics
from chainrules_scipy.stats.distributions import (
    FITS,
    MOMENTS,
    SUMS,
    cdf,
    isf,
    logcdf,
    logpdf,
    logpmf,
    logsf,
    pdf,
    pmf,
    ppf,
    sf,
)
from chainrules_scipy.stats.multivariate_and_sample_statistics import FOLLOWED, gaussian_kde

__all__ = ["Distribution", "Frozen", "distributions", "gaussian_kde"]


def _in_double(function: Any) -> Any:
    """Make a method of distributions compute in double precision at least, as SciPy does."""

    def double(x: Any) -> Any:
        return x if getattr(x, "dtype", None) == np.longdouble else of_precision(x, np.dtype(float))

    @functools.wraps(function)
    def method(*args: Any, **options: Any) -> Any:
        return function(*map(double, args), **{n: double(x) for n, x in options.items()})

    return method


_CONTINUOUS, _DISCRETE = (
    tuple(map(_in_double, functions))
    for functions in (
        (pdf, logpdf, cdf, sf, logcdf, logsf, ppf, isf, *MOMENTS),
        (pmf, logpmf, *SUMS, *(f for f in MOMENTS if f.__name__ not in ("interval", "rvs"))),
    )
)
_CONTINUOUS += FITS  # some return the precision of the data
_FITS = {f.__name__ for f in FITS}


class Distribution:
    """A SciPy distribution whose methods take traced values.

    Parameters
    ----------
    native : rv_continuous or rv_discrete
        SciPy's distribution.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> norm = Distribution(scipy.stats.norm)
    >>> print(grad(lambda scale: norm.logpdf(1.0, 0.0, scale))(2.0))
    -0.375
    """

    def __init__(self, native: Any) -> None:
        self.native = native

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # which Python asks a copy for, before it has attributes
            raise AttributeError(name)
        if name in _of(self.native):
            return functools.partial(_of(self.native)[name], self.native)
        return getattr(self.native, name)

    def __call__(self, *args: Any, **options: Any) -> Frozen:
        """Fix the parameters."""
        return Frozen(self, args, options)


class Frozen:
    """A distribution with fixed parameters."""

    def __init__(self, of: Distribution, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.of, self.args, self.options = of, args, options

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # which Python asks a copy for, before it has attributes
            raise AttributeError(name)
        method, native = getattr(self.of, name), self.of.native
        if name == "expect":
            shapes, loc, scale = native._parse_args(*self.args, **self.options)
            return functools.partial(
                method,
                args=shapes,
                loc=loc,
                **({} if isinstance(native, scipy.stats.rv_discrete) else {"scale": scale}),
            )
        if name in _of(native) and name not in _OF_PARAMETERS:
            return lambda x: method(x, *self.args, **self.options)
        return functools.partial(method, *self.args, **self.options)


_OF_PARAMETERS = ("stats", "mean", "var", "std", "entropy", "rvs", "median")


def _of(native: Any) -> dict[str, Any]:
    return {
        f.__name__: f
        for f in (_DISCRETE if isinstance(native, scipy.stats.rv_discrete) else _CONTINUOUS)
    }


def _by_its_name(line: Any) -> str:
    """Return a line with the import of the distribution whose method is called."""
    name = (line.owner() or "_").partition("(")[0].rpartition(".")[2]
    if hasattr(getattr(scipy.stats, name, None), "_parse_args"):
        return f"use {name} after 'from chainrules_scipy.stats import {name}'"
    return "call chainrules_scipy.install() first, after 'import chainrules_scipy'"


for _cls, _functions in (
    (scipy.stats.rv_continuous, _CONTINUOUS),
    (scipy.stats.rv_discrete, _DISCRETE),
):
    for _f in _functions:
        for _own in (_cls, *_cls.__subclasses__()):
            if _own is _cls or (_f.__name__ in _FITS and _f.__name__ in vars(_own)):
                place_method(_own, _f)
        advise(getattr(_cls, _f.__name__), _by_its_name)


for _name, _method in itertools.product(
    ("Normal", "Uniform", "Logistic", "Binomial", "Mixture"),
    (
        *("__init__", "pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "ccdf", "logccdf"),
        *("icdf", "ilogcdf", "iccdf", "ilogccdf"),
    ),
):
    _new: Any = getattr(scipy.stats, _name, None)
    if hasattr(_new, _method):
        advise(
            getattr(_new, _method),
            "write stats.norm(loc, scale) for stats.Normal(mu=loc, sigma=scale), and others "
            "alike, which have derivatives after chainrules_scipy.install(); and "
            "pdf(x) / (cdf(b) - cdf(a)) for truncate, w * pdf(x) for a part of a mixture, "
            "pdf(x / c) / c for c * X",
        )


def __getattr__(name: str) -> Any:
    if name in FOLLOWED:
        return attribute(__name__, FOLLOWED, name)
    native = getattr(scipy.stats, name, None)
    if isinstance(native, (scipy.stats.rv_continuous, scipy.stats.rv_discrete)):
        return Distribution(native)
    if name == "invwishart" or name in multivariate_and_sample_statistics.OF:
        return multivariate_and_sample_statistics.Multivariate(native)
    line = f"; write 'from scipy.stats import {name}', after chainrules_scipy.install()"
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}{line if native is not None else ''}"
    )
