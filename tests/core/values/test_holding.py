"""What an object holds, wherever it keeps it; and what keeps nothing where nobody sees it."""

import collections
import concurrent.futures
import ctypes
import datetime as dt
import hashlib
import io
import itertools
import operator
import pathlib
import queue
import random
import re
import socket
import threading
import uuid
import weakref

import numpy as np
import pytest

from chainrules_py.values.holding import holds, is_real
from tests.fuzz.hiding import HIDING

np.random.default_rng(0)
NOTHING = [
    np.dtype(float), np.sin, np.random.default_rng(3), np.random.RandomState(3), np.bool_(1),
    re.compile("a"), dt.datetime(2000, 1, 1), threading.RLock(), threading.Event(),
    queue.Queue(), queue.SimpleQueue(), hashlib.sha1(b"a"), itertools.count(), pathlib.Path(),
    uuid.uuid4(), operator.itemgetter(1), object(), iter([]), random.Random(3), slice(1, 2),
    range(3), ..., None, NotImplemented, int, print, {1: 2}.keys(), threading.Thread(),
    threading.local(), ctypes.CDLL(None), weakref.WeakValueDictionary(), collections.Counter("a"),
]  # fmt: skip


@pytest.mark.parametrize("x", NOTHING, ids=range(len(NOTHING)))
def test_what_keeps_no_number_where_nobody_sees_it(x):
    assert not holds(x, is_real)


def test_what_lives_for_a_while_keeps_none():
    with socket.socket() as x, concurrent.futures.ThreadPoolExecutor() as pool:
        assert not holds(x, is_real)
        assert not holds(pool, is_real)
    assert not holds(io.StringIO(), is_real)


@pytest.mark.parametrize("hidden", HIDING)
def test_what_keeps_some(hidden):
    assert holds(HIDING[hidden].make(np.array([1.0, 2.0])), is_real)


def test_of_more_than_can_be_looked_at_the_answer_is_yes():
    assert holds([[i] for i in range(20_000)], is_real)
    assert not holds([[i] for i in range(2_000)], is_real)
    circle = []
    circle.append(circle)
    assert not holds(circle, is_real)
