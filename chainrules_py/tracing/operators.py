"""Operators, subscripts and class members, which make a tracer behave like an array.

Operators are set on the class of all tracers. Subscripts, and the methods and properties of an
array class, are set on the classes that trace these arrays.
"""

from __future__ import annotations

import functools
import numbers
import operator
import sys
from collections.abc import Callable
from typing import Any, NoReturn
from weakref import ReferenceType, WeakKeyDictionary, ref

from chainrules_py.errors import NotDifferentiableError, UnsupportedKeywordError, describe
from chainrules_py.ops import binary_operators, square_operator, unary_operators
from chainrules_py.ops.engine_operations import rounded, shape_back
from chainrules_py.primitives.aliases.alias import aliases
from chainrules_py.primitives.conversion_advice import Line, advised, instead_of, lost, told
from chainrules_py.primitives.plugins import BACKENDS, announced, root_of, see, see_about, see_roots
from chainrules_py.registry.explain import public_name
from chainrules_py.tracing.array_like import ArrayLike, innermost, refuse_assignment
from chainrules_py.tracing.conversions import ElementError, MemberError, of_real_numbers, picture
from chainrules_py.tracing.foreign_arrays import is_stranger
from chainrules_py.tracing.library_calls import (
    SEQUENCES,
    Site,
    call_native,
    find_step,
    steps,
    to_import,
)
from chainrules_py.tracing.lost_derivative_notes import note_comparison, refuse_shortcut, shortcuts
from chainrules_py.tracing.object_arrays import element_methods
from chainrules_py.values.array_conversion import is_read, is_table
from chainrules_py.values.caches import forgets
from chainrules_py.values.caller_frames import caller, calling_module
from chainrules_py.values.dispatch_types import Tracer, called_beside, number_home, stood_for
from chainrules_py.values.find_tracers import untraced
from chainrules_py.values.structure import is_structure_type
from chainrules_py.values.type_info import refuse_derived, type_info


class Subscripts:
    """Container methods, only for arrays: NumPy takes any object that has them for a container."""

    def __len__(self: Any) -> int:
        return len(self.payload)

    def __iter__(self: Any) -> Any:
        return (self[i] for i in range(len(self)))

    def __contains__(self: Any, item: Any) -> bool:
        return untraced(item) in untraced(self)

    def __getitem__(self: Any, where: Any) -> Any:
        try:
            read_part = steps.table[type(self)]
        except KeyError:
            table = steps.open()
            read_part = table[type(self)] = self._reader()
        return read_part(self, where)


class Member:
    """A method or property of an array class, on its tracers.

    Each is set on the tracer class: a ``__getattr__`` would make every access to the tracer's own
    attributes four times as slow, and each call makes many of these.
    """

    __slots__ = ("name", "native")

    def __init__(self, native: Any, name: str) -> None:
        self.native, self.name = native, name

    def __get__(self, x: Any, owner: Any) -> Any:
        if x is None:
            return self
        if self.native not in aliases:
            see(self.native, ())
        if self.native not in aliases:
            line = Line(caller())
            owner = line.owner(self.name)
            fact = (
                f"{self.name} of {picture(x)} has no derivative that is known"
                if owner is not None or line.called is None
                else f"{line.called} takes plain arrays: it reads {self.name} of {picture(x)}"
            )
            library = sys.modules.get(type(untraced(x)).__module__.partition(".")[0])
            theirs = getattr(library, self.name, None)
            of_numpys: bool = callable(self.native) and hasattr(sys.modules.get("numpy"), self.name)
            constant = f"ignore_derivatives({owner}).{self.name}" if owner else line.with_constant()
            instead = (
                advised(self.native, line)
                or instead_of(line)
                or _out_of_place(x, self.name, owner or "x")
                or (theirs and to_import(theirs, public_name(theirs)))
                or (f"use np.{self.name}({owner or 'x'})" if of_numpys else None)
                or f"use {constant}, which is a constant"
            )
            msg = told(fact, line, instead)
            if x.home is not None:
                raise MemberError(msg)
            # A program may test whether the member exists.
            refusal = functools.partial(_refuse, x, msg, line)
            return refusal if callable(self.native) else refusal()
        if not callable(self.native):
            return call_native(self.native, (x,), {})
        native = self.native
        if x.home is not None:
            return lambda *xs, **keywords: called_beside(
                x.home, call_native, native, (x, *xs), keywords
            )

        def method(*operands: Any, **keywords: Any) -> Any:
            operands = (x, *operands)
            try:
                step = steps.table[native, *keywords, *map(type, operands)]
            except KeyError:
                step = find_step(native, operands, keywords)
            return step(*operands, **keywords)

        method.__name__ = self.name  # by which libraries of units know it
        return method

    def __set__(self, x: Any, value: Any) -> None:
        refuse_assignment(x, self.name)


def _refuse(x: Any, msg: str, line: Line, *_: Any, **__: Any) -> NoReturn:
    raise lost(x, msg, line)


def _refuse_hash(x: Any) -> int:
    line = Line(caller())
    fact = f"{picture(x)} cannot be a dict key or set member: it stands for any number"
    write = instead_of(line) or f"use {line.with_constant()}, which is a constant"
    _refuse(x, told(fact, line, write), line)


def _out_of_place(x: Any, name: str, owner: str) -> str | None:
    """Return what to write for a method that writes in place, whose name ends in an underscore."""
    y = owner if owner.replace(".", "").isidentifier() else "array"
    value = f"{y}.{name[:-1]}(...)" if hasattr(type(x), name[:-1]) else "..., its new value"
    made = f"write {f'{y} = {owner}, and ' * (y != owner)}{y}[...] = {value}"
    return made if name[-1] == "_" else None


def _read_number(x: Any, where: Any) -> Any:
    """Read a NumPy scalar by a valid index: one that adds axes, a truth value, or an empty one."""
    try:
        known = untraced(x)[where]
    except IndexError as error:
        text = f"{describe(x.payload)}, a number, is read at {where!r}; it has no elements"
        raise ElementError(text) from error
    return shape_back(x, known.shape) if known.size else known


def _array_namespace(x: Any, *, api_version: str | None = None) -> Any:
    """Return the namespace of the array API standard, whose functions trace."""
    return innermost(x).__array_namespace__(api_version=api_version)


def members(payload: type, tracer: type[ArrayLike] = ArrayLike) -> dict[str, Any]:
    """Collect the public members of an array class that its tracer class does not define."""
    native = {name: m for base in reversed(payload.__mro__) for name, m in vars(base).items()}
    own = {name for base in tracer.__mro__ for name in vars(base)}
    found: dict[str, Any] = {
        n: Member(m, n) for n, m in native.items() if not n.startswith("_") and n not in own
    }
    found["home"] = type_info(payload).home
    if hasattr(payload, "__array_namespace__"):
        found["__array_namespace__"] = _array_namespace
    found |= {name: f for name, f in of_real_numbers.items() if hasattr(payload, name)}
    if number_home(payload) is not None or payload in (int, float):
        found |= element_methods
    if type_info(payload).is_array:
        return found | _of_arrays | tracer.array_members
    # Without the None, Python would iterate by ``__getitem__``.
    index = (
        {"__getitem__": _read_number, "__iter__": None} if hasattr(payload, "__getitem__") else {}
    )
    return found | index | {"__hash__": _refuse_hash}


_DUCKS = ("astropy", "pandas", "pint", "polars", "pyarrow", "sparse", "unyt", "xarray")
"""Libraries that keep any array that has NumPy's protocols."""


@functools.cache
def _keeps_tracers(module: str) -> bool:
    """Return whether a library leaves operands of classes that it does not know to these classes.

    It has to see tracers as such: what it takes for NumPy's array, it would compute itself.
    """
    return not module.startswith("scipy.ndimage") and (  # what is no array, it does not write to
        module.partition(".")[0] in {*_DUCKS, *dict(announced(BACKENDS))} - {"numpy"}
    )


def answer_as(x: Any) -> type:
    """Return the class that `isinstance` sees: the payload's; the tracer's for some libraries."""
    keeps = _keeps_tracers(calling_module(("abc", "functools", "typing")))
    return type(x) if keeps else x.__dispatch_type__


class Classes(dict[type, Any]):
    """Table from the type of a value to its tracer class, or to a function that traces it.

    Parameters
    ----------
    base : type
        The base class of the tracers; each type of array and number has a subclass.
    of_fields : callable
        Called with a structure and the other arguments of a tracer; values without numbers are
        not traced.
    """

    def __init__(self, base: Any, of_fields: Callable[..., Any]) -> None:
        super().__init__()
        self.base, self.of_fields = base, of_fields
        # A value and what is read from it are of one class, if the caches are cleared in between.
        self.in_use = WeakKeyDictionary[type, ReferenceType[type]]()
        forgets(lambda: (self,))

    def __missing__(self, cls: type) -> Any:
        known = self.in_use.get(cls)
        if (made := known and known()) is None:
            made = self._made(cls)
            if isinstance(made, type):
                self.in_use[cls] = ref(made)
        self[cls] = made
        return made

    def _made(self, cls: type) -> Any:
        # NumPy's functions call methods of elements of arrays of objects, also of Python's numbers.
        see_roots({"numpy", *map(root_of, getattr(cls, "__dispatch_type__", cls).__mro__)})
        made: Any = lambda value, *_: value
        payload = type_info(cls).dispatch_type
        if type_info(cls).is_plain_number and payload not in (bool, int, float, complex):
            made = lambda value, *_: refuse_derived(value)
        elif (type_info(cls).is_array or type_info(cls).is_number) and payload is not bool:
            state: dict[str, Any] = {
                "__slots__": (),
                "__module__": self.base.__module__,
                "payload_type": cls,
            }
            if payload in stood_for:
                state["__class__"] = property(answer_as)
            made = type(
                f"{self.base.__name__}[{payload.__name__}]",
                (self.base,),
                members(payload, self.base) | state | {"__dispatch_type__": payload},
            )
            is_stranger(made)
        elif is_structure_type(cls):
            made = self.of_fields
        return made


def _unary(site: Site) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        try:
            step = steps.table[site, type(self)]
        except KeyError:
            step = site.step(self)
        return step(self)

    return method


def _binary(site: Site, name: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    native = site.primal

    def method(self: Any, other: Any) -> Any:
        try:
            step = steps.table[site, type(self), type(other)]
        except KeyError:
            table, cls = steps.open(), type(other)
            if _defers(self, other, reflected.__name__):
                y, info = _beside(other, self, method, native, reflected.__name__), type_info(cls)
                f = getattr(number_home(cls), site.primitive.__name__, None)
                if y is not NotImplemented or f is None or not info.is_number:
                    return y
                # What their reflected operator would call, after a search that takes 1 us.
                step = table[site, type(self), cls] = find_step(f, (self, other), {})
            else:
                step = site.step(self, other)
        return step(self, other)

    def reflected(self: Any, other: Any) -> Any:
        try:
            step = steps.table[site, type(other), type(self)]
        except KeyError:
            if _defers(self, other, name):
                return _beside(other, self, reflected, native, name)
            step = site.step(other, self)
        return step(other, self)

    method.__name__, reflected.__name__ = name, f"__r{name[2:]}"
    return (_of_two(method) if name == "__pow__" else method), reflected


def _of_two(power: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return ``pow``, which Python may call with a modulus."""

    def method(self: Any, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            text = "pow(x, y, z) of a traced value has no derivative; write pow(x, y) % z"
            raise lost((self, other), text, Line(caller()), UnsupportedKeywordError)
        return _squared(self) if type(other) is int and other == 2 else power(self, other)

    return method


def _noting(compare: Callable[[Any, Any], Any], equal: bool) -> Callable[[Any, Any], Any]:
    """Record a comparison for equality: see `chainrules_py.tracing.lost_derivative_notes`."""

    def method(self: Any, other: Any) -> Any:
        frame = caller()
        note_comparison(self, frame)
        y = compare(self, other)
        if y is equal:  # of Python's numbers, which make no library known
            home = str(frame.f_globals.get("__name__"))
            see_roots({home.partition(".")[0]})
            see_about(home)
        asks = frame.f_code in shortcuts and y is not NotImplemented
        if asks and not getattr(y, "shape", ()) and bool(y) is equal:
            refuse_shortcut(self, other, frame.f_code)
        return y

    return method


_squared = _unary(Site(*square_operator))


def _defers(self: Any, other: Any, theirs: str) -> bool:
    """Return whether an operator is left to the other operand: no array, number or tracer."""
    cls, mine = type(other), type_info(type(self)).dispatch_type
    if cls in SEQUENCES:
        # A list times a number is the list again and again, or an error.
        return number_home(mine) is None or (
            theirs in ("__mul__", "__rmul__") and not type_info(type(self)).is_array
        )
    known: Any = lambda: type_info(cls).is_array or type_info(cls).is_number
    if issubclass(cls, Tracer) or known() or (see(None, (cls,)) and known()) or is_table(cls):
        # Python first tries a class that derives from the class of the number.
        return (
            type_info(type(self)).is_python_number
            and issubclass(cls, mine)
            and getattr(cls, theirs, 0) is not getattr(mine, theirs, 0)
        )
    first = cls in (bytearray, memoryview) and theirs[3:5] in ("eq", "ne", "lt", "le", "gt", "ge")
    return number_home(mine) is None or not is_read(cls) or first


def _beside(other: Any, x: Any, method: Callable[..., Any], native: Any, theirs: str) -> Any:
    """Compute as the library of x does with other operands, or return NotImplemented."""
    info, cls = type_info(type(x)), type(other)
    ours = info.is_array or number_home(info.dispatch_type) is not None
    asked = hasattr(cls, "__array_ufunc__") or (
        getattr(other, "__array_priority__", -1e6) > (0.0 if info.is_array else -1e6)
    )
    rational = issubclass(cls, numbers.Rational)
    if cls in (str, bytes) and native not in _COMPARISONS:
        raise TypeError(
            f"{picture(x)} is computed with {other!r}, which is not a number; give a number"
        )
    if native in _COMPARISONS and not info.is_hidden:  # no derivative is lost: compare the value
        if ours and cls in (bytearray, memoryview):  # as the first operand, it compares bytes
            raise NotDifferentiableError(
                f"{describe(other)} is compared with {describe(x)}; write np.asarray of it"
            )
        asks = issubclass(cls, numbers.Number) or (ours and not asked)
        return native(untraced(x), other) if asks else NotImplemented
    if rational and not info.is_array:
        return method(x, int(other) if cls is bool else float(other))
    if asked or number_home(info.dispatch_type) is None or not info.is_array:
        return NotImplemented
    if rational or hasattr(cls, theirs):
        once = f"__array_ufunc__ = None in {cls.__qualname__}, for its {theirs} to be called once"
        instead = "float(...)" if rational else once
        raise NotDifferentiableError(
            f"{describe(other)} makes objects of the numbers of {describe(x)}; write {instead}"
        )
    return NotImplemented


_COMPARISONS = {operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge}


for _name, (_operation, _primal) in unary_operators.items():
    _whole = _unary(Site(_operation, _primal))
    if _name == "__round__":  # which Python may call with a number of decimals
        of_real_numbers[_name] = lambda x, n=None, f=_whole: f(x) if n is None else rounded(x, n)
    else:
        setattr(ArrayLike, _name, _whole)


def _reflected_divmod(x: Any, y: Any) -> Any:
    """Divide y by x; ``y % x`` itself would write x into a text of bytes."""
    found = x.__rfloordiv__(y), x.__rmod__(y)
    return NotImplemented if any([part is NotImplemented for part in found]) else found


# Python's operators raise on division of a number by zero; the operation does not.
of_real_numbers["__divmod__"] = lambda x, y: (x // y, x % y)
of_real_numbers["__rdivmod__"] = _reflected_divmod
_of_arrays: dict[str, Any] = {
    name: method for name, method in vars(Subscripts).items() if callable(method)
}
"""Methods that arrays have and numbers lack: subscripts."""
in_place_operators: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {}
"""By name of an in-place method: the method that computes it, and Python's operator."""
for _name, (_operation, _primal2) in binary_operators.items():
    _method, _reflected = _binary(Site(_operation, _primal2), _name)
    if _name in ("__eq__", "__ne__"):
        _method = _noting(_method, _name == "__eq__")
    setattr(ArrayLike, _name, _method)
    _native = getattr(operator, f"__i{_name[2:]}", None)
    if _native is not None:
        in_place_operators[f"__i{_name[2:]}"] = _method, _native
    if _native is not None or _name == "__divmod__":  # those with a reflected method
        setattr(ArrayLike, _reflected.__name__, _reflected)
