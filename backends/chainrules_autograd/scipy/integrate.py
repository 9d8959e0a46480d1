"""``scipy.integrate`` for traced values."""

import functools

import scipy.integrate

from chainrules_autograd.wrap_util import first_of
from chainrules_scipy import integrate

__getattr__ = functools.partial(first_of, (integrate, scipy.integrate))
