"""Tracebacks: the frames of the program, and none of the library."""

from __future__ import annotations

import math
import traceback

import numpy as np
import pytest

from chainrules_py.errors import TracerError
from chainrules_tape import grad


def refused(x):
    return math.sin(x)


def written(x):
    buffer = np.zeros(3)
    buffer[0] = x[0]
    return np.sum(buffer)


def failing(x):
    raise ValueError("the program's own")


def frames(f, x):
    with pytest.raises((TracerError, ValueError)) as caught:
        grad(f)(x)
    found = traceback.extract_tb(caught.value.__traceback__)
    return [frame.name for frame in found if frame.filename != __file__ or frame.name == f.__name__]


@pytest.mark.parametrize(
    "f, x", [(refused, 1.0), (written, np.ones(2)), (failing, 1.0)], ids=lambda x: str(x)[:12]
)
def test_a_traceback_has_the_frames_of_the_program(f, x):
    assert frames(f, x) == [f.__name__]


def test_a_cache_that_missed_is_not_shown():
    with pytest.raises(TypeError) as caught:
        grad(lambda x: np.linalg.matrix_power(x, 2.5)[0, 0])(np.eye(2))
    shown = "".join(traceback.format_exception(caught.value))
    assert "KeyError" not in shown
    assert "matrix_power" in shown


def test_all_frames_are_there_on_demand(monkeypatch):
    monkeypatch.setenv("CHAINRULES_TRACEBACK", "full")
    assert len(frames(refused, 1.0)) > 4
