"""The algorithm by which a call on tracers is differentiated, in every mode.

Each operand is split into payload and link, a structure field by field. The rule for the types of
the payloads is found, bound and run; its result becomes a tracer, field by field for a structure. A
*link* is what an operand carries besides its payload: the position of its record, or its tangent;
None for a constant. Modes differ only in what they do with links.

`Trace.call` inspects each operand of each call. `Trace.recorder` determines once what follows from
the types of the operands; modes whose tracers are `SettledCalls` use it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, ClassVar, TypeAlias, final

from chainrules_py.ops.engine_operations import converting
from chainrules_py.primitives.method_table import Cache
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.registry.bind.bind import Bound, bind
from chainrules_py.registry.explain import demand_rule
from chainrules_py.registry.table import find_rule, looked_into
from chainrules_py.rule_config import Config
from chainrules_py.tangents.space import kind_of
from chainrules_py.tangents.zeros import missing
from chainrules_py.tracing.array_like import ArrayLike
from chainrules_py.tracing.library_calls import Site
from chainrules_py.tracing.lost_derivative_notes import note_step
from chainrules_py.tracing.object_arrays import joined
from chainrules_py.tracing.roots import with_roots
from chainrules_py.values.dispatch_types import Tracer
from chainrules_py.values.find_tracers import find_tracers, highest_tracer
from chainrules_py.values.pytree import flatten
from chainrules_py.values.structure import fields_of, is_structure_type, rebuild
from chainrules_py.values.type_info import type_info

Recorder: TypeAlias = Callable[..., Any]
"""``(*operands, **options)`` traces a call, given all its options."""


class Trace(ABC):
    """Tracing of calls in one mode.

    Attributes
    ----------
    mode : {"forward", "reverse", "linearize"}
        How rules are bound.
    tracer : type
        The class of its tracers.
    at, link : callable
        Return the differentiation that a tracer belongs to, one object, and its link.
    config : Config
        The configuration that rules are found and bound with.
    keeps : bool
        Whether operands are kept until later: then arrays among them are guarded, and other
        tracers are frozen.
    debugged : callable or None
        Returns whether each call is traced by `call`; None for never.
    """

    mode: ClassVar[str]
    tracer: Any
    at: ClassVar[Any]
    link: ClassVar[Any]
    config: ClassVar[Config]
    keeps: ClassVar[bool] = True
    debugged: ClassVar[Any] = None

    def __init__(self) -> None:
        self.half = "reverse" if self.mode == "reverse" else "forward"
        self.cache = Cache()

    # -- what a mode does with links

    @abstractmethod
    def fields(self, cls: type, links: dict[Any, Any]) -> Any:
        """Return the link of a structure from the links of its fields."""

    @abstractmethod
    def part(self, at: Any, link: Any, value: Any, key: Any) -> Any:
        """Return the link of a field of a result from the link of the result."""

    @abstractmethod
    def leave(self, at: Any, y: Any, out: Any, arrays: Sequence[Any], bound: Bound) -> Any:
        """Return the result of a call from what ``bound.run`` returned.

        Parameters
        ----------
        at
            The differentiation.
        y, out
            The value, and the record or tangent.
        arrays : sequence
            Operands that the program may write to, for modes that keep them.
        bound : Bound
            The rule.
        """

    @abstractmethod
    def wrap(self, value: Any, at: Any, link: Any) -> Any:
        """Return a tracer of a value, with a link."""

    def linker(self, bound: Bound, flat: bool) -> Callable[[tuple[Any, ...]], Any]:
        """Return the function from links to ``run``'s first argument; ``flat``: no fields."""
        return tuple

    def note(self, at: Any, call: tuple[Any, ...], links: Any, y: Any, out: Any) -> None:  # noqa: B027
        """Note a call ``(primitive, primal, opened, options)`` next to its record."""

    # -- the algorithm

    def open(self, x: Any, at: Any) -> tuple[Any, Any]:
        """Return the payload of an operand and its link, which is None if it is constant."""
        cls = type(x)
        if issubclass(cls, Tracer):
            if isinstance(x, self.tracer) and self.at(x) is at:
                return x.payload, self.link(x)
            return (x.frozen() if self.keeps else x), None
        if is_structure_type(cls) and find_tracers(x):
            opened = [(key, *self.open(field, at)) for key, field in fields_of(x)]
            links = {key: link for key, _, link in opened if link is not None}
            payload = rebuild(x, [payload for _, payload, _ in opened])
            return payload, self.fields(cls, links) if links else None
        return x, None

    def wrap_fields(self, value: Any, at: Any, link: Any) -> Any:
        """Return a structure with a tracer for each field."""
        return rebuild(
            value,
            [
                self.wrap(field, at, self.part(at, link, value, key))
                for key, field in fields_of(value)
            ],
        )

    def find(
        self,
        primitive: Primitive[..., Any],
        primal: Callable[..., Any] | None,
        payloads: tuple[type, ...],
        wanted: tuple[bool, ...],
    ) -> tuple[bool, Bound | None]:
        """Return whether there is a rule, and the bound rule or None if no derivative flows."""
        rule = find_rule(primitive, payloads, self.config)
        if rule is None or getattr(rule, self.half) is None:
            return False, None
        return True, bind(rule, payloads, wanted, self.mode, primal=primal, config=self.config)

    def call(
        self,
        primitive: Primitive[..., Any],
        primal: Callable[..., Any] | None,
        operands: tuple[Any, ...],
        options: dict[str, Any],
        at: Any,
    ) -> Any:
        """Trace a call whose operands may be structures, or tracers of several differentiations.

        Parameters
        ----------
        primitive : Primitive
            The called operation.
        primal : callable or None
            The function that the program called, if it is not the primitive.
        operands, options
            The arguments of the call.
        at
            The highest differentiation of the call.
        """
        if (whole := joined(operands)) is not operands:
            tracer: Any = highest_tracer(whole)
            return tracer.__trace__(primitive, whole, options, primal)
        opened = [self.open(x, at) for x in operands]
        payloads = [payload for payload, _ in opened]
        classes = tuple(map(type, payloads))
        wanted = tuple([link is not None for _, link in opened])
        found, bound = self.find(primitive, primal, classes, wanted)
        if not found:
            if looked_into(primitive, classes, self.config):
                return primitive.__wrapped__(*operands, **options)
            return demand_rule(primitive, classes, self.config, self.half)  # raises with the reason
        if bound is None:
            return note_step(at, (primal or primitive)(*payloads, **options), primal or primitive)
        taken = [i for i, w in enumerate(bound.wanted) if w]
        flat = all([isinstance(operands[i], self.tracer) for i in taken])
        tied = tuple([opened[i][1] for i in taken])
        links = self.linker(bound, flat)(tied)
        try:
            y, out = bound.run(links, *payloads, **options)
        except Exception:
            out = missing(tied)
            if out is None:
                raise
            y = (primal or primitive)(*payloads, **options)
        self.note(at, (primitive, primal, opened, options), links, y, out)
        leaves = flatten(operands)[0] if self.keeps else []
        arrays = [leaf for leaf in leaves if type_info(type(leaf)).memory is not None]
        made = self.leave(at, y, out, arrays, bound)
        if primitive in converting and kind_of(y) == "bool":
            return y  # like the result of a comparison
        views = bound.may_view and opened and opened[0][1] is not None
        if views and isinstance(operands[0], self.tracer) and isinstance(made, self.tracer):
            made.note_view(primitive, operands, options, y, payloads[0])
        if bound.may_share:
            self.note_shared(made, primitive, operands, y, payloads)
        return made

    def note_shared(
        self, made: Any, f: Any, operands: Sequence[Any], y: Any, payloads: Sequence[Any]
    ) -> None:
        """Note which results of a user's function share memory with its operands."""
        given = list(zip(flatten(tuple(operands))[0], flatten(tuple(payloads))[0], strict=True))
        for part, value in zip(flatten(made)[0], flatten(y)[0], strict=True):
            for x, payload in given if isinstance(part, self.tracer) else ():
                if type(value) is type(payload):
                    part.note_shared(x, f, value, payload)

    def sharing(self, primitive: Primitive[..., Any], settled: Settled) -> Any:
        """Return the indices of arrays, and a function that notes results that share their memory.

        Return None if ``base`` does not show the owner of an array, as for tracers.
        """
        arrays = [i for i, of in enumerate(settled.payloads) if type_info(of).is_array]
        for of in [settled.payloads[i] for i in arrays]:
            if issubclass(of, Tracer) or type_info(of).host or not hasattr(of, "base"):
                return None

        def share(made: Any, operands: Sequence[Any], y: Any, payloads: Sequence[Any]) -> None:
            if may_share(y, payloads):
                if settled.views and isinstance(made, self.tracer):
                    made.note_view(primitive, operands, {}, y, payloads[0])
                self.note_shared(made, primitive, operands, y, payloads)

        return arrays, share

    # -- the algorithm, where types settle it

    def settle(
        self,
        primitive: Primitive[..., Any],
        primal: Callable[..., Any] | None,
        classes: tuple[type, ...],
        scalars: Mapping[Any, Any] | None = None,
    ) -> Settled | None:
        """Determine what follows from operand types, if all tracers of this mode share one level.

        Return None if there is no rule, or if there are structures. Values of a class in
        ``scalars`` are treated as values of the class beside it.
        """
        if any(map(is_structure_type, classes)):
            return None
        mine = tuple([issubclass(cls, self.tracer) for cls in classes])
        own: list[Any] = [*classes]
        payloads = tuple([c.payload_type if m else c for c, m in zip(own, mine, strict=True)])
        payloads = tuple([(scalars or {}).get(c, c) for c in payloads])
        found, bound = self.find(primitive, primal, payloads, mine)
        return Settled(payloads, classes, mine, bound) if found else None

    def recorder(  # noqa: C901
        self,
        primitive: Primitive[..., Any],
        primal: Callable[..., Any] | None,
        classes: tuple[type, ...],
        settled: Settled | None,
    ) -> Recorder:
        """Return the function that traces calls with operands of these classes."""

        def general(*operands: Any, **options: Any) -> Any:
            return self.call(
                primitive, primal, operands, options, self.at(highest_tracer(operands))
            )

        if settled is None:
            return general
        places, bound, views = settled.places, settled.bound, settled.views
        shares = bound is not None and bound.may_share
        at_of, link_of, leave, debugged = self.at, self.link, self.leave, self.debugged
        holders, objects = settled.holders, settled.objects
        first, tracer, f = places[0], self.tracer, primal or primitive
        others, plain = (settled.others, settled.plain) if self.keeps else ([], [])
        run: Any = None
        links: Any = None
        linked: list[int] = []
        if bound is not None:
            run, links = bound.run, self.linker(bound, flat=True)
            linked = [i for i in places if bound.wanted[i]]

        def record(*operands: Any, **options: Any) -> Any:
            here = at_of(operands[first])
            payloads = list(operands)
            for i in places:
                x = operands[i]
                if at_of(x) is not here:
                    return general(*operands, **options)
                payloads[i] = x.payload
            if debugged is not None and debugged():
                return general(*operands, **options)
            for i in holders:
                if operands[i].dtype is objects:
                    return general(*operands, **options)
            for i in others:
                payloads[i] = operands[i].frozen()
            if bound is None:
                return note_step(here, f(*payloads, **options), f)
            tied = tuple(map(link_of, map(operands.__getitem__, linked)))
            try:
                y, out = run(links(tied), *payloads, **options)
            except Exception:
                out = missing(tied)  # a NotImplementedTangent, which not every rule accepts
                if out is None:
                    raise
                y = f(*payloads, **options)
            made = leave(here, y, out, [operands[i] for i in plain] if plain else (), bound)
            if shares and not may_share(y, payloads):
                return made
            if views and isinstance(made, tracer):
                made.note_view(primitive, operands, options, y, payloads[0])
            if shares:
                self.note_shared(made, primitive, operands, y, payloads)
            return made

        return record


def may_share(y: Any, payloads: Sequence[Any]) -> bool:
    """Return whether a result may share an operand's memory; True if its owner is unknown."""
    cls = type(y)
    memory = type_info(cls).memory
    if memory is None:
        return not type_info(cls).is_number
    owner = memory.owner(y)
    for x in payloads:
        if memory.owner(x) is owner if type(x) is cls else is_structure_type(type(x)):
            return True
    return False


class Unmixed(dict[type, Any]):
    """Tracer classes by the type of the payload, for results of a user's function.

    A plain array or number holds no tracer; other results are checked (`Primitive.unmixed`).

    Parameters
    ----------
    classes : mapping
        The tracer classes of the engine.
    primitive : Primitive
        The function whose results are traced.
    """

    def __init__(self, classes: Mapping[type, Any], primitive: Primitive[..., Any]) -> None:
        super().__init__()
        self.classes, self.primitive = classes, primitive

    def __missing__(self, cls: type) -> Any:
        made, info, unmixed = self.classes[cls], type_info(cls), self.primitive.unmixed
        found = made
        if issubclass(cls, Tracer) or not (info.is_array or info.is_number):
            found = lambda *of: unmixed(made(*of))
        self[cls] = found
        return found


def _unmixed(primitive: Primitive[..., Any], record: Recorder) -> Recorder:
    """Return a recorder that checks the result, if the primitive has a body."""
    checked = lambda *operands, **options: primitive.unmixed(record(*operands, **options))
    return checked if primitive.has_body else record


def _without_truths(primitive: Primitive[..., Any], record: Recorder) -> Recorder:
    """Return a recorder that does not trace boolean results of a conversion."""
    if primitive not in converting:
        return record

    def converted(*operands: Any, **options: Any) -> Any:
        made = record(*operands, **options)
        return made.payload if isinstance(made, SettledCalls) and kind_of(made) == "bool" else made

    return converted


@final
class Settled:
    """What follows from the types of the operands of a call.

    Attributes
    ----------
    payloads, mine : tuple
        The types of the payloads, and whether each comes from a tracer of the mode.
    places, others, plain : list of int
        The indices of these tracers, of other tracers, and of arrays that may be written to.
    holders : list of int
        The indices of arrays that may hold traced objects, if their dtype is ``objects``.
    bound : Bound or None
        The rule; None if no derivative flows.
    views : bool
        Whether the result may be a view of the first operand.
    """

    __slots__ = (
        "bound",
        "holders",
        "mine",
        "objects",
        "others",
        "payloads",
        "places",
        "plain",
        "views",
    )

    def __init__(
        self,
        payloads: tuple[type, ...],
        classes: tuple[type, ...],
        mine: tuple[bool, ...],
        bound: Bound | None,
    ) -> None:
        self.payloads, self.mine = payloads, mine
        self.places = [i for i, m in enumerate(mine) if m]
        self.others = [i for i, c in enumerate(classes) if not mine[i] and issubclass(c, Tracer)]
        self.plain = [i for i, c in enumerate(classes) if not mine[i] and type_info(c).memory]
        libraries = [type_info(c).library for c in classes]
        self.holders = [i for i, of in enumerate(libraries) if of.objects is not None]
        self.objects = next((of.objects for of in libraries if of.objects is not None), None)
        self.bound = bound
        self.views = bound is not None and mine[0] and bound.may_view


class SettledCalls(ArrayLike):
    """Tracers whose calls are settled once for each combination of operand types."""

    __slots__ = ()
    tracing: ClassVar[Trace]

    def __trace__(
        self,
        primitive: Primitive[..., Any],
        operands: tuple[Any, ...],
        options: dict[str, Any],
        primal: Callable[..., Any] | None = None,
    ) -> Any:
        """Trace a call whose highest differentiation is this one."""
        tracing = self.tracing
        key = (primitive, primal, *map(type, operands))
        try:
            record = tracing.cache.table[key]
        except KeyError:
            table = tracing.cache.open()
            classes, record = tuple(map(type, operands)), None
            if not any(map(is_structure_type, classes)):
                record = self.recorder(primitive, primal, classes)
                record = _without_truths(primitive, record)
                record = with_roots(primitive, primal, classes, record)
            table[key] = record
        if record is None:
            return tracing.call(primitive, primal, operands, options, tracing.at(self))
        return record(*operands, **options)

    @classmethod
    def __step__(
        cls,
        primitive: Primitive[..., Any],
        primal: Callable[..., Any] | None,
        classes: tuple[type, ...],
    ) -> Recorder | None:
        """Return the step of a call whose tracers are all of this engine, or None."""
        step = super().__step__(primitive, primal, classes)
        return with_roots(primitive, primal, classes, step)

    @classmethod
    def recorder(
        cls,
        primitive: Primitive[..., Any],
        primal: Callable[..., Any] | None,
        classes: tuple[type, ...],
    ) -> Recorder:
        """Return the function that traces calls with operands of these classes."""
        settled = cls.tracing.settle(primitive, primal, classes)
        return cls.tracing.recorder(primitive, primal, classes, settled)

    @classmethod
    def make_step(cls, site: Site, classes: tuple[type, ...]) -> Recorder | None:
        """Return a function that traces calls on values and tracers of its mode, or None."""
        for c in classes:
            if is_structure_type(c) or (
                issubclass(c, Tracer) and not issubclass(c, cls.tracing.tracer)
            ):
                return None
        record = cls.recorder(site.primitive, site.primal, classes)
        return _unmixed(site.primitive, _without_truths(site.primitive, record))

    @classmethod
    def make_lifted(
        cls, site: Site, classes: tuple[type, ...], scalars: dict[type, type]
    ) -> Callable[..., Any] | None:
        """Return the step of an elementwise call on numbers, computed with a library's scalars.

        The cotangent of a Python number is then such a scalar as well.
        """
        kinds = [getattr(c, "payload_type", c) for c in classes]
        if site.primitive.options or not {*kinds} <= {*scalars, *scalars.values()}:
            return None
        if type(site.primal) is FunctionType or len(classes) != len(site.primitive.operands):
            return None
        settled = cls.tracing.settle(site.primitive, site.primal, classes, scalars)
        bound = None if settled is None or settled.others else settled.bound
        if settled is None or bound is None or bound.wanted != settled.mine:
            return None
        if not bound.recipe.is_elementwise or bound.may_share or len(classes) > 2:
            return None
        run: Any = bound.run
        lifts: list[Any] = [scalars.get(kind) for kind in kinds]
        first, second = lifts[0], lifts[-1]
        if len(lifts) == 1:
            lifted: Any = lambda links, a: run(links, first(a))
        elif all(lifts):
            lifted = lambda links, a, b: run(links, first(a), second(b))
        else:
            lifted = _lifting(run, first or second, first is not None)
        return cls.short_step(settled.mine, lifted, site.general)

    @classmethod
    def short_step(
        cls, mine: tuple[bool, ...], run: Callable[..., Any], general: Callable[..., Any]
    ) -> Callable[..., Any] | None:
        """Return a specialised step for one or two operands, or None."""
        return None


def _lifting(run: Any, scalar: Any, first: bool) -> Callable[..., Any]:
    """Return a function that runs calls of a number, ``first`` or second operand, and a scalar.

    A number that occurs in several successive calls is one scalar, which their records share.
    """
    last: tuple[Any, Any] = (None, None)

    def lifted(links: Any, a: Any, b: Any) -> Any:
        nonlocal last
        x, pair = (a if first else b), last
        if pair[0] is not x:
            pair = last = x, scalar(x)
        return run(links, pair[1], b) if first else run(links, a, pair[1])

    return lifted


def note_rule(error: Exception, half: Any, doing: str, rest: str = "") -> None:
    """Add a note to an error: which rule it comes from, and what its half was doing."""
    statement = getattr(half, "statement", None)
    if statement is not None and "\n" not in str(error):  # which names the line already
        if type(error) is TypeError and "positional argument" in str(error):
            rest += "\n  write pull(y_bar, *saved), or in augmented_rule backward(*saved, y_bar)"
        error.add_note(
            f"while {doing} through {statement.primal.__name__}{rest}\n  rule: {statement.where}"
        )
