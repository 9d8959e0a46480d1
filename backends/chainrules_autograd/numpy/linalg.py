"""``numpy.linalg``, whose functions accept traced values."""

import functools

import numpy as np

from chainrules_autograd.numpy.arrays import listed

norm = listed(np.linalg.norm)
__getattr__ = functools.partial(getattr, np.linalg)
