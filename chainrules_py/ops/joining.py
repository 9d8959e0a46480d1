"""Operations that join arrays: ``concat(a, b)``, and ``concat([a, b])`` as in the standard."""

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from chainrules_py.errors import NoRuleError
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.values.dispatch_types import Array, Numeric

__all__ = ["concat", "stack"]

P = ParamSpec("P")
R = TypeVar("R")


class _Joining(Primitive[P, R]):
    """Primitive of several operands, which may be passed in one list or tuple."""

    def _find(self, classes: tuple[type, ...], key: Any = None) -> Callable[..., Any]:
        if len(classes) == 1 and classes[0] in (list, tuple):
            return self._of_sequence
        if not classes:
            raise NoRuleError(
                f"{self.__name__} joins one array at least; write {self.__name__}([a, b])"
            )
        return super()._find(classes, key)

    def _of_sequence(self, arrays: Sequence[Any], **options: Any) -> Any:
        operation: Any = self
        return operation(*arrays, **options)


@_Joining
def concat(*arrays: Array | Sequence[Array], axis: int | None = 0) -> Any:
    """Concatenate arrays along an existing axis; flatten them first if it is None."""


@_Joining
def stack(*arrays: Numeric | Sequence[Numeric], axis: int = 0) -> Any:
    """Stack arrays of one shape along a new axis."""
