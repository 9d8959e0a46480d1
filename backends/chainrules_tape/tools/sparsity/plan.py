"""Plans: a pattern, and which pushes and pulls compute its entries."""

from __future__ import annotations

import itertools
from typing import Any, Literal, NamedTuple, TypeAlias, final

import numpy as np

from chainrules_py import NotDifferentiableError
from chainrules_py.extend import describe
from chainrules_tape.tools.sparsity.coloring import color_columns, color_stars, count_colors
from chainrules_tape.tools.sparsity.detection import chunks, csr_array, long_first, pattern_of

Mode: TypeAlias = Literal["auto", "forward", "reverse"]


class DensePatternWarning(UserWarning):
    """Warns that a pattern is dense, as far as it was detected.

    The full pattern is used. The result is correct, but slower than ``jacobian(f)``. The
    message has the remedy.
    """


@final
class Plan:
    """The pattern of a Jacobian or Hessian, with the pushes and pulls that compute its entries.

    Columns that share no row have one color, and are pushed together. Rows that share no column
    are pulled together. Make a plan once, and use it for all Jacobians with its pattern. Plans can
    be pickled.

    Parameters
    ----------
    pattern : sparse array or array
        Where the Jacobian may be nonzero. It has a row for each number of the result, and a column
        for each number of the arguments. All stored entries count, including zeros.
    mode : {"auto", "forward", "reverse"}
        Push columns, or pull rows. "auto" uses the fewest directions that it finds, and may pull
        the long rows and push the columns of the others.
    symmetric : bool
        Whether the matrix is symmetric, as the Hessian of one number is. Entries are then also read
        at the mirrored index, so that an arrow matrix takes two pushes.

    Attributes
    ----------
    pattern : csr_array of bool
        With sorted indices.
    pushes, pulls : int
        The numbers of directions.
    columns, rows : array of int
        The colors of columns that are pushed and of rows that are pulled; -1 for all others.
    direction : array of int
        For each entry the direction that computes it: pushes count first, then pulls.
    place : array of int
        For each entry its index in the image of that direction.
    passes : list of Pass
        Directions that are pushed or pulled at once.
    rank : array of int
        For each entry its rank among the entries of all passes.
    mode, symmetric
        The arguments.

    Raises
    ------
    NotDifferentiableError
        If the pattern is not a matrix, or not symmetric despite ``symmetric``.

    Examples
    --------
    >>> from scipy import sparse
    >>> plan = Plan(sparse.diags_array([[1.0] * 3, [1.0] * 4], offsets=[-1, 0]))
    >>> plan
    <Plan of 4 x 4: 7 entries, 2 pushes>
    >>> print(plan)
    <Plan of 4 x 4: 7 entries, 2 pushes>
    a . . .
    a b . .
    . b a .
    . . a b
    """

    __slots__ = (
        *("_blocks", "columns", "direction", "mode", "passes", "pattern", "place", "rank"),
        *("pulls", "pushes", "rows", "symmetric"),
    )

    def __init__(self, pattern: Any, mode: Mode = "auto", *, symmetric: bool = False) -> None:
        if mode not in ("auto", "forward", "reverse"):
            raise NotDifferentiableError(f"mode={mode!r}; write 'forward', 'reverse' or 'auto'")
        self.mode: Mode = mode
        self.symmetric = symmetric
        self.pattern = _checked(pattern)
        if symmetric:
            self._read_stars()
        else:
            self._cover()
        self.pushes, self.pulls = count_colors(self.columns), count_colors(self.rows)
        m, n = self.shape
        self.passes = [self._pass(first, last, m) for first, last in chunks(self.pushes, max(m, n))]
        for first, last in chunks(self.pulls, max(m, n)):
            self.passes.append(self._pass(self.pushes + first, self.pushes + last, n))
        self._blocks: dict[Any, list[list[Any]]] = {}
        self.rank = np.argsort(np.concatenate([p.entries for p in self.passes] or [[]]))

    def _cover(self) -> None:
        """Push some columns and pull some rows."""
        cover = _cheapest(self.pattern, self.mode)
        self.columns, self.rows = cover.columns, cover.rows
        i, j = self.entries()
        pulled = self.rows[i] >= 0 if cover.rows_first else self.columns[j] < 0
        self.direction = np.where(
            pulled, count_colors(self.columns) + self.rows[i], self.columns[j]
        )
        self.place = np.where(pulled, j, i)

    def _read_stars(self) -> None:
        """Read each entry at (i, j), or at (j, i) if it is alone in the image only there."""
        if self.shape[0] != self.shape[1] or (self.pattern != self.pattern.T).nnz:
            raise NotDifferentiableError(
                "symmetric=True, as for a Hessian, and the pattern is not symmetric; write "
                "pattern + pattern.T"
            )
        self.columns = color_stars(self.pattern)
        self.rows = np.full(self.shape[0], -1)
        i, j = self.entries()
        key = i * (count_colors(self.columns) + 1) + self.columns[j]
        _, at, count = np.unique(key, return_inverse=True, return_counts=True)
        alone = count[at] == 1
        self.direction = self.columns[np.where(alone, j, i)]
        self.place = np.where(alone, i, j)

    def _pass(self, first: int, last: int, width: int) -> Pass:
        entries = np.flatnonzero((first <= self.direction) & (self.direction < last))
        places = (self.direction[entries] - first) * width + self.place[entries]
        start = self.pushes if first >= self.pushes else 0
        return Pass(start > 0 or not self.pushes, first - start, last - start, entries, places)

    def seeds(self, of: Pass) -> Any:
        """Return the columns, or rows, of each direction of a pass."""
        colors = self.rows if of.pulled else self.columns
        return colors == np.arange(of.first, of.last)[:, None]

    def entries(self) -> tuple[Any, Any]:
        """Return the rows and columns of the entries, row by row."""
        return _entries(self.pattern)

    def blocks(self, heights: tuple[int, ...], widths: tuple[int, ...]) -> list[list[Any]]:
        """Split the pattern into blocks with these numbers of rows and columns.

        The data of a block are the indices of its entries in the whole pattern.
        """
        found = self._blocks.get((heights, widths))
        if found is None:
            whole = self.pattern
            numbers = np.arange(whole.nnz), whole.indices, whole.indptr
            rows, columns = ([*itertools.accumulate(s, initial=0)] for s in (heights, widths))
            at = csr_array(numbers, self.shape)
            found = self._blocks[heights, widths] = [
                [at[i:j, k:h] for k, h in itertools.pairwise(columns)]
                for i, j in itertools.pairwise(rows)
            ]
        return found

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.pattern.shape  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        made = [(self.pushes, "push", "pushes"), (self.pulls, "pull", "pulls")]
        texts = [f"{n} {one if n == 1 else many}" for n, one, many in made if n]
        m, n = self.shape
        what = "symmetric " if self.symmetric else ""
        return f"<Plan of {what}{m} x {n}: {', '.join([f'{self.pattern.nnz} entries', *texts])}>"

    def __str__(self) -> str:
        m, n = self.shape
        if m > _LINES or n > _LINES or self.pushes + self.pulls > len(_LETTERS):
            return repr(self)
        lines = [["."] * n for _ in range(m)]
        for i, j, d in zip(*self.entries(), self.direction, strict=True):
            lines[i][j] = _LETTERS[d] if d < self.pushes else _LETTERS[d - self.pushes].upper()
        return "\n".join([repr(self), *map(" ".join, lines)])


class Pass(NamedTuple):
    """Directions that are pushed or pulled at once.

    Attributes
    ----------
    pulled : bool
        Whether to pull.
    first, last : int
        Their colors.
    entries : array of int
        The entries of the pattern that these directions compute.
    places : array of int
        The indices of these entries in the images, which are concatenated.
    """

    pulled: bool
    first: int
    last: int
    entries: Any
    places: Any


_LINES = 40
"""Largest number of rows and columns of a pattern that is printed."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Cover(NamedTuple):
    """Colors of the columns that are pushed and of the rows that are pulled."""

    columns: Any
    rows: Any
    rows_first: bool
    """Whether entries in both a colored row and a colored column are pulled."""

    @property
    def size(self) -> int:
        """The number of directions."""
        return count_colors(self.columns) + count_colors(self.rows)


def _cheapest(pattern: Any, mode: Mode) -> Cover:
    """Return the cover with the fewest directions."""
    best = None if mode == "reverse" else _cover(pattern, mixed=mode == "auto")
    if best is not None and mode == "forward":
        return best
    across = pattern.T.tocsr()
    if best is not None and best.size <= long_first(np.diff(across.indptr))[1]:
        return best
    rows, columns, _ = _cover(across, mixed=mode == "auto")
    other = Cover(columns, rows, rows_first=False)
    return other if best is None or other.size < best.size else best


def _cover(pattern: Any, mixed: bool) -> Cover:
    """Color the long rows, and the columns of all other rows."""
    m = pattern.shape[0]
    rows = np.full(m, -1)
    long = long_first(np.diff(pattern.indptr))[0] if mixed else rows[:0]
    if len(long):
        rows[long] = color_columns(pattern[long].T.tocsc())
        i, j = _entries(pattern)
        short = rows[i] < 0
        pattern = pattern_of(i[short], j[short], pattern.shape)
    return Cover(color_columns(pattern.tocsc()), rows, rows_first=True)


def _entries(pattern: Any) -> tuple[Any, Any]:
    i = np.arange(pattern.shape[0]).repeat(np.diff(pattern.indptr))
    return i, pattern.indices.astype(np.intp)


def _checked(pattern: Any) -> Any:
    """Copy a pattern of any class to a csr array with sorted indices."""
    pattern = pattern.get() if hasattr(pattern, "get") else pattern  # from CuPy
    if getattr(pattern, "ndim", 0) != 2:
        raise NotDifferentiableError(
            f"a pattern is a matrix with a row for each number of the result, and this one is "
            f"{describe(pattern)}; write a sparse array of SciPy"
        )
    found = csr_array(pattern).copy()
    found.sum_duplicates()
    return csr_array((np.ones(found.nnz, bool), found.indices, found.indptr), found.shape)
