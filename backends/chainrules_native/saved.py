"""Saved programs: a folder of C that builds without this library, NumPy or Python.

NumPy's loops are not there, so functions are the C library's and products are added one after the
other: numbers differ from the program's in their last bits. Arrays are passed in C order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from chainrules_compile.calls import name_of
from chainrules_compile.errors import RecordingError
from chainrules_compile.loops import unrolled
from chainrules_compile.scope import Scope, identifier
from chainrules_native.emit import emit
from chainrules_native.items import Copy, Literal
from chainrules_native.lowering import Lowering, form
from chainrules_native.memory import Buffer, UnwritableError, Version, View, contiguous
from chainrules_native.text import c_type, headed, literal
from chainrules_native.vectors import C_NAMES
from chainrules_native.words import lower
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
}
_SIZES = {"f": "float", "d": "double", "l": "int64_t", "q": "int64_t"}
_COMMAND = "cc -O2 -fwrapv -fno-strict-aliasing -ffp-contract=off"


_WORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int
long register restrict return short signed sizeof static struct switch typedef union unsigned void
volatile while bool true false class delete export friend namespace new operator private protected
public template this throw try catch using virtual main NAN INFINITY in out loops work answer power
raises I W AT IVDEP NOINLINE SOMETIMES SUMS LOAD PAIRWISE UNROLLED
np ctypes os pathlib subprocess results _run _fit _path _built _own _command
"""
_TAKEN = frozenset(_WORDS.split())


def in_c(name: str) -> str:
    """Return a name that C and C++ have no other use for."""
    name = identifier(name)
    own = name in _TAKEN or re.fullmatch(r"(y|data|loop|eight|load|call)\d+|pairwise\d", name)
    return f"{name}_" if own or hasattr(math, name) else name


class _Saving:
    """Program as it is saved."""

    def __init__(self, program: Program, names: Mapping[Value, str], scope: Scope) -> None:
        self.lowering = lowering = Lowering(may_leave=False)
        self.arguments: list[tuple[str, View]] = []
        self.constants: list[tuple[str, View, np.ndarray]] = []
        for x in program.inputs:
            self._input(x, names[x], scope.get(names[x]))
        for x, constant in program.constants.items():
            self._input(x, x.name, constant)
        for call in program.calls:
            try:
                lower(lowering, call)
            except UnwritableError:
                msg = (
                    f"{name_of(call.function)} is not written in C, so the program cannot be saved "
                    f"as C; {REMEDY}"
                )
                raise RecordingError(msg) from None
        self.results = [self._output(x) for x in program.outputs]

    def _input(self, x: Value, name: str, known: Any) -> None:
        k = len(self.lowering.inputs)
        try:
            shape, dtype = form(x)
            c_type(dtype)
        except UnwritableError:
            msg = f"{name} is {x!r}, which C has no numbers for; {REMEDY}"
            raise RecordingError(msg) from None
        view = View(_version(shape, dtype, f"I[{k}]"), 0, shape, _strides(shape, dtype), dtype)
        self.lowering.inputs.append(x)
        self.lowering.views[x] = view
        if isinstance(known, np.ndarray | np.generic | float | bool):
            self.constants.append((f"data{k}", view, np.asarray(known, dtype)))
        else:
            name, taken = in_c(name), [other for other, _ in self.arguments]
            while name in taken or name.endswith("_run"):
                name = f"{name}_"
            self.arguments.append((name, view))

    def _output(self, x: Any) -> View:
        lowering = self.lowering
        if type(x) is Value:
            view = lowering.view(x)
            if view.dtype.kind == "c":
                msg = f"the program gives {x!r}, which C has no numbers for; {REMEDY}"
                raise RecordingError(msg)
            c_type(view.dtype)
            own = lowering.new(view.shape, view.dtype)
            lowering.add(Copy(own, view))
            return own
        if type(x) not in (int, float, bool) and not isinstance(x, np.generic):
            msg = f"the program gives {x!r}, which is no array; {REMEDY}"
            raise RecordingError(msg)
        dtype = np.asarray(x).dtype
        own = lowering.new((), dtype)
        lowering.add(Copy(own, Literal(literal(x, dtype), dtype)))
        return own


def _strides(shape: tuple[int, ...], dtype: np.dtype) -> tuple[int, ...]:
    return contiguous(shape, dtype.itemsize)


def _version(shape: tuple[int, ...], dtype: np.dtype, place: str) -> Version:
    return Version(Buffer(int(np.prod(shape, dtype=int)) * dtype.itemsize, 0, place), -1)


def save(
    program: Program, names: Mapping[Value, str], scope: Scope, name: str, folder: Path
) -> None:
    """Write a program to a folder: its source, a header, and a module that builds and calls it.

    Raises
    ------
    RecordingError
        If not all of it can be written in C.
    """
    saving, name = _Saving(unrolled(program), names, scope), in_c(name)
    text, work = emit(saving.lowering.items, saving.results, f"{name}_run")
    source = _source(saving, name, text, work)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.c").write_text(source, encoding="utf-8")
    (folder / f"{name}.h").write_text(_header(saving, name), encoding="utf-8")
    (folder / f"{name}.py").write_text(_loader(saving, name), encoding="utf-8")


def _declaration(saving: _Saving, name: str) -> str:
    given = [
        f"const {c_type(view.dtype)}* {x}" if view.shape else f"{c_type(view.dtype)} {x}"
        for x, view in saving.arguments
    ]
    given += [f"{c_type(view.dtype)}* y{i}" for i, view in enumerate(saving.results)]
    return f"int {name}({', '.join(given)})"


def _header(saving: _Saving, name: str) -> str:
    forms = [(x, view) for x, view in saving.arguments]
    forms += [(f"y{i}", view) for i, view in enumerate(saving.results)]
    lines = "".join(
        [f"   {x}: {c_type(v.dtype)}{''.join([f'[{n}]' for n in v.shape])}\n" for x, v in forms]
    )
    return (
        f"/* {name}: recorded by chainrules_compile, written by chainrules_native.\n\n"
        f"   {_COMMAND} -c {name}.c\n\n"
        f"   It gives 0; 1 where the function would have taken another way than that which was\n"
        f"   recorded, and 2 without memory. Arrays are in C order:\n\n{lines}*/\n"
        f"#ifndef {name.upper()}_H\n#define {name.upper()}_H\n#include <stdint.h>\n"
        f'#ifdef __cplusplus\nextern "C" {{\n#endif\n{_declaration(saving, name)};\n'
        f"#ifdef __cplusplus\n}}\n#endif\n#endif\n"
    )


def _source(saving: _Saving, name: str, text: str, work: int) -> str:
    loops = [_loop(k, *key) for k, key in enumerate(saving.lowering.loops)]
    table = ", ".join([f"(void*)loop{k}, 0" for k in range(len(loops))] or ["0"])
    data = [_data(*constant) for constant in saving.constants]
    given = [f"(char*){x}" if view.shape else f"(char*)&{x}" for x, view in saving.arguments]
    places = {
        view.version.buffer.place: g for g, (_, view) in zip(given, saving.arguments, strict=True)
    }
    places |= {view.version.buffer.place: f"(char*){x}" for x, view, _ in saving.constants}
    inputs = ", ".join([places[f"I[{k}]"] for k in range(len(places))] or ["0"])
    outputs = ", ".join([f"(char*)y{i}" for i in range(len(saving.results))])
    size = -(-max(work, 64) // 64) * 64
    body = (
        f"{_declaration(saving, name)} {{\n"
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


def _loop(k: int, ufunc: np.ufunc | str, types: str) -> str:
    """Write what stands for a loop of NumPy's."""
    if isinstance(ufunc, str):
        msg = f"{ufunc} of numbers is not written in C; {REMEDY}"
        raise RecordingError(msg)
    given, _, result = types.partition("->")
    kind = _SIZES.get(result)
    if kind is None or set(given) != {result}:
        msg = f"{ufunc.__name__} of {types} is not written in C; {REMEDY}"
        raise RecordingError(msg)
    head = f"static void loop{k}(char** p, const I* n, const I* s, void* d) {{\n"
    if ufunc is np.matmul:
        each = (
            f"r += AT({kind}, p[0] + i * s[3] + j * s[4]) * AT({kind}, p[1] + j * s[5] + k * s[6]);"
        )
        return (
            f"{head}  for (I i = 0; i < n[1]; i++) for (I k = 0; k < n[3]; k++) {{\n"
            f"    {kind} r = 0;\n    for (I j = 0; j < n[2]; j++) {each}\n"
            f"    AT({kind}, p[2] + i * s[7] + k * s[8]) = r;\n  }}\n}}"
        )
    name, operands = C_NAMES.get(ufunc), range(ufunc.nin)
    text = _OPERATORS.get(ufunc.__name__)
    if name is not None:
        text = f"{name}{{f}}({', '.join([f'{{{i}}}' for i in operands])})"
    if text is None:
        msg = f"{ufunc.__name__} is not written in C; {REMEDY}"
        raise RecordingError(msg)
    end = "f" if kind == "float" else ""
    places = [f"AT({kind}, p[{i}] + i * s[{i}])" for i in operands]
    out = f"AT({kind}, p[{ufunc.nin}] + i * s[{ufunc.nin}])"
    return f"{head}  for (I i = 0; i < n[0]; i++) {out} = {text.format(*places, f=end)};\n}}"


def _data(name: str, view: View, array: np.ndarray) -> str:
    numbers = ", ".join([literal(x, array.dtype) for x in array.ravel().tolist()])
    return f"static const {c_type(view.dtype)} {name}[] = {{{numbers or '0'}}};"


def _loader(saving: _Saving, name: str) -> str:
    parameters = ", ".join([x for x, _ in saving.arguments])
    taken, passed = [], []
    for x, view in saving.arguments:
        taken.append(f"    {x} = _fit({x}, {x!r}, {view.dtype.name!r}, {view.shape})")
        if view.shape:
            passed.append(f"ctypes.c_void_p({x}.ctypes.data)")
        else:
            code = {"f8": "c_double", "f4": "c_float", "b1": "c_bool"}.get(view.dtype.str[1:])
            passed.append(f"ctypes.{code or 'c_' + view.dtype.name}({x})")
    results = ", ".join([f"np.empty({v.shape}, {v.dtype.name!r})" for v in saving.results])
    passed.append("*[ctypes.c_void_p(y.ctypes.data) for y in results]")
    taken_text = "".join([f"{line}\n" for line in taken])
    return f'''"""{name}: builds {name}.c, and calls it; it gives its results in a list."""

import ctypes
import os
import pathlib
import subprocess

import numpy as np

_path = pathlib.Path(__file__).resolve()
_built = str(_path.with_name("lib{name}.so"))  # {name}.so Python would import in place of this
_own = f"{{_built}}.{{os.getpid()}}"  # another process may be about it as well
_command = "{_COMMAND} -shared -fPIC".split()
subprocess.run([*_command, "-o", _own, str(_path.with_suffix(".c")), "-lm"], check=True)
os.replace(_own, _built)
_run = ctypes.CDLL(_built).{name}


def _fit(x, name, dtype, shape):
    number = not shape and (type(x) in (float, bool) or isinstance(x, np.generic))
    y = np.asarray(x) if number or type(x) is np.ndarray else None
    if y is None or y.dtype != dtype or y.shape != shape:
        given = type(x).__name__ if y is None else f"{{y.dtype}}{{[*y.shape]}}"
        raise ValueError(f"{{name}} is {{given}}, and recorded for {{dtype}}{{[*shape]}}")
    return np.require(y, requirements="CA") if shape else y.item()


def {name}({parameters}):
{taken_text}    results = [{results}]
    if _run({", ".join(passed)}):
        raise ValueError("recorded for other arguments; record it anew")
    return results
'''
