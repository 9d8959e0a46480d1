"""Effects: what a function writes to, of what it was not given.

A word that solves calls its function as often as it likes, on plain values. What that writes to a
name, an attribute, a list or a buffer depends on what is being differentiated, and does not know
it: read afterwards, it would count as fixed. So it may leave nothing behind but counts, flags and
texts; and nothing in what was copied because it holds a traced value, for that is lost.
"""

from __future__ import annotations

from typing import Any, NoReturn

from chainrules_py.errors import NotDifferentiableError, describe
from chainrules_py.primitives.closures.captured import knows
from chainrules_py.primitives.closures.convert import Closure, Operator, closed
from chainrules_py.primitives.closures.reach import Reach
from chainrules_py.primitives.closures.search import is_container
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.values.arrays import Tracer
from chainrules_py.values.holding import named
from chainrules_py.values.pytree import flatten
from chainrules_py.values.structure import fields_of
from chainrules_py.values.tracers import find_host, find_tracers
from chainrules_py.values.type_info import type_info


class HigherOrder(Primitive[..., Any]):
    """A word among whose operands are functions: what they captured is found before the call.

    Attributes
    ----------
    is_program : bool
        Whether its rules say that its body is differentiated.
    """

    is_program = False

    def __call__(self, *operands: Any, **options: Any) -> Any:
        """Compute it, or have the highest tracer among operands and captured values trace it.

        One that `is_program` runs where it stands, and what its function writes to is the caller's
        own. Other engines see it whole.
        """
        found = [closed(x) if callable(x) else x for x in operands]
        traced, host = find_tracers(found), find_host((found,))
        if self.is_program and (traced or host is None):
            return self.__wrapped__(*operands, **options)
        if not (traced or host):
            return super().__call__(*found, **options)
        given = [Still(x) if _is_copied(x) else x for x in found]
        if self.has_body:
            return super().__call__(*given, **options)
        reach = Reach([x for x in found if callable(x)], writes=True)
        before = _marks(reach)
        y = super().__call__(*given, **options)
        written = [path for path, x in reach.written() if _is_of_numbers(x)]
        after = zip(reach.arrays, before, _marks(reach), strict=True)
        written += [describe(x) for x, was, now in after if was != now]
        if written:
            _refuse(written[0].lstrip("."), self.__name__)
        return y


class Still(Operator):
    """A function of which copies are called: it writes to nothing that was copied.

    Attributes
    ----------
    f : callable
        A `Closure`, or a structure that holds traced values.
    """

    FIELDS = ("f",)
    f: Any

    def __call__(self, *operands: Any) -> Any:
        """Call it, and check that its copies hold what they held."""
        known = self.__dict__
        if "held" not in known:
            known["call"] = self.f.filled() if isinstance(self.f, Closure) else self.f
            copies = self.f.copies if isinstance(self.f, Closure) else _parts(self.f)
            known["held"] = [(x, dict(named(x))) for x in copies]
        y = known["call"](*operands)
        for x, before in known["held"]:
            now = dict(named(x))
            for name in {**before, **now}:
                if now.get(name, known) is not before.get(name, known):
                    shown = name[2:-2] if isinstance(x, dict) else f"{describe(x)}{name}"
                    _refuse(shown, getattr(known["call"], "__name__", type(x).__name__))
        return y


def _is_copied(f: Any) -> bool:
    if isinstance(f, Operator):
        return False
    return isinstance(f, Closure) or (callable(f) and is_container(type(f)))


def _parts(x: Any) -> list[Any]:
    """List the structures that a value is made of, which engines put together again."""
    if isinstance(x, (Closure, Operator)) or not is_container(type(x)):
        return []
    return [x, *[part for _, y in fields_of(x) for part in _parts(y)]]


def _refuse(place: str, name: str) -> NoReturn:
    """Raise: a function writes to what it was not given.

    Raises
    ------
    NotDifferentiableError
        Always.
    """
    msg = (
        f"a function given to {name} writes to {place}, which is no part of the result: it would "
        f"not be known what that depends on; return the value, or compute it from what {name} "
        "gives; a log may hold texts, such as f'{y}'"
    )
    raise NotDifferentiableError(msg)


def _marks(reach: Reach) -> list[Any]:
    memories = [(type_info(type(x)).memory, x) for x in reach.arrays]
    return [memory.fingerprint(x, False) if memory else None for memory, x in memories]


def _is_of_numbers(x: Any) -> bool:
    return any(map(_is_number, flatten(x)[0])) or knows(x, _is_number)


def _is_number(x: Any) -> bool:
    """Tell whether a value is a number that is not whole, an array of such, or traced."""
    info = type_info(type(x))
    if isinstance(x, (bool, int)) or not (info.is_array or info.is_number):
        return isinstance(x, Tracer) or info.host is not None
    return getattr(getattr(x, "dtype", None), "kind", "f") not in "biu"
