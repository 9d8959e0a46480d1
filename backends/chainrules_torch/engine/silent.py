"""Rules whose code asks no tensor for its numbers: nothing has to watch over them.

``lambda y, x: v.cos(x) * x`` can lose no derivative by ``float(x)``. It is found from the code, and
holds as long as that, and what its names mean, stay the same.
"""

from __future__ import annotations

import builtins
import dis
import types
from collections.abc import Iterable
from types import CodeType, FunctionType
from typing import Any

import torch

from chainrules_py import LinearMap, NoTangent, Primitive, ZeroTangent
from chainrules_py import vocabulary as v
from chainrules_py.extend import Rule
from chainrules_torch.engine.maps import PLAIN, Unchanged, holds_nothing


def silent(rule: Rule, classes: tuple[type, ...]) -> Unchanged | None:
    """Tell when the halves of a rule ask no tensor for its numbers; None: they may.

    Halves may compute the value once more.
    """
    if not _PLAIN.issuperset(classes):
        return None
    functions: list[Any] = [rule.primal.implementation(classes)]
    for statement in {id(s): s for s in (rule.forward, rule.reverse) if s is not None}.values():
        recipe = statement.recipe
        if recipe.is_hooked or not (recipe.pen == "scalar_rule" or _is_plain_rule(recipe)):
            return None
        functions += [f for f in recipe.functions if f is not None]
    codes: list[Any] = []
    means: list[Any] = []
    while functions:
        f = functions.pop()
        if f in _KNOWN or any([f is g for g, _ in codes]):
            continue
        if type(f) is not FunctionType or not holds_nothing(f):
            return None
        codes.append((f, f.__code__))
        for name in names_of(f.__code__):
            if name is None or name in _ASKING or name in _BUILTINS:
                return None
            if name in f.__globals__:
                meant = f.__globals__[name]
                means.append((f.__globals__.get, name, meant))
                if type(meant) is FunctionType:
                    functions.append(meant)
                elif meant is not rule.primal and not _is_silent(meant):
                    return None
    return Unchanged(codes, means)


def _is_plain_rule(recipe: Any) -> bool:
    return recipe.pen == "rule" and type(getattr(recipe, "batched", None)) is bool


def _is_silent(x: Any) -> bool:
    """Tell whether code that uses a value by a name gets no numbers of tensors by it."""
    if type(x) is types.ModuleType:
        return x is v or x is torch
    if isinstance(x, Primitive):
        return (x.__module__ or "").startswith("chainrules_py.")
    return type(x) in PLAIN or isinstance(x, torch.Tensor) or x in _KNOWN


def names_of(code: CodeType) -> Iterable[str | None]:
    """Yield the names of globals, attributes and methods in a code; None for what has none."""
    for step in dis.get_instructions(code):
        if step.opname.startswith(("IMPORT_", "FORMAT_", "STORE_GLOBAL", "LOAD_BUILD_CLASS")):
            yield None
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_of(constant)
        elif isinstance(constant, (str, bytes)) and "%" in str(constant):
            yield None  # "%f" % x
    for name in code.co_names:
        yield None if name.startswith("__") else name


_PLAIN = frozenset((torch.Tensor, torch.nn.Parameter))
_KNOWN: tuple[Any, ...] = (LinearMap, NoTangent, ZeroTangent)
_ASKING = frozenset(("item", "tolist", "numpy", "apply_", "map_"))
_SAFE = ("abs", "all", "any", "len", "list", "max", "min", "range", "slice", "sum", "tuple", "zip")
_BUILTINS = frozenset(dir(builtins)) - frozenset(_SAFE)
