"""What all tracers have in common: being called like an array, and finding the rule."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any, ClassVar

from chainrules_py.tangents.space import kind_of
from chainrules_py.tracing.conversions import PythonProtocols
from chainrules_py.tracing.library_calls import (
    Site,
    call_method,
    call_native,
    find_step,
    plans,
    steps,
)
from chainrules_py.values.arrays import dispatch_type, home_of, inside, is_tracer_type
from chainrules_py.values.memory import makers, memory_of, refuse_plain
from chainrules_py.vocabulary import index
from chainrules_py.vocabulary.views import Index, gives_views, read
from chainrules_tape.memory.views import current, view_of
from chainrules_tape.memory.write import assign, innermost

__all__ = ["ArrayLike", "new_level"]

new_level = itertools.count(1).__next__
"""Numbers differentiations in the order of their beginning: the innermost has the highest."""


def read_only(x: Any) -> Any:
    """A view of an array that cannot be written to, where the library has such."""
    memory = memory_of(type(x))
    return x if memory is None or memory.read_only is None else memory.read_only(x)


class ArrayLike(PythonProtocols):
    """A tracer that can be used as the array, or number, that it stands for."""

    __slots__ = ("__weakref__", "view")
    __hash__ = None  # type: ignore[assignment]
    engine: str
    home: ClassVar[Any] = None
    payload: Any
    view: Any
    state: ClassVar[tuple[str, ...]]

    @property
    def __payload__(self) -> Any:
        """The value that it stands for, not to be written to: records may have saved it."""
        return read_only(self.payload)

    @property
    def value(self) -> Any:
        """What it stands for, as it is outside of the differentiation; not to be written to."""
        return read_only(self.payload)

    @classmethod
    def make_step(cls, site: Site, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """The step that traces a call with operands of these classes; None for the general way."""
        return None

    @classmethod
    def __step__(cls, primitive: Any, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """The step of a word that a rule calls."""
        engines = {getattr(c, "engine", None) for c in classes if is_tracer_type(c)}
        if engines != {cls.engine}:
            return None
        site = Site(primitive)
        rule = site.rule(tuple([dispatch_type(c) for c in classes]))
        statement = rule and (rule.reverse or rule.forward)
        if statement is not None and not gives_views(primitive, statement.recipe.pen):
            step = cls.make_step(site, classes)
            if step is not None:
                return step
        call = cls.make_call(site, classes)
        return None if call is None else lambda *operands, **options: call(operands, options)

    @classmethod
    def make_call(cls, site: Site, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """What traces a call, of its operands and all its options; None for the general way."""
        return None

    @property
    def has_known_layout(self) -> bool:
        """Whether it lies in memory as the program's own array would."""
        view = view_of(current(self))
        return view is None or view.faithful

    def _reader(self) -> Callable[[Any, Any], Any]:
        """What reads tracers of its class by an index: ``(x, where)``."""
        return lambda x, where: x._read(*Index.split(where))

    def _read(self, pattern: Any, arrays: tuple[Any, ...]) -> Any:
        """The elements at an index, of which lists are arrays as well."""
        if arrays:
            return index(self, pattern.join(arrays))
        return self.__trace__(read, (self,), {"index": pattern})

    # -- what writing in place asks of an engine (`chainrules_tape.memory.write`)

    def _leaf(self, value: Any) -> Any:
        """A value at this level that no derivative is asked for."""
        raise NotImplementedError

    def _put(self, pattern: Any, arrays: tuple[Any, ...], value: Any) -> bool:
        """Write a value into the memory itself; False, and nothing done, where others have it."""
        return False

    def _constant(self, value: Any) -> Any:
        """A plain value at this level, so that what is traced can be written into it."""
        if kind_of(value) not in ("real", "complex"):
            return value
        inner = self.payload
        return self._leaf(inner._constant(value) if isinstance(inner, ArrayLike) else value)

    def _become(self, z: Any) -> None:
        """Take over the value, and all that is known of it, of another tracer or a plain array."""
        if not isinstance(z, ArrayLike) or z.level != self.level:
            z = self._constant(z)
        object.__setattr__(self, "__class__", type(z))
        for name in self.state:
            setattr(self, name, getattr(z, name))

    def _snapshot(self) -> Any:
        """What it is now, as a tracer that nobody writes to."""
        made = object.__new__(type(self))
        for name in self.state:
            setattr(made, name, getattr(self, name))
        return made

    # -- what NumPy asks of an argument that is not its own

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **keywords: Any) -> Any:
        if method != "__call__":
            return call_method(ufunc, method, operands, keywords)
        if keywords:
            if any(o is not None for o in keywords.get("out", ())):
                return _call_with_out(ufunc, operands, keywords)
            return call_native(ufunc, operands, keywords)
        if len(operands) == 1:
            (x,) = operands
            try:
                step = steps.table[ufunc, type(x)]
            except KeyError:
                step = find_step(ufunc, operands)
            return step(x)
        try:
            step = steps.table[ufunc, *map(type, operands)]
        except KeyError:
            step = find_step(ufunc, operands)
        return step(*operands)

    def __array_function__(
        self, function: Any, types: Any, operands: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        if self.home is None:
            try:
                plan = plans.table[function, *keywords, *map(type, operands)]
            except KeyError:
                y = call_native(function, operands, keywords)
            else:
                y = plan(operands, keywords)
        else:  # lists beside CuPy's arrays become CuPy's, though the function is NumPy's
            y = inside(self.home, call_native, function, operands, keywords)
        if function in makers and not is_tracer_type(type(y)):
            if self.home is not None and home_of(type(y)) is not self.home:
                y = self.home.asarray(y)
            return self._constant(y)  # np.zeros(n, like=x), which will be written to
        return y

    # -- and what CuPy asks

    def __cupy_override_elementwise_kernel__(
        self, kernel: Any, *operands: Any, **keywords: Any
    ) -> Any:
        n, out = kernel.nin, keywords.pop("out", None)
        operands, out = operands[:n], operands[n:] or out
        if out is not None:
            keywords["out"] = out if type(out) is tuple else (out,)
        return self.__array_ufunc__(kernel, "__call__", *operands, **keywords)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of level {self.level}: {self.payload!r}>"


def _call_with_out(ufunc: Any, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A call of a ufunc that writes its result: also ``plain += x``, which NumPy makes one."""
    if len(keywords["out"]) > 1:
        return call_native(ufunc, operands, keywords)
    (target,) = keywords["out"]
    rest = {name: value for name, value in keywords.items() if name != "out"}
    if not isinstance(target, ArrayLike):
        refuse_plain(target, next(x for x in operands if is_tracer_type(type(x))))
    z = ufunc(*operands, **rest)
    plain = [innermost(x) for x in operands]
    assign(target, z, lambda array: ufunc(*plain, out=array, **rest))
    return target


# Every tracer has these; the properties read the payload, in which no derivative is taken.
for _name in ("shape", "ndim", "dtype", "device", "itemsize", "nbytes"):
    setattr(ArrayLike, _name, property(operator.attrgetter(f"payload.{_name}")))
# In PyTorch it is a method.
setattr(ArrayLike, "size", property(lambda x: math.prod(x.payload.shape)))  # noqa: B010
