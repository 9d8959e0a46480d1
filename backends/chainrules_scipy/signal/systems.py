"""Linear systems of ``scipy.signal``, in the numbers that describe them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as native

from chainrules_py import NotDifferentiableError
from chainrules_scipy.following import follow
from chainrules_scipy.rows import array_of, readable, stands_for
from chainrules_scipy.signal.followed import FOLLOWED


class _System:
    """What SciPy's ``lti`` and ``dlti`` are, of traced numbers: in the form of a state space."""

    inputs = outputs = 1

    def __init__(self, *system: Any, dt: Any = None) -> None:
        if len(system) == 4:
            matrices = tuple(np.atleast_2d(array_of(x)) for x in system)
        else:
            ratio = system if len(system) == 2 else FOLLOWED["zpk2tf"](*system)
            matrices = FOLLOWED["tf2ss"](*map(array_of, ratio))
        self.A, self.B, self.C, self.D = matrices
        self.given, self.dt = system, dt

    def _as_ss(self) -> _System:
        return self

    def ratio(self) -> tuple[Any, Any]:
        """Return the coefficients of the transfer function."""
        if len(self.given) == 4:
            return FOLLOWED["ss2tf"](*self.given)  # type: ignore[no-any-return]
        return self.given if len(self.given) == 2 else FOLLOWED["zpk2tf"](*self.given)


class _Systems:
    """The class of systems, as SciPy's text asks for it and calls it."""

    def __init__(self, theirs: type) -> None:
        self.theirs = theirs

    def __call__(self, *system: Any, dt: Any = None) -> _System:
        return _System(*system, dt=dt)

    def __instancecheck__(self, x: Any) -> bool:
        return isinstance(x, self.theirs) or (isinstance(x, _System) and self.theirs is native.lti)


def _given(system: Any) -> tuple[Any, Any]:
    """Return numerator and denominator of a system as people give it."""
    made = system if isinstance(system, tuple) else (system.num, system.den)
    b, a = _System(*made).ratio()
    return np.reshape(array_of(b), (-1,)), array_of(a)


_FORMS: dict[str, Any] = {"lti": _Systems(native.lti), "dlti": _Systems(native.dlti)}
lsim = follow(native.lsim, **_FORMS)
impulse = follow(native.impulse, **_FORMS, lsim=lsim)
step = follow(native.step, **_FORMS, lsim=lsim)
dlsim = follow(native.dlsim, dlti=_FORMS["dlti"], StateSpace=_System)
cont2discrete = follow(native.cont2discrete)


def _simple(p: Any, tol: float = 1e-3, rtype: str = "min") -> tuple[Any, Any]:
    """Return roots that are all different, as ``unique_roots`` does."""
    near = np.abs(readable(p)[:, None] - readable(p)) + 2 * tol * np.eye(len(p))
    if np.min(near, initial=np.inf) <= tol:
        msg = "residues at a pole of a higher order have no derivative: such a pole falls apart"
        raise NotDifferentiableError(msg)
    return p, np.ones(len(p), int)


residue = follow(native.residue, unique_roots=_simple)


@stands_for(native.freqresp)
def freqresp(system: Any, w: Any = None, n: int = 10000) -> Any:
    """Compute the response to frequencies, as ``scipy.signal.freqresp``."""
    return FOLLOWED["freqs"](*_given(system), worN=n if w is None else array_of(w))


@stands_for(native.bode)
def bode(system: Any, w: Any = None, n: int = 100) -> Any:
    """Compute size and phase of the response, as ``scipy.signal.bode``."""
    w, y = freqresp(system, w, n)
    return w, 20.0 * np.log10(np.abs(y)), np.unwrap(np.angle(y)) * 180.0 / np.pi


@stands_for(native.bilinear)
def bilinear(b: Any, a: Any, fs: Any = 1.0) -> Any:
    """Transform a filter of time into one of steps, as ``scipy.signal.bilinear``."""
    b, a = np.atleast_1d(array_of(b)), np.atleast_1d(array_of(a))
    n, two = max(len(a), len(b)) - 1, 2.0 * array_of(fs)
    plus, minus = np.polynomial.Polynomial((1, 1)), np.polynomial.Polynomial((-1, 1))
    powers = np.stack([(plus ** (n - k) * minus**k).coef[::-1] for k in range(n + 1)])
    weights = [two ** np.arange(len(x)) * x[::-1] for x in (b, a)]
    b, a = (w @ powers[: len(w)] for w in weights)
    return FOLLOWED["normalize"](b, a)
