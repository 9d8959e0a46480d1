"""Policies: which values of a stretch of calls are kept."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Literal, TypeAlias, final

from chainrules_py.extend import Tracer, flatten, is_structure_type, type_info
from chainrules_py.vocabulary.views import read, sharing
from chainrules_tape.checkpoint.mincut import check_solver

Save: TypeAlias = Literal["all", "nothing", "cheap", "mincut"] | Collection[str] | int
Packing: TypeAlias = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def nbytes(x: Any) -> int:
    """Count the bytes of an array, or of the one that a tracer stands for; 0 of anything else."""
    while isinstance(x, Tracer):
        x = x.__payload__
    if is_structure_type(type(x)):
        return sum(map(nbytes, flatten(x)[0]))
    found = getattr(x, "nbytes", 0) if type_info(type(x)).is_array else 0
    return found if type(found) is int else int(found)


def check_save(save: Save) -> None:
    """Raise for what is no policy."""
    is_listed = isinstance(save, Collection) and not isinstance(save, str)
    names = is_listed and all([isinstance(n, str) for n in save])  # type: ignore[union-attr]
    budget = type(save) is int and save >= 0
    if not (names or budget or save in ("all", "nothing", "cheap", "mincut")):
        msg = (
            f"save={save!r}; write 'nothing', 'cheap', 'mincut' or 'all', a list of names, or a "
            f"number of bytes"
        )
        raise ValueError(msg)
    if save == "mincut":
        check_solver()


@final
class Policy:
    """Policy: decides call by call which values are kept, while they come.

    Of a budget, what is dear is kept as long as it fits, and the rest evenly: each time that the
    budget is full every other one of these goes, so that nobody has to know how many come.

    Attributes
    ----------
    gone : list of int
        Places of values that were kept and are to go: whoever asks empties it.
    cheap : set of int
        Places of values that a cut may have computed again.
    sizes : dict
        The bytes of all values that a cut may keep.
    """

    __slots__ = ("cheap", "even", "gone", "left", "save", "seen", "sizes", "step")

    def __init__(self, save: Save) -> None:
        self.save = save
        self.left = save if isinstance(save, int) else 0
        self.seen, self.step = 0, 1
        self.even: list[tuple[int, int]] = []
        self.gone: list[int] = []
        self.cheap: set[int] = set()
        self.sizes: dict[int, int] = {}

    def keeps(self, i: int, call: Any, record: tuple[Any, ...], label: str | None) -> bool:
        """Tell whether the value of a call is kept."""
        save = self.save
        if save == "mincut":  # for which all has to be known
            self.sizes[i] = nbytes(call.value)
            if _is_word(call) and _is_cheap(record):
                self.cheap.add(i)
            return i not in self.cheap
        if save == "all" or not _is_word(call):
            self.left -= nbytes(call.value)
            return True
        cheap = _is_cheap(record)
        if save == "cheap":
            return not cheap
        if not isinstance(save, int):
            return label is not None and label in save
        size = nbytes(call.value) + (0 if cheap else _beside(record, call))
        if not cheap:
            self._thin(size)
            fits = size <= self.left
            self.left -= size if fits else 0
            return fits
        self.seen += 1
        if not size or self.seen % self.step:
            return False
        self.even.append((i, size))
        self.left -= size
        self._thin(0)
        return (i, size) in self.even

    def _thin(self, size: int) -> None:
        """Let every other one of those go that are kept evenly, until so much is left."""
        while self.left < size and self.even:
            gone, self.even = self.even[::2], self.even[1::2]
            self.step *= 2
            self.left += sum([n for _, n in gone])
            self.gone += [i for i, _ in gone]


def _is_word(call: Any) -> bool:
    """Tell whether a call gives the same whenever it is made: people's own may draw numbers."""
    f = call.primitive
    return f.__module__.startswith("chainrules_") and not f.fixed


_CHEAP = {*sharing, read}


def _is_cheap(record: tuple[Any, ...]) -> bool:
    statement = record[0].statement
    recipe = statement.recipe
    views = recipe.is_linear and statement.primal in _CHEAP
    return bool(recipe.is_elementwise or views)


def _beside(record: tuple[Any, ...], call: Any) -> int:
    """Count the bytes that the record of a rule holds that cannot stand by references."""
    if record[0].statement.recipe.saves_values:
        return 0
    return sum([nbytes(s) for s in flatten(record[2:])[0] if s is not call.value])
