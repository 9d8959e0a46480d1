"""Solutions of differential equations by LSODA, of rates that are lines of arithmetic.

Derivatives are solutions as well: of the equations of the state together with those of its
derivatives, to which LSODA chooses its steps. So they are right to the tolerances of the call, and
those of a derivative are found in the same way.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate

from chainrules_bridge.reach import Reach
from chainrules_py import Array, LinearMap, NoTangent, primitive, rule
from chainrules_py import vocabulary as v
from chainrules_py.extend import Tracer, Tree, closed
from chainrules_scipy.integrate.systems import NotLinesError, System, differentiated, recorded
from chainrules_scipy.rows import readable

_odeint: Any = scipy.integrate.odeint
_lock = threading.Lock()

_MOST_NUMBERS = 400
"""Of a state with its derivatives: were it stiff, LSODA would solve systems of as many."""
_TRIES = 4
_COUNTS = (int, bool, str)


class Problem(NamedTuple):
    """All of a problem but the first state and the parameters.

    Attributes
    ----------
    system : System
        The rates of change.
    times : tuple of float
        Those that are asked for, from the first.
    rtol, atol : float
        The error of a step that is allowed; ``atol`` may be one for each number.
    directions : tuple of int
        How many derivatives each number has beside it, at each differentiation so far.
    """

    system: System
    times: tuple[float, ...]
    rtol: float
    atol: float | tuple[float, ...]
    directions: tuple[int, ...] = ()

    def differentiated(self, of_state: bool, of_parameters: tuple[int, ...]) -> Problem:
        """Return the problem of the state and its derivatives."""
        system = differentiated(self.system, of_state, of_parameters)
        if system.size > _MOST_NUMBERS:
            raise NotLinesError
        count = system.size // self.system.size - 1
        return self._replace(system=system, directions=(*self.directions, count))


@primitive
def flow(y0: Array, /, *parameters: Any, problem: Problem) -> Any:
    """Compute the states at the times, of a state at the first of them."""


@flow.implement
def flow_numpy(y0: Any, *parameters: Any, problem: Problem) -> Any:
    """Solve by LSODA; derivatives to a share of what they come to."""
    flat = tuple([x for p in parameters for x in np.ravel(p).tolist()])
    try:
        return _solved(tuple(y0.tolist()), flat, problem).copy()
    except (ArithmeticError, ValueError) as error:  # Python's numbers, where NumPy's have inf
        raise NotLinesError from error


@functools.lru_cache(maxsize=4)  # `jacobian` may run a function twice, in each of its modes
def _solved(start: tuple[float, ...], parameters: tuple[float, ...], problem: Problem) -> Any:
    y0 = np.array(start)
    rate = problem.system.function(parameters)
    if not problem.directions:
        return _integrated(rate, y0, problem, problem.atol)
    count = math.prod(1 + n for n in problem.directions)
    n = len(y0) // count
    size = np.where(y0[:n] != 0, abs(y0[:n]), 1.0)
    allowed = np.concatenate([np.full(n, problem.atol), np.tile(problem.rtol * size, count - 1)])
    for _ in range(_TRIES):
        found = _integrated(rate, y0, problem, allowed)
        largest = np.max(abs(found), axis=0)
        wanted = np.maximum(problem.rtol * largest, 1e-12 * problem.rtol * largest.max())
        loose = (allowed > 10 * wanted) & (largest > 0)
        loose[:n] = False
        if not loose.any():
            return found
        allowed = np.where(loose, wanted, allowed)
    raise NotLinesError


def _integrated(rate: Any, y0: np.ndarray, problem: Problem, atol: Any) -> np.ndarray:
    with _lock:
        found, info = _odeint(
            rate, y0, problem.times, rtol=problem.rtol, atol=atol, full_output=True, mxstep=20_000
        )
    if info["message"] != "Integration successful." or not np.isfinite(found).all():
        raise NotLinesError
    return found  # type: ignore[no-any-return]


@rule(flow)
def flow_rule(y0: Array, *parameters: Any, problem: Problem, wanted: Any) -> Any:
    """Solve for the derivatives beside the state, in what is wanted: ẏ = S ẋ."""
    n, operands = y0.shape[0], (y0, *parameters)
    sizes = [math.prod(np.shape(x)) for x in operands]
    starts = [0, *itertools.accumulate(sizes[1:])]
    of = [
        start + i
        for start, size, is_wanted in zip(starts, sizes[1:], wanted[1:], strict=False)
        for i in range(size if is_wanted else 0)
    ]
    count = n * wanted[0] + len(of)
    first = np.zeros((count, n))
    first[: n * wanted[0]] = np.eye(n)[: n * wanted[0]]
    both = flow(
        v.concat(y0, first.reshape(-1), axis=0), *parameters,
        problem=problem.differentiated(wanted[0], tuple(of)),
    )  # fmt: skip
    slopes, start = v.reshape(both[:, n:], shape=(-1, count, n)), 0
    maps: list[Any] = []
    for x, size, is_wanted in zip(operands, sizes, wanted, strict=True):
        if not is_wanted:
            maps.append(NoTangent())
        elif np.shape(x):
            maps.append(LinearMap(_push, _pull, slopes[:, start : start + size], x))
        else:
            maps.append(LinearMap(_times, _summed, slopes[:, start]))
        start += size if is_wanted else 0
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
    """Solve dy/dt = ``func(y, t, *args)``, or return None if that has no lines.

    Parameters
    ----------
    func : callable
        The rate of change; it may hold traced values.
    y0 : array, shape (n,)
        The first state.
    t : array
        The times.
    args : tuple
        Further arguments.
    rtol, atol : float
        The error of each step that is allowed.

    Returns
    -------
    array or None
        The states.
    """
    if isinstance(t, Tracer) or not len(t) or np.ndim(rtol) or not _is_plain(y0):
        return None
    tree = Tree((closed(func), args))
    traced: list[Any] = [x for x in tree.leaves if isinstance(x, Tracer)]
    if not all(map(_is_plain, traced)):
        return None

    def rate(y: Any, at: Any, values: Any) -> Any:
        left = iter(values)
        f, rest = tree.build([next(left) if isinstance(x, Tracer) else x for x in tree.leaves])
        return f(y, at, *rest)

    reach = Reach([func], writes=True)
    with contextlib.suppress(NotLinesError):
        system = recorded(rate, y0.shape[0], [np.shape(x) or None for x in traced])
        if not all(type(x) in _COUNTS for _, x in reach.written()):
            return None  # `v.odeint` refuses a function that writes to what it was not given
        errors = atol if np.ndim(atol) == 0 else tuple(np.ravel(atol).tolist())
        problem = Problem(system, tuple(np.ravel(t).tolist()), float(rtol), errors)
        ys = flow(y0, *traced, problem=problem)
        return ys if _agrees(rate, readable(ys), readable(t), traced, system) else None
    return None


def _is_plain(x: Any) -> bool:
    return type(x := readable(x)) is float or getattr(x, "dtype", None) == np.dtype(float)


def _agrees(rate: Any, ys: Any, t: Any, traced: Any, system: System) -> bool:
    """Tell whether the lines compute what the function does, at both ends."""
    values = [readable(x) for x in traced]
    lines = system.function([x for p in values for x in np.ravel(p).tolist()])
    for y, at in ((ys[0], t[0]), (ys[-1], t[-1])):
        known = np.asarray(rate(y.copy(), float(at), values), float).reshape(-1)
        if not np.allclose(lines(y, float(at)), known, rtol=1e-12, atol=1e-300, equal_nan=True):
            return False
    return True
