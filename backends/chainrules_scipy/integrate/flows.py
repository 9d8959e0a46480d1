"""Solutions of differential equations by LSODA, with their derivatives beside them.

The derivatives of a state fulfil an equation of their own, of the rate's derivatives, which the
engine gives at each state that LSODA comes to. So stiff equations are as good as others. A state
and its derivatives that are many, and what is no NumPy's float, are left to `v.odeint`.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate

from chainrules_py import Array, LinearMap, NoTangent, primitive, rule
from chainrules_py import vocabulary as v
from chainrules_py.extend import Tracer, Tree, closed, default_engine
from chainrules_scipy.rows import array_of, readable

_odeint: Any = scipy.integrate.odeint
_lock = threading.Lock()
_MOST_NUMBERS = 400
"""Of a state with its derivatives: were it stiff, LSODA would solve systems of as many."""
_TRIES = 4


class _UnsolvedError(Exception):
    """LSODA did not come to the last time."""


class Problem(NamedTuple):
    """All of a problem but the first state and the parameters.

    Parameters
    ----------
    rate : callable
        ``rate(state, time, *parameters)``, an array of the state's shape.
    times : tuple of float
        The times of the states; the first is where it starts.
    rtol, atol : float, or tuple of float
        The errors that LSODA allows.
    size : int
        How many numbers the state itself has; behind it stand derivatives of it.
    """

    rate: Callable[..., Any]
    times: tuple[float, ...]
    rtol: float
    atol: float | tuple[float, ...]
    size: int


@primitive
def flow(y0: Array, /, *parameters: Any, problem: Problem) -> Any:
    """Compute the states at the times, of a state at the first of them."""


@flow.implement
def flow_numpy(y0: np.ndarray, *parameters: Any, problem: Problem) -> Any:
    """Solve by LSODA; derivatives to a share of what they come to."""
    n = problem.size
    size = np.where(y0[:n] != 0, abs(y0[:n]), 1.0)
    share = np.tile(problem.rtol * size, len(y0) // n - 1)
    allowed = np.concatenate([np.full(n, problem.atol), share])
    for _ in range(_TRIES):
        found = _integrated(y0, parameters, problem, allowed)
        largest = np.max(abs(found), axis=0)
        wanted = np.maximum(problem.rtol * largest, 1e-12 * problem.rtol * largest.max())
        loose = (allowed > 10 * wanted) & (largest > 0)
        loose[:n] = False
        if not loose.any():
            return found
        allowed = np.where(loose, wanted, allowed)
    raise _UnsolvedError


def _integrated(y0: np.ndarray, parameters: Any, problem: Problem, atol: Any) -> np.ndarray:
    rate: Any = lambda y, t: problem.rate(y.copy(), t, *parameters)  # LSODA writes to y again
    with _lock:
        found, info = _odeint(
            rate, y0, problem.times, rtol=problem.rtol, atol=atol, full_output=True, mxstep=20_000
        )
    if info["message"] != "Integration successful." or not np.isfinite(found).all():
        raise _UnsolvedError
    return found  # type: ignore[no-any-return]


@rule(flow)
def flow_rule(y0: Array, *parameters: Any, problem: Problem, wanted: Any) -> Any:
    """Solve Ṡ = S (∂f/∂y)ᵀ + (∂f/∂x)ᵀ for the derivatives S of the state, in what is wanted."""
    n, operands = y0.shape[0], (y0, *parameters)
    places = [i for i, is_wanted in enumerate(wanted[1:]) if is_wanted]
    sizes = [math.prod(np.shape(operands[0]))] * wanted[0]
    sizes += [math.prod(np.shape(parameters[i])) for i in places]
    count, own = sum(sizes), n * wanted[0]
    if n * (1 + count) > _MOST_NUMBERS:
        raise _UnsolvedError
    first = np.zeros((count, n))
    first[:own] = np.eye(n)[:own]

    def beside(states: Any, t: Any, *parameters: Any) -> Any:
        def rate(y: Any, *some: Any) -> Any:
            given = dict(zip(places, some, strict=True))
            return problem.rate(y, t, *[given.get(i, p) for i, p in enumerate(parameters)])

        slopes = v.reshape(states[n:], shape=(count, n))
        f, pull = default_engine().vjp(rate, states[:n], *[parameters[i] for i in places])
        parts = [
            v.concat(*[v.reshape(array_of(x), shape=(-1,)) for x in pull(e)], axis=0)
            for e in np.eye(n)
        ]
        partials = v.stack(*parts, axis=1)  # of each state and parameter, those of all rates
        moved = v.matmul(slopes, partials[:n])
        direct = v.pad(partials[n:], 0.0, widths=((own, 0), (0, 0)))
        return v.concat(f, v.reshape(moved + direct, shape=(-1,)), axis=0)

    start = v.concat(y0, first.reshape(-1), axis=0)
    both = flow(start, *parameters, problem=problem._replace(rate=beside))
    slopes = v.reshape(both[:, n:], shape=(-1, count, n))
    starts = iter(itertools.pairwise([0, *itertools.accumulate(sizes)]))
    maps: list[Any] = []
    for x, is_wanted in zip(operands, wanted, strict=True):
        if not is_wanted:
            maps.append(NoTangent())
            continue
        a, b = next(starts)
        if np.shape(x):
            maps.append(LinearMap(_push, _pull, slopes[:, a:b], x))
        else:
            maps.append(LinearMap(_times, _summed, slopes[:, a]))
    return both[:, :n], tuple(maps)


def _push(x_dot: Any, slopes: Any, x: Any) -> Any:
    return v.einsum(v.reshape(x_dot, shape=(-1,)), slopes, subscripts="k,mkn->mn")


def _pull(ys_bar: Any, slopes: Any, x: Any) -> Any:
    return v.reshape(v.einsum(ys_bar, slopes, subscripts="mn,mkn->k"), shape=np.shape(x))


def _times(x_dot: Any, slopes: Any) -> Any:
    return x_dot * slopes


def _summed(ys_bar: Any, slopes: Any) -> Any:
    return v.sum(ys_bar * slopes)


def solved(func: Callable[..., Any], y0: Any, t: Any, args: Any, rtol: Any, atol: Any) -> Any:
    """Solve dy/dt = ``func(y, t, *args)`` by LSODA, or return None where it is not to.

    Parameters
    ----------
    func : callable
        The rate of change, which may hold traced values.
    y0 : array
        The state at the first time.
    t : array
        The times.
    args : tuple
        Further arguments of the function.
    rtol, atol : float, or array
        The errors that are allowed.

    Returns
    -------
    array or None
        The states; None where the times are differentiated, and where LSODA gave up.
    """
    if isinstance(t, Tracer) or not len(t) or np.ndim(rtol) or not _is_plain(y0):
        return None
    tree = Tree((closed(func), args))
    traced: list[Any] = [x for x in tree.leaves if isinstance(x, Tracer)]
    if not all(map(_is_plain, traced)):
        return None

    def rate(y: Any, at: Any, *values: Any) -> Any:
        left = iter(values)
        f, rest = tree.build([next(left) if isinstance(x, Tracer) else x for x in tree.leaves])
        return v.reshape(array_of(f(y, at, *rest)), shape=y.shape)

    errors = atol if np.ndim(atol) == 0 else tuple(np.ravel(atol).tolist())
    times = tuple(np.ravel(t).tolist())
    try:
        return flow(y0, *traced, problem=Problem(rate, times, float(rtol), errors, y0.shape[0]))
    except _UnsolvedError:
        return None


def _is_plain(x: Any) -> bool:
    return type(x := readable(x)) is float or getattr(x, "dtype", None) == np.dtype(float)
