"""Functions that compute with NumPy, each as one operation of PyTorch.

An eager program calls them directly. Under vmap they are called for each element of the batch. A
compiler, which runs a program on tensors without elements, sees one operation; the shape and dtype
of its result are stated, or found by a trial.

Tensors and NumPy arrays have methods of one name with two meanings, such as ``std`` and ``repeat``.
The arguments of a body do not depend on what runs it: plain tensors, as in an eager program, and
NumPy arrays if the body does not run on tensors.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import numpy as np
import torch

from chainrules_kit import (
    UNFIT,
    array_like,
    by_numpy,
    check_promised,
    tried,
    unstated,
)
from chainrules_py import NoRuleError, NotDifferentiableError, Primitive, RuleError
from chainrules_py.extend import (
    HigherOrder,
    flatten,
    map_leaves,
    partition,
    unflatten,
    where_defined,
)
from chainrules_torch import _private
from chainrules_torch.array_types import PLAIN, entered, shown
from chainrules_torch.engine.compilers import forget, is_recorded, refuse_captured
from chainrules_torch.engine.opaque_programs import apart
from chainrules_torch.engine.rule_config import Unlost, computing, is_differentiated, is_tensor


def callback(f: Primitive[..., Any], /, *, result: Callable[..., Any] | None = None) -> None:
    """Declare that a primitive computes with NumPy, also for tensors.

    Its body is called with NumPy arrays, and its results are converted to tensors. A rule may call
    further primitives of this kind.

    Parameters
    ----------
    f : Primitive
        A function whose operands and results are arrays and numbers.
    result : callable, optional
        ``result(*operands, **options)`` returns tensors with the structure, shapes and dtypes of
        the result of f. It is called under `torch.compile` only, with tensors that have no
        elements. Without it, f is tried on numbers of these shapes.

    Raises
    ------
    RuleError
        If f is not a primitive with a body.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from chainrules_py import primitive, scalar_rule
    >>> from chainrules_py.ops import expit
    >>> from chainrules_torch import export
    >>> @primitive
    ... def softplus(x):
    ...     return np.logaddexp(0.0, x)
    >>> scalar_rule(softplus, lambda _y, x: expit(x))
    >>> callback(softplus, result=lambda x: x)
    >>> torch.func.vmap(torch.func.grad(export(softplus)))(torch.zeros(3))
    tensor([0.5000, 0.5000, 0.5000])
    """
    if not isinstance(f, Primitive) or not f.has_body or f.variadic:
        raise RuleError(
            f"callback() is of a primitive whose body computes with NumPy, and {f!r} "
            f"({where_defined(f)}) is none; write @primitive above a function with a body"
        )
    entered(f, _by_numpy(f, f.__wrapped__, result))


def _by_numpy(
    f: Primitive[..., Any], body: Callable[..., Any], result: Callable[..., Any] | None
) -> Callable[..., Any]:
    return lambda *operands, **options: _Kernel(f, body, result, options)(operands)


BY_METHODS: frozenset[Any] = frozenset((np.nonzero, np.flatnonzero, np.argwhere, np.isreal))
"""NumPy functions that call a method of their operand, which tensors define differently."""


def of_body(f: Primitive[..., Any], found: Callable[..., Any]) -> Callable[..., Any]:
    """Return what computes a primitive: its body on tensors, or apart if that fails.

    A body that was written for another library does not run on the tensors of vmap and compilers,
    nor on dtypes that NumPy lacks. An implementation other than the body is returned unchanged.
    """
    body = f.__wrapped__
    if found is not body or not f.has_body or found in BY_METHODS or isinstance(f, HigherOrder):
        return found

    def computed(*operands: Any, **options: Any) -> Any:
        try:
            recorded = _private.modes_active() and is_recorded()
            with Unlost(in_half=True) if recorded else contextlib.nullcontext():
                y = body(*operands, **options)
        except UNFIT as error:
            refuse_captured(error, f.__name__)
            if isinstance(error, NoRuleError) or not _tensors(operands):
                raise
            forget()
            try:
                return _Kernel(f, body, None, options, raised=error)(operands)
            except (NoRuleError, RuleError) as refusal:
                raise (error if isinstance(error, NotDifferentiableError) else refusal) from None
        return y if isinstance(y, torch.Tensor) else _made_tensors(y, operands)

    return computed


def _made_tensors(y: Any, operands: tuple[Any, ...]) -> Any:
    """Convert the arrays and numbers that a body returned for tensors to tensors."""
    tensors = _tensors(operands)
    if not tensors:
        return y
    device = tensors[0].device
    return map_leaves(lambda leaf: leaf if is_tensor(leaf) else _as_tensor(leaf, device), y)


def called_back(operation: Primitive[..., Any], classes: tuple[type, ...]) -> Callable[..., Any]:
    """Return a function that computes an operation by NumPy, for operations that PyTorch lacks.

    Raises
    ------
    NoRuleError
        If NumPy has no implementation either.
    """
    plain = tuple([np.ndarray if issubclass(cls, torch.Tensor) else cls for cls in classes])
    return _by_numpy(operation, operation.plain_implementation(plain), None)


def _dtype(x: torch.Tensor) -> Any:
    """Return the NumPy dtype with the name of the tensor's dtype."""
    return np.dtype(str(x.dtype).rpartition(".")[2])


@final
class _Kernel:
    """A function with options, and the error that its body raised for tensors, if any."""

    __slots__ = ("body", "f", "options", "promised", "raised", "result")

    def __init__(
        self,
        f: Primitive[..., Any],
        body: Callable[..., Any],
        result: Callable[..., Any] | None,
        options: dict[str, Any],
        *,
        raised: Exception | None = None,
    ) -> None:
        self.f, self.body, self.result = f, body, result
        self.options, self.raised = options, raised
        self.promised: Sequence[torch.Tensor] | None = None

    def __call__(self, operands: Sequence[Any]) -> Any:
        """Compute the result, apart where values are hidden."""
        tensors = _tensors(operands)
        if not computing.get() and any(map(is_differentiated, tensors)):
            raise unstated(self.f)
        if any(
            [
                is_recorded()
                or type(x) not in PLAIN
                or _private.functorch.is_functorch_wrapped_tensor(x)
                or x.is_meta
                for x in tensors
            ]
        ):
            return apart(self.compute, operands, self.like, refusal=unstated(self.f))
        if not _private.transforms_active():
            return self.compute(*operands)
        with _private.without_levels():  # torch.func would make the arrays abstract
            return self.compute(*operands)

    def compute(self, *operands: Any) -> Any:
        """Compute tensors on the device of the operands, of the promised shapes and dtypes."""
        y = self._computed(operands)
        if self.promised is None:
            return y
        found, layout = partition(y, is_tensor)
        check_promised(
            self.f, found, self.promised, _tensors(operands), self.options, batched=False
        )
        return unflatten(
            layout, [t.to(like.dtype) for t, like in zip(found, self.promised, strict=True)]
        )

    def _computed(self, operands: Sequence[Any]) -> Any:
        """Run the body on data that PyTorch does not trace.

        A body that raised for tensors is first run on plain tensors, as in an eager program, so
        that methods have one meaning everywhere.
        """
        device, narrow = _home(operands)
        error = self.raised
        if error is not None:
            given = on_tensors(on_host, operands)
            memory = [x.untyped_storage().data_ptr() for x in _tensors(given)]

            def back(y: Any) -> Any:
                if not is_tensor(y):
                    return _as_tensor(y, device, narrow)
                y = y.clone() if y.untyped_storage().data_ptr() in memory else y.detach()
                return y.to(device, narrow.get(y.dtype, y.dtype))

            try:
                return map_leaves(back, self.body(*given, **self.options))
            except UNFIT as of_plain:  # the body computes with arrays
                error = of_plain
        try:
            y = self.body(*on_tensors(array_of, operands), **self.options)
        except (AttributeError, TypeError):  # the body is written for tensors, and is wrong itself
            if error is None:
                raise
            raise error from None
        return map_leaves(lambda y: _as_tensor(y, device, narrow), y)

    def like(self, *operands: Any) -> Any:
        """Make tensors like those of the result, from ``result`` or from a trial."""
        if self.result is not None:
            y = self.result(*operands, **self.options)
        else:
            given, layout = flatten(operands)
            arrays, device = on_tensors(_shown, operands), _home(operands)[0]

            def body(*arrays: Any, **_: Any) -> Any:
                pairs = zip(flatten(arrays)[0], given, strict=True)
                made = [torch.from_numpy(a).to(x.dtype) if is_tensor(x) else a for a, x in pairs]
                return self.compute(*unflatten(layout, made))

            with _private.without_modes(), _private.without_levels():
                y = tried(self.f, body, arrays, self.options, "chainrules_torch")
            empty = lambda x: torch.empty(x.shape, dtype=x.dtype, device=device)
            (y,) = on_tensors(empty, (y,))
        self.promised = _tensors((y,))
        return y


def _shown(x: torch.Tensor) -> Any:
    """Return an array with the shape and dtype of a tensor, which allocates one element."""
    dtype = np.dtype(np.float32) if x.dtype in NARROW else _dtype(x)
    return np.broadcast_to(np.zeros((), dtype), tuple(map(int, x.shape)))


NARROW = frozenset((torch.bfloat16,))
"""Dtypes that NumPy lacks; it computes with float32 instead, as PyTorch does internally."""


def _home(operands: Sequence[Any]) -> tuple[torch.device, Mapping[Any, Any]]:
    """Return the device of the result, and the dtypes to narrow NumPy's results to."""
    tensors = _tensors(operands)
    moving = [x for x in tensors if x.is_floating_point()]
    # A 0-d tensor does not widen others.
    dtypes = {x.dtype for x in [x for x in moving if x.ndim] or moving}
    narrow = {torch.float32: dtypes.pop()} if dtypes and dtypes <= NARROW else _SAME
    return tensors[0].device, narrow


def _tensors(operands: Sequence[Any]) -> Sequence[torch.Tensor]:
    return partition(tuple(operands), is_tensor)[0]


def on_tensors(f: Callable[[Any], Any], operands: Sequence[Any]) -> Any:
    """Map a function over tensors, also those in structures."""
    return map_leaves(lambda x: f(x) if is_tensor(x) else x, tuple(operands))


def on_host(x: torch.Tensor) -> torch.Tensor:
    """Return a plain tensor on the CPU, of a dtype that NumPy has."""
    x = x.detach().resolve_conj().resolve_neg().contiguous().cpu()
    return x.float() if x.dtype in NARROW else x


def array_of(x: torch.Tensor) -> Any:
    """Return a tensor as a NumPy array; bfloat16 becomes float32."""
    return shown(on_host(x)).numpy()


def brought(t: Any, like: torch.Tensor) -> torch.Tensor:
    """Convert a cotangent or tangent from NumPy to the dtype, shape and device of a tensor."""
    dtype = np.float64 if like.dtype in NARROW else _dtype(like)
    t = t.detach().cpu() if is_tensor(t) else t
    found = torch.from_numpy(array_like(t, tuple(like.shape), dtype))
    return found.to(like.device, like.dtype)


_SAME: Mapping[Any, Any] = {}


def _as_tensor(y: Any, device: torch.device, narrow: Mapping[Any, Any] = _SAME) -> Any:
    """Convert NumPy's result to a tensor with memory of its own, of a narrowed dtype if any."""
    if not isinstance(y, (np.ndarray, np.generic, int, float, complex)):
        return y
    array = np.array(y)
    if array.dtype.kind not in "fciub":  # strings and objects
        return y
    if array.dtype.char in "gG":  # more digits than PyTorch has
        array = array.astype(float if array.dtype.char == "g" else complex)
    made = torch.from_numpy(array).to(device)  # a copy: a NumPy function may keep its array
    return made.to(narrow.get(made.dtype, made.dtype))


callback(by_numpy)
