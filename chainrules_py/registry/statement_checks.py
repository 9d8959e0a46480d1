"""Checks of a user's statement: the primal that it is about, and its parameters.

A statement that no engine would see, or whose operands differ from those of its primal, is an
error where it is made.
"""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType, FrameType, FunctionType, MethodType
from typing import Any

from chainrules_py.errors import AmbiguousRuleError, RuleError
from chainrules_py.primitives.aliases.alias import aliases, packages_about
from chainrules_py.primitives.method_table import operand_types, where_defined
from chainrules_py.primitives.plugins import see
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.primitives.signature import parameters_of
from chainrules_py.registry.table import declare, name_of, primal_of
from chainrules_py.values.dispatch_types import Numeric

Types = tuple[Any, ...] | None
"""Dispatch types of a rule in place of annotations: one per operand, or None."""


def find_primal(
    f: Callable[..., Any], constructor: str, *, written: Any = None
) -> Primitive[..., Any]:
    """Return the primitive that a statement is about.

    A rule for a function whose calls no engine sees would be silently ignored, so it raises.
    """
    if not callable(f):
        raise RuleError(f"{constructor}({f!r}): not a function; pass the function itself")
    try:
        if primal_of(f) is None:
            see(f, ())
    except AmbiguousRuleError:  # one package more: stated with the first, and chosen by `settle`
        return next(iter(packages_about(f).values())).operation  # type: ignore[return-value]
    call: Any = f.__call__ if isinstance(f, type) else f
    if isinstance(f, MethodType) and isinstance(f.__self__, type):
        call = f.__func__  # of a class method, whose class is an operand
    primal = primal_of(f) or primal_of(call)
    at = f" at {where_defined(written)}" if written is not None else ""
    name = name_of(f)
    if primal is not None:
        return primal
    try:
        if f in aliases and not hasattr(f, "nin"):
            raise RuleError(
                f"{constructor}({name}){at}: {name} is differentiable without a rule, by the rules "
                f"of what it is made of; leave this rule out"
            )
    except TypeError:
        raise RuleError(
            f"{constructor}({name}){at}: rules are kept by function, and this one is not hashable"
        ) from None
    if _interceptable(f):
        return declare(f)
    write = f"@primitive above {name} ({where_defined(f)})"
    if not isinstance(f, (FunctionType, MethodType)) or "site-packages" in write:
        named = isinstance(f, (FunctionType, BuiltinFunctionType)) and f.__module__
        path = f"{f.__module__}.{name}" if named else name
        write = f"{name.rpartition('.')[2]} = primitive({path}), and call that"
    raise RuleError(
        f"{constructor}({name}){at}: no engine can see {name} being called, so the rule would be "
        f"silently bypassed; write {write}"
    )


def refuse_bare(f: Any, constructor: str, at: FrameType) -> None:
    """Raise for a bare rule constructor above a rule, as it would take the rule for the primal."""
    if (
        type(f) is FunctionType
        and f.__name__ != "<lambda>"
        and where_defined(f) == f"{at.f_code.co_filename}:{at.f_lineno}"
    ):
        raise RuleError(
            f"@{constructor} above {f.__name__} ({where_defined(f)}) does not say whose rule it "
            f"is; write @{constructor}(f) for the rule of f, which is a @primitive"
        )


def _interceptable(f: Any) -> bool:
    """Return whether NumPy's protocols dispatch calls of f: a ufunc or an overridable function."""
    kind = type(f)
    return (
        kind.__name__ in ("ufunc", "_ArrayFunctionDispatcher")
        and kind.__module__.partition(".")[0] == "numpy"
    )


def any_types(primal: Primitive[..., Any]) -> tuple[tuple[Any, ...], Any]:
    """Return the signature of a statement about operands of any types."""
    return (object,) * len(primal.operands), object if primal.variadic else None


def declared_types(primal: Primitive[..., Any]) -> tuple[tuple[Any, ...], Any]:
    """Return the types of a declaration's annotations, or `Numeric` if they have no dispatch."""
    try:
        return operand_types(primal.__wrapped__)
    except RuleError:
        return (Numeric,) * len(primal.operands), Numeric if primal.variadic else None


def check_half(said: str, half: Any, primal: Primitive[..., Any], *first: str) -> None:
    """Check that a half takes its arguments: those in ``first``, the operands, the options.

    Raises
    ------
    RuleError
        If it is no function, or takes other parameters.
    """
    if not callable(half):
        wanted = _parameters(primal, first)
        raise RuleError(
            f"{said} is {half!r}, not a function of ({wanted}); write lambda {wanted}: ..."
        )
    found = parameters_of(half)
    n, given = len(first) + len(primal.operands), found.positional
    options = set(found.keyword_only) | (set() if found.by_position_only else set(given[n:]))
    known = set(found.defaults) | (options & set(primal.options))
    required = len([name for name in given if name not in known])
    fits = required <= n <= len(given) or (required <= n and found.variadic is not None)
    if primal.variadic:
        fits = found.variadic is not None
    missing = () if found.keywords else [name for name in primal.options if name not in options]
    if not fits or missing:
        wanted = _parameters(primal, first)
        raise RuleError(
            f"{said} at {where_defined(half)} takes ({', '.join(found.names)}); it has to take "
            f"({wanted}), as {primal.__name__}({_parameters(primal, ())}) of "
            f"{where_defined(primal)} does"
        )


def check_number(said: str, given: str, primal: Primitive[..., Any], fits: bool, use: str) -> None:
    """Raise if a statement gives another number of functions or types than its primal takes."""
    if not fits:
        wanted = _parameters(primal, ())
        raise RuleError(
            f"{said} gives {given}, and {primal.__name__} takes ({wanted})\n"
            f"  {where_defined(primal)}\n  {use}"
        )


def check_any(said: str, primal: Primitive[..., Any], gives: bool) -> None:
    """Raise if a statement gives no derivative at all."""
    if not gives:
        raise RuleError(f"{said} gives no derivative; write non_differentiable({primal.__name__})")


def check_option(said: str, name: str, value: Any, fits: bool, choices: str) -> None:
    """Raise if an option of a constructor has another value than its choices."""
    if not fits:
        raise RuleError(f"{name}={value!r} in {said}; write {choices}")


def _parameters(primal: Primitive[..., Any], first: tuple[str, ...]) -> str:
    """Return the parameters of a half as text."""
    variadic = (f"*{primal.variadic}",) if primal.variadic else ()
    star = ("*",) if primal.options and not variadic else ()
    return ", ".join((*first, *primal.operands, *variadic, *star, *primal.options))


def checked_types(
    primal: Primitive[..., Any], function: Callable[..., Any], types: Types, skip: int
) -> tuple[tuple[Any, ...], Any]:
    """Return a written rule's signature, after comparing its parameters with the primal's."""
    parameters = parameters_of(function)
    operands = parameters.positional[skip:]
    variadic = parameters.variadic is not None
    options = set(parameters.keyword_only) - ({"wanted"} - set(primal.options))
    wrong = None
    if len(operands) != len(primal.operands) and not (variadic and primal.variadic):
        wrong = f"the operands ({', '.join(operands)})"
    elif variadic != (primal.variadic is not None):
        wrong = "variadic operands" if variadic else "no variadic operands"
    elif parameters.keywords is None and options != set(primal.options):
        wrong = f"the options {sorted(options)}"
    if wrong is not None:
        raise RuleError(
            f"{function.__qualname__} ({where_defined(function)}) takes {wrong}; {primal.__name__} "
            f"({where_defined(primal)}) is declared {primal.__name__}{primal.signature}, and a "
            f"rule has the same: write def {function.__name__}{primal.signature}"
        )
    return operand_types(function, skip=skip, types=types, kinds=True)
