"""``numpy.fft``, whose functions accept traced values."""

import functools

import numpy as np

__getattr__ = functools.partial(getattr, np.fft)
