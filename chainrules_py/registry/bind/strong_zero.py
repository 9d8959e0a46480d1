"""Pulls in which a structural zero stays zero, whatever it is multiplied by.

A selecting operation, such as `where`, an index, or `max`, pulls zeros back to elements that it did
not select. A *probe*, an array of positive random numbers, is pulled back with the cotangent
through such operations. Where it is zero, no derivative can flow, and an infinite or NaN partial
does not count. A cotangent that is zero by its value is different: ``log(1 + exp(x))`` at 800 has
1 / inf before `exp`, and its derivative is 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py.ops import reductions, sorting, statistics
from chainrules_py.ops import selection as v
from chainrules_py.ops.elementwise import strong_multiply
from chainrules_py.ops.predicates import isfinite
from chainrules_py.registry.bind.elementwise import SELECTING, ElementwiseRecipe
from chainrules_py.registry.bind.linear import BilinearRecipe, LinearRecipe
from chainrules_py.tangents.sum_to_shape import unbroadcast
from chainrules_py.tangents.thunks import unthunk
from chainrules_py.tangents.zeros import AbstractTangent
from chainrules_py.values.dispatch_types import Tracer
from chainrules_py.values.find_tracers import untraced
from chainrules_py.values.type_info import type_info

REDUCTIONS = {
    reductions.max, reductions.min, reductions.nanmax, reductions.nanmin, sorting.partition,
    sorting.sort, v.cumulative_max, v.cumulative_min, statistics.order_statistics,
    statistics.weighted_quantile,
}  # fmt: skip


def probe_like(x: Any, alive: Any = True) -> Any:
    """Return a probe of the shape and dtype of a cotangent, zero where it is not alive.

    The tangent of a structure is returned unchanged.
    """
    if isinstance(x, AbstractTangent):
        return x
    x = untraced(x)
    if not hasattr(x, "dtype"):
        return type(x)(0.75 if alive else 0.0)
    xp = type_info(type(x)).namespace
    probe = xp.random.default_rng(x.size).uniform(0.5, 1.0, x.shape)
    return xp.asarray(probe * alive, dtype=x.dtype)


def selects(pull: Any) -> bool:
    """Return whether zeros that a pull returns are structural."""
    statement = getattr(pull, "statement", None)
    return statement is not None and (
        isinstance(statement.recipe, LinearRecipe)
        or statement.primal in SELECTING
        or statement.primal in REDUCTIONS
    )


def leaves_out(pull: Any) -> bool:
    """Return whether a pull may return a structural zero."""
    statement = getattr(pull, "statement", None)
    if statement is None:
        return True
    operation, recipe = statement.primal, statement.recipe
    if isinstance(recipe, (ElementwiseRecipe, BilinearRecipe)):
        return operation in SELECTING or operation is strong_multiply
    return operation is not reductions.sum


def strong_pull(
    pull: Callable[..., Any], y_bar: Any, probe: Any, saved: tuple[Any, ...], n: int
) -> tuple[list[Any], list[Any]]:
    """Pull a cotangent back to n operands, together with a probe.

    Parameters
    ----------
    pull, saved
        The pull and the saved values of a record.
    y_bar : array or number
        The cotangent.
    probe : array or number
        An array of the same shape; zero where no cotangent can flow.
    n : int
        The number of cotangents that the pull returns.

    Returns
    -------
    bars, probes : list
        One per operand.
    """

    def listed(y_bar: Any, saved: tuple[Any, ...]) -> list[Any]:
        bars = pull(y_bar, *saved)
        return list(map(unthunk, bars)) if n > 1 else [unthunk(bars)]

    alive = probe != 0
    whole = bool(alive) if type(alive) is bool else bool(alive.all())
    statement = getattr(pull, "statement", None)
    recipe = getattr(statement, "recipe", None)
    strong = statement is not None and statement.primal is strong_multiply
    each = strong or isinstance(recipe, ElementwiseRecipe)
    if each and not whole:
        # The pull of a product fits its result to the shape of the saved values.
        shape = getattr(alive, "shape", ())
        fits = [not strong or getattr(x, "shape", None) == shape for x in saved]
        # No partial counts where the cotangent is dead.
        saved = tuple(
            [
                v.where(alive, x, 1) if f and _is_number(x) else x
                for x, f in zip(saved, fits, strict=True)
            ]
        )
    bars = listed(y_bar, saved)
    product = isinstance(recipe, BilinearRecipe) and not strong
    if product and not whole:
        bars = _strong_product(listed, y_bar, alive, saved, bars)
    # A factor that an outer level differentiates is zero only by its value.
    masks = strong and n == 1 and not any([issubclass(type(x), Tracer) for x in saved])
    if selects(pull) or masks:
        probes = listed(probe, saved)
        if each:  # an infinite cotangent times a share of 0 is NaN
            bars = [
                v.where(untraced(probe) != 0, bar, 0) if _is_number(probe) else bar
                for bar, probe in zip(bars, probes, strict=True)
            ]
    elif whole or not (each or product):
        probes = [True] * n
    else:
        probes = (
            [_summed(probe, bar) for bar in bars]
            if each
            else listed(probe, tuple(map(_ones, saved)))
        )
    return bars, [
        probe_like(bar, p if p is True else untraced(p) != 0)
        for bar, p in zip(bars, probes, strict=True)
    ]


def _is_number(x: Any) -> bool:
    info = type_info(type(x))
    return info.is_array or info.is_number


def _ones(x: Any) -> Any:
    """Return ones like a saved value, if it is an array or a number."""
    info, plain = type_info(type(x)), untraced(x)
    return info.namespace.ones_like(plain) if info.is_array else 1.0 if info.is_number else x


def _summed(probe: Any, bar: Any) -> Any:
    shape = getattr(untraced(bar), "shape", ())
    return unbroadcast(probe, shape) if getattr(probe, "ndim", 0) >= len(shape) else True


def _strong_product(
    listed: Callable[..., Any], y_bar: Any, alive: Any, saved: tuple[Any, ...], bars: list[Any]
) -> list[Any]:
    """Return cotangents of a product in which non-finite values only count where it is alive."""
    places = [_is_number(x) and getattr(x, "ndim", 0) > 0 for x in saved]
    finite = [isfinite(untraced(x)) if p else None for x, p in zip(saved, places, strict=True)]
    if all([f is None or bool(f.all()) for f in finite]):
        return bars
    pairs = list(zip(saved, finite, strict=True))
    soft = listed(y_bar, tuple([x if f is None else v.where(f, x, 0.0) for x, f in pairs]))
    wrong = listed(alive * 1.0, tuple([x if f is None else (~f) * 1.0 for x, f in pairs]))
    return [v.where(b != 0, bar, s) for bar, s, b in zip(bars, soft, wrong, strict=True)]
