"""Which tests `make test` runs: suites of value whole, and a tenth of all else.

The draw is by a hash of each test's name and of `CHAINRULES_DRAW`, for which `make test` takes the
commit: the same on every worker and in every run of a commit, another after each change.
"""

from __future__ import annotations

import os
import random
import zlib

DRAW = os.environ.get("CHAINRULES_DRAW", "")
SHARE = 10  # one of so many
LEAST = 3  # cases of a function

# Run whole: numbers that are asked of all rules, all programs, and both modes.
WHOLE = (
    "tests/core/registry/",
    "tests/engines/compile/test_compiled.py",
    "tests/engines/compile/test_passes.py",
    "tests/engines/jax/test_battery.py",
    "tests/engines/torch/test_battery.py",
    "tests/golden/",
    "tests/house/",
    "tests/libraries/numpy/test_surface.py",
    "tests/programs/",
    "tests/rules/",
    "tests/tape/",
    "tests/testing/test_samples.py",
)
# What tests mechanisms that are about to go: a tenth of its functions.
LEAVING = (
    "tests/core/primitives/closures/",
    "tests/engines/compile/",
    "tests/engines/test_results_that_hide.py",
)


def number(name):
    return zlib.crc32(f"{DRAW}:{name}".encode())


def is_whole(name):
    return not DRAW or name.startswith(WHOLE)


def is_drawn(function):
    """Whether a test function is run at all."""
    if is_whole(function) or not function.startswith(LEAVING):
        return True
    return number(function) % SHARE == 0


def drawn(cases):
    """A tenth of the cases of one function, and not less than a few, in their order."""
    if len(cases) <= LEAST or is_whole(cases[0].nodeid):
        return cases
    count = max(LEAST, -(-len(cases) // SHARE))
    few = {*sorted(cases, key=lambda case: number(case.nodeid))[:count]}
    return [case for case in cases if case in few]


def shuffled(items, seed):
    """The items in a random order: files, and the tests of each file."""
    if seed is None:
        return list(items)
    rng = random.Random(seed)
    mixed = rng.sample(items, len(items))
    place = {}
    for item in mixed:
        place.setdefault(item.path, len(place))
    return sorted(mixed, key=lambda item: place[item.path])
