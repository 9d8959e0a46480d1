"""Functions with derivatives of one's own, stated as autograd has them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from chainrules_compat import CustomFunction, custom_vjp
from chainrules_like_autograd.core import VSpace, vspace
from chainrules_like_autograd.tracer import Box
from chainrules_like_autograd.trees import tree_map
from chainrules_py import NotDifferentiableError, non_differentiable
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
    """Function of any arguments whose derivative is stated by `defvjp` or `defjvp`.

    Attributes
    ----------
    fun : callable
        The function.
    vjps : callable or None
        ``vjps(argnums, ans, args, options)`` gives a function from a cotangent to one per number.
    jvps : callable or None
        ``jvps(argnums, tangents, ans, args, options)`` gives the tangent of the result.
    """

    __name__: str

    def __init__(self, fun: Function) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.vjps: Function | None = None
        self.jvps: Function | None = None
        self._stated: tuple[Any, Any, CustomFunction[..., Any]] | None = None

    def __call__(self, *args: Any, **options: Any) -> Any:
        traced = [i for i, x in enumerate(args) if find_tracers(x)]
        if find_tracers(options):
            msg = (
                f"a keyword of {self.__name__} is being differentiated, and derivatives are stated "
                f"in positions alone; pass it by position"
            )
            raise NotDifferentiableError(msg)
        if not traced:
            return self.fun(*args, **options)
        rest = _Rest(tuple(traced), args, options)
        return self._rule()(rest, *[args[i] for i in traced])

    def _rule(self) -> CustomFunction[..., Any]:
        if self._stated is None or self._stated[:2] != (self.vjps, self.jvps):
            self._stated = (self.vjps, self.jvps, self._state())
        return self._stated[2]

    def _state(self) -> CustomFunction[..., Any]:
        def call(rest: _Rest, *traced: Any) -> Any:
            return self.fun(*rest.filled(traced), **rest.options)

        def forward(rest: _Rest, *traced: Any) -> Any:
            ans = call(rest, *traced)
            return ans, (ans, traced)

        def backward(rest: _Rest, saved: Any, g: Any) -> Any:
            ans, traced = saved
            assert self.vjps is not None
            return tuple(self.vjps(rest.places, ans, rest.filled(traced), rest.options)(g))

        def push(rest: _Rest, traced: Any, dots: Any) -> Any:
            ans = call(rest, *traced)
            assert self.jvps is not None
            return ans, self.jvps(rest.places, dots, ans, rest.filled(traced), rest.options)

        call.__name__ = call.__qualname__ = self.__name__
        call.__module__ = getattr(self.fun, "__module__", None) or __name__
        found = custom_vjp(call, nondiff_argnums=0)
        if self.vjps is not None:
            found.defvjp(forward, backward, complex="jax")
        elif self.jvps is not None:
            found.defjvp(push)
        else:
            msg = (
                f"{self.__name__} is a primitive without a derivative; "
                f"state one, defvjp({self.__name__}, lambda ans, *args: lambda g: ...)"
            )
            raise MissingDerivativeError(msg)
        return found


class _Rest:
    """Arguments of a call beside those that are differentiated."""

    def __init__(
        self, places: tuple[int, ...], args: Sequence[Any], options: dict[str, Any]
    ) -> None:
        self.places = places
        self.args = tuple([None if i in places else x for i, x in enumerate(args)])
        self.options = options

    def filled(self, traced: Sequence[Any]) -> tuple[Any, ...]:
        """Return all arguments."""
        given = dict(zip(self.places, traced, strict=True))
        return tuple([given.get(i, x) for i, x in enumerate(self.args)])


def primitive(fun: Function) -> Primitive:
    """Make a function one whose derivative is stated by `defvjp` or `defjvp` (a decorator).

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_like_autograd import grad
    >>> @primitive
    ... def logsumexp(x):
    ...     return np.log(np.sum(np.exp(x)))
    >>> defvjp(logsumexp, lambda ans, x: lambda g: g * np.exp(x - ans))
    >>> grad(logsumexp)(np.zeros(2))
    array([0.5, 0.5])
    """
    return Primitive(fun)


class MissingDerivativeError(NotDifferentiableError, NotImplementedError):
    """A derivative that nobody stated; autograd has `NotImplementedError` for it."""


def _missing(fun: Primitive, kind: str, argnum: int) -> MissingDerivativeError:
    return MissingDerivativeError(
        f"no {kind} of {fun.__name__} is stated in its argument {argnum}; "
        f"give {'defvjp' if kind == 'vjp' else 'defjvp'} one, or None where it is zero"
    )


def defvjp(fun: Primitive, *makers: Function | None, argnums: Sequence[int] | None = None) -> None:
    """State the reverse mode: ``maker(ans, *args, **options)`` gives ``vjp(g)``, one per argument.

    Parameters
    ----------
    fun : Primitive
        The function.
    *makers : callable or None
        None where the derivative is zero.
    argnums : sequence of int, optional
        The arguments that they are of; the first ones by default.
    """
    of = dict(zip(argnums if argnums is not None else range(len(makers)), makers, strict=False))

    def one(argnum: int, ans: Any, args: Any, options: Any) -> Function:
        if argnum not in of:
            raise _missing(fun, "vjp", argnum)
        maker = of[argnum]
        if maker is None:
            return lambda g: tree_map(lambda x: x * 0.0, args[argnum])
        return maker(ans, *args, **options)  # type: ignore[no-any-return]

    defvjp_argnum(fun, one)


def defvjp_argnum(fun: Primitive, maker: Function) -> None:
    """State the reverse mode: ``maker(argnum, ans, args, options)`` gives ``vjp(g)``."""

    def several(argnums: Any, ans: Any, args: Any, options: Any) -> Function:
        vjps = [maker(argnum, ans, args, options) for argnum in argnums]
        return lambda g: tuple([vjp(g) for vjp in vjps])

    defvjp_argnums(fun, several)


def defvjp_argnums(fun: Primitive, maker: Function) -> None:
    """State the reverse mode of several arguments at once: ``maker(argnums, ...)``."""
    fun.vjps = maker


def defjvp(fun: Primitive, *jvps: Any, argnums: Sequence[int] | None = None) -> None:
    """State the forward mode: ``jvp(g, ans, *args, **options)``, one per argument.

    ``"same"`` says that the function is linear in the argument. Where `defvjp` is there as well,
    both modes follow from it, so that they cannot contradict each other.
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
    """Say that a function is linear in each of its arguments.

    Its body is what is transposed for the reverse mode, unless `defvjp` states that.
    """
    defjvp_argnum(
        fun,
        lambda argnum, g, ans, args, options: fun.fun(
            *args[:argnum], g, *args[argnum + 1 :], **options
        ),
    )


def notrace_primitive(fun: Function) -> Function:
    """Make a function one that sees plain values, and whose result is a constant (a decorator)."""
    made = _plain(fun)
    non_differentiable(made)
    return made


def register_notrace(trace_type: Any, fun: Primitive) -> None:
    """Say that the derivative of a function is zero; in autograd, in one of the modes."""
    defvjp_argnum(
        fun, lambda argnum, ans, args, options: lambda g: tree_map(lambda x: x * 0.0, args[argnum])
    )
