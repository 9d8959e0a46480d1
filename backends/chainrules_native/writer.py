"""Writer of native programs: runs of calls become functions of C, the others stay NumPy's."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from chainrules_compile.calls import expect
from chainrules_compile.entry import Scope
from chainrules_compile.loops import Loop
from chainrules_compile.passes.values import called, changed
from chainrules_compile.writers.numpy_source import write as write_numpy
from chainrules_compile.writers.writer import Body
from chainrules_native import calls
from chainrules_native.compilers import CompilerError
from chainrules_native.emit import emit
from chainrules_native.items import Copy, Group, Item, Product, views_of
from chainrules_native.looped import Turning, spec_of, with_turnings
from chainrules_native.lowering import Lowering, dense, form
from chainrules_native.memory import Buffer, Shape, UnwritableError, View, strides_of
from chainrules_native.saved import save
from chainrules_native.text import headed
from chainrules_native.vectors import text_of
from chainrules_native.words import is_view, lower
from chainrules_py.program import Call, Program, Value

_FEWEST = 2
"""So many calls that are no views a function of C has at least."""

_LARGE = 20_000
"""From how many elements on, of all items, other threads may run meanwhile."""

MOST_CALLS = 200_000
"""Longer programs stay NumPy's: to write them would take longer than they save."""


def write(program: Program, names: Mapping[Value, str], scope: Scope) -> Body:
    """Write a program in C; see `chainrules_compile.writers.writer.Writer`.

    Without a compiler it is written for NumPy, and says so.
    """
    instead = ""
    try:
        if len(program) > MOST_CALLS:
            msg = f"a program of {len(program)} calls is too long to be written in C"
            raise CompilerError(msg)
        calls.driver()
        recorded, program = program, _native(program, scope.exact, scope.threads)
        scope.fits = calls.fits()
        scope.save = functools.partial(save, recorded, names, scope)
    except CompilerError as error:
        instead = f"written for NumPy instead of C: {error}"
    return write_numpy(program, names, scope)._replace(instead=instead)


write.threads = True  # type: ignore[attr-defined]
write.loops = True  # type: ignore[attr-defined]


class Segment:
    """Calls, one after the other, that become one function of C."""

    def __init__(self, exact: bool) -> None:
        self.lowering = Lowering(exact)
        self.calls: list[Call] = []

    def take(self, call: Call) -> bool:
        """Lower a call; return False if it has to stay NumPy's."""
        mark = self.lowering.mark()
        try:
            lower(self.lowering, call)
        except (UnwritableError, TypeError, ValueError):  # of operands in another form
            self.lowering.go_back(mark)
            return False
        self.calls.append(call)
        return True


def _native(program: Program, exact: bool, threads: int) -> Program:
    """Return the program with functions of C for the calls that can be written in it."""
    done: list[Segment | Call] = []
    segment = Segment(exact)
    if any([type(call.function) is Loop for call in program]):
        program = with_turnings(program, exact, threads)
    for call in program.calls:
        if type(call.function) is Loop:  # not all of its turn is written in C
            body = _native(call.function.body, exact, threads)
            call = called(call, dataclasses.replace(call.function, body=body))
        if segment.take(call):
            continue
        done += [segment, call]
        segment = Segment(exact)
    done.append(segment)
    users = _users(program, done)
    found: list[Call] = []
    texts: list[str] = []
    made: list[tuple[int, _Made | Turning]] = []
    for i, piece in enumerate(done):
        if isinstance(piece, Call) and type(piece.function) is Turning:
            texts.append(piece.function.text)
            made.append((len(found), piece.function))
            found.append(piece)
        elif isinstance(piece, Call):
            found.append(piece)
        elif sum([not is_view(call) for call in piece.calls]) < _FEWEST:
            found += piece.calls
        else:
            given = [y for call in piece.calls for y in call.results]
            wanted = {y for y in given if _outside(users.get(y, set()), i)}
            try:
                one = _Made(piece, wanted, f"run{len(made)}", threads)
            except UnwritableError:  # of something that was lowered, and has no type in C
                found += piece.calls
                continue
            texts.append(one.text)
            made.append((len(found), one))
            found.append(piece.calls[0])
            found += one.after
    with_vectors = any([one.lowering.vectors for _, one in made])
    heads = ["kernels.h", *(["vectors.h"] if with_vectors else [])]
    head = headed(*heads, *(["threads.h"] if threads > 1 else []))
    text = "\n".join([head, *texts])
    library = calls.loaded(text, threads) if made else None
    for i, each in made:
        found[i] = each.call(library)
    guards = dict(made)
    whole: list[Call] = []
    for i, call in enumerate(found):
        whole.append(call)
        if i in guards and guards[i].guarded:
            ok = call.results[-1]
            whole.append(Call(expect, (ok, True), {"kind": bool}, ()))
    return changed(program, calls=tuple(whole))


def _users(program: Program, done: list[Segment | Call]) -> dict[Value, set[int]]:
    """Return, for each value, the pieces that use it; -1 is for the outputs."""
    users: dict[Value, set[int]] = {}
    for i, piece in enumerate(done):
        for call in [piece] if isinstance(piece, Call) else piece.calls:
            for x in call.values:
                users.setdefault(x, set()).add(i)
    for x in Call(None, program.outputs, {}, ()).values:
        users.setdefault(x, set()).add(-1)
    return users


def _outside(users: set[int], i: int) -> bool:
    return any([j != i for j in users])


class _Made:
    """Function of C for a segment, and the views that are taken of its results afterwards."""

    def __init__(self, segment: Segment, wanted: set[Value], name: str, threads: int) -> None:
        self.name = name
        self.lowering = segment.lowering
        self.after: list[Call] = []
        outputs: list[Value] = []
        needed = set(wanted)
        for call in reversed(segment.calls):
            if needed.isdisjoint(call.results):
                continue
            if is_view(call) and call.results[0].shape:
                self.after.append(call)
                needed.update(call.values)
            else:
                outputs += [y for y in reversed(call.results) if y in needed]
        self.after.reverse()
        self.outputs: list[Value] = []
        views, buffers = [], set[Buffer]()
        for x in outputs[::-1]:
            made, view = self._leaving(x, self.lowering.views[x], buffers)
            buffers.add(view.version.buffer)
            self.outputs.append(made)
            views.append(view)
        self.views: list[View] = views
        self.items: list[Item] = self.lowering.items
        loops = ", ".join([f"{calls.name_of(loop)} {types}" for loop, types in self.lowering.loops])
        text, self.work = emit(self.items, views, name, threads)
        vectors = text_of(self.lowering.vectors)
        self.text = f"/* {name}, loops: {loops} */\n{vectors}\n{text}\n"
        self.guarded = "return 1;" in text

    def _leaving(self, x: Value, view: View, buffers: set[Buffer]) -> tuple[Value, View]:
        """Return what leaves the function for a value: all of a buffer, that lies as NumPy's does.

        What NumPy gives as a part of memory of its own, as the places of a mask, leaves as all of
        this memory, of which a view is taken afterwards.
        """
        buffer, lowering = view.version.buffer, self.lowering
        alone = buffer.place is None and buffer not in buffers
        if alone and view.is_whole:
            return x, view
        shape, dtype = form(x)
        strides = strides_of(shape, x.layout, dtype) if shape else ()
        if 0 in strides or dense(shape, strides, dtype):
            own = lowering.new(shape, dtype, None if 0 in strides else strides)
            lowering.add(Copy(own, view))
            return x, own
        if not alone or view.strides != strides:
            raise UnwritableError
        n = buffer.nbytes // dtype.itemsize
        whole = Value(
            f"{x.name}_memory", np.ndarray, (n,), dtype, layout=(dtype.itemsize,) * (n > 1)
        )
        options = {"shape": shape, "strides": strides, "offset": view.offset}
        self.after.insert(0, Call(lying, (whole,), options, (x,)))
        return whole, View(view.version, 0, (n,), (dtype.itemsize,), dtype)

    def call(self, library: Any) -> Call:
        """Return the call that takes the place of the segment's."""
        lowering = self.lowering
        inputs = [spec_of(x, lowering.views[x]) for x in lowering.inputs]
        outputs = [spec_of(x, view) for x, view in zip(self.outputs, self.views, strict=True)]
        loops = [calls.loop_of(*key) for key in lowering.loops]
        found = [loop for loop in loops if loop is not None]
        large = sum(map(_elements, self.items)) > _LARGE
        native = calls.program(
            library, self.name, inputs, outputs, found, self.work, self.guarded, large
        )
        results = tuple(self.outputs)
        if self.guarded:
            results = (*results, Value(f"{self.name}_fits", bool))
        return Call(native, tuple(lowering.inputs), {}, results)


def lying(memory: np.ndarray, *, shape: Shape, strides: Shape, offset: int) -> np.ndarray:
    """Return an array that lies so in memory."""
    return np.ndarray(shape, memory.dtype, memory, offset, strides)


def _elements(item: Item) -> int:
    if isinstance(item, Group):
        return item.size * len(item.operations)
    if isinstance(item, Product):
        return item.a.size * item.out.shape[-1]
    return sum([view.size for views in views_of(item) for view in views])
