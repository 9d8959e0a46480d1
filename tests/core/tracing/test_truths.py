"""Truths that values are converted to are plain, as those are that comparisons give."""

import numpy as np
import pytest

from chainrules_py import ChainRulesError
from chainrules_tape import jvp, vjp
from tests.surface.calls import names_with_calls, surface_calls
from tests.surface.point import Point, leaves

X = np.array([[0.0, 2.0], [3.0, 0.0]])
GROUPS = 8


@pytest.mark.parametrize("dtype", [bool, np.bool_, "?", np.dtype(bool)])
@pytest.mark.parametrize("f", [np.max, np.sort, np.abs, np.cumsum, np.diag, lambda m: np.pad(m, 1)])
def test_they_have_no_derivative(f, dtype):
    total = lambda x: np.sum(f(x.astype(dtype)) * np.sum(x * x))
    y, pull = vjp(total, X)
    scale = np.sum(f(X.astype(dtype)) * 1.0)
    assert y == total(X)
    assert np.allclose(pull(1.0)[0], 2 * X * scale)
    assert np.isclose(jvp(total, (X,), (X,))[1], np.sum(2 * X * X) * scale)


def wrong(names):
    """Calls with one operand made truths: what they give is pulled through, or refused."""
    for call in [call for name in names for call in surface_calls(name) if not call.complex]:
        point = Point(call)
        for k in range(len(point.xs)):

            def f(*xs, k=k, point=point):
                xs = [x.astype(bool) if i == k and np.shape(x) else x for i, x in enumerate(xs)]
                parts = [y for y in leaves(point.value(*xs)) if hasattr(y, "dtype")]
                return sum([np.sum(y * 2.0) for y in parts if y.dtype.kind in "bifu"])

            with np.errstate(all="ignore"):
                try:
                    f(*point.xs)
                except Exception:  # no call of NumPy's
                    continue
                try:
                    vjp(f, *point.xs)[1](1.0)
                except (ChainRulesError, np.linalg.LinAlgError):
                    continue
                except Exception as error:
                    yield f"{call}, operand {k}: {error!r}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "group", [0, *[pytest.param(k, marks=pytest.mark.slow) for k in range(1, GROUPS)]]
)
def test_every_call_takes_them(group):
    assert not [*wrong(names_with_calls()[group::GROUPS])]
