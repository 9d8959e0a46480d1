"""Aliases: rows that map library functions to operations, and their keywords to arguments.

A row is checked against the signature of its function: each parameter is an operand or an option,
renamed, lowered or refused; the remaining ones are refused. Signatures that are mirrored by hand
would silently ignore keywords.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any

from chainrules_py.errors import RuleError, UnsupportedKeywordError
from chainrules_py.primitives.conversion_advice import Line, lost, remedy, told
from chainrules_py.primitives.method_table import invalidate
from chainrules_py.primitives.plugins import (
    Layer,
    check_contract,
    layer_of,
    owner_of,
)
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.primitives.signature import REQUIRED, parameters_of
from chainrules_py.values.caller_frames import caller


class Call:
    """A call of a library function while it is rewritten into operations.

    Attributes
    ----------
    operation : Primitive
        The operation to call.
    operands : dict
        Its operands by name, in order; lowerings replace them.
    options : dict
        Its options.
    after : list of callable
        Applied to the result, in order.
    """

    __slots__ = ("after", "operands", "options", "operation")

    def __init__(
        self, operation: Callable[..., Any], operands: dict[str, Any], options: dict[str, Any]
    ) -> None:
        self.operation, self.operands, self.options = operation, operands, options
        self.after: list[Callable[[Any], Any]] = []

    def __call__(self) -> Any:
        """Make the rewritten call."""
        result = self.operation(*self.operands.values(), **self.options)
        for step in self.after:
            result = step(result)
        return result


Row = tuple[str, Any, Any, Any]
"""An argument of a native call: its name in the operation, its place, default, and converter
or None. The place of a keyword is its name, that of all further arguments a slice."""

Lowering = Callable[[Call, Any], None]
"""Rewrites a call for one keyword's value; shared by rows whose keyword has this meaning."""


def as_option(call: Call, name: str, value: Any) -> None:
    """Add an option to a call."""
    call.options[name] = value


class AsArgument:
    """A lowering to an option or operand that only converts the value.

    Attributes
    ----------
    name : str
        The option or operand of the operation or composite.
    convert : callable
        Converts the argument's value.
    place : callable
        ``place(call, name, value)`` adds it to a call that may be rewritten otherwise, too.
    """

    __slots__ = ("convert", "name", "place")

    def __init__(
        self,
        name: str,
        convert: Callable[[Any], Any],
        place: Callable[[Call, str, Any], None] = as_option,
    ) -> None:
        self.name, self.convert, self.place = name, convert, place

    def __call__(self, call: Call, value: Any) -> None:
        """Lower an argument of a call to an argument of the operation."""
        self.place(call, self.name, self.convert(value))


_READ = (
    *("defaults", "gathers_lists", "hands_on", "leftover", "names", "parameters", "positional"),
    "refuse",
)


class Alias:
    """A row: a library function, its operation, and what happens to its keywords."""

    module: str  # the module that made the row
    __slots__ = (
        *("_given", "fewer", "gather", "lower", "module", "native", "operation"),
        *_READ,
    )

    def __init__(
        self,
        native: Callable[..., Any],
        operation: Callable[..., Any],
        lower: Mapping[str, Lowering],
        gather: str | None,
        fewer: Callable[..., Any] | None,
        *given: Any,
    ) -> None:
        self.native, self.operation = native, operation
        self.lower = dict(lower)
        self.gather = gather
        self.fewer = fewer
        self._given = given  # the arguments: rename, refuse, parameters, positional

    def __getattr__(self, name: str) -> Any:
        """Read the signature on first access to an attribute that comes from it."""
        if name not in _READ:
            raise AttributeError(name)
        self.read()
        return getattr(self, name)

    def read(self) -> None:
        """Read the function's signature, and assign each parameter."""
        rename, refuse, parameters, positional = self._given
        native, operation, lower, gather = self.native, self.operation, self.lower, self.gather
        of_static = getattr(lower.get(gather or ""), "place", None) is as_option
        gathers = gather is not None and not of_static
        # A list in it is an ordinary argument.
        self.gathers_lists = gathers and parameters_of(native).variadic == gather
        self.parameters = parameters_of(
            operation.__wrapped__ if isinstance(operation, Primitive) else operation
        )
        # NumPy passes **keywords to a user's function, and SciPy takes *samples, which have no
        # single name; a composite that takes the same receives all that is given.
        whole = not (rename or lower or refuse or isinstance(operation, Primitive))
        self.hands_on = whole and bool(
            self.parameters.keywords or (gather is None and self.parameters.variadic)
        )
        names, defaults = (
            _parameters(native, operation)
            if parameters is None
            else (tuple(parameters), dict(parameters))
        )
        self.defaults: dict[str, Any] = defaults
        self.positional = positional if positional is not None else names
        self.names = {n: rename.get(n, n) for n in names}
        self.leftover = self._leftover(refuse)
        self.refuse = self.leftover.union(refuse)

    def _leftover(self, refuse: tuple[str, ...]) -> frozenset[str]:
        known = {*self.parameters.names}
        lost = [
            native
            for native, name in self.names.items()
            if name not in known and native not in self.lower and native not in refuse
        ]
        if required := [name for name in lost if self.defaults.get(name, REQUIRED) is REQUIRED]:
            shown = getattr(self.native, "__name__", self.native)
            raise RuleError(
                f"alias of {shown}: its parameters {required} are not operands or options of "
                f"{self.operation!r}, and are neither renamed, lowered nor refused"
            )
        # A keyword from a newer release of the library: it is refused on use, so that it is not
        # ignored, and so that the release does not disable all other functions.
        return frozenset(lost)

    @property
    def __name__(self) -> str:
        name = str(getattr(self.native, "__name__", self.native))
        owner = getattr(self.native, "__self__", None)  # of np.add.reduce
        return f"{owner.__name__}.{name}" if owner is not None and hasattr(owner, "nin") else name

    def rows(self, n: int, keywords: tuple[str, ...]) -> list[Row] | None:
        """Return the rows for calls with n positional arguments that only rename and convert.

        None if a keyword is refused, lowered otherwise or unknown, or if there are too many
        arguments: `call` handles these.
        """
        rest = len(self.positional) if self.gather is None else self.positional.index(self.gather)
        if n > rest and (self.gather is None or self.gathers_lists):
            return None
        given = (*self.positional[: min(n, rest + 1)], *keywords)
        places = [*range(min(n, rest)), *[slice(rest, None)] * (n > rest), *keywords]
        lowered = [self.lower.get(name) for name in given]
        if (
            self.gather in keywords
            or len({*given}) != len(given)
            or not {*given} <= self.names.keys() - self.refuse
            or not all(isinstance(lower, (AsArgument, NoneType)) for lower in lowered)
        ):
            return None
        return [
            (
                getattr(lower, "name", self.names[name]),
                place,
                self.defaults.get(name, REQUIRED),
                getattr(lower, "convert", None),
            )
            for name, place, lower in zip(given, places, lowered, strict=True)
        ]

    def call(self, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Call:
        """Rewrite a call of the native function into operations.

        Raises
        ------
        UnsupportedKeywordError
            If a refused keyword has a value other than its default.
        TypeError
            If the call does not match the native signature.
        """
        if self.hands_on:
            return Call(self.operation, {str(i): x for i, x in enumerate(operands)}, keywords)
        if self.gather is not None:
            start = self.positional.index(self.gather)
            rest = operands[start:]
            whole = len(rest) == 1 and isinstance(rest[0], (type(None), tuple, list, range))
            if rest and (self.gathers_lists or not whole):  # x.reshape(2, 3) as x.reshape((2, 3))
                operands = (*operands[:start], rest)
        if len(operands) > len(self.positional):
            raise TypeError(
                f"{self.__name__}() takes {len(self.positional)} positional arguments, "
                f"got {len(operands)}"
            )
        given = dict(zip(self.positional, operands, strict=False))
        for name, value in keywords.items():
            if name in given:
                raise TypeError(f"{self.__name__}() got multiple values for {name!r}")
            if name not in self.names and name not in self.refuse:
                text = f"{self.__name__}() got an unexpected keyword {name!r}"
                raise lost((operands, keywords), text, Line(caller()), UnsupportedKeywordError)
            given[name] = value
        for name in self.refuse & given.keys():
            value = given.pop(name)
            if not _is_default(value, self.defaults.get(name, REQUIRED)):
                line = Line(caller())
                fact = f"{self.__name__}({name}=...) has no derivative here"
                without = line.without(name)
                write = (
                    (remedy(line) if name in ("out", "where") or not without else None)
                    or (without and f"use {without}")
                    or (
                        "leave it out, and apply it to operands or result"
                        if name != "out"
                        else "write b[...] = y for each of its arrays b and results y"
                        if isinstance(value, tuple)
                        else f"write b[...] = {self.__name__}(...), where b is what is given as out"
                    )
                )
                text = told(fact, line, write)
                raise lost((operands, keywords), text, line, UnsupportedKeywordError)
        default = {n: self.defaults.get(n, REQUIRED) for n in given}
        lowered = [n for n in self.lower if n in given and not _is_default(given[n], default[n])]
        call = self._renamed(
            {
                self.names[n]: x
                for n, x in given.items()
                if n not in self.lower and x is not default[n]
            }
        )
        for name in lowered:
            self.lower[name](call, given[name])
        operation: Any = self.operation  # a primitive, where there is an operation for fewer
        if self.fewer is not None and len(call.operands) < len(operation.operands):
            call.operation = self.fewer
        return call

    def _renamed(self, given: dict[str, Any]) -> Call:
        """Return a call of the operation: operands by position, options by name."""
        operation = self.operation
        if isinstance(operation, Primitive):
            known = self.parameters.defaults | given
            last = max([i for i, n in enumerate(operation.operands, 1) if n in given], default=0)
            ordered = {n: known[n] for n in operation.operands[:last] if n in known}
            sequence = given.get(operation.variadic or "", ())
            ordered.update({f"{operation.variadic}{i}": v for i, v in enumerate(sequence)})
            return Call(
                operation, ordered, {n: v for n, v in given.items() if n in operation.options}
            )
        parameters = self.parameters
        first = {
            n: given[n] for n in parameters.names if n in given and n not in parameters.keyword_only
        }
        if first.keys() != {*parameters.names[: len(first)]}:
            first = {}  # a gap: pass all by name
        return Call(operation, first, {n: v for n, v in given.items() if n not in first})

    def __repr__(self) -> str:
        return f"<alias {self.__name__} of {getattr(self.operation, '__name__', self.operation)}>"


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (
        isinstance(value, (bool, int, str)) and type(value) is type(default) and value == default
    )


def _parameters(
    native: Callable[..., Any], operation: Callable[..., Any]
) -> tuple[tuple[str, ...], dict[str, Any]]:
    try:
        parameters = parameters_of(native)
        named = parameters.positional or parameters.keyword_only
        if parameters.keywords is not None and not named:  # which names nothing
            parameters = parameters_of(operation)
    except RuleError as error:
        raise RuleError(
            f"{native!r} has no signature to read; give alias(..., parameters={{name: default}})"
        ) from error
    names = (*parameters.positional, *parameters.keyword_only)
    return names, {n: parameters.defaults.get(n, REQUIRED) for n in names}


UFUNC_KEYWORDS: dict[str, Any] = {
    "out": None,
    "where": True,
    "casting": "same_kind",
    "order": "K",
    "dtype": None,
    "subok": True,
    "signature": None,
}
"""The keywords of every ufunc with their defaults; none of them has a derivative."""

aliases: dict[Any, Alias] = {}
"""The alias of each library function."""


def _enter(row: Alias) -> None:
    """Add a row by precedence: a user's first, then those of packages of rules.

    Raises
    ------
    RuleError
        If two packages of rules have a row, or one has and the other a rule for the operation.
    """
    native, known = row.native, aliases.get(row.native)
    if known is None:
        aliases[native] = row
        return
    if layer_of(row.module) is Layer.THIRD_PARTY:
        stated = getattr(known.operation, "stated", ((),))[0]  # composites have no rules
        for module in (known.module, *[s.source.module for s in stated]):
            if layer_of(module) is Layer.THIRD_PARTY and owner_of(module) != owner_of(row.module):
                raise RuleError(
                    f"{row.__name__} has derivatives of two packages, {owner_of(module)} and "
                    f"{owner_of(row.module)}; uninstall one"
                )
    if layer_of(row.module) >= layer_of(known.module):
        aliases[native] = row


def alias(
    native: Callable[..., Any],
    *,
    to: Callable[..., Any],
    rename: Mapping[str, str] | None = None,
    lower: Mapping[str, Lowering] | None = None,
    refuse: tuple[str, ...] = (),
    parameters: Mapping[str, Any] | None = None,
    positional: tuple[str, ...] | None = None,
    gather: str | None = None,
    fewer: Callable[..., Any] | None = None,
    late: bool = False,
) -> Alias:
    """State which operation a library function is.

    Parameters
    ----------
    native : callable
        The library function.
    to : Primitive or callable
        The operation, or a composite: a function written in operations.
    rename : mapping
        From native parameter name to the operation's.
    lower : mapping
        From keyword to the lowering that rewrites a call with this keyword.
    refuse : tuple of str
        Keywords that raise `UnsupportedKeywordError` unless they have their default.
    parameters : mapping, optional
        From name to default, for a function whose signature cannot be read.
    positional : tuple of str, optional
        The parameters that can be passed by position, if not all.
    gather : str, optional
        The last of these, if it takes all further positional arguments as a tuple, as the shape
        in ``x.reshape(2, 3)`` does.
    fewer : callable, optional
        The operation for calls with fewer operands, such as ``np.where(condition)``.
    late : bool
        Whether the signature is read when the row is first used, instead of now. Tables of
        hundreds of rows set it; a test has to read them all.

    Raises
    ------
    RuleError
        If a required parameter is not assigned. One with a default is refused on use and listed
        in ``leftover``, which a test requires to be empty.
    """
    row = Alias(
        native, to, lower or {}, gather, fewer, rename or {}, refuse, parameters, positional
    )
    if not late:
        row.read()
    if isinstance(to, Primitive) and to.__wrapped__ is native:
        to.opaque = True  # its body would lead to this alias again
    row.module = caller().f_globals["__name__"]
    check_contract(row.module)
    _enter(row)
    invalidate()
    return row
