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
import linecache
import math
import re
import statistics
import time
from typing import Any

import numpy as np

from chainrules_py.extend import Line, advise, advised, filled, find_tracers, suggestion, untraced

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


def in_place(line: Line, write: str) -> str:
    """Put an expression in parentheses if an operator is beside what it replaces."""
    text, rest = line.texts
    if line.node is None:  # the source is unknown
        return write
    before = linecache.getline(*line.place).partition(text.partition("\n")[0])[0].rstrip()
    beside = before[-1:], rest.lstrip()[:1]
    made: Any = ast.parse(write).body[0]
    closed = isinstance(made, ast.Assign) or isinstance(
        made.value, (ast.Call, ast.Name, ast.Subscript)
    )
    return write if closed or not {*beside} & {*"*/+-@%&|^~.["} else f"({write})"


_EXPRESSION = re.compile(
    r"use (.+?)((?:, (?:which|whose|and) |,? after '| for its ).*)?", re.DOTALL
)


def closed_off(advice: Any) -> Any:
    """Return advice whose expression is in parentheses where an operator is beside the call."""
    if isinstance(advice, str) and re.fullmatch(r"use [\w.]+\(.*\)", advice):
        return advice  # a call

    def given(line: Line) -> str | None:
        found = suggestion(advice, line)
        parts = _EXPRESSION.fullmatch(found or "")
        try:
            return f"use {in_place(line, parts[1])}{parts[2] or ''}" if parts else found
        except SyntaxError:  # no expression alone
            return found

    return given


def _with_lists(write: str) -> Any:
    """Return advice that turns generators into lists, which ``np.stack`` takes."""

    def given(line: Any) -> str:
        nodes = [ast.parse(x, mode="eval").body for x in line.arguments if x[0] != "*"]
        each = [ast.unparse(x) for x in nodes]
        for i, x in enumerate(nodes):
            if isinstance(x, ast.GeneratorExp):
                each[i] = ast.unparse(ast.ListComp(x.elt, x.generators))
            elif each[i].startswith(("map(", "filter(", "reversed(")):
                each[i] = f"[*{each[i]}]"
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
        advise(getattr(cmath, _name), closed_off(f"use {_of_complex}"))
    if hasattr(math, _name):
        _after = " after 'import scipy.special'" * _line.startswith("scipy")
        _found = _with_lists(_line) if "np.stack" in _line else f"use {_line}{_after}"
        advise(getattr(math, _name), closed_off(_found))


def _is_close(line: Any) -> str:
    """Compare as Python does, whose tolerances are others than NumPy's."""
    a, b = [*line.arguments, "a", "b"][:2]
    relative, absolute = line.option("rel_tol") or "1e-09", line.option("abs_tol") or "0.0"
    size = f"np.maximum(np.abs({a}), np.abs({b}))"
    apart = filled("np.abs({0} - {1})", a, b)
    return f"use ({apart} <= np.maximum({relative} * {size}, {absolute}))"


def _arange(line: Any) -> str:
    """Suggest a constant for the stop of a range, on which no element depends."""
    args, stop = [x for x in line.arguments if x[0] != "*"], line.argument
    given = [*getattr(line.node, "args", ()), *getattr(line.node, "keywords", ())]
    alone = len([x for x in given if any(line.traced(x))]) == 1
    if args and alone and stop not in args[: len(args) > 1] + args[2:] and stop in args:
        args[args.index(stop)] = f"ignore_derivatives({stop})"
        return f"use np.arange({', '.join(args)}), whose elements do not depend on where it stops"
    others = ("start", "stop", line.option("step") or "1")
    start, stop, step = [*args, *others[len(args) :]][:3]
    n = f"np.ceil(ignore_derivatives((({stop}) - ({start})) / ({step})))"
    written = ast.parse(f"({start}) + ({step}) * np.arange({n})", mode="eval")
    return f"use {ast.unparse(written)}"


_VECTORIZE = "after 'from chainrules_numpy.composites.mapping import vectorize'"


def _vectorized(line: Any) -> str:
    """Suggest the vectorize that traces, of the function that the one of NumPy calls."""
    called = line.node and line.node.func
    written = isinstance(called, ast.Call) and called.args
    f = f"{line.called}.pyfunc" if called else "f"
    if written:
        given = map(ast.unparse, [*called.args, *called.keywords])
        f = ", ".join([each for each in given if each != "otypes=[float]"])  # as its results are
    return f"use vectorize({f})({', '.join(line.arguments or ['x'])}), {_VECTORIZE}"


def with_axes(line: Line, made: str) -> str:
    """Return an array with the leading axes that the call adds by ``ndmin=``."""
    if (ndmin := line.option("ndmin")) is None:
        return made
    leading = f"{{made}}[(None,) * ({ndmin} - np.ndim({{made}}))]"
    return filled(f"np.atleast_{ndmin}d({{made}})" if ndmin in ("1", "2") else leading, made=made)


def dtype_of(line: Line) -> tuple[str | None, str]:
    """Return the dtype that a call of `numpy.array` writes, and what to do with one passed on."""
    options = [*getattr(line.node, "args", ())[1:], *getattr(line.node, "keywords", ())]
    if any(isinstance(each, ast.Starred) or getattr(each, "arg", "") is None for each in options):
        return line.option("dtype"), ", and .astype(dtype) of it if a dtype is passed on"
    return line.option("dtype") or next(iter(line.arguments[1:2]), None), ""


def _is_list(node: ast.AST | None) -> bool:
    """Return whether an expression is a list or a tuple: as written, or a sum or multiple of it."""
    if isinstance(node, ast.BinOp):
        return _is_list(node.left) or _is_list(node.right)
    made = isinstance(node, ast.Call) and ast.unparse(node.func) in ("list", "tuple", "sorted")
    return made or isinstance(node, ast.List | ast.ListComp | ast.Tuple)


def _array(write: str, order: str | None = None) -> Any:
    """Return advice that keeps a requested dtype, and the order of the elements in memory."""

    def given(line: Any) -> str:
        dtype, beside = dtype_of(line)
        node = next(iter(getattr(line.node, "args", ())), None)
        listed = isinstance(node, ast.BinOp) and _is_list(node)  # as [x] * 3
        laid = line.option("order") or order or ""
        in_order = f", order={laid}" * bool(laid)
        made = f"{'np.stack({0})' if listed else '{0}'}.astype({dtype}{in_order})"
        parts = [node, *[ast.parse(name, mode="eval").body for name in line.traced(node)]]
        held: Any = node and find_tracers([*map(line.resolved, parts)])
        if held and not listed and {float, complex}.issuperset(type(untraced(x)) for x in held):
            made = f"np.full_like({{0}}, {{0}}, dtype={dtype})"  # Python's numbers have no astype
        # An array that is in this order is not copied for it.
        flags = getattr(untraced(line.resolved(node)), "flags", None)
        kept = not laid or getattr(flags, f"{laid[1:2].lower()}_contiguous", False)
        other = "np.stack({0})" if listed else write if kept else f"np.copy({{0}}{in_order})"
        return f"use {with_axes(line, other if dtype is None else made)}{beside}"

    return given


def _constant(line: Any) -> str:
    """Suggest a constant for a function of plain values, whose result has no derivative."""
    return f"use {line.with_constant()}, which is a constant"


def _of_two(name: str, write: str, other: str) -> Any:
    """Return advice for functions of ``statistics`` that may take weights, or the mean."""

    def given(line: Any) -> str:
        second = line.option(name) or next(iter(line.arguments[1:]), None)
        return f"use {write if second is None else filled(other, line.arguments[0], second)}"

    return given


def _fit(of: str, write: str, *kept: str) -> Any:
    """Return advice for a fit of one degree, in words if it has options other than those kept."""

    def given(line: Line) -> str:
        args, keywords = line.arguments, getattr(line.node, "keywords", ())
        named: dict[Any, str] = dict(zip(("x", "y", "deg"), args, strict=False))
        named |= {each.arg: ast.unparse(each.value) for each in keywords}
        deg = named.get("deg", "[]")
        single = deg.isdigit() or isinstance(line.resolved(ast.parse(deg, mode="eval").body), int)
        if not single or len(args) > 3 or named.keys() - {"x", "y", "deg", *kept}:
            return f"use np.linalg.lstsq of the columns of np.polynomial.{of}vander"
        rest = "".join([f", {name}={named[name]}" for name in kept if name in named])
        return filled(write, x=named["x"], y=named["y"], deg=deg + rest)

    return given


def _iterated(line: Line) -> str:
    """Suggest the elements of one array, or of several beside each other."""
    call: Any = line.node
    given = call.args[0] if call.args else ast.Name("x")
    arrays = list(map(ast.unparse, getattr(given, "elts", [given])))
    x = arrays[0]
    if len(call.args) > 1 or call.keywords or "None" in arrays:
        return filled("loop over i in np.ndindex({0}.shape), with {0}[i] for the element", x)
    if isinstance(line.resolved(given), (list, tuple)):
        arrays.append(f"*{arrays.pop()}")
    elif len(arrays) == 1:
        return f"use np.ravel({x})"
    return f"use zip(*map(np.ravel, np.broadcast_arrays({', '.join(arrays)})))"


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
    codes = _call.__code__, _make.__code__
    frame = next(f for f in line.library if f.f_code in codes)
    p, shown = frame.f_locals["self"], line.called or "p"
    home = _SERIES.get(type(p).__name__, "np.polynomial.polynomial.poly")
    if frame.f_code is codes[1]:  # of traced coefficients
        basis = f"{home}val(t, np.eye(len({{0}}), dtype={{0}}.dtype))"
        write = f"use np.tensordot({{0}}, {basis}, (0, 0))[()] for its values at t"
        return write if frame.f_locals["domain"] is None else None
    if isinstance(getattr(line.node, "func", None), ast.Attribute) and line.function is not p:
        return None  # of a method, such as `convert`, which calls the series
    x = f"{shown}.mapparms()[0] + {shown}.mapparms()[1] * {{0}}"
    x = "{0}" if np.array_equal(p.domain, p.window) else x
    return f"use {home}val({x}, {shown}.coef)"


def _of_traced(val: Any) -> Any:
    """Return advice for a series of traced coefficients: multiply its basis, a plain array."""
    name = f"np{val.__module__.removeprefix('numpy')}.{val.__name__}"
    basis = f"{name}({{0}}, np.eye(len({{1}}), dtype={{1}}.dtype))"

    def given(line: Line) -> str | None:
        write = (
            f"np.tensordot({{1}}, {basis}, (0, 0))[()]"
            if line.option("tensor") in (None, "True")
            else f"np.einsum('k...,k...->...', {{1}}, {basis})"
        )
        return f"use {write}" if line.function is val else None  # not for a method that calls it

    return given


def _roots(line: Line) -> str:
    """Suggest np.roots of coefficients, or of those of a series, whose roots lie in its domain."""
    p = line.owner("roots")
    if p is None:
        return "use np.sort(np.roots({0}[::-1]))"
    series = next((f.f_locals["self"] for f in line.library if "self" in f.f_locals), None)
    write = "np.roots({0}.coef[::-1])"
    if series is not None and not np.array_equal(series.domain, series.window):
        write = f"({write} - {{0}}.mapparms()[0]) / {{0}}.mapparms()[1]"
    return filled(f"use np.sort({write})", p)


def _of_stored(advice: Any) -> Any:
    """Return advice that makes numbers of stored values whose gradient is over."""

    def given(line: Line) -> str | None:
        call: Any = copy.deepcopy(line.node)
        goes_on = [outer for *_, outer in line.over()]
        if not goes_on or any(goes_on) or not call.args:
            return suggestion(advice, line)
        numbers = f"[float(v) for v in {ast.unparse(call.args[0])}]"
        call.args[0] = ast.parse(numbers, mode="eval").body
        return f"use {ast.unparse(call)}, which is a constant"

    return given


def _of_vectors(function: Any, write: str) -> Any:
    """Return advice for a call of vectors without options, not for a method that calls it."""

    def given(line: Line) -> str | None:
        call: Any = line.node
        if line.function is not function or call.keywords or len(call.args) != 1 + ("{1}" in write):
            return None
        x = untraced(line.resolved(call.args[0]))
        return f"use {write}" if getattr(x, "ndim", 1) == 1 else None

    return given


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

_SQUARES, _ONE = "np.sum((np.stack({0}) - {1}) ** 2)", ", ddof=1"
INSTEAD: dict[Any, Any] = {
    np.array: _array("np.copy({0})"),
    np.asarray: _array("{0}"),
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
    np.full: "use np.full_like({1}, {1}, shape={0})",
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
    **{f: _of_vectors(f, write) for f, write in _VECTORS.items()},
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
    complex: lambda line: f"use {{0}} + {'1j * {1}' if len(line.arguments) == 2 else '0j'}",
    round: "use np.round({all})",
    time.sleep: _constant,
    np.float64: "use {0}",
    np.float32: "use np.full_like({0}, {0}, dtype=np.float32)",
    np.complex128: "use {0} + 0j",
    np.arange: _arange,
    type(np.r_).__getitem__: "use np.concatenate([np.atleast_1d(a), b]) for np.r_[a, b], and "
    "np.column_stack([a, b]) for np.c_[a, b]",
    np.polynomial.polynomial.polyfit: _fit(
        "polynomial.poly", "use np.polyfit({x}, {y}, {deg})[::-1]", "rcond", "w"
    ),
    np.polynomial.Polynomial.fit: _fit(
        "polynomial.poly", "use np.polyval(np.polyfit({x}, {y}, {deg}), t) for its value at t", "w"
    ),
    np.polynomial.polynomial.polyroots: _roots,
    **{
        getattr(getattr(np.polynomial, of), f"{name}fit"): _fit(
            f"{of}.{name}",
            f"use np.linalg.lstsq(np.polynomial.{of}.{name}vander({{x}}, {{deg}}), {{y}}, "
            "rcond=None)[0]",
        )
        for of, name in _KINDS.items()
    },
    _call: _series,
    _make: _series,
    **{
        val: _of_traced(val)
        for of, name in (*_KINDS.items(), ("polynomial", "poly"))
        for val in (getattr(getattr(np.polynomial, of), f"{name}val"),)
    },
}
for _f, _line in INSTEAD.items():
    advise(_f, closed_off(_of_stored(_line) if _f.__module__ == "statistics" else _line))


_STARTS = {"initial", "left", "right"}


def _initial(function: Any, write: str) -> Any:
    """Return advice for calls with ``initial=``, ``left=`` or ``right=``."""

    def given(line: Any) -> str | None:
        keywords = {each.arg for each in getattr(line.node, "keywords", ())}
        # Without the source, the library's frame says it.
        seen = [frame.f_locals.get(name) for frame in line.library for name in _STARTS]
        if not (keywords & _STARTS or find_tracers(seen)):
            return None
        arguments, initial = [*line.arguments, *"xyz"][:3], line.option("initial") or "initial"
        call = line.without("initial") or f"np.{function.__name__}(x)"
        others = keywords - {"axis", "initial", "keepdims"} or len(line.arguments) > 2
        if others and "{call}" in write:
            joined = filled(write, call="y", initial=initial)
            rest = "write np.where for where=, and b[...] for out="
            return f"use {joined} for the result y without initial=; {rest}"
        return f"use {filled(write, *arguments, call=call, initial=initial)}"

    return given


for _f, _line in (
    (np.interp, "np.where({0} < {1}[0], left, np.interp({0}, {1}, {2})), and alike for right"),
    (np.max, "np.maximum({call}, {initial})"),
    (np.min, "np.minimum({call}, {initial})"),
    (np.sum, "{call} + {initial}"),
    (np.prod, "{call} * {initial}"),
):
    advise(_f, closed_off(_initial(_f, _line)))


def _reduced(line: Line) -> str | None:
    """Suggest the same for a method `reduce`, or a loop where the order of elements counts."""
    call: Any = line.node
    ufunc, name = line.value_of(call.func.value), line.owner("reduce")
    if line.option("initial") is None:
        listed = call.args and isinstance(call.args[0], ast.List | ast.Tuple)
        parts = ast.unparse(call.args[0]) if listed else ""
        return (
            f"use {ast.unparse(call).replace(parts, f'np.stack({parts})', 1)}" if listed else None
        )
    if ufunc.identity is not None or ufunc in (np.maximum, np.minimum, np.fmax, np.fmin):
        return suggestion(_initial(ufunc, f"{name}({{call}}, {{initial}})"), line)
    return f"write a loop over the elements of the axis, with {name} of two"


advise(np.ufunc.reduce, closed_off(_reduced))


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
    whole: Any = line.stored or line.node or ast.Pass()
    for call in ast.walk(whole):
        if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "map"):
            continue
        f, *xs = call.args
        one = copy.copy(line)
        one.node = ast.Call(f, [ast.Name("v")], [])
        parts = _EXPRESSION.fullmatch(advised(one.function, one) or "")
        plain = any(line.traced()) and not any(line.traced(call))
        if len(xs) != 1 or plain or parts is None or "a constant" in parts[0]:
            continue
        each = ast.unparse(xs[0])
        made = each if parts[1] == "v" else f"[{parts[1]} for v in {each}]"
        return f"use {ast.unparse(whole).replace(ast.unparse(call), made)}{parts[2] or ''}"
    return None
