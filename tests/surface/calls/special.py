"""Calls of SciPy's special functions: the ufuncs, and what stands for functions in Python."""

from __future__ import annotations

import numpy as np

from chainrules_py import ops as v
from chainrules_py.ops import bessel_and_hypergeometric, gamma_and_erf, sigmoid_softmax_entropy
from chainrules_py.testing.samples import samples_of
from chainrules_py.testing.samples.sample import Draw, Sample
from chainrules_py.testing.samples.special_functions import REDUCTIONS, samples_at
from tests.surface.calls.call import enter_calls

_name: str
_OWN = ("polygamma", "zeta", "lambertw", "logsumexp", "softmax", "log_softmax")

# ---------------------------------------------------------------------------------- ufuncs

for _name in (
    *gamma_and_erf.__all__,
    *sigmoid_softmax_entropy.__all__,
    *bessel_and_hypergeometric.__all__,
):
    if _name not in _OWN:
        enter_calls(f"scipy.special.{_name}", *samples_of(getattr(v, _name)))
enter_calls("scipy.special.psi", *samples_of(v.digamma)[:2])
enter_calls("scipy.special.jn", *samples_of(v.jv)[:2])
for _name, _operation in (("kn", v.kv), ("yn", v.yv), ("zeta", v.zeta)):
    enter_calls(f"scipy.special.{_name}", *samples_of(_operation)[:6])
enter_calls("scipy.special.lambertw", *samples_of(v.lambertw), Sample(Draw((3,), 0.5, 2.0)))
enter_calls("scipy.special.cbrt", *samples_at((0.5, 2.0)))
enter_calls("scipy.special.log1p", *samples_at((-0.5, 2.0), complex=True))
for _name in ("exp2", "expm1"):
    enter_calls(f"scipy.special.{_name}", *samples_at((-1.0, 1.0)))
enter_calls("scipy.special.round", *samples_at((0.1, 0.4)))
enter_calls("scipy.special.softplus", *samples_at((-2.0, 2.0)))

# ---------------------------------------------------------------------------------- functions

_HERE = "chainrules_scipy.special"
for _name in ("logsumexp", "softmax", "log_softmax"):
    enter_calls(f"{_HERE}.{_name}", *REDUCTIONS, Sample(Draw(())), Sample([0.5, 1.5]))
_WEIGHTS = Draw((2, 3), 0.5, 2.0)
enter_calls(
    f"{_HERE}.logsumexp",
    Sample(Draw((0, 2)), axis=0, smooth=False),
    Sample(Draw((2, 3)), 1),
    Sample(Draw((2, 3)), keepdims=True),
    Sample(Draw((2, 3)), axis=-1, keepdims=True, complex=True),
    Sample(Draw((2, 3)), b=_WEIGHTS, complex=True),
    Sample(Draw((2, 3)), axis=0, b=_WEIGHTS),
    Sample(Draw((2, 3)), axis=0, b=Draw((3,), 0.5, 2.0), keepdims=True),
    Sample(Draw((2, 3)), axis=1, b=[1.0, 0.0, 2.0]),
    Sample(Draw((2, 3)), b=2),
    Sample(Draw((2, 3)), axis=1, return_sign=True),
    Sample(Draw((2, 3)), axis=1, b=Draw((2, 3), -2.0, -0.5), return_sign=True, complex=True),
    Sample([0.5, -np.inf, 1.0], b=Draw((3,), 0.5, 2.0)),
)
enter_calls(f"{_HERE}.polygamma", *samples_of(v.polygamma))
enter_calls(
    f"{_HERE}.factorial",
    *samples_at((0.5, 4.0)),
    Sample(Draw((3,), -0.9, -0.1)),
    Sample(Draw((3,), -0.9, 2.0), extend="complex"),
    Sample(Draw((3,), 0.5, 2.0), exact=False),
)
enter_calls(
    f"{_HERE}.comb",
    *samples_at((3.0, 6.0), (0.5, 2.5)),
    Sample(Draw((3,), 3.0, 5.0), 2, repetition=True),
    Sample(Draw((3,), 1.0, 2.0), Draw((3,), 3.0, 4.0)),
    Sample(Draw((3,), 3.0, 5.0), 2, exact=False),
)
enter_calls(
    f"{_HERE}.multigammaln",
    Sample(Draw((2, 3), 2.0, 4.0), 3),
    Sample(Draw((), 2.0, 4.0), 1),
    Sample(Draw(None, 2.0, 4.0), 2),
)
