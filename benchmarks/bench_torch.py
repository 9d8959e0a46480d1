"""Rules in PyTorch, beside the same written for PyTorch by hand.

``python -m benchmarks.bench_torch`` prints the figures, measured in turns.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.timing import CLOCKS, interval, medians, turns
from chainrules_py import LinearMap, primitive, rule, scalar_rule
from chainrules_py import ops as v
from chainrules_torch import export


@primitive
def wave(x: Any) -> Any:
    """sin x, whose partial is computed in the pullback."""
    return v.sin(x)


scalar_rule(wave, lambda _y, x: v.cos(x))


class HandWave(torch.autograd.Function):
    """Sine, written by hand for PyTorch, whose partial is computed in the pullback."""

    @staticmethod
    def forward(x: Any) -> Any:
        return torch.sin(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, y_bar: Any) -> Any:
        (x,) = ctx.saved_tensors
        return y_bar * torch.cos(x)


@primitive
def blend(x: Any, y: Any) -> Any:
    """x y + x."""
    return x * y + x


@rule(blend)
def blend_rule(x, y):  # type: ignore[no-untyped-def]
    """Two maps."""
    return blend(x, y), (
        LinearMap(lambda t, y: t * (y + 1.0), lambda z, y: z * (y + 1.0), y),
        LinearMap(lambda t, x: t * x, lambda z, x: z * x, x),
    )


class HandBlend(torch.autograd.Function):
    """Function x y + x, written by hand for PyTorch."""

    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        return x * y + x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, z_bar: Any) -> Any:
        x, y = ctx.saved_tensors
        needs_x, needs_y = ctx.needs_input_grad
        return z_bar * (y + 1.0) if needs_x else None, z_bar * x if needs_y else None


class HandMatmul(torch.autograd.Function):
    """A product of matrices."""

    @staticmethod
    def forward(a: Any, b: Any) -> Any:
        return a @ b

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, y_bar: Any) -> Any:
        a, b = ctx.saved_tensors
        needs_a, needs_b = ctx.needs_input_grad
        return y_bar @ b.mH if needs_a else None, a.mH @ y_bar if needs_b else None


class HandCholesky(torch.autograd.Function):
    """A factor; the cotangent is that of the triangle that is read."""

    @staticmethod
    def forward(a: Any) -> Any:
        return torch.linalg.cholesky(a)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, bar: Any) -> Any:
        (low,) = ctx.saved_tensors
        inner = torch.tril(low.mH @ torch.tril(bar))
        inner = inner - 0.5 * torch.diag_embed(torch.diagonal(inner))
        inner = torch.linalg.solve_triangular(low.mH, inner + inner.mH, upper=True)
        outer = torch.linalg.solve_triangular(low.mH, inner.mH, upper=True).mH
        return torch.tril(outer) - 0.5 * torch.diag_embed(torch.diagonal(outer))


class OldWave(HandWave):
    """The same in the older style, which `torch.func` does not take."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:  # type: ignore[override]
        ctx.save_for_backward(x)
        return torch.sin(x)

    setup_context = torch.autograd.Function.setup_context


class OldBlend(HandBlend):
    """The same in the older style."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:  # type: ignore[override]
        ctx.save_for_backward(x, y)
        return x * y + x

    setup_context = torch.autograd.Function.setup_context


def inputs(case: str) -> list[torch.Tensor]:
    """Make the operands of a case."""
    generator = torch.Generator().manual_seed(0)
    if case == "cholesky":
        a = torch.randn(4, 4, dtype=torch.float64, generator=generator)
        return [(a @ a.mT + 4 * torch.eye(4, dtype=a.dtype)).requires_grad_()]
    shapes: dict[str, list[tuple[int, ...]]]
    shapes = {"matmul": [(2, 3), (3, 2)], "blend": [(4,), (4,)], "scalar_rule": [()]}
    return [
        torch.randn(shape, dtype=torch.float64, generator=generator).requires_grad_()
        for shape in shapes[case]
    ]


CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "scalar_rule": (export(wave), HandWave.apply),
    "blend": (export(blend), HandBlend.apply),
    "matmul": (export(v.matmul), HandMatmul.apply),
    "cholesky": (export(v.cholesky), HandCholesky.apply),
}
"""Ours, and by hand."""
OLDER = {"scalar_rule": OldWave.apply, "blend": OldBlend.apply}
"""By hand, in the older style."""


def value_and_gradient(f: Callable[..., Any], xs: list[torch.Tensor]) -> Callable[[], Any]:
    """Build one call of a function and of its pullback."""
    bar = torch.ones_like(f(*xs))

    def run() -> Any:
        return torch.autograd.grad(f(*xs), xs, bar)

    return run


def of_func(f: Callable[..., Any], xs: list[torch.Tensor]) -> Callable[[], Any]:
    """Build one call of `torch.func.grad`."""
    places = tuple(range(len(xs)))
    gradient = torch.func.grad(lambda *operands: f(*operands).sum(), argnums=places)
    plain = [x.detach() for x in xs]
    return lambda: gradient(*plain)


def value_alone(f: Callable[..., Any], xs: list[torch.Tensor]) -> Callable[[], Any]:
    """Build one call of a function in which nothing is differentiated."""
    plain = [x.detach() for x in xs]
    return lambda: f(*plain)


def compiled(f: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a program around a function to machine code."""
    return torch.compile(lambda *xs: torch.tanh(f(*[2.0 * x for x in xs])), fullgraph=True)


class Eager:
    """Value and gradient of a small call."""

    params = (list(CASES), ["ours", "by hand"])
    param_names = ("case", "whose")

    def setup(self, case: str, whose: str) -> None:
        f = CASES[case][whose == "by hand"]
        self.both = value_and_gradient(f, inputs(case))
        self.value = value_alone(f, inputs(case))

    def time_value_and_gradient(self, case: str, whose: str) -> None:
        self.both()

    def time_value(self, case: str, whose: str) -> None:
        self.value()


def shares(case: str, *, machine_code: bool = False, **keywords: Any) -> list[float]:
    """Return our time over theirs, turn by turn; the keywords are those of `turns`."""
    fs = [compiled(f) if machine_code else f for f in CASES[case]]
    ours, theirs = (value_and_gradient(f, inputs(case)) for f in fs)
    times = turns({"ours": ours, "theirs": theirs}, **keywords)
    return [a / b for a, b in zip(times["ours"], times["theirs"], strict=True)]


def least(fs: dict[str, Callable[[], Any]], rounds: int = 2000) -> dict[str, float]:
    """Return the least time of one call of each function, by turns of a few calls."""
    return medians(fs, pick=min, rounds=rounds, seconds=2e-4)


def main() -> None:
    """Print what exported rules cost beside those that are written by hand."""
    torch.set_num_threads(1)
    print("least of many turns: beside the older style; torch.func.grad beside the newer")
    for case, older in OLDER.items():
        ours, newer = CASES[case]
        for kind, theirs in ((value_and_gradient, older), (of_func, newer)):
            times = least({"ours": kind(ours, inputs(case)), "theirs": kind(theirs, inputs(case))})
            print(f"  {case:12} {kind.__name__:20} {times['ours'] / times['theirs']:.2f}")
    for machine_code in (False, True):
        print("compiled" if machine_code else "eager")
        for case in CASES:
            found = shares(case, machine_code=machine_code, rounds=50, clock=CLOCKS["process"])
            low, high = interval(found)
            print(f"  {case:12} {statistics.median(found):.2f} ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
