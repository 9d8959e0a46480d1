"""Hashes of the values and gradients of random programs: whether a change left every bit.

``python -m tests.fuzz.hashes FILE`` compares with the file that is kept, or writes it where there
is none; ``--count`` says of how many programs. Bits depend on NumPy, its BLAS and the processor:
the file says on which they were found, and elsewhere it has to be made anew, on the commit to
compare with.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import platform
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.internal.conjecture import providers

from chainrules_tape import value_and_grad
from tests.fuzz.calls import CALLS
from tests.fuzz.programs import programs
from tests.fuzz.tables import LINES
from tests.plain import unplug_as_asked

BLOCK = 50
"""Programs to a hash."""
FAMILIES = (LINES, (*LINES, CALLS, CALLS))
CHECKS: Any = list(HealthCheck)


def parts(x: Any) -> bytes:
    """Return what a value is, to the last bit."""
    a = np.asarray(x)
    return f"{type(x).__name__}{a.dtype}{a.shape}".encode() + a.tobytes()


def of_block(block: int, parts: Callable[[Any], bytes] = parts) -> tuple[str, str, int]:
    """Return the hashes of a block of programs and of its answers, and how many there are."""
    unplug_as_asked()
    # hypothesis takes some numbers from the code that is loaded, which is not the same tomorrow.
    none = providers.Constants()  # type: ignore[attr-defined]
    providers._get_local_constants = lambda: none
    texts, answers, good = hashlib.sha256(), hashlib.sha256(), 0

    @seed(block)
    @settings(
        max_examples=BLOCK,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=CHECKS,
    )
    @given(programs(lines=FAMILIES[block % 2]))
    def run(program: Any) -> None:
        nonlocal good
        texts.update(str(program).encode())
        try:
            y, bars = value_and_grad(program, tuple(range(len(program.leaves))))(*program.leaves)
        except Exception as error:  # what is refused is refused alike
            answers.update(type(error).__name__.encode())
        else:
            good += 1
            for x in (y, *bars):
                answers.update(parts(x))

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        run()
    return texts.hexdigest()[:8], answers.hexdigest()[:16], good


def found(count: int) -> dict[str, Any]:
    """Return the hashes of so many programs, with what they depend on."""
    with multiprocessing.get_context("spawn").Pool() as pool:
        blocks = pool.map(of_block, range(count // BLOCK), chunksize=4)
    return {
        "numpy": np.__version__,
        "hypothesis": hypothesis.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "answered": sum(good for *_, good in blocks),
        "programs": [text for text, *_ in blocks],
        "answers": [answer for _, answer, _ in blocks],
    }


def main() -> int:
    """Compare, or write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--count", type=int, default=20_000)
    given = parser.parse_args()
    new = found(given.count)
    if not given.file.exists():
        given.file.write_text(json.dumps(new, indent=0) + "\n", encoding="utf-8")
        print(f"{given.file}: {new['answered']} of {given.count} programs gave an answer")
        return 0
    old = json.loads(given.file.read_text(encoding="utf-8"))
    for key in ("numpy", "hypothesis", "python", "machine"):
        if old[key] != new[key]:
            print(f"{key} is {new[key]}, and was {old[key]}: bits may differ for that")
    other = [
        i for i, (a, b) in enumerate(zip(old["programs"], new["programs"], strict=False)) if a != b
    ]
    wrong = [
        i for i, (a, b) in enumerate(zip(old["answers"], new["answers"], strict=False)) if a != b
    ]
    print(
        f"{given.count} programs, {new['answered']} answers; of {len(new['programs'])} blocks "
        f"{len(other)} hold other programs, {len(wrong)} other answers"
    )
    if wrong:
        print(f"the first: block {wrong[0]}")
    return bool(other or wrong)


if __name__ == "__main__":
    sys.exit(main())
