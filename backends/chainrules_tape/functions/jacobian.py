"""Jacobians, Hessians, and products with them.

A Jacobian is computed by pushing or pulling a batch of basis vectors through each rule at once;
see docs/design/batched-seeds.md.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Never, ParamSpec, TypeAlias

import chainrules_py.ops as v
from chainrules_py import (
    ChainRulesError,
    NoRuleError,
    NoTangent,
    NotDifferentiableError,
    ZeroTangent,
    is_zero,
    project,
    space,
    zero_tangent,
)
from chainrules_py.extend import (
    Space,
    TreeDef,
    as_array,
    basis,
    block,
    column,
    declares_space,
    deliver,
    describe,
    flatten,
    flatten_tangent,
    kind_of,
    leaf_tangents,
    map_leaves,
    name_of,
    own_all,
    row,
    tables,
    unflatten_tangent,
    zero_block,
)
from chainrules_tape.functions.arguments import (
    Arguments,
    Names,
    Numbers,
    can_vary,
    check_scalar,
    check_varies,
    unit,
)
from chainrules_tape.functions.grad_vjp_jvp import derivative, jvp, pulled, vjp
from chainrules_tape.functions.run import ForwardRun, LinearRun, ReverseRun, is_lost

if TYPE_CHECKING:
    from chainrules_tape.tools.sparsity import Plan


Mode: TypeAlias = Literal["auto", "forward", "reverse"]
P = ParamSpec("P")
Rows: TypeAlias = list[Any]
"""For each leaf of the result, one block per leaf of the arguments; `NoTangent()` for a leaf of
either that cannot be perturbed."""


def jacobian(
    f: Callable[P, Any],
    argnums: Numbers = None,
    mode: Mode = "auto",
    *,
    argnames: Names = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    sparsity: Any = None,
    check: bool = True,
    **misspelled: Never,
) -> Callable[P, Any]:
    """Return a function that computes all first partial derivatives of a function.

    Parameters
    ----------
    f : callable
        A function of arrays, numbers, and structures of them.
    argnums, argnames : optional
        The arguments to differentiate with respect to; see `grad`.
    mode : {"auto", "forward", "reverse"}
        Whether the basis of the inputs is pushed forward, or the basis of the results pulled back;
        by default the smaller of the two, for which f may have to run twice. If the dtypes differ,
        forward mode gives that of the result, reverse mode that of the argument, except in zeros.
    has_aux : bool
        Whether f returns ``(result, aux)``; the Jacobian is then ``(jacobian, aux)``.
    holomorphic : bool
        Asserts that f is holomorphic where a complex result depends on a complex argument: only
        then is its derivative one matrix J with ``dy = J dx``.
    sparsity : "detect", sparse array or Plan, optional
        Where the Jacobian may be nonzero: a pattern with a row for each number of the result and a
        column for each number of the arguments, or "detect" to find it at the first call. The
        Jacobian is then a ``csr_array`` of ``scipy.sparse``, computed by one push or pull for each
        color of its columns and rows. For several arrays there is one block for each pair, in a
        dict where a dense Jacobian has a `Tangent`.
    check : bool
        Whether each sparse Jacobian is compared with the derivative in a random direction.

    Returns
    -------
    callable
        Takes the arguments of f. Its result has the structure of f's result, and for each array in
        that the structure of the argument (a tuple for several arguments), with arrays of shape
        ``y.shape + x.shape``: ``J[i, j] = dy[i] / dx[j]``. A block is a dense zero where y does not
        depend on x, and `NoTangent()` for a leaf that cannot be perturbed. For real y and complex x
        it is the gradient of each y[i], as in `grad`; for complex y and real x the derivative of y.

    Raises
    ------
    NotDifferentiableError
        When called, if the result holds no real or complex number, if complex arguments and results
        need ``holomorphic=True``, or if a pattern does not fit or lacks entries.

    Examples
    --------
    >>> import numpy as np
    >>> jacobian(lambda x: x[:2] * x[2])(np.array([1.0, 2.0, 3.0]))
    array([[3., 0., 1.],
           [0., 3., 2.]])
    >>> jacobian(lambda x: x[1:] * x[:-1], sparsity="detect")(np.arange(4.0)).toarray()
    array([[1., 0., 0., 0.],
           [0., 2., 1., 0.],
           [0., 0., 3., 2.]])
    """
    arguments = Arguments("jacobian", f, argnums, argnames, misspelled=misspelled)
    compute: Any = _jacobian if sparsity is None else _sparsely(sparsity, check)
    if mode not in ("auto", "forward", "reverse"):
        raise NotDifferentiableError(f"mode={mode!r}; write 'forward', 'reverse' or 'auto'")

    def jacobian_of(*operands: Any, **keywords: Any) -> Any:
        xs, of_chosen = arguments.pick(operands, keywords)
        run, rows = compute(of_chosen, xs, mode, f, has_aux=has_aux, holomorphic=holomorphic)
        whole = unflatten_tangent(run.y_tree, _delivered(run, rows, arguments), plain=True)
        return (whole, run.aux) if has_aux else whole

    return derivative(
        jacobian_of,
        f,
        jacobian,
        arguments,
        "Jacobian",
        "arrays of shape y.shape + x.shape" if sparsity is None else "sparse arrays",
        argnums,
        mode,
        argnames=argnames,
        has_aux=has_aux,
        holomorphic=holomorphic,
        sparsity=sparsity,
        check=check,
    )


def hessian(
    f: Callable[P, Any],
    argnums: Numbers = None,
    *,
    argnames: Names = None,
    has_aux: bool = False,
    sparsity: Any = None,
    check: bool = True,
    **misspelled: Never,
) -> Callable[P, Any]:
    """Return a function that computes all second partial derivatives of a function.

    The gradient is computed in reverse mode, and its Jacobian in the mode with fewer directions.

    Parameters
    ----------
    f : callable
        A function of real arrays, numbers, and structures of them; usually its result is one
        number.
    argnums, argnames : optional
        The arguments to differentiate with respect to; see `grad`.
    has_aux : bool
        Whether f returns ``(result, aux)``; the Hessian is then ``(hessian, aux)``.
    sparsity, check : optional
        As in `jacobian`. The pattern of the Hessian of one number is symmetric, and mirrored
        entries are computed once.

    Returns
    -------
    callable
        Takes the arguments of f. Its result has the structure of f's result, nested in that twice
        the structure of the argument, with arrays of shape ``y.shape + x1.shape + x2.shape``.

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
    arguments = Arguments("hessian", f, argnums, argnames, misspelled=misspelled)
    compute: Any = _jacobian if sparsity is None else _sparsely(sparsity, check, symmetric=True)

    def hessian_of(*operands: Any, **keywords: Any) -> Any:
        xs, of_chosen = arguments.pick(operands, keywords)
        if any([kind_of(x) == "complex" for x in flatten(xs)[0]]):
            raise NotDifferentiableError(
                f"hessian of {name_of(f)} in {describe(xs)}: in complex numbers the second "
                f"derivative is a map over the real ones, and no complex matrix; hvp multiplies "
                f"with it, or take real and imaginary parts as arguments"
            )
        inner: Any = None

        def gradient(*xs: Any) -> Any:
            nonlocal inner
            inner = run, rows = _jacobian(of_chosen, xs, "reverse", f, has_aux=has_aux)
            if len(rows) == len(run.leaves) == 1 and type(rows[0]) is list:
                rows = rows[0][0]  # most often one array, which needs no structure around it
            return (rows, run.aux) if has_aux else rows

        second_run, second = compute(gradient, xs, "auto", f, has_aux=has_aux)
        run, first = inner if sparsity is None else (compute.parts_of(inner[0]), inner[1])
        values = iter(_delivered(second_run, second, arguments))
        rows = [row if is_zero(row) else [next(values) for _ in row] for row in first]
        whole = unflatten_tangent(run.y_tree, _delivered(run, rows, arguments), plain=True)
        return (whole, second_run.aux) if has_aux else whole

    return derivative(
        hessian_of,
        f,
        hessian,
        arguments,
        "Hessian",
        "arrays of shape y.shape + x1.shape + x2.shape" if sparsity is None else "sparse arrays",
        argnums,
        argnames=argnames,
        has_aux=has_aux,
        sparsity=sparsity,
        check=check,
    )


def sparsity(
    f: Callable[P, Any],
    argnums: Numbers = None,
    mode: Mode = "auto",
    *,
    argnames: Names = None,
    has_aux: bool = False,
    symmetric: bool = False,
) -> Callable[P, Plan]:
    """Return a function that detects where the Jacobian of f may be nonzero.

    Parameters
    ----------
    f, argnums, mode, argnames, has_aux
        As in `jacobian`.
    symmetric : bool
        Whether the Jacobian is symmetric: pass ``grad(f)`` for f to get a plan for `hessian`.

    Returns
    -------
    callable
        Takes the arguments of f and returns a `Plan`, which `jacobian` and `hessian` accept as
        ``sparsity=``.

    Warns
    -----
    DensePatternWarning
        When called, if nearly all entries may be nonzero.

    Examples
    --------
    >>> import numpy as np
    >>> print(sparsity(lambda x: x[1:] * x[:-1])(np.zeros(4)))
    <Plan of 3 x 4: 6 entries, 2 pushes>
    b a . .
    . a b .
    . . b a
    """
    arguments = Arguments("sparsity", f, argnums, argnames)

    def sparsity_of(*operands: Any, **keywords: Any) -> Any:
        xs, of_chosen = arguments.pick(operands, keywords)
        return _sparsely("detect", False, symmetric).detect(of_chosen, xs, mode, f, has_aux)

    return derivative(
        sparsity_of,
        f,
        sparsity,
        arguments,
        "sparsity pattern",
        "a Plan",
        argnums,
        mode,
        argnames=argnames,
        has_aux=has_aux,
        symmetric=symmetric,
    )


def hvp(f: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """Compute the product H v of a function's Hessian and a direction.

    It costs a few gradients, and no matrix is built.

    Parameters
    ----------
    f : callable
        A function whose result is one real number.
    primals : tuple
        Its arguments; a single argument may be passed by itself, if it is not a tuple.
    tangents : tuple
        The direction v: one tangent per primal.

    Returns
    -------
    tuple
        One product per primal, in its structure; for an argument passed by itself, the product by
        itself, as SciPy's ``hessp`` needs it: ``lambda x, v: hvp(f, x, v)``.

    Raises
    ------
    NotDifferentiableError
        If the result is not one real number.
    ProjectionError
        If a tangent does not belong to its primal.

    Notes
    -----
    H v is the gradient of the derivative along v, so this is reverse mode over forward mode: the
    tape records plain arrays. In forward mode over reverse mode, B. A. Pearlmutter, "Fast exact
    multiplication by the Hessian" (1994), the backward pass carries tangents, at up to twice the
    time.

    Examples
    --------
    >>> hvp(lambda x, y: x * x * y, (2.0, 3.0), (1.0, 0.0))
    (6.0, 4.0)
    >>> hvp(lambda x: x**3, 2.0, 1.0)
    12.0
    """
    if type(primals) is not tuple:
        return hvp(f, (primals,), (tangents,))[0]
    ts = leaf_tangents("hvp", primals, tangents)

    def along(*xs: Any) -> Any:
        """Compute the derivative of f in the direction; its gradient is the product."""
        forward = ForwardRun(f, xs, ts)
        check_scalar(forward.y, "hvp", f, xs)
        (y_dot,) = forward.outputs
        return zero_tangent(forward.y) if y_dot is None else y_dot

    run = ReverseRun(along, primals)
    bars = pulled(run, [unit(run.y, "hvp", f)], along, primals)
    run.tape.consume()  # which a value that f keeps may refer to
    return run.delivered(run.tree, run.leaves, bars, ts)


def gauss_newton_vp(
    f: Callable[..., Any],
    loss: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
) -> tuple[Any, ...]:
    """Compute Jᵀ H J v, with J the Jacobian of f, and H the Hessian of a loss at f's result.

    Parameters
    ----------
    f : callable
        The inner function, for example of the parameters of a model.
    loss : callable
        A function of f's result whose own result is one real number. If it is convex, the matrix is
        positive semidefinite.
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
    (2002). f runs twice: once to push v forward, and once to pull back.

    Examples
    --------
    >>> gauss_newton_vp(lambda x: x * x, lambda y: 0.5 * y * y, (3.0,), (1.0,))
    (36.0,)
    """
    y, y_dot = jvp(f, primals, tangents)
    (product,) = hvp(loss, (y,), (y_dot,))
    _, pullback = vjp(f, *primals)
    return pullback(product)  # type: ignore[no-any-return]


# ---------------------------------------------------------------- the Jacobian of a run, in blocks


def _jacobian(
    f: Callable[..., Any],
    xs: tuple[Any, ...],
    mode: Mode,
    named: Callable[..., Any],
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> tuple[LinearRun | ReverseRun, Rows]:
    """Run a function, and push or pull a basis through it; messages name ``named``."""
    xs, tree, spaces = _enter(xs)
    own, n = declares_space(tree), _size(spaces)
    if mode == "reverse" or (mode == "auto" and n > 1):
        try:
            recorded = ReverseRun(f, xs, has_aux=has_aux)
        except NoRuleError:  # "auto" means forward mode if a rule has only that
            if mode == "reverse":
                raise
        else:
            ys = _spaces_of(recorded, spaces, named, holomorphic)
            seeded = [
                NoTangent() if i is None else y for y, i in zip(ys, recorded.outputs, strict=True)
            ]
            if mode == "reverse" or _size(seeded) <= n:
                rows = _rows(
                    _blocks(recorded.pull, seeded, spaces, adjoint=True), ys, spaces, adjoint=True
                )
                recorded.tape.consume()
                return recorded, projected_rows(rows, ys, xs, tree) if own else rows
            del recorded
    run = LinearRun(f, xs, has_aux=has_aux)
    ys = _spaces_of(run, spaces, named, holomorphic)
    blocks = _blocks(run.push, spaces, ys, adjoint=False)
    rows = _rows(lambda k, i: blocks(i, k), ys, spaces, adjoint=False)
    if any([is_lost(block) for row in rows if isinstance(row, list) for block in row]):
        with contextlib.suppress(ChainRulesError):  # where zeros of a basis vector stay zero
            return _jacobian(f, xs, "reverse", named, has_aux=has_aux, holomorphic=holomorphic)
    run.tape.consume()
    return run, projected_rows(rows, ys, xs, tree) if own else rows


def _enter(xs: tuple[Any, ...]) -> tuple[Any, TreeDef, list[Any]]:
    """Return arguments as arrays, their tree, and the spaces of their leaves."""
    xs = map_leaves(as_array, xs) if tables else xs
    leaves, tree = flatten(xs)
    vary = can_vary(leaves)
    check_varies(leaves, vary)
    return xs, tree, [space(x) if v else NoTangent() for x, v in zip(leaves, vary, strict=True)]


def _sparsely(sparsity: Any, check: bool, symmetric: bool = False) -> Any:
    """Return a function that computes sparse blocks, as `_jacobian` computes dense ones."""
    from chainrules_tape.tools.sparsity import Engine, SparseJacobian

    engine = Engine(LinearRun, ReverseRun, _enter, _spaces_of)
    return SparseJacobian(engine, sparsity, check=check, symmetric=symmetric)


def _rows(
    entry: Callable[[int, int], Any], ys: Sequence[Any], xs: Sequence[Any], *, adjoint: bool
) -> Rows:
    def filled(k: int, i: int, y: Space, x: Any) -> Any:
        J = entry(k, i) if type(x) is Space else x
        of = x.with_shape(y.shape) if adjoint and J is None and x.dtype is not None else y
        return zero_block(of, x) if J is None else J

    return [
        [filled(k, i, y, x) for i, x in enumerate(xs)] if type(y) is Space else y
        for k, y in enumerate(ys)
    ]


def _delivered(run: LinearRun | ReverseRun, rows: Rows, arguments: Arguments) -> list[Any]:
    """Return each row in the structure of the arguments."""
    alone = len(rows) == len(run.leaves) == 1
    theirs = () if alone else (*run.leaves, *run.y_leaves)
    found = []
    for blocks in rows:
        if is_zero(blocks):
            found.append(blocks)
            continue
        mine = own_all(blocks, blocks, theirs, views=alone)
        found.append(arguments.deliver(unflatten_tangent(run.tree, mine, plain=True)))
    return found


def _size(spaces: Sequence[Any]) -> int:
    return sum([of.size for of in spaces if type(of) is Space])


def _spaces_of(
    run: LinearRun | ReverseRun, xs: Sequence[Any], f: Callable[..., Any], holomorphic: bool
) -> list[Any]:
    """Return the spaces of a result; `NoTangent()` for leaves without real or complex numbers."""
    ys = [space(y) for y in run.y_leaves]
    ys = [y if type(y) is Space and y.kind in ("real", "complex") else NoTangent() for y in ys]
    if all(map(is_zero, ys)):
        whole = all([getattr(of, "kind", "int") == "int" for of in xs])
        write = "give floats (3.0 for 3)" if whole else "return the array itself"
        raise NotDifferentiableError(
            f"jacobian of {name_of(f)}, which returned {describe(run.y)}: there is no real or "
            f"complex number in it whose derivative could be taken; "
            f"{'did you forget return?' if run.y is None else write}"
        )
    is_complex = [any([getattr(of, "kind", "") == "complex" for of in side]) for side in (xs, ys)]
    if all(is_complex) and not holomorphic:
        raise NotDifferentiableError(
            f"jacobian of {name_of(f)}, which takes complex numbers to complex numbers: its "
            f"derivative is a map over the real ones, and one complex matrix only if {name_of(f)} "
            f"is holomorphic; pass holomorphic=True if it is, or use jvp, vjp, or real and "
            f"imaginary parts"
        )
    return ys


def _blocks(
    apply: Callable[[list[Any], bool], list[Any]],
    spaces: Sequence[Any],
    others: Sequence[Any],
    *,
    adjoint: bool,
) -> Callable[[int, int], Any]:
    """Return a function that returns a block of the Jacobian, from images of a basis.

    Parameters
    ----------
    apply : callable
        ``apply(seeds, many)``, with one seed per space, returns one image per leaf of the other
        side.
    spaces : sequence
        The spaces of the basis; an entry that is no `Space` has none.
    others : sequence
        The spaces of the other side.
    adjoint : bool
        Whether the adjoint is applied, to a basis of the results.
    """
    sizes = [of.size if type(of) is Space else 0 for of in spaces]
    stops = list(itertools.accumulate(sizes, initial=0))
    chosen, zero = [of for of in spaces if type(of) is Space], ZeroTangent()
    arrays = [of for of in (*chosen, *others) if getattr(of, "dtype", None) is not None]
    lender = arrays[0] if arrays and sum(sizes) > 1 else None

    def images_of(seed: Callable[[Space, Any], Any]) -> Any:
        """Return the images of a basis, whose seeds ``seed(space, t)`` makes."""
        if lender is not None:
            found = iter(basis(chosen, lender))
            seeds = [seed(of, next(found)) if type(of) is Space else zero for of in spaces]
            return list(map(deliver, apply(seeds, True)))
        # For one direction, or for Python numbers alone, which no array holds.
        images = {}
        for i, of in enumerate(spaces):
            if sizes[i]:
                units: list[Any] = [zero] * len(spaces)
                units[i] = seed(of, of.zeros() + 1)
                images[i] = list(map(deliver, apply(units, False)))
        return images

    def part(images: Any, i: int, k: int) -> Any:
        y, x = (spaces[i], others[k]) if adjoint else (others[k], spaces[i])
        t = images[i][k] if lender is None else images[k]
        if is_zero(t):
            return None
        if lender is None:
            return block(t, y, x)
        return (row if adjoint else column)(t, slice(stops[i], stops[i + 1]), y, x)

    images = images_of(lambda of, t: t)
    # For a real y the gradient g has dy = Re(conj(g) dx): real part for 1, imaginary for i.
    turned: Any = None
    if any([of.kind == "complex" for of in chosen]) and any(
        [type(of) is Space and of.kind != "complex" for of in others]
    ):
        turned = images_of(lambda of, t: t * 1j if of.kind == "complex" else zero)

    def entry(i: int, k: int) -> Any:
        """Return the block of a space and one of the other side; None where it is zero."""
        if not sizes[i]:
            return None
        J = part(images, i, k)
        if spaces[i].kind != "complex":
            return J
        if others[k].kind == "complex":
            return v.conj(J) if adjoint and J is not None else J
        imaginary = part(turned, i, k)
        if imaginary is None:
            return J
        return 1j * imaginary if J is None else J + 1j * imaginary

    return entry


def projected_rows(rows: list[Any], ys: Sequence[Any], xs: Any, tree: Any) -> list[Any]:
    """Project each row of a Jacobian into the declared space of cotangents.

    A declared projection takes one tangent at a time, so it is called once for each number of the
    result.

    Parameters
    ----------
    rows : list
        For each leaf of the result its blocks, or `NoTangent()`.
    ys : sequence
        The spaces of the leaves of the result.
    xs, tree
        The arguments and their `TreeDef`.
    """
    onto = space(xs)
    return [
        _projected(blocks, y, onto, tree) if type(y) is Space else blocks
        for blocks, y in zip(rows, ys, strict=True)
    ]


def _projected(blocks: list[Any], y: Space, onto: Any, tree: Any) -> list[Any]:
    if y.kind == "complex":
        raise NotDifferentiableError(
            "the Jacobian of complex numbers in a structure whose tangents are declared "
            "(register_tangent): return their real and imaginary parts"
        )
    if not y.size:
        return blocks
    found = []
    for place in itertools.product(*map(range, y.shape)):
        ts = [b[place] if place and not is_zero(b) else b for b in blocks]
        t = project(unflatten_tangent(tree, ts), onto)
        found.append([deliver(part) for part in flatten_tangent(tree, t)])
    if not y.shape:
        return [0.0 * b if is_zero(t) and not is_zero(b) else t
                for t, b in zip(found[0], blocks, strict=True)]  # fmt: skip

    def joined(b: Any, *parts: Any) -> Any:
        if is_zero(b):
            return b
        parts = tuple([0.0 * b[(0,) * len(y.shape)] if is_zero(t) else t for t in parts])
        return v.reshape(v.stack(*parts, axis=0), shape=b.shape)

    return list(map(joined, blocks, *found))
