"""The transformations of autograd, for `supports` and tests."""

from __future__ import annotations

import autograd
import numpy as np

from chainrules_kit import Transformations, nestings

transformations = Transformations(
    nestings(autograd.grad, lambda f, z, u: autograd.make_jvp(f)(z)(u)[1]), np.asarray
)
