"""ADBench's recurrent network, which foresees the letters of a text.

Srajer, Kukelova, Fitzgibbon (2018), A benchmark of selected algorithmic differentiation tools.
Each layer has four gates, whose weights are vectors: products are elementwise.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.others.other import Other

LETTERS, LAYERS = 14, 2


def layer(xp: Any, w: Any, b: Any, h: Any, c: Any, x: Any) -> tuple[Any, Any]:
    """Compute the next states of a layer, hidden and of the cell."""
    n = LETTERS
    forget = 1.0 / (1.0 + xp.exp(-(x * w[:n] + b[:n])))
    enter = 1.0 / (1.0 + xp.exp(-(h * w[n : 2 * n] + b[n : 2 * n])))
    leave = 1.0 / (1.0 + xp.exp(-(x * w[2 * n : 3 * n] + b[2 * n : 3 * n])))
    change = xp.tanh(h * w[3 * n :] + b[3 * n :])
    c = c * forget + enter * change
    return leave * xp.tanh(c), c


def step(
    xp: Any, main: Any, extra: Any, hs: list[Any], cs: list[Any], letter: Any, following: Any
) -> tuple[list[Any], list[Any], Any]:
    """Compute the next states of all layers, and how well the next letter was foreseen."""
    x, hs, cs = letter * extra[0], list(hs), list(cs)
    for i in range(LAYERS):
        hs[i], cs[i] = layer(xp, main[2 * i], main[2 * i + 1], hs[i], cs[i], x)
        x = hs[i]
    y = x * extra[1] + extra[2]
    return hs, cs, xp.sum(following * (y - xp.log(xp.sum(xp.exp(y)) + 2.0)))


def loss(xp: Any) -> Callable[..., Any]:
    """Build the cross-entropy of a text."""

    def loss(main: Any, extra: Any, state: Any, text: Any) -> Any:
        total = 0.0
        hs = [state[2 * i] for i in range(LAYERS)]
        cs = [state[2 * i + 1] for i in range(LAYERS)]
        for t in range(len(text) - 1):
            hs, cs, seen = step(xp, main, extra, hs, cs, text[t], text[t + 1])
            total = total + seen
        return -total / ((len(text) - 1) * LETTERS)

    return loss


def scanned(jax: Any) -> Callable[..., Any]:
    """Build the cross-entropy of a text, its loop a scan."""

    def loss(main: Any, extra: Any, state: Any, text: Any) -> Any:
        def body(carry: Any, letters: Any) -> Any:
            hs, cs, seen = step(jax.numpy, main, extra, *carry, *letters)
            return (hs, cs), seen

        start = list(state[::2]), list(state[1::2])
        _, seen = jax.lax.scan(body, start, (text[:-1], text[1:]))
        return -jax.numpy.sum(seen) / ((len(text) - 1) * LETTERS)

    return loss


def by_hand(main: Any, extra: Any, state: Any, text: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the cross-entropy and its gradient; the gates of a layer are one array."""
    n, total, kept = LETTERS, 0.0, []
    hs, cs = list(state[::2]), list(state[1::2])
    for t in range(len(text) - 1):
        letter = text[t]
        x = letter * extra[0]
        layers = []
        for i in range(LAYERS):
            into = np.concatenate((x, hs[i], x, hs[i]))
            z = into * main[2 * i] + main[2 * i + 1]
            s, g = 1.0 / (1.0 + np.exp(-z[: 3 * n])), np.tanh(z[3 * n :])
            before = cs[i]
            cs[i] = before * s[:n] + s[n : 2 * n] * g
            tan = np.tanh(cs[i])
            hs[i] = x = s[2 * n :] * tan
            layers.append((into, s, g, before, tan))
        y = x * extra[1] + extra[2]
        e = np.exp(y)
        normal = np.sum(e) + 2.0
        weight = np.sum(text[t + 1])
        total += text[t + 1] @ y - weight * np.log(normal)
        kept.append((layers, letter, x, text[t + 1] - e * (weight / normal)))
    scale = -1.0 / ((len(text) - 1) * n)
    main_bar, extra_bar = np.zeros_like(main), np.zeros_like(extra)
    h_bars, c_bars = np.zeros((LAYERS, n)), np.zeros((LAYERS, n))
    z_bar = np.empty(4 * n)
    for layers, letter, x, y_bar in reversed(kept):
        y_bar *= scale
        extra_bar[1] += y_bar * x
        extra_bar[2] += y_bar
        x_bar = y_bar * extra[1]
        for i in range(LAYERS - 1, -1, -1):
            into, s, g, before, tan = layers[i]
            h_bar = h_bars[i] + x_bar
            c_bar = c_bars[i] + h_bar * s[2 * n :] * (1.0 - tan * tan)
            z_bar[:n] = c_bar * before
            z_bar[n : 2 * n] = c_bar * g
            z_bar[2 * n : 3 * n] = h_bar * tan
            z_bar[: 3 * n] *= s * (1.0 - s)
            z_bar[3 * n :] = c_bar * s[n : 2 * n] * (1.0 - g * g)
            main_bar[2 * i] += z_bar * into
            main_bar[2 * i + 1] += z_bar
            into_bar = z_bar * main[2 * i]
            x_bar = into_bar[:n] + into_bar[2 * n : 3 * n]
            h_bars[i] = into_bar[n : 2 * n] + into_bar[3 * n :]
            c_bars[i] = c_bar * s[:n]
        extra_bar[0] += x_bar * letter
    return scale * total, (main_bar, extra_bar)


def inputs(length: int) -> tuple[Any, ...]:
    """Make weights, those of input and output, first states, and a text."""
    rng = np.random.default_rng(0)
    text = np.eye(LETTERS)[rng.integers(0, LETTERS, length)]
    main, extra = rng.normal(size=(2 * LAYERS, 4 * LETTERS)), rng.normal(size=(3, LETTERS))
    return main, extra, rng.normal(size=(2 * LAYERS, LETTERS)), text


LETTERS_FORESEEN = tuple(
    Other(
        f"adlstm_l2_c{length}",
        functools.partial(inputs, length),
        2,
        loss,
        by_hand,
        scanned=scanned,
        small=length == 10,
    )
    for length in (10, 100)
)
