"""Plans: what a library has of which program, so that one that is known is not written again.

A program is known by a print of its list of calls, and of all that decides how these are written.
The plan lies beside the library.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import operator
import os
import sys
from typing import Any, NamedTuple

import numpy as np

from chainrules_compile.calls import Gathered, expect, expect_form
from chainrules_compile.passes.lifetimes import Into
from chainrules_compile.passes.values import changed
from chainrules_native import calls
from chainrules_native._private import LAPACK, UMATH
from chainrules_native.looped import Turning
from chainrules_native.memory import Shape
from chainrules_native.words import SEVERAL, WORDS
from chainrules_py.extend import Space
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary.views import Index


class UnprintableError(Exception):
    """Something in a program has no text that says all of it."""


class Run(NamedTuple):
    """Function of C in a plan; values are numbers of the program's.

    Attributes
    ----------
    name : str
    inputs, outputs : list
        For each a value, and what `chainrules_native.calls.Spec` says.
    loops : list
        What loops of NumPy's are called, and their types.
    after : list
        Views of what it gives: the number of a call; or a value, the strides that it has in what
        is given for it, and where it begins there.
    work : int
    guarded, large : bool
    """

    name: str
    inputs: list[Any]
    outputs: list[Any]
    loops: list[Any]
    after: list[Any]
    work: int
    guarded: bool
    large: bool


Plan = list[int | Run]
"""What a program does: its own calls, by their numbers, and functions of C."""


def values_of(program: Program) -> list[Value]:
    """Return the values of a program in their order."""
    found = [*program.inputs, *program.constants]
    for call in program.calls:
        found += call.results
    return found


def print_of(program: Program, *facts: Any) -> str | None:
    """Return a print of a program, and of facts; None where something has no text."""
    try:
        parts = [*map(repr, facts), _code(), *_Printing(program).parts]
    except UnprintableError:
        return None
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


_PACKAGES = "chainrules_native", "chainrules_compile", "chainrules_numpy", "chainrules_py"


@functools.cache
def _code() -> str:
    """Return which version of the code there is that writes programs, and of what it asks."""
    seen = []
    for package in _PACKAGES:
        found = importlib.util.find_spec(package)
        for folder, _, names in os.walk(os.path.dirname((found and found.origin) or "")):
            for path in [os.path.join(folder, name) for name in names]:
                if path.endswith((".py", ".h", ".c")):
                    facts = os.stat(path)
                    seen.append(f"{path} {facts.st_size} {facts.st_mtime_ns}")
    scipy = importlib.util.find_spec("scipy")
    if scipy is not None and scipy.origin is not None:
        facts = os.stat(os.path.join(os.path.dirname(scipy.origin), "version.py"))
        seen.append(f"{scipy.origin} {facts.st_mtime_ns}")
    libc = os.confstr("CS_GNU_LIBC_VERSION") if hasattr(os, "confstr") else ""
    return " ".join([*sorted(seen), libc or ""])


@functools.cache
def _words() -> dict[Any, str]:
    """Return the number of each function that is lowered."""
    known = {function: f"word {i}" for i, function in enumerate(WORDS)}
    known |= {function: f"several {i}" for i, function in enumerate(SEVERAL)}
    both = set(WORDS) & set(SEVERAL)
    known |= {function: f"both {i}" for i, function in enumerate(WORDS) if function in both}
    return known | {expect: "expect", expect_form: "form"}


class _Printing:
    """Texts of the calls of a program: values are numbers in them."""

    def __init__(self, program: Program) -> None:
        self._kinds: dict[Any, str] = {}
        self._functions: dict[int, str] = {}
        self._indices: dict[Index, str] = {}
        self._numbers = numbers = {x: str(i) for i, x in enumerate(values_of(program))}
        self.parts: list[str] = [f"{len(program.inputs)}"]
        parts = self.parts
        parts += [self._kind(x) for x in (*program.inputs, *program.constants)]
        text, kind_of, functions = self._text, self._kind, self._functions
        for call in program.calls:
            function = functions.get(id(call.function))
            if function is None:
                function = functions[id(call.function)] = _named(call.function)
            if function:
                given = ",".join(
                    [numbers[x] if type(x) is Value else text(x) for x in call.operands]
                )
                options = self._options(call.options) if call.options else ""
            else:  # which stays as it is
                given, options = ",".join([numbers[x] for x in call.values]), ""
            made = ";".join([kind_of(y) for y in call.results])
            parts.append(f"{function}({given}{options}){made}")
        parts += [numbers[x] for x in Call(None, program.outputs, {}, ()).values]

    def _kind(self, x: Value) -> str:
        key = x.type, x.shape, x.dtype, x.layout
        try:
            return self._kinds[key]
        except KeyError:
            text = f"{x.type} {x.shape} {x.dtype} {x.layout}"
            if " at 0x" in text:
                raise UnprintableError from None
            number = f"<{len(self._kinds)}>"  # its text once
            self.parts.append(text)
            return self._kinds.setdefault(key, number)
        except TypeError:
            raise UnprintableError from None

    def _options(self, options: Any) -> str:
        return "".join([f",{name}={self._text(x)}" for name, x in sorted(options.items())])

    def _text(self, x: Any) -> str:
        kind = type(x)
        if kind is Value:
            return self._numbers[x]
        if kind in _PLAIN:
            return f"{kind.__name__} {x!r}"
        if kind is Index:
            known = self._indices.get(x)
            return known or self._indices.setdefault(x, self._text(tuple(x)))
        if kind is tuple or kind is list:
            inside = ",".join([self._text(part) for part in x])
            return f"{kind.__name__}[{inside}]"
        if kind is np.ndarray and x.size < _FEW and x.dtype.kind in "fiubc":
            return f"array {x.dtype.str} {x.shape} {x.tobytes().hex()}"
        if isinstance(x, np.generic) and x.dtype.kind in "fiubc":
            return f"number {x.dtype.str} {x.tobytes().hex()}"
        if kind is Space:  # of which words ask the shape
            return f"space {x.shape} {x.dtype} {x!r}"
        if isinstance(x, type | np.dtype) or any([x is kind for kind in _KINDS]):
            return f"{x!r}"
        raise UnprintableError


_FEW = 64
_PLAIN = frozenset((int, float, complex, bool, str, type(None), type(...), slice))
_KINDS = (operator.index,)


def _named(function: Any) -> str:
    if type(function) is Into:
        inner = _named(function.function)
        return inner and f"{inner} into {function.place}"
    if type(function) is Gathered:
        inner = _named(function.function)
        return inner and f"{inner} gathered"
    if type(function) is operator.attrgetter:
        return repr(function)
    try:
        found = _words().get(function) or _words().get(getattr(function, "__qualname__", None))
    except TypeError:
        return ""
    if found is None and isinstance(function, np.ufunc):
        name = named(function)
        if name is function:
            raise UnprintableError
        return f"ufunc {name}"
    return found or ""


# ---------------------------------------------------------------------------------------- on disk


def as_text(plan: Plan) -> str:
    """Return a plan as a text."""
    return json.dumps([list(piece) if isinstance(piece, Run) else piece for piece in plan])


def plan_of(text: str) -> Plan:
    """Return the plan that a text says."""
    read: list[Any] = json.loads(text)
    return [piece if isinstance(piece, int) else Run(*piece) for piece in read]


def as_planned(program: Program, plan: Plan, library: Any) -> Program:
    """Return the program with the functions of C that a plan names.

    Raises
    ------
    LookupError
        If a function that these call is not there.
    """
    values = values_of(program)
    found: list[Call] = []
    for piece in plan:
        if isinstance(piece, int):
            call = program.calls[piece]
            if type(call.function) is Turning:
                turning = call.function
                found.append(turning.call(library))
                found += [_fits(y) for y in found[-1].results[-1:] if turning.guarded]
            else:
                found.append(call)
            continue
        instead: dict[int, Value] = {}
        after = []
        for each in piece.after:
            if isinstance(each, int):
                after.append(program.calls[each])
                continue
            i, strides, offset = each
            x = values[i]
            instead[i] = memory = Value(f"{x.name}_memory", np.ndarray, None, x.dtype)
            lies = {"shape": x.shape, "strides": tuple(strides), "offset": offset}
            after.append(Call(lying, (memory,), lies, (x,)))
        inputs, outputs = [
            [_spec(*spec) for _, *spec in given] for given in (piece.inputs, piece.outputs)
        ]
        loops = [_address(name, types) for name, types in piece.loops]
        rest = piece.work, piece.guarded, piece.large
        native = calls.program(library, piece.name, inputs, outputs, loops, *rest)
        results = [instead[i] if i in instead else values[i] for i, *_ in piece.outputs]
        ok = [Value(f"{piece.name}_fits", bool)] if piece.guarded else []
        given = tuple([values[i] for i, *_ in piece.inputs])
        found.append(Call(native, given, {}, (*results, *ok)))
        found += map(_fits, ok)
        found += after
    return changed(program, calls=tuple(found))


def _fits(answer: Value) -> Call:
    return Call(expect, (answer, True), {"kind": bool}, ())


def plain(spec: calls.Spec) -> list[Any]:
    """Return what an input or output is as lists of numbers and texts."""
    return [spec.kind, spec.dtype.str, *spec[2:]]


def _spec(kind: int, dtype: str, shape: Any, strides: Any, low: int, span: int) -> calls.Spec:
    return calls.Spec(kind, np.dtype(dtype), tuple(shape), tuple(strides), low, span)


def lying(memory: np.ndarray, *, shape: Shape, strides: Shape, offset: int) -> np.ndarray:
    """Return an array that lies so in memory."""
    return np.ndarray(shape, memory.dtype, memory, offset, strides)


def named(loop: np.ufunc | str) -> Any:
    """Return the name of a loop of NumPy's, or of another function; or the ufunc itself."""
    home = None if isinstance(loop, str) else _home_of(loop)
    return loop if home is None else f"{home}:{loop.__name__}"  # type: ignore[union-attr]


_PRIVATE = {"umath": UMATH, "linalg": LAPACK}
_PUBLIC = "numpy", "scipy.special"


def _home_of(ufunc: np.ufunc) -> str | None:
    """Return in which module a ufunc is found by its name."""
    homes: dict[str, Any] = {name: sys.modules.get(name) for name in _PUBLIC} | _PRIVATE
    return next((k for k, m in homes.items() if getattr(m, ufunc.__name__, None) is ufunc), None)


def _address(name: Any, types: str) -> tuple[int, int]:
    loop = name
    if isinstance(name, str) and ":" in name:
        home, _, own = name.partition(":")
        loop = getattr(_PRIVATE.get(home) or sys.modules[home], own)
    found = calls.loop_of(loop, types)
    if found is None:
        raise LookupError(str(name))
    return found
