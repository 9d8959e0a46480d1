"""Programs of physics: bodies, atoms, spins, heat, waves and flow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.programs.program import Program

# ---------------------------------------------------------------------------------- bodies

TURNS, DT, SOFT = 5, 0.01, 0.1


def bodies(xp: Any) -> Callable[..., Any]:
    """Build how far bodies that attract one another have come, and how fast they are."""

    def loss(x: Any, v: Any, m: Any) -> Any:
        for _ in range(TURNS):
            d = x[None] - x[:, None]
            r2 = xp.sum(d * d, 2) + SOFT
            w = m / (r2 * xp.sqrt(r2))
            v = v + DT * xp.sum(d * w[:, :, None], 1)
            x = x + DT * v
        return xp.sum(x * x) + xp.sum(v * v)

    return loss


def bodies_by_hand(x: Any, v: Any, m: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute where bodies have come and the gradient in where they began."""
    kept = []
    for _ in range(TURNS):
        d = x[None] - x[:, None]
        r2 = np.sum(d * d, 2) + SOFT
        w = m / (r2 * np.sqrt(r2))
        kept.append((d, r2, w))
        v = v + DT * np.sum(d * w[:, :, None], 1)
        x = x + DT * v
    x_bar, v_bar = 2.0 * x, 2.0 * v
    for d, r2, w in reversed(kept):
        v_bar = v_bar + DT * x_bar
        a_bar = (DT * v_bar)[:, None]
        r2_bar = -3.0 * np.sum(d * a_bar, 2) * w / r2
        d_bar = a_bar * w[:, :, None] + d * r2_bar[:, :, None]
        x_bar = x_bar + np.sum(d_bar, 0) - np.sum(d_bar, 1)
    return np.sum(x * x) + np.sum(v * v), (x_bar, v_bar)


def bodies_inputs() -> tuple[Any, ...]:
    """Places, velocities, masses."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(20, 3)), rng.normal(size=(20, 3)), rng.uniform(0.5, 1.0, size=20)


# ----------------------------------------------------------------------------------- atoms


def atoms(xp: Any) -> Callable[..., Any]:
    """Build the energy of atoms after Lennard and Jones, by pairs."""

    def loss(x: Any, first: Any, second: Any) -> Any:
        d = x[first] - x[second]
        s = (1.0 / xp.sum(d * d, 1)) ** 3
        return 4.0 * xp.sum(s * s - s)

    return loss


def atoms_by_hand(x: Any, first: Any, second: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the energy of atoms and its gradient."""
    d = x[first] - x[second]
    u = 1.0 / np.sum(d * d, 1)
    s = u**3
    d_bar = d * (24.0 * (s - 2.0 * s * s) * u)[:, None]
    x_bar = np.zeros_like(x)
    np.add.at(x_bar, first, d_bar)
    np.subtract.at(x_bar, second, d_bar)
    return 4.0 * np.sum(s * s - s), (x_bar,)


def atoms_inputs() -> tuple[Any, ...]:
    """Atoms near a grid, and all pairs of them."""
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(*[np.arange(4.0)] * 3), axis=-1).reshape(-1, 3)
    return 1.2 * grid + 0.05 * rng.normal(size=grid.shape), *np.triu_indices(64, 1)


# ----------------------------------------------------------------------------------- spins


def spins(xp: Any) -> Callable[..., Any]:
    """Build the energy of spins in their mean field, after so many turns."""

    def loss(j: Any, h: Any) -> Any:
        m = xp.tanh(h)
        for _ in range(30):
            m = xp.tanh(0.5 * (j @ m + h))
        return -0.5 * (m @ (j @ m)) - h @ m

    return loss


def spins_by_hand(j: Any, h: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the energy of spins and its gradient."""
    ms = [np.tanh(h)]
    for _ in range(30):
        ms.append(np.tanh(0.5 * (j @ ms[-1] + h)))
    m = ms[-1]
    jm = j @ m
    value = -0.5 * (m @ jm) - h @ m
    m_bar = -0.5 * (jm + m @ j) - h
    j_bar, h_bar = -0.5 * m[:, None] * m, -m
    for before, m in zip(ms[-2::-1], ms[:0:-1], strict=True):
        z_bar = 0.5 * m_bar * (1.0 - m * m)
        j_bar += z_bar[:, None] * before
        h_bar = h_bar + z_bar
        m_bar = z_bar @ j
    m = ms[0]
    return value, (j_bar, h_bar + m_bar * (1.0 - m * m))


def spins_inputs() -> tuple[Any, ...]:
    """Couplings, and the field."""
    rng = np.random.default_rng(0)
    return 0.1 * rng.normal(size=(40, 40)), 0.3 * rng.normal(size=40)


# --------------------------------------------------------------------------- heat and waves


def heat(xp: Any) -> Callable[..., Any]:
    """Build the misfit of temperatures on a ring, in how well it conducts."""

    def loss(a: Any, u: Any, wanted: Any) -> Any:
        for _ in range(100):
            flux = a * (xp.roll(u, -1) - u)
            u = u + 0.2 * (flux - xp.roll(flux, 1))
        return xp.sum((u - wanted) ** 2)

    return loss


def heat_scanned(jax: Any) -> Callable[..., Any]:
    """Build the same misfit, the loop over the steps a scan."""
    xp = jax.numpy

    def loss(a: Any, u: Any, wanted: Any) -> Any:
        def step(u: Any, _: None) -> tuple[Any, None]:
            flux = a * (xp.roll(u, -1) - u)
            return u + 0.2 * (flux - xp.roll(flux, 1)), None

        u, _ = jax.lax.scan(step, u, None, length=100)
        return xp.sum((u - wanted) ** 2)

    return loss


def heat_by_hand(a: Any, u: Any, wanted: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the misfit of temperatures and its gradient."""
    kept = []
    for _ in range(100):
        d = np.roll(u, -1) - u
        kept.append(d)
        flux = a * d
        u = u + 0.2 * (flux - np.roll(flux, 1))
    off = u - wanted
    a_bar, u_bar = np.zeros_like(a), 2.0 * off
    for d in reversed(kept):
        flux_bar = 0.2 * (u_bar - np.roll(u_bar, -1))
        a_bar += flux_bar * d
        d_bar = flux_bar * a
        u_bar = u_bar + np.roll(d_bar, 1) - d_bar
    return np.sum(off**2), (a_bar,)


def heat_inputs() -> tuple[Any, ...]:
    """How well the ring conducts, and temperatures at first and at last."""
    rng = np.random.default_rng(0)
    return rng.uniform(0.2, 1.0, size=200), rng.normal(size=200), np.zeros(200)


def around(u: Any, roll: Any) -> Any:
    """Compute by how much the mean of the four neighbours is above, times four."""
    return roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) - 4.0 * u


def waves(xp: Any) -> Callable[..., Any]:
    """Build the energy of a wave in a part of a torus, in the squares of its speed."""

    def loss(c: Any, u: Any, mask: Any) -> Any:
        before = u
        for _ in range(30):
            before, u = u, 2.0 * u - before + c * around(u, xp.roll)
        return xp.sum(mask * u * u)

    return loss


def waves_by_hand(c: Any, u: Any, mask: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the energy of a wave and its gradient."""
    before, kept = u, []
    for _ in range(30):
        bent = around(u, np.roll)
        kept.append(bent)
        before, u = u, 2.0 * u - before + c * bent
    masked = mask * u
    c_bar, before_bar, u_bar = np.zeros_like(c), np.zeros_like(u), 2.0 * masked
    for bent in reversed(kept):
        c_bar += u_bar * bent
        u_bar, before_bar = 2.0 * u_bar + around(u_bar * c, np.roll) + before_bar, -u_bar
    return np.sum(masked * u), (c_bar,)


def waves_inputs() -> tuple[Any, ...]:
    """Squares of the speed, the wave at first, and where it is looked at."""
    rng = np.random.default_rng(0)
    x = np.linspace(-3.0, 3.0, 48)
    u = np.exp(-(x[:, None] ** 2) - x**2)
    return rng.uniform(0.1, 0.3, size=(48, 48)), u, (rng.uniform(size=(48, 48)) < 0.2) * 1.0


# ------------------------------------------------------------------------------------ flow


def along(u: Any, axis: int, roll: Any) -> Any:
    """Compute the slope along an axis of a torus."""
    return 0.5 * (roll(u, -1, axis) - roll(u, 1, axis))


def flow(xp: Any) -> Callable[..., Any]:
    """Build the misfit of a viscous flow after Burgers, in the flow at first."""

    def loss(u: Any, v: Any, wanted: Any) -> Any:
        roll = xp.roll
        for _ in range(10):
            u, v = (
                u - 0.1 * (u * along(u, 0, roll) + v * along(u, 1, roll)) + 0.05 * around(u, roll),
                v - 0.1 * (u * along(v, 0, roll) + v * along(v, 1, roll)) + 0.05 * around(v, roll),
            )
        return xp.sum((u - wanted) ** 2) + xp.sum(v * v)

    return loss


def flow_by_hand(u: Any, v: Any, wanted: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the misfit of a viscous flow and its gradient."""
    roll, kept = np.roll, []
    for _ in range(10):
        slopes = [along(w, axis, roll) for w in (u, v) for axis in (0, 1)]
        kept.append((u, v, *slopes))
        ux, uy, vx, vy = slopes
        u, v = (
            u - 0.1 * (u * ux + v * uy) + 0.05 * around(u, roll),
            v - 0.1 * (u * vx + v * vy) + 0.05 * around(v, roll),
        )
    off = u - wanted
    value = np.sum(off**2) + np.sum(v * v)
    p, q = 2.0 * off, 2.0 * v
    for u, v, ux, uy, vx, vy in reversed(kept):
        a, b = -0.1 * p, -0.1 * q
        p, q = (
            p
            + 0.05 * around(p, roll)
            + a * ux
            + b * vx
            - along(a * u, 0, roll)
            - along(a * v, 1, roll),
            q
            + 0.05 * around(q, roll)
            + a * uy
            + b * vy
            - along(b * u, 0, roll)
            - along(b * v, 1, roll),
        )
    return value, (p, q)


def flow_inputs() -> tuple[Any, ...]:
    """Make the flow in two directions at first, and as it is wanted."""
    rng = np.random.default_rng(0)
    u, v = 0.3 * rng.normal(size=(2, 40, 40))
    return u, v, np.sin(np.linspace(0.0, 6.0, 40))[:, None] * np.ones(40)


BODIES = Program("20 bodies, 5 steps", bodies_inputs, 2, bodies, bodies_by_hand, 3, 2, 1200)
ATOMS = Program("Lennard-Jones, 64 atoms", atoms_inputs, 1, atoms, atoms_by_hand, 2, 1.5, 6048)
SPINS = Program("mean field of 40 spins", spins_inputs, 2, spins, spins_by_hand, 3, 2, 1600)
HEAT = Program(
    "heat on a ring of 200, 100 steps",
    heat_inputs,
    1,
    heat,
    heat_by_hand,
    3,
    2,
    200,
    scanned=heat_scanned,
)
WAVES = Program("waves on 48 x 48, 30 steps", waves_inputs, 1, waves, waves_by_hand, 2, 1.5, 2304)
FLOW = Program(
    "Burgers flow on 40 x 40, 10 steps", flow_inputs, 2, flow, flow_by_hand, 2, 1.5, 1600
)
