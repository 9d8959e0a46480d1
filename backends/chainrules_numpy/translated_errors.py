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
    describe,
    filled,
    find_tracers,
    refusers,
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
    if isinstance(error, (TypeError, ValueError)) and not isinstance(error, TracerError):
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
    _refuse_mean(error)
    _refuse_series(error)
    x = _taken(error)
    if x is not None and "__init__() missing" in str(error):
        raise TracerError(
            f"type(x) is a class of the engine's where x is being differentiated, and makes no "
            f"numbers ({error}); write x.dtype.type(2.0), or np.asarray(2.0, x.dtype), for one as "
            f"wide as x"
        ) from error
    # A number has no length, traced or not; elements of an array of objects lack methods.
    if x is not None and not re.search(r"len\(\)|no callable", str(error)):
        line, said = Line.of(error), str(error).partition("\n")[0]
        shown = (line and line.picture) or "a traced value"
        fact = f"{shown} was given to what takes plain values ({said})"
        if line is not None and line.called is not None:
            fact = f"{shown} was given to {line.called}, which takes plain values"
        made = next((made for part, made in _MADE.items() if part in said), "ignore_derivatives")
        if made.startswith("bytes"):
            fact = f"{shown} cannot be a dict key or set member, as no array can"
        write = "ignore_derivatives(x)" if line is None else line.with_constant(made)
        if line and line.node and "JSON" in said and type(line.resolved_operand) in (dict, list):
            constant = "default=lambda v: ignore_derivatives(v).tolist()"
            write = f"{ast.unparse(line.node)[:-1]}, {constant})"
        write = (line and alike(line)) or f"use {write}, which is a constant"
        raise TracerError(told(fact, line, write)) from error


_SAID = {
    "Supplied output array must be contiguous": "out= of a random generator is plain memory: write "
    "b[...] = rng.random(b.shape)",
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
    line = next((line for said, line in _SAID.items() if str(error).startswith(said)), None)
    if line and (held := _held(error)):
        raise TracerError(
            f"a traced {describe(held[0].__payload__)} is written: {line} ({error})"
        ) from error
    at = Line.of(error)
    if str(error).startswith("object __array__ method not producing") and _held(error):
        fact = "an argument has an __array__ that returns a traced value, which NumPy does not take"
        raise TracerError(told(fact, at, "write a.__array__() for this argument a")) from error
    masked = re.match("reduction operation '(add|multiply)' does not have", str(error))
    if at is not None and (write := JOINED if masked else in_flat(at)) is not None:
        fact = (
            "where= is given to a reduction of an array of objects, of traced values"
            if masked
            else "a traced value is written into a plain array, where its derivative would be lost"
        )
        raise TracerError(told(fact, at, write)) from error


def _refuse_mean(error: BaseException) -> None:
    """Raise for a traced mean that `var` or `std` of a plain number would compute in."""
    names = [frame.f_code.co_name for frame in _frames(error)]
    if "must be of ArrayType" in str(error) and "_var" in names:
        from chainrules_numpy.plain_number_advice import of_plain  # loads np.polynomial

        line = Line.of(error)
        usual = "write np.var(a, mean=m) for a.var(mean=m), and np.std for the method std"
        fact = "a method of a plain array does not take a traced mean"
        raise TracerError(told(fact, line, (line and of_plain(line)) or usual)) from error


_SERIES = "'(Chebyshev|Hermite|HermiteE|Laguerre|Legendre|Polynomial)'"
"""Classes of NumPy whose operators turn any error into a missing operator."""


def _refuse_series(error: BaseException) -> None:
    """Raise for an operator of a class of np.polynomial, of coefficients of less than 64 bits."""
    is_series = re.search(_SERIES, str(error))
    every = [describe(x.__payload__) for x in _held(error)] if is_series else []
    shown = next((x for x in every if x.startswith(("complex64", "float16", "float32"))), None)
    if shown is not None:
        fact = f"a series of {shown} meets a number of 64 bits, and is then computed in 64"
        dtype = "complex" if shown.startswith("complex") else "float"
        write = f"write c.astype({dtype}) for coefficients c of the series"
        raise TracerError(told(fact, Line.of(error), write)) from error


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


def _held(error: BaseException) -> list[Any]:
    """List the tracers among the local variables of the innermost frame that has any."""
    frames = reversed(_frames(error))  # a frame whose locals are read keeps them alive in a cycle
    return next(filter(None, (find_tracers(tuple(at.f_locals.values())) for at in frames)), [])


def _taken(error: BaseException) -> Any:
    """Return the tracer that an error is about, or None."""
    frames = _frames(error)
    if not frames:
        return None
    module = str(frames[-1].f_globals.get("__name__", "")).partition(".")[0]
    # A program's own errors may name a tracer; usual messages, as of missing operators, do not
    # count.
    usual = str(error).startswith(("unsupported operand", "'"))
    for x in find_tracers(tuple(frames[-1].f_locals.values())):
        named = f"{type(x).__name__.partition('[')[0]}[" in str(error) and not usual
        made = any([f"{cls.__name__}.__init__() missing" in str(error) for cls in type(x).__mro__])
        named = named or made
        if module in _STANDARD or named or type(error) is struct.error:
            return x
    return None


refusers.append(refuse)
