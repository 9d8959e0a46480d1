"""SciPy, of traced values: the modules of `chainrules_scipy`, and below them SciPy's own."""

from chainrules_autograd.scipy import integrate, linalg, signal, special, stats

__all__ = ["integrate", "linalg", "signal", "special", "stats"]
