"""Bodies that leave an engine: they compute with NumPy, or look at values, and are called back.

An engine that traces programs has to know beforehand what such a body gives. Where nobody says so,
the body is tried on some numbers.
"""

from __future__ import annotations

import ast
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from chainrules_kit.export import Resolved, lookups
from chainrules_kit.imported_functions import imported_from
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
    aliases,
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
"""What bodies raise for arrays of a library that they were not written for.

Anything else is somebody's who interrupts them: a signal handler's, or an engine's that has seen
enough.
"""


def tried(
    f: Any, body: Callable[..., Any], operands: Any, options: dict[str, Any], module: str
) -> Any:
    """Return what a body gives for some numbers of these shapes and dtypes.

    Parameters
    ----------
    f : Primitive
        Whose body it is.
    body : callable
        Takes NumPy's arrays.
    operands : sequence
        Those of a call; what has a shape and a dtype stands for an array.
    options : dict
        Options of the call.
    module : str
        Where the engine's `callback` is.

    Raises
    ------
    NoRuleError
        If the body raises, or gives an array without elements: then it has to be said what it
        gives.
    """
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if f.shape_from_data:
                msg = "results of other shapes for other numbers"
                raise ValueError(msg)
            y = body(*map_leaves(_some, tuple(operands)), **options)
            # A compiler never calls what gives nothing, so that nobody would see it give more.
            if _is_empty(y) and not any(map(_is_empty, operands)):
                msg = "a result without elements"
                raise ValueError(msg)
            return y
    except Exception as error:
        msg = (
            f"{f.__name__} computes with NumPy, and has to say what it gives before it is called "
            f"with {', '.join(map(describe, operands))}: numbers of these shapes end in "
            f"{type(error).__name__}; write {module}.callback({f.__name__}, result=...)"
        )
        raise NoRuleError(msg) from error


def _is_empty(x: Any) -> bool:
    return any([0 in getattr(leaf, "shape", ()) for leaf in flatten(x)[0]])


def _some(x: Any) -> Any:
    """Numbers between 0 and 1, which are in the domain of most functions; ones for integers."""
    if not (hasattr(x, "shape") and hasattr(x, "dtype")):
        return x
    made = np.ones(x.shape, x.dtype)
    if made.dtype.kind in "fc":
        made.flat[:] = 0.5 + 0.25 * np.cos(np.arange(made.size))
    return made


def check_promised(
    f: Any, found: Sequence[Any], shapes: Sequence[tuple[int, ...]], *, batched: bool
) -> None:
    """See that a body gives arrays of the shapes that are promised.

    Parameters
    ----------
    f : Primitive
        Whose body it is.
    found : sequence
        The arrays that it gave.
    shapes : sequence of tuple of int
        Those.
    batched : bool
        Whether further axes may be in front.

    Raises
    ------
    RuleError
        If it gives others.
    """
    given = [tuple(y.shape) for y in found]
    if batched:
        given = [y[len(y) - len(x) :] for y, x in zip(given, shapes, strict=False)]
    if len(found) != len(shapes) or given != list(shapes):
        msg = (
            f"{f.__name__} gave {', '.join(map(describe, found))}, and callback(result=...), or "
            f"its body for others, said shapes {', '.join(map(str, shapes))}; say the shapes that "
            f"it gives in callback({f.__name__}, result=...)"
        )
        raise RuleError(msg)


def unstated(f: Any) -> NoRuleError:
    """Return the error for a body that NumPy computes, where its derivative is asked for.

    Parameters
    ----------
    f : Primitive
        Whose body it is.
    """
    return NoRuleError(
        f"{f.__name__} is computed by NumPy and has no rule, so that its derivative would be lost; "
        f"state one, as in scalar_rule({f.__name__}, ...)"
    )


def refuse_captured(
    f: Callable[..., Any], operands: Sequence[Any], is_traced: Callable[[Any], bool], engine: str
) -> None:
    """Raise for a function that captured a value of an engine's, which sees operands alone.

    Raises
    ------
    TracerError
        It names what was captured: its derivative would be lost.
    """
    functions = [f, *filter(callable, operands)]
    if isinstance(f, Primitive):
        found = imported_from(f)
        functions += lookups(f) if found is None else (found[0],)
    names = captured(functions, is_it=is_traced)
    if names:
        msg = (
            f"{name_of(f)} depends on {' and '.join(names)}, which is {engine}'s and no operand: "
            f"its derivative would be lost; pass it as an operand, or its numbers"
        )
        raise TracerError(msg)


def refuse_numpy(error: Exception, f: Any, engine: str, *, asked: bool) -> None:
    """Raise for exported code that asks an engine's arrays for values.

    Parameters
    ----------
    error : Exception
        What the engine, or NumPy, said.
    f : callable
        What was exported.
    engine : str
        The engine's name.
    asked : bool
        Whether it is the engine that says that it was asked for values.

    Raises
    ------
    NotDifferentiableError
        If that is what the error is about.
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
    """Return what to write where exported code asks an engine's arrays for values."""
    if line is not None and isinstance(line.node, ast.Call):
        if (write := advised_at(line)) is not None:
            return write
        called = line.function
        if _home_of(called) in _LIBRARIES and not isinstance(called, type) and _has_row(called):
            name = ast.unparse(line.node.func)
            return f"write export({name}, to={_NAMES[engine]!r}) for {name}"
    return (
        "put what does this under @primitive, with a @rule, or make it constant: ignore_derivatives"
    )


_NAMES = {"PyTorch": "torch", "JAX": "jax", "autograd": "autograd", "MLX": "mlx"}


def refuse_bare(f: Any, operands: Sequence[Any], options: Mapping[str, Any], engine: str) -> None:
    """Raise for a function of NumPy's or SciPy's that nothing is stated of, and is given arrays.

    It may take an engine's arrays for something else, and go on: what asks `isinstance(x,
    np.ndarray)` takes another branch, with another value.

    Raises
    ------
    NotDifferentiableError
        If it is one, and gets arrays of the engine's.
    """
    f = unbind(f, ())[0]
    named = hasattr(f, "__qualname__") and not isinstance(f, types.MethodType | type)
    if not named or _home_of(f) not in _LIBRARIES or _has_row(f):
        return
    for x in flatten([*operands, *options.values()])[0]:
        if _is_foreign(x):
            msg = (
                f"{name_of(f)} is {_LIBRARIES[_home_of(f)]}'s, and no derivative of it is stated: "
                f"it may take {describe(x)} of {engine}'s for something else than an array; write "
                f"the operations of chainrules_py.ops, or put it under primitive, with a rule"
            )
            raise NotDifferentiableError(msg)


_LIBRARIES = {"numpy": "NumPy", "scipy": "SciPy"}


def _home_of(f: Any) -> str:
    return str(getattr(f, "__module__", None) or type(f).__module__).partition(".")[0]


def _has_row(f: Any) -> bool:
    try:
        return f in aliases
    except TypeError:  # it has no hash
        return False


def _is_foreign(x: Any) -> bool:
    """Tell whether a value is an array of neither NumPy's nor SciPy's, or stands for one."""
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
    """Run an exported function: its primitive by an engine, or the code that is made of several.

    Parameters
    ----------
    f : callable
        What was exported.
    call : Resolved
        The call.
    run : callable
        ``run(operation, operands, options)`` has the engine run a primitive.
    engine : str
        The engine's name.
    asked : callable
        Tells of an error whether the engine said with it that it was asked for values.
    around : callable, optional
        ``around(code)`` runs the code.

    Raises
    ------
    NotDifferentiableError
        For code that asks the engine's arrays for values.
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
