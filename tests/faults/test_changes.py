"""What changes rules, or another library, is whole or not at all, whatever comes between."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.linalg

import chainrules_scipy
from chainrules_compile import compile
from chainrules_py import LinearMap, overriding, primitive, rule, rules_for, unregister
from chainrules_scipy import installation
from chainrules_tape import grad, hook
from chainrules_tape.functions.run import ReverseRun
from chainrules_tape.tools import profile
from tests.faults.interrupts import AtPoint, points_of
from tests.faults.programs import left_behind


def powers(k):
    """A rule that says that the derivative of the cube is k."""
    return lambda x: (x**3, (LinearMap(lambda t: k * t, lambda t: k * t),))


class Cube:
    """A function with a rule, and all who remember that."""

    def __init__(self):
        @primitive
        def cube(x):
            return x**3

        rule(cube)(powers(1.0))
        self.f = cube
        self.compiled = compile(grad(lambda x: cube(x)))
        self.slopes()

    def slopes(self):
        """What the function's derivative is now."""
        return {grad(self.f)(2.0), grad(lambda x: self.f(x))(2.0), self.compiled(2.0)}


def in_block(cube):
    with overriding(cube.f, powers(5.0)):
        assert cube.slopes() == {5.0}


def in_two_blocks(cube):
    with overriding(cube.f, powers(5.0)), overriding(cube.f, powers(7.0)):
        assert cube.slopes() == {7.0}


def hooked(cube):
    hung = hook(cube.f, lambda bar: 3.0 * bar)
    assert cube.slopes() == {3.0}
    hung.remove()


def restated(cube):
    rule(cube.f, types=(float,))(powers(9.0))
    assert cube.slopes() == {9.0}
    unregister(cube.f, float)


# Each with what may hold behind it: a block has no effect, what is stated or hung has one or none.
CHANGES = {in_block: {1.0}, in_two_blocks: {1.0}, hooked: {1.0, 3.0}, restated: {1.0, 9.0}}


def within(*files):
    """Points of functions in these files."""

    def check(code):
        path = code.co_filename.replace("\\", "/")
        return points_of(code) if path.endswith(files) else frozenset()

    return check


CHANGING = within(
    "registry/removal_and_overriding.py",
    "registry/table.py",
    "custom_derivatives/hooks.py",
    "primitives/method_table.py",
)
INSTALLING = within("chainrules_scipy/installation.py")


def some(points, most):
    """Yield the numbers of so many points, or of all."""
    return range(1, points + 1, 1 + points // most)


@pytest.mark.parametrize("most", [25, pytest.param(10_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_rules_at_any_point(change, most):
    cube, whole = Cube(), AtPoint(check=CHANGING)
    change(cube)
    whole.run(lambda: change(cube) or 1.0)
    for n in some(whole.passed, most):
        cube = Cube()
        AtPoint(n, check=CHANGING).run(lambda cube=cube: change(cube) or 1.0)
        assert left_behind() == []
        (slope,) = cube.slopes()  # all who remember rules agree
        assert slope in CHANGES[change], n
        assert len(rules_for(cube.f)) == 1 + (slope == 9.0), n


def steps(change):
    with change:
        yield


PLAIN = ReverseRun.new_tape
ORDERS = list(itertools.permutations(range(3)))


@pytest.mark.parametrize("order", ORDERS)
def test_rules_of_blocks_that_end_in_any_order(order):
    cube = Cube()
    blocks = [steps(overriding(cube.f, powers(k))) for k in (5.0, 6.0, 7.0)]
    left = dict(enumerate(blocks, 5))
    for block in blocks:
        next(block)
    for k in order:
        assert cube.slopes() == {float(max(left))}
        left.pop(5 + k).close()
    assert cube.slopes() == {1.0}


@pytest.mark.parametrize("order", ORDERS)
def test_profiles_that_end_in_any_order(order):
    gradient = lambda: grad(np.sum)(np.ones(2))
    gradient()
    blocks = [profile() for _ in order]
    profiles = [block.__enter__() for block in blocks]
    left = {*order}
    for k in order:
        inner = profiles[max(left)]
        calls = sum(row.calls for row in inner.rows)
        gradient()
        assert sum(row.calls for row in inner.rows) == calls + 1
        blocks[k].__exit__(None, None, None)
        left -= {k}
    assert ReverseRun.new_tape is PLAIN


@pytest.mark.parametrize("order", ORDERS)
def test_hooks_that_are_removed_in_any_order(order):
    cube, factors = Cube(), (2.0, 3.0, 5.0)
    hooks = [hook(cube.f, lambda bar, k=k: k * bar) for k in factors]
    product = 30.0
    for k in order:
        assert cube.slopes() == {product}
        hooks[k].remove()
        product /= factors[k]
    assert cube.slopes() == {1.0}


def test_what_is_stated_in_a_block_stays():
    cube = Cube()
    with overriding(cube.f, powers(5.0)):
        rule(cube.f, types=(complex,))(powers(2.0))
    assert [s.signature for s in rules_for(cube.f)].count((complex,)) == 1
    assert cube.slopes() == {1.0}


def theirs():
    """What stands in their modules, of all that may be replaced."""
    names = scipy.linalg.__all__
    return {name: vars(scipy.linalg)[name] for name in names}


@pytest.mark.parametrize("install", [chainrules_scipy.install])
def test_an_interrupt_while_functions_are_removed(install):
    before = theirs()

    def used(installed):
        with installed:
            assert theirs() != before
        return 1.0

    used(install())
    whole = AtPoint(check=INSTALLING)
    installed = install()
    whole.run(lambda: used(installed))
    assert whole.passed > 9
    for n in some(whole.passed, 60):
        installed = install()
        AtPoint(n, check=INSTALLING).run(lambda installed=installed: used(installed))
        installed.remove()
        assert theirs() == before, n


def test_an_interrupt_while_functions_are_installed():
    """They are whole or not there, whether or not somebody has got what removes them."""
    grad(lambda x: chainrules_scipy.linalg.expm(x)[0, 0])(np.zeros((2, 2)))
    before, whole = theirs(), AtPoint(check=INSTALLING)
    with chainrules_scipy.install():
        while_installed = theirs()
    whole.run(lambda: chainrules_scipy.install().remove() or 1.0)
    for n in some(whole.passed, 60):
        AtPoint(n, check=INSTALLING).run(lambda: chainrules_scipy.install() and 1.0)
        assert theirs() in (before, while_installed), n
        for installed in tuple(installation._standing):
            installed.remove()
        assert theirs() == before, n
