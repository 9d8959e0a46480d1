"""Which tests are run: by `make test` suites of value, and a part of all others that are not slow.

The draw is by a hash of each test's name and of `CHAINRULES_DRAW`, for which `make test` takes the
commit: the same on every worker and in every run of a commit, another after each change. `make
test-all` runs all that is not slow, and a tenth of the slow cases of each function, drawn by
`CHAINRULES_DRAW_SLOW`; `make test-nightly` runs them all.
"""

from __future__ import annotations

import os
import random
import zlib

DRAW = os.environ.get("CHAINRULES_DRAW", "")
DRAW_SLOW = os.environ.get("CHAINRULES_DRAW_SLOW", "")
LEAST = 3  # cases of a function that is run

# One of how many functions is run, and of these one of how many cases.
WHOLE, CASES, SOME, FEW = (1, 1), (1, 10), (4, 10), (10, 10)
# The longest beginning that fits says what is run of a file, or of a test.
RUN = {
    "tests/": CASES,
    # Rooms of which suites of all samples, programs and transformations see most.
    "tests/engines/": SOME,
    "tests/faults/": SOME,
    "tests/features/": SOME,
    "tests/fuzz/": SOME,
    "tests/libraries/": SOME,
    "tests/libraries/numpy/": CASES,
    # Numbers that are asked of all rules, of all programs and in both modes.
    "tests/core/registry/": WHOLE,
    "tests/features/sparsity/": WHOLE,
    "tests/engines/compile/test_compiled.py": WHOLE,
    "tests/engines/compile/test_passes.py": WHOLE,
    "tests/engines/jax/test_battery.py": WHOLE,
    "tests/engines/torch/test_battery.py": WHOLE,
    "tests/libraries/numpy/test_surface.py": WHOLE,
    "tests/programs/": WHOLE,
    "tests/rules/": WHOLE,
    "tests/tape/": WHOLE,
    "tests/testing/planted/": WHOLE,
    "tests/testing/test_samples.py": WHOLE,
    "tests/house/": WHOLE,
    # The same numbers by other libraries, and examples.
    "tests/testing/test_samples.py::test_strict_gives_the_numbers_of_numpy": CASES,
    "tests/rules/decompositions/test_svd.py::test_jax_agrees_on_real_matrices": CASES,
    "tests/rules/test_elementwise.py::test_binary_against_jax": CASES,
    "tests/rules/test_elementwise.py::test_unary_against_jax": CASES,
    "tests/rules/test_interpolation.py::test_against_jax": CASES,
    "tests/rules/test_statistics.py::test_jax_finds_the_same": CASES,
    "tests/house/test_docstrings.py": CASES,
    "tests/programs/test_reports.py": CASES,
    "tests/tape/functions/test_jacobian.py": CASES,
    # Mechanisms that are about to go, and what belongs to the benchmarks.
    "tests/core/primitives/closures/": FEW,
    "tests/engines/compile/": FEW,
    "tests/engines/test_results_that_hide.py": FEW,
    "tests/house/test_benchmark": FEW,
}


def number(name):
    return zlib.crc32(f"{DRAW or DRAW_SLOW}:{name}".encode())


def run_of(name):
    """What is run of the file that a test's name begins with."""
    fits = [path for path in RUN if name.startswith(path)]
    return RUN[max(fits, key=len)] if DRAW and fits else WHOLE


def is_drawn(function):
    """Whether a test function is run at all."""
    return number(function) % run_of(function)[0] == 0


def drawn(cases):
    """The cases of a function that are run, in their order."""
    due, share = cases, run_of(cases[0].nodeid)[1] if cases else 1
    if DRAW_SLOW:
        due, share = [case for case in cases if case.get_closest_marker("slow")], 10
    count = max(LEAST, -(-len(due) // share))
    left = {*sorted(due, key=lambda case: number(case.nodeid))[count:]}
    return [case for case in cases if case not in left]


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
