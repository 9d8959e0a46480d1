"""Maps over examples: a function runs once on values that represent all examples.

Each operation is called on all examples at once if its rule allows it: an elementwise operation, a
linear one with an axis of directions in front, a product of matrices. Any other operation is called
example by example, and a function that depends on values runs once for each example. The result is
the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import prod
from numbers import Integral
from sys import modules
from typing import Any, ClassVar, NoReturn, TypeAlias, cast

import chainrules_py.ops as v
from chainrules_py import Config, NotDifferentiableError, TracerError
from chainrules_py.extend import (
    ArrayLike,
    Classes,
    Guard,
    Tracer,
    describe,
    find_rule,
    find_tracers,
    flatten,
    in_place_operators,
    is_structure_type,
    kind_of,
    made,
    map_leaves,
    met,
    name_of,
    new_level,
    own_all,
    rebuild,
    see_operators,
    type_info,
    unflatten,
    untraced,
)
from chainrules_py.ops import creation, predicates
from chainrules_tape.functions.arguments import refuse_hidden
from chainrules_tape.tools.random_state import Draws

Axis: TypeAlias = Any
"""An integer, None, or a dict, list or tuple of these, like the argument."""
Axes: TypeAlias = int | Sequence[Axis] | None


def vmap(f: Callable[..., Any], in_axes: Axes = 0, out_axes: int = 0) -> Callable[..., Any]:
    """Map a function over examples, which are counted by an axis of its arguments.

    Parameters
    ----------
    f : callable
        A function of one example: of arrays, numbers, and structures of them.
    in_axes : int, None, or sequence of these
        The axis of the arrays that counts examples, for all arguments or for each; None for an
        argument that is the same for all examples. For a dict, a list, a tuple or a namedtuple
        there may be one for each entry.
    out_axes : int
        The axis of the results that counts examples; one for all results.

    Returns
    -------
    callable
        Takes the arguments of f with that axis, and returns the results of f with it. Arrays that
        are passed by keyword have it in front. It can be differentiated, and f may compute
        gradients: ``vmap(grad(loss))`` computes one for each example.

    Raises
    ------
    NotDifferentiableError
        When called, if there is no axis of examples, or the numbers of examples differ.

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_tape import grad
    >>> loss = lambda w, x: np.tanh(w @ x) ** 2
    >>> xs = np.eye(3)
    >>> vmap(grad(loss), (None, 0))(np.zeros(3), xs).shape
    (3, 3)
    """

    def mapped(*operands: Any, **keywords: Any) -> Any:
        count = len(operands)
        axes = [*_axes(f, in_axes, out_axes, count), *[0] * len(keywords)]
        operands = (*operands, *keywords.values())

        def call(xs: list[Any]) -> Any:
            return f(*xs[:count], **dict(zip(keywords, xs[count:], strict=True)))

        if len(modules) != met[0]:
            see_operators()
        n, level = _count(f, operands, axes, keywords), new_level()
        drawing, locks = Draws(f, operands), Guard("lock")
        _state[level] = OPEN
        try:
            for leaf in flatten(operands)[0]:  # a write to one makes f run for each example
                locks.hold(leaf)
            given = [
                _each(x, axis, lambda x: batch(x, level)) for x, axis in _pairs(operands, axes)
            ]
            leaves, tree = flatten(call(given))
            refuse_hidden(f, "the result", leaves, level)
            ys = [_out(y, n, level, out_axes) for y in leaves]
            if _state[level] == OPEN and not drawing.went_on():
                return unflatten(tree, own_all(ys, ys, (*flatten(operands)[0],), dense=False))
        except Exception as error:
            if n == 0 and _state[level] == OPEN and not isinstance(error, TracerError):
                raise
        finally:
            locks.undo()
            del _state[level]
        if n == 0:
            raise NotDifferentiableError(
                f"vmap of {name_of(f)}, which looks at values, writes, draws or fails, and so runs "
                f"for each example by itself, and there is no example"
            )
        # It depends on values, writes, draws or fails: each example runs by itself.
        drawing.put_back()
        each = [
            call([_example(x, axis, i) for x, axis in _pairs(operands, axes)]) for i in range(n)
        ]
        return _stacked(each, out_axes)

    return made(mapped, f, vmap, in_axes, out_axes)  # type: ignore[no-any-return]


def _axes(f: Any, axes: Any, out_axes: Any, n: int) -> list[Axis]:
    if not isinstance(out_axes, Integral):
        raise NotDifferentiableError(
            f"out_axes={out_axes!r} of {name_of(f)} is not one integer, for all results; write "
            f"out_axes=0, and np.moveaxis(y, 0, axis) for a result y with another axis"
        )
    if axes is None or isinstance(axes, Integral):
        return [axes] * n
    if isinstance(axes, (str, dict)) or not hasattr(axes, "__len__"):
        _refuse_axes(f, axes)
    if len(axes) != n:
        shown = describe(axes) if hasattr(axes, "shape") else repr(axes)
        raise NotDifferentiableError(
            f"in_axes={shown} has {len(axes)} entries, and {name_of(f)} was given {n} arguments"
        )
    return [*axes]


def _refuse_axes(f: Any, axes: object) -> NoReturn:
    raise NotDifferentiableError(
        f"in_axes of {name_of(f)} has {axes!r}, which is no axis; write an integer or None for "
        f"each argument, as in in_axes=(0, None)"
    )


def _pairs(xs: Sequence[Any], each: Sequence[Any]) -> list[tuple[Any, Any]]:
    return list(zip(xs, each, strict=True))


def _each(x: Any, axis: Axis, make: Callable[[Any], Any]) -> Any:
    """Apply ``make`` to the arrays in an argument, with the axis of examples in front."""
    if axis is None:
        return x
    if isinstance(axis, (dict, list, tuple)):
        keys = x if isinstance(axis, dict) else range(len(axis))
        return rebuild(x, [_each(x[key], axis[key], make) for key in keys])
    return map_leaves(lambda leaf: make(_in_front(leaf, axis)) if _is_array(leaf) else leaf, x)


def _example(x: Any, axis: Axis, i: int) -> Any:
    return _each(x, axis, lambda leaf: v.index(leaf, i))


def _in_front(x: Any, axis: int) -> Any:
    order = [*range(x.ndim)]
    order.insert(0, order.pop(axis))
    return x if axis == 0 else v.permute_dims(x, axes=tuple(order))


def _is_array(x: Any) -> bool:
    return type_info(type(x)).is_array


def _count(f: Any, operands: Sequence[Any], axes: Sequence[Axis], keywords: Collection[str]) -> int:
    """Return the number of examples; the last operands are passed by keyword."""
    found: dict[int, Any] = {}
    names = dict(enumerate(keywords, len(operands) - len(keywords)))
    for i, (x, axis) in enumerate(_pairs(operands, axes)):
        _each_leaf(f, x, axis, found, names.get(i))
    if len(found) != 1:
        held = ", ".join([describe(x) for x, _ in found.values()]) or "no array with that axis"
        write = "write np.array(x) for a list or a range x, and 0 in in_axes for what counts them"
        for _, name in found.values():  # those that are passed by keyword are the last
            write = _same_for_all(name)
        raise NotDifferentiableError(
            f"vmap of {name_of(f)} takes arguments that count the same examples, and got {held}; "
            f"{write}"
        )
    return int(next(iter(found)))


def _same_for_all(name: str | None) -> str:
    """Return what to write for an argument without an axis of examples."""
    if name is None:
        return "write in_axes=(0, None), with None for an argument that is the same for all"
    return f"write vmap(lambda x: f(x, {name}={name}))(x), if {name} is the same for all"


def _each_leaf(f: Any, x: Any, axis: Axis, found: dict[int, Any], name: str | None) -> None:
    """Collect the arrays of an argument by their number of examples, with its keyword."""
    if isinstance(axis, (dict, list, tuple)):
        keys = axis.keys() if isinstance(axis, dict) else range(len(axis))
        listed = type(x) in (list, tuple) or hasattr(type(x), "_make")  # a namedtuple
        like = isinstance(x, dict) if isinstance(axis, dict) else listed
        if not like or len(x) != len(axis) or (isinstance(x, dict) and x.keys() != keys):
            raise NotDifferentiableError(
                f"in_axes of {name_of(f)} has {axis!r} for {describe(x)}, which is not like it"
            )
        for key in keys:
            _each_leaf(f, x[key], axis[key], found, name)
        return
    if not (axis is None or isinstance(axis, Integral)):
        _refuse_axes(f, axis)
    for leaf in flatten(x)[0] if axis is not None else ():
        kind_of(leaf)  # which raises for classes that are refused
        if _is_array(leaf):
            if not -leaf.ndim <= axis < leaf.ndim:
                raise NotDifferentiableError(
                    f"in_axes of {name_of(f)} has {axis!r} for {describe(leaf)}, which has no such "
                    f"axis; {_same_for_all(name)}"
                )
            found[leaf.shape[axis]] = leaf, name


def _stacked(ys: list[Any], axis: int) -> Any:
    """Stack results of single examples, leaf by leaf; dicts may have their keys in any order."""
    trees = [flatten(y) for y in ys]
    found = [dict(zip(tree.paths(), leaves, strict=True)) for leaves, tree in trees]
    if any([by.keys() != found[0].keys() for by in found]):
        raise NotDifferentiableError(
            f"examples give {describe(ys[0])} and others, whose parts are not the same"
        )
    return unflatten(trees[0][1], [_stack([by[at] for by in found], axis) for at in found[0]])


def _stack(ys: list[Any], axis: int) -> Any:
    info = type_info(type(ys[0]))
    if not (info.is_array or info.is_number):
        if any([y != ys[0] for y in ys]):
            raise NotDifferentiableError(
                f"examples give {ys[0]!r} and others, which are no numbers to be put together"
            )
        return ys[0]
    _check_axis((len(ys), *getattr(ys[0], "shape", ())), axis)
    if info.is_python_number and not find_tracers(ys):
        import numpy as np  # because Python's numbers belong to no array library

        return np.stack(ys, axis=axis)
    return v.stack(*ys, axis=axis)


def _check_axis(shape: tuple[int, ...], axis: int) -> None:
    """Raise if results of this shape, with the axis of examples in front, have no such axis."""
    if not -len(shape) <= axis < len(shape):
        raise NotDifferentiableError(
            f"out_axes={axis} is no axis of the results of all examples, whose shape is {shape} "
            f"with the examples in front; write out_axes=0"
        )


def _out(y: Any, n: int, level: int, axis: int) -> Any:
    """Return a result with its axis of examples; a result that is the same for all is repeated."""
    while issubclass(type(y), Tracer) and y.level > level:  # from a differentiation that is over
        y = y.__payload__
    if isinstance(y, Batch) and y.level == level:
        y = y.payload
    elif _is_array(y):
        y = v.broadcast_to(cast(Any, y), shape=(n, *y.shape))
    elif type_info(type(y)).is_number:
        y = v.broadcast_to(_stack([y], 0), shape=(n,))
    else:
        return y
    _check_axis(y.shape, axis)
    order = [*range(1, y.ndim)]
    order.insert(range(y.ndim)[axis], 0)
    return y if axis == 0 else v.permute_dims(y, axes=tuple(order))


# ------------------------------------------------------------------------------- batches


OPEN, REFUSED = "open", "refused"
_state: dict[int, str] = {}
"""The maps in progress, by level, and whether they have to run example by example."""


def _refuse(x: Any, *_: Any) -> Any:
    if x.level in _state:
        _state[x.level] = REFUSED
    raise TracerError(f"{describe(x.payload)} stands for the values of many examples, which differ")


class Batch(ArrayLike):
    """Value of one example that represents all: the payload has the axis of examples in front."""

    __slots__ = ("_level", "payload")
    state = __slots__
    engine = "batch"
    config = Config()
    array_members: ClassVar[dict[str, Any]] = {
        "__len__": lambda x: x.shape[0],
        "T": property(lambda x: v.permute_dims(x, axes=None)),
        **dict.fromkeys(("__contains__", "__setitem__", *in_place_operators), _refuse),
    }
    __dispatch_type__: ClassVar[type]

    def __init__(self, value: Any, level: int) -> None:
        self.payload, self._level = value, level

    @property
    def level(self) -> int:
        """The level of its map."""
        return self._level

    @property
    def __payload__(self) -> Any:
        """Refuse, because there is no single value; of no example, any will do."""
        return _refuse(self) if self.payload.shape[0] else _one(self.payload, 0)

    value: Any = __payload__
    __bool__: Any = _refuse
    __round__: Any = _refuse
    shape = property(lambda x: tuple(x.payload.shape[1:]))
    ndim = property(lambda x: x.payload.ndim - 1)
    size = property(lambda x: prod(x.shape))
    nbytes = property(lambda x: x.size * x.dtype.itemsize)
    is_map = True

    def __repr__(self) -> str:
        return f"<one of {self.payload.shape[0]} of {describe(self.payload)}>"

    def __trace__(
        self,
        primitive: Any,
        operands: tuple[Any, ...],
        options: dict[str, Any],
        primal: Callable[..., Any] | None = None,
    ) -> Any:
        """Call an operation for all examples."""
        if self._level not in _state:
            raise TracerError(f"{self!r} was used after the vmap that it belongs to was over")
        try:
            return self._called(primitive, operands, options, primal)
        except Exception:  # maybe of one example only: f runs for each by itself
            _state[self._level] = REFUSED
            raise

    def _called(self, primitive: Any, operands: Any, options: Any, primal: Any) -> Any:
        level, f = self._level, primal or primitive
        mine = [isinstance(x, Batch) and x.level == level for x in operands]
        deeper = any([is_structure_type(type(x)) and find_tracers(x) for x in operands])
        if not deeper:
            if primitive in _MADE:
                return self._of_example(0, f, operands, options)
            call = _at_once(primitive, operands, options, mine)
            if call is not None:
                y = call(f)
                asks = getattr(y, "ndim", 0) == 1 and (options or primitive in (v.where, v.copy))
                return batch(y, level, self._of_example(0, f, operands, options) if asks else 1.0)
        return self._one_by_one(f, operands, options)

    def _of_example(self, i: int, f: Any, operands: tuple[Any, ...], options: Any) -> Any:
        def example(x: Any) -> Any:
            return _one(x.payload, i) if isinstance(x, Batch) and x.level == self._level else x

        return f(*[map_leaves(example, x) for x in operands], **options)

    def _one_by_one(self, f: Any, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
        level, n = self._level, self.payload.shape[0]
        ys = [self._of_example(i, f, operands, options) for i in range(n or 1)]
        dtypes = {tuple([getattr(part, "dtype", None) for part in flatten(y)[0]]) for y in ys}
        if len(dtypes) > 1 or any([getattr(y, "as_root", None) for y in find_tracers(ys)]):
            _refuse(self)  # of one dtype, they would be others; stacked roots lose their squares
        numbers = [type(y) for y in flatten(ys)[0] if type(y) in (bool, int, float, complex)]
        if numbers and not ({bool, int}.issuperset(numbers) and len({*map(repr, ys)}) == 1):
            _refuse(self)  # Python's numbers of each example
        if numbers:
            return ys[0]  # such as a shape
        (leaves, tree), ones = flatten(_stacked(ys, 0)), flatten(ys[0])[0]
        ys = [batch(y if n else _emptied(y), level, one) for y, one in _pairs(leaves, ones)]
        return unflatten(tree, ys)


def _one(x: Any, i: int) -> Any:
    """Return an example; if there is none, ones or identity matrices, which functions accept."""
    n, *shape = x.shape
    if n == 0:
        one = v.full_like(x, shape=(), fill=1)
        if len(shape) > 1:
            one = v.eye_like(x, rows=shape[-2], columns=shape[-1])
        # It depends on x, so that what is made of it has a derivative, although an empty one.
        x = v.concat(x, v.broadcast_to(one, shape=(1, *shape)), axis=0)
    return v.index(x, i)


def _emptied(y: Any) -> Any:
    return v.index(y, slice(0)) if _is_array(y) else y


def batch(x: Any, level: int, one: Any = 1.0) -> Any:
    """Return an array whose first axis counts examples, of which one is given, as a `Batch`."""
    if not _is_array(x):
        return x
    # An element of NumPy's arrays is a number, and so is what NumPy computes of numbers.
    number = x.ndim == 1 and type_info(type(x)).dispatch_type.__module__ == "numpy"
    number = number and not _is_array(untraced(one))
    return _classes_of_one(type(x), x.dtype.type if number else type(x))(x, level)


def _classes_of_one(cls: type, one: type) -> Any:
    """Return the subclass of `Batch` for a class of arrays, with the class of one example."""
    base: Any = _classes[one if isinstance(_classes[one], type) else cls]
    found = _ones.get((cls, one))
    if found is None or found.__base__ is not base:
        state = {
            "__slots__": (),
            "__class__": property(lambda x: x.__dispatch_type__),
            "payload_type": cls,
        }
        found = _ones[cls, one] = type(base.__name__, (base,), state)
    return found


_ones: dict[tuple[type, type], type] = {}


_classes = Classes(Batch, lambda value, *_: value)
_MADE = {getattr(v, name) for name in creation.__all__ if name.endswith("_like")}
"""Operations that read only the library, shape and dtype of their first operand."""
_PLAIN = {getattr(v, name) for name in predicates.__all__} | {
    v.where,
    v.sign,
    v.floor_divide,
    v.remainder,
}
"""Operations that are elementwise, and constant, or linear in some operands."""


def _at_once(
    operation: Any, operands: Sequence[Any], options: dict[str, Any], mine: Sequence[bool]
) -> Callable[[Callable[..., Any]], Any] | None:
    """Return the call of an operation for all examples, as a function of its primal, or None."""
    classes = tuple([getattr(type(x), "__dispatch_type__", type(x)) for x in operands])
    rule = find_rule(operation, classes)
    statement: Any = None if rule is None else rule.reverse or rule.forward
    recipe: Any = None if statement is None else statement.recipe
    payloads = [x.payload if m else x for x, m in _pairs(operands, mine)]
    if operation is v.astype:
        return lambda f: f(*payloads, **options)
    if operation is v.matmul:  # which takes no numbers
        vectors = all([getattr(x, "ndim", 0) for x in operands])
        return (lambda f: _product(f, *payloads, *mine)) if vectors else None
    if not options and (operation in _PLAIN or getattr(recipe, "is_elementwise", False)):
        ndim = max([getattr(x, "ndim", 0) for x in operands])
        aligned = [_aligned(x, ndim) if m else x for x, m in _pairs(payloads, mine)]
        return lambda f: f(*aligned, **options)
    ways = getattr(recipe, "batched", False)
    if recipe is None or not recipe.is_linear or ways is False or ways == "broadcast":
        return None
    linear = recipe.stated_in(len(operands))
    if any([m and not flag for m, flag in zip(mine, linear, strict=True)]):
        return None
    n = next(x.payload.shape[0] for x, m in _pairs(operands, mine) if m)
    long = [
        v.broadcast_to(x, shape=(n, *x.shape)) if flag and not m and _is_array(x) else x
        for x, m, flag in zip(payloads, mine, linear, strict=True)
    ]
    found = (tuple(long), options) if ways is True else ways(tuple(long), options)
    return None if found is None else lambda f: operation(*found[0], **found[1])


def _aligned(x: Any, ndim: int) -> Any:
    """Insert axes of length one after that of the examples, as broadcasting does in front."""
    missing = ndim + 1 - x.ndim
    return v.reshape(x, shape=(x.shape[0], *(1,) * missing, *x.shape[1:])) if missing > 0 else x


def _product(f: Any, a: Any, b: Any, of_a: bool, of_b: bool) -> Any:
    """Multiply matrices and vectors, one or both of which have an axis of examples."""
    column, row = b.ndim - of_b == 1, a.ndim - of_a == 1
    a = v.expand_dims(a, axis=-2) if row else a
    b = v.expand_dims(b, axis=-1) if column else b
    ndim = max(a.ndim - of_a, b.ndim - of_b)
    a = _aligned(a, ndim) if of_a else a
    b = _aligned(b, ndim) if of_b else b
    y = v.matmul(a, b)
    gone = (-1,) * column + (-2 + column,) * row
    for axis in gone:
        y = v.squeeze(y, axis=axis)
    return y
