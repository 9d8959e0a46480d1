"""Long straight lines in C: as many calls as a `for` loop of ten thousand turns gives."""

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_tape import value_and_grad
from tests.engines.compile.c.near import near

pytestmark = pytest.mark.usefixtures("native")


@pytest.mark.slow
@pytest.mark.parametrize("n", [1000, 30_000])
def test_a_loop_of_many_turns_is_c(n):
    """Beyond 200,000 calls the program was NumPy's."""

    def f(x):
        y = x
        for _ in range(n):
            y = np.sin(y) * 0.9 + 0.1 * x
        return y

    compiled, x = compile(value_and_grad(f), target="c"), np.float64(0.3)
    assert near(compiled(x), value_and_grad(f)(x))
    assert not compiled.programs[0].instead
