"""MyGrad: functions with rules as operations on its tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
from chainrules_py import NotDifferentiableError
from chainrules_py.extend import (
    default_engine,
    describe,
    is_structure_type,
    kind_of,
    made,
    name_of,
    partition,
    unflatten,
)

chainrules_contract = 1


def export(f: Callable[..., Any], /) -> Callable[..., Any]:
    """Turn a function with a rule into one that MyGrad backpropagates through by this rule.

    Parameters
    ----------
    f : callable
        An operation, a NumPy function that is aliased to one, a function under `primitive`, a
        function with derivatives of its own (`custom_vjp`), or code that is written in these. It
        returns one array.

    Returns
    -------
    callable
        It takes the arguments of f, with tensors for arrays, and returns a tensor.

    Raises
    ------
    NotDifferentiableError
        If f returns anything but one array or number.
    NoRuleError
        If it is called with a tensor that is not constant, and no rule has a reverse mode.

    Notes
    -----
    MyGrad has reverse mode only, to first order. A result that is a view of an operand in NumPy is
    a copy: a write to one does not change the other.

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

        return execute_op(_Operation, *tensors, op_kwargs={"call": call, "name": name_of(f)})

    return made(exported, f, export)  # type: ignore[no-any-return]


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


class _Operation(Operation):
    """A call, and its pullback."""

    def __call__(self, *input_vars: Any, **given: Any) -> Any:
        call, name = given["call"], given["name"]
        self.variables = input_vars
        self._last: tuple[Any, tuple[Any, ...]] = (None, ())
        arrays = [tensor.data for tensor in input_vars]
        if not no_autodiff.state or all([t.constant for t in input_vars]):
            y = call(*arrays)
        else:
            y, self._pullback = default_engine().vjp(call, *arrays)
        if is_structure_type(type(y)) or kind_of(y) == "none":
            raise NotDifferentiableError(
                f"{name} gives {describe(y)}, and an operation of MyGrad's gives one array; export "
                f"a function for each of the parts"
            )
        y = np.asarray(y)
        # MyGrad would not recognise a view of an operand.
        return y.copy() if any([np.may_share_memory(y, x) for x in arrays]) else y

    def backward_var(self, grad: np.ndarray, index: int, **_: Any) -> Any:
        if self._last[0] is not grad:
            self._last = (grad, self._pullback(grad))
        return self._last[1][index]


# ------------------------------------------------------------------------------- transformations


def supports(f: Callable[..., Any], /, *operands: Any, **options: Any) -> Support:
    """Return which transformations of MyGrad an exported function supports for these operands.

    Parameters
    ----------
    f : callable
        A function, as for `export`.
    *operands, **options
        The arguments of a call, with arrays for tensors.

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
