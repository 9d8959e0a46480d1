"""Nestings of the two modes, of what an engine has."""

import numpy as np

from chainrules_kit import nestings
from chainrules_py import ops as v
from chainrules_tape import grad, jvp

Z, U = np.array([1.0, 2.0]), np.array([1.0, -1.0])
WANT = {
    "value": 9.0,
    "gradient": 3.0 * Z**2,
    "slope": 3.0 * Z**2 @ U,
    "curvature": 6.0 * Z * U,
    "third": 6.0 * np.sum(U**3),
}


def cubes(z):
    return v.sum(z * z * z)


def test_every_nesting_gives_what_it_says():
    table = nestings(grad, lambda f, z, u: jvp(f, (z,), (u,))[1])
    assert len(table) == 8
    for transformation in table.values():
        np.testing.assert_allclose(transformation.run(cubes, Z, U), WANT[transformation.gives])


def test_an_engine_with_one_mode_has_the_nestings_of_it():
    assert not [name for name in nestings(grad) if "jvp" in name]
