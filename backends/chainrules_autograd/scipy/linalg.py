"""``scipy.linalg`` for traced values."""

import functools

import scipy.linalg

from chainrules_autograd.wrap_util import first_of
from chainrules_scipy import linalg

__getattr__ = functools.partial(first_of, (linalg, scipy.linalg))
