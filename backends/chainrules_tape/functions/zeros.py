"""A pass back that gave NaN is played again, with zeros that are known by structure.

The first pass multiplies what a mask, an index, or a maximum left out with whatever partial there
is, and 0 times infinity is NaN. One look at each gradient finds out; only then a probe is pulled
beside each cotangent, which says where nothing can flow (`chainrules_py.registry.bind.flow`). What
is NaN in forward mode stays NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chainrules_py import ZeroTangent, is_zero, unthunk
from chainrules_py.extend import (
    AbstractTangent,
    Tracer,
    finite_tests,
    innermost,
    probe_like,
    selects,
    strong_pull,
    untraced,
)
from chainrules_tape.core.backward import play
from chainrules_tape.core.links import LEAF, AddWhereSummed, Cotangents, Links, Structured, parents


def is_lost(bar: Any) -> bool:
    """Tell whether a cotangent is NaN somewhere, or what it stands for, or its tangent."""
    cls = type(bar)
    if cls in finite_tests:
        return not finite_tests[cls](bar) and _any(bar != bar)
    if issubclass(cls, Tracer):
        tangent = getattr(bar, "tangent", None)
        return is_lost(bar.__payload__) or (tangent is not None and is_lost(unthunk(tangent)))
    return cls is float and bar != bar


def can_repair(run: Any) -> bool:
    """Tell whether the records of a run are all there, of arrays and numbers of NumPy's."""
    whole = run.tape.notes is None and run.tape.folds is None
    classes = [type(innermost(x)) for x in (*run.leaves, *run.y_leaves)]
    return whole and all([cls in finite_tests or cls in (float, int, bool) for cls in classes])


def strong_pass(run: Any, seeds: Sequence[Any], watch: bool = False) -> list[Any]:
    """Pull one cotangent back, and a probe beside it; with ``watch`` inputs may be any records."""
    tape, first = run.tape, -1
    bars, probes = Cotangents(len(tape)), Cotangents(len(tape))
    for index, bar in zip(run.outputs, seeds, strict=True):
        if index is not None and not is_zero(bar):
            bars.add(index, bar)
            probes.add(index, probe_like(bar, untraced(bar) != 0))
            first = max(first, index)
    found: dict[Any, Any] = {}
    for index in range(first, -1, -1):
        record = tape[index]
        if bars[index] is None:
            continue
        bar, probe = unthunk(bars[index]), probes[index]
        if watch or record[1] is LEAF:
            found[index] = bar
        if record[1] is LEAF:
            continue
        bars.release(index)
        probes.release(index)
        bars[index] = probes[index] = None
        if isinstance(probe, AbstractTangent) or _any(probe != 0):
            _pull(record, index, bar, probe, bars, probes)
    return [found.get(i, ZeroTangent()) for i in run.inputs]


def _pull(
    record: Any, index: int, bar: Any, probe: Any, bars: Cotangents, probes: Cotangents
) -> None:
    """Pull one record, and send what it gives to its parents."""
    pull, links = record[:2]
    if type(links) in (int, tuple, float, Links) and not isinstance(bar, AbstractTangent):
        ways = parents(links)
        given = strong_pull(pull, bar, probe, record[2:], len(ways))
        for way, part, flow in zip(ways, *given, strict=True):
            if not is_zero(part):
                bars.add(way, part)
                probes.add(way, flow)
        return
    bars[index] = bar
    play([record], bars, index, index - 1)
    all_flow = type(links) in (int, tuple, float, Links, AddWhereSummed, Structured)
    if not (all_flow or isinstance(bar, AbstractTangent)) or selects(pull):
        probes[index] = probe
        play([record], probes, index, index - 1)
        return
    for way in parents(links):  # a rule of its own: all may flow
        if bars[way] is not None:
            probes.release(way)
            probes[way] = probe_like(unthunk(bars[way]))


def _any(truths: Any) -> bool:
    return truths if type(truths) is bool else bool(truths.any())
