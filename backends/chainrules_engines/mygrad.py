"""MyGrad: functions with rules as operations on its tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np
from mygrad import execute_op, no_autodiff  # type: ignore[attr-defined]
from mygrad.operation_base import Operation
from mygrad.tensor_base import Tensor

from chainrules_kit import (
    Support,
    Transformation,
    Transformations,
    refuse_captured,
    stated,
    supported,
)
from chainrules_py import NotDifferentiableError, is_zero
from chainrules_py.extend import (
    default_engine,
    describe,
    is_structure_type,
    kind_of,
    made,
    name_of,
    partition,
    plain,
    unflatten,
)

chainrules_contract = 1


def export(f: Callable[..., Any], /) -> Callable[..., Any]:
    """Turn a function with a rule into one that MyGrad backpropagates through by this rule.

    Parameters
    ----------
    f : callable
        A word, a function of NumPy's that is aliased to one, a function under `primitive`, one with
        derivatives of its own (`custom_vjp`), or code that is written in these. It gives one array.

    Returns
    -------
    callable
        It takes what f takes, with tensors for arrays, and gives a tensor.

    Raises
    ------
    NotDifferentiableError
        When f gives anything else than one array or number.
    NoRuleError
        When it is called with a tensor that is no constant, and no rule has a reverse mode.

    Notes
    -----
    MyGrad has reverse mode alone, to first order.

    Examples
    --------
    >>> import mygrad, numpy as np
    >>> x = mygrad.tensor([3.0, 4.0])
    >>> export(np.linalg.norm)(x).backward()
    >>> x.grad
    array([0.6, 0.8])
    """

    def exported(*operands: Any, **options: Any) -> Any:
        refuse_captured(f, operands, _is_tensor, "MyGrad")
        tensors, layout = partition((operands, options), _is_tensor)

        def call(*arrays: Any) -> Any:
            operands, options = unflatten(layout, arrays)
            return f(*operands, **options)

        return execute_op(
            _Operation, *tensors, op_kwargs={"call": call, "name": name_of(f), "seen": []}
        )

    return made(exported, f, export)  # type: ignore[no-any-return]


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


class _Operation(Operation):
    """A call, and its pullback."""

    can_return_view = True

    def __call__(self, *input_vars: Any, **given: Any) -> Any:
        call, name, seen = given["call"], given["name"], given["seen"]
        self.variables = input_vars
        self._last: tuple[Any, tuple[Any, ...]] = (None, ())
        arrays = [tensor.data for tensor in input_vars]
        if seen:  # MyGrad makes the view again, of what was written to or of a gradient
            at, view = seen[0]
            found = view.of(arrays[at])
            if found is not None:
                self._pullback: Any = lambda bar: view.bars(bar, arrays, at)
                return found
        shown: Any = None

        def kept(*traced: Any) -> Any:
            nonlocal shown
            y = call(*traced)
            shown = plain(y)
            return y

        is_constant = not no_autodiff.state or all([t.constant for t in input_vars])
        if is_constant:
            y = kept(*arrays)
        else:
            y, self._pullback = default_engine().vjp(kept, *arrays)
        if is_structure_type(type(y)) or kind_of(y) == "none":
            msg = (
                f"{name} gives {describe(y)}, and an operation of MyGrad's gives one array; export "
                f"a function for each of the parts"
            )
            raise NotDifferentiableError(msg)
        if isinstance(shown, np.ndarray) and not shown.flags.writeable and not seen:
            # A copy may stand for a view that is there to be read only, as of np.broadcast_to.
            shown = shown if any([is_of(shown, x) for x in arrays]) else call(*arrays)
        found = found_view(shown, arrays)
        if seen:
            if found is None or not np.array_equal(found[1].where, seen[0][1].where):
                msg = (
                    f"{name} gives a view, and another one of other numbers, so that writing to it "
                    f"has no derivative; write to a copy, {name}(x).copy()"
                )
                raise NotDifferentiableError(msg)
            return shown
        if found is None:
            return np.array(y) if any([is_of(y, x) for x in arrays]) else np.asarray(y)
        at, view = found
        if view.overlaps or not is_of(shown, arrays[at]):
            shown = view.of(arrays[at])
        if shown is None or not (is_constant or self._is_pulled_as(found, arrays)):
            return np.array(y)
        seen.append(found)
        return shown

    def _is_pulled_as(self, found: tuple[int, View], arrays: list[np.ndarray]) -> bool:
        """Tell whether the rules of a call say what MyGrad takes for granted of a view."""
        at, view = found
        probe = np.arange(1.0, view.where.size + 1.0).reshape(view.where.shape)
        pairs = zip(self._pullback(probe), view.bars(probe, arrays, at), strict=True)
        return all([np.array_equal(0.0 * y if is_zero(x) else x, y) for x, y in pairs])

    def backward_var(self, grad: np.ndarray, index: int, **_: Any) -> Any:
        if self._last[0] is not grad:
            self._last = (grad, self._pullback(grad))
        return self._last[1][index]


# ---------------------------------------------------------------------------------------- views


@final
class View:
    """Place of a view in an array.

    Parameters
    ----------
    where : array
        Where its elements are in the array, counted in rows.
    """

    __slots__ = ("overlaps", "where")

    def __init__(self, where: np.ndarray) -> None:
        self.where = where
        self.overlaps = np.unique(where).size < where.size

    def of(self, x: np.ndarray) -> np.ndarray | None:
        """Return the view in the same place of another array; None if it is in no fixed steps."""
        x = x.copy() if 0 in x.strides else x
        order = _order(x)
        along = x.transpose(order)
        if not along.flags.c_contiguous or not self.where.size:
            return None
        numbers = np.empty(x.shape, int)
        numbers.transpose(order)[...] = np.arange(x.size).reshape(along.shape)
        where = numbers.reshape(-1)[self.where]
        first, shape = int(where.flat[0]), where.shape
        steps = [int(where.take(1, k).flat[0]) - first if n > 1 else 1 for k, n in enumerate(shape)]
        told = np.full(shape, first)
        for index, step in zip(np.indices(shape), steps, strict=True):
            told += index * step
        if not np.array_equal(told, where):
            return None
        size = x.itemsize
        found = np.ndarray(shape, x.dtype, along, first * size, [step * size for step in steps])
        if self.overlaps:  # NumPy gives such to be read only
            found.flags.writeable = False
        return found

    def bars(self, bar: np.ndarray, xs: list[np.ndarray], at: int) -> list[np.ndarray]:
        """Return cotangents of operands from that of a view of one."""
        found = [np.zeros(x.shape, bar.dtype) for x in xs]
        np.add.at(found[at].reshape(-1), self.where, bar)
        return found


def _order(x: np.ndarray) -> tuple[int, ...]:
    """Return the axes as they follow each other in memory."""
    return tuple(sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis])))


def is_of(y: Any, x: np.ndarray) -> bool:
    """Tell whether MyGrad would find that an array is a view of another one, or this itself."""
    if y is x:
        return True
    return isinstance(y, np.ndarray) and y.base is not None and any([y.base is x, y.base is x.base])


def found_view(y: Any, xs: list[np.ndarray]) -> tuple[int, View] | None:
    """Return which array y is a view of, and where; None if it is not one."""
    for at, x in enumerate(xs):
        if is_of(y, x) or (isinstance(y, np.ndarray) and np.may_share_memory(y, x)):
            where = _positions(y, x)
            return None if where is None else (at, View(where))
    return None


def _positions(view: np.ndarray, x: np.ndarray) -> np.ndarray | None:
    """Return where in x, counted in rows, the elements of a view are; None if not all are."""
    if 0 in x.strides or view.dtype != x.dtype:
        return None
    low, high = np.lib.array_utils.byte_bounds(x)
    size = x.itemsize
    numbers = np.arange((high - low) // size)

    def at(y: np.ndarray) -> np.ndarray:
        first = (y.__array_interface__["data"][0] - low) // size * numbers.itemsize
        steps = [step // size * numbers.itemsize for step in y.strides]
        return np.ndarray(y.shape, numbers.dtype, numbers, first, steps)

    owner = np.full_like(numbers, -1)
    owner[at(x)] = np.arange(x.size).reshape(x.shape)
    start, end = np.lib.array_utils.byte_bounds(view)
    if not low <= start <= end <= high:
        return None
    where = owner[at(view)]
    return None if -1 in where else where


# ------------------------------------------------------------------------------- transformations


def supports(f: Callable[..., Any], /, *operands: Any, **options: Any) -> Support:
    """Tell which transformations of MyGrad an exported function supports for these operands.

    Parameters
    ----------
    f : callable
        As `export` takes it.
    *operands, **options
        Those of a call, with arrays for tensors.

    Examples
    --------
    >>> import numpy as np
    >>> supports(np.sin, np.ones(3))
    Support(grad=True, jvp=False, vmap=False, jit=False, order=1)
    """
    said = stated(f, operands, options)
    constant = said.order == 0
    return supported(export(f), operands, options, transformations, plain=f, is_constant=constant)


def _backward(f: Callable[..., Any], z: Any, _: Any) -> Any:
    z = Tensor(z, constant=False)
    f(z).backward()
    return z.grad


transformations = Transformations(
    {
        "value": Transformation("value", lambda f, z, u: f(z)),
        "backward": Transformation("gradient", _backward),
    },
    np.asarray,
    takes_complex=False,
)
