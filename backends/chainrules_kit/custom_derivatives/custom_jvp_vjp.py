"""Functions whose derivative is stated by their own methods, as in JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, ParamSpec, TypeVar, overload

from chainrules_kit.custom_derivatives.augmented_rule import enter
from chainrules_kit.custom_derivatives.custom_rule_binding import AugmentedRecipe, PushedRecipe
from chainrules_py import (
    NotDifferentiableError,
    Primitive,
    RuleError,
    ZeroTangent,
    add_tangents,
    is_zero,
)
from chainrules_py.extend import (
    canonicalize,
    checked_types,
    find_tracers,
    name_of,
    parameters_of,
    where_defined,
)

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])
Places = int | str | Iterable[int | str]


class CustomFunction(Primitive[P, R]):
    """Function whose derivative is stated by its own methods; created by the decorators.

    It takes operands of any types. A call is never differentiated through its body: without a
    statement it raises.

    Attributes
    ----------
    fixed : frozenset of int
        Indices of the operands that are held fixed: ``nondiff_argnums``.
    """

    stated_by = "{0}.defvjp({0}_fwd, {0}_bwd), or {0}.defjvp({0}_jvp)"

    def __init__(self, function: Callable[P, R], fixed: Places = ()) -> None:
        super().__init__(function)
        self.opaque = True
        self.fixed = _places(self, fixed)

    def defjvp(self, jvp: F) -> F:
        """State forward mode, as in JAX (a decorator).

        Parameters
        ----------
        jvp : callable
            ``jvp(*fixed, primals, tangents, **options) -> (y, y_dot)``. Every tangent is passed,
            with zeros filled in: an array, a number, ``NoTangent()`` for an operand that cannot be
            perturbed, or a tuple, list or dict of these. y_dot has to be linear in the tangents.

        Returns
        -------
        callable
            The function, unchanged.

        Raises
        ------
        RuleError
            If it has other parameters.

        Examples
        --------
        >>> @custom_jvp
        ... def area(w, h):
        ...     return w * h
        >>> @area.defjvp
        ... def area_jvp(primals, tangents):
        ...     (w, h), (w_dot, h_dot) = primals, tangents
        ...     return area(w, h), w_dot * h + w * h_dot
        >>> from chainrules_py import frule
        >>> frule((1.0, 0.0), area, 2.0, 3.0)
        (6.0, 3.0)
        """
        self._check(jvp, len(self.fixed) + 2, "(primals, tangents)")

        def make(jvp: Callable[..., Any]) -> Callable[..., Any]:
            def push(xs: tuple[Any, ...], dots: tuple[Any, ...], **options: Any) -> Any:
                held = [xs[i] for i in sorted(self.fixed)]
                return jvp(*held, self._free(xs), self._free(dots), **options)

            return push

        enter(self, PushedRecipe(self, make, (jvp,), self.fixed))
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """State forward mode operand by operand, as in JAX.

        Parameters
        ----------
        *jvps : callable or None
            One per operand that is not held fixed: ``jvp(x_dot, y, *operands, **options)`` returns
            its term of ``y_dot``. It is called only if there is a tangent. None states that the
            term is zero.

        Raises
        ------
        RuleError
            If their number is wrong, or one has other parameters.

        Examples
        --------
        >>> @custom_jvp
        ... def area(w, h):
        ...     return w * h
        >>> area.defjvps(lambda w_dot, y, w, h: w_dot * h, lambda h_dot, y, w, h: w * h_dot)
        >>> from chainrules_py import frule
        >>> frule((1.0, 0.0), area, 2.0, 3.0)
        (6.0, 3.0)
        """
        free = [i for i in range(len(self.operands)) if i not in self.fixed]
        stated = [jvp for jvp in jvps if jvp is not None]
        if self.variadic or len(jvps) != len(free) or not stated:
            raise RuleError(
                f"{self.__name__}.defjvps gives {len(jvps)} functions, {len(stated)} of them not "
                f"None, for the operands ({', '.join(self.operands[i] for i in free)}) of "
                f"{where_defined(self)}; give one for each, or write non_differentiable"
            )
        for jvp in stated:
            self._check(jvp, 2 + len(self.operands), "(x_dot, y, *operands)")

        places = [i for i, jvp in zip(free, jvps, strict=True) if jvp is not None]

        def make(*stated: Callable[..., Any]) -> Callable[..., Any]:
            def push(xs: tuple[Any, ...], dots: tuple[Any, ...], **options: Any) -> Any:
                y: Any = self(*xs, **options)
                y_dot: Any = ZeroTangent()
                for i, jvp in zip(places, stated, strict=True):
                    if not is_zero(dots[i]):
                        term = jvp(dots[i], y, *xs, **options)
                        y_dot = add_tangents(y_dot, canonicalize(y, term))
                return y, y_dot

            return push

        enter(self, PushedRecipe(self, make, tuple(stated), self.fixed, instantiate=False))

    def defvjp(
        self,
        fwd: Callable[..., tuple[Any, Any]],
        bwd: Callable[..., tuple[Any, ...]],
        *,
        recompute: bool = False,
        complex: Literal["adjoint", "jax"] | None = None,
    ) -> None:
        """State reverse mode, as in JAX.

        Parameters
        ----------
        fwd : callable
            Takes the arguments of the function, and returns ``(y, residuals)``.
        bwd : callable
            ``bwd(*fixed, residuals, y_bar)`` returns a tuple with one cotangent per operand that is
            not held fixed. ``y_bar`` is dense, with the tuple, list or dict structure of y. None
            states that a cotangent is zero. Options that it names keyword-only are passed.
        recompute : bool
            Whether to keep the operands instead of the residuals, and to run ``fwd`` again in the
            backward pass.
        complex : {"adjoint", "jax"}, optional
            The convention for cotangents of complex numbers: those of the real adjoint, as in this
            project and in PyTorch, or their conjugates, as in JAX. Without it, complex operands and
            results raise `NotDifferentiableError`.

        Raises
        ------
        RuleError
            If one has other parameters.

        Examples
        --------
        >>> @custom_vjp
        ... def area(w, h):
        ...     return w * h
        >>> area.defvjp(
        ...     lambda w, h: (w * h, (w, h)), lambda wh, y_bar: (y_bar * wh[1], wh[0] * y_bar)
        ... )
        >>> from chainrules_py import rrule
        >>> rrule(area, 2.0, 3.0)[1](1.0)
        (3.0, 2.0)
        """
        parameters = parameters_of(fwd)
        n = len(parameters.positional) + (parameters.variadic is not None)
        checked_types(self, fwd, (object,) * n, 0)
        self._check(bwd, len(self.fixed) + 2, "(residuals, y_bar)", all_options=False)
        if complex not in (None, "adjoint", "jax"):
            raise RuleError(
                f"complex={complex!r} in {self.__name__}.defvjp; say 'adjoint' or 'jax'"
            )
        enter(self, AugmentedRecipe(fwd, bwd, self.fixed, recompute, True, complex))

    def _check(
        self, function: Callable[..., Any], n: int, shown: str, *, all_options: bool = True
    ) -> None:
        """Compare the parameters of a user's function with the arguments of its calls."""
        parameters = parameters_of(function)
        fits = len(parameters.positional) == n or (
            parameters.variadic is not None and len(parameters.positional) <= n
        )
        named, options = set(parameters.keyword_only), set(self.options)
        if parameters.keywords is None:
            fits = fits and (named == options if all_options else named <= options)
        if not fits:
            held = "".join(f"{self.operands[i]}, " for i in sorted(self.fixed))
            raise RuleError(
                f"{name_of(function)} ({where_defined(function)}) takes "
                f"({', '.join(parameters.names)}); for {self.__name__}{self.signature} it has to "
                f"take ({held}{shown[1:-1]}{''.join(f', {name}=' for name in options)})"
            )

    def _free(self, xs: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple([x for i, x in enumerate(xs) if i not in self.fixed])

    def normalise(
        self, operands: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Bring a call to canonical form; see `Primitive.normalise`.

        Raises
        ------
        NotDifferentiableError
            If an operand that is held fixed is being differentiated.
        """
        operands, options = super().normalise(operands, options)
        for i in self.fixed:
            if find_tracers(operands[i]):
                raise NotDifferentiableError(
                    f"{self.operands[i]} of {self.__name__} is held fixed (nondiff_argnums), and "
                    f"is being differentiated: its gradient would be lost; state a derivative in "
                    f"it, or pass ignore_derivatives({self.operands[i]})"
                )
        return operands, options


def _places(f: Primitive[..., Any], fixed: Places) -> frozenset[int]:
    found = set()
    n = len(f.operands)
    for place in (fixed,) if isinstance(fixed, (int, str)) else fixed:
        if isinstance(place, str) and place in f.operands:
            found.add(f.operands.index(place))
        elif isinstance(place, int) and -n <= place < n:
            found.add(place % n)
        else:
            raise RuleError(
                f"{f.__name__} ({where_defined(f)}) has no operand {place!r} to be held fixed; it "
                f"takes {f.signature}, of which keyword-only parameters are fixed anyway"
            )
    return frozenset(found)


@overload
def custom_vjp(
    function: Callable[P, R],
    /,
    *,
    nondiff_argnums: int | Iterable[int] = ...,
    nondiff_argnames: str | Iterable[str] = ...,
) -> CustomFunction[P, R]: ...
@overload
def custom_vjp(
    *,
    nondiff_argnums: int | Iterable[int] = ...,
    nondiff_argnames: str | Iterable[str] = ...,
) -> Callable[[Callable[P, R]], CustomFunction[P, R]]: ...
def custom_vjp(
    function: Any = None,
    /,
    *,
    nondiff_argnums: int | Iterable[int] = (),
    nondiff_argnames: str | Iterable[str] = (),
) -> Any:
    """Make a function whose derivative is stated by its own methods, as in JAX.

    ``f.defvjp(fwd, bwd)`` states reverse mode, ``f.defjvp(jvp)`` or ``f.defjvps(...)`` forward
    mode. `custom_vjp` and `custom_jvp` are two names of the same function.

    Parameters
    ----------
    function : callable
        A function whose positional parameters are operands, of any types, and whose keyword-only
        parameters are options.
    nondiff_argnums, nondiff_argnames : int, str, or several
        Operands that are held fixed, for example functions. They come first in the parameters of
        ``bwd`` and ``jvp``.

    Returns
    -------
    CustomFunction
        The new function. A mode that is not stated is the transpose of the stated one.

    Raises
    ------
    RuleError
        If it takes ``**keywords``, or does not have an operand that is to be held fixed.

    Examples
    --------
    >>> from math import cos, sin
    >>> @custom_vjp
    ... def f(x, y):
    ...     return sin(x) * y
    >>> def f_fwd(x, y):
    ...     return f(x, y), (cos(x), sin(x), y)
    >>> def f_bwd(res, w):
    ...     cos_x, sin_x, y = res
    ...     return cos_x * w * y, sin_x * w
    >>> f.defvjp(f_fwd, f_bwd)
    >>> from chainrules_tape import grad, jvp
    >>> grad(f, (0, 1))(0.0, 2.0)
    (2.0, 0.0)
    >>> jvp(f, (0.0, 2.0), (1.0, 0.0))
    (0.0, 2.0)

    Forward mode:

    >>> @custom_jvp
    ... def g(x, y):
    ...     return sin(x) * y
    >>> @g.defjvp
    ... def g_jvp(primals, tangents):
    ...     (x, y), (x_dot, y_dot) = primals, tangents
    ...     return g(x, y), cos(x) * x_dot * y + sin(x) * y_dot
    >>> grad(g, (0, 1))(0.0, 2.0)
    (2.0, 0.0)
    """
    fixed = (*_several(nondiff_argnums), *_several(nondiff_argnames))
    if function is None:
        return lambda function: CustomFunction(function, fixed)
    return CustomFunction(function, fixed)


custom_jvp = custom_vjp


def _several(places: Places) -> tuple[int | str, ...]:
    return (places,) if isinstance(places, (int, str)) else tuple(places)
