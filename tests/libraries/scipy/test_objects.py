"""Objects of traced numbers (factors, trees, hulls, splines): what they hold is seen as options."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse.linalg
import scipy.spatial

import chainrules_scipy
from chainrules_py import LinearMap, TracerError, export, primitive, rule
from chainrules_py.extend import Tracer, inside, knows
from chainrules_tape import grad
from tests.libraries.scipy.samples.judge import samples

ALL = [of[0] for name, of in samples().items() if name != "integrate.tplquad" and of[0].operands]
MADE_OF_VALUES = ("spatial.ConvexHull", "spatial.KDTree", "sparse.linalg.splu")
SOME = [s for s in ALL if s.name in MADE_OF_VALUES or "spline" in s.name.lower()]


def _is_tracer(x: Any) -> bool:
    return isinstance(x, Tracer)


def _unseen(sample: Any) -> list[str]:
    """Name the classes of ours whose objects hold tracers where a search does not find them."""
    found: list[str] = []

    def look(y: Any) -> Any:
        cls = type(y)
        ours = cls.__module__.startswith("chainrules_") and not _is_tracer(y)
        if ours and any(map(_is_tracer, inside(y, ours=True))) and not knows(y, _is_tracer):
            found.append(cls.__qualname__)
        return y

    class Looking:
        def __call__(self, *args: Any, **options: Any) -> Any:
            return look(native(*args, **options))

        def __getattr__(self, name: str) -> Any:
            return getattr(native, name)

    def run(*xs: Any) -> Any:
        look(sample.call(native if isinstance(native, np.ufunc) else Looking(), *xs))
        return sum(np.sum(x) for x in xs)

    module, _, name = sample.name.rpartition(".")
    with warnings.catch_warnings(), chainrules_scipy.install():
        warnings.simplefilter("ignore")
        native = getattr(importlib.import_module(f"scipy.{module}"), name)
        with contextlib.suppress(Exception):  # refused: then there is no object
            grad(run, tuple(range(len(sample.operands))))(*sample.operands)
    return found


@pytest.mark.parametrize("sample", SOME, ids=str)
def test_what_objects_of_ours_hold_is_found(sample: Any) -> None:
    assert _unseen(sample) == []


@pytest.mark.slow
@pytest.mark.parametrize("sample", ALL, ids=str)
def test_what_every_object_of_ours_holds_is_found(sample: Any) -> None:
    assert _unseen(sample) == []


@pytest.mark.parametrize("kind", ["factors", "tree"])
def test_an_option_of_pytorch_that_holds_what_is_differentiated(kind: str) -> None:
    """It gave a gradient without the part of the option, in silence."""
    torch: Any = pytest.importorskip("torch")

    def made(y: Any) -> Any:
        if kind == "tree":
            return scipy.spatial.KDTree(y.reshape(2, 2))
        diagonal = (y + 2, (np.arange(4), np.arange(4)))
        return scipy.sparse.linalg.splu(scipy.sparse.csc_array(diagonal))

    @primitive
    def f(x: Any, *, by: Any) -> Any:
        far = by.query(np.array([0.3, 0.2])) if kind == "tree" else by.solve(np.ones(4))
        return x * far[0]

    @rule(f)
    def f_rule(x: Any, *, by: Any) -> Any:
        times: Any = lambda t, slope: t * slope
        return f(x, by=by), (LinearMap(times, times, 0.5),)

    y = torch.tensor([1.0, 0.7, 1.9, 1.4], dtype=torch.float64, requires_grad=True)
    with chainrules_scipy.install():
        by = made(y)
        with pytest.raises(TracerError, match="by of f is an option"):
            export(f, to="torch")(0.4 * y[0], by=by)
