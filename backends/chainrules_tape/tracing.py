"""What both tracers have in common: being called like an array, and finding the rule.

A *call site* is one way of calling one primitive: `multiply` by the ``*`` operator, or by
``np.multiply``. Each keeps, per types of the operands, the step that traces such a call.
"""

from __future__ import annotations

import itertools
import operator
import types
from collections.abc import Callable
from typing import Any, ClassVar

from chainrules_py import NoRuleError, NotDifferentiableError, TracerError
from chainrules_py.alias import aliases
from chainrules_py.arrays import (
    dispatch_type,
    home_of,
    inside,
    is_array_type,
    is_foreign,
    is_python_number,
    is_tracer_type,
    number_home,
    registered_base,
)
from chainrules_py.calling import scalar_at_home
from chainrules_py.dispatch import Cache
from chainrules_py.loading import failures, module_of, see
from chainrules_py.memory import makers, memory_of, refuse_plain, viewers
from chainrules_py.primitive import Primitive, is_static
from chainrules_py.project import kind_of
from chainrules_py.registry import find_rule, name_of
from chainrules_py.tracers import highest_tracer
from chainrules_py.writing import gives_views
from chainrules_tape.config import config
from chainrules_tape.inplace import assign, innermost
from chainrules_tape.protocols import PythonProtocols
from chainrules_tape.views import current, detached, view_of

__all__ = ["SEQUENCES", "ArrayLike", "Site", "call_native", "new_level"]

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
        operands = tuple(map(current, operands))
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
        if self.primal is not None and any([type(x) in SEQUENCES for x in operands]):
            operands = _with_arrays(operands, self.primal)
        operands, options = self.primitive.normalise(operands, options)
        return tracer.__trace__(self.primitive, operands, options, self.primal)

    def rule(self, payloads: tuple[type, ...]) -> Any:
        """The rule for payloads of these types, or None."""
        return find_rule(self.primitive, payloads, config)


SEQUENCES = (list, tuple)


def _with_arrays(operands: tuple[Any, ...], primal: Any) -> tuple[Any, ...]:
    """Lists of numbers as arrays, where the function, or the array beside them, makes them so."""
    tracers = [dispatch_type(type(x)) for x in operands if is_tracer_type(type(x))]
    homes = [*map(home_of, tracers), number_home(primal), *map(number_home, tracers)]
    home = next((home for home in homes if home is not None), None)
    if home is None:
        return operands
    return tuple([home.asarray(x) if type(x) in SEQUENCES else x for x in operands])


_sites: dict[Any, Site] = {}


_MEMBERS = (
    types.MethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,  # as complex.real
)


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


def _call_slowly(f: Any, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
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
    places, stated = direct
    xs = tuple([operands[p] if type(p) is int else keywords[p] for p in places])
    word = row.word
    if not stated and not word.options:
        return site_of(f).general(*xs)  # type: ignore[union-attr]
    return word(*xs, **_stated(stated, operands, keywords, {}))


_plans = Cache()


def call_native(f: Any, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A call of a library's function with a tracer among its arguments, in words.

    What is the same for all operands of these classes is found once.
    """
    key = (f, *keywords, *map(type, operands))
    try:
        plan = _plans.table[key]
    except KeyError:
        table = _plans.open()
        plan = table[key] = _find_own(f, _find_plan(f, operands, keywords))
    return plan(operands, keywords)


def _find_own(f: Any, plan: Any) -> Any:
    """A plan whose results are no views, for a function that gives none though its words may."""
    row = _natives.table.get(f, (None,))[0]
    if row is None or isinstance(row.word, Primitive) or f in viewers:
        return plan
    return lambda operands, keywords: detached(plan(operands, keywords), operands)


def _find_plan(f: Any, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What calls a library's function on tracers of one engine, if it only renames."""

    def slow(operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        return _call_slowly(f, operands, keywords)

    row, home = _natives.table.get(f) or _find_native(f, operands)
    if row is not None and not isinstance(row.word, Primitive):
        _refuse_foreign(f, operands)
    if row is None or (home is not None and _at_home(operands, home) is not operands):
        return slow
    composite = row.composite(len(operands), tuple(keywords))
    if composite is not None:
        return composite
    direct = row.direct(len(operands), tuple(keywords))
    if direct is None or any(type(p) is not int for p in direct[0]):
        return slow
    places, stated = direct
    xs = [operands[p] for p in places]
    word, classes = row.word, tuple(map(type, xs))
    tracers: list[Any] = [cls for cls in classes if is_tracer_type(cls)]
    engines = {getattr(cls, "engine", None) for cls in tracers}
    if len(engines) != 1 or None in engines:
        return slow
    # What an outer level traces has no method of an array class; its word it has.
    primal = None if word.options or isinstance(f, _MEMBERS) else f
    record = tracers[0].make_call(Site(word, primal), classes)
    if record is None:
        return slow
    defaults = word.options
    if places == (0,) and len(operands) == 1 and not stated:
        return lambda operands, keywords: record(operands, defaults.copy())

    def plan(operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        options = _stated(stated, operands, keywords, defaults.copy())
        xs = tuple([operands[p] for p in places])
        return record(xs, options) if is_static(*options.values()) else word(*xs, **options)

    return plan


def _refuse_foreign(f: Any, operands: tuple[Any, ...]) -> None:
    """Raise for arrays of a class with arithmetic of its own: a composite would mix the two."""
    for x in operands:
        cls = dispatch_type(type(x))
        if is_foreign(cls):
            msg = (
                f"no rule for {name_of(f)} with a {cls.__qualname__}, which computes otherwise "
                f"than {registered_base(cls)!r}; convert it before, as x.filled(0) does, or "
                f"register_array_type({cls.__qualname__}, namespace) if its rules should count"
            )
            raise NoRuleError(msg)


def _stated(
    stated: Any, operands: tuple[Any, ...], keywords: dict[str, Any], options: dict[str, Any]
) -> dict[str, Any]:
    """The options of a call, on top of those that are there."""
    for name, place, default, convert in stated:
        kind = type(place)
        if kind is int:
            value = operands[place]
        elif kind is str:
            value = keywords[place]
        else:
            value = _gathered(operands[place])
        if value is not default:
            options[name] = value if convert is None else convert(value)
    return options


def _gathered(rest: tuple[Any, ...]) -> Any:
    """What is given in several arguments, or in one that is a sequence."""
    (first,) = rest if len(rest) == 1 else (0,)
    return first if first is None or isinstance(first, (tuple, list)) else rest


_INSTEAD = {
    "at": "where no place repeats, write x[places] = f(x[places], values) with the function itself",
    "reduceat": "reduce the parts one by one, as in np.stack([np.sum(x[i:j]) for i, j in places])",
}


def _call_method(
    ufunc: Any, method: str, operands: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """A call of a ufunc's method, which has a row of its own or is an error."""
    native = getattr(ufunc, method)
    if native not in aliases:
        see(ufunc, [dispatch_type(type(x)) for x in operands])
    if native in aliases:
        return call_native(native, operands, keywords)
    instead = _INSTEAD.get(method, f"write it with {ufunc.__name__}, slice by slice")
    msg = f"np.{ufunc.__name__}.{method} of a traced value has no derivative here: {instead}"
    raise TracerError(msg)


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
    name = f"{module_of(f) or type(f).__module__}.{name_of(f)}"
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

    # -- what writing in place asks of an engine (`chainrules_tape.inplace`)

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
            return _call_method(ufunc, method, operands, keywords)
        if keywords:
            if any(o is not None for o in keywords.get("out", ())):
                return _call_with_out(ufunc, operands, keywords)
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
        if self.home is None:
            y = call_native(function, operands, keywords)
        else:  # lists beside CuPy's arrays become CuPy's, though the function is NumPy's
            y = inside(self.home, call_native, function, operands, keywords)
        if function in makers and not is_tracer_type(type(y)):
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
for _name in ("shape", "ndim", "dtype", "size", "device", "itemsize", "nbytes"):
    setattr(ArrayLike, _name, property(operator.attrgetter(f"payload.{_name}")))
