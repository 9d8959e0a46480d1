"""Linear systems of ``scipy.signal``, in the numbers that describe them: SciPy's own text."""

from __future__ import annotations

import copy
import operator
from typing import Any

import numpy as np
import scipy.signal as native

from chainrules_py.extend import Tracer, kind_of, varies
from chainrules_scipy._private import common_base
from chainrules_scipy.following import follow, follow_class, followed_class, numpy_with
from chainrules_scipy.recorded import HOLDS
from chainrules_scipy.rows import array_of, readable, reject, stands_for
from chainrules_scipy.signal.followed import FOLLOWED, with_all_powers

_LINEAR = common_base(native.lti, native.dlti)


def _concrete(name: str, kind: type) -> Any:
    """Return the class of the systems that are given so, continuous or discrete ones."""
    return next(c for c in getattr(native, name).__subclasses__() if issubclass(c, kind))


def _system(made: type, *system: Any, **how: Any) -> Any:
    """Make a system of the class that SciPy's ``__new__`` chooses, of which copies are made."""
    name = made.__name__
    if len(system) == 1 and isinstance(system[0], _LINEAR):
        return getattr(system[0], _CONVERSIONS[name])()
    is_discrete = name == "dlti" or how.get("dt") is not None
    if name in ("lti", "dlti"):
        if len(system) not in (2, 3, 4):
            reject(
                f"`system` needs to be an instance of `{name}` or have 2, 3 or 4 arguments.",
                ValueError,
            )
        name = tuple(_CONVERSIONS)[len(system) - 2]
    return object.__new__(
        followed_class(_concrete(name, native.dlti if is_discrete else native.lti))
    )


def _is_one(_: Any, other: Any) -> bool:
    """Tell what a state space may be added to, or multiplied with."""
    kinds = (native.StateSpace, np.ndarray, np.number, float, complex, int, Tracer)
    return isinstance(other, kinds)


def _class(x: Any) -> type:
    """Return the class of a system, which is SciPy's also where its numbers are traced."""
    return next(c for c in type(x).__mro__ if HOLDS not in vars(c))


def _added(self: Any, other: Any) -> Any:
    """Add to what is no system; a system adds this one itself, and its states come first."""
    return NotImplemented if isinstance(other, native.StateSpace) else self + other


def _subtracted(self: Any, other: Any) -> Any:
    return NotImplemented if isinstance(other, native.StateSpace) else -self + other


class _Copying:
    """The module ``copy``: what is traced stays the same in a copy of a system."""

    deepcopy = staticmethod(copy.copy)


_CONVERSIONS = {"TransferFunction": "to_tf", "ZerosPolesGain": "to_zpk", "StateSpace": "to_ss"}
_BINARY = ("__add__", "__sub__", "__mul__", "__truediv__", "__radd__", "__rsub__", "__rmul__")
_METHODS = ("impulse", "step", "output", "bode", "freqresp")
for _cls in (native.lti, native.dlti):
    follow_class(_cls, *_METHODS, __new__=_system)
for _name in _CONVERSIONS:
    _own: dict[str, Any] = {"copy": _Copying, "__new__": _system}
    if _name == "TransferFunction":
        _own |= {"normalize": with_all_powers}
    if _name == "StateSpace":
        _own |= {"type": _class, "_check_binop_other": _is_one}
        _own |= {"__radd__": _added, "__rsub__": _subtracted}
    follow_class(getattr(native, _name), *(_BINARY if _name == "StateSpace" else ()), **_own)
    for _kind in (native.lti, native.dlti):
        follow_class(_concrete(_name, _kind))

# An input of zeros that may move is one: SciPy would leave it out.
_any = numpy_with(any=lambda x: (np.ndim(x) > 0 and varies(x)) or bool(np.any(x)))
lsim = follow(native.lsim, np=_any)
impulse, step = follow(native.impulse), follow(native.step)
dlsim, dimpulse, dstep = follow(native.dlsim), follow(native.dimpulse), follow(native.dstep)
bode, dbode, dfreqresp = follow(native.bode), follow(native.dbode), follow(native.dfreqresp)
_freqresp = follow(native.freqresp)


@stands_for(native.freqresp)
def freqresp(system: Any, w: Any = None, n: int = 10000) -> Any:
    """Compute the response to frequencies, as ``scipy.signal.freqresp``.

    Of coefficients it is that of their ratio: roots have no derivative where they are equal.
    """
    if isinstance(system, _concrete("StateSpace", native.lti)):
        return freqresp((system.A, system.B, system.C, system.D), w, n)
    if not isinstance(system, _LINEAR) and len(system) in (2, 4):
        ratio = followed_class(native.lti)(*system)._as_tf()
        if kind_of(ratio.num) == kind_of(ratio.den) == "real":  # of complex ones SciPy
            system = ratio  # leaves out the imaginary part of the gain
    return _freqresp(system, w, n)


cont2discrete = follow(native.cont2discrete)


def _simple(p: Any, tol: float = 1e-3, rtype: str = "min") -> tuple[Any, Any]:
    """Return roots that are all different, as ``unique_roots`` does."""
    near = np.abs(readable(p)[:, None] - readable(p)) + 2 * tol * np.eye(len(p))
    if np.min(near, initial=np.inf) <= tol:
        reject("residues at a pole of a higher order have no derivative: such a pole falls apart")
    return p, np.ones(len(p), int)


def _leaving_out_none(x: Any, trim: Any) -> Any:
    """Leave out zeros; those that vary have derivatives, also of what is not there then."""
    kept = np.trim_zeros(x, trim)
    if varies(x) and kept.shape != x.shape:
        reject("residues of coefficients that are zero at the end have no derivative in these")
    return kept


_whole = numpy_with(trim_zeros=_leaving_out_none)
residue = follow(native.residue, np=_whole, unique_roots=_simple)
residuez = follow(native.residuez, np=_whole, unique_roots=_simple)
_alike = numpy_with(**dict.fromkeys(("max", "min", "mean"), operator.itemgetter(0)))
invres, invresz = (follow(f, np=_alike) for f in (native.invres, native.invresz))


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
