"""The checks of conduct: types, zeros, ownership, accumulation, laziness."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py.engines.frule_rrule import Pullback
from chainrules_py.primitives.plugins import default_engine
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.registry.bind.bind import Request, bind
from chainrules_py.registry.bind.general import GeneralRecipe
from chainrules_py.registry.table import find_rule
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.space import space
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.thunks import Thunk
from chainrules_py.tangents.zeros import NoTangent, ZeroTangent, is_zero
from chainrules_py.testing.data.case import Case
from chainrules_py.testing.data.values import fingerprint, mismatch
from chainrules_py.testing.diagnosis import name_types
from chainrules_py.testing.errors import NotJudgedError, WrongError, not_judged_if
from chainrules_py.testing.modes import recipes
from chainrules_py.values.structure import fields_of, is_structure_type


def check_types(case: Case) -> None:
    """Tangents have the shape, dtype, realness, device and structure of what they belong to."""
    problems = []
    if case.has_push:
        problems.append(mismatch(case.kept_push()[1], case.y, "y_dot"))
    if case.has_pull:
        names = case.operand_names()
        problems += [
            mismatch(bar, x, f"the cotangent of {n}")
            for bar, x, n in zip(case.bars(), case.operands, names, strict=True)
        ]
    if any(problems):
        raise WrongError("; ".join(p for p in problems if p), name_types(problems))


# -------------------------------------------------------------------------- a rule's own halves


def _statement(case: Case) -> Any:
    """Return the reverse statement of a call that reaches its rule unchanged, or None."""
    if not case.has_pull or not isinstance(case.f, Primitive):
        return None
    if len(case.operands) != len(case.f.operands) or case.f.options.keys() - case.options.keys():
        return None  # defaults are still to be filled in
    rule = find_rule(case.f, tuple(map(type, case.operands)))
    return None if rule is None else rule.reverse


# -------------------------------------------------------------------------------------- zeros


def check_strong_zero(case: Case) -> None:
    """Check that nothing comes of a zero where a partial is infinite, if a pen can say so."""
    if not case.has_pull or all(getattr(r, "singular", True) for r in recipes(case)):
        return
    pull = case.kept_pullback()[1]
    zero, one = (
        case.bars_vector(pull(case.raw.tangent(np.full(case.raw.size, n)))) for n in (0.0, 1.0)
    )
    if np.any(np.isnan(zero) & np.isinf(one)):
        msg = "the value is finite, a partial is infinite, and the pull makes NaN of zeros"
        raise WrongError(msg, "NaN of zero times infinity (singular=True forgotten?)")


def check_zeros(case: Case) -> None:
    """Every pattern of zero, dense and thunk; and what is not wanted changes nothing else."""
    if case.has_push:
        _check_zero_tangents(case)
    if case.has_pull:
        _check_zero_cotangents(case)
        _check_wanted(case)


def _check_zero_tangents(case: Case) -> None:
    u = case.u[:, -1]
    segments = case.split(u)
    active = [i for i, part in enumerate(case.parts) if part.size]
    nothing = [NoTangent() if is_zero(space(x)) else ZeroTangent() for x in case.operands]
    if np.any(case.raw.vector(case.frule(tuple(nothing))[1])):
        msg = "the push of ZeroTangent() is not zero"
        raise WrongError(msg, "not zero for ZeroTangent()")
    kinds = itertools.product("dzt", repeat=len(active)) if len(active) <= 2 else ()
    alone: dict[int, Any] = {}
    total = case.pushed()[:, -1]
    for pattern in kinds:
        if set(pattern) <= {"z"} or set(pattern) <= {"d"}:
            continue
        tangents: list[Any] = list(nothing)
        for i, kind in zip(active, pattern, strict=True):
            if kind != "z":
                t = case.parts[i].tangent(segments[i])
                tangents[i] = _thunk(t) if kind == "t" else t
        have = case.seen_tangent(case.frule(tuple(tangents))[1])
        there = tuple(i for i, kind in zip(active, pattern, strict=True) if kind != "z")
        if len(there) == len(active):
            want = total
        else:
            (only,) = there
            want = alone.setdefault(only, have)
            if len(active) == 2 and len(alone) == 2:
                _same(
                    case, "push", sum(alone.values()), total, "the pushes one by one do not add up"
                )
        _same(
            case, "push", have, want, f"the push of the pattern {'/'.join(pattern)} is another one"
        )


def _thunk(t: Any) -> Thunk:
    return Thunk(lambda: t)


def _same(case: Case, half: str, have: Any, want: Any, text: str) -> None:
    if not np.all(np.isfinite(want)):
        return
    if np.any(np.abs(have - want) > case.rounding_of(half, want, max(1e-10, 1e4 * case.precision))):
        raise WrongError(text, "zeros and thunks treated unlike dense tangents")


def _check_zero_cotangents(case: Case) -> None:
    _, pullback = case.kept_pullback()
    if np.any(case.bars_vector(pullback(ZeroTangent()))):
        msg = "the pull of ZeroTangent() is not zero"
        raise WrongError(msg, "not zero for ZeroTangent()")
    y_bar = case.cotangent(case.w[:, -1])
    whole = case.bars_vector(case.bars())
    thunk = case.bars_vector(pullback(Thunk(lambda: y_bar)))
    _same(case, "pull", thunk, whole, "the pull of a thunk is another one")
    if not isinstance(y_bar, Tangent):
        return
    total = np.zeros_like(whole)
    keys = [key for key, _ in fields_of(case.y)]
    for key in keys:
        entries = {key: y_bar[key]}
        partial = Tangent.of(type(case.y), entries, y_bar._length)
        zeros = Tangent.of(
            type(case.y), {k: entries.get(k, ZeroTangent()) for k in keys}, y_bar._length
        )
        try:
            part = case.bars_vector(pullback(partial))
        except Exception as error:
            absent = next(k for k in keys if k != key)
            entry = f"y_bar.{absent}" if isinstance(absent, str) else f"y_bar[{absent}]"
            msg = (
                f"where only {key} of the result is used, the pull raises {type(error).__name__}: "
                f"{error}\n  {entry} is ZeroTangent() then: it adds and scales, and has no shape; "
                f"write zeros_like(...) in its place where is_zero({entry})"
            )
            raise WrongError(msg, "fails where a result is not used") from error
        same = case.bars_vector(pullback(zeros))
        _same(
            case,
            "pull",
            same,
            part,
            f"a zero for the outputs besides {key} differs from absent ones",
        )
        total = total + part
    _same(case, "pull", total, whole, "the pulls of the outputs one by one do not add up")


def _check_wanted(case: Case) -> None:
    if len(case.operands) == 1:
        return
    _, pullback = case.kept_pullback()
    y_bar = case.cotangent(case.w[:, -1])
    bars = case.bars()
    for i, name in enumerate(case.operand_names()):
        if i in case.unstated:
            continue
        alone = pullback(y_bar, wanted=tuple(k == i for k in range(len(bars))))
        if not np.allclose(
            case.parts[i].vector(alone[i]), case.parts[i].vector(bars[i]), equal_nan=True
        ):
            msg = f"the cotangent of {name}, wanted alone, is another one"
            raise WrongError(msg, "wrong when wanted alone")


# ---------------------------------------------------------------------------------- ownership


def check_unmodified(case: Case) -> None:
    """Check that nothing given to a rule is written to, and pulling back twice gives the same."""
    given = {"operand": case.operands}
    if fingerprint(case.operands) != case.print:
        msg = "the function or its rule wrote to an operand"
        raise WrongError(msg, "operand mutated")
    if case.has_push:
        tangents = case.tangents(case.u[:, -1])
        both = {**given, "tangent": tangents}
        _, y_dot = _unmodified("push", both, lambda: case.frule(tangents))
        kept = fingerprint(y_dot)
        case.frule(case.tangents(-case.u[:, -1]))
        if kept != fingerprint(y_dot):
            msg = "what an earlier push gave changes when one pushes again: a buffer is shared"
            raise WrongError(msg, "aliased tangent")
        if kept != fingerprint(case.frule(tangents)[1]):
            msg = "pushing a second time gives something else"
            raise WrongError(msg, "pushing twice gives two answers")
    if not case.has_pull:
        return
    y, pullback = _unmodified("reverse rule", given, case.pullback)
    y_bar = case.cotangent(case.w[:, -1])
    given = {**given, "result": y, "cotangent": y_bar}
    first = case.bars_vector(_unmodified("pull", given, lambda: pullback(y_bar)))
    again = case.cotangent(case.w[:, -1])
    if first.tobytes() != case.bars_vector(pullback(again)).tobytes():
        msg = "pulling back a second time gives something else"
        raise WrongError(msg, "pulling back twice gives two answers")


def _unmodified(half: str, given: dict[str, Any], run: Callable[[], Any]) -> Any:
    """Run a half, and check that it writes to nothing of what it was given."""
    before = {what: fingerprint(x) for what, x in given.items()}
    found = run()
    for what, x in given.items():
        if before[what] != fingerprint(x):
            msg = f"the {half} wrote to the {what}"
            raise WrongError(msg, f"{what} mutated")
    return found


def check_owned(case: Case) -> None:
    """Check that people own what they receive: writable, and nobody else's memory."""
    if case.has_push:
        tangents = case.tangents(case.u[:, -1])
        y, y_dot = case.frule(tangents)
        _check_apart("y_dot", y_dot, {"an operand": case.operands, "a tangent": tangents, "y": y})
    if not case.has_pull:
        return
    _check_engine_results(case)
    y, pullback = case.pullback()
    y_bar = case.cotangent(-case.w[:, -1])
    bars = pullback(y_bar)
    kept = [fingerprint(bar) for bar in bars]
    for i, (name, bar) in enumerate(zip(case.operand_names(), bars, strict=True)):
        theirs = {"an operand": case.operands, "the cotangent": y_bar, "the result": y}
        others = {"another cotangent": [b for k, b in enumerate(bars) if k != i]}
        _check_apart(f"the cotangent of {name}", bar, theirs | others)
    # A buffer that two calls share is seen when the pull of the other writes to it.
    other = case.pullback()[1]
    other(case.cotangent(case.w[:, -1]))
    if kept != [fingerprint(bar) for bar in bars]:
        msg = "what a pull gave changes when another call pulls back: they share a buffer"
        raise WrongError(msg, "aliased cotangent")
    again = case.bars_vector(other(y_bar))
    for bar in bars:
        for array in _arrays(bar):
            array[...] = np.nan
    if again.tobytes() != case.bars_vector(other(y_bar)).tobytes():
        msg = "writing to a cotangent that was received changes what the next pull gives"
        raise WrongError(msg, "aliased cotangent")


def of_varying(case: Case) -> tuple[list[int], Callable[..., Any]]:
    """Return which operands can be perturbed, and the call as a function of these."""
    active = [i for i, part in enumerate(case.parts) if part.size]

    def call(*xs: Any) -> Any:
        given = dict(enumerate(case.operands)) | dict(zip(active, xs, strict=True))
        return case.call(*given.values())

    return active, call


def _check_engine_results(case: Case) -> None:
    """Check that what an engine gives is each receiver's own as well."""
    engine = default_engine()
    active, call = of_varying(case)
    if engine is None or len(case.operands) < 2 or not active:
        return
    y_bar, names = case.cotangent(case.w[:, -1]), case.operand_names()
    bars = engine.vjp(call, *[case.operands[i] for i in active])[1](y_bar)
    for i, (k, bar) in enumerate(zip(active, bars, strict=True)):
        others = {"another cotangent": [b for k, b in enumerate(bars) if k != i]}
        theirs = {"an operand": case.operands, "the cotangent": y_bar}
        _check_apart(f"the cotangent of {names[k]}", bar, theirs | others)


def _check_apart(name: str, t: Any, theirs: dict[str, Any]) -> None:
    for array in _arrays(t):
        if not array.flags.writeable or 0 in [
            s for s, n in zip(array.strides, array.shape, strict=True) if n > 1
        ]:
            msg = f"{name} is read-only, or broadcast"
            raise WrongError(msg, "received array cannot be written to")
        for what, given in theirs.items():
            if any(np.may_share_memory(array, other) for other in _arrays(given)):
                msg = f"{name} shares memory with {what}"
                raise WrongError(msg, "aliased cotangent" if name != "y_dot" else "aliased tangent")


def _arrays(t: Any) -> list[Any]:
    """List the NumPy buffers inside a value or a tangent."""
    if isinstance(t, Tangent):
        return [a for _, part in t.fields() for a in _arrays(part)]
    if is_structure_type(type(t)):
        return [a for _, part in fields_of(t) for a in _arrays(part)]
    t = getattr(t, "_array", t)
    return [t] if isinstance(t, np.ndarray) and t.size else []


# ------------------------------------------------------------------- accumulation and laziness


def check_accumulation(case: Case) -> None:
    """Adding in place is adding: into a buffer, and where an operand is used three times."""
    why = "there is no reverse rule, or it is determined up to a gauge"
    not_judged_if(not case.has_pull or case.pick is not None, why)
    _check_pull_into(case)
    engine = default_engine()
    active, call = of_varying(case)
    if engine is None or not active:
        return
    thrice = lambda *xs: (call(*xs), call(*xs), call(*xs))
    ws = [case.w[:, 0], case.w[:, -1], case.w[:, 0]]
    y, pullback = engine.vjp(thrice, *[case.operands[i] for i in active])
    bars = pullback(Tangent.of(type(y), {k: case.cotangent(w) for k, w in enumerate(ws)}, 3))
    have = np.concatenate(
        [np.zeros(0), *(case.parts[i].vector(b) for i, b in zip(active, bars, strict=True))]
    )
    want = 2 * case.pulled()[:, 0] + case.pulled()[:, -1]
    allowed = case.rounding_of("pull", want, max(1e-10, 1e4 * case.precision))
    if np.all(np.isfinite(want)) and np.any(np.abs(have - want) > allowed):
        msg = "the cotangents of an operand that is used three times are not the sum of three"
        raise WrongError(msg, "in-place accumulation is not addition")


def _check_pull_into(case: Case) -> None:
    f, types = case.f, tuple(map(type, case.operands))
    if not isinstance(f, Primitive) or len(types) != len(f.operands) or not case.parts:
        return
    if not case.parts[0].is_leaf or not case.parts[0].size:
        return
    operands, options = f.normalise(case.operands, case.options)
    rule = find_rule(f, types)
    if rule is None or rule.reverse is None:
        return
    bound = bind(rule, types, tuple(i == 0 for i in range(len(types))), "reverse")
    x, y_bar = case.operands[0], case.cotangent(case.w[:, -1])
    makers: list[Any] = []
    if bound is not None and bound.pull_into is not None:
        into: Any = bound.pull_into
        _, (_, _, *saved) = bound.run(None, *operands, **options)
        makers.append(lambda buffer: into(buffer, y_bar, *saved))
    recipe = rule.reverse.recipe
    if isinstance(recipe, GeneralRecipe) and not recipe.with_config:
        m: Any = recipe.function(*operands, **options)[1][0]
        if type(m) is LinearMap and m.pull_into is not None:
            add: Any = m.pull_into
            makers.append(lambda buffer: add(buffer, y_bar, *m.saved))
    for add_into in makers:
        buffer = case.parts[0].tangent(np.arange(1.0, case.parts[0].size + 1))
        if not isinstance(getattr(buffer, "_array", buffer), np.ndarray):
            return
        want = case.parts[0].vector(buffer) + case.parts[0].vector(case.bars()[0])
        add_into(buffer)
        have = case.parts[0].vector(buffer)
        if not np.allclose(have, want, rtol=1e-10, atol=1e4 * case.precision, equal_nan=True):
            msg = f"pull_into does not add to its buffer what pull gives for {type(x).__name__}"
            raise WrongError(msg, "in-place accumulation is not addition")


def check_laziness(case: Case) -> None:
    """Check that computing one cotangent runs no other operand's pull."""
    statement = _statement(case)
    recipe: Any = getattr(statement, "recipe", None)
    if (
        statement is None
        or not isinstance(recipe, GeneralRecipe)
        or recipe.with_config
        or len(case.operands) < 2
    ):
        msg = "no rule that gives a map for each of several operands"
        raise NotJudgedError(msg)
    ran: list[int] = []

    def counting(i: int, m: Any) -> Any:
        if type(m) is not LinearMap or m.pull is None:
            return m

        half: Any = m.pull

        def pull(y_bar: Any, *saved: Any) -> Any:
            ran.append(i)
            return half(y_bar, *saved)

        return LinearMap(m.push, pull, *m.saved)

    def instrumented(*xs: Any, **options: Any) -> Any:
        y, maps = recipe.function(*xs, **options)
        return y, tuple([counting(i, m) for i, m in enumerate(maps)])

    types = tuple(map(type, case.operands))
    request = Request(statement, types, (True,) * len(types), case.f, None)
    bound = type(recipe)(instrumented, False).reverse(request)
    if bound is None:
        return
    y, record = bound.run(None, *case.operands, **case.options)
    pullback = Pullback(case.f.__name__, y, case.operands, record, bound.wanted)
    y_bar = case.cotangent(case.w[:, -1])
    for i, name in enumerate(case.operand_names()):
        if i in case.unstated:
            continue
        ran.clear()
        pullback(y_bar, wanted=tuple(k == i for k in range(len(types))))
        if set(ran) - {i}:
            msg = f"asking for the cotangent of {name} alone runs the pulls of others: {ran}"
            raise WrongError(msg, "not lazy")
