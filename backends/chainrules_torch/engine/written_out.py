"""Rules that give the same maps at each call: run once, on stand-ins, instead of each time.

``return f(x, y), (LinearMap(push, pull, y), LinearMap(push, pull, x))`` takes no decision, and
computes nothing but the value: which halves it gives, and which values they save, is known.
"""

from __future__ import annotations

import dis
import inspect
import operator
from types import FunctionType
from typing import Any, NoReturn, TypeGuard, final

from chainrules_py import LinearMap
from chainrules_py.extend import Statement
from chainrules_torch.engine.maps import Unchanged, holds_nothing


@final
class WrittenOut:
    """What a rule gives at each call, as long as its code and what its names mean stay the same.

    Attributes
    ----------
    pulls : list of callable
        The pull of each operand.
    places : list of tuple of int
        What the map of each operand saves: 0 is the result, and ``i + 1`` the i-th operand.
    holds : callable
        Whether the rule would give the same now.
    """

    __slots__ = ("holds", "places", "pulls")

    def __init__(
        self, function: FunctionType, pulls: list[Any], places: list[tuple[int, ...]]
    ) -> None:
        self.pulls = pulls
        self.places = places
        code, meaning = function.__code__, function.__globals__.get
        means = [(meaning, name, meaning(name)) for name in code.co_names]
        self.holds = Unchanged([(function, code)], means).holds


class _StandIn:
    """An operand, or the result, of which nothing can be asked."""

    __slots__ = ()

    def refuse(self, *_: Any) -> NoReturn:
        raise TypeError

    __bool__ = __eq__ = __hash__ = __repr__ = __format__ = refuse


def written_out(statement: Statement, n: int) -> WrittenOut | None:
    """Run a rule of n operands on stand-ins; None if what it gives may differ between calls."""
    rule: Any = statement.recipe.functions[0]
    if statement.recipe.with_config or not _is_straight(rule, n):
        return None
    primal, space, names = statement.primal, rule.__globals__, rule.__code__.co_names
    y, operands = _StandIn(), [_StandIn() for _ in range(n)]
    asked: list[Any] = []

    def value(*xs: Any) -> Any:
        asked.append(xs)
        return y

    known = {primal: value, LinearMap: LinearMap}
    try:
        meant = {name: known[space[name]] for name in names}
        found, maps = FunctionType(rule.__code__, meant)(*operands)
    except Exception:  # it calls something else, or computes with what it is given
        return None
    if found is not y or len(asked) != 1 or not _are(asked[0], operands):
        return None
    if type(maps) is not tuple or len(maps) != n:
        return None
    pulls, places = [], []
    for m in maps:
        pull = m.pull if type(m) is LinearMap else None
        if type(pull) is not FunctionType or not holds_nothing(pull):
            return None
        at = [[i for i, x in enumerate((y, *operands)) if x is saved] for saved in m.saved]
        if [] in at:
            return None
        pulls.append(FunctionType(pull.__code__, space, pull.__name__))
        places.append(tuple([i for (i,) in at]))
    return WrittenOut(rule, pulls, places)


def _are(some: Any, others: Any) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
_DECIDES = frozenset(
    ("IS_OP", "CONTAINS_OP", "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR")
)
"""What tells a stand-in from an operand without asking it, or changes what names mean."""


def _is_straight(f: Any, n: int) -> TypeGuard[FunctionType]:
    """Tell whether a function of n operands is one that takes no decision, and keeps nothing."""
    if type(f) is not FunctionType or not holds_nothing(f):
        return False
    code = f.__code__
    special = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR
    if code.co_argcount != n or code.co_kwonlyargcount or code.co_flags & special:
        return False
    if code.co_exceptiontable:
        return False
    steps = dis.get_instructions(code)
    return not any([step.opcode in _JUMPS or step.opname in _DECIDES for step in steps])
