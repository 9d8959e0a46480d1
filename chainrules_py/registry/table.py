"""The table of rules, and how a rule is found.

Each primal has two small tables, one per mode; a statement usually stands in both. In front is one
flat dict per set of engine capabilities, from ``(f, types)`` to the rule, misses included.
"""

from __future__ import annotations

import contextlib
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any, final

from chainrules_py.config import Capability, Config
from chainrules_py.errors import NoRuleError, RuleError, describe
from chainrules_py.primitives import plugins
from chainrules_py.primitives.dispatch import (
    Cache,
    MethodTable,
    invalidate,
    lock,
    signature_text,
    where_defined,
)
from chainrules_py.primitives.plugins import (
    Layer,
    layer_of,
    module_of,
    see,
    see_about,
    see_all,
    see_libraries,
)
from chainrules_py.primitives.primitive import Primitive, primitive
from chainrules_py.primitives.rows.alias import UFUNC_KEYWORDS, alias, aliases
from chainrules_py.values import arrays

__all__ = [
    "Rule",
    "Statement",
    "demand_rule",
    "enter",
    "explain",
    "find_rule",
    "primal_of",
    "rules_for",
]

MODES = ("forward", "reverse")


@final
class Source:
    """Where a statement was written.

    Attributes
    ----------
    module, name : str
        Of the function that was written, or of the call that states a rule.
    where : str
        ``file:line``.
    """

    __slots__ = ("_spec", "_stated_by_call", "module", "name", "where")

    def __init__(self, module: str, name: str, where: str, spec: Any, stated_by_call: bool) -> None:
        self.module = module
        self.name = name
        self.where = where
        self._spec = spec
        self._stated_by_call = stated_by_call

    @classmethod
    def function(cls, f: Callable[..., Any]) -> Source:
        """The source of a rule that is a function."""
        return cls(f.__module__, f.__qualname__, where_defined(f), None, False)

    @classmethod
    def caller(cls, name: str) -> Source:
        """The source of a rule that is stated by calling a pen: the line outside our pens."""
        frame = sys._getframe(2)
        spec = frame.f_globals.get("__spec__")
        where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        return cls(frame.f_globals.get("__name__", "__main__"), name, where, spec, True)

    def replaces(self, old: Source) -> bool:
        """Whether this is the old statement again: a module, or a notebook's cell, run anew."""
        if (self.module, self.name) != (old.module, old.name):
            return False
        if not self._stated_by_call:
            return True
        # Calls have no name of their own: two in one run of one file are two statements.
        file, _, _ = self.where.rpartition(":")
        old_file, _, _ = old.where.rpartition(":")
        return self.where == old.where or file != old_file or self._spec is not old._spec

    def __repr__(self) -> str:
        return f"{self.name} at {self.where}"


@final
class Statement:
    """What somebody wrote about one primal for operands of some types.

    Attributes
    ----------
    primal : Primitive
        What it is a derivative of.
    signature, varargs
        The types that it is dispatched on.
    modes : tuple of str
        ``"forward"``, ``"reverse"`` or both.
    requires : frozenset of Capability
        What it asks of the engine.
    layer : Layer
        Whose it is.
    override : bool
        Whether it beats more specific statements.
    transposed : bool
        Whether it follows from a statement of the other mode: one that a person made of this mode,
        for the same types and in the same layer, comes first.
    source : Source
        Where a person wrote it.
    recipe : object
        How it is bound; None if the function was opted out for these types.
    """

    __slots__ = (
        "_layer",
        "modes",
        "override",
        "primal",
        "recipe",
        "requires",
        "signature",
        "source",
        "transposed",
        "varargs",
    )

    def __init__(
        self,
        primal: Primitive[..., Any],
        signature: tuple[Any, ...],
        varargs: Any,
        source: Source,
        recipe: Any,
        *,
        modes: tuple[str, ...] = MODES,
        requires: frozenset[Capability] = frozenset(),
        override: bool = False,
        transposed: bool = False,
        layer: Layer | None = None,
    ) -> None:
        self.primal = primal
        self.transposed = transposed
        self.signature = signature
        self.varargs = varargs
        self.source = source
        self.recipe = recipe
        self.modes = modes
        self.requires = requires
        self.override = override
        self._layer = layer

    @property
    def layer(self) -> Layer:
        """Whose it is, by its source unless it was given: which takes a look at the disk."""
        if self._layer is None:
            self._layer = layer_of(self.source.module)
        return self._layer

    @property
    def where(self) -> str:
        """``file:line`` of what was written."""
        return self.source.where

    @property
    def rank(self) -> int:
        """What decides between statements of one signature: the higher."""
        return 2 * (self.layer + _OVERRIDE * self.override) - self.transposed

    def __repr__(self) -> str:
        shown = self.signature if self.varargs is None else (*self.signature, self.varargs)
        types, modes = signature_text(shown), "/".join(self.modes)
        return f"<rule {self.primal.__name__}{types} {modes} at {self.where}>"


@final
class Rule:
    """What was found for a function and types: a statement per mode, often the same one.

    Engines give it to `chainrules_py.registry.bind.bind.bind`, which keeps what it makes in ``bound``.
    """

    __slots__ = ("bound", "forward", "primal", "reverse")

    def __init__(
        self, primal: Primitive[..., Any], forward: Statement | None, reverse: Statement | None
    ) -> None:
        self.primal = primal
        self.forward = forward
        self.reverse = reverse
        self.bound: dict[Any, Any] = {}

    def statement(self, mode: str) -> Statement | None:
        """The statement for a mode, or None."""
        return self.forward if mode == "forward" else self.reverse

    def __repr__(self) -> str:
        if self.forward is self.reverse:
            return repr(self.reverse)
        return f"<rules {self.forward!r} and {self.reverse!r}>"


_statements: dict[Primitive[..., Any], list[Statement]] = {}
_tables: dict[tuple[Primitive[..., Any], str, frozenset[Capability]], MethodTable[Statement]] = {}
_direct: dict[Any, Primitive[..., Any]] = {}
_asked: weakref.WeakSet[Primitive[..., Any]] = weakref.WeakSet()
"""The primals whose rules have been looked up."""
_caches: dict[frozenset[Capability], Cache] = {frozenset(): Cache()}
_plain = _caches[frozenset()]
_OVERRIDE = len(Layer)
_MISSING = object()


def enter(statement: Statement) -> None:
    """Put a statement into the table, whole or not at all.

    Raises
    ------
    RuleError
        If the same layer has another statement of the same signature.
    """
    with lock:
        present = _statements.get(statement.primal, [])
        kept = []
        for other in present:
            clash = (
                other.signature,
                other.varargs,
                other.requires,
                other.override,
            ) == (
                statement.signature,
                statement.varargs,
                statement.requires,
                statement.override,
            ) and (set(other.modes) & set(statement.modes) and other.layer == statement.layer)
            if not clash:
                kept.append(other)
            elif other.modes != statement.modes or not statement.source.replaces(other.source):
                msg = (
                    f"{statement!r} has the signature of {other!r}, and both are of the layer "
                    f"{statement.layer.name}; delete one, or write @rule(f, override=True)"
                )
                raise RuleError(msg)
        _statements[statement.primal] = [*kept, statement]
        for key in [k for k in _tables if k[0] is statement.primal]:
            del _tables[key]
        # What nobody has asked about, nobody remembers: a function that is made and given its rule
        # over and over does not make the others forget theirs.
        if statement.primal in _asked:
            invalidate()


def _table(
    primal: Primitive[..., Any], mode: str, can: frozenset[Capability]
) -> MethodTable[Statement]:
    with lock:
        key = (primal, mode, can)
        if key not in _tables:
            table: MethodTable[Statement] = MethodTable(primal.__name__)
            # At equal signature and layer, a rule that asks for more comes later and stays.
            for s in sorted(_statements.get(primal, ()), key=lambda s: len(s.requires)):
                if mode in s.modes and s.requires <= can:
                    table.add(s.signature, s.varargs, s.rank, s)
            _tables[key] = table
        return _tables[key]


def _best(
    primal: Primitive[..., Any], mode: str, can: frozenset[Capability], operands: tuple[type, ...]
) -> Statement | None:
    overriding = [
        s
        for s in _statements.get(primal, ())
        if s.override and mode in s.modes and s.requires <= can
    ]
    if overriding:
        table: MethodTable[Statement] = MethodTable(primal.__name__)
        for s in overriding:
            table.add(s.signature, s.varargs, s.rank, s)
        if (found := table.resolve(operands)) is not None:
            return found
    return _table(primal, mode, can).resolve(operands)


def find_rule(f: Any, operands: tuple[type, ...], config: Config | None = None) -> Rule | None:
    """The rule of a function for operands of these types, or None: what engines ask.

    Parameters
    ----------
    f : callable
        A primitive, a library's function that is aliased to one, or anything callable.
    operands : tuple of type
        The types of the operands; of tracers, their payloads' count.
    config : Config, optional
        The asking engine; rules with ``requires=`` are only found if it can do what they ask.

    Raises
    ------
    AmbiguousRuleError
        If two rules fit and nothing decides between them.

    Examples
    --------
    >>> from chainrules_py.vocabulary import sin
    >>> find_rule(sin, (float,)) is find_rule(sin, (float,))
    True
    >>> find_rule(print, (str,)) is None
    True
    """
    cache = _plain if config is None else _cache_of(config.capabilities)
    table = cache.table
    try:
        rule = table.get((f, operands), _MISSING)
        if rule is not _MISSING:
            return rule  # type: ignore[no-any-return]
        if (weakref.ref(f), operands) in table:
            return None
    except TypeError:  # f has no hash, or no weak references
        pass
    return _fill(cache.open(), f, operands, config)


def _cache_of(can: frozenset[Capability]) -> Cache:
    try:
        return _caches[can]
    except KeyError:
        with lock:
            return _caches.setdefault(can, Cache())


def _fill(
    cache: dict[Any, Any], f: Any, operands: tuple[type, ...], config: Config | None
) -> Rule | None:
    can = frozenset() if config is None else config.capabilities
    called, _ = unbind(f, ())
    if called is not f:
        return find_rule(called, (type(getattr(f, "__self__", f)), *operands), config)
    loaded = see_libraries(f, operands)
    primal = primal_of(f)
    if primal is None and see_about(module_of(f)):
        loaded, primal = True, primal_of(f)
    loaded |= primal is not None and see_about(primal.__module__)
    if loaded:
        cache = _cache_of(can).open()
    if primal is None:
        # Remembered weakly: a lambda that was asked about once can be collected.
        with contextlib.suppress(TypeError):
            hash(f)
            key = (weakref.ref(f, lambda _: cache.pop(key, None)), operands)
            cache[key] = None
        return None
    found = _resolve(primal, operands, can)
    cache[f, operands] = found
    return found


def _resolve(
    primal: Primitive[..., Any], operands: tuple[type, ...], can: frozenset[Capability]
) -> Rule | None:
    _asked.add(primal)  # before the statements are read: one that comes now makes this forgotten
    forward = _best(primal, "forward", can, operands)
    reverse = _best(primal, "reverse", can, operands)
    if forward is not None and forward.recipe is None:
        forward = None
    if reverse is not None and reverse.recipe is None:
        reverse = None
    if forward is None and reverse is None:
        return None
    return Rule(primal, forward, reverse)


def primal_of(f: Any) -> Primitive[..., Any] | None:
    """The primitive that rules of a callable are kept under, or None.

    Lowered aliases and composites have none: they are calls of several words.
    """
    if isinstance(f, Primitive):
        return f
    try:
        row = aliases.get(f)
        if row is not None:
            return row.word if isinstance(row.word, Primitive) else None
        return _direct.get(f)
    except TypeError:  # unhashable
        return None


def declare_direct(f: Callable[..., Any]) -> Primitive[..., Any]:
    """The primitive for a function whose calls only explicit use of its rules can see."""
    with lock:
        if f not in _direct:
            n = getattr(f, "nin", None)
            if n is None:
                _direct[f] = Primitive(f)
            else:  # a ufunc: its operands are those that are not for the result
                declaration = _UFUNCS[n](f)
                declaration.__name__ = declaration.__qualname__ = f.__name__
                _direct[f] = primitive(declaration)
                names = dict.fromkeys(_direct[f].operands)
                alias(
                    f,
                    to=_direct[f],
                    parameters=names | UFUNC_KEYWORDS,
                    refuse=tuple(UFUNC_KEYWORDS),
                    positional=tuple(names),
                )
            _direct[f].opaque = True
            invalidate()  # f itself may have been asked about
        return _direct[f]


# By number of operands, since a primitive's operands have names.
_UFUNCS: dict[int, Callable[..., Any]] = {
    1: lambda f: lambda x, /: f(x),
    2: lambda f: lambda x, y, /: f(x, y),
    3: lambda f: lambda x, y, z, /: f(x, y, z),
    4: lambda f: lambda x, y, z, w, /: f(x, y, z, w),
}


def unbind(f: Any, operands: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """A bound method as its function, an instance as its ``__call__``, with ``self`` first."""
    if isinstance(f, types.MethodType):
        return f.__func__, (f.__self__, *operands)
    if isinstance(f, (Primitive, types.FunctionType, types.BuiltinFunctionType, type)):
        return f, operands
    call = type(f).__call__ if callable(f) else None
    if primal_of(call) is not None:
        return call, (f, *operands)
    return f, operands


def name_of(f: Any) -> str:
    """How a callable is called in messages."""
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or describe(f)
    return str(name).rpartition("<locals>.")[2]


def demand_rule(f: Any, operands: tuple[type, ...], config: Config | None, mode: str) -> Rule:
    """As `find_rule`, but raises where there is no rule for the mode.

    Raises
    ------
    NoRuleError
        With the closest signatures, and what to import or write.
    """
    rule = find_rule(f, operands, config)
    if rule is None or rule.statement(mode) is None:
        raise NoRuleError(_missing(f, operands, mode))
    return rule


def _missing(f: Any, operands: tuple[type, ...], mode: str) -> str:
    kind = "frule" if mode == "forward" else "rrule"
    shown = ", ".join(arrays.dispatch_type(cls).__qualname__ for cls in operands)
    name = name_of(f)
    lines = [f"no {kind} for {name}({shown})"]
    primal = primal_of(f)
    if primal is None:
        lines.append(
            f"  {name} is no primitive: write @primitive above it, or g = primitive({name})"
        )
    else:
        for s in rules_for(f):
            if s.recipe is None:
                lines.append(f"  opted out for {signature_text(s.signature)} at {s.where}")
            elif mode in s.modes:
                needs = f", which requires {set(s.requires)}" if s.requires else ""
                lines.append(
                    f"  there is one for {signature_text(s.signature)} at {s.where}{needs}"
                )
            else:
                lines.append(
                    f"  for {signature_text(s.signature)} only {s.modes[0]} mode is stated, "
                    f"at {s.where}"
                )
        lines += [
            f"  {cls.__qualname__} computes otherwise than {arrays.registered_base(cls)!r}, "
            f"so its rules do not count; "
            + (
                arrays.refusal_of(cls)
                or f"if they should, register_array_type({cls.__qualname__}, namespace)"
            )
            for cls in operands
            if arrays.is_foreign(arrays.dispatch_type(cls))
        ]
        lines.append(f"  write @rule({primal.__name__}) with annotations that take these types")
    for module, reason in plugins.failures.items():
        lines.append(f"  {module} announced itself and could not be imported: {reason}")
    return "\n".join(lines)


def rules_for(f: Any) -> list[Statement]:
    """All statements about a function, the most telling layer first.

    Examples
    --------
    >>> from chainrules_py.vocabulary import sin
    >>> [s.modes for s in rules_for(sin)]
    [('forward', 'reverse')]
    """
    f, _ = unbind(f, ())
    see(f, ())
    primal = primal_of(f)
    if primal is None:
        return []
    see_about(primal.__module__)
    return sorted(_statements.get(primal, ()), key=lambda s: (-s.layer, str(s.signature)))


def coverage() -> dict[str, tuple[str, ...]]:
    """The modes stated for each primitive that has any statement, by name."""
    see_all()
    listing: dict[str, tuple[str, ...]] = {}
    for primal, statements in _statements.items():
        modes = {m for s in statements if s.recipe is not None for m in s.modes}
        listing[primal.__name__] = tuple(m for m in MODES if m in modes)
    return dict(sorted(listing.items()))


class Explanation:
    """What `explain` answers; its repr is the text.

    Attributes
    ----------
    rule : Rule or None
        What was chosen.
    others : list of Statement
        What else there is for the function.
    """

    def __init__(
        self, f: Any, operands: tuple[type, ...], rule: Rule | None, config: Config | None
    ) -> None:
        self.f = f
        self.operands = operands
        self.rule = rule
        self.config = config
        chosen = () if rule is None else (rule.forward, rule.reverse)
        self.others = [s for s in rules_for(f) if s not in chosen]

    def __repr__(self) -> str:
        shown = ", ".join(arrays.dispatch_type(c).__qualname__ for c in self.operands)
        primal = primal_of(self.f)
        lines = [f"{name_of(self.f)}({shown})"]
        if primal is not None and primal is not self.f:
            lines[0] += f"  is the word {primal.__name__}"
        for mode, kind in (("forward", "frule"), ("reverse", "rrule")):
            s = self.rule.statement(mode) if self.rule else None
            text = "none" if s is None else f"{_how(s)} ({s.layer.name.lower()})  {s.where}"
            lines.append(f"  {kind}  {text}")
        for s in self.others:
            state = (
                "opted out" if s.recipe is None else f"{'/'.join(s.modes)} ({s.layer.name.lower()})"
            )
            state += f", requires {set(s.requires)}" if s.requires else ""
            lines.append(f"   not  {signature_text(s.signature)} {state}  {s.where}")
        for module, reason in plugins.failures.items():
            lines.append(f"   !!   {module} could not be imported: {reason}")
        return "\n".join(lines)


def _how(s: Statement) -> str:
    shown = s.signature if s.varargs is None else (*s.signature, s.varargs)
    return f"{s.recipe.pen} for {signature_text(shown)}"


def explain(f: Any, *operands: Any, config: Config | None = None) -> Explanation:
    """Which rules are used for a call, where they stand, and which others there are.

    Parameters
    ----------
    f : callable
        The function.
    *operands
        The operands of the call; only their types count.
    config : Config, optional
        The engine that asks.

    Returns
    -------
    Explanation
        Printing it gives the text; a missing rule is no error here.
    """
    f, operands = unbind(f, operands)
    classes = tuple(map(type, operands))
    return Explanation(f, classes, find_rule(f, classes, config), config)
