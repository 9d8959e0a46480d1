"""Places that a function takes from an array, one at a time, are values of its program."""

import itertools

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_py.extend import flatten
from chainrules_tape import hvp, jvp, value_and_grad

RNG = np.random.default_rng(3)
B = RNG.standard_normal((4, 4))
FIRST = np.arange(12) % 4


def columns(b, at):
    a = b[0]
    for t in range(len(at)):
        a = np.sin(a) + b[:, at[t]]
    return np.sum(a)


def rows(b, at):
    a = b[0] * 0
    for place in at:
        a = np.tanh(a + b[place]) * 0.9
    return np.sum(a * a)


def elements(b, at):
    return sum([np.sin(b[i, j]) for i, j in itertools.pairwise(at)])


def beside_known_ones(b, at):
    return sum([np.sum(b[t % 4, at[t], None] ** 2) for t in range(len(at))])


def written_at(b, at):
    c = np.zeros(4, like=b)
    for t in range(len(at)):
        c[at[t]] += b[0, t % 4] * b[at[t], 1]
    return np.sum(np.sin(c))


def rows_written_to(b, at):
    c = b * 1.0
    for t in range(len(at)):
        c[at[t], :] = np.sin(c[:, at[t - 1]])
    return np.sum(c * c)


def views_written_to(b, at):
    c = b * 1.0
    for place in at:
        y = c[place]
        y *= 1.5
        y[1] = y[0] * b[0, 1]
    return np.sum(np.cos(c))


def in_lists(b, at):
    return np.sum(b[[at[0], at[1]], [at[2], at[0]]] ** 2) + np.sum(b[[at[1]]] ** 3)


def around_other_axes(b, at):
    other = np.sum(b[..., at[2], None] @ b[at[3]][None])
    return np.sum(b[None, at[0], ..., at[1]] * b[at[0]]) + other


def beside_arrays(b, at):
    i = np.array([0, 1, 2])
    return np.sum(b[i, at[0]] * b[at[1], i]) + np.sum(b[at[0], 1:3] ** 2)


def taken(b, at):
    return np.sum(np.take(b, at[0], axis=1) * np.take(b, at[1], axis=0))


FUNCTIONS = (
    *(columns, rows, elements, beside_known_ones, written_at, rows_written_to, views_written_to),
    *(in_lists, around_other_axes, beside_arrays, taken),
)
FORMS = {
    "value": lambda f: f,
    "gradient": value_and_grad,
    "hvp": lambda f: lambda b, at: hvp(lambda b: f(b, at), (b,), (2 * b,)),
    "jvp": lambda f: lambda b, at: jvp(lambda b: f(b, at), (b,), (2 * b,)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_one_program_is_for_all_places(f, form):
    g = FORMS[form](f)
    compiled = compile(g)
    compiled(B, FIRST)
    for at in (RNG.integers(-4, 4, 12), RNG.integers(-4, 4, 12), FIRST[::-1].copy()):
        b = RNG.standard_normal((4, 4))
        for got, want in zip(flatten(compiled(b, at))[0], flatten(g(b, at))[0], strict=True):
            np.testing.assert_array_equal(got, want)
            assert np.signbit(got).tolist() == np.signbit(want).tolist()
    assert len(compiled.programs) == 1
    for place in (4, -5):
        at = np.where(np.arange(12) < 4, place, FIRST)
        with pytest.raises(IndexError) as wanted:
            g(B, at)
        with pytest.raises(IndexError, match=str(wanted.value)):
            compiled(B, at)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_without_the_bits(f):
    g = value_and_grad(f)
    compiled = compile(g)
    for at in (FIRST, -1 - FIRST):
        for got, want in zip(compiled(B, at), g(B, at), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_what_is_looked_up_in_a_list_is_asked():
    table = [0.5, 1.5, 2.5, 3.5]
    compiled = compile(lambda b, at: np.sum(b) * table[at[0]])
    for place in (0, 1, 0, 1):
        assert compiled(B, np.array([place])) == np.sum(B) * table[place]
    assert len(compiled.programs) == 2


READERS = {
    "all": lambda x, i: x,
    "rows": lambda x, i: x[i],
    "columns": lambda x, i: np.take(x, i, axis=1),
    "places": lambda x, i: x[i, i[::-1]],
    "column": lambda x, i: x[:, 2],
    "element": lambda x, i: x[1, 2],
    "along": lambda x, i: np.take_along_axis(x, i[:, None].repeat(4, 1), 0),
    "transposed": lambda x, i: x.T,
}
SUMS = {"sum": np.sum, "cubes": lambda y: np.sum(y**3)}


@pytest.mark.parametrize("first", READERS)
@pytest.mark.parametrize("second", READERS)
def test_parts_are_added_beside_what_no_argument_changes(first, second):
    """The cotangent of a plain sum is the same in each run, and no noted value."""
    for one, other in itertools.product(SUMS.values(), repeat=2):

        def loss(x, i, one=one, other=other):
            return one(READERS[first](x * 1.1, i)) + other(READERS[second](x * 1.1, i))

        def of_inputs(x, i, one=one, other=other):
            return one(READERS[first](x, i)) + other(READERS[second](x, i))

        for f in (loss, of_inputs):
            compiled = compile(value_and_grad(f))
            found, expected = compiled(B, FIRST), value_and_grad(f)(B, FIRST)
            np.testing.assert_allclose(found[1], expected[1], rtol=1e-14)
            assert compiled.programs
