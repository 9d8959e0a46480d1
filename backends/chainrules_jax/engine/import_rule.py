"""Rules from functions of JAX: as oracles, or where nobody has stated one."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np

from chainrules_bridge import own_function, refuse_traced_captures
from chainrules_compat.import_rule import (
    declared,
    parameters_of_imported,
    state_imported,
    without_rule,
)
from chainrules_jax.array_types import is_traced
from chainrules_jax.engine.linear import is_inexact
from chainrules_jax.engine.pytrees import conjugate, is_value, split
from chainrules_py import NoTangent, Primitive, ZeroTangent, is_zero, zero_tangent
from chainrules_py.extend import (
    TreeDef,
    canonicalize,
    flatten_tangent,
    kind_of,
    name_of,
    namespace,
    partition,
    parts_of,
    type_info,
    unflatten,
    unflatten_tangent,
    varies,
)

Function = Callable[..., Any]


def import_rule(
    f: Function, /, *, operands: int | None = None, to: Function | None = None
) -> Primitive[..., Any]:
    """Make a primitive that JAX computes and differentiates, for every engine and array library.

    Parameters
    ----------
    f : callable
        A function that JAX can trace, of arrays, numbers, and structures that JAX knows.
    operands : int, optional
        How many of its parameters are operands, by position; by default those without a default.
        The others are options, by name.
    to : callable, optional
        A primitive that nobody has stated a rule for: it gets this one, as a last resort.

    Returns
    -------
    Primitive
        It takes arrays of any library, and gives arrays of the same; without a copy where the two
        libraries can share memory. With ``to``, that primitive.

    Raises
    ------
    RuleError
        If ``to`` has a rule: that one is not to be replaced in silence.

    Notes
    -----
    The statement is marked with where f is defined, and is of the layer of engines: every rule of
    a backend, a third party or the user comes first. Derivatives of derivatives are functions of
    JAX as well.

    Examples
    --------
    >>> import jax, numpy as np
    >>> from chainrules_tape import grad
    >>> softplus = import_rule(jax.nn.softplus)
    >>> print(grad(lambda x: softplus(x).sum())(np.zeros(2)))
    [0.5 0.5]
    """
    names, options = parameters_of_imported(f, operands)
    made = _Imported(f, len(names), options)
    primal = declared(f, names, options, made.value) if to is None else without_rule(to, f)
    made.word = primal
    frule = functools.partial(made.frule, primal)
    rrule = functools.partial(made.rrule, primal)
    state_imported(primal, f, frule, rrule, module=__name__, engine="JAX")
    return primal


@final
class _Imported:
    """A function of JAX as others call it.

    Its push and its pull are functions of JAX as well, imported in the same way: so each order has
    the next one, and every engine sees them being called.
    """

    def __init__(self, f: Function, operands: int, options: dict[str, Any]) -> None:
        self.f = f
        self.n = operands
        self.options = options
        self.word: Primitive[..., Any] | None = None
        self._made = _Compiled(f, tuple(options))

    def now(self) -> _Compiled:
        """Return what is compiled of it; anew, if what it looks up is another by now."""
        if not self._made.lasts():
            self._made = _Compiled(self.f, tuple(self.options))
        return self._made

    def said(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the options that are not the defaults, which `jax.vmap` would take for arrays."""
        return {name: x for name, x in options.items() if x is not self.options.get(name, self)}

    def value(self, xs: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Compute by JAX, and return arrays of the library that was given."""
        options = self.said(options)
        if self.word is not None and own_function(self.word, "JAX", is_traced) is not None:
            return self.f(*xs, **options)
        leaves, layout = partition(xs, _is_leaf)
        if any(map(is_value, leaves)):
            return self.now().f(*xs, **options)
        with _precision(leaves):
            given = unflatten(layout, [*map(_entered, leaves)])
            try:
                return _left(self.now().compiled(*given, **options), leaves)
            except Exception:  # of what JAX does not compute with
                refuse_traced_captures(self.f, varies)
                raise

    def frule(
        self, g: Primitive[..., Any], tangents: tuple[Any, ...], *xs: Any, **options: Any
    ) -> tuple[Any, Any]:
        """Value and tangent."""
        y = g(*xs, **options)
        leaves, given = partition(xs, _is_leaf)
        ts = flatten_tangent(given, canonicalize(xs, tangents))
        pairs = zip(leaves, ts, strict=True)
        places = tuple([i for i, (x, t) in enumerate(pairs) if _moves(x) and not is_zero(t)])
        if not places:
            return y, ZeroTangent()
        push = self.now().half("push", given, places, len(places), self.said(options))
        found, layout = partition(y, _moves)
        dots = iter(push(*leaves, *[ts[i] for i in places]))
        return y, unflatten_tangent(layout, [next(dots) for _ in found])

    def rrule(
        self, g: Primitive[..., Any], *xs: Any, **options: Any
    ) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
        """Value and pullback, which runs the function once more."""
        y, made = g(*xs, **options), self.now()
        leaves, given = partition(xs, _is_leaf)
        places = tuple([i for i, x in enumerate(leaves) if _moves(x)])
        found, layout = partition(y, _moves)

        def pullback(y_bar: Any) -> tuple[Any, ...]:
            parts = [
                zero_tangent(x) if is_zero(t) else t
                for t, x in zip(flatten_tangent(layout, canonicalize(y, y_bar)), found, strict=True)
            ]
            pull = made.half("pull", given, places, len(parts), self.said(options))
            bars = iter(pull(*leaves, *parts))
            t = unflatten_tangent(
                given, [next(bars) if i in places else NoTangent() for i in range(len(leaves))]
            )
            return tuple([t[i] for i in range(self.n)])

        return y, pullback


@final
class _Compiled:
    """What JAX has compiled of a function, while what it captured is what it was.

    Value, push and pull of the same shapes share what one run of the function traced.

    Attributes
    ----------
    compiled : callable
        The function, compiled.
    f : callable
        The function.
    """

    def __init__(self, f: Function, options: tuple[str, ...]) -> None:
        self.f = f
        self.compiled = jax.jit(f, static_argnames=options)
        self.captured = parts_of(f)
        self._halves: dict[Any, Primitive[..., Any]] = {}

    def lasts(self) -> bool:
        """Tell whether the function's own cells, defaults and attributes are what they were."""
        now = parts_of(self.f)
        return len(now) == len(self.captured) and all(
            [x is y for (_, x), (_, y) in zip(now, self.captured, strict=True)]
        )

    def half(
        self,
        name: str,
        layout: TreeDef,
        places: tuple[int, ...],
        count: int,
        options: dict[str, Any],
    ) -> Primitive[..., Any]:
        """Return the push or pull at arrays `places`, of all arrays and `count` tangents."""
        # JAX's tree of numbered leaves says how the operands are made of arrays.
        order, tree = jax.tree.flatten(unflatten(layout, range(layout.num_leaves)))
        key = (name, tree, *order, places, count, *options.items())
        if key in self._halves:
            return self._halves[key]
        n, f = layout.num_leaves, self.compiled

        def half(*given: Any) -> tuple[Any, ...]:
            xs, ts = given[:n], given[n:]
            varied = tuple([xs[i] for i in places])

            def along(*some: Any) -> list[Any]:
                moved = list(xs)
                for i, x in zip(places, some, strict=True):
                    moved[i] = x
                y = f(*unflatten(layout, moved), **options)
                return [x for x in split(y, numbers=True)[0] if is_inexact(x)]

            if name == "push":
                return tuple(jax.jvp(along, varied, _like(ts, varied))[1])
            ys, transpose = jax.vjp(along, *varied)
            # Cotangents of JAX are those of the transpose, ours of the adjoint.
            return tuple([conjugate(b) for b in transpose([conjugate(t) for t in _like(ts, ys)])])

        half.__name__ = f"{name}_of_{name_of(self.f)}"
        found = self._halves[key] = import_rule(half, operands=n + count)
        return found


def _is_leaf(x: Any) -> bool:
    return _is_key(x) or kind_of(x) != "none"


def _is_key(x: Any) -> bool:
    """Tell whether a value is a key of `jax.random.key`, an array that holds no numbers."""
    return isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def _moves(x: Any) -> bool:
    return kind_of(x) in ("real", "complex")


def _like(ts: Sequence[Any], xs: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(
        [jnp.broadcast_to(jnp.asarray(t, x.dtype), x.shape) for t, x in zip(ts, xs, strict=True)]
    )


def _precision(xs: Sequence[Any]) -> Any:
    """JAX with 64 bits, where it is given so many; it would cut them off in silence."""
    wide = any([getattr(getattr(x, "dtype", None), "itemsize", 8) >= 8 for x in xs])
    return jax.enable_x64(True) if wide else contextlib.nullcontext()


def _entered(x: Any) -> Any:
    """Convert an array of another library to JAX's, sharing memory where that is possible."""
    if _is_key(x):
        return x
    if isinstance(x, (np.ndarray, np.generic)) and not x.dtype.isnative:
        return jnp.asarray(x.astype(x.dtype.newbyteorder("=")))
    if isinstance(x, (np.ndarray, np.generic)) or not hasattr(x, "__dlpack__"):
        return jnp.asarray(x)
    try:
        return jnp.from_dlpack(x)
    except jax.errors.JaxRuntimeError:  # it shares memory that is laid out without gaps
        return jnp.asarray(np.array(x))


def _left(y: Any, xs: Sequence[Any]) -> Any:
    """Convert a result to arrays of the operands' library, or to numbers if they are numbers."""
    like = next((x for x in xs if type_info(type(x)).is_array and not _is_key(x)), None)
    leaves, layout = split(y, numbers=True)
    return unflatten(layout, [_as_given(leaf, like) for leaf in leaves])


def _as_given(y: Any, like: Any) -> Any:
    if like is None:
        return y.item() if y.ndim == 0 else np.asarray(y)
    xp = namespace(like)
    # NumPy would see memory of JAX's that nobody may write to.
    return np.array(y) if xp is np else xp.from_dlpack(y)
