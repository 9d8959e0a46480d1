"""Calls of CuPy's functions where there is no device, through each door: what each ends in.

``python -m tests.libraries.cupy.bad_calls`` prints them, as JSON. It is a process of its own, for
others may have put CuPy's arrays in the memory of the host.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np

from chainrules_py import ChainRulesError, frule, rrule
from chainrules_tape import Tape, grad, jvp, vjp

X = np.linspace(0.1, 0.9, 9).reshape(3, 3) + np.eye(3)
WHOLE = np.arange(9)
FUNCTIONS = """
    sin exp cbrt sinc i0 isnan add:xx multiply:xx power:x2 maximum:x2 heaviside:x2
    sum mean prod max var std cumsum argmax sort trace linalg.norm
    dot:xx matmul:xx tensordot:xx inner:xx outer:xx kron:xx vdot:xx
    reshape:x9 transpose ravel pad:x1 tile:x2 repeat:x2 roll:x1 flip take:x0 diag tril clip:x01
    concatenate:l stack:l where:xxx einsum:exx
    linalg.inv linalg.solve:xx linalg.det linalg.svd linalg.qr linalg.cholesky linalg.eigh
    linalg.slogdet fft.fft
    asarray array asnumpy zeros_like ones_like full_like:x2 ones:3 arange:3
    special.erf special.gammaln special.softmax:x0
    arctan2:xx log1p abs angle conj real floor mod:xx nansum nanmean median:x percentile:x2 ptp
    average cumprod diff gradient histogram:x bincount:i searchsorted:xx unique
    linalg.pinv linalg.eigvalsh linalg.lstsq:xx linalg.matrix_power:x2 linalg.cond
    fft.rfft fft.fft2 fft.fftshift swapaxes:x01 vstack:l split:x3 triu rot90 partition:x1
    nonzero argwhere count_nonzero any copyto:xx empty_like copy meshgrid:xx eye:3 vander:v roots:v
    add.at:x01 add.reduce multiply.outer:xx add.accumulate
    special.expit special.betainc:xxx special.zeta:x2 special.ndtr ndimage.gaussian_filter:x1
"""


def functions() -> dict[str, Any]:
    """By name and operands, as functions of one array."""
    import cupy
    import cupyx.scipy.ndimage
    import cupyx.scipy.special

    found = {}
    for line in FUNCTIONS.split():
        name, _, signs = line.partition(":")
        f: Any = cupyx.scipy if name.startswith(("special.", "ndimage.")) else cupy
        for part in name.split("."):
            f = getattr(f, part)
        found[line] = f if not signs else _with_operands(f, signs)
    return found


def _with_operands(f: Any, signs: str) -> Any:
    def call(x: Any) -> Any:
        given = {"x": x, "l": [x, x], "e": "ij,jk->ik", "v": x[0], "i": WHOLE}
        return f(*[given[s] if s in given else int(s) for s in signs])

    return call


def total(y: Any) -> Any:
    """Sum what a call gave, or the first part of it."""
    while isinstance(y, (tuple, list)):
        y = y[0]
    return np.sum(y)


def on_a_tape(f: Any) -> None:
    with Tape() as tape:
        f(tape.variable(X))


DOORS = {
    "grad": lambda f: grad(lambda x: total(f(x)))(X),
    "vjp": lambda f: vjp(f, X),
    "jvp": lambda f: jvp(f, (X,), (X,)),
    "Tape": on_a_tape,
    "rrule": lambda f: rrule(f, X)[1](X),
    "frule": lambda f: frule((X,), f, X),
}


def ending(door: Any, f: Any) -> str:
    """Tell how a call ends: in an answer, an error of ours, a note of ours on one, or otherwise."""
    try:
        door(f)
    except ChainRulesError:
        return "ours"
    except Exception as error:
        said = " ".join(getattr(error, "__notes__", []))
        helps = any([words in said for words in ("write", "use np.", "make it an operation")])
        return "noted" if helps else f"{type(error).__name__}: {error}"
    return "answer"


def main() -> None:
    """Print how each call ends through each door, twice: the second finds what was kept."""
    warnings.simplefilter("ignore")
    ends = {
        f"{door}, {name}, {k}": ending(DOORS[door], f)
        for name, f in functions().items()
        for door in DOORS
        for k in (1, 2)
    }
    sys.stdout.write(json.dumps(ends))


if __name__ == "__main__":
    main()
