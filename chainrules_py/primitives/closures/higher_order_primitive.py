"""Operations that take functions, whose captured values become operands before the call."""

from __future__ import annotations

from typing import Any

from chainrules_py.errors import describe
from chainrules_py.primitives.closures.convert import closed
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.values.find_tracers import find_host, find_tracers
from chainrules_py.values.type_info import hosts


class HigherOrder(Primitive[..., Any]):
    """An operation that takes functions; values that they captured are found before the call.

    Attributes
    ----------
    is_program : bool
        Whether its rules state that its body is differentiated.
    """

    is_program = False

    def __call__(self, *operands: Any, **options: Any) -> Any:
        """Compute the result, or let the highest tracer in operands and captured values trace it.

        If `is_program`, the body runs directly, unless another engine traces the call: that engine
        sees the whole operation.
        """
        if not any(map(callable, operands)):
            raise TypeError(
                f"{self.__name__}() takes a function, as lambda y: A @ y is of a matrix A, and got "
                f"{', '.join(map(describe, operands)) or 'none'}"
            )
        if self.is_program and (not hosts or find_tracers(operands)):
            return self.__wrapped__(*operands, **options)
        found = [closed(x) if callable(x) else x for x in operands]
        if self.is_program and (find_tracers(found) or find_host((found,)) is None):
            return self.__wrapped__(*operands, **options)
        return super().__call__(*found, **options)
