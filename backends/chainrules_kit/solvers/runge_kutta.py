"""Steps of explicit Runge-Kutta methods, for plain and for traced values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, final

from chainrules_kit.solvers.vectors import Vector, combine, eps_of
from chainrules_py import ops as v
from chainrules_py.extend import Tree, describe, joined, kind_of, type_info
from chainrules_py.ops.higher_order import arrayed
from chainrules_py.ops.linalg import resolution


class Tableau(NamedTuple):
    """Coefficients of a pair of methods whose last stage is the first one of the next step.

    Attributes
    ----------
    times : tuple of float
        The time of each stage, as a fraction of the step.
    weights : tuple of tuple of float
        The weights of the previous stages in each stage; the last row gives the next state.
    errors : tuple of float
        The differences of the weights of the two methods.
    order : int
        The order of the method that gives the next state.
    """

    times: tuple[float, ...]
    weights: tuple[tuple[float, ...], ...]
    errors: tuple[float, ...]
    order: int


METHODS = {
    # J. R. Dormand and P. J. Prince, "A family of embedded Runge-Kutta formulae" (1980)
    "dopri5": Tableau(
        (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0),
        (
            (),
            (1 / 5,),
            (3 / 40, 9 / 40),
            (44 / 45, -56 / 15, 32 / 9),
            (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
            (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
            (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
        ),
        (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40),
        5,
    ),
    # P. Bogacki and L. F. Shampine, "A 3(2) pair of Runge-Kutta formulas" (1989)
    "bosh3": Tableau(
        (0.0, 1 / 2, 3 / 4, 1.0),
        ((), (1 / 2,), (0.0, 3 / 4), (2 / 9, 1 / 3, 4 / 9)),
        (-5 / 72, 1 / 12, 1 / 9, -1 / 8),
        3,
    ),
}

Rate = Callable[[Vector, Any], Vector]


def tableau(method: str) -> Tableau:
    """Look up the coefficients of a method of `odeint`.

    Raises
    ------
    ValueError
        If there is no method of this name.
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r} of odeint is none of {', '.join(map(repr, METHODS))}")
    return METHODS[method]


def clock_of(t: Any, leaves: Vector) -> Any:
    """Return an array like which times are converted for a function, with the highest precision.

    Return None if the elements of the times are numbers themselves, as in NumPy: then a time is a
    Python number. Functions of other libraries do not accept numbers.
    """
    if type_info(type(v.index(t, 0))).is_number:
        return None
    like = min([x for x in (t, *leaves) if kind_of(x) in ("real", "complex")], key=resolution)
    return v.real(like) if kind_of(like) == "complex" else like


def rate_of(f: Callable[..., Any], tree: Tree, params: tuple[Any, ...], clock: Any = None) -> Rate:
    """Return the rate of change as a function of lists, in the dtypes of the state.

    Parameters
    ----------
    f : callable
        The function of `odeint`.
    tree : Tree
        The structure of the state.
    params : tuple
        Further arguments of f.
    clock : array, optional
        The array like which a time that is a number is converted; see `clock_of`.
    """

    def rate(y: Vector, t: Any) -> Vector:
        time = t if clock is None or hasattr(t, "dtype") else arrayed(t, clock)
        given = f(tree.build(y), time, *params)
        k = [joined(x) for x in Tree(given).leaves]
        if [getattr(x, "shape", ()) for x in k] != [getattr(x, "shape", ()) for x in y]:
            listed = isinstance(given, (list, tuple)) and hasattr(tree.like, "dtype")
            write = "np.stack of the list" if listed else "a rate of change of the same structure"
            raise ValueError(
                f"the state of odeint is {describe(tree.like)}, and its function gave "
                f"{describe(given)}; it has to give {write}"
            )
        for a, b in zip(k, y, strict=True):
            if kind_of(a) == "complex" != kind_of(b):
                raise ValueError(
                    f"the state of odeint is real ({describe(tree.like)}), and its function gave "
                    f"{describe(given)}, whose imaginary part would be lost; start with a complex "
                    f"state, y0 + 0j, or give the real part"
                )
        return [_fitted(a, b) for a, b in zip(k, y, strict=True)]

    return rate


def _fitted(k: Any, y: Any) -> Any:
    dtype = getattr(y, "dtype", None)
    if dtype is None:
        return k
    k = k if hasattr(k, "dtype") else arrayed(k, y)
    return k if k.dtype == dtype else v.astype(k, dtype=dtype)


def weighted(y: Vector, h: Any, weights: tuple[float, ...], ks: list[Vector]) -> Vector:
    """Compute the state y + h Σ wᵢ kᵢ."""
    made = []
    for n, x in enumerate(y):
        total: Any = None
        for w, k in zip(weights, ks, strict=False):
            if w:
                total = w * k[n] if total is None else total + w * k[n]
        made.append(x if total is None else _fitted(x + h * total, x))
    return made


def stages(
    method: Tableau, rate: Rate, y: Vector, t: Any, h: Any, first: Any = None
) -> list[Vector]:
    """Compute the rates of all stages but the last, which is the rate at the next state."""
    ks = [rate(y, t) if first is None else first]
    for time, weights in zip(method.times[1:-1], method.weights[1:-1], strict=True):
        ks.append(rate(weighted(y, h, weights, ks), t + time * h))
    return ks


def first_step(
    y: Vector, k: Vector, times: Any, rate: Rate, error: Callable[..., Any], order: int
) -> Any:
    """Choose the length of the first step, from plain or from traced numbers.

    E. Hairer, S. P. Nørsett and G. Wanner, *Solving Ordinary Differential Equations I* (1993),
    section II.4, "Starting Step Size".

    Parameters
    ----------
    y, k : list
        The state at the first time, and its rate of change.
    times : sequence
        The times of the outputs, at least two.
    rate : callable
        ``rate(y, t)``.
    error : callable
        ``error(e, before, after)`` returns the size of a vector relative to the tolerances at two
        states.
    order : int
        The order of the method.
    """
    zero, span = [0.0 * x for x in y], abs(times[-1] - times[0])
    d0, d1 = error(y, zero, y), error(k, zero, y)
    h0 = v.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / v.where(d1 == 0, 1.0, d1))
    h0 = v.minimum(v.where(v.isfinite(h0), h0, 1e-6), span)
    signed = v.where(times[1] < times[0], -h0, h0)
    later = rate(weighted(y, signed, (1.0,), [k]), times[0] + signed)
    largest = v.maximum(d1, error(combine(later, -1.0, k), zero, y) / h0)
    usual = (largest > 1e-15) & v.isfinite(largest)
    h1 = v.where(
        usual,
        (0.01 / v.where(usual, largest, 1.0)) ** (1 / order),
        v.maximum(1e-6, h0 * 1e-3),
    )
    # A rate that is large beside a state of zeros gives a step that does not change the time.
    return v.maximum(
        v.minimum(v.minimum(100 * h0, h1), span),
        32 * eps_of([times]) * v.maximum(abs(times[0]), abs(times[-1])),
    )


@final
class Substep:
    """Step over a part of the interval between two outputs.

    Attributes
    ----------
    method : Tableau
        The pair of methods, whose higher order gives the next state.
    start, stop : float
        The part, as fractions of the interval.
    dtype : dtype, optional
        Dtype of the time that a function gets, if not that of the times.
    """

    __slots__ = ("dtype", "method", "start", "stop")

    def __init__(self, method: Tableau, start: float, stop: float, dtype: Any = None) -> None:
        self.method = method
        self.start = start
        self.stop = stop
        self.dtype = dtype

    def __call__(self, f: Any, y: Any, t0: Any, t1: Any, *params: Any) -> Any:
        """Compute the state at the end of the part from the state at its start."""
        method, tree = self.method, Tree(y)
        if self.dtype is not None:
            t0, t1 = v.astype(t0, dtype=self.dtype), v.astype(t1, dtype=self.dtype)
        t, h = t0 + self.start * (t1 - t0), (self.stop - self.start) * (t1 - t0)
        ks = stages(method, rate_of(f, tree, params), tree.leaves, t, h)
        return tree.build(weighted(tree.leaves, h, method.weights[-1], ks))
