"""Recorder: a function is called once on noted values, and each call on these is noted.

What is noted are functions as they were called: words, NumPy's functions and ufuncs, operators.
Each is computed as it would be without the recorder, so shapes, dtypes and memory are known, and
the payloads of a run are dropped as its own arrays would be.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from chainrules_compile.calls import Apart, Gathered, expect, expect_form
from chainrules_compile.errors import RecordingError
from chainrules_compile.facts import METADATA, SHAPED_BY_DATA, classes
from chainrules_compile.noted import Noted, Reading
from chainrules_py import Primitive
from chainrules_py.extend import (
    flatten,
    is_mutable_destination,
    is_structure_type,
    kind_of,
    type_info,
    unflatten,
)
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary.views import Index, read, store

PLAIN = (tuple, list, dict)
NUMBERS = (float, complex)


class Recorder:
    """Record of one run of a function.

    Attributes
    ----------
    calls : list of Call
        What was noted so far.
    constants : dict
        The arrays that calls were given and that nobody noted: what the function captured, and
        what it made of constants.
    """

    def __init__(self, outside: Mapping[int, str] | None = None) -> None:
        self.captured: dict[Value, Any] = {}
        self._outside = outside or {}
        self._prints: list[tuple[Any, Any, Any]] = []
        self.calls: list[Call] = []
        self.constants: dict[Value, Any] = {}
        self.inputs: list[Value] = []
        self._by_id: dict[int, Value] = {}
        self._asked: dict[tuple[Any, int], Any] = {}
        self._count = 0

    # ---------------------------------------------------------------------------- what is noted

    def input(self, x: Any, name: str) -> Any:
        """Return an argument, noted under a name."""
        value = self._value(x, name, None)
        self.inputs.append(value)
        return classes[type(x)](x, self, value)

    def _value(self, x: Any, name: str, memory: Value | None) -> Value:
        info = type_info(type(x)).memory
        layout = None if info is None else tuple(info.layout(x))
        shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
        return Value(name, type(x), shape, dtype, memory, layout)

    def _name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def constant(self, x: Any) -> Value:
        """Return the value that an array is which nobody noted."""
        found = self._by_id.get(id(x))
        if found is None:
            return self._first(x)
        return found

    def _first(self, x: Any) -> Value:
        """Note an array that nobody noted, and whether the function saw it from outside."""
        memory = type_info(type(x)).memory
        assert memory is not None
        owner = memory.owner(x)
        name = self._outside.get(id(x)) or self._outside.get(id(owner))
        n = len(self._by_id)
        value = self._value(x, f"c{n}" if name is None else f"{name}_c{n}", None)
        self._by_id[id(x)] = value
        if name is None:
            self.constants[value] = x
        else:
            self.captured[value] = x
            self.inputs.append(value)
        self._prints.append((x, memory.fingerprint, memory.fingerprint(x, True)))
        return value

    def check(self) -> None:
        """Raise if a plain array was written to while the function ran.

        Raises
        ------
        RecordingError
            The program would see it as it was in the end.
        """
        for x, fingerprint, before in self._prints:
            if fingerprint(x, True) != before:
                msg = (
                    "a plain array is written to by a function that is being compiled, after it "
                    "was computed with; make it like an argument, as np.zeros(n, like=x), or "
                    "write to a copy"
                )
                raise RecordingError(msg)

    def operand(self, x: Any) -> Any:
        """Return what stands for a value among the operands of a call."""
        cls = type(x)
        if issubclass(cls, Noted):
            return self.mine(x).current
        if cls in PLAIN:
            if cls is dict:
                return {key: self.operand(y) for key, y in x.items()}
            return cls([self.operand(y) for y in x])
        return self.constant(x) if type_info(cls).memory is not None else x

    def mine(self, x: Noted) -> Noted:
        """Return a noted value of this run; raise for one of another."""
        if x.recorder is not self:
            msg = (
                "a value of one compiled function is used while another is recorded; pass it as an "
                "argument, and return what is wanted of it"
            )
            raise RecordingError(msg)
        return x

    def call(self, function: Any, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Compute a call, note it, and return its result as a noted value."""
        return self.compute(function, function, operands, options)

    def compute(
        self, function: Any, by: Any, operands: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """Compute a call by a function of its own, and note it."""
        y = by(*map(plain, operands), **{k: plain(x) for k, x in options.items()})
        return self.note(function, operands, options, y)

    def mark(self) -> Any:
        """Return where the record is, to go back to."""
        return len(self.calls), dict(self._asked)

    def go_back(self, mark: Any) -> None:
        """Forget what was noted since."""
        n, self._asked = mark
        del self.calls[n:]

    def note(
        self, function: Any, operands: tuple[Any, ...], options: dict[str, Any], y: Any
    ) -> Any:
        """Note a call that gave y, and return y as a noted value."""
        cls = type(y)
        given = function
        if y is None or y is NotImplemented:
            if y is None:
                refuse_nothing(function)
            return y
        if not all(map(simple, operands)) or any([holds_noted(x) for x in options.values()]):
            leaves, tree = flatten((operands, options))
            function, args, keywords = Apart(function, tree), tuple(leaves), {}
        else:
            args, keywords = operands, options
        places = tuple([self.operand(x) for x in args])
        if cls is bool or cls is int:
            value = self._value(y, self._name(), None)
            self.calls.append(Call(function, places, keywords, (value,)))
            return self._guard(cls, value, y)
        if not is_structure_type(cls):
            if not recordable(cls):
                refuse_result(given, y)
            value = self._value(y, self._name(), self._memory(y, operands))
            self.calls.append(Call(function, places, keywords, (value,)))
            self._check_form(given, operands, value)
            made = classes[cls](y, self, value)
            if value.memory is not None and value.memory is not ELSEWHERE:
                view_of(made, given, operands, options)
            return made
        leaves, tree = flatten(y)
        results = [self._value(x, self._name(), self._memory(x, operands)) for x in leaves]
        if not issubclass(cls, tuple) or len(results) != len(y) or len(results) < 2:
            function = Gathered(function)
        self.calls.append(Call(function, places, keywords, tuple(results)))
        made_all = []
        for x, value in zip(leaves, results, strict=True):
            if type(x) in (int, bool):
                made_all.append(self._guard(type(x), value, x))
            elif recordable(type(x)):
                self._check_form(given, operands, value)
                made_all.append(classes[type(x)](x, self, value))
            else:
                made_all.append(x)
        return unflatten(tree, made_all)

    def _memory(self, y: Any, operands: tuple[Any, ...]) -> Value | None:
        """Return the value whose memory an array has, of those that the call was given."""
        memory = type_info(type(y)).memory
        if memory is None:
            return None
        owner = memory.owner(y)
        alone = None if is_mutable_destination(y) else ELSEWHERE
        if owner is y and not any([plain(x) is y for x in operands]):
            return alone
        for x in flatten(operands)[0]:
            of = x.payload if isinstance(x, Noted) else x
            found = type_info(type(of)).memory
            if found is not None and found.owner(of) is owner:
                value: Value = self.operand(x)
                return value.memory or value
        return alone

    def _check_form(self, function: Any, operands: tuple[Any, ...], value: Value) -> None:
        """Guard the shape and dtype of a result where they hang on numbers."""
        masked = function is read and any([kind_of(x) == "bool" for x in operands[1:]])
        known = isinstance(function, Primitive) and not function.shape_from_data
        if masked or not (known or function in METADATA or function not in SHAPED_BY_DATA):
            form = (value.shape, value.dtype)
            self.calls.append(Call(expect_form, (value, form), {}, ()))

    # -------------------------------------------------------------------------------- questions

    def ask(self, kind: Callable[[Any], Any], x: Noted) -> Any:
        """Return the answer to a question about a value, which the program will ask again."""
        return self._guard(kind, self.mine(x).current, kind(x.payload))

    def _guard(self, kind: Any, value: Value, answer: Any) -> Any:
        key = (kind, id(value))
        if key not in self._asked:
            answer = self._asked[key] = kind(answer)
            self.calls.append(Call(expect, (value, answer), {"kind": kind}, ()))
        return self._asked[key]

    # ------------------------------------------------------------------------ reading and writing

    def call_function(self, function: Any, operands: Any, keywords: dict[str, Any]) -> Any:
        """Compute and note a call of a library's function."""
        if function in METADATA:
            return function(*map(plain, operands), **keywords)
        if keywords.get("out") is not None or function in WRITERS:
            msg = (
                f"np.{function.__name__} writes into an array of a function that is being "
                f"compiled; use what it gives, or write x[i] = y"
            )
            raise RecordingError(msg)
        return self.call(function, operands, keywords)

    def call_method(self, name: str, member: Any, operands: Any, keywords: dict[str, Any]) -> Any:
        """Compute and note a call of a method."""
        if name in WRITING_METHODS:
            msg = (
                f"{name}() writes into an array of a function that is being compiled; write "
                f"{WRITING_METHODS[name]}"
            )
            raise RecordingError(msg)
        return self.call(member, operands, keywords)

    def attribute(self, x: Noted, name: str) -> Any:
        """Compute and note a property."""
        function = PROPERTIES.setdefault(name, operator.attrgetter(name))
        return self.call(function, (x,), {})

    def read(self, x: Noted, where: Any) -> Any:
        """Compute and note ``x[where]``."""
        pattern, arrays = Index.split(where, as_index)
        y = x.payload[pattern.join(tuple(map(plain, arrays)))]
        made = self.note(read, (x, *arrays), {"index": pattern}, y)
        reading = getattr(made, "reading", None)
        if reading is not None and not arrays:
            reading.where = pattern
        return made

    def read_again(self, x: Noted) -> None:
        """Note again how a view is read, whose parent was written to."""
        reading = x.reading
        assert reading is not None
        operands = (reading.parent, *reading.rest)
        places = tuple([self.operand(y) for y in operands])
        parent: Value = places[0]
        x.noted = self._value(x.payload, self._name(), parent.memory or parent)
        self.calls.append(Call(reading.function, places, reading.options, (x.noted,)))

    def write(self, x: Noted, where: Any, value: Any) -> None:
        """Note ``x[where] = value``: from now on the array is another value."""
        pattern, arrays = Index.split(where, as_index)
        reading = getattr(value, "reading", None)
        if reading is not None and reading.parent is x and reading.where == pattern:
            return  # the second half of x[i] += y
        self._check_writable(x)
        operands = (x.current, self.operand(value), *map(self.operand, arrays))
        x.payload[pattern.join(tuple(map(plain, arrays)))] = plain(value)
        self._become(x, store, operands, {"index": pattern})

    def write_operator(self, x: Noted, function: Any, other: Any) -> None:
        """Note ``x += other`` and its like."""
        self._check_writable(x)
        operands = (x.current, self.operand(other))
        y = function(x.payload, plain(other))
        before = x.payload.dtype
        getattr(operator, f"i{function.__name__.strip('_')}")(x.payload, plain(other))
        if y.dtype != before:
            msg = (
                f"x of dtype {before} is written to with numbers of dtype {y.dtype} in a function "
                f"that is being compiled; write x = (x + y).astype(x.dtype)"
            )
            raise RecordingError(msg)
        self._become(x, function, operands, {})

    def add_at(self, word: Any, x: Any, rest: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Note what adds to a buffer of the engine's: `scatter_add` and its like give the sum."""
        if not isinstance(x, Noted):
            msg = "a traced value is added to a plain buffer"  # no engine of ours does
            raise RecordingError(msg)
        self._check_writable(x)
        operands = (x.current, *map(self.operand, rest))
        implementation = word.implementation((x.payload_type, *map(type, map(plain, rest))))
        implementation(x.payload, *map(plain, rest), **options)
        self._become(x, word, operands, options)

    def write_result(
        self, ufunc: Any, method: str, operands: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        """Note a ufunc that writes its result into an array."""
        keywords = dict(keywords)
        outs = keywords.pop("out")
        if method != "__call__" or len(outs) != 1 or not isinstance(outs[0], Noted):
            msg = (
                f"np.{ufunc.__name__} is to write into a plain array, which the next call would not"
                f" see; make the array in the function, as np.zeros(n, like=x), or use the result"
            )
            raise RecordingError(msg)
        self.write(outs[0], ..., self.call(ufunc, operands, keywords))
        return outs[0]

    def _check_writable(self, x: Noted) -> None:
        self.mine(x)
        parent = x
        while parent.reading is not None:
            if parent.reading.where is None:
                msg = (
                    "a view other than a part, as x.T or x.reshape(n), is written to in a function "
                    "that is being compiled; write to the array itself"
                )
                raise RecordingError(msg)
            parent = parent.reading.parent
        if parent.current.memory is not None or parent.current in self.inputs:
            msg = (
                "an argument, or an array that shares its memory, is written to in a function that "
                "is being compiled; write to a copy: x = x.copy()"
            )
            raise RecordingError(msg)

    def _become(self, x: Noted, function: Any, operands: Any, options: Any) -> None:
        """Note the call that gives what an array is now, and what the arrays are that it is of."""
        x.noted = value = self._value(x.payload, self._name(), None)
        self.calls.append(Call(function, operands, options, (value,)))
        for view in x.views or ():
            forget(view())
        part = x
        while part.reading is not None:
            parent, where = part.reading.parent, part.reading.where
            before = parent.current
            parent.noted = self._value(parent.payload, self._name(), None)
            options = {"index": where}
            self.calls.append(Call(store, (before, part.noted), options, (parent.noted,)))
            for view in parent.views or ():
                if (other := view()) is not part:
                    forget(other)
            part = parent

    # ------------------------------------------------------------------------------- the program

    def program(self, name: str, outputs: tuple[Any, ...]) -> Program:
        """Return what was noted as a program."""
        return Program(name, tuple(self.inputs), tuple(self.calls), outputs, dict(self.constants))


ELSEWHERE = Value("elsewhere")
"""Whose memory an array has that cannot be written to, and is no view of anything noted."""
WRITERS: set[Any] = set()
"""Functions of libraries that write into what they are given."""
WRITING_METHODS = {
    "fill": "x[...] = value",
    "sort": "x = np.sort(x)",
    "partition": "x = np.partition(x, k)",
    "put": "x[places] = values",
    "resize": "x = np.resize(x, shape)",
    "itemset": "x[i] = value",
    "setflags": "x = x.copy()",
}
PROPERTIES: dict[str, Any] = {}


def forget(view: Noted | None) -> None:
    """Note that a view is to be read again, and what is a view of it as well."""
    if view is not None:
        view.noted = None
        for child in view.views or ():
            forget(child())


def view_of(made: Noted, function: Any, operands: tuple[Any, ...], options: Any) -> None:
    """Note which array a result is a view of."""
    parent = operands[0] if operands else None
    if isinstance(parent, Noted):
        made.reading = Reading(parent, function, operands[1:], options)
        parent.views = parent.views or []
        parent.views.append(weakref.ref(made))


def plain(x: Any) -> Any:
    """Return a value with the payloads of what is noted in it."""
    cls = type(x)
    if issubclass(cls, Noted):
        return x.payload
    if is_structure_type(cls) and holds_noted(x):
        leaves, tree = flatten(x)
        return unflatten(tree, map(plain, leaves))
    return x


def holds_noted(x: Any) -> bool:
    """Tell whether a value is noted, or holds what is."""
    cls = type(x)
    if issubclass(cls, Noted):
        return True
    return is_structure_type(cls) and any(map(holds_noted, flatten(x)[0]))


def simple(x: Any) -> bool:
    """Tell whether an operand may stand in a call as it is: in no structure but Python's own."""
    cls = type(x)
    if cls in PLAIN:
        return all(map(simple, x.values() if cls is dict else x))
    return not is_structure_type(cls) or not holds_noted(x)


def recordable(cls: type) -> bool:
    """Tell whether a value of a class can be noted: an array or a number, and no bool or int."""
    info = type_info(cls)
    return (info.is_array or info.is_number) and cls not in (bool, int)


def as_index(entry: Any) -> Any:
    """Return a list in an index as an array."""
    import numpy as np

    return np.asarray(entry) if len(entry) else np.zeros((0,), np.intp)


def refuse_nothing(function: Any) -> None:
    """Raise for a function that gives nothing: it writes somewhere."""
    name = getattr(function, "__name__", function)
    msg = (
        f"{name} gives nothing, so it writes somewhere, and a program would not: use what a "
        f"function gives"
    )
    raise RecordingError(msg)


def refuse_result(function: Any, y: Any) -> None:
    """Raise for a result that is no array, number, or structure of them."""
    name = getattr(function, "__name__", function)
    msg = (
        f"{name} gives a {type(y).__name__}, which is another at the next call and which no "
        f"program has; call it outside, and name what it gives in static="
    )
    raise RecordingError(msg)
