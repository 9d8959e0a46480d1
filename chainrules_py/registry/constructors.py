"""Rule constructors, which check users' statements and enter them into the table.

Every statement is checked when it is made: its operands and options against the primal's, its
annotations against what can be dispatched on. Nothing is entered before all checks pass.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from types import FrameType, FunctionType, MethodType
from typing import Any, Concatenate, Literal, ParamSpec, TypeAlias, TypeVar

from chainrules_py.errors import RuleError, describe
from chainrules_py.primitives.aliases.alias import aliases
from chainrules_py.primitives.method_table import (
    checked_annotation,
    operand_types,
    where_defined,
)
from chainrules_py.primitives.plugins import see
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.primitives.signature import of_operands, parameters_of, result_name
from chainrules_py.registry.bind.bind import Recipe
from chainrules_py.registry.bind.elementwise import ElementwiseRecipe
from chainrules_py.registry.bind.general import (
    FruleRecipe,
    GeneralRecipe,
    OneMode,
    RruleRecipe,
    maps_of_partials,
)
from chainrules_py.registry.bind.linear import BilinearRecipe, ConstantRecipe, LinearRecipe
from chainrules_py.registry.explain import unseen
from chainrules_py.registry.statement_and_rule import MODES, Source, Statement
from chainrules_py.registry.table import declare, enter, name_of, primal_of
from chainrules_py.rule_config import Always, Capability, ReverseMode
from chainrules_py.tangents.zeros import ZeroTangent
from chainrules_py.values.caller_frames import caller, is_library
from chainrules_py.values.dispatch_types import Numeric

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])
Types: TypeAlias = tuple[Any, ...] | None
"""Dispatch types of a rule in place of annotations: one per operand, or None."""
Batched: TypeAlias = Literal[True, False, "broadcast"]
Rewrite: TypeAlias = Callable[[tuple[Any, ...], dict[str, Any]], Any]


def scalar_rule(
    f: Primitive[P, R],
    *partials: Callable[Concatenate[Any, P], Numeric] | None,
    singular: bool = False,
    complex: Literal["holomorphic", "real"] | None = None,
    setup: Callable[..., Any] | None = None,
    outputs: int = 1,
) -> None:
    """State that f acts elementwise, with these partial derivatives.

    Parameters
    ----------
    f : Primitive
        The function.
    *partials : callable
        One per operand, a function of the result and all operands: ``lambda y, x: cos(x)``. A
        parameter whose name starts with ``_`` is not used, so its value need not be saved. None
        for an operand in which f is constant.
    singular : bool
        Whether a partial can be infinite or NaN; its product with a tangent or cotangent that is
        zero is then zero.
    complex : {"holomorphic", "real"}, optional
        The meaning of a partial p at complex operands: dy = p dx for a holomorphic f, or, with
        p = 2 df/dz, dy = Re(p dx) for a real-valued one. If unset, complex operands raise
        `NoRuleError`.
    setup : callable, optional
        ``setup(y, *operands)`` computes what partials have in common, once per call. Its result
        is the first argument of each partial: ``lambda u, y, x: ...``.
    outputs : int
        The number of outputs of f: with two or more, f and each partial return a tuple.

    Raises
    ------
    RuleError
        If the number of partials differs from that of the operands, if a partial takes other
        parameters than the result and the operands, or if f has options.

    Notes
    -----
    The push projects p·x_dot onto y, and the pull projects conj(p)·y_bar onto x: rules need not
    handle broadcasting, dtype or realness.

    Examples
    --------
    >>> from chainrules_py import primitive, rrule
    >>> @primitive
    ... def cube(x):
    ...     return x * x * x
    >>> scalar_rule(cube, lambda _y, x: 3.0 * x * x)
    >>> y, pullback = rrule(cube, 2.0)
    >>> y, pullback(1.0)
    (8.0, (12.0,))

    Two outputs, and a square that their partials share:

    >>> from math import atan2, sqrt
    >>> @primitive
    ... def polar(x, y):
    ...     return sqrt(x * x + y * y), atan2(y, x)
    >>> scalar_rule(
    ...     polar,
    ...     lambda u, r, x, y: (x / r[0], -y / u),
    ...     lambda u, r, x, y: (y / r[0], x / u),
    ...     setup=lambda r, x, y: r[0] * r[0],
    ...     outputs=2,
    ... )
    >>> rrule(polar, 3.0, 4.0)[1]((1.0, 0.0))
    (0.6, 0.8)
    """
    primal = find_primal(f, "scalar_rule")
    name = primal.__name__
    said = f"scalar_rule({name})"
    if primal.operands[:1] == ("self",):
        name = primal.__qualname__.rpartition("<locals>.")[2]
        raise RuleError(
            f"scalar_rule({name}) cannot take self, which is not a number; write @rule({name})"
        )
    n, y = -1 if primal.variadic else len(primal.operands), result_name(primal.operands)
    instead = (
        f"write @rule({name}) and def rule_of_{name}(*xs): return {name}(*xs), "
        f"[LinearMap(lambda t, x=x: D * t, lambda c, x=x: D * c) for x in xs], D the partial in x"
        if primal.variadic
        else f"give one for each: scalar_rule({name}"
        + f", lambda {y}, {', '.join(primal.operands)}: ..." * n
        + ")"
    )
    check_number(
        said, f"{len(partials)} partial derivative(s)", primal, len(partials) == n, instead
    )
    if primal.options:
        raise RuleError(
            f"{said}: {name} has options ({', '.join(primal.options)}), which partials do not "
            f"get; write @rule({name}), or make operands of them"
        )
    first = (y,) if setup is None else ("u", y)
    for k, partial in enumerate(partials):
        if partial is not None:
            check_half(f"partial {k} of {said}", partial, primal, *first)
    if setup is not None:
        check_half(f"setup of {said}", setup, primal, y)
    check_option(said, "singular", singular, isinstance(singular, bool), "True or False")
    choices = "'holomorphic' or 'real', or leave it out"
    check_option(said, "complex", complex, _is_one(complex, None, "holomorphic", "real"), choices)
    check_option(said, "outputs", outputs, type(outputs) is int and outputs >= 1, "1 or more")
    check_any(said, primal, any([p is not None for p in partials]))
    recipe: Recipe = ElementwiseRecipe(partials, singular, complex)
    if setup is not None or outputs > 1:
        several = maps_of_partials(primal, partials, setup, singular, complex, outputs)
        recipe = GeneralRecipe(several, with_config=False)
    _state(primal, "scalar_rule", recipe)


def scalar_rules(*rows: tuple[Any, ...], **options: Any) -> None:
    """State a table of rules: rows of a function and its partials, with options of `scalar_rule`.

    Examples
    --------
    >>> from chainrules_py import primitive, rrule
    >>> @primitive
    ... def tripled(x):
    ...     return 3.0 * x
    >>> scalar_rules((tripled, lambda _y, _x: 3.0), complex="holomorphic")
    >>> rrule(tripled, 2.0)[1](1.0)
    (3.0,)
    """
    for f, *partials in rows:
        scalar_rule(f, *partials, **options)


def linear_rule(
    f: Primitive[..., Any],
    *transposes: Callable[..., Any] | ZeroTangent | None,
    pull_into: Callable[..., Any] | None = None,
    batched: Batched | Rewrite = False,
) -> None:
    """State that f is jointly linear in the operands that have a transpose.

    Parameters
    ----------
    f : Primitive
        The function; it pushes tangents forward itself.
    *transposes : callable, None or ZeroTangent
        One per operand: ``transpose(y_bar, *operands, **options)`` is the real adjoint. An operand
        in which f is linear is passed as its `Space`: shape, dtype and device without elements.
        None for an index, a mask or a condition: it gets ``NoTangent()``, and differentiating a
        real number there raises. ``ZeroTangent()`` for an operand in which f is constant. The
        transpose for ``*operands`` takes ``argnum=``, the index of the operand among them.
    pull_into : callable, optional
        ``pull_into(buffer, y_bar, *other_operands, **options)`` adds the cotangent of the first
        operand to a buffer, in place.
    batched : bool, "broadcast" or callable
        Whether f and the transposes take linear operands (and their spaces) with a leading axis of
        directions. True: unchanged. "broadcast": with further axes of length one, where operands
        are broadcast against each other. A callable: ``batched(operands, options)`` returns the
        operands and options to use instead, or None for one direction at a time.

    Raises
    ------
    RuleError
        If the number of transposes differs from that of the operands.

    Examples
    --------
    >>> from chainrules_py import primitive, rrule
    >>> @primitive
    ... def tripled(x):
    ...     return 3.0 * x
    >>> linear_rule(tripled, lambda y_bar, x: 3.0 * y_bar)
    >>> rrule(tripled, 2.0)[1](1.0)
    (3.0,)
    """
    primal = find_primal(f, "linear_rule")
    said = f"linear_rule({primal.__name__})"
    n = len(primal.operands) + (primal.variadic is not None)
    instead = "give one for each, None for one that cannot be perturbed"
    check_number(said, f"{len(transposes)} transposes", primal, len(transposes) == n, instead)
    check_any(said, primal, any(map(callable, transposes)))
    for k, transpose in enumerate(transposes):
        if transpose is not None and not isinstance(transpose, ZeroTangent):
            check_half(f"transpose {k} of {said}", transpose, primal, "y_bar")
    check_option(
        said, "pull_into", pull_into, pull_into is None or callable(pull_into), "a function"
    )
    _check_batched(said, batched, batched is True or callable(batched))
    recipe = LinearRecipe(transposes, primal.variadic is not None, pull_into, batched)
    _state(primal, "linear_rule", recipe)


def bilinear_rule(
    f: Primitive[..., Any],
    left: Callable[..., Any],
    right: Callable[..., Any],
    *,
    batched: Literal[False, "broadcast"] | tuple[Callable[..., Any], Callable[..., Any]] = False,
) -> None:
    """State that f is linear in each of its two operands.

    Parameters
    ----------
    f : Primitive
        The function; it pushes a tangent forward by taking it in place of its operand.
    left, right : callable
        The real adjoints, with parameters ``(y_bar, a, b, **options)``. ``left`` may read only
        shape and dtype of a, and ``right`` only those of b: elements that neither needs are not
        saved.
    batched : False, "broadcast" or tuple of two callables
        Whether the adjoints take a ``y_bar`` with a leading axis of directions, and how such
        tangents are pushed: by f, where its operands are broadcast against each other, or by
        functions of ``(a_dot, a, b, **options)`` and ``(b_dot, a, b, **options)``.

    Raises
    ------
    RuleError
        If f does not have two operands.

    Examples
    --------
    >>> from chainrules_py import primitive, rrule
    >>> @primitive
    ... def area(width, height):
    ...     return width * height
    >>> bilinear_rule(area, lambda y_bar, w, h: y_bar * h, lambda y_bar, w, h: w * y_bar)
    >>> rrule(area, 2.0, 3.0)[1](1.0)
    (3.0, 2.0)
    """
    primal = find_primal(f, "bilinear_rule")
    said = f"bilinear_rule({primal.__name__})"
    n = -1 if primal.variadic else len(primal.operands)
    check_number(said, "two adjoints", primal, n == 2, f"write @rule({primal.__name__})")
    for k, half in enumerate((left, right)):
        check_half(f"transpose {k} of {said}", half, primal, "y_bar")
    pushes = isinstance(batched, tuple) and len(batched) == 2 and all(map(callable, batched))
    _check_batched(said, batched, pushes)
    _state(primal, "bilinear_rule", BilinearRecipe(left, right, batched))


def _check_batched(said: str, batched: Any, fits: bool) -> None:
    choices = "False, True, 'broadcast', or the functions that its documentation asks for"
    check_option(said, "batched", batched, fits or _is_one(batched, False, "broadcast"), choices)


def _is_one(value: Any, *choices: Any) -> bool:
    """Return whether an option is one of its choices; an array is none of them."""
    return any([type(value) is type(choice) and value == choice for choice in choices])


def non_differentiable(f: Callable[..., Any]) -> None:
    """State that f is constant wherever it is continuous, or that its result cannot be perturbed.

    Operands that can be perturbed get ``ZeroTangent()``. The tangent of the result is
    ``NoTangent()`` if it is an integer or a boolean, else ``ZeroTangent()``.

    Examples
    --------
    >>> from chainrules_py import primitive, rrule
    >>> @primitive
    ... def steps(x):
    ...     return x // 1.0
    >>> non_differentiable(steps)
    >>> rrule(steps, 2.5)[1](1.0)
    (ZeroTangent(),)
    """
    primal = find_primal(f, "non_differentiable")
    _state(primal, "non_differentiable", ConstantRecipe(), any_types(primal))


def opt_out(f: Callable[..., Any], *types: Any) -> None:
    """State that f has no rule for these types, whatever more general rules state.

    The engine then differentiates through f, if it can, instead of using a rule.

    Parameters
    ----------
    f : callable
        The function.
    *types : type
        One per operand.

    Examples
    --------
    >>> from chainrules_py import primitive
    >>> from chainrules_py.extend import find_rule
    >>> @primitive
    ... def doubled(x):
    ...     return x + x
    >>> scalar_rule(doubled, lambda _y, _x: 2.0)
    >>> opt_out(doubled, int)
    >>> find_rule(doubled, (int,)) is None, find_rule(doubled, (float,)) is None
    (True, False)
    """
    primal = find_primal(f, "opt_out")
    n = len(primal.operands)
    fits = len(types) >= n if primal.variadic else len(types) == n
    check_number(
        f"opt_out({primal.__name__})", f"{len(types)} types", primal, fits, "name one for each"
    )
    source = Source.caller(f"opt_out({primal.__name__}, {', '.join(map(str, types))})", 2)
    signature = tuple([checked_annotation(t, "an operand", source) for t in types])
    enter(Statement(primal, signature, None, source, None))


def rule(
    f: Callable[..., Any],
    *,
    types: Types = None,
    requires: Capability | Iterable[Capability] = (),
    override: int = False,
    batched: Batched = False,
    whole: bool = False,
    always: bool = False,
) -> Callable[[F], F]:
    """State the value of f and one linear map per operand (a decorator).

    Parameters
    ----------
    f : callable
        A primitive, or a library function whose calls engines can see.
    types : tuple, optional
        Dispatch types, instead of the annotations.
    requires : Capability or several
        What the rule requires of the engine; the function's first parameter is then the `Config`.
    override : bool
        Whether the rule precedes more specific rules.
    batched : bool or "broadcast"
        Whether both halves of every map take tangents with a leading axis of directions: True for
        unchanged, "broadcast" for further axes of length one, as broadcasting against the result
        would add them.
    whole : bool
        Whether the maps are also correct for integers, for example where operands are only
        compared. Otherwise, if operands with a map are integers, f is called again with these as
        real numbers, only for its maps: integer arithmetic in the halves could overflow.
    always : bool
        Whether the pulls run even if the cotangent of the result is zero, which is then passed as
        a dense zero: for a regulariser, or a log. Engines that skip such calls do not find the
        rule.

    Returns
    -------
    decorator
        The decorated function returns ``(y, (LinearMap(push, pull, *saved), ...))`` with one map,
        or ``NoTangent()``, per operand. The decorator returns it unchanged. If it takes an option
        ``wanted``, this says for which operands a map is needed; it may return ``NoTangent()`` for
        the others, and skip computing what these would save.

    Raises
    ------
    RuleError
        If engines cannot see calls of f, if operands or options differ from those of f, if an
        annotation cannot be dispatched on, or if the signature already has a rule.

    Examples
    --------
    >>> from chainrules_py import LinearMap, primitive, rrule
    >>> @primitive
    ... def square_sum(x, y):
    ...     return x * x + y * y
    >>> @rule(square_sum)
    ... def square_sum_rule(x: float, y: float):
    ...     def push(t_dot, t):
    ...         return 2 * t * t_dot
    ...
    ...     def pull(z_bar, t):
    ...         return 2 * t * z_bar
    ...
    ...     return x * x + y * y, (LinearMap(push, pull, x), LinearMap(push, pull, y))
    >>> rrule(square_sum, 1.0, 2.0)[1](1.0)
    (2.0, 4.0)
    """
    recipe = functools.partial(GeneralRecipe, batched=batched, whole=whole, always=always)
    return _register("rule", recipe, f, types, requires, override, always=always)


def register_frule(
    f: Callable[..., Any],
    *,
    types: Types = None,
    requires: Capability | Iterable[Capability] = (),
    override: bool = False,
) -> Callable[[F], F]:
    """State a written-out forward rule: ``frule(tangents, *operands, **options) -> (y, y_dot)``.

    Otherwise like `rule`. ``tangents`` has one entry per operand and is not dispatched on. If there
    is no reverse rule, this one is transposed, so y_dot has to be linear in the tangents.
    """
    return _register("frule.register", FruleRecipe, f, types, requires, override, 1)


def register_rrule(
    f: Callable[..., Any],
    *,
    types: Types = None,
    requires: Capability | Iterable[Capability] = (),
    override: bool = False,
    always: bool = False,
) -> Callable[[F], F]:
    """State a written-out reverse rule: ``rrule(*operands, **options) -> (y, pullback)``.

    Otherwise like `rule`, including the option ``wanted``. ``pullback(y_bar)`` returns a tuple with
    one entry per operand. If there is no forward rule, this one is transposed, so the pullback has
    to be linear in y_bar.
    """
    recipe = functools.partial(RruleRecipe, always=always)
    return _register("rrule.register", recipe, f, types, requires, override, always=always)


def state(
    primal: Primitive[..., Any],
    types: tuple[tuple[Any, ...], Any],
    source: Source,
    recipe: Recipe,
    *,
    requires: frozenset[Capability] = frozenset(),
    override: int = 0,
) -> None:
    """Enter a statement, and if it is of one mode, its transpose for the other.

    Parameters
    ----------
    primal : Primitive
        The function that it is about.
    types : tuple
        The types that it is dispatched on: those of the operands, and that of variadic ones or
        None.
    source : Source
        Where it was written.
    recipe : Recipe
        How it is bound.
    requires : frozenset of Capability
        What the written modes require of the engine.
    override : int
        Its layer of overrides, as in `Statement`.
    """
    stated = (recipe.mode,) if isinstance(recipe, OneMode) else MODES
    follows = tuple([mode for mode in MODES if mode not in stated])
    for modes, asked in ((stated, requires), (follows, requires | {ReverseMode})):
        if modes:
            enter(
                Statement(
                    primal,
                    *types,
                    source,
                    recipe,
                    modes=modes,
                    requires=asked,
                    override=override,
                    transposed=modes is follows,
                )
            )


def _state(
    primal: Primitive[..., Any],
    constructor: str,
    recipe: Recipe,
    types: tuple[tuple[Any, ...], Any] | None = None,
) -> None:
    """Register the statement of a constructor call, for the declared types unless given."""
    # One frame further for the rows of `scalar_rules`.
    depth = 3 + (caller(2).f_globals is globals())
    source = Source.caller(f"{constructor}({primal.__name__})", depth)
    state(primal, types or declared_types(primal), source, recipe)


def _register(
    constructor: str,
    make: Callable[[Callable[..., Any], bool], Recipe],
    f: Callable[..., Any],
    types: Types,
    requires: Capability | Iterable[Capability],
    override: int,
    leading: int = 0,
    always: bool = False,
) -> Callable[[F], F]:
    """Return the decorator for a function whose ``leading`` parameters are no operands."""
    asked = frozenset((requires,) if isinstance(requires, Capability) else requires)
    refuse_bare(f, constructor, caller(2))
    known, said = all([isinstance(c, Capability) for c in asked]), f"{constructor}({name_of(f)})"
    check_option(said, "requires", requires, known, "Capability('jax'), or several, in a tuple")

    def register(function: F) -> F:
        primal = find_primal(f, constructor, written=function)
        found = checked_types(primal, function, types, leading + bool(asked), bool(asked), called=f)
        recipe, source = make(function, bool(asked)), Source.function(function)
        engines = asked | {Always} if always else asked
        state(primal, found, source, recipe, requires=engines, override=override)
        return function

    return register


# ---------------------------------------------------------------------------------------- checks

# A statement that no engine would see, or whose operands differ from those of its primal, is an
# error where it is made.


def find_primal(
    f: Callable[..., Any], constructor: str, *, written: Any = None
) -> Primitive[..., Any]:
    """Return the primitive that a statement is about.

    A rule for a function whose calls no engine sees would be silently ignored, so it raises.
    """
    if not callable(f):
        raise RuleError(f"{constructor}({describe(f)}): not a function; pass the function itself")
    if primal_of(f) is None:
        see(f, ())
    call: Any = f.__call__ if isinstance(f, type) else f
    if isinstance(f, MethodType) and isinstance(f.__self__, type):
        call = f.__func__  # of a class method, whose class is an operand
    primal = primal_of(f) or primal_of(call)
    at = f" at {where_defined(written)}" if written is not None else ""
    name = name_of(f)
    if primal is not None:
        return primal
    if isinstance(f, Hashable) and f in aliases and not hasattr(f, "nin"):
        raise RuleError(
            f"{constructor}({name}){at}: {name} is differentiable without a rule, by the rules "
            f"of what it is made of; leave this rule out"
        )
    kind = type(f)
    if kind.__module__.partition(".")[0] == "numpy" and kind.__name__ == "ufunc":
        return declare(f)
    module, short = getattr(f, "__module__", None) or "builtins", name.rpartition(".")[2]
    write = "a function that calls it, with @primitive above, and state the rule of that"
    if is_library(module):
        with suppress(RuleError):  # where it has no signature, or **keywords
            if getattr(sys.modules.get(module), short, None) is f:
                path = f"{module}.{short}".removeprefix("builtins.")
                write = f"{Primitive(f).__name__} = primitive({path}), and call that"
    elif isinstance(f, (FunctionType, MethodType)) and short.isidentifier():
        write = f"@primitive above {name} ({where_defined(f)})"
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
            f"{said} is {describe(half)}, not a function of ({wanted}); write lambda {wanted}: ..."
        )
    found = parameters_of(of_operands(half))
    n, given = len(first) + len(primal.operands), found.positional
    options = set(found.keyword_only) | (set() if found.by_position_only else set(given[n:]))
    known = set(found.defaults) | (options & set(primal.options))
    required = len([name for name in given if name not in known])
    fits = required <= n and (n <= len(given) or found.variadic is not None)
    # A default at an operand's place is of an option, as np.flip's axis, unless the names agree.
    fits &= {x.lstrip("_") for x in given[:n] if x in found.defaults} <= {*primal.operands}
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
    primal: Primitive[..., Any],
    function: Callable[..., Any],
    types: Types,
    skip: int,
    with_config: bool = False,
    called: Any = None,
) -> tuple[tuple[Any, ...], Any]:
    """Return a written rule's signature, after comparing its parameters with the primal's.

    Before the operands, ``skip`` others are taken: the `Config`, if it is one, and the tangents.
    If engines see no call of ``called``, the function that it was stated for, it is refused.
    """
    parameters = parameters_of(function)
    variadic = parameters.variadic is not None
    options = set(parameters.keyword_only) - ({"wanted"} - set(primal.options))
    same = parameters.keywords is not None or options == set(primal.options)
    same &= variadic == (primal.variadic is not None)
    same &= variadic or len(parameters.positional) == skip + len(primal.operands)
    if not same or {*parameters.positional[skip - 1 : skip]} & {*primal.operands}:
        of, own, with_tangents = primal.__name__, function.__name__, skip > with_config
        before = "config, " * with_config + "tangents, " * with_tangents
        given = "the tangents of all operands, a tuple" if with_tangents else "the Config"
        fact = (
            f"{parameters.positional[skip - 1]} where it is given {given};"
            if same
            else f"({', '.join(parameters.names)}); {of} ({where_defined(primal)}) is declared "
            f"{of}{primal.signature}, and a rule has the same:"
        )
        raise RuleError(
            f"{function.__qualname__} ({where_defined(function)}) takes {fact} "
            f"write def {own.replace('<lambda>', f'{of}_rule')}({before}{str(primal.signature)[1:]}"
        )
    found = operand_types(function, skip=skip, types=types)
    if why := unseen(called, (*found[0], found[1])):
        raise RuleError(
            f"{function.__qualname__} ({where_defined(function)}) would be silently bypassed: {why}"
        )
    return found
