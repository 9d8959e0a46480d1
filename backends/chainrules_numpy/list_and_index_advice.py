"""Remedies for lists, buffers and indices of traced numbers, in the text of an error."""

from __future__ import annotations

import ast
import copy
import linecache
import re
import sys
from pathlib import Path
from traceback import walk_tb
from types import BuiltinFunctionType, ModuleType
from typing import Any

import numpy as np

from chainrules_numpy.advice_operands import is_list, is_name, is_number
from chainrules_py import ops
from chainrules_py.extend import (
    Line,
    Tracer,
    advised,
    advised_at,
    advisers,
    filled,
    find_tracers,
    remedies,
    root_module,
    untraced,
)

_LONGEST = 144
"""The number of characters of an expression that a message shows."""


def _remedy(line: Line, error: BaseException | None, last: bool) -> str | None:
    if line.place[0].startswith("<lambdifygenerated"):  # by SymPy
        return _of_sympy(line)
    if "read-only" in str(error) and str(line.called).rpartition(".")[2] in _WRITERS:
        made = f"{line.written} = np.copy({line.written})"
        return f"write {made} after the line that makes it: it is read-only"
    if line.option("writeable") and str(line.called).endswith("sliding_window_view"):
        x = (line.arguments or ["x"])[0]
        part = filled("write to {0}, as in {0}[i : i + n] = y, not to its windows", x)
        return f"leave it out where windows are only read; {part}"
    if (written := _in_python(line)) is not None:
        return written
    if last:  # SciPy itself refuses what is no array
        return (_black_box if error is None or not _is_stated(error) else _installed)(line)
    if "numpy.random" in sys.modules and (written := advised(np.random.Generator, line)):
        return written
    if isinstance(error, IndexError):
        return _index(line)
    if error is not None and line.library:  # it was traced, or pandas refuses to store it
        return _buffer(line) if "Invalid value" in str(error) else None
    from chainrules_numpy.plain_number_advice import of_mapped, of_plain  # loads np.polynomial

    written = _stacked(line) or of_mapped(line) or of_plain(line)
    return written or (_buffer(line) if error is None else None)


def _of_sympy(line: Line) -> str:
    """Return how to make a function from a SymPy expression, by modules whose functions trace."""
    name = (line.called or "exp").rpartition(".")[2]
    modules, after = "'numpy'" if hasattr(np, name) else "'scipy'", ""
    if ours := re.search(r", after '(from chainrules_\S+ import .*)'", advised_at(line) or ""):
        modules, after = f"[{{'{name}': {name}}}, 'scipy']", ours[0]
    return f"use sympy.lambdify(x, expression, {modules}) for this function{after}"


def _in_python(line: Line) -> str | None:
    """Return the call with the Python function in place of one that caches or compiles it."""
    call = line.node
    if not isinstance(call, ast.Call):
        return None
    engine = bool(line.library) and root_module(line.library[0]).startswith("chainrules_")
    for node in (call.func, *call.args, *getattr(call.func, "args", ())):
        text, function = ast.unparse(node), line.value_of(node)
        for mark, inner in (("cache_info", "__wrapped__"), ("py_func", "py_func")):
            if hasattr(function, mark):
                place = rf"(?<![\w.]){re.escape(text)}(?!\w)"
                return f"use {re.sub(place, f'{text}.{inner}', ast.unparse(call), count=1)}"
        inside = getattr(function, "func", function)  # of a partial
        given = engine and node is not call.func
        if isinstance(inside, BuiltinFunctionType) and (given or inside is not function):
            return f"write a function in Python for {text}, with NumPy's functions"
    return None


# ---------------------------------------------------------------------------------------- lists

_JOINERS = ("stack", "concatenate", "vstack", "hstack", "dstack", "column_stack", "block")
_TAKE_LISTS = ("choose", "multi_dot", "nditer", "piecewise", "select")
_SHAPED = ("zeros", "ones", "empty", "full", "reshape", "tile", "broadcast_to")
"""Functions of a shape, which is no list of elements."""
_MAKERS = ("array", "asarray", "asanyarray", "asarray_chkfinite", "fromiter", "ascontiguousarray")


def _stacked(line: Line) -> str | None:
    """Return a NumPy call with ``np.stack`` around its list, or None."""
    call, function = line.node, line.function
    if not isinstance(call, ast.Call):
        return None
    attribute = getattr(call.func, "attr", "")
    if attribute == "astype" and not line.library:  # an array of objects, which a zero joins
        of = ast.unparse(call.func.value)  # type: ignore[attr-defined]
        return f"use ({of} + {_zero(line)}).astype({', '.join(line.arguments)})"
    if function is None and attribute in _MAKERS:  # of an object that stands for NumPy
        function = getattr(np, attribute)
    module = str(getattr(function, "__module__", None) or type(function).__module__)
    name = getattr(function, "__name__", "")
    masked = hasattr(function, "nin") and (line.option("where") or line.option("out"))
    ufunc = isinstance(line.value_of(getattr(call.func, "value", None)), np.ufunc)
    known = ufunc or module.partition(".")[0] == "numpy"
    if not known or masked or name in (*_JOINERS, *_TAKE_LISTS, *_SHAPED):
        return None
    for place, arg in enumerate(call.args):
        alone = place == 0 and not is_name(arg) and (name in _MAKERS or not any(line.traced(call)))
        if not is_list(line, arg) or not (alone or any(line.traced(arg))):
            continue
        new: Any = copy.deepcopy(call)
        new.args[place] = stacked(line, arg)
        made, rest = ast.unparse(new), ""
        if name in _MAKERS:
            from chainrules_numpy.plain_number_advice import as_asked  # loads np.polynomial

            made, rest = as_asked(line, ast.unparse(new.args[place]))
        return f"use {made if len(made) <= _LONGEST else 'np.stack(...) around the list'}{rest}"
    return None if function is line.function else advised(function, line)


def stacked(line: Line, node: ast.expr) -> ast.expr:
    """Return ``np.stack`` of a list, and of each list in it."""
    held = line.resolved(node)
    if isinstance(held, (list, tuple)) and any([type(x) in (list, tuple) for x in held]):
        return ast.parse(f"np.stack([*map(np.stack, {ast.unparse(node)})])", mode="eval").body
    return stacked_list(node)


def stacked_list(node: ast.expr) -> ast.expr:
    """Return ``np.stack`` of a list as it is written, and of each list in it."""
    rows = (ast.List, ast.Tuple, ast.ListComp)
    if isinstance(node, (ast.List, ast.Tuple)):
        each = [stacked_list(e) if isinstance(e, rows) else e for e in node.elts]
        node = ast.List(each, ast.Load())
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        of_rows = isinstance(node.elt, rows)
        node = ast.ListComp(stacked_list(node.elt) if of_rows else node.elt, node.generators)
    return ast.Call(ast.parse("np.stack", mode="eval").body, [node], [])


def _zero(line: Line) -> str:
    """Return a traced zero, which makes an array of what it is added to traced."""
    name = _like(line)
    x = untraced(line.resolved(ast.Name(name)))
    whole = isinstance(x, int) or getattr(getattr(x, "dtype", None), "kind", "f") in "iu"
    return f"np.zeros_like({name}, {'float, ' * whole}shape=())"


# -------------------------------------------------------------------------------------- buffers

_WRITERS = ("at", "copyto", "fill", "put", "put_along_axis", "place", "putmask", "fill_diagonal")
"""Functions that write to their first argument, and methods that write to their array."""


def _output(line: Line) -> str | None:
    """Return what to write for a call with an output array, or None."""
    if not isinstance(line.node, ast.Call):
        return None
    nin, nout = (getattr(line.function, name, 1) for name in ("nin", "nout"))
    out = next((each.value for each in line.node.keywords if each.arg == "out"), None)
    if isinstance(out, ast.Tuple) or (nout > 1 and (out or len(line.node.args) > nin)):
        return "leave the output off, and write b[...] = y for each of its arrays b and results y"
    if out is None:
        return None
    without, text = line.without("out"), line.texts[0].partition("\n")[0]
    if without is None or not is_name(out):
        return without and f"use {without}"
    if not any(line.traced(out)):
        return f"write {without} for it, and {of_buffer(line, out)}"
    alone = linecache.getline(*line.place).lstrip().startswith(text) and not line.texts[1].strip()
    before = f" before this line, and {ast.unparse(out)} for {ast.unparse(line.node)}"
    return f"use {without}" if alone else f"write {without}{before}"


def _buffer(line: Line) -> str | None:
    """Return how to make the plain array that a line writes to, or None."""
    if (write := in_flat(line) or _output(line)) is not None:
        return write
    node: Any = line.augmented.target if line.augmented is not None else line.node
    if isinstance(node, ast.Subscript) and not any(line.traced(node.slice)):
        return of_buffer(line, node.value)
    if line.augmented is not None:
        own, name = line.resolved(node), ast.unparse(node)
        if own is None or (isinstance(own, np.ndarray) and own.dtype.kind not in "biu"):
            return of_buffer(line, node)
        new = ast.BinOp(node, line.augmented.op, line.augmented.value)
        return f"use {name} = {ast.unparse(new)}"
    if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") not in _WRITERS:
        return None
    owner: Any = node.func
    plain = isinstance(line.value_of(owner.value), ModuleType | np.ufunc)
    target = node.args[0] if plain else owner.value
    return None if any(line.traced(target)) else of_buffer(line, target)


def in_flat(line: Line) -> str | None:
    """Return how to write to the elements of an array in their order, for ``b.flat``, or None."""
    part = line.node.value if isinstance(line.node, ast.Subscript) else line.node
    if line.stored is None or not isinstance(part, ast.Attribute) or part.attr != "flat":
        return None
    at = "..." if part is line.node else ast.unparse(line.node.slice)  # type: ignore[union-attr]
    stored, name = ast.unparse(line.stored), ast.unparse(part.value)
    return f"write {name}.ravel()[{at}] = {stored}, and {of_buffer(line, part.value)}"


def of_buffer(line: Line, target: ast.expr) -> str:
    """Return how to make an array that holds traced values."""
    while isinstance(target, ast.Subscript) and not isinstance(
        line.resolved(target.value), list | tuple | dict
    ):
        target = target.value  # u[i] is a part of u
    name, own = ast.unparse(target), line.resolved(target)
    if getattr(getattr(own, "dtype", None), "names", None):
        fields = f"{{field: {name}[field] for field in {name}.dtype.names}}"
        return f"write {name} = {fields} before it is written to, a dict of arrays"
    if getattr(own, "ndim", None) == 0:  # a sum would be a number
        return f"write {name} = np.full_like({_like(line)}, {name}, shape=()) before this line"
    if getattr(getattr(own, "dtype", None), "kind", "") in ("b", "i", "u"):
        stored = line.augmented.value if line.augmented is not None else line.stored
        constant = (
            line.with_constant() if stored is None else f"ignore_derivatives({ast.unparse(stored)})"
        )
        return (
            f"use {constant}, which is a constant, or make {name} of floats: it is of {own.dtype}"
        )
    if getattr(line.resolved(ast.Name(_like(line))), "engine", "") == "series":
        return f"make it of its parts at once, {name} = np.stack([...]), or np.concatenate([...])"
    zero = _zero(line)
    if (write := _in_sparse(line, target, zero)) is not None:
        return write
    if isinstance(target, ast.Attribute) and target.attr in ("at", "iat", "iloc", "loc"):
        name, own = ast.unparse(target.value), line.resolved(target.value)
    if hasattr(type(own), "to_numpy"):
        made = f"b = {name}.to_numpy() + {zero}"
        return f"write into an array, {made}, in place of {name}, which holds plain numbers"
    return f"add {zero} to {name} where it is made, or to the array that it is a part of"


def _in_sparse(line: Line, target: Any, zero: str) -> str | None:
    """Return what to write for a write to a sparse array of SciPy, or to its data, or None."""
    whole = target.value if getattr(target, "attr", "") == "data" else target
    if not hasattr(type(array := line.resolved(whole)), "tocsr"):
        return None
    name, made = ast.unparse(whole), f"{ast.unparse(target)}{'.toarray()' * (whole is target)}"
    kind = type(array).__name__.rpartition("_")[2]
    read = (
        f"scipy.sparse.csr_{kind}(b)",
        "'import scipy, chainrules_scipy' and 'chainrules_scipy.install()'",
    )
    if whole is not target:
        read = f"with_data({name}, b)", "'from chainrules_scipy.sparse import with_data'"
    return (
        f"write b = {made} + {zero} once, before it is written to, b for {ast.unparse(target)} in "
        f"the writes, and {read[0]} for {name} after them, after {read[1]}"
    )


def _like(line: Line) -> str:
    """Return the name of a traced array: of an argument, or of one on the line, or ``x``."""
    code = line.frame.f_code
    given = (*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], *code.co_freevars)
    known = [name for name in given if issubclass(type(line.resolved(ast.Name(name))), Tracer)]
    return next(iter(known), next(line.traced(line.stored), "x"))


# -------------------------------------------------------------------------------------- indices


def _index(line: Line) -> str | None:
    """Return a constant index for a traced one, or None."""
    if not isinstance(line.node, ast.Subscript) or not any(line.traced(line.node.slice)):
        return None
    shown = []
    for part in getattr(line.node.slice, "elts", [line.node.slice]):
        text = ast.unparse(part)
        if not isinstance(part, ast.Slice) and any(line.traced(part)):
            whole = "int(ignore_derivatives({}))", "ignore_derivatives({}).astype(int)"
            text = whole[not is_number(line, part)].format(text)
        shown.append(text)
    return f"use {ast.unparse(line.node.value)}[{', '.join(shown)}]"


# ------------------------------------------------------------------------------- other libraries


def _black_box(line: Line) -> str | None:
    """Return advice for a library function that takes plain values only, or None."""
    function, called = line.function, getattr(line.node, "func", None)
    module = str(getattr(function, "__module__", None) or type(function).__module__)
    if module == "builtins" and isinstance(called, ast.Attribute):
        module = str(getattr(line.value_of(called.value), "__name__", module))  # e.g. of torch.sin
    root = module.partition(".")[0]
    if root in sys.stdlib_module_names and line.library:  # it is called by Python, or unknown
        root, function = root_module(line.library[0]), None
    if root.startswith("chainrules_") and _foreign(line):  # a function is given to an engine
        return _installed(line) or _operation(line)
    if root == "numpy" or root.startswith("chainrules_") or root in sys.stdlib_module_names:
        return None
    engine = _ENGINES.get(root) or _ENGINES.get(type(function).__module__.partition(".")[0])
    general = (
        f"make it an operation, f = {engine}.import_rule({line.called or '...'})"
        if engine
        else f"use {line.with_constant()}, which is a constant"
        if root in _SHOWS
        else f"write {line.called or 'it'} with NumPy's functions of {line.argument}"
        if root in _LABELS
        else _installed(line) or _operation(line)
    )
    return alike(line) or advised(line.function, line) or general


def _foreign(line: Line) -> list[Any]:
    """List the frames of packages without support here, outermost first."""
    known = {"dask", "numpy", "scipy", *_ARRAYS, *_ENGINES, *_LABELS, *sys.stdlib_module_names}
    return [
        f
        for f in line.inner
        if not (root_module(f) in known or root_module(f).startswith("chainrules_"))
    ]


def _installed(line: Line) -> str | None:
    """Return the advice for a package that calls a function of SciPy that has a rule, or None."""
    packages, scipys = _foreign(line), copy.copy(line)
    scipys.node, scipys.library = None, [f for f in line.inner if root_module(f) == "scipy"]
    if not (packages and scipys.library and "chainrules_scipy" in (advised_at(scipys) or "")):
        return None
    before = f"before 'import {root_module(packages[0])}'"
    return f"call chainrules_scipy.install() {before}, after 'import chainrules_scipy'"


def _operation(line: Line) -> str:
    """Return advice to make an operation of a black box."""
    inner = _foreign(line) or line.library
    of = ""
    if inner:
        name = inner[0].f_code.co_qualname.rpartition("<locals>.")[2]
        file = Path(inner[-1].f_code.co_filename)
        of = f" ({name} takes plain values, at {file.parent.name}/{file.name}:{inner[-1].f_lineno})"
    write = "op = primitive(...) of a function of all that is traced, state its rule"
    return f"make it an operation{of}: {write} ('Black boxes' in the docs), and call op"


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
_OF_OPERATIONS = ("array_api_strict", "mlx")
"""Libraries whose arrays NumPy's functions convert to its own."""
_ARRAYS = ("cupy", "dask", "jax", "mlx", "tensorflow", "torch")
"""Libraries whose functions have the names and meanings of NumPy's."""


def alike(line: Line) -> str | None:
    """Return NumPy's call in place of another library's of its name, or what it converts."""
    called: Any = getattr(line.node, "func", None)
    module = line.value_of(called.value) if isinstance(called, ast.Attribute) else None
    if not isinstance(module, ModuleType):
        return None
    call: Any = line.node
    library = type(untraced(line.resolved_operand)).__module__.partition(".")[0]
    if library in _OF_OPERATIONS and hasattr(ops, called.attr):
        write = f"v.{called.attr}({', '.join(line.arguments)})"
        return f"use {write}, after 'from chainrules_py import ops as v'"
    root, *_, inner = module.__name__.partition(".")
    rest = f", and np for {re.sub('.(linalg|fft)$', '', ast.unparse(called.value))} throughout"
    rest *= root in _ARRAYS and root != "dask"  # Dask's functions that make arrays take chunks
    if root in _ARRAYS and called.attr in (*_MAKERS, "as_tensor", "from_numpy", "tensor"):
        made = stacked(line, call.args[0]) if is_list(line, call.args[0]) else call.args[0]
        return f"use {ast.unparse(made)}{rest}"
    inner = inner.rpartition(".")[2] if inner.endswith(("linalg", "fft")) else ""
    known = getattr(getattr(np, inner, np), called.attr, None)
    if not (callable(known) if root in _ARRAYS else isinstance(known, np.ufunc)):
        return None
    given = ", ".join([*line.arguments, *map(ast.unparse, call.keywords)])
    return f"use np.{inner}{'.' * bool(inner)}{called.attr}({given}){rest}"


def _is_stated(error: BaseException) -> bool:
    """Return whether Python code of a package raised an error itself, for a reason of its own."""
    (*_, last) = walk_tb(error.__traceback__)
    raised = re.search(r"(^|:)\s*raise\b", linecache.getline(last[0].f_code.co_filename, last[1]))
    own = root_module(last[0])
    return bool(raised) and not (own == "numpy" or own.startswith("chainrules_"))


def _of_a_package(error: BaseException) -> str | None:
    """Return a note for an error that a package states about the class of a traced value."""
    line = Line.of(error) if isinstance(error, TypeError) else None
    if line is None or not _is_stated(error) or not _foreign(line):
        return None
    held = find_tracers([*map(line.resolved, ast.walk(line.node or ast.Pass()))])
    named = any([f"{type(x).__name__.partition('[')[0]}[" in str(error) for x in held])
    return f"if the class of a traced value is the cause, {_operation(line)}" if named else None


advisers.append(_of_a_package)
remedies.append(_remedy)
