"""Inner products of arrays, sums of them with derivatives, and differences along directions."""

import numpy as np

from chainrules_py import ops as v


def inner_product(a, b):
    return float(np.sum(np.real(np.conj(a) * b)))


def adjoint(a):
    return v.conj(v.matrix_transpose(a))


def pairing(x, c):
    return v.sum(v.real(v.conj(c) * x))


def slope_along(f, x, dx, *, h):
    """Return the derivative of f along dx, to the fourth order in the step h."""
    return (8 * (f(x + h * dx) - f(x - h * dx)) - (f(x + 2 * h * dx) - f(x - 2 * h * dx))) / (
        12 * h
    )
