"""By its name the best NumPy that one can write for a program, where that is another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.programs import (
    best,
    best_nets,
    dense,
    likelihood,
    many,
    mixture,
    neighbours,
    nets,
    physics,
    recurrent,
    sequences,
    small,
    statistics,
)
from benchmarks.programs import best_in_time as in_time
from benchmarks.programs.program import Program

_OF: tuple[tuple[Program, Callable[..., Any]], ...] = (
    (many.CHAIN, best.chain(1000)),
    (many.CHAIN_OF_THOUSANDS, best.chain(300)),
    (many.TREE, best.tree),
    (many.GATHERS, best.gathers),
    (small.ROSENBROCK, best.rosenbrock),
    (small.SCALARS, best.scalars),
    (small.SLICES, best.slices),
    (small.FAN_OUT, best.uses),
    (dense.SMALL, best.perceptron),
    (dense.LARGE, best.perceptron),
    (dense.LOGISTIC, best.logistic),
    (likelihood.SMALL, best.likelihood),
    (likelihood.CHOLESKY, best.likelihood),
    (mixture.SMALL, best_nets.mixture),
    (mixture.GMM, best_nets.mixture),
    (statistics.POISSON, best.poisson),
    (statistics.NEGATIVE_BINOMIAL, best.negative_binomial),
    (statistics.SOFTMAX, best.softmax),
    (statistics.HINGE, best.hinge),
    (statistics.COX, best.cox),
    (statistics.MIXED, best.mixed),
    (statistics.VARIATIONAL, best.variational),
    (recurrent.LSTM, best_nets.lstm),
    (sequences.KALMAN, in_time.kalman),
    (sequences.HIDDEN, in_time.hidden),
    (sequences.REGULATOR, in_time.regulator),
    (sequences.CART_POLE, in_time.cart_pole),
    (sequences.HUNTERS, in_time.hunters),
    (physics.BODIES, in_time.bodies),
    (physics.ATOMS, in_time.atoms),
    (physics.SPINS, in_time.spins),
    (physics.HEAT, in_time.heat),
    (nets.CONVOLUTION, best_nets.convolution),
    (nets.LETTERS, best_nets.letters),
    (nets.HAND, best_nets.hand),
    (nets.SINGLE, best_nets.single),
    (neighbours.UNUSED, best.unused),
    (neighbours.TURNS, in_time.turns),
    (neighbours.BRANCHES, best.branches),
    (neighbours.IN_PLACE, best.written),
    (neighbours.DENSITY, best.density),
    (neighbours.BAGS, best.bags),
)
BEST = {program.name: f for program, f in _OF}
