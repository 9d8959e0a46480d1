"""``divmod`` of a traced number raises where Python's raises, and else gives what it gives."""

import numpy as np
import pytest

from chainrules_tape import jvp, vjp

VALUES = {"reverse": lambda f, x: vjp(f, x)[0], "forward": lambda f, x: jvp(f, (x,), (1.0,))[0]}


@pytest.mark.parametrize("mode", VALUES)
@pytest.mark.parametrize(
    "pair", [lambda x: (x, 0.0 * x), lambda x: (x, 0.0), lambda x: (3.0, x - x)]
)
def test_a_program_that_catches_the_error_takes_its_branch(mode, pair):
    def f(x):
        try:
            n, r = divmod(*pair(x))
        except ZeroDivisionError:
            return 7.0 * x
        return n + r

    assert VALUES[mode](f, 2.0) == f(2.0) == 14.0


def test_it_is_the_quotient_and_the_rest():
    for x, y in ((7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (np.array([7.5, -1.0]), 2.0)):
        z, pull = vjp(lambda x, y: divmod(x, y)[1] + 10.0 * divmod(x, y)[0], x, y)
        assert np.all(z == divmod(x, y)[1] + 10.0 * divmod(x, y)[0])
        x_bar, y_bar = pull(np.ones(np.shape(z))[()] if np.shape(z) else 1.0)
        assert np.all(x_bar == 1.0)
        assert np.isclose(y_bar, -np.sum(np.floor_divide(x, y)))
        z, _ = vjp(lambda y, x=x: divmod(x, y)[0] + divmod(x, y)[1], y)
        assert np.all(z == sum(divmod(x, y)))
