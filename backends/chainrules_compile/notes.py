"""Notes: a function is called once on noted values, and each call on these is noted.

What is noted are functions as they were called: operations, NumPy's functions and ufuncs,
operators. Each is computed as it would be without the recorder, so shapes, dtypes and memory are
known, and the payloads of a run are dropped as its own arrays would be.
"""

from __future__ import annotations

import operator
import warnings
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from chainrules_compile.calls import Apart, Gathered, as_now, expect, expect_form
from chainrules_compile.errors import RecordingError, Unfit, refused
from chainrules_compile.facts import classes, has_form, is_foreign, opaque_class
from chainrules_compile.layouts import is_compact, layout_of
from chainrules_compile.passes.values import call_of, changed, size, value_of
from chainrules_compile.recorded_values import CLASSES, Noted, Reading, holds_noted, plain, simple
from chainrules_compile.refusals import check_leaves, check_nothing, parts_of, recordable
from chainrules_compile.scope import SMALL, constant_name, count_in
from chainrules_py import Primitive
from chainrules_py.extend import (
    Space,
    flatten,
    is_mutable_destination,
    is_structure_type,
    joined,
    kind_of,
    type_info,
    unflatten,
)
from chainrules_py.ops.views import Index, read
from chainrules_py.program import Call, Program, Value

PLAIN = (tuple, list, dict)
_NUMPYS = (np.float64, *map(type, map(np.dtype, "?lfdFD")))
_PLAIN = frozenset(
    (int, float, bool, complex, str, type(None), slice, Index, type, Space, *_NUMPYS)
)
"""Classes of what stands in a call as it is."""
NUMBERS = (float, complex)


class Notes:
    """Record of one run of a function.

    Attributes
    ----------
    calls : list of Call
        What was noted so far.
    constants : dict
        The arrays that calls were given and that nobody noted: what the function captured, and
        what it made of constants.
    outside : mapping
        The names of the arrays that the function captured, by their ids.
    operations : set of Primitive
        Those that were called.
    given : list
        The arrays that the function was given.
    living : list of weakref
        All noted values of this run.
    failed : Exception or None
        What a call raised that was to be noted; maybe the function has gone on all the same.
    sums : set of Value
        Sums over the turns of a scan.
    gone : dict
        The rows that are zeros in place of nothing, of arrays of what the turns of a scan gave.
    overlaps : bool
        Whether somebody asked if two arrays have elements in common.
    quiet : bool
        Whether the function had NumPy, or Python, say nothing of undefined numbers for a while.
    """

    def __init__(self) -> None:
        self.captured: dict[Value, Any] = {}
        self.outside: Mapping[int, str] = {}
        self._prints: list[tuple[Any, Any, Any]] = []
        self.calls: list[Call] = []
        self.constants: dict[Value, Any] = {}
        self.inputs: list[Value] = []
        self._by_id: dict[int, Value] = {}
        self._asked: dict[tuple[Any, int], Any] = {}
        self.arguments: dict[str, list[Value]] = {}
        self.operations: set[Primitive[..., Any]] = set()
        self._owners: dict[int, weakref.ref[Noted]] = {}
        self._count = 0
        self.living: list[weakref.ref[Noted]] = []
        self.failed: Exception | None = None
        self._writes: dict[int, int] = {}
        self.overlaps, self.sums = False, set[Value]()
        self.gone: dict[Value, frozenset[int]] = {}
        self.given: list[Any] = []
        self._errors: dict[str, Any] = {**np.geterr()}
        self._filters = warnings.filters
        self.quiet = False

    def arguments_of(self, x: Noted) -> tuple[str, ...]:
        """Return the arguments that a value was computed of; none where one is large."""
        of = {self.mine(x).current}
        for call in reversed(self.calls):
            if not of.isdisjoint(call.results):
                of.update(call.values)
        found = {k: values for k, values in self.arguments.items() if not of.isdisjoint(values)}
        small = all([sum(map(size, values)) <= SMALL for values in found.values()])
        return tuple(found) if small else ()

    def alive(self) -> list[Noted]:
        """Return the noted values that somebody has."""
        return [x for reference in self.living if (x := reference()) is not None]

    # ---------------------------------------------------------------------------- what is noted

    def input(self, x: Any, name: str) -> Any:
        """Return an argument, noted under a name."""
        value = self._value(x, name, None)
        self.inputs.append(value)
        self._count = max(self._count, count_in(name))
        if isinstance(x, np.ndarray):
            self.given.append(x)
        return self._noted(x, value, None, None)

    def opaque(self, x: Any, name: str) -> Any:
        """Return an object among the arguments, noted under a name; nobody looks into it."""
        value = value_of(name, type(x), None, None, None, None)
        self.inputs.append(value)
        cls: Any = type(x)
        return opaque_class(cls)(x, self, value)

    def _value(self, x: Any, name: str, memory: Value | None) -> Value:
        shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
        return value_of(name, type(x), shape, dtype, memory, layout_of(x))

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
        name = self.outside.get(id(x)) or self.outside.get(id(owner))
        value = self._value(x, constant_name(name, len(self._by_id), self.inputs), None)
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
                    "was computed with; make it like an argument, as np.zeros_like(x, shape=n), or "
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
        operands = tuple([x if type(x) in CLASSES else joined(x) for x in operands])
        options = {name: joined(x) for name, x in options.items()}
        self.check_errors()
        try:
            y = self._computed(function, by, operands, options)
        except (RecordingError, Unfit, TypeError, AttributeError, NotImplementedError):
            raise  # which has nothing to do with numbers, or is remembered
        except Exception as error:
            self.failed = error
            raise
        return y

    def check_errors(self) -> None:
        """Note that errors of numbers are ignored here; raise where they are raised, or handled.

        Raises
        ------
        Unfit
            A program computes without these.
        """
        now: dict[str, Any] = {**np.geterr()}
        if now == self._errors and warnings.filters is self._filters:
            return
        if any([now[k] not in ("ignore", "warn", before) for k, before in self._errors.items()]):
            msg = "np.errstate has errors raised, or handled, in the function"
            raise Unfit(msg)
        if warnings.filters is not self._filters and any(
            [each[0] == "error" for each in warnings.filters]
        ):
            msg = "warnings are made errors in the function"
            raise Unfit(msg)
        self.quiet = True

    def _computed(
        self, function: Any, by: Any, operands: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        taken = self._taken(operands, options)
        if taken is not None:
            y = by(*taken[1], **options)
            return self.note(function, operands, options, y, taken)
        y = by(*map(plain, operands), **{k: plain(x) for k, x in options.items()})
        return self.note(function, operands, options, y)

    def mark(self) -> Any:
        """Return where the record is, to go back to."""
        return len(self.calls), dict(self._asked), len(refused.get() or ())

    def go_back(self, mark: Any) -> None:
        """Forget what was noted since."""
        n, self._asked, m = mark
        del self.calls[n:]
        del (refused.get() or [])[m:]

    def note(
        self,
        function: Any,
        operands: tuple[Any, ...],
        options: dict[str, Any],
        y: Any,
        taken: Any = None,
    ) -> Any:
        """Note a call that gave y; return y as a noted value."""
        cls = type(y)
        given = function
        if y is NotImplemented:
            return y
        if y is None:
            check_nothing(function)
        args, keywords = operands, options
        taken = self._taken(operands, options) if taken is None else taken
        if taken is not None:
            places, _, values = taken
        else:
            args = operands = as_now(tuple(operands))
            if not all(map(simple, operands)) or any([holds_noted(x) for x in options.values()]):
                leaves, tree = flatten((operands, options))
                function, args, keywords = Apart(function, tree), tuple(map(as_now, leaves)), {}
            places = tuple([self.operand(x) for x in args])
            values = Call(function, places, keywords, ()).values
        if not is_structure_type(cls):
            if y is None:
                return self.calls.append(call_of(function, places, keywords, (), values))
            if cls is bool or cls is int:
                value = self._value(y, self._name(), None)
                self.calls.append(call_of(function, places, keywords, (value,), values))
                return self._guard(cls, value, y)
            check_leaves(given, (y,))
            foreign = is_foreign(given)
            value, parent = self._made(y, operands, foreign)
            self.calls.append(call_of(function, places, keywords, (value,), values))
            self._check_form(given, operands, value, values, y if foreign else None)
            return self._noted(y, value, parent, (function, args, keywords))
        structure: Any = y
        leaves, tree = parts_of(given, y)
        check_leaves(given, leaves)
        foreign = is_foreign(given)
        found = [self._made(x, operands, foreign) for x in leaves]
        results = tuple([value for value, _ in found])
        flat = issubclass(cls, tuple) and len(leaves) == len(structure) > 1
        if not flat or not all([x is z for x, z in zip(leaves, structure, strict=True)]):
            function = Gathered(function)
        self.calls.append(call_of(function, places, keywords, results, values))
        made_all = []
        for i, (x, (value, parent)) in enumerate(zip(leaves, found, strict=True)):
            if type(x) in (int, bool):
                made_all.append(self._guard(type(x), value, x))
            elif recordable(type(x)):
                self._check_form(given, operands, value, values, x if foreign else None)
                call = function, args, keywords
                made_all.append(self._noted(x, value, parent, call, len(leaves), i))
            else:
                if x is None and foreign:
                    self.calls.append(Call(expect, (value, type(x)), {"kind": type}, ()))
                made_all.append(x)
        return unflatten(tree, made_all)

    def _taken(self, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Return what stands for operands, their payloads, and the values; None for structures."""
        plain_ones = not options or _PLAIN.issuperset(map(type, options.values()))
        if not plain_ones and not all(map(is_static, options.values())):
            return None
        places: list[Any] = []
        payloads: list[Any] = []
        noted = True
        for x in operands:
            cls = type(x)
            if cls in CLASSES:
                value = x.noted
                if value is None or x.recorder is not self:
                    value = self.mine(x).current
                places.append(value)
                payloads.append(x.payload)
                continue
            if cls is np.ndarray:
                places.append(self.constant(x))
            elif cls in _PLAIN or (cls is tuple and is_static(x)):
                places.append(x)
                noted = False
            else:
                return None
            payloads.append(x)
        given = tuple(places)
        return given, payloads, given if noted else tuple([x for x in places if type(x) is Value])

    def _made(
        self, y: Any, operands: tuple[Any, ...], foreign: bool = False
    ) -> tuple[Value, Noted | None]:
        """Return the value that a result is, and the noted array that it is a view of."""
        own = UNSURE if foreign else None
        plain_one = type(y) is np.ndarray and y.base is None and y.flags.writeable
        if plain_one and not any([getattr(x, "payload", x) is y for x in operands]):
            return self._value(y, self._name(), own), None
        memory = type_info(type(y)).memory
        if memory is None:
            return self._value(y, self._name(), None), None
        owner = memory.owner(y)
        if owner is y and not any([plain(x) is y for x in operands]):
            mine = is_mutable_destination(y)
            return self._value(y, self._name(), own if mine else ELSEWHERE), None
        for x in flatten(operands)[0]:
            of = x.payload if isinstance(x, Noted) else x
            found = type_info(type(of)).memory
            if found is not None and found.owner(of) is owner:
                value: Value = self.operand(x)
                parent = x if isinstance(x, Noted) else None
                return self._value(y, self._name(), value.memory or value), parent
        mine = is_mutable_destination(y) and is_compact(y)
        return self._value(y, self._name(), own if mine else ELSEWHERE), None

    def _noted(
        self, y: Any, value: Value, parent: Noted | None, call: Any, results: int = 1, i: int = 0
    ) -> Noted:
        """Return a result as a noted value, which remembers what it is a view of."""
        made = classes[type(y)](y, self, value)
        if parent is not None:
            made.reading = Reading(parent, call, results, i)
            parent.views = parent.views or []
            parent.views.append(weakref.ref(made))
        elif type_info(type(y)).memory is not None:
            self._owners[id(y)] = weakref.ref(made)
        return made

    def _check_form(
        self,
        function: Any,
        operands: tuple[Any, ...],
        value: Value,
        values: tuple[Value, ...],
        foreign: Any,
    ) -> None:
        """Guard the class, or shape and dtype, of a result where they hang on numbers.

        Of one of which nothing is known, which is given as well, also how it lies.
        """
        power = function is operator.pow and value.type in NUMBERS
        if (power and not is_whole(operands[1])) or (
            value.dtype is None and not has_form(function, values)
        ):
            self.calls.append(Call(expect, (value, value.type), {"kind": type}, ()))
            return
        masked = function is read and any([kind_of(x) == "bool" for x in operands[1:]])
        chosen = function is np.where and len(operands) == 3
        settled = function is read or chosen or has_form(function, values)
        if masked or not settled:
            form: Any = (value.shape, value.dtype)
            if isinstance(foreign, (np.ndarray, np.generic)):
                form += (None if foreign.flags.c_contiguous else foreign.strides,)
            self.calls.append(Call(expect_form, (value, form), {}, ()))

    # -------------------------------------------------------------------------------- questions

    def ask(self, kind: Callable[[Any], Any], x: Noted) -> Any:
        """Return the answer to a question about a value, which the program will ask again."""
        return self._guard(kind, self.mine(x).current, kind(x.payload))

    def _guard(self, kind: Any, value: Value, answer: Any) -> Any:
        key = (kind, id(value))
        if key not in self._asked:
            answer = self._asked[key] = kind(answer)
            self.calls.append(call_of(expect, (value, answer), {"kind": kind}, (), (value,)))
        return self._asked[key]

    # ------------------------------------------------------------------------------- the program

    def program(self, name: str, outputs: tuple[Any, ...]) -> Program:
        """Return what was noted as a program."""
        empty = Program(name, tuple(self.inputs), (), (), dict(self.constants))
        return changed(empty, calls=tuple(self.calls), outputs=outputs)


ELSEWHERE = Value("elsewhere")
"""Whose memory an array has that cannot be written to, and is no view of anything noted."""
UNSURE = Value("unsure")
"""Whose memory an array has that may be an operand's in another call: passes leave it as it is."""


def is_static(x: Any) -> bool:
    """Tell whether a value stands in a call as it is: a plain one, or a tuple of such."""
    cls = type(x)
    return cls in _PLAIN or (cls is tuple and _PLAIN.issuperset(map(type, x)))


def is_whole(p: Any) -> bool:
    """Tell whether an exponent is a whole number, in each run: of others Python makes complex."""
    return type(p) is int or (type(p) is float and p.is_integer())
