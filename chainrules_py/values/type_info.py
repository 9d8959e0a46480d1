"""Type facts: one `TypeInfo` per class, made when the class is first looked up.

Libraries and engines register their classes; each fact about a class is an attribute of its
`TypeInfo`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from numbers import Number
from typing import Any, NamedTuple, NoReturn, TypeAlias, final

from chainrules_py.errors import NotDifferentiableError, ProjectionError, RuleError, describe
from chainrules_py.values.caches import entering, forget_all, forgets
from chainrules_py.values.dispatch_types import Array, Scalar, Tracer, number_home
from chainrules_py.values.library import Library, is_namespace
from chainrules_py.values.locks_and_modes import Lock
from chainrules_py.values.structure import structure_of

Host: TypeAlias = Callable[[Any, tuple[type, ...], Any], Callable[..., Any] | None]


class Hosted(NamedTuple):
    """What another engine registered about its traced values; see `register_host`."""

    host: Host | None = None
    hidden: bool = False
    constant: Callable[[Any], Any] | None = None
    varies: Callable[[Any], bool] | None = None


libraries: dict[type, Library] = {}
"""The `Library` of each registered class of arrays or scalars."""
hosts: dict[type, Hosted] = {}
"""What other engines registered about their traced values, by class."""
finite_tests: dict[type, Callable[[Any], bool]] = {}
"""Tests of whether all elements are finite, by the class of an array or scalar."""
_zero_d: dict[type, type] = {}
_refused: dict[str, str] = {}
_tracer_namespace: list[Any] = []
_lock = Lock()

# A subclass that redefines one of these computes differently from its base: the base's rules are
# wrong for it (np.matrix), so it is a separate type until it is registered. In-place operators
# change no other result; a tracer of such a class refuses them.
_OPERATORS = "add sub mul truediv floordiv mod divmod pow matmul and or xor lshift rshift"
_ARITHMETIC = (
    *[f"__{how}{op}__" for op in _OPERATORS.split() for how in ("", "r")],
    "__array_ufunc__", "__array_function__", "__getitem__", "__neg__", "__abs__", "__pos__",
    "__invert__", "__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__",
)  # fmt: skip


@final
class TypeInfo:
    """Facts about a class; for a class of tracers, mostly facts about the class of the payload.

    Attributes
    ----------
    dispatch_type : type
        The type that rules are dispatched on: of a tracer, its innermost payload's; else the class
        itself.
    is_array : bool
        Whether instances are arrays, or tracers of arrays.
    is_number : bool
        Whether instances are numbers (bool included), or tracers of numbers.
    is_python_number : bool
        Whether instances are Python's int, float or complex, or tracers of these.
    is_plain_number : bool
        Whether instances are these or bool, tracers of these, or of a subclass that computes in the
        same way, such as an enumeration.
    base : type or None
        The nearest class that a backend registered: the class itself, or one of its bases.
    namespace : module or None
        The namespace of its functions; None if no backend has registered it.
    home : module or None
        The namespace, for arrays; None if its functions turn Python's numbers into scalars. Where
        these arrays are passed to functions of another library, as CuPy's to NumPy's, lists beside
        them become arrays of this namespace.
    zero_d_type : type
        The array type to look up for a library's scalar when there is no rule for numbers.
    is_foreign : bool
        Whether it derives from a registered array type but redefines arithmetic.
    refusal : str or None
        What to write instead of instances of a refused class; None if it was not refused.
    has_device : bool
        Whether arrays have a device that their cotangents have to be on.
    is_hidden : bool
        Whether instances have no numbers that can be read.
    host : callable or None
        The host that an engine registered for its traced values of this class.
    constant : callable or None
        Makes constants of traced values of this class, for the engine that traces them.
    varies : callable or None
        Returns whether that engine differentiates a value of this class.
    by_operations : bool
        Whether other libraries' functions run as operations on arrays of this class.
    memory : Memory or None
        The memory of arrays of this class, or of its base.
    library : Library
        What was registered for exactly this class; an empty one if nothing was.
    """

    __slots__ = (
        "base",
        "by_operations",
        "constant",
        "dispatch_type",
        "has_device",
        "home",
        "host",
        "is_array",
        "is_foreign",
        "is_hidden",
        "is_number",
        "is_plain_number",
        "is_python_number",
        "library",
        "memory",
        "namespace",
        "refusal",
        "varies",
        "zero_d_type",
    )

    def __init__(self, cls: type) -> None:
        payload: type = getattr(cls, "__dispatch_type__", cls)
        base = next((base for base in payload.__mro__ if base in libraries), None)
        stated = _NOTHING if base is None else libraries[base]
        self.dispatch_type = payload
        self.is_array = issubclass(payload, Array)  # type: ignore[misc]
        self.is_number = issubclass(payload, Scalar)
        self.is_python_number = payload in (int, float, complex)
        kin = next((n for n in (int, float, complex) if issubclass(payload, n)), None)
        self.is_plain_number = kin is not None and not hasattr(payload, "dtype")
        self.is_plain_number &= payload is bool or not _differ(payload, kin)
        self.base = base
        self.namespace = stated.namespace
        self.home = self.namespace if self.is_array and number_home(payload) is None else None
        self.zero_d_type = next((_zero_d[b] for b in payload.__mro__ if b in _zero_d), payload)
        self.is_foreign = self.is_array and base not in (None, payload) and _differ(payload, base)
        names = [f"{base.__module__}.{base.__qualname__}" for base in payload.__mro__]
        self.refusal = next((_refused[name] for name in names if name in _refused), None)
        self.has_device = stated.devices
        self.is_hidden = any([base in hosts and hosts[base].hidden for base in payload.__mro__])
        theirs = next((hosts[base] for base in cls.__mro__ if base in hosts), Hosted())
        self.host, _, self.constant, self.varies = theirs
        self.by_operations = stated.by_operations and payload is cls
        mine = [libraries[base] for base in cls.__mro__ if base in libraries]
        self.memory = next((each.memory for each in mine if each.memory is not None), None)
        self.library = libraries.get(cls, _NOTHING)


_NOTHING = Library(None)


def _differ(cls: type, base: Any) -> bool:
    """Return whether a class redefines arithmetic of a base; its metaclass is not looked at."""
    mine, others = (
        {n: v for b in c.__mro__[::-1] for n, v in vars(b).items()} for c in (cls, base or object)
    )
    return any([mine.get(name) is not others.get(name) for name in _ARITHMETIC])


class _Table(dict[type, TypeInfo]):
    """The records; the lock makes a lookup wait while a class is being registered."""

    def __missing__(self, cls: type) -> TypeInfo:
        entering(cls)
        with _lock:
            info = self[cls] = TypeInfo(cls)
        return info


_table = _Table()
forgets(lambda: (_table,))
type_info: Callable[[type], TypeInfo] = _table.__getitem__
"""``type_info(cls)`` is the `TypeInfo` of a class. A dict's method: a call has no Python frame."""


def _enter(table: dict[Any, Any], key: Any, value: Any) -> None:
    """Add an entry to a table, and clear the caches of facts about classes."""
    with _lock:
        table[key] = value
    forget_all()


def register_array_type(cls: type, library: Library) -> None:
    """Declare that instances of a class are arrays, with what their library states about them.

    Parameters
    ----------
    cls : type
        The class of the arrays. Subclasses that do not redefine arithmetic follow it.
    library : Library
        At least ``Library(namespace)``, the namespace of the functions of the array-API standard.

    Raises
    ------
    RuleError
        If these are not a class and a `Library` with a namespace; for built-in
        classes and classes of numbers; for a class that another library has registered.

    Examples
    --------
    >>> import numpy as np
    >>> class Millivolts(np.ndarray):
    ...     "Arrays that carry a unit in their type."
    >>> register_array_type(Millivolts, Library(np))
    >>> namespace(np.ones(2).view(Millivolts)) is np
    True
    """
    _check_class("register_array_type", cls)
    if not (
        type(library) is Library
        and is_namespace(library.namespace)
        and isinstance(library.kind, type)
        and issubclass(library.kind, Array)  # type: ignore[misc]
    ):
        raise RuleError(
            f"register_array_type({cls.__qualname__}, {describe(library)}): write "
            f"register_array_type({cls.__qualname__}, Library(namespace)), with the module of the "
            f"functions"
        )
    _check_owner(cls, library)
    library.kind.register(cls)  # pyright: ignore[reportAttributeAccessIssue]
    for number in (cls, *type_info(cls).library.floats):  # of an earlier registration
        finite_tests.pop(number, None)
    if library.finite is not None:
        finite_tests.update(dict.fromkeys((cls, *library.floats), library.finite))
    _enter(libraries, cls, library)


def register_scalar_type(cls: type, *, array: type) -> None:
    """Declare that instances of a class are scalars of a library whose arrays are ``array``.

    A rule for numbers is looked up first, then one for a 0-d ``array``.

    Raises
    ------
    RuleError
        If these are not a class and a registered class of arrays.
    """
    _check_class("register_scalar_type", cls)
    if array not in libraries:
        raise RuleError(
            f"register_scalar_type({cls.__qualname__}, array={describe(array)}): register it first"
        )
    Scalar.register(cls)  # type: ignore[attr-defined]
    _zero_d[cls] = array
    _enter(libraries, cls, Library(libraries[array].namespace))


def register_host(
    cls: type,
    host: Host,
    *,
    hidden: bool = False,
    constant: Callable[[Any], Any] | None = None,
    varies: Callable[[Any], bool] | None = None,
) -> None:
    """Declare that another engine sees the calls with operands of a class.

    Parameters
    ----------
    cls : type
        The class of that engine's traced values; subclasses follow it.
    host : callable
        ``host(primitive, classes, implementation)`` returns the function that a call of a primitive
        with operands of these classes runs, with the operands by position and the options by
        keyword. It is called once for these classes. ``implementation`` is what would run
        otherwise, or None if there is none; returning it leaves the call to the engine's own
        derivative. If an operand is a structure that contains a traced value, its class is that of
        the structure.
    hidden : bool
        Whether the traced values have no numbers that can be read.
    constant : callable, optional
        ``constant(x)`` is x as a constant, the result of `ignore_derivatives`.
    varies : callable, optional
        ``varies(x)`` is whether x is being differentiated.

    Raises
    ------
    RuleError
        If these are not a class and a callable.

    Notes
    -----
    This engine sees each call of a primitive in a program that it traces, as the tape does: rules
    apply at every order.
    """
    _check_class("register_host", cls)
    if not callable(host):
        raise RuleError(
            f"register_host({cls.__qualname__}, {describe(host)}): a host is a callable"
        )
    _enter(hosts, cls, Hosted(host, hidden, constant, varies))


def refuse_type(cls: str, instead: str) -> None:
    """Refuse instances of a class both as inputs of a derivative and as tangents.

    Parameters
    ----------
    cls : str
        The qualified name of a class of arrays that redefines arithmetic of its base, so that the
        rules of the base do not hold for it.
    instead : str
        What to write instead, as a part of a sentence.
    """
    _enter(_refused, cls, instead)


def _check_class(function: str, cls: Any) -> None:
    if not isinstance(cls, type):
        raise RuleError(
            f"{function} was given {describe(cls)} in place of a class; write its class"
        )
    if cls.__module__ == "builtins":
        raise RuleError(
            f"{function} was given {cls.__qualname__}, a class of Python's own, with which "
            f"every program computes; write a class of your own, and register that"
        )


def _check_owner(cls: type, library: Library) -> None:
    """Raise if instances of a class are numbers, or another library has registered the class."""
    structure_of(cls)  # loads the backend that registers it
    if issubclass(cls, (Scalar, Number)):
        raise RuleError(
            f"register_array_type({cls.__qualname__}, ...): its instances are numbers, no arrays"
        )
    one = _named(library.namespace)
    other = _named(libraries.get(cls, library).namespace)
    if one != other:
        raise RuleError(
            f"register_array_type({cls.__qualname__}, Library({one})): {other} computes them "
            f"already; derive a class from {cls.__qualname__}, and register that"
        )


def _named(space: Any) -> str:
    """Name a namespace; the ``__name__`` of one with ``__getattr__`` may be anything."""
    name = getattr(space, "__name__", None)
    return name if type(name) is str else type(space).__name__


def check_served(x: Any, cls: type) -> None:
    """Raise if ``cls``, the class of a value or of its payload, was refused by `refuse_type`."""
    if (instead := type_info(cls).refusal) is not None:
        raise NotDifferentiableError(
            f"no derivative is taken in {describe(x)} of class {cls.__qualname__}; {instead}"
        )


def refuse_derived(x: Any) -> NoReturn:
    """Raise for a derivative with respect to a number whose class derives from Python's."""
    kind = next((cls.__name__ for cls in (complex, float, int) if isinstance(x, cls)), None)
    if kind is None:
        raise NotDifferentiableError(
            f"a {type(x).__qualname__} stands for an array and has no dtype; define the properties "
            f"dtype, shape and ndim in its class"
        )
    raise NotDifferentiableError(
        f"no derivative is taken in {describe(x)}: its class is derived from {kind}, and may "
        f"compute otherwise, or be tested for; give {kind}(x)"
    )


def check_tangent(t: object) -> None:
    """Raise for a tangent whose class was refused, or redefines arithmetic of its base."""
    cls = type(t)
    instead = type_info(cls).refusal
    if instead is None and type_info(cls).is_foreign:
        instead = f"it computes otherwise than the {type_info(cls).base!r} that it derives from"
    if instead is not None:
        raise ProjectionError(f"a {cls.__qualname__} is never a tangent; {instead}")


def namespace_of(cls: type) -> Any:
    """Return the namespace of a registered type; a tracer's is that of its payload."""
    found = type_info(cls).namespace
    if found is None:
        raise RuleError(
            f"{cls.__module__}.{cls.__qualname__} is no registered array type; "
            f"register_array_type({cls.__qualname__}, Library(namespace)) makes it one"
        )
    return found


def namespace(x: Any) -> Any:
    """Return the array namespace (numpy, cupy, ...) of a value; `chainrules_py.ops` for a tracer.

    A rule takes dtypes and constants from it, and computes with operations.

    Raises
    ------
    RuleError
        If no backend has registered the type of ``x``.
    """
    return _tracer_namespace[0] if isinstance(x, Tracer) else namespace_of(type(x))


def as_scalar(t: Any) -> Any:
    """Turn a 0-d tangent into a scalar, if its library has scalars beside arrays."""
    scalar = type_info(type(t)).library.scalar
    return t if scalar is None or t.ndim else scalar(t)


def is_mutable_destination(x: Any) -> bool:
    """Return whether in-place addition may write into an array, *if* the engine owns it.

    Examples
    --------
    >>> is_mutable_destination(2.0), is_mutable_destination((1.0, 2.0))
    (False, False)
    """
    test = type_info(type(x)).library.mutable
    return test is not None and test(x)


def hosted(classes: Collection[type]) -> type:
    """Return the first class whose calls another engine sees, or else the first class."""
    return next((c for c in classes if type_info(c).host is not None), next(iter(classes)))


def alike(classes: Collection[type]) -> bool:
    """Return whether all classes are registered and have the same dispatch type."""
    infos = [type_info(cls) for cls in classes]
    kinds = {info.dispatch_type for info in infos}
    return len(kinds) == 1 and all([info.library.namespace is not None for info in infos])


def finite_test(classes: tuple[type, ...]) -> Callable[[Any], bool] | None:
    """Find the test of whether results of operands of these classes are finite, or None."""
    shaped = [cls for cls in classes if cls not in (int, float)]
    return finite_tests[hosted(shaped)] if shaped and finite_tests.keys() >= {*shaped} else None
