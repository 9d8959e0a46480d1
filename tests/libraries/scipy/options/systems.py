"""Calls of linear systems of ``scipy.signal``: every form, real and complex, of both precisions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.signal

from tests.libraries.scipy.options.judge import Call

theirs: Any = scipy.signal
T = np.linspace(0.0, 3.0, 12)
U = np.sin(T)
W = np.array([0.3, 1.0, 2.0])
_A = np.array([[-0.5, 0.2], [0.1, -0.7]])
_SEVERAL = np.random.default_rng(5).standard_normal((8, 2))
FORMS: dict[str, tuple[Any, ...]] = {
    "ratio": (np.array([1.0, 0.5]), np.array([1.0, 0.6, 0.4])),
    "equal poles": (np.array([1.0]), np.array([1.0, 2.0, 1.0])),
    "complex ratio": (np.array([1.0, 0.5 + 0.2j]), np.array([1.0, 0.6 - 0.1j, 0.4 + 0.3j])),
    "roots": (np.array([0.3]), np.array([-0.5, -0.2]), np.array(1.5)),
    "pairs": (np.array([0.3]), np.array([-0.5 + 0.3j, -0.5 - 0.3j]), np.array(1.5)),
    "matrices": (_A, np.array([[1.0], [0.5]]), np.array([[0.3, 0.6]]), np.array([[0.1]])),
    "complex": (_A + 0.1j, np.array([[1.0 + 0.1j], [0.5]]), np.array([[0.3, 0.6j]]), np.eye(1)),
    "several": (_A, _SEVERAL[:2], _SEVERAL[2:5], _SEVERAL[5:]),
}


def _matrices(system: Any) -> Any:
    return [system.A, system.B, system.C, system.D]


OF_TIME: dict[str, Any] = {
    "bode": lambda q: theirs.bode(q, W),
    "bode n": lambda q: theirs.bode(q, n=9),
    "freqresp": lambda q: theirs.freqresp(q, W),
    "freqresp 5": lambda q: theirs.freqresp(q, 5),
    "lsim": lambda q: theirs.lsim(q, U, T),
    "lsim X0": lambda q: theirs.lsim(q, U, T, X0=[0.1, 0.2], interp=False),
    "impulse": lambda q: theirs.impulse(q),
    "impulse T": lambda q: theirs.impulse(q, T=T),
    "step": lambda q: theirs.step(q, T=T),
    "cont2discrete": lambda q: theirs.cont2discrete(q, 0.1),
    "cont2discrete bilinear": lambda q: theirs.cont2discrete(q, 0.1, "bilinear"),
}
OF_STEPS: dict[str, Any] = {
    "dbode": lambda q: theirs.dbode(q, W),
    "dbode n": lambda q: theirs.dbode(q, n=9),
    "dfreqresp": lambda q: theirs.dfreqresp(q, W),
    "dfreqresp whole": lambda q: theirs.dfreqresp(q, n=7, whole=True),
    "dlsim": lambda q: theirs.dlsim(q, U),
    "dlsim t": lambda q: theirs.dlsim(q, U, T, x0=[0.1, 0.2]),
    "dimpulse": lambda q: theirs.dimpulse(q, n=5),
    "dstep": lambda q: theirs.dstep(q, t=[0.0, 0.1, 0.2, 0.3]),
}
OF_BOTH: dict[str, Any] = {
    "own": lambda q: [x for _, x in sorted(vars(q).items()) if x is not None],
    "ratio": lambda q: [q.to_tf().num, q.to_tf().den],
    "poles": lambda q: [np.sum(q.poles**2), np.sum(q.zeros**2), q.to_zpk().gain],
    "matrices": lambda q: _matrices(q.to_ss()),
    "converted": lambda q: [
        theirs.TransferFunction(q).den,
        np.prod(theirs.ZerosPolesGain(q).poles),
        theirs.StateSpace(q).A,
    ],
    "kinds": lambda q: [isinstance(q, k) for k in (theirs.lti, theirs.dlti, theirs.StateSpace)],
    "bode": lambda q: q.bode(W),
    "freqresp": lambda q: q.freqresp(W),
    "impulse": lambda q: q.impulse(),
    "step": lambda q: q.step(),
}
_PLAIN = FORMS["matrices"]
SUMS: dict[str, Any] = {
    "p + q": lambda p, q: p + q,
    "q + p": lambda p, q: q + p,
    "p - q": lambda p, q: p - q,
    "q - p": lambda p, q: q - p,
    "p * q": lambda p, q: p * q,
    "q * p": lambda p, q: q * p,
    "-q": lambda _, q: -q,
    "2 * q / 3 + 1": lambda _, q: 2.0 * q / 3.0 + 1.0,
    "q * t": lambda p, q: p * q.A[0, 0] + q.D,
}


def _held(f: Any, *how: Any) -> Any:
    return lambda *q: f((*q, *how))


def systems() -> Iterator[Call]:
    """Go through forms of systems, and what is asked of them, as tuples and as objects."""
    for (form, double), is_single in itertools.product(FORMS.items(), (False, True)):
        of = f"{form} {'single' if is_single else 'double'}"
        xs = tuple(_single(x) for x in double) if is_single else double
        how: dict[str, Any] = {"tolerance": 3e-4 if is_single else 1e-9}

        def made(name: str, f: Any, of: str = of, xs: Any = xs, how: Any = how) -> Call:
            return Call(f"{of} {name}", f, xs, **how)

        for name, f in OF_TIME.items():
            yield made(f"{name} tuple", _held(f))
            yield made(name, lambda *q, f=f: f(theirs.lti(*q)))
        for name, f in OF_STEPS.items():
            yield made(f"{name} tuple", _held(f, 0.1))
            yield made(name, lambda *q, f=f: f(theirs.dlti(*q, dt=0.1)))
        for name, f in OF_BOTH.items():
            yield made(f"lti.{name}", lambda *q, f=f: f(theirs.lti(*q)))
            yield made(f"dlti.{name}", lambda *q, f=f: f(theirs.dlti(*q, dt=0.1)))
        yield made("lti.output", lambda *q: theirs.lti(*q).output(U, T))
        yield made("lti.to_discrete", lambda *q: _matrices(theirs.lti(*q).to_discrete(0.1).to_ss()))
        yield made("dlti.output", lambda *q: theirs.dlti(*q, dt=0.1).output(U, None))
        if form in ("matrices", "complex"):
            for name, f in SUMS.items():
                for dt in (None, 0.1):
                    yield made(f"{name} {dt}", lambda *q, f=f, dt=dt: _matrices(_both(f, q, dt)))


def _both(f: Any, q: Any, dt: Any) -> Any:
    return f(theirs.StateSpace(*_PLAIN, dt=dt), theirs.StateSpace(*q, dt=dt))


def _single(x: Any) -> Any:
    return x.astype(np.complex64 if x.dtype.kind == "c" else np.float32)


def inputs() -> Iterator[Call]:
    """Go through plain systems with inputs, states and times that are traced."""
    for form, xs in FORMS.items():
        if len(theirs.lti(*xs).to_ss().A) != 2 or form == "several":
            continue
        for x0 in (None, np.array([0.1, 0.2])):
            for name, of in (("lti", theirs.lti(*xs)), ("dlti", theirs.dlti(*xs, dt=0.1))):
                how = {"X0" if name == "lti" else "x0": x0}
                call = lambda u, s=of, h=how: s.output(u, T, **h)
                yield Call(f"{form} {name}.output", call, (U,))
        yield Call(f"{form} state", lambda z, s=xs: theirs.lti(*s).output(U, T, X0=z), (U[1:3],))
        for name in ("bode", "freqresp"):
            yield Call(f"{form} {name} w", lambda w, s=xs, f=name: getattr(theirs, f)(s, w), (W,))
            yield Call(
                f"{form} d{name} w",
                lambda w, s=xs, f=name: getattr(theirs, f"d{f}")((*s, 0.1), w),
                (W,),
            )


ALL = (systems, inputs)
