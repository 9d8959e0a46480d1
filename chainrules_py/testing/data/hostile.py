"""Arrays that live far away: whoever wants to know a value, or takes them for NumPy's, is found.

They compute what NumPy computes, and have no truth value, no item, no iteration, no conversion. So
a rule that branches on a value, which would wait for a device at each call and fail under a
compiler, raises here; and so does one that calls NumPy instead of words.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, final

import numpy as np

from chainrules_py import vocabulary
from chainrules_py.primitives.plugins import see_about
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.values.arrays import Scalar, Tracer
from chainrules_py.values.library import Library
from chainrules_py.values.pytree import map_leaves
from chainrules_py.values.type_info import register_array_type


@final
class ValueAskedError(AttributeError, TypeError):
    """Somebody wanted a value of a distant array, or took it for an array of NumPy."""

    def __init__(self, text: str, pattern: str) -> None:
        super().__init__(text)
        self.pattern = pattern


def _refusing(name: str, pattern: str) -> Callable[..., NoReturn]:
    def refuse(self: Any, *_: Any, **__: Any) -> NoReturn:
        msg = f"{name} of an array that lives on a device: {pattern}"
        raise ValueAskedError(msg, pattern)

    return refuse


# What an answer may hang on: its truth is asked after it has been computed.
_METHODS = ("sum", "any", "all", "max", "min", "mean", "prod", "amax", "amin", "astype", "reshape")
leaked: list[str] = []
"""The functions of NumPy that were called on distant arrays."""
worded: list[str] = []
"""The words that were: whoever writes them means arrays of every library."""

_BRANCH, _LEAK = "branches on a value", "leaks NumPy"


@final
class Distant:
    """An array of NumPy's of which nobody can read an element.

    It has what every array has: ``shape``, ``dtype``, operators, subscripts. What it has not is any
    way to its values besides words.
    """

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = np.asarray(array)

    shape = property(lambda self: self._array.shape)
    dtype = property(lambda self: self._array.dtype)
    ndim = property(lambda self: self._array.ndim)
    size = property(lambda self: self._array.size)
    device = property(lambda self: self._array.device)
    T = property(lambda self: Distant(self._array.T))
    mT = property(lambda self: Distant(self._array.mT))  # noqa: N815

    __array_ufunc__ = None
    __array__ = _refusing("__array__", _LEAK)
    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, index: Any) -> Any:
        index = index if type(index) is tuple else (index,)
        return Distant(self._array[tuple([getattr(i, "_array", i) for i in index])])

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            msg = f"{name} of an array that lives on a device: {_LEAK}"
            raise ValueAskedError(msg, _LEAK)
        method = getattr(self._array, name)
        return lambda *xs, **options: _wrapped(method(*[_near(x) for x in xs], **options))

    def __array_function__(
        self, function: Callable[..., Any], _: Any, operands: tuple[Any, ...], options: Any
    ) -> Any:
        # That it leaks is told in the end; who asks about the answer is told of first.
        if function.__name__ not in _METHODS:
            msg = f"{function.__name__} of an array that lives on a device: {_LEAK}"
            raise ValueAskedError(msg, _LEAK)
        leaked.append(function.__name__)
        return _wrapped(function(*[_near(x) for x in operands], **options))

    def __repr__(self) -> str:
        return f"Distant({self.dtype}{list(self.shape)})"


def _operator(name: str) -> Callable[..., Any]:
    compute = getattr(np.ndarray, name)

    def operate(self: Distant, *others: Any) -> Any:
        if any(isinstance(other, Tracer) for other in others):
            return NotImplemented
        answer = compute(self._array, *[getattr(other, "_array", other) for other in others])
        return answer if answer is NotImplemented else Distant(answer)

    operate.__name__ = name
    return operate


for _name in ("add", "sub", "mul", "truediv", "pow", "matmul", "floordiv", "mod"):
    for _form in (f"__{_name}__", f"__r{_name}__"):
        setattr(Distant, _form, _operator(_form))
_VALUES = "__bool__ __float__ __int__ __index__ __complex__ __iter__ __contains__ item tolist"
for _name in _VALUES.split():
    setattr(Distant, _name, _refusing(_name, _BRANCH))
_REST = "lt le gt ge eq ne neg pos abs and or xor invert"
for _name in _REST.split():
    setattr(Distant, f"__{_name}__", _operator(f"__{_name}__"))


def _own(x: Distant, theirs: tuple[Any, ...]) -> Distant:
    given = [y._array for y in theirs if isinstance(y, Distant)]
    array = x._array
    is_own = array.base is None and array.flags.writeable and not any(array is g for g in given)
    return x if is_own else Distant(array.copy())


def as_distant(x: Any) -> Any:
    """Return a value with every array of NumPy's made distant."""
    return map_leaves(lambda leaf: Distant(np.array(leaf)) if _is_array(leaf) else leaf, x)


def _borrowed(word: Primitive[..., Any]) -> Callable[..., Any]:
    @functools.wraps(word)
    def borrowed(*operands: Any, **options: Any) -> Any:
        worded.append(word.__name__)
        return _wrapped(word(*[getattr(x, "_array", x) for x in operands], **options))

    return borrowed


def _is_array(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic))


def _wrapped(y: Any) -> Any:
    return map_leaves(lambda leaf: Distant(leaf) if _is_array(leaf) else leaf, y)


class _Space:
    """The namespace: NumPy's dtypes and constants, and its functions with distant results."""

    __name__ = "distant"

    def __init__(self, of: Any = np) -> None:
        self._of = of

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._of, name)
        if isinstance(found, types.ModuleType):  # linalg, fft
            return _Space(found)
        if isinstance(found, type) or not callable(found) or name in ("isdtype", "finfo", "iinfo"):
            return found

        def called(*xs: Any, **options: Any) -> Any:
            near = {name: _near(value) for name, value in options.items()}
            return _wrapped(found(*[_near(x) for x in xs], **near))

        return called

    def result_type(self, *xs: Any) -> Any:
        """Find the dtype that several values have in common."""
        return np.result_type(*[getattr(x, "dtype", x) for x in xs])


def _near(x: Any) -> Any:
    return type(x)(map(_near, x)) if type(x) in (tuple, list) else getattr(x, "_array", x)


@contextlib.contextmanager
def present() -> Iterator[None]:
    """Teach every word to compute with distant arrays, for the time being."""
    global _users
    with _lock:
        taught = _lessons()
        _users += 1
        for methods, added in taught:
            methods.update(added)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            for methods, added in taught if not _users else ():
                for signature in added:
                    methods.pop(signature, None)


_lock = threading.Lock()
_users = 0


@functools.cache
def _lessons() -> list[tuple[dict[Any, Any], dict[Any, Any]]]:
    """Find what the table of each word lacks for distant arrays."""
    register_array_type(Distant, Library(_Space(), own=_own, mutable=lambda x: False))
    words = [w for w in vars(vocabulary).values() if isinstance(w, Primitive)]
    for word in words:  # what computes words by others comes first, in whatever order they are used
        see_about(word.__module__)
    taught = []
    for word in words:
        methods = word._methods.methods
        before = dict(methods)
        _teach(word)
        methods = word._methods.methods
        taught.append((methods, {k: f for k, f in methods.items() if k not in before}))
        for signature in taught[-1][1]:
            del methods[signature]
    return [lesson for lesson in taught if lesson[1]]


def _teach(word: Primitive[..., Any]) -> None:
    if word is vocabulary.report:
        word.implement(lambda x, *, message: None, types=(Distant,))
        return
    n = len(word.operands)
    if word.has_body or word._methods.resolve((Distant,) * max(1, n)) is not None:
        return
    operand: Any = Distant | Scalar
    borrowed = _borrowed(word)
    if word.variadic:
        word.implement(borrowed, types=(*[Distant] * n, operand if n else Distant))
        return
    for first in range(n):
        spec = (*[Scalar] * first, Distant, *[operand] * (n - first - 1))
        word.implement(borrowed, types=spec)
