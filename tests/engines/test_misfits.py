"""Calls that what is stated does not fit: no engine differentiates the body instead, in any place.

Constructors x misfits x places x engines x their transformations. The value is the body's; a
derivative is an error. What fits is there to see that the places are places where a rule counts.
"""

import importlib
import itertools

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import augmented_rule
from chainrules_py import (
    Array,
    Capability,
    ChainRulesError,
    LinearMap,
    NoTangent,
    export,
    frule,
    linear_rule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py import ops as v
from chainrules_py.primitives.plugins import announced

pytestmark = pytest.mark.filterwarnings("ignore")

SLOPE = 7.0
"""What is stated; the body has another."""


def by_scalar_rule(f, annotated, _):
    scalar_rule(f, annotated(lambda y, x, m: SLOPE + 0.0 * x), None)


def by_linear_rule(f, annotated, _):
    linear_rule(f, lambda t, x, m: SLOPE * t, None)


def by_rule(f, annotated, asked):
    times = lambda t: SLOPE * t
    rule(f, **asked)(annotated(lambda x, m: (f(x, m), (LinearMap(times, times), NoTangent()))))


def by_rrule(f, annotated, asked):
    pull = lambda bar: (SLOPE * bar, NoTangent())
    rrule.register(f, **asked)(annotated(lambda x, m: (f(x, m), pull)))


def by_frule(f, annotated, asked):
    frule.register(f, **asked)(annotated(lambda ts, x, m: (f(x, m), SLOPE * ts[0])))


def by_augmented_rule(f, annotated, _):
    augmented_rule(f, annotated(lambda x, m: (f(x, m), ())), lambda bar: (SLOPE * bar, None))


CONSTRUCTORS = (by_scalar_rule, by_linear_rule, by_rule, by_rrule, by_frule, by_augmented_rule)


class Thing:
    """No structure, and no number."""


MISFITS = {
    "None": ({}, None),
    "text": ({}, "s"),
    "list": ({}, [1.0, 2.0]),
    "dict": ({}, {"a": 1.0}),
    "object": ({}, Thing()),
    "a number for an array": ({"x": Array, "m": Array}, 2.0),
    "an integer for a float": ({"m": float}, 3),
    "another library's array": ({"x": np.ndarray}, 2.0),
    "what nobody can": ({}, 2.0),
}
ASKING = {by_rule, by_rrule, by_frule}


def made(constructor, name):
    """Make a function with a rule, and the operand that the rule does not fit."""
    types, m = MISFITS.get(name, ({}, 2.0))

    def annotated(f):
        f.__annotations__ = dict(types)
        return f

    f = primitive(annotated(lambda x, m: v.sin(x)))
    if name != "what nobody can":
        constructor(f, annotated, {})
    else:
        constructor(f, _with_config(constructor), {"requires": Capability("nobody")})
    return f, m


def _with_config(constructor):
    if constructor is by_frule:
        return lambda half: lambda config, ts, x, m: half(ts, x, m)
    return lambda half: lambda config, x, m: half(x, m)


def in_code(f, m, engine):
    return _exported(lambda x: v.sum(f(x, m)), engine)


def exported(f, m, engine):
    f = _exported(f, engine)
    return lambda x: v.sum(f(x, m))


def unexported(f, m, engine):
    return lambda x: v.sum(f(x, m))


def mapped(f, m, engine):
    return _exported(lambda x: v.sum(v.map(lambda r: f(r, m), x)), engine)


def in_a_body(f, m, engine):
    around = primitive(lambda x: f(x, m))
    return _exported(lambda x: v.sum(around(x)), engine)


def in_a_partial(f, m, engine):
    around = primitive(lambda x: v.sin(x))
    scalar_rule(around, lambda y, x: f(x, m))
    return _exported(lambda x: v.sum(around(x)), engine)


def _exported(f, engine):
    return f if engine == "tape" else export(f, to=engine)


PLACES = (in_code, exported, unexported, mapped, in_a_body, in_a_partial)
ENGINES = {
    "tape": "numpy", "torch": "torch", "mlx": "mlx.core", "jax": "jax", "autograd": "autograd",
    "mygrad": "mygrad", "pytensor": "pytensor",
}  # fmt: skip
SEEING = ("tape", "torch", "mlx", "jax", "autograd")
"""Engines that see operations outside of what is exported to them."""
WITH_NUMPY = ("tape", "autograd", "mygrad", "pytensor")
ADAPTERS = {
    name: module
    for group in ("chainrules_py.engines", "chainrules_py.exporters")
    for name, module in announced(group)
}
Z, U = np.array([0.4, 1.6]), np.array([1.0, -0.5])


def derivatives(engine, place, constructor, misfit, doors=None):
    """Take derivatives of a call; list those that are neither right nor refused in our words."""
    if not (place is in_code or engine in SEEING):
        return []
    if misfit == "another library's array" and engine in WITH_NUMPY:
        return []
    if misfit == "what nobody can" and constructor not in ASKING:
        return []
    f, m = made(constructor, misfit)
    call = place(f, m, engine)
    known = importlib.import_module(ADAPTERS[engine]).transformations
    asarray, wrong = known.asarray or np.asarray, []
    with known.context():
        z, u = asarray(Z), asarray(U)
        for name, door in known.table.items():
            if doors is not None and name not in doors:
                continue
            want = _wanted(door.gives, misfit == "nothing", place)
            try:
                have = np.asarray(door.run(lambda z: call(z), z, u))
            except Exception as error:
                # MLX maps over no map, and compiles none; PyTorch's compiler has its own class.
                refusal = want is None or (place is mapped and misfit != "nothing")
                if refusal and (isinstance(error, ChainRulesError) or "rule for" in str(error)):
                    continue
                have = repr(error)[:200]
            if want is None or isinstance(have, str) or not np.allclose(have, want, rtol=1e-3):
                wrong.append((name, have, want))
    return [(constructor.__name__, misfit, place.__name__, *each) for each in wrong]


def _wanted(gives, fits, place):
    """Return the number that is right, or None for an error."""
    if gives == "value":
        return np.sum(np.sin(Z))
    first = {"gradient": SLOPE + 0.0 * Z, "slope": SLOPE * np.sum(U)}
    if place is in_a_partial:  # whose value is the first derivative
        first = {"gradient": np.sin(Z), "slope": np.sum(np.sin(Z) * U)}
        second = {"curvature": SLOPE * U, "third": 0.0}
        return first.get(gives, second[gives] if fits and gives in second else None)
    return first.get(gives, 0.0) if fits else None


@pytest.fixture(params=ENGINES)
def engine(request):
    pytest.importorskip(ENGINES[request.param])
    return request.param


FEW = ("grad", "jvp", "backward", "vmap of grad", "value")


def test_what_a_rule_does_not_fit_is_refused(engine):
    """Each place with one constructor, each misfit with another."""
    tried = [*zip(PLACES, itertools.cycle(CONSTRUCTORS[2:]), itertools.repeat("None"))]
    tried += zip(itertools.repeat(in_code), itertools.cycle(CONSTRUCTORS), MISFITS)
    wrong = [
        x
        for place, constructor, misfit in tried
        for x in derivatives(engine, place, constructor, misfit, FEW)
    ]
    assert not wrong, wrong


def test_what_fits_in_the_same_places_counts(engine):
    doors = [door for door in FEW if door != "vmap of grad"]  # MLX maps over no map
    wrong = [x for place in PLACES for x in derivatives(engine, place, by_rule, "nothing", doors)]
    assert not wrong, wrong


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_what_a_rule_does_not_fit_is_refused_by_each_transformation(engine, place):
    some = itertools.product(CONSTRUCTORS, MISFITS)
    wrong = [
        x for constructor, misfit in some for x in derivatives(engine, place, constructor, misfit)
    ]
    assert not wrong, wrong
