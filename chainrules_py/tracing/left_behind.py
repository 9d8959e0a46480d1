"""What a rule leaves somewhere at a call and its pullback looks up, where calls are nested."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chainrules_py.errors import TracerError, describe
from chainrules_py.primitives.closures.freeze import ANY
from chainrules_py.primitives.closures.places import written
from chainrules_py.primitives.closures.reach import Reach
from chainrules_py.tracing.array_like import ArrayLike, innermost
from chainrules_py.values.pytree import flatten

_NUMBERS = (int, float, complex)
_BY_TEXT = {ANY, "__setitem__", "__setattr__", "update"}  # globals()["w"] = x


def check_traced(functions: Sequence[Any], record: Any, payloads: Sequence[Any]) -> None:
    """Raise if what is looked up later is an operand, and no longer what is differentiated in.

    A rule that leaves an operand in a place that is no operand's, and calls its own function, runs
    again, one differentiation further down, and leaves there what the operand stands for.

    Raises
    ------
    TracerError
        The derivative of the derivative would be without that part.
    """
    plain = [innermost(x) for x in payloads if issubclass(type(x), ArrayLike)]
    if not plain:
        return
    given = [x for x in flatten(list(payloads))[0] if not issubclass(type(x), ArrayLike)]
    plain = [x for x in plain if not any([x is y for y in given])]  # as an operand that is constant
    saved = record[2:] if type(record) is tuple else ()
    reach = Reach((*functions, *saved))
    for path, x in reach.values():
        if not any([x is y for y in plain]):
            continue
        named = _BY_TEXT.isdisjoint(reach.names) or type(x) in _NUMBERS
        if path[0][0] is None and named and not reach.is_own(path):
            continue  # a name that no code gives a value: an equal number, or it was the operand
        msg = (
            f"{written(path)} is {describe(x)}, which was an operand that is being differentiated: "
            f"the derivative of the derivative would be lost. Let the pullback close over the "
            f"operand, or save it in the rule's result"
        )
        raise TracerError(msg)
