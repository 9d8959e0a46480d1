"""Implementations of the words that solve and integrate, by any library's words."""

from __future__ import annotations

from typing import Any

from chainrules_py.primitives.primitive import Primitive
from chainrules_py.vocabulary import fixed_point, linear_solve, minimize, odeint, root

__all__: list[str] = []


def _numerically(word: Primitive[..., Any]) -> None:
    def computed(f: Any, x: Any, *rest: Any, **options: Any) -> Any:
        # Solvers are a quarter as long as all words together, and most programs use none.
        from chainrules_py.composites.solvers import solving

        return getattr(solving, word.__name__)(f, x, *rest, **options)

    word.implement(computed)


for _word in (root, fixed_point, minimize, linear_solve, odeint):
    _numerically(_word)
