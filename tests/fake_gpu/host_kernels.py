"""Kernels of CuPy's that are written for each element, computed by NumPy from their own text.

What is read is the part of C++ in which our kernels are written: declarations and assignments of
expressions that Python can parse, where a choice is the function ``pick(condition, x, y)``. A text
with anything else is an error.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from tests.fake_gpu import host_arrays
from tests.fake_gpu.host_arrays import down, host, memory, no_driver, up

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "pick": np.where,
    "fabs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "conj": np.conj,
    "copysign": np.copysign,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "erfcx": scipy.special.erfcx,
    "erfinv": scipy.special.erfinv,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "floor": np.floor,
    "fmod": np.fmod,
    "hypot": np.hypot,
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "lgamma": scipy.special.gammaln,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "max": np.fmax,
    "min": np.fmin,
    "pow": np.power,
    "rint": np.rint,
    "signbit": np.signbit,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}
_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.BitAnd: np.logical_and,
    ast.BitOr: np.logical_or,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
    ast.USub: np.negative,
}
_STATEMENT = re.compile(r"(?:(?:const\s+)?(?P<type>\w+)\s+)?(?P<name>\w+)\s*=(?!=)\s*(?P<text>.+)")
_FUNCTION = re.compile(r"__device__\s+\w+\s+(\w+)\(([^)]*)\)\s*\{(.*?)\}", re.DOTALL)


def evaluate(text: str, names: dict[str, Any]) -> Any:
    """Compute the value of an expression."""
    try:
        parsed = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        msg = f"this stands for no kernel: {text}"
        raise NotImplementedError(msg) from None
    return _value(parsed.body, names)


def _value(node: Any, names: dict[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        given = [_value(argument, names) for argument in node.args]
        return (names.get(node.func.id) or FUNCTIONS[node.func.id])(*given)
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_value(node.left, names), _value(node.right, names))
    if isinstance(node, ast.UnaryOp):
        return _OPERATORS[type(node.op)](_value(node.operand, names))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = _value(node.left, names), _value(node.comparators[0], names)
        return _OPERATORS[type(node.ops[0])](left, right)
    msg = f"this stands for no kernel: {ast.dump(node)}"
    raise NotImplementedError(msg)


def run(text: str, names: dict[str, Any]) -> None:
    """Run statements one after the other; what they assign to is put among the names."""
    for statement in filter(None, [part.strip() for part in text.split(";")]):
        parsed = _STATEMENT.fullmatch(statement)
        if parsed is None:
            msg = f"this stands for no kernel: {statement}"
            raise NotImplementedError(msg)
        value = evaluate(parsed["text"], names)
        cast = names.get(parsed["type"]) if parsed["type"] else None
        names[parsed["name"]] = cast(value) if cast else value


def _device_functions(preamble: str, types: dict[str, Any]) -> dict[str, Any]:
    """Make the functions that a preamble defines, of statements that end with a ``return``."""
    found: dict[str, Any] = {}

    def define(parameters: str, body: str) -> Callable[..., Any]:
        places = [part.split()[-1] for part in parameters.split(",")]
        before, _, last = body.rpartition("return")

        def function(*operands: Any) -> Any:
            names = {**types, **found, **dict(zip(places, operands, strict=True))}
            run(before, names)
            return evaluate(last.strip().rstrip(";"), names)

        return function

    for name, parameters, body in _FUNCTION.findall(preamble):
        if name not in FUNCTIONS:
            found[name] = define(parameters, body)
    return found


def _types(kernel: Any, operands: list[Any]) -> dict[str, Any]:
    """Map the letters in a kernel's parameters to functions that convert to their types."""
    found: dict[str, Any] = {}
    for parameter, x in zip(kernel.in_params, operands, strict=True):
        if parameter.dtype is not None or not isinstance(x, np.ndarray):
            continue
        if found.setdefault(parameter.ctype, x.dtype) != x.dtype:
            msg = (
                f"Type is mismatched. {parameter.name} {x.dtype.type} "
                f"{found[parameter.ctype].type} {parameter.ctype}"
            )
            raise TypeError(msg)
    return found


def _prepared(kernel: Any, args: tuple[Any, ...]) -> tuple[list[Any], dict[str, Any]]:
    memory.launch()
    for x in args:
        host_arrays.check(x)
    operands = [down(x) for x in args[: kernel.nin]]
    dtypes = _types(kernel, operands)
    converts: dict[str, Any] = {letter: _conversion(dtype) for letter, dtype in dtypes.items()}
    converts |= {"true": True, "false": False}
    names: dict[str, Any] = {**converts, **_device_functions(kernel.preamble, converts)}
    for parameter, x in zip(kernel.in_params, operands, strict=True):
        dtype = parameter.dtype or dtypes.get(parameter.ctype)
        names[parameter.name] = np.asarray(x, dtype)
    return [parameter.dtype or dtypes[parameter.ctype] for parameter in kernel.out_params], names


def _conversion(dtype: Any) -> Callable[..., Any]:
    """Make the function that ``T(x)`` is, or ``T(real, imaginary)``."""
    return lambda x, *imaginary: np.asarray(complex(x, *imaginary) if imaginary else x).astype(
        dtype
    )


def elementwise_class(base: Any) -> Any:
    """CuPy's class of kernels for each element, computed by NumPy where there is no driver."""

    class ElementwiseKernel(base):  # type: ignore[misc]
        def __call__(self, *args: Any, **keywords: Any) -> Any:
            try:
                return super().__call__(*args, **keywords)
            except no_driver():
                pass
            if self.name in _BY_NUMPY:
                memory.launch()
                return _BY_NUMPY[self.name](*args)
            dtypes, names = _prepared(self, args)
            shape = np.broadcast_shapes(*[names[p.name].shape for p in self.in_params])
            with np.errstate(all="ignore"):
                run(self.operation, names)
            found = []
            for parameter, dtype in zip(self.out_params, dtypes, strict=True):
                y = np.broadcast_to(np.asarray(names[parameter.name]), shape)
                found.append(up(y.astype(dtype)))
            return found[0] if len(found) == 1 else tuple(found)

    return ElementwiseKernel


def _sums_in_order(values: Any, first: Any, last: Any, total: Any) -> Any:
    to = host(total)
    for i, (start, stop) in enumerate(zip(host(first), host(last), strict=True)):
        for value in host(values)[start:stop]:
            to[i] += value
    return total


def _exchanged(pivots: Any, n: int, rows: Any) -> None:
    order = host(rows)
    for k, other in enumerate(host(pivots)[:n]):
        order[[k, other]] = order[[other, k]]


_BY_NUMPY: dict[str, Callable[..., Any]] = {
    "chainrules_sums_in_order": _sums_in_order,
    "chainrules_exchanged_rows": _exchanged,
}
"""Kernels with loops, which are not read."""

_REDUCE: dict[str, Any] = {
    "a + b": np.add,
    "a * b": np.multiply,
    "max(a, b)": np.maximum,
    "min(a, b)": np.minimum,
}


def reduction_class(base: Any) -> Any:
    """CuPy's class of reductions, computed by NumPy where there is no driver."""

    class ReductionKernel(base):  # type: ignore[misc]
        def __call__(
            self, *args: Any, out: Any = None, axis: Any = None, keepdims: bool = False
        ) -> Any:
            try:
                return super().__call__(*args, out=out, axis=axis, keepdims=keepdims)
            except no_driver():
                pass
            (dtype,), names = _prepared(self, args)
            shape = np.broadcast_shapes(*[names[p.name].shape for p in self.in_params])
            with np.errstate(all="ignore"):
                mapped = np.broadcast_to(evaluate(self.map_expr, names), shape)
                reduce = _REDUCE[self.reduce_expr].reduce
                initial = {} if self.identity == "" else {"initial": _number(self.identity)}
                names["a"] = reduce(mapped, axis=axis, keepdims=keepdims, **initial)
                run(self.post_map_expr, names)
            return up(np.asarray(names[self.out_params[0].name]).astype(dtype))

    return ReductionKernel


def _number(text: str) -> float:
    return float(text)
