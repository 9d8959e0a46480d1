"""Names of mistakes from how a rule is written: which expression, changed, makes it right.

Where matrices alone say little, the definition says more: a rule that is right at all points that
were looked at, if one expression of it is written otherwise, has its mistake there. And what a rule
gives may be the derivative of the function with something in it held constant.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import re
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, final

from chainrules_diagnosis.expressions import slots_of
from chainrules_diagnosis.rewriting import is_value, rewritings
from chainrules_diagnosis.sources import Source, reached, source_of

_VAGUE = re.compile(
    r"wrong numbers|right only|.* alone\b|one element of|a term of rank one|does not change with|"
    r"changes with|the right numbers in the wrong|numbers (where zeros|in the places)|"
    r"zero (in|where)|(factor|off by the constant) -?\d*\.\d|.*\d+ of \d+ entries|"
    r"reversed in|given to one|factor (by place|.*\*\*.*\*\*)"
)
_PLACES = re.compile(
    r"one element of|numbers where zeros|zero |factor |off by |.*\d+ of \d+ entries"
)
_KEPT = re.compile(
    r"right only|.* alone\b|does not change with|changes with|given to one|the right numbers in"
)


def name_written(
    name: str,
    rule: Iterable[Any],
    primal: Any,
    right_halves: Callable[[], AbstractSet[str]],
    gives: Callable[[Callable[[Any], Any]], bool],
    *,
    is_special: bool = False,
) -> str:
    """Name a mistake by what is written, where its name says little; otherwise return the name.

    Parameters
    ----------
    name : str
        What matrices say.
    rule : iterable
        The functions that the rule is written as.
    primal : callable
        The function, as it is written.
    right_halves : callable
        Tells which halves are right now, of those that were wrong.
    gives : callable
        Tells whether the rule gives the derivatives of another function, made of operands: the
        function with something in it held as it is at them.
    is_special : bool
        Whether the rule is right elsewhere: what would lead it there is no mend.
    """
    if not _VAGUE.match(name):
        return name
    said = _name_held(primal, gives)
    said = said or _name_repair(rule, right_halves, (primal,), compares=not is_special)
    if not (said or is_special or _PLACES.match(name)):
        said = _name_other(primal, gives)
    if not said:
        return name
    return f"{said} ({name})" if _PLACES.match(name) or _KEPT.match(name) else said


def _name_repair(
    functions: Iterable[Any],
    right_halves: Callable[[], AbstractSet[str]],
    apart: Iterable[Any],
    *,
    compares: bool,
) -> str:
    """Name the expression that, written otherwise, makes a rule right, or one for each half."""
    known = {id(source.function) for source in _sources(apart)}
    found: dict[str, str] = {}
    for source in _sources(functions):
        if id(source.function) in known:
            continue
        for rewriting in rewritings(source, compares=compares):
            right: AbstractSet[str] = set()
            with contextlib.suppress(Exception), source.standing_in(rewriting.code):
                right = right_halves()
            if not right - found.keys():
                continue
            place = f"{Path(source.function.__code__.co_filename).name}:{rewriting.line}"
            here, there = rewriting.texts()
            said = f"{here} {f'where {there} belongs' if there else 'are exchanged'} ({place})"
            if ALL in right:
                return said
            found |= dict.fromkeys(right - found.keys(), said)
            if found.keys() >= {"push", "pull"}:
                return f"{found['push']} in the push, {found['pull']} in the pull"
    return ""


ALL = "all"
"""Stands for both halves, or all there are."""


def _sources(functions: Iterable[Any]) -> Iterator[Source]:
    """Find definitions, of functions and of what they reach, that no change lets run for ever."""
    for f in reached(functions):
        source = source_of(f)
        if source is not None and not source.has_loop:
            yield source


@final
class _Held:
    """What keeps the values of an expression, and gives them again in the same order."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.count: int | None = None

    def __call__(self, value: Any) -> Any:
        if self.count is None:
            self.values.append(value)
            return value
        self.count += 1
        return self.values[self.count - 1]

    def at(self, run: Callable[[Any], Any], function: Any) -> Callable[..., Any]:
        """Keep the values of one run, and return the function with these."""
        self.values, self.count = [], None
        run(function)

        def again(*operands: Any, **options: Any) -> Any:
            self.count = 0
            return function(*operands, **options)

        return again


def _name_held(function: Any, gives: Callable[[Callable[[Any], Any]], bool]) -> str:
    """Name the expression of a function that a rule takes for a constant, if there is one."""
    for source in _sources([function]):
        for slot in filter(is_value, list(slots_of(source))):
            node = slot.node
            text = ast.unparse(node)
            call = ast.Call(ast.Name("__held__", ast.Load()), [node], [])
            slot.put(ast.fix_missing_locations(ast.copy_location(call, node)))
            try:
                code = source.compiled()
            finally:
                slot.put(node)
            held = _Held()
            if code is not None:
                with contextlib.suppress(Exception), source.standing_in(code, __held__=held):
                    if gives(functools.partial(held.at, function=function)):
                        return f"`{text}` is held constant: its derivative is missing"
    return ""


def _name_other(function: Any, gives: Callable[[Callable[[Any], Any]], bool]) -> str:
    """Name what a function would have to be for a rule to be right; empty if nothing is found."""
    for source in _sources([function]):
        for rewriting in rewritings(source, compares=True):
            with contextlib.suppress(Exception), source.standing_in(rewriting.code):
                if gives(lambda _run: function):
                    here, there = rewriting.texts()
                    return f"the derivative of another function: {there or 'the one'} for {here}"
    return ""
