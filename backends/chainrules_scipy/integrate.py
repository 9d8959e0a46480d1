"""The functions of ``scipy.integrate``, of traced values too.

What is integrated may hold traced values, as a closure does, or take them as ``args``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.integrate

from chainrules_py import NotDifferentiableError, UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_scipy.rows import array_of, readable, stands_for

__all__ = [
    "cumulative_trapezoid",
    "dblquad",
    "fixed_quad",
    "odeint",
    "quad",
    "quad_vec",
    "romb",
    "simpson",
    "solve_ivp",
    "trapezoid",
]


def _along(y: Any, axis: int, start: int | None, stop: int | None, step: int = 1) -> Any:
    return y[(slice(None),) * (axis % y.ndim) + (slice(start, stop, step),)]


def _distances(y: Any, x: Any, dx: Any, axis: int) -> Any:
    """Return the steps between the places, of shapes that fit y along the axis."""
    if x is None:
        return array_of(dx)
    x = array_of(x)
    if x.ndim == 1:
        h = x[1:] - x[:-1]
        return v.reshape(h, shape=(-1,) + (1,) * (y.ndim - 1 - axis % y.ndim))
    return _along(x, axis, 1, None) - _along(x, axis, None, -1)


@stands_for(scipy.integrate.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate what is known at places by straight lines.

    Parameters
    ----------
    y : array
        The values.
    x : array, optional
        The places, of the shape of y or along the axis; equally far apart by default.
    dx : number
        How far, if x is not given.
    axis : int
        Along which they are.

    Returns
    -------
    array
        As ``scipy.integrate.trapezoid``.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> print(grad(trapezoid)(np.array([1.0, 2.0, 4.0])))
    [0.5 1.  0.5]
    """
    y = array_of(y)
    pairs = _along(y, axis, 1, None) + _along(y, axis, None, -1)
    return v.sum(0.5 * _distances(y, x, dx, axis) * pairs, axis=axis)


@stands_for(scipy.integrate.cumulative_trapezoid)
def cumulative_trapezoid(
    y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    """Integrate up to each place, by straight lines.

    Parameters
    ----------
    y : array
        The values.
    x : array, optional
        The places.
    dx : number
        How far they are apart, if x is not given.
    axis : int
        Along which they are.
    initial : {None, 0}
        What stands before, if anything.

    Returns
    -------
    array
        As ``scipy.integrate.cumulative_trapezoid``.

    Examples
    --------
    >>> print(cumulative_trapezoid([1.0, 2.0, 4.0]))
    [1.5 4.5]
    """
    y = array_of(y)
    pairs = _along(y, axis, 1, None) + _along(y, axis, None, -1)
    total = v.cumulative_sum(0.5 * _distances(y, x, dx, axis) * pairs, axis=axis)
    if initial is None:
        return total
    if initial != 0:
        msg = f"initial is {initial!r}, and has to be None or 0"
        raise ValueError(msg)
    return v.concat(v.zeros_like(_along(total, axis, 0, 1)), total, axis=axis)


@stands_for(scipy.integrate.simpson)
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate by parabolas, and where one interval is left, by Cartwright's correction.

    Parameters
    ----------
    y : array
        The values.
    x : array, optional
        The places, in any distances.
    dx : number
        How far they are apart, if x is not given.
    axis : int
        Along which they are.

    Returns
    -------
    array
        As ``scipy.integrate.simpson``.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> print(grad(simpson)(np.array([1.0, 2.0, 4.0])))
    [0.33333333 1.33333333 0.33333333]
    """
    y = array_of(y)
    n = y.shape[axis]
    if n < 3:
        return trapezoid(y, x, dx, axis)
    h = _distances(y, x, dx, axis)
    steps = _distances(y, np.arange(n) if x is None else x, 1.0, axis) * (h if x is None else 1.0)
    odd = n - 1 + n % 2
    h0, h1 = (_along(steps, axis if steps.ndim == y.ndim else 0, k, odd - 1, 2) for k in (0, 1))
    y0, y1, y2 = (_along(y, axis, k, odd - 2 + k, 2) for k in (0, 1, 2))
    whole = h0 + h1
    parts = y0 * (2 - h1 / h0) + y1 * (whole * whole / (h0 * h1)) + y2 * (2 - h0 / h1)
    total = v.sum(whole / 6 * parts, axis=axis)
    if odd == n:
        return total
    at = axis if steps.ndim == y.ndim else 0
    a, b = _along(steps, at, n - 3, n - 2), _along(steps, at, n - 2, n - 1)
    y0, y1, y2 = (_along(y, axis, k, k + 1) for k in (n - 3, n - 2, n - 1))
    rest = (
        y2 * (2 * b * b + 3 * a * b) / (6 * (a + b))
        + y1 * (b * b + 3 * a * b) / (6 * a)
        - y0 * b**3 / (6 * a * (a + b))
    )
    return total + v.sum(rest, axis=axis)


@stands_for(scipy.integrate.romb)
def romb(y: Any, dx: Any = 1.0, axis: int = -1, show: bool = False) -> Any:
    """Integrate 2^k + 1 values by Romberg's extrapolation.

    Parameters
    ----------
    y : array
        The values.
    dx : number
        How far they are apart.
    axis : int
        Along which they are.
    show : bool
        Not taken: False.

    Returns
    -------
    array
        As ``scipy.integrate.romb``.

    Examples
    --------
    >>> print(romb([1.0, 2.0, 5.0]))
    4.666666666666666
    """
    y = array_of(y)
    weights = scipy.integrate.romb(np.eye(y.shape[axis]), axis=0, show=show)
    factors = np.reshape(weights, (-1,) + (1,) * (y.ndim - 1 - axis % y.ndim))
    return v.sum(y * factors, axis=axis) * dx


@stands_for(scipy.integrate.fixed_quad)
def fixed_quad(func: Any, a: Any, b: Any, args: Any = (), n: int = 5) -> Any:
    """Integrate a function by Gauss's formula of some order.

    Parameters
    ----------
    func : callable
        Of an array of places, and ``args``.
    a, b : number
        The limits.
    args : tuple
        Further arguments of it.
    n : int
        The order.

    Returns
    -------
    tuple
        The integral, and None, as ``scipy.integrate.fixed_quad``.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> round(grad(lambda b: fixed_quad(lambda x: x * x, 0.0, b)[0])(2.0), 6)
    4.0
    """
    nodes, weights = np.polynomial.legendre.leggauss(n)
    y = (b - a) * (nodes + 1) / 2.0 + a
    return (b - a) / 2.0 * v.sum(weights * func(y, *args), axis=-1), None


# --------------------------------------------------------------------------- adaptive integrals

_STEP = 1 / 8
_GAUSS = tuple(
    ((1 + x) / 2, (1 - x) / 2, w / 2)
    for x, w in zip(*map(np.ndarray.tolist, np.polynomial.legendre.leggauss(24)), strict=True)
)
_AT_ENDS = tuple(
    (s, r, _STEP * math.pi * math.cosh(_STEP * k) * s * r)
    for k in range(-34, 35)
    for s, r in [[1 / (1 + math.exp(sign * math.pi * math.sinh(_STEP * k))) for sign in (-1, 1)]]
)
"""Parts of an interval before and behind a place, and weights: by Gauss, and, where a function may be
singular at an end, by Takahasi and Mori, Publ. RIMS 9 (1974) 721."""


@stands_for(scipy.integrate.quad)
def quad(
    func: Any,
    a: Any,
    b: Any,
    args: Any = (),
    full_output: int = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Any = None,
    weight: Any = None,
    **options: Any,
) -> Any:
    """Integrate a function between two limits, each of which may be infinite.

    The value is QUADPACK's. Derivatives, in the limits, the arguments and what the function holds,
    are those of Gauss's formula on the intervals that QUADPACK came to.

    Parameters
    ----------
    func : callable
        Of a number, and ``args``.
    a, b : number
        The limits.
    args : tuple
        Further arguments of it.
    full_output : int
        Whether to return more.
    epsabs, epsrel : float
        The error that is allowed.
    limit : int
        How many intervals there may be.
    points : sequence of float, optional
        Where the function is not smooth.
    weight, **options
        Not taken.

    Returns
    -------
    tuple
        The integral, and an estimate of its error, as ``scipy.integrate.quad``.

    Raises
    ------
    UnsupportedKeywordError
        If there is a weight, or an option of one.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> round(grad(lambda k: quad(lambda x: v.exp(-k * x), 0.0, np.inf)[0])(2.0), 9)
    -0.25
    """
    if weight is not None or any(value is not None for value in options.values()):
        msg = "quad(weight=...) has no derivative here: write the weight into the function"
        raise UnsupportedKeywordError(msg)
    args = args if isinstance(args, tuple) else (args,)

    def f(x: Any) -> Any:
        return func(x, *args)

    low, high = float(readable(a)), float(readable(b))
    if low == high:
        return 0.0 * (a + b), 0.0
    if low > high:
        found = quad(f, b, a, (), full_output, epsabs, epsrel, limit, points)
        return (-found[0], *found[1:])
    found = scipy.integrate.quad(
        lambda x: float(readable(f(x))),
        low,
        high,
        full_output=1,
        epsabs=epsabs,
        epsrel=epsrel,
        limit=limit,
        points=points,
    )
    last = found[2]["last"]
    pieces = zip(found[2]["alist"][:last].tolist(), found[2]["blist"][:last].tolist(), strict=True)
    value = _anchored("quad", found[0], _over_all(f, a, b, low, high, list(pieces)), found[1])
    return (value, *found[1:]) if full_output else (value, found[1])


def _anchored(name: str, value: Any, moving: Any, error: Any) -> Any:
    """Give the value found to what the derivatives are of, if that is the same integral."""
    known = readable(moving)
    if np.any(abs(known - value) > np.maximum(100 * error, 1e-6 * np.max(np.abs(value)))):
        msg = (
            f"{name} gives {value}, and the formula that is differentiated {known}: the function is "
            "singular inside; integrate from each place where it is to the next"
        )
        raise NotDifferentiableError(msg)
    return value + (moving - known)


def _over_all(f: Any, a: Any, b: Any, low: float, high: float, pieces: Any) -> Any:
    """Integrate over pieces whose ends move with the limits."""
    first, last = min(start for start, _ in pieces), max(end for _, end in pieces)
    total: Any = 0.0
    for start, end in pieces:
        for before, behind, weight in _AT_ENDS if start == first or end == last else _GAUSS:
            at, width = start + (end - start) * before, (end - start) * weight
            rest = last - end + (end - start) * behind
            if at == 0 or rest == 0:
                continue
            if math.isfinite(low) and math.isfinite(high):
                part, rest = (at - low) / (high - low), rest / (high - low)
                if start == first:
                    part = (end - start) * before / (high - low)
                x = a + (b - a) * part if part < rest else b - (b - a) * rest
                if low < readable(x) < high:
                    total = total + width / (high - low) * (b - a) * f(x)
                continue
            # x = (1 - t) / t away from the finite limit, or from 0 to both sides.
            away, width = rest / at, width / at**2
            if math.isfinite(low):
                total = total + width * f(a + away)
            elif math.isfinite(high):
                total = total + width * f(b - away)
            else:
                total = total + width * (f(away) + f(-away))
    return total


@stands_for(scipy.integrate.dblquad)
def dblquad(
    func: Any,
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    args: Any = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> Any:
    """Integrate a function over y, between limits that may depend on x, and over x.

    Parameters
    ----------
    func : callable
        Of y, x and ``args``.
    a, b : number
        The limits of x.
    gfun, hfun : callable or number
        The limits of y.
    args : tuple
        Further arguments.
    epsabs, epsrel : float
        The error that is allowed.

    Returns
    -------
    tuple
        The integral, and an estimate of its error.

    Examples
    --------
    >>> round(dblquad(lambda y, x: x * y, 0.0, 1.0, 0.0, lambda x: x)[0], 9)
    0.125
    """

    def limit(g: Any, x: Any) -> Any:
        return g(x) if callable(g) else g

    def inner(x: Any) -> Any:
        low, high = limit(gfun, x), limit(hfun, x)
        return quad(lambda y: func(y, x, *args), low, high, epsabs=epsabs, epsrel=epsrel)[0]

    return quad(inner, a, b, epsabs=epsabs, epsrel=epsrel)


@stands_for(scipy.integrate.quad_vec)
def quad_vec(
    f: Any,
    a: Any,
    b: Any,
    epsabs: float = 1e-200,
    epsrel: float = 1e-8,
    norm: str = "2",
    cache_size: float = 100e6,
    limit: float = 10000,
    workers: Any = 1,
    points: Any = None,
    quadrature: Any = None,
    full_output: bool = False,
    *,
    args: Any = (),
) -> Any:
    """Integrate a function whose values are arrays.

    Parameters
    ----------
    f : callable
        Of a number, and ``args``.
    a, b : number
        The limits.
    epsabs, epsrel, norm, cache_size, limit, workers, points, quadrature
        As SciPy has them.
    full_output : bool
        Not taken: False.
    args : tuple
        Further arguments of f.

    Returns
    -------
    tuple
        The integral, and an estimate of its error.

    Raises
    ------
    UnsupportedKeywordError
        If all is asked for.

    Examples
    --------
    >>> print(quad_vec(lambda x: np.array([x, x * x]), 0.0, 1.0)[0].round(9))
    [0.5        0.33333333]
    """
    if full_output:
        msg = "quad_vec(full_output=True) is not for traced values; leave it out"
        raise UnsupportedKeywordError(msg)
    low, high = float(readable(a)), float(readable(b))
    value, error, info = scipy.integrate.quad_vec(
        lambda x: readable(f(x, *args)),
        low,
        high,
        epsabs,
        epsrel,
        norm,
        cache_size,
        limit,
        1,
        points,
        quadrature,
        True,
    )
    pieces = [tuple(map(float, piece)) for piece in info.intervals]
    if not (math.isfinite(low) and math.isfinite(high)):
        msg = "quad_vec with an infinite limit has no derivative here; write quad, for each element"
        raise UnsupportedKeywordError(msg)
    moving = _over_all(lambda x: f(x, *args), a, b, low, high, pieces)
    return _anchored("quad_vec", value, moving, error), error


# ----------------------------------------------------------------------- differential equations


@stands_for(scipy.integrate.odeint)
def odeint(
    func: Any, y0: Any, t: Any, args: Any = (), *given: Any, tfirst: bool = False, **options: Any
) -> Any:
    """Solve dy/dt = func(y, t, *args) from y0 at the first time on.

    Values and derivatives are those of `chainrules_py.vocabulary.odeint`, by a formula of Runge
    and Kutta; SciPy's are of LSODA, and differ by the error that is allowed.

    Parameters
    ----------
    func : callable
        Of the state, the time, and ``args``; of time and state with ``tfirst``.
    y0 : array
        The first state.
    t : array
        The times.
    args : tuple
        Further arguments.
    tfirst : bool
        Whether time is the first argument.
    *given, **options
        ``rtol`` and ``atol``; others are not taken.

    Returns
    -------
    array
        The states, as ``scipy.integrate.odeint``.

    Raises
    ------
    UnsupportedKeywordError
        If another option is given.

    Examples
    --------
    >>> print(odeint(lambda y, t, k: -k * y, [1.0], [0.0, 1.0], (2.0,)).round(6))
    [[1.      ]
     [0.135335]]
    """
    args = args if isinstance(args, tuple) else (args,)
    tolerances = {name: options.pop(name) for name in ("rtol", "atol") if name in options}
    if given or any(value is not None for value in options.values()):
        msg = f"odeint takes rtol, atol and tfirst with traced values, and not {sorted(options)}"
        raise UnsupportedKeywordError(msg)
    y0 = array_of(y0)
    y0 = v.reshape(y0, shape=(-1,))

    def rate(y: Any, at: Any) -> Any:
        dy = func(at, y, *args) if tfirst else func(y, at, *args)
        return v.reshape(array_of(dy), shape=y.shape)

    return v.odeint(rate, y0, array_of(t), **tolerances)


@stands_for(scipy.integrate.solve_ivp)
def solve_ivp(
    fun: Any,
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """Solve dy/dt = fun(t, y, *args) over an interval.

    Values and derivatives are those of `chainrules_py.vocabulary.odeint`, with SciPy's default
    tolerances divided by a thousand.

    Parameters
    ----------
    fun : callable
        Of the time, the state, and ``args``.
    t_span : tuple of two numbers
        From when, and until when.
    y0 : array, shape (n,)
        The first state.
    method : str
        "RK45", or "RK23".
    t_eval : array, optional
        The times that are asked for; the ends by default.
    args : tuple, optional
        Further arguments.
    dense_output, events, vectorized, **options
        Of the options ``rtol`` and ``atol`` are taken; the others are not.

    Returns
    -------
    SimpleNamespace
        With ``t``, of shape (m,), ``y``, of shape (n, m), ``success``, ``status``, ``message``.

    Raises
    ------
    UnsupportedKeywordError
        If something else is asked for.

    Examples
    --------
    >>> found = solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0], t_eval=[0.5, 1.0])
    >>> print(found.y.round(4))
    [[0.6065 0.3679]]
    """
    pairs = {"RK45": "dopri5", "DOP853": "dopri5", "RK23": "bosh3"}
    rest = sorted(set(options) - {"rtol", "atol", "max_step", "first_step"})
    if method not in pairs or dense_output or events is not None or rest:
        what = f"method={method!r}" if method not in pairs else "dense_output, events or " + str(rest)
        msg = f"solve_ivp with traced values takes no {what}; take RK45, and t_eval"
        raise UnsupportedKeywordError(msg)
    start, end = t_span
    times = array_of([start, end] if t_eval is None else t_eval)
    first = readable(times)[0] == readable(start)
    asked = times if first else v.concat(v.reshape(array_of(start), shape=(1,)), times, axis=0)
    tolerances = {"rtol": options.get("rtol", 1e-3) * 1e-3, "atol": options.get("atol", 1e-6) * 1e-3}

    def rate(y: Any, t: Any) -> Any:
        dy = fun(t, v.expand_dims(y, axis=-1) if vectorized else y, *(args or ()))
        return v.reshape(array_of(dy), shape=y.shape)

    ys = v.odeint(rate, array_of(y0), asked, method=pairs[method], **tolerances)
    ys = ys if first else ys[1:]
    return SimpleNamespace(
        t=times,
        y=v.matrix_transpose(ys),
        success=True,
        status=0,
        message="The solver successfully reached the end of the integration interval.",
        sol=None,
        t_events=None,
        y_events=None,
    )
