"""No false alarm over all operations, whatever the draw; and what a check costs."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import LinearMap, Primitive, ZeroTangent, ops, primitive, rrule, rule
from chainrules_py import ops as v
from chainrules_py.testing import RuleCheckError, backend, check_rule
from chainrules_py.testing.cases.calls_from_samples import instances
from chainrules_tape import vjp

OPERATIONS = sorted(
    (w for w in vars(ops).values() if isinstance(w, Primitive)), key=lambda w: w.__name__
)
INSTANCES = [instance for operation in OPERATIONS for instance in instances(operation)]
LONG = "logm", "minimize", "odeint"
"""Operations of which one call takes so long that they are judged at night alone."""
QUICK = [instance for instance in INSTANCES if instance.operation.__name__ not in LONG]


def check(instance, seed):
    operands, options = instance.build(backend("numpy"), seed)
    settings = {"gauge": instance.sample.gauge, "smooth": instance.sample.smooth, "seed": seed}
    return check_rule(instance.operation, *operands, **settings, **options)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
def test_no_false_alarm(operation, seed):
    for instance in instances(operation):
        assert check(instance, seed).passed


@pytest.mark.parametrize("seed", range(20))
def test_no_false_alarm_on_some_samples(seed):
    """Other samples with each seed, so that twenty seeds see a good part of them."""
    for instance in QUICK[seed::640]:
        assert check(instance, seed).passed


RNG = np.random.default_rng(0)
REAL, COMPLEX = RNG.normal(size=(4, 3, 3)), RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4))
SYMMETRIC = REAL + np.swapaxes(REAL, 1, 2)
HERMITIAN = COMPLEX[:, :3] + COMPLEX[:, :3].conj().T


@primitive
def triangle(x, *, mode="upper"):
    return np.triu(x) if mode == "upper" else np.tril(x)


@rule(triangle)
def triangle_rule(x, *, mode="upper"):
    part = {"upper": v.triu, "lower": v.tril}[mode]
    return part(x), (LinearMap(part, part),)


@primitive
def entry(p):
    return p["a"]


@rule(entry)
def entry_rule(p: dict):
    return p["a"], (LinearMap(lambda t: t["a"], lambda c: {"a": c, "b": ZeroTangent()}),)


class Labelled(np.ndarray):
    """A subclass of NumPy's arrays that a rule may be for."""


@primitive
def labelled_sin(x):
    return np.sin(x)


@rule(labelled_sin)
def labelled_sin_rule(x: Labelled):
    return np.sin(x), (LinearMap(lambda t: np.cos(x) * t, lambda c: np.cos(x) * c),)


RIGHT = {
    # LAPACK makes finite eigenvalues of two by two with a NaN.
    "a power, NaN beside a negative base": lambda: check_rule(np.power, 2.0, 3.0),
    "eigvalsh": lambda: check_rule(np.linalg.eigvalsh, SYMMETRIC[:, :2, :2]),
    "interp": lambda: check_rule(np.interp, REAL[0, 0] + 1.0, np.arange(4.0), COMPLEX[0]),
    "large log_softmax": lambda: check_rule(v.log_softmax, 300 * COMPLEX, axis=-1),
    # Where a number on the diagonal is real its reflector is none, and jumps.
    "qr_raw": lambda: check_rule(v.qr_raw, COMPLEX[:, :3]),
    "wide qr_raw": lambda: check_rule(v.qr_raw, COMPLEX),
    "pinv": lambda: check_rule(v.pinv, HERMITIAN, hermitian=True),
    "an infinity": lambda: check_rule(v.atan, np.array([0.5, np.inf, -np.inf])),
    "moveaxis": lambda: check_rule(np.moveaxis, REAL[0, 0], 0, 0),
    "moveaxis of a matrix": lambda: check_rule(np.moveaxis, REAL[0], 0, 1),
    "numbers of 80 bits": lambda: check_rule(v.sin, REAL[0, 0].astype(np.longdouble)),
    "an entry that a push picks": lambda: check_rule(entry, {"a": REAL[0], "b": REAL[1]}),
    "a rule for a subclass": lambda: check_rule(labelled_sin, REAL[0, 0].view(Labelled)),
    "text that the rule looks up": lambda: check_rule(triangle, REAL[0], mode="upper"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("judged", RIGHT.values(), ids=RIGHT)
def test_no_false_alarm_where_there_was_one(judged):
    assert judged().passed


def _planted(f, slip):
    """Make a function with a rule that is right but for one thing."""

    @primitive
    def planted(x):
        return f(x)

    @rrule.register(planted)
    def planted_rrule(x: np.ndarray):
        y, pull = vjp(f, x)
        return y, lambda y_bar: (slip(x, pull(y_bar)[0]),)

    return planted


SLIPS = {
    "small": (v.square, REAL[0], lambda x, t: np.where(np.abs(x) < 1e-6, 0.0 * t, t)),
    "pinv": (lambda x: v.pinv(x, hermitian=True), HERMITIAN, lambda x, t: np.conj(t)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f, x, slip", SLIPS.values(), ids=SLIPS)
def test_what_is_wrong_there_is_seen(f, x, slip):
    assert check_rule(_planted(f, lambda _, t: t), x).passed
    with pytest.raises(RuleCheckError):
        check_rule(_planted(f, slip), x, thorough=True)
