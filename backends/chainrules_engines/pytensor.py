"""PyTensor: functions with rules as its Ops."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytensor
from pytensor.compile.mode import optdb
from pytensor.configdefaults import config as settings
from pytensor.gradient import DisconnectedType, disconnected_type, grad
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.graph.rewriting.basic import dfs_rewriter, node_rewriter
from pytensor.tensor import TensorType, as_tensor_variable

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
from chainrules_py import NotDifferentiableError, TracerError
from chainrules_py.extend import (
    ContractError,
    TreeDef,
    flatten,
    made,
    name_of,
    partition,
    unflatten,
)

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
        find their types, f is run on numbers; lengths that PyTensor does not know are 2, 3, 4 in
        them, or others in the call, until f has run for two.

    Raises
    ------
    NotDifferentiableError
        If it is differentiated with respect to complex variables: PyTensor has no convention for
        them.
    NoRuleError
        When its derivative is run, if no rule has the mode.
    TracerError
        If the types of its results depend on the numbers, or on lengths that PyTensor does not
        know.

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
        variables = [_tensor_of(f, x) for x in given]
        types, treedef = _sampled(f, layout, variables, flatten((operands, options))[0])
        count = len(variables)
        moving = [i for i, x in enumerate(variables) if _floats(x.type)]
        kernel = Kernel(functools.partial(called, f, layout, types), count, moving)
        kernel.name = name_of(f)
        op: Any = KernelOp(
            kernel, types, functools.partial(_by_jax, f, layout, types, count, moving)
        )
        return unflatten(treedef, op(*variables, return_list=True))

    return made(exported, f, export)  # type: ignore[no-any-return]


def _is_variable(x: Any) -> bool:
    return isinstance(x, Variable)


def _tensor_of(f: Any, x: Any) -> Any:
    try:
        return as_tensor_variable(x)
    except TypeError as error:
        raise TracerError(
            f"{name_of(f)} takes tensors of PyTensor, not {type(x).__name__}; pass the tensor "
            f"of an XTensorVariable, getattr(x, 'values')"
        ) from error


def _sampled(
    f: Callable[..., Any], layout: TreeDef, variables: Sequence[Any], leaves: Sequence[Any]
) -> tuple[tuple[Any, ...], TreeDef]:
    """Return the types of the results of a call and their structure, from runs on numbers.

    PyTensor broadcasts along an axis only if its type says that its length is 1. Two runs show
    whether a length 1 in a result depends on unknown lengths.
    """
    found = [x.type if _is_variable(x) else x for x in leaves]
    shapes = [() if isinstance(x, type) else getattr(x, "shape", ()) for x in found]
    known = not any([None in shape for shape in shapes])
    lengths = dict.fromkeys([2, 3, 4, *[n for shape in shapes for n in shape if n]])
    samples: list[Any] = []
    failed = None
    for n in list(lengths)[: 1 if known else None]:
        operands, options = unflatten(layout, [_numbers(x.type, n) for x in variables])
        try:
            samples.append(flatten(f(*operands, **options)))
        except (IndexError, ValueError) as error:
            if known:
                raise
            failed = failed or error
        if len(samples) == 2:
            break
    ranks = [[np.ndim(y) for y in ys] for ys, _ in samples]
    if not ranks or ranks[0] != ranks[-1]:
        why = f"{type(failed).__name__}: {failed}" if failed else "results of several ranks"
        raise TracerError(
            f"{name_of(f)} is run on numbers to find the types of its results, and gives {why} for "
            f"the lengths {list(lengths)} in place of those that PyTensor does not know; "
            f"{_STATE_LENGTHS}"
        ) from failed
    types = [
        _type_of(y, other, known) for y, other in zip(samples[0][0], samples[-1][0], strict=True)
    ]
    return tuple(types), samples[0][1]


_STATE_LENGTHS = "state them, as in x = pytensor.tensor.specify_shape(x, (3,)) for three numbers"


def _numbers(of: Any, length: int) -> Any:
    """Make sample values of a type; matrices are far from singular."""
    shape: Any = tuple([length if n is None else n for n in of.shape])
    values = np.linspace(0.3, 0.6, int(np.prod(shape))).reshape(shape)
    if len(shape) > 1:
        values = values + np.eye(shape[-2], shape[-1])
    return values.astype(of.dtype)


def _type_of(y: Any, other: Any, known: bool) -> Any:
    pairs = zip(np.shape(y), np.shape(other), strict=True)
    shape = tuple([n if known or n == m == 1 else None for n, m in pairs])
    return TensorType(np.asarray(y).dtype.name, shape)


def called(f: Callable[..., Any], layout: TreeDef, types: Sequence[Any], *arrays: Any) -> Any:
    """Call a function, and check that its results fit the types that the graph has for them.

    Parameters
    ----------
    f : callable
        The function.
    layout : TreeDef
        The structure of the operands and options, whose leaves are the arrays.
    types : sequence of TensorType
        The types of the results.
    *arrays
        The arrays, traced ones included.

    Raises
    ------
    TracerError
        If a result has another shape, or is complex where its type is real.
    """
    operands, options = unflatten(layout, arrays)
    y = f(*operands, **options)
    for leaf, of in zip(flatten(y)[0], types, strict=True):
        shape, name = np.shape(leaf), name_of(f)
        if len(shape) != of.ndim or any(
            [n not in (None, m) for n, m in zip(of.shape, shape, strict=True)]
        ):
            raise TracerError(
                f"{name} gives an array of the shape {shape}, and the graph has {of} for it, the "
                f"type for sample lengths; {_STATE_LENGTHS}"
            )
        dtype = str(getattr(leaf, "dtype", type(leaf).__name__))
        if dtype.startswith("complex") and not of.dtype.startswith("complex"):
            raise TracerError(
                f"{name} gives complex numbers here, and the graph has {of} for them, the type for "
                f"sample numbers; write what is real of them, as in "
                f"export(lambda x: chainrules_py.ops.abs({name}(x)), to='pytensor'), or pass "
                f"complex numbers, as in x.astype('complex128')"
            )
    return y


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
        by_jax = functools.partial(_derived, self.by_jax, "pull", len(bars))
        op: Any = KernelOp(self.kernel.pull(len(bars)), types, by_jax)
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
        by_jax = functools.partial(_derived, self.by_jax, "push")
        op: Any = KernelOp(self.kernel.push(), self.types, by_jax)
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


def _by_jax(*call: Any) -> Kernel:
    return _jax().jax_kernel(called, *call)  # type: ignore[no-any-return]


def _derived(by_jax: Callable[[], Kernel], name: str, *outputs: int) -> Kernel:
    return getattr(by_jax(), name)(*outputs)  # type: ignore[no-any-return]


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
