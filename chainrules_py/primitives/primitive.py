"""Primitives: functions whose calls engines can see.

Operations are primitives that the library of their arguments implements. A user's function becomes
one by ``@primitive``; its body is then the implementation.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from chainrules_py.errors import (
    NoRuleError,
    NotDifferentiableError,
    RuleError,
    TracerError,
    describe,
)
from chainrules_py.primitives.conversion_advice import Line, lost
from chainrules_py.primitives.method_table import (
    Cache,
    MethodTable,
    invalidate,
    library_function,
    operand_types,
    where_defined,
)
from chainrules_py.primitives.plugins import (
    Layer,
    check_contract,
    layer_of,
    not_loaded,
    root_of,
    see,
    see_about,
    see_helpers,
    see_roots,
)
from chainrules_py.primitives.signature import (
    REQUIRED,
    bind_call,
    of_operands,
    parameters_of,
    result_name,
    told,
)
from chainrules_py.values.caller_frames import caller
from chainrules_py.values.dispatch_types import Tracer
from chainrules_py.values.find_tracers import (
    captured,
    find_host,
    find_tracers,
    highest_tracer,
    in_operations,
    seen_through,
    untraced,
)
from chainrules_py.values.structure import is_structure_type
from chainrules_py.values.type_info import Host, type_info

if TYPE_CHECKING:
    import inspect

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R", covariant=True)
S = TypeVar("S")


def _documented() -> None:
    """Only a docstring."""


static_types: set[type] = {type(None), bool, int, str, float}
"""Classes of options that hold no differentiable value and need no further check."""


def is_static(*values: Any) -> bool:
    """Return whether options are plain Python data, or tuples of it."""
    for value in values:
        cls = type(value)
        if cls not in static_types and (
            cls is not tuple or not static_types.issuperset(map(type, value))
        ):
            return False
    return True


_BODILESS = {_documented.__code__.co_code, (lambda: None).__code__.co_code}


class Primitive(Generic[P, R]):
    """A function whose calls engines see, and for which rules can be stated.

    The first of these computes a call: a tracer among the operands; an implementation for these
    types; the namespace of the operands; the body of the declaration; the fallback.

    Attributes
    ----------
    operands : tuple of str
        The positional parameters: arrays and numbers, in which derivatives are taken.
    variadic : str or None
        The name of ``*operands``, if there are any number of them.
    options : dict
        The keyword-only parameters with their defaults, or
        `chainrules_py.primitives.signature.REQUIRED` if there is none.
    shape_from_data : bool
        Whether the shape of the result depends on values, so that it is only known afterwards.
    opaque : bool
        Whether the body is the library function of the primitive: tracing it would lead to the
        same call again.
    fixed : frozenset of int
        The indices of operands in which no derivative is taken, whatever their rule is.
    instead : str
        What to write for arrays without an implementation; empty for the default message.
    stated_by : str
        The line that states its derivative, where ``{0}`` is its name.
    """

    fixed: frozenset[int] = frozenset()
    instead = ""
    stated_by = "@rule({0}) with annotations that take these types"

    def __init__(self, declaration: Callable[P, R], *, shape_from_data: bool = False) -> None:
        declaration = of_operands(declaration)
        functools.update_wrapper(self, declaration)
        self.__module__ = self.__module__ or "__main__"  # None for code that exec ran
        self.__wrapped__: Callable[P, R] = declaration
        self.__name__: str = getattr(declaration, "__name__", type(declaration).__name__)
        self.__qualname__: str = getattr(declaration, "__qualname__", self.__name__)
        self.shape_from_data, self.opaque = shape_from_data, False
        code = getattr(declaration, "__code__", None)
        # The code of one that returns a constant is the same.
        self.has_body = code is None or (
            code.co_code not in _BODILESS or code.co_consts[-1] is not None
        )
        parameters = parameters_of(declaration)
        if parameters.keywords is not None:
            raise RuleError(
                f"{self.__name__} ({where_defined(declaration)}) takes **{parameters.keywords}; "
                f"name each option, keyword-only, so that rules can be checked against them"
            )
        self.operands = parameters.positional
        self.variadic = parameters.variadic
        self.options = {n: parameters.defaults.get(n, REQUIRED) for n in parameters.keyword_only}
        self._n_operands = -1 if self.variadic else len(self.operands)
        self._required = {n for n, d in self.options.items() if d is REQUIRED}
        self._methods: MethodTable[Callable[..., Any]] = MethodTable(self.__name__)
        self._fallback: Callable[..., Any] | None = None
        self._cache = Cache()
        self.stated: tuple[tuple[Any, ...], dict[Any, Any]] = (), {}  # statements, and their tables

    def __call__(self, *operands: P.args, **options: P.kwargs) -> R:
        """Compute the result, or let the highest tracer among the operands trace the call."""
        if len(operands) != self._n_operands and self._n_operands >= 0:
            operands, options = self.normalise(operands, options)  # type: ignore[assignment]
        try:
            implementation = self._cache.table[tuple(map(type, operands))]
        except KeyError:
            implementation = self._find(tuple(map(type, operands)))
        return implementation(*operands, **options)  # type: ignore[no-any-return]

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        """The signature of the declaration."""
        import inspect

        return inspect.signature(told(self.__wrapped__) or self.__wrapped__)

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Primitive[P, R]: ...
    @overload
    def __get__(
        self: Primitive[Concatenate[S, Q], R], instance: S, owner: type[S] | None = None
    ) -> Callable[Q, R]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def normalise(
        self, operands: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return a call's operands by position and options by name, with defaults filled in.

        Raises
        ------
        TypeError
            If the call does not match the signature.
        NotDifferentiableError
            If an option is an array or a tracer.
        """
        n = len(operands)
        fits = n >= len(self.operands) if self.variadic else n == self._n_operands
        filled = {**self.options, **options}
        missing = any([filled[n] is REQUIRED for n in self._required])
        if not fits or missing or len(filled) > len(self.options):
            given = {n: x for n, x in options.items() if x is not REQUIRED}
            operands, filled = bind_call(self.__name__, self.signature, operands, given)
        for name, value in filled.items():
            if type(value) in static_types or is_static(value):
                continue
            if find_tracers(value) or (type(n := getattr(value, "ndim", 0)) is int and n):
                of, xs = self.__name__, ", ".join([*self.operands, name])
                default = "" if self.options[name] is REQUIRED else f"={self.options[name]!r}"
                maps = [s for s in self.stated[0] if getattr(s.recipe, "constructor", "") == "rule"]
                text = (
                    f"{name} of {of} is an option, in which no derivative is taken, and was given "
                    f"{describe(untraced(value))}"
                    + (
                        f"; hold it fixed, {name}=ignore_derivatives({name})"
                        if self.__module__.startswith("chainrules_")
                        else f"\n  {where_defined(self)}\n  write def {of}({xs}{default}), without "
                        f"the *, and "
                        + (
                            f"give @rule({of}) one more LinearMap, for {name}"
                            if maps
                            else f"scalar_rule({of}"
                            + f", lambda {result_name(xs.split(', '))}, {xs}: ..."
                            * (1 + len(self.operands))
                            + ") as its only rule"
                        )
                    )
                )
                raise lost(value, text, Line(caller()), NotDifferentiableError)
        return operands, filled

    def implement(
        self,
        implementation: Callable[..., Any] | None = None,
        *,
        types: tuple[Any, ...] | None = None,
    ) -> Any:
        """Register an implementation for operands of the annotated types (a decorator).

        Parameters
        ----------
        implementation : callable
            Takes the operands by position and the options by keyword. Returned unchanged.
        types : tuple, optional
            Dispatch types, instead of the annotations.

        Examples
        --------
        >>> @primitive
        ... def halve(x):
        ...     "Half of x."
        >>> @halve.implement
        ... def halve_int(x: int):
        ...     return x // 2
        >>> halve(7)
        3
        """
        if implementation is None:
            return functools.partial(self.implement, types=types)
        signature, varargs = operand_types(implementation, types=types)
        # A specific library's implementation precedes one for any array. A library function, such
        # as a ufunc, names its library or none: the module that registers it counts.
        written = isinstance(implementation, FunctionType)
        module = implementation.__module__ if written else caller().f_globals["__name__"]
        check_contract(module)
        self._methods.add(signature, varargs, module, implementation)
        invalidate()
        return implementation

    def fallback(self, implementation: Callable[..., Any]) -> Callable[..., Any]:
        """Register an implementation for libraries without a function of this name (a decorator).

        It is written in operations that those libraries have.
        """
        self._fallback = implementation
        invalidate()
        return implementation

    def alike(self, name: str, meaning: str) -> Primitive[P, R]:
        """Declare another operation with the operands and options of this one, in its module.

        Parameters
        ----------
        name : str
            Its name, in the module and in libraries.
        meaning : str
            Its docstring.
        """
        of: Any = self.__wrapped__
        code = of.__code__.replace(co_name=name, co_qualname=name, co_firstlineno=caller().f_lineno)
        operation: Any = FunctionType(code, of.__globals__, name, of.__defaults__)
        operation.__qualname__, operation.__doc__ = name, meaning
        operation.__kwdefaults__, operation.__annotations__ = of.__kwdefaults__, of.__annotations__
        return type(self)(operation, shape_from_data=self.shape_from_data)

    def implementation(self, operands: tuple[type, ...]) -> Callable[..., Any] | None:
        """Return the function that computes this primitive for operands of plain types, or None.

        A tracer's type counts as that of its payload.
        """
        try:
            return self._cache.table[operands, "implementation"]  # type: ignore[no-any-return]
        except KeyError:
            see_about(self.__module__)
        cache = self._cache.open()
        # np.float64 is also a float: its library's implementation precedes Python's.
        zero_d = tuple([type_info(cls).zero_d_type for cls in operands])
        found = self._methods.resolve(zero_d)
        if found is None and not self.has_body:
            found = library_function(self.__name__, operands)
        if found is None and any(a is not b for a, b in zip(zero_d, operands, strict=True)):
            found = self._methods.resolve(operands)
        if found is None and self.has_body:
            found = self.__wrapped__
        if found is None and any([type_info(cls).is_array for cls in operands]):
            return self._fallback  # not cached: a helper may later provide a better one
        if found is not None:
            cache[operands, "implementation"] = found
        return found

    def _find(self, classes: tuple[type, ...], key: Any = None) -> Callable[..., Any]:
        """Return what a call with operands of these classes does, and cache it."""
        found: Callable[..., Any] | None = None
        for cls in classes:  # placeholders for a value, such as zeros, define their own behaviour
            way = getattr(cls, "__in_operation__", None)
            if way is not None and (found := way(self, classes)) is not None:
                break
        table = self._cache.open()
        tracers: list[Any] = [cls for cls in classes if issubclass(cls, Tracer)]
        if found is None and (tracers or any(map(is_structure_type, classes))):
            found = functools.partial(self.trace, None)
            # Each call has to check operands that are held fixed, which a step does not.
            if tracers and not self.fixed:
                step = tracers[0].__step__(self, None, classes)
                found = found if step is None else self.with_options(step)
        return table.setdefault(key or classes, found or self.plain_implementation(classes))  # type: ignore[no-any-return]

    def plain_implementation(
        self, classes: tuple[type, ...], host: Host | None = None
    ) -> Callable[..., Any]:
        """Return the `implementation` for operands without tracers; raise if there is none.

        If an operand, or a value inside one, belongs to another engine, that engine provides it.
        """
        try:
            return self._cache.table[classes, host]  # type: ignore[no-any-return]
        except KeyError:
            see(self, classes)
        cache = self._cache.open()
        implementation = self.implementation(classes)
        # NumPy's backend computes what is lacking for Python's numbers, as their stack.
        if implementation in (None, self._fallback) and see_helpers(classes) | see_roots({"numpy"}):
            implementation = self.implementation(classes)
        hosts = [host] if host is not None else [type_info(cls).host for cls in classes]
        asked = next((host for host in hosts if host is not None), None)
        if asked is not None:
            implementation = asked(self, classes, implementation)
        if implementation is None:
            raise self.lacking(classes)
        found = cache[classes, host] = seen_through(self, implementation, classes)
        return found

    def lacking(self, classes: tuple[type, ...]) -> NoRuleError | TypeError:
        """Return the error for operands without an implementation, with what to write instead."""
        shown, name = ", ".join(cls.__qualname__ for cls in classes), self.__name__
        missing = [
            operand
            for operand in self.operands[len(classes) :]
            if (p := self.signature.parameters[operand]).default is p.empty
        ]
        if missing:
            return TypeError(f"{name}() missing a required argument: {missing[0]!r}")
        is_lost = not_loaded() and {"numpy", "builtins"}.issuperset(map(root_of, classes))
        usual = "mend the import below" if is_lost else "call it on NumPy's arrays"
        instead = "give it a body" if layer_of(self.__module__) is Layer.USER else usual
        forgotten = " (did you forget return?)" if "NoneType" in shown else ""
        msg = (
            f"nothing computes {name}({shown}){forgotten}; {self.instead or instead}, or write "
            f"@{name}.implement above a function with these annotations"
        )
        return NoRuleError("\n  ".join([msg, *not_loaded()]))

    def with_options(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a step, which takes all options, to take those of a call."""
        if not (defaults := self.options):
            return step

        def stepped(*operands: Any, **options: Any) -> Any:
            given = {**defaults, **options}
            values = given.values()
            if len(given) == len(defaults) and (
                static_types.issuperset(map(type, values)) or is_static(*values)
            ):
                return step(*operands, **given)
            return step(*operands, **self.normalise(operands, options)[1])

        return stepped

    def trace(self, primal: Callable[..., Any] | None, /, *operands: Any, **options: Any) -> Any:
        """Trace a call on any operands, by the tracer of the highest level among them.

        Parameters
        ----------
        primal : callable or None
            The function that the user called, if it is not the primitive: it computes the value.
        *operands, **options
            The arguments of the call.
        """
        tracer = highest_tracer(operands)
        if tracer is None:  # a structure without tracers
            found = primal or self.plain_implementation(
                tuple(map(type, operands)), find_host(operands)
            )
            return found(*operands, **options)
        operands, options = self.normalise(operands, options)
        try:
            y = tracer.__trace__(self, operands, options, primal)
            return y if primal is not None and not self.has_body else self.unmixed(y)
        except RecursionError as error:
            if not hasattr(error, "__notes__"):
                engine = type(tracer).__qualname__
                error.add_note(
                    f"if {engine}.__trace__ calls {self.__name__} of {describe(operands)} with "
                    f"the same operands again: take the values of {engine} out of them by "
                    f"chainrules_py.extend.partition, as docs/build-an-engine.md shows"
                )
            raise

    def unmixed(self, y: Any) -> Any:
        """Return a result; raise if it depends on a differentiated value that is no operand.

        A level traces values of lower levels. A tracer above a payload of its own level, or of a
        higher one, was not an operand: the function, or its rule, captured it.
        """
        below = getattr(type(y), "payload_type", None)
        if below is not None and not issubclass(below, Tracer) and not is_structure_type(below):
            return y
        for tracer in find_tracers(y):
            below = "payload" if hasattr(tracer, "payload") else "__payload__"
            if any([t.level >= tracer.level for t in find_tracers(getattr(tracer, below))]):
                raise TracerError(
                    f"the result of {self.__name__} ({where_defined(self)}) depends on "
                    f"{in_operations(captured([self.__wrapped__]))} that is being differentiated "
                    f"and is no operand of it: that gradient would be lost; pass it as an operand, "
                    f"or hold it fixed with ignore_derivatives"
                )
        return y

    def __repr__(self) -> str:
        return f"<primitive {self.__name__}>"

    def __deepcopy__(self, _memo: Any = None) -> Any:
        return self  # as for Python functions

    __copy__ = __deepcopy__

    def __reduce__(self) -> Any:
        from chainrules_py.values.pickling_by_name import checked_name

        return checked_name(self, where_defined(self), self.stated[0])


class _Unary(Primitive[P, R]):
    """Primitive of one operand without options: checking that per call is half its cost."""

    def __call__(self, x: Any, /) -> R:  # type: ignore[override]
        try:
            implementation = self._cache.table[type(x)]
        except KeyError:
            implementation = self._find((type(x),), type(x))
        return implementation(x)  # type: ignore[no-any-return]


class _WithOptions(_Unary[P, R]):
    """Primitive of one operand, with options."""

    def __call__(self, x: Any, /, *more: Any, **options: Any) -> R:  # type: ignore[override]
        if more:
            self.normalise((x, *more), options)  # raises
        try:
            implementation = self._cache.table[type(x)]
        except KeyError:
            implementation = self._find((type(x),), type(x))
        return implementation(x, **options)  # type: ignore[no-any-return]


class _Binary(Primitive[P, R]):
    """Primitive of two operands, without options."""

    def __call__(self, x: Any, y: Any, /) -> R:  # type: ignore[override]
        try:
            implementation = self._cache.table[type(x), type(y)]
        except KeyError:
            implementation = self._find((type(x), type(y)))
        return implementation(x, y)  # type: ignore[no-any-return]


def _class_for(declaration: Callable[..., Any]) -> type[Primitive[..., Any]]:
    parameters = parameters_of(declaration)
    n, has_default = len(parameters.positional), {*parameters.positional} & {*parameters.defaults}
    if not parameters.by_position_only or parameters.variadic or n > 2 or has_default:
        return Primitive
    by_n: Any = {1: _WithOptions} if parameters.keyword_only else {1: _Unary, 2: _Binary}
    return by_n.get(n, Primitive)  # type: ignore[no-any-return]


@overload
def primitive(declaration: Callable[P, R], /) -> Primitive[P, R]: ...
@overload
def primitive(*, shape_from_data: bool = False) -> Callable[[Callable[P, R]], Primitive[P, R]]: ...
def primitive(declaration: Any = None, /, *, shape_from_data: bool = False) -> Any:
    """Make a function a primitive: engines see its calls, and rules can be stated for it.

    Positional parameters are *operands*: arrays, numbers, and structures of them. Keyword-only
    parameters are *options*: static Python data. Use it above a function, above a method or a
    dataclass's ``__call__``, or as ``g = primitive(module.f)`` for code that cannot be edited.

    Parameters
    ----------
    declaration : callable
        Its body is the default implementation. If the body is only a docstring, calls use the
        function of the same name in the namespace of the operands.
    shape_from_data : bool
        Whether the shape of the result depends on values.

    Raises
    ------
    RuleError
        If it takes ``**keywords``.

    Examples
    --------
    >>> @primitive
    ... def area(width, height):
    ...     return width * height
    >>> area(2.0, 3.0)
    6.0
    """
    if declaration is None:
        return functools.partial(primitive, shape_from_data=shape_from_data)
    if isinstance(declaration, Primitive):
        return declaration
    if isinstance(declaration, (staticmethod, classmethod)):
        return type(declaration)(primitive(shape_from_data=shape_from_data)(declaration.__func__))
    return _class_for(of_operands(declaration))(declaration, shape_from_data=shape_from_data)
