"""Conversions of a tracer that Python requests, not the library: numbers, text and copies.

Converting to a plain number or array would lose the derivative, so these raise with what to write
instead.
"""

from __future__ import annotations

import ast
import copy
import operator
from typing import Any, NoReturn

from chainrules_py.errors import TracerError, describe
from chainrules_py.ops.engine_operations import duplicate
from chainrules_py.primitives import conversion_advice
from chainrules_py.primitives.conversion_advice import (
    Line,
    advised_at,
    filled,
    instead_of,
    lost,
    remedy,
    told,
)
from chainrules_py.primitives.plugins import see_roots
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.primitives.signature import result_name
from chainrules_py.tracing.object_arrays import becomes_element, objects
from chainrules_py.values.caller_frames import caller, is_of_library, root_module
from chainrules_py.values.dispatch_types import Tracer, number_homes
from chainrules_py.values.find_tracers import untraced
from chainrules_py.values.type_info import type_info


class MemberError(TracerError, AttributeError):
    """A member that only plain arrays have; libraries that test for it take another path."""


class ElementError(TracerError, IndexError):
    """An element of a number, which has none: programs that test for it take another path."""


class PythonProtocols(Tracer):
    """The protocols of Python's numbers and containers, on a tracer."""

    __slots__ = ()
    payload: Any

    # -- conversions that would lose the derivative

    @property
    def __array__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Absent where NumPy makes the value an element of an array of objects.

        ``as_strided`` reads memory, where such an array has other sizes than the value.
        """
        shape = getattr(self, "shape", ())
        if not self._is_plain(2) and becomes_element(self, made=not shape):
            if not shape and not type_info(type(self)).is_array:
                raise MemberError("__array__")
            if "stride_tricks" not in caller().f_globals.get("__name__", ""):
                return self._as_elements
        return self._as_array

    def _as_elements(self: Any, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return an array of objects, lent where NumPy would return the array itself."""
        becomes_element(self)  # only here, as a program may only test for the method
        np, x = number_homes["numpy"], untraced(self)
        like = getattr(x, "payload", x)  # what a compiler records has its layout in its payload
        made = (
            np.empty_like(like, object)
            if copy is True or like.flags.forc
            # NumPy copies an array with gaps where it wants one without.
            else np.empty_like(np.broadcast_to(like[..., None], (*like.shape, 2)), object)[..., 0]
        )
        made[...] = np.array([*self]) if made.ndim else self[()]
        if copy is not True and dtype is None:
            self.lend(made)
        return made

    def _as_array(self, *args: Any, **options: Any) -> Any:
        if not self._is_plain(2):
            _refuse(self, "array")
        x = untraced(self)
        if (native := getattr(x, "__array__", None)) is None:
            see_roots({"numpy"})
            native = number_homes["numpy"].asarray(x).__array__
        return native(*args, **options)

    def _is_plain(self, depth: int) -> bool:
        """Return whether it may be read plainly: it is over, empty, or read by a test or a log."""
        x, asker = self, f"{caller(depth).f_globals.get('__name__', '')}."
        while getattr(x, "is_over", False):
            x = x.__payload__
        return (
            not isinstance(x, Tracer)
            or 0 in getattr(x, "shape", ())
            or asker.startswith(("numpy.testing.", "unittest.case.", "logging."))
        )

    def __complex__(self) -> complex:
        return complex(self.__payload__) if self.is_over else _refuse(self, "complex")

    def __index__(self) -> int:
        return operator.index(self.__payload__) if self.is_over else _refuse(self, "int", True)

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.is_over:
            return untraced, (self.__payload__,)
        line = Line(caller())
        fact = f"cannot pickle {picture(self)}: its derivative would be lost"
        write = (
            "processes get constants only: use threads, which trace, or no pool"
            if is_of_library(line.frame)  # a process pool pickles in a thread of its own
            else f"use {line.with_constant()}, which is a constant"
        )
        raise lost(self, told(fact, line, write), line)

    # -- reads of the value, which are allowed

    def __bool__(self) -> bool:
        return bool(self.payload)

    def __str__(self) -> str:
        return f"{type(self).__name__.partition('[')[0]}({untraced(self)})"

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        if self.is_over:
            return format(self.__payload__, spec)
        if not spec:
            return str(self)
        line = Line(caller())
        fact = f"cannot format {picture(self)} by {spec!r}: what reads the text gets a constant"
        write = f"write {{ignore_derivatives({line.argument}):{spec}}}"
        if isinstance(line.node, ast.Call):  # of str.format
            write = f"use {line.with_constant()}, which is a constant"
        raise lost(self, told(fact, line, write), line)

    # -- traced methods

    def __copy__(self: Any) -> Any:
        return (
            copy.deepcopy(self.__payload__)  # as pickling does
            if self.is_over
            else duplicate(self)
            if type_info(type(self)).is_array
            else self
        )

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()


def _float(self: Any) -> float:
    return float(untraced(self)) if self._is_plain(2) else _refuse(self, "float")


def _int(self: Any) -> int:
    return int(untraced(self)) if self._is_plain(2) else _refuse(self, "int")


of_real_numbers: dict[str, Any] = {"__float__": _float, "__int__": _int}
"""Methods set only where the payload class has them: programs test (`typing.SupportsFloat`)."""

_INSTEAD = {
    "array": "use NumPy's functions of {x}, not plain ones, and np.stack([y, z]) for a list [y, z]",
    "float": "use NumPy's functions of {x}, not plain ones",
    "complex": "use {x} + 0j",
    "int": "use int(ignore_derivatives({x})), which is a constant",
}
"""What to write if the called function is unknown."""


def _refuse(x: Any, kind: str, is_count: bool = False) -> NoReturn:
    """Raise because Python, or a library, requires a plain value, such as a count."""
    if kind != "array" and getattr(x, "size", 1) != 1:
        float(untraced(x))  # the library's own error: programs try whether a value is one number
    line = Line(caller(2))
    write = instead_of(line)
    for each in ast.walk(line.node or ast.Pass()):
        f = line.value_of(each)
        if isinstance(f, Primitive) and not (f.stated[0] or hasattr(f.__wrapped__, "__code__")):
            names = f"{result_name(f.operands)}, {', '.join(f.operands)}"
            write = f"state its rule: scalar_rule({ast.unparse(each)}, lambda {names}: ...)"
    if write is None and "numpy" in map(root_module, line.library) and x.level in objects:
        raise lost(x, objects[x.level].refusal, line)  # NumPy's mean converts each element
    if (
        write is None
        and isinstance(line.node, (ast.Call, ast.BinOp, ast.Subscript))
        and not is_of_library(line.frame)
    ):
        made, and_so = (
            ("int(ignore_derivatives({}))", "")
            if is_count and line.called not in ("bytes", "bytearray")  # those of an array
            else ("ignore_derivatives({})", ", whose argument is a constant")
            if kind == "int" and line.library
            else ("ignore_derivatives", ", which is a constant")
        )
        write = f"use {line.with_constant(made)}{and_so}"
    write = write or filled(_INSTEAD[kind], x=line.argument)
    to = (
        "a plain number"
        if (kind == "complex" and line.library)
        or (kind == "int" and not hasattr(x, "__int__"))  # float(z) requests an index
        else kind
    )
    fact = f"cannot convert {line.picture or picture(x)} to {to}: its derivative would be lost"
    raise lost(x, told(fact, line, write), line)


def picture(x: Any) -> str:
    """Return a description of a tracer, for messages."""
    return conversion_advice.picture(x.__payload__)


def refuse_exchange() -> NoReturn:
    """Raise because ``x[i], x[j] = x[j], x[i]`` of rows, which are views, duplicates one of them.

    So it does with NumPy's arrays; NumPy's ``shuffle`` runs it on arrays that are not its own.

    Raises
    ------
    TracerError
        With the line to write.
    """
    line = Line(caller())
    write = advised_at(line) or "use x[i], x[j] = np.copy(x[j]), np.copy(x[i])"
    raise TracerError(
        told("rows of a traced value, which are views, would be exchanged in place", line, write)
    )


def refuse_plain(target: Any, x: Any) -> NoReturn:
    """Raise because a tracer is written into a plain array, or into an unknown target (None).

    Raises
    ------
    TracerError
        With the line to write.
    """
    line = Line(caller())
    into = "a plain array" if target is None else f"the plain {describe(target)}"
    fact = f"{picture(x)} is written into {into}, where its derivative would be lost"
    usual = (
        "add np.zeros_like(x, shape=()) to the plain array that the call is given"
        if line.library
        else "make it as b = np.zeros_like(x, shape=n), which holds traced values"
    )
    if isinstance(target, str | int | float):
        usual = f"leave {target!r} out: the argument after the operands is an array to fill"
    raise lost(x, told(fact, line, remedy(line) or advised_at(line) or usual), line)
