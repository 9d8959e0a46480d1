"""Table of the arrays that are kept for a gradient."""

from __future__ import annotations

from typing import NamedTuple, final


class SavedValue(NamedTuple):
    """An array that is kept.

    Attributes
    ----------
    nbytes : int
        Its bytes.
    what : str
        Its dtype and shape.
    by : str
        The function whose derivative reads it.
    why : str
        What it is to that call.
    where : str
        The line of the call.
    """

    nbytes: int
    what: str
    by: str
    why: str
    where: str


@final
class Saved:
    """The arrays that a gradient keeps; its repr is a table.

    Attributes
    ----------
    rows : list of SavedValue
        The largest first, each once.
    nbytes : int
        The bytes of all.
    """

    def __init__(self, rows: list[SavedValue]) -> None:
        self.rows = sorted(rows, key=lambda row: -row.nbytes)
        self.nbytes = sum([row.nbytes for row in rows])

    def __repr__(self) -> str:
        lines = [f"{self.nbytes} bytes in {len(self.rows)} arrays"]
        for row in self.rows:
            line = f"{row.nbytes:>10}  {row.what}  {row.by}: {row.why}"
            lines.append(f"{line}  {row.where}" if row.where else line)
        return "\n".join(lines)
