"""SciPy for traced values: the modules of `chainrules_scipy`, with SciPy's own as a fallback."""

from chainrules_autograd.scipy import integrate, linalg, signal, special, stats

__all__ = ["integrate", "linalg", "signal", "special", "stats"]
