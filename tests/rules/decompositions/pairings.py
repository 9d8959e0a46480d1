"""Inner products of arrays, and sums of them that have derivatives."""

import numpy as np

from chainrules_py import ops as v


def inner_product(a, b):
    return float(np.sum(np.real(np.conj(a) * b)))


def adjoint(a):
    return v.conj(v.matrix_transpose(a))


def pairing(x, c):
    return v.sum(v.real(v.conj(c) * x))
