"""Fast path for joining arrays: the cotangent of each is a part, read by subscripting."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

from chainrules_py import Primitive
from chainrules_py.extend import Site, annotate, kind_of
from chainrules_py.ops.engine_operations import places_of_joined, subscripts
from chainrules_tape.core.cotangent_routing import ZERO, Links
from chainrules_tape.core.variable import BareVariable


class FastJoins(BareVariable):
    """Variables that are joined with what was looked up once for their class."""

    __slots__ = ()

    @classmethod
    def make_step(cls, site: Site, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """Return the step of a call, which joins any number of variables if it can."""
        step = super().make_step(site, classes)
        join = cls.make_join(site.primitive) if {*classes} <= {cls, cls.payload_type} else None
        if step is None or join is None or site.primal is not None:
            return step
        return lambda *xs, **options: (
            step(*xs, **options) if (y := join(*xs, **options)) is None else y
        )

    @classmethod
    def make_join(cls, operation: Primitive[..., Any]) -> Callable[..., Any] | None:
        """Return a function that joins variables of this class, and arrays beside them, or None.

        It returns None where the operation has to be called instead.
        """
        own: Any = cls.payload_type
        places_of: Any = places_of_joined(operation)
        if places_of is None or not subscripts(own) or not hasattr(own, "dtype"):
            return None
        bound = cls.tracing.find(operation, None, (own, own), (True, True))[1]
        compute: Any = operation.implementation((own, own))
        if bound is None or not bound.recipe.is_linear or compute is None:
            return None
        dtypes: dict[Any, bool] = {}

        def pull(y_bar: Any, places: Any) -> Any:
            used = len(places)
            if type(y_bar) is own and y_bar.size and not y_bar.item(-1):
                # Often the last arrays are not used: their zeros are not pulled any further.
                onward = [(*at, slice(getattr(i, "start", i), None)) for *at, i in places]
                used = bisect_left(onward, True, key=lambda rest: not y_bar[rest].any())
            return tuple([y_bar[place] for place in places[:used]] + [ZERO] * (len(places) - used))

        annotate(
            pull,
            bound,
            batched=lambda y_bar, places: tuple([y_bar[(slice(None), *at)] for at in places]),
        )

        def record_join(*xs: Any, **options: Any) -> Any:
            tape, links, payloads = xs[[*map(type, xs)].index(cls)].tape, [], []
            for x in xs:
                if type(x) is cls:
                    if x.tape is not tape:
                        return None
                    links.append(x.place)
                payloads.append(x.payload if type(x) is cls else x)
            y = compute(*payloads, **options)
            places = places_of(payloads, options) if len(links) > 1 else None
            dtype = y.dtype
            if dtype not in dtypes:
                dtypes[dtype] = subscripts(type(y)) and kind_of(y) in ("real", "complex")
            # With another dtype the part would have to be converted.
            if places is None or not dtypes[dtype] or any([x.dtype != dtype for x in payloads]):
                return None
            if len(links) < len(xs):
                places = [place for place, x in zip(places, xs, strict=True) if type(x) is cls]
            index = len(tape)
            tape.append((pull, tuple(links) if len(links) == 2 else Links(tuple(links)), places))
            return cls.results[type(y)](y, tape, index)

        return record_join
