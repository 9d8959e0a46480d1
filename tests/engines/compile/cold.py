"""Programs of a process that has compiled nothing before, beside those of one that has.

``python -m tests.engines.compile.cold START STEP`` takes each STEP-th operation's samples, as
arrays, as NumPy's numbers and as Python's: each is compiled in a child of its own, and all once
more in one that has compiled others before. Sources are the same, to the letter.
"""

from __future__ import annotations

import functools
import sys
import warnings

import numpy as np

import chainrules_tape as ct
from chainrules_compile import compile
from chainrules_py.testing.cases.calls_from_samples import instances
from chainrules_py.testing.sample_runs import two_samples
from tests.engines.compile.test_samples import FORMS, OPERATIONS, calls
from tests.faults.children import in_child

PYTHON = "Python's numbers"
FORMS[PYTHON] = lambda x: x.reshape(-1)[0].item() if x.size else x


def source_of(g, args):
    compiled = compile(g)
    try:
        compiled(*args)
        return compiled.source
    except Exception as error:
        return repr(type(error))


def sources(found):
    """Compile others first, and then these."""
    kinds = [np.dtype(c).type for c in "fdFD"]
    for x in (1.5, 1j, *[kind(2) for kind in kinds], *[np.ones(2, kind) for kind in kinds]):
        source_of(ct.value_and_grad(lambda x: np.sum(np.abs(np.sqrt(x * x + 3) / x))), (x,))
        source_of(np.sum, (x,))
    return [source_of(g, args) for g, args in found]


def main(start, step):
    wrong, n = [], 0
    for operation in OPERATIONS[start::step]:
        for instance in two_samples(list(instances(operation))):
            for form in ("as it is", "number", PYTHON, "no axes"):
                found = list(calls(instance, form))
                warm = in_child(functools.partial(sources, [call[1:] for call in found]))
                for (name, g, args), wanted in zip(found, warm, strict=True):
                    n += 1
                    if (cold := in_child(functools.partial(source_of, g, args))) != wanted:
                        wrong.append(f"{instance.name}, {form}, {name}:\n{cold}\nfor\n{wanted}")
    print(*wrong, f"{n} programs, {len(wrong)} wrong", sep="\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    main(*map(int, sys.argv[1:]))
