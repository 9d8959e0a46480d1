"""Arguments that share memory, one of which is written to: NumPy's value, or an error.

A program takes two to four names for parts of one array: arguments, some of which are
differentiated in, and what it knows from outside. It writes through some, and reads them all. What
NumPy gives for it is the truth.
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from chainrules_py import MutationError
from chainrules_tape import grad, jvp, linearize, value_and_grad, vjp

PARTS = {
    "all": lambda b: b,
    "a view of all": lambda b: b[:],
    "first rows": lambda b: b[:3],
    "last rows": lambda b: b[2:],
    "other rows": lambda b: b[3:],
    "even rows": lambda b: b[::2],
    "odd rows": lambda b: b[1::2],
    "reversed": lambda b: b[::-1],
    "transposed": lambda b: b.T,
    "a copy": lambda b: b.copy(),
}


def doubled(x):
    x *= 2.0


def first_row(x):
    x[0] = 3.0


def through_a_view(x):
    row = x[..., 1]
    row += 1.0


def with_out(x):
    np.multiply(x, 0.5, out=x)


def its_own(x):
    x[0] = x[1] * 2.0


WRITES = [doubled, first_row, through_a_view, with_out, its_own]
ROLES = ("differentiated", "argument", "keyword", "captured", "attribute")


class Holder:
    """Knows an array from outside."""


class Program:
    """Names for parts of one array, and what is done through them, drawn from a seed."""

    def __init__(self, seed):
        chance = random.Random(seed)
        n = chance.randint(2, 4)
        self.parts = [chance.choice(list(PARTS)) for _ in range(n)]
        self.roles = ["differentiated", *chance.choices(ROLES, k=n - 1)]
        names = [*range(n)]
        self.steps = []
        for _ in range(chance.randint(1, 3)):
            k = chance.choice(names)
            if chance.random() < 0.5:
                self.steps.append(("read", k, None))
            self.steps.append(("write", k, chance.choice(WRITES)))

    def __repr__(self):
        steps = [f"{w.__name__}({k})" if w else f"read {k}" for _, k, w in self.steps]
        return f"{list(zip(self.parts, self.roles, strict=True))}: {', '.join(steps)}"

    def arrays(self):
        base = np.arange(1.0, 37.0).reshape(6, 6) / 8.0
        return [PARTS[p](base) for p in self.parts]

    def run(self, how):
        """Run it by a door: ``how(function, primals, arguments, keywords)``."""
        arrays = self.arrays()
        chosen = [k for k, r in enumerate(self.roles) if r == "differentiated"]
        rest = [k for k, r in enumerate(self.roles) if r == "argument"]
        named = {f"k{k}": arrays[k] for k, r in enumerate(self.roles) if r == "keyword"}
        captured = {k: arrays[k] for k, r in enumerate(self.roles) if r == "captured"}
        holder = Holder()
        holder.held = {k: arrays[k] for k, r in enumerate(self.roles) if r == "attribute"}
        steps, roles = self.steps, self.roles

        def f(*xs, **keywords):
            known = {**captured, **holder.held}
            known.update(zip([*chosen, *rest], xs, strict=True))
            known.update({int(name[1:]): x for name, x in keywords.items()})
            total = 0.0
            for what, k, write in steps:
                if what == "read":
                    total = total + np.sum(known[k] * known[k])
                else:
                    write(known[k])
            for k in range(len(roles)):
                total = total + (k + 1.0) * np.sum(np.sin(known[k]))
            return total

        return how(f, [arrays[k] for k in chosen], [arrays[k] for k in rest], named)


def plain(f, xs, rest, named):
    return f(*xs, *rest, **named)


def by_grad(f, xs, rest, named):
    return value_and_grad(f, tuple(range(len(xs))))(*xs, *rest, **named)[0]


def by_vjp(f, xs, rest, named):
    y, pull = vjp(lambda *xs: f(*xs, *rest, **named), *xs)
    pull(1.0)
    return y


def by_jvp(f, xs, rest, named):
    return jvp(lambda *xs: f(*xs, *rest, **named), tuple(xs), tuple(map(np.ones_like, xs)))[0]


def by_linearize(f, xs, rest, named):
    y, push = linearize(lambda *xs: f(*xs, *rest, **named), *xs)
    push(*map(np.ones_like, xs))
    return y


def twice(f, xs, rest, named):
    def inner(*xs):
        return value_and_grad(f)(*xs, *rest, **named)[0]

    return value_and_grad(inner)(*xs)[0]


DOORS = [by_grad, by_vjp, by_jvp, by_linearize, twice]


def wrong(seed):
    """Run the program of a seed by a door; say what is wrong, or how it was refused."""
    program, door = Program(seed), DOORS[seed % len(DOORS)]
    expected = program.run(plain)
    try:
        found = program.run(door)
    except MutationError:
        return "refused"
    if not np.allclose(found, expected, rtol=1e-12):
        return f"{door.__name__} gives {found}, NumPy {expected}, for seed {seed}: {program}"
    return "right"


def judged(seeds):
    found = [wrong(seed) for seed in seeds]
    failures = [text for text in found if text not in ("right", "refused")]
    assert not failures, "\n".join(failures[:3])
    return found.count("right") / len(found)


def test_programs_with_several_names_for_one_memory():
    assert judged(range(500)) > 0.1  # or it would refuse whatever it is asked


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(20))
def test_many_programs_with_several_names_for_one_memory(block):
    judged(range(1000 + 10_000 * block, 1000 + 10_000 * (block + 1)))


def test_parts_that_do_not_overlap_may_be_written_to():
    def f(a, b):
        a *= 2.0
        return np.sum(a * b)

    theta = np.arange(6.0)
    for a, b in itertools.permutations([theta[:3], theta[3:]]):
        np.testing.assert_array_equal(grad(f)(a, b), 2.0 * b)
    np.testing.assert_array_equal(grad(f)(theta[::2], theta[1::2]), 2.0 * theta[1::2])
    np.testing.assert_array_equal(grad(f, argnums=1)(theta[::2], theta[1::2].copy()), [0, 4, 8])


def test_the_error_names_the_argument_and_the_remedy():
    b = np.arange(3.0)

    def f(a, c):
        a *= 2.0
        return np.sum(a * c)

    with pytest.raises(
        MutationError, match=r"float64\[3\], argument 0.*knows besides.*x\.copy\(\)"
    ):
        grad(f)(b, b)
    with pytest.raises(MutationError, match="another argument shares its memory"):
        grad(f, (0, 1))(b, b)
