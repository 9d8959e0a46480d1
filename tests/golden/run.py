"""Computation of entries, in several processes."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from tests.golden.entries import compute, entries
from tests.golden.fingerprint import fingerprint
from tests.golden.store import Entries, Entry

_BLOCK = 50


def run(names: Sequence[str], jobs: int) -> Entries:
    """Compute entries, in so many processes; in this one if ``jobs`` is 0."""
    if not jobs:
        return _block(names)
    # Of the processes that are started, since they load NumPy.
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    blocks = [names[i : i + _BLOCK] for i in range(0, len(names), _BLOCK)]
    found: Entries = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, initializer=_rarely_collect) as pool:
        for block in pool.map(_block, blocks):
            found |= block
    return found


def _rarely_collect() -> None:
    """Leave what is imported out of garbage collections: they take two fifths of the time."""
    entries()
    gc.freeze()
    gc.set_threshold(200_000, 20, 20)


def _block(names: Sequence[str]) -> Entries:
    here = fingerprint()
    return {name: Entry(compute(name), here) for name in names}
