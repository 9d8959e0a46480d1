"""Abilities of each engine with exported functions, tried: the table of the documentation.

``make adapters`` exports the battery to every engine, applies each of its transformations, compares
the numbers with differences, and writes what came out to ``docs/adapters.csv``. A cell is ``yes``,
``wrong``, or the class of the error that was raised.
"""

from __future__ import annotations

import csv
import functools
import importlib
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, final

import numpy as np

from chainrules_py import vocabulary as v
from chainrules_py.engines.export import exporter
from chainrules_py.primitives import plugins
from chainrules_py.testing.data.differences import derivative
from chainrules_py.values.pytree import flatten, unflatten
from tests.engines.battery import Point, loss, points


@final
class Trial:
    """A point of the battery as one real function of one real vector, and its derivatives.

    Complex operands are put together from such numbers, so that an engine's convention for complex
    numbers counts, and nobody has to know it.
    """

    def __init__(self, point: Point) -> None:
        self.point = point
        parts: list[Any] = [np.asarray(x) for x in point.xs]
        flat = [np.stack([x.real, x.imag]) if np.iscomplexobj(x) else x for x in parts]
        self.z = np.concatenate([x.ravel() for x in flat])
        self.u = np.random.default_rng(3).standard_normal(self.z.size)
        self.shapes = [(x.size, x.shape, np.iscomplexobj(x)) for x in parts]

    def function(self, f: Callable[..., Any], asarray: Callable[..., Any]) -> Callable[..., Any]:
        """Make f a function of the vector: f is the entry's, or what it was exported to."""
        leaves, treedef = flatten(self.point.operands)
        leaves = [asarray(x) if isinstance(x, np.ndarray) else x for x in leaves]
        entry, moving = self.point.entry, self.point.moving
        fixed = [i for i, x in enumerate(leaves) if hasattr(x, "shape") and i not in moving]

        def total(z: Any, *constants: Any) -> Any:
            given, begin = list(leaves), 0
            for i, x in zip(fixed if constants else (), constants, strict=True):
                given[i] = x
            for i, (n, shape, is_complex) in zip(moving, self.shapes, strict=True):
                x = z[begin : begin + n].reshape(shape)
                begin += n
                if is_complex:
                    x = x + 1j * z[begin : begin + n].reshape(shape)
                    begin += n
                given[i] = x
            y = f(*unflatten(treedef, given), **entry.options)
            return loss(y if entry.gauge is None else entry.gauge(y), asarray)

        total.constants = [leaves[i] for i in fixed]  # type: ignore[attr-defined]
        return total

    @functools.cached_property
    def plain(self) -> Callable[..., Any]:
        """The function on NumPy's arrays, which nobody traces."""
        return self.function(self.point.entry.f, np.asarray)

    def _along(self, f: Callable[..., Any], u: Any) -> Any:
        found, error = derivative(lambda t: np.asarray(f(self.z + t * u)))
        assert np.max(error, initial=0.0) < 1e-5 * max(1.0, np.max(np.abs(found), initial=0.0))
        return np.asarray(found)

    @functools.cached_property
    def gradient(self) -> Any:
        """Gradient, by differences of the value."""
        return np.stack([self._along(self.plain, e) for e in np.eye(self.z.size)])

    @functools.cached_property
    def curved(self) -> Any:
        """The Hessian times `u`, by differences of the gradient that the engine installed gives."""
        return self._along(plugins.default_engine().grad(self.plain), self.u)

    @functools.cached_property
    def third(self) -> Any:
        """The third derivative along `u` three times, by differences of the second."""
        engine, u = plugins.default_engine(), self.u
        slope = lambda z: engine.jvp(self.plain, (z,), (u,))[1]
        return self._along(lambda z: engine.jvp(slope, (z,), (u,))[1], u)


def _agree(found: Any, want: Any) -> None:
    found, want = np.asarray(found), np.asarray(want)
    scale = max(1.0, float(np.max(np.abs(want), initial=0.0)))
    if found.shape != want.shape or not np.all(np.abs(found - want) <= 2e-5 * scale):
        raise AssertionError


Check = Callable[[Trial, Callable[..., Any]], None]


def _orders(
    grad: Callable[..., Any], push: Callable[..., Any], asarray: Callable[..., Any]
) -> dict[str, Check]:
    """Nestings of both modes, of ``grad(f)(z)`` and ``push(f, z, u)``."""

    def along(f: Callable[..., Any], u: Any) -> Callable[..., Any]:
        return lambda z: push(f, z, u)

    return {
        "grad": lambda t, f: _agree(grad(f)(t.z), t.gradient),
        "jvp": lambda t, f: _agree(push(f, t.z, t.u), t.gradient @ t.u),
        "jvp of grad": lambda t, f: _agree(push(grad(f), t.z, t.u), t.curved),
        "grad of jvp": lambda t, f: _agree(grad(along(f, t.u))(t.z), t.curved),
        "grad of grad": lambda t, f: _agree(
            grad(lambda z: v.sum(v.multiply(grad(f)(z), asarray(t.u))))(t.z), t.curved
        ),
        "third order": lambda t, f: _agree(push(along(along(f, t.u), t.u), t.z, t.u), t.third),
    }


# ------------------------------------------------------------------------------------ the engines


def _autograd() -> tuple[Callable[..., Any], dict[str, Check]]:
    import autograd

    push = lambda f, z, u: autograd.make_jvp(f)(z)(u)[1]
    return np.asarray, _orders(autograd.grad, push, np.asarray)


def _jax() -> tuple[Callable[..., Any], dict[str, Check]]:
    jax: Any = importlib.import_module("jax")
    jnp = jax.numpy
    jax.config.update("jax_enable_x64", True)
    z2: Callable[[Trial], Any] = lambda t: jnp.stack([t.z, t.z])
    twice: Callable[[Trial], Any] = lambda t: np.stack([t.gradient, t.gradient])
    push = lambda f, z, u: jax.jvp(f, (jnp.asarray(z),), (jnp.asarray(u),))[1]
    grad = lambda f: lambda z: jax.grad(f)(jnp.asarray(z))

    def scanned(f: Callable[..., Any], z: Any) -> Any:
        return jax.lax.scan(lambda c, x: (c + f(x), None), 0.0, jnp.stack([z, z]))[0]

    return jnp.asarray, {
        **_orders(grad, push, jnp.asarray),
        "jit": lambda t, f: _agree(jax.jit(f)(t.z), t.plain(t.z)),
        "vmap": lambda t, f: _agree(jax.vmap(f)(z2(t)), [t.plain(t.z)] * 2),
        "jit of grad": lambda t, f: _agree(jax.jit(jax.grad(f))(t.z), t.gradient),
        "vmap of grad": lambda t, f: _agree(jax.vmap(jax.grad(f))(z2(t)), twice(t)),
        "grad of vmap": lambda t, f: _agree(
            jax.grad(lambda z: jnp.sum(jax.vmap(f)(z)))(z2(t)), twice(t)
        ),
        "linearize": lambda t, f: _agree(
            jax.linearize(f, jnp.asarray(t.z))[1](jnp.asarray(t.u)), t.gradient @ t.u
        ),
        "scan": lambda t, f: _agree(
            jax.grad(functools.partial(scanned, f))(jnp.asarray(t.z)), 2 * t.gradient
        ),
        "checkpoint": lambda t, f: _agree(
            jax.grad(jax.checkpoint(f))(jnp.asarray(t.z)), t.gradient
        ),
    }


def _torch() -> tuple[Callable[..., Any], dict[str, Check]]:
    torch: Any = importlib.import_module("torch")
    func = torch.func
    asarray = lambda x: torch.tensor(np.asarray(x))
    push = lambda f, z, u: func.jvp(f, (torch.as_tensor(z),), (torch.as_tensor(u),))[1]
    grad = lambda f: lambda z: func.grad(f)(torch.as_tensor(z))
    z2: Callable[[Trial], Any] = lambda t: torch.tensor(np.stack([t.z, t.z]))

    def backward(t: Trial, f: Callable[..., Any]) -> None:
        z = torch.tensor(t.z, requires_grad=True)
        (bar,) = torch.autograd.grad(f(z), z, create_graph=True)
        _agree(bar.detach(), t.gradient)
        if bar.requires_grad:
            (bar,) = torch.autograd.grad(torch.sum(bar * torch.tensor(t.u)), z)
            _agree(bar, t.curved)

    def compiled(t: Trial, f: Callable[..., Any]) -> None:
        torch.compiler.reset()
        # The compiler sees calls of what was exported: here of all that there is.
        function: Any = t.function(t.point.entry.f, asarray)
        exported = exporter("torch").export(function)
        whole = torch.compile(exported, fullgraph=True, backend="aot_eager")
        z = torch.tensor(t.z, requires_grad=True)
        (bar,) = torch.autograd.grad(whole(z, *function.constants), z)
        _agree(bar, t.gradient)

    checks: dict[str, Check] = {
        "double backward": backward,
        "vmap": lambda t, f: _agree(func.vmap(f)(z2(t)), [t.plain(t.z)] * 2),
        "vmap of grad": lambda t, f: _agree(func.vmap(func.grad(f))(z2(t)), [t.gradient] * 2),
        "jacrev": lambda t, f: _agree(func.jacrev(f)(torch.tensor(t.z)), t.gradient),
        "jacfwd": lambda t, f: _agree(func.jacfwd(f)(torch.tensor(t.z)), t.gradient),
        "hessian": lambda t, f: _agree(func.hessian(f)(torch.tensor(t.z)) @ t.u, t.curved),
        "compile": compiled,
    }
    return asarray, {**_orders(grad, push, asarray), **checks}


ENGINES: dict[str, Callable[[], tuple[Callable[..., Any], dict[str, Check]]]] = {
    "autograd": _autograd,
    "jax": _jax,
    "torch": _torch,
}
"""By engine: what makes its arrays, and its transformations."""


@functools.cache
def _engine(name: str) -> tuple[Any, Callable[..., Any], dict[str, Check]]:
    return exporter(name), *ENGINES[name]()


def columns(engine: str) -> Iterator[str]:
    """Yield the columns of the table for an engine."""
    yield from (f"{engine} {name}" for name in _engine(engine)[2])


def attempt(trial: Trial, engine: str, transformation: str) -> str:
    """Try one transformation by an engine, and return the cell of the table."""
    adapter, asarray, checks = _engine(engine)
    f = trial.function(adapter.export(trial.point.entry.f), asarray)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            checks[transformation](trial, f)
        except AssertionError:
            return "wrong"
        except Exception as error:
            return type(error).__name__
    return "yes"


def write(path: Path, engines: list[str], rules: list[str]) -> int:
    """Try rules, or all, with some of the engines; write the table, and give how many are not yes.

    What is not tried stays as it is. The table is written after each rule.
    """
    found: dict[str, dict[str, str]] = {point.name: {"rule": point.name} for point in points()}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            found |= {row["rule"]: row for row in csv.DictReader(file) if row["rule"] in found}
    others = 0
    for point in points():
        if rules and point.name not in rules:
            continue
        trial = Trial(point)
        for engine in engines:
            for column in columns(engine):
                answer = attempt(trial, engine, column.removeprefix(f"{engine} "))
                found[point.name][column] = answer
                others += answer != "yes"
        names = list(dict.fromkeys([name for row in found.values() for name in row]))
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, names, lineterminator="\n", restval="")
            writer.writeheader()
            writer.writerows(found.values())
    return others


if __name__ == "__main__":
    chosen = [name for name in sys.argv[2:] if name in ENGINES] or list(ENGINES)
    named = [name for name in sys.argv[2:] if name not in ENGINES]
    sys.stdout.write(f"{write(Path(sys.argv[1]), chosen, named)} cells are not yes\n")
