"""A library's own functions, as rows that say which word each is and where its keywords go.

A row is read against the function's own signature when it is entered: each parameter is an
operand, an option, renamed, lowered or refused; what is left over is refused as well. Mirroring
signatures by hand is how keywords come to be ignored in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from chainrules_py.dispatch import invalidate
from chainrules_py.errors import RuleError, UnsupportedKeywordError
from chainrules_py.primitive import Primitive
from chainrules_py.signature import REQUIRED, parameters_of

__all__ = ["Alias", "Call", "Lowering", "alias", "aliases"]


class Call:
    """A call of a library's function while it is being rewritten into words.

    Attributes
    ----------
    word : Primitive
        The word that will be called.
    operands : dict
        Its operands by name, in order; lowerings replace them.
    options : dict
        Its options.
    after : list of callable
        Applied to the result, in order.
    """

    __slots__ = ("after", "operands", "options", "word")

    def __init__(
        self, word: Callable[..., Any], operands: dict[str, Any], options: dict[str, Any]
    ) -> None:
        self.word = word
        self.operands = operands
        self.options = options
        self.after: list[Callable[[Any], Any]] = []

    def __call__(self) -> Any:
        """Make the call that it has become."""
        result = self.word(*self.operands.values(), **self.options)
        for step in self.after:
            result = step(result)
        return result


Direct = tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]]
"""Where a word's operands, and its options by name, stand in a native call: place or keyword."""

Lowering = Callable[[Call, Any], None]
"""Rewrites a call for one keyword's value; shared by all rows whose keyword means the same."""


class Alias:
    """One row: a library's function, the word it is, and what becomes of its keywords."""

    __slots__ = (
        "_direct",
        "defaults",
        "gather",
        "leftover",
        "lower",
        "names",
        "native",
        "positional",
        "refuse",
        "word",
    )

    def __init__(
        self,
        native: Callable[..., Any],
        word: Callable[..., Any],
        rename: Mapping[str, str],
        lower: Mapping[str, Lowering],
        refuse: tuple[str, ...],
        parameters: Mapping[str, Any] | None,
        positional: tuple[str, ...] | None,
        gather: str | None,
    ) -> None:
        self.gather = gather
        self.native = native
        self.word = word
        self.lower = dict(lower)
        self.refuse = frozenset(refuse)
        names, defaults = (
            _parameters(native) if parameters is None else (tuple(parameters), dict(parameters))
        )
        self.positional = positional if positional is not None else names
        self.names = {n: rename.get(n, n) for n in names}
        self.defaults = defaults
        self._direct: dict[Any, Direct | None] = {}
        self._check()

    def _check(self) -> None:
        word = self.word
        if isinstance(word, Primitive):
            known = {*word.operands, *word.options, *((word.variadic,) if word.variadic else ())}
        else:
            known = set(parameters_of(word).names)
        lost = [
            native
            for native, name in self.names.items()
            if name not in known and native not in self.lower and native not in self.refuse
        ]
        if required := [name for name in lost if self.defaults.get(name, REQUIRED) is REQUIRED]:
            shown = getattr(self.native, "__name__", self.native)
            msg = (
                f"alias of {shown}: its parameters {required} are no operand or option of "
                f"{word!r}, and are neither renamed, lowered nor refused"
            )
            raise RuleError(msg)
        # A keyword that a newer release of the library brought: refused where it is used, so that
        # it is not ignored, and so that the release does not take every other function with it.
        self.leftover = frozenset(lost)
        self.refuse |= self.leftover

    @property
    def __name__(self) -> str:
        return str(getattr(self.native, "__name__", self.native))

    def direct(self, n: int, keywords: tuple[str, ...]) -> Direct | None:
        """How a call with n positional arguments and these keywords is the word's, if it renames.

        None where a keyword is lowered or refused, where operands come in a sequence, and where
        the call does not fit: `call` sees to all that.
        """
        key = (n, keywords)
        if key not in self._direct:
            self._direct[key] = self._find_direct(n, keywords)
        return self._direct[key]

    def _find_direct(self, n: int, keywords: tuple[str, ...]) -> Direct | None:
        word = self.word
        if not isinstance(word, Primitive) or word.variadic or n > len(self.positional):
            return None
        given: dict[str, Any] = {name: i for i, name in enumerate(self.positional[:n])}
        given |= {name: name for name in keywords}
        if len(given) != n + len(keywords) or self.gather in given:
            return None
        if not given.keys() <= self.names.keys() or given.keys() & (
            self.refuse | self.lower.keys()
        ):
            return None
        source = {self.names[name]: where for name, where in given.items()}
        if not set(word.operands) <= source.keys():
            return None
        operands = tuple([source.pop(name) for name in word.operands])
        return (operands, tuple(source.items())) if source.keys() <= word.options.keys() else None

    def call(self, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Call:
        """Rewrite a call of the native function into words.

        Raises
        ------
        UnsupportedKeywordError
            If a refused keyword has another value than its default.
        TypeError
            If the call does not fit the native signature.
        """
        if self.gather is not None:
            operands = self._gathered(operands, self.positional.index(self.gather))
        if len(operands) > len(self.positional):
            msg = (
                f"{self.__name__}() takes {len(self.positional)} positional arguments, "
                f"got {len(operands)}"
            )
            raise TypeError(msg)
        given = dict(zip(self.positional, operands, strict=False))
        for name, value in keywords.items():
            if name in given:
                msg = f"{self.__name__}() got multiple values for {name!r}"
                raise TypeError(msg)
            if name not in self.names and name not in self.refuse:
                msg = f"{self.__name__}() got an unexpected keyword {name!r}"
                raise UnsupportedKeywordError(msg)
            given[name] = value
        for name in self.refuse & given.keys():
            value = given.pop(name)
            if not _is_default(value, self.defaults.get(name, REQUIRED)):
                msg = (
                    f"{self.__name__}({name}=...) has no derivative here; "
                    f"leave {name} out and apply it to the result or the operands"
                )
                raise UnsupportedKeywordError(msg)
        lowered = {
            n: given.pop(n)
            for n in self.lower
            if n in given and (not _is_default(given[n], self.defaults.get(n, REQUIRED)))
        }
        for name in self.lower:
            given.pop(name, None)  # there, but with its default
        return self._rewritten({self.names[n]: v for n, v in given.items()}, lowered)

    @staticmethod
    def _gathered(operands: tuple[Any, ...], start: int) -> tuple[Any, ...]:
        """``x.reshape(2, 3)`` as ``x.reshape((2, 3))``."""
        rest = operands[start:]
        if not rest or (len(rest) == 1 and (rest[0] is None or isinstance(rest[0], (tuple, list)))):
            return operands
        return (*operands[:start], rest)

    def _rewritten(self, given: dict[str, Any], lowered: dict[str, Any]) -> Call:
        word = self.word
        if isinstance(word, Primitive):
            options = {n: v for n, v in given.items() if n in word.options}
            named = {n: v for n, v in given.items() if n not in word.options}
            if word.variadic:
                sequence = named.pop(word.variadic, ())
                ordered = {n: named[n] for n in word.operands if n in named}
                ordered.update({f"{word.variadic}{i}": v for i, v in enumerate(sequence)})
            else:
                ordered = {n: named[n] for n in word.operands if n in named}
            call = Call(word, ordered, options)
        else:
            parameters = parameters_of(word)
            first = {n: v for n, v in given.items() if n not in parameters.keyword_only}
            call = Call(word, first, {n: v for n, v in given.items() if n not in first})
            call.operands = {n: first[n] for n in parameters.names if n in first}
            if call.operands.keys() != set(parameters.names[: len(call.operands)]):
                call.options |= call.operands  # a gap: pass them by name
                call.operands = {}
        for name, value in lowered.items():
            self.lower[name](call, value)
        if call.word is word and isinstance(word, Primitive) and not word.variadic:
            defaults = parameters_of(word.__wrapped__).defaults
            missing = [n for n in word.operands if n not in call.operands and n not in defaults]
            if missing:
                msg = (
                    f"{self.__name__}() of a traced value misses {', '.join(missing)}: it is the "
                    f"word {word.__name__}({', '.join(word.operands)}) here, and nothing else"
                )
                raise TypeError(msg)
        return call

    def __repr__(self) -> str:
        return f"<alias {self.__name__} of {self.word!r}>"


def _is_default(value: Any, default: Any) -> bool:
    if value is default:
        return True
    return isinstance(value, (bool, int, str)) and type(value) is type(default) and value == default


def _parameters(native: Callable[..., Any]) -> tuple[tuple[str, ...], dict[str, Any]]:
    try:
        parameters = parameters_of(native)
    except (TypeError, ValueError) as error:
        msg = f"{native!r} has no signature to read; give alias(..., parameters={{name: default}})"
        raise RuleError(msg) from error
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
"""The keywords of every ufunc, with their defaults: none of them has a derivative."""

aliases: dict[Any, Alias] = {}
"""The rows, by the function that is aliased."""


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
) -> Alias:
    """Say which word a library's function is.

    Parameters
    ----------
    native : callable
        The library's function.
    to : Primitive or callable
        The word, or a composite: a function written in words.
    rename : mapping
        Native parameter name to the word's.
    lower : mapping
        Keyword to the lowering that rewrites the call where the keyword is given.
    refuse : tuple of str
        Keywords that raise `UnsupportedKeywordError` unless they have their default.
    parameters : mapping, optional
        Name to default, for a function whose signature cannot be read.
    positional : tuple of str, optional
        The parameters that may be given by position, if not all.
    gather : str, optional
        The last of these, where it takes all further positional arguments as a tuple, as the
        shape of ``x.reshape(2, 3)`` does.

    Raises
    ------
    RuleError
        If a parameter that has to be given is left over. One with a default is refused where it
        is used, and stands in ``leftover``, which a house test wants to be empty.
    """
    row = Alias(native, to, rename or {}, lower or {}, refuse, parameters, positional, gather)
    aliases[native] = row
    invalidate()
    return row
