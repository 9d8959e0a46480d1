"""Whole derivatives: Jacobians, Hessians, and products with them.

A Jacobian is a batch of basis vectors, pushed or pulled through each rule at once; see
docs/design/batched-seeds.md.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias, final

from chainrules_py import NoRuleError, NoTangent, NotDifferentiableError, ZeroTangent
from chainrules_py.batch import basis, block, column, conjugate, row, zero_block
from chainrules_py.errors import describe
from chainrules_py.project import Space, kind_of, space, zero_tangent
from chainrules_py.registry import name_of
from chainrules_py.tangents import is_zero
from chainrules_tape.api import entering_tangents, jvp, vjp
from chainrules_tape.arguments import Arguments, Names, Numbers
from chainrules_tape.forward import dual, open_dual
from chainrules_tape.leaves import can_vary, flatten, own_all, tangents_of, values_of
from chainrules_tape.linearizing import Linearization
from chainrules_tape.recording import Recording
from chainrules_tape.seeds import check_scalar, one
from chainrules_tape.tracing import new_level

__all__ = ["gauss_newton_vp", "hessian", "hvp", "jacobian"]

Mode: TypeAlias = Literal["auto", "forward", "reverse"]


def jacobian(
    f: Callable[..., Any],
    argnums: Numbers = None,
    mode: Mode = "auto",
    *,
    argnames: Names = None,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """All partial derivatives of a function.

    Parameters
    ----------
    f : callable
        A function of arrays, numbers, and structures of them.
    argnums, argnames : optional
        The arguments to differentiate in; see `grad`.
    mode : {"auto", "forward", "reverse"}
        Whether the basis of the inputs is pushed forward, or that of the results pulled back; by
        default whichever is smaller.
    has_aux : bool
        Whether f returns ``(result, aux)``; the Jacobian is then ``(jacobian, aux)``.
    holomorphic : bool
        Says that f is holomorphic where a complex result depends on a complex argument: one matrix
        J with ``dy = J dx`` is its derivative only then.

    Returns
    -------
    callable
        Takes what f takes. Its result has the structure of f's result, and for each array in that
        the structure of the argument (a tuple of these for several arguments), with arrays of shape
        ``y.shape + x.shape``: ``J[i, j] = dy[i] / dx[j]``. Dense zeros where nothing flows, and
        `NoTangent()` for what cannot be perturbed. For real y and complex x it is the gradient of
        each y[i], as `grad` has it, for complex y and real x the derivative of y.

    Raises
    ------
    NotDifferentiableError
        When called, if there is no real or complex number in the result, or it is not said to be
        holomorphic where it has to be.

    Examples
    --------
    >>> import numpy as np
    >>> jacobian(lambda x: x[:2] * x[2])(np.array([1.0, 2.0, 3.0]))
    array([[3., 0., 1.],
           [0., 3., 2.]])
    """
    arguments = Arguments(f, argnums, argnames)
    if mode not in ("auto", "forward", "reverse"):
        msg = f"mode={mode!r}; write 'forward', 'reverse' or 'auto'"
        raise NotDifferentiableError(msg)

    @functools.wraps(f, assigned=("__name__", "__doc__"), updated=())
    def jacobian_of(*operands: Any, **keywords: Any) -> Any:
        xs, of_chosen = arguments.pick(operands, keywords)
        leaves: list[Any] = []
        tree = flatten(xs, leaves)
        of_leaves = lambda *leaves: of_chosen(*values_of(tree, leaves))
        found = _blocks(of_leaves, leaves, mode, f, has_aux=has_aux, holomorphic=holomorphic)
        whole = found.whole(arguments, tree)
        return (whole, found.aux) if has_aux else whole

    return jacobian_of


def hessian(
    f: Callable[..., Any],
    argnums: Numbers = None,
    *,
    argnames: Names = None,
    has_aux: bool = False,
) -> Callable[..., Any]:
    """All second partial derivatives of a function.

    The gradient is taken in reverse mode, and the basis of the arguments pushed through that.

    Parameters
    ----------
    f : callable
        A function of real arrays, numbers, and structures of them; most often with one number for a
        result.
    argnums, argnames : optional
        The arguments to differentiate in; see `grad`.
    has_aux : bool
        Whether f returns ``(result, aux)``; the Hessian is then ``(hessian, aux)``.

    Returns
    -------
    callable
        Takes what f takes. Its result has the structure of f's result, in that twice that of the
        argument, with arrays of shape ``y.shape + x1.shape + x2.shape``.

    Raises
    ------
    NotDifferentiableError
        When called, if an argument is complex: the second derivative is then no complex matrix.

    Examples
    --------
    >>> import numpy as np
    >>> hessian(lambda x: x[0] * x[1] ** 2)(np.array([2.0, 3.0]))
    array([[0., 6.],
           [6., 4.]])
    """
    arguments = Arguments(f, argnums, argnames)

    @functools.wraps(f, assigned=("__name__", "__doc__"), updated=())
    def hessian_of(*operands: Any, **keywords: Any) -> Any:
        xs, of_chosen = arguments.pick(operands, keywords)
        leaves: list[Any] = []
        tree = flatten(xs, leaves)
        if any([kind_of(x) == "complex" for x in leaves]):
            msg = (
                f"hessian of {name_of(f)} in {describe(xs)}: in complex numbers the second "
                f"derivative is a map over the real ones, and no complex matrix; hvp multiplies "
                f"with it, or take real and imaginary parts as arguments"
            )
            raise NotDifferentiableError(msg)
        first: list[Blocks] = []

        def gradient(*leaves: Any) -> Any:
            of_leaves = lambda *leaves: of_chosen(*values_of(tree, leaves))
            found = _blocks(of_leaves, leaves, "reverse", f, has_aux=has_aux)
            first[:] = [found]
            return (found.rows, found.aux) if has_aux else found.rows

        second = _blocks(gradient, leaves, "forward", f, has_aux=has_aux)
        (found,) = first
        found.rows = _values(found.rows, iter(second.delivered(arguments, tree)))
        whole = found.whole(arguments, tree)
        return (whole, second.aux) if has_aux else whole

    return hessian_of


def _values(rows: list[Any], values: Iterator[Any]) -> list[Any]:
    """Rows around other values, in their order."""
    return [row if is_zero(row) else [next(values) for _ in row] for row in rows]


def hvp(
    f: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]
) -> tuple[Any, ...]:
    """The product H v of the Hessian of a function with a direction: the gradient's derivative.

    It costs a few gradients, and no matrix is made.

    Parameters
    ----------
    f : callable
        A function with one real number for a result.
    primals : tuple
        Its arguments.
    tangents : tuple
        The direction v: one tangent per primal.

    Returns
    -------
    tuple
        One product per primal, in its structure.

    Raises
    ------
    NotDifferentiableError
        If the result is not one real number.
    ProjectionError
        If a tangent does not belong to its primal.

    Notes
    -----
    H v is the gradient of the derivative along v, so reverse mode over forward mode: the tape
    records plain arrays. The other way round, B. A. Pearlmutter, "Fast exact multiplication by the
    Hessian" (1994), the backward pass carries tangents along, at up to twice the time.

    Examples
    --------
    >>> hvp(lambda x, y: x * x * y, (2.0, 3.0), (1.0, 0.0))
    (6.0, 4.0)
    """
    leaves: list[Any] = []
    tree = flatten(primals, leaves)
    ts = entering_tangents("hvp", tree, primals, tangents)

    def along(*xs: Any) -> Any:
        """The derivative of f in the direction, whose gradient is the product."""
        level = new_level()
        entered = [dual(x, t, level) for x, t in zip(xs, ts, strict=True)]
        y, y_dot = open_dual(f(*values_of(tree, entered)), level)
        check_scalar(y)
        return zero_tangent(y) if is_zero(y_dot) else y_dot

    run = Recording(along, tuple(leaves))
    bars = run.bars([one(run.y)], consume=True)
    return tangents_of(tree, own_all(leaves, bars, (*leaves, *ts)))  # type: ignore[no-any-return]


def gauss_newton_vp(
    f: Callable[..., Any],
    loss: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
) -> tuple[Any, ...]:
    """The product Jᵀ H J v, where J is the Jacobian of f and H the Hessian of a loss at f's result.

    Parameters
    ----------
    f : callable
        The inner function, as of the parameters of a model.
    loss : callable
        Of f's result, with one real number for a result. Where it is convex, the matrix is positive
        semidefinite.
    primals : tuple
        The arguments of f.
    tangents : tuple
        The direction v: one tangent per primal.

    Returns
    -------
    tuple
        One product per primal, in its structure.

    Notes
    -----
    N. N. Schraudolph, "Fast curvature matrix-vector products for second-order gradient descent"
    (2002). f is run twice: once with v pushed along, and once to pull back.

    Examples
    --------
    >>> gauss_newton_vp(lambda x: x * x, lambda y: 0.5 * y * y, (3.0,), (1.0,))
    (36.0,)
    """
    y, y_dot = jvp(f, primals, tangents)
    (product,) = hvp(loss, (y,), (y_dot,))
    _, pullback = vjp(f, *primals)
    return pullback(product)  # type: ignore[no-any-return]


# ---------------------------------------------------------------------- blocks, one leaf by another


@final
class Blocks:
    """The Jacobian of a function of leaves.

    Attributes
    ----------
    rows : list
        For each leaf of the result one block per leaf of the arguments; `NoTangent()` for a leaf
        that cannot be perturbed, of one or the other.
    y_tree, aux
        What the function gave.
    """

    __slots__ = ("aux", "leaves", "rows", "y_leaves", "y_tree")

    def __init__(
        self, run: Linearization | Recording, leaves: Sequence[Any], rows: list[Any]
    ) -> None:
        self.leaves = leaves
        self.y_leaves = run.y_leaves
        self.y_tree = run.y_tree
        self.aux = run.aux
        self.rows = rows

    def delivered(self, arguments: Arguments, tree: Any) -> list[Any]:
        """Each row in the structure of the arguments."""
        alone = len(self.rows) == len(self.leaves) == 1
        theirs = () if alone else (*self.leaves, *self.y_leaves)
        found = []
        for blocks in self.rows:
            if is_zero(blocks):
                found.append(blocks)
                continue
            mine = own_all(blocks, blocks, theirs, views=alone)
            found.append(arguments.deliver(tangents_of(tree, mine)))
        return found

    def whole(self, arguments: Arguments, tree: Any) -> Any:
        """All rows, in the structure of the result."""
        return tangents_of(self.y_tree, self.delivered(arguments, tree))


def _blocks(
    of_leaves: Callable[..., Any],
    leaves: Sequence[Any],
    mode: Mode,
    f: Callable[..., Any],
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Blocks:
    """The Jacobian of a function of leaves; ``f`` is what it is called in messages."""
    spaces = [space(x) if can_vary(x) else NoTangent() for x in leaves]
    n = _size(spaces)
    if mode == "reverse" or (mode == "auto" and n > 1):
        try:
            recorded = Recording(of_leaves, tuple(leaves), has_aux=has_aux)
        except NoRuleError:  # where only forward mode is stated, that is what "auto" is
            if mode == "reverse":
                raise
        else:
            ys = _spaces_of(recorded, spaces, f, holomorphic)
            traced = [of for of, i in zip(ys, recorded.outputs, strict=True) if i is not None]
            if mode == "reverse" or _size(traced) <= n:
                return Blocks(recorded, leaves, _reverse_rows(recorded, ys, spaces))
            del recorded
    run = Linearization(of_leaves, leaves, has_aux=has_aux)
    ys = _spaces_of(run, spaces, f, holomorphic)
    return Blocks(run, leaves, _forward_rows(run, ys, spaces))


def _size(spaces: Sequence[Any]) -> int:
    return sum([of.size for of in spaces if type(of) is Space])


def _spaces_of(
    run: Linearization | Recording, xs: Sequence[Any], f: Callable[..., Any], holomorphic: bool
) -> list[Any]:
    """The spaces of a result, with `NoTangent()` for what is no real or complex number."""
    ys = [space(y) for y in run.y_leaves]
    ys = [y if type(y) is Space and y.kind != "int" else NoTangent() for y in ys]
    if all(map(is_zero, ys)):
        msg = (
            f"jacobian of {name_of(f)}, which returned {describe(run.y)}: there is no real or "
            f"complex number in it whose derivative could be taken; return the array itself"
        )
        raise NotDifferentiableError(msg)
    is_complex = [any([getattr(of, "kind", "") == "complex" for of in side]) for side in (xs, ys)]
    if all(is_complex) and not holomorphic:
        msg = (
            f"jacobian of {name_of(f)}, which takes complex numbers to complex numbers: its "
            f"derivative is a map over the real ones, and one complex matrix only if {name_of(f)} "
            f"is holomorphic; pass holomorphic=True if it is, or use jvp, vjp, or real and "
            f"imaginary parts"
        )
        raise NotDifferentiableError(msg)
    return ys


@final
class _Images:
    """What a linear map, or its adjoint, makes of a basis.

    Parameters
    ----------
    apply : callable
        ``apply(seeds, many)``, of one seed per space, gives one image per leaf of the other side.
    spaces : list
        What the basis is of; no `Space` where there is none.
    others : list
        The spaces of the other side.
    turned : bool
        Whether the basis is multiplied with the imaginary unit, of the complex spaces alone.
    """

    def __init__(
        self,
        apply: Callable[[list[Any], bool], list[Any]],
        spaces: Sequence[Any],
        others: Sequence[Any],
        *,
        turned: bool = False,
    ) -> None:
        self.places, self.spaces = _places(spaces), spaces
        chosen = [of for of in spaces if type(of) is Space]
        arrays = [of for of in (*chosen, *others) if getattr(of, "dtype", None) is not None]
        self.size = _size(chosen)
        self.together = bool(arrays) and self.size > 1
        zero = ZeroTangent()

        def seed(of: Any, make: Callable[[], Any]) -> Any:
            if type(of) is not Space or (turned and of.kind != "complex"):
                return zero
            return make() * 1j if turned else make()

        if self.together:
            found = iter(basis(chosen, arrays[0]))
            seeds = [next(found) if type(of) is Space else zero for of in spaces]
            self.images: Any = apply(
                [seed(of, lambda s=s: s) for of, s in zip(spaces, seeds, strict=True)], True
            )  # type: ignore[misc]
            return
        # Of one direction, or of Python's numbers alone, which no array holds.
        self.images = {}
        for i, of in enumerate(spaces):
            if type(of) is Space and of.size:
                unit = seed(of, lambda of=of: of.zeros() + 1)  # type: ignore[misc]
                self.images[i] = apply(
                    [unit if j == i else zero for j in range(len(spaces))], False
                )

    def block(self, given: int, taken: int, y: Space, x: Space, part: Callable[..., Any]) -> Any:
        """The Jacobian of y in x; None where it is zero. ``part`` takes it out of a batch."""
        if type(self.spaces[given]) is not Space or not self.spaces[given].size:
            return None
        t = self.images[taken] if self.together else self.images[given][taken]
        if is_zero(t):
            return None
        return part(t, self.places[given], y, x) if self.together else block(t, y, x)


def _places(spaces: Sequence[Any]) -> list[slice]:
    """Where the directions of each space are in a basis of all."""
    found, start = [], 0
    for of in spaces:
        stop = start + (of.size if type(of) is Space else 0)
        found.append(slice(start, stop))
        start = stop
    return found


def _any_kind(kind: str, spaces: Sequence[Any]) -> bool:
    return any([type(of) is Space and of.kind == kind for of in spaces])


def _forward_rows(run: Linearization, ys: list[Any], xs: list[Any]) -> list[Any]:
    """One row per leaf of y, by pushing the basis of x."""
    apply = lambda ts, many: run.push(ts, many=many)
    images = _Images(apply, xs, ys)
    turned = None
    if _any_kind("complex", xs) and _any_kind("real", ys):
        turned = _Images(apply, xs, ys, turned=True)

    def entry(k: int, i: int, y: Space, x: Space) -> Any:
        J = images.block(i, k, y, x, column)
        if turned is None or x.kind != "complex" or y.kind == "complex":
            return J
        # Of a real y the gradient g has dy = Re(conj(g) dx): real part for 1, imaginary for i.
        return _sum(J, turned.block(i, k, y, x, column))

    return _rows(entry, ys, xs)


def _reverse_rows(run: Recording, ys: list[Any], xs: list[Any]) -> list[Any]:
    """One row per leaf of y, by pulling the basis of y back."""
    seeded = [NoTangent() if i is None else y for y, i in zip(ys, run.outputs, strict=True)]
    twice = _any_kind("complex", seeded) and any(
        [type(x) is Space and x.kind != "complex" for x in xs]
    )
    apply = lambda ts, many: run.bars_of_many(ts) if many else run.bars(ts)
    images = _Images(apply, seeded, xs)
    turned = _Images(apply, seeded, xs, turned=True) if twice else None

    def entry(k: int, i: int, y: Space, x: Space) -> Any:
        J = images.block(k, i, y, x, row)
        if y.kind != "complex" or J is None:
            return J
        if x.kind == "complex":
            return conjugate(J)
        return J if turned is None else _sum(J, turned.block(k, i, y, x, row))

    return _rows(entry, ys, xs)


def _sum(J: Any, turned: Any) -> Any:
    """Real and imaginary part together; None is zero."""
    if turned is None:
        return J
    return 1j * turned if J is None else J + 1j * turned


def _rows(entry: Callable[..., Any], ys: list[Any], xs: list[Any]) -> list[Any]:
    def filled(k: int, i: int, y: Space, x: Any) -> Any:
        if type(x) is not Space:
            return x
        J = entry(k, i, y, x)
        return zero_block(y, x) if J is None else J

    return [
        [filled(k, i, y, x) for i, x in enumerate(xs)] if type(y) is Space else y
        for k, y in enumerate(ys)
    ]
