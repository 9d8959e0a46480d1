"""``numpy.random``, whose draws are constants."""

import functools

import numpy as np

__getattr__ = functools.partial(getattr, np.random)
