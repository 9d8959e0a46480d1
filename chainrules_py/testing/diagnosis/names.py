"""The grammar: hypotheses in order of simplicity, and the sentence for a whole Jacobian."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from chainrules_py.testing.diagnosis.arrangements import (
    fields_of,
    find_conjugated,
    find_halves,
    find_mean,
    find_misplaced,
    find_missing_imaginary,
    find_missing_sum,
    find_reordered,
    find_reversed,
    find_shifted,
    find_spread,
    find_swapped_fields,
    find_transposed,
    find_turned,
)
from chainrules_py.testing.diagnosis.block import Block, Evidence
from chainrules_py.testing.diagnosis.places import (
    find_diagonal,
    find_extra,
    find_few_digits,
    find_nan,
    find_one_place,
    find_other_triangle,
    find_overwritten,
    find_shared,
    find_zero,
)
from chainrules_py.testing.diagnosis.ratio import find_constant, find_factor, find_number, find_some


def _find_in_field(b: Block) -> Iterator[str]:
    """Find that one field alone is wrong, and how."""
    for axis, name, places in fields_of(b):
        wrong = [k for k, at in places.items() if np.any(np.take(b.is_wrong, at, axis=axis))]
        if len(wrong) == 1 < len(places):
            at, of = places[wrong[0]], (b.x if axis else b.y).fields[wrong[0]]
            have, want, allowed = (np.take(m, at, axis=axis) for m in (b.have, b.want, b.allowed))
            x, y = (of, b.to) if axis else (b.of, of)
            for inner in _names_of(Block(have, want, allowed, b.number, b.evidence, x, y)):
                field = wrong[0] if isinstance(wrong[0], str) else f"output {wrong[0]}"
                field = field.replace("output", "entry") if axis else field
                yield f"{inner} for {field} of the {name}"


_HYPOTHESES: tuple[Callable[[Block], Iterable[str]], ...] = (
    find_nan,
    find_zero,
    find_few_digits,
    find_missing_sum,
    find_factor,
    find_missing_imaginary,
    find_conjugated,
    find_turned,
    find_overwritten,
    find_diagonal,
    find_transposed,
    find_swapped_fields,
    _find_in_field,
    find_reversed,
    find_shifted,
    find_halves,
    find_spread,
    find_shared,
    find_mean,
    find_extra,
    find_reordered,
    find_misplaced,
    find_some,
    find_constant,
    find_number,
    find_other_triangle,
    find_one_place,
)

_NOTHING = "wrong numbers"
_WHERE = re.compile(
    r"(,?) ?(where [^()]+ [<>]=? \S+|on the diagonal of [^()]+|at both ends of [^()]+)?"
    r" ?\(?(in )?(\d+ of \d+ entries)\)?"
)
_PLACES = re.compile(r"off by (one|\d+ places) along axis")
_NUMBER = re.compile(r"-?\d[\d.e+-]*")


def _names_of(b: Block) -> Iterator[str]:
    for find in _HYPOTHESES:
        yield from filter(None, find(b))


def _name_blocks(blocks: Sequence[Block]) -> str:
    """Name the first mistake that explains a block at each point where it is wrong."""
    first, *others = [b for b in blocks if np.any(b.is_wrong)]
    for find in _HYPOTHESES:
        around: list[list[str]] | None = None
        for name in itertools.islice(filter(None, find(first)), _MANY):
            # What is at one point alone may be an accident, as that 1 + r is 21/20.
            if around is None:
                around = [list(itertools.islice(find(b), _MANY)) for b in others]
            found = [[n for n in names if _bare(n) == _bare(name)] for names in around]
            if all(found):
                is_there = all(_kind(name) in map(_kind, names) for names in found)
                return name if is_there else _WHERE.sub(r" in \4", name)
    return _NOTHING


_MANY = 48


def _bare(name: str) -> str:
    """Leave out where it is, and how often: that may differ from point to point."""
    return _WHERE.sub("", name)


def _kind(name: str) -> str:
    """Leave out the numbers: what is above 0.4 here may be above 0.5 there."""
    return _NUMBER.sub("#", name)


# ------------------------------------------------------------------------------ whole Jacobians


def name_jacobian(points: Sequence[Evidence]) -> str:
    """Name how a Jacobian differs from the right one, at several points; empty if it does not.

    Parameters
    ----------
    points : sequence of Evidence
        The first is the one that is named; what does not hold at the others as well is no name.
    """
    cut = [point.blocks() for point in points]
    names, blocks = {}, {}
    for number, block in cut[0].items():
        blocks[number] = [c[number] for c in cut if number in c]
        if np.any(block.is_wrong):
            names[number] = _name_blocks(blocks[number])
    if not names:
        return ""
    called = points[0].place.names
    for i, k in itertools.permutations(blocks, 2):
        pairs = list(zip(blocks[k], blocks[i], strict=True))
        if list(names) == [k] and not names[k].startswith(("wrong sign", "factor", "zero")):
            if not all(a.equals(b.want) for a, b in pairs):
                continue
            return f"the derivative of {called[i]} for {called[k]}"
    return _swapped(called, blocks, names) or join_operands(called, names, len(blocks))


def _swapped(called: Sequence[str], blocks: dict[int, list[Block]], names: dict[int, str]) -> str:
    """Find that operands have each other's derivatives."""
    for i, k in itertools.combinations(names, 2):
        pairs = list(zip(blocks[i], blocks[k], strict=True))
        is_swapped = all(a.equals(b.want) and b.equals(a.want) for a, b in pairs)
        if is_swapped and {names[i], names[k]} != {"wrong sign"}:
            return f"swapped operands {called[i]} and {called[k]}"
    return ""


def join_operands(called: Sequence[str], names: Mapping[int, str], count: int) -> str:
    """Join names of what is wrong for single operands; ``count`` is how many have derivatives."""
    if len(names) > 1 and all(_PLACES.match(name) for name in names.values()):
        return "split, or put together, at the wrong place"
    if count == len(names) and len(set(names.values())) == 1 and "zero" not in names.values():
        return next(iter(names.values()))
    return ", ".join(
        name if count == 1 and name != "zero" else f"{name} for argument {i + 1} ({called[i]})"
        for i, name in names.items()
    )


def join_halves(wrong: Mapping[Any, str], count: int, *, both: bool) -> str:
    """Join names of what is wrong in halves; ``count`` were compared, and there may be both."""
    if len(set(wrong.values())) == 1 and len(wrong) == count:
        return next(iter(wrong.values()))
    text = ", ".join(f"{name} in the {half}" for half, name in wrong.items())
    if both and any(name.startswith(("factor", "wrong sign")) for name in wrong.values()):
        text = f"push and pull disagree by a factor: {text}"
    return text
