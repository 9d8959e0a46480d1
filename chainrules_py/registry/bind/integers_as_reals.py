"""Integers as operands of users' rules: the maps are those of the corresponding real numbers.

The value is computed with the integers. A derivative is another number, and may overflow where the
value does not. So a rule with a derivative in an integer is run once more, with real numbers in
place of the integers. An operand without one, or annotated ``int``, may be an index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chainrules_py.registry.statement_and_rule import Statement
from chainrules_py.tangents.primal_promotion import real_numbers
from chainrules_py.tangents.space import kind_of
from chainrules_py.tangents.zeros import is_zero
from chainrules_py.values.pytree import flatten, map_leaves


def whole_operands(xs: Sequence[Any]) -> list[int]:
    """List the indices of operands that are, or contain, arrays of integers."""
    leaves = [flatten(x)[0] if isinstance(x, (tuple, list, dict)) else [x] for x in xs]
    return [i for i, parts in enumerate(leaves) if any(map(_is_whole, parts))]


def once_more(
    run: Callable[..., Any],
    xs: Sequence[Any],
    ts: Sequence[Any],
    y: Any,
    statement: Statement,
    *,
    pushes: bool = False,
) -> Any:
    """Run a rule with real numbers in place of integers in which it has a derivative, if any.

    Parameters
    ----------
    run : callable
        Runs the rule on a tuple of operands.
    xs, ts : sequence
        The operands, and a tangent or cotangent of each.
    y
        The value.
    statement : Statement
        The statement of the rule, named in errors if it takes no real numbers.
    pushes : bool
        Whether ``ts`` are tangents. A zero cotangent means that the rule has no derivative in that
        operand. A zero tangent does not; then an operand that refuses real numbers is an index.

    Returns
    -------
    object or None
        The result of the run, or None if there was none.
    """
    annotated = enumerate(statement.signature)
    kept = {i for i, annotation in annotated if annotation in (int, bool)}
    whole = [i for i in whole_operands(xs) if i < len(ts) and i not in kept]
    flowing = [i for i in whole if not is_zero(ts[i])]
    read = lambda leaf: real_numbers(leaf, y) if _is_whole(leaf) else leaf
    for places in [whole, flowing] if pushes and flowing != whole else [flowing]:
        try:
            reals = tuple([map_leaves(read, x) if i in places else x for i, x in enumerate(xs)])
            return run(reals) if places else None
        except (TypeError, IndexError) as error:
            if places is not flowing:
                continue
            error.add_note(
                f"{statement!r} has a derivative in a whole number, and is run with the real "
                f"number that it is; give NoTangent() for it, or annotate it int, if it is an "
                f"index or a count"
            )
            raise
    return None


def _is_whole(x: Any) -> bool:
    return hasattr(x, "dtype") and kind_of(x) == "int"
