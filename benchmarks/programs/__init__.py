"""Whole programs, each written once for every engine, and by hand in NumPy with its gradient."""

from benchmarks.programs import (
    camera,
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
from benchmarks.programs.program import COMPILERS, ENGINES, OURS, Program, engine, leaves

__all__ = ["COMPILERS", "ENGINES", "OURS", "PROGRAMS", "Program", "engine", "leaves"]

PROGRAMS: dict[str, Program] = {
    program.name: program
    for program in (
        many.CHAIN,
        many.TREE,
        small.ROSENBROCK,
        small.SCALARS,
        small.SLICES,
        many.GATHERS,
        dense.SMALL,
        recurrent.LSTM,
        likelihood.SMALL,
        camera.BUNDLE,
        mixture.SMALL,
        many.CHAIN_OF_THOUSANDS,
        dense.LOGISTIC,
        small.FAN_OUT,
        mixture.GMM,
        likelihood.CHOLESKY,
        dense.LARGE,
        statistics.POISSON,
        statistics.NEGATIVE_BINOMIAL,
        statistics.SOFTMAX,
        statistics.HINGE,
        statistics.COX,
        statistics.MIXED,
        statistics.VARIATIONAL,
        sequences.KALMAN,
        sequences.HIDDEN,
        sequences.REGULATOR,
        sequences.CART_POLE,
        sequences.HUNTERS,
        physics.BODIES,
        physics.ATOMS,
        physics.SPINS,
        physics.HEAT,
        physics.WAVES,
        physics.FLOW,
        nets.CONVOLUTION,
        nets.LETTERS,
        nets.HAND,
        nets.SINGLE,
        neighbours.UNUSED,
        neighbours.TURNS,
        neighbours.BRANCHES,
        neighbours.IN_PLACE,
        neighbours.DENSITY,
        neighbours.BAGS,
    )
}
"""The programs by their names; those of few elements first."""
