"""PyTensor: functions with rules as its Ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytensor
from pytensor.compile.mode import optdb
from pytensor.configdefaults import config as settings
from pytensor.gradient import DisconnectedType, disconnected_type, grad
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.graph.rewriting.basic import dfs_rewriter, node_rewriter
from pytensor.tensor import TensorType, as_tensor_variable
from pytensor.tensor.variable import TensorVariable

from chainrules_kit import (
    Kernel,
    Support,
    Transformation,
    Transformations,
    nestings,
    refuse_captured,
    stated,
    supported,
)
from chainrules_py import NotDifferentiableError
from chainrules_py.extend import ContractError, flatten, made, name_of, partition, unflatten

try:
    from pytensor.gradient import pushforward
except ImportError:
    raise ContractError(
        f"PyTensor {pytensor.__version__} is too old, exports need 3.0 or later: "
        f"pip install 'pytensor>=3'; with PyMC, 'pymc>=6', which needs Python 3.12 or later"
    ) from None

chainrules_contract = 1


def export(f: Callable[..., Any], /) -> Callable[..., Any]:
    """Turn a function with a rule into one of PyTensor variables, with gradients by this rule.

    Parameters
    ----------
    f : callable
        An operation, a NumPy function that is aliased to one, a function under `primitive`, a
        function with derivatives of its own (`custom_vjp`), or code that is written in these.

    Returns
    -------
    callable
        It takes the arguments and returns the results of f, with tensor variables for arrays. To
        find their types, f is run once on numbers; lengths that PyTensor does not know are 2 in
        them.

    Raises
    ------
    NotDifferentiableError
        If it is differentiated with respect to complex variables: PyTensor has no convention for
        them.
    NoRuleError
        When its derivative is run, if no rule has the mode.

    Examples
    --------
    >>> import numpy as np, pytensor, pytensor.tensor as pt
    >>> x = pt.vector("x")
    >>> slope = pytensor.grad(export(np.linalg.norm)(x), x)
    >>> slope.eval({x: [3.0, 4.0]}, mode="FAST_COMPILE")
    array([0.6, 0.8])
    """

    def exported(*operands: Any, **options: Any) -> Any:
        refuse_captured(f, operands, _is_variable, "PyTensor")
        given, layout = partition((operands, options), _is_variable)
        variables = list(map(as_tensor_variable, given))

        def call(*arrays: Any) -> Any:
            operands, options = unflatten(layout, arrays)
            return f(*operands, **options)

        call.__name__ = call.__qualname__ = name_of(f)
        y = call(*[_numbers(x.type) for x in variables])
        leaves, treedef = flatten(y)
        types = tuple([_type_of(leaf, variables) for leaf in leaves])
        moving = [i for i, x in enumerate(variables) if _floats(x.type)]
        by_jax = lambda: _jax().jax_kernel(f, layout, len(variables), moving)
        op: Any = KernelOp(Kernel(call, len(variables), moving), types, by_jax)
        found = op(*variables, return_list=True)
        return unflatten(treedef, found)

    return made(exported, f, export)  # type: ignore[no-any-return]


def _is_variable(x: Any) -> bool:
    return isinstance(x, TensorVariable)


def _numbers(of: Any) -> Any:
    """Make sample values of a type; matrices are far from singular."""
    shape: Any = tuple([2 if n is None else n for n in of.shape])
    values = np.linspace(0.3, 0.6, int(np.prod(shape))).reshape(shape)
    if len(shape) > 1:
        values = values + np.eye(shape[-2], shape[-1])
    return values.astype(of.dtype)


def _type_of(y: Any, inputs: Sequence[Any]) -> Any:
    y = np.asarray(y)
    known = all([None not in x.type.shape for x in inputs])
    shape = y.shape if known else tuple([1 if n == 1 else None for n in y.shape])
    return TensorType(y.dtype.name, shape if known else (None,) * y.ndim)


def _floats(of: Any) -> bool:
    return str(of.dtype).startswith(("float", "complex"))


class KernelOp(Op):
    """A kernel as one PyTensor operation, whose derivatives are such operations as well.

    Attributes
    ----------
    kernel : Kernel
        The kernel that it runs.
    types : tuple of TensorType
        The types of its outputs.
    by_jax : callable
        ``by_jax()`` returns the kernel that it runs in mode "JAX".
    """

    __props__ = ("kernel", "types")

    def __init__(
        self, kernel: Kernel, types: tuple[Any, ...], by_jax: Callable[[], Kernel]
    ) -> None:
        self.kernel = kernel
        self.types = types
        self.by_jax = by_jax

    def make_node(self, *inputs: Any) -> Apply[Any]:
        """Make the node of this call in a graph."""
        return Apply(self, [*map(as_tensor_variable, inputs)], [of() for of in self.types])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        """Compute the outputs."""
        found = self.kernel(*inputs)
        taken = list(inputs)
        for cell, y, of in zip(output_storage, found, self.types, strict=True):
            y = np.asarray(y, dtype=of.dtype)
            # PyTensor writes to results in place if it assumes that their memory is not shared.
            if y.base is not None or not y.flags.writeable or any([y is x for x in taken]):
                y = y.copy()
            taken.append(y)
            cell[0] = y

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """Return which outputs depend on which inputs, for gradients."""
        flows = [_floats(of) for of in self.types]
        moving = self.kernel.moving
        return [[i in moving and flow for flow in flows] for i in range(self.kernel.count)]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        """Build the graph of the cotangents of the inputs."""
        self._refuse_complex(inputs)
        bars = [
            y.zeros_like() if isinstance(bar.type, DisconnectedType) else bar
            for bar, y in zip(cotangents, outputs, strict=True)
        ]
        moving = self.kernel.moving
        types = tuple([inputs[i].type for i in moving])
        n = len(bars)
        op: Any = KernelOp(self.kernel.pull(n), types, lambda: self.by_jax().pull(n))
        found = dict(zip(moving, op(*inputs, *bars, return_list=True), strict=True))
        return [found[i] if i in found else disconnected_type() for i in range(len(inputs))]

    def pushforward(self, inputs: Any, outputs: Any, tangents: Any) -> list[Any]:
        """Build the graph of the tangents of the outputs."""
        self._refuse_complex(inputs)
        dots = [
            inputs[i].zeros_like()
            if isinstance(tangents[i].type, DisconnectedType)
            else tangents[i]
            for i in self.kernel.moving
        ]
        op: Any = KernelOp(self.kernel.push(), self.types, lambda: self.by_jax().push())
        found = op(*inputs, *dots, return_list=True)
        return [y if _floats(y.type) else disconnected_type() for y in found]

    def _refuse_complex(self, inputs: Any) -> None:
        for x in (*inputs, *self.types):
            if getattr(x, "dtype", "").startswith("complex"):
                raise NotDifferentiableError(
                    f"{self.kernel.name} is differentiated with complex128 among its operands or "
                    f"results, and PyTensor has no convention for such gradients; take the real "
                    f"and the imaginary part as two real arrays"
                )

    def __str__(self) -> str:
        return self.kernel.name


def _jax() -> Any:
    """Import the module for mode "JAX" lazily: importing JAX takes a second."""
    from chainrules_engines import pytensor_jax_mode

    return pytensor_jax_mode


@node_rewriter([KernelOp])  # type: ignore[untyped-decorator]
def _register_by_jax(fgraph: Any, node: Any) -> None:
    """Register the JAX implementation: PyTensor runs this rewrite before it looks one up."""
    _jax().register(KernelOp)


optdb.register(  # type: ignore[no-untyped-call]
    "chainrules_by_jax", dfs_rewriter(_register_by_jax), "jax", position=100
)


def supports(f: Callable[..., Any], /, *operands: Any, **options: Any) -> Support:
    """Return which transformations of PyTensor an exported function supports for these operands.

    Parameters
    ----------
    f : callable
        A function, as for `export`.
    *operands, **options
        The arguments of a call, with arrays for variables.

    Examples
    --------
    >>> import numpy as np
    >>> supports(np.sin, np.ones(3))
    Support(grad=True, jvp=True, vmap=False, jit=False, order=inf)
    """
    constant = stated(f, operands, options).order == 0
    return supported(export(f), operands, options, transformations, plain=f, is_constant=constant)


def _evaluated(of: Transformation) -> Transformation:
    """Build the graph of a transformation, and evaluate it."""

    def run(f: Callable[..., Any], z: Any, u: Any) -> Any:
        x, along = TensorType("float64", z.shape)("z"), TensorType("float64", z.shape)("u")
        found = of.run(f, x, along)
        return found.eval({x: z, along: u}, on_unused_input="ignore")

    return Transformation(of.gives, run)


_nestings = nestings(lambda f: lambda z: grad(f(z), z), lambda f, z, u: pushforward(f(z), [z], [u]))
transformations = Transformations(
    {name: _evaluated(of) for name, of in _nestings.items()},
    np.asarray,
    lambda: settings.change_flags(mode="FAST_COMPILE"),
    takes_complex=False,
)
