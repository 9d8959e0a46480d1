"""Functions that act element by element, as the text of a kernel.

A function written in words is called on expressions, which note in C++ what is done to them, one
operation in a line. What is not done element by element has no line, and raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, final

import numpy as np

from chainrules_py import RuleError
from chainrules_py import vocabulary as v
from chainrules_py.extend import Library, aliases, register_array_type, see

_BOOL = np.dtype(np.bool_)


@final
class Program:
    """The lines of a kernel while it is being written.

    Attributes
    ----------
    dtype : dtype
        What ``T`` stands for in them: that of all operands, and of all values but truths.
    lines : list of str
        One operation each.
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.is_complex = dtype.kind == "c"
        self.lines: list[str] = []
        self.known: dict[str, str] = {}

    def add(self, text: str, *, is_truth: bool = False) -> Expression:
        """Add an operation and return its result, which is reused if it is there already."""
        if text not in self.known:
            name = self.known[text] = f"v{len(self.known)}"
            self.lines.append(f"const {'bool' if is_truth else 'T'} {name} = {text};")
        return Expression(self, self.known[text], is_truth=is_truth)


@final
class Expression:
    """An array that is known by its name in a kernel."""

    __slots__ = ("dtype", "is_truth", "name", "program")
    shape: ClassVar[tuple[int, ...]] = ()
    ndim: ClassVar[int] = 0
    device: ClassVar[None] = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, program: Program, name: str, *, is_truth: bool = False) -> None:
        self.program = program
        self.name = name
        self.is_truth = is_truth
        self.dtype = _BOOL if is_truth else program.dtype

    def __bool__(self) -> NoReturn:
        raise _NotElementwiseError("a value that the device has not computed yet is asked for")

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **keywords: Any) -> Any:
        return self._as_word(ufunc, operands, keywords)

    def __array_function__(self, f: Any, types: Any, operands: Any, keywords: Any) -> Any:
        return self._as_word(f, operands, keywords)

    def __cupy_override_elementwise_kernel__(self, f: Any, *operands: Any, **keywords: Any) -> Any:
        return self._as_word(f, operands, keywords)

    def _as_word(self, f: Any, operands: Any, keywords: Any) -> Any:
        if f not in aliases:
            see(f, ())  # SciPy's functions, of a process that has not met them
        row = aliases.get(f)
        if row is None:
            name = getattr(f, "__name__", repr(f))
            raise _NotElementwiseError(f"{name} is no word")
        return row.call(tuple(map(_constant, operands)), keywords)()

    def __repr__(self) -> str:
        return f"<{self.dtype} {self.name}>"


class _NotElementwiseError(RuleError):
    """A function does what no kernel for each element can do."""


def _constant(x: Any) -> Any:
    """Convert a NumPy number or array of one element to Python's; raise if it has axes."""
    if isinstance(x, (np.generic, np.ndarray)):
        if x.ndim:
            raise _captured(x)
        return x.item()
    return x


def _captured(x: Any) -> RuleError:
    shown = f"{type(x).__module__}.{type(x).__qualname__}"
    return _NotElementwiseError(f"{shown} is captured; make it an operand")


def _written(x: Any, program: Program) -> Expression:
    """Convert an operand to an expression; the text of a number stands in place of a name."""
    if isinstance(x, Expression):
        if x.program is not program:
            raise _NotElementwiseError("it mixes two traces")
        return x
    x = _constant(x)
    if isinstance(x, bool):
        return Expression(program, "true" if x else "false", is_truth=True)
    if isinstance(x, complex):
        if not program.is_complex:
            raise _NotElementwiseError("a complex number in a kernel of real ones")
        return Expression(program, f"T({x.real!r}, {x.imag!r})")
    if isinstance(x, (int, float)):
        return Expression(program, f"T({_number(float(x))})")
    raise _captured(x)


def _number(x: float) -> str:
    if x != x:
        return "0.0 / 0.0"
    if x in (float("inf"), float("-inf")):
        return "1.0 / 0.0" if x > 0 else "-1.0 / 0.0"
    return repr(x)


def _expressions(*operands: Any) -> list[Any]:
    """Operands, numbers among them, with operators."""
    program = next(x.program for x in operands if isinstance(x, Expression))
    return [_written(x, program) for x in operands]


def _number_of(x: Expression) -> str:
    """Return the text of an operand as a number; truths become 0 and 1."""
    return f"T({x.name})" if x.is_truth else x.name


def _operation(
    template: str, *, real: bool = False, truth: bool = False, of_truths: bool = False
) -> Callable[..., Any]:
    """Make an operation on expressions, with numbers allowed among them, from its template.

    It is there of complex numbers too unless ``real``, and gives a ``truth`` or a number.
    """

    def operation(*operands: Any) -> Any:
        written = _expressions(*operands)
        program = written[0].program
        if (real and program.is_complex) or (of_truths and not all(x.is_truth for x in written)):
            raise _NotElementwiseError(f"{template} of {written}")
        texts = [x.name if of_truths else _number_of(x) for x in written]
        return program.add(template.format(*texts), is_truth=truth)

    return operation


def _pick(condition: Any, x: Any, y: Any) -> Any:
    """Choose between two operands by a condition, which may be a number."""
    c, x, y = _expressions(condition, x, y)
    text = c.name if c.is_truth else f"({c.name} != T(0.0))"
    if x.is_truth and y.is_truth:
        return c.program.add(f"pick({text}, {x.name}, {y.name})", is_truth=True)
    return c.program.add(f"pick({text}, {_number_of(x)}, {_number_of(y)})")


def _same(x: Any) -> Any:
    return x


def _real_part(x: Any) -> Any:
    if x.program.is_complex:
        raise _NotElementwiseError("parts of complex numbers have another dtype")
    return x


def _literal(value: float) -> Callable[..., Any]:
    def make(x: Any, *, dtype: Any = None) -> Any:
        if dtype not in (None, x.program.dtype):
            raise _NotElementwiseError(f"numbers are made of dtype {dtype}")
        return x.program.add(f"T({value})")

    return make


_UNARY = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log", "log10"),
    *("sin", "sinh", "sqrt", "tan", "tanh"),
)
_UNARY_REAL = (
    *("cbrt", "ceil", "erf", "erfc", "erfcx", "erfinv", "exp2", "expm1", "floor", "log1p", "log2"),
    "trunc",
)


_exp, _log, _log1p = [_operation(f"{name}({{0}})") for name in ("exp", "log", "log1p")]


@final
class _Words:
    """The words that a kernel has, as a namespace."""

    float64 = np.dtype(np.float64)
    complex128 = np.dtype(np.complex128)
    isdtype = staticmethod(np.isdtype)
    finfo = staticmethod(np.finfo)

    add = staticmethod(_operation("{0} + {1}"))
    subtract = staticmethod(_operation("{0} - {1}"))
    multiply = staticmethod(_operation("{0} * {1}"))
    divide = staticmethod(_operation("{0} / {1}"))
    negative = staticmethod(_operation("-{0}"))
    positive = staticmethod(_same)
    reciprocal = staticmethod(_operation("T(1.0) / {0}"))
    square = staticmethod(_operation("{0} * {0}"))
    pow = staticmethod(_operation("pow({0}, {1})"))
    abs = staticmethod(_operation("fabs({0})", real=True))
    round = staticmethod(_operation("rint({0})", real=True))
    atan2 = staticmethod(_operation("atan2({0}, {1})", real=True))
    hypot = staticmethod(_operation("hypot({0}, {1})", real=True))
    copysign = staticmethod(_operation("copysign({0}, {1})", real=True))
    fmod = staticmethod(_operation("fmod({0}, {1})", real=True))
    fmax = staticmethod(_operation("max({0}, {1})", real=True))
    fmin = staticmethod(_operation("min({0}, {1})", real=True))
    floor_divide = staticmethod(_operation("floor({0} / {1})", real=True))
    expit = staticmethod(_operation("T(1.0) / (T(1.0) + exp(-{0}))", real=True))
    gammaln = staticmethod(_operation("lgamma({0})", real=True))
    less = staticmethod(_operation("{0} < {1}", real=True, truth=True))
    less_equal = staticmethod(_operation("{0} <= {1}", real=True, truth=True))
    greater = staticmethod(_operation("{0} > {1}", real=True, truth=True))
    greater_equal = staticmethod(_operation("{0} >= {1}", real=True, truth=True))
    equal = staticmethod(_operation("{0} == {1}", truth=True))
    not_equal = staticmethod(_operation("{0} != {1}", truth=True))
    logical_and = staticmethod(_operation("{0} & {1}", truth=True, of_truths=True))
    logical_or = staticmethod(_operation("{0} | {1}", truth=True, of_truths=True))
    logical_not = staticmethod(_operation("{0} == false", truth=True, of_truths=True))
    isnan = staticmethod(_operation("{0} != {0}", real=True, truth=True))
    isfinite = staticmethod(_operation("isfinite({0})", real=True, truth=True))
    isinf = staticmethod(_operation("isinf({0})", real=True, truth=True))
    signbit = staticmethod(_operation("signbit({0})", real=True, truth=True))
    where = staticmethod(_pick)
    zeros_like = staticmethod(_literal(0.0))
    ones_like = staticmethod(_literal(1.0))
    real = staticmethod(_real_part)
    conj = staticmethod(lambda x: x.program.add(f"conj({x.name})") if x.program.is_complex else x)

    @staticmethod
    def maximum(x: Any, y: Any) -> Any:
        """NaN if one of them is."""
        x, y = _expressions(x, y)
        return _pick(x != x, x, _pick(y != y, y, _Words.fmax(x, y)))

    @staticmethod
    def minimum(x: Any, y: Any) -> Any:
        """NaN if one of them is."""
        x, y = _expressions(x, y)
        return _pick(x != x, x, _pick(y != y, y, _Words.fmin(x, y)))

    @staticmethod
    def remainder(x: Any, y: Any) -> Any:
        """With the sign of y."""
        x, y = _expressions(x, y)
        rest = _Words.fmod(x, y)
        return _pick((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)

    @staticmethod
    def logaddexp(x: Any, y: Any) -> Any:
        """From the greater of the two; infinities of one sign do not differ."""
        x, y = _expressions(x, y)
        apart = _pick(x == y, 0.0, abs(x - y))
        return _Words.maximum(x, y) + _log1p(_exp(-apart))

    @staticmethod
    def log_expit(x: Any) -> Any:
        """Without the overflow of the exponential."""
        return _Words.minimum(x, 0.0) - _log1p(_exp(-abs(x)))

    @staticmethod
    def xlogy(x: Any, y: Any) -> Any:
        """0 where x is, unless y is no number."""
        x, y = _expressions(x, y)
        return _pick((x == 0) & (y == y), 0.0, x * _log(y))

    @staticmethod
    def sign(x: Any) -> Any:
        """NaN of NaN."""
        positive, negative = _Words.greater(x, 0), _Words.less(x, 0)
        return _pick(positive, 1.0, _pick(negative, -1.0, _pick(_Words.equal(x, 0), 0.0, x)))

    @staticmethod
    def clip(x: Any, lo: Any, hi: Any) -> Any:
        """Raise x to the lower bound, then lower it to the upper one."""
        return _Words.minimum(_Words.maximum(x, lo), hi)


for _name in _UNARY:
    setattr(_Words, _name, staticmethod(_operation(f"{_name}({{0}})")))
for _name in _UNARY_REAL:
    setattr(_Words, _name, staticmethod(_operation(f"{_name}({{0}})", real=True)))

words = _Words()
register_array_type(Expression, Library(words, own=lambda x, theirs: x))  # nobody writes to one


@v.astype.implement
def astype_expression(x: Expression, *, dtype: Any) -> Any:
    """Convert a truth to a number, and leave a number as it is."""
    if dtype != x.program.dtype:
        raise _NotElementwiseError(f"what is {x.dtype} becomes {dtype}")
    return x.program.add(f"T({x.name})") if x.is_truth else x


_OPERATORS: dict[str, Any] = {
    "__add__": words.add,
    "__sub__": words.subtract,
    "__mul__": words.multiply,
    "__truediv__": words.divide,
    "__floordiv__": words.floor_divide,
    "__mod__": words.remainder,
    "__pow__": words.pow,
    "__lt__": words.less,
    "__le__": words.less_equal,
    "__gt__": words.greater,
    "__ge__": words.greater_equal,
    "__eq__": words.equal,
    "__ne__": words.not_equal,
    "__and__": words.logical_and,
    "__or__": words.logical_or,
}


def _unary(of: Any) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        return of(self)

    return method


for _name, _of in _OPERATORS.items():
    setattr(Expression, _name, lambda self, other, _of=_of: _of(self, other))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    _of = _OPERATORS[f"__{_name}__"]
    setattr(Expression, f"__r{_name}__", lambda self, other, _of=_of: _of(other, self))
_methods: dict[str, Any] = {
    "__neg__": words.negative,
    "__pos__": words.positive,
    "__abs__": words.abs,
    "__invert__": words.logical_not,
}
for _name, _of in _methods.items():
    setattr(Expression, _name, _unary(_of))


def trace(f: Callable[..., Any], n: int, dtype: Any) -> tuple[Program, tuple[Any, ...], bool]:
    """Call a function on n expressions of a dtype.

    Returns
    -------
    program : Program
        Its lines.
    results : tuple
        Expressions, numbers; whatever the function gave.
    single : bool
        Whether it gave one, and no tuple.

    Raises
    ------
    RuleError
        If it does what cannot be done element by element.
    """
    program = Program(dtype)
    given = f(*[Expression(program, f"x{i}") for i in range(n)])
    single = type(given) is not tuple
    return program, (given,) if single else given, single
