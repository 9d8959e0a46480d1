"""Straight-line programs: values, calls, and the lists of calls that compute them.

A recorder builds these objects, passes rewrite them, and writers read them. They are independent of
array libraries: a call may have any function, and its operands are whatever the function takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, final

from chainrules_py.errors import ProgramError, describe


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Value:
    """Result of a call, input or constant of a program: a name and known properties.

    Values are compared by identity. A pass that knows more about a value makes a new one.

    Attributes
    ----------
    name : str
        Its name where the program is printed or written, unique in a program.
    type : type, optional
        Its class.
    shape : tuple of int, optional
        Its shape; None for values without one, such as Python numbers.
    dtype : optional
        The dtype of its library.
    memory : Value, optional
        The value that this one is a view of; None if it owns its memory.
    layout : optional
        How its elements are laid out in memory, as the `Memory` of its library describes it.

    Examples
    --------
    >>> Value("x", float), Value("y", shape=(2, 3), dtype="float64")
    (x: float, y: float64[2,3])
    """

    name: str
    type: type[Any] | None = None
    shape: tuple[int, ...] | None = None
    dtype: Any = None
    memory: Value | None = None
    layout: Any = None

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        if self.dtype is not None and self.shape is not None:
            return f"{self.name}: {describe(self)}"
        return self.name if self.type is None else f"{self.name}: {self.type.__qualname__}"


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call:
    """Application of a function to operands: one line of a program.

    Attributes
    ----------
    function : callable
        An operation, or its implementation.
    operands : tuple
        Values, and objects that are the same in each run. Values may be inside tuples, lists and
        dicts; other structures are flattened.
    options : mapping
        Keywords, the same in each run; they contain no values.
    results : tuple of Value
        One value; several for a function that returns a tuple; or none for a guard that only
        raises.
    values : tuple of Value
        The values among the operands, in order, repeated as often as they occur.

    Raises
    ------
    ProgramError
        If the options contain a value.

    Examples
    --------
    >>> from chainrules_py.ops import concat
    >>> x, y, z = Value("x"), Value("y"), Value("z")
    >>> Call(concat, ([x, y, x],), {"axis": 0}, (z,))
    z = concat([x, y, x], axis=0)
    """

    function: Any
    operands: tuple[Any, ...]
    options: Mapping[str, Any]
    results: tuple[Value, ...]
    values: tuple[Value, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(_values(self.operands)))
        if self.options and (found := _values(self.options.values())):
            raise ProgramError(
                f"{found[0]} is in the options of {self!r}; make it one of the operands"
            )

    def replaced(self, instead: Mapping[Value, Any]) -> Call:
        """Return the call with other operands for some values, or itself if it has none of them.

        Examples
        --------
        >>> x, y = Value("x"), Value("y")
        >>> Call(max, (x, (x, 1)), {}, (y,)).replaced({x: 2.0})
        y = max(2.0, (2.0, 1))
        """
        if instead.keys().isdisjoint(self.values):
            return self
        return Call(self.function, _replaced(self.operands, instead), self.options, self.results)

    def __repr__(self) -> str:
        given = [
            *map(_shown, self.operands),
            *[f"{k}={_shown(x)}" for k, x in self.options.items()],
        ]
        name = getattr(self.function, "__name__", None) or describe(self.function)
        results = f"{', '.join(map(repr, self.results))} = " if self.results else ""
        return f"{results}{name}({', '.join(given)})"


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Program:
    """Straight line of calls from inputs to outputs; its repr is its text.

    ``dataclasses.replace`` gives one with other calls. Iterating gives the calls.

    Attributes
    ----------
    name : str
        Its name where it is printed or written.
    inputs : tuple of Value
        The values that differ between runs.
    calls : tuple of Call
        The calls, in the order in which they run.
    outputs : tuple
        What a run returns: values, and whatever operands may contain.
    constants : mapping
        Values that are not computed, with the objects that they are, such as arrays that a
        function captured.
    functions : frozenset
        The functions that are called; passes check them first for anything to do.

    Raises
    ------
    ProgramError
        If a value is used before it is defined, or if two values have one name.

    Examples
    --------
    >>> from chainrules_py.ops import multiply, sin
    >>> x, y, z = Value("x", float), Value("y", float), Value("z", float)
    >>> calls = (Call(sin, (x,), {}, (y,)), Call(multiply, (2.0, y), {}, (z,)))
    >>> program = Program("twice_sin", (x,), calls, (z,))
    >>> program
    def twice_sin(x: float):
        y: float = sin(x)
        z: float = multiply(2.0, y)
        return z
    >>> Program("twice_sin", (x,), calls[1:], (z,))
    Traceback (most recent call last):
        ...
    chainrules_py.errors.ProgramError: twice_sin uses y in ..., before it is defined; ...
    """

    name: str
    inputs: tuple[Value, ...]
    calls: tuple[Call, ...]
    outputs: tuple[Any, ...]
    constants: Mapping[Value, Any] = field(default_factory=dict)
    functions: frozenset[Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "functions", frozenset([call.function for call in self.calls]))
        defined: set[Value] = {*self.inputs, *self.constants}
        names = [x.name for x in (*self.inputs, *self.constants)]
        for call in self.calls:
            if not defined.issuperset(call.values):
                self._refuse(call.values, defined, repr(call))
            defined.update(call.results)
            names += [x.name for x in call.results]
        if not defined.issuperset(last := tuple(_values(self.outputs))):
            self._refuse(last, defined, "its outputs")
        if len({*names}) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ProgramError(
                f"{self.name} defines {twice} more than once; make each value under a new name"
            )

    def _refuse(self, values: tuple[Value, ...], defined: set[Value], where: str) -> NoReturn:
        x = next(x for x in values if x not in defined)
        raise ProgramError(
            f"{self.name} uses {x} in {where}, before it is defined; define it first, or give it"
        )

    def __iter__(self) -> Iterator[Call]:
        return iter(self.calls)

    def __len__(self) -> int:
        return len(self.calls)

    def definitions(self) -> dict[Value, Call]:
        """Return the call that computes each value; inputs and constants have none.

        Examples
        --------
        >>> x, y = Value("x"), Value("y")
        >>> Program("f", (x,), (Call(abs, (x,), {}, (y,)),), (y,)).definitions()[y]
        y = abs(x)
        """
        return {x: call for call in self.calls for x in call.results}

    def uses(self) -> dict[Value, list[int]]:
        """Return where each value is used: indices of calls, one for each occurrence.

        Outputs count as one more call after the last: a value whose last use is there must be kept.
        An unused value has an empty list.

        Examples
        --------
        >>> x, y = Value("x"), Value("y")
        >>> Program("f", (x,), (Call(max, (x, x), {}, (y,)),), (x,)).uses() == {x: [0, 0, 1], y: []}
        True
        """
        used: dict[Value, list[int]] = {x: [] for x in (*self.inputs, *self.constants)}
        for i, call in enumerate(self.calls):
            for x in call.values:
                used[x].append(i)
            for x in call.results:
                used[x] = []
        for x in _values(self.outputs):
            used[x].append(len(self.calls))
        return used

    def __repr__(self) -> str:
        given = ", ".join(map(repr, self.inputs))
        held = [f"{x!r} = {_shown(constant)}  # constant" for x, constant in self.constants.items()]
        lines = [
            *held,
            *map(repr, self.calls),
            f"return {', '.join(map(_shown, self.outputs))}".rstrip(),
        ]
        return f"def {self.name}({given}):\n" + "\n".join(f"    {line}" for line in lines)


def _values(operands: Iterable[Any]) -> list[Value]:
    """Return the values among operands and inside them, in order."""
    found: list[Value] = []
    for x in operands:
        if type(x) is Value:
            found.append(x)
        elif type(x) in (tuple, list):
            found += _values(x)
        elif type(x) is dict:
            found += _values(x.values())
    return found


def _replaced(x: Any, instead: Mapping[Value, Any]) -> Any:
    """Return an operand with some of the values in it replaced."""
    if type(x) is Value:
        return instead.get(x, x)
    if type(x) in (tuple, list):
        return type(x)([_replaced(y, instead) for y in x])
    return {key: _replaced(y, instead) for key, y in x.items()} if type(x) is dict else x


def _shown(x: Any) -> str:
    """Return an operand as shown in a call: short, and on one line."""
    if type(x) is Value:
        return x.name
    if type(x) is tuple:
        return f"({', '.join(map(_shown, x))}{',' * (len(x) == 1)})"
    if type(x) is list:
        return f"[{', '.join(map(_shown, x))}]"
    if type(x) is dict:
        return f"{{{', '.join(f'{key!r}: {_shown(y)}' for key, y in x.items())}}}"
    if x is None or x is ... or type(x) in (bool, int, float, complex, str, slice):
        return repr(x)
    return getattr(x, "__name__", None) or f"<{describe(x)}>"
