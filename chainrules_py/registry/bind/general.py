"""Binding statements that compute the value themselves: `rule`, and the two written-out forms."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from chainrules_py.errors import NotDifferentiableError, ProjectionError, RuleError, describe
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.primitives.signature import parameters_of
from chainrules_py.registry.bind.batch import aligned, batched, one_by_one
from chainrules_py.registry.bind.bind import Bound, Recipe, Request, annotate
from chainrules_py.registry.bind.given import checked_map, flowing, functions_in, refuse_functions
from chainrules_py.registry.bind.reals import (
    NOT_REAL,
    as_counts,
    either_of,
    either_pull,
    maps_of_reals,
    once_more,
)
from chainrules_py.registry.bind.transpose import OneMode
from chainrules_py.registry.statement import Statement
from chainrules_py.tangents.arithmetic import add_tangents, canonicalize
from chainrules_py.tangents.boundary import project_exactly
from chainrules_py.tangents.keys import keyed, known, reading
from chainrules_py.tangents.linear_map import LinearMap, PullInto
from chainrules_py.tangents.promotion import Whole, counts, real_numbers
from chainrules_py.tangents.space import (
    Space,
    StructureSpace,
    fit,
    known_space,
    mirrored,
    project,
    space,
    spread_all,
    spread_given,
    zero_tangent,
)
from chainrules_py.tangents.thunks import Thunk, unthunk
from chainrules_py.tangents.zeros import (
    AbstractTangent,
    NoTangent,
    NotImplementedTangent,
    ZeroTangent,
    is_zero,
)
from chainrules_py.values.type_info import fuser_of, type_info


class _Written(Recipe):
    """A function that a person wrote.

    It may ask for the engine's config in front, and by an option ``wanted`` that its primal has
    not, for which operands a derivative is asked: one truth value for each.
    """

    is_written = True

    def __init__(
        self,
        function: Callable[..., Any],
        with_config: bool,
        batched: Any = False,
        whole: bool = False,
        always: bool = False,
    ) -> None:
        self.function = function
        self.functions = (function,)
        self.with_config = with_config
        self.batched = batched
        self.whole = whole
        self.always = always

    def _function(self, request: Request) -> Callable[..., Any]:
        found = self.function
        if self.with_config:
            found = functools.partial(found, request.config)
        if asks_wanted(self.function, request.statement.primal):
            found = functools.partial(found, wanted=request.wanted)
        return found

    def _is_ours(self, statement: Statement) -> bool:
        """Tell whether a rule sees to whole numbers itself; what asks the engine leaves them."""
        return statement.source.is_ours or self.with_config


class GeneralRecipe(_Written):
    """A function that gives the value and one `LinearMap` per operand."""

    pen = "rule"

    def _stated(self, request: Request) -> Callable[..., Any]:
        """Build what calls the function, checks what it gives, and has it read real numbers.

        The value is that of the operands as they are. Maps are those of real numbers: what they
        compute of whole ones may wrap where the value does not. What gets no map may be an index.
        """
        stated, statement, n = self._function(request), request.statement, len(request.operands)
        infos = [type_info(cls) for cls in request.operands]
        known = [i.namespace is not None and (i.is_array or i.is_number) for i in infos]
        tests = [(i, Whole(infos[i].dispatch_type)) for i, k in enumerate(known) if k]
        if self.whole or self.with_config:  # what asks the engine leaves its numbers to others
            tests = []
        functions, home = functions_in(request), request.home
        ours = statement.source.is_ours

        def answer(xs: tuple[Any, ...], options: dict[str, Any]) -> Any:
            given = stated(*xs, **options)
            maps: Any = given[1] if type(given) is tuple and len(given) == 2 else None
            if type(maps) is not tuple or len(maps) != n or not _MAPS.issuperset(map(type, maps)):
                given = _checked(statement, given, n)
            if home is not None:
                given = home(given[0], xs), given[1]
            if not ours and (fields := keyed(given[0])) is not None:
                told = [
                    LinearMap(m.push, reading(m.pull, fields), *m.saved)
                    if type(m) is LinearMap
                    else m
                    for m in given[1]
                ]
                given = given[0], tuple(told)
            if functions:
                told = [checked_map(m, statement, i in functions) for i, m in enumerate(given[1])]
                given = given[0], tuple(told)
            for i, whole in tests:
                if whole[xs[i].dtype]:
                    return given[0], of_reals(given[0], given[1], xs, options)
            return given

        def of_reals(y: Any, maps: Any, xs: tuple[Any, ...], options: dict[str, Any]) -> Any:
            reals = [*xs]
            for i, whole in tests:
                if whole[xs[i].dtype]:
                    read = real_numbers if type(maps[i]) is LinearMap else counts
                    reals[i] = read(xs[i], y)
            if all([a is b for a, b in zip(xs, reals, strict=True)]):
                return maps

            def again() -> Any:
                return _checked(statement, stated(*reals, **options), n)

            return again()[1] if ours else maps_of_reals(y, maps, again)

        return answer

    def forward(self, request: Request) -> Bound:
        """Bind the sum of the pushes."""
        stated, statement, active = self._stated(request), request.statement, request.active
        spread = _spreading(statement)

        def run(tangents: tuple[Any, ...], *xs: Any, **options: Any) -> Any:
            y, maps = stated(xs, options)
            y_dot: Any = ZeroTangent()
            for i, t in zip(active, tangents, strict=True):
                m = maps[i]
                if type(m) is not LinearMap or is_zero(t):
                    continue
                term = unthunk(_half(m.push, "push", statement)(unthunk(t), *m.saved))
                if type(term) is tuple or type(term) is type(y):
                    term = canonicalize(y, term)
                y_dot = add_tangents(y_dot, term)
            if is_zero(y_dot) and is_zero(space(y)):  # a boolean, which has no tangent at all
                return y, space(y)
            return y, spread(y_dot, y, tangents)

        return Bound(request, run)

    def linearize(self, request: Request) -> Bound:
        """Bind the sum of the pushes, each with its saved values."""
        stated, statement, align = self._stated(request), request.statement, self.batched
        active = request.active
        spread = _spreading(statement)

        def alone(t: Any, half: Any, y: Any, *saved: Any) -> Any:
            term = unthunk(half(t, *saved))
            return mirrored(term, y) if type(y) is StructureSpace else term

        def alone_many(t: Any, half: Any, y: Any, *saved: Any) -> Any:
            if align == "broadcast":
                parts = y.fields.values() if type(y) is StructureSpace else (y,)
                t = aligned(t, max([part.ndim for part in parts]))
            return alone(t, half, y, *saved)

        def make(alone: Callable[..., Any], batch: int) -> Any:
            def push(tangents: tuple[Any, ...], y: Any, *kept: Any) -> Any:
                y_dot: Any = ZeroTangent()
                for t, (half, saved) in zip(tangents, kept, strict=True):
                    if not (is_zero(half) or is_zero(t)):
                        term = alone(unthunk(t), half, y, *saved)
                        # Behind an axis of directions, terms do not broadcast against each other.
                        term = spread(term, y, tangents, batch=batch) if batch else term
                        y_dot = add_tangents(y_dot, term)
                return y if is_zero(y) else spread(y_dot, y, tangents, batch=batch)

            return push

        many = make(alone_many if self.batched else one_by_one(alone), 1)
        push = annotate(make(alone, 0), request, batched=many)

        def keep(m: Any) -> tuple[Any, tuple[Any, ...]]:
            return (_half(m.push, "push", statement), m.saved) if type(m) is LinearMap else (m, ())

        def run(links: Any, *xs: Any, **options: Any) -> Any:
            y, maps = stated(xs, options)
            return y, (push, links, known_space(y), *[keep(maps[i]) for i in active])

        return Bound(request, run)

    def both(self, request: Request) -> Bound:
        """Pushes and pulls of one run; a half that nobody stated is missed when it is asked for."""
        stated, statement, active = self._stated(request), request.statement, request.active
        spread = _spreading(statement)

        def push(tangents: tuple[Any, ...], y: Any, *kept: Any) -> Any:
            y_dot: Any = ZeroTangent()
            for t, (half, _, saved, _) in zip(tangents, kept, strict=True):
                if not (is_zero(half) or is_zero(t)):
                    term = unthunk(_half(half, "push", statement)(unthunk(t), *saved))
                    term = mirrored(term, y) if type(y) is StructureSpace else term
                    y_dot = add_tangents(y_dot, term)
            return y if is_zero(y) else spread(y_dot, y, tangents)

        def pull_one(y_bar: Any, half: Any, saved: Any, onto: Any) -> Any:
            if is_zero(half):
                return half
            return fit(unthunk(_half(half, "pull", statement)(y_bar, *saved)), onto)

        def pull(y_bar: Any, y: Any, *kept: Any) -> Any:
            return tuple([pull_one(y_bar, half, saved, onto) for _, half, saved, onto in kept])

        def keep(m: Any, x: Any) -> tuple[Any, Any, tuple[Any, ...], Any]:
            if type(m) is not LinearMap:
                return m, m, (), None
            return m.push, m.pull, m.saved, space(x)

        annotate(push, request)
        annotate(pull, request)

        def run(links: Any, *xs: Any, **options: Any) -> Any:
            y, maps = stated(xs, options)
            return y, (push, pull, known_space(y), *[keep(maps[i], xs[i]) for i in active])

        return Bound(request, run, may_be_zero=True)

    def reverse(self, request: Request) -> Bound:
        """Bind the pulls, each with its saved values."""
        stated, statement, active = self._stated(request), request.statement, request.active

        def pull_one(y_bar: Any, half: Any, onto: Any, *saved: Any) -> Any:
            bar = fit(half(y_bar, *saved), onto)
            return unthunk(bar) if isinstance(bar, Thunk) else bar

        def pull_many(y_bar: Any, half: Any, onto: Any, *saved: Any) -> Any:
            return fit(unthunk(half(y_bar, *saved)), onto, batch=1)

        if (fuser := fuser_of(request.operands)) is not None:
            lazily = fuser.lazily

            def pull_one(y_bar: Any, half: Any, onto: Any, *saved: Any) -> Any:
                if half is _nothing:
                    return half(y_bar, *saved)
                return fit(unthunk(lazily(half, y_bar, *saved)), onto)

        def make(pull_one: Callable[..., Any]) -> Any:
            def pull_several(y_bar: Any, *kept: Any) -> Any:
                return tuple([pull_one(y_bar, half, onto, *saved) for half, onto, saved in kept])

            return pull_several

        def alone(k: int) -> Any:
            return lambda y_bar, *kept: pull_one(y_bar, kept[k][0], kept[k][1], *kept[k][2])

        one = annotate(pull_one, request, batched=pull_many if self.batched else None)
        parts = tuple([alone(k) for k in range(len(active))])
        several = annotate(make(pull_one), request, parts, batched=make(batched(one)))

        def keep(m: Any, x: Any) -> tuple[Any, Any, tuple[Any, ...]]:
            if type(m) is not LinearMap:
                return _nothing, None, (m,)
            return _half(m.pull, "pull", statement), space(x), m.saved

        def run(links: Any, *xs: Any, **options: Any) -> Any:
            y, maps = stated(xs, options)
            return y, (several, links, *[keep(maps[i], xs[i]) for i in active])

        place = active[0]
        own = type_info(request.operands[place]).library.half

        def run_alone(links: Any, *xs: Any, **options: Any) -> Any:
            y, maps = stated(xs, options)
            m = maps[place]
            if type(m) is LinearMap and m.pull is not None:
                half = own.get(m.pull, m.pull)
                half = half if m.pull_into is None else PullInto(half, m.pull_into)
                return y, (one, links, half, space(xs[place]), *m.saved)
            half, onto, saved = keep(m, xs[place])
            return y, (one, links, half, onto, *saved)

        return Bound(request, run_alone if len(active) == 1 else run, may_be_zero=True, maps=stated)


def _spreading(statement: Statement) -> Callable[..., Any]:
    """Return what brings a tangent to the result: a person's is checked."""
    if not statement.source.is_ours:
        return spread_given
    return lambda y_dot, y, _, batch=0: spread_all(y_dot, y, batch=batch)


def _nothing(y_bar: Any, zero: Any) -> Any:
    """Return zero: the pull of an operand that nothing flows to."""
    return zero


class FruleRecipe(_Written, OneMode):
    """``frule(tangents, *operands) -> (y, y_dot)``, written out."""

    pen = "frule.register"
    mode = "forward"

    def later(self, primal: Primitive[..., Any], mode: str) -> tuple[Any, ...]:
        """Return the function, which is run once more for each tangent."""
        return self.functions

    def forward(self, request: Request) -> Bound:
        """Bind the function, with a zero for each operand that has no tangent."""
        frule, statement, active = self._function(request), request.statement, request.active
        if not self.with_config:
            refuse_functions(request)
        home, ours = request.home, self._is_ours(statement)
        dense = False  # whether the function asks more of a zero than that it adds and scales

        def run(tangents: tuple[Any, ...], *xs: Any, **options: Any) -> Any:
            nonlocal dense
            zero = zero_tangent if dense else lambda _: ZeroTangent()
            slots = [NoTangent() if is_zero(space(x)) else zero(x) for x in xs]
            for i, t in zip(active, tangents, strict=True):
                slots[i] = known(unthunk(t), xs[i])
            try:
                answer = frule(tuple(slots), *xs, **options)
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                if zero is not zero_tangent and any(map(is_zero, slots)):
                    dense = True
                    return run(tangents, *xs, **options)
                error.add_note(f"{statement!r} takes a tuple of tangents first, one per operand")
                raise
            y, y_dot = pair_of(answer, statement, "(y, y_dot)")
            y = y if home is None else home(y, xs)
            if not ours:
                again = lambda reals: pair_of(frule(tuple(slots), *reals, **options), statement, "")
                if (found := once_more(xs, y, again)) is not None:
                    y_dot = either_of(found[0], found[1], y_dot)
            y_dot, of = given(y_dot, statement), space(y)
            if type(of) is not Space or isinstance(y_dot, AbstractTangent):
                return y, spread_all(y_dot, y)
            try:  # a person's, whose shape is that of the result: a sum over it would be wrong
                return y, project_exactly(canonicalize(y, y_dot), of)
            except ProjectionError as error:
                error.add_note(f"given by {statement!r} as the tangent of its result {describe(y)}")
                raise

        return Bound(request, run)


class RruleRecipe(_Written, OneMode):
    """``rrule(*operands) -> (y, pullback)``, written out."""

    pen = "rrule.register"
    mode = "reverse"

    def reverse(self, request: Request) -> Bound:
        """Bind the function, whose pullback is saved as a whole."""
        rrule, statement = self._function(request), request.statement
        active, n, functions = request.active, len(request.operands), functions_in(request)
        home, ours = request.home, self._is_ours(statement)

        def of(i: int, bars: Any, onto: Any) -> Any:
            bar = given(bars[i], statement)
            return project(flowing(bar, statement) if i in functions else bar, onto)

        def pull(y_bar: Any, pullback: Any, *spaces: Any) -> Any:
            bars = pullback(y_bar)
            if not isinstance(bars, tuple) or len(bars) != n:
                msg = (
                    f"the pullback of {statement!r} has to return a tuple of {n}, "
                    f"and returned {describe(bars)}"
                )
                raise RuleError(msg)
            found = [of(i, bars, onto) for i, onto in zip(active, spaces, strict=True)]
            return found[0] if len(active) == 1 else tuple(found)

        def alone(k: int) -> Any:
            def pull_one(y_bar: Any, pullback: Any, *spaces: Any) -> Any:
                return of(active[k], pullback(y_bar), spaces[k])

            return pull_one

        annotate(pull, request, tuple([alone(k) for k in range(len(active))]))

        def run(links: Any, *xs: Any, **options: Any) -> Any:
            answer = rrule(*xs, **options)
            if not (isinstance(answer, tuple) and len(answer) == 2 and callable(answer[1])):
                msg = f"{statement!r} has to return (y, pullback), and returned {describe(answer)}"
                raise RuleError(msg)
            y, pullback = answer
            y = y if home is None else home(y, xs)
            if not ours:
                again = lambda xs: rrule(*xs, **options)
                if (found := once_more(xs, y, again)) is not None:
                    reals = _either(found[1], again, as_counts(xs))
                    pullback = either_pull(found[0], reals, pullback)
            if (fields := keyed(y)) is not None:
                pullback = reading(pullback, fields)
            return y, (pull, links, pullback, *[space(xs[i]) for i in active])

        return Bound(request, run, may_be_zero=True)


def _either(pullback: Any, again: Callable[..., Any], xs: tuple[Any, ...]) -> Any:
    """Return a pullback of real numbers, which may need whole ones: for places, say."""

    def either(y_bar: Any) -> Any:
        try:
            return pullback(y_bar)
        except NOT_REAL:
            return again(xs)[1](y_bar)

    return either


def _half(half: Any, name: str, statement: Statement) -> Any:
    if half is None:
        msg = (
            f"{statement!r} gives a LinearMap without {name}; "
            f"state that half, or use the other mode"
        )
        raise NotDifferentiableError(msg)
    return half


_MAPS = frozenset((LinearMap, NoTangent, ZeroTangent))


def _checked(statement: Statement, answer: Any, n: int) -> Any:
    """Return an answer, which has to have a map for each operand."""
    if not (
        isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], (tuple, list))
    ):
        msg = (
            f"{statement!r} has to return (y, (one LinearMap per operand)), "
            f"and returned {describe(answer)}"
        )
        raise RuleError(msg)
    maps = answer[1]
    if len(maps) != n or not all([type(m) in _MAPS or _is_missing(m) for m in maps]):
        shown = ", ".join(type(m).__name__ for m in maps)
        msg = (
            f"{statement!r} gives {len(maps)} maps ({shown}) for {n} operands; "
            f"it has to give one LinearMap, or NoTangent(), for each"
        )
        raise RuleError(msg)
    # What nobody has stated, or what is undefined, is so in both directions.
    told = [LinearMap(_reason, _reason, m) if _is_missing(m) else m for m in maps]
    return answer[0], tuple(told)


def _is_missing(m: Any) -> bool:
    return isinstance(m, NotImplementedTangent)


def _reason(_t: Any, reason: Any) -> Any:
    return reason


def given(t: Any, statement: Statement, what: str = "a tangent") -> Any:
    """Return what a person's function gave, thunks computed; None is refused."""
    if t is None:
        msg = (
            f"{statement!r} gave None for {what}; write ZeroTangent(), or NoTangent() for what "
            f"cannot be perturbed"
        )
        raise ProjectionError(msg)
    return unthunk(t)


def asks_wanted(function: Callable[..., Any], primal: Primitive[..., Any]) -> bool:
    """Tell whether a rule asks for which operands a derivative is wanted, by ``wanted``."""
    return "wanted" in parameters_of(function).keyword_only and "wanted" not in primal.options


def pair_of(answer: Any, statement: Statement, shown: str) -> tuple[Any, Any]:
    """Return a person's answer, which has to be a pair."""
    if not (isinstance(answer, tuple) and len(answer) == 2):
        msg = f"{statement!r} has to return {shown}, and returned {describe(answer)}"
        raise RuleError(msg)
    return answer
