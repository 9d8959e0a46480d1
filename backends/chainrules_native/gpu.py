"""Writer of programs for CuPy: runs of elementwise calls and sums as kernels, the rest as lines.

Programs are recorded on arrays of CuPy's, by the rules and words that these have. What a kernel is,
`chainrules_cupy` states; here calls are gathered into runs. A program that asks for no number is
captured as a CUDA graph after some calls.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import Any, final

import numpy as np

from chainrules_compile.calls import Under, copied
from chainrules_compile.passes.values import axes_of, changed
from chainrules_compile.scope import Scope
from chainrules_compile.writers.numpy_source import NumpyWriting
from chainrules_compile.writers.writer import Body
from chainrules_native.graphs import Graph
from chainrules_py import Primitive, RuleError
from chainrules_py import vocabulary as v
from chainrules_py.extend import type_info
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary.views import duplicate, store

_Form = tuple[tuple[int, ...], Any]


@final
class Writer:
    """Writer of programs for CuPy."""

    passes = ("simplify", "dead code", "own outputs")
    keeps_bits = False

    @functools.cached_property
    def arrays(self) -> type:
        """The class of CuPy's arrays.

        Raises
        ------
        RuleError
            If CuPy is not installed.
        """
        importlib.import_module("plum")  # which draws random numbers when it is imported
        try:
            cupy: Any = importlib.import_module("cupy")
        except ImportError as error:
            msg = "programs for 'cupy' need CuPy: pip install chainrules-py[cuda13]"
            raise RuleError(msg) from error
        found: type = cupy.ndarray
        return found

    def __call__(self, program: Program, names: Mapping[Value, str], scope: Scope) -> Body:
        """Write a program; see `chainrules_compile.writers.writer.Writer`."""
        program = Gathering(program, self.arrays).gathered()
        writing = NumpyWriting(program, names, scope)
        body = writing.body()
        if not is_static(program, self.arrays):
            return body
        given = ", ".join([names[x] for x in program.inputs])
        outputs = dict.fromkeys(Call(None, program.outputs, {}, ()).values)
        results = "".join([f"{writing.names[x]}, " for x in outputs])
        lines, graph = writing.unused("lines"), scope.name(Graph(), "graph")
        inner = [f"    {line}" for line in (*body.lines, f"return ({results})")]
        calling = f"({results}) = {graph}({lines}, {given})"
        return body._replace(lines=[f"def {lines}({given}):", *inner, calling])


write = Writer()


def is_static(program: Program, arrays: type) -> bool:
    """Tell whether a program computes arrays of the device alone, and asks for none of them."""
    found = [y for call in program.calls for y in call.results]
    outputs = Call(None, program.outputs, {}, ()).values
    computed = sum([call.function.__class__ is Launch for call in program.calls])
    return (
        computed > 0
        and all([call.results for call in program.calls])
        and all([y.type is arrays for y in (*found, *outputs)])
        and not any([y in program.constants for y in outputs])
    )


@final
class Launch:
    """Kernel with its options, as a function."""

    __slots__ = ("__name__", "kernel", "options")

    def __init__(self, kernel: Any, options: Mapping[str, Any]) -> None:
        self.kernel, self.options = kernel, dict(options)
        self.__name__ = "summed" if options else "run"

    def __call__(self, *operands: Any) -> Any:
        """Launch it."""
        return self.kernel(*operands, **self.options)


@final
class Pending:
    """Run of calls with results of one shape, whose kernel is written where one is wanted.

    Attributes
    ----------
    run : object
        What the library of the arrays makes kernels of.
    members : dict
        The results, each with the place of its call.
    summed : set of int
        The places of the calls that kernels of their own sum.
    """

    def __init__(self, run: Any) -> None:
        self.run = run
        self.members: dict[Value, int] = {}
        self.summed: set[int] = set()


class Gathering:
    """Gathering of a program's calls into runs."""

    def __init__(self, program: Program, arrays: type) -> None:
        self.program, self.arrays = program, arrays
        self._fuser: Any = type_info(arrays).library.fuser
        self._uses = program.uses()
        self._calls: list[Call] = []
        self._open: dict[_Form, Pending] = {}
        self._of: dict[Value, Pending] = {}

    def gathered(self) -> Program:
        """Return the program with kernels in the place of runs."""
        for i, call in enumerate(self.program.calls):
            if not (self._joins(i, call) or self._sums(i, call)):
                self._flush(call.values)
                self._calls.append(on_device(call))
        self._flush(Call(None, self.program.outputs, {}, ()).values)
        return changed(self.program, calls=tuple(self._calls))

    def _joins(self, i: int, call: Call) -> bool:
        """Add a call to the run of its form, if it is done element by element."""
        form = self._form(call)
        if form is None:
            return False
        pending = self._open.get(form)
        if pending is not None and pending.run.is_full:
            self._close(pending)
            pending = None
        self._flush([x for x in call.values if self._of.get(x) is not pending])
        if pending is None:
            pending = Pending(self._fuser.run(form[1]))
        if not pending.run.add(call):
            return False
        self._open[form] = pending
        self._of[call.results[0]] = pending
        pending.members[call.results[0]] = i
        return True

    def _form(self, call: Call) -> _Form | None:
        """Return the shape of a result, and the dtype of all that is no truth; or None."""
        if len(call.results) != 1 or call.results[0].type is not self.arrays:
            return None
        values = (*call.values, *call.results)
        if not all([x.type in (self.arrays, float, int) for x in values]):
            return None
        arrays = [x for x in call.values if x.type is self.arrays]
        result = call.results[0]
        if shape_of(arrays) != result.shape and call.function is not v.broadcast_to:
            return None
        dtypes = {x.dtype for x in (*arrays, result) if x.dtype.kind != "b"}
        if not dtypes:  # truths of truths: they go with what they were found of
            dtypes = {self._of[x].run.dtype for x in arrays if x in self._of}
        if len(dtypes) != 1:
            return None
        (dtype,) = dtypes
        return (result.shape or (), dtype) if dtype.char in "fdFD" else None

    def _sums(self, i: int, call: Call) -> bool:
        """Write the sum of what a run gives as a kernel of its own; False if it is none."""
        asked = summing(call)
        if asked is None or call.results[0].type is not self.arrays:
            return False
        x, axis, keepdims = asked
        pending = self._of.get(x)
        result, shape = call.results[0], x.shape or ()
        if pending is None or 0 in shape or result.dtype != pending.run.dtype:
            return False
        found = pending.run.sum(x)
        if found is None:
            return False
        if type(axis) is tuple:
            axis = axes_of(axis, len(shape))
        kernel, operands = found
        launch = Launch(kernel, {"axis": axis, "keepdims": keepdims})
        self._calls.append(Call(launch, operands, {}, (result,)))
        pending.summed.add(i)
        return True

    def _flush(self, values: Any) -> None:
        """Write the kernels that give some values."""
        for x in values:
            pending = self._of.get(x)
            if pending is not None:
                self._close(pending)

    def _close(self, pending: Pending) -> None:
        """Write the kernel of a run, for all that others use of it."""
        own = {*pending.members.values(), *pending.summed}
        wanted = [x for x in pending.members if not own.issuperset(self._uses[x])]
        for form in [form for form, each in self._open.items() if each is pending]:
            del self._open[form]
        for x in pending.members:
            self._of.pop(x, None)
        if not wanted:
            return
        found = pending.run.each(tuple(wanted))
        if found is None:
            self._calls += map(on_device, pending.run.calls)
            return
        kernel, operands = found
        self._calls.append(Call(Launch(kernel, {}), operands, {}, tuple(wanted)))


def shape_of(arrays: list[Value]) -> tuple[int, ...] | None:
    """Return the shape to which arrays broadcast, or None."""
    try:
        return np.broadcast_shapes(*[x.shape or () for x in arrays]) if arrays else None
    except ValueError:
        return None


def summing(call: Call) -> tuple[Value, Any, bool] | None:
    """Return what a call sums, along which axes, and whether they are kept; None for others."""
    function, options = call.function, dict(call.options)
    reduces = function is np.add.reduce or getattr(function, "__name__", "") == "sum"
    if not reduces or len(call.operands) != 1 or type(call.operands[0]) is not Value:
        return None
    default = 0 if function is np.add.reduce else None
    axis, keepdims = options.pop("axis", default), options.pop("keepdims", False)
    if any([x not in (None, True) for x in options.values()]):
        return None
    if not (axis is None or type(axis) is int or type(axis) is tuple):
        return None
    return call.operands[0], axis, bool(keepdims)


# ------------------------------------------------------------------------------- calls of CuPy's


def on_device(call: Call) -> Call:
    """Return a call as one of what computes it of arrays of CuPy's, if any are among its values."""
    if not any([x.type is write.arrays for x in (*call.values, *call.results)]):
        return call
    types: Any = tuple([x.type if type(x) is Value else type(x) for x in call.operands])
    function = _device(call.function, types)
    return Call(function, call.operands, call.options, call.results)


def _device(function: Any, types: tuple[type, ...]) -> Any:
    if type(function) is Under:
        return _device(function.function, types)
    if function is store:
        return stored
    if function in _ADDING:
        return adding(function)
    if function is duplicate or function is v.copy:
        return copied
    if isinstance(function, Primitive):
        return function.implementation(types) or function
    cupy: Any = importlib.import_module("cupy")
    name = getattr(function, "__name__", "")
    for own, theirs in ((np, cupy), (np.linalg, cupy.linalg)):
        if name and getattr(own, name, None) is function and hasattr(theirs, name):
            return getattr(theirs, name)
    return function


def stored(x: Any, y: Any, *arrays: Any, index: Any) -> Any:
    """Return a copy of an array with another in a part of it."""
    z = copied(x)
    z[index.join(arrays)] = y
    return z


@functools.cache
def adding(word: Any) -> Any:
    """Return what a word gives that adds to an array: a copy, to which it was added."""

    def added(x: Any, *rest: Any, **options: Any) -> Any:
        z = copied(x)
        word(z, *rest, **options)
        return z

    return added


_ADDING = frozenset((v.add_at, v.add_along_axis))
