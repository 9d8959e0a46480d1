"""Rules of diagonals, traces and triangles of matrices.

M. B. Giles, "An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation" (2008), is the source where no other is named.
"""

from chainrules_py.ops import broadcast_to, diagonal, expand_dims, from_diagonal, trace, tril, triu
from chainrules_py.registry.constructors import linear_rule
from chainrules_py.rules.support.batching_rules import matrices

# ---------------------------------------------------------------- parts of matrices


def diagonal_transpose(y_bar, x, *, offset):
    return from_diagonal(y_bar, rows=x.shape[-2], columns=x.shape[-1], offset=offset)


def trace_transpose(y_bar, x, *, offset):
    rows, columns = x.shape[-2:]
    length = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    spread = broadcast_to(expand_dims(y_bar, axis=-1), shape=(*y_bar.shape, length))
    return from_diagonal(spread, rows=rows, columns=columns, offset=offset)


for _operation, _transpose, _batched in (
    (diagonal, diagonal_transpose, True),
    (
        from_diagonal,
        lambda y_bar, x, *, rows, columns, offset: diagonal(y_bar, offset=offset),
        True,
    ),
    (trace, trace_transpose, True),
    (tril, lambda y_bar, x, *, k: tril(y_bar, k=k), matrices),
    (triu, lambda y_bar, x, *, k: triu(y_bar, k=k), matrices),
):
    linear_rule(_operation, _transpose, batched=_batched)
