"""Labels: what results of a program are called in its source, as ``dloss/dw``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from chainrules_compile.parameters import named_parameters
from chainrules_py.extend import Made, TreeDef, fields_of, is_structure_type, unflatten

_MAKERS = ("grad", "value_and_grad", "jacobian", "hessian")


def labels_of(f: Callable[..., Any], tree: TreeDef, n: int) -> list[str]:
    """Return a label for each leaf of a result, empty where there is nothing to say.

    Parameters
    ----------
    f : callable
        What is compiled; of a gradient and its like, what it was made of is known.
    tree : TreeDef
        The structure of its result.
    n : int
        How many leaves it has.
    """
    found = [""] * n
    for place, label in _labelled(f, unflatten(tree, range(n))):
        found[place] = label if label.isprintable() else repr(label)  # it is one line of a comment
    return found


def _labelled(f: Any, y: Any) -> Iterator[tuple[int, str]]:
    """Label what a function gives, leaf by leaf, if it was made by a transformation."""
    recipe = f.recipe if isinstance(f, Made) else None
    maker = getattr(recipe[0], "__name__", "") if recipe is not None else ""
    if recipe is None or maker not in _MAKERS or recipe[2].get("has_aux"):
        return
    (inner, *rest), keywords = recipe[1], recipe[2]
    argnums = rest[0] if rest else None
    below = _title(inner)
    if maker == "value_and_grad":
        yield from _leaves(y[0], below)
        y = y[1]
    names = _chosen(inner, argnums, keywords.get("argnames"))
    if maker == "hessian":
        if len(names) == 1 and not is_structure_type(type(y)):
            yield from _leaves(y, f"d²{below}/d{names[0]}²")
    elif keywords.get("by_name"):
        for name, part in y.items():
            yield from _leaves(part, f"d{below}/d", str(name))
    elif len(names) > 1 or isinstance(argnums, (tuple, list)):
        for name, part in zip(names, y, strict=False):
            yield from _leaves(part, f"d{below}/d", name)
    else:
        yield from _leaves(y, f"d{below}/d", names[0])


def _title(f: Any) -> str:
    """Return what a result of a function is called: its name, or its derivative's."""
    recipe = f.recipe if isinstance(f, Made) else None
    if recipe is not None and getattr(recipe[0], "__name__", "") in ("grad", "jacobian"):
        inner, *rest = recipe[1]
        names = _chosen(inner, rest[0] if rest else None, recipe[2].get("argnames"))
        return f"(d{_title(inner)}/d{','.join(names)})"
    name = getattr(f, "__name__", "")
    return name if name.isidentifier() else "f"


def _chosen(f: Any, argnums: Any, argnames: Any) -> list[str]:
    """Return the names of the arguments in which a derivative is taken."""
    if argnums is None or hasattr(argnums, "__index__"):  # as NumPy's integers have
        numbers = (argnums or 0,) if argnums is not None or argnames is None else ()
    else:
        numbers = tuple(argnums)
    named = (argnames,) if isinstance(argnames, str) else tuple(argnames or ())
    known = [*named_parameters(f)]
    found = [known[i] if -len(known) <= i < len(known) else f"args[{i}]" for i in numbers]
    return [*found, *named]


def _leaves(x: Any, label: str, name: str = "") -> Iterator[tuple[int, str]]:
    if type(x) is int:
        yield x, f"{label}{name}"
    elif is_structure_type(type(x)):
        for key, field in fields_of(x):
            at = f".{key}" if _is_field(x, key) else f"[{key!r}]"
            yield from _leaves(field, label, f"{name}{at}")


def _is_field(x: Any, key: Any) -> bool:
    return isinstance(key, str) and not isinstance(x, dict)
