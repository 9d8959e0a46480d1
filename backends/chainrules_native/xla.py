"""Writer of programs for JAX: the list of calls under ``jax.jit``, with long loops as ``lax.scan``.

Words are computed as JAX's arrays compute them, NumPy's functions by those of the same names. What
has another shape or dtype there, or is not there, is a call back into NumPy; so nothing is refused.
Where NumPy or Python would raise and XLA gives a number, the program does not fit.
"""

from __future__ import annotations

import functools
import importlib
import operator
from collections.abc import Iterable, Mapping
from typing import Any, final

import numpy as np

from chainrules_compile import calls as stated
from chainrules_compile.calls import Under, expect, expect_form, needed
from chainrules_compile.loops import Loop, Varying, joined, picked, rows_of, stacked_rows
from chainrules_compile.passes.rolled import LEAST_OF_COMPILERS, rolled
from chainrules_compile.passes.values import changed
from chainrules_compile.scope import Scope
from chainrules_compile.writers.numpy_source import write as write_numpy
from chainrules_compile.writers.writer import Body
from chainrules_py import Primitive
from chainrules_py import vocabulary as v
from chainrules_py.extend import type_info
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary.indexing import Index
from chainrules_py.vocabulary.views import duplicate

_DIVISIONS = (operator.truediv, operator.floordiv, operator.mod)
_INDEXED: dict[Any, int] = {v.getitem: 1, v.put_at: 2, v.scatter_add: 2, v.add_at: 2}
"""Words of indices: after how many operands their arrays stand."""
_FACTORS = (v.cholesky, v.solve, v.inv, v.eigh, v.eigvalsh, v.svd, v.svdvals)
_RAISE: frozenset[Any] = frozenset(
    {*_FACTORS, v.solve_triangular, v.cholesky_cotangent, v.cholesky_tangent, np.linalg.pinv}
    | {np.linalg.matrix_power, *[getattr(np.linalg, word.__name__) for word in _FACTORS]}
)
"""Functions that raise in NumPy where they have no result."""


class _Unlike(Exception):  # noqa: N818 (it is no error: another way is taken)
    """JAX gives something of another shape or dtype, or nothing at all."""


@final
class Writer:
    """Writer of programs for JAX."""

    passes = ("simplify", "recall", "dead code", "turns", "own outputs")
    keeps_bits = False
    loops = True

    def __call__(self, program: Program, names: Mapping[Value, str], scope: Scope) -> Body:
        """Write a program; see `chainrules_compile.writers.writer.Writer`."""
        try:
            importlib.import_module("jax")
        except ImportError as error:
            instead = f"written for NumPy instead of JAX: {error}"
            return write_numpy(program, names, scope)._replace(instead=instead)
        if any([c.function is expect and c.options["kind"] is type for c in program.calls]):
            instead = "written for NumPy instead of JAX: a number of it may become complex"
            return write_numpy(program, names, scope)._replace(instead=instead)
        inputs = (*program.inputs, *program.constants)
        outputs = tuple(dict.fromkeys(Call(None, program.outputs, {}, ()).values))
        turned = rolled(program, LEAST_OF_COMPILERS)
        run = Jitted(turned, inputs, outputs)
        own = {x: Value(f"{x.name}_given", x.type, x.shape, x.dtype) for x in outputs}
        fits = Value("fits", bool)
        made = (
            Call(run, inputs, {}, (*own.values(), fits)),
            Call(expect, (fits, True), {"kind": bool}, ()),
        )
        given = Call(None, program.outputs, {}, ()).replaced(own).operands
        body = write_numpy(changed(program, calls=made, outputs=given), names, scope)
        return body._replace(program=turned)


write = Writer()


@final
class Jitted:
    """Program of JAX's, for arrays and numbers of NumPy's."""

    def __init__(self, program: Program, inputs: tuple[Value, ...], outputs: tuple[Value, ...]):
        import jax

        self.__name__ = "xla"
        self.program = program
        self._inputs, self._outputs = inputs, outputs
        self._constants = tuple(program.constants)
        self._run = jax.jit(self._traced)

    def __call__(self, *operands: Any) -> tuple[Any, ...]:
        """Run the program; the last result tells whether it fits."""
        import jax

        with jax.enable_x64(True):
            found = self._run(*operands)
        given = [_as_numpy(x, like) for x, like in zip(found, self._outputs, strict=False)]
        return (*given, bool(found[-1]))

    def _traced(self, *operands: Any) -> tuple[Any, ...]:
        tracing = Tracing(self._constants)
        known = dict(zip(self._inputs, operands, strict=True))
        tracing.run(self.program, known)
        return (*[known[x] for x in self._outputs], all_of(tracing.checks))


def _as_numpy(x: Any, like: Value) -> Any:
    """Return a result as NumPy has it, in memory of its own."""
    if like.type in (float, bool):
        return like.type(x)
    return np.array(x) if like.type is np.ndarray else np.asarray(x)[()]


class Tracing:
    """Calls of a program, as JAX computes them.

    Attributes
    ----------
    checks : list
        What has to be true if the program is to fit.
    """

    def __init__(self, constants: Iterable[Value]) -> None:
        self.checks: list[Any] = []
        self._constants = set(constants)
        self._asked: set[Any] = set()
        self._formed: dict[Value, Any] = {}

    def run(self, program: Program, known: dict[Value, Any], turn: Any = None) -> None:
        """Add the results of a program's calls to what is known; a turn may be a tracer."""
        self._asked.update([x.operands[0] for x in program.calls if x.function is expect_form])
        for call in program.calls:
            xs = call.replaced(known).operands
            if type(call.function) is Loop:
                results = self._loop(call, xs)
            elif call.function is expect:
                kind, (x, answer) = call.options["kind"], xs
                if kind is not type:
                    self.checks.append((x != 0) == answer if kind is bool else x == answer)
                continue
            elif call.function is expect_form:
                if call.operands[0] not in self._formed:
                    raise _Unlike
                self.checks.append(self._formed[call.operands[0]])
                continue
            elif call.function is needed:
                continue
            elif call.function in _OF_LISTS:
                results = _listed(call, xs)
            else:
                results = self._call(call, xs, known, turn)
            known.update(zip(call.results, results, strict=True))
            if self._constants.issuperset(call.values):
                self._constants.update(call.results)

    def _call(
        self, call: Call, xs: tuple[Any, ...], known: dict[Value, Any], turn: Any
    ) -> tuple[Any, ...]:
        given, options = _at_turn(xs, call.options, turn)
        try:
            if self._may_lie_outside(call) or not self._asked.isdisjoint(call.results):
                raise _Unlike  # JAX has one form, whatever the numbers are
            if call.function in _INDEXED and len(xs) > _INDEXED[call.function]:
                self._check_places(call, xs)
            found = implementation(call.function, given)(*given, **options)
            results = tuple(found) if len(call.results) != 1 else (found,)
            for x, y in zip(results, call.results, strict=True):
                _check_form(x, y)
        except _TRIES:
            if given is not xs:
                raise _Unlike from None
            found = _in_numpy(call, options, known)
            self._formed.update(dict.fromkeys(call.results, found[-1]))
            return tuple(found[:-1])
        self._check(call, xs, results)
        return results

    def _may_lie_outside(self, call: Call) -> bool:
        """Tell whether an array of places is no constant: NumPy raises for those outside."""
        if not isinstance(call.function, Primitive) or call.function in _INDEXED:
            return False
        places = [x for x in call.values if x.dtype is not None and x.dtype.kind in "iu"]
        return not self._constants.issuperset(places)

    def _check_places(self, call: Call, xs: tuple[Any, ...]) -> None:
        """Note that places which are no constants have to lie in the array.

        Raises
        ------
        _Unlike
            If it is not clear of which axis they are.
        """
        import jax.numpy as jnp

        first, d = _INDEXED[call.function], 0
        arrays = iter(zip(xs[first:], call.operands[first:], strict=True))
        for entry in call.options["index"]:
            if entry is Ellipsis or (type(entry) is tuple and entry[0] is bool):
                raise _Unlike
            if entry == Index.HOLE:
                x, of = next(arrays)
                if jnp.result_type(x).kind not in "iu":
                    raise _Unlike
                n = jnp.shape(xs[0])[d]
                if of not in self._constants:
                    self.checks.append((x >= -n) & (x < n))
            d += entry is not None

    def _check(self, call: Call, xs: tuple[Any, ...], results: tuple[Any, ...]) -> None:
        """Note where Python or NumPy would raise, and XLA gives something."""
        import jax.numpy as jnp

        function = call.function
        if function in _RAISE:
            self.checks += [jnp.isfinite(y) for y in results]
        elif call.results and call.results[0].type is float:
            if function in _DIVISIONS:
                self.checks.append(jnp.asarray(xs[1]) != 0)
            elif function is operator.pow:
                well = jnp.isfinite(results[0])
                for x in xs:
                    well |= ~jnp.isfinite(jnp.asarray(x, float))
                self.checks.append(well)

    # --------------------------------------------------------------------------------- loops

    def _loop(self, call: Call, xs: tuple[Any, ...]) -> tuple[Any, ...]:
        import jax.numpy as jnp

        loop: Loop = call.function
        same, first, sequences = loop.split(xs)
        outside = zip(loop.body.inputs, call.operands, strict=True)
        constants = self._constants | {x for x, of in outside if self._is_constant(of)}
        rows = [jnp.stack(x) if type(x) in (tuple, list) else x for x in sequences]
        rows = [x[::-1] if back else x for x, back in zip(rows, loop.backwards, strict=True)]
        inner = Tracing(constants)
        try:
            results = inner._scanned(loop, same, first, rows)
        except _Unlike:
            inner.checks = []
            results = inner._unrolled(loop, same, first, rows)
        self.checks += inner.checks
        return results

    def _is_constant(self, x: Any) -> bool:
        if type(x) in (tuple, list):
            return all(map(self._is_constant, x))
        return x in self._constants if type(x) is Value else True

    def _turn(self, loop: Loop, xs: tuple[Any, ...], turn: Any) -> tuple[Any, Any, Any]:
        known = dict(zip(loop.body.inputs, xs, strict=True))
        self.run(loop.body, known, turn)
        found: tuple[Any, Any, Any] = loop.outputs(_replaced(loop.body.outputs, known))
        return found

    def _scanned(self, loop: Loop, same: Any, first: Any, rows: list[Any]) -> tuple[Any, ...]:
        import jax.numpy as jnp
        from jax import lax

        if not all(map(_varies_by_places, loop.body.calls)):
            raise _Unlike

        dtypes = [_form(x)[1] for x in loop.split(loop.body.inputs)[1]]

        def as_given(xs: Any) -> Any:
            return tuple([jnp.asarray(x, dtype) for x, dtype in zip(xs, dtypes, strict=True)])

        def turn(state: Any, each: Any) -> Any:
            carried, k = state
            self.checks = []
            carried, last, kept = self._turn(loop, (*same, *carried, *each), k)
            return (as_given(carried), k + 1), (last, kept, all_of(self.checks))

        try:
            state = as_given(first), jnp.asarray(0)
            (carried, _), (last, kept, fits) = lax.scan(turn, state, rows, loop.turns)
        except TypeError as error:  # what is carried becomes another dtype or shape
            raise _Unlike from error
        self.checks = [fits]
        return (*carried, *[x[-1] for x in last], *kept)

    def _unrolled(self, loop: Loop, same: Any, first: Any, rows: list[Any]) -> tuple[Any, ...]:
        import jax.numpy as jnp

        carried, last, kept = first, (), []
        for k in range(loop.turns):
            each = [x[k] for x in rows]
            carried, last, new = self._turn(loop, (*same, *carried, *each), k)
            kept.append(new)
        return (*carried, *last, *[jnp.stack(x) for x in zip(*kept, strict=True)])


def all_of(checks: list[Any]) -> Any:
    """Return whether all elements of all are true."""
    import jax.numpy as jnp

    return functools.reduce(jnp.logical_and, map(jnp.all, checks), jnp.asarray(True))


def _replaced(xs: tuple[Any, ...], known: dict[Value, Any]) -> tuple[Any, ...]:
    return Call(None, xs, {}, ()).replaced(known).operands


_OF_LISTS = (picked, joined, rows_of, stacked_rows)


def _listed(call: Call, xs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return rows, and parts of what loops have kept, which is stacked here."""
    import jax.numpy as jnp

    options = call.options
    if call.function is picked:
        return tuple([xs[0][k] for k in options["turns"]])
    if call.function is rows_of:
        return (xs[0][options["first"] : options["last"]],)
    if call.function is stacked_rows:
        return (xs[0][::-1] if options["back"] else xs[0],)
    parts = zip(xs, call.options["cuts"], strict=True)
    return (jnp.concatenate([jnp.asarray(x)[None] if cut is None else x[cut] for x, cut in parts]),)


def _varies_by_places(call: Call) -> bool:
    """Tell whether what differs from turn to turn is one place along an axis."""
    varying = [x for x in call.options.values() if type(x) is Varying]
    return not varying or (
        call.function in _INDEXED
        and len(call.operands) == _INDEXED[call.function]
        and place_of(varying[0]) is not None
    )


@functools.lru_cache(maxsize=256)
def place_of(varying: Varying) -> tuple[Index, np.ndarray] | None:
    """Return an index with a hole for the one place that varies, and where that is in turn."""
    objects = varying.objects
    if not all([type(x) is Index and len(x) == len(objects[0]) for x in objects]):
        return None
    columns = list(zip(*objects, strict=True))
    moving = [d for d, column in enumerate(columns) if any([x != column[0] for x in column])]
    if len(moving) != 1 or not all([type(x) is int for x in columns[moving[0]]]):
        return None
    whole = objects[0].join(())
    entries = list(whole) if type(whole) is tuple else [whole]
    entries[moving[0]] = np.zeros((), int)
    return Index.split(tuple(entries))[0], np.array(columns[moving[0]])


def _at_turn(xs: tuple[Any, ...], options: Mapping[str, Any], turn: Any) -> Any:
    """Return operands and options as they are in a turn: a place that is a tracer is an operand."""
    import jax.numpy as jnp

    found = {}
    for name, x in options.items():
        if type(x) is Varying:
            if type(turn) is int:
                x = x.objects[turn]
            else:
                place = place_of(x)
                assert place is not None
                x, xs = place[0], (*xs, jnp.asarray(place[1])[turn])
        found[name] = x
    return xs, found


def _form(y: Value) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and dtype of a value.

    Raises
    ------
    _Unlike
        If it is no array, and no number.
    """
    if y.type in (float, bool, int, complex):
        return (), np.dtype(y.type)
    if y.dtype is None or y.shape is None:
        raise _Unlike
    return y.shape, y.dtype


def _check_form(x: Any, like: Value) -> None:
    """Raise unless JAX gives what NumPy gives."""
    import jax.numpy as jnp

    if (jnp.shape(x), jnp.result_type(x)) != _form(like):
        raise _Unlike


def _in_numpy(call: Call, options: Any, known: dict[Value, Any]) -> tuple[Any, ...]:
    """Call back into NumPy; tell as well whether what it gives has the form that it had."""
    import jax

    function = _FUNCTIONAL.get(call.function, call.function)
    values = list(dict.fromkeys(call.values))
    made: Any = jax.ShapeDtypeStruct
    forms = [made(*_form(y)) for y in call.results]
    fits = made((), np.dtype(bool))

    def run(*given: Any) -> Any:
        there = {x: _as_numpy(y, x) for x, y in zip(values, given, strict=True)}
        found = function(*call.replaced(there).operands, **options)
        results = (found,) if len(call.results) == 1 else tuple(found)
        for y, form in zip(results, forms, strict=True):
            if (np.shape(y), np.asarray(y).dtype) != (form.shape, form.dtype):
                return (*[np.zeros(x.shape, x.dtype) for x in forms], np.False_)
        return (*map(np.asarray, results), np.True_)

    given: tuple[Any, ...] = jax.pure_callback(run, (*forms, fits), *[known[x] for x in values])
    return given


# ------------------------------------------------------------------------------------ functions


def _added_along_axis(x: Any, y: Any, indices: Any, *, axis: int) -> Any:
    z = np.array(x)
    v.add_along_axis(z, y, indices, axis=axis)
    return z


_FUNCTIONAL: dict[Any, Any] = {v.add_at: v.scatter_add, v.add_along_axis: _added_along_axis}
"""Functions of this form, of words that write to what they are given."""

_TRIES = (_Unlike, TypeError, ValueError, AttributeError, NotImplementedError, IndexError)


def implementation(function: Any, xs: tuple[Any, ...]) -> Any:
    """Return what computes a call of JAX's arrays.

    Raises
    ------
    _Unlike
        If there is nothing.
    """
    import jax.numpy as jnp

    function = _FUNCTIONAL.get(function, function)
    if type(function) is Under:
        function = function.function
    if isinstance(function, Primitive):
        return function.implementation(tuple(map(type, xs))) or function
    if function in _STATED:
        return _STATED[function]
    word = _words().get(function)
    if word is not None:
        return word
    name = getattr(function, "__name__", "")
    if isinstance(function, np.ufunc) or getattr(np, name, None) is function:
        return getattr(jnp, name)
    if getattr(np.linalg, name, None) is function:
        return getattr(jnp.linalg, name)
    if getattr(np.ndarray, name, None) is function:
        return lambda x, *given, **options: getattr(x, name)(*given, **options)
    if getattr(operator, name, None) is function or type(function) is operator.attrgetter:
        return function
    raise _Unlike


@functools.cache
def _words() -> dict[Any, Any]:
    """Return what NumPy's library computes in a way of its own, and how it is in words."""
    return {own: word for word, own in type_info(np.ndarray).library.adjoint.items()}


def _is_finite(t: Any, *, like: type) -> Any:
    import jax.numpy as jnp

    return jnp.all(jnp.isfinite(t))


def _sum_to(t: Any, *, result: Any, shape: Any) -> Any:
    import jax.numpy as jnp

    extra = len(result) - len(shape)
    t = jnp.sum(t, axis=tuple(range(extra)))
    axes = tuple([d for d, n in enumerate(shape) if n == 1 and result[extra + d] != 1])
    return jnp.sum(t, axis=axes, keepdims=True)


def _dot_to(t: Any, p: Any, *, result: Any, shape: Any) -> Any:
    return _sum_to(t * p, result=result, shape=shape)


def _same(x: Any) -> Any:
    return x


_STATED: dict[Any, Any] = {
    stated.is_finite: _is_finite,
    stated.sum_to: _sum_to,
    stated.dot_to: _dot_to,
    duplicate: _same,
}
