"""Whole programs, each written once for every engine, and by hand in NumPy with its gradient."""

from benchmarks.programs import dense, likelihood, mixture, recurrent, small
from benchmarks.programs.program import ENGINES, Program, engine

__all__ = ["ENGINES", "PROGRAMS", "Program", "engine"]

PROGRAMS: dict[str, Program] = {
    program.name: program
    for program in (
        dense.SMALL,
        dense.LARGE,
        dense.LOGISTIC,
        likelihood.CHOLESKY,
        recurrent.LSTM,
        mixture.GMM,
        small.ROSENBROCK,
        small.SLICES,
        small.FAN_OUT,
        small.SCALARS,
    )
}
"""The programs by their names."""
