"""Calls whose rule may give something else when it is run again: it draws, counts or looks up."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, final

import torch

from chainrules_bridge import another
from chainrules_py import MutationError, NotDifferentiableError
from chainrules_py.extend import flatten
from chainrules_torch import _private
from chainrules_torch.engine.call import AnyCall, Check, Outputs
from chainrules_torch.engine.config import floats, is_tensor
from chainrules_torch.engine.leaving import unless_left
from chainrules_torch.engine.opaque import is_abstract, is_writing_down
from chainrules_torch.engine.outputs import wrap
from chainrules_torch.engine.randomness import refuse_drawn


@final
class Drawn(AnyCall):
    """A call that is differentiated: where its rule is run again, it draws what it drew first.

    Its value is what the rule gives, so that value and derivative are of one draw.

    Parameters
    ----------
    call : AnyCall
        The call, which is made now.
    """

    __slots__ = ("call", "checks", "draws", "plan")

    def __init__(self, call: AnyCall) -> None:
        self.call = call
        self.plan = call.plan
        assert self.plan.draws is not None
        self.draws = self.plan.draws.begin()
        self.checks = True

    def unchecked(self) -> AnyCall:
        """Draw the same, and compare nothing."""
        made = copy.copy(self)
        made.checks = False
        return made

    def same_draws(self) -> AbstractContextManager[Any]:
        """Draw the same."""
        return self.draws.again()

    def operands(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Those of the call."""
        return self.call.operands(leaves)

    def wanted(self, leaves: Sequence[bool]) -> tuple[bool, ...]:
        """Those of the call."""
        return self.call.wanted(leaves)

    def tangents(self, dots: Sequence[Any]) -> list[Any]:
        """Those of the call."""
        return self.call.tangents(dots)

    def bars(self, bars: Sequence[Any]) -> list[Any]:
        """Those of the call."""
        return self.call.bars(bars)

    def value(self, leaves: Sequence[Any]) -> Any:
        """Compute the result by the rule, as `Plain` does."""
        plan, moving = self.plan, list(map(floats, leaves))
        if plan.rule is None:  # an error where a derivative is asked for
            return self.call.value(leaves)
        forward = plan.pushes_only() or not plan.states("reverse")
        bound = plan.bound("forward" if forward else "reverse", self.wanted(moving), again=False)
        if bound is None:
            return self.call.value(leaves)
        given: Any = None
        if forward:
            each = zip(leaves, moving, strict=True)
            zeros = self.tangents([torch.zeros_like(x) if m else None for x, m in each])
            pairs = zip(zeros, bound.wanted, strict=True)
            given = tuple([t for t, wanted in pairs if wanted])
        run = lambda: wrap(bound.run(given, *self.operands(leaves), **plan.options)[0])
        try:
            return unless_left(self, leaves, run, lambda _: self.call.value(leaves))
        except RuntimeError as error:
            refuse_drawn(error, f"the rule of {plan.primal.__name__}")
            raise

    def pull(
        self,
        leaves: Sequence[Any],
        y: Outputs,
        bars: Sequence[Any],
        needs: Sequence[bool],
        check: Check | None = None,
    ) -> list[Any]:
        """Run the rule once more, and pull back."""
        self._refuse_abstract(leaves)
        with self.draws.again():
            return super().pull(leaves, y, bars, needs, self.check)

    def push(
        self, leaves: Sequence[Any], y: Outputs, dots: Sequence[Any], check: Check | None = None
    ) -> Any:
        """Run the rule once more, and push forward."""
        self._refuse_abstract(leaves)
        with self.draws.again():
            return super().push(leaves, y, dots, self.check)

    def _refuse_abstract(self, leaves: Sequence[Any]) -> None:
        """Raise where a compiler would have the rule draw twice, which nobody could compare."""
        plan = self.plan
        if any(map(is_abstract, leaves)) and not (plan.draws is None or plan.draws.is_steady()):
            msg = (
                f"the rule of {plan.primal.__name__} is run again for its derivative in a program "
                f"that is compiled, where it may draw or count something else than the first "
                f"time; compute that outside, and pass it as an operand"
            )
            raise NotDifferentiableError(msg)

    def check(self, again: Any, y: Outputs) -> None:
        """Raise if the rule gave another value than the first time.

        Raises
        ------
        MutationError
            It names the rule.
        """
        found = zip(flatten(again)[0], y[0], strict=False)
        pairs = [(x, was) for x, was in found if x is not was] if self.checks else []
        if pairs and is_writing_down():  # where nobody could compare
            if not (self.plan.draws is None or self.plan.draws.is_steady()):
                msg = (
                    f"the rule of {self.plan.primal.__name__} is run again for its derivative, "
                    f"where it may draw or count something else, in a program that PyTorch writes "
                    f"down (torch.func.linearize, make_fx): take torch.func.jvp for each tangent, "
                    f"or compute that outside, and pass it as an operand"
                )
                raise NotDifferentiableError(msg)
        elif any([_differ(x, was) for x, was in pairs]):
            raise MutationError(another(f"the rule of {self.plan.primal.__name__}", again))


def _differ(x: Any, y: Any) -> bool:
    """Tell whether two leaves are another, by more than rounding."""
    if x is y or is_abstract(x) or is_abstract(y):
        return False
    if not (is_tensor(x) and is_tensor(y)):
        return not (is_tensor(x) or is_tensor(y)) and bool(x != y) and bool(x == x or y == y)
    if x.shape != y.shape:
        return True
    with torch.no_grad():
        other = (x != y) & ((x == x) | (y == y))
        if floats(x) and floats(y) and x.numel():
            sizes = [torch.where(of.isfinite(), of.abs(), 0.0).amax() for of in (x, y)]
            most = torch.maximum(*sizes) * torch.finfo(y.dtype).eps ** 0.5
            other = other & ~((x - y).abs() <= most)
    while _private.functorch.is_functorch_wrapped_tensor(other):
        other = _private.functorch.get_unwrapped(other)
    return bool(other.any())
