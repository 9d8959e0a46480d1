"""Functions with user-defined derivatives, stated as in autograd."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from chainrules_autograd.core import VSpace, vspace
from chainrules_autograd.tracer import Box
from chainrules_autograd.tree_map import tree_map
from chainrules_kit.custom_derivatives import CustomFunction
from chainrules_kit.custom_derivatives.augmented_rule import enter
from chainrules_kit.custom_derivatives.custom_rule_binding import AugmentedRecipe, PushedRecipe
from chainrules_py import NotDifferentiableError, ZeroTangent, is_zero, non_differentiable
from chainrules_py import primitive as _plain
from chainrules_py.extend import find_tracers

__all__ = [
    "Box",
    "VSpace",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "notrace_primitive",
    "primitive",
    "register_notrace",
    "vspace",
]

Function = Callable[..., Any]


class Primitive:
    """Function of any arguments, whose derivative is stated by `defvjp` or `defjvp`.

    Attributes
    ----------
    fun : callable
        The function.
    vjps : callable or None
        ``vjps(argnums, ans, args, options)`` returns a function from a cotangent to one per argnum.
    jvps : callable or None
        ``jvps(argnums, tangents, ans, args, options)`` returns the tangent of the result.
    """

    __name__: str

    def __init__(self, fun: Function) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.vjps: Function | None = None
        self.jvps: Function | None = None
        self._stated: tuple[Any, Any, Function] | None = None

    def __call__(self, *args: Any, **options: Any) -> Any:
        if options and find_tracers(options):
            raise NotDifferentiableError(
                f"a keyword of {self.__name__} is being differentiated, and derivatives are stated "
                f"in positions alone; pass it by position"
            )
        if not find_tracers(args):
            return self.fun(*args, **options)
        stated = self._stated
        if stated is None or stated[0] is not self.vjps or stated[1] is not self.jvps:
            stated = self._stated = (self.vjps, self.jvps, self._state())
        return stated[2](*args, options=options or None)

    def _state(self) -> Function:
        def call(*args: Any, options: Any) -> Any:
            return self.fun(*args, **options or {})

        call.__name__ = call.__qualname__ = self.__name__
        call.__module__ = getattr(self.fun, "__module__", None) or __name__
        found = CustomFunction(call)
        if self.vjps is None and self.jvps is None:
            raise MissingDerivativeError(
                f"{self.__name__} is a primitive without a derivative; "
                f"state one, defvjp({self.__name__}, lambda ans, *args: lambda g: ...)"
            )
        if self.vjps is not None:
            keep, pull = functools.partial(_keep, self), functools.partial(_pull, self.vjps)
            enter(found, AugmentedRecipe(keep, pull, complex="jax"))
        if self.jvps is not None:
            push = functools.partial(_push, self, self.jvps)
            enter(found, PushedRecipe(found, lambda push: push, (push,), instantiate=False))
        return found


def _keep(call: Function, *args: Any, options: Any) -> Any:
    """Compute the value of a call, and save it and all arguments for the derivative.

    The call is that of the primitive: an outer differentiation sees its derivative, not the body.
    """
    ans = call(*args, **options or {})
    return ans, (ans, *args)


def _pull(vjps: Function, *saved: Any, wanted: tuple[bool, ...], options: Any) -> Any:
    """Compute the cotangents of the wanted arguments by the function of `defvjp_argnums`."""
    ans, *args, g = saved
    places = tuple([i for i, is_wanted in enumerate(wanted) if is_wanted])
    bars: list[Any] = [ZeroTangent()] * len(args)
    found = vjps(places, ans, tuple(args), options or {})(g)
    for i, bar in zip(places, found, strict=True):
        bars[i] = bar
    return tuple(bars)


def _push(call: Function, jvps: Function, args: Any, dots: Any, *, options: Any) -> Any:
    """Compute the value of a call, and its tangent by the function of `defjvp_argnums`."""
    ans = call(*args, **options or {})
    places = tuple([i for i, dot in enumerate(dots) if not is_zero(dot)])
    return ans, jvps(places, [dots[i] for i in places], ans, args, options or {})


def primitive(fun: Function) -> Primitive:
    """Declare a function whose derivative is stated by `defvjp` or `defjvp` (a decorator).

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_autograd import grad
    >>> @primitive
    ... def logsumexp(x):
    ...     return np.log(np.sum(np.exp(x)))
    >>> defvjp(logsumexp, lambda ans, x: lambda g: g * np.exp(x - ans))
    >>> grad(logsumexp)(np.zeros(2))
    array([0.5, 0.5])
    """
    return Primitive(fun)


class MissingDerivativeError(NotDifferentiableError, NotImplementedError):
    """A derivative that is not stated; autograd raises `NotImplementedError` for it."""


def _missing(fun: Primitive, kind: str, argnum: int) -> MissingDerivativeError:
    return MissingDerivativeError(
        f"no {kind} of {fun.__name__} is stated in its argument {argnum}; "
        f"give {'defvjp' if kind == 'vjp' else 'defjvp'} one, or None where it is zero"
    )


def defvjp(fun: Primitive, *makers: Function | None, argnums: Sequence[int] | None = None) -> None:
    """State the reverse mode: ``maker(ans, *args, **options)`` returns ``vjp(g)`` of one argument.

    Parameters
    ----------
    fun : Primitive
        The function.
    *makers : callable or None
        One per argument; None where the derivative is zero.
    argnums : sequence of int, optional
        The arguments of the makers; by default the first ones.
    """
    of = dict(zip(argnums if argnums is not None else range(len(makers)), makers, strict=False))

    def one(argnum: int, ans: Any, args: Any, options: Any) -> Function:
        if argnum not in of:
            raise _missing(fun, "vjp", argnum)
        maker = of[argnum]
        if maker is None:
            return lambda g: ZeroTangent()
        return maker(ans, *args, **options)  # type: ignore[no-any-return]

    defvjp_argnum(fun, one)


def defvjp_argnum(fun: Primitive, maker: Function) -> None:
    """State the reverse mode: ``maker(argnum, ans, args, options)`` returns ``vjp(g)``."""

    def several(argnums: Any, ans: Any, args: Any, options: Any) -> Function:
        vjps = [maker(argnum, ans, args, options) for argnum in argnums]
        return lambda g: tuple([vjp(g) for vjp in vjps])

    defvjp_argnums(fun, several)


def defvjp_argnums(fun: Primitive, maker: Function) -> None:
    """State the reverse mode of several arguments at once: ``maker(argnums, ...)``."""
    fun.vjps = maker


def defjvp(fun: Primitive, *jvps: Any, argnums: Sequence[int] | None = None) -> None:
    """State the forward mode: ``jvp(g, ans, *args, **options)``, one per argument.

    ``"same"`` means that the function is linear in the argument.
    """
    of = dict(zip(argnums if argnums is not None else range(len(jvps)), jvps, strict=False))

    def one(argnum: int, g: Any, ans: Any, args: Any, options: Any) -> Any:
        if argnum not in of:
            raise _missing(fun, "jvp", argnum)
        jvp = of[argnum]
        if jvp is None:
            return tree_map(lambda y: y * 0.0, ans)
        if jvp == "same":
            return fun.fun(*args[:argnum], g, *args[argnum + 1 :], **options)
        return jvp(g, ans, *args, **options)

    defjvp_argnum(fun, one)


def defjvp_argnum(fun: Primitive, jvp: Function) -> None:
    """State the forward mode: ``jvp(argnum, g, ans, args, options)``."""

    def several(argnums: Any, gs: Any, ans: Any, args: Any, options: Any) -> Any:
        shares = [jvp(argnum, g, ans, args, options) for argnum, g in zip(argnums, gs, strict=True)]
        total, *others = shares
        for share in others:
            total = tree_map(lambda x, y: x + y, total, share)
        return total

    defjvp_argnums(fun, several)


def defjvp_argnums(fun: Primitive, jvp: Function) -> None:
    """State the forward mode of several arguments at once: ``jvp(argnums, gs, ...)``."""
    fun.jvps = jvp


def def_linear(fun: Primitive) -> None:
    """Declare that a function is linear in each of its arguments.

    Reverse mode transposes its body, unless `defvjp` states it.
    """
    defjvp_argnum(
        fun,
        lambda argnum, g, ans, args, options: fun.fun(
            *args[:argnum], g, *args[argnum + 1 :], **options
        ),
    )


def notrace_primitive(fun: Function) -> Function:
    """Declare a function of plain values whose result is a constant (a decorator)."""
    made = _plain(fun)
    non_differentiable(made)
    return made


def register_notrace(trace_type: Any, fun: Primitive) -> None:
    """Declare that the derivative of a function is zero; in autograd, in one of the modes."""
    defvjp_argnum(fun, lambda argnum, ans, args, options: lambda g: ZeroTangent())
