"""Names that functions look up, read off their code."""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from chainrules_py.extend import content


class Names(NamedTuple):
    """Names that code, with that of the functions in it, uses.

    Attributes
    ----------
    scope : tuple of str
        The globals that it looks up.
    attributes : frozenset of str
        What it may look up as an attribute: by its name, or as text. `ANY` if names are computed,
        `ATTRIBUTES` if it lists them.
    imports : frozenset of str
        The modules that it imports, and texts that may name one where it looks modules up, of
        which "__name__" is its own.
    opens : bool
        Whether it may look up globals by what it has as attributes, which are texts.
    """

    scope: tuple[str, ...] = ()
    attributes: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()
    opens: bool = False


NO_NAMES = Names()
ANY = "*"
"""Stands among attributes for all of them."""
ATTRIBUTES = "."
"""Stands for all of those that objects and classes have; not for what modules define."""
_ALL_OF_THEM = {"vars", "__dict__", "asdict", "astuple", "__getstate__"}
_LISTED = {"dir", "__dir__", "getmembers", "getmembers_static", "get_type_hints"}
_BY_FUNCTIONS = {"fields": "__dataclass_fields__", "get_annotations": "__annotations__"}
_BY_FUNCTIONS |= {"get_type_hints": "__annotations__", "_asdict": "_fields"}
"""Attributes that functions of libraries look up of what they are given."""
_LONGEST = 10_000
"""Texts with more characters are no names."""
_MODULES = {"modules", "__import__", "import_module"}
"""Names by which modules are looked up."""
_OPENING = {"globals", "__globals__", "f_globals"}
_BUILT_IN, _RUNNING = {"builtins", "__builtins__"}, {"eval", "exec"}
"""Names by which globals are looked up by texts, some of them of code; a model has an `eval`."""
_IDENTIFIER = re.compile(r"[^\W\d]\w*")


@functools.lru_cache(maxsize=4096)
def names_in(code: types.CodeType) -> Names:
    """Find the names that a function uses."""
    import dis  # which imports inspect

    steps = [*dis.get_instructions(code)]
    scope, known = dict[str, None](), {*_texts(code.co_consts)}
    imports = {step.argval for step in steps if step.opname == "IMPORT_NAME"}
    for step in steps:
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            scope[step.argval] = None
            known |= {"__setattr__"} if step.argval in ("setattr", "delattr") else set()
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"):
            known.add(step.argval)
        elif step.opname in ("STORE_SUBSCR", "DELETE_SUBSCR"):
            known.add("__setitem__")
    called = {*scope, *known}
    known |= {_BY_FUNCTIONS[name] for name in called if name in _BY_FUNCTIONS}
    known |= {"__match_args__" for step in steps if step.opname == "MATCH_CLASS"}
    written = any([step.opname.startswith(("BUILD_STRING", "FORMAT_")) for step in steps])
    known |= named_in([step.argval for step in steps if step.opname == "LOAD_CONST"])
    if _MODULES & called:
        imports |= {"__name__", *[x for x in code.co_consts if type(x) is str]}
    opens = _opens({*scope}, called)
    known |= _all_of(called, written)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            names = names_in(inner)
            scope.update(dict.fromkeys(names.scope))
            known |= names.attributes
            imports |= names.imports
            opens |= names.opens
    known |= {*_identifiers(code), *[ANY][not written :]} if opens else set()
    return Names(tuple(scope), frozenset(known), frozenset(imports), opens)


def _all_of(called: set[str], written: bool) -> set[str]:
    """Return what stands for names that code does not have: it lists them, or writes them."""
    found = {ATTRIBUTES} if _LISTED & called else set()
    everything = _ALL_OF_THEM & called or ("getattr" in called and written)
    return found | ({ANY} if everything else set())


def named_in(values: Iterable[Any]) -> set[str]:
    """Return the names that stand in texts, as in a line of names, or in a format."""
    texts = [x for x in values if type(x) is str and len(x) <= _LONGEST]
    return {name for x in texts for name in _IDENTIFIER.findall(x)}


def _opens(scope: set[str], called: set[str]) -> bool:
    """Tell whether code looks up globals by texts, of what it looks up there or anywhere."""
    return bool(_OPENING & called or _RUNNING & (called if _BUILT_IN & called else scope))


def _identifiers(code: types.CodeType) -> Iterator[str]:
    """Yield the names in texts of code, and of the functions in it."""
    for x in code.co_consts:
        if type(x) is str:
            yield from _IDENTIFIER.findall(x)
        elif isinstance(x, types.CodeType):
            yield from _identifiers(x)


def global_names(f: types.FunctionType) -> tuple[str, ...]:
    """Return the globals that a function, and those defined in it, may look up; or that lack.

    By a text as well: in one that is computed, any.
    """
    names, scope = names_in(f.__code__), f.__globals__
    found = [scope[name] for name in names.scope if name in scope]
    found += [content(cell) for cell in f.__closure__ or ()]
    found += [*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]
    if not (names.opens or any([x is y for x in found for y in _OPENERS])):
        return names.scope
    texts = {*_identifiers(f.__code__)}
    for x in found:  # of code, or names
        if isinstance(x, types.CodeType):
            texts.update(names_in(x).scope)
        elif type(x) is str:
            texts.update(_IDENTIFIER.findall(x))
    if ANY in names.attributes or not texts:
        texts.update([name for name in scope if name[:2] != "__"])
    return (*names.scope, *sorted(texts.difference(names.scope)))


def globals_of(f: types.FunctionType) -> dict[str, Any]:
    """Return the globals that a function, and the functions defined in it, may look up."""
    scope = f.__globals__
    return {name: scope[name] for name in global_names(f) if name in scope}


_OPENERS = (globals, eval, exec)


def _texts(constants: tuple[Any, ...]) -> Iterator[str]:
    """Yield the texts among constants that may name something."""
    for x in constants:
        if type(x) is str:
            yield from [x] if x.isidentifier() else filter(str.isidentifier, x.split("."))
        elif type(x) is tuple:
            yield from _texts(x)
