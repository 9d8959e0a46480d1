"""Statements about primals, and the rules that engines use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from chainrules_py.primitives.method_table import signature_text, where_defined
from chainrules_py.primitives.plugins import Layer, layer_of, owner_of
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.rule_config import Capability
from chainrules_py.values.caller_frames import caller

MODES = ("forward", "reverse")


@final
class Source:
    """Where a statement was written.

    Attributes
    ----------
    module, name : str
        Those of the written function, or of the constructor call.
    where : str
        ``file:line``.
    """

    __slots__ = ("_spec", "by_call", "module", "name", "where")

    def __init__(self, module: str, name: str, where: str, spec: Any, by_call: bool) -> None:
        self.module, self.name = module, name
        self.where, self._spec = where, spec
        self.by_call = by_call

    @classmethod
    def function(cls, f: Callable[..., Any]) -> Source:
        """Return the source of a rule that is a function."""
        return cls(f.__module__ or "__main__", f.__qualname__, where_defined(f), None, False)

    @classmethod
    def caller(cls, name: str, depth: int) -> Source:
        """Return the source of a rule that a constructor call states, ``depth`` frames above."""
        frame = caller(depth)
        spec = frame.f_globals.get("__spec__")
        where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        return cls(frame.f_globals.get("__name__", "__main__"), name, where, spec, True)

    @property
    def is_ours(self) -> bool:
        """Whether these packages made the statement, rather than a user."""
        return self.module.startswith("chainrules_")

    def replaces(self, old: Source) -> bool:
        """Return whether this restates an old statement: its module or notebook cell ran again."""
        if (self.module, self.name) != (old.module, old.name):
            return False
        if not self.by_call:
            return True
        # Calls have no unique name: two in one run of one file are two statements.
        file, _, _ = self.where.rpartition(":")
        old_file, _, _ = old.where.rpartition(":")
        return self.where == old.where or file != old_file or self._spec is not old._spec

    def __repr__(self) -> str:
        return f"{self.name} at {self.where}"


@final
class Statement:
    """A statement about one primal, for operands of given types.

    Attributes
    ----------
    primal : Primitive
        The function that it is about.
    signature, varargs
        The types that it is dispatched on.
    modes : tuple of str
        ``"forward"``, ``"reverse"`` or both.
    requires : frozenset of Capability
        What it requires of the engine.
    layer : Layer
        The layer that it belongs to.
    override : int
        Its layer of overrides, of which the highest wins: 0, 1 with ``override=True``, more in a
        block.
    transposed : bool
        Whether it is derived from a statement of the other mode. A written statement of this mode,
        for any types that fit and by the same owner, takes precedence.
    source : Source
        Where it was written.
    recipe : Recipe or None
        How it is bound; None if the function is opted out for these types.
    """

    __slots__ = (
        "_layer",
        "modes",
        "override",
        "primal",
        "recipe",
        "requires",
        "signature",
        "source",
        "transposed",
        "varargs",
    )

    def __init__(
        self,
        primal: Primitive[..., Any],
        signature: tuple[Any, ...],
        varargs: Any,
        source: Source,
        recipe: Any,
        *,
        modes: tuple[str, ...] = MODES,
        requires: frozenset[Capability] = frozenset(),
        override: int = 0,
        transposed: bool = False,
        layer: Layer | None = None,
    ) -> None:
        self.primal, self.source, self.recipe = primal, source, recipe
        self.signature, self.varargs = signature, varargs
        self.modes, self.requires, self.override = modes, requires, override
        self.transposed, self._layer = transposed, layer

    @property
    def layer(self) -> Layer:
        """The layer of its source, unless one was given; finding it reads the disk."""
        if self._layer is None:
            self._layer = layer_of(self.source.module)
        return self._layer

    @property
    def owner(self) -> Layer | str:
        """The layer, or the package if the layer is that of third parties."""
        return owner_of(self.source.module) if self.layer is Layer.THIRD_PARTY else self.layer

    def has_place_of(self, other: Statement) -> bool:
        """Return whether only their packages or their order tell two statements apart."""
        mine, theirs = [
            (s.signature, s.varargs, s.requires, s.override, s.transposed, s.layer)
            for s in (self, other)
        ]
        return mine == theirs and bool({*self.modes} & {*other.modes})

    @property
    def types(self) -> str:
        """The types that it is dispatched on, as they are shown in messages."""
        shown = self.signature if self.varargs is None else (*self.signature, self.varargs)
        return signature_text(shown)

    @property
    def where(self) -> str:
        """``file:line`` of the statement."""
        return self.source.where

    def __repr__(self) -> str:
        modes = "/".join(self.modes)
        return f"<rule {self.primal.__name__}{self.types} {modes} at {self.where}>"


@final
class Rule:
    """The rule for a function and types: one statement per mode, often the same.

    Engines pass it to `chainrules_py.extend.bind`, which caches its results in ``bound``.
    """

    __slots__ = ("bound", "forward", "primal", "reverse")

    def __init__(
        self, primal: Primitive[..., Any], forward: Statement | None, reverse: Statement | None
    ) -> None:
        self.primal, self.forward, self.reverse = primal, forward, reverse
        self.bound: dict[Any, Any] = {}

    def statement(self, mode: str) -> Statement | None:
        """Return the statement for a mode, or None."""
        return self.forward if mode == "forward" else self.reverse

    @property
    def is_core(self) -> bool:
        """Whether both modes belong to the core, and no hook is attached."""
        stated = [s for s in (self.forward, self.reverse) if s is not None]
        return all([s.layer is Layer.CORE and not s.recipe.is_hooked for s in stated])

    def __repr__(self) -> str:
        forward, reverse = self.forward, self.reverse
        return repr(reverse) if forward is reverse else f"<rules {forward!r} and {reverse!r}>"
