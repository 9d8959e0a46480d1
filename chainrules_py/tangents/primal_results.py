"""Results of user-defined rules: checks of their dtypes, and conversion to the operands' library.

A rule may compute with NumPy while another library's engine differentiates its operands; that
engine would treat a NumPy array as constant. Every engine treats a result of an unknown class or
dtype as constant.
"""

import contextlib
from typing import Any

from chainrules_py.errors import NotDifferentiableError, describe
from chainrules_py.primitives.plugins import see
from chainrules_py.tangents.space import dtype_kind, kind_of, refuse_numbers
from chainrules_py.values.caches import forgets
from chainrules_py.values.dispatch_types import Tracer
from chainrules_py.values.object_contents import holds, is_of_numbers, is_real
from chainrules_py.values.pytree import flatten, map_leaves
from chainrules_py.values.type_info import namespace_of, type_info

known_results: set[Any] = set()
"""Pairs of class and dtype that passed `check_result`; callers look here first."""
forgets(lambda: (known_results,))


def check_result(y: Any) -> None:
    """Raise for a result with numbers that no derivative sees: in objects, or of an unknown dtype.

    Raises
    ------
    NotDifferentiableError
        The message says how to return them.
    """
    parts = y if isinstance(y, tuple) else (y,)
    if known_results.issuperset([(type(x), getattr(x, "dtype", None)) for x in parts]):
        return
    for leaf in flatten(y)[0]:
        refuse_objects(leaf)
        if not issubclass(type(leaf), Tracer) and (leaf is y or kind_of(leaf) != "other"):
            known_results.add((type(leaf), getattr(leaf, "dtype", None)))


def refuse_objects(x: Any) -> None:
    """Raise for an array with real numbers in objects, in fields, or of an unknown dtype."""
    if kind_of(x) == "other" and _is_of_numbers(x):
        refuse_numbers(x)


def _is_of_numbers(x: Any) -> bool:
    """Return whether an array has real numbers in objects or fields, or of a foreign dtype."""
    kind = getattr(x.dtype, "kind", None)
    if kind == "O" and not type_info(type(x)).is_hidden:  # its elements can be read
        return any([holds(part, is_real) for part in x.flat])
    return is_of_numbers(x.dtype) or (kind == "V" and x.dtype.type.__name__ != "void")


def brought_home(y: Any, xs: tuple[Any, ...]) -> Any:
    """Convert the arrays of a result to the library that differentiates the operands.

    Raises
    ------
    NotDifferentiableError
        If an array is of a third library.
    """
    if all([type(x) is type(y) for x in xs]):
        return y
    hosts = [x for x in flatten(xs)[0] if _is_hosted(type(x))]
    return map_leaves(lambda leaf: _brought(leaf, hosts), y) if hosts else y


def _brought(y: Any, hosts: list[Any]) -> Any:
    cls, dtype = type(y), getattr(y, "dtype", None)
    if dtype is None or issubclass(cls, Tracer):
        return y
    if type_info(cls).namespace is None:
        see(None, (cls,))  # loads the backend of its library
    if not _is_hosted(cls):
        for x in hosts:
            if kind_of(y) != "other" or dtype_kind(dtype, type(x)) in ("real", "complex"):
                return _copied(y, x)
        return y
    if all([type_info(type(x)).namespace not in (type_info(cls).namespace, None) for x in hosts]):
        raise NotDifferentiableError(
            f"a function with a rule returned {describe(y)} of another library than its operands, "
            f"which their engine would take for a constant: return an array like them, or NumPy's"
        )
    return y


def _is_hosted(cls: type) -> bool:
    """Return whether a class is of arrays that another engine traces."""
    info = type_info(cls)
    return info.is_array and info.host is not None and not issubclass(cls, Tracer)


def _copied(y: Any, x: Any) -> Any:
    """Copy NumPy's array to the library and device of x, unless that library is NumPy."""
    info = type_info(type(x))
    if info.namespace is type_info(type(y)).namespace:
        return y
    options = {}
    with contextlib.suppress(Exception):  # a value that is being compiled has no device
        options = {"device": x.device} if info.has_device else {}
    return namespace_of(type(x)).asarray(y, copy=True, **options)
