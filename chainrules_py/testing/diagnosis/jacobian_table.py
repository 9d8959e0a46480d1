"""Two matrices of derivatives side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from chainrules_py.testing.diagnosis.heat_map import heat_map

_ROWS = 6


@final
@dataclasses.dataclass(frozen=True)
class Table:
    """Two matrices of derivatives, printed as a table of the entries that differ most.

    Attributes
    ----------
    have, want : matrix
        The derivatives of the rule, and those that they are compared with.
    rows, columns : sequence of str
        The labels of the rows and columns.
    allowed : matrix or number
        The allowed difference.
    titles : tuple of str
        The names of ``have`` and ``want``.
    """

    have: Any
    want: Any
    rows: Sequence[str]
    columns: Sequence[str]
    allowed: Any
    titles: tuple[str, str]

    @property
    def is_within(self) -> bool:
        """Whether nothing differs by more than is allowed."""
        return not self.excess.size or bool(np.all(self.excess <= 1.0))

    @property
    def excess(self) -> Any:
        """The differences as multiples of what is allowed."""
        with np.errstate(all="ignore"):
            apart = np.abs(self.have - self.want)
            # Infinities of one sign, and NaN on both sides, agree.
            same = (self.have == self.want) | (np.isnan(self.have) & np.isnan(self.want))
            ratio = np.where(np.isnan(apart), np.inf, apart) / self.allowed
            return np.where(same, 0.0, np.where(np.isinf(self.allowed), 0.0, ratio))

    def __str__(self) -> str:
        excess = self.excess
        order = np.argsort(-excess, axis=None, kind="stable")
        wrong = int(np.sum(excess > 1.0))
        lines = [("entry", *self.titles, "difference")]
        for flat in order[: min(_ROWS, wrong)]:
            i, j = np.unravel_index(flat, self.have.shape)
            have, want = self.have[i, j], self.want[i, j]
            name = f"{self.rows[i]} in {self.columns[j]}"
            lines.append((name, f"{have:.10g}", f"{want:.10g}", f"{have - want:.3g}"))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [
            "  " + "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        if wrong > _ROWS:
            text.append(f"  ... {wrong} of {self.have.size} entries differ")
        return "\n".join(text)

    def _repr_html_(self) -> str:
        title = f"{self.titles[0]} - {self.titles[1]}"
        return heat_map(self.have, self.want, self.excess, self.rows, self.columns, title)
