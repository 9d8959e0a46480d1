"""Conversions that Python, not the array library, asks of a value: numbers, text, copies.

Where a plain number or array is wanted, the derivative would be lost. Each refusal says what to
write instead.
"""

from __future__ import annotations

import opcode
import sys
from typing import Any, NoReturn

from chainrules_py.errors import TracerError, describe
from chainrules_py.primitives.hints import advice_at
from chainrules_py.tracing.lost import note_refusal
from chainrules_py.tracing.objects import becomes_element
from chainrules_py.values.arrays import Tracer
from chainrules_py.values.tracers import untraced
from chainrules_py.values.type_info import type_info
from chainrules_py.vocabulary.views import duplicate


class _ElementError(TracerError, AttributeError):
    """A member that only arrays have, and elements of arrays have not."""


class PythonProtocols(Tracer):
    """The protocols of Python's own numbers and containers, of a tracer."""

    __slots__ = ()
    payload: Any

    # -- what would lose the derivative

    @property
    def __array__(self) -> Any:
        """Absent of a real number: NumPy makes an element of an array of objects of it."""
        if becomes_element(self):
            raise _ElementError("__array__")
        return self._refuse_array

    def _refuse_array(self, *_: Any, **__: Any) -> Any:
        _refuse(self, "an array")

    def __complex__(self) -> complex:
        return _refuse(self, "a complex")

    def __index__(self) -> int:
        return _refuse(self, "an int")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        msg = (
            f"{describe(self.__payload__)} is being differentiated in this process, and cannot be "
            f"pickled; pickle x.value, which is plain, or what the gradient gives"
        )
        raise TracerError(msg)

    # -- what is asked of the value, and may be known

    def __bool__(self) -> bool:
        return bool(self.payload)

    def __str__(self) -> str:
        return f"{type(self).__name__.partition('[')[0]}({untraced(self)})"

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        note_refusal(self)
        msg = (
            f"{describe(self.__payload__)}, which is being differentiated, is formatted with "
            f"{spec!r}: what reads the text would take a constant; write {{x.value:{spec}}} in the "
            f"f-string for people to read, or make a primitive, with a rule, of what reads it"
        )
        raise TracerError(msg)

    # -- what is traced

    def __copy__(self) -> Any:
        x: Any = self
        return duplicate(x) if type_info(type(x)).is_array else x

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()


def _float(self: Any) -> float:
    _refuse(self, "a float")


def _int(self: Any) -> int:
    _refuse(self, "an int")


of_real_numbers: dict[str, Any] = {"__float__": _float, "__int__": _int}
"""What a value has whose class has it: programs may ask (`typing.SupportsFloat`)."""

_INSTEAD = {
    "an array": "write np.stack([x, y]) for np.array([x, y]), x.copy() for np.array(x), and the "
    "asarray and full of chainrules_tape for NumPy's; a buffer that it is written into is "
    "np.zeros(n, like=x)",
    "a float": "leave it as it is, and write np.sin(x) for math.sin(x); a buffer that it is "
    "written into is np.zeros(n, like=x), and text for people is f'{x.value:.3f}'",
    "a complex": "leave it as it is, or write x + 0j",
    "an int": "leave it as it is, or, if it counts or indexes, write int(x.value); a buffer that "
    "it is written into is np.zeros(n, like=x)",
}


def _refuse(x: Any, kind: str) -> NoReturn:
    """Raise: Python, or a library, wants something plain."""
    note_refusal(x)
    instead = advice_at(sys._getframe(2)) or (
        f"{_INSTEAD[kind]}; make a primitive, with a rule, of a function that needs {kind}"
    )
    msg = (
        f"{describe(x.__payload__)}, which is being differentiated, does not become a plain "
        f"{kind.partition(' ')[2]}: its derivative would be lost; {instead}; or take x.value, "
        f"which is a constant"
    )
    raise TracerError(msg)


def refuse_exchange(frame: Any) -> None:
    """Raise if a function in C, and no assignment, writes a view of x into x.

    NumPy's ``shuffle`` writes ``x[i], x[j] = x[j], x[i]`` for what is no array of its own, which
    duplicates rows.

    Raises
    ------
    TracerError
        With the line to write.
    """
    if opcode.opname[frame.f_code.co_code[frame.f_lasti]] not in ("STORE_SUBSCR", "STORE_SLICE"):
        msg = (
            "a value that is being differentiated is written to by a function in C, which takes "
            "its rows for copies; for shuffle(x), write x = x[rng.permutation(len(x))]"
        )
        raise TracerError(msg)
