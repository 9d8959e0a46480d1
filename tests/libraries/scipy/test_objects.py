"""Objects of traced numbers (factors, trees, hulls, splines): what they hold is seen as options."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from typing import Any

import numpy as np
import pytest

import chainrules_scipy
from chainrules_py.extend import Tracer, inside, knows
from chainrules_tape import grad
from tests.libraries.scipy.samples.judge import samples

ALL = [of[0] for name, of in samples().items() if name != "integrate.tplquad" and of[0].operands]


def _is_tracer(x: Any) -> bool:
    return isinstance(x, Tracer)


def _unseen(sample: Any) -> list[str]:
    """Name the classes of ours whose objects hold tracers where a search does not find them."""
    found: list[str] = []

    def look(y: Any) -> Any:
        cls = type(y)
        ours = cls.__module__.startswith("chainrules_") and not _is_tracer(y)
        if ours and any(map(_is_tracer, inside(y))) and not knows(y, _is_tracer):
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


@pytest.mark.parametrize("sample", ALL, ids=str)
def test_what_every_object_of_ours_holds_is_found(sample: Any) -> None:
    assert _unseen(sample) == []
