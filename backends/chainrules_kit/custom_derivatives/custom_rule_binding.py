"""Recipes of rules stated in one mode, in the forms of other systems; the other is the transpose.

These rules treat a function as a user sees it: tangents and cotangents of tuples, lists and dicts
are passed in the same containers, with zeros filled in, and may be returned in them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chainrules_kit.tangent_conversions import canonical, conjugated, dense, opened
from chainrules_py import (
    NoTangent,
    NotDifferentiableError,
    ProjectionError,
    RuleError,
    TracerError,
    ZeroTangent,
    is_zero,
    project,
    space,
)
from chainrules_py.extend import (
    Bound,
    OneMode,
    Request,
    Statement,
    annotate,
    asks_wanted,
    captured,
    check_result,
    describe,
    flatten,
    flowing,
    functions_in,
    given,
    is_structure_type,
    once_more,
    pair_of,
    parameters_of,
    refuse_functions,
    settled,
    spread_given,
    unflatten,
    whole_operands,
)


class _Custom(OneMode):
    """Recipe of one mode, as a user wrote it; it states no derivative in ``fixed`` operands.

    Attributes
    ----------
    functions : tuple of callable
        The second one gives the source of the statement.
    """

    def __init__(self, functions: tuple[Callable[..., Any], ...], fixed: frozenset[int]) -> None:
        self.functions = functions
        self.fixed = fixed

    def stated_in(self, n: int) -> tuple[bool, ...]:
        """Return in which of n operands a derivative is stated: those that are not held fixed."""
        return tuple([i not in self.fixed for i in range(n)])


class PushedRecipe(_Custom):
    """``push(operands, tangents, **options) -> (y, y_dot)``, with one tangent per operand.

    Parameters
    ----------
    primal : callable
        The function that it states a derivative of.
    make : callable
        ``make(*written)`` returns the push, made of the user's functions.
    written : tuple of callable
        The user's functions.
    fixed : frozenset of int
        Indices of operands without a stated derivative.
    instantiate : bool
        Whether an operand without a tangent gets a dense zero, instead of ``ZeroTangent()``.
    """

    constructor = "custom_jvp"
    mode = "forward"

    def __init__(
        self,
        primal: Callable[..., Any],
        make: Callable[..., Callable[..., Any]],
        written: tuple[Callable[..., Any], ...],
        fixed: frozenset[int] = frozenset(),
        instantiate: bool = True,
    ) -> None:
        super().__init__((primal, *written), fixed)
        self.make = make
        self.push = make(*written)
        self.instantiate = instantiate

    def forward(self, request: Request) -> Bound:
        """Bind the function, with zeros for operands without a tangent."""
        refuse_functions(request)
        active = request.active

        def run(tangents: tuple[Any, ...], *xs: Any, **options: Any) -> Any:
            dots = self._dots([space(x) for x in xs], active, tangents)
            return self._pushed(request, xs, dots, options)

        return Bound(request, run)

    def linearize(self, request: Request) -> Bound:
        """Bind a function that runs again for each tangent, with captured names as at the call."""
        refuse_functions(request)
        active, primal = request.active, request.primal

        def run(links: Any, *xs: Any, **options: Any) -> Any:
            frame = self.make(*map(settled, self.functions[1:])), options
            return primal(*xs, **options), (push, links, frame, *xs)

        def push(tangents: tuple[Any, ...], frame: Any, *xs: Any) -> Any:
            written, options = frame
            dots = self._dots([space(x) for x in xs], active, tangents)
            return self._pushed(request, xs, dots, options, push=written)[1]

        annotate(push, request)
        return Bound(request, run)

    def _dots(
        self, spaces: list[Any], active: tuple[int, ...], tangents: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """Return one tangent per operand, in the form that users get."""
        still = ZeroTangent()
        dots = [dense(still, of) if self.instantiate or is_zero(of) else still for of in spaces]
        for i, t in zip(active, tangents, strict=True):
            dots[i] = dense(t, spaces[i])
        return tuple(dots)

    def _pushed(
        self,
        request: Request,
        xs: tuple[Any, ...],
        dots: tuple[Any, ...],
        options: Any,
        push: Callable[..., Any] | None = None,
    ) -> tuple[Any, Any]:
        """Compute the value, and its tangent in canonical form."""
        statement, home = request.statement, request.home

        def run(xs: tuple[Any, ...]) -> tuple[Any, Any]:
            return pair_of((push or self.push)(xs, dots, **options), statement, "(y, y_dot)")

        y, y_dot = run(xs)
        y = y if home is None else home(y, xs)
        check_result(y)
        ts = [t if i in request.active else ZeroTangent() for i, t in enumerate(dots)]
        if (found := once_more(run, xs, ts, y, statement, pushes=True)) is not None:
            y_dot = found[1]
        y_dot = given(y_dot, statement, "y_dot")
        return y, spread_given(canonical(y_dot, space(y), statement), y, dots)


class AugmentedRecipe(_Custom):
    """A pair: ``forward(*operands) -> (y, saved)``, and ``backward(*saved, y_bar)``.

    Parameters
    ----------
    forward : callable
        Takes operands and options; ``saved`` is a tuple.
    backward : callable
        Returns a tuple with one cotangent per operand that is not fixed. It gets the options that
        it names.
    fixed : frozenset of int
        Indices of operands without a stated derivative.
    recompute : bool
        Whether to keep the operands instead of the saved values, and to run ``forward`` again.
    residuals : bool
        Whether the form is ``forward(*operands) -> (y, residuals)``, with residuals of any kind,
        and ``backward(*fixed_operands, residuals, y_bar)``, where None states that a cotangent is
        zero.
    complex : {"adjoint", "jax"} or None
        Whether cotangents of complex numbers are those of the real adjoint, or conjugated as in
        JAX; with None complex numbers are refused.
    """

    mode = "reverse"

    def __init__(
        self,
        forward: Callable[..., Any],
        backward: Callable[..., Any],
        fixed: frozenset[int] = frozenset(),
        recompute: bool = False,
        residuals: bool = False,
        complex: str | None = "adjoint",
    ) -> None:
        super().__init__((forward, backward), fixed)
        self.complex = complex
        self.augmented = forward
        self.backward = backward
        self.options = parameters_of(backward).keyword_only
        self.recompute = recompute
        self.residuals = residuals
        self.constructor = "custom_vjp" if residuals else "augmented_rule"

    def reverse(self, request: Request) -> Bound:
        """Bind the pair; the backward function sees its closure and defaults as at the call."""
        active, statement = request.active, request.statement
        told, wanted = asks_wanted(self.augmented, statement.primal), {"wanted": request.wanted}
        n, m = len(request.operands), len(self.options)
        closures = functions_in(request)

        def run(links: Any, *xs: Any, **options: Any) -> Any:
            backward = settled(self.backward)
            if self.fixed:
                xs = tuple([settled(x) if i in self.fixed else x for i, x in enumerate(xs)])
            given = options | wanted if told else options
            y, saved, of, onto = self._augmented(request, xs, given)
            again = whole = None
            if whole_operands(xs):
                whole = settled(self.augmented), given, xs, y
            if self.recompute:
                again, saved = (settled(self.augmented), given), xs
            # Flat, so that an engine sees which arrays the record holds, and spaces hold none.
            leaves, tree = saved, None
            if any([is_structure_type(type(part)) for part in saved]):
                leaves, tree = flatten(saved)
            named = [options[k] if k in options else wanted[k] for k in self.options]
            made = again, whole, tree
            return y, (pull, links, backward, made, of, *onto, *named, *leaves)

        def pull(y_bar: Any, backward: Any, made: Any, of: Any, *kept: Any) -> Any:
            again, whole, tree = made
            onto, named, kept = kept[:n], kept[n : n + m], kept[n + m :]
            saved = kept if tree is None else unflatten(tree, kept)
            if again is not None:
                augmented, given = again
                _, saved = self._pair(statement, saved, augmented(*saved, **given))
            options = dict(zip(self.options, named, strict=True))
            rest = (y_bar, of), onto, options
            bars = self._pulled(statement, backward, saved, *rest)
            if whole is not None:
                augmented, given, xs, y = whole

                def in_reals(reals: tuple[Any, ...]) -> list[Any]:
                    _, saved = self._pair(statement, reals, augmented(*reals, **given))
                    return self._pulled(statement, backward, saved, *rest)

                found = once_more(in_reals, xs, bars, y, statement)
                bars = bars if found is None else found
            for i in closures:
                flowing(bars[i], statement)
            return bars[active[0]] if len(active) == 1 else tuple([bars[i] for i in active])

        annotate(pull, request)
        return Bound(request, run, may_be_zero=True)

    def _augmented(self, request: Request, xs: tuple[Any, ...], options: Any) -> Any:
        """Compute the value, the saved values, and the spaces."""
        statement, home = request.statement, request.home
        y, saved = self._pair(statement, xs, self.augmented(*xs, **options))
        y = y if home is None else home(y, xs)
        check_result(y)
        of, onto = space(y), [space(x) for x in xs]
        if self.complex is None:
            free = [to for i, to in enumerate(onto) if i not in self.fixed]
            if any([leaf.kind == "complex" for leaf in opened([of, *free])[0]]):
                raise NotDifferentiableError(
                    f"{statement!r} does not say what its cotangents of complex numbers are, and "
                    f"meets {describe(xs)}, {describe(y)}; write complex='adjoint' if they are "
                    f"the adjoint, as everywhere here, or complex='jax' for its conjugate"
                )
        return y, saved, of, onto

    def _pair(self, statement: Statement, xs: tuple[Any, ...], answer: Any) -> Any:
        """Split the result of the forward function into the value and the saved values."""
        if isinstance(answer, tuple) and len(answer) == 2:
            y, saved = answer
            if self.residuals:
                return y, (*[x for i, x in enumerate(xs) if i in self.fixed], saved)
            if isinstance(saved, tuple):
                return y, saved
        what = "the residuals" if self.residuals else "a tuple of what is saved"
        raise RuleError(
            f"the forward half of {statement!r} has to return the value and {what}, "
            f"and returned {describe(answer)}"
        )

    def _pulled(
        self,
        statement: Statement,
        backward: Callable[..., Any],
        saved: tuple[Any, ...],
        y_bar: tuple[Any, Any],
        onto: Sequence[Any],
        options: dict[str, Any],
    ) -> list[Any]:
        """Compute a cotangent per operand, in its space, from that of the value and its space."""
        bar, of = y_bar
        whole = dense(conjugated(bar) if self.complex == "jax" else bar, of)
        try:
            bars = backward(*saved, whole, **options)
        except TracerError as error:
            for name in captured((backward,)):
                error.add_note(f"{name} is not an operand; pass it as one, or save it")
            raise
        places = [i for i in range(len(onto)) if i not in self.fixed]
        if not isinstance(bars, tuple) or len(bars) != len(places):
            raise RuleError(
                f"{statement.source!r} has to return a tuple of {len(places)}, one cotangent for "
                f"each operand that is not held fixed, and returned {describe(bars)}"
            )
        found: list[Any] = [NoTangent()] * len(onto)
        for i, bar in zip(places, bars, strict=True):
            if bar is None and self.residuals:
                bar = ZeroTangent()
            bar = canonical(given(bar, statement, "a cotangent"), onto[i], statement)
            try:
                found[i] = project(conjugated(bar) if self.complex == "jax" else bar, onto[i])
            except ProjectionError as error:
                error.add_note(f"the cotangent of operand {i}, from {statement.source!r}")
                raise
        return found
