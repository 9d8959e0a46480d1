"""Record of the calls of a function that runs once on recorded values.

Calls are recorded as they are made: of operations, NumPy functions and ufuncs, and operators. Each
is also computed as without the recorder, so shapes, dtypes and memory are known. Payloads are freed
when the function frees its arrays.
"""

from __future__ import annotations

import operator
import warnings
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from chainrules_compile.errors import RecordingError, Unfit, refused
from chainrules_compile.internal_functions import (
    Apart,
    Gathered,
    as_now,
    expect,
    expect_form,
    name_of,
)
from chainrules_compile.layouts import is_compact, layout_of
from chainrules_compile.passes.analysis import call_of, changed, size, value_of
from chainrules_compile.recorded_types import classes, has_form, is_foreign, opaque_class
from chainrules_compile.recorded_values import (
    CLASSES,
    Noted,
    Reading,
    holds_noted,
    holds_tracers,
    plain,
    simple,
)
from chainrules_compile.recording_refusals import check_leaves, parts_of, recordable
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
from chainrules_py.ops.engine_operations import Index, read
from chainrules_py.program import Call, Program, Value

PLAIN = (tuple, list, dict)
_NUMPYS = (np.float64, *map(type, map(np.dtype, "?lfdFD")))
_PLAIN = frozenset(
    (int, float, bool, complex, str, type(None), slice, Index, type, Space, *_NUMPYS)
)
"""Classes of operands that are stored in a call unchanged."""
NUMBERS = (float, complex)


class Notes:
    """Record of one run of a function.

    Attributes
    ----------
    calls : list of Call
        The calls so far.
    constants : dict
        Plain arrays in calls that the function did not capture by name, such as those that it
        computes from constants.
    outside : mapping
        The names of the arrays that the function captures, by id.
    operations : set of Primitive
        The operations that were called.
    given : list
        The arrays among the arguments.
    living : list of weakref
        All recorded values of this run.
    failed : Exception or None
        The error of a recorded call, if one failed; the function may have caught it.
    overlaps : bool
        Whether the function tests two arrays for common elements.
    quiet : bool
        Whether the function suppresses floating-point warnings somewhere.
    is_over : bool
        Whether the function has returned.
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
        self.overlaps = False
        self.elements: set[Value] = set()  # of arrays of objects
        self.given: list[Any] = []
        self._errors: dict[str, Any] = {**np.geterr()}
        self._filters = warnings.filters
        self.quiet = False
        self.is_over = False

    def arguments_of(self, x: Noted) -> tuple[str, ...]:
        """Return the arguments that a value was computed from; none if one of them is large."""
        of = {self.mine(x).current}
        for call in reversed(self.calls):
            if not of.isdisjoint(call.results):
                of.update(call.values)
        found = {k: values for k, values in self.arguments.items() if not of.isdisjoint(values)}
        small = all([sum(map(size, values)) <= SMALL for values in found.values()])
        return tuple(found) if small else ()

    def alive(self) -> list[Noted]:
        """Return the recorded values that are still referenced."""
        return [x for reference in self.living if (x := reference()) is not None]

    # ---------------------------------------------------------------------------- recording

    def input(self, x: Any, name: str) -> Any:
        """Return an argument as a recorded value with a name."""
        value = self._value(x, name, None)
        self.inputs.append(value)
        self._count = max(self._count, count_in(name))
        if isinstance(x, np.ndarray):
            self.given.append(x)
        return self._noted(x, value, None, None)

    def opaque(self, x: Any, name: str) -> Any:
        """Return an opaque object among the arguments as a recorded value with a name."""
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
        """Return the value of a plain array."""
        found = self._by_id.get(id(x))
        return self._first(x) if found is None else found

    def _first(self, x: Any) -> Value:
        """Record a plain array as captured or constant, with its fingerprint."""
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
        """Raise if a plain array was written to after it was used in a call.

        Raises
        ------
        RecordingError
            If a fingerprint changed: the program would use the final elements.
        """
        for x, fingerprint, before in self._prints:
            if fingerprint(x, True) != before:
                raise RecordingError(
                    "a plain array is written to by a function that is being compiled, after it "
                    "was computed with; make it like an argument, as np.zeros_like(x, shape=n), or "
                    "write to a copy"
                )

    def operand(self, x: Any) -> Any:
        """Return the operand of a call for a value."""
        cls = type(x)
        if issubclass(cls, Noted):
            return self.mine(x).current
        if cls in PLAIN:
            if cls is dict:
                return {key: self.operand(y) for key, y in x.items()}
            return cls([self.operand(y) for y in x])
        return self.constant(x) if type_info(cls).memory is not None else x

    def mine(self, x: Noted) -> Noted:
        """Return a recorded value of this run; raise for one of another run."""
        if x.recorder is not self:
            raise RecordingError(
                "a value of one compiled function is used while another is recorded; pass it as an "
                "argument, and return what is wanted of it"
            )
        return x

    def call(self, function: Any, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Compute and record a call, and return its result as a recorded value."""
        return self.compute(function, function, operands, options)

    def compute(
        self, function: Any, by: Any, operands: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """Record a call of a function, whose result another function computes."""
        operands = tuple([x if type(x) in CLASSES else joined(x) for x in operands])
        options = {name: joined(x) for name, x in options.items()}
        if holds_tracers(operands) or holds_tracers(options):  # elements of arrays of objects
            return by(*operands, **options)
        self.check_errors()
        try:
            return self._computed(function, by, operands, options)
        except (RecordingError, Unfit, TypeError, AttributeError, NotImplementedError):
            raise  # independent of numbers, or already remembered
        except Exception as error:
            self.failed = error
            raise

    def check_errors(self) -> None:
        """Record whether floating-point warnings are suppressed; raise for other handling.

        Raises
        ------
        Unfit
            If they raise or call a handler, which a program does not do.
        """
        now: dict[str, Any] = {**np.geterr()}
        if any([now[k] not in ("ignore", "warn", before) for k, before in self._errors.items()]):
            if (home := str(getattr(np.geterrcall(), "__module__", ""))).startswith("chainrules_"):
                raise Unfit(
                    f"a function of {home} is not compiled: call it outside, and compile what is "
                    f"around it"
                )
            raise Unfit(
                "np.errstate has errors raised, or handled, in the function; write it around the "
                "call of the compiled function, with target='numpy', as C raises none"
            )
        if warnings.filters is not self._filters and any(
            [each[0] == "error" for each in warnings.filters]
        ):
            raise Unfit("warnings are made errors in the function")
        self.quiet |= now != self._errors or warnings.filters is not self._filters

    def _computed(
        self, function: Any, by: Any, operands: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        taken = self._taken(operands, options)
        if taken is not None:
            return self.note(function, operands, options, by(*taken[1], **options), taken)
        y = by(*map(plain, operands), **{k: plain(x) for k, x in options.items()})
        return self.note(function, operands, options, y)

    def mark(self) -> Any:
        """Return the state of the record, for `go_back`."""
        return len(self.calls), dict(self._asked), len(refused.get() or ())

    def go_back(self, mark: Any) -> None:
        """Drop what was recorded since a mark."""
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
        """Record a call with result y; return y as a recorded value."""
        cls = type(y)
        given = function
        if y is NotImplemented:
            return y
        if y is None:
            raise RecordingError(
                f"{name_of(function)} gives nothing, so it writes somewhere, and a program would "
                f"not: use what a function gives"
            )
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
        """Return operands, payloads and values of a call; None if an operand is a structure."""
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
        """Return the value of a result, and the recorded array that it is a view of, if any."""
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
        row = y if y.size else y.reshape(-1)  # without elements, strides may be zero
        mine = is_mutable_destination(row) and is_compact(row)
        return self._value(y, self._name(), own if mine else ELSEWHERE), None

    def _noted(
        self, y: Any, value: Value, parent: Noted | None, call: Any, results: int = 1, i: int = 0
    ) -> Noted:
        """Return a result as a recorded value, linked to the array that it is a view of."""
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
        """Guard the class, or shape and dtype, of a result where they depend on numbers.

        If `foreign` is the array of an unknown function, guard its layout as well.
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

    # -------------------------------------------------------------------------------- guards

    def ask(self, kind: Callable[[Any], Any], x: Noted) -> Any:
        """Return ``kind`` of a value, and guard it in the program."""
        return self._guard(kind, self.mine(x).current, kind(x.payload))

    def _guard(self, kind: Any, value: Value, answer: Any) -> Any:
        key = (kind, id(value))
        if key not in self._asked:
            answer = self._asked[key] = kind(answer)
            self.calls.append(call_of(expect, (value, answer), {"kind": kind}, (), (value,)))
        return self._asked[key]

    # ------------------------------------------------------------------------------- the program

    def program(self, name: str, outputs: tuple[Any, ...]) -> Program:
        """Return the record as a program."""
        empty = Program(name, tuple(self.inputs), (), (), dict(self.constants))
        return changed(empty, calls=tuple(self.calls), outputs=outputs)


ELSEWHERE = Value("elsewhere")
"""Memory of arrays that cannot be written to, and are not views of recorded arrays."""
UNSURE = Value("unsure")
"""Memory of arrays that may alias an operand in another call; passes do not write to it."""


def is_static(x: Any) -> bool:
    """Return whether a value is stored in a call unchanged: a constant, or a tuple of constants."""
    cls = type(x)
    return cls in _PLAIN or (cls is tuple and _PLAIN.issuperset(map(type, x)))


def is_whole(p: Any) -> bool:
    """Return whether an exponent is a constant integer; Python gives complex powers for others."""
    return type(p) is int or (type(p) is float and p.is_integer())
