"""The call to be checked: fill in its operands, show it, and name the samples it lacks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from chainrules_py.errors import RuleError, describe
from chainrules_py.primitives.method_table import signature_text
from chainrules_py.registry.explain import rules_for
from chainrules_py.registry.statement_and_rule import Statement
from chainrules_py.registry.table import name_of, primal_of, unbind

P = ParamSpec("P")
R = TypeVar("R")


def options_first(
    names: set[str], run: Callable[..., R]
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Pass the keywords that f has as options to f, and not to the check.

    If f has an option called like one of ``names`` and it is given, ``run(f, operands, given)``
    splits the keywords.
    """

    def decorate(check: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(check)
        def checked(*xs: P.args, **given: P.kwargs) -> R:
            own = names & set(getattr(xs[0], "options", ())) if xs else set[str]()
            return run(xs[0], xs[1:], given) if own & given.keys() else check(*xs, **given)

        return checked

    return decorate


def samples_wanted(f: Callable[..., Any], rule: Statement | None = None) -> str:
    """Return a sentence with the line that adds a sample for a rule of a function.

    Examples
    --------
    >>> from chainrules_py.ops import sin
    >>> samples_wanted(sin)
    'write enter_samples(sin, Sample(Draw((3,)))), from chainrules_py.testing'
    """
    stated = [s for s in rules_for(f) if s.recipe is not None] if rule is None else [rule]
    types = [s.signature for s in stated]
    own = next((classes for classes in types if any(map(is_own, classes))), types[0])
    drawn = [f"<a {t.__qualname__}>" if is_own(t) else "Draw((3,))" for t in own]
    line = f"enter_samples({name_of(f)}, Sample({', '.join(drawn)})), from chainrules_py.testing"
    if not any(map(is_own, own)):
        return f"write {line}"
    return f"its rule is for {signature_text(own)}, which cannot be drawn: give one, or {line}"


def is_own(cls: Any) -> bool:
    """Return whether a class is user-defined, so that its values cannot be drawn."""
    root = getattr(cls, "__module__", "").partition(".")[0]
    return isinstance(cls, type) and root not in ("builtins", "numpy", "chainrules_py")


def filled(
    f: Any, operands: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Add the operands that are left to their defaults, or passed by name."""
    g, given = unbind(f, operands)
    operation = primal_of(g)
    if operation is None or (operation is not g and operation.__wrapped__ is not g):
        return operands, options
    parameters = [operation.signature.parameters[name] for name in operation.operands[len(given) :]]
    missing = [p.name for p in parameters if p.default is p.empty and p.name not in options]
    if missing:
        msg = f"{name_of(g)}{operation.signature} misses {', '.join(missing)}, without default"
        of_own = any([is_own(cls) for s in rules_for(g) for cls in s.signature])
        write = f"write check_rule({name_of(g)}, {', '.join(operation.operands)})"
        raise RuleError(f"{msg}; {samples_wanted(g) if of_own else write}")
    more = [options.get(p.name, p.default) for p in parameters]
    named = {p.name for p in parameters}
    return (*operands, *more), {k: x for k, x in options.items() if k not in named}


def shown_call(f: Any, operands: tuple[Any, ...], options: dict[str, Any]) -> str:
    """Show a call by the types of its operands."""
    given = [f"{name}={value!r}" for name, value in options.items()]
    return f"{name_of(f)}({', '.join([*map(describe, operands), *given])})"
