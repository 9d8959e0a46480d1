"""Bodies that run outside an engine, because they use NumPy or values, and are called back.

An engine that traces programs needs the shapes and dtypes of the results in advance. Unless they
are stated, the body is tried on some numbers.
"""

from __future__ import annotations

import ast
import math
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from chainrules_kit.call_resolution import Resolved, lookups, row_of
from chainrules_kit.imported_functions import imported_from
from chainrules_kit.numpy_calls import (
    Program,
    by_numpy,
    dtype_name,
    float_kind,
    place_of,
    widened,
)
from chainrules_py import (
    ChainRulesError,
    NoRuleError,
    NotDifferentiableError,
    Primitive,
    RuleError,
    TracerError,
)
from chainrules_py.extend import (
    Line,
    Tracer,
    advised_at,
    captured,
    describe,
    flatten,
    map_leaves,
    name_of,
    told,
    type_info,
    unbind,
)

UNFIT = (
    ArithmeticError, AssertionError, AttributeError, BufferError, ChainRulesError, LookupError,
    NameError, RuntimeError, TypeError, ValueError, Warning,
)  # fmt: skip
"""Exceptions that bodies raise for arrays of a library that they do not support.

Any other exception is an interruption: by a signal handler, or by an engine that stops early.
"""


def tried(
    f: Any, body: Callable[..., Any], operands: Any, options: dict[str, Any], module: str
) -> Any:
    """Return what a body returns for some numbers of the given shapes and dtypes.

    Where it fails, it is tried on other numbers. So is a body that gives whole numbers alone for
    floating-point numbers, because ``return 0`` may be one branch of several, and one that gives
    complex numbers for real ones, as the root of a matrix that is not definite.

    Parameters
    ----------
    f : Primitive
        The primitive that the body implements.
    body : callable
        A function of NumPy arrays.
    operands : sequence
        The operands of a call; a value with a shape and a dtype counts as an array.
    options : dict
        Options of the call.
    module : str
        The module that has the engine's `callback`.

    Raises
    ------
    NoRuleError
        If the body raises or returns an array without elements: the shapes of its results then
        have to be stated. Errors that say what is not differentiable are raised as they are.
    """
    shapes, run = options.get("shapes", ()) if f is by_numpy else (), options.get("run")
    program = run if isinstance(run, Program) else None
    best: tuple[int, Any, Any] | None = None
    errors: list[Exception] = []
    for numbers in _TRIALS:
        if program is not None:
            program.first = None, []
        given = map_leaves(lambda x: _some(x, numbers, shapes), tuple(operands))  # noqa: B023
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if f.shape_from_data:
                    raise ValueError("results of other shapes for other numbers")
                y = body(*given, **options)
        except Exception as error:
            errors.append(error)
            continue
        # A compiler removes a call with empty results, so a wrong shape would go unnoticed.
        if _is_empty(y) and not any(map(_is_empty, operands)):
            errors.insert(0, ValueError("a result without elements"))
            break
        found, before = _kinds(y if program is None else program.first[1]), _kinds(given)
        rank = 2 if not before or (found and found <= before | {"f"}) else min(len(found), 1)
        if best is None or rank > best[0]:
            best = rank, y, getattr(program, "first", None)
        if rank == 2:
            break
    if best is not None:
        if program is not None:
            program.first = best[2]
        return best[1]
    if isinstance(errors[0], NotDifferentiableError | NoRuleError | TracerError):
        raise errors[0]
    name = name_of(getattr(options.get("run"), "f", f))
    raise NoRuleError(
        f"{name} computes with NumPy, and has to say what it gives before it is called "
        f"with {', '.join(map(describe, operands))}: numbers of these shapes end in "
        f"{type(errors[0]).__name__}; write {module}.callback({name}, result=...) of a @primitive"
    ) from errors[0]


def _kinds(x: Any) -> set[str]:
    """Return which of "f" and "c" are among the numbers of a structure."""
    return {*map(float_kind, flatten(x)[0])} - {""}


def _is_empty(x: Any) -> bool:
    return any([0 in getattr(leaf, "shape", ()) for leaf in flatten(x)[0]])


def _some(x: Any, numbers: Callable[..., Any], shapes: Sequence[tuple[int, ...]]) -> Any:
    """Return some numbers like x, which may join arrays of several shapes; ones for integers.

    Integers that are joined may be indices: the first trial is on zeros, which are always valid.
    """
    if not (hasattr(x, "shape") and hasattr(x, "dtype")):
        return x
    made = np.full(x.shape, 0 if shapes and numbers is _TRIALS[0] else 1, x.dtype)
    if shapes:
        made = widened(made)
    if made.dtype.kind in "fc":
        made.flat[:] = numbers(made, shapes or [x.shape])
    return made


def _definite(_: Any, shapes: Sequence[tuple[int, ...]]) -> Any:
    """Return positive definite matrices where the last two lengths are equal, else squares."""
    return np.concatenate([np.ravel(_definite_like(shape)) for shape in shapes])


def _definite_like(shape: tuple[int, ...]) -> Any:
    if len(shape) < 2 or shape[-1] != shape[-2]:
        n = math.prod(shape)
        return np.arange(1.0, n + 1.0) ** 2 / max(n, 1)
    i = np.arange(shape[-1])
    return np.broadcast_to(np.diag(i + 1.0 * i.size) + np.cos(i + i[:, None]) / 4, shape)


_TRIALS: tuple[Callable[..., Any], ...] = (
    lambda x, _: 0.5 + 0.25 * np.cos(np.arange(x.size)),  # in the domain of most functions
    _definite,
    lambda x, shapes: 100.0 * _definite(x, shapes),
    lambda x, _: -0.5 - 0.25 * np.cos(np.arange(x.size)),
)


def check_promised(
    f: Any,
    found: Sequence[Any],
    promised: Sequence[Any],
    operands: Sequence[Any],
    options: Mapping[str, Any],
    *,
    batched: bool,
) -> None:
    """Check that a body returns arrays of the promised shapes, which the promised dtypes can hold.

    A wider floating-point dtype than promised is rounded if it is wider than the operands' too.

    Parameters
    ----------
    f : Primitive
        The primitive that the body implements.
    found : sequence
        The arrays that it returned.
    promised : sequence
        Values with the promised shapes and dtypes.
    operands : sequence
        The arrays among the operands.
    options : mapping
        Options of the call.
    batched : bool
        Whether arrays may have further leading axes.

    Raises
    ------
    RuleError
        If the shapes differ, or a dtype would lose a part or digits of the result.
    """
    shapes = [tuple(map(int, x.shape)) for x in promised]
    given = [tuple(y.shape) for y in found]
    if batched:
        given = [y[len(y) - len(x) :] for y, x in zip(given, shapes, strict=False)]
    widest = max([_form(x)[1] for x in operands], default=0)
    forms = zip(map(_form, found), map(_form, promised), strict=False)
    lossy = [kind > kept or digits > room < widest for (kind, digits), (kept, room) in forms]
    if len(found) != len(shapes) or given != shapes or any(lossy):
        name = name_of(getattr(options.get("run"), "f", f))
        raise RuleError(
            f"{name} gave {', '.join(map(describe, found))}, and callback(result=...), or "
            f"its body for others, said shapes {', '.join(map(str, shapes))} of "
            f"{', '.join(map(dtype_name, promised))}; write callback({name}, result=...) of a "
            f"@primitive"
        )


def _form(x: Any) -> tuple[int, int]:
    """Return the place of a dtype among the kinds of numbers, and its digits, in bytes."""
    return place_of(x), x.dtype.itemsize * (0, 0, 2, 1, 0)[place_of(x)]


def unstated(f: Any) -> NoRuleError:
    """Return the error for a derivative of a body that NumPy computes and that has no rule.

    Parameters
    ----------
    f : Primitive
        The primitive that the body implements.
    """
    return NoRuleError(
        f"{f.__name__} is computed by NumPy and has no rule, so that its derivative would be lost; "
        f"state one, as in scalar_rule({f.__name__}, ...)"
    )


def refuse_captured(
    f: Callable[..., Any], operands: Sequence[Any], is_traced: Callable[[Any], bool], engine: str
) -> None:
    """Raise for a function that captured a value traced by an engine, which sees operands only.

    Raises
    ------
    TracerError
        If a value was captured: its derivative would be lost. The message names the value.
    """
    functions = [f, *filter(callable, operands)]
    if isinstance(f, Primitive):
        found = imported_from(f)
        functions += lookups(f) if found is None else (found[0],)
    names = captured(functions, is_it=is_traced)
    if names:
        raise TracerError(
            f"{name_of(f)} depends on {' and '.join(names)}, which is {engine}'s and no operand: "
            f"its derivative would be lost; pass it as an operand, or its numbers"
        )


def refuse_numpy(error: Exception, f: Any, engine: str, *, asked: bool) -> None:
    """Raise for exported code that needs values of an engine's arrays.

    Parameters
    ----------
    error : Exception
        The error of the engine or of NumPy.
    f : callable
        The exported function.
    engine : str
        The engine's name.
    asked : bool
        Whether the error is the engine's for code that needs values.

    Raises
    ------
    NotDifferentiableError
        If the error has this cause.
    """
    if isinstance(error, ChainRulesError):
        return
    said = str(error).partition("\n")[0]
    if "`like` argument" in said:
        msg = (
            f"NumPy makes no arrays of {engine}'s, as np.zeros asks it to with like=: in exported "
            f"code write ops.stack(...) of the parts"
        )
    elif asked:
        line = Line.of(error)
        msg = told(
            f"{name_of(f)} asks for values of what {engine} traces ({said})",
            line,
            f"state a rule of it, as in scalar_rule({name_of(f)}, ...)"
            if isinstance(f, Primitive)
            else exported_line(line, engine),
        )
    else:
        return
    raise NotDifferentiableError(msg) from error


def exported_line(line: Line | None, engine: str) -> str:
    """Return the remedy for exported code that needs values of an engine's arrays."""
    if line is not None and isinstance(line.node, ast.Call):
        if (write := advised_at(line)) is not None:
            return write
        called = line.function
        if _home_of(called) in _LIBRARIES and not isinstance(called, type) and row_of(called):
            name = ast.unparse(line.node.func)
            return f"write chainrules_py.export({name}, to={_NAMES[engine]!r}) for {name}"
    return (
        "put what does this under @primitive, with a @rule, or make it constant: ignore_derivatives"
    )


_NAMES = {"PyTorch": "torch", "JAX": "jax", "autograd": "autograd", "MLX": "mlx"}


def refuse_bare(f: Any, operands: Sequence[Any], options: Mapping[str, Any], engine: str) -> None:
    """Raise for a NumPy or SciPy function without a stated derivative that gets an engine's arrays.

    The function may mistake these arrays for something else: a test `isinstance(x, np.ndarray)`
    takes another branch, with another value.

    Raises
    ------
    NotDifferentiableError
        If f is one of these functions and gets arrays of the engine.
    """
    f = unbind(f, ())[0]
    named = hasattr(f, "__qualname__") and not isinstance(f, types.MethodType | type)
    if not named or _home_of(f) not in _LIBRARIES or row_of(f) is not None:
        return
    for x in flatten([*operands, *options.values()])[0]:
        if _is_foreign(x):
            raise NotDifferentiableError(
                f"{name_of(f)} is {_LIBRARIES[_home_of(f)]}'s, and no derivative of it is stated: "
                f"it may take {describe(x)} of {engine}'s for something else than an array; write "
                f"the operations of chainrules_py.ops, or put it under primitive, with a rule"
            )


_LIBRARIES = {"numpy": "NumPy", "scipy": "SciPy"}


def _home_of(f: Any) -> str:
    return str(getattr(f, "__module__", None) or type(f).__module__).partition(".")[0]


def _is_foreign(x: Any) -> bool:
    """Return whether a value is a tracer, or an array of neither NumPy nor SciPy."""
    info = type_info(type(x))
    if issubclass(type(x), Tracer) or info.host is not None:
        return True
    return info.is_array and type(x).__module__.partition(".")[0] not in _LIBRARIES


def run_resolved(
    f: Any,
    call: Resolved,
    run: Callable[..., Any],
    engine: str,
    asked: Callable[[Exception], bool],
    around: Callable[[Callable[[], Any]], Any] = lambda code: code(),
) -> Any:
    """Run an exported function: its primitive by an engine, or code that calls several primitives.

    Parameters
    ----------
    f : callable
        The exported function.
    call : Resolved
        The resolved call.
    run : callable
        ``run(operation, operands, options)`` runs a primitive by the engine.
    engine : str
        The engine's name.
    asked : callable
        Returns whether an error is the engine's for code that needs values.
    around : callable, optional
        ``around(code)`` runs the code.

    Raises
    ------
    NotDifferentiableError
        If the code needs values of the engine's arrays.
    """
    if call.operation is None:
        assert call.call is not None
        refuse_bare(f, call.operands, call.options, engine)
        try:
            return around(call.call)
        except Exception as error:
            refuse_numpy(error, f, engine, asked=asked(error))
            raise
    y = run(call.operation, call.operands, call.options)
    for step in call.after:
        y = step(y)
    return y
