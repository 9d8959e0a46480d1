"""Normal form of calls: a primitive, its operands and its options."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

from chainrules_py.errors import NoRuleError
from chainrules_py.ops.elementwise import lift
from chainrules_py.primitives import plugins
from chainrules_py.primitives.aliases.alias import aliases
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.registry.explain import missing_rule
from chainrules_py.registry.table import primal_of
from chainrules_py.values import dispatch_types
from chainrules_py.values.type_info import type_info


def normalise_call(f: Any, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return a call as ``(primal, operands, options, native)``.

    ``native`` is the function that computes the value, or None for the primal itself. A call
    without a primal gives ``(None, operands, {}, call)``, where ``call(*operands)`` is traced.
    """
    if isinstance(f, Primitive):
        return f, *f.normalise(operands, options), None
    if primal_of(f) is None:
        plugins.see(f, map(type, operands))
    home = dispatch_types.number_home(f)
    if home is not None and all(type_info(type(x)).is_python_number for x in operands):
        operands = tuple([scalar_at_home(x, home) for x in operands])
    row = aliases.get(f) if isinstance(f, Hashable) else None
    if row is None:
        raise NoRuleError(missing_rule(f, tuple(map(type, operands))))
    operation: Any = row.operation
    bare = isinstance(operation, Primitive) and not options and not operation.options
    if bare and len(operands) == len(operation.operands):
        return operation, operands, options, row.native
    classes = map(type, (*operands, *options.values()))
    at_home = next((cls for cls in classes if type_info(cls).home is not None), type(None))
    call = dispatch_types.called_beside(type_info(at_home).home, row.call, operands, options)
    operations = isinstance(operation, Primitive) and isinstance(call.operation, Primitive)
    whole = partial(_whole, f, at_home, options)
    # An option passed by position is also an operand, with NoTangent(); a list is one operand.
    same = all(x is y for x, y in zip(call.operands.values(), operands, strict=False))
    lowered = not same and not options.keys().isdisjoint(row.lower)
    if not operations or call.after or lowered or len(call.operands) != len(operands):
        return None, operands, {}, whole
    primal: Any = call.operation  # a keyword may select another operation
    xs, stated = primal.normalise(tuple(call.operands.values()), call.options)
    # Defaults are operands without tangents.
    return (primal, xs, stated, None) if len(xs) == len(operands) else (None, operands, {}, whole)


def _whole(f: Any, at_home: type, options: dict[str, Any], *xs: Any) -> Any:
    """Call a library function through its alias, which another process may have to load first."""
    if f not in aliases:
        plugins.see(f, (at_home,))
    row = aliases[f]
    return dispatch_types.called_beside(type_info(at_home).home, lambda: row.call(xs, options)())  # noqa: PLW0108 (both inside)


def scalar_at_home(x: Any, home: Any) -> Any:
    """Convert a Python number, or its tracer, to the scalar that a library makes of it."""
    return lift(x, to=home)
