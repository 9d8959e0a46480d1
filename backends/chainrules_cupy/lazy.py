"""Halves of rules, run with as few launches as can be.

The half of a rule is a small program of words. It is run here on arrays that wait: what is done
element by element is only noted, and becomes one kernel where its numbers are wanted, or one that
sums them where they are only summed. Every other word gets its arrays computed first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import cupy
import numpy as np

from chainrules_cupy import kernels, namespace
from chainrules_cupy.expressions import Expression, Program, words
from chainrules_cupy.kernels import Kernel, kernel_for
from chainrules_py import Primitive, Scalar, vocabulary
from chainrules_py import vocabulary as v
from chainrules_py.extend import Library, Tracer, aliases, register_array_type

_DTYPES = "fdFD"
_STATIC = (0, 1, 2, -1, 0.5, -0.5)
"""Numbers that are written into a kernel; others are given to it, so that it serves them all."""


@final
class Waiting:
    """An array: there already, or noted as a word of other such arrays and numbers."""

    __slots__ = ("array", "dtype", "operands", "shape", "word")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        array: Any,
        word: str = "",
        operands: tuple[Any, ...] = (),
        shape: tuple[int, ...] = (),
        dtype: Any = None,
    ) -> None:
        self.array = array
        self.word = word
        self.operands = operands
        self.shape: tuple[int, ...] = shape if array is None else array.shape
        self.dtype: Any = dtype if array is None else array.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=int))

    @property
    def device(self) -> Any:
        """Where it is, or will be."""
        if self.array is not None:
            return self.array.device
        return next(x.device for x in self.operands if isinstance(x, Waiting))

    def __getitem__(self, where: Any) -> Any:
        return Waiting(computed(self)[where])

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **keywords: Any) -> Any:
        return aliases[ufunc].call(operands, keywords)()

    def __array_function__(self, f: Any, types: Any, operands: Any, keywords: Any) -> Any:
        return aliases[f].call(operands, keywords)()

    def __cupy_override_elementwise_kernel__(self, f: Any, *operands: Any, **keywords: Any) -> Any:
        return aliases[f].call(operands, keywords)()


register_array_type(Waiting, Library(namespace))


# ----------------------------------------------------------------------------- being computed


def computed(x: Any) -> Any:
    """Return the array, computed if it is not yet there; return anything else as it is."""
    if not isinstance(x, Waiting):
        return x
    if x.array is None:
        x.array = _computed(x)
    return x.array


def _computed(x: Waiting) -> Any:
    if x.dtype.kind == "b":  # kernels are of numbers; this one the library has
        return getattr(v, x.word)(*map(computed, x.operands))
    kernel, arrays = _kernel(x)
    return kernel.each(*arrays)


def _kernel(x: Waiting) -> tuple[Kernel, list[Any]]:
    """Return the kernel of everything that is noted, and the arguments to call it with."""
    program = Program(x.dtype)
    given: list[Any] = []
    types: list[str] = []
    known: dict[int, Any] = {}

    def expression(node: Any) -> Any:
        if not isinstance(node, Waiting):
            return node if node in _STATIC else parameter(node)
        if id(node) in known:
            return known[id(node)]
        if node.array is not None:
            found = parameter(node.array)
        else:
            found = getattr(words, node.word)(*map(expression, node.operands))
        known[id(node)] = found
        return found

    def parameter(value: Any) -> Expression:
        given.append(value)
        of_truth = getattr(value, "dtype", x.dtype).kind == "b"
        types.append("bool" if of_truth else "T")
        return Expression(program, f"x{len(given) - 1}", is_truth=of_truth)

    result = expression(x)
    return kernel_for(program, (result.name,), tuple(types)), given


def _fits(operands: tuple[Any, ...]) -> Any:
    """Return the dtype that one kernel can have for these operands, or None."""
    dtype = None
    for x in operands:
        if isinstance(x, Waiting):
            if x.dtype.kind == "b":
                continue
            if x.dtype.char not in _DTYPES or (dtype is not None and x.dtype != dtype):
                return None
            dtype = x.dtype
        elif type(x) not in (int, float):
            return None
    return dtype


_BOOLEAN = (
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "equal",
    "not_equal",
    "logical_and",
    "logical_or",
    "logical_not",
    "isnan",
    "isfinite",
    "isinf",
    "signbit",
)


def _noted(name: str) -> Callable[..., Any]:
    """Return an element-by-element word that takes notes, and computes only for mixed dtypes."""
    boolean = np.dtype(np.bool_) if name in _BOOLEAN else None

    def note(*operands: Any) -> Any:
        operands = tuple([Waiting(x) if isinstance(x, cupy.ndarray) else x for x in operands])
        dtype = _fits(operands)
        waits = [x for x in operands if isinstance(x, Waiting)]
        if dtype is None and not (boolean and all(x.dtype.kind == "b" for x in waits)):
            return Waiting(getattr(v, name)(*map(computed, operands)))
        shape = np.broadcast_shapes(*[x.shape for x in waits])
        return Waiting(None, name, operands, shape, boolean or dtype)

    return note


def _forced(word: Primitive[..., Any]) -> Callable[..., Any]:
    """Return a version of a word that computes its arrays first."""

    def forced(*operands: Any, **options: Any) -> Any:
        return _waiting(word(*map(computed, operands), **options))

    return forced


def _waiting(y: Any) -> Any:
    if isinstance(y, cupy.ndarray):
        return Waiting(y)
    if type(y) is tuple:
        return tuple(map(_waiting, y))
    return type(y)(*map(_waiting, y)) if isinstance(y, tuple) else y


# ------------------------------------------------------------------------------------ the words


def _summed(x: Waiting, *, axis: Any = None, keepdims: bool = False) -> Any:
    """In one launch with all that is noted of what is summed."""
    if x.array is not None or x.dtype.kind == "b" or not x.size:
        return Waiting(v.sum(computed(x), axis=axis, keepdims=keepdims))
    kernel, arrays = _kernel(x)
    if type(axis) is tuple:
        axis = tuple([a % x.ndim for a in axis])
    return Waiting(kernel.sum(*arrays, axis=axis, keepdims=keepdims))


def _mean(x: Waiting, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Compute the mean as a sum, and a noted product with 1/n."""
    if x.array is not None or x.dtype.kind == "b" or not x.size:
        return Waiting(v.mean(computed(x), axis=axis, keepdims=keepdims))
    axes = range(x.ndim) if axis is None else axis if type(axis) is tuple else (axis,)
    n = int(np.prod([x.shape[a] for a in axes], dtype=int))
    return _summed(x, axis=axis, keepdims=keepdims) * (1 / n)


def _expanded(x: Waiting, *, axis: Any) -> Any:
    """Insert axes by a view of a computed array; of a noted one, by views of its operands."""
    if x.array is None and all(
        not isinstance(part, Waiting) or part.shape == x.shape for part in x.operands
    ):
        parts = [_expanded(p, axis=axis) if isinstance(p, Waiting) else p for p in x.operands]
        shape = next(p.shape for p in parts if isinstance(p, Waiting))
        return Waiting(None, x.word, tuple(parts), shape, x.dtype)
    return Waiting(v.expand_dims(computed(x), axis=axis))


def _filled(x: Waiting, *, shape: Any, fill: Any, dtype: Any = None) -> Any:
    """Return a number in place of an array without axes; otherwise fill an array."""
    if shape == () and dtype in (None, x.dtype) and x.dtype.char in "fd":
        return float(fill)
    like = cupy.empty((), x.dtype) if x.array is None else x.array
    return Waiting(v.full_like(like, shape=shape, fill=fill, dtype=dtype))


def _conjugate(x: Waiting) -> Any:
    return x if x.dtype.kind != "c" else _noted("conj")(x)


def _real(x: Waiting) -> Any:
    return x if x.dtype.kind != "c" else Waiting(v.real(computed(x)))


def _converted(x: Waiting, *, dtype: Any) -> Any:
    return x if x.dtype == dtype else Waiting(v.astype(computed(x), dtype=dtype))


_OWN: dict[str, Any] = {
    "sum": _summed,
    "mean": _mean,
    "expand_dims": _expanded,
    "full_like": _filled,
    "conj": _conjugate,
    "real": _real,
    "astype": _converted,
}
_COMPOSED = ("strong_multiply", "tie_share", "deg2rad", "rad2deg", "clip_below", "clip_above")
"""Words that are left to what they are in other words."""


def _enter(word: Primitive[..., Any]) -> None:
    name, n = word.__name__, len(word.operands)
    if name in _COMPOSED or word.has_body:
        return
    noted = hasattr(words, name) and not word.options and not word.variadic
    f: Any = _OWN.get(name) or (_noted(name) if noted else _forced(word))
    f.__signature__ = word.signature
    operand: Any = Waiting | cupy.ndarray | Scalar
    if word.variadic:
        word.implement(f, types=(*[operand] * n, Waiting) if not n else (Waiting, *[operand] * n))
        return
    for first in range(n):
        types = (*[cupy.ndarray | Scalar] * first, Waiting, *[operand] * (n - first - 1))
        word.implement(f, types=types)


for _word in list(vars(vocabulary).values()):
    if isinstance(_word, Primitive):
        _enter(_word)


def _operator(word: Any, reflected: bool) -> Callable[[Any, Any], Any]:
    def operator(x: Any, y: Any) -> Any:
        return word(y, x) if reflected else word(x, y)

    return operator


def _of_one(word: Any) -> Callable[[Any], Any]:
    def operator(x: Any) -> Any:
        return word(x)

    return operator


for _name, (_binary, _) in v.binary_operators.items():
    setattr(Waiting, _name, _operator(_binary, False))
    if _name in ("__add__", "__sub__", "__mul__", "__truediv__", "__pow__", "__matmul__"):
        setattr(Waiting, f"__r{_name[2:]}", _operator(_binary, True))
for _name, _one in v.unary_operators.items():
    setattr(Waiting, _name, _of_one(_one[0]))


# --------------------------------------------------------------------------------- running a half

_plain: set[Any] = set()
"""Halves that gain nothing, or do what waiting arrays cannot."""


least = 1 << 16
"""From so many elements on: noting a word costs as much as a launch does."""


def lazily(half: Callable[..., Any], y_bar: Any, *saved: Any) -> Any:
    """Run a half of a rule with as few launches as can be, where the arrays are large."""
    if (
        type(y_bar) is not cupy.ndarray
        or max([x.size for x in (y_bar, *saved) if type(x) is cupy.ndarray]) < least
        or half in _plain
        or y_bar.dtype.char not in _DTYPES
        or any([isinstance(x, Tracer) for x in saved])
    ):
        return half(y_bar, *saved)
    wait = [Waiting(x) if type(x) is cupy.ndarray else x for x in saved]
    try:
        return computed(half(Waiting(y_bar), *wait))
    except Exception:  # if it is an error of the rule's, it comes again
        if getattr(half, "__closure__", half) is None and not half.__defaults__:
            _plain.add(half)
        return half(y_bar, *saved)


@final
class Fuser:
    """Fuser for arrays of CuPy's, which the core consults when it binds a rule."""

    def together(self, f: Callable[..., Any], n: int) -> Callable[..., Any] | None:
        """Return f as one launch where it would take several, or None."""
        return kernels.together(f, n, 2) if kernels.on else None

    def summed(self, f: Callable[..., Any], n: int) -> Callable[..., Any] | None:
        """Return one launch for the function and its sum, or None."""
        return kernels.summed(f, n) if kernels.on else None

    def lazily(self, half: Callable[..., Any], y_bar: Any, *saved: Any) -> Any:
        """Run a half of any rule, lazily unless fusing is turned off."""
        return lazily(half, y_bar, *saved) if kernels.on else half(y_bar, *saved)
