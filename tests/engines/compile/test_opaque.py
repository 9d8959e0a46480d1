"""Objects that only primitives take: one program serves for all of a class."""

import enum
import operator

import numpy as np
import pytest

from chainrules_compile import RecordingWarning, compile
from chainrules_compile.result_checks import close
from chainrules_py import Array, NoTangent, linear_rule, primitive, rrule
from chainrules_tape import hvp, value_and_grad


class Simulation:
    """A sine of some frequency."""

    def __init__(self, k):
        self.k = k

    def run(self, x):
        return np.sin(self.k * x)


@primitive
def simulate(x, simulation):
    return simulation.run(x)


@primitive
def slope(y_bar, x, simulation):
    return y_bar * simulation.k * np.cos(simulation.k * x)


@rrule.register(simulate)
def simulate_rrule(x: Array, simulation: Simulation):
    return simulate(x, simulation), lambda y_bar: (slope(y_bar, x, simulation), NoTangent())


def loss(x, simulation):
    return np.sum(simulate(2.0 * x, simulation) ** 2)


def looking(x, simulation):
    return loss(x, simulation) * simulation.k


def written(x, simulation):
    return loss(x, simulation) if simulation.k < 3.0 else -loss(x, simulation)


X = np.linspace(0.0, 1.0, 5)


@pytest.mark.parametrize("held", [lambda x: x, lambda x: [x]], ids=["alone", "in a list"])
@pytest.mark.parametrize("form", [lambda f: f, value_and_grad], ids=["value", "gradient"])
@pytest.mark.filterwarnings("error")
def test_one_program_is_for_all(form, held):
    taken = lambda x, s: loss(x, s[0] if isinstance(s, list) else s)
    f = form(taken)
    compiled = compile(f)
    for k in (1.0, 2.0, 3.0, 4.0, 5.0):
        simulation = Simulation(k)
        for x in (X, X + k):
            assert close(compiled(x, held(simulation)), f(x, held(simulation)))
    assert len(compiled.programs) == 2


class Other(Simulation):
    """One that runs otherwise."""

    def run(self, x):
        return np.cos(self.k * x)


def test_another_class_has_a_program_of_its_own():
    compiled = compile(loss)
    for cls in (Simulation, Simulation, Other, Other, Simulation):
        s = cls(2.0)
        assert np.isclose(compiled(X, s), loss(X, s))


@pytest.mark.parametrize("f", [looking, written])
def test_what_a_function_looks_into_is_part_of_the_program(f):
    g = value_and_grad(f)
    compiled = compile(g)
    said = "recorded 3 times for too few calls, and runs as it is: simulation was <"
    for k in (1.0, 2.0, 3.0):
        assert close(compiled(X, Simulation(k)), g(X, Simulation(k)))
    with pytest.warns(RecordingWarning, match=said):
        compiled(X, Simulation(4.0))
    assert close(compiled(X, Simulation(5.0)), g(X, Simulation(5.0)))


REFERENCE = Simulation(9.0)
COMPARING = {
    "==": lambda s: s == REFERENCE,
    "!=": lambda s: s != REFERENCE,
    "in": lambda s: s in [Simulation(1.0), REFERENCE],
    "a table": lambda s: s in {REFERENCE: 2.0},
}


@pytest.mark.parametrize("name", COMPARING)
@pytest.mark.filterwarnings("ignore:.*recorded 3 times")
def test_what_a_primitive_takes_may_be_compared_too(name):
    f = value_and_grad(lambda x, s: loss(x, s) * (2.0 if COMPARING[name](s) else 1.0))
    compiled = compile(f)
    for simulation in (Simulation(1.0), Simulation(2.0), REFERENCE, Simulation(3.0)):
        assert close(compiled(X, simulation), f(X, simulation))


class Scheme(enum.Enum):
    """What a function chooses by."""

    EULER = 1
    HEUN = 2
    EXACT = 3


@pytest.mark.parametrize("same", [operator.is_, operator.eq], ids=["is", "=="])
@pytest.mark.parametrize("schemes", [list(Scheme), [np.sin, np.cos, np.exp], [int, bool, float]])
@pytest.mark.filterwarnings("error")
def test_what_is_compared_with_another_object_is_part_of_the_program(schemes, same):
    f = lambda x, scheme: np.sum(x**3) if same(scheme, schemes[2]) else np.sum(x**2)
    compiled = compile(value_and_grad(f))
    for scheme in (*schemes, *schemes):
        assert close(compiled(X, scheme), value_and_grad(f)(X, scheme))


class Drawing:
    """A simulation with a generator of its own."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def run(self, x):
        return x * self.rng.normal(size=x.shape)


@pytest.mark.filterwarnings("ignore::chainrules_compile.RecordingWarning")
def test_one_that_draws_draws_as_without():
    compiled, ours, theirs = compile(loss), [], []
    for seed in range(4):
        s = Drawing(seed)
        ours.append(compiled(X, s))
        theirs.append(loss(X, Drawing(seed)))
        assert np.isfinite(ours[-1])
    assert compiled.as_it_is or np.allclose(ours[2:], theirs[2:])


def test_second_derivatives():
    @rrule.register(slope)
    def slope_rrule(y_bar: Array, x: Array, s: Simulation):
        k = s.k

        def pull(z):
            return z * k * np.cos(k * x), -z * y_bar * k * k * np.sin(k * x), NoTangent()

        return slope(y_bar, x, s), pull

    f = lambda x, s: hvp(lambda x: loss(x, s), (x,), (X,))
    compiled = compile(f)
    for k in (1.0, 2.0, 3.0):
        s = Simulation(k)
        try:
            wanted = f(X, s)
        except Exception as error:
            with pytest.raises(type(error)):
                compiled(X, s)
            continue
        np.testing.assert_allclose(compiled(X, s), wanted)


@pytest.mark.parametrize("size", [3, 300])
@pytest.mark.filterwarnings("error")
def test_c_code_that_refuses_arrays_of_objects_runs_on_numbers(size):
    """A small array of recorded values is an array of objects to NumPy."""
    sparse = pytest.importorskip("scipy.sparse")
    diagonal = sparse.diags_array(np.linspace(1.0, 2.0, size), format="csc")
    factors = sparse.linalg.splu(diagonal)

    @primitive
    def solved(b):
        return factors.solve(np.asarray(b))

    linear_rule(solved, lambda y_bar, b: solved(y_bar))
    f = value_and_grad(lambda b: np.sum(solved(b) ** 2))
    compiled = compile(f, strict=True)
    for b in (np.ones(size), np.linspace(0.0, 1.0, size)):
        assert close(compiled(b), f(b))
    assert len(compiled.programs) == 1
