"""Saving of a program as a folder of C that builds without this library, NumPy or Python.

Functions of the C library replace NumPy's loops, and products are added one after the other, so
results differ from those of the program in the last bits. Arrays are passed in C order. Names begin
with ``compiled_``, or with the name of the function, to avoid collisions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from chainrules_compile.c.buffers import (
    UNWRITABLE,
    Buffer,
    UnwritableError,
    Version,
    View,
    contiguous,
)
from chainrules_compile.c.emit import emit
from chainrules_compile.c.expression_text import c_type, headed, literal
from chainrules_compile.c.function_lowerings import lower
from chainrules_compile.c.item_builder import Lowering, form
from chainrules_compile.c.program_items import Literal
from chainrules_compile.c.vector_math import C_NAMES
from chainrules_compile.errors import RecordingError
from chainrules_compile.internal_functions import is_finite, name_of
from chainrules_compile.save import write_module
from chainrules_compile.scope import Scope, identifier
from chainrules_py.extend import describe
from chainrules_py.program import Program, Value

REMEDY = "compile it for the target 'numpy', and save that"
_OPERATORS = {
    "add": "{0} + {1}",
    "multiply": "{0} * {1}",
    "maximum": "({0} > {1} || {0} != {0}) ? {0} : {1}",
    "minimum": "({0} < {1} || {0} != {0}) ? {0} : {1}",
    **{name: f"{name}{{f}}({{0}})" for name in ("floor", "ceil", "rint", "trunc")},
    "fmax": "fmax{f}({0}, {1})",
    "fmin": "fmin{f}({0}, {1})",
    "copysign": "copysign{f}({0}, {1})",
    "logical_or": "{0} || {1}",
    "logical_and": "{0} && {1}",
    "logaddexp": """{0} == {1} ? {0} + 0.69314718055994530942 : {0} > {1} \
? {0} + log1p{f}(exp{f}({1} - {0})) : {1} + log1p{f}(exp{f}({0} - {1}))""",
    "remainder": """fmod{f}({0}, {1}) == 0 ? copysign{f}(0, {1}) : fmod{f}({0}, {1}) + \
((fmod{f}({0}, {1}) < 0) != ({1} < 0) ? {1} : 0)""",
}
_SIZES = {"f": "float", "d": "double", "l": "int64_t", "q": "int64_t", "?": "uint8_t"}
_COMMAND = "cc -O2 -fwrapv -fno-strict-aliasing -ffp-contract=off"


class _Saving:
    """Program that is lowered for saving."""

    def __init__(self, program: Program, names: Mapping[Value, str], scope: Scope) -> None:
        self.lowering = lowering = Lowering(may_leave=False)
        self.arguments: list[tuple[str, View]] = []
        self.constants: list[tuple[int, View, np.ndarray]] = []
        for x in program.inputs:
            self._input(x, names[x], scope.get(names[x]))
        for x, constant in program.constants.items():
            self._input(x, x.name, constant)
        uses, n = program.uses(), len(program.calls)
        lowering.ends = {
            call.results[0]
            for i, call in enumerate(program.calls)
            if call.function is is_finite and {k for k in uses[call.operands[0]] if k > i} == {n}
        }
        for call in program.calls:
            try:
                lower(lowering, call)
            except UNWRITABLE:
                name = name_of(call.function).removesuffix("_numpy")
                given = ", ".join(map(describe, call.operands))
                raise RecordingError(
                    f"{name} of {given} is not written in C, so the program cannot be saved as C; "
                    f"{REMEDY}"
                ) from None
        self.results = [self._output(x) for x in program.outputs]

    def _input(self, x: Value, name: str, known: Any) -> None:
        k = len(self.lowering.inputs)
        try:
            shape, dtype = form(x)
            c_type(dtype)
        except UnwritableError:
            raise RecordingError(f"C has no numbers for {x!r}; {REMEDY}") from None
        version = Version(Buffer(math.prod(shape) * dtype.itemsize, 0, f"I[{k}]"), -1)
        view = View(version, 0, shape, contiguous(shape, dtype.itemsize), dtype)
        self.lowering.inputs.append(x)
        self.lowering.views[x] = view
        if isinstance(known, np.ndarray | np.generic | float | bool):
            self.constants.append((k, view, np.asarray(known, dtype)))
        else:
            self.arguments.append((name, view))

    def _output(self, x: Any) -> View:
        lowering = self.lowering
        if type(x) is Value:
            view = lowering.view(x)
            own = lowering.new(view.shape, view.dtype)
            lowering.write(own, view)
            return own
        if type(x) not in (int, float, bool) and not isinstance(x, np.generic):
            raise RecordingError(f"the program gives {x!r}, which is not an array; {REMEDY}")
        dtype = np.asarray(x).dtype
        own = lowering.new((), dtype)
        lowering.write(own, Literal(literal(x, dtype), dtype))
        return own


def save(
    program: Program, names: Mapping[Value, str], scope: Scope, name: str, folder: Path
) -> None:
    """Write a program to a folder: its source, a header, and a module that builds and calls it.

    Raises
    ------
    RecordingError
        If a part of it cannot be written in C.
    """
    saving, name = _Saving(program, names, scope), f"compiled_{identifier(name)}"
    text, work = emit(saving.lowering.items, saving.results, f"{name}_run")
    source = _source(saving, name, text, work)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.c").write_text(source, encoding="utf-8")
    (folder / f"{name}.h").write_text(_header(saving, name), encoding="utf-8")
    write_module(folder / f"{name}.py", _loader(saving, name))


def _declaration(saving: _Saving, name: str, given: str, result: str) -> str:
    """Return the head of the function; `given` and `result` are templates for parameter names."""
    parameters = [
        f"const {c_type(view.dtype)}* {given.format(x)}"
        if view.shape
        else f"{c_type(view.dtype)} {given.format(x)}"
        for x, view in saving.arguments
    ]
    results = enumerate(saving.results)
    parameters += [f"{c_type(view.dtype)}* {result.format(f'y{i}')}" for i, view in results]
    return f"int {name}({', '.join(parameters)})"


def _header(saving: _Saving, name: str) -> str:
    forms = [(x, view) for x, view in saving.arguments]
    forms += [(f"y{i}", view) for i, view in enumerate(saving.results)]
    # Parameter names could be replaced by macros, also of the including file.
    declaration = _declaration(saving, name, "/* {} */", "/* {} */")
    lines = "".join(
        [f"   {x}: {c_type(v.dtype)}{''.join([f'[{n}]' for n in v.shape])}\n" for x, v in forms]
    )
    return (
        f"/* {name}: recorded by chainrules_compile, written by chainrules_compile.c.\n\n"
        f"   {_COMMAND} -c {name}.c\n\n"
        f"   It gives 0; 1 where the function takes another branch than the recorded one, or its\n"
        f"   derivative meets NaN or an infinite quotient, and 2 without memory.\n"
        f"   Arrays are in C order:\n\n{lines}*/\n"
        f"#ifndef CHAINRULES_{name}_H\n#define CHAINRULES_{name}_H\n#include <stdint.h>\n"
        f'#ifdef __cplusplus\nextern "C" {{\n#endif\n{declaration};\n'
        f"#ifdef __cplusplus\n}}\n#endif\n#endif\n"
    )


def _source(saving: _Saving, name: str, text: str, work: int) -> str:
    loops = [_loop(f"{name}_loop{k}", *key) for k, key in enumerate(saving.lowering.loops)]
    table = ", ".join([f"(void*){name}_loop{k}, 0" for k in range(len(loops))] or ["0"])
    data = [_data(f"{name}_data{k}", view, array) for k, view, array in saving.constants]
    given = [f"(char*){'' if view.shape else '&'}given_{x}" for x, view in saving.arguments]
    places = {
        view.version.buffer.place: g for g, (_, view) in zip(given, saving.arguments, strict=True)
    }
    constants = saving.constants
    places |= {view.version.buffer.place: f"(char*){name}_data{k}" for k, view, _ in constants}
    inputs = ", ".join([places[f"I[{k}]"] for k in range(len(places))] or ["0"])
    outputs = ", ".join([f"(char*)y{i}" for i in range(len(saving.results))])
    size = -(-max(work, 64) // 64) * 64
    body = (
        f"{_declaration(saving, name, 'given_{}', '{}')} {{\n"
        f"  char *in[] = {{{inputs}}}, *out[] = {{{outputs}}};\n"
        f"  static void* loops[] = {{{table}}};\n"
        f"  char* work = aligned_alloc(64, {size});\n"
        f"  if (!work) return 2;\n"
        f"  int answer = {name}_run(in, out, work, loops);\n"
        f"  free(work);\n  return answer;\n}}\n"
    )
    pragma = '#pragma GCC optimize ("no-strict-aliasing", "wrapv")\n'
    head = f'{pragma}#include <stdlib.h>\n#include "{name}.h"\n{headed("kernels.h")}'
    return "\n".join(
        [
            head,
            *data,
            text.replace(f"\nint {name}_run", f"\nstatic int {name}_run"),
            *loops,
            body,
        ]
    )


def _loop(own: str, ufunc: np.ufunc, types: str) -> str:
    """Write a C function in place of a NumPy loop."""
    given, _, result = types.partition("->")
    kind, text, operands = _SIZES.get(result), _OPERATORS.get(ufunc.__name__, ""), range(ufunc.nin)
    if ufunc in C_NAMES:
        text = f"{C_NAMES[ufunc]}{{f}}({', '.join([f'{{{i}}}' for i in operands])})"
    if kind is None or set(given) != {result} or not (text or ufunc is np.matmul):
        raise RecordingError(f"{ufunc.__name__} of {types} is not written in C; {REMEDY}")
    head = f"static void {own}(char** p, const I* n, const I* s, void* d) {{\n"
    if ufunc is np.matmul:
        each = (
            f"r += AT({kind}, p[0] + i * s[3] + j * s[4]) * AT({kind}, p[1] + j * s[5] + k * s[6]);"
        )
        return (
            f"{head}  for (I i = 0; i < n[1]; i++) for (I k = 0; k < n[3]; k++) {{\n"
            f"    {kind} r = 0;\n    for (I j = 0; j < n[2]; j++) {each}\n"
            f"    AT({kind}, p[2] + i * s[7] + k * s[8]) = r;\n  }}\n}}"
        )
    end = "f" if kind == "float" else ""
    places = [f"AT({kind}, p[{i}] + i * s[{i}])" for i in operands]
    out = f"AT({kind}, p[{ufunc.nin}] + i * s[{ufunc.nin}])"
    return f"{head}  for (I i = 0; i < n[0]; i++) {out} = {text.format(*places, f=end)};\n}}"


def _data(name: str, view: View, array: np.ndarray) -> str:
    numbers = ", ".join([literal(x, array.dtype) for x in array.ravel().tolist()])
    return f"static const {c_type(view.dtype)} {name}[] = {{{numbers or '0'}}};"


def _loader(saving: _Saving, name: str) -> str:
    parameters = ", ".join([x for x, _ in saving.arguments])
    given = "".join([f"    {(x, v.dtype.name, v.shape)},\n" for x, v in saving.arguments])
    results = "".join([f"    {(v.dtype.name, v.shape)},\n" for v in saving.results])
    return f'''"""{name}: builds {name}.c, and calls it; it gives its results in a list."""

import contextlib
import ctypes
import os
import pathlib
import subprocess
import tempfile

import numpy as np
from numpy.ctypeslib import as_ctypes_type

_GIVEN = [
{given}]
_RESULTS = [
{results}]


def _build(source):
    library, parent = "lib{name}.so", source.parent  # {name}.so Python would import in its place
    # It is loaded from a place of its own: from that of another it would be the other, still.
    own = parent if os.access(parent, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=own, ignore_cleanup_errors=True) as folder:
        built = os.path.join(folder, library)
        command = "{_COMMAND} -shared -fPIC".split()
        subprocess.run([*command, "-o", built, str(source), "-lm"], check=True)
        run = ctypes.CDLL(built).{name}
        numbers = [None if shape else as_ctypes_type(dtype) for _, dtype, shape in _GIVEN]
        run.argtypes = [kind or ctypes.c_void_p for kind in (*numbers, *[None for _ in _RESULTS])]
        with contextlib.suppress(OSError):  # for those who link with it
            os.replace(built, parent / library)
    return run


def _fit(x, name, dtype, shape):
    number = not shape and (type(x) in (float, bool) or isinstance(x, np.generic))
    y = np.asarray(x) if number or type(x) is np.ndarray else None
    if y is None or y.dtype != dtype or y.shape != shape:
        given = type(x).__name__ if y is None else f"{{y.dtype}}{{[*y.shape]}}"
        raise ValueError(f"{{name}} is {{given}}, and recorded for {{dtype}}{{[*shape]}}")
    return np.require(y, requirements="CA") if shape else y.item()


def _compiled_call(*xs):
    given = [_fit(x, *form) for x, form in zip(xs, _GIVEN)]
    results = [np.empty(shape, dtype) for dtype, shape in _RESULTS]
    if _run(*[y.ctypes.data if type(y) is np.ndarray else y for y in (*given, *results)]):
        raise ValueError(
            "recorded for other arguments: the function takes another branch here, or its "
            "derivative meets NaN or an infinite quotient; record it anew, or call the compiled "
            "function"
        )
    return results


def {name}({parameters}):
    return _compiled_call({parameters})


_run = _build(pathlib.Path(__file__).resolve().with_suffix(".c"))
'''
