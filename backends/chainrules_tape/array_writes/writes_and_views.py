"""In-place writes to tracers: which memory is written to, and which values see the write.

A tracer that is written to takes the value of a functional operation. Nothing that was recorded or
returned before sees the write: memory is written to only if nothing else refers to it, and is
copied once otherwise. So n writes to one buffer cost n.

A write to a view is seen through all views of its array, as in NumPy: a view remembers the tracer
that it was read from and the call that read it. Tracers without views have no cost. The states of
a view are drawn in `chainrules_tape.array_writes`.
"""

from __future__ import annotations

import itertools
import sys
import threading
import types
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, final

from chainrules_py import MutationError, TracerError, space
from chainrules_py.extend import (
    ArrayLike,
    Cache,
    Line,
    Tracer,
    as_result,
    asks_first,
    call_native,
    caller,
    captured,
    describe,
    find_tracers,
    forgets,
    has_known_layout,
    in_place_operators,
    innermost,
    joined,
    kind_of,
    map_leaves,
    notes,
    objects,
    overlap,
    part,
    plain,
    read_for,
    refuse_exchange,
    refuse_plain,
    remedy,
    set_class,
    share_memory,
    told,
    type_info,
    untraced,
)
from chainrules_py.ops.engine_operations import (
    Index,
    converted,
    duplicate,
    masked,
    place,
    read,
    shape_back,
    shaped,
    sharing,
    stacked,
    store,
    written_through,
)
from chainrules_tape.core.cotangent_routing import LEAF, Cotangents, Routing
from chainrules_tape.core.variable import BareVariable

# ----------------------------------------------------------------------------------------- views

LIKE, UNLIKE, UNCLEAR = range(3)
"""Layouts of a tracer. LIKE: its memory is laid out as NumPy's would be, so that reshaping gives a
view in both. UNLIKE: whether reshaping gives a view in NumPy cannot be decided here. UNCLEAR: it is
the result of such a reshaping, which NumPy may return as a copy instead of a view."""


def is_in_order(x: Any) -> bool:
    """Return whether an array's memory is in C order: reshaping gives a view."""
    return getattr(x, "ndim", 0) < 2 or share_memory(shape_back(x, (-1,)), x)


class Call(tuple[Any, tuple[Any, ...], Any]):
    """Call that read a view, as ``(op, rest, options)``: ``op(parent, *rest, **options)``.

    Each transpose of a program creates one; a named tuple would cost a Python call.
    """

    __slots__ = ()


@final
class View:
    """Memory that a tracer shares with others, created at the first read or write.

    Attributes
    ----------
    parent : tracer or None
        The tracer that it was read from.
    how : object
        The index by which it was read, as the user wrote it or as an `Index`; or the `Call` of an
        operation.
    layout : {LIKE, UNLIKE, UNCLEAR}
        Whether its memory is laid out as NumPy's would be.
    written : bool
        Whether the tracer, or a part of it, was written to.
    children : list or None
        Weak references to the tracers that were read from it and are current, and to arrays of its
        elements that `np.asarray` gave.
    limit : int
        Number of children at which dead references are removed.
    link : object
        The link that the latest records of its parts share; its ``parents`` says for which value of
        the tracer it was made.
    copied : tuple or None
        The indices of its part that was last written with another part, and of that one.
    """

    # No __init__: each slice of a program creates a view, and a Python call would be a tenth of it.
    parent: Any = None
    how: Any = None
    layout: int = LIKE
    written = False
    children: list[Any] | None = None
    limit = 16
    link: Any = LEAF
    copied: Any = None

    @classmethod
    def of(cls, parent: Any, how: Any, layout: int) -> View:
        """Return the view of a tracer from which nothing was read yet."""
        view = cls()
        view.parent, view.how, view.layout = parent, how, layout
        return view

    @property
    def pattern(self) -> Index | None:
        """The index by which it was read; None if another operation read it."""
        how = self.how
        if type(how) is Call:
            return None
        return how if type(how) is Index else Index.split(how)[0]

    def read_again(self) -> Any:
        """Repeat the read from the parent."""
        pattern = self.pattern
        if pattern is not None:
            return read(self.parent, index=pattern)
        operation, rest, options = self.how
        return operation(self.parent, *rest, **options)

    def add(self, child: Any) -> None:
        """Add a view of this tracer; dead references are removed from time to time."""
        if self.children is None:
            self.children = []
        self.children.append(weakref.ref(child))
        if len(self.children) > self.limit:
            self.forget()

    def forget(self) -> None:
        """Remove dead references."""
        with writing:
            self.limit = 2 * len(self.living()) + 16

    def living(self) -> list[Any]:
        """Return the views of this tracer that exist and are current, and forget others.

        An outdated view is added again when it is read again, so that a write to one of n views
        does not cost n.
        """
        children = self.children or []  # to which other threads may add meanwhile
        n = len(children)
        found = [x for of in children[:n] if not issubclass(type(x := of()), _GONE)]
        children[:n] = map(weakref.ref, found)
        return found


# Held while a tracer is written to or read again, and while its view is created: threads may
# write to parts of one array.
writing = threading.RLock()


def view_of(x: Any) -> View:
    """Return the view of a tracer; create it if there is none."""
    with writing:
        x.as_view = getattr(x, "as_view", None) or View()
        return x.as_view  # type: ignore[no-any-return]


def share(y: Any, x: Any) -> bool:
    """Return whether two values share memory; for tracers, whether y is a view of x."""
    if not isinstance(y, Tracer):
        return share_memory(y, x)
    while y is not x:
        y = getattr(getattr(y, "as_view", None), "parent", None)
        if y is None:
            return False
    return True


def fits(array: Any, *given: Any) -> bool:
    """Return whether an array, or its tracer, can hold values without another engine seeing it.

    A Taylor series, and the examples of `vmap`, cannot be written to.
    """
    cls = type(array)
    if {cls}.issuperset(map(type, given)) and not issubclass(cls, Tracer):
        return True
    hosts, level = (None, type_info(cls).host), getattr(array, "level", 0)
    return (issubclass(cls, Writable) or not issubclass(cls, Tracer)) and all(
        [getattr(x, "level", 0) <= level and type_info(type(x)).host in hosts for x in given]
    )


def note_view(
    made: Any, operation: Any, operands: tuple[Any, ...], options: Any, y: Any, payload: Any
) -> None:
    """Note that the result of a call is a view of its first operand, if it is one.

    A small part of an array that is being written to gets memory of its own: otherwise a record
    that saves the part would keep the whole memory, which each write would then have to copy.

    Parameters
    ----------
    made : tracer
        The result.
    operation, operands, options
        The call.
    y, payload
        The payloads of the result and of the first operand.
    """
    if type(y) is not type(payload):
        return  # an element
    x = operands[0]
    view = getattr(x, "as_view", None)
    layout = LIKE if view is None or view.layout is LIKE else UNLIKE
    how: Any = None
    if operation is read:
        if options["index"].is_basic:
            how = options["index"]
        elif any([getattr(a, "shape", True) for a in operands[1:]]) or not share(y, payload):
            return
    else:
        shares = sharing.get(operation)
        if shares == "layout" and layout:
            layout = UNCLEAR
        elif shares != "view" and not share(y, payload):
            if shares != "filled":
                return
            layout = UNLIKE
    if view is None:
        view = view_of(x)
    if how is None:
        how = Call((operation, operands[1:], options))
    made.as_view = new = View()  # `View.of`, written out
    new.parent, new.how, new.layout = x, how, layout
    if view.written and 2 * made.size <= x.size:
        made.own_memory()
    view.add(made)  # last: a write in another thread may outdate it from now on


def plain_holder(x: Any) -> Any:
    """Return the tracer of the outermost level, whose payload is a plain array."""
    while isinstance(x.payload, Tracer):
        x = x.payload
    return x


# --------------------------------------------------------------------------------- outdated views


def current(x: Any) -> Any:
    """Return a tracer, after reading it again if it is outdated."""
    if issubclass(type(x), Outdated):
        x._read_again()
    return x


class Outdated:
    """First base of the classes of outdated tracers.

    Access to the state of an outdated tracer reads it again and restores its class.
    """

    __slots__ = ()
    fresh: type
    as_view: View

    def _read_again(self) -> None:
        with writing:
            chain: list[Any] = [self]
            while issubclass(type(chain[-1]), Outdated):
                chain.append(chain[-1].as_view.parent)
            for x in chain[-2::-1]:
                x._read_from_current()

    def _read_from_current(self) -> None:
        view, pending = self.as_view, type(self)
        if view.layout is UNCLEAR:
            raise MutationError(
                "an array was written to, of which "
                + (
                    "ravel or reshape"
                    if sharing.get(view.how[0]) == "layout"
                    else view.how[0].__name__
                )
                + " gave a part that is used after that; it is not known whether NumPy would have "
                "given a view, which the write would have changed, or a copy: write .copy() behind "
                "it where it is read, as in c = A[:, k].ravel().copy()"
            )
        set_class(self, pending.fresh)
        try:
            new = view.read_again()
            self._become(new)  # type: ignore[attr-defined]
            view.layout = min(getattr(new, "as_view", view.parent.as_view).layout, UNLIKE)
            view.parent.as_view.add(self)
        except BaseException:
            set_class(self, pending)
            raise

    def __trace__(self, *operands: Any, **options: Any) -> Any:
        return current(self).__trace__(*operands, **options)

    make_step: Any = classmethod(lambda *_: None)  # an outdated tracer is read again first
    __step__: Any = make_step


_GONE = (type(None), Outdated)
_outdated: dict[type, type] = {}
forgets(lambda: (_outdated,))


def _outdate(x: Any) -> None:
    """Change the class of a tracer to its outdated variant, which has the same slots."""
    cls: Any = type(x)
    try:
        set_class(x, _outdated[cls])
    except KeyError:
        members: dict[str, Any] = {name: _state(name) for name in (*cls.state, "level")}
        members |= {"__slots__": (), "__module__": cls.__module__, "fresh": cls}
        made = type(f"Outdated{cls.__name__}", (Outdated, cls), members)
        set_class(x, _outdated.setdefault(cls, made))


def _state(name: str) -> property:
    return property(lambda x: getattr(current(x), name))


# ------------------------------------------------------------------------------------- the writes


def check_writable(x: Any) -> None:
    """Raise if a view cannot be written to because the array it was read from cannot.

    Raises
    ------
    MutationError
        If it is a view of the real or imaginary part of complex numbers, if its library made it
        read-only, or if it is unknown whether NumPy would have made a copy.
    """
    array, view = x, getattr(x, "as_view", None)
    while view is not None and (view.parent is not None or view.layout is UNCLEAR):
        of, x, unclear = x, view.parent, view.layout is UNCLEAR
        read_only = not unclear and _is_read_only(of, view)
        if unclear or read_only or x.dtype != of.dtype:
            reason = (
                f"is memory of an array that {view.how[0].__name__} was given, which would show it"
                if x is None
                else f"is what {view.how[0].__name__} gave of an array whose order in memory may "
                f"be another in NumPy, so it is not known whether it would have given a view"
                if unclear
                else "is read-only, as its library gives such views"
                if read_only
                else "holds parts of the numbers of another array"
            )
            line = Line(caller())
            name = line.option("out") or line.written or ""
            write = (
                f"write {name} = {name}.copy() once, above it"
                if name.isidentifier()
                and (line.called is None or line.frame.f_locals.get(name) is array)
                else "write to a copy of it (y = y.copy())"
            ) + (
                ", or write to the array that it was read from"
                if unclear or read_only
                else "; if that array is read again, write to that array, both parts at once, as "
                "in z[0] = x + 1j * y"
            )
            raise MutationError(
                told(f"{describe(of.payload)} is written to, and {reason}", line, write)
            )
        view = x.as_view


def _is_read_only(x: Any, view: View) -> bool:
    """Return whether a view is read-only although the owner of its memory is writable."""
    if type(view.how) is Call and sharing.get(view.how[0]) == "filled":
        return True  # a copy in place of a view that is read-only
    own: Any = innermost(x)
    if (
        own is innermost(view.parent)  # the real part of real numbers is the array itself
        or type_info(type(own)).host is not None  # which is first written to as an array
        or getattr(getattr(own, "flags", None), "writeable", True)
    ):
        return False
    # A guard locks owners and views of all of them; a part of what was written to has own memory.
    of_library = own.base is not None or not view.parent.as_view.written
    return getattr(getattr(own.base, "flags", None), "writeable", of_library)


def replace_value(x: Any, z: Any) -> None:
    """Write all of z to x, in the memory layout of the previous value where possible."""
    before = plain_holder(x).payload
    x._become(z)
    holder = plain_holder(x)
    if _layout(before) not in (None, _layout(holder.payload)):
        if type(holder.payload) is type(before):
            memory: Any = type_info(type(before)).memory
            holder.payload = memory.laid_out(holder.payload, before)
        _compare(x, before)


def _compare(x: Any, before: Any) -> None:
    """Note whether the memory layout of a tracer differs from the previous one."""
    if _layout(before) not in (None, _layout(plain_holder(x).payload)):
        view_of(x).layout = max(view_of(x).layout, UNLIKE)


def _layout(x: Any) -> Any:
    """Return the memory layout of a value by the library of its own class, if it has memory."""
    return (memory := type_info(type(x)).memory) and memory.layout(x)


def write_back(x: Any) -> None:
    """Write a view that was written to back to its parents, and mark other views outdated."""
    view, written, unlike = _mark_written(x), [], LIKE
    while view.parent is not None:
        written.append(x)
        unlike = unlike or view.layout
        parent, pattern = view.parent, view.pattern
        if pattern is None:
            replace_value(parent, written_through(parent, x, *view.how))
        elif not parent._put(pattern, (), x):
            replace_value(parent, store(parent, x, index=pattern))
        view, x = _mark_written(parent, but=x), parent
    # They are read again, so that their layout is NumPy's if the array's layout is.
    for x in written if unlike else ():
        _outdate(x)
        x.as_view.parent.as_view.living()  # which forgets x


def _mark_written(x: Any, but: Any = None) -> View:
    """Mark the views of a tracer that was written to as outdated; return the tracer's own view."""
    if (run := notes.get(x.level)) is not None:
        run.writes = True
    mine = view_of(x)
    reached = [(x, mine)]
    for x, view in reached:  # a view of an outdated one is outdated
        view.written = True
        for child in view.living() if view.children else ():
            if not issubclass(type(child), Tracer):
                raise MutationError(
                    f"{describe(x.payload)} is written to, of which np.asarray gave the elements "
                    f"before: they are still used; write np.array in place of np.asarray, or "
                    f"y = y.copy() before the write"
                )
            if child is not but and child.as_view.parent is x:
                reached.append((child, child.as_view))
    for x, _ in reached[1:]:
        _outdate(x)
    for _, view in reached:
        if view.children:
            view.living()  # which forgets those that are outdated now
    return mine


# ------------------------------------------------------------------------------ sole references


def alone(holder: Any, name: str = "payload") -> bool:
    """Return whether an array has no reference but its holder's, and no view, so writing is safe.

    Records, variables, the caller and views each hold a reference, so counting references finds all
    that keep the array.
    """
    if sys.getrefcount(getattr(holder, name)) > _ONE_HOLDER:
        return False
    value = getattr(holder, name)
    cls = type(value)
    if issubclass(cls, Tracer):
        view = getattr(value, "as_view", None)
        return issubclass(cls, Writable) and (
            view is None or (view.parent is None and not view.living())
        )
    info = type_info(cls)
    if info.memory is None or info.memory.owner(value) is not value:
        return False
    return info.library.mutable is not None and info.library.mutable(value)


_HOLDER = types.SimpleNamespace(payload=object())
_ONE_HOLDER = sys.getrefcount(_HOLDER.payload)


# ---------------------------------------------------------------------------------------- writing


def set_item(self: Any, where: Any, value: Any) -> None:
    """Write ``self[where] = value``, for an index as Python passes it."""
    if issubclass(type(self), Outdated):
        self._read_again()
    value = joined(value) if objects else value
    cls = type(value)
    traced = issubclass(cls, Tracer)
    view = getattr(value, "as_view", None) if traced else None
    if cls is list or cls is tuple or type_info(cls).home is not None:
        value = read_for(self, value)
        cls = type(value)
    own = view is not None and view.parent is self  # both sides are parts of one array
    if not (traced or cls in _NUMBERS or type_info(cls).is_array or type_info(cls).is_number):
        refuse_inner(self, value)
        value = stacked(value, self)
        traced = isinstance(value, Tracer)
    pattern, arrays = Index.split(where, lambda entry: place(entry, self))
    arrays = read_for(self, arrays) if arrays else arrays
    if traced:
        if own:
            source = value.as_view.pattern
            if source == pattern:
                return  # the second half of x[1:3] += y: a part is written back where it was read
            if issubclass(cls, Outdated) and self.as_view.copied == (source, pattern):
                refuse_exchange()
            self.as_view.copied = (pattern, source)
        if value.level > self.level:
            refuse_inner(self, value)
        if kind_of(self) in ("int", "bool"):
            value = converted(value, self.dtype)  # which has no derivative
    if arrays or not (traced or cls in _NUMBERS):
        arrays = tuple([plain(a) for a in arrays])
        for x in (value, *arrays):
            kind_of(x)  # which raises for classes that are refused
    with writing:  # another thread may have outdated it: the access to its state reads it again
        check_writable(self)
        if not self._put(pattern, arrays, value):
            replace_value(self, store(self, value, *arrays, index=pattern))
        write_back(self)


def put_elements(target: Any, y: Any) -> Any:
    """Write a traced array into an array of objects, element by element."""
    if y.shape != target.shape:
        refuse_plain(target, y)
    for where in itertools.product(*map(range, y.shape)):
        target[where] = y[where]
    return target


_NUMBERS = (float, int, complex, bool)


def assign(x: Any, z: Any, natively: Callable[[Any], Any]) -> None:
    """Make x the value z, in the shape and dtype of x, as overwriting an array does.

    ``natively(array)`` does the same to a plain array; it raises its library's error where z does
    not fit x.
    """
    refuse_inner(current(x), z)
    is_array = type_info(type(x)).is_array  # to a number nothing can be written
    if not is_array or z.shape != x.shape or z.dtype != x.dtype:
        natively(duplicate(innermost(x)) if is_array else innermost(x))
        z = converted(shaped(z, x.shape), x.dtype)
    if not type_info(type(z)).is_array:  # NumPy returns numbers for arrays without axes
        set_item(x, Ellipsis, z)
        return
    with writing:
        check_writable(x)
        replace_value(x, z)
        write_back(x)


def in_place(
    name: str, operation: Callable[[Any, Any], Any], native: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    """Return the method ``__iadd__`` for ``__add__``."""

    def method(self: Any, other: Any) -> Any:
        info = type_info(type(self))
        if info.base and (
            getattr(info.dispatch_type, name, None) is not getattr(info.base, name, None)
        ):
            line, cls = Line(caller()), info.dispatch_type.__qualname__
            raise TracerError(
                told(
                    f"{cls} has its own {name}, which is not traced",
                    line,
                    f"{remedy(line) or 'write y = y * x for y *= x'}, if {cls} computes the same",
                )
            )
        if asks_first(self, other):
            return NotImplemented  # so that x becomes the other library's array
        other = read_for(self, other)
        z = operation(self, other)
        if z is NotImplemented:
            return z
        assign(self, z, lambda array: native(array, innermost(other)))
        return self

    return method


def refuse_inner(x: Any, value: Any) -> None:
    """Raise if a value belongs to a differentiation that began inside that of x."""
    for inner in find_tracers(value):
        if inner.level > x.level:
            raise TracerError(
                f"{describe(inner)} is written into {describe(x)}, which comes from outside of the "
                f"differentiation: it would hold a traced value when that is over; make the "
                f"buffer inside, of the value v that is written, as b = np.zeros_like(v, shape=n) "
                f"or b = b + np.zeros_like(v, shape=b.shape), or return the value"
            )


# ------------------------------------------------------------- tracers that can be written to


class Writable(ArrayLike):
    """Tracer that can be written to, with its view."""

    __slots__ = ()
    joins_objects = True
    array_members: ClassVar = {"__setitem__": set_item} | {
        name: in_place(name, *pair) for name, pair in in_place_operators.items()
    }
    payload: Any
    state: ClassVar[tuple[str, ...]]
    _leaf: Callable[[Any], Any]

    @property
    def has_known_layout(self) -> bool:
        """Whether its memory is laid out as the program's own array would be."""
        view = getattr(current(self), "as_view", None)
        return view is None or view.layout is LIKE

    def frozen(self) -> Any:
        """Return a copy of the tracer that shares its memory until one of the two is written to."""
        current(self)
        made = object.__new__(type(self))
        for name in self.state:
            setattr(made, name, getattr(self, name))
        return made

    def owned(self) -> Any:
        """Return a copy as an array of its own: a write to one is not seen by the other."""
        if not hasattr(self, "__setitem__"):  # a number
            return self
        made = self.frozen()
        # If it is not in C order, the program's own array may be laid out differently.
        made.as_view = View.of(None, None, LIKE if is_in_order(innermost(made)) else UNLIKE)
        return made

    def forget_view(self, operands: tuple[Any, ...]) -> None:
        """Forget the view: the function that returned it returns arrays of their own.

        If it is composed, and the operands or the result are not in C order, the program's own
        array may be laid out differently.
        """
        alike = getattr(self.payload, "ndim", 0) < 2 or all(
            [is_in_order(innermost(x)) and has_known_layout(x) for x in find_tracers(operands)]
            + [not operands or is_in_order(innermost(self))]
        )
        if getattr(self, "as_view", None) is not None or not alike:
            self.as_view = View.of(None, None, LIKE if alike else UNLIKE)

    def view_unclearly(self, x: Any, f: Any) -> None:
        """Note that it is a view of x in the library, unless it is known here as one.

        Both can be read. A write to one is not seen by the other, so either the write raises or
        the next use of the other does.
        """
        if not share(self, x):
            self.as_view = View.of(x, Call((f, (), {})), UNCLEAR)
            view_of(x).add(self)

    def note_shared(self, x: Any, f: Any, y: Any, payload: Any) -> None:
        """Note that it is a view of an operand, if their payloads share memory."""
        if share(y, payload):
            if type(x) is type(self) and x.level == self.level:
                self.view_unclearly(x, f)
            elif hasattr(self, "__setitem__"):  # a view of a plain array, or of another level
                self.as_view = View.of(None, Call((f, (), {})), UNCLEAR)

    def lend(self, made: Any) -> None:
        """Note an array of this array's elements, which NumPy takes for the array itself."""
        x, made.flags.writeable = self, False
        while x is not None:
            view_of(x).add(made)
            x = x.as_view.parent

    note_view = note_view  # pyright: ignore[reportAssignmentType]

    def own_memory(self) -> None:
        """Copy the payload, so that it does not keep the memory of the array it was read from."""
        before = plain_holder(self).payload
        self.payload = duplicate(self.payload)
        _compare(self, before)

    def _put(self, pattern: Any, arrays: tuple[Any, ...], value: Any) -> bool:
        """Write a value into the memory itself; return False, without effect, if it is shared."""
        return False

    def _constant(self, value: Any) -> Any:
        """Return a plain value at this level, so that traced values can be written into it."""
        if kind_of(value) not in ("real", "complex"):
            return value
        inner = self.payload
        return self._leaf(inner._constant(value) if isinstance(inner, ArrayLike) else value)

    def _become(self, z: Any) -> None:
        """Take the value and the state of another tracer, or the value of a plain array."""
        if not isinstance(z, ArrayLike) or z.level != self.level:
            z = self._constant(z)
        set_class(self, type(z))
        for name in self.state:
            setattr(self, name, getattr(z, name))

    def _with_out(self, ufunc: Any, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a ufunc with ``out``; NumPy also calls one for ``plain += x``."""
        if len(keywords["out"]) > 1:
            return call_native(ufunc, operands, keywords)
        (target,), rest = keywords["out"], {k: y for k, y in keywords.items() if k != "out"}
        # Two concern the target, not the value; NumPy's own ``var`` passes both.
        how = {k: y for k, y in rest.items() if k not in ("subok", "casting")}
        if not isinstance(target, ArrayLike):
            if objects and joined(target) is not target and target.ndim:
                return put_elements(target, ufunc(*operands, **how))
            # A comparison has no derivative; where it is traced all the same, it is not written.
            full = {k: True if k == "where" else y for k, y in how.items()}
            if kind_of(target) == "bool" and not isinstance(ufunc(*operands, **full), Tracer):
                return ufunc(*map(innermost, operands), out=target, **rest)
            refuse_plain(target, next(x for x in operands if isinstance(x, Tracer)))
        mask = how.pop("where", True)
        assign(
            target,
            ufunc(*operands, **how)
            if mask is True
            else masked(read_for(target, mask), target, partial(ufunc, **how), operands),
            lambda array: ufunc(*map(innermost, operands), out=array, **rest),
        )
        return target


class WritableOnTape(Writable, BareVariable):
    """Variable that can be written to: the write is recorded, and done in its own memory."""

    __slots__ = ()

    def _put(self, pattern: Any, arrays: tuple[Any, ...], value: Any) -> bool:
        """Record a write whose result is the memory that was written to."""
        tape, traced = self.tape, issubclass(type(value), Tracer)
        mine = traced and getattr(value, "tape", None) is tape
        y = value.payload if mine else value
        asks = arrays or issubclass(type(y), Tracer) or type_info(type(y)).host is not None
        closed = type(tape).append is not list.append  # which raises when it records
        if not alone(self) or (asks and not fits(self.payload, y, *arrays)) or closed:
            return False
        classes = (self.payload_type, type(y), *map(type, arrays))
        try:
            pull = _puts.table[classes, mine]
        except KeyError:
            # NumPy converts or refuses a value that is no number, whatever types are known.
            like = self.payload if kind_of(y) == "other" else y
            pull = _find_put(classes, mine, (self.payload, like, *arrays), pattern)
        if pull is None:
            return False
        self.payload[pattern.join(arrays)] = y
        last = tape[self.place]
        of = last[3] if type(last[1]) is Overwrite else space(self.payload)
        links = Overwrite((self.place, value.place) if mine else (self.place,))
        record = (pull, links, {"index": pattern}, of, space(y) if mine else None, *arrays)
        self.place = len(tape)
        tape.append(record)
        for a in arrays:
            tape.guard.capture(a, record)
        return True


class Overwrite(Routing):
    """Links of a write into memory of a tracer: the overwritten elements get no cotangent.

    The cotangent of the result becomes that of the buffer before the write, with zeros at the
    elements that were written. If it is a sum made here, the zeros are written into it, so that n
    writes cost n in the backward pass as well. The parents are the buffer, and the value if it is
    traced.
    """

    __slots__ = ()

    def pull(self, bars: Cotangents, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Send the value its part of the cotangent, and the buffer the rest."""
        (x, *values), pull, saved = self.parents, record[0], record[2:]
        mine = bars.release(index)
        bars[index] = None
        for y in values:
            bar = part(pull, 1, y_bar, saved)
            bars.add(y, duplicate(bar) if mine and share(bar, y_bar) else bar)
        if mine and type_info(type(y_bar)).is_array and fits(y_bar, *saved[3:]):
            y_bar[saved[0]["index"].join(saved[3:])] = 0
        else:
            y_bar = part(pull, 0, y_bar, saved)
        if bars[x] is None and type_info(type(y_bar)).is_array:
            bars.adopt(x, y_bar)
        else:
            bars.add(x, y_bar)


_puts = Cache()


def _find_put(
    classes: tuple[type, ...], mine: bool, operands: tuple[Any, ...], pattern: Any
) -> Any:
    """Return the pull of `store` for these types; None if its rule is not linear."""
    table, wanted = _puts.open(), (True, mine, *[False] * (len(classes) - 2))
    # The write is done, and only the record is needed.
    bound = WritableOnTape.tracing.find(store, _unchanged, classes, wanted)[1]
    pull = (
        bound.run(None, *map(untraced, operands), index=pattern)[1][0]
        if bound and bound.recipe.is_linear
        else None
    )
    table[classes, mine] = pull
    return pull


def _unchanged(x: Any, *_: Any, index: Any) -> Any:
    return x


# ------------------------------------------------------------------- writes that must not happen


def settled(y: Any) -> Any:
    """Read outdated tracers of a result again, and join arrays of objects, when a function ends."""
    cls = type(y)
    if issubclass(cls, Tracer):
        if issubclass(cls, Outdated):
            y._read_again()
        return y
    for x in find_tracers(y):
        current(x)
    return as_result(map_leaves(joined, y))


def check_unwritten(given: list[Any], leaves: list[Any]) -> None:
    """Raise if arguments that are tracers were written to by another name while a function ran.

    Raises
    ------
    MutationError
        If one was: the function has computed with the values before the write, unlike in NumPy.
    """
    for x, before in zip(given, leaves, strict=True):
        if x is not before and any([getattr(x, n) is not getattr(before, n) for n in x.state]):
            raise MutationError(
                f"{describe(innermost(x))}, an argument of the function that is differentiated, "
                f"was written to from inside, by its name outside; write to the argument itself, "
                f"which is a copy, or before the call"
            )


def check_alone(f: Any, traced: list[Any], leaves: list[Any]) -> None:
    """Raise if an argument was written to whose memory the function can also reach by another name.

    Raises
    ------
    MutationError
        If one was: the write is not seen through the other name, unlike in NumPy.
    """
    for i, (x, before) in enumerate(zip(traced, leaves, strict=True)):
        view = None if x is before else getattr(x, "as_view", None)
        if view is None or not view.written:
            continue
        array, level = innermost(before), x.level
        memory = type_info(type(array)).memory
        owner = array if memory is None else memory.owner(array)

        def is_it(y: Any) -> bool:
            inner = issubclass(type(y), Tracer) and y.level == level  # noqa: B023
            return not inner and (y is owner or overlap(innermost(y), array))  # noqa: B023

        others = [y for k, y in enumerate(leaves) if k != i and is_it(y)]
        if others or captured([f], is_it=is_it):
            where = "another argument" if others else "something the function knows besides"
            raise MutationError(
                f"{describe(array)}, argument {i}, is written to in place, and {where} shares its "
                f"memory, where the write would not be seen as it is in NumPy; write to a copy, as "
                f"x = x.copy(), or pass a copy"
            )


def handed_out(x: Any) -> Any:
    """Return the payload of a tracer, as an array that the caller may keep and write to."""
    cls = type(x.payload)
    if issubclass(cls, Tracer):
        return x.payload.owned()
    if type_info(cls).memory is None or alone(x):
        return x.payload
    return duplicate(x.payload)
