"""Lowering of calls to items, which operate on memory."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from chainrules_compile.c.buffers import (
    Buffer,
    Shape,
    UnwritableError,
    Version,
    View,
    axes_in_order,
    collapsed,
    contiguous,
    is_whole,
    span_of,
    strides_of,
    together,
)
from chainrules_compile.c.expression_text import c_type, expression, literal, raw_type
from chainrules_compile.c.kernels import at, nest
from chainrules_compile.c.native_programs import loop_of
from chainrules_compile.c.program_items import (
    Argument,
    Group,
    Item,
    Kernel,
    Literal,
    Operand,
    Operation,
)
from chainrules_compile.c.vector_math import is_there, name_of
from chainrules_py.program import Call, Value

BLOCK = 512
"""Number of elements in a block, `W` in C."""

SLOT = BLOCK * 16 + 64
"""Bytes of scratch memory for a block; with a power of two, blocks would share cache lines."""

_DOUBLE = np.dtype(np.float64)

_LARGEST_GROUP = 100
_LARGEST_SMALL_GROUP = 24
"""Maximum number of operations of a group: with several blocks, and with one block."""


class Lowering:
    """Items of the calls that were lowered so far.

    Attributes
    ----------
    items : list of Item
        The items, in order.
    inputs : list of Value
        The values that the program does not compute.
    views : dict
        The view of each value.
    loops : dict
        The number of each NumPy loop, by ufunc and types.
    may_leave : bool
        Whether calls can stay NumPy calls; in a saved program none can.
    ends : set of Value
        Tests of results that a saved program does not use later: these may be infinite.
    vectors : set of (str, int)
        The vector functions that are called, each with the size of its elements.
    """

    def __init__(self, may_leave: bool = True) -> None:
        self.may_leave = may_leave
        self.ends: set[Value] = set()
        self.vectors: set[tuple[str, int]] = set()
        self.items: list[Item] = []
        self.inputs: list[Value] = []
        self.views: dict[Value, View] = {}
        self.loops: dict[tuple[np.ufunc, str], int] = {}
        self._known: dict[Any, tuple[int, Item, list[View]]] = {}
        self._groups: dict[int, int] = {}
        self._joined: list[Group] = []

    def mark(self) -> tuple[int, int]:
        """Return the current position, for `go_back`."""
        self._joined.clear()
        return len(self.items), len(self.inputs)

    def go_back(self, mark: tuple[int, int]) -> None:
        """Drop what was lowered since a mark, for a call that could not be lowered completely.

        The dropped items might read arrays that are not inputs.
        """
        items, inputs = mark
        for group in self._joined:
            group.operations.pop()
        del self.items[items:]
        self._groups = {size: at for size, at in self._groups.items() if at < items}
        for x in self.inputs[inputs:]:
            del self.views[x]
        del self.inputs[inputs:]

    # ------------------------------------------------------------------------------- values

    def view(self, x: Value) -> View:
        """Return the view of a value; it becomes an input if it was not computed here."""
        found = self.views.get(x)
        return self._input(x) if found is None else found

    def _input(self, x: Value) -> View:
        shape, dtype = form(x)
        strides = strides_of(shape, x.layout, dtype) if shape else ()
        low, span = span_of(shape, strides, dtype)
        buffer = Buffer(span, low, f"I[{len(self.inputs)}]")
        self.inputs.append(x)
        made = self.views[x] = View(Version(buffer, -1), 0, shape, strides, dtype)
        return made

    def result(self, y: Value) -> View:
        """Return new memory for the result of a call, in the layout that NumPy gave it."""
        shape, dtype = form(y)
        if not shape:
            return self.new((), dtype, ())
        strides = strides_of(shape, y.layout, dtype)
        if not dense(shape, strides, dtype):
            raise UnwritableError
        return self.new(shape, dtype, strides)

    def new(self, shape: Shape, dtype: np.dtype[Any], strides: Shape | None = None) -> View:
        """Return new memory."""
        raw_type(dtype)
        if strides is None:
            strides = contiguous(shape, dtype.itemsize)
        buffer = Buffer(math.prod(shape) * dtype.itemsize if shape else dtype.itemsize)
        return View(Version(buffer, len(self.items)), 0, shape, strides, dtype)

    def written(self, view: View) -> View:
        """Return a view of the next version of its buffer, which the next item writes."""
        view.version.is_written_over = True
        return view._replace(version=Version(view.version.buffer, len(self.items)))

    def copy(self, view: View) -> View:
        """Copy a view to C order."""
        made = self.new(view.shape, view.dtype)
        self.write(made, view)
        return made

    def write(self, target: View, source: View | Literal, expression: str = "{1}") -> None:
        """Write elements, broadcast to a target.

        They are copied, or given by an expression of the old, ``{0}``, and the new, ``{1}``.
        """
        if not target.size:
            return
        views = [target]
        if isinstance(source, View):
            views.append(source.broadcast(target.shape))
        moves = expression == "{1}" and len(views) > 1
        kind = raw_type(target.dtype) if moves else c_type(target.dtype)
        axes = axes_in_order(target.shape, target.strides)
        steps = [tuple([view.strides[d] for d in axes]) for view in views]
        dims, steps = together(tuple([target.shape[d] for d in axes]), steps)
        texts = [f"AT({kind}, {at(f'a{k}', step)})" for k, step in enumerate(steps)]
        given = source.text if isinstance(source, Literal) else texts[1]
        loops = f"{nest(dims[:-1])}IVDEP {nest(dims[-1:], len(dims) - 1)}" if dims else ""
        text = f"  {loops}{texts[0]} = {expression.format(texts[0], given)};\n"
        self.kernel(text, views[:1], views[1:])

    def laid_out(self, view: View, y: Value) -> View:
        """Return a view as the result of a call, in the layout that NumPy gave the result."""
        out = self.result(y)
        pairs = zip(view.shape, view.strides, out.strides, strict=True)
        if all([n == 1 or one == two for n, one, two in pairs]):
            return view._replace(strides=out.strides)
        self.write(out, view)
        return out

    def kernel(
        self, text: str, outs: list[View], given: list[View], may_miss: bool = False
    ) -> None:
        """Append a kernel, which writes to `outs`."""
        for view in outs:
            view.version.item = len(self.items)
        self.items.append(Kernel(text, outs, given, may_miss))

    def know(self, key: Any, views: list[View]) -> None:
        """Remember the views that the last item has made, by a key."""
        self._known[key] = len(self.items) - 1, self.items[-1], views

    def known(self, key: Any) -> list[View] | None:
        """Return the views that were remembered by a key, unless their item was dropped."""
        at, item, views = self._known.get(key, (0, None, None))
        return views if at < len(self.items) and self.items[at] is item else None

    def held(self, view: View) -> Value:
        """Return a new value for a view."""
        x = Value("", np.ndarray, view.shape, view.dtype)
        self.views[x] = view
        return x

    def loop(self, ufunc: np.ufunc, types: str) -> int:
        """Return the number of a NumPy loop.

        Raises
        ------
        UnwritableError, ValueError
            If there is none for these types.
        """
        if loop_of(ufunc, types) is None:
            raise UnwritableError
        return self.loops.setdefault((ufunc, types), len(self.loops))

    # -------------------------------------------------------------------------- elementwise

    def elementwise(self, y: Value, ufunc: np.ufunc, xs: tuple[Any, ...]) -> View:
        """Lower a call of a ufunc."""
        if ufunc is np.power and isinstance(xs[1], float) and xs[1] == 0.5:
            ufunc, xs = np.sqrt, xs[:1]  # as its loop does, which differs at -inf
        _, dtype = form(y)
        *wanted, given = resolved(ufunc, tuple([kind_of(x) for x in xs]))
        if given != dtype:
            raise UnwritableError
        text = expression(ufunc, tuple(wanted))
        for each in (*wanted, given):
            c_type(each)
        if text is not None:
            return self.computed(y, xs, text, wanted)
        name = name_of(ufunc, (*wanted, given))
        if name is not None and math.prod(form(y)[0]) == 1:
            end = "f" if given.itemsize == 4 else ""
            places = ", ".join([f"{{{i}}}" for i in range(len(xs))])
            return self.computed(y, xs, f"{name}{end}({places})", wanted)
        if name is not None and self.may_leave and is_there(name, given.itemsize):
            self.vectors.add((name, given.itemsize))
            return self.computed(y, xs, None, wanted, vector=name)
        types = "".join([d.char for d in wanted]) + "->" + given.char
        loop = self.loop(ufunc, types)
        if len(xs) > 4:
            raise UnwritableError
        if ufunc is np.power and any([form(x)[0] != form(y)[0] for x in xs if is_array(x)]):
            raise UnwritableError  # the loop tests whether all exponents are equal
        return self.computed(y, xs, None, wanted, loop)

    def computed(
        self,
        y: Value,
        xs: tuple[Any, ...],
        text: str | None,
        dtypes: list[np.dtype[Any]],
        loop: int = -1,
        check: str | None = None,
        vector: str | None = None,
    ) -> View:
        """Lower an elementwise operation: an expression, a NumPy loop, or a vector function."""
        out = self.result(y)
        axes = axes_in_order(out.shape, out.strides) if out.shape else ()
        operands = []
        for x, dtype in zip(xs, dtypes, strict=True):
            operand = self.operand(x, dtype, out.shape, axes)
            if text is None and operand.dtype != dtype:
                operand = self._cast(operand, dtype, out)
            operands.append(operand)
        types = () if text is None else tuple(map(c_type, dtypes))
        made = Operation(out, operands, text, loop, types=types, check=check, vector=vector)
        self.operate(made, out.size)
        return out

    def of_doubles(self, xs: tuple[Any, ...], text: str, check: str | None) -> View:
        """Lower an operation on doubles that are not arrays, in fewer steps than `computed`."""
        out = View(Version(Buffer(8), len(self.items)), 0, (), (), _DOUBLE)
        operands: list[Operand] = [
            Argument(self.view(x), (1,), (0,))
            if type(x) is Value
            else Literal(literal(x, _DOUBLE), _DOUBLE)
            for x in xs
        ]
        types = ("double",) * len(operands)
        self.operate(Operation(out, operands, text, types=types, check=check), 1)
        return out

    def element(self, y: Value, view: View) -> View:
        """Lower the reading of a number from memory."""
        out = self.result(y)
        self.operate(
            Operation(out, [Argument(view, (1,), (0,))], "{0}", types=(c_type(view.dtype),)), 1
        )
        return out

    def operand(self, x: Any, dtype: np.dtype[Any], shape: Shape, axes: tuple[int, ...]) -> Operand:
        """Return an operand, broadcast to the shape of a group, with its axes in an order."""
        if type(x) is not Value:
            return Literal(literal(x, dtype), dtype)
        view = self.view(x)
        c_or_raw(view.dtype, dtype)
        if not shape and not view.shape:
            return Argument(view, (1,), (0,))
        return argument(view.broadcast(shape), axes)

    def _cast(self, given: Operand, dtype: np.dtype[Any], like: View) -> Operand:
        """Convert an operand to the dtype that a loop takes."""
        steps = tuple([t // like.dtype.itemsize * dtype.itemsize for t in like.strides])
        out = self.new(like.shape, dtype, steps)
        self.operate(Operation(out, [given], "{0}", types=(c_type(dtype),)), out.size)
        return argument(out, axes_in_order(out.shape, out.strides))

    def operate(self, operation: Operation, size: int) -> None:
        """Append an operation to the last group of this size, or to a new one.

        Raises
        ------
        UnwritableError
            If C has no type for its operands or its result.
        """
        if operation.expression is not None:
            c_type(operation.out.dtype)
            for x in operation.operands:
                c_type(x.dtype)
        at = self._groups.get(size, -1)
        if at < 0 or not self._fits(operation, size, at):
            at = self._groups[size] = len(self.items)
            self.items.append(Group(size))
        group: Any = self.items[at]
        group.operations.append(operation)
        if 1 < size <= BLOCK:
            group.places |= _places(operation) | {(operation.out.version, 0)}
        self._joined.append(group)
        operation.out.version.item = at

    def _fits(self, operation: Operation, size: int, at: int) -> bool:
        group: Any = self.items[at]
        last: Operation = group.operations[-1]
        if size == 1:
            # Operations on numbers become statements, which run in the order of the items.
            return at == len(self.items) - 1 and len(group.operations) < _LARGEST_GROUP
        if size <= BLOCK:
            # Operations that share nothing are kernels of their own: equal ones run in a loop.
            both = operation.expression is not None and last.expression is not None
            if len(group.operations) >= _LARGEST_SMALL_GROUP or not both:
                return False
            if group.places.isdisjoint(_places(operation)):
                return False
        elif len(group.operations) >= _LARGEST_GROUP:
            return False
        for x in operation.operands:
            if isinstance(x, Literal):
                continue
            item = x.view.version.item
            if item > at or (item == at and not (x.is_flat and x.view.is_whole)):
                return False
        return True


def _places(operation: Operation) -> set[tuple[Version, int]]:
    """Return the places that an operation reads arrays or numbers from."""
    return {(x.view.version, x.view.offset) for x in operation.operands if isinstance(x, Argument)}


def argument(view: View, axes: tuple[int, ...]) -> Argument:
    """Return the operand of a group whose elements run along axes, the first the slowest."""
    dims = tuple([view.shape[d] for d in axes])
    dims, strides = collapsed(dims, tuple([view.strides[d] for d in axes]))
    return Argument(view, dims, strides) if dims else Argument(view, (1,), (0,))


def c_or_raw(given: np.dtype[Any], wanted: np.dtype[Any]) -> None:
    """Raise unless C can copy a dtype, or convert it to the wanted one."""
    if given == wanted:
        raw_type(given)
        return
    c_type(given)
    c_type(wanted)
    if wanted.kind == "b" or (given.kind == "f" and wanted.kind in "iu"):
        raise UnwritableError  # NumPy handles values that do not fit


@functools.lru_cache(maxsize=4096)
def dense(shape: Shape, strides: Shape, dtype: np.dtype[Any]) -> bool:
    """Return whether an array covers its memory without gaps, from its first element on."""
    size = math.prod(shape) * dtype.itemsize
    return not size or is_whole(shape, strides, dtype.itemsize, size)


def only(call: Call, *names: str) -> None:
    """Raise for a call with other options."""
    if set(call.options) - {*names}:
        raise UnwritableError


def argument_of(call: Call, place: int, name: str, default: Any = None) -> Any:
    """Return an argument, which is an option or an operand."""
    if len(call.operands) > place:
        return call.operands[place]
    return call.options.get(name, default)


def is_array(x: Any) -> bool:
    """Return whether an operand is a value with axes."""
    return type(x) is Value and bool(x.shape)


def form(x: Value) -> tuple[Shape, np.dtype[Any]]:
    """Return the shape and dtype of a value; a Python number has those of a NumPy number.

    Raises
    ------
    UnwritableError
        If it is not an array, a floating number or a bool.
    """
    if x.type is float:
        return (), np.dtype(np.float64)
    if x.type is bool:
        return (), np.dtype(np.bool_)
    plain = x.type is np.ndarray or (x.type is not None and issubclass(x.type, np.generic))
    if not plain or x.shape is None or x.dtype.fields is not None:
        raise UnwritableError
    raw_type(x.dtype)
    return x.shape, x.dtype


def kind_of(x: Any) -> Any:
    """Return what NumPy resolves types by: a dtype, or a type of Python numbers."""
    if type(x) is Value:
        return x.type if x.type in (float, bool) else form(x)[1]
    if type(x) in (int, float, complex):
        return type(x)
    if type(x) is bool:
        return np.dtype(np.bool_)
    if isinstance(x, np.generic) and x.dtype.kind in "fiubc":
        return x.dtype
    raise UnwritableError


@functools.lru_cache(maxsize=4096)
def resolved(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """Return the dtypes of the operands and of the result of a ufunc.

    Raises
    ------
    UnwritableError, TypeError, ValueError
        If there is no loop for the operands, or there are several results.
    """
    if ufunc.nout != 1 or ufunc.nin != len(kinds) or ufunc.signature is not None:
        raise UnwritableError
    kinds = tuple([np.dtype(np.bool_) if kind is bool else kind for kind in kinds])
    if all([kind in (int, float) for kind in kinds]):
        kinds = tuple([np.dtype(kind) for kind in kinds])
    found: tuple[np.dtype[Any], ...] = ufunc.resolve_dtypes((*kinds, None))
    return found
