"""What an argument holds beside its fields: a program is for the values that it recorded."""

from __future__ import annotations

import copy
import dataclasses
import shutil

import numpy as np
import pytest
from scipy import sparse

from chainrules_compile import compile
from chainrules_py import register_structure
from chainrules_tape import grad


class Shifted:
    """A registered structure with a constant beside its field."""

    def __init__(self, c, shift):
        self.c, self.shift = c, shift


register_structure(Shifted, lambda p: [("c", p.c)], lambda p, v: Shifted(*v, p.shift))


@dataclasses.dataclass
class Scaled:
    c: np.ndarray
    factor: dataclasses.InitVar[float]

    def __post_init__(self, factor):
        self.scale = factor


@dataclasses.dataclass
class Normed:
    c: np.ndarray

    def __post_init__(self):
        self.norm = np.sqrt(np.sum(self.c**2))


X = np.array([1.0, 2.0, 3.0])
EYE, TURNED = np.eye(3), np.eye(3)[::-1].copy()
WIDE = sparse.csr_array((np.ones(3), np.arange(3), np.arange(4)), shape=(3, 5))
BESIDE_FIELDS = {
    **{
        form: (lambda a: a @ X, [getattr(sparse, form)(EYE), getattr(sparse, form)(TURNED)])
        for form in ("csr_array", "csc_array", "coo_array", "csr_matrix", "coo_matrix")
    },
    "a shape": (lambda a: a.toarray(), [sparse.csr_array(EYE), WIDE]),
    "in a dict": (
        lambda d: d["a"].T @ X,
        [{"a": sparse.csr_array(EYE)}, {"a": sparse.csr_array(TURNED)}],
    ),
    "a slope": (
        lambda a: grad(lambda x: np.sum((a @ x) ** 2 * X))(X),
        [sparse.csr_array(EYE), sparse.csr_array(TURNED)],
    ),
    "a structure": (lambda p: p.c * (2.0 - p.shift), [Shifted(X, 0.0), Shifted(X, 1.0)]),
    "a dataclass": (lambda p: p.c * p.scale, [Scaled(X, 2.0), Scaled(X, 5.0)]),
}


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("name", BESIDE_FIELDS)
def test_what_an_argument_holds_beside_its_fields_is_compared(name, target):
    """The pattern of the first sparse array was that of all."""
    if target == "c" and shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    f, arguments = BESIDE_FIELDS[name]
    c = compile(f, target=target)
    for argument in (*arguments, *arguments):
        np.testing.assert_array_equal(c(argument), f(argument))
    made_anew = copy.deepcopy(arguments[0])
    np.testing.assert_array_equal(c(made_anew), f(arguments[0]))
    assert len(c.programs) == 2


def test_what_a_constructor_computes_anew_is_part_of_the_program():
    c = compile(lambda p: p.c * p.norm)
    for factor in (1.0, 2.0, 3.0):
        p = Normed(X * factor)
        np.testing.assert_allclose(c(p), p.c * p.norm, rtol=1e-15)
    assert len(c.programs) == 1
