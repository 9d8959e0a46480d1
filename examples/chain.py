"""A hanging chain: derivatives of a constrained optimisation problem.

A chain of weights hangs where its energy is least among all positions that the lengths of its links
allow. With a multiplier for each link, which is its tension, that is a root: of the gradient of the
Lagrangian. So where the chain hangs can be differentiated in the lengths and in the weights,
however it was found; and lengths with which it hangs elsewhere are the root of a root.
"""

from __future__ import annotations

import numpy as np

from chainrules_py.composites.higher_order import root
from chainrules_tape import grad, value_and_grad

ENDS = np.array([[0.0, 0.0], [1.0, 0.2]])


def links(places):
    """From each joint to the next, the two ends included."""
    return np.diff(np.concatenate([ENDS[:1], places, ENDS[1:]]), axis=0)


def lagrangian(state, lengths, weights):
    """Add the energy of the weights and each link's length at the price of its tension."""
    energy = np.sum(weights * state["places"][:, 1])
    excess = np.sum(links(state["places"]) ** 2, axis=1) - lengths**2
    return energy + 0.5 * np.sum(state["tension"] / lengths * excess)


def hang(lengths, weights):
    """Where the weights come to rest, and the tension of each link."""
    count = len(lengths) - 1
    across = np.linspace(0.0, 1.0, count + 2)[1:-1]
    sag = np.sin(np.pi * across) * 0.4
    start = {
        "places": ENDS[0] + np.outer(across, ENDS[1] - ENDS[0]) - np.outer(sag, [0.0, 1.0]),
        "tension": np.ones(count + 1),
    }
    return root(grad(lagrangian), start, lengths, weights, max_steps=100)


def lengths_for(heights, total, weights):
    """Find the lengths of this total that hang the weights at these heights: a root of a root."""

    def missed(lengths):
        places = hang(lengths, weights)["places"]
        return np.concatenate([places[:, 1] - heights, [np.sum(lengths) - total]])

    count = len(heights) + 1
    return root(missed, np.full(count, total / count))


def drawn(places, rows=10, columns=60):
    """Draw the joints as text."""
    points = np.concatenate([ENDS[:1], places, ENDS[1:]])
    x, y = (points - points.min(axis=0)).T / np.ptp(points, axis=0)[:, None]
    canvas = [[" "] * columns for _ in range(rows)]
    for column, row in zip(x * (columns - 1), (1 - y) * (rows - 1), strict=True):
        canvas[round(row)][round(column)] = "o"
    return "\n".join("".join(row).rstrip() for row in canvas)


def main():
    """Hang a chain, differentiate where it hangs, and find another's lengths from where it does."""
    count = 8
    lengths, weights = np.full(count, 1.5 / count), np.linspace(1.0, 2.0, count - 1)
    state = hang(lengths, weights)
    print(drawn(state["places"]))

    def energy(lengths):
        return np.sum(weights * hang(lengths, weights)["places"][:, 1])

    value, slope = value_and_grad(energy)(lengths)
    print(f"\nenergy {value:.4f}")
    print("tension of the links              ", np.array2string(state["tension"], precision=3))
    print("what a longer link takes off of it", np.array2string(-slope, precision=3))

    uneven = lengths * (1 + 0.2 * np.cos(np.arange(count)))
    uneven *= np.sum(lengths) / np.sum(uneven)
    heights = hang(uneven, weights)["places"][:, 1]
    found = lengths_for(heights, np.sum(lengths), weights)
    print("\nlengths of another chain       ", np.array2string(uneven, precision=4))
    print("and as found from where it hangs", np.array2string(found, precision=4))
    print(drawn(hang(found, weights)["places"]))


if __name__ == "__main__":
    main()
