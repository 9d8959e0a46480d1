"""Calls of NumPy's functions as people write them, in the form of samples.

`enter_calls` takes calls as data: operands and keywords may be draws, or lists and tuples of them.
They stand in ``tests/surface/calls/<family>``; `tests.surface.checks` judges them.
"""

from __future__ import annotations

import dataclasses
import re
from typing import final

from chainrules_py.testing.samples.sample import Sample

ENTERED: dict[str, tuple[Sample, ...]] = {}
"""By name, the calls that were entered, in the order of entering: random programs draw from it."""


def enter_calls(name: str, *given: Sample) -> None:
    """Enter calls of a function of NumPy.

    Parameters
    ----------
    name : str
        As users write it behind ``np.``: ``"linalg.det"``, or ``"ndarray.sum"`` for a method. A
        function of SciPy by its whole name, ``"scipy.special.erf"``.
    *given : Sample
        Operands and keywords. A sample of a function that is not smooth is only called; one
        with ``gauge=`` is differentiated through it.
    """
    ENTERED[name] = (*ENTERED.get(name, ()), *given)


@final
@dataclasses.dataclass(frozen=True)
class SurfaceCall:
    """Call of one function, real or complex.

    Attributes
    ----------
    name : str
        The function, as behind ``np.``.
    sample : Sample
        Operands and keywords.
    number : int
        Which of the function's calls it is.
    complex : bool
        Whether real draws are made complex.
    """

    name: str
    sample: Sample
    number: int
    complex: bool = False

    def __str__(self) -> str:
        shown = re.sub(r" at 0x[0-9a-f]+|<function |>", "", repr(self.sample))
        shown = shown.removesuffix(" complex")  # the same name in every process
        text = f"{self.name}({shown if len(shown) <= 70 else shown[:67] + '...'})"
        return f"{text}{' complex' if self.complex else ''} {self.number}"
