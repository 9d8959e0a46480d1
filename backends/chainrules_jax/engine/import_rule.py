"""Rules from JAX functions: as oracles, or for functions without a rule."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np

from chainrules_jax.array_types import is_traced
from chainrules_jax.engine.rule_config import config
from chainrules_jax.engine.value_conversions import is_inexact, is_value, learn, split
from chainrules_kit import own_function, refuse_traced_captures
from chainrules_kit.custom_derivatives.rules_from_engine_functions import (
    ImportedRule,
    declared,
    moves,
    needs_64_bits,
    parameters_of_imported,
    state_imported,
    without_rule,
)
from chainrules_py import NotDifferentiableError, NotImplementedTangent, Primitive
from chainrules_py.extend import (
    TreeDef,
    flatten,
    kind_of,
    name_of,
    namespace,
    partition,
    parts_of,
    type_info,
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
        A function that JAX can trace, of arrays, numbers, and JAX pytrees.
    operands : int, optional
        How many of its parameters are operands, by position; by default those without a default.
        The others are options, by name.
    to : callable, optional
        A primitive without a rule, which gets this one as a last resort.

    Returns
    -------
    Primitive
        It takes arrays of any library, and returns arrays of the same library; without a copy if
        the two libraries can share memory. With ``to``, that primitive.

    Raises
    ------
    RuleError
        If ``to`` has a rule, which would be replaced silently.

    Notes
    -----
    The rule records where f is defined, and belongs to the layer of engines: every rule of a
    backend, a third party or the user has precedence. Derivatives of derivatives are JAX functions
    as well.

    Examples
    --------
    >>> import jax, numpy as np
    >>> from chainrules_tape import grad
    >>> softplus = import_rule(jax.nn.softplus)
    >>> print(grad(lambda x: softplus(x).sum())(np.zeros(2)))
    [0.5 0.5]
    """
    names, options = parameters_of_imported(f, operands)
    made = _Imported(f, options)
    primal = declared(f, names, options, made.value) if to is None else without_rule(to, f)
    state_imported(primal, made.rule, module=__name__, engine="JAX")
    return primal


@final
class _Imported:
    """A JAX function for other libraries: compiled, until what it captured changes."""

    def __init__(self, f: Function, options: dict[str, Any]) -> None:
        self.f, self.options = f, options
        self.rule = ImportedRule(
            f,
            self._moving,
            _pushed,
            _pulled,
            lambda half, n: import_rule(half, operands=n),
            _is_leaf,
            _static,
        )
        self._captured: tuple[Any, list[Any]] = (), []
        self._compiled: Any = None

    def compiled(self) -> Any:
        """Return the compiled function; compile it again if its cells or attributes changed.

        NumPy's arrays are compared as a whole: the function reads all of them as well.
        """
        leaves, tree = flatten(
            [x for _, x in parts_of(self.f)], lambda x: not isinstance(x, (list, tuple, dict))
        )
        arrays = [(x.tobytes(), x.shape, x.dtype) for x in leaves if isinstance(x, np.ndarray)]
        key = tree, [*map(id, leaves)], arrays
        if key != self._captured[0]:
            self._captured = key, leaves  # which stay alive, so that no other value has their id
            # JAX caches traces by function, so each compilation needs a new one.
            self._compiled = jax.jit(functools.partial(self.f), static_argnames=tuple(self.options))
            self.rule.halves.clear()
        return self._compiled

    def _moving(self, *xs: Any, **options: Any) -> list[Any]:
        y = self.compiled()(*xs, **self.said(options))
        return [*filter(is_inexact, split(y, numbers=True)[0])]

    def said(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the options without defaults, which `jax.vmap` would treat as arrays."""
        return {name: x for name, x in options.items() if x is not self.options.get(name, self)}

    def value(self, xs: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Compute by JAX, and return arrays of the operands' library."""
        if learn(xs):  # now the values in them are seen, which engines may trace
            return self.rule.primal(*xs, **options)
        own = own_function(self.rule.primal, "JAX", is_traced)
        leaves = [*filter(_is_leaf, flatten(jax.tree.leaves(xs))[0])]  # no static fields
        if own is not None or any(map(is_value, leaves)):
            y = self.f(*xs, **self.said(options))
            learn(y)
            return y
        options = self.said(self.rule.primal.normalise(xs, options)[1])
        # Without 64 bits, JAX would silently truncate operands.
        beside = any([_is_key(x) or (hasattr(x, "dtype") and moves(x)) for x in leaves])
        wide = any([needs_64_bits(x, beside) for x in leaves])
        with jax.enable_x64(True) if wide else contextlib.nullcontext():
            given = jax.tree.map(lambda x: _entered(x) if _is_leaf(x) else x, xs)
            try:
                return _left(self.compiled()(*given, **options), leaves)
            except Exception:  # JAX cannot compute with an operand
                refuse_traced_captures(self.f, varies)
                raise


def _pulled(along: Function, at: tuple[Any, ...], bars: Sequence[Any]) -> Any:
    try:
        return config.vjp(along, *at)[1](list(bars))
    except ValueError as error:
        if "Reverse-mode differentiation does not work" not in str(error):
            raise
        raise NotDifferentiableError(
            f"import_rule({name_of(along)}): JAX does not differentiate it in reverse mode "
            f'({error}); take its derivatives in forward mode, as jacobian(f, mode="forward")'
        ) from error


def _pushed(along: Function, at: tuple[Any, ...], dots: Sequence[Any]) -> Any:
    # A function of jax.custom_vjp has reverse mode only, which JAX says when it runs the program.
    if "custom_vjp_call" not in str(jax.make_jaxpr(along)(*at)):
        return config.jvp(along, at, tuple(dots))[1]
    ys, pull = jax.vjp(along, *at)
    return jax.vjp(pull, ys)[1](tuple(dots))[0]  # the transpose


def _is_leaf(x: Any) -> bool:
    return kind_of(x) != "none" or _is_key(x)


def _static(xs: tuple[Any, ...], layout: TreeDef) -> tuple[dict[int, NotImplementedTangent], Any]:
    """Return the tangents of numbers in static fields of JAX pytrees, and JAX's own layout."""
    static = (
        () if layout.is_flat else partition(jax.tree.map(lambda _: "", xs), _is_leaf)[1].paths()
    )
    return {
        i: NotImplementedTangent(
            f"{path[-1]} is a static field of a JAX pytree, a constant of the imported function; "
            f"make it a field of data, or differentiate in the other fields, by a function of these"
        )
        for i, path in enumerate(layout.paths())
        if path in static
    }, jax.tree.structure(xs)


def _is_key(x: Any) -> bool:
    """Return whether a value is a key of `jax.random.key`, an array that holds no numbers."""
    return isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def _entered(x: Any) -> Any:
    """Convert an array of another library to a JAX array, sharing memory if possible."""
    if isinstance(x, (np.ndarray, np.generic)):
        x = x.astype(x.dtype.newbyteorder("="), copy=False)
    if isinstance(x, (np.ndarray, np.generic)) or not hasattr(x, "__dlpack__"):
        return jnp.asarray(x)
    try:
        return jnp.from_dlpack(x)
    except jax.errors.JaxRuntimeError:  # JAX shares contiguous memory only
        return jnp.asarray(np.array(x))


def _left(y: Any, xs: Sequence[Any]) -> Any:
    """Convert a result to arrays of the operands' library, or to numbers if they are numbers."""
    like = next((x for x in xs if type_info(type(x)).is_array and not _is_key(x)), None)
    learn(y)
    return jax.tree.map(lambda leaf: leaf if _is_key(leaf) else _as_given(leaf, like), y)


def _as_given(y: Any, like: Any) -> Any:
    if like is None:
        return y.item() if y.ndim == 0 else np.asarray(y)
    # NumPy would return a read-only view of JAX's memory.
    return np.array(y) if namespace(like) is np else namespace(like).from_dlpack(y)
