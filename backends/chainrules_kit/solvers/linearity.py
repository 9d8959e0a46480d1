"""Linearity, seen while a function is traced: of what is transposed, where one mode is stated.

Two tracers stand around each leaf. The inner one marks whatever is computed of it, by whatever
word. The outer one takes the rule of each word that is applied to it, and looks at what that rule
saves for its pull, and gives by it: the derivative of a linear function does not depend on the
point, so nothing that it gives is marked. And a function that is linear is zero at zero, which is
where it is run.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, final

import numpy as np

from chainrules_py import (
    Config,
    NotDifferentiableError,
    TracerError,
    ZeroTangent,
    unthunk,
    zero_tangent,
)
from chainrules_py.extend import (
    ArrayLike,
    Classes,
    Layer,
    Statement,
    Tracer,
    bind,
    captured,
    demand_rule,
    flatten,
    in_place_operators,
    looked_into,
    map_leaves,
    new_level,
    number_home,
    type_info,
    untraced,
)
from chainrules_py.vocabulary import creation, elementwise, predicates, reductions
from chainrules_py.vocabulary.views import Index, store

_OF_SHAPES = {*creation.__all__, "shape", "ndim", "size", "result_type", "common_type"}
"""Words, and functions of NumPy's, of whose first operand no element counts."""
_WITH_STEPS = {"floor_divide", "fmod", "modf", "remainder"}
"""Words whose slope is the same everywhere, and that are not linear."""
_SHIFTED = "a constant is added to it"
_PRODUCTS = (elementwise.multiply, elementwise.divide)


@final
class Check:
    """Check of one function.

    Attributes
    ----------
    shifted : bool
        Whether a word was applied that may add a constant.
    pending : tracer or None
        A view that was written to, until it is put back into its array: ``x[i] += y``.
    unseen : bool
        Whether something has to be zero of which there are no numbers to look at.
    """

    def __init__(self, statement: Statement, config: Config) -> None:
        self.statement = statement
        self.config = config
        self.level = new_level()  # of the inner tracers; the outer ones are above
        new_level()
        self.shifted = False
        self.pending: Any = None
        self.unseen = False

    def refuse(self, what: str) -> NoReturn:
        """Raise the error for what is not linear.

        Raises
        ------
        NotDifferentiableError
            It says what to state.
        """
        primal, (mode,) = self.statement.primal.__name__, self.statement.modes
        tangent, pen = ("cotangent", "frule") if mode == "forward" else ("tangent", "rrule")
        msg = (
            f"the {mode} mode of {primal} is not stated, and the other one cannot be transposed: "
            f"{what}, which is not linear in the {tangent}; state it as well, by "
            f"@{pen}.register({primal}), or leave that step out: a derivative is linear\n"
            f"  rule: {self.statement.where}"
        )
        raise NotDifferentiableError(msg)

    def refuse_shifted(self, y: Any) -> None:
        """Raise if there is something else than zero of zeros, where that can be seen."""
        numbers = getattr(self.config, "numbers", untraced)  # of all that an engine maps over
        for leaf in flatten(y)[0]:
            if not self.config.sees(leaf):
                self.unseen = True
            elif _is_nonzero(numbers(leaf)):
                self.refuse(_SHIFTED)

    def refuse_unseen(self, y: Any) -> None:
        """Raise if a function added a constant that was not seen while it ran."""
        if self.unseen:
            self.refuse_shifted(y)


class _Marked(ArrayLike):
    """Value that depends on a leaf."""

    __slots__ = ("check", "payload")
    state: ClassVar[tuple[str, ...]] = __slots__
    engine = "linearity"
    config = Config()
    above: ClassVar[int] = 0
    results: ClassVar[Any]

    def __init__(self, value: Any, check: Check) -> None:
        self.payload = value
        self.check = check

    @property
    def level(self) -> int:
        """The level of its check."""
        return self.check.level + self.above

    def __bool__(self) -> bool:
        return self.check.refuse("a decision is taken by it")

    def ignored(self) -> Any:
        """Raise: what is constant in it has another value where it is not zero."""
        return self.check.refuse("it is taken to be constant")

    def __trace__(
        self,
        primitive: Any,
        operands: tuple[Any, ...],
        options: dict[str, Any],
        primal: Callable[..., Any] | None = None,
    ) -> Any:
        """Compute a call, and mark the result; a truth, or a number that counts, cannot be."""
        opened = self._opened(operands)
        if primal is not None and number_home(primal) is np and any(map(_is_of_another, opened)):
            primal = None  # an array of NumPy's stood on the left of an operator
        y = (primal or primitive)(*opened, **options)
        if primitive.__name__ in _OF_SHAPES and not self._among(operands[1:]):
            return y
        return map_leaves(self._marked, y)

    def _opened(self, operands: tuple[Any, ...]) -> Any:
        return map_leaves(lambda x: x.payload if self._is_one(x) else x, operands)

    def _is_one(self, x: Any) -> bool:
        return isinstance(x, _Marked) and x.level == self.level

    def _among(self, xs: Any) -> bool:
        return any(map(self._is_one, flatten(xs)[0]))

    def _marked(self, value: Any) -> Any:
        made = self.results[type(value)](value, self.check)
        return made if made is not value else self.check.refuse("a decision is taken by it")


def _is_of_another(x: Any) -> bool:
    """Tell whether it is an array of a library other than NumPy."""
    return type_info(type(x)).home is not None


def _set_item(self: Any, where: Any, value: Any) -> None:
    check = self.check
    if check.pending is value and value.root is self:
        check.pending = None  # the second half of x[i] += y
    pattern, arrays = Index.split(where)
    self._write(store(self, value, *arrays, index=pattern), value)


def _in_place(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        z = operation(self, other)
        if z is not NotImplemented:
            self._write(z)
        return z if z is NotImplemented else self

    return method


class _Linear(_Marked):
    """Value that is linear in the leaves; an array can be written to, but beside no view of it."""

    __slots__ = ("root", "views")
    above = 1
    array_members: ClassVar[dict[str, Any]] = {
        "__setitem__": _set_item,
        **{name: _in_place(operation) for name, (operation, _) in in_place_operators.items()},
    }

    def __init__(self, value: Any, check: Check) -> None:
        super().__init__(value, check)
        self.root: Any = None
        self.views: list[weakref.ref[Any]] = []

    def note_view(self, *call: Any) -> None:
        """Note that it may share the memory of the first operand."""
        x = call[1][0]
        if isinstance(x, _Linear):
            self.root = x if x.root is None else x.root
            self.root.views.append(weakref.ref(self))

    def _constant(self, value: Any) -> Any:
        self.check.shifted = True
        return self.results[type(value)](
            _Marked.results[type(value)](value, self.check), self.check
        )

    def _write(self, z: Any, part: Any = None) -> None:
        """Take over a value, for all names of this array."""
        alive = [view() for view in (self if self.root is None else self.root).views]
        if any([v is not None and v is not self and v is not part for v in alive]):
            self.check.refuse("it is written to beside a view of it")
        mine: Any = self
        if z.shape != mine.shape or z.dtype != mine.dtype:
            self.check.refuse("it is written to with another shape or dtype")
        self.payload = z.payload
        if self.root is not None:
            self.check.pending = self

    def __trace__(
        self,
        primitive: Any,
        operands: tuple[Any, ...],
        options: dict[str, Any],
        primal: Callable[..., Any] | None = None,
    ) -> Any:
        """Compute a call, and look at what its rule saves."""
        check, config, name = self.check, self.check.config, primitive.__name__
        if check.pending is not None:
            check.refuse("a view of it is written to")
        if any([_depends(x, check) for x in operands]):
            check.refuse(f"{name} is applied to what else is computed of it")
        if name in _WITH_STEPS:
            check.refuse(f"{name} is applied to it")
        payloads = self._opened(operands)
        classes, wanted = tuple(map(type, payloads)), tuple(map(self._among, operands))
        if looked_into(primitive, classes, config):
            return primitive.__wrapped__(*operands, **options)
        rule = demand_rule(primitive, classes, config, "reverse")
        bound = bind(rule, classes, wanted, "reverse", primal=primal, config=config)
        if bound is None:
            return (primal or primitive)(*payloads, **options)
        y, out = bound.run(None, *payloads, **options)
        pull, _, *saved = out
        if any([_depends(x, check) or type(x) is ZeroTangent for x in flatten(saved)[0]]):
            # It may not use all that it saves. A zero is the derivative of what has steps.
            bars = flatten(unthunk(pull(zero_tangent(y), *saved)))[0]
            if any([_depends(t, check) or type(t) is ZeroTangent for t in bars]):
                check.refuse(f"{name} is applied to it")
        if bound.statement.layer is not Layer.CORE:
            check.shifted = True
        elif bound.is_linear or (bound.is_elementwise and primitive not in _PRODUCTS):
            # In several operands together, of which some may be constant.
            stated = bound.statement.recipe.stated_in(len(operands))
            for x, s, w in zip(operands, stated, bound.wanted, strict=True):
                check.shifted |= s and not w and not (type(x) in (int, float) and x == 0)
        made = map_leaves(lambda value: self.results[type(value)](value, check), y)
        if bound.may_view and isinstance(made, _Linear):
            made.note_view(primitive, operands)
        return made


_Marked.results = Classes(_Marked, lambda value, _: value)
_Linear.results = Classes(_Linear, lambda value, _: value)


def checked(
    statement: Statement,
    config: Config,
    f: Callable[..., tuple[Any, ...]],
    checks: list[Check],
) -> Callable[..., tuple[Any, ...]]:
    """Make a function of leaves, which is run at zero, raise unless it is linear in them.

    The check of each run is appended to ``checks``, for what it could not see.

    Raises
    ------
    NotDifferentiableError
        Where it is called, naming the word that is not linear, and what to state.
    TracerError
        Where the engine counts its levels by itself.
    """

    def g(*leaves: Any) -> tuple[Any, ...]:
        check = Check(statement, config)
        checks.append(check)
        if any([isinstance(x, Tracer) and x.level >= check.level for x in leaves]):
            msg = (
                f"{type(config).__name__} differentiates at a level that is not of "
                f"extend.new_level(), which counts the differentiations of all engines: take it "
                f"from there, or derivatives of different engines that are nested are mixed up"
            )
            raise TracerError(msg)
        marked = [_Marked.results[type(x)](x, check) for x in leaves]
        ys = f(*[_Linear.results[type(x)](x, check) for x in marked])
        if check.pending is not None:
            check.refuse("a view of it is written to")
        return tuple([_left(y, check) for y in ys])

    return g


def _left(y: Any, check: Check) -> Any:
    """Return a result without its marks."""
    traced = isinstance(y, _Linear) and y.check is check
    if traced:
        y = y.payload.payload
    elif _depends(y, check):
        check.refuse("a word without a derivative is applied to it")
    # Only where it may be one: to look at the elements of an array is to wait for its device.
    if check.shifted or not traced:
        check.refuse_shifted(y)
    return y


def _is_nonzero(y: Any) -> bool:
    """Tell whether there is an element other than zero, or NaN, which 0 times infinity is."""
    if not type_info(type(y)).is_array:
        return bool(y == y and y != 0)
    known = predicates.equal(y, y)
    return bool(reductions.any(predicates.logical_and(known, predicates.not_equal(y, 0))))


def _depends(x: Any, check: Check) -> bool:
    """Tell whether a value is marked and not linear, or holds or has captured one that is."""
    if callable(x) and not isinstance(x, Tracer) and captured((x,), check.level):
        return True
    leaves = flatten(x)[0]
    return any([isinstance(t, _Marked) and t.level == check.level for t in leaves])
