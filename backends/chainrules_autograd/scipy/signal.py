"""``scipy.signal`` for traced values."""

import functools

import scipy.signal

from chainrules_autograd.wrap_util import first_of
from chainrules_scipy import signal

__getattr__ = functools.partial(first_of, (signal, scipy.signal))
