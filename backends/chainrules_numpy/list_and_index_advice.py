"""Hints for lists, buffers and indices of traced numbers, in the text of an error."""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import linecache
import math
import re
import sys
from pathlib import Path
from traceback import walk_tb
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from chainrules_py import ops
from chainrules_py.extend import (
    Line,
    Tracer,
    advised,
    advised_at,
    advisers,
    aliases,
    attributes,
    filled,
    find_tracers,
    knows,
    remedies,
    untraced,
)

_LONGEST = 72
"""The number of characters of an expression that a message shows."""


def _remedy(line: Line, error: BaseException | None, last: bool) -> str | None:
    if (written := _in_python(line) or _of_read_only(line)) is not None:
        return written
    if line.place[0].startswith("<lambdifygenerated"):  # by SymPy
        return _of_sympy(line)
    if last:  # SciPy itself refuses what is no array
        return (_black_box if error is None or not _is_stated(error) else _installed)(line)
    if "numpy.random" in sys.modules and (written := advised(np.random.Generator, line)):
        return written
    if isinstance(error, IndexError):
        return _index(line)
    if error is not None and line.library:  # it was traced, or pandas refuses to store it
        return _buffer(line) if "Invalid value" in str(error) else None
    if (written := _stacked(line)) is not None:
        return written
    from chainrules_numpy.plain_number_advice import of_mapped, of_plain  # loads np.polynomial

    return of_mapped(line) or of_plain(line) or (_buffer(line) if error is None else None)


def _of_read_only(line: Line) -> str | None:
    """Return a copy of an array of objects that a call writes to and that is read-only, or None."""
    call: Any = line.node
    if getattr(getattr(call, "func", None), "attr", "") not in _WRITERS:
        return None
    for node in (call.func.value, *call.args[:1]):
        if _is_numpys(x := line.resolved(node)) and x.dtype == object and not x.flags.writeable:
            made = "write {0} = np.copy({0}) after the line that makes it: it is read-only"
            return made.format(ast.unparse(node))
    return None


def _of_sympy(line: Line) -> str:
    """Return how to make a function from a SymPy expression, by modules whose functions trace."""
    name = (line.called or "exp").rpartition(".")[2]
    modules = "'numpy'" if hasattr(np, name) else "'scipy'"
    ours = re.search(r"after '(from chainrules_\S+ import .*)'", advised_at(line) or "")
    if ours:
        modules = f"[{{'{name}': {name}}}, 'scipy']"
    after = f", after '{ours[1]}'" if ours else ""
    return f"use sympy.lambdify(x, expression, {modules}) for this function{after}"


def _in_python(line: Line) -> str | None:
    """Return the line with the Python function in place of one that caches or compiles it."""
    new = copy.deepcopy(line.node)
    calls = [x for x in ast.walk(new or ast.Pass()) if isinstance(x, ast.Call)]
    given = [(x.func, [*x.args, *[each.value for each in x.keywords]]) for x in calls]
    plain = [f for f, args in given if not any(any(line.traced(arg)) for arg in args)]
    for node in ast.walk(new or ast.Pass()):
        if not isinstance(node, (ast.Name, ast.Attribute)) or node in plain:
            continue
        function = line.value_of(node)
        if isinstance(function, functools.partial) and function.func in vars(math).values():
            from chainrules_numpy.plain_number_advice import OTHERWISE  # loads np.polynomial

            name = function.func.__name__
            whole = re.fullmatch(r"([\w.]+)\(\{(0|all)\}\)", OTHERWISE.get(name, ""))
            return whole and f"write {whole[1]} for math.{name} where {ast.unparse(node)} is made"
        for mark, inner in (("cache_info", "__wrapped__"), ("py_func", "py_func")):
            if hasattr(function, mark):
                part = "id" if isinstance(node, ast.Name) else "attr"
                setattr(node, part, f"{getattr(node, part)}.{inner}")
                return f"use {ast.unparse(new)}"  # type: ignore[arg-type]
    return None


def _stacked(line: Line) -> str | None:
    """Return a NumPy call with ``np.stack`` around its list, or None."""
    call, function = line.node, line.function
    attribute = getattr(getattr(call, "func", None), "attr", "")
    if function is None and attribute in _MAKERS:  # of an object that stands for NumPy
        function = getattr(np, attribute)
    made = _of_objects(line, call) if function is np.full else _with_zero(line, call)
    if made is not None:
        return f"use {ast.unparse(made)}"
    if isinstance(call, ast.Call) and (of_several := _of_several(line, call)):
        return f"use {of_several}"
    if isinstance(call, ast.Call) and (
        joined := _of_objects(line, getattr(call.func, "value", None))
    ):
        new = copy.deepcopy(call)
        new.func.value = joined  # type: ignore[attr-defined]
        return f"use {ast.unparse(new)}"
    if attribute == "astype" and (other := _with_dtype(line, call)) is not None:
        return _stacked(other) or advised(other.function, other)
    if attribute == "astype" and not line.library:
        return of_elements(line, call.func.value)  # type: ignore[union-attr]
    masked = attribute == "reduce" and line.option("where") and line.option("initial") is None
    if masked and getattr(call, "args", ()):
        return of_elements(line, call.args[0])  # type: ignore[union-attr]
    module = str(getattr(function, "__module__", None) or type(function).__module__)
    name = getattr(function, "__name__", "")
    if (
        not isinstance(call, ast.Call)
        or module.partition(".")[0] != "numpy"
        or name in (*_JOINERS, *_SHAPED, "piecewise", "nditer")
        or (name in ("choose", "multi_dot") and line.option("out"))  # which take lists
    ):
        return None
    # A ufunc joins an array of objects to the traced one beside it: what it lacks is an option.
    joins = (
        hasattr(function, "nin")
        and (line.option("where") or line.option("out"))
        and any([any(line.traced(arg)) for arg in call.args])
    )
    for place, arg in enumerate(call.args):
        shown = isinstance(
            arg, (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp)
        ) or line.value_of(getattr(arg, "func", None)) in (list, tuple)
        value = line.value_of(arg)
        is_list = shown or (isinstance(value, (list, tuple)) and find_tracers(value))
        joined = stacked_list(arg) if is_list else None if joins else _of_objects(line, arg)
        if (
            is_list
            and isinstance(value, (list, tuple))
            and any([type(x) in (list, tuple) for x in value])
        ):
            rows = f"np.stack([*map(np.stack, {ast.unparse(arg)})])"
            joined = ast.parse(rows, mode="eval").body
        if joined is None or (is_list and not any(line.traced(arg))):
            continue
        if name in _MAKERS:
            from chainrules_numpy.plain_number_advice import (
                dtype_of,
                with_axes,
            )  # loads np.polynomial

            dtype, beside = dtype_of(line)
            plain = dtype in (None, "object")
            kept = "" if plain else f".astype({dtype})"
            return f"use {with_axes(line, ast.unparse(joined) + kept)}{beside}"
        new = copy.deepcopy(call)
        new.args[place] = joined
        text = ast.unparse(new)
        part = f"{ast.unparse(joined)} in place of {'the list' if is_list else ast.unparse(arg)}"
        return f"use {text if len(text) <= _LONGEST else part}"
    return None if function is line.function else advised(function, line)


def of_elements(line: Line, array: ast.expr) -> str:
    """Return how to join an array of objects of any shape: by a zero that is traced."""
    text, zero = ast.unparse(array), f"np.zeros_like({_like(line, None, ())[1]}, shape=())"
    return f"use ({text} + {zero}) in place of {text}"


def of_reduced(line: Line) -> str | None:
    """Return how to join the array of objects that a call or a method reduces, or None."""
    of: Any = getattr(getattr(line.node, "func", None), "value", None)
    if of is None or isinstance(line.value_of(of), ModuleType | np.ufunc):
        of = next(iter(getattr(line.node, "args", ())), None)
    if of is None or not (_held(line.resolved(of)) or any(line.traced(of))):
        return None
    return _stacked(line) or of_elements(line, of)


def _with_dtype(line: Line, call: Any) -> Line | None:
    """Return a line with ``np.asarray(x, dtype)`` for ``np.asarray(x).astype(dtype)``, or None."""
    array, new = call.func.value, copy.copy(line)
    maker = line.value_of(getattr(array, "func", None))
    if not any(maker is f for f in (np.array, np.asarray, np.asanyarray)) or not array.args:
        return None
    new.node = ast.Call(array.func, [array.args[0], *call.args], [*array.keywords, *call.keywords])
    return new


_SEVERAL = {
    np.max: "np.maximum({0}, {1})",
    np.min: "np.minimum({0}, {1})",
    np.sum: "{0} + {1}",
    np.prod: "{0} * {1}",
    np.mean: "np.mean(np.stack([{all}]))",
    np.median: "np.median(np.stack([{all}]))",
    np.concatenate: "np.concatenate([{all}])",
    np.stack: "np.stack([{all}])",
}
"""Functions of one array, or of a list, and what to write where each is an argument."""


def _of_several(line: Line, call: ast.Call) -> str | None:
    """Return an expression of the arguments of a function that takes one array, or a list."""
    write = next((write for f, write in _SEVERAL.items() if f is line.function), None)
    arrays = [_is_array(line, arg) for arg in call.args]
    # The parameters after the array, axis, dtype, and out, in which NumPy writes.
    axis = (any(arrays[:1]) and not any(arrays[1:])) or (
        len(arrays) > 2 and any(isinstance(x, ast.Constant) for x in call.args[1:])
    )
    if write is None or call.keywords or len(arrays) < 2 or axis:
        return None
    return filled(write, *line.arguments, all=", ".join(line.arguments))


def _is_array(line: Line, node: ast.AST) -> bool:
    """Return whether an argument is a list, or an array that has axes."""
    x = line.resolved(node)
    listed = isinstance(node, (ast.List, ast.Tuple, ast.ListComp)) or isinstance(x, (list, tuple))
    return listed or (not isinstance(x, type) and getattr(x, "ndim", 0) > 0)


def _of_objects(line: Line, node: Any) -> ast.expr | None:
    """Return ``np.stack`` of the contents of an object array, as an expression, or None."""
    maker = getattr(line.value_of(getattr(node, "func", None)), "__name__", "")
    if maker == "full" and len(node.args) > 1 and any(line.traced(node.args[1])):
        shape, filled, *dtype = node.args
        like = ast.parse("np.full_like", mode="eval").body
        return ast.Call(
            like, [filled, filled, *dtype], [ast.keyword("shape", shape), *node.keywords]
        )
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.List):
        return (
            stacked_list(node.args[0])
            if maker in _MAKERS and any(line.traced(node.args[0]))
            else None
        )
    value = line.value_of(node)
    if not isinstance(value, np.ndarray) or value.dtype != object or value.ndim not in (1, 2):
        return None
    made = ast.unparse(node) if value.ndim == 1 else f"[*map(np.stack, {ast.unparse(node)})]"
    return ast.parse(f"np.stack({made})", mode="eval").body


_READS_ONE = (
    *("full_like", "nan_to_num", "nanstd", "nanvar", "pad", "piecewise", "select"),
    *[f"{name}int" for name in ("cheb", "herm", "herme", "lag", "leg", "poly")],
)
"""Functions that trace only if their array does: the first one, or a choice of ``select``."""


def _with_zero(line: Line, call: Any) -> ast.expr | None:
    """Return a call whose plain array is traced by a zero, as another argument is, or None."""
    name, home = [str(getattr(line.function, of, "")) for of in ("__name__", "__module__")]
    known = home.startswith("numpy") and name in _READS_ONE
    if not known or any(isinstance(x, ast.Starred) for x in call.args):
        return None
    place = int(name == "select")
    named = [k.value for k in call.keywords if k.arg is not None]
    given = [part for x in (*call.args[place + 1 :], *named) for part in getattr(x, "elts", [x])]
    like = next((part for part in given if any(line.traced(part))), None)
    if name == "piecewise":  # its functions may name what is traced
        like = next((ast.Name(text) for text in line.traced()), None)
    new: ast.Call = copy.deepcopy(call)
    if like is None or not new.args[place:] or any(line.traced(array := new.args[place])):
        return None
    own, x = getattr(line.resolved(array), "dtype", None), line.resolved(like)
    filler = name in ("pad", "piecewise") or (
        name == "full_like" and len(call.args + call.keywords) == 2
    )
    if filler and getattr(own, "kind", "") in ("b", "i", "u"):  # it cuts off the fraction
        return ast.parse(line.with_constant(), mode="eval").body
    dtype = _precision(own, x) * _widens(own, x) or ", dtype=float" * _is_whole(x)
    zero = f"np.zeros_like({ast.unparse(like)}, shape=(){dtype})"
    choices = getattr(array, "elts", ())
    write = f"[each + {zero} for each in {{0}}]" if place and not choices else f"{{0}} + {zero}"
    held, at = (choices, 0) if place and choices else (new.args, place)
    held[at] = ast.parse(filled(write, ast.unparse(held[at])), mode="eval").body
    return new


_JOINERS = ("stack", "concatenate", "vstack", "hstack", "dstack", "column_stack", "block")
_SHAPED = ("zeros", "ones", "empty", "full", "reshape", "tile", "broadcast_to")
"""Functions of a shape, which is no list of elements."""
_MAKERS = ("array", "asarray", "asanyarray", "asarray_chkfinite", "fromiter", "ascontiguousarray")


def stacked_list(node: ast.expr) -> ast.expr:
    """Return ``np.stack`` of a list and of each list in it; rows of unequal length are joined."""
    joiner = "np.stack"
    if isinstance(node, (ast.List, ast.Tuple)):
        rows = [e for e in node.elts if isinstance(e, (ast.List, ast.Tuple))]
        ragged = len({len(row.elts) for row in rows}) > 1
        nested = [stacked_list(e) if e in rows else e for e in node.elts]
        node = ast.List(nested, ast.Load())
        joiner = "np.concatenate" if ragged else joiner
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        of_rows = isinstance(node.elt, (ast.List, ast.Tuple, ast.ListComp))
        node = ast.ListComp(stacked_list(node.elt) if of_rows else node.elt, node.generators)
    return ast.Call(ast.parse(joiner, mode="eval").body, [node], [])


def _output(line: Line) -> str | None:
    """Return what to write for a call with an output array, by name or as the last argument."""
    call, function = line.node, line.function
    if not isinstance(call, ast.Call):
        return None
    ufunc, home = isinstance(function, np.ufunc), str(getattr(function, "__module__", ""))
    row = function.__hash__ and home.startswith("numpy") and aliases.get(function)
    known = getattr(row, "positional", ())  # of NumPy's alone: some of SciPy's have no signature
    names = [*range(function.nin), *["out"] * function.nout] if ufunc else [*known]
    last = names[: len(call.args)][-1:]
    if last == ["out"] and not isinstance(call.args[-1], ast.Constant):  # a text is no array
        line, named = copy.copy(line), ast.keyword("out", call.args[-1])
        call = line.node = ast.Call(call.func, call.args[:-1], [*call.keywords, named])
    out = next((each.value for each in call.keywords if each.arg == "out"), None)
    if isinstance(out, ast.Tuple) or (out is not None and getattr(function, "nout", 1) > 1):
        return "leave the output off, and write b[...] = y for each of its arrays b and results y"
    if out is not None and not any(line.traced(out)) and _read_elsewhere(line, out):
        return _made(line, out, call)
    without = line.without("out")
    if out is not None and without is not None and " = " in without and not _is_statement(line):
        return f"write {without} before this line, and {ast.unparse(out)} for {ast.unparse(call)}"
    return None if without is None else f"use {without}"


def _is_statement(line: Line) -> bool:
    """Return whether a call, or its assignment, is all that is on its line."""
    text, rest = line.texts
    before = linecache.getline(*line.place).partition(text.partition("\n")[0])[0]
    return bool(re.fullmatch(r"\s*([\w.]+ = )*", before) and re.fullmatch(r"\s*(#.*\s*)?", rest))


def in_flat(line: Line) -> str | None:
    """Return how to write to the elements of an array in their order, for ``b.flat``, or None."""
    part = line.node.value if isinstance(line.node, ast.Subscript) else line.node
    if line.stored is None or not isinstance(part, ast.Attribute) or part.attr != "flat":
        return None
    name, x = ast.unparse(part.value), line.argument
    at = "..." if part is line.node else ast.unparse(line.node.slice)  # type: ignore[union-attr]
    known = line.resolved(line.stored)
    own = getattr(line.resolved(part.value), "dtype", None)
    dtype = _precision(own, known) * _widens(own, known)
    made = f"{name} = {name} + np.zeros_like({x}, shape={name}.shape{dtype})"
    return f"write {made}, and {name}.ravel()[{at}] = {ast.unparse(line.stored)}"


def _buffer(line: Line) -> str | None:
    """Return the expression for a buffer that can hold traced values, or None."""
    if (write := in_flat(line)) is not None:
        return write
    node, sum_ = line.node, line.augmented
    if sum_ is not None:
        whole = sum_.target.value if isinstance(sum_.target, ast.Subscript) else sum_.target
        if whole is not sum_.target or _read_elsewhere(line, whole):  # it stays plain
            return _made(line, whole, sum_.value)
        new = ast.BinOp(whole, sum_.op, sum_.value)
        return f"use {ast.unparse(whole)} = {ast.unparse(new)}"
    if (write := _output(line)) is not None:
        return write
    stored: ast.AST | None = line.stored or _unpacked(line)
    if isinstance(node, ast.Subscript) and stored is not None:
        target = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        target, stored = node.args[0], node
        if isinstance(line.resolved(node.func.value), np.ndarray):  # a method of the array
            target = node.func.value
        if node.func.attr not in _WRITERS or any(line.traced(target)):
            return None
    else:
        return None
    own, called = line.resolved(target), isinstance(node, ast.Call)
    cuts = _is_numpys(own) and own.dtype.kind in "biu"  # off what is no whole number
    if not cuts or _computes_whole(line, stored):
        return _made(line, target, stored)
    constant = line.with_constant() if called else f"ignore_derivatives({ast.unparse(stored)})"
    return f"use {constant}, which is a constant: {ast.unparse(target)} is of {own.dtype}"


def _computes_whole(line: Line, stored: ast.AST) -> bool:
    """Return whether an expression is of whole numbers, as far as names and operators show it."""
    parts = [*ast.walk(stored)]
    known = [x for x in map(line.resolved, parts) if issubclass(type(x), Tracer)]
    other = [x for x in parts if isinstance(x, ast.Call | ast.Div) or _is_float(x)]
    return bool(known) and all(map(_is_whole, known)) and not other


def _unpacked(line: Line) -> ast.expr | None:
    """Return the value of ``y[0], y[1] = value``, if the expression is one of its targets."""
    if line.node is None:
        return None
    try:
        (statement,) = ast.parse(linecache.getline(*line.place).strip()).body
    except (SyntaxError, ValueError):
        return None
    if not isinstance(statement, ast.Assign):
        return None
    parts = [
        ast.unparse(part)
        for target in statement.targets
        if isinstance(target, (ast.Tuple, ast.List))
        for part in target.elts
    ]
    return statement.value if ast.unparse(line.node) in parts else None


def _is_float(node: ast.AST) -> bool:
    return isinstance(getattr(node, "value", None), float | complex)


_WRITERS = ("at", "copyto", "fill", "put", "put_along_axis", "place", "putmask", "fill_diagonal")
"""Functions that write to their first argument, and methods that write to their array."""


def _dtype(x: Any) -> Any:
    """Return the dtype of a traced value, or of an array of objects that are traced, or None."""
    x = untraced(x.ravel()[0] if _is_numpys(x) and x.dtype == object else x)
    return np.result_type(x) if isinstance(x, int | float | complex) else getattr(x, "dtype", None)


def _is_whole(x: Any) -> bool:
    """Return whether values are whole numbers: zeros like them are, which hold nothing traced."""
    return getattr(_dtype(x), "kind", "") in ("b", "i", "u")


def _widens(own: Any, x: Any) -> bool:
    """Return whether zeros like x, added to a buffer, hold nothing traced or change its dtype."""
    of = _dtype(x)
    alike = getattr(own, "kind", None) == getattr(of, "kind", "")
    return _is_whole(x) or (alike and np.result_type(own, of) != own)


def _precision(own: Any, like: Any) -> str:
    """Return what to write for a buffer's dtype where `numpy.zeros_like` would take another."""
    kind, name, of = getattr(own, "kind", ""), getattr(own, "name", ""), _dtype(like)
    if kind == "c" or (kind == "f" and of is not None and of != own):
        return ", dtype=" + {"float64": "float", "complex128": "complex"}.get(name, f"np.{name}")
    return ", dtype=float" * (kind in ("b", "i", "u"))


def _shared(line: Line, target: ast.AST) -> tuple[str, np.ndarray] | None:
    """Return the array that a named one is a part of, or is under another name, and that name."""
    buffer, seen, code = line.resolved(target), line.frame.f_locals, line.frame.f_code
    if not (isinstance(target, ast.Name) and _is_numpys(buffer)):
        return None
    of = buffer.base if isinstance(buffer.base, np.ndarray) else buffer
    outer = {n: x for n, x in line.frame.f_globals.items() if n in code.co_names and n not in seen}
    named = {name: x for name, x in (outer | seen).items() if name != target.id}
    for name, x in [*named.items()]:
        named |= {f"{name}.{key}": y for key, y in attributes(x).items()}
    for name, x in [*named.items()]:
        held = x if isinstance(x, dict) else dict(enumerate(x)) if isinstance(x, list) else {}
        named |= {f"{name}[{key!r}]": y for key, y in held.items()}
    others = [name for name, x in named.items() if x is of and name not in outer]
    return (others[0], of) if others else None


def _parameters(line: Line) -> tuple[str, ...]:
    code: CodeType = line.frame.f_code
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _read_elsewhere(line: Line, target: ast.AST) -> bool:
    """Return whether an array has another name, or is an argument, which the caller may read."""
    given = ast.unparse(target) in _parameters(line) and _is_numpys(line.resolved(target))
    return given or _shared(line, target) is not None


def _made(line: Line, target: Any, stored: ast.AST | None) -> str:
    """Return how to make a buffer that holds traced values, of zeros or of its current numbers."""
    while isinstance(target, ast.Subscript) and _is_numpys(line.resolved(target.value)):
        target = target.value  # u[i] is a part of u
    name, buffer, code = ast.unparse(target), line.resolved(target), line.frame.f_code
    seen, outer = line.frame.f_locals, name in code.co_freevars  # where other names are known
    known = code.co_freevars if outer else _parameters(line) + code.co_freevars
    of, like = _like(line, stored, known)
    if write := _of_series(name, seen.get(of)) or _in_sparse(line, target, like):
        return write
    args = getattr(target, "args", ())  # of a call
    if args and ast.unparse(getattr(target, "func", target))[-5:] in ("zeros", "empty"):
        made = f"np.zeros_like({like}, shape={ast.unparse(args[0])})"
        return f"write {made} for {name}, which holds traced values"
    if not isinstance(target, (ast.Name, ast.Attribute, ast.Subscript)):  # nothing names it
        kept = filled("{0} + np.zeros_like({1}, shape=())", name, like)
        return f"write b = {kept} before it is written to, and b for {name}"
    if isinstance(target, ast.Attribute) and target.attr in ("at", "iat", "iloc", "loc"):
        return _in_table(line, target, like)
    if fields := getattr(getattr(buffer, "dtype", None), "names", None):
        parts = ", ".join([f"{field!r}: {name}[{field!r}]" for field in fields])
        return f"write {name} = {{{parts}}} before it is written to, a dict of arrays"
    if shared := _shared(line, target):
        whole, owner = shared
        zeros = f"np.zeros_like({like}, shape={owner.shape}{_precision(owner.dtype, seen.get(of))})"
        if whole.isidentifier() and not np.any(owner) and _shape(line, whole):
            return f"make the whole array as {whole} = {zeros}"
        return f"make the whole array as {whole} = {whole} + {zeros} before {name} is taken of it"
    plain = isinstance(buffer, np.ndarray | None) and not isinstance(buffer, np.matrix)
    array = name if plain or hasattr(buffer, "to_numpy") else f"np.asarray({name})"
    size = f"{name}.shape" if plain or hasattr(buffer, "shape") else f"len({name})"
    x, own = seen.get(of), getattr(buffer, "dtype", None)
    dtype = _precision(own, x)
    kept = (
        f"np.full_like({like}, {array}, shape=(){dtype})"  # a sum would be a scalar
        if getattr(buffer, "ndim", None) == 0
        else f"{array} + np.zeros_like({like}, shape={size}{dtype * _widens(own, x)})"
    )
    if name not in seen and (isinstance(target, ast.Name) or hasattr(buffer, "to_numpy")):
        return f"write b = {kept} once, before it is written to, and b for {name}"
    shape = _shape(line, name)
    if name in known and isinstance(buffer, np.ndarray):  # made outside of this function
        shape = str(buffer.shape[0] if buffer.ndim == 1 else buffer.shape)
    zeros = (
        kept
        if shape is None or np.any(buffer) or of not in known
        else f"np.zeros_like({like}, shape={shape}{dtype})"
    )
    if name in _parameters(line):
        alone = f"if its caller does not read {name} after it, {name} = {kept} before the write"
        return f"write {name} = {zeros} before {code.co_name} is given {name}, or, {alone}"
    if zeros is not kept:
        return f"make it as {name} = {zeros}, which holds traced values"
    place = "where it is made" if outer and of in known else "before it is written to"
    return f"write {f'nonlocal {name}; ' * (outer and of not in known)}{name} = {kept} {place}"


def _like(line: Line, stored: ast.AST | None, known: tuple[str, ...]) -> tuple[str, str]:
    """Return the name of what is traced, an argument if one is, and a traced array of it."""
    seen = line.frame.f_locals
    names = [name for name in (*line.traced(stored), *seen) if _held(seen.get(name))]
    shown = [name for name in names if not isinstance(seen[name], (list, tuple, dict))]
    shown.sort(key=lambda name: name not in known)  # others may be made after the buffer
    listed = isinstance(stored, (ast.List, ast.Tuple, ast.ListComp)) or stored is line.node
    text = "..." if stored is None or listed else ast.unparse(stored)
    usual = "x" if text == "..." or len(text) > _LONGEST // 2 else text
    of = shown[0] if shown else next(line.traced(stored), usual)
    if _is_numpys(seen.get(of)):  # of objects: its zeros would be plain
        return of, f"np.stack(list({of if seen[of].ndim == 1 else f'np.ravel({of})'}))"
    return of, of


def _held(x: Any) -> list[Any]:
    """List the tracers in a value, or in an array of objects; a sparse array counts as plain."""
    return find_tracers(
        ()
        if hasattr(type(x), "tocsr")
        else x.ravel().tolist()
        if _is_numpys(x) and x.dtype == object
        else x
    )


def _is_numpys(x: Any) -> bool:
    """Return whether a value is NumPy's own array; a traced one is not."""
    return issubclass(type(x), np.ndarray)


def _shape(line: Line, name: str) -> str | None:
    """Return the shape with which the program makes an array of zeros, as it is written there."""
    file, last = line.place
    for at in range(last - 1, line.frame.f_code.co_firstlineno - 1, -1):
        with contextlib.suppress(SyntaxError):
            for statement in ast.parse(linecache.getline(file, at).strip()).body:
                made: Any = getattr(statement, "value", None)
                targets = map(ast.unparse, getattr(statement, "targets", ()))
                if name in targets:
                    zeros = line.value_of(getattr(made, "func", None)) in (np.zeros, np.empty)
                    return ast.unparse(made.args[0]) if zeros and made.args else None
    return None


def _of_series(name: str, x: Any) -> str | None:
    """Return how to make an array of what has a Taylor series, which cannot be written, or None."""
    write = f"make it of its parts at once, {name} = np.stack([...]), or np.concatenate([...])"
    return write if "series" in [getattr(t, "engine", "") for t in _held(x)] else None


def _in_sparse(line: Line, target: Any, like: str) -> str | None:
    """Return what to write for a write to a sparse array of SciPy, or to its data, or None."""
    whole = target.value if getattr(target, "attr", "") == "data" else target
    if not hasattr(type(array := line.resolved(whole)), "tocsr"):
        return None
    name = ast.unparse(whole)
    made, read, after = (
        (
            f"{name}.toarray()",
            f"scipy.sparse.csr_{type(array).__name__.rpartition('_')[2]}(b)",
            "'import scipy, chainrules_scipy' and 'chainrules_scipy.install()'",
        )
        if whole is target
        else (
            f"{name}.data",
            f"with_data({name}, b)",
            "'from chainrules_scipy.sparse import with_data'",
        )
    )
    return (
        f"write b = {made} + np.zeros_like({like}, shape=()) once, before it is written to, b for "
        f"{ast.unparse(target)} in the writes, and {read} for {name} after them, after {after}"
    )


def _in_table(line: Line, cells: ast.Attribute, like: str) -> str:
    """Return how to write into a column of a pandas table, or a Series, as an array."""
    table, where = ast.unparse(cells.value), getattr(line.node, "slice", None)
    row, *column = where.elts if isinstance(where, ast.Tuple) else [where or ast.Name("i")]
    of = "".join([f".{cells.attr.replace('at', 'loc')}[:, {ast.unparse(c)}]" for c in column])
    made = f"b = {table}{of}.to_numpy() + np.zeros_like({like}, shape=len({table}))"
    value = "v" if line.stored is None else ast.unparse(line.stored)
    operator = line.texts[1].partition("=")[0].strip()  # of +=, say
    return f"write {made}, and b[{ast.unparse(row)}] {operator}= {value}"


def _index(line: Line) -> str | None:
    """Return a constant index for a traced one, or None."""
    if not isinstance(line.node, ast.Subscript) or not any(line.traced(line.node.slice)):
        return None
    parts = getattr(line.node.slice, "elts", [line.node.slice])
    whole = ", ".join([_whole(line, part) for part in parts])
    return f"use {ast.unparse(line.node.value)}[{whole}]"


def _whole(line: Line, part: ast.expr) -> str:
    """Return a part of an index, or constant whole numbers for a traced one."""
    text = ast.unparse(part)
    if isinstance(part, ast.Slice) or not any(line.traced(part)):
        return text
    one = isinstance(part, ast.Name) and not getattr(line.value_of(part), "ndim", 0)
    return f"int(ignore_derivatives({text}))" if one else f"ignore_derivatives({text}).astype(int)"


def _black_box(line: Line) -> str | None:
    """Return advice for a library function that takes plain values only, or None."""
    function, called = line.function, getattr(line.node, "func", None)
    module = str(getattr(function, "__module__", None) or type(function).__module__)
    if module == "builtins" and isinstance(called, ast.Attribute):
        module = str(getattr(line.value_of(called.value), "__name__", module))  # e.g. of torch.sin
    root = module.partition(".")[0]
    if root in sys.stdlib_module_names and line.library:  # it is called by Python, or unknown
        root, function = _root(line.library[0]), None
    if root.startswith("chainrules_") and _foreign(line):  # a function is given to an engine
        return _installed(line) or _in_words(line)
    if root == "numpy" or root.startswith("chainrules_") or root in sys.stdlib_module_names:
        return None
    if other := alike(line) or advised(line.function, line):
        return other
    name = ast.unparse(called) if isinstance(called, ast.Name | ast.Attribute) else "it"
    name = name if len(name) <= _LONGEST // 2 else "it"
    if getattr(function, "__name__", "") in ("KDTree", "cKDTree"):
        asked = re.match(_ASKED, line.texts[1])
        rest, points = asked.group(0, 1) if asked else (".query(...)[0]", "points")
        write = f"np.min(cdist({line.argument}, {points}), 0) for all of it, {rest} too"
        return f"use {write}, after 'from chainrules_scipy.distance import cdist'"
    for engine in _ENGINES.keys() & {root, type(function).__module__.partition(".")[0]}:
        of = "..." if name == "it" else name
        return f"make it an operation, f = {_ENGINES[engine]}.import_rule({of})"
    if root in _SHOWS:
        return f"use {line.with_constant()}, which is a constant"
    if root in _LABELS or (isinstance(function, type) and name != "it" and not _foreign(line)):
        return f"write {name} with NumPy's functions of {line.argument}"
    copied = _operation(line) if function is not None and name != "it" else None
    return _installed(line) or copied or _in_words(line)


def _root(frame: Any) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _foreign(line: Line) -> list[Any]:
    """List the frames of packages without support here, outermost first."""
    known = {"dask", "numpy", "scipy", *_ARRAYS, *_ENGINES, *_LABELS, *sys.stdlib_module_names}
    return [f for f in line.inner if not (_root(f) in known or _root(f).startswith("chainrules_"))]


def _installed(line: Line) -> str | None:
    """Return the advice for a package that calls a function of SciPy that has a rule, or None."""
    packages, scipys = _foreign(line), copy.copy(line)
    scipys.node, scipys.library = None, [f for f in line.inner if _root(f) == "scipy"]
    if not (packages and scipys.library and "chainrules_scipy" in (advised_at(scipys) or "")):
        return None
    before = f"before 'import {_root(packages[0])}'"
    return f"call chainrules_scipy.install() {before}, after 'import chainrules_scipy'"


def _operation(line: Line) -> str | None:
    """Return a call as an operation of all that may vary in it, or None if that is uncertain.

    It has to be of a function of a module: a method has its object, which may hold what is traced.
    """
    new: Any = copy.deepcopy(line.node)
    owner = getattr(new.func, "value", None)
    parts = [*new.args, *[each.value for each in new.keywords]]
    varied = [each for each in parts if _names(each)]
    free = [name for name in "xuvwstab" if name not in _names(new.func)]
    plain = isinstance(line.function, FunctionType) and not knows(
        line.function, lambda x: issubclass(type(x), Tracer)
    )
    if (
        not (plain and (owner is None or isinstance(line.value_of(owner), ModuleType)))
        or any(each.arg is None for each in new.keywords)
        or not all(isinstance(each, _VALUES) and not _holds(line, each) for each in varied)
        or not any(any(line.traced(each)) for each in varied)
        or len(varied) > len(free)
        or "op" in _names(new)
    ):
        return None
    passed = dict(zip(map(id, varied), free, strict=False))
    put: Any = lambda each: ast.Name(passed[id(each)]) if id(each) in passed else each
    new.args = [*map(put, new.args)]
    for each in new.keywords:
        each.value = put(each.value)
    made = f"op = primitive(lambda {', '.join(passed.values())}: {ast.unparse(new)})"
    write = f"{made}, {_RULE}, and write op({', '.join(map(ast.unparse, varied))})"
    return f"make it an operation, {write}" if len(write) < 2 * _LONGEST + 40 else None


_VALUES = ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp, ast.UnaryOp


def _holds(line: Line, node: ast.expr) -> bool:
    """Return whether an argument is a function, or a container, as an operation takes none."""
    x = line.resolved(node)
    return callable(line.value_of(node)) or isinstance(x, list | tuple | dict)


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


_RULE = "state its rule ('Black boxes' in the docs)"


def _in_words(line: Line) -> str:
    """Return advice for a call that cannot be copied into an operation as it is written."""
    inner = _foreign(line) or line.library
    of = ""
    if inner:
        name, file = inner[0].f_code.co_qualname, Path(inner[-1].f_code.co_filename)
        of = f" ({name} takes plain values, at {file.parent.name}/{file.name}:{inner[-1].f_lineno})"
    write = f"op = primitive(...) of a function of all that is traced, {_RULE}, and call op"
    return f"make it an operation{of}: {write}"


_ASKED = r"\.query\(((?:[^()]|\([^()]*\))*)\)(?:\[0\])?"
"""The points that a tree is asked for, and their distances."""


_ENGINES = {
    "jax": "chainrules_jax",
    "jaxlib": "chainrules_jax",
    "torch": "chainrules_torch",
}
"""Packages that take the derivatives of functions from their own libraries."""
_SHOWS = ("matplotlib", "seaborn", "plotly", "PIL")
"""Libraries that show values, which are constants there."""
_LABELS = ("pandas", "xarray", "polars")
"""Libraries whose arrays have labels, and hold objects here."""


def alike(line: Line) -> str | None:
    """Return NumPy's call in place of another library's of its name, or what it converts."""
    call: Any = line.node
    called: Any = getattr(call, "func", None)
    module = line.value_of(called.value) if isinstance(called, ast.Attribute) else None
    if not isinstance(module, ModuleType):
        return None
    library = type(untraced(line.resolved_operand)).__module__.partition(".")[0]
    if library in _OF_OPERATIONS and hasattr(ops, called.attr):
        call = f"v.{called.attr}({', '.join(line.arguments)})"
        return f"use {call}, after 'from chainrules_py import ops as v'"
    root, _, inner = re.sub("(?<=jax).numpy|(?<=dask).array", "", module.__name__).partition(".")
    rest = f", and np for {re.sub('.(linalg|fft)$', '', ast.unparse(called.value))} throughout"
    rest *= root != "dask"  # Dask's functions that make arrays take chunks
    if root in _ARRAYS and called.attr in (*_MAKERS, "as_tensor", "from_numpy", "tensor"):
        listed = isinstance(call.args[0], (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp))
        return f"use {ast.unparse(stacked_list(call.args[0]) if listed else call.args[0])}{rest}"
    home = f"np.{inner}." if inner in ("linalg", "fft") else "np."
    known = getattr(getattr(np, inner, np), called.attr, None)
    shared = all([each.arg in ("axis", "keepdims") for each in call.keywords])
    if not shared or not (callable(known) if root in _ARRAYS else isinstance(known, np.ufunc)):
        return None
    given = ", ".join([*line.arguments, *map(ast.unparse, call.keywords)])
    return f"use {home}{called.attr}({given}){rest * (root in _ARRAYS)}"


_OF_OPERATIONS = ("array_api_strict", "mlx")
"""Libraries whose arrays NumPy's functions convert to its own."""
_ARRAYS = ("cupy", "dask", "jax", "mlx", "tensorflow", "torch")
"""Libraries whose functions have the names and meanings of NumPy's."""


def _is_stated(error: BaseException) -> bool:
    """Return whether Python code of a package raised an error itself, for a reason of its own."""
    (*_, last) = walk_tb(error.__traceback__)
    raised = re.search(r"(^|:)\s*raise\b", linecache.getline(last[0].f_code.co_filename, last[1]))
    own = _root(last[0])
    return bool(raised) and not (own == "numpy" or own.startswith("chainrules_"))


def _of_a_package(error: BaseException) -> str | None:
    """Return a note for an error that a package states about the class of a traced value."""
    line = Line.of(error) if isinstance(error, TypeError) else None
    if line is None or not _is_stated(error) or not (inside := _foreign(line)[-1:]):
        return None
    names = [type(x).__name__ for x in find_tracers(tuple(inside[0].f_locals.values()))]
    named = any(f"{name.partition('[')[0]}[" in str(error) for name in names)
    return f"if the class of a traced value is the cause, {_in_words(line)}" if named else None


advisers.append(_of_a_package)
remedies.append(_remedy)
