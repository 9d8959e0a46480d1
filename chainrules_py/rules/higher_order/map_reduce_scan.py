"""Rules of `map`, `reduce` and `scan`, which the engine differentiates as programs."""

from functools import partial
from typing import Any

from chainrules_py.ops import map, reduce, scan
from chainrules_py.registry.constructors import register_frule, register_rrule
from chainrules_py.rule_config import ForwardMode, ReverseMode
from chainrules_py.tangents.structure_leaves import mirrored


@register_frule(map, requires=ForwardMode)
def map_frule(config, tangents, f: Any, *xs: Any):
    """Stack the tangents of the results."""
    return config.frule_via_ad(tangents, map.__wrapped__, f, *xs)


@register_rrule(map, requires=ReverseMode)
def map_rrule(config, f: Any, *xs: Any):
    """Pull each slice of the cotangent back through the call of f that made the slice."""
    y, pullback = config.rrule_via_ad(map.__wrapped__, f, *xs)
    return y, lambda y_bar: mirrored((f, *xs), pullback(y_bar))


@register_frule(reduce, requires=ForwardMode)
def reduce_frule(config, tangents, f: Any, xs: Any, initial: Any):
    """Carry a tangent along with the value."""
    return config.frule_via_ad(tangents, reduce.__wrapped__, f, xs, initial)


@register_rrule(reduce, requires=ReverseMode)
def reduce_rrule(config, f: Any, xs: Any, initial: Any):
    """Pull the cotangent back through f from the last element to the first."""
    y, pullback = config.rrule_via_ad(reduce.__wrapped__, f, xs, initial)
    return y, lambda y_bar: mirrored((f, xs, initial), pullback(y_bar))


@register_frule(scan, requires=ForwardMode)
def scan_frule(config, tangents, f: Any, initial: Any, xs: Any, *, length: int | None):
    """Carry a tangent along with the value, and stack the tangents of the results."""
    return config.frule_via_ad(tangents, partial(scan.__wrapped__, length=length), f, initial, xs)


@register_rrule(scan, requires=ReverseMode)
def scan_rrule(config, f: Any, initial: Any, xs: Any, *, length: int | None):
    """Pull the cotangent back through f from the last step to the first."""
    y, pullback = config.rrule_via_ad(partial(scan.__wrapped__, length=length), f, initial, xs)
    return y, lambda y_bar: mirrored((f, initial, xs), pullback(y_bar))
