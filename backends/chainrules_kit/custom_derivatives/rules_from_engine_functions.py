"""Rules made of another engine's functions: as references, or where no rule is stated."""

from __future__ import annotations

import contextlib
import functools
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any, final

from chainrules_kit.operand_leaves import of_some, tangents_in
from chainrules_py import (
    NoTangent,
    NotDifferentiableError,
    NotImplementedTangent,
    Primitive,
    RuleError,
    ZeroTangent,
    add_tangents,
    is_zero,
    rules_for,
    zero_tangent,
)
from chainrules_py.extend import (
    FruleRecipe,
    Layer,
    RruleRecipe,
    Source,
    Statement,
    Thunk,
    TreeDef,
    any_types,
    canonicalize,
    describe,
    enter,
    exactly,
    find_primal,
    flatten,
    flatten_tangent,
    is_structure_type,
    kind_of,
    name_of,
    namespace,
    partition,
    real_numbers,
    unflatten,
    unflatten_tangent,
    untraced,
    varies,
    where_defined,
)


def parameters_of_imported(
    f: Callable[..., Any], operands: int | None
) -> tuple[list[str], dict[str, Any]]:
    """Return the names of the operands of another engine's function, and its options' defaults.

    Parameters
    ----------
    f : callable
        The other engine's function.
    operands : int, optional
        The number of its parameters that are operands; by default those without a default.

    Raises
    ------
    RuleError
        If it has no operands, or its parameters cannot be read.
    """
    try:
        found = [*inspect.signature(f).parameters.values()]
    except (TypeError, ValueError):
        found = []
    found = [p for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    positional = [p for p in found if p.kind is not p.KEYWORD_ONLY]
    if operands is None:
        operands = sum([p.default is p.empty for p in positional])
    names = [p.name for p in positional[:operands]]
    names += [f"x{i}" for i in range(len(names), operands)]
    if not names:
        raise RuleError(
            f"import_rule({name_of(f)}): its parameters cannot be read; say how many operands="
        )
    # An array is bound beforehand, as by functools.partial.
    options = [p for p in found if p.name not in names and not _is_array(p.default)]
    return names, {p.name: p.default for p in options}


def declared(
    f: Callable[..., Any],
    names: list[str],
    options: dict[str, Any],
    value: Callable[[tuple[Any, ...], dict[str, Any]], Any],
    *,
    signature: inspect.Signature | None = None,
) -> Primitive[..., Any]:
    """Declare a primitive with the name and the parameters of another engine's function.

    Parameters
    ----------
    f : callable
        The other engine's function.
    names, options
        As `parameters_of_imported` returns them.
    value : callable
        ``value(operands, options)`` computes it.
    signature : Signature, optional
        By default, the one of these operands and options.
    """

    def imported(*operands: Any, **options: Any) -> Any:
        if options and primal.variadic:
            return primal(*primal.signature.bind(*operands, **options).args)
        return value(operands, options)

    kind = inspect.Parameter
    parameters = [kind(name, kind.POSITIONAL_OR_KEYWORD) for name in names]
    parameters += [kind(n, kind.KEYWORD_ONLY, default=x) for n, x in options.items()]
    named = f if hasattr(f, "__name__") else getattr(f, "func", type(f))
    imported.__name__ = imported.__qualname__ = getattr(named, "__name__", type(f).__name__)
    imported.__doc__ = f"{imported.__name__} of {getattr(f, '__module__', 'another engine')}."
    imported.__signature__ = signature or inspect.Signature(parameters)  # type: ignore[attr-defined]
    primal = _Imported(imported)
    primal.opaque, primal.home = True, f"{getattr(f, '__module__', '')}:{imported.__name__}"
    return primal


@final
class _Imported(Primitive[..., Any]):
    """A primitive that another engine computes; ``home`` is where it replaced its function."""

    home: str

    def __reduce__(self) -> Any:
        with contextlib.suppress(AttributeError, ImportError, ValueError):
            if pkgutil.resolve_name(self.home) is self:
                return pkgutil.resolve_name, (self.home,)
        return super().__reduce__()

    def with_options(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a step, to take each operand that is given by name at its position."""
        if not self.variadic:
            return super().with_options(step)

        def stepped(*xs: Any, **options: Any) -> Any:
            return self(*self.signature.bind(*xs, **options).args) if options else step(*xs)

        return stepped

    def normalise(
        self, operands: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return operands by position and options by name, with defaults filled in.

        Raises
        ------
        NotDifferentiableError
            If an option is an array or a tracer; the message says how to make it an operand.
        """
        for name in [name for name, x in options.items() if name in self.options and _is_array(x)]:
            of = self.__name__ if self.__name__.isidentifier() else "f"
            xs = ", ".join([*self.operands, name])
            given = "".join([f", {n}={n if n == name else _text(x)}" for n, x in options.items()])
            raise NotDifferentiableError(
                f"{name} of {of}, which is imported, is an option, and was given "
                f"{describe(untraced(options[name]))}; make it an operand, import_rule("
                f"lambda {xs}: {of}({', '.join(self.operands)}{given}))"
            )
        return super().normalise(operands, options)


def _is_array(x: Any) -> bool:
    return varies(x) or (hasattr(x, "ndim") and (x.ndim > 0 or type(x).__hash__ is None))


def _text(x: Any) -> str:
    """Return a plain value as it is written, and dots for any other."""
    return repr(x) if {*map(type, flatten(x)[0])} <= {bool, float, int, str, type(None)} else "..."


@final
class ByPosition(inspect.Signature):
    """Signature of a function of positional operands; names are those of another function.

    Parameters
    ----------
    f : callable
        The other function.
    full_name : callable
        ``full_name(f)`` returns its name with that of its module, or None.
    """

    def __init__(
        self, f: Callable[..., Any], full_name: Callable[[Callable[..., Any]], str | None]
    ) -> None:
        of_all = inspect.Parameter("operands", inspect.Parameter.VAR_POSITIONAL, annotation=Any)
        super().__init__([of_all])
        self.f, self.full_name = f, full_name

    def bind(self, /, *operands: Any, **options: Any) -> inspect.BoundArguments:
        """Bring a call to canonical form.

        Raises
        ------
        TypeError
            If a keyword argument has no position; the message says how to pass it.
        """
        if options:
            try:
                bound = inspect.signature(self.f).bind(*operands, **options)
                if bound.kwargs:
                    bound.apply_defaults()
                operands, options = bound.args, bound.kwargs
            except (TypeError, ValueError):  # builtin functions may have no signature
                pass
            if options:
                given = ", ".join([f"{name}={_text(x)}" for name, x in options.items()])
                name = self.full_name(self.f) or getattr(self.f, "__name__", name_of(self.f))
                raise TypeError(
                    f"{name}, which is imported, is given {given}: it takes operands by position; "
                    f"give options beforehand, import_rule(functools.partial({name}, {given}))"
                )
        return super().bind(*operands)


def check_flat(f: Callable[..., Any], operands: tuple[Any, ...]) -> None:
    """Raise for operands that hold arrays, if an engine's function has derivatives in arrays alone.

    Raises
    ------
    NotDifferentiableError
        If an operand holds arrays; the message says how to call the function.
    """
    for x in operands:
        if is_structure_type(type(x)) and any(map(moves, flatten(x)[0])):
            keys = list(enumerate(x)) if isinstance(x, dict) else []
            xs = ", ".join([f"x{i}" for i, _ in keys]) or "a, b"
            held = "{" + ", ".join([f"{key!r}: x{i}" for i, key in keys]) + "}"
            raise NotDifferentiableError(
                f"{name_of(f)}, which is imported, is given {describe(x)}: it has derivatives in "
                f"arrays and numbers alone; import a function of these, as lambda {xs}: "
                f"f({held if keys else '[a, b]'})"
            )


def without_rule(to: Callable[..., Any], f: Callable[..., Any]) -> Primitive[..., Any]:
    """Return the primitive that is to get its rule from another engine's function.

    Raises
    ------
    RuleError
        If it has a rule already, which would otherwise be replaced silently.
    """
    primal = find_primal(to, "import_rule")
    stated = [s for s in rules_for(primal) if s.recipe is not None]
    if stated:
        raise RuleError(
            f"import_rule({name_of(f)}, to={primal.__name__}): there is {stated[0]!r}; leave out "
            f"to=, and use what import_rule returns beside it"
        )
    return primal


Along = Callable[..., list[Any]]
"""A function of some arrays that returns the differentiable arrays in its result."""

Static = tuple[dict[int, NotImplementedTangent], Any]
"""The tangents of the leaves that an engine takes as constants, and a key of all constants."""


@final
class ImportedRule:
    """Both modes of another engine's function, by that engine's derivatives.

    Its push and its pull are functions of that engine too, imported in the same way, so that each
    order has the next one and every engine sees the calls.

    Other engines differentiate with respect to floating-point numbers only. The value, and the
    derivatives in all other operands, are computed with the integers; the derivatives in integers
    are computed with real numbers in their place.

    Parameters
    ----------
    f : callable
        The other engine's function.
    call : callable
        ``call(*operands, **options)`` calls f on the engine's values; it lists the differentiable
        arrays of the result.
    push, pull : callable
        ``push(along, at, dots)`` and ``pull(along, at, bars)`` of the engine, where ``along(*at)``
        lists arrays; push returns one array for each of these, pull one for each array in ``at``.
    imported : callable
        ``imported(half, n)`` makes a primitive of a function of n operands.
    is_leaf : callable
        Returns whether a value is a leaf of structures among the operands; by default these are
        refused.
    static : callable, optional
        ``static(operands, layout)`` returns the tangents of the leaves that the engine takes as
        constants, which say why there is none, by place; and a key of all that it takes so.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        call: Along,
        push: Callable[..., Any],
        pull: Callable[..., Any],
        imported: Callable[[Callable[..., Any], int], Primitive[..., Any]],
        is_leaf: Callable[[Any], bool] | None = None,
        static: Callable[[tuple[Any, ...], TreeDef], Static] | None = None,
    ) -> None:
        self.f, self.call = f, call
        self._is_leaf = is_leaf or (lambda x: kind_of(x) != "none")  # arrays and numbers
        self._static = static or (lambda xs, layout: ({}, None))
        self._is_flat = is_leaf is None
        self._by = {"push": push, "pull": pull}
        self._imported = imported
        self.halves: dict[Any, Primitive[..., Any]] = {}
        self.plain: str | None = None  # why Python's numbers have no derivative
        self.primal: Primitive[..., Any]

    def frule(self, tangents: tuple[Any, ...], *xs: Any, **options: Any) -> tuple[Any, Any]:
        """Return the value and the tangent."""
        y, leaves, given, static, found, layout = self._called(xs, options)
        ts = flatten_tangent(given, canonicalize(xs, tangents))
        if lost := [t.reason for i, t in static[0].items() if not _is_nothing(ts[i])]:
            raise NotDifferentiableError(lost[0])
        ts = [ZeroTangent() if i in static[0] else t for i, t in enumerate(ts)]
        pairs = list(zip(leaves, ts, strict=True))
        places = tuple([i for i, (x, t) in enumerate(pairs) if moves(x) and not is_zero(t)])
        y_dot: Any = ZeroTangent()
        if places and found:
            push = self._half("push", given, places, len(places), leaves, static, options)
            y_dot = unflatten_tangent(layout, list(push(*leaves, *[ts[i] for i in places])))
        counts = [i for i, (x, t) in enumerate(pairs) if kind_of(x) == "int" and not _is_nothing(t)]
        if counts:
            entries = [t if i in counts else None for i, t in enumerate(ts)]
            dots = tangents_in(given, entries, [True] * len(xs))
            try:
                reals = unflatten(given, _reals(leaves, y))
                y_dot = add_tangents(y_dot, self.frule(dots, *reals, **options)[1])
            except Exception as error:
                raise NotDifferentiableError(self._reason(leaves[counts[0]], error)) from error
        return y, y_dot

    def rrule(
        self, *xs: Any, wanted: tuple[bool, ...], **options: Any
    ) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
        """Return the value and the pullback, which runs the function again.

        The engine may have no derivative in operands that are not wanted. The cotangents of
        integers are computed where they are used.
        """
        y, leaves, given, static, found, layout = self._called(xs, options)
        each = zip(given.children, wanted, strict=True)
        asked = [w for of, w in each for _ in range(of.num_leaves)]
        free = [i for i, w in enumerate(asked) if w and i not in static[0]]
        places = tuple([i for i in free if moves(leaves[i])])
        counts = [i for i in free if kind_of(leaves[i]) == "int"]

        def pullback(y_bar: Any) -> tuple[Any, ...]:
            parts = zip(flatten_tangent(layout, canonicalize(y, y_bar)), found, strict=True)
            bars = [zero_tangent(x) if is_zero(t) else t for t, x in parts]
            entries: dict[int, Any] = {
                **dict.fromkeys(range(len(leaves)), NoTangent()),
                **static[0],
                **dict.fromkeys(places, ZeroTangent()),
            }
            if places and bars:
                entries |= self._pulled(given, places, leaves, bars, static, options)

            @functools.cache
            def in_reals() -> list[Any]:
                try:
                    reals = unflatten(given, _reals(leaves, y))
                    bars = self.rrule(*reals, wanted=wanted, **options)[1](y_bar)
                    return flatten_tangent(given, canonicalize(xs, bars))
                except Exception as error:
                    reason = self._reason(leaves[counts[0]], error)
                    return [NotImplementedTangent(reason)] * len(leaves)

            entries |= {i: Thunk(lambda i=i: in_reals()[i]) for i in counts}  # type: ignore[misc]
            return tangents_in(given, entries.values(), [True] * len(xs))

        return y, pullback

    def _called(self, xs: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
        """Return the value, then leaves, tree and constants of operands, and the value's leaves."""
        if self._is_flat:
            check_flat(self.f, xs)
        y: Any = self.primal(*xs, **options)
        leaves, given = partition(xs, self._is_leaf)
        return y, leaves, given, self._static(xs, given), *partition(y, moves)

    def _pulled(
        self,
        given: TreeDef,
        places: tuple[int, ...],
        leaves: list[Any],
        bars: list[Any],
        static: Static,
        options: dict[str, Any],
    ) -> dict[int, Any]:
        """Return the cotangents of leaves; a Python number may have to stay one, without any."""
        arrays = tuple([i for i in places if hasattr(leaves[i], "dtype")])
        at = arrays if self.plain is not None else places
        try:
            x_bars = self._half("pull", given, at, len(bars), leaves, static, options)(
                *leaves, *bars
            )
        except TypeError as error:
            if at == arrays:
                raise
            self.plain = f"{name_of(self.f)} takes a plain number there ({error})"
            return self._pulled(given, places, leaves, bars, static, options)
        none = NotImplementedTangent(self.plain or "")
        return {**dict.fromkeys(places, none), **dict(zip(at, x_bars, strict=True))}

    def _reason(self, x: Any, error: Exception) -> str:
        return (
            f"{name_of(self.f)}, which is imported, is differentiated in {describe(x)}, a whole "
            f"number, and does not take the real number that it is "
            f"({type(error).__name__}: {error})"
        )

    def _half(
        self,
        name: str,
        layout: TreeDef,
        places: tuple[int, ...],
        count: int,
        leaves: list[Any],
        static: Static,
        options: dict[str, Any],
    ) -> Primitive[..., Any]:
        """Return the push or pull at the leaves `places`, of all leaves and `count` tangents."""
        key = name, layout, places, count, static[1], *options, *map(exactly, options.values())
        try:
            return self.halves[key]
        except (KeyError, TypeError):
            pass
        n, by = layout.num_leaves, self._by[name]
        held = {i: leaves[i] for i in static[0]}

        def half(*given: Any) -> tuple[Any, ...]:
            xs, ts = [held.get(i, x) for i, x in enumerate(given[:n])], given[n:]
            whole = lambda *leaves: self.call(*unflatten(layout, leaves), **options)
            along = of_some(whole, xs, places)
            along.__qualname__ = name_of(self.f)
            return tuple(by(along, tuple([xs[i] for i in places]), ts))

        half.__name__ = half.__qualname__ = f"{name}_of_{name_of(self.f)}"
        made = self._imported(half, n + count)
        with contextlib.suppress(TypeError):  # an option without a hash
            self.halves[key] = made
        return made


def moves(x: Any) -> bool:
    """Return whether a value is a floating-point array or number."""
    return kind_of(x) in ("real", "complex")


def needs_64_bits(x: Any, beside: bool) -> bool:
    """Return whether an engine whose default is 32 bits would truncate an array or number.

    Beside arrays that have a precision, which floating-point arrays and keys do, integers need 64
    bits only if they do not fit in 32, and Python's other numbers never do.
    """
    if not beside:
        return bool(getattr(getattr(x, "dtype", None), "itemsize", 8) >= 8)
    if kind_of(x) != "int":
        return hasattr(x, "dtype") and moves(x) and x.real.dtype.itemsize >= 8
    large = (x >= 2**31) | (x < -(2**31))
    return bool(namespace(x).any(large) if hasattr(x, "dtype") else large)


def _is_nothing(t: Any) -> bool:
    """Return whether a tangent is zero, as far as a cheap test shows."""
    if type(t) in (int, float):
        return bool(t == 0)
    return is_zero(t) or (hasattr(type(t), "__array_interface__") and bool((t == 0).all()))


def _reals(leaves: list[Any], y: Any) -> list[Any]:
    """Return operands with real numbers instead of integers, in the precision of the result."""
    return [
        (real_numbers(x, y) if hasattr(x, "dtype") else 1.0 * x) if kind_of(x) == "int" else x
        for x in leaves
    ]


def state_imported(
    primal: Primitive[..., Any], rule: ImportedRule, *, module: str, engine: str
) -> None:
    """State both modes of a primitive, marked as imported, with priority below user-defined rules.

    Parameters
    ----------
    primal : Primitive
        The function.
    rule : ImportedRule
        Its derivatives; the rule's source is the definition of the other engine's function.
    module : str
        The adapter that imports it.
    engine : str
        The engine's name.
    """
    rule.primal, f = primal, rule.f
    source = Source(module, f"import_rule({name_of(f)})", where_defined(f), None, True)
    signature, varargs = any_types(primal)
    recipes: dict[str, Any] = {
        "forward": FruleRecipe(rule.frule, False, whole=True),
        "reverse": RruleRecipe(rule.rrule, False, whole=True),
    }
    for mode, recipe in recipes.items():
        recipe.constructor, recipe.engine = f"import_rule of {engine}", engine
        recipe.functions = (*recipe.functions, f)  # to search what it captured
        enter(
            Statement(primal, signature, varargs, source, recipe, modes=(mode,), layer=Layer.ENGINE)
        )
