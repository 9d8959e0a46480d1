"""What both tracers have in common: being called like an array, and finding the rule.

A *call site* is one way of calling one primitive: `multiply` by the ``*`` operator, or by
``np.multiply``. Each keeps, per types of the operands, the step that traces such a call.
"""

from __future__ import annotations

import itertools
import operator
import types
from collections.abc import Callable
from typing import Any

from chainrules_py import NotDifferentiableError, Tracer, TracerError
from chainrules_py.alias import aliases
from chainrules_py.arrays import (
    dispatch_type,
    is_array_type,
    is_number_type,
    is_python_number,
    is_tracer_type,
    number_home,
)
from chainrules_py.calling import scalar_at_home
from chainrules_py.dispatch import Cache
from chainrules_py.loading import failures, see
from chainrules_py.primitive import Primitive, highest_tracer
from chainrules_py.registry import find_rule, name_of
from chainrules_py.vocabulary import binary_operators, index, unary_operators
from chainrules_tape.config import config

__all__ = ["ArrayLike", "Site", "new_level"]

new_level = itertools.count(1).__next__
"""Numbers differentiations in the order of their beginning: the innermost has the highest."""


class Site:
    """One way of calling one primitive, with the steps for the types seen so far.

    Attributes
    ----------
    primitive : Primitive
        What is called.
    primal : callable or None
        What the user called, where that is not the primitive: it computes the value.
    """

    __slots__ = ("cache", "primal", "primitive")

    def __init__(
        self, primitive: Primitive[..., Any], primal: Callable[..., Any] | None = None
    ) -> None:
        self.primitive = primitive
        self.primal = primal
        self.cache = Cache()

    def step(self, *operands: Any) -> Callable[..., Any]:
        """Find, and keep, what traces a call with operands of these types and no options."""
        table = self.cache.open()
        classes = tuple(map(type, operands))
        tracers = [x for x in operands if is_tracer_type(type(x))]
        step = None
        if (
            self.primal is not None
            and number_home(self.primal)
            and all(map(is_python_number, classes))
        ):
            step = self.lifted
        elif tracers and len({type(t).engine for t in tracers if isinstance(t, ArrayLike)}) == 1:
            step = type(tracers[0]).make_step(self, classes)
        if step is None:
            step = self.general
        table[classes] = step
        return step

    def lifted(self, *operands: Any) -> Any:
        """Trace a call of a library's function on Python's numbers, as scalars of the library."""
        home = number_home(self.primal)
        return self.general(*[scalar_at_home(x, home) for x in operands])

    def general(self, *operands: Any, **options: Any) -> Any:
        """Trace a call whatever its operands are: the highest level among them does it."""
        tracer = highest_tracer(operands)
        if tracer is None:
            return (self.primal or self.primitive)(*operands, **options)
        if self.primal is not None and any([type(x) in _SEQUENCES for x in operands]):
            operands = _with_arrays(operands, self.primal)
        operands, options = self.primitive.normalise(operands, options)
        return tracer.__trace__(self.primitive, operands, options, self.primal)

    def rule(self, payloads: tuple[type, ...]) -> Any:
        """The rule for payloads of these types, or None."""
        return find_rule(self.primitive, payloads, config)


_SEQUENCES = (list, tuple)


def _with_arrays(operands: tuple[Any, ...], primal: Any) -> tuple[Any, ...]:
    """Lists of numbers as arrays, where the function, or the array beside them, makes them so."""
    tracers = [dispatch_type(type(x)) for x in operands if is_tracer_type(type(x))]
    home = next((home for f in (primal, *tracers) if (home := number_home(f)) is not None), None)
    if home is None:
        return operands
    return tuple([home.asarray(x) if type(x) in _SEQUENCES else x for x in operands])


_sites: dict[Any, Site] = {}


_MEMBERS = (types.MethodDescriptorType, types.GetSetDescriptorType)


def site_of(f: Any) -> Site | None:
    """The call site of a library's function that is nothing but a word, or None."""
    try:
        return _sites[f]
    except KeyError:
        pass
    row = aliases.get(f)
    if row is None or not isinstance(row.word, Primitive):
        return None
    # What an outer level traces has no method or property of an array class; its word it has.
    site = _sites[f] = Site(row.word, None if isinstance(f, _MEMBERS) else f)
    return site


_steps = Cache()


def _find_step(ufunc: Any, operands: tuple[Any, ...]) -> Callable[..., Any]:
    table = _steps.open()
    site = site_of(ufunc)
    if site is None:
        return lambda *xs: call_native(ufunc, xs, {})
    step = site.step(*operands)
    table[ufunc, *map(type, operands)] = step
    return step


_natives = Cache()


def call_native(f: Any, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A call of a library's function with a tracer among its arguments, in words."""
    try:
        row, home = _natives.table[f]
    except KeyError:
        row, home = _find_native(f, operands)
    if home is not None:
        operands = _at_home(operands, home)
    if row is None:
        return _call_unknown(f, operands, keywords)
    direct = row.direct(len(operands), tuple(keywords))
    if direct is None:
        return row.call(operands, keywords)()
    places, options = direct
    xs = [operands[p] if type(p) is int else keywords[p] for p in places]
    if not options and not row.word.options:
        return site_of(f).general(*xs)  # type: ignore[union-attr]
    return row.word(*xs, **{n: operands[p] if type(p) is int else keywords[p] for n, p in options})


def _find_native(f: Any, operands: tuple[Any, ...]) -> tuple[Any, Any]:
    """The row of a library's function, and the library, if it makes scalars of Python's numbers."""
    if f not in aliases:
        see(f, [dispatch_type(type(x)) for x in operands])
    table = _natives.open()
    found = table[f] = aliases.get(f), number_home(f)
    return found


def _at_home(operands: tuple[Any, ...], home: Any) -> tuple[Any, ...]:
    """Traced Python numbers as the library's scalars, if there is no array among them."""
    classes = [type(x) for x in operands]
    traced = [is_tracer_type(cls) and is_python_number(cls) for cls in classes]
    if not any(traced) or any(map(is_array_type, classes)):
        return operands
    return tuple(
        [scalar_at_home(x, home) if t else x for x, t in zip(operands, traced, strict=True)]
    )


def _call_unknown(f: Any, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    from chainrules_py.registry import primal_of

    primal = primal_of(f)
    if primal is not None:
        return Site(primal, f).general(*operands, **keywords)
    name = f"{getattr(f, '__module__', None) or type(f).__module__}.{name_of(f)}"
    msg = (
        f"{name} has no derivative here: it is no alias of a word. Write "
        f"{name.rpartition('.')[2]} = primitive({name}) and state a rule for it, "
        f"or compute it before differentiating"
    )
    for module, reason in failures.items():
        msg += f"\n  {module} announced itself and could not be imported: {reason}"
    raise NotDifferentiableError(msg)


def read_only(x: Any) -> Any:
    """A view of an array that cannot be written to, where the library has such."""
    flags = getattr(x, "flags", None)
    if is_tracer_type(type(x)) or not hasattr(flags, "writeable") or not x.shape:
        return x
    view = x.view()
    view.flags.writeable = False
    return view


class ArrayLike(Tracer):
    """A tracer that can be used as the array, or number, that it stands for."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]
    engine: str
    payload: Any

    @property
    def __payload__(self) -> Any:
        """The value that it stands for."""
        return self.payload

    @property
    def value(self) -> Any:
        """What it stands for, as it is outside of the differentiation; not to be written to."""
        return read_only(self.payload)

    @classmethod
    def make_step(cls, site: Site, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """The step that traces a call with operands of these classes; None for the general way."""
        return None

    # -- what NumPy asks of an argument that is not its own

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **keywords: Any) -> Any:
        if method != "__call__":
            msg = (
                f"np.{ufunc.__name__}.{method} of a traced value; write it with the function of "
                f"that name, as np.sum for np.add.reduce"
            )
            raise TracerError(msg)
        if keywords:
            return call_native(ufunc, operands, keywords)
        if len(operands) == 1:
            (x,) = operands
            try:
                step = _steps.table[ufunc, type(x)]
            except KeyError:
                step = _find_step(ufunc, operands)
            return step(x)
        try:
            step = _steps.table[ufunc, *map(type, operands)]
        except KeyError:
            step = _find_step(ufunc, operands)
        return step(*operands)

    def __array_function__(
        self, function: Any, types: Any, operands: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        return call_native(function, operands, keywords)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of level {self.level}: {self.payload!r}>"

    def __array__(self, *_: Any, **__: Any) -> Any:
        msg = (
            f"{self!r} is being differentiated and cannot become a plain array: its derivative "
            f"would be lost. Call functions of the array library on it, or make what you call a "
            f"primitive with a rule"
        )
        raise TracerError(msg)

    def _scalar(self, kind: str) -> Any:
        msg = (
            f"{kind}() of {self!r}, which is being differentiated, would lose its derivative; "
            f"leave it as it is"
        )
        raise TracerError(msg)

    def __float__(self) -> float:
        return self._scalar("float")  # type: ignore[no-any-return]

    def __complex__(self) -> complex:
        return self._scalar("complex")  # type: ignore[no-any-return]

    def __int__(self) -> int:
        return self._scalar("int")  # type: ignore[no-any-return]

    def __index__(self) -> int:
        return self._scalar("int")  # type: ignore[no-any-return]

    def __bool__(self) -> bool:
        return bool(self.payload)

    def __len__(self) -> int:
        return len(self.payload)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __contains__(self, item: Any) -> bool:
        return item in self.payload

    def __getitem__(self, where: Any) -> Any:
        return index(self, where)

    def __setitem__(self, where: Any, value: Any) -> None:
        msg = f"{self!r} cannot be written to: write the new value with where, or join the parts"
        raise TracerError(msg)


# Every tracer has these; the properties read the payload, in which no derivative is taken.
for _name in ("shape", "ndim", "dtype", "size", "device", "itemsize", "nbytes"):
    setattr(ArrayLike, _name, property(operator.attrgetter(f"payload.{_name}")))


class Member:
    """A method or property of an array class, on a tracer of it.

    They are put on the class of a tracer one by one: a ``__getattr__`` would make every access to
    its own attributes four times as slow, and those are what a call is made of.
    """

    __slots__ = ("name", "native")

    def __init__(self, native: Any, name: str) -> None:
        self.native = native
        self.name = name

    def __get__(self, x: Any, owner: Any) -> Any:
        if x is None:
            return self
        if self.native not in aliases:
            msg = (
                f"{owner.__name__}.{self.name}: this member of "
                f"{owner.__dispatch_type__.__name__} is not known to be differentiable; "
                f"write it with functions, or as an alias of a word"
            )
            raise AttributeError(msg)
        if callable(self.native):
            return lambda *operands, **keywords: call_native(self.native, (x, *operands), keywords)
        return call_native(self.native, (x,), {})


def members(payload: type) -> dict[str, Any]:
    """The public members of a class of arrays, as those of its tracers."""
    native = {name: m for base in reversed(payload.__mro__) for name, m in vars(base).items()}
    own = vars(ArrayLike)
    return {n: Member(m, n) for n, m in native.items() if not n.startswith("_") and n not in own}


def _unary(site: Site) -> Callable[[Any], Any]:
    cache = site.cache

    def method(self: Any) -> Any:
        try:
            step = cache.table[(type(self),)]
        except KeyError:
            step = site.step(self)
        return step(self)

    return method


def _binary(site: Site, name: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    cache = site.cache

    def method(self: Any, other: Any) -> Any:
        try:
            step = cache.table[type(self), type(other)]
        except KeyError:
            if _defers(self, other):
                return NotImplemented
            step = site.step(self, other)
        return step(self, other)

    def reflected(self: Any, other: Any) -> Any:
        try:
            step = cache.table[type(other), type(self)]
        except KeyError:
            if _defers(self, other):
                return NotImplemented
            step = site.step(other, self)
        return step(other, self)

    method.__name__, reflected.__name__ = name, f"__r{name[2:]}"
    return method, reflected


def _defers(self: Any, other: Any) -> bool:
    """Whether the other operand is no array, number or tracer: its class may know what to do."""
    cls = type(other)
    if cls in _SEQUENCES:
        return number_home(dispatch_type(type(self))) is None
    return not (is_tracer_type(cls) or is_array_type(cls) or is_number_type(cls))


for _name, (_word, _primal) in unary_operators.items():
    setattr(ArrayLike, _name, _unary(Site(_word, _primal)))
for _name, (_word, _primal2) in binary_operators.items():
    _method, _reflected = _binary(Site(_word, _primal2), _name)
    setattr(ArrayLike, _name, _method)
    if hasattr(
        operator, f"__i{_name[2:]}"
    ):  # those that Python reflects have a form in place as well
        setattr(ArrayLike, _reflected.__name__, _reflected)
