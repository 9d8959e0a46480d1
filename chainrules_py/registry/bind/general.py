"""Binding of statements that compute the value themselves: `rule`, and written-out forms."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from chainrules_py.errors import (
    NoRuleError,
    NotDifferentiableError,
    ProjectionError,
    RuleError,
    describe,
)
from chainrules_py.ops.elementwise import conj, multiply, real, strong_multiply
from chainrules_py.ops.higher_order import transposed
from chainrules_py.primitives.closures.convert import Closure, HigherOrder, Operator
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.primitives.signature import parameters_of
from chainrules_py.registry.bind.batched_tangents import aligned, batched, direction
from chainrules_py.registry.bind.bind import (
    Bound,
    Halves,
    Recipe,
    Request,
    SharedRun,
    annotate,
    counts,
)
from chainrules_py.registry.bind.elementwise_pulls import check_product, form
from chainrules_py.registry.statement_and_rule import Statement
from chainrules_py.tangents.arithmetic import add_tangents, canonicalize
from chainrules_py.tangents.linear_map import LinearMap, PullInto
from chainrules_py.tangents.primal_promotion import real_numbers, whole_of
from chainrules_py.tangents.primal_results import check_result, known_results
from chainrules_py.tangents.space import (
    Space,
    StructureSpace,
    check_shape,
    fit,
    kind_of,
    known_space,
    mirrored,
    space,
    spread,
    spread_given,
    with_dtype,
    zero_tangent,
)
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.sum_to_shape import unbroadcast
from chainrules_py.tangents.thunks import Thunk, unthunk
from chainrules_py.tangents.user_tangent_checks import project_exactly
from chainrules_py.tangents.zeros import (
    ZERO,
    ZEROS,
    AbstractTangent,
    NoTangent,
    NotImplementedTangent,
    ZeroTangent,
    is_zero,
)
from chainrules_py.values.pytree import flatten, map_leaves
from chainrules_py.values.structure import is_structure_type
from chainrules_py.values.type_info import type_info


class _Written(Recipe):
    """A function that a user wrote.

    It may take the engine's config first, and an option ``wanted`` that its primal lacks: one
    truth value per operand, whether its derivative is wanted.
    """

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
        self.with_config, self.batched = with_config, batched
        self.whole = whole
        self.always = always

    def _function(self, request: Request) -> Callable[..., Any]:
        found = self.function
        if self.with_config:
            found = functools.partial(found, request.config)
        if asks_wanted(self.function, request.statement.primal):
            found = functools.partial(found, wanted=request.wanted)
        return found

    def _tests(self, request: Request) -> list[tuple[int, Any]]:
        """List the operands that may hold integers, with the test of their dtypes.

        A Python integer, which only a user's rule needs as a float, has None for a test. The list
        is empty for a rule that takes the config.
        """
        if self.with_config or self.whole:
            return []
        ours = request.statement.source.is_ours
        kept = counts(request.statement, len(request.operands))
        return [
            (i, None if info.dispatch_type is int else whole_of(info.dispatch_type))
            for i, info in enumerate(map(type_info, request.operands))
            if i not in kept
            and (
                not ours
                if info.dispatch_type is int
                else info.namespace is not None and (info.is_array or info.is_number)
            )
        ]


class GeneralRecipe(_Written, SharedRun):
    """A function that returns the value and one `LinearMap` per operand."""

    constructor = "rule"

    def _stated(self, request: Request) -> Callable[..., Any]:
        """Build a function that calls the rule, checks its result and handles integer operands."""
        stated, statement, n = self._function(request), request.statement, len(request.operands)
        tests = self._tests(request)
        functions, home = functions_in(request), request.home

        def answer(xs: tuple[Any, ...], options: dict[str, Any]) -> Any:
            given = stated(*xs, **options)
            maps: Any = given[1] if type(given) is tuple and len(given) == 2 else None
            if type(maps) is not tuple or len(maps) != n or not _MAPS.issuperset(map(type, maps)):
                given = _checked(statement, given, n)
            y = given[0]
            if home is not None:
                y = home(y, xs)
                given = y, given[1]
            if (type(y), getattr(y, "dtype", None)) not in known_results:
                check_result(y)
                if is_structure_type(type(y)):
                    of = space(y)
                    maps = [
                        LinearMap(m.push, reading_by_keys(m.pull, of), *m.saved)
                        if type(m) is LinearMap
                        else m
                        for m in given[1]
                    ]
                    given = y, tuple(maps)
            if functions:
                told = [
                    map_of_function(m, statement) if i in functions else m
                    for i, m in enumerate(given[1])
                ]
                given = given[0], tuple(told)
            for i, whole in tests:
                if whole is None or whole[xs[i].dtype]:
                    again = lambda reals: _checked(statement, stated(*reals, **options), n)[1]
                    maps = once_more(again, xs, given[1], given[0], statement)
                    return given if maps is None else (given[0], maps)
            return given

        return answer

    def forward(self, request: Request) -> Bound:
        """Bind the sum of the pushes; an array serves as its own space, which saves a call."""
        stated, active, (push, _, _) = self._stated(request), request.active, self.halves(request)

        def run(tangents: tuple[Any, ...], *xs: Any, **options: Any) -> Any:
            y, maps = stated(xs, options)
            kept = []
            for i in active:
                m = maps[i]
                kept.append((m.push, m.pull, m.saved) if type(m) is LinearMap else (m, m, ()))
            return y, push(tangents, y if type(y) in with_dtype else space(y), *kept)

        return Bound(request, run)

    def halves(self, request: Request) -> Halves:
        """Return ``push``, which sums the pushes, ``pull`` and ``save``: see `Halves`."""
        stated, statement, active = self._stated(request), request.statement, request.active

        def make(batch: int) -> Any:
            align, near = batch and self.batched == "broadcast", compares(request)

            def push(tangents: tuple[Any, ...], y: Any, *kept: Any) -> Any:
                y_dot: Any = ZERO
                t: Any = ZERO
                for t, (half, _, saved) in zip(tangents, kept, strict=True):
                    if type(t) in ZEROS or type(half) in ZEROS:
                        continue
                    t = aligned(unthunk(t), _axes(y)) if align else t() if type(t) is Thunk else t
                    term = (half or _half(None, "push", statement))(t, *saved)
                    if term is None or isinstance(term, AbstractTangent):
                        term = given(term, statement)
                    # A term like its tangent broadcasts as its operand does; any other is whole.
                    elif getattr(term, "shape", None) not in (None, getattr(t, "shape", ())):
                        check_shape(term.shape[batch:], y, statement)
                    if type(y) is StructureSpace:
                        term = mirrored(term, y)
                    if batch:  # terms do not broadcast against each other behind the batch axis
                        term = spread_given(term, y, tangents, batch=batch)
                    y_dot = term if y_dot is ZERO else add_tangents(y_dot, term)
                dtype = getattr(y, "dtype", 0)
                alike = near and getattr(y_dot, "dtype", None) is dtype is getattr(t, "dtype", 0)
                if alike and y_dot.shape[batch:] == y.shape:  # pyright: ignore[reportAttributeAccessIssue]
                    return y_dot
                of = y if is_zero(y) else known_space(y)
                return of if is_zero(of) else spread_given(y_dot, of, tangents, batch=batch)

            return push

        def pull(y_bar: Any, _: Any, *kept: Any) -> Any:
            return [
                half if is_zero(half) else _half(half, "pull", statement)(y_bar, *saved)
                for _, half, saved in kept
            ]

        def save(xs: tuple[Any, ...], options: dict[str, Any]) -> Any:
            y, maps = stated(xs, options)
            kept = [
                (m.push, m.pull, m.saved) if type(m) is LinearMap else (m, m, ())
                for m in [maps[i] for i in active]
            ]
            return y, (known_space(y), *kept)

        return annotate(make(0), request, batched=make(1) if self.batched else None), pull, save

    def reverse(self, request: Request) -> Bound:
        """Bind the pulls, each with its saved values."""
        stated, statement, active = self._stated(request), request.statement, request.active
        one, several = _pulls()

        def pull_many(y_bar: Any, half: Any, onto: Any, *saved: Any) -> Any:
            onto = space(direction(y_bar, 0)) if onto is None else onto
            return fit(unthunk(half(y_bar, *saved)), onto, batch=1)

        def alone(k: int) -> Any:
            return lambda y_bar, *kept: one(y_bar, kept[k][0], kept[k][1], *kept[k][2])

        def many(y_bar: Any, *kept: Any) -> Any:
            return tuple([batched(one)(y_bar, half, onto, *saved) for half, onto, saved in kept])

        # The first pull is ``given`` what the last returns, if it says so: ``pull.after`` is that.
        def joint(y_bar: Any, first: Any, last: Any) -> Any:
            bar = last[0](y_bar, *last[2])
            a_bar = brought(first[0].given(bar, *first[2]), y_bar, first[1])
            return a_bar, brought(bar, y_bar, last[1])

        annotate(one, request, batched=pull_many if self.batched else None)
        for pull in (several, joint):
            annotate(pull, request, tuple([alone(k) for k in range(len(active))]), batched=many)

        near, alone_in = compares(request), len(active) == 1
        own: Any = type_info(request.operands[active[0]]).library.half if alone_in else {}

        def run(links: Any, *xs: Any, **options: Any) -> Any:
            y, maps = stated(xs, options)
            kept: list[Any] = []
            for i in active:
                m, x = maps[i], xs[i]
                if type(m) is not LinearMap:
                    kept.append((_saved, None, (m,)))
                    continue
                half = own.get(m.pull, m.pull) if own else m.pull
                if half is None:
                    half = _half(half, "pull", statement)
                alike = near and getattr(y, "dtype", None) is getattr(x, "dtype", 0)
                if alone_in and m.pull_into is not None:
                    half, alike = PullInto(half, m.pull_into), False
                same = alike and y.shape == x.shape
                of = None if same else NUMBER if type(x) is float else space(x)
                kept.append((half, of, m.saved))
            if alone_in:
                return y, (one, links, kept[0][0], kept[0][1], *kept[0][2])
            together = getattr(kept[0][0], "after", None) is kept[1][0]
            return y, (joint if together else several, links, *kept)

        return Bound(request, run, may_be_zero=True, is_plain=True, maps=stated)


def _pulls() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Make the pulls of one map and of several, anew for each rule, as they are annotated.

    Where ``onto`` is None, the operand has the space of the result, which is that of ``y_bar``.
    """

    def one(y_bar: Any, half: Any, onto: Any, *saved: Any) -> Any:
        bar = half(y_bar, *saved)
        if onto is None and type(bar) is type(y_bar) and form(bar) == form(y_bar):
            return bar
        return bar if onto is NUMBER and type(bar) is float else brought(bar, y_bar, onto)

    def several(y_bar: Any, *kept: Any) -> Any:
        bars = []
        for half, onto, saved in kept:  # inlined from `one`: saves a call per operand
            bar = half(y_bar, *saved)
            if (onto is None and type(bar) is type(y_bar) and form(bar) == form(y_bar)) or (
                onto is NUMBER and type(bar) is float
            ):
                bars.append(bar)
            else:
                bars.append(brought(bar, y_bar, onto))
        return tuple(bars)

    return one, several


def _axes(y: Any) -> int:
    """Return the largest number of axes among the parts of a result."""
    parts: Any = y.fields.values() if type(y) is StructureSpace else (y,)
    return max([int(of.ndim) for of in parts])


def _saved(_t: Any, value: Any) -> Any:
    """Return what was saved: zero where no derivative flows, or the reason that there is none."""
    return value


class OneMode(Recipe):
    """Recipe of one ``mode``, as written: a subclass has the method of that mode."""

    mode: str

    def reverse(self, request: Request) -> Bound:
        """Bind the transpose of the push."""
        return transposed(self, request)  # type: ignore[no-any-return]

    def linearize(self, request: Request) -> Bound:
        """Bind the transpose of the pull, or one more run of the push for each tangent."""
        if self.mode == "forward":
            return super().linearize(request)
        return transposed(self, request)  # type: ignore[no-any-return]


class FruleRecipe(_Written, OneMode):
    """``frule(tangents, *operands) -> (y, y_dot)``, written out."""

    constructor = "frule.register"
    mode = "forward"

    # In one function: an extra call costs a tenth of a rule.
    def forward(self, request: Request) -> Bound:  # noqa: C901
        """Bind the function, with a zero for each operand that has no tangent."""
        frule, statement = self._function(request), request.statement
        if not self.with_config:
            refuse_functions(request)
        home, tests, near = request.home, self._tests(request), compares(request)
        # Whether the rule needs dense zeros, as it does not only add and scale them.
        wanted, dense = request.wanted, False

        def run(tangents: tuple[Any, ...], *xs: Any, **options: Any) -> Any:
            nonlocal dense
            slots: list[Any] = []
            given_tangents = iter(tangents)
            for x, w in zip(xs, wanted, strict=True):
                if not w:
                    of = space(x)
                    slots.append(of if is_zero(of) else zero_tangent(x) if dense else ZERO)
                elif isinstance(t := next(given_tangents), AbstractTangent):
                    slots.append(as_read(unthunk(t), space(x)))
                else:
                    slots.append(t)
            try:
                answer = frule(tuple(slots), *xs, **options)
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                if not dense and any(map(is_zero, slots)):
                    dense = True
                    return run(tangents, *xs, **options)
                error.add_note(f"{statement!r} takes a tuple of tangents first, one per operand")
                raise
            if type(answer) is not tuple or len(answer) != 2:
                answer = pair_of(answer, statement, "(y, y_dot)")
            y, y_dot = answer
            y = y if home is None else home(y, xs)
            if (type(y), getattr(y, "dtype", None)) not in known_results:
                check_result(y)
            for i, whole in tests:
                if whole is None or whole[xs[i].dtype]:
                    again = lambda xs: pair_of(frule(tuple(slots), *xs, **options), statement, "")
                    found = once_more(again, xs, slots, y, statement, pushes=True)
                    y_dot = y_dot if found is None else found[1]
                    break
            if near and type(y_dot) is type(y):
                dtype = getattr(y, "dtype", 0)
                alike = getattr(y_dot, "dtype", None) is dtype and y_dot.shape == y.shape
                if type(y) is float or (alike and not whole_of(type(y))[dtype]):
                    return y, y_dot
            y_dot, of = given(y_dot, statement), space(y)
            try:  # a user's tangent has the shape of the result: summing it would be wrong
                if type(of) is not Space or isinstance(y_dot, AbstractTangent):
                    return y, spread(y_dot, y)
                return y, project_exactly(canonicalize(y, y_dot), of)
            except ProjectionError as error:
                error.add_note(f"given by {statement!r} as the tangent of its result {describe(y)}")
                raise

        return Bound(request, run)


class RruleRecipe(_Written, OneMode):
    """``rrule(*operands) -> (y, pullback)``, written out."""

    constructor = "rrule.register"
    mode = "reverse"

    def reverse(self, request: Request) -> Bound:
        """Bind the function; its pullback is saved as a whole."""
        rrule, statement = self._function(request), request.statement
        active, n, functions = request.active, len(request.operands), functions_in(request)
        home, tests, near = request.home, self._tests(request), compares(request)

        @functools.partial(annotate, of=request)
        def pull(y_bar: Any, pullback: Any, *spaces: Any) -> Any:
            bars = pullback(y_bar)
            if not isinstance(bars, tuple) or len(bars) != n:
                raise RuleError(
                    f"the pullback of {statement!r} has to return a tuple of {n}, one "
                    f"cotangent for each operand, and returned {_returned(bars)}"
                )
            found = []
            for i, onto in zip(active, spaces, strict=True):
                bar = bars[i]
                if (onto is None and type(bar) is type(y_bar) and form(bar) == form(y_bar)) or (
                    onto is NUMBER and type(bar) is float
                ):
                    found.append(bar)
                else:
                    bar = (flowing if i in functions else given)(bar, statement)
                    found.append(brought(bar, y_bar, onto))
            return found[0] if len(active) == 1 else tuple(found)

        def run(links: Any, *xs: Any, **options: Any) -> Any:
            answer = rrule(*xs, **options)
            if not (isinstance(answer, tuple) and len(answer) == 2 and callable(answer[1])):
                raise RuleError(
                    f"{statement!r} has to return (y, pullback), and returned {describe(answer)}"
                )
            y, pullback = answer
            y = y if home is None else home(y, xs)
            for i, whole in tests:
                if whole is None or whole[xs[i].dtype]:
                    again = lambda xs: rrule(*xs, **options)
                    pullback = _of_reals(pullback, again, xs, y, statement)
                    break
            if (type(y), getattr(y, "dtype", None)) not in known_results:
                check_result(y)
                if is_structure_type(type(y)):
                    pullback = reading_by_keys(pullback, space(y))
            spaces: list[Any] = []
            for i in active:
                x = xs[i]
                alike = near and getattr(y, "dtype", None) is getattr(x, "dtype", 0)
                same = alike and y.shape == x.shape
                spaces.append(None if same else NUMBER if type(x) is float else space(x))
            return y, (pull, links, pullback, *spaces)

        return Bound(request, run, may_be_zero=True, is_plain=True)


NUMBER = space(0.0)


def compares(request: Request) -> bool:
    """Return whether an operand with the dtype and shape of the result has its space.

    Its space is then not saved, as the cotangent of the result has the same one. Arrays with
    devices are excluded: they may be on different ones.
    """
    return not any([x.is_array and x.has_device for x in map(type_info, request.operands)])


def brought(bar: Any, y_bar: Any, onto: Any) -> Any:
    """Return a cotangent in a space, or in that of ``y_bar``, with thunks computed."""
    return unthunk(fit(unthunk(bar), space(y_bar) if onto is None else onto))


def _of_reals(
    pullback: Callable[..., Any],
    rrule: Callable[[tuple[Any, ...]], Any],
    xs: tuple[Any, ...],
    y: Any,
    statement: Statement,
) -> Callable[..., Any]:
    """Return a pullback that reruns the rule on real numbers where operands are integers."""

    def pulled(y_bar: Any) -> Any:
        bars = pullback(y_bar)
        if not isinstance(bars, tuple):
            return bars
        found = once_more(lambda reals: rrule(reals)[1](y_bar), xs, bars, y, statement)
        return bars if found is None else found

    return pulled


def reading_by_keys(pull: Any, of: Any) -> Any:
    """Wrap a pull to receive the cotangent of a structure as `as_read` returns it."""
    return pull and (lambda y_bar, *saved: pull(as_read(y_bar, of), *saved))


def as_read(t: Any, of: Any) -> Any:
    """Return a tangent as a user's rule reads it: for a dict, a dict with all keys.

    Keys that a tangent omits are zero, so a misspelt key would be zero as well.
    """
    if not isinstance(t, Tangent) or type(of) is not StructureSpace:
        return t
    if issubclass(of.primal_type, dict):
        return {key: as_read(t[key], inner) for key, inner in of.fields.items()}
    return t._of({k: as_read(part, of.fields[k]) for k, part in t._entries.items()}, t._length)


def _half(half: Any, name: str, statement: Statement) -> Any:
    if half is None:
        raise NotDifferentiableError(
            f"{statement!r} gives a LinearMap without {name}; "
            f"state that half, or use the other mode"
        )
    return half


_MAPS = frozenset((LinearMap, NoTangent, ZeroTangent))


def _checked(statement: Statement, answer: Any, n: int) -> Any:
    """Return the result of a rule, checked to have one map per operand."""
    if not (
        isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], (tuple, list))
    ):
        raise RuleError(
            f"{statement!r} has to return its value and a tuple of maps, and returned "
            f"{_returned(answer)}; write return y, ({('LinearMap(push, pull), ' * n).strip()})"
        )
    maps = answer[1]
    if len(maps) != n or not all(
        [type(m) in _MAPS or isinstance(m, NotImplementedTangent) for m in maps]
    ):
        shown = ", ".join(type(m).__name__ for m in maps)
        raise RuleError(
            f"{statement.source!r} has to return one LinearMap(push, pull), or NoTangent(), for "
            f"each of the operands ({', '.join(statement.primal.operands)}), and not ({shown})"
        )
    # An unimplemented or undefined derivative is so in both directions.
    told = [
        LinearMap(_saved, _saved, m) if isinstance(m, NotImplementedTangent) else m for m in maps
    ]
    return answer[0], tuple(told)


def _returned(answer: Any) -> str:
    return "None: did you forget return?" if answer is None else describe(answer)


def given(t: Any, statement: Statement, what: str = "a tangent") -> Any:
    """Return the result of a user's function with thunks computed; raise for None."""
    if t is None:
        raise ProjectionError(
            f"{statement!r} gave None for {what}: did you forget return? Where nothing flows, "
            f"write ZeroTangent(), or NoTangent() for what cannot be perturbed"
        )
    return unthunk(t)


def asks_wanted(function: Callable[..., Any], primal: Primitive[..., Any]) -> bool:
    """Return whether a rule takes the option ``wanted``, which its primal lacks."""
    return "wanted" in parameters_of(function).keyword_only and "wanted" not in primal.options


def pair_of(answer: Any, statement: Statement, shown: str) -> tuple[Any, Any]:
    """Return the result of a user's function, checked to be a pair."""
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise RuleError(f"{statement!r} has to return {shown}, and returned {_returned(answer)}")
    return answer


# ------------------------------------------------------------------- partials of several outputs

# Values that partials share are computed once, at the call, and saved.


def maps_of_partials(
    primal: Primitive[..., Any],
    partials: tuple[Callable[..., Any] | None, ...],
    setup: Callable[..., Any] | None,
    singular: bool,
    complex: str | None,
    outputs: int,
) -> Callable[..., Any]:
    """Return a function for `rule` from the partials passed to `scalar_rule`."""
    product = strong_multiply if singular else multiply
    several = outputs > 1

    def several_rule(*xs: Any) -> Any:
        y = primal(*xs)
        if outputs != (len(y) if type(y) is tuple else 1):
            raise RuleError(
                f"{primal.__name__} gave {describe(y)}, and its scalar_rule says that it has "
                f"outputs={outputs}; give a tuple of so many"
            )
        if complex is None and "complex" in map(kind_of, flatten((y, *xs))[0]):
            raise NoRuleError(
                f"{primal.__name__} has no rule for complex numbers; its scalar_rule does not say "
                f"complex='holomorphic' or complex='real'"
            )
        saved = (*(() if setup is None else (setup(y, *xs),)), y, *xs)
        # The map of an operand that is not wanted is ignored.
        maps = [p and LinearMap(*halves(i, p), *saved) for i, p in enumerate(partials)]
        return y, tuple([m or ZeroTangent() for m in maps])

    def halves(i: int, partial: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
        def each(*at: Any) -> tuple[Any, ...]:
            found = partial(*at) if several else (partial(*at),)
            if type(found) is not tuple or len(found) != outputs:
                raise RuleError(
                    f"a partial of scalar_rule({primal.__name__}) gave {describe(found)}; it has "
                    f"to give a tuple of {outputs}, one for each output"
                )
            return tuple([ZeroTangent() if p is None else p for p in found])

        def times(t: Any, p: Any) -> Any:
            return p if isinstance(p, AbstractTangent) else product(t, p)

        def push(t: Any, *at: Any) -> Any:
            dots = [times(t, p) for p in each(*at)]
            if complex == "real":
                dots = [d if isinstance(d, AbstractTangent) else real(d) for d in dots]
            return tuple(dots) if several else dots[0]

        def pull(y_bar: Any, *at: Any) -> Any:
            total: Any = ZeroTangent()
            shape = tuple(getattr(at[i - len(partials)], "shape", ()))
            for k, p in enumerate(each(*at)):
                c = y_bar[k] if several else y_bar
                if not is_zero(c):
                    bar = times(c, p if isinstance(p, AbstractTangent) else conj(p))
                    if getattr(bar, "shape", ()) != getattr(c, "shape", ()):
                        check_product(bar, c, primal, real=complex is None)
                    # The outputs may have several shapes.
                    bar = bar if isinstance(bar, AbstractTangent) else unbroadcast(bar, shape)
                    total = add_tangents(total, bar)
            return total

        return push, pull

    return several_rule


# ------------------------------------------------------------------------------ whole numbers

# The value is computed with the integers. A derivative is another number, and may overflow where
# the value does not. So a rule with a derivative in an integer is run once more, with real numbers
# in place of the integers. An operand without one, or annotated ``int``, may be an index.


def whole_operands(xs: Sequence[Any]) -> list[int]:
    """List the indices of operands that are integers, or are or contain arrays of them."""
    leaves = [flatten(x)[0] if isinstance(x, (tuple, list, dict)) else [x] for x in xs]
    return [i for i, parts in enumerate(leaves) if _is_plain(xs[i]) or any(map(_is_whole, parts))]


def once_more(
    run: Callable[..., Any],
    xs: Sequence[Any],
    ts: Sequence[Any],
    y: Any,
    statement: Statement,
    *,
    pushes: bool = False,
) -> Any:
    """Run a rule with real numbers in place of integers in which it has a derivative, if any.

    Parameters
    ----------
    run : callable
        Runs the rule on a tuple of operands.
    xs, ts : sequence
        The operands, and a tangent or cotangent of each.
    y
        The value.
    statement : Statement
        The statement of the rule, named in errors if it takes no real numbers.
    pushes : bool
        Whether ``ts`` are tangents. A zero cotangent means that the rule has no derivative in that
        operand. A zero tangent does not; then an operand that refuses real numbers is an index,
        as is a Python integer for which the rule refuses them.

    Returns
    -------
    object or None
        The result of the run, or None if there was none.
    """
    kept = counts(statement, len(xs))
    whole = [i for i in whole_operands(xs) if i < len(ts) and i not in kept]
    flowing = [i for i in whole if not is_zero(ts[i])]
    arrays = [i for i in flowing if not _is_plain(xs[i])]
    in_array: Any = lambda leaf: real_numbers(leaf, y) if _is_whole(leaf) else leaf
    read: Any = lambda x: real_numbers(x) if _is_plain(x) else map_leaves(in_array, x)
    known = [whole, [i for i in whole if not _is_plain(xs[i])]] if pushes else []
    for places in filter(None, [*known, flowing, arrays]):
        try:
            return run(tuple([read(x) if i in places else x for i, x in enumerate(xs)]))
        except Exception as error:
            if places != arrays:
                continue
            error.add_note(
                f"{statement!r} has a derivative in a whole number, and is run with the real "
                f"number that it is; give NoTangent() for it, or annotate it int, if it is an "
                f"index or a count"
            )
            raise
    return None


def _is_whole(x: Any) -> bool:
    return hasattr(x, "dtype") and kind_of(x) == "int"


def _is_plain(x: Any) -> bool:
    return type_info(type(x)).dispatch_type is int


# ------------------------------------------------------------------ operands that are functions

# If the map of a function is zero, the derivative in what the function captured would be lost.


def functions_in(request: Request) -> frozenset[int]:
    """Return the indices of operands that are functions with differentiated values in them.

    These packages' own operations on functions are excluded, as they may never call one.
    """
    statement = request.statement
    if isinstance(statement.primal, HigherOrder) and statement.source.is_ours:
        return frozenset()
    known = Closure, Operator
    return frozenset([i for i in request.active if issubclass(request.operands[i], known)])


def refuse_functions(request: Request) -> None:
    """Raise for such an operand of a forward rule that does not require an engine.

    Raises
    ------
    NotDifferentiableError
        The message says how to push through a function.
    """
    if functions_in(request):
        raise NotDifferentiableError(
            f"{request.statement!r} has no derivative in a function that has captured what is "
            f"being differentiated, so that this tangent would be lost; state it with "
            f"requires=ForwardMode, and push by config.frule_via_ad, or pass what the function "
            f"captured as an operand"
        )


def map_of_function(m: Any, statement: Statement) -> Any:
    """Return the map of an operand that is a function, which raises where it gives zero."""
    if type(m) is not LinearMap:
        return flowing(m, statement)

    def flows(half: Any) -> Any:
        return half and (lambda *xs: flowing(half(*xs), statement))

    return LinearMap(flows(m.push), flows(m.pull), *m.saved)


def flowing(t: Any, statement: Statement) -> Any:
    """Return a rule's derivative in a function; raise if it is zero, as it would be lost."""
    t = given(t, statement)
    if is_zero(t):
        raise NotDifferentiableError(
            f"{statement!r} gives zero for a function that has captured what is being "
            f"differentiated, so that this gradient would be lost; give a LinearMap for it, or "
            f"pass what it captured as an operand"
        )
    return t
