"""``scipy.special`` for traced values."""

import functools

import scipy.special

from chainrules_autograd.wrap_util import first_of
from chainrules_scipy import special

__getattr__ = functools.partial(first_of, (special, scipy.special))
