"""Type facts: one record for each class, made when the class is first asked about.

Libraries and engines state what their classes are; every question about a class is an attribute of
its `TypeInfo`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NoReturn, TypeAlias, final

from chainrules_py.errors import NotDifferentiableError, ProjectionError, RuleError, describe
from chainrules_py.values.arrays import Array, Scalar, Tracer, number_home
from chainrules_py.values.caches import entering, forget_all, forgets
from chainrules_py.values.library import Library, check_library
from chainrules_py.values.locks import lock_of_a_table

Host: TypeAlias = Callable[[Any, tuple[type, ...], Any], Callable[..., Any] | None]

libraries: dict[type, Library] = {}
"""What was stated of arrays and of libraries' scalars, by the class that it was stated of."""
hosts: dict[type, Host] = {}
"""What other engines registered for their traced values, by the class of these."""
_constant: dict[type, Callable[[Any], Any]] = {}
_varies: dict[type, Callable[[Any], bool]] = {}
finite_tests: dict[type, Callable[[Any], bool]] = {}
"""What says whether all elements are finite, by the class of an array or scalar."""
_hidden: set[type] = set()
_zero_d: dict[type, type] = {}
_refused: dict[str, str] = {}
_tracer_namespace: list[Any] = []
_lock = lock_of_a_table()
when_registered: list[Callable[[type], None]] = []
"""What is asked before a class of arrays is registered: it loads whoever registers that class."""

# A subclass that redefines one of these computes differently from its base: the base's rules are
# wrong for it (np.matrix), so it is a type of its own until somebody registers it.
_OPERATORS = "add sub mul truediv floordiv mod divmod pow matmul and or xor lshift rshift"
_ARITHMETIC = (
    *[f"__{how}{op}__" for op in _OPERATORS.split() for how in ("", "r", "i")],
    "__array_ufunc__", "__array_function__", "__getitem__", "__neg__", "__abs__", "__pos__",
    "__invert__", "__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__",
)  # fmt: skip


@final
class TypeInfo:
    """What is known of a class; of a tracer's, mostly what is known of the value it stands for.

    Attributes
    ----------
    dispatch_type : type
        The type that rules go by: a tracer's innermost payload's, else the class itself.
    is_array : bool
        Whether instances are arrays, by themselves or by the value they stand for.
    is_number : bool
        Whether instances are, or stand for, numbers (bool among them).
    is_python_number : bool
        Whether they are, or stand for, Python's own int, float or complex.
    is_plain_number : bool
        Whether they are, or stand for, these or bool, or compute as these do: an enumeration's.
    base : type or None
        The nearest class that a backend registered: the class itself, or one of its bases.
    namespace : module or None
        Where its functions are found; None if no backend has spoken for it.
    home : module or None
        The namespace of arrays; None if it makes scalars of numbers. Where such arrays are given to
        functions of another library, as CuPy's are to NumPy's, what stands beside them in lists
        becomes an array of their own.
    zero_d_type : type
        The array type to look a library's scalar up as, when there is no rule for numbers.
    is_foreign : bool
        Whether it derives from a registered array type but computes in its own way.
    refusal : str or None
        What to write in place of a refused class's instances; None if it was not refused.
    has_device : bool
        Whether arrays have a device that their cotangents have to be on.
    is_hidden : bool
        Whether there are no numbers to look at.
    host : callable or None
        The host that an engine registered for its traced values of this very class.
    constant : callable or None
        What makes constants of traced values of this very class, for the engine that traces them.
    varies : callable or None
        What tells of values of this very class whether that engine differentiates them.
    by_operations : bool
        Whether other libraries' functions are left to the operations for arrays of this very class.
    memory : Memory or None
        Memory of arrays of this very class, or of its base.
    library : Library
        What was stated of exactly this class; an empty one if nothing was.
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
        at_home = self.is_array and number_home(payload) is None
        self.home = self.namespace if at_home else None
        self.zero_d_type = next((_zero_d[b] for b in payload.__mro__ if b in _zero_d), payload)
        derived = self.is_array and base not in (None, payload)
        self.is_foreign = derived and _differ(payload, base)
        names = [f"{base.__module__}.{base.__qualname__}" for base in payload.__mro__]
        self.refusal = next((_refused[name] for name in names if name in _refused), None)
        self.has_device = stated.devices
        self.is_hidden = not _hidden.isdisjoint(payload.__mro__)
        self.host = next((hosts[base] for base in cls.__mro__ if base in hosts), None)
        self.constant = next((_constant[b] for b in cls.__mro__ if b in _constant), None)
        self.varies = next((_varies[b] for b in cls.__mro__ if b in _varies), None)
        self.by_operations = stated.by_operations and payload is cls
        mine = [libraries[base] for base in cls.__mro__ if base in libraries]
        self.memory = next((each.memory for each in mine if each.memory is not None), None)
        self.library = libraries.get(cls, _NOTHING)


_NOTHING = Library(None)


def _differ(cls: type, base: Any) -> bool:
    """Tell whether a class computes otherwise; what its metaclass computes is the class's own."""
    mine, others = (
        {n: v for b in c.__mro__[::-1] for n, v in vars(b).items()} for c in (cls, base or object)
    )
    return any([mine.get(name) is not others.get(name) for name in _ARITHMETIC])


class _Table(dict[type, TypeInfo]):
    """The records; the lock is for who asks while a class is being registered."""

    def __missing__(self, cls: type) -> TypeInfo:
        entering(cls)
        with _lock:
            info = self[cls] = TypeInfo(cls)
        return info


_table = _Table()
forgets(lambda: (_table,))
type_info: Callable[[type], TypeInfo] = _table.__getitem__
"""``type_info(cls)`` is the `TypeInfo` of a class. It is a method of a dict: no frame of Python."""


def _enter(table: dict[Any, Any], key: Any, value: Any) -> None:
    """Enter what is stated of classes, and forget what was known of them before."""
    with _lock:
        table[key] = value
    forget_all()


def register_array_type(cls: type, library: Library) -> None:
    """Say that the instances of a class are arrays, and what their library states about them.

    Parameters
    ----------
    cls : type
        The class of the arrays. Subclasses that do not redefine arithmetic follow it.
    library : Library
        At least ``Library(namespace)``: where the functions of the array-API standard are found.

    Raises
    ------
    RuleError
        If these are not a class and a `Library`, or a field is not what it has to be; for Python's
        own classes and those of numbers; for a class that another library computes.

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
    if type(library) is not Library:
        msg = (
            f"register_array_type({cls.__qualname__}, ...) was given {describe(library)}; write "
            f"register_array_type({cls.__qualname__}, Library(namespace))"
        )
        raise RuleError(msg)
    check_library(library)
    if issubclass(library.kind, cls):
        msg = f"{cls.__qualname__} is a base of {library.kind.__qualname__}; register a class of it"
        raise RuleError(msg)
    _check_owner(cls, library)
    library.kind.register(cls)  # type: ignore[attr-defined]
    for number in (cls, *type_info(cls).library.floats):  # of what was stated before
        finite_tests.pop(number, None)
    if library.finite is not None:
        finite_tests.update(dict.fromkeys((cls, *library.floats), library.finite))
    _enter(libraries, cls, library)


def register_scalar_type(cls: type, *, array: type) -> None:
    """Say that the instances of a class are numbers of a library, and which its arrays are.

    A rule for numbers is looked for first, then one for a 0-d ``array``.

    Raises
    ------
    RuleError
        If these are not a class and a class of arrays that was registered.
    """
    _check_class("register_scalar_type", cls)
    if array not in libraries:
        msg = (
            f"register_scalar_type({cls.__qualname__}, array={describe(array)}): register it first"
        )
        raise RuleError(msg)
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
    constant : callable, optional
        ``constant(x)`` is x, taken to be constant: what `ignore_derivatives` gives.
    varies : callable, optional
        ``varies(x)`` tells whether x is being differentiated.

    Raises
    ------
    RuleError
        If these are not a class and a callable.

    Notes
    -----
    An engine that is asked here sees each call of a primitive in a program that it traces, as our
    own engine does: a rule is then not lost, at any order.
    """
    _check_class("register_host", cls)
    if not callable(host):
        msg = f"register_host({cls.__qualname__}, {describe(host)}): a host is a callable"
        raise RuleError(msg)
    if hidden:
        _hidden.add(cls)
    if constant is not None:
        _constant[cls] = constant
    if varies is not None:
        _varies[cls] = varies
    _enter(hosts, cls, host)


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
    _enter(_refused, cls, instead)


def _check_class(function: str, cls: Any) -> None:
    if not isinstance(cls, type):
        msg = f"{function} was given {describe(cls)} in place of a class; write its class"
        raise RuleError(msg)
    if cls.__module__ == "builtins" and cls is not object:
        msg = (
            f"{function} was given {cls.__qualname__}, a class of Python's own, with which "
            f"every program computes; write a class of your own, and register that"
        )
        raise RuleError(msg)


def _check_owner(cls: type, library: Library) -> None:
    """Raise for a class whose instances are numbers, or that another library computes already."""
    if issubclass(cls, Scalar):
        msg = f"register_array_type({cls.__qualname__}, ...): its instances are numbers, no arrays"
        raise RuleError(msg)
    one = _named(library.namespace)
    root = one.partition(".")[0]
    if root != cls.__module__.partition(".")[0] and not root.startswith("chainrules_"):
        for see in when_registered:  # entry points are read: none for who registers its own
            see(cls)
    other = _named(libraries.get(cls, library).namespace)
    if one != other:
        msg = (
            f"register_array_type({cls.__qualname__}, Library({one})): {other} computes them "
            f"already; derive a class from {cls.__qualname__}, and register that"
        )
        raise RuleError(msg)


def _named(space: Any) -> str:
    """Name a namespace; one with ``__getattr__`` has any name."""
    name = getattr(space, "__name__", None)
    return name if type(name) is str else type(space).__name__


def check_served(x: Any, cls: type) -> None:
    """Raise for a value of a class, its own or its payload's, that no derivative is taken in."""
    if (instead := type_info(cls).refusal) is not None:
        msg = f"no derivative is taken in {describe(x)} of class {cls.__qualname__}; {instead}"
        raise NotDifferentiableError(msg)


def refuse_labelled(x: Any) -> None:
    """Raise for arrays with labels, as xarray's are: a class with ``dims`` and ``values``.

    Raises
    ------
    NotDifferentiableError
        If it is one that nobody has registered.
    """
    cls = type(x)
    if hasattr(cls, "dims") and hasattr(cls, "values") and not type_info(cls).is_array:
        library = cls.__module__.partition(".")[0]
        of_one = "x.values, which is its array, and put the labels on what comes back"
        of_several = "{name: x[name].values for name in x}, which are its arrays"
        msg = (
            f"no derivative is taken in {library}.{cls.__qualname__}, which has labels: give "
            f"{of_several if issubclass(cls, Mapping) else of_one}"
        )
        raise NotDifferentiableError(msg)


def refuse_derived(x: Any) -> NoReturn:
    """Raise for a number of a class derived from Python's, where it would be differentiated in."""
    kind = next(cls.__name__ for cls in (complex, float, int) if isinstance(x, cls))
    msg = (
        f"no derivative is taken in {describe(x)}: its class is derived from {kind}, and may "
        f"compute otherwise, or be asked for; give {kind}(x)"
    )
    raise NotDifferentiableError(msg)


def check_tangent(t: object) -> None:
    """Raise for a tangent of a class that no derivative is given as."""
    cls = type(t)
    instead = type_info(cls).refusal
    if instead is None and type_info(cls).is_foreign:
        instead = f"it computes otherwise than the {type_info(cls).base!r} that it derives from"
    if instead is not None:
        msg = f"a {cls.__qualname__} is never a tangent; {instead}"
        raise ProjectionError(msg)


def namespace_of(cls: type) -> Any:
    """Return the namespace of a type that a backend has spoken for; a tracer's is its payload's."""
    found = type_info(cls).namespace
    if found is None:
        msg = (
            f"{cls.__module__}.{cls.__qualname__} is no registered array type; "
            f"register_array_type({cls.__qualname__}, Library(namespace)) makes it one"
        )
        raise RuleError(msg)
    return found


def namespace(x: Any) -> Any:
    """Return the array namespace (numpy, cupy, ...) of a value; of a tracer, `chainrules_py.ops`.

    A rule takes dtypes and constants from it, and computes with operations.

    Raises
    ------
    RuleError
        If no backend has registered the type of ``x``.
    """
    return _tracer_namespace[0] if isinstance(x, Tracer) else namespace_of(type(x))


def as_scalar(t: Any) -> Any:
    """Turn a Python number's tangent into a number, if its library has numbers beside arrays."""
    scalar = type_info(type(t)).library.scalar
    return t if scalar is None or t.ndim else scalar(t)


def is_mutable_destination(x: Any) -> bool:
    """Say whether in-place addition may write into an array, *if* it is the engine's own.

    Examples
    --------
    >>> is_mutable_destination(2.0), is_mutable_destination((1.0, 2.0))
    (False, False)
    """
    test = type_info(type(x)).library.mutable
    return test is not None and test(x)


def hosted(classes: Collection[type]) -> type:
    """Return the class of these whose calls another engine sees, or any of them."""
    return next((c for c in classes if type_info(c).host is not None), next(iter(classes)))


def alike(classes: Collection[type]) -> bool:
    """Tell whether all these stand for arrays of one class, as a library knows them."""
    infos = [type_info(cls) for cls in classes]
    kinds = {info.dispatch_type for info in infos}
    return len(kinds) == 1 and all([info.library.namespace is not None for info in infos])


def finite_test(classes: tuple[type, ...]) -> Callable[[Any], bool] | None:
    """Find the test of whether results of such operands are finite, or None."""
    shaped = [cls for cls in classes if cls not in (int, float)]
    known = shaped and all([cls in finite_tests for cls in shaped])
    return finite_tests[hosted(shaped)] if known else None
