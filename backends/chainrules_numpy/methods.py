"""Aliases of the methods and properties of NumPy's arrays and scalars."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.composites import manipulation as m
from chainrules_numpy.composites import statistics as s
from chainrules_numpy.composites.indexing import compress
from chainrules_numpy.function_aliases.alias_constructors import axes, axis, ignored, one_axis
from chainrules_numpy.function_aliases.indexing import out_of_bounds
from chainrules_numpy.function_aliases.manipulation import copied, ravel
from chainrules_numpy.function_aliases.sorting import argsort
from chainrules_numpy.late_alias import alias
from chainrules_numpy.reduction_values_by_numpy import asks
from chainrules_py import TracerError
from chainrules_py import ops as v
from chainrules_py.extend import (
    Line,
    Lowering,
    aliases,
    caller,
    describe,
    filled,
    lost,
    picture,
    remedy,
    told,
)

_operation: Any
_SINCE_2_5 = {"descending": None} if np.lib.NumpyVersion(np.__version__) >= "2.5.0" else {}
_join: Any
_composite: Any


REDUCE = {
    "self": None,
    "axis": None,
    "dtype": None,
    "out": None,
    "keepdims": False,
    "initial": None,
    "where": True,
}
EXTREME = {
    "self": None,
    "axis": None,
    "out": None,
    "keepdims": False,
    "initial": None,
    "where": True,
}
MEAN = {"self": None, "axis": None, "dtype": None, "out": None, "keepdims": False, "where": True}
VARIANCE = {
    "self": None,
    "axis": None,
    "dtype": None,
    "out": None,
    "ddof": 0,
    "keepdims": False,
    "where": True,
    "mean": None,
}
TRUTH = {"self": None, "axis": None, "out": None, "keepdims": False, "where": True}
ARG = {"self": None, "axis": None, "out": None, "keepdims": False}
ACCUMULATE = {"self": None, "axis": None, "dtype": None, "out": None}


def member(
    name: str,
    operation: Callable[..., Any],
    /,
    parameters: dict[str, Any] | None = None,
    lower: Mapping[str, Lowering] | None = None,
    asked: Mapping[str, Lowering] | None = None,
    **more: Any,
) -> None:
    """Register an alias for the method of arrays, and one for that of scalars."""
    parameters = {"self": None} if parameters is None else parameters
    for cls in (np.ndarray, np.generic):
        native = vars(cls).get(name)
        if native is not None:
            each = {**(lower or {}), **asks(native, **(asked or {}))}
            alias(
                native,
                to=operation,
                parameters=parameters,
                rename={"self": "x"},
                lower=each,
                **more,
            )


# --------------------------------------------------------------------------------- reductions

for _name, _operation, _identity, _start in (
    ("sum", v.sum, 0, low.started(v.add)),
    ("prod", v.prod, 1, low.multiplied()),
):
    member(
        _name,
        _operation,
        REDUCE,
        refuse=("out",),
        lower={"axis": axes},
        asked={
            "dtype": low.converted,
            "where": low.masked(_identity),
            "initial": _start,
        },
    )
for _name, _operation, _sign, _join in (
    ("max", v.max, -1.0, v.maximum),
    ("min", v.min, 1.0, v.minimum),
):
    member(
        _name,
        _operation,
        EXTREME,
        refuse=("out",),
        lower={"axis": axes},
        asked={
            "initial": low.started_extreme(_join, _sign),
            "where": low.masked_extreme(_sign),
        },
    )
member(
    "mean",
    v.mean,
    MEAN,
    refuse=("out",),
    lower={"axis": axes},
    asked={"dtype": low.computed_in, "where": low.as_keyword("where", s.mean)},
)
for _name, _operation, _composite in (("var", v.var, s.var), ("std", v.std, s.std)):
    member(
        _name,
        _operation,
        VARIANCE,
        refuse=("out",),
        lower={"axis": axes, "ddof": low.ddof},
        asked={
            "dtype": low.computed_in,
            "where": low.as_keyword("where", _composite),
            "mean": low.as_keyword("mean", _composite, numbers=False),
        },
    )
for _name, _operation, _truth in (("any", v.any, False), ("all", v.all, True)):
    member(
        _name, _operation, TRUTH, refuse=("out",), lower={"axis": axes, "where": low.masked(_truth)}
    )
for _name, _operation in (("argmax", v.argmax), ("argmin", v.argmin)):
    member(_name, _operation, ARG, refuse=("out",), lower={"axis": one_axis})
for _name, _operation in (("cumsum", v.cumulative_sum), ("cumprod", v.cumulative_prod)):
    _lower, _asked = {"axis": one_axis}, {"dtype": low.converted}
    member(_name, _operation, ACCUMULATE, refuse=("out",), lower=_lower, asked=_asked)
alias(
    np.ndarray.searchsorted,
    to=aliases[np.searchsorted].operation,
    parameters={"self": None, "v": None, "side": "left", "sorter": None},
    rename={"self": "a"},
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
member("ravel", ravel, {"self": None, "order": "C"})


def _flatten(x: Any, order: str = "C") -> Any:
    """Flatten x into memory of its own."""
    return v.copy(m.ravel(x, low.order_of(x, order)))


member("flatten", _flatten, {"self": None, "order": "C"})
member("squeeze", v.squeeze, {"self": None, "axis": None}, lower={"axis": axis})
member("swapaxes", m.swapaxes, {"self": None, "axis1": None, "axis2": None})
member(
    "repeat",
    v.repeat,
    {"self": None, "repeats": None, "axis": None},
    lower={"repeats": low.as_array("repeats"), "axis": axis},
)


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
member(
    "take",
    v.take,
    {"self": None, "indices": None, "axis": None, "out": None, "mode": "raise"},
    refuse=("out",),
    lower={"indices": low.as_places("indices"), "axis": axis, "mode": out_of_bounds},
)
member(
    "compress",
    compress,
    {"self": None, "condition": None, "axis": None, "out": None},
    positional=("self", "condition", "axis", "out"),
    refuse=("out",),
    lower={"condition": low.as_array("condition"), "axis": axis},
)
member(
    "argsort",
    argsort,
    {"self": None, "axis": -1, "kind": None, "order": None, "stable": None} | _SINCE_2_5,
    refuse=("order",),
)
for _class in (np.ndarray, np.generic):
    alias(
        vars(_class)["nonzero"],
        to=aliases[np.nonzero].operation,
        parameters={"self": None},
        rename={"self": "a"},
    )
alias(
    np.ndarray.argpartition,
    to=aliases[np.argpartition].operation,
    parameters={"self": None, "kth": None, "axis": -1, "kind": "introselect", "order": None},
    rename={"self": "a"},
    refuse=("order",),
)


def flat(x: Any) -> Any:
    """Raise: the iterator that NumPy returns writes to x."""
    write = (
        "write x.ravel() to read it, and x[np.unravel_index(np.arange(x.size)[i], x.shape)] = y "
        "to write to it"
    )
    line, fact = Line(caller()), f"flat of {describe(x)} stands for its memory"
    raise lost(x, told(fact, line, write), line)


member("flat", flat)

# ------------------------------------------------------------------- attributes, and conjugates

for _name, _operation in (
    ("T", v.permute_dims),
    ("mT", v.matrix_transpose),
    ("real", v.real),
    ("imag", v.imag),
    ("conj", v.conj),
):
    member(_name, _operation)
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
            from chainrules_numpy.plain_number_advice import in_place  # loads much

            flat = ".ravel()" * (x.ndim > 1 and len(args) == 1 and np.ndim(args[0]) == 0)
            picked = filled(f"{{0}}{flat}[{{i}}]", of, i=given) if given else of
            write = f"use {in_place(line, picked)}"
        if name in ("tofile", "dump", "dumps", "tobytes"):  # these do not return numbers
            write = f"use ignore_derivatives({of}).{name}({given}), which is a constant"
        elif line.node is not None and line.owner(name) is None:  # called by a library
            # A comparison is a constant.
            operation = remedy(line, last=True) if isinstance(line.node, ast.Call) else None
            write = operation or f"use {line.with_constant()}, which is a constant"
        fact = f"{name}() of {picture(x.__payload__)} would lose its derivative"
        raise lost(x, told(fact, line, write), line)

    return escape


def refused(name: str, refuse: Callable[..., Any]) -> None:
    """Register aliases that raise, whatever the arguments of the method are."""
    for cls in (np.ndarray, np.generic):
        native = vars(cls).get(name)
        if native is not None:
            alias(native, to=refuse, parameters={})


for _name in ("item", "tolist", "tobytes", "tofile", "dump", "dumps"):
    refused(_name, _escape(_name))


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


refused("view", lambda *xs, **how: view(*xs, **how))  # noqa: PLW0108  the row takes any arguments
