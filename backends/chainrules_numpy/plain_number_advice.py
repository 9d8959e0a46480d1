"""Hints for functions that take plain numbers only: what to write instead.

The functions of Python's ``math``, and some options of NumPy, do not dispatch on tracers and
request a float; the error names a function that does the same for traced values.
"""

from __future__ import annotations

import array
import ast
import cmath
import copy
import ctypes
import math
import re
import statistics
import time
from types import FunctionType
from typing import Any

import numpy as np

from chainrules_numpy.advice_operands import JOINED, is_list, is_name, is_number
from chainrules_py.extend import (
    Line,
    Tracer,
    advise,
    advised,
    filled,
    find_tracers,
    suggestion,
    untraced,
)

_name: str

ALIKE = (
    "cbrt copysign cos cosh degrees exp exp2 expm1 fabs fmod frexp hypot isclose isfinite isinf "
    "isnan ldexp log log10 log1p log2 modf nextafter radians sin sinh sqrt tan tanh"
)
"""Functions that NumPy has under the same name."""

OTHERWISE = {
    "acos": "np.arccos({0})",
    "acosh": "np.arccosh({0})",
    "asin": "np.arcsin({0})",
    "asinh": "np.arcsinh({0})",
    "atan": "np.arctan({0})",
    "atan2": "np.arctan2({all})",
    "atanh": "np.arctanh({0})",
    "ceil": "np.ceil({0})",
    "dist": "np.linalg.norm(np.stack({0}) - np.stack({1}))",
    "erf": "scipy.special.erf({0})",
    "erfc": "scipy.special.erfc({0})",
    "floor": "np.floor({0})",
    "fsum": "np.sum(np.stack({0}))",
    "gamma": "scipy.special.gamma({0})",
    "lgamma": "scipy.special.gammaln({0})",
    "phase": "np.angle({0})",
    "polar": "(np.abs({0}), np.angle({0}))",
    "pow": "np.float_power({all})",
    "prod": "np.prod(np.stack({0}))",
    "rect": "{0} * np.exp(1j * {1})",
    "remainder": "{0} - {1} * np.rint({0} / {1})",
    "sumprod": "np.dot(np.stack({0}), np.stack({1}))",
    "trunc": "np.trunc({0})",
    **{name: f"np.{name}({{all}})" for name in ALIKE.split()},
}
"""NumPy equivalents of ``math`` and ``cmath`` functions."""


def _with_lists(write: str) -> Any:
    """Return advice that turns generators and maps into lists, which ``np.stack`` takes."""

    def given(line: Any) -> str:
        each = [x for x in line.arguments if x[0] != "*"]
        each = [x if x[0] == "[" or x.isidentifier() else f"[*{x}]" for x in each]
        return f"use {filled(write, *each, *'xy'[len(each) :])}"

    return given


def _log(line: Any) -> str:
    """Divide by the logarithm of the base, which ``np.log`` does not take."""
    return f"use np.log({{0}}){' / np.log({1})' * (len(line.arguments) == 2)}"


_CUT = ("acos", "acosh", "asin", "atanh", "log10", "sqrt")
"""Functions of ``cmath`` that are complex for some real numbers."""


def _hypot(line: Any) -> str:
    """Suggest a norm for other numbers of arguments than two, of which NumPy's has no more."""
    two = len(line.arguments) == 2 and not any(x[0] == "*" for x in line.arguments)
    return "use np.hypot({all})" if two else "use np.linalg.norm(np.stack([{all}]))"


for _name, _line in OTHERWISE.items():
    if hasattr(cmath, _name):  # of negative numbers, too
        _of_complex = re.sub(r"\{\w+\}", "{0} + 0j", _line) if _name in _CUT else _line
        advise(getattr(cmath, _name), f"use {_of_complex}")
    if hasattr(math, _name):
        _after = " after 'import scipy.special'" * _line.startswith("scipy")
        _found = _with_lists(_line) if "np.stack" in _line else f"use {_line}{_after}"
        advise(getattr(math, _name), _found)


def _is_close(line: Any) -> str:
    """Compare constants, as Python does: its tolerances are others than NumPy's."""
    return f"use {line.with_constant()}"


def _arange(line: Any) -> str:
    """Suggest a constant number of steps."""
    args = [x for x in line.arguments if x[0] != "*"]
    if len(args) == 1:
        stop = f"ignore_derivatives({args[0]})"
        return f"use np.arange({stop}), whose elements do not depend on where it stops"
    start, stop, step = [*args, *("start", "stop", line.option("step") or "1")[len(args) :]][:3]
    n = filled("np.ceil(ignore_derivatives(({1} - {0}) / {2}))", start, stop, step)
    return f"use {filled('{0} + {1} * np.arange({n})', start, step, n=n)}"


_VECTORIZE = "after 'from chainrules_numpy.composites.mapping import vectorize'"


def _vectorized(line: Any) -> str:
    """Suggest the vectorize that traces, of the function that the one of NumPy calls."""
    called = line.node and line.node.func
    f = f"{line.called}.pyfunc" if called else "f"
    if isinstance(called, ast.Call) and called.args:
        given = map(ast.unparse, [*called.args, *called.keywords])
        f = ", ".join([each for each in given if each != "otypes=[float]"])  # as its results are
    return f"use vectorize({f})({', '.join(line.arguments or ['x'])}), {_VECTORIZE}"


def as_asked(line: Line, made: str, laid: str = "") -> tuple[str, str]:
    """Return an array with the dtype that the call requests, and what else is to be written."""
    options = [*getattr(line.node, "args", ())[1:], *getattr(line.node, "keywords", ())]
    dtype, rest = line.option("dtype") or next(iter(line.arguments[1:2]), "None"), ""
    if any([isinstance(x, ast.Starred) or getattr(x, "arg", "") is None for x in options]):
        dtype, rest = (
            line.option("dtype") or "None",
            ", with .astype(dtype) if a dtype is passed on",
        )
    if line.option("ndmin"):
        rest = f", with np.expand_dims to {line.option('ndmin')} axes"
    return (
        made if dtype in ("None", "object") else filled(f"{{0}}.astype({dtype}{laid})", made)
    ), rest


def _array(write: str, order: str | None = None) -> Any:
    """Return advice for what makes an array of one, or of what may be a list."""

    def given(line: Any) -> str:
        node = next(iter(getattr(line.node, "args", ())), ast.Name("x"))
        x, laid, held = ast.unparse(node), line.option("order") or order or "", line.resolved(node)
        flags = getattr(untraced(held), "flags", None)
        copied = laid and not getattr(flags, f"{laid[1:2].lower()}_contiguous", False)
        laid = f", order={laid}" * bool(copied)
        unknown = is_name(node) and isinstance(held, list | tuple | None)
        if unknown and line.node is not None and not any(line.traced(node)):
            made, rest = as_asked(line, f"np.stack(list({x}))")
        else:
            usual = f"np.copy({x}{laid})" if copied else filled(write, x)
            made, rest = as_asked(line, f"np.copy({x})" if is_number(line, node) else x, laid)
            made = usual if made in (x, f"np.copy({x})") else made
        base = node
        while isinstance(base, (ast.Attribute, ast.Subscript)):
            base = base.value
        called = isinstance(base, ast.Call) and not _of_numpy(line.value_of(base.func))
        known = find_tracers(line.resolved(node)) or issubclass(type(line.resolved(base)), Tracer)
        listed = not known and (called or is_name(node)) and "list(" not in made
        return f"use {made}{f', with np.stack({x}) for {x} if it is a list' * listed}{rest}"

    return given


def _of_iterator(line: Any) -> str:
    """Suggest to stack the values of an iterator, with the dtype."""
    made, rest = as_asked(line, f"np.stack(list({next(iter(line.arguments), 'x')}))")
    return f"use {made}{rest}"


def _of_numpy(function: Any) -> bool:
    module = str(getattr(function, "__module__", None) or type(function).__module__)
    return module.partition(".")[0] == "numpy"


def _beside(place: int, made: str) -> Any:
    """Return advice to trace a plain array, where another argument of the function is traced."""

    def given(line: Any) -> str | None:
        call = copy.deepcopy(line.node)
        given = [*getattr(call, "args", ())][: place + 1]
        plain = len(given) > place and not any(line.traced(given[place]))
        if not plain or any([isinstance(x, ast.Starred) for x in given]):
            return None
        joined = filled(made, *line.arguments, x=line.argument)
        call.args[place] = ast.parse(joined, mode="eval").body
        return f"use {ast.unparse(call)}"

    return given


def _full(line: Any) -> str:
    options = [*line.arguments[2:], "shape={0}"]
    options += [ast.unparse(each) for each in getattr(line.node, "keywords", ())]
    return f"use np.full_like({{1}}, {{1}}, {', '.join(options)})"


def _constant(line: Any) -> str:
    """Suggest a constant for a function of plain values, whose result has no derivative."""
    return f"use {line.with_constant()}, which is a constant"


def _of_two(name: str, write: str, other: str) -> Any:
    """Return advice for functions of ``statistics`` that may take weights, or the mean."""

    def given(line: Any) -> str:
        second = line.option(name) or next(iter(line.arguments[1:]), None)
        return f"use {write if second is None else filled(other, line.arguments[0], second)}"

    return given


def _exactly(function: Any, write: str, words: str | None = None) -> Any:
    """Return advice for a call without options, not for a method that calls the function."""
    count = len({*re.findall(r"\{(\d)\}", write)})

    def given(line: Line) -> str | None:
        plain = len(line.arguments) == count and not getattr(line.node, "keywords", ())
        return f"use {write}" if plain and line.function is function else words

    return given


def _iterated(line: Line) -> str:
    """Suggest the elements of one array, or of several beside each other."""
    call: Any = line.node
    given = call.args[0] if call.args else ast.Name("x")
    arrays = list(map(ast.unparse, getattr(given, "elts", [given])))
    if len(arrays) == len(call.args) == 1 and not call.keywords:
        return f"use np.ravel({arrays[0]})"
    return filled("loop over i in np.ndindex({0}.shape), with {0}[i] for the element", arrays[0])


_call, _make = np.polynomial.Polynomial.__call__, np.polynomial.Polynomial.__init__  # of all series
_KINDS = {
    "chebyshev": "cheb",
    "hermite": "herm",
    "hermite_e": "herme",
    "laguerre": "lag",
    "legendre": "leg",
}
_SERIES = {of.title().replace("_", ""): f"np.polynomial.{of}.{name}" for of, name in _KINDS.items()}


def _series(line: Line) -> str | None:
    """Suggest the function that a series of np.polynomial calls: its operators trace."""
    if isinstance(line.function, FunctionType):
        return None  # of a method, such as `convert`, which calls the series
    p = line.called or "p"
    cls = line.function if isinstance(line.function, type) else type(line.function)
    home = _SERIES.get(cls.__name__, "np.polynomial.polynomial.poly")
    return f"use {home}val({p}.mapparms()[0] + {p}.mapparms()[1] * {{0}}, {p}.coef)"


def _val(home: str) -> str:
    """Return the basis, a plain array, multiplied by traced coefficients."""
    basis = f"np.polynomial.{home}val({{0}}, np.eye(len({{1}}), dtype={{1}}.dtype))"
    return f"np.tensordot({{1}}, {basis}, (0, 0))[()]"


_BASIS = (
    "write the basis, such as np.polynomial.chebyshev.chebval(t, np.eye(n)), times coefficients"
)


def _complex(line: Line) -> str:
    """Suggest a sum; two numbers may be the elements of one array."""
    if (of := next(iter(line.arguments), ""))[:1] == "*":
        return f"use {filled('{0}[0] + 1j * {0}[1]', of[1:])}"
    return f"use {{0}} + {'1j * {1}' if len(line.arguments) == 2 else '0j'}"


def _roots(line: Line) -> str:
    """Suggest np.roots of coefficients, or of those of a series."""
    p = line.owner("roots")
    if p is None:
        return "use np.sort(np.roots({0}[::-1]))"
    return f"use np.sort((np.roots({p}.coef[::-1]) - {p}.mapparms()[0]) / {p}.mapparms()[1])"


def _of_stored(advice: Any) -> Any:
    """Return advice that makes numbers of stored values whose gradient is over."""
    numbers = "([float(v) for v in {0}]), which is a constant"
    return lambda line: (
        f"use {line.called}{numbers}" if [*line.over()] else suggestion(advice, line)
    )


def _by_value(line: Line) -> str | None:
    """Suggest the order of the numbers themselves, in place of that of their floats."""
    return f"use {line.without('key')}" if line.option("key") == "float" else None


_VECTORS: dict[Any, str] = {
    statistics.correlation: "np.corrcoef(np.stack({0}), np.stack({1}))[0, 1]",
    statistics.covariance: "np.cov(np.stack({0}), np.stack({1}))[0, 1]",
    statistics.linear_regression: "np.polyfit(np.stack({0}), np.stack({1}), 1), which is slope "
    "and intercept",
    np.polynomial.polynomial.polyder: "{0}[1:] * np.arange(1, len({0}), dtype={0}.dtype)",
    np.polynomial.polynomial.polyfromroots: "np.poly({0})[::-1]",
    np.polynomial.polynomial.polymul: "np.convolve({0}, {1})",
    np.polynomial.polynomial.polyvander: "np.vander({0}, {1} + 1, increasing=True)"
    ".astype({0}.dtype)",
    **{
        getattr(getattr(np.polynomial, of), f"{name}vander"): (
            f"np.moveaxis(np.polynomial.{of}.{name}val({{0}}, "
            "np.eye({1} + 1, dtype={0}.dtype)), 0, -1)"
        )
        for of, name in _KINDS.items()
    },
}
"""What to write for functions of vectors."""

_LEAST = "use np.linalg.lstsq of the columns of np.polynomial.{}vander"
_SQUARES, _ONE = "np.sum((np.stack({0}) - {1}) ** 2)", ", ddof=1"
INSTEAD: dict[Any, Any] = {
    np.array: _array("np.copy({0})"),
    np.asarray: _array("{0}"),
    np.fromiter: _of_iterator,
    np.asanyarray: _array("{0}"),
    np.array2string: _constant,
    np.array_repr: _constant,
    np.array_str: _constant,
    np.save: _constant,
    np.savetxt: _constant,
    np.savez: _constant,
    np.savez_compressed: _constant,
    np.require: "use {0}",
    np.asarray_chkfinite: "use {0}, and np.isfinite({0}).all()",
    np.ascontiguousarray: _array("{0}", "'C'"),
    np.asfortranarray: _array("{0}", "'F'"),
    **dict.fromkeys(
        (
            np.nan_to_num,
            np.nanstd,
            np.nanvar,
            np.pad,
            np.piecewise,
            np.polynomial.polynomial.polyint,
        ),
        _beside(0, "{0} + np.zeros_like({x}, shape=())"),
    ),
    np.select: _beside(1, "[each + np.zeros_like({x}, shape=()) for each in {1}]"),
    np.full_like: "use np.full_like({1}, {1}, shape=np.shape({0}))",
    np.full: _full,
    np.ndenumerate.__init__: "use ((i, {0}[i]) for i in np.ndindex({0}.shape))",
    np.nditer: _iterated,
    np.lib.stride_tricks.as_strided: "use np.lib.stride_tricks.sliding_window_view({0}, "
    "window_shape), or an index",
    np.vectorize.__call__: _vectorized,
    np.frompyfunc: f"use vectorize({{0}}), {_VECTORIZE}",
    float: "use {0}",
    int: "use int(ignore_derivatives({0})), which is a constant",
    ctypes.c_double: "call the function of C in a primitive, f = primitive(lambda x: ...), and "
    "state its derivative, scalar_rule(f, lambda y, x: ...)",
    math.isclose: _is_close,
    cmath.isclose: _is_close,
    math.hypot: _hypot,
    math.log: _log,
    cmath.log: lambda line: _log(line).replace("{0}", "{0} + 0j"),
    array.array: "use np.stack({1})",
    **dict.fromkeys((sorted, min, max), _by_value),
    **{f: _exactly(f, write) for f, write in _VECTORS.items()},
    statistics.mean: "use np.mean(np.stack({0}))",
    statistics.fmean: _of_two(
        "weights", "np.mean(np.stack({0}))", "np.average(np.stack({0}), weights={1})"
    ),
    statistics.geometric_mean: "use np.exp(np.mean(np.log(np.stack({0}))))",
    statistics.harmonic_mean: _of_two(
        "weights",
        "1.0 / np.mean(1.0 / np.stack({0}))",
        "1.0 / np.average(1.0 / np.stack({0}), weights={1})",
    ),
    **{
        f: _of_two(name, f"np.{numpys}(np.stack({{0}}){ddof})", about)
        for f, name, numpys, ddof, about in (
            (statistics.pstdev, "mu", "std", "", f"np.sqrt({_SQUARES} / len({{0}}))"),
            (statistics.pvariance, "mu", "var", "", f"{_SQUARES} / len({{0}})"),
            (statistics.stdev, "xbar", "std", _ONE, f"np.sqrt({_SQUARES} / (len({{0}}) - 1))"),
            (statistics.variance, "xbar", "var", _ONE, f"{_SQUARES} / (len({{0}}) - 1)"),
        )
    },
    complex: _complex,
    round: "use np.round({all})",
    time.sleep: _constant,
    np.float64: "use {0}",
    np.float32: "use np.full_like({0}, {0}, dtype=np.float32)",
    np.complex128: "use {0} + 0j",
    np.arange: _arange,
    type(np.r_).__getitem__: "use np.concatenate([np.atleast_1d(a), b]) for np.r_[a, b], and "
    "np.column_stack([a, b]) for np.c_[a, b]",
    np.polynomial.polynomial.polyfit: _exactly(
        np.polynomial.polynomial.polyfit,
        "np.polyfit({0}, {1}, {2})[::-1]",
        _LEAST.format("polynomial.poly"),
    ),
    np.polynomial.Polynomial.fit: _LEAST.format("polynomial.poly"),
    np.polynomial.polynomial.polyroots: _roots,
    **{
        getattr(getattr(np.polynomial, of), f"{name}fit"): _exactly(
            getattr(getattr(np.polynomial, of), f"{name}fit"),
            f"np.linalg.lstsq(np.polynomial.{of}.{name}vander({{0}}, {{2}}), {{1}}, rcond=None)[0]",
            _LEAST.format(f"{of}.{name}"),
        )
        for of, name in _KINDS.items()
    },
    _call: _series,
    _make: _BASIS,
    **{
        val: _exactly(val, _val(f"{of}.{name}"), _BASIS)
        for of, name in (*_KINDS.items(), ("polynomial", "poly"))
        for val in (getattr(getattr(np.polynomial, of), f"{name}val"),)
    },
}
for _f, _line in INSTEAD.items():
    advise(_f, _of_stored(_line) if _f.__module__ == "statistics" else _line)


_ENDS = "use np.where({0} < {1}[0], left, np.interp({0}, {1}, {2})), and alike for right"


def _initial(write: str, pair: str = "") -> Any:
    """Return advice for a call with ``initial=``, or of several arrays."""

    def given(line: Any) -> str | None:
        args: list[Any] = [*getattr(line.node, "args", ())][:2]
        if pair and args[1:] and any(line.traced(args[1])) and not is_list(line, args[0]):
            return pair
        if (initial := line.option("initial")) is None:
            return None
        call = line.without("initial")
        plain = {each.arg for each in line.node.keywords} <= {"axis", "initial", "keepdims"}
        if call and plain and len(line.arguments) < 3:
            return f"use {filled(write, call=call, initial=initial)}"
        return f"use {filled(write, call='y', initial=initial)} for the result y without initial="

    return given


for _f, _line, *_pair in (
    (np.max, "np.maximum({call}, {initial})", "use np.maximum({0}, {1})"),
    (np.min, "np.minimum({call}, {initial})", "use np.minimum({0}, {1})"),
    (np.sum, "{call} + {initial}", "use {0} + {1}"),
    (np.prod, "{call} * {initial}", "use {0} * {1}"),
    (np.mean, "", "use np.mean(np.stack([{all}]))"),
    (np.median, "", "use np.median(np.stack([{all}]))"),
    (np.concatenate, "", "use np.concatenate([{all}])"),
    (np.stack, "", "use np.stack([{all}])"),
):
    advise(_f, _initial(_line, *_pair))


def _reduced(line: Line) -> str | None:
    """Suggest the same for a method `reduce`, or a loop where the order of elements counts."""
    name = line.owner("reduce")
    if line.option("where") and line.option("initial") is None:
        return JOINED
    if name in ("np.maximum", "np.minimum", "np.add", "np.multiply"):
        return suggestion(_initial(f"{name}({{call}}, {{initial}})"), line)
    ordered = f"write a loop over the elements of the axis, with {name} of two"
    return None if line.option("initial") is None else ordered


advise(np.interp, lambda line: _ENDS if line.option("left") or line.option("right") else None)
advise(np.ufunc.reduce, _reduced)


_METHODS = frozenset(
    (
        "clip",
        "compress",
        "choose",
        "dot",
        "max",
        "mean",
        "min",
        "prod",
        "repeat",
        "searchsorted",
        "std",
        "sum",
        "take",
        "var",
    )
)
"""Methods of arrays that compute what the function of the same name does."""


def of_plain(line: Line) -> str | None:
    """Return the function in place of a method of a plain array, which is not traced, or None."""
    call = line.node
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    array, name = call.func.value, call.func.attr
    known = line.resolved(array)
    if name not in _METHODS or any(line.traced(array)) or not isinstance(known, np.ndarray | None):
        return None
    function, new = ast.parse(f"np.{name}", mode="eval").body, copy.copy(line)
    new.node = ast.Call(function, [array, *call.args], call.keywords)
    return advised(getattr(np, name), new) or f"use {ast.unparse(new.node)}"


def of_mapped(line: Line) -> str | None:
    """Return what to write for ``map(f, xs)`` of a function that takes plain numbers, or None."""
    for call in ast.walk(line.stored or line.node or ast.Pass()):
        if not isinstance(call, ast.Call) or ast.unparse(call.func) != "map":
            continue
        if any(line.traced(call)) and advised(line.value_of(call.args[0]), line):
            text = ast.unparse(call)
            return f"write a list comprehension for {text}, with NumPy's functions of its elements"
    return None
