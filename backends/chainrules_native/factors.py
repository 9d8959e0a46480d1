"""Factors of matrices, and what is solved with them: the loops of `numpy.linalg`, LAPACK's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_native._private import LAPACK, loop_named
from chainrules_native.lowering import Lowering, form, is_array
from chainrules_native.memory import Shape, UnwritableError, View, contiguous
from chainrules_native.rearranged import only, triangle
from chainrules_py import vocabulary as v
from chainrules_py.program import Call, Value

_DOUBLE = np.dtype(np.float64)


def matrices(s: Lowering, x: Any, square: bool = True) -> View:
    """Return a matrix, or a stack of them in C order, of doubles.

    Raises
    ------
    UnwritableError
        If it is none; of other numbers NumPy computes in double precision, and rounds.
    """
    if not is_array(x) or form(x)[1] != _DOUBLE:
        raise UnwritableError
    view = s.view(x)
    shape = view.shape
    if len(shape) < 2 or (square and shape[-1] != shape[-2]) or not view.size:
        raise UnwritableError
    return view if len(shape) == 2 else in_order(s, view)


def in_order(s: Lowering, view: View) -> View:
    """Return a view in C order, or a copy that lies so."""
    return view if view.strides == contiguous(view.shape, view.dtype.itemsize) else s.copy(view)


def by_loop(s: Lowering, name: str, given: list[View], outs: list[View], raises: bool) -> None:
    """Call a loop of `numpy.linalg` on matrices, or stacks of them.

    Parameters
    ----------
    s : Lowering
    name : str
        What the loop is called.
    given, outs : list of View
        Its operands and results; of stacks in C order, or one for all.
    raises : bool
        Whether NumPy raises where the loop says so, by the flag of invalid operations.
    """
    ufunc, views = loop_named(LAPACK, name), [*given, *outs]
    cores, sizes = cores_of(ufunc.signature), dict[str, int]()
    stacks, steps = [], []
    for view, core in zip(views, cores, strict=True):
        n = len(view.shape) - len(core)
        sizes |= zip(core, view.shape[n:], strict=True)
        stacks.append(view.shape[:n])
        steps.append(view.strides[n - 1] if n else 0)
        steps_fit = n < 2 or view.strides == contiguous(view.shape, 8)
        if not steps_fit or view.dtype != _DOUBLE:
            raise UnwritableError
    stack = max(stacks, key=len)
    if any([other not in ((), stack) for other in stacks]):
        raise UnwritableError
    chars = [view.dtype.char for view in views]
    loop = s.loop(ufunc, f"{''.join(chars[: len(given)])}->{''.join(chars[len(given) :])}")
    text = text_of_loop(loop, (math.prod(stack), *sizes.values()), _steps(views, cores, steps))
    places = [*range(len(outs), len(views)), *range(len(outs))]
    text = f"  char* p[] = {{{', '.join([f'a{i}' for i in places])}}};\n{text}"
    if raises:
        text = f"  feclearexcept(FE_INVALID);\n{text}  *s = fetestexcept(FE_INVALID) != 0;\n"
    s.kernel(text, outs, given, raises)


def cores_of(signature: str) -> list[list[str]]:
    """Return the names of the last axes of operands and results, as a signature says them."""
    both = signature.replace(" ", "").replace("->", ",")
    return [[x for x in part.split(",") if x] for part in both[1:-1].split("),(")]


def _steps(views: list[View], cores: list[list[str]], steps: list[int]) -> list[int]:
    """Return the steps from one matrix to the next, and then those inside of each."""
    inner = [view.strides[len(view.shape) - len(c) :] for view, c in zip(views, cores, strict=True)]
    return [*steps, *[step for own in inner for step in own]]


def text_of_loop(loop: int, dims: Shape, steps: list[int]) -> str:
    """Return the call of a loop whose pointers are ``p``."""
    texts = [", ".join(map(str, numbers)) for numbers in (dims, steps)]
    return (
        f"  {{ I d[] = {{{texts[0]}}}, e[] = {{{texts[1]}}};\n"
        f"  ((loop_t)L[{2 * loop}])(p, d, e, L[{2 * loop + 1}]); }}\n"
    )


def result(s: Lowering, y: Value) -> View:
    """Return memory for a result of doubles."""
    if form(y)[1] != _DOUBLE:
        raise UnwritableError
    return s.result(y)


def _loop_named(
    name: str, raises: bool = True, square: bool = True, upper: str = "", **allowed: Any
) -> Callable[[Lowering, Call], list[View]]:
    """Return how a function of a stack of matrices is lowered that one loop computes.

    Parameters
    ----------
    name : str
        What the loop is called.
    raises : bool
        Whether NumPy raises where it fails.
    square : bool
        Whether the matrices are.
    upper : str
        The loop in its place, where the option of this name is true.
    **allowed
        What other options have to be.
    """

    def lower(s: Lowering, call: Call) -> list[View]:
        (x, *rest), options = call.operands, dict(call.options)
        is_upper = options.pop("upper", False) or options.pop("UPLO", "L") == "U"
        if rest or any(
            [option not in allowed or allowed[option] != options[option] for option in options]
        ):
            raise UnwritableError
        if is_upper and not upper:
            raise UnwritableError
        view = matrices(s, x, square)
        outs = [result(s, y) for y in call.results]
        by_loop(s, upper if is_upper else name, [view], outs, raises)
        return outs

    return lower


def _single(many: Callable[[Lowering, Call], list[View]]) -> Callable[[Lowering, Call], View]:
    return lambda s, call: many(s, call)[0]


def solved(s: Lowering, a: View, b: View, y: Value, one: bool) -> View:
    """Lower systems of equations, with one right side each or several."""
    if not b.size or b.dtype != _DOUBLE:
        raise UnwritableError
    if len(b.shape) - (1 if one else 2) > 0:
        b = in_order(s, b)
    out = result(s, y)
    by_loop(s, "solve1" if one else "solve", [a, b], [out], True)
    return out


def _solve(s: Lowering, call: Call) -> View:
    (a, b), (y,) = call.operands, call.results
    only(call)
    if not is_array(b):
        raise UnwritableError
    view = matrices(s, a)
    return solved(s, view, s.view(b), y, len(form(b)[0]) == 1)


def _qr(s: Lowering, call: Call) -> list[View]:
    """Lower Q and R, as NumPy makes them: by the reflectors, which are written over a copy."""
    only(call, "mode")
    (x, *rest), (q, r) = call.operands, call.results
    mode = call.options.get("mode", "reduced")
    if rest or mode not in ("reduced", "complete"):
        raise UnwritableError
    given = matrices(s, x, square=False)
    m, n = given.shape[-2:]
    columns = m if mode == "complete" and m > n else min(m, n)
    work = s.written(s.copy(given))
    tau = s.new((*given.shape[:-2], min(m, n)), _DOUBLE)
    # The loop writes over its operand.
    _reflectors(s, work, tau)
    out = result(s, q)
    name = "qr_complete" if columns > n else "qr_reduced"
    by_loop(s, name, [work, tau], [out], True)
    upper = s.held(work._replace(shape=(*given.shape[:-2], columns, n)))
    return [out, triangle(False)(s, Call(np.triu, (upper,), {}, (r,)))]


def _reflectors(s: Lowering, work: View, tau: View) -> None:
    loop = s.loop(loop_named(LAPACK, "qr_r_raw"), "d->d")
    m, n = work.shape[-2:]
    turns = math.prod(work.shape[:-2])
    steps = [m * n * 8, tau.shape[-1] * 8, *work.strides[-2:], 8]
    text = text_of_loop(loop, (turns, m, n, tau.shape[-1]), steps)
    text = f"  char* p[] = {{a0, a1}};\n  feclearexcept(FE_INVALID);\n{text}"
    s.kernel(f"{text}  *s = fetestexcept(FE_INVALID) != 0;\n", [work, tau], [], may_miss=True)


_eigenvalues = _loop_named("eigvalsh_lo", upper="eigvalsh_up")
_eigenvectors = _loop_named("eigh_lo", upper="eigh_up")
_svdvals = _loop_named("svd", square=False, compute_uv=False)


def _svd(s: Lowering, call: Call) -> list[View]:
    whole = call.options.get("full_matrices", True)
    name = "svd_f" if whole else "svd_s"
    return _loop_named(name, square=False, full_matrices=whole, compute_uv=True, hermitian=False)(
        s, call
    )


FACTORS: dict[Any, Any] = {
    **dict.fromkeys(
        (v.cholesky, np.linalg.cholesky), _single(_loop_named("cholesky_lo", upper="cholesky_up"))
    ),
    **dict.fromkeys((v.inv, np.linalg.inv), _single(_loop_named("inv"))),
    **dict.fromkeys((v.det, np.linalg.det), _single(_loop_named("det", raises=False))),
    **dict.fromkeys((v.eigvalsh, np.linalg.eigvalsh), _single(_eigenvalues)),
    **dict.fromkeys((v.svdvals, np.linalg.svdvals, np.linalg.svd), _single(_svdvals)),
    **dict.fromkeys((v.solve, np.linalg.solve), _solve),
}
DECOMPOSITIONS: dict[Any, Any] = {
    **dict.fromkeys((v.eigh, np.linalg.eigh), _eigenvectors),
    **dict.fromkeys((v.svd, np.linalg.svd), _svd),
    **dict.fromkeys((v.slogdet, np.linalg.slogdet), _loop_named("slogdet", raises=False)),
    **dict.fromkeys((v.qr, np.linalg.qr), _qr),
}
