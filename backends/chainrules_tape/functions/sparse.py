"""Sparse gradients: what goes to rows of an input is kept as rows, and never a whole table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, final

from chainrules_py import Rows, is_zero, unthunk
from chainrules_py.extend import Tracer, kind_of, type_info
from chainrules_py.vocabulary.views import joining, reads_rows, shape_back
from chainrules_tape.core.tape import BareTape


@final
class RowsInto:
    """Link of a record that read rows of an input: they are collected beside the cotangents."""

    __slots__ = ("array", "found", "links", "of")
    parents = ()

    def __init__(self, links: Any, array: Any, found: list[tuple[Any, Any]]) -> None:
        self.links, self.array, self.found = links, array, found

    def pull(self, bars: Any, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Keep the rows; what is traced goes the usual way."""
        y_bar = unthunk(y_bar)
        if isinstance(y_bar, Tracer) or not type_info(type(y_bar)).is_array:
            bar = record[0](y_bar, *record[2:])
            if not is_zero(bar):
                bars.add(self.links.parents, bar)
        else:
            self.found.append((self.array, y_bar))
        bars[index] = None


def collect_rows(tape: BareTape, inputs: Iterable[int]) -> dict[int, list[tuple[Any, Any]]]:
    """Have records that read rows of these inputs by one array keep what they send back."""
    found: dict[int, list[tuple[Any, Any]]] = {i: [] for i in inputs}
    for i, record in enumerate(tape):
        half, links = record[0], record[1]
        index = getattr(links, "parents", links)
        if half is None or type(index) is not int or index not in found:
            continue
        statement = getattr(half, "statement", None)
        word = None if statement is None else statement.primal
        array = _array_of(word, record)
        if array is not None and hasattr(links, "parents"):
            tape[i] = (half, RowsInto(links, array, found[index]), *record[2:])
    return found


def _array_of(word: Any, record: tuple[Any, ...]) -> Any:
    """Return the array of places that rows were read by; None where it is read otherwise."""
    if len(record) != 5 or type(record[2]) is not dict or not reads_rows(word, record[2]):
        return None
    array = record[4]
    plain = not issubclass(type(array), Tracer) and type_info(type(array)).is_array
    return array if plain and kind_of(array) == "int" and array.ndim > 0 else None


def as_rows(pieces: list[tuple[Any, Any]], x: Any) -> Any:
    """Return what was collected for an input as rows."""
    n, row = x.shape[0], tuple(x.shape[1:])
    places = [shape_back(a, (-1,)) for a, _ in pieces]
    bars = [shape_back(b, (p.shape[0], *row)) for p, (_, b) in zip(places, pieces, strict=True)]
    whole, bar = (a[0] if len(a) == 1 else joining(type(a[0]))(a) for a in (places, bars))
    return Rows(whole % n, bar, x)
