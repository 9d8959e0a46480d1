"""Tangents of dicts as people's rules read them: a key that the dict has not is an error.

In a tangent what is left out is zero; so a key that is written wrongly would be zero as well.
"""

from __future__ import annotations

from typing import Any

from chainrules_py.tangents.checks import unknown_keys
from chainrules_py.tangents.space import StructureSpace, space
from chainrules_py.tangents.structural import Tangent
from chainrules_py.values.structure import is_structure_type


class _Keys(dict[Any, Any]):
    """Entries of the tangent of a dict whose keys are known: what it has not is no zero."""

    __slots__ = ("known",)
    known: Any

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the entry, or the default where the dict has the key."""
        if key not in self and key not in self.known:
            raise KeyError(unknown_keys(dict, [key], self.known))
        return super().get(key, default)


def knowing(t: Any, fields: Any) -> Any:
    """Return a tangent as a person's rule reads it: a key that the dict has not is an error.

    Parameters
    ----------
    t : tangent
    fields : mapping
        The spaces of the structure's fields; what has none is left as it is.
    """
    if not isinstance(t, Tangent):
        return t
    inner = {key: getattr(of, "fields", None) for key, of in fields.items()}
    entries = {
        key: part if inner.get(key) is None else knowing(part, inner[key])
        for key, part in t._entries.items()
    }
    if t._structure.kind == "keys":
        entries = _Keys(entries)
        entries.known = inner
    return t._of(entries, t._length)


def known(t: Any, x: Any) -> Any:
    """Return the tangent of a value as a rule reads it."""
    return knowing(t, space(x).fields) if isinstance(t, Tangent) else t


def keyed(y: Any) -> Any:
    """Return the spaces of the fields of a structure that is, or has, a dict; else None."""
    if not is_structure_type(type(y)):
        return None
    of = space(y)
    waiting = [of]
    while waiting:
        some = waiting.pop()
        if type(some) is StructureSpace:
            if issubclass(some.primal_type, dict):
                return of.fields
            waiting += some.fields.values()
    return None


def reading(pull: Any, fields: Any) -> Any:
    """Wrap a pull that reads the cotangent of a structure with these fields."""
    return pull and (lambda y_bar, *saved: pull(knowing(y_bar, fields), *saved))
