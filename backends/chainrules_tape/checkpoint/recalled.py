"""Values of calls that are kept, and values that are computed again from them.

Of each call the operands are known by reference to the calls that gave them. A record of a call
whose derivative saves operands and results as they are stands by references too, and a value that
is gone is computed once more from those that it was computed of, when a record is asked for that
reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, final

from chainrules_kit import making_again
from chainrules_py import MutationError
from chainrules_py.extend import Tracer, describe, namespace_of, type_info
from chainrules_tape.checkpoint.mincut import least_kept
from chainrules_tape.checkpoint.policies import Packing, Policy, Save


@final
class Ref:
    """Reference to the value of a record of the same call."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


@final
class Recalled:
    """Records of a call under a policy, some of which stand by references to values.

    Parameters
    ----------
    start : int
        Where the stretch begins.
    save, packing
        What is kept, and how it is put away and got back.
    find : callable
        ``find(primitive, primal, types, wanted)`` gives a bound rule, second of a pair.

    Attributes
    ----------
    start : int
        Where the stretch begins.
    calls : dict
        From a place to the call whose value stands there, with references for operands.
    values : dict
        From a place to its value, packed where that was asked for; of those that are kept.
    records : dict
        From a place to its record: the pull, the links, and what is saved, with references. None
        in place of the last where the rule has to run again.
    """

    __slots__ = (
        "_passed_on",
        "calls",
        "find",
        "packing",
        "policy",
        "records",
        "rules",
        "start",
        "values",
    )
    parents = ()
    whole = False

    def __init__(
        self, start: int, save: Save, packing: Packing | None, find: Callable[..., Any]
    ) -> None:
        self.start = start
        self.find = find
        self.policy = Policy(save)
        self.packing = packing
        self.records: dict[int, tuple[Any, Any, list[Any] | None]] = {}
        self.calls: dict[int, Again] = {}
        self.values: dict[int, Any] = {}
        self.rules: set[Any] = set()
        self._passed_on: set[int] | None = None

    def add(self, i: int, call: Any, record: tuple[Any, ...], label: str | None) -> bool:
        """Take in a call; tell whether its record stands by references from now on.

        Parameters
        ----------
        i : int
            Its place.
        call
            Its primitive, its primal, its operands with their links (``opened``), its options and
            its value.
        record : tuple
            The record of its rule.
        label : str or None
            The name of its value.
        """
        operands = [Ref(at) if type(at) is int and at in self.calls else x for x, at in call.opened]
        self.calls[i] = Again(call, operands, self.find)
        kept = self.policy.keeps(i, call, record, label)
        if self.policy.sizes:
            self.values[i] = call.value  # until the cut is made
        elif kept:
            self.values[i] = Packed.of(call.value, self.packing)
        while self.policy.gone:
            self.values.pop(self.policy.gone.pop(), None)
        half, links, *saved = record
        if half.statement.recipe.saves_values:
            known = {id(x): r for (x, _), r in zip(call.opened, operands, strict=True)}
            known[id(call.value)] = Ref(i)
            self.records[i] = half, links, [known.get(id(s), s) for s in saved]
        elif not kept:
            self.records[i] = half, links, None
        else:
            return False
        self.rules.add(half.statement)
        return True

    def settle(self) -> None:
        """Let go what a cut does not keep, now that all calls are known."""
        sizes = self.policy.sizes
        if not sizes:
            return
        operands = {i: _references(call.operands) for i, call in self.calls.items()}
        kept = least_kept(sizes, operands, self.policy.cheap, self._read())
        self.values = {i: Packed.of(self.values[i], self.packing) for i in kept}

    @property
    def passed_on(self) -> set[int]:
        """Values that no record reads, and one call alone."""
        if self._passed_on is None:
            operands = [i for call in self.calls.values() for i in _references(call.operands)]
            alone = {i for i, n in Counter(operands).items() if n == 1}
            self._passed_on = alone - self._read()
        return self._passed_on

    def _read(self) -> set[int]:
        """Return the places of values that records read."""
        rows = self.records.items()
        saved = [self.calls[i].operands if s is None else s for i, (_, _, s) in rows]
        return {k for refs in saved for k in _references(refs)}

    def record(self, i: int, memo: dict[int, Any], consume: bool) -> tuple[Any, ...]:
        """Return a record, with the values that it saved; ``memo`` has those computed again."""
        half, links, saved = self.records[i]
        if saved is None:
            xs = [self._value(x, memo) for x in self.calls[i].operands]
            with making_again(xs):
                found = self.calls[i].run(links, xs)[1]
            if found[0].statement is not half.statement:
                msg = (
                    f"rules of {half.statement.primal.__name__} were stated since it was called in "
                    f"a checkpoint, which would be played with others; state them before"
                )
                raise MutationError(msg)
        else:
            found = (half, links, *[self._value(s, memo) for s in saved])
        memo.pop(i, None)
        if consume:
            self.values.pop(i, None)
        return found  # type: ignore[no-any-return]

    def _value(self, x: Any, memo: dict[int, Any]) -> Any:
        """Return what a reference stands for, and anything else as it is."""
        if type(x) is not Ref:
            return x
        wanted = [x.index]
        while wanted:
            i = wanted[-1]
            call = self.calls[i]
            if i in self.values:
                memo[i] = Packed.value(self.values[i], self.packing)
            elif missing := [k for k in _references(call.operands) if k not in memo]:
                wanted += missing
                continue
            elif i not in memo:
                xs = [memo[o.index] if type(o) is Ref else o for o in call.operands]
                with making_again(xs):
                    memo[i] = call.value(xs)
                for o in call.operands:  # what only this call reads goes at once
                    if type(o) is Ref and o.index in self.passed_on:
                        memo.pop(o.index, None)
            wanted.pop()
        return memo[x.index]


def _references(operands: Iterable[Any]) -> list[int]:
    """Return the places that operands refer to."""
    return [x.index for x in operands if type(x) is Ref]


@final
class Again:
    """A call that can be made again: its function, its operands with references, its options."""

    __slots__ = ("find", "operands", "options", "primal", "primitive", "wanted")

    def __init__(self, call: Any, operands: list[Any], find: Callable[..., Any]) -> None:
        self.find = find
        self.primitive, self.primal, self.options = call.primitive, call.primal, call.options
        self.operands = operands
        self.wanted = tuple([link is not None for _, link in call.opened])

    def run(self, links: Any, xs: list[Any]) -> Any:
        """Return the value and the record."""
        _, bound = self.find(self.primitive, self.primal, tuple(map(type, xs)), self.wanted)
        assert bound is not None  # as it was when the call was recorded
        return bound.run(links, *xs, **self.options)

    def value(self, xs: list[Any]) -> Any:
        """Return the value, bit by bit as it was: as the rule computes it."""
        return self.run(None, xs)[0]


@final
class Packed:
    """A kept value in the form that a person's function gave it."""

    __slots__ = ("dtype", "kept", "like", "shape")

    def __init__(self, kept: Any, value: Any) -> None:
        self.kept, self.like = kept, type(value)
        self.shape, self.dtype = value.shape, value.dtype

    @staticmethod
    def of(value: Any, packing: Packing | None) -> Any:
        """Pack a value, if it is an array and not traced."""
        if packing is None or isinstance(value, Tracer) or not type_info(type(value)).is_array:
            return value
        return Packed(packing[0](value), value)

    @staticmethod
    def value(kept: Any, packing: Packing | None) -> Any:
        """Return the value again.

        Raises
        ------
        MutationError
            If it has another shape or dtype.
        """
        if type(kept) is not Packed or packing is None:
            return kept
        found = packing[1](kept.kept)
        if type(found) is not kept.like and not isinstance(found, Tracer):
            found = namespace_of(kept.like).asarray(found)  # of a subclass, as of a mapped file
        given = getattr(found, "shape", None), getattr(found, "dtype", None)
        if given != (kept.shape, kept.dtype):
            msg = (
                f"unpack gave {describe(found)} for an array of shape {kept.shape} and dtype "
                f"{kept.dtype}; give what pack was given"
            )
            raise MutationError(msg)
        return found
