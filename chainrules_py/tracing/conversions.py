"""Conversions that Python, not the array library, asks of a value: numbers, text, copies.

Where a plain number or array is wanted, the derivative would be lost. Each refusal says what to
write instead, and reads the caller's instruction to know what it was.
"""

from __future__ import annotations

import opcode
import sys
from typing import Any, NoReturn

from chainrules_py.errors import TracerError, describe
from chainrules_py.primitives.hints import advice_at
from chainrules_py.values.arrays import Tracer
from chainrules_py.values.memory import refuse_plain
from chainrules_py.values.text import Text
from chainrules_py.values.tracers import untraced
from chainrules_py.values.type_info import type_info
from chainrules_py.vocabulary.views import duplicate


class PythonProtocols(Tracer):
    """The protocols of Python's own numbers and containers, of a tracer."""

    __slots__ = ()
    payload: Any

    # -- what would lose the derivative

    def __array__(self, *_: Any, **__: Any) -> Any:
        return _refuse(self, "an array")

    def __complex__(self) -> complex:
        return _refuse(self, "a complex")  # type: ignore[no-any-return]

    def __index__(self) -> int:
        return _refuse(self, "an int")  # type: ignore[no-any-return]

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        msg = (
            f"{describe(self.__payload__)} is being differentiated in this process, and cannot be "
            f"pickled; pickle x.value, which is plain, or what the gradient gives"
        )
        raise TracerError(msg)

    # -- what is asked of the value, and may be known

    def __bool__(self) -> bool:
        return bool(self.payload)

    def __format__(self, spec: str) -> str:
        return Text(format(untraced(self), spec))

    def __str__(self) -> str:
        return Text(untraced(self))

    def __repr__(self) -> str:
        return Text(repr(untraced(self)))

    # -- what is traced

    def __copy__(self) -> Any:
        x: Any = self
        return duplicate(x) if type_info(type(x)).is_array else x

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()


_COMPARING = {"array_equal", "array_equiv"}
"""Functions that take an error for a difference, and what they tell has no derivative."""


def _float(self: Any) -> float:
    return _refuse(self, "a float")  # type: ignore[no-any-return]


def _int(self: Any) -> int:
    return _refuse(self, "an int")  # type: ignore[no-any-return]


of_real_numbers: dict[str, Any] = {"__float__": _float, "__int__": _int}
"""What a value has whose class has it: programs may ask (`typing.SupportsFloat`)."""

_INSTEAD = {
    "an array": "write np.stack([x, y]) for np.array([x, y]), x.copy() for np.array(x), and the "
    "asarray and full of chainrules_tape for NumPy's; a buffer that it is written into is "
    "np.zeros(n, like=x)",
    "a float": "leave it as it is, and write np.sin(x) for math.sin(x); a buffer that it is "
    "written into is np.zeros(n, like=x)",
    "a complex": "leave it as it is, or write x + 0j",
    "an int": "leave it as it is, or, if it counts or indexes, write int(x.value)",
}


def _refuse(x: Any, kind: str) -> Any:
    """Raise: where Python, or a library, wants something plain, and has not to compare it."""
    caller = sys._getframe(2)
    doing, scope = _instruction(caller), caller.f_globals
    if caller.f_code.co_name == "getMessage" and scope.get("__name__") == "logging":
        return float(untraced(x)) if kind == "a float" else int(untraced(x))
    if caller.f_code.co_name in _COMPARING and "asarray" in scope:
        plain = untraced(x)
        as_such: Any = {"a float": float, "an int": int, "a complex": complex}
        return as_such.get(kind, scope["asarray"])(plain)
    if doing in ("STORE_SUBSCR", "STORE_SLICE"):
        refuse_plain(None, x)
    by_percent = doing == "BINARY_OP" and caller.f_code.co_code[caller.f_lasti + 1] in (6, 19)
    instead = 'write f"{x:.3f}" for "%.3f" % x' if by_percent else advice_at(caller)
    instead = instead or (
        f"{_INSTEAD[kind]}; make a primitive, with a rule, of a function that needs {kind}"
    )
    msg = (
        f"{describe(x.__payload__)}, which is being differentiated, does not become a plain "
        f"{kind.partition(' ')[2]}: its derivative would be lost; {instead}; or take x.value, "
        f"which is a constant"
    )
    raise TracerError(msg)


def refuse_exchange(frame: Any) -> None:
    """Raise if it is a library's function, and no assignment, that writes a view of x into x.

    NumPy's ``shuffle`` writes ``x[i], x[j] = x[j], x[i]`` for what is no array of its own, which
    duplicates rows.

    Raises
    ------
    TracerError
        With the line to write.
    """
    if _instruction(frame) not in ("STORE_SUBSCR", "STORE_SLICE") and (line := advice_at(frame)):
        msg = f"a value that is being differentiated is written to by a function: {line}"
        raise TracerError(msg)


def _instruction(frame: Any) -> str:
    """Return the name of the instruction by which the frame called into C."""
    name: str = opcode.opname[frame.f_code.co_code[frame.f_lasti]]
    return name
