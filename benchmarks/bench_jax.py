"""Exported rules in JAX beside the same derivative in JAX's own API for custom rules.

``python -m benchmarks.bench_jax`` prints the table of ratios.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from benchmarks.timing import medians
from chainrules_py import ops as v
from chainrules_py import primitive, scalar_rule

CASES = ("number", "solve", "cholesky")
"""A rule of one number; and two of matrices, where JAX's own derivative is the other side."""

WAYS = (
    "value",
    "gradient",
    "value and gradient",
    "push",
    "gradient of vmap",
    "vmap of gradient",
    "compiled gradient",
    "compiled push",
)
"""Of matrices the compiled ones alone: JAX's own functions are compiled in all of them."""


def ways(case: str) -> tuple[str, ...]:
    """Return the ways in which a case is measured."""
    return WAYS if case == "number" else tuple([w for w in WAYS if w.startswith("compiled")])


Pair = tuple[Callable[[], Any], Callable[[], Any]]


@primitive
def wave(x):  # type: ignore[no-untyped-def]
    """Compute what a person might; in a module: what is local is forgotten at each collection."""
    return v.sin(x)


scalar_rule(wave, lambda _y, x: v.cos(x))


def _jax() -> Any:
    try:
        import jax
    except ImportError as error:
        raise NotImplementedError from error  # how asv is told to skip
    jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]
    return jax


def functions(
    case: str, mode: str
) -> tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]:
    """Return the exported function, JAX's, and the operands; ``mode`` is that of JAX's own rule."""
    jax = _jax()
    import jax.numpy as jnp
    import numpy as np

    from chainrules_jax import export

    if case != "number":
        rng = np.random.default_rng(0)
        a = jnp.asarray(rng.normal(size=(64, 64)))
        b = jnp.asarray(rng.normal(size=64))
        a = a @ a.T + 64 * jnp.eye(64)
        name, operands = case, (a, b) if case == "solve" else (a,)
        ours, theirs = export(getattr(np.linalg, name)), getattr(jnp.linalg, name)
        return (
            lambda *xs: jnp.sum(ours(*xs) ** 2),
            lambda *xs: jnp.sum(theirs(*xs) ** 2),
            operands,
        )

    if mode == "forward":
        theirs = jax.custom_jvp(jnp.sin)
        theirs.defjvp(lambda xs, ts: (theirs(*xs), jnp.cos(xs[0]) * ts[0]))
    else:
        theirs = jax.custom_vjp(jnp.sin)
        theirs.defvjp(lambda x: (jnp.sin(x), x), lambda x, bar: (jnp.cos(x) * bar,))
    return export(wave), theirs, (jnp.asarray(0.3),)


def pair(case: str, way: str) -> Pair:
    """Build two calls that wait for their results: ours, and JAX's."""
    jax = _jax()
    ours, theirs, xs = functions(case, "forward" if "push" in way else "reverse")
    several = [jax.numpy.stack([x] * 4) for x in xs]

    def made(f: Callable[..., Any]) -> Callable[[], Any]:
        every = tuple(range(len(xs)))
        push = lambda *xs: jax.jvp(f, xs, xs)
        run, given = {
            "value": (f, xs),
            "gradient": (jax.grad(f, every), xs),
            "value and gradient": (jax.value_and_grad(f, every), xs),
            "push": (push, xs),
            "gradient of vmap": (
                jax.grad(lambda *xs: jax.numpy.sum(jax.vmap(f)(*xs)), every),
                several,
            ),
            "vmap of gradient": (jax.vmap(jax.grad(f, every)), several),
            "compiled gradient": (jax.jit(jax.value_and_grad(f, every)), xs),
            "compiled push": (jax.jit(push), xs),
        }[way]
        return lambda: jax.block_until_ready(run(*given))

    return made(ours), made(theirs)


def routines(case: str, ours: bool) -> int:
    """Count the calls of LAPACK's and BLAS's routines in the compiled value and gradient."""
    jax = _jax()
    f, theirs, xs = functions(case, "reverse")
    program = jax.jit(jax.value_and_grad(f if ours else theirs, tuple(range(len(xs)))))
    text = program.lower(*xs).compile().as_text()
    return len(re.findall(r'custom_call_target="(?:lapack|blas)', text))


def ratio(case: str, way: str, rounds: int = 51) -> float:
    """Our time over JAX's, which take turns."""
    ours, theirs = pair(case, way)
    found = medians({"ours": ours, "theirs": theirs}, rounds=rounds)
    return found["ours"] / found["theirs"]


class Exported:
    """An exported function, and its ratio to the other."""

    params = (CASES, WAYS)
    param_names = ("case", "way")
    timeout = 300

    def setup(self, case: str, way: str) -> None:
        if way not in ways(case):
            raise NotImplementedError
        self.ours, self.theirs = pair(case, way)

    def time_exported(self, case: str, way: str) -> None:
        self.ours()

    def time_by_jax(self, case: str, way: str) -> None:
        self.theirs()

    def track_ratio(self, case: str, way: str) -> float:
        return ratio(case, way)

    track_ratio.unit = "times"  # type: ignore[attr-defined]


class Routines:
    """Calls of LAPACK's and BLAS's routines in a compiled program."""

    params = (CASES[1:],)
    param_names = ("case",)

    def track_calls_of_exported(self, case: str) -> int:
        return routines(case, ours=True)

    def track_calls_of_jax(self, case: str) -> int:
        return routines(case, ours=False)

    track_calls_of_exported.unit = "calls"  # type: ignore[attr-defined]
    track_calls_of_jax.unit = "calls"  # type: ignore[attr-defined]


if __name__ == "__main__":
    for case in CASES:
        for way in ways(case):
            ours, theirs = pair(case, way)
            found = medians({"ours": ours, "theirs": theirs}, rounds=51)
            print(
                f"{case:10} {way:20} {1e6 * found['ours']:9.1f} us {1e6 * found['theirs']:9.1f} us"
                f"  {found['ours'] / found['theirs']:.2f} x",
                flush=True,
            )
        if case != "number":
            print(f"{case:10} routines: {routines(case, True)}, JAX {routines(case, False)}")
