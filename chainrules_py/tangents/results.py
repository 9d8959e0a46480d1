"""Results of functions that have rules: numbers that derivatives see, or an error.

What hides its numbers counts as a constant to every engine. So whatever a rule that a person stated
gives for the value is looked at here, once for each class and dtype, before any engine sees it.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterable
from typing import Any

from chainrules_py.errors import NotDifferentiableError, describe
from chainrules_py.primitives.plugins import see
from chainrules_py.tangents.hidden import hides, kept
from chainrules_py.tangents.space import dtype_kind, kind_of
from chainrules_py.values.arrays import Tracer
from chainrules_py.values.forgetting import forgets
from chainrules_py.values.pytree import flatten, unflatten
from chainrules_py.values.structure import is_structure_type
from chainrules_py.values.type_info import namespace_of, type_info


class Results(set[Any]):
    """Results that hide nothing, of calls with operands of some classes.

    It holds classes, and pairs of a class and a dtype. A caller asks it first, so that what is
    known costs no call: ``type(y) in known or (type(y), getattr(y, "dtype", None)) in known``.

    Attributes
    ----------
    home : callable or None
        `shown`, if a result may become an array of an operand's library: before anything is made
        of it.
    """

    def __init__(self, classes: tuple[type, ...]) -> None:
        super().__init__()
        self._fixed = not any(map(is_structure_type, classes))
        hosted = any([type_info(cls).host is not None for cls in classes])
        self.home = self.shown if hosted or not self._fixed else None
        _made[id(self)] = self

    __eq__ = object.__eq__
    __hash__ = object.__hash__  # type: ignore[assignment]

    def shown(self, y: Any, xs: Iterable[Any]) -> Any:
        """Return a result with its numbers where derivatives see them.

        An array of NumPy's becomes one of the library that differentiates the operands, which may
        compute with more than NumPy does, as JAX with bfloat16.

        Raises
        ------
        NotDifferentiableError
            If real numbers hide in it, are of a dtype that nobody computes with, or are in an array
            of another library than the one that differentiates the operands.
        """
        cls, dtype = type(y), getattr(y, "dtype", None)
        if cls in self or (cls, dtype) in self:
            return y
        if is_structure_type(cls):
            leaves, treedef = flatten(y)
            found = [self.shown(leaf, xs) for leaf in leaves]
            same = all([a is b for a, b in zip(leaves, found, strict=True)])
            return y if same else unflatten(treedef, found)
        if type_info(cls).namespace is None:
            see(None, (cls,))  # whose library may be known by now
        kind = kind_of(y)
        if kind == "none":
            return kept(y) if hides(cls) else y
        if not issubclass(cls, Tracer):
            hosts = [x for x in flatten(tuple(xs))[0] if _is_hosted(type(x))]
            if _is_hosted(cls):
                _check_home(y, hosts)
            elif dtype is not None:
                for x in hosts:
                    if kind != "other" or dtype_kind(dtype, type(x)) in ("real", "complex"):
                        return _copied(y, x)
        if kind == "other":
            return kept(y)
        if self._fixed or not _is_hosted(cls):
            self.add(cls if dtype is None or issubclass(cls, Tracer) else (cls, dtype))
        return y


_made: weakref.WeakValueDictionary[int, Results] = weakref.WeakValueDictionary()
forgets(lambda: [known for ref in _made.valuerefs() if (known := ref()) is not None])


def _is_hosted(cls: type) -> bool:
    """Tell whether a class is of arrays of a library with an engine of its own."""
    info = type_info(cls)
    return info.is_array and info.host is not None and not issubclass(cls, Tracer)


def _copied(y: Any, x: Any) -> Any:
    """Return NumPy's array as one of the library of x, unless that is NumPy, and where x is."""
    info = type_info(type(x))
    if info.namespace is type_info(type(y)).namespace:
        return y
    options = {}
    with contextlib.suppress(Exception):  # of a value that is being compiled, no library says so
        options = {"device": x.device} if info.has_device else {}
    return namespace_of(type(x)).asarray(y, copy=True, **options)


def _check_home(y: Any, hosts: list[Any]) -> None:
    """Raise for an array of another library than the one that differentiates the operands."""
    ours = (type_info(type(y)).namespace, None)
    if hosts and all([type_info(type(x)).namespace not in ours for x in hosts]):
        msg = (
            f"a function with a rule returned {describe(y)} of another library than its operands, "
            f"which their engine would take for a constant: return an array like them, or NumPy's"
        )
        raise NotDifferentiableError(msg)
