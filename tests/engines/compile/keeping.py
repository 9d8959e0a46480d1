"""Programs of samples that are kept on disk, or found there.

``python -m tests.engines.compile.keeping START STEP`` counts them, for each STEP-th word: of
arrays, of NumPy's numbers and of Python's.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter

import numpy as np

from chainrules_compile import cache_info, compile
from chainrules_py.testing.data.build import instances
from chainrules_py.testing.run import two_samples
from tests.engines.compile.test_samples import FORMS, WORDS, calls

PYTHON = "Python's numbers"
FORMS[PYTHON] = lambda x: x.reshape(-1)[0].item() if x.size else x


def said_of(g, args):
    """Return what becomes of the program of a function."""
    before, compiled = cache_info(), compile(g, keep=True)
    try:
        compiled(*args)
    except Exception:
        return "refused"
    after = cache_info()
    if after.hits > before.hits:
        return "found"
    return "kept" if after.entries > before.entries else "not" if compiled.programs else "refused"


def main(start, step):
    said, left = Counter(), []
    for word in WORDS[start::step]:
        for instance in two_samples(list(instances(word)))[:1]:
            for form in ("as it is", "number", PYTHON):
                for name, g, args in calls(instance, form):
                    answer = said_of(g, args)
                    said[answer] += 1
                    if answer == "not" and word.__name__ not in TAKE_FUNCTIONS:
                        left.append(f"{instance.name}, {form}, {name}")
    print(*left, dict(said), sep="\n")
    print(f"{said['kept']} kept, {said['found']} found, {len(left)} left")


TAKE_FUNCTIONS = ("fixed_point", "linear_solve", "minimize", "odeint", "root")
"""Words whose operand may be a function, of which no program is kept."""

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    main(*map(int, sys.argv[1:]))
