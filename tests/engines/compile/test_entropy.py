"""What asks the system for random bits, in a function that is recorded."""

from __future__ import annotations

import importlib
import os
import random
import secrets
import threading
import uuid

import numpy as np
import pytest

from chainrules_compile import RecordingError, compile
from chainrules_compile.entropy import watching_entropy

X = np.arange(1.0, 5.0)
BITS = [getattr(np.random, name) for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")]
CAPTURED = [cls(3) for cls in BITS]
SOURCES = {
    "a generator": lambda: np.random.default_rng().random(),
    "a mask": lambda: np.sum(np.random.default_rng().random(4) < 0.9),
    "its seeds": lambda: int(str(np.random.SeedSequence().entropy)) % 7,
    "the old generator": lambda: np.random.RandomState().rand(),
    **{f"{cls.__name__}, new": lambda cls=cls: cls().random_raw() % 7 for cls in BITS},
    **{f"{type(x).__name__}, captured": lambda x=x: x.random_raw() % 7 for x in CAPTURED},
    "Python's generator": lambda: random.Random().random(),
    "the system's": lambda: random.SystemRandom().choice([1, 2]),
    "a secret": lambda: secrets.randbelow(2),
    "bytes": lambda: os.urandom(1)[0],
    "a name": lambda: uuid.uuid4().int % 7,
}


@pytest.mark.parametrize("name", SOURCES)
def test_random_bits_are_refused(name):
    draw = SOURCES[name]
    with pytest.raises(RecordingError, match="draws random numbers"):
        compile(lambda x: x * draw())(X)


@pytest.mark.parametrize("make", [np.random.default_rng, random.Random])
def test_a_seed_is_enough(make):
    f = compile(lambda x: x * make(5).random())
    assert np.array_equal(f(X), X * make(5).random())
    assert f.programs


def test_what_modules_draw_while_they_are_imported_is_drawn_once(tmp_path, monkeypatch):
    """They are imported in the first recording, and the next tells whether the function draws."""
    for name in ("drawing", "drawing_too"):
        (tmp_path / f"{name}.py").write_text("import random\nSALT = random.random()\n")
    monkeypatch.syspath_prepend(tmp_path)

    def loading(x):
        importlib.import_module("drawing")
        return x * 2.0

    def drawing(x):
        importlib.import_module("drawing_too")
        return x * random.random()

    f = compile(loading)
    assert np.array_equal(f(X), X * 2.0)
    assert len(f.programs) == 1
    with pytest.raises(RecordingError, match="draws random numbers"):
        compile(drawing)(X)


def test_names_stand_for_what_they_stood_for_again():
    before = os.urandom, vars(random)["_urandom"], random.Random.seed
    with watching_entropy() as outer, watching_entropy() as inner:
        worker = threading.Thread(target=random.Random)
        worker.start()
        worker.join()
        assert not inner
        random.Random()
    assert (len(outer), len(inner)) == (0, 1)
    assert (os.urandom, vars(random)["_urandom"], random.Random.seed) == before
