"""Behaviour that all tracers share: array protocols, and the dispatch of calls to rules."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

from chainrules_py.errors import TracerError, describe
from chainrules_py.ops import index
from chainrules_py.ops.engine_operations import Index, read
from chainrules_py.rule_config import Config
from chainrules_py.tracing.conversions import MemberError, PythonProtocols
from chainrules_py.tracing.foreign_arrays import (
    FEW,
    all_read,
    leaves_to_array,
    moved_beside,
    read_for,
    suspects,
)
from chainrules_py.tracing.library_calls import (
    Site,
    call_method,
    call_native,
    find_step,
    steps,
)
from chainrules_py.tracing.lost_derivative_notes import comparing, note_comparison
from chainrules_py.values.array_conversion import as_array, tables
from chainrules_py.values.caller_frames import caller
from chainrules_py.values.dispatch_types import Tracer, called_beside
from chainrules_py.values.memory import makers, wrapping
from chainrules_py.values.type_info import type_info

new_level = itertools.count(1_000).__next__
"""Numbers the differentiations of all engines as they begin: the innermost has the highest.

Lower numbers are left to engines that count their own depth (autograd).
"""


def read_only(x: Any) -> Any:
    """Return a view of an array that cannot be written to, if the library supports it."""
    memory = type_info(type(x)).memory
    return x if memory is None or memory.read_only is None else memory.read_only(x)


class ArrayLike(PythonProtocols):
    """A tracer that can be used as the array or number that it traces.

    Attributes
    ----------
    engine : str
        The name of its mode: calls whose tracers all have one engine use shorter paths.
    config : Config
        The configuration that rules are found and bound with.
    array_members : dict
        Methods that its classes have only for arrays: those that write in place.
    joins_objects : bool
        Whether the engine joins arrays of objects that contain its values, wherever a function
        takes or returns one; otherwise its values are never elements of one.
    """

    __slots__ = ("__weakref__", "as_view", "as_root")
    __hash__ = None  # type: ignore[assignment]
    engine: str
    config: ClassVar[Config]
    home: ClassVar[Any] = None
    array_members: ClassVar[dict[str, Any]] = {}
    joins_objects: ClassVar[bool] = False
    _is_shown: Any = False  # to a person who holds the tape
    payload: Any
    as_view: Any
    as_root: Any
    state: ClassVar[tuple[str, ...]]

    @property
    def __payload__(self) -> Any:
        """The traced value, not to be written to, as records may have saved it."""
        return read_only(self.payload)

    @property
    def value(self) -> Any:
        """The value, not to be written to; in a function that is differentiated there is none.

        Its derivative would be lost: programs ask for the ``value`` of parameters and of quantities
        with units.
        """
        if not (self.is_over or self._is_shown):
            raise MemberError(
                f"value of {describe(self.payload)}, which is differentiated, has no derivative; "
                f"write ignore_derivatives(x) for the plain value"
            )
        return read_only(self.payload)

    @classmethod
    def make_step(cls, site: Site, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """Return what traces calls on these classes with all options; None for the general one."""
        return None

    @classmethod
    def make_lifted(
        cls, site: Site, classes: tuple[type, ...], scalars: dict[type, type]
    ) -> Callable[..., Any] | None:
        """Return the step of a call on Python numbers, computed by a library's scalars, or None."""
        return None

    @classmethod
    def __step__(
        cls, primitive: Any, primal: Callable[..., Any] | None, classes: tuple[type, ...]
    ) -> Callable[..., Any] | None:
        """Return the step of a call whose tracers are all of this engine, or None."""
        engines = {getattr(c, "engine", None) for c in classes if issubclass(c, Tracer)}
        return cls.make_step(Site(primitive, primal), classes) if engines == {cls.engine} else None

    def _reader(self) -> Callable[[Any, Any], Any]:
        """Return the function ``(x, where)`` that indexes tracers of this class."""
        return lambda x, where: x._read(*Index.split(where))

    def _read(self, pattern: Any, arrays: tuple[Any, ...]) -> Any:
        """Return the elements at an index, whose lists are passed as arrays."""
        homes = (None, type_info(type(self)).home)
        for x in arrays:
            info = type_info(type(x))
            if info.memory is None or info.home not in homes:
                return index(self, pattern.join(read_for(self, arrays)))
        return self.__trace__(read, (self, *arrays), {"index": pattern})

    # -- writing in place, for engines that allow it

    def note_view(self, *call: Any) -> None:
        """Note that this may be a view of the first operand of the call that returned it."""

    def note_shared(self, x: Any, f: Any, y: Any, payload: Any) -> None:
        """Note that this may share memory with an operand of f, a user's function."""

    def _constant(self, value: Any) -> Any:
        """Return a plain value at this level, so that traced values can be written into it."""
        return value

    def _with_out(self, ufunc: Any, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a ufunc that writes its result into ``out``."""
        raise TracerError(
            f"np.{ufunc.__name__} is to write into an array, and {type(self).__name__} cannot be "
            f"written to; use its result: y = np.{ufunc.__name__}(...)"
        )

    # -- NumPy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **keywords: Any) -> Any:
        if method != "__call__":
            return call_method(ufunc, method, operands, keywords)
        if keywords:
            if any(o is not None for o in keywords.get("out", ())):
                return self._with_out(ufunc, operands, keywords)
            return call_native(ufunc, operands, keywords)
        try:
            step = steps.table[ufunc, *map(type, operands)]
        except KeyError:
            step = find_step(ufunc, operands, keywords)
        return step(*operands)

    def __array_function__(
        self, function: Any, types: Any, operands: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        if tables and any(map(isinstance, keywords.values(), itertools.repeat(tuple(tables)))):
            keywords = {name: as_array(x) for name, x in keywords.items()}
        if len(suspects) > FEW and function not in wrapping:  # libraries that NumPy only reads
            inside = [*keywords.values()]
            for x in operands:
                if type(x) is list or type(x) is tuple:
                    inside += x
            if not suspects.isdisjoint(map(type, inside)):
                operands, keywords = all_read(operands, keywords)
        if self.home is None:
            try:
                step = steps.table[function, *keywords, *map(type, operands)]
            except KeyError:
                step = find_step(function, operands, keywords)
            y = step(*operands, **keywords)
        else:  # lists next to CuPy's arrays become CuPy's, though the function is NumPy's
            y = called_beside(self.home, call_native, function, operands, keywords)
        if function in comparing:  # after the call, which may be the first that loads NumPy's
            note_comparison(self, caller())
        if function in makers and not isinstance(y, Tracer):
            if self.home is not None and type_info(type(y)).home is not self.home:
                y = self.home.asarray(y)
            return self._constant(y)  # np.zeros(n, like=x), which will be written to
        return y

    __pandas_priority__ = 5000  # pandas defers operators to a priority above that of its tables

    # -- CuPy's protocol

    def __cupy_override_elementwise_kernel__(
        self, kernel: Any, *operands: Any, **keywords: Any
    ) -> Any:
        n, out = kernel.nin, keywords.pop("out", None)
        operands, out = operands[:n], operands[n:] or out
        if out is not None:
            keywords["out"] = out if type(out) is tuple else (out,)
        return self.__array_ufunc__(kernel, "__call__", *operands, **keywords)

    @classmethod
    def __torch_function__(cls, f: Any, types: Any, xs: Any = (), keywords: Any = None) -> Any:
        """Trace a PyTorch function; return NotImplemented for operators and in-place methods."""
        of_tensors = f.__qualname__.startswith("Tensor")  # these defer to the operators of NumPy's
        if "_" in (f.__name__[0], f.__name__[-1]) or (of_tensors and leaves_to_array(*xs)):
            return NotImplemented
        return call_native(f, moved_beside(xs), keywords or {})


_INSTEAD = {
    "shape": "x = x.reshape(shape)",
    "strides": "x with the axes and steps wanted, as x.T or x[::2]",
    "dtype": "x = x.astype(dtype)",
    "real": "x = value + 1j * x.imag, or x[...] = value for real numbers",
    "flat": "x[...] = np.reshape(values, x.shape)",
}


def refuse_assignment(x: Any, name: str) -> NoReturn:
    """Raise because an attribute of a differentiated array is assigned to.

    Raises
    ------
    TracerError
        With the line to write.
    """
    raise TracerError(
        f"{name} of {describe(x.payload)}, which is being differentiated, is assigned to: NumPy "
        f"would change the array in place; write {_INSTEAD.get(name, 'another array')}"
    )


class _Size(int):
    """A number of elements that can also be called, like the ``size`` of PyTorch's tensors."""

    shape: tuple[int, ...]

    def __call__(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]


def _sized(payload: Any) -> Any:
    size = math.prod(payload.shape)
    if callable(getattr(payload, "size", None)):
        size = _Size(size)
        size.shape = payload.shape
    return size


# Every tracer has these. The properties read the payload; they have no derivative.
for _name in ("shape", "ndim", "dtype", "device", "itemsize", "nbytes"):
    _refuse = lambda x, value, name=_name: refuse_assignment(x, name)
    setattr(ArrayLike, _name, property(operator.attrgetter(f"payload.{_name}"), _refuse))
setattr(ArrayLike, "size", property(lambda x: _sized(x.payload)))  # noqa: B010


def innermost(x: Any) -> Any:
    """Return the plain value of a tracer, below all levels; other values unchanged."""
    while issubclass(type(x), ArrayLike):
        x = x.payload
    return x
