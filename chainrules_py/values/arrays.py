"""Arrays, numbers and tracers: the types that rules and engines go by.

Rules are dispatched on types, so the types have to be nominal: plum caches by type, and cannot
cache a Protocol. ``Array`` and ``Scalar`` are abstract classes that backends register with; for
static checkers, an array is whatever has the members below.
"""

from __future__ import annotations

import abc
import contextvars
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Kind_co = TypeVar("Kind_co", covariant=True, default=Any)

    class Array(Protocol[Kind_co]):
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

        def __class_getitem__(cls, kinds: Any) -> Any:
            return of_kinds[0](cls, kinds)

    class Scalar(abc.ABC):
        """A number: Python's int, float and complex, and what libraries register as scalars."""


of_kinds: list[Any] = []
"""What makes an annotation of ``Array[np.float32]``; set by `array_annotations`."""

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

    @property
    def is_over(self) -> bool:
        """Whether its differentiation is over, so that it may become what it stands for."""
        return False

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
        """Return it as it is now, for whoever keeps it: itself, where none is written to."""
        return self

    def owned(self) -> Any:
        """Return it as it is now, to be kept and written to by itself: itself, where none is."""
        return self

    def ignored(self) -> Any:
        """Return what stands in its place where somebody takes it to be constant."""
        return self.__payload__

    @classmethod
    def __step__(cls, primitive: Any, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """Find the function that traces a primitive on these operand classes, given all options.

        None for the general way: the highest level's `__trace__`. The answer is remembered.
        """
        return None


stood_for: set[type] = {int, float, complex}
"""Types that tracers answer for where a program asks `isinstance`: of payloads of exactly these."""
set_class: Callable[[Any, type], None] = object.__dict__["__class__"].__set__
"""Changes the class of an object, whatever it answers for."""

number_homes: dict[str, Any] = {}
"""Namespaces of scalars, by the root module whose functions turn Python's numbers into them.

Tracing does so first: ``np.log(0.0)`` is -inf with a warning, where ``math.log`` raises.
"""
number_readers: list[Any] = []
"""Functions of such modules that read an attribute of a number as it is: of a float, a float."""


def number_home(f: Any) -> Any | None:
    """Return the namespace whose scalars a function makes of Python's numbers, or None."""
    module = getattr(f, "__module__", None) or type(f).__module__
    home = number_homes.get(module.partition(".")[0])
    return None if home is not None and any([f is g for g in number_readers]) else home


_beside: contextvars.ContextVar[Any] = contextvars.ContextVar("beside", default=None)


def beside() -> Any | None:
    """Return the namespace that lists become arrays of within `called_beside`, or None."""
    return _beside.get()


def called_beside(home: Any, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Make a call in which lists become arrays of a namespace; None leaves it as it is."""
    if home is None:
        return call(*args, **options)
    before = _beside.get()
    try:
        _beside.set(home)
        return call(*args, **options)
    finally:
        _beside.set(before)


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
