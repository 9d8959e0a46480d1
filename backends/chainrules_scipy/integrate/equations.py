"""Differential equations."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import scipy.integrate

from chainrules_py import UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_scipy.rows import array_of, readable, stands_for


@stands_for(scipy.integrate.odeint)
def odeint(
    func: Any, y0: Any, t: Any, args: Any = (), *given: Any, tfirst: bool = False, **options: Any
) -> Any:
    """Solve dy/dt = ``func(y, t, *args)`` from y0 at the first time on.

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
    """Solve dy/dt = ``fun(t, y, *args)`` over an interval.

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
        what = (
            f"method={method!r}" if method not in pairs else "dense_output, events or " + str(rest)
        )
        msg = f"solve_ivp with traced values takes no {what}; take RK45, and t_eval"
        raise UnsupportedKeywordError(msg)
    start, end = t_span
    times = array_of([start, end] if t_eval is None else t_eval)
    first = readable(times)[0] == readable(start)
    asked = times if first else v.concat(v.reshape(array_of(start), shape=(1,)), times, axis=0)
    tolerances = {
        "rtol": options.get("rtol", 1e-3) * 1e-3,
        "atol": options.get("atol", 1e-6) * 1e-3,
    }

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
