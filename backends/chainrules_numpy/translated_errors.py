"""Errors of Python and its standard library for traced values in place of plain numbers."""

from __future__ import annotations

import ast
import re
import struct
import sys
from typing import Any

from chainrules_numpy.advice_operands import JOINED
from chainrules_numpy.list_and_index_advice import alike, in_flat
from chainrules_py import TracerError
from chainrules_py.extend import (
    Line,
    filled,
    find_tracers,
    refusers,
    root_module,
    told,
    untraced,
)

_STANDARD = sys.stdlib_module_names - {"__main__", "inspect"}
"""Modules that refuse traced values; errors of `inspect` are about other arguments."""


def refuse(error: BaseException) -> None:
    """Raise our error if an error is about a tracer that is no plain number or array.

    Raises
    ------
    TracerError
        With what to write instead.
    """
    if isinstance(error, (TypeError, ValueError, NotImplementedError)) and not isinstance(
        error, TracerError
    ):
        _refuse_said(error)
    if type(error).__module__ == "ctypes":
        _refuse_in_c(error)
    if "numpy() on Tensor that requires grad" in str(error):
        raise TracerError(
            told(
                "a tensor that PyTorch differentiates is an argument of what is differentiated",
                Line.of(error),
                "write grad(f)(x.detach()) for grad(f)(x)",
            )
        ) from error
    if isinstance(error, AttributeError) and error.name in _OF_OTHERS and find_tracers(error.obj):
        _refuse_attribute(error)
    if not isinstance(error, (TypeError, struct.error)) or isinstance(error, TracerError):
        return
    line, said = Line.of(error), str(error).partition("\n")[0]
    _refuse_mean(error, line)
    if re.match(_WIDER, said):
        fact = f"a series of traced coefficients takes no operand that is wider ({said})"
        write = (
            "write polyvander(t, len(c) - 1) @ c * z for (p * z)(t), of coefficients c, with a "
            "complex number z, after 'from numpy.polynomial.polynomial import polyvander'"
            if "complex" in said
            else "write c.astype(float) for coefficients c of less than 64 bits"
        )
        raise TracerError(told(fact, line, write)) from error
    if line is None or not any(line.traced()):
        return
    called = getattr(line.node, "func", None)
    if "__init__() missing" in said and called is not None and any(line.traced(called)):
        raise TracerError(
            f"type(x) is a class of the engine's where x is being differentiated, and makes no "
            f"numbers ({said}); write x.dtype.type(2.0), or np.asarray(2.0, x.dtype), for one as "
            f"wide as x"
        ) from error
    if _is_refused(error, said):
        shown = line.picture or "a traced value"
        fact = f"{shown} was given to what takes plain values ({said})"
        if line.called is not None:
            fact = f"{shown} was given to {line.called}, which takes plain values"
        made = next((made for part, made in _MADE.items() if part in said), "ignore_derivatives")
        if made.startswith("bytes"):
            fact = f"{shown} cannot be a dict key or set member, as no array can"
        write = line.with_constant(made)
        if line.node and "JSON" in said and type(line.resolved_operand) in (dict, list):
            constant = "default=lambda v: ignore_derivatives(v).tolist()"
            write = f"{ast.unparse(line.node)[:-1]}, {constant})"
        write = alike(line) or f"use {write}, which is a constant"
        raise TracerError(told(fact, line, write)) from error


_SAID = {
    "Supplied output array must be contiguous": "out= of a random generator is plain memory: write "
    "b[...] = rng.random(b.shape)",
    "out must be a numpy array": "write b[...] = rng.permuted(x, axis=axis), where b is what is "
    "given as out",
    "Axis argument is only supported on ndarray": "write y = np.take(y, "
    "rng.permutation(y.shape[axis]), axis)",
    "output must be an array": "out= of a method is plain memory: write t[...] = c.cumsum() for "
    "c.cumsum(out=t)",
}
"""Starts of NumPy errors that name no tracer, and what to write instead."""


_MADE = {
    "ndarray is not JSON": "ignore_derivatives({}).tolist()",
    "os.PathLike object": "str(ignore_derivatives({}))",
    "unhashable type": "bytes(ignore_derivatives({}))",
}
"""Parts of errors, and the replacement of the traced value where no array or number is allowed."""


_OF_OTHERS = {
    "at": "write y = np.copy({0}), and y[i] = v, for {0}.at[i].set(v)",
    "backward": "leave it out: grad(f)(x) returns the gradient",
    "block_until_ready": "use {0} for {0}.block_until_ready()",
    "clone": "use np.copy({0}) for {0}.clone()",
    "cpu": "use {0} for {0}.cpu()",
    "detach": "use ignore_derivatives({0}) for {0}.detach()",
    "double": "use {0}.astype(float) for {0}.double()",
    "grad": "leave it out: grad(f)(x) returns the gradient",
    "norm": "use np.linalg.norm({0}) for {0}.norm()",
    "numpy": "use {0} for {0}.numpy()",
    "pow": "use {0} ** p for {0}.pow(p)",
    "requires_grad": "leave it out: grad(f)(x) returns the gradient in x",
    "requires_grad_": "use {0} for {0}.requires_grad_()",
    "unsqueeze": "use np.expand_dims({0}, i) for {0}.unsqueeze(i)",
    "zero_": "use {0}[...] = 0.0 for {0}.zero_()",
}
"""Attributes of the arrays of JAX and PyTorch, and what to write with NumPy."""


def _refuse_attribute(error: AttributeError) -> None:
    """Raise for a member of other arrays, unless the class of the value has one of this name."""
    if hasattr(untraced(error.obj), str(error.name)):
        return
    line, name = Line.of(error), str(error.name)
    fact = f"{name} is of the arrays of JAX or PyTorch, and NumPy's have none"
    write = filled(_OF_OTHERS[name], (line and line.owner(name)) or "x")
    raise TracerError(told(fact, line, write)) from error


def _refuse_said(error: Exception) -> None:
    at = Line.of(error)
    said = next((line for said, line in _SAID.items() if str(error).startswith(said)), None)
    if said and at is not None and (at.node is None or any(at.traced())):
        raise TracerError(told(f"a traced array is written ({error})", at, said)) from error
    if str(error).startswith("object __array__ method not producing"):
        fact = "an argument has an __array__ that returns no plain array, such as a traced one"
        raise TracerError(told(fact, at, "write a.__array__() for this argument a")) from error
    masked = re.match("reduction operation '(add|multiply)' does not have", str(error))
    if at is not None and (write := JOINED if masked else in_flat(at)) is not None:
        fact = (
            "where= is given to a reduction of an array of objects, of traced values"
            if masked
            else "a traced value is written into a plain array, where its derivative would be lost"
        )
        raise TracerError(told(fact, at, write)) from error


def _refuse_mean(error: BaseException, line: Line | None) -> None:
    """Raise for a traced mean that `var` or `std` of a plain number would compute in."""
    names = [frame.f_code.co_name for frame in _frames(error)]
    if "must be of ArrayType" in str(error) and "_var" in names:
        from chainrules_numpy.plain_number_advice import of_plain  # loads np.polynomial

        usual = "write np.var(a, mean=m) for a.var(mean=m), and np.std for the method std"
        fact = "a method of a plain array does not take a traced mean"
        raise TracerError(told(fact, line, (line and of_plain(line)) or usual)) from error


_SERIES = "'(Chebyshev|Hermite|HermiteE|Laguerre|Legendre|Polynomial)'"
"""Classes of NumPy whose operators turn any error into a missing operator."""
_NUMBERS = rf"({_SERIES}|'(complex|float|int|list|tuple|numpy\.\w+)')"
_WIDER = (
    rf"unsupported .*: ({_SERIES} and {_NUMBERS}|{_NUMBERS} and {_SERIES})$|operand {_SERIES} does"
)
"""Such an error beside numbers; beside a text, the operator is missing in NumPy too."""


def _refuse_in_c(error: BaseException) -> None:
    line = Line.of(error)
    if line is None or line.called is None or not any(line.traced()):
        return
    name, xs = line.called.rpartition(".")[2], ", ".join("xuvwstab"[: len(line.arguments)])
    raise TracerError(
        told(
            f"{line.called}, a function in C, takes plain numbers, and was given a traced one",
            line,
            f"write {name} = primitive(lambda {xs}, /: {line.called}({xs})), and its derivative in "
            f"scalar_rule({name}, lambda y, {xs}: ...)",
        )
    ) from error


def _frames(error: BaseException) -> list[Any]:
    import traceback

    return [frame for frame, _ in traceback.walk_tb(error.__traceback__)]


def _is_refused(error: BaseException, said: str) -> bool:
    """Return whether Python or its standard library refuses a traced value, by what it says."""
    # A number has no length, traced or not; elements of an array of objects lack methods.
    if re.search(r"len\(\)|no callable", said):
        return False
    if type(error) is struct.error or root_module(_frames(error)[-1]) in _STANDARD:
        return True
    # The class of a tracer, but not in usual messages, as of missing operators.
    usual = said.startswith(("unsupported operand", "'"))
    return not usual and re.search(r"\b[A-Z]\w*\[\w+\]", said) is not None


refusers.append(refuse)
