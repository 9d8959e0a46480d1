"""Explanations: which rules exist, which one a call uses, and why there is none."""

from __future__ import annotations

import sys
from typing import Any, get_args

from chainrules_py.errors import AmbiguousRuleError, NoRuleError
from chainrules_py.primitives import plugins
from chainrules_py.primitives.method_table import _accepts
from chainrules_py.primitives.plugins import module_of, root_of, see, see_about, see_all
from chainrules_py.registry.statement_and_rule import MODES, Rule, Statement
from chainrules_py.registry.table import find_rule, name_of, primal_of, stated, unbind
from chainrules_py.rule_config import Always, Config, ForwardMode, ReverseMode
from chainrules_py.values.structure import is_structure_type
from chainrules_py.values.type_info import type_info


def demand_rule(f: Any, operands: tuple[type, ...], config: Config | None, mode: str) -> Rule:
    """Return a rule as `find_rule` does, but raise if there is none for the mode.

    Raises
    ------
    NoRuleError
        With the closest signatures, and the import or rule to write.
    """
    rule = find_rule(f, operands, config)
    if rule is None or rule.statement(mode) is None:
        raise NoRuleError(missing_rule(f, operands, mode))
    return rule


_NO_NUMBERS = {
    (list, tuple): "a list or tuple is a structure; where numbers are meant, np.array(x)",
    (str, bytes): "a text is no number; give a number",
}
"""Classes of operands in place of which another operand is given."""


def missing_rule(f: Any, operands: tuple[type, ...], mode: str | None = None) -> str:
    """Return the message that no rule is found, in a mode or in any, and what to write."""
    kind = {"forward": "frule", "reverse": "rrule"}.get(mode or "", "rule")
    shown = ", ".join(type_info(cls).dispatch_type.__qualname__ for cls in operands)
    name = name_of(f)
    head, primal = f"no {kind} for {name}({shown})", primal_of(f)
    about = plugins.not_loaded({root_of(f), *map(root_of, operands)})
    if primal is None:
        write = f"{name} is not a primitive: write @primitive above " + (
            f"it, or g = primitive({name})"
            if hasattr(f, "__code__")
            else f"a function that calls {name}"  # of C, which may have no signature
        )
        return "\n  ".join([head, *(about[:1] or [write])])
    known = sorted(
        [s for s in rules_for(f) if mode in s.modes or not s.transposed],
        key=lambda s: mode not in s.modes,
    )
    stated = [f"there is one for {_line(s)}" for s in known]
    if len(stated) > 1:
        stated = [f"{stated[0]}, and {len(stated) - 1} more: rules_for({primal.__name__})"]
    given = [
        said
        for cls, said in _NO_NUMBERS.items()
        if any(
            issubclass(c, cls)
            and not any(
                _accepts((*s.signature, *[s.varargs or object] * (i + 1))[i], c) for s in known
            )
            for i, c in enumerate(operands)
        )
    ]
    given += [
        f"write {kind}({'tangents, ' * (mode == 'forward')}config, {name}, ...) with the config "
        f"of an engine that has {set(s.requires)} (any_engine of chainrules_py.extend has both "
        f"modes), or state @{kind}.register({name}) that requires nothing"
        for s in known
        if s.requires
        and mode in s.modes
        and all(map(_accepts, (*s.signature, *[s.varargs or object] * len(operands)), operands))
    ]
    write = [*about, *given, f"write {primal.stated_by.format(primal.__name__)}"][0]
    engines = dict(plugins.announced("chainrules_py.exporters"))
    for cls in operands:
        info, root = type_info(cls), root_of(cls)
        if info.is_foreign:
            write = info.refusal or (
                f"{cls.__qualname__} computes otherwise than {info.base!r}, so its rules do not "
                f"count; if they should, register_array_type({cls.__qualname__}, "
                f"Library(namespace))"
            )
        elif root in engines and info.namespace is None:
            write = (
                f"{cls.__qualname__} is traced by {root}: take all derivatives by one engine, or "
                f"write export({name}, to={root!r})"
            )
    return "\n  ".join([head, *stated, write])


def rules_for(f: Any) -> list[Statement]:
    """Return all statements about a function, the most specific layer first.

    Examples
    --------
    >>> from chainrules_py.ops import sin
    >>> [s.modes for s in rules_for(sin)]
    [('forward', 'reverse')]
    """
    f, _ = unbind(f, ())
    see(f, ())
    primal = primal_of(f)
    if primal is None:
        return []
    see_about(primal.__module__)
    return sorted(primal.stated[0], key=lambda s: (-s.override, -s.layer, str(s.signature)))


def rules_in(module: str) -> list[Statement]:
    """Return all statements that a module or its submodules make, in order.

    Opted-out functions, and transposes derived from a statement, are excluded.

    Examples
    --------
    >>> [s.primal.__name__ for s in rules_in("chainrules_py.rules.polynomials")][:2]
    ['polyval', 'roots']
    """
    see_all(module.partition(".")[0])
    return [
        s
        for primal in list(stated)
        for s in primal.stated[0]
        if s.recipe is not None
        and not s.transposed
        and f"{s.source.module}.".startswith(f"{module}.")
    ]


def coverage() -> dict[str, tuple[str, ...]]:
    """List the modes stated for each primitive that has any statement, by name."""
    see_all()
    listing = {
        primal.__name__: {m for s in primal.stated[0] if s.recipe is not None for m in s.modes}
        for primal in list(stated)
    }
    return {name: tuple(m for m in MODES if m in listing[name]) for name in sorted(listing)}


class Explanation:
    """The result of `explain`; its repr is the text.

    Attributes
    ----------
    rule : Rule or None
        The chosen rule.
    others : list of Statement
        The other statements of the function.
    ambiguous : str
        Why none of the statements is chosen, and what to write; empty if one is, or none fits.
    bypassed : set of str
        Why engines see no call of f with these operands, and what to write; empty if they do.
    """

    def __init__(
        self, f: Any, operands: tuple[type, ...], rule: Rule | None, ambiguous: str = ""
    ) -> None:
        self.f, self.operands = f, operands
        self.rule = rule
        self.ambiguous = ambiguous
        chosen = () if rule is None else (rule.forward, rule.reverse)
        self.bypassed = {unseen(f, s.signature) for s in chosen if s is not None}
        self.others = [s for s in rules_for(f) if s not in chosen]

    def __repr__(self) -> str:
        shown = ", ".join(type_info(c).dispatch_type.__qualname__ for c in self.operands)
        primal = None if self.ambiguous else primal_of(self.f)
        known = "" if primal in (None, self.f) else f"  is the operation {name_of(primal)}"
        lines = [f"{name_of(self.f)}({shown}){known}"]
        for mode, kind in (("forward", "frule"), ("reverse", "rrule")):
            s = self.rule.statement(mode) if self.rule else None
            text = "ambiguous" if self.ambiguous else "none"
            if s is not None:
                text = (
                    f"{'transpose of ' * s.transposed}{s.recipe.constructor} for {s.types} "
                    f"({s.layer.name.lower()})  {s.where}"
                )
            lines.append(f"  {kind}  {text}")
        lines += [f"   not  {_line(s)}" for s in self.others]
        return "\n   !!   ".join(
            ["\n".join(lines)]
            + [note for note in (self.ambiguous, *self.bypassed, *plugins.not_loaded()) if note]
        )


def unseen(f: Any, types: tuple[Any, ...]) -> str:
    """Return why engines see no call of f with operands of these types, and what to write instead.

    A library's function hands a structure to a method of its class, or takes it apart: only an
    operation is seen with it. Empty if f is one, or there is no structure among the types.
    """
    primal = primal_of(f)
    asked = () if primal in (None, f) else types  # a class may load its backend
    parts = [part for t in asked for part in get_args(t) or (t,) if isinstance(part, type)]
    found = [cls.__qualname__ for cls in parts if is_structure_type(cls)]
    if primal is None or not found:
        return ""
    g, is_ours = primal.__name__, primal.__module__.startswith("chainrules_py.ops")
    return (
        f"no engine sees {module_of(f)}.{name_of(f)}({found[0]}), which its class or the library "
        f"computes: write "
    ) + (
        f"@rule(ops.{g}) and @ops.{g}.implement, and call ops.{g}"
        if is_ours
        else "@primitive above a function that calls it, and state the rule of that"
    )


def _line(s: Statement) -> str:
    """Describe a statement: its types, modes, layer, requirements and place."""
    modes = "opted out" if s.recipe is None else "/".join(s.modes)
    needs = f", requires {set(s.requires)}" if s.requires else ""
    return f"{s.types} {modes} ({s.layer.name.lower()}){needs}  {s.where}"


class _BothModes(Config):
    """An engine that rules may ask for both modes."""

    capabilities = frozenset((ReverseMode, ForwardMode, Always))


def explain(f: Any, *operands: Any, config: Config | None = None, **options: Any) -> Explanation:
    """Return which rules a call uses, where they are defined, and which others exist.

    Parameters
    ----------
    f : callable
        The function.
    *operands
        The operands of the call: their types, and dtypes and devices where rules require them.
    config : Config, optional
        The engine; by default one with both modes, as the tape.
    **options
        The options of the call, which choose no rule.

    Returns
    -------
    Explanation
        Its repr is the text; a missing rule is not an error here, nor are several.
    """
    f, operands = unbind(f, operands)
    classes = tuple(map(type, operands))
    try:
        rule, ambiguous = find_rule(f, classes, config or _BothModes()), ""
    except AmbiguousRuleError as error:
        rule, ambiguous = None, str(error)
    return Explanation(f, classes, rule, ambiguous)


def public_name(f: Any) -> str:
    """Return the shortest public name of a function whose own name is not public."""
    told = f"{module_of(f) or type(f).__module__}.{name_of(f)}"
    library = told.partition(".")[0]
    homes = [(w, m) for w, m in sorted(sys.modules.items()) if w.partition(".")[0] == library]
    found = [
        f"{where}.{name}"
        for where, module in homes
        for name, x in list(getattr(module, "__dict__", {}).items())
        if x is f and "_" not in (name[0], *[part[0] for part in where.split(".")])
    ]
    return told if told in found else min(found, key=len, default=told)
