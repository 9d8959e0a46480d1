"""A rule, specialised once for operand types, wanted operands and a mode.

Nothing else consumes rules.

A reverse run returns ``(y, record)`` with ``record = (pull, links, *saved)``; ``links`` is whatever
the engine passed in. ``pull(y_bar, *saved)`` gives the cotangent, or with more than one operand
wanted the tuple of them, in order. How a kind of statement is specialised stands in
`chainrules_py.recipes`, one module for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, final

from chainrules_py import arrays
from chainrules_py.config import Config
from chainrules_py.errors import NotDifferentiableError
from chainrules_py.registry import Rule, Statement

__all__ = ["Bound", "Request", "bind", "mark", "part"]


@final
class Request:
    """What a recipe is asked to specialise.

    Attributes
    ----------
    statement : Statement
        Whose recipe it is.
    operands : tuple of type
        The types of the payloads.
    wanted : tuple of bool
        For which operands tangents are given, or cotangents asked.
    active : tuple of int
        The places of those.
    primal : callable
        What computes the value.
    config : Config or None
        The engine.
    """

    __slots__ = ("active", "config", "operands", "primal", "statement", "wanted")

    def __init__(
        self,
        statement: Statement,
        operands: tuple[type, ...],
        wanted: tuple[bool, ...],
        primal: Callable[..., Any],
        config: Config | None,
    ) -> None:
        self.statement = statement
        self.operands = operands
        self.wanted = wanted
        self.active = tuple([i for i, w in enumerate(wanted) if w])
        self.primal = primal
        self.config = config

    def among(self, possible: Iterable[bool]) -> Request:
        """The same, without the operands that no derivative is stated in."""
        wanted = tuple([w and p for w, p in zip(self.wanted, possible, strict=True)])
        return Request(self.statement, self.operands, wanted, self.primal, self.config)


@final
class Bound:
    """A rule ready to run.

    Attributes
    ----------
    run : callable
        In reverse mode ``run(links, *operands, **options) -> (y, record)``; in forward mode
        ``run(tangents, *operands, **options) -> (y, y_dot)``, one tangent per wanted operand; to
        linearize as in reverse mode, with ``push(tangents, *saved) -> y_dot`` in the record.
    wanted : tuple of bool
        The mask that tangents are given for, or cotangents come back for.
    pull_into : callable or None
        ``pull_into(buffer, y_bar, *saved)`` adds in place what ``pull`` would return; only with
        exactly one wanted operand.
    statement : Statement
        What it was made from.
    careful : bool
        Whether pulls may give ``ZeroTangent()``, or tangents of structures.
    """

    __slots__ = ("careful", "pull_into", "run", "statement", "wanted")

    def __init__(
        self,
        request: Request,
        run: Callable[..., Any],
        *,
        pull_into: Callable[..., Any] | None = None,
        careful: bool = False,
    ) -> None:
        self.run = run
        self.wanted = request.wanted
        self.statement = request.statement
        self.pull_into = pull_into
        self.careful = careful

    def __repr__(self) -> str:
        return f"<bound {self.statement!r} wanted={self.wanted}>"


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
        For which operands tangents are given, or cotangents asked.
    mode : {"forward", "reverse", "linearize"}
        Which half: tangents at once, cotangents later, or tangents later.
    primal : callable, optional
        The function that was called, where it is not the primitive: it computes the value, so
        that tracing does not change a bit of it.
    config : Config, optional
        The engine, for rules that call back into it.

    Returns
    -------
    Bound or None
        None if no derivative flows at all: then only the primal has to be computed.

    Raises
    ------
    NotDifferentiableError
        If the rule does not state this mode.

    Examples
    --------
    >>> from chainrules_py import find_rule
    >>> from chainrules_py.vocabulary import multiply
    >>> types = (float, float)
    >>> bound = bind(find_rule(multiply, types), types, (True, False), "reverse")
    >>> y, (pull, links, *saved) = bound.run("links", 2.0, 3.0)
    >>> y, pull(1.0, *saved)
    (6.0, 3.0)
    """
    key = (operands, wanted, mode, primal, config)
    try:
        return rule.bound[key]  # type: ignore[no-any-return]
    except KeyError:
        pass
    statement = rule.statement("forward" if mode == "linearize" else mode)
    if statement is None:
        other = rule.forward or rule.reverse
        msg = f"{rule.primal.__name__} has no {mode} rule; only {other!r}"
        raise NotDifferentiableError(msg)
    if primal is None:
        primal = _primal_function(rule.primal, operands)
    request = Request(statement, operands, wanted, primal, config)
    make = getattr(statement.recipe, mode, None) or _rerun
    bound: Bound | None = make(request) if request.active else None
    rule.bound[key] = bound
    return bound


def _rerun(request: Request) -> Bound | None:
    """What has no push apart from its value is linearized by being run again for each tangent."""
    forward: Bound | None = request.statement.recipe.forward(request)
    if forward is None:
        return None
    primal, run_forward = request.primal, forward.run

    def push(tangents: tuple[Any, ...], xs: tuple[Any, ...], options: dict[str, Any]) -> Any:
        return run_forward(tangents, *xs, **options)[1]

    mark(push, request)

    def run(links: Any, *xs: Any, **options: Any) -> Any:
        return primal(*xs, **options), (push, links, xs, options)

    return Bound(request.among(forward.wanted), run)


def _primal_function(primitive: Any, operands: tuple[type, ...]) -> Callable[..., Any]:
    """What computes a primitive for these types of payloads: of plain ones the library's own."""
    if any(map(arrays.is_tracer_type, operands)):
        return primitive  # type: ignore[no-any-return]
    found: Callable[..., Any] = primitive.implementation(operands) or primitive
    return found


def mark(half: Any, request: Request, parts: tuple[Any, ...] = (), *, batched: Any = None) -> Any:
    """Write on a half whose it is, what gives cotangents one by one, and what takes a batch.

    All are read off the hot path only: in error notes, where somebody wants one cotangent, and
    where tangents have a leading axis that counts directions: ``batched`` takes these, True says
    that the half itself does, and without it the directions are taken one by one.
    """
    half.statement = request.statement
    half.parts = parts
    half.batched = batched
    return half


def part(pull: Callable[..., Any], k: int, y_bar: Any, saved: tuple[Any, ...]) -> Any:
    """Of a pull with several wanted operands, the k-th cotangent alone."""
    parts = getattr(pull, "parts", ())
    if parts:
        return parts[k](y_bar, *saved)
    bars = pull(y_bar, *saved)
    return bars[k] if type(bars) is tuple else bars
