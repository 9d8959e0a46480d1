"""Arrays and numbers: what counts as one, said once; and the types that stand for a library.

Rules are dispatched on types, so the types have to be nominal: plum caches by type, and cannot
cache a Protocol. ``Array`` and ``Scalar`` are abstract classes that backends register with; for
static checkers, an array is whatever has the members below.
"""

from __future__ import annotations

import abc
import contextvars
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from chainrules_py.errors import NotDifferentiableError, ProjectionError, RuleError, describe

__all__ = [
    "Array",
    "Numeric",
    "Scalar",
    "Tracer",
    "dispatch_type",
    "is_array_type",
    "is_number_type",
    "is_tracer_type",
    "host_of",
    "lazy_array_type",
    "namespace",
    "refuse_type",
    "register_array_type",
    "register_host",
    "register_scalar_type",
]

if TYPE_CHECKING:

    class Array(Protocol):
        """Statically, an array is whatever has these members; no library inherits from us."""

        @property
        def shape(self) -> Any: ...  # noqa: D102
        @property
        def ndim(self) -> int: ...  # noqa: D102
        @property
        def dtype(self) -> Any: ...  # noqa: D102
        def __add__(self, other: Any, /) -> Any: ...
        def __radd__(self, other: Any, /) -> Any: ...
        def __sub__(self, other: Any, /) -> Any: ...
        def __rsub__(self, other: Any, /) -> Any: ...
        def __mul__(self, other: Any, /) -> Any: ...
        def __rmul__(self, other: Any, /) -> Any: ...
        def __truediv__(self, other: Any, /) -> Any: ...
        def __rtruediv__(self, other: Any, /) -> Any: ...
        def __pow__(self, other: Any, /) -> Any: ...
        def __matmul__(self, other: Any, /) -> Any: ...
        def __neg__(self) -> Any: ...
        def __getitem__(self, index: Any, /) -> Any: ...

    Scalar: TypeAlias = complex
else:

    class Array(abc.ABC):
        """Any n-dimensional array that a backend has registered."""

    class Scalar(abc.ABC):
        """A number: Python's int, float and complex, and what libraries register as scalars."""


for _number in (int, float, complex):
    Scalar.register(_number)  # type: ignore[attr-defined]

Numeric: TypeAlias = Array | Scalar
"""An array or a number: what an operand without an annotation is taken to be."""


class Tracer:
    """Interface that the core asks of an engine's stand-in for a value.

    An engine derives one class per type of payload and sets ``__dispatch_type__`` to the type
    that rules are to be chosen by: the payload's own, through all levels of nesting. Otherwise a
    user's rule, or a library's exception, would be lost at second order, in silence.
    """

    __slots__ = ()
    __dispatch_type__: ClassVar[type]

    @property
    def level(self) -> int:
        """Which differentiation it belongs to; the highest of a call's levels traces the call."""
        raise NotImplementedError

    @property
    def __payload__(self) -> Any:
        """The value that it stands for, one level down."""
        raise NotImplementedError

    def __trace__(
        self,
        primitive: Any,
        operands: tuple[Any, ...],
        options: dict[str, Any],
        primal: Callable[..., Any] | None = None,
    ) -> Any:
        """Compute ``primitive(*operands, **options)``, a call in which this level is the highest.

        ``primal`` is the function that the user called, if that is not the primitive itself.
        """
        raise NotImplementedError

    @classmethod
    def __step__(cls, primitive: Any, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """Find the function that traces a primitive on these operand classes, given all options.

        None for the general way: the highest level's `__trace__`. The answer is remembered.
        """
        return None


Host: TypeAlias = Callable[[Any, tuple[type, ...], Any], Callable[..., Any] | None]

_namespaces: dict[type, Any] = {}
_array_types: set[type] = set()
_zero_d_types: dict[type, type] = {}
_take: dict[type, Callable[[Any], Any]] = {}
_tracer_namespace: list[Any] = []
_on_change: list[Callable[[], None]] = []


# A subclass that redefines one of these computes differently from its base: the base's rules are
# wrong for it (np.matrix), so it is a type of its own until somebody registers it.
_ARITHMETIC = (
    "__array_ufunc__",
    "__array_function__",
    "__add__",
    "__mul__",
    "__matmul__",
    "__pow__",
    "__getitem__",
)


_moved_by_library: set[type] = set()
_by_words: set[type] = set()


def register_array_type(
    cls: type, namespace: Any, *, kind: type = Array, devices: bool = True, by_words: bool = False
) -> None:
    """Say that the instances of a class are arrays, and where their functions live.

    Parameters
    ----------
    cls : type
        The class of the arrays. Subclasses that do not redefine arithmetic follow it.
    namespace : module
        Where the functions of the array-API standard are found for them.
    kind : type
        The abstract class that stands for the library, from `lazy_array_type`; `Array` by default.
    devices : bool
        Whether a cotangent has to be moved to the device of its primal. Not where the library does
        so itself, or where its tracers have none.
    by_words : bool
        Whether functions of other libraries, as ``np.sort``, compute such arrays by the word that
        they are, where they are traced. By themselves they may do what the library would not.

    Examples
    --------
    >>> import numpy as np
    >>> class Millivolts(np.ndarray):
    ...     "Arrays that carry a unit in their type."
    >>> register_array_type(Millivolts, np)
    >>> namespace(np.ones(2).view(Millivolts)) is np
    True
    """
    kind.register(cls)  # type: ignore[attr-defined]
    _namespaces[cls] = namespace
    _array_types.add(cls)
    if not devices:
        _moved_by_library.add(cls)
    if by_words:
        _by_words.add(cls)
    for changed in _on_change:
        changed()


def has_device(cls: type) -> bool:
    """Tell whether arrays of a class have a device that their cotangents have to be on."""
    return not _moved_by_library or registered_base(dispatch_type(cls)) not in _moved_by_library


def computed_by_words(classes: tuple[type, ...]) -> bool:
    """Tell whether other libraries' functions are left to the words for these operand classes."""
    return bool(_by_words) and any([registered_base(cls) in _by_words for cls in classes])


_hosts: dict[type, Host] = {}
_hidden: set[type] = set()


def register_host(cls: type, host: Host, *, hidden: bool = False) -> None:
    """Say that calls with operands of a class are to be seen by another engine than ours.

    Parameters
    ----------
    cls : type
        The class of that engine's traced values; subclasses follow it.
    host : callable
        ``host(primitive, classes, implementation)`` gives what a call of a primitive with operands
        of these classes runs, with the operands by position and the options by keyword. It is asked
        once for these classes. ``implementation`` is what would run otherwise, or None if nothing
        computes it; giving it back leaves the call to the engine's own derivative of it. Of
        operands that are structures with such a value inside, the class is that of the structure.
    hidden : bool
        Whether there are no numbers to look at in such a value.

    Notes
    -----
    An engine that is asked here sees each call of a primitive in a program that it traces, as our
    own engine does: a rule is then not lost, at any order.
    """
    _hosts[cls] = host
    if hidden:
        _hidden.add(cls)
    for changed in _on_change:
        changed()


def is_hidden(cls: type) -> bool:
    """Tell whether a class, or a tracer's payload, has no numbers that could be looked at."""
    return bool(_hidden) and not _hidden.isdisjoint(dispatch_type(cls).__mro__)


def has_hosts() -> bool:
    """Tell whether any other engine registered its traced values."""
    return bool(_hosts)


def host_of(cls: type) -> Host | None:
    """Return the host that an engine registered for its traced values of this class, or None."""
    if not _hosts:
        return None
    return next((_hosts[base] for base in cls.__mro__ if base in _hosts), None)


def register_scalar_type(
    cls: type, namespace: Any, *, array: type, take: Callable[[Any], Any]
) -> None:
    """Say that the instances of a class are numbers of a library, and which its arrays are.

    A rule for numbers is looked for first, then one for a 0-d ``array``; ``take`` gives the number
    in one of these, without waiting for a device.
    """
    _take[array] = take
    Scalar.register(cls)  # type: ignore[attr-defined]
    _namespaces[cls] = namespace
    _zero_d_types[cls] = array
    for changed in _on_change:
        changed()


_number_homes: dict[str, Any] = {}


def register_number_home(root: str, namespace: Any) -> None:
    """Say that the functions of a library turn Python's numbers into scalars of its own.

    Tracing then does so first: ``np.log(0.0)`` is -inf with a warning, where ``math.log`` raises.
    """
    _number_homes[root] = namespace


def number_home(f: Any) -> Any | None:
    """Return the namespace whose scalars a function makes of Python's numbers, or None."""
    module = getattr(f, "__module__", None) or type(f).__module__
    return _number_homes.get(module.partition(".")[0])


_beside: contextvars.ContextVar[Any] = contextvars.ContextVar("beside", default=None)


def home_of(cls: type) -> Any | None:
    """Return the namespace of a type of arrays, or tracers; None if it makes scalars of numbers.

    Where such arrays are given to functions of another library, as CuPy's are to NumPy's, what
    stands beside them in lists becomes an array of their own.
    """
    cls = dispatch_type(cls)
    if not is_array_type(cls) or number_home(cls) is not None:
        return None
    return type_namespace(cls)


def beside() -> Any | None:
    """Return the namespace that lists become arrays of within `inside`, or None."""
    return _beside.get()


def inside(home: Any, call: Callable[..., Any], *args: Any) -> Any:
    """Make a call in which lists become arrays of a namespace; None leaves it as it is."""
    if home is None:
        return call(*args)
    token = _beside.set(home)
    try:
        return call(*args)
    finally:
        _beside.reset(token)


def is_python_number(cls: type) -> bool:
    """Tell whether values of a class are, or stand for, Python's own int, float or complex."""
    return dispatch_type(cls) in (int, float, complex)


def on_registration(changed: Callable[[], None]) -> None:
    """Have a function called whenever a type is registered: it forgets what it knew of types."""
    _on_change.append(changed)


def as_scalar(t: Any) -> Any:
    """Turn a Python number's tangent into a number, if its library has numbers beside arrays."""
    take = _take.get(type(t))
    return t if take is None or t.ndim else take(t)


def lazy_array_type(name: str, *, replaces: tuple[str, ...] = ()) -> type:
    """Make an abstract class that stands for a library's arrays and for its tracers.

    Parameters
    ----------
    name : str
        Its name, as it will be read in messages.
    replaces : tuple of str
        Qualified names (``"jax.Array"``) of classes that cannot be dispatched on and that are
        read as this one where they occur in an annotation.
    """
    cls = abc.ABCMeta(
        name, (Array,), {"__doc__": f"Stands for {name} before its library is there."}
    )
    for qualified in replaces:
        _replacements[qualified] = cls
    return cls


_replacements: dict[str, type] = {}


def replacement(annotation: Any) -> Any:
    """Return the lazy type that is read for an annotation which cannot be dispatched on."""
    qualified = f"{getattr(annotation, '__module__', '')}.{getattr(annotation, '__qualname__', '')}"
    return _replacements.get(qualified, annotation)


def dispatch_type(cls: type) -> type:
    """Return the type that rules go by: a tracer's innermost payload's, else the class itself."""
    return getattr(cls, "__dispatch_type__", cls)


def is_tracer_type(cls: type) -> bool:
    """Tell whether instances of a class are an engine's tracers."""
    return issubclass(cls, Tracer)


def is_array_type(cls: type) -> bool:
    """Tell whether instances are arrays, by themselves or by the value they stand for."""
    # An abstract class takes five times as long to say so.
    return cls in _array_types or issubclass(dispatch_type(cls), Array)  # type: ignore[misc]


def is_number_type(cls: type) -> bool:
    """Tell whether instances are, or stand for, numbers (bool among them)."""
    return issubclass(dispatch_type(cls), Scalar)


def zero_d_type(cls: type) -> type:
    """Return the array type to look a library's scalar up as, when there is no rule for numbers."""
    for base in cls.__mro__:
        if base in _zero_d_types:
            return _zero_d_types[base]
    return cls


def registered_base(cls: type) -> type | None:
    """Find the nearest class that a backend registered: the class itself, or one of its bases."""
    return next((base for base in cls.__mro__ if base in _namespaces), None)


def is_foreign(cls: type) -> bool:
    """Tell whether a class derives from a registered array type but computes in its own way."""
    base = registered_base(cls)
    if base is None or base is cls or not is_array_type(base):
        return False
    return any(getattr(cls, name, None) is not getattr(base, name, None) for name in _ARITHMETIC)


_refused: dict[str, str] = {}


def refuse_type(cls: str, instead: str) -> None:
    """Say that no derivative is taken in instances of a class, nor given as one of them.

    Parameters
    ----------
    cls : str
        The qualified name of a class of arrays that computes otherwise than the one it derives
        from. Rules do not count for it in any case; it is no input and no tangent either.
    instead : str
        What to write, as a part of a sentence.
    """
    _refused[cls] = instead
    for changed in _on_change:
        changed()


def refusal_of(cls: type) -> str | None:
    """Say what to write in place of a refused class's instances; None if it was not refused."""
    for base in dispatch_type(cls).__mro__:
        if (instead := _refused.get(f"{base.__module__}.{base.__qualname__}")) is not None:
            return instead
    return None


def check_served(x: Any, cls: type) -> None:
    """Raise for a value of a class, its own or its payload's, that no derivative is taken in."""
    if (instead := refusal_of(cls)) is not None:
        msg = f"no derivative is taken in {describe(x)} of class {cls.__qualname__}; {instead}"
        raise NotDifferentiableError(msg)


_unserved: dict[type, str | None] = {}
_on_change.append(_unserved.clear)


def check_tangent(t: object) -> None:
    """Raise for a tangent of a class that no derivative is given as."""
    cls = type(t)
    if cls not in _unserved:
        _unserved[cls] = refusal_of(cls)
    if (instead := _unserved[cls]) is not None:
        msg = f"a {cls.__qualname__} is never a tangent; {instead}"
        raise ProjectionError(msg)


def type_namespace(cls: type) -> Any | None:
    """Return the namespace of a type, or None if no backend has spoken for it."""
    base = registered_base(cls)
    return None if base is None else _namespaces[base]


def namespace_of(cls: type) -> Any:
    """Return the namespace of a type that a backend has spoken for; a tracer's is its payload's."""
    found = type_namespace(dispatch_type(cls))
    if found is None:
        msg = (
            f"{cls.__module__}.{cls.__qualname__} is no registered array type; "
            f"register_array_type({cls.__qualname__}, namespace) makes it one"
        )
        raise RuleError(msg)
    return found


def namespace(x: Any) -> Any:
    """Return the array namespace (numpy, cupy, ...) of a value; of a tracer, the vocabulary.

    A rule takes dtypes and constants from it, and computes with words.

    Raises
    ------
    RuleError
        If no backend has registered the type of ``x``.
    """
    cls = type(x)
    return _tracer_namespace[0] if is_tracer_type(cls) else namespace_of(cls)
