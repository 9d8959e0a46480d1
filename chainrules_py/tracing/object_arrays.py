"""Arrays of objects whose elements are traced, as ``np.array([[c, -s], [s, c]])`` makes them.

NumPy looks up ``__array__`` on a value; a real number without it becomes an element of an array of
objects. NumPy computes with such an array by the operators of its elements, and by the methods
named like its functions. Each element is traced, so that no derivative is lost. Where the array
meets a traced one, its elements are joined into one traced array.
"""

from __future__ import annotations

import math
import numbers
import operator
import re
from collections.abc import Callable
from typing import Any, NoReturn

from chainrules_py.errors import TracerError
from chainrules_py.primitives.closures.convert import joining
from chainrules_py.primitives.conversion_advice import (
    Line,
    advised_at,
    code_of,
    refuse_labelled,
    remedy,
    told,
)
from chainrules_py.tangents.space import kind_of
from chainrules_py.values.caller_frames import caller
from chainrules_py.values.dispatch_types import Tracer, number_home
from chainrules_py.values.find_tracers import untraced
from chainrules_py.values.type_info import type_info

MOST_ELEMENTS = 100
"""The size of the largest traced array that becomes an array of objects."""
element_methods: dict[str, Any] = {}
"""Methods of elements that NumPy's functions call, by name; `chainrules_numpy` fills it."""


class Objects:
    """The arrays of objects that a line of a program makes.

    Attributes
    ----------
    file, line, instead
        The line, and what to write there.
    refusal
        The message that it was given to what takes numbers only.
    """

    __slots__ = ("file", "instead", "line", "refusal")

    def __init__(self, line: Line) -> None:
        self.file, self.line = line.place
        usual = "use np.stack of the numbers"
        if line.picture:  # one traced array that NumPy converts
            usual = f"use {line.with_constant()}, which is a constant"
        self.instead = remedy(line) or advised_at(line) or remedy(line, last=True) or usual
        fact = "an array of objects, of traced values, is given to what takes numbers only"
        self.refusal = told(fact, line, self.instead)

    def explain(self, error: BaseException) -> None:
        """Add a note to an error: which line made the array, and what to write.

        Raises
        ------
        TracerError
            Instead of a library's error about a dtype, or about what it makes of objects.
        """
        if re.search(_OF_DTYPE, str(error)):
            raise TracerError(self.refusal) from error
        error.add_note(
            f"{self.file}:{self.line} makes an array of objects, of traced values: {self.instead}"
        )

    def refuse(self, fact: str) -> NoReturn:
        """Raise because an array of numbers would compute differently with an element."""
        raise TracerError(
            f"{fact}, and {self.file}:{self.line} makes an array of objects, in which NumPy would "
            f"take it for another number; {self.instead} there"
        )


_OF_DTYPE = (
    r"dtype\('O'\)|numpy\.object_|^'O'$|object arrays|safely coerced|has no callable"
    r"|must be real numbers|the same d?type|data type not supported|dtype object cannot be cast"
    r"|arrays with dtypes|'(numpy\.|\w+\[)?(bool|float|int)\d*\]?' object has no attribute"
    r" '(ndim|shape|arctan2|hypot)'|computed with '\?'|REFS_OK|'float' and '\w+\["
)
objects: dict[int, Objects] = {}
"""What the first array of objects of a differentiation was made by, by level, in all threads."""
_KEPT = 256
_known: dict[Any, Objects] = {}
"""The same by places in code: parsing a line takes a hundred times as long as making an array."""


def becomes_element(x: Any, made: bool = True) -> bool:
    """Return whether a tracer becomes elements of an array of objects, and note where one is made.

    Complex numbers do not, as NumPy would lose their imaginary part, nor do arrays that are large,
    or empty, and so have no shape.
    """
    info = type_info(type(x))
    if info.is_array:
        small = number_home(info.dispatch_type) and 0 < math.prod(x.shape) <= MOST_ELEMENTS
        if not small or (x.ndim == 0 and _is_nan(x)):
            return False
    while issubclass(type(x), Tracer):
        if not getattr(x, "joins_objects", False) or kind_of(x) != "real":
            return False
        if made and x.level not in objects and not x.is_over:
            line = Line(caller())
            if len(_known) >= _KEPT:
                _known.clear()
            frames = [line.frame, *line.library]
            wrapper = frames[:2][-1]  # it may be that of many functions
            held = map(wrapper.f_locals.get, wrapper.f_code.co_freevars)
            place = (
                *(line.frame.f_code.co_filename, line.at),  # where any function may be called
                *map(operator.attrgetter("f_code"), frames),
                *map(code_of, filter(callable, held)),
            )
            objects[x.level] = _known.get(place) or _known.setdefault(place, Objects(line))
        x = x.__payload__
    return True


# ---------------------------------------------------------------------------------------- joining


def may_hold(cls: type) -> bool:
    """Return whether an instance may be an array of objects, or a list that contains one."""
    return cls is list or cls is tuple or type_info(cls).library.objects is not None


def is_element(x: Any) -> bool:
    """Return whether an object is traced, or recorded by a compiler."""
    return issubclass(type(x), Tracer) or getattr(type(x), "__asked_again__", False)


def joined(x: Any) -> Any:
    """Return one traced array for an array of traced objects, and other values unchanged.

    The items of a list or tuple are joined.
    """
    cls = type(x)
    if cls is list or cls is tuple:
        ys = cls(map(joined, x))
        return x if all(map(operator.is_, x, ys)) else ys
    info = type_info(cls)
    if info.library.objects is None or x.dtype is not info.library.objects:
        return x
    refuse_labelled(x)
    flat = x.ravel().tolist()
    if cls in map(type, flat):  # arrays of objects without axes, which hold one
        flat = list(map(joined, flat))
    if any(map(is_element, flat)):
        return info.namespace.stack(flat).reshape(x.shape)
    # Functions such as `clip` may have replaced each element by a plain number.
    return (
        x.astype(float)
        if objects and flat and all([isinstance(y, numbers.Real) for y in flat])
        else x
    )


joining[:] = objects, joined

# ----------------------------------------------------------------------------------------- guards


def guarded(step: Callable[..., Any], f: Any, classes: tuple[type, ...]) -> Callable[..., Any]:
    """Return a step of two numbers that raises for elements that NumPy would compute wrongly.

    Parameters
    ----------
    step : callable
        The function that traces the call.
    f : callable or None
        The called operator.
    classes : tuple of type
        The classes of the operands.
    """
    infos = list(map(type_info, classes))
    if len(infos) != 2 or not all([i.is_number and not i.is_array for i in infos]):
        return step
    kinds, compares = [_number_kind(info.dispatch_type) for info in infos], f in _COMPARISONS
    if compares:
        fact = "NaN is compared, which is being differentiated"
    elif kinds.count("complex") == 1:
        fact = "a complex number meets a real one that is being differentiated"
    elif "narrow" in kinds and float in [info.dispatch_type for info in infos]:
        fact = "a float of 64 bits meets a narrower number, and one of them is differentiated"
    else:
        return step

    def careful(x: Any, y: Any) -> Any:
        if objects:
            for operand in (x, y):
                made = objects.get(getattr(operand, "level", None))  # type: ignore[arg-type]
                if made is not None and (not compares or _is_nan(x) or _is_nan(y)):
                    made.refuse(fact)
        return step(x, y)

    return careful


_COMPARISONS = {operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne}


def _number_kind(cls: type) -> str:
    if issubclass(cls, numbers.Complex) and not issubclass(cls, numbers.Real):
        return "complex"
    narrow = not issubclass(cls, (float, int)) and getattr(cls(), "itemsize", 8) < 8
    # A bool of NumPy, which is registered as no number, is as narrow, and meets all of them.
    return "narrow" if narrow and issubclass(cls, numbers.Real) else "real"


def _is_nan(x: Any) -> bool:
    plain = untraced(x)
    return bool(plain != plain)
