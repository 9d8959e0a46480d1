"""Halves of rules: on tensors, on batches, and apart if they solve, or use NumPy or C.

Such a half reads the numbers of a tensor. Tensors of a transformation, of a compiler, or of a dtype
that NumPy lacks do not provide them. There the half runs apart: element by element under `vmap`,
and as one operation of a compiled program. On NumPy arrays that operation has no derivative, and
raises an error for one; its result is converted to the dtype and device of the operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import torch

from chainrules_kit import UNFIT, AskedError, refused_half
from chainrules_py import ChainRulesError, NotDifferentiableError, ProjectionError, TracerError
from chainrules_py import ops as v
from chainrules_py.extend import map_leaves
from chainrules_torch import _private
from chainrules_torch.engine.call_plans import Call, Outputs
from chainrules_torch.engine.callback import array_of, brought, on_host, on_tensors
from chainrules_torch.engine.compilers import forget, is_abstract, leave_out
from chainrules_torch.engine.opaque_programs import apart, is_hidden
from chainrules_torch.engine.rule_config import asking, floats, is_tensor, refuse_asked


@final
class Half:
    """Half of the rule of a call, with its arguments.

    Parameters
    ----------
    call : Call or Mapped
        The call.
    mode : str
        "reverse" or "forward".
    leaves, y
        The leaves of the call, and its result.
    given : sequence
        Cotangents of the result's leaves, or tangents of the call's leaves.
    needs : sequence of bool, optional
        In reverse mode, which leaves need a cotangent.
    """

    __slots__ = ("call", "groups", "mode", "needs", "treedef", "wanted")

    def __init__(
        self,
        call: Any,
        mode: str,
        leaves: Sequence[Any],
        y: Outputs,
        given: Sequence[Any],
        needs: Sequence[bool] = (),
    ) -> None:
        self.call, self.mode, self.needs, self.treedef = call, mode, needs, y[1]
        self.groups = leaves, y[0], given
        if mode == "reverse":
            self.wanted = [needed and floats(x) for x, needed in zip(leaves, needs, strict=True)]
        else:
            self.wanted = list(map(floats, y[0]))

    def run(self) -> Sequence[Any]:
        """Run the half on tensors, or apart where that is necessary."""
        if not hasattr(self.call, "plan"):  # a batch: each of its elements is a half, too
            return self.on_tensors(*self.groups)
        leaves, outputs, given = self.groups
        try:
            if self.call.plan.solves and is_hidden((*leaves, *outputs, *given)):
                return self._apart(self.on_tensors)
            run = lambda: self.on_tensors(*self.groups)
            return or_by_numpy(self.call, (*leaves, *given), run, self.by_numpy)  # type: ignore[no-any-return]
        except ChainRulesError as error:
            leave_out(error)
            raise
        except RuntimeError as error:
            refuse_asked(error, self.call)
            raise

    def on_tensors(self, leaves: Any, outputs: Any, given: Any) -> Sequence[Any]:
        """Run it on tensors."""
        y = outputs, self.treedef
        if self.mode == "reverse":
            return self.call.pull(leaves, y, given, self.needs)  # type: ignore[no-any-return]
        return self.call.push(leaves, y, given)  # type: ignore[no-any-return]

    def _apart(
        self, compute: Callable[..., Any], refusal: ChainRulesError | None = None
    ) -> Sequence[Any]:
        """Run it apart; it returns tensors like the leaves, or the outputs, that are wanted."""
        found = iter(
            apart(
                lambda *groups: self._wanted(compute(*groups)),
                self.groups,
                lambda *groups: self._wanted(groups[self.mode == "forward"]),
                refusal=refusal,
            )
            if True in self.wanted
            else ()
        )
        return [next(found) if w else None for w in self.wanted]

    def _wanted(self, entries: Sequence[Any]) -> list[Any]:
        return [t for t, w in zip(entries, self.wanted, strict=True) if w]

    def by_numpy(self, error: Exception) -> Sequence[Any]:
        """Run it on NumPy arrays, after it raised this error for tensors.

        If that fails, too, it is written in PyTorch's operations, such as ``x.detach().numpy()``,
        and runs on plain tensors.
        """

        def compute(*groups: Any) -> list[Any]:
            like = groups[self.mode == "forward"]
            if self.mode == "reverse":  # NumPy's functions take no ZeroTangent
                groups = (
                    *groups[:2],
                    [
                        torch.zeros_like(y) if bar is None and floats(y) else bar
                        for y, bar in zip(groups[1], groups[2], strict=False)
                    ],
                )
            with torch.no_grad():
                try:
                    xs, _, given = on_tensors(array_of, groups)
                    found = self.call.on_arrays(self.mode, xs, self.treedef, given, self.needs)
                except UNFIT as of_arrays:
                    try:
                        found = self.on_tensors(*on_tensors(on_host, groups))
                    except UNFIT:
                        raise of_arrays from None
            each = zip(found, like, self.wanted, strict=True)
            return [brought(t, x) if w else None for t, x, w in each]

        plan = self.call.plan
        refusal = refused_half(plan.primal, "PyTorch", error)
        try:
            found = self._apart(compute, refusal)
        except TracerError:  # the other mode is stated, and cannot be transposed
            raise refusal from error
        except ChainRulesError:
            raise
        except Exception:  # the rule itself is wrong
            raise error from None
        if not (_private.transforms_active() or any(map(is_abstract, self.groups[0]))):
            plan.of_numpy = error  # elsewhere it may have failed for other reasons
        return found


def or_by_numpy(
    call: Call,
    tensors: Sequence[Any] | None,
    run: Callable[[], Any],
    instead: Callable[[Exception], Any],
) -> Any:
    """Run half of a user-defined rule on tensors, or ``instead`` if it computes with NumPy.

    Parameters
    ----------
    call : Call
        The call of the rule.
    tensors : sequence or None
        The arguments of the half; None if it computes the value, and what it saves.
    run, instead : callable
        ``run()`` is called first, and ``instead(error)`` if it raises an error of this kind.
    """
    plan = call.plan
    if not plan.is_own or plan.solves:
        return run()
    if plan.of_numpy is not None:
        return instead(plan.of_numpy)
    try:
        if tensors is None:
            return run()
        with asking(plan, tensors):
            found = run()
    except UNFIT as error:
        if isinstance(error, ChainRulesError) and not isinstance(error, _OF_NUMPY):
            raise
        forget()
        return instead(error)
    plan.is_proven = True
    return found


_OF_NUMPY = (AskedError, ProjectionError, TracerError)
"""Errors of our own that rules raise if they compute with NumPy."""


# ------------------------------------------------------------------------------- batches


@final
class Mapped:
    """A call for each element of a batch.

    Attributes
    ----------
    call : Call or Mapped
        The call of one element.
    dims : tuple of int or None
        The batch axis of each leaf, or None.
    """

    __slots__ = ("call", "dims")

    def __init__(self, call: Call | Mapped, dims: Sequence[int | None]) -> None:
        self.call, self.dims = call, tuple(dims)

    def value(self, leaves: Sequence[Any]) -> Any:
        """Compute the results, with the batch as their first axis."""
        return self._map(self.call.value, (leaves, self.dims))

    def pull(
        self, leaves: Sequence[Any], y: Outputs, bars: Sequence[Any], needs: Sequence[bool]
    ) -> list[Any]:
        """Compute the cotangents of the leaves; those of a shared leaf are summed."""
        outputs, treedef = y

        def each(xs: Any, ys: Any, y_bars: Any) -> Any:
            return tuple(Half(self.call, "reverse", xs, (ys, treedef), y_bars, needs).run())

        found = self._map(each, (leaves, self.dims), _first(outputs), _first(bars))
        return [_placed(bar, dim) for bar, dim in zip(found, self.dims, strict=True)]

    def push(self, leaves: Sequence[Any], y: Outputs, dots: Sequence[Any]) -> Any:
        """Compute the tangents of the results."""
        outputs, treedef = y

        def each(xs: Any, ys: Any, x_dots: Any) -> Any:
            return tuple(Half(self.call, "forward", xs, (ys, treedef), x_dots).run())

        return self._map(each, (leaves, self.dims), _first(outputs), (dots, self.dims))

    def _map(self, f: Callable[..., Any], *groups: tuple[Sequence[Any], Sequence[Any]]) -> Any:
        """Map a function over groups of leaves; what is not a tensor bypasses the map."""
        made: list[Any] = []

        def mapped(*xs: Any) -> Any:
            made[:] = [f(*xs)]
            parts = made[0] if type(made[0]) is tuple else made
            return tuple(filter(is_tensor, parts))

        in_dims = [[d if is_tensor(x) else None for x, d in zip(*of, strict=True)] for of in groups]
        rest = iter(torch.vmap(mapped, tuple(in_dims))(*[list(xs) for xs, _ in groups]))
        out = made[0]
        if type(out) is not tuple:
            return next(rest) if is_tensor(out) else out
        return tuple([next(rest) if is_tensor(x) else x for x in out])


def _first(xs: Sequence[Any]) -> tuple[Sequence[Any], list[int]]:
    return xs, [0] * len(xs)


def _placed(bar: Any, dim: int | None) -> Any:
    if not is_tensor(bar):
        return bar
    return bar.sum(0) if dim is None else torch.movedim(bar, 0, dim)


# --------------------------------------------------------------------- solvers, apart


def solved(call: Call, leaves: Sequence[Any], run: Callable[..., Any]) -> Any:
    """Run a call apart; its result is computed as ``run(*leaves)``."""

    def pull(xs: Sequence[Any], y: Outputs, bars: Sequence[Any]) -> list[Any]:
        return [bar for bar in call.pull(xs, y, bars, list(map(floats, xs))) if bar is not None]

    return apart(run, leaves, lambda *xs: _like(call, xs), pull=pull)


def _like(call: Call, leaves: Sequence[Any]) -> Any:
    try:
        like = _LIKE[call.plan.primal]
    except KeyError:
        raise NotDifferentiableError(
            f"{call.plan.primal.__name__} looks at values, and under torch.compile it is not known "
            f"what its result is like; call it outside of what is compiled"
        ) from None
    return like(*call.operands(leaves))


def _states(f: Any, y0: Any, t: torch.Tensor, *params: Any) -> Any:
    shape = tuple(t.shape)
    return map_leaves(lambda y: torch.empty((*shape, *y.shape), dtype=y.dtype, device=y.device), y0)


_LIKE: dict[Any, Callable[..., Any]] = {
    v.root: lambda f, x0, *params: x0,
    v.fixed_point: lambda f, x0, *params: x0,
    v.minimize: lambda f, x0, *params: x0,
    v.linear_solve: lambda matvec, b, *params: b,
    v.odeint: _states,
}
"""Functions that return tensors like the results of operations that solve."""


def is_known(operation: Any) -> bool:
    """Return whether the result of an operation that solves can be described to a compiler."""
    return operation in _LIKE
