"""Arrays, numbers and tracers: the types that rules and engines dispatch on.

Rules are dispatched on types, so the types have to be nominal: plum caches by type, and cannot
cache a Protocol. Backends register with the abstract classes ``Array`` and ``Scalar``; for static
checkers, an array is any object that has the members below.
"""

from __future__ import annotations

import abc
import contextvars
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol, TypeAlias

from chainrules_py.errors import RuleError, TracerError, describe

if TYPE_CHECKING:

    class Array(Protocol):
        """Any object with these members, for static checkers: no library inherits from `Array`."""

        @property
        def shape(self) -> Any:
            """The lengths of the axes."""

        @property
        def ndim(self) -> int:
            """The number of axes."""
            ...

        @property
        def dtype(self) -> Any:
            """The type of the elements."""

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

        def __class_getitem__(cls, kinds: Any) -> NoReturn:
            raise RuleError(
                f"Array[{kinds!r}]: a rule is chosen by the classes of operands, which say nothing "
                f"of dtype or device; annotate with Array, and ask x.dtype or x.device in the rule"
            )

    class Scalar(abc.ABC):
        """A number: Python's int, float and complex, and the scalars that libraries register."""


for _number in (int, float, complex):
    Scalar.register(_number)  # type: ignore[attr-defined]

Numeric: TypeAlias = Array | Scalar
"""An array or a number: the annotation of an operand that has none."""


class Tracer:
    """Interface of the tracers that an engine passes in place of values.

    An engine derives one class per type of payload and sets ``__dispatch_type__`` to the type that
    rules are chosen by: that of the innermost payload. Otherwise a user's rule, or a library's
    exception, would be silently lost at second order.
    """

    __slots__ = ()
    __dispatch_type__: ClassVar[type]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if issubclass(cls.__dict__.get("__dispatch_type__", object), Tracer):
            raise TracerError(
                f"{cls.__qualname__}.__dispatch_type__ is a class of tracers, for which no rule is "
                f"stated; use type(innermost(value)) for the type of what is traced"
            )

    @property
    def level(self) -> int:
        """The differentiation it belongs to; the highest level among the operands traces a call."""
        raise NotImplementedError

    @property
    def __payload__(self) -> Any:
        """The value that it represents, one level down."""
        raise NotImplementedError

    @property
    def is_over(self) -> bool:
        """Whether its differentiation has ended, so that the payload may replace it."""
        return False

    def __array__(self, *_: Any, **__: Any) -> Any:
        """Raise an error: NumPy would take the tracer for one object, whatever its shape.

        An engine that converts its tracers overrides this.
        """
        raise TracerError(
            f"a traced {describe(self.__payload__)} does not become an array of NumPy's: its "
            f"derivative would be lost; use functions that have rules"
        )

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

    def frozen(self) -> Any:
        """Return a snapshot to keep; the tracer itself, if its engine never writes to tracers."""
        return self

    def owned(self) -> Any:
        """Return a snapshot that can be written to; the tracer itself, as for `frozen`."""
        return self

    def ignored(self) -> Any:
        """Return the value that replaces it where a program declares it constant."""
        return self.__payload__

    @classmethod
    def __step__(
        cls, primitive: Any, primal: Callable[..., Any] | None, classes: tuple[type, ...]
    ) -> Callable[..., Any] | None:
        """Find the function that traces a primitive on these operand classes, given all options.

        ``primal`` is the function that the user called, if that is not the primitive itself.

        None for the default, the `__trace__` of the highest level. The result is cached.
        """
        return None


stood_for: set[type] = {int, float, complex}
"""Types whose `isinstance` check a tracer passes if its payload is of exactly that type."""
set_class: Callable[[Any, type], None] = object.__dict__["__class__"].__set__
"""Changes the class of an object, whatever its ``__class__`` returns."""

number_homes: dict[str, Any] = {}
"""Namespaces of scalars, by the root module whose functions turn Python's numbers into them.

Tracing converts the numbers first: ``np.log(0.0)`` is -inf with a warning, ``math.log`` raises.
"""
number_readers: list[Any] = []
"""Functions of these modules that read a number's attribute unconverted: of a float, a float."""


def number_home(f: Any) -> Any | None:
    """Return the namespace into whose scalars a function turns Python's numbers, or None."""
    module = getattr(f, "__module__", None) or type(f).__module__
    home = number_homes.get(module.partition(".")[0])
    return None if home is not None and any([f is g for g in number_readers]) else home


_beside: contextvars.ContextVar[Any] = contextvars.ContextVar("beside", default=None)


def beside() -> Any | None:
    """Return the namespace in which lists become arrays within `called_beside`, or None."""
    return _beside.get()


def called_beside(home: Any, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Make a call in which lists become arrays of a namespace; None changes nothing."""
    if home is None:
        return call(*args, **options)
    before = _beside.get()
    try:
        _beside.set(home)
        return call(*args, **options)
    finally:
        _beside.set(before)


def lazy_array_type(name: str, *, replaces: tuple[str, ...] = ()) -> type:
    """Make an abstract class of a library's arrays and tracers.

    Parameters
    ----------
    name : str
        Its name in messages.
    replaces : tuple of str
        Qualified names (``"jax.Array"``) of classes that cannot be dispatched on; in annotations
        they are replaced by this one.
    """
    cls = abc.ABCMeta(
        name, (Array,), {"__doc__": f"Stands for {name} before its library is there."}
    )
    _replacements.update(dict.fromkeys(replaces, cls))
    return cls


_replacements: dict[str, type] = {}


def replacement(annotation: Any) -> Any:
    """Return the lazy type that replaces an annotation, or the annotation itself."""
    qualified = f"{getattr(annotation, '__module__', '')}.{getattr(annotation, '__qualname__', '')}"
    return _replacements.get(qualified, annotation)
