"""Rates of change as straight lines of operations on numbers, and the rates of their derivatives.

A rate of change is called thousands of times, on a few numbers. It is called once on symbols,
which note what is done to them; the lines that they noted are a `System`, which is written as plain
arithmetic of Python's. Its derivatives are lines as well: those of each operation are read from the
registry, by an engine that differentiates the word on symbols. What asks a symbol for its value, as
``if`` does, has no lines, and raises `NotLinesError`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple, NoReturn, final

import numpy as np

from chainrules_py import vocabulary as v
from chainrules_py.extend import Library, default_engine, register_array_type

_MOST_LINES = 4000

_UNARY = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "exp", "exp2"),
    *("expm1", "log", "log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh"),
)
_TEMPLATES = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
    "negative": "-{}",
    "pow": "pow({}, {})",
    "less": "{} < {}",
    "less_equal": "{} <= {}",
    "greater": "{} > {}",
    "greater_equal": "{} >= {}",
    "equal": "{} == {}",
    "not_equal": "{} != {}",
    "logical_and": "{} and {}",
    "logical_or": "{} or {}",
    "logical_not": "not {}",
    "where": "{1} if {0} else {2}",
    "float": "float({})",
} | {name: f"{name}({{}})" for name in _UNARY}
"""Words, and how Python writes them."""

_TRUTHS = {
    *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
    *("logical_and", "logical_or", "logical_not"),
}
_STEPS = _TRUTHS | {"float"}
_SHORTER = {
    ("multiply", 0, "1.0"): 1,
    ("multiply", 1, "1.0"): 0,
    ("divide", 1, "1.0"): 0,
    ("add", 0, "0.0"): 1,
    ("add", 1, "0.0"): 0,
    ("subtract", 1, "0.0"): 0,
}
"""Operations with a number that leave the other operand as it is, and which that is."""

_FUNCTIONS = {name: getattr(math, name) for name in (*_UNARY, "pow")}


class NotLinesError(Exception):
    """A function does what has no lines: it asks for a value, or does what has no template."""


@final
class Lines:
    """Lines that are being noted, each once.

    Attributes
    ----------
    steps : list of tuple of str
        A word, and the names of its operands; the i-th gives ``v{i}``.
    """

    __slots__ = ("_known", "steps")

    def __init__(self, steps: Iterable[tuple[str, ...]] = ()) -> None:
        self.steps = list(steps)
        self._known = {step: f"v{i}" for i, step in enumerate(self.steps)}

    def note(self, word: str, *operands: Any) -> Symbol:
        """Note an operation, and return what stands for its result."""
        names = [x.name if type(x) is Symbol else _number(x) for x in operands]
        for i, name in enumerate(names):
            if (other := _SHORTER.get((word, i, name))) is not None:
                return Symbol(self, names[other])
        step = (word, *names)
        if step not in self._known:
            if len(self.steps) == _MOST_LINES:
                raise NotLinesError
            self._known[step] = f"v{len(self.steps)}"
            self.steps.append(step)
        return Symbol(self, self._known[step], word in _TRUTHS)

    def symbol(self, name: str) -> Symbol:
        """Return what stands for a name."""
        return Symbol(self, name)


def _number(x: Any) -> str:
    if isinstance(x, (np.ndarray, np.generic)) and not x.ndim:
        x = x.item()
    if not isinstance(x, (int, float)) or not math.isfinite(x):
        raise NotLinesError
    return repr(float(x))


def _operation(word: str) -> Callable[..., Any]:
    def operation(*operands: Any) -> Any:
        if any(isinstance(x, np.ndarray) and x.ndim for x in operands):
            return NotImplemented
        lines = next(x.lines for x in operands if type(x) is Symbol)
        return lines.note(word, *operands)

    return operation


def _reflected(word: str) -> Callable[..., Any]:
    operation = _operation(word)
    return lambda y, x: operation(x, y)


def _power(x: Any, y: Any) -> Any:
    exponent = y.item() if isinstance(y, np.generic) else y
    if type(exponent) in (int, float) and exponent in (1, 2, 3):
        return functools.reduce(_operation("multiply"), [x] * int(exponent))
    return _operation("pow")(x, y)


def _refuse(*_operands: Any) -> NoReturn:
    raise NotLinesError


@final
class Symbol:
    """A number that is known by its name."""

    __slots__ = ("is_truth", "lines", "name")
    shape: ClassVar[tuple[int, ...]] = ()
    ndim: ClassVar[int] = 0
    device: ClassVar[None] = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, lines: Lines, name: str, is_truth: bool = False) -> None:
        self.lines, self.name, self.is_truth = lines, name, is_truth

    @property
    def dtype(self) -> Any:
        """That of NumPy's floats, and of truths."""
        return np.dtype(bool if self.is_truth else float)

    def __repr__(self) -> str:
        return f"<{self.name}>"


_OPERATORS: dict[str, Any] = {
    **{f"__{name}__": _refuse for name in ("bool", "float", "int", "index", "complex")},
    **{f"__{name}__": _refuse for name in ("abs", "mod", "rmod", "floordiv", "rfloordiv")},
    "__neg__": _operation("negative"),
    "__pos__": lambda x: x,
    "__pow__": _power,
    "__rpow__": _reflected("pow"),
    "__and__": _operation("logical_and"),
    "__or__": _operation("logical_or"),
    "__invert__": _operation("logical_not"),
}
for _short, _name in {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
}.items():
    _OPERATORS[f"__{_short}__"] = _operation(_name)
    _OPERATORS[f"__r{_short}__"] = _reflected(_name)
for _short, _name in zip(
    ("lt", "le", "gt", "ge", "eq", "ne"),
    ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
    strict=True,
):
    _OPERATORS[f"__{_short}__"] = _operation(_name)
for _name in _UNARY:  # as NumPy asks what is in an array of objects
    _OPERATORS[_name.replace("a", "arc", 1) if _name[0] == "a" else _name] = _operation(_name)
for _name, _function in _OPERATORS.items():
    setattr(Symbol, _name, _function)


@final
class _Words:
    """The words that symbols have, as a namespace."""

    float64 = np.dtype(np.float64)
    isdtype = staticmethod(np.isdtype)
    finfo = staticmethod(np.finfo)
    positive = staticmethod(lambda x: x)
    square = staticmethod(lambda x: x * x)
    reciprocal = staticmethod(lambda x: 1.0 / x)
    zeros_like = staticmethod(lambda x, **_: x.lines.symbol("0.0"))
    ones_like = staticmethod(lambda x, **_: x.lines.symbol("1.0"))
    real = staticmethod(lambda x: x)
    conj = staticmethod(lambda x: x)


for _name in _TEMPLATES:
    setattr(_Words, _name, staticmethod(_power if _name == "pow" else _operation(_name)))

register_array_type(
    Symbol, Library(_Words(), own=lambda x, theirs: x, finite=lambda x: True, devices=False)
)


@v.full_like.implement
def full_like_symbol(x: Symbol, *, shape: Any, fill: Any, dtype: Any = None) -> Any:
    """Return the fill value as a symbol."""
    if shape != ():
        raise NotLinesError
    return fill if type(fill) is Symbol else x.lines.symbol(_number(fill))


@v.astype.implement
def astype_symbol(x: Symbol, *, dtype: Any) -> Any:
    """Leave a number as it is."""
    if dtype == x.dtype:
        return x
    if dtype != np.dtype(float):
        raise NotLinesError
    return x.lines.note("float", x)


class System(NamedTuple):
    """Rates of change of a state, as lines.

    Attributes
    ----------
    size : int
        How many numbers the state is, ``y0`` and so on in the lines; the time is ``t``.
    parameters : int
        How many parameters there are: ``p0`` and so on.
    steps : tuple of tuple of str
        The lines.
    rates : tuple of str
        The names of the rates of change.
    """

    size: int
    parameters: int
    steps: tuple[tuple[str, ...], ...]
    rates: tuple[str, ...]

    def function(self, parameters: Iterable[float]) -> Callable[[Any, float], list[float]]:
        """Return the rates as a function of an array and the time, for some parameters."""
        return _written(self)(*parameters)  # type: ignore[no-any-return]

    def on(self, states: Any, times: Any, parameters: Any) -> list[Any]:
        """Compute the rates by words, at many states and times at once."""
        known = dict(zip(self._inputs(), (*states, times, *parameters), strict=True))
        for i, (word, *names) in enumerate(self.steps):
            known[f"v{i}"] = getattr(v, word)(*[known.get(n, n) for n in names])
        return [known[name] for name in self.rates]

    def _inputs(self) -> list[str]:
        return [*[f"y{i}" for i in range(self.size)], "t"] + [
            f"p{k}" for k in range(self.parameters)
        ]


@functools.lru_cache(maxsize=128)
def _written(system: System) -> Any:
    """Write a system as a function that is made for parameters."""

    def inlined(name: str) -> str:
        return f"({lines[name]})" if name in lines and uses[name] == 1 else name

    uses: dict[str, int] = {}
    for name in [*[name for step in system.steps for name in step[1:]], *system.rates]:
        uses[name] = uses.get(name, 0) + 1
    body, lines = [], {}
    for i, (word, *names) in enumerate(system.steps):
        text = _TEMPLATES[word].format(*map(inlined, names))
        if uses.get(f"v{i}") == 1 and len(text) < 400:
            lines[f"v{i}"] = text
        elif f"v{i}" in uses:
            body.append(f"v{i} = {text}")
    state = ", ".join(f"y{i}" for i in range(system.size))
    source = "\n  ".join(
        [
            f"def make({', '.join(f'p{k}' for k in range(system.parameters))}):\n def rate(y, t):",
            f"{state}, = y.tolist()",
            *body,
            f"return [{', '.join(map(inlined, system.rates))}]\n return rate",
        ]
    )
    space: dict[str, Any] = dict(_FUNCTIONS)
    exec(compile(source, "<rates of change>", "exec"), space)  # noqa: S102  # names and numbers
    return space["make"]


@functools.lru_cache(maxsize=128)
def differentiated(system: System, of_state: bool, of_parameters: tuple[int, ...]) -> System:
    """Add what a state's derivatives change by, in the first state and in some parameters.

    For each of them, one after the other, the state is followed by as many numbers as it has.
    """
    n, lines = system.size, Lines(system.steps)
    directions = [("y", i) for i in range(n if of_state else 0)]
    directions += [("p", k) for k in of_parameters]
    # Partials of the rates, by the names of what they are of.
    partials: dict[str, dict[str, Any]] = {
        name: {name: 1.0} for name in [f"y{i}" for i in range(n)] + [f"p{k}" for k in of_parameters]
    }
    for i, (word, *names) in enumerate(system.steps):
        found: dict[str, Any] = {}
        for place, name in enumerate(names):
            if partials.get(name) and word not in _STEPS:
                slope = _partial(lines, word, names, place)
                for of, x in partials[name].items():
                    found[of] = _plus(found.get(of), _times(slope, x))
        partials[f"v{i}"] = found
    rates = list(system.rates)
    for j, (kind, k) in enumerate(directions):
        for rate in system.rates:
            row = partials.get(rate, {})
            total = row.get(f"p{k}") if kind == "p" else None
            for i in range(n):
                if f"y{i}" in row:
                    total = _plus(total, _times(row[f"y{i}"], lines.symbol(f"y{n * (1 + j) + i}")))
            rates.append("0.0" if total is None else _text(total))
    size = n * (1 + len(directions))
    return System(size, system.parameters, tuple(lines.steps), tuple(rates))


def _text(x: Any) -> str:
    return x.name if type(x) is Symbol else _number(x)


def _times(x: Any, y: Any) -> Any:
    return x if type(y) is float and y == 1.0 else y * x


def _plus(x: Any, y: Any) -> Any:
    return y if x is None else x + y


def _partial(lines: Lines, word: str, names: list[str], place: int) -> Any:
    """Differentiate a word on symbols, by the rule that it has."""
    operands = [lines.symbol(name) if name[0] in "ytpv" else float(name) for name in names]

    def f(x: Any) -> Any:
        return getattr(v, word)(*operands[:place], x, *operands[place + 1 :])

    return default_engine().jvp(f, (operands[place],), (lines.symbol("1.0"),))[1]


def recorded(f: Callable[..., Any], size: int, shapes: Iterable[Any]) -> System:
    """Call ``f(y, t, parameters)`` on symbols; parameters have these shapes, None of numbers.

    Raises
    ------
    NotLinesError
        If it asks for a value, or does what has no lines.
    """
    lines = Lines()
    count = 0
    parameters = []
    for shape in shapes:
        k = 1 if shape is None else math.prod(shape)
        symbols = [lines.symbol(f"p{i}") for i in range(count, count + k)]
        parameters.append(symbols[0] if shape is None else _array(symbols, shape))
        count += k
    states = _array([lines.symbol(f"y{i}") for i in range(size)], (size,))
    try:
        found = np.asarray(f(states, lines.symbol("t"), parameters), dtype=object)
    except Exception as error:
        raise NotLinesError from error
    if found.size != size:
        raise NotLinesError
    return System(size, count, tuple(lines.steps), tuple(map(_text, found.reshape(-1).tolist())))


def _array(symbols: list[Symbol], shape: Any) -> Any:
    made = np.empty(len(symbols), object)
    made[:] = symbols
    return made.reshape(shape)
