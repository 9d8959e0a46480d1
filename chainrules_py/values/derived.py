"""Derived attributes: numbers that an object keeps beside its fields, and that depend on these.

A structure is rebuilt around other values, and what is no field stays: a number that was derived
from the old values would count as constant. So it is an error where an attribute holds such a
number, or something that cannot be looked into.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from chainrules_py.errors import NotDifferentiableError
from chainrules_py.values.forgetting import forgets
from chainrules_py.values.holding import holds, inside, is_real, may_hold, slots

_MOST = 1_000


def is_it(x: object, it: object) -> bool:
    """Tell whether something is an object, or refers to it."""
    return x is it or (type(x) is weakref.ref and x() is it)


@functools.cache
def cached_properties(cls: type) -> frozenset[str]:
    """Name the attributes that do not survive a rebuild, since they belong to the old values."""
    found = [item for base in cls.__mro__ for item in base.__dict__.items()]
    return frozenset(name for name, x in found if isinstance(x, functools.cached_property))


def codes_of(cls: type, methods: Iterable[str]) -> list[types.CodeType]:
    """List the code of methods of a class, with that of its bases, and of what they name."""
    seen: set[str] = set()
    waiting, codes = [*methods], list[types.CodeType]()
    while waiting:
        name = waiting.pop()
        for f in [vars(base)[name] for base in cls.__mro__ if name in vars(base)]:
            for part in ("__func__", "fget", "func"):  # of a class method, a property, a cached one
                f = getattr(f, part, f)
            found = [f.__code__] if hasattr(f, "__code__") else []
            for code in found:
                found += [const for const in code.co_consts if isinstance(const, types.CodeType)]
                waiting += {*code.co_names} - seen
                seen.update(code.co_names)
            codes += found
    return codes


@functools.cache
def _computed(cls: type) -> dict[str, frozenset[str]]:
    """Map attributes that are made of more than a parameter, where one is made, to what is read."""
    import dis  # which imports inspect

    made = dict[str, frozenset[str]]()
    for code in codes_of(cls, ("__new__", "__init__")):
        steps = [*dis.get_instructions(code)]
        given: set[Any] = {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}
        given -= {step.argval for step in steps if step.opname == "STORE_FAST"}
        depth, start = 0, 0  # of the stack, and where it was empty
        for i, step in enumerate(steps):
            if step.opname == "STORE_ATTR":
                kept = [x.opname == "LOAD_CONST" or x.argval in given for x in steps[:i]]
                whole = [k or x.opname in _MOVING for k, x in zip(kept, steps, strict=False)]
                if not (all(whole[start:]) or (kept[-2] and not steps[i - 1].is_jump_target)):
                    read = [x.argval for x in steps[start : i - 1] if x.opname in _READING]
                    local = [n for n in read if n in code.co_varnames and n not in given]
                    made[step.argval] = made.get(step.argval, frozenset()).union(
                        read, ["*"] if local else []
                    )
            depth += dis.stack_effect(step.opcode, step.arg, jump=False)
            start = start if depth else i + 1
    return made


_READING = {"LOAD_FAST", "LOAD_ATTR", "LOAD_METHOD", "LOAD_DEREF"}
_MOVING = {"SWAP", "COPY", "STORE_ATTR", "RESUME", "COPY_FREE_VARS", "MAKE_CELL", "NOP"}


forgets(lambda: (_computed, cached_properties))


def refuse_computed(x: Any, entries: Iterable[Any]) -> None:
    """Raise for real numbers in an attribute of a container that are made of what it contains."""
    real = [entry for entry in entries if holds(entry, is_real)]
    if real:
        held = getattr(x, "__dict__", x)
        found = {} if held is x else {**held}
        names = x if isinstance(x, dict) else ()
        by_chance = (int, float, complex)  # one object in all of a code's constants
        named = {n: y for n, y in found.items() if type(y) not in by_chance or n in names}
        same = [name for name, y in named.items() if any([y is entry for entry in real])]
        for name in sorted({*_computed(type(x)), *same}):  # type: ignore[arg-type]  # as above
            if not is_it(found.get(name), x) and holds(getattr(x, name, None), is_real):
                _refuse(x, name, "__init__ may have derived from what it contains", "a property")


def refuse_carried(x: object, new: object, keys: list[Any]) -> None:
    """Raise for an attribute that an object took over, and that __init__ makes of its fields.

    Which parameters became fields is seen by their names; a local name may hold anything.
    """
    kept, now = getattr(x, "__dict__", {}), getattr(new, "__dict__", {})
    for name, y in kept.items():
        if name in keys or now.get(name) is not y or not may_hold(type(y)):  # type: ignore[arg-type]
            continue
        read = _computed(type(x)).get(name, frozenset())  # type: ignore[arg-type]  # hashable
        if not read.isdisjoint({"*", *keys}) and holds(y, is_real):
            how = f"__init__ derives from {' and '.join(map(str, keys))}"
            _refuse(x, name, how, "a field, what rebuild computes anew, a property")


def _refuse(x: object, name: str, how: str, instead: str) -> NoReturn:
    msg = (
        f"{type(x).__qualname__}.{name} is no field, and holds numbers that {how}: their "
        f"derivative would be lost; make it {instead} or a functools.cached_property"
    )
    raise NotDifferentiableError(msg)


derives: list[Callable[[Any, list[str]], bool]] = []
"""``derives(x, names)`` tells whether attributes are derived, where an object is made anew."""


def refuse_derived(x: object, names: tuple[str, ...], read: set[str]) -> None:
    """Raise for an attribute that holds what real numbers in fields are, or may be made of."""
    kept = cached_properties(type(x))  # type: ignore[arg-type]  # classes are hashable
    named = [slot.__name__ for slot in slots_of(type(x), names) if hasattr(x, slot.__name__)]
    more = sorted({*getattr(x, "__dict__", ()), *named} - {*names, *kept})
    found = [(name, y) for name in more if not is_it(y := getattr(x, name), x)]
    found = [pair for pair in found if may_hold(type(pair[1]))]  # type: ignore[arg-type]  # hashable
    for name, y in found:
        if any([part is x for part in itertools.islice(inside(y), _MOST)]):
            how = "are those of an object that this is a part of"
            _refuse(x, name, how, "an argument of what uses it, a property")
    if not any([holds(getattr(x, name, None), is_real) for name in (read if found else ())]):
        return
    real = [name for name, y in found if holds(y, is_real)]
    ids = [id(getattr(x, name, None)) for name in (*names, *real)]
    known = _free.get(id(x))
    if not real or (known is not None and known[0]() is x and known[1] == ids):
        return
    if any([ask(x, real) for ask in derives] or [True]):
        how = f"__post_init__ may have derived from {' and '.join(sorted(read))}"
        _refuse(x, real[0], how, "a field, a property")
    with contextlib.suppress(TypeError):  # of slots alone
        key = id(x)
        _free[key] = weakref.ref(x, lambda _: _free.pop(key, None)), ids


_free: dict[int, tuple[weakref.ref[Any], list[int]]] = {}
"""Objects of which no attribute is derived, each with what it held then."""


def gives_away(code: types.CodeType) -> bool:
    """Tell whether code of a method uses its object for more than the attributes that it names."""
    import dis  # which imports inspect

    if not code.co_argcount or code.co_name[0] == "<":  # of a comprehension
        return False
    own, steps = code.co_varnames[0], [*dis.get_instructions(code)]
    kinds = [then.opname.rpartition("_")[2] for step, then in itertools.pairwise(steps)
             if step.opname != "LOAD_CLOSURE" and step.argval == own]  # fmt: skip
    return not {"ATTR", "METHOD"}.issuperset(kinds)


def slots_of(cls: type, names: tuple[str, ...]) -> list[types.MemberDescriptorType]:
    """List the slots to copy.

    attrs keeps the values of cached properties of a slotted class in slots of their own; besides
    its fields these are the only slots that it makes, and they are left out.
    """
    own = [x for x in slots(cls) if "__attrs_attrs__" in vars(x.__objclass__)]
    return [x for x in slots(cls) if x.__name__ in names or x not in own]
