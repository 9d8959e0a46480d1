"""Functions that act element by element, as the text of a kernel.

A function written in words is called on expressions, which note in C++ what is done to them, one
operation in a line. What is not done element by element has no line, and raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, final

import numpy as np

from chainrules_py import register_array_type
from chainrules_py import vocabulary as v
from chainrules_py.alias import aliases
from chainrules_py.calling import register_owner
from chainrules_py.errors import RuleError

__all__ = ["Expression", "Program", "trace"]

Number = bool | int | float | complex


@final
class Program:
    """The lines of a kernel while it is being written.

    Attributes
    ----------
    lines : list of str
        One operation each.
    """

    def __init__(self, complex: bool) -> None:
        self.complex = complex
        self.lines: list[str] = []
        self.known: dict[str, str] = {}

    def add(self, text: str, kind: str) -> Expression:
        """The result of an operation; of one that is there already, that."""
        if text not in self.known:
            name = self.known[text] = f"v{len(self.known)}"
            self.lines.append(f"const {'bool' if kind == 'bool' else 'T'} {name} = {text};")
        return Expression(self, self.known[text], kind)


@final
class Expression:
    """An array that is known by its name in a kernel."""

    __slots__ = ("dtype", "kind", "name", "program")
    shape: ClassVar[tuple[int, ...]] = ()
    ndim: ClassVar[int] = 0
    device: ClassVar[None] = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, program: Program, name: str, kind: str) -> None:
        self.program = program
        self.name = name
        self.kind = kind
        self.dtype = _DTYPES[kind]

    def __bool__(self) -> NoReturn:
        raise _NotElementwiseError("a value that the device has not computed yet is asked for")

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **keywords: Any) -> Any:
        return self._as_word(ufunc, operands, keywords)

    def __array_function__(self, f: Any, types: Any, operands: Any, keywords: Any) -> Any:
        return self._as_word(f, operands, keywords)

    def __cupy_override_elementwise_kernel__(self, f: Any, *operands: Any, **keywords: Any) -> Any:
        return self._as_word(f, operands, keywords)

    def _as_word(self, f: Any, operands: Any, keywords: Any) -> Any:
        row = aliases.get(f)
        if row is None:
            name = getattr(f, "__name__", repr(f))
            raise _NotElementwiseError(f"{name} is no word")
        return row.call(operands, keywords)()

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"


_DTYPES = {
    "real": np.dtype(np.float64),
    "complex": np.dtype(np.complex128),
    "bool": np.dtype(np.bool_),
}


class _NotElementwiseError(RuleError):
    """A function does what no kernel for each element can do."""


def _written(x: Any, program: Program) -> tuple[str, str]:
    """An operand as text, and its kind."""
    if isinstance(x, Expression):
        if x.program is not program:
            raise _NotElementwiseError("it mixes two traces")
        return x.name, x.kind
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, bool):
        return ("true" if x else "false"), "bool"
    if isinstance(x, complex):
        if not program.complex:
            raise _NotElementwiseError("a complex number in a kernel of real ones")
        return f"T({x.real!r}, {x.imag!r})", "complex"
    if isinstance(x, (int, float)):
        return f"T({_number(float(x))})", "complex" if program.complex else "real"
    shown = f"{type(x).__module__}.{type(x).__qualname__}"
    raise _NotElementwiseError(f"{shown} is captured; make it an operand")


def _number(x: float) -> str:
    if x != x:
        return "0.0 / 0.0"
    if x in (float("inf"), float("-inf")):
        return "1.0 / 0.0" if x > 0 else "-1.0 / 0.0"
    return repr(x)


def _program_of(operands: tuple[Any, ...]) -> Program:
    return next(x.program for x in operands if isinstance(x, Expression))


def _operation(template: str, kind: str | None = None, *, of: str = "rcb") -> Callable[..., Any]:
    """An operation on expressions, numbers among them; without a kind, the result's is theirs.

    ``of`` says of which kinds there is one: real, complex, bool.
    """

    def operation(*operands: Any) -> Expression:
        program = _program_of(operands)
        written = [_written(x, program) for x in operands]
        kinds = {k for _, k in written}
        if any(k[0] not in of for k in kinds):
            raise _NotElementwiseError(f"{template} of {sorted(kinds)}")
        found = kind or ("complex" if "complex" in kinds else "real")
        texts = [t if k != "bool" or found == "bool" else f"T({t})" for t, k in written]
        return program.add(template.format(*texts), found)

    return operation


def _pick(condition: Any, x: Any, y: Any) -> Any:
    """A choice, where the condition may be a number."""
    program = _program_of((condition, x, y))
    (c, kind), *values = [_written(v, program) for v in (condition, x, y)]
    c = c if kind == "bool" else f"({c} != T(0.0))"
    kinds = {k for _, k in values}
    if kinds == {"bool"}:
        return program.add(f"pick({c}, {values[0][0]}, {values[1][0]})", "bool")
    texts = [t if k != "bool" else f"T({t})" for t, k in values]
    kind = "complex" if program.complex else "real"
    return program.add(f"pick({c}, {texts[0]}, {texts[1]})", kind)


def _same(x: Any) -> Any:
    return x


def _real_only(x: Any) -> Any:
    if x.kind == "complex":
        raise _NotElementwiseError("parts of complex numbers have another type")
    return x


def _literal(value: float) -> Callable[..., Any]:
    def make(x: Any, *, dtype: Any = None) -> Any:
        return x.program.add(f"T({value})", "complex" if x.program.complex else "real")

    return make


_real = "r"
_UNARY = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "exp",
    "log",
    "log10",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]
_UNARY_REAL = ["cbrt", "ceil", "exp2", "expm1", "floor", "log1p", "log2", "trunc"]


@final
class _Words:
    """The words that a kernel has, as a namespace."""

    float64 = _DTYPES["real"]
    complex128 = _DTYPES["complex"]
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
    abs = staticmethod(_operation("fabs({0})", of=_real))
    round = staticmethod(_operation("rint({0})", of=_real))
    atan2 = staticmethod(_operation("atan2({0}, {1})", of=_real))
    hypot = staticmethod(_operation("hypot({0}, {1})", of=_real))
    copysign = staticmethod(_operation("copysign({0}, {1})", of=_real))
    fmod = staticmethod(_operation("fmod({0}, {1})", of=_real))
    fmax = staticmethod(_operation("max({0}, {1})", of=_real))
    fmin = staticmethod(_operation("min({0}, {1})", of=_real))
    floor_divide = staticmethod(_operation("floor({0} / {1})", of=_real))
    less = staticmethod(_operation("{0} < {1}", "bool", of=_real))
    less_equal = staticmethod(_operation("{0} <= {1}", "bool", of=_real))
    greater = staticmethod(_operation("{0} > {1}", "bool", of=_real))
    greater_equal = staticmethod(_operation("{0} >= {1}", "bool", of=_real))
    equal = staticmethod(_operation("{0} == {1}", "bool"))
    not_equal = staticmethod(_operation("{0} != {1}", "bool"))
    logical_and = staticmethod(_operation("{0} & {1}", "bool", of="b"))
    logical_or = staticmethod(_operation("{0} | {1}", "bool", of="b"))
    logical_not = staticmethod(_operation("{0} == false", "bool", of="b"))
    isnan = staticmethod(_operation("{0} != {0}", "bool", of=_real))
    isfinite = staticmethod(_operation("isfinite({0})", "bool", of=_real))
    isinf = staticmethod(_operation("isinf({0})", "bool", of=_real))
    signbit = staticmethod(_operation("signbit({0})", "bool", of=_real))
    where = staticmethod(_pick)
    zeros_like = staticmethod(_literal(0.0))
    ones_like = staticmethod(_literal(1.0))
    real = staticmethod(_real_only)
    conj = staticmethod(
        lambda x: x if x.kind == "real" else x.program.add(f"conj({x.name})", "complex")
    )

    @staticmethod
    def maximum(x: Any, y: Any) -> Any:
        """NaN if one of them is."""
        return _pick(
            _Words.not_equal(x, x) if isinstance(x, Expression) else False,
            x,
            _pick(
                _Words.not_equal(y, y) if isinstance(y, Expression) else False, y, _Words.fmax(x, y)
            ),
        )

    @staticmethod
    def minimum(x: Any, y: Any) -> Any:
        """NaN if one of them is."""
        return _pick(
            _Words.not_equal(x, x) if isinstance(x, Expression) else False,
            x,
            _pick(
                _Words.not_equal(y, y) if isinstance(y, Expression) else False, y, _Words.fmin(x, y)
            ),
        )

    @staticmethod
    def sign(x: Any) -> Any:
        """NaN of NaN."""
        positive, negative = _Words.greater(x, 0), _Words.less(x, 0)
        return _pick(positive, 1.0, _pick(negative, -1.0, _pick(_Words.equal(x, 0), 0.0, x)))

    @staticmethod
    def clip(x: Any, lo: Any, hi: Any) -> Any:
        """As the bounds say; the upper one last."""
        return _Words.minimum(_Words.maximum(x, lo), hi)


for _name in _UNARY:
    setattr(_Words, _name, staticmethod(_operation(f"{_name}({{0}})")))
for _name in _UNARY_REAL:
    setattr(_Words, _name, staticmethod(_operation(f"{_name}({{0}})", of=_real)))

words = _Words()
register_array_type(Expression, words)
register_owner(Expression, lambda x, theirs: x)  # nobody writes to one


@v.full_like.implement
def full_like_expression(x: Expression, *, shape: Any, fill: Any, dtype: Any = None) -> Any:
    """A number."""
    if shape != () or dtype not in (None, x.dtype):
        raise _NotElementwiseError(f"an array of shape {shape} is made")
    return x.program.add(_written(fill, x.program)[0], x.kind)


@v.astype.implement
def astype_expression(x: Expression, *, dtype: Any) -> Any:
    """A truth as a number."""
    kind = "complex" if x.program.complex else "real"
    if dtype != _DTYPES[kind]:
        raise _NotElementwiseError(f"what is {x.kind} becomes {dtype}")
    return x if x.kind == kind else x.program.add(f"T({x.name})", kind)


_OPERATORS: dict[str, Any] = {
    "__add__": words.add,
    "__sub__": words.subtract,
    "__mul__": words.multiply,
    "__truediv__": words.divide,
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
for _name in ("__add__", "__sub__", "__mul__", "__truediv__", "__pow__"):
    _of = _OPERATORS[_name]
    setattr(Expression, f"__r{_name[2:]}", lambda self, other, _of=_of: _of(other, self))
Expression.__neg__ = _unary(words.negative)
Expression.__pos__ = _unary(words.positive)
Expression.__abs__ = _unary(words.abs)
Expression.__invert__ = _unary(words.logical_not)


def trace(f: Callable[..., Any], n: int, complex: bool) -> tuple[Program, tuple[Any, ...], bool]:
    """Call a function on n expressions.

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
    program = Program(complex)
    inputs = [Expression(program, f"x{i}", "complex" if complex else "real") for i in range(n)]
    given = f(*inputs)
    single = type(given) is not tuple
    return program, (given,) if single else given, single
