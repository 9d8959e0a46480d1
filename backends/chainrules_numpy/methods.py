"""Aliases of the methods and properties of NumPy's arrays and scalars."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.composites import manipulation as m
from chainrules_numpy.function_aliases import (  # for their rows
    sorting,  # noqa: F401  # pyright: ignore[reportUnusedImport]
    statistics,  # noqa: F401  # pyright: ignore[reportUnusedImport]
)
from chainrules_numpy.function_aliases.alias_constructors import ignored
from chainrules_numpy.function_aliases.manipulation import copied
from chainrules_numpy.late_alias import alias, stated
from chainrules_py import TracerError
from chainrules_py import ops as v
from chainrules_py.extend import (
    REQUIRED,
    Line,
    caller,
    describe,
    filled,
    in_place,
    lost,
    picture,
    remedy,
    told,
)


def member(
    name: str, operation: Callable[..., Any], parameters: Mapping[str, Any], **row: Any
) -> None:
    """Register an alias for the method of arrays, and one for that of scalars."""
    for cls in (np.ndarray, np.generic):
        if (native := vars(cls).get(name)) is not None:
            row = {"rename": {"self": "x"}} | row
            alias(native, to=operation, parameters=parameters, **row)


# ------------------------------------------------ methods with a function of the same parameters

for _name in (
    *("all", "any", "argmax", "argmin", "argpartition", "argsort", "choose", "compress", "cumprod"),
    *("cumsum", "diagonal", "dot", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat"),
    *("round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take", "trace", "var"),
):
    _row = stated[getattr(np, _name)]
    _options = {n: d for n, d in _row.defaults.items() if n not in ("a", "correction")}
    member(
        _name,
        _row.operation,
        {"self": REQUIRED} | _options,
        rename=_row.names | {"self": _row.names["a"]},
        lower=_row.lower,
        refuse=(*_row.refuse,),
    )

# ------------------------------------------------------------------------------- manipulation

member(
    "reshape",
    v.reshape,
    {"self": None, "shape": None, "order": "C", "copy": None},
    gather="shape",
    positional=("self", "shape"),
    lower={
        "shape": low.as_option("shape", sequence=True),
        "order": low.element_order,
        "copy": copied,
    },
)
member(
    "transpose",
    v.permute_dims,
    {"self": None, "axes": None},
    gather="axes",
    lower={"axes": low.as_option("axes", sequence=True)},
)


def _flatten(x: Any, order: str = "C") -> Any:
    """Flatten x into memory of its own."""
    return v.copy(m.ravel(x, low.order_of(x, order)))


member("flatten", _flatten, {"self": None, "order": "C"})


def _astype(x: Any, dtype: Any = None) -> Any:
    """Convert the dtype; an array of objects has the traced elements."""
    if dtype not in (object, "O", "object"):
        return v.astype(x, dtype=dtype)
    try:
        return np.array(x, dtype=object)
    except TracerError:
        line = Line(caller())
        fact = f"{describe(x)} becomes no array of objects: these are of few real numbers"
        raise TracerError(told(fact, line, f"use {line.owner('astype') or 'x'}")) from None


member(
    "astype",
    _astype,
    {"self": None, "dtype": None, "order": "K", "casting": "unsafe", "subok": True, "copy": True},
    lower={
        "casting": lambda call, rule: np.copyto(
            np.empty(0, call.operands.get("dtype")),
            np.empty(0, low.numpy_dtype(call.operands["x"])),
            casting=rule,
        ),
        "copy": ignored,
        "order": low.memory_order,
        "subok": ignored,
    },
)
member("copy", v.copy, {"self": None, "order": "C"}, lower={"order": low.memory_order})
member(
    "to_device",
    v.to_device,
    {"self": None, "device": None, "stream": None},
    refuse=("stream",),
)


def flat(x: Any) -> Any:
    """Raise: the iterator that NumPy returns writes to x."""
    write = (
        "write x.ravel() to read it, and x[np.unravel_index(np.arange(x.size)[i], x.shape)] = y "
        "to write to it"
    )
    line, fact = Line(caller()), f"flat of {describe(x)} stands for its memory"
    raise lost(x, told(fact, line, write), line)


member("flat", flat, {"self": None})

# ------------------------------------------------------------------- attributes, and conjugates

for _name, _operation in (
    ("T", v.permute_dims),
    ("mT", v.matrix_transpose),
    ("real", v.real),
    ("imag", v.imag),
    ("conj", v.conj),
):
    member(_name, _operation, {"self": None})
member("conjugate", v.conj, {"self": None, "out": None}, refuse=("out",))

# ------------------------------------------------------------- methods that lose the derivative


def _listed(of: str, axes: int, each: str = "row") -> str:
    """Return an expression of the lists in lists that ``tolist`` makes of an array."""
    if axes < 2:
        return f"list({of})"
    return f"[{_listed(each, axes - 1, f'{each}s')} for {each} in {of}]"


def _escape(name: str) -> Callable[..., Any]:
    def escape(x: Any, *args: Any, **keywords: Any) -> Any:
        if x.is_over:
            return getattr(x.__payload__, name)(*args, **keywords)
        line = Line(caller())
        of = line.owner(name) or "x"
        given = "" if line.node is None else ast.unparse(line.node).partition(f".{name}(")[2][:-1]
        write = f"use {_listed(of, x.ndim)}"
        if name == "item" or not x.ndim:
            flat = ".ravel()" * (x.ndim > 1 and len(args) == 1 and np.ndim(args[0]) == 0)
            picked = filled(f"{{0}}{flat}[{{i}}]", of, i=given) if given else of
            write = f"use {in_place(picked)}"
        if name in ("tofile", "dump", "dumps", "tobytes"):  # these do not return numbers
            write = f"use ignore_derivatives({of}).{name}({given}), which is a constant"
        elif line.node is not None and line.owner(name) is None:  # called by a library
            # A comparison is a constant.
            operation = remedy(line, last=True) if isinstance(line.node, ast.Call) else None
            write = operation or f"use {line.with_constant()}, which is a constant"
        fact = f"{name}() of {picture(x.__payload__)} would lose its derivative"
        raise lost(x, told(fact, line, write), line)

    return escape


for _name in ("item", "tolist", "tobytes", "tofile", "dump", "dumps"):
    member(_name, _escape(_name), {}, rename={})


def view(x: Any, dtype: Any = np.ndarray, type: Any = np.ndarray) -> Any:
    """View all of x; a view with another dtype would read its bytes, and is refused."""
    if isinstance(dtype, builtins.type) and issubclass(dtype, np.ndarray):
        dtype, type = x.dtype, type if dtype is np.ndarray else dtype
    if type is np.ndarray and np.dtype(dtype) == x.dtype:
        return x[...]
    line = Line(caller())
    of = line.owner("view") or "x"
    fact = f"view of {describe(x)} as {dtype} reads its bytes"
    if type is not np.ndarray:
        fact = f"{describe(x)} cannot become a {type.__name__}, whose operators differ"
        write = f"write np.asarray(m) for a {type.__name__} m beside it, np.asarray(m) @ {{0}}"
    elif np.dtype(dtype) == np.empty(0, x.dtype).real.dtype:
        write = "use np.stack([{0}.real, {0}.imag], -1).reshape(*{0}.shape[:-1], -1)"
    elif np.dtype(dtype).kind == "c" and np.dtype(dtype).itemsize == 2 * x.dtype.itemsize:
        write = "use {0}[..., ::2] + 1j * {0}[..., 1::2]"
    else:
        given = line.option("dtype") or next(iter(line.arguments), "dtype")
        write = f"use ignore_derivatives({{0}}).view({given}), which is a constant"
    raise lost(x, told(fact, line, filled(write, of)), line)


member("view", lambda *xs, **how: view(*xs, **how), {}, rename={})  # noqa: PLW0108  the row takes any arguments
