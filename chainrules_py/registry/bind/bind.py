"""A rule, specialised once for operand types, wanted operands and a mode.

Rules are used in no other way.

A reverse run returns ``(y, record)`` with ``record = (pull, links, *saved)``; ``links`` is whatever
the engine passed in. ``pull(y_bar, *saved)`` returns the cotangent, or a tuple of cotangents, in
order, if several operands are wanted. The `Recipe` of each kind of statement specialises it: see
the modules ``elementwise``, ``linear`` and ``general``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, final

from chainrules_py import debug_hooks
from chainrules_py.errors import NotDifferentiableError
from chainrules_py.ops.engine_operations import gives_views
from chainrules_py.primitives.closures.convert import settled
from chainrules_py.registry.statement_and_rule import MODES, Rule, Statement
from chainrules_py.rule_config import Config
from chainrules_py.tangents.primal_results import brought_home
from chainrules_py.tangents.space import fit, space
from chainrules_py.tangents.thunks import unthunk
from chainrules_py.tangents.zeros import ZERO
from chainrules_py.values.dispatch_types import Tracer
from chainrules_py.values.structure import is_structure_type
from chainrules_py.values.type_info import type_info

Halves: TypeAlias = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]
"""``push(tangents, *saved)``; ``pull(y_bar, *saved)`` with one cotangent per wanted operand, not
yet in its space; and ``save(operands, options) -> (y, saved)``."""


@final
class Request:
    """Request to specialise a recipe: statement, types, wanted operands, primal and engine.

    Attributes
    ----------
    statement : Statement
        The statement of the recipe.
    operands : tuple of type
        The types of the payloads.
    wanted : tuple of bool
        Which operands have tangents, or need cotangents, among those with a stated derivative;
        at least one.
    active : tuple of int
        The indices of the wanted operands.
    primal : callable
        The function that computes the value.
    config : Config or None
        The engine.
    home : callable or None
        ``home(y, xs)`` converts the result of a user's function to an array of an operand's
        library.
    """

    __slots__ = ("active", "config", "home", "operands", "primal", "statement", "wanted")

    def __init__(
        self,
        statement: Statement,
        operands: tuple[type, ...],
        wanted: tuple[bool, ...],
        primal: Callable[..., Any],
        config: Config | None,
    ) -> None:
        self.statement, self.primal, self.config = statement, primal, config
        self.operands, self.wanted = operands, wanted
        self.active = tuple([i for i, w in enumerate(wanted) if w])
        ours = statement.source.is_ours and not statement.primal.fixed
        seen = [type_info(cls).host is not None or is_structure_type(cls) for cls in operands]
        self.home = None if ours or not any(seen) else brought_home  # if another engine may see one


@final
class Bound:
    """A rule ready to run.

    Attributes
    ----------
    run : callable
        In reverse mode ``run(links, *operands, **options) -> (y, record)``. In forward mode
        ``run(tangents, *operands, **options) -> (y, y_dot)``, with one tangent per wanted
        operand. For "linearize" as in reverse mode, with ``push(tangents, *saved) -> y_dot`` in
        the record. For "both" ``(y, (push, pull, *saved))``, where ``pull`` returns a tuple.
    wanted : tuple of bool
        Which operands have tangents, or need cotangents.
    pull_into : callable or None
        ``pull_into(buffer, y_bar, *saved)`` adds in place what ``pull`` would return; only with
        exactly one wanted operand.
    statement : Statement
        The statement that was bound.
    may_be_zero : bool
        Whether pulls may return ``ZeroTangent()``, or tangents of structures.
    is_plain : bool
        Whether pulls for arrays and numbers return arrays, numbers or zeros, and no thunks.
    may_view : bool
        Whether the result may be a view of the first operand.
    may_share : bool
        Whether the result may share memory with any operand, as that of a user's function may.
    maps : callable or None
        ``maps(operands, options) -> (y, maps)``, for rules with one `LinearMap` per operand.
    recipe : Recipe
        That of the statement.
    """

    __slots__ = (
        "is_plain",
        "maps",
        "may_be_zero",
        "may_share",
        "may_view",
        "pull_into",
        "recipe",
        "run",
        "statement",
        "wanted",
    )

    def __init__(
        self,
        request: Request,
        run: Callable[..., Any],
        *,
        pull_into: Callable[..., Any] | None = None,
        may_be_zero: bool = False,
        is_plain: bool = False,
        maps: Callable[..., Any] | None = None,
    ) -> None:
        self.run, self.pull_into, self.maps = run, pull_into, maps
        self.wanted, self.statement = request.wanted, request.statement
        self.may_be_zero, self.is_plain = may_be_zero, is_plain
        self.recipe: Recipe = request.statement.recipe
        written = request.statement.primal
        self.may_view = not self.recipe.computes_all and gives_views(written)
        self.may_share = written.fixed or not written.__module__.startswith("chainrules_")

    def __repr__(self) -> str:
        return f"<bound {self.statement!r} wanted={self.wanted}>"


class Recipe:
    """How statements of one kind are bound, and their common properties.

    It has a method for each mode in which it can be bound (see `bind`), which takes a `Request`
    and returns a `Bound`.

    Attributes
    ----------
    constructor : str
        The name of the function that makes the statement.
    is_constant : bool
        Whether no derivative ever flows.
    is_elementwise : bool
        Whether the function acts elementwise, with a partial per operand.
    is_linear : bool
        Whether it is jointly linear in all operands that can be perturbed.
    is_smooth : bool
        Whether the derivative has no convention: no strong zero, no value at a kink.
    saves_values : bool
        Whether only operands and results, unchanged, or their spaces are saved.
    always : bool
        Whether a pull also runs for a zero cotangent.
    computes_all : bool
        Whether every element is computed, so that the result is no view of an operand.
    is_hooked : bool
        Whether a hook is attached, so that no engine's own derivative may replace it.
    functions : tuple of callable or None
        The stated functions.
    """

    constructor = ""
    is_constant = is_elementwise = is_linear = is_smooth = False
    saves_values = is_hooked = always = computes_all = False
    functions: tuple[Any, ...] = ()

    def checked(self, request: Request) -> Callable[..., Any]:
        """Return the function that computes the value of a call, after checking its operands."""
        return request.primal

    def stated_in(self, n: int) -> tuple[bool, ...]:
        """Return for each of n operands whether a derivative is stated."""
        return (True,) * n

    def forward(self, request: Request) -> Bound:
        """Bind the push of tangents known at the call; by default, linearize first."""
        linearize = self.linearize(request).run

        def run(tangents: tuple[Any, ...], *xs: Any, **options: Any) -> Any:
            y, (push, _, *saved) = linearize(None, *xs, **options)
            return y, push(tangents, *saved)

        return Bound(request, run)

    def linearize(self, request: Request) -> Bound:
        """Bind the push of tangents that come later; by default, run forward again for each."""
        primal, run_forward = request.primal, self.forward(request).run

        @partial(annotate, of=request)
        def push(tangents: tuple[Any, ...], xs: Any, options: dict[str, Any]) -> Any:
            return run_forward(tangents, *xs, **options)[1]

        def run(links: Any, *xs: Any, **options: Any) -> Any:
            return primal(*xs, **options), (push, links, _as_at_the_call(xs), options)

        return Bound(request, run)


class SharedRun(Recipe):
    """Recipe whose pushes and pulls read the same saved values, from one run."""

    @abstractmethod
    def halves(self, request: Request) -> Halves:
        """Return the push, the pull, and the function that computes and saves: see `Halves`."""

    def linearize(self, request: Request) -> Bound:
        """Bind the push, for tangents that come later."""
        push, _, save = self.halves(request)

        def run(links: Any, *xs: Any, **options: Any) -> Any:
            y, saved = save(xs, options)
            return y, (push, links, *saved)

        return Bound(request, run)

    def both(self, request: Request) -> Bound:
        """Bind the push and the pull of the same values."""
        pushes, pulls, save = self.halves(request)
        active = request.active

        @partial(annotate, of=request)
        def push(tangents: tuple[Any, ...], _spaces: Any, *saved: Any) -> Any:
            return pushes(tangents, *saved)

        @partial(annotate, of=request)
        def pull(y_bar: Any, spaces: tuple[Any, ...], *saved: Any) -> Any:
            bars = zip(pulls(y_bar, *saved), spaces, strict=True)
            return tuple([fit(unthunk(bar), onto) for bar, onto in bars])

        def run(links: Any, *xs: Any, **options: Any) -> Any:
            y, saved = save(xs, options)
            return y, (push, pull, tuple([space(xs[i]) for i in active]), *saved)

        return Bound(request, run, may_be_zero=True)


def bind(
    rule: Rule,
    operands: tuple[type, ...],
    wanted: tuple[bool, ...],
    mode: str,
    *,
    primal: Callable[..., Any] | None = None,
    config: Config | None = None,
) -> Bound | None:
    """Specialise a rule.

    Parameters
    ----------
    rule : Rule
        From `find_rule`.
    operands : tuple of type
        The types of the payloads.
    wanted : tuple of bool
        Which operands have tangents, or need cotangents.
    mode : {"forward", "reverse", "linearize", "both"}
        Tangents at once, cotangents later, or tangents later; or both later, for an engine that
        does not know yet which it will need.
    primal : callable, optional
        The called function, if it is not the primitive: it computes the value, so that tracing
        does not change a bit of it.
    config : Config, optional
        The engine, for rules that call back into it.

    Returns
    -------
    Bound or None
        None if no derivative flows, so that only the primal has to be computed.

    Raises
    ------
    NotDifferentiableError
        If the rule does not state this mode, or for "both" one of the two.

    Notes
    -----
    If the two halves of "both" are two statements, neither knows what the other saves. Then the
    values of the reverse rule are saved, and a push runs the forward rule on the operands.

    Examples
    --------
    >>> from chainrules_py.extend import find_rule
    >>> from chainrules_py.ops import multiply
    >>> types = (float, float)
    >>> bound = bind(find_rule(multiply, types), types, (True, False), "reverse")
    >>> y, (pull, links, *saved) = bound.run("links", 2.0, 3.0)
    >>> y, pull(1.0, *saved)
    (6.0, 3.0)
    >>> bound = bind(find_rule(multiply, types), types, (True, False), "both")
    >>> y, (push, pull, *saved) = bound.run("links", 2.0, 3.0)
    >>> y, push((1.0,), *saved), pull(1.0, *saved)
    (6.0, 3.0, (3.0,))
    """
    key = (operands, wanted, mode, primal, config)
    try:
        return rule.bound[key]  # type: ignore[no-any-return]
    except KeyError:
        pass
    statement = rule.reverse if mode == "reverse" else rule.forward
    if statement is None:
        raise NotDifferentiableError(
            f"{rule.primal.__name__} has no {mode} rule; only {rule.forward or rule.reverse!r}"
        )
    if primal is None or any([type_info(cls).by_operations for cls in operands]):
        primal = plain_function(rule.primal, operands)
    bound: Bound | None = None
    recipe: Recipe = statement.recipe
    if mode == "both" and not (rule.forward is rule.reverse and isinstance(recipe, SharedRun)):
        bound = _separately(rule, operands, wanted, primal, config)
    else:
        among = tuple(
            [w and s for w, s in zip(wanted, recipe.stated_in(len(operands)), strict=True)]
        )
        checked = recipe.checked(Request(statement, operands, wanted, primal, config))
        request = Request(statement, operands, among, checked, config)
        if (home := request.home) is not None:
            request.primal = lambda *xs, **options: home(checked(*xs, **options), xs)
        if any(among):
            bound = getattr(recipe, mode)(request)
            if debug_hooks.checks is not None:
                bound = debug_hooks.checks.bound(bound, mode, request.primal)
        elif checked is not primal:
            bound = constant(Request(statement, operands, wanted, checked, config), mode)
    rule.bound[key] = bound
    return bound


def counts(statement: Statement, n: int) -> set[int]:
    """Return which of n operands a rule sees as they are, even integers: it has no map for them."""
    annotated = {i for i, of in enumerate(statement.signature) if of in (int, bool)}
    return annotated.union([i for i, s in enumerate(statement.recipe.stated_in(n)) if not s])


def constant(request: Request, mode: str) -> Bound:
    """Bind a call that no derivative flows through, if the checks of its operands pass."""
    zeros = (ZERO,) * len(request.active)
    push = annotate(lambda *_: ZERO, request)
    pull = annotate(lambda *_: ZERO if mode == "reverse" and len(zeros) == 1 else zeros, request)

    def run(links: Any, *xs: Any, **options: Any) -> Any:
        y = request.primal(*xs, **options)
        records = {"forward": ZERO, "reverse": (pull, links), "linearize": (push, links)}
        return y, records.get(mode, (push, pull))

    return Bound(request, run, may_be_zero=True)


def _separately(
    rule: Rule,
    operands: tuple[type, ...],
    wanted: tuple[bool, ...],
    primal: Callable[..., Any],
    config: Config | None,
) -> Bound | None:
    """Bind both halves, of two statements."""
    found = [bind(rule, operands, wanted, mode, primal=primal, config=config) for mode in MODES]
    if found == [None, None]:
        return None
    request = Request(rule.reverse, operands, wanted, primal, config)  # type: ignore[arg-type]
    forward, reverse = [
        bound or constant(request, mode) for bound, mode in zip(found, MODES, strict=True)
    ]

    def run(links: Any, *xs: Any, **options: Any) -> Any:
        y, (half, _, *saved) = reverse.run(links, *xs, **options)
        return y, (push, pull, (_as_at_the_call(xs), options), half, *saved)

    @partial(annotate, of=request)
    def push(tangents: tuple[Any, ...], given: Any, half: Any, *saved: Any) -> Any:
        (xs, options), pairs = given, zip(tangents, request.active, strict=True)
        return forward.run(tuple([t for t, i in pairs if forward.wanted[i]]), *xs, **options)[1]

    @partial(annotate, of=request)
    def pull(y_bar: Any, given: Any, half: Any, *saved: Any) -> Any:
        bars = half(y_bar, *saved)
        found = iter(bars if sum(reverse.wanted) > 1 else (bars,))
        return tuple([next(found) if reverse.wanted[i] else ZERO for i in request.active])

    return Bound(request, run, may_be_zero=True)


def _as_at_the_call(xs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return operands in which functions keep the present contents of their cells."""
    return tuple([settled(x) if callable(x) else x for x in xs])


def plain_function(primitive: Any, operands: tuple[type, ...]) -> Callable[..., Any]:
    """Return the function that computes a primitive: on plain payloads, the library's own."""
    for cls in operands:
        # An outer level, or another engine, may trace the operand, or values inside a structure.
        if issubclass(cls, Tracer) or type_info(cls).host is not None or is_structure_type(cls):
            return primitive  # type: ignore[no-any-return]
    return primitive.implementation(operands) or primitive  # type: ignore[no-any-return]


def annotate(
    half: Any, of: Request | Bound, parts: tuple[Any, ...] = (), *, batched: Any = None
) -> Any:
    """Set the statement of a half, its wanted operands, its parts, and its batched form.

    They are not read on the hot path: the statement and the operands are for error notes and
    listings, and the parts give single cotangents. ``batched`` takes tangents with a leading axis
    of directions; True says that the half itself does, and without it directions are taken one by
    one.
    """
    half.statement = of.statement
    half.wanted = of.wanted
    half.parts, half.batched = parts, batched
    return half


def part(pull: Callable[..., Any], k: int, y_bar: Any, saved: tuple[Any, ...]) -> Any:
    """Compute the k-th cotangent only, by a pull with several wanted operands."""
    parts = getattr(pull, "parts", ())
    if parts:
        return parts[k](y_bar, *saved)
    bars = pull(y_bar, *saved)
    return bars[k] if type(bars) is tuple else bars
