"""Linear systems of ``scipy.signal``, in the numbers that describe them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.signal as native

from chainrules_py import NotDifferentiableError
from chainrules_py import vocabulary as v
from chainrules_scipy.following import follow
from chainrules_scipy.installing import place_constructor
from chainrules_scipy.rows import array_of, readable, stands_for
from chainrules_scipy.signal.followed import FOLLOWED


class _System:
    """What SciPy's ``lti`` and ``dlti`` are, of traced numbers: in the form of a state space."""

    _holds_traced = True

    def __init__(self, *system: Any, dt: Any = None) -> None:
        if len(system) == 4:
            matrices = tuple(np.atleast_2d(array_of(x)) for x in system)
        else:
            ratio = system if len(system) == 2 else FOLLOWED["zpk2tf"](*system)
            matrices = FOLLOWED["tf2ss"](*map(array_of, ratio))
        self.A, self.B, self.C, self.D = matrices
        self.given, self.dt = system, dt
        self.inputs, self.outputs = self.B.shape[-1], self.C.shape[0]

    def _as_ss(self) -> _System:
        return self

    def matrices(self) -> tuple[Any, ...]:
        """Return the state space."""
        return self.A, self.B, self.C, self.D

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
    if not isinstance(system, _System):
        system = _System(*(system if isinstance(system, tuple) else (system.num, system.den)))
    b, a = system.ratio()
    return np.reshape(array_of(b), (-1,)), array_of(a)


def _stepped(system: Any) -> _System:
    """Return a system of steps as people give it: a tuple whose last is the time of one."""
    if isinstance(system, native.dlti):
        found = system._as_ss()
        return _System(found.A, found.B, found.C, found.D, dt=found.dt)
    return system if isinstance(system, _System) else _System(*system[:-1], dt=system[-1])


_FORMS: dict[str, Any] = {"lti": _Systems(native.lti), "dlti": _Systems(native.dlti)}
lsim = follow(native.lsim, **_FORMS)
impulse = follow(native.impulse, **_FORMS, lsim=lsim)
step = follow(native.step, **_FORMS, lsim=lsim)
_dlsim = follow(native.dlsim, dlti=_FORMS["dlti"], StateSpace=_System)


@stands_for(native.dlsim)
def dlsim(system: Any, u: Any, t: Any = None, x0: Any = None) -> Any:
    """Simulate a system of steps, as ``scipy.signal.dlsim``."""
    made = _stepped(system)
    found = _dlsim((*made.matrices(), made.dt), u, t, x0)
    state_space = len(made.given) == 4 or isinstance(system, native.StateSpace)
    return found if state_space else found[:2]


def _responses(system: Any, x0: Any, t: Any, n: int | None, inputs: Any) -> Any:
    made, n = _stepped(system), 100 if n is None else n
    t = np.linspace(0, n * made.dt, n, endpoint=False) if t is None else np.asarray(t)
    shape, found, times = (t.shape[0], made.inputs), [], t
    for i in range(made.inputs):
        u = np.zeros(shape)
        u[:, i] = inputs(t)
        times, y, *_ = dlsim(made, u, t=t, x0=x0)
        found.append(y)
    return times, tuple(found)


@stands_for(native.dimpulse)
def dimpulse(system: Any, x0: Any = None, t: Any = None, n: int | None = None) -> Any:
    """Compute the response of a system of steps to an impulse, as ``scipy.signal.dimpulse``."""
    return _responses(system, x0, t, n, lambda t: np.arange(len(t)) == 0)


@stands_for(native.dstep)
def dstep(system: Any, x0: Any = None, t: Any = None, n: int | None = None) -> Any:
    """Compute the response of a system of steps to a step, as ``scipy.signal.dstep``."""
    return _responses(system, x0, t, n, np.ones_like)


def _places(w: Any, n: int) -> Any:
    """Return frequencies, or how many there are to be, as the functions of SciPy take either."""
    if w is None:
        return n
    try:
        return operator.index(readable(w))
    except TypeError:
        return array_of(w)


@stands_for(native.dfreqresp)
def dfreqresp(system: Any, w: Any = None, n: int = 10000, whole: bool = False) -> Any:
    """Compute a system's response to frequencies, as ``scipy.signal.dfreqresp``."""
    b, a = _given(_stepped(system))
    more = len(b) - len(a)
    b, a = (v.pad(x, 0.0, widths=((max(k, 0), 0),)) for x, k in ((b, -more), (a, more)))
    return FOLLOWED["freqz"](b, a, worN=_places(w, n), whole=whole)


@stands_for(native.dbode)
def dbode(system: Any, w: Any = None, n: int = 100) -> Any:
    """Compute size and phase of a system of steps, as ``scipy.signal.dbode``."""
    w, y = dfreqresp(system, w, n)
    phase = np.unwrap(np.angle(y)) * 180.0 / np.pi
    return w / _stepped(system).dt, 20.0 * np.log10(np.abs(y)), phase


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
    return FOLLOWED["freqs"](*_given(system), worN=_places(w, n))


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


class _Continuous(_System):
    """What ``scipy.signal.lti`` makes, of traced numbers."""

    def impulse(self, X0: Any = None, T: Any = None, N: Any = None) -> Any:
        return impulse(self.matrices(), X0, T, N)

    def step(self, X0: Any = None, T: Any = None, N: Any = None) -> Any:
        return step(self.matrices(), X0, T, N)

    def output(self, U: Any, T: Any, X0: Any = None) -> Any:
        return lsim(self.matrices(), U, T, X0)

    def freqresp(self, w: Any = None, n: int = 10000) -> Any:
        return freqresp(self, w, n)

    def bode(self, w: Any = None, n: int = 100) -> Any:
        return bode(self, w, n)


class _Discrete(_System):
    """What ``scipy.signal.dlti`` makes, of traced numbers."""

    def impulse(self, x0: Any = None, t: Any = None, n: Any = None) -> Any:
        return dimpulse(self, x0, t, n)

    def step(self, x0: Any = None, t: Any = None, n: Any = None) -> Any:
        return dstep(self, x0, t, n)

    def output(self, u: Any, t: Any, x0: Any = None) -> Any:
        return dlsim(self, u, t, x0)

    def freqresp(self, w: Any = None, n: int = 10000, whole: bool = False) -> Any:
        return dfreqresp(self, w, n, whole)

    def bode(self, w: Any = None, n: int = 100) -> Any:
        return dbode(self, w, n)


def _made(*system: Any, dt: Any = None) -> _System:
    return _Continuous(*system) if dt is None else _Discrete(*system, dt=dt)


def _of_steps(*system: Any, dt: Any = True) -> _System:
    return _Discrete(*system, dt=dt)


for _class in (native.TransferFunction, native.ZerosPolesGain, native.StateSpace, native.lti):
    place_constructor(_class, _made)
place_constructor(native.dlti, _of_steps)
