"""Sparse Jacobians: detect the pattern, compute and check the entries, build the blocks."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable
from typing import Any, final

import numpy as np

import chainrules_py.ops as v
from chainrules_kit.optional_scipy import bare, on_host
from chainrules_py import ChainRulesError, NoRuleError, NotDifferentiableError
from chainrules_py.extend import (
    Space,
    TreeDef,
    flatten,
    map_leaves,
    name_of,
    unflatten,
    warn_program,
)
from chainrules_tape.tools.sparsity.detection import csr_array, detect
from chainrules_tape.tools.sparsity.jacobian_products import (
    Engine,
    Parts,
    Runs,
    is_plain,
    is_recorded,
    take,
)
from chainrules_tape.tools.sparsity.plan import DensePatternWarning, Mode, Plan


@final
class SparseJacobian:
    """Compute Jacobians as sparse arrays, one block for each pair of arrays.

    Parameters
    ----------
    engine : Engine
        Runs the function.
    sparsity : "detect", Plan, sparse array or array
        Where entries may be nonzero.
    check : bool
        Whether to compare each Jacobian with the derivative in a random direction.
    symmetric : bool
        Whether square Jacobians are symmetric, as Hessians are.
    """

    def __init__(
        self, engine: Engine, sparsity: Any, *, check: bool = True, symmetric: bool = False
    ) -> None:
        detects = isinstance(sparsity, str) and sparsity == "detect"
        if not (detects or hasattr(sparsity, "shape")):
            raise NotDifferentiableError(
                f"sparsity={sparsity!r}; write 'detect', a pattern (a sparse array), or a Plan"
            )
        self.engine, self.check, self.symmetric = engine, check, symmetric
        self.pattern: Any = None if detects else sparsity
        self.plans: dict[Any, Plan] = {}

    def __call__(
        self,
        f: Callable[..., Any],
        xs: tuple[Any, ...],
        mode: Mode,
        named: Callable[..., Any],
        *,
        has_aux: bool = False,
        holomorphic: bool = False,
    ) -> tuple[Parts, list[Any]]:
        """Return the parts of a run, and for each leaf of its result one block per leaf of xs."""
        runs = Runs(self.engine, f, xs, self._title(named), named, has_aux, holomorphic)
        plan = self.plan(runs, mode)
        data = _values(runs, plan, self.check)
        if type(data) is np.ndarray and mode == "auto" and plan.pushes and np.isnan(data).any():
            # A zero of a seed met an infinite partial derivative. Pulls have structural zeros.
            with contextlib.suppress(ChainRulesError):
                again = Plan(plan.pattern, "reverse")
                data, plan = _values(runs, again, self.check), again
        turned = _values(runs, plan, check=False, unit=None) if runs.turns(plan) else None
        return self.parts_of(runs.run(mode)), _rows(runs, plan, data, turned)

    @staticmethod
    def parts_of(run: Any) -> Parts:
        """Return the parts of a run, with a dict for each dataclass or namedtuple."""
        xs, y = (flatten(_in_dicts(tree))[1] for tree in (run.tree, run.y_tree))
        return Parts(xs, y, run.leaves, run.y_leaves, getattr(run, "aux", None))

    def detect(
        self,
        f: Callable[..., Any],
        xs: tuple[Any, ...],
        mode: Mode,
        named: Callable[..., Any],
        has_aux: bool,
    ) -> Plan:
        """Detect the pattern of f at xs, and plan how its entries are computed."""
        what = self._title(named)
        return self.plan(Runs(self.engine, f, xs, what, named, has_aux, holomorphic=True), mode)

    def _title(self, named: Any) -> str:
        return f"{'Hessian' if self.symmetric else 'Jacobian'} of {name_of(named)}"

    def plan(self, runs: Runs, mode: Mode) -> Plan:
        """Return the plan for these arguments; later arguments of the same shapes share it."""
        key = mode, *[(x.shape, x.kind) if type(x) is Space else None for x in runs.xs]
        found = self.plans.get(key, self.pattern)
        runs.run("reverse" if isinstance(found, Plan) and not found.pushes else mode)
        plan = found if isinstance(found, Plan) else None
        if found is None or (self.pattern is None and found.shape != runs.shape):
            found, plan = _detected(runs, mode, self._is_symmetric(runs)), None
        if found.shape != runs.shape:
            raise NotDifferentiableError(
                f"the {runs.title} has shape {runs.shape}, and sparsity= a pattern of shape "
                f"{found.shape}; write one with a row for each number of the result, and a column "
                f"for each number of the arguments"
            )
        if plan is None or (runs.is_complex and plan.pushes and plan.pulls):
            plan = self._planned(found if plan is None else plan.pattern, runs, mode)
        self.plans[key] = plan
        return plan

    def _planned(self, pattern: Any, runs: Runs, mode: Mode) -> Plan:
        if self._is_symmetric(runs):
            return Plan(pattern, symmetric=True)
        if mode == "auto" and False not in runs.made:  # a rule has no forward mode
            mode = "reverse"
        if mode == "auto" and runs.is_complex:  # pushes and pulls multiply seeds by i differently
            plans = Plan(pattern, "forward"), Plan(pattern, "reverse")
            plan = min(plans, key=lambda plan: plan.pushes + plan.pulls)
        else:
            plan = Plan(pattern, mode)
        return Plan(pattern, "forward") if plan.pulls and not runs.can_pull(mode) else plan

    def _is_symmetric(self, runs: Runs) -> bool:
        return self.symmetric and runs.shape[0] == runs.shape[1]


# ------------------------------------------------------------------------------ the pattern

_LARGEST = 1 << 25
"""Largest number of entries of a full pattern: its plan takes a gigabyte."""


def _detected(runs: Runs, mode: Mode, symmetric: bool) -> Any:
    """Detect the pattern at these arguments, or at the plain values of their tracers."""
    if not is_plain(runs.given):
        given = map_leaves(bare, runs.given)
        runs = Runs(
            runs.engine, runs.f, given, runs.title, runs.named, runs.has_aux, runs.holomorphic
        )
        runs.run(mode)

    def image(pulled: bool) -> Callable[[Any], Any]:
        return lambda mask: np.isnan(on_host(_nan_images(runs, pulled, mask)))

    m, n = runs.shape
    push, pull = image(False), image(True)
    if True in runs.made:
        found = detect(pull, None, m, n)
        found = found if found is None else found.T
    elif symmetric:
        found = detect(push, push, n, m)
    else:
        found = detect(push, pull if mode == "auto" and runs.can_pull(mode) else None, n, m)
    if found is None:
        return _given_up(runs)
    return found + found.T if symmetric else found


def _nan_images(runs: Runs, pulled: bool, mask: Any) -> Any:
    """Push or pull NaN; raise if a derivative does not accept it."""
    try:
        with np.errstate(all="ignore"):
            return runs.images(pulled, np.where(mask, np.nan, 0.0), 1 + 1j, repair=False)
    except (NoRuleError, NotDifferentiableError):
        raise
    except Exception as error:
        raise NotDifferentiableError(
            f"the pattern of the {runs.title} was not detected: a derivative raised "
            f"{type(error).__name__} for NaN; write sparsity=pattern, a sparse array"
        ) from error


def _given_up(runs: Runs) -> Any:
    """Warn, and return the full pattern; raise if it is too large."""
    m, n = runs.shape
    msg = f"the {runs.title}, of shape {(m, n)}, is dense as far as it was detected; write "
    if m * n > _LARGEST:
        msg += "sparsity=pattern (a sparse array) if it is sparse, else use jvp, vjp or hvp"
        raise NotDifferentiableError(msg)
    msg += "sparsity=pattern (a sparse array) if it is sparse, else leave sparsity= out"
    warn_program(msg, DensePatternWarning)
    return csr_array(np.ones((m, n), bool))


# ------------------------------------------------------------------------------ the entries


def _values(runs: Runs, plan: Plan, check: bool, unit: complex | None = 1.0) -> Any:
    """Compute the entries of the pattern, and check them with one more direction."""
    check, parts = check and not is_recorded(runs.given), list[Any]()
    pulled, wanted = False not in runs.made, None
    for each in plan.passes:
        colors = plan.seeds(each)
        more = check and not parts
        seeds = np.empty((len(colors) + more, colors.shape[1]))
        seeds[: len(colors)] = colors
        if more:
            seeds[-1] = _random(colors.shape[1])
        image = runs.images(each.pulled, seeds, unit)
        parts.append(take(image.reshape(-1), each.places))
        if more:
            pulled, wanted = each.pulled, on_host(image[-1])
    if check and not parts and min(runs.shape):
        r = _random(runs.shape[not pulled])
        wanted = on_host(runs.images(pulled, r[None], unit)[0])
    parts = parts or [np.zeros(0)]
    data = parts[0] if len(parts) == 1 else take(v.concat(*parts), plan.rank)
    if wanted is not None:
        _check(runs, plan, on_host(data), pulled, wanted)
    return data


@functools.lru_cache(maxsize=4)
def _random(n: int) -> Any:
    """Return a direction without zeros: the same at each call, and exact in single precision."""
    r = np.random.default_rng(0).uniform(0.5, 1.5, n).astype(np.float32).astype(float)
    r.setflags(write=False)
    return r


def _check(runs: Runs, plan: Plan, data: Any, pulled: bool, wanted: Any) -> None:
    """Raise unless the entries give the derivative in the random direction, up to rounding."""
    rows = csr_array((data, plan.pattern.indices, plan.pattern.indptr), plan.shape)
    rows, r = (rows.T if pulled else rows), _random(plan.shape[not pulled])
    dtypes = [
        x.tangent_dtype for x in (*runs.xs, *runs.ys) if getattr(x, "dtype", None) is not None
    ]
    eps = max([np.finfo(dtype).eps for dtype in (wanted.dtype, *dtypes)])
    with np.errstate(all="ignore"):
        have = rows @ r
        rows.data = np.abs(data)
        scale = rows @ r + np.abs(wanted)
        largest = scale[np.isfinite(scale)].max(initial=0.0)
        near = np.abs(have - wanted) <= np.sqrt(eps) * scale + 1e3 * eps * largest
    wrong = np.flatnonzero(~near & np.isfinite(have))
    if len(wrong):
        what = "argument" if pulled else "result"
        raise NotDifferentiableError(
            f"the {runs.title} has entries outside its pattern, first at {what} {wrong[0]}: the "
            f"derivative in a random direction differs. where, sort or max may take another branch "
            f"than at detection; write sparsity=sparsity(f)(x) to detect the pattern here, or "
            f"Plan(a.pattern + b.pattern) for both branches. check=False skips this check"
        )


# ------------------------------------------------------------------------------- the blocks


def _rows(runs: Runs, plan: Plan, data: Any, turned: Any) -> list[Any]:
    """Build the blocks: a list for each leaf of the result, or `NoTangent()`."""
    heights, widths = (
        tuple([s.size for s in side if type(s) is Space]) for side in (runs.ys, runs.xs)
    )
    blocks = iter(plan.blocks(heights, widths))
    whole = len(heights) == len(widths) == 1

    def block(y: Any, x: Any, at: Any) -> Any:
        part, i = (z if z is None or whole else take(z, at.data) for z in (data, turned))
        return _sparse(_finished(part, i, not plan.pushes, y, x), at)

    def row(y: Any) -> Any:
        row = iter(next(blocks))
        return [block(y, x, next(row)) if type(x) is Space else x for x in runs.xs]

    return [row(y) if type(y) is Space else y for y in runs.ys]


def _in_dicts(tree: TreeDef) -> Any:
    """Build a structure with dicts for dataclasses, because a `Tangent` holds no sparse array."""
    if tree.structure is None:
        return 0.0
    parts = list(map(_in_dicts, tree.children))
    if tree.cls in (tuple, list):
        return tree.cls(parts)
    return dict(zip(tree.keys, parts, strict=True))


def _finished(part: Any, turned: Any, pulled: bool, y: Space, x: Space) -> Any:
    """Convert images to entries; for real y and complex x these are gradients, as in `grad`."""
    seed, image = (y, x) if pulled else (x, y)
    if seed.kind == "complex" and image.kind != "complex":
        return v.real(part) + 1j * v.real(turned)
    if seed.kind == "complex":
        return v.conj(part) if pulled else part
    if image.kind != "complex":
        part = v.real(part) if np.issubdtype(part.dtype, np.complexfloating) else part
    wanted = image.dtype and image.tangent_dtype
    return part if wanted in (None, part.dtype) else v.astype(part, dtype=wanted)


def _sparse(data: Any, pattern: Any) -> Any:
    """Build the sparse array with these entries, in SciPy or in CuPy."""
    if type(data) is np.ndarray:
        return csr_array((data, pattern.indices.copy(), pattern.indptr.copy()), pattern.shape)
    value = bare(data)
    if data is not value and type(value) is np.ndarray:
        tree = flatten(csr_array((value, pattern.indices, pattern.indptr), pattern.shape))[1]
        return unflatten(tree, [data])
    cupy, cupyx = map(importlib.import_module, ("cupy", "cupyx.scipy.sparse"))
    places = cupy.asarray(pattern.indices), cupy.asarray(pattern.indptr)
    return cupyx.csr_matrix((data, *places), shape=pattern.shape)
