"""Rules stated as text: a formula for each operand, parsed into operations."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import chainrules_py.ops as v
from chainrules_py import Primitive, RuleError, ZeroTangent, rules_for
from chainrules_py.extend import (
    RruleRecipe,
    Source,
    any_types,
    find_primal,
    state,
)

_BINARY: dict[type, Any] = {
    ast.Add: v.add,
    ast.Sub: v.subtract,
    ast.Mult: v.multiply,
    ast.Div: v.divide,
    ast.Pow: v.pow,
    ast.MatMult: v.matmul,
}
_LINEAR_IN = {
    v.negative: (0,),
    v.positive: (0,),
    v.deg2rad: (0,),
    v.rad2deg: (0,),
    v.multiply: (0, 1),
    v.divide: (0,),
    v.solve: (1,),
    v.solve_triangular: (1,),
}
"""The operands that operations are linear in, each by itself, where their rules do not state it."""


def text_rule(f: Callable[..., Any], **formulas: str) -> None:
    """State the reverse rule of a function as text, one formula per operand.

    Forward mode is its transpose.

    Parameters
    ----------
    f : callable
        A primitive, or a library's function whose calls engines see.
    **formulas : str
        From the name of an operand to its cotangent: a formula of ``y_bar``, the result ``y``, the
        operands, the options, numbers, operators and operations. ``"0"`` states that f is constant
        in an operand.

    Raises
    ------
    RuleError
        If an operand has no formula, or a formula has other parts or is not linear in ``y_bar``.

    Examples
    --------
    >>> from chainrules_py import primitive, rrule
    >>> from math import sin
    >>> @primitive
    ... def wave(x, a):
    ...     return a * sin(x)
    >>> text_rule(wave, x="y_bar * a * cos(x)", a="y_bar * sin(x)")
    >>> rrule(wave, 0.0, 2.0)[1](1.0)
    (2.0, 0.0)
    """
    primal = find_primal(f, "text_rule")
    if primal.variadic or [*formulas] != [*primal.operands]:
        raise RuleError(
            f"text_rule({primal.__name__}) has formulas for ({', '.join(formulas)}); give one for "
            f"each operand, in their order: ({', '.join(primal.operands)})"
        )
    if clash := [n for n in ("y", "y_bar") if n in (*primal.operands, *primal.options)]:
        raise RuleError(
            f"text_rule({primal.__name__}): {clash[0]!r} is the name of an operand or option"
        )
    read = [Formula(text, name, primal) for name, text in formulas.items()]

    def text_rrule(*operands: Any, **options: Any) -> Any:
        y = primal(*operands, **options)
        known = dict(zip(primal.operands, operands, strict=True)) | options | {"y": y}

        def pullback(y_bar: Any) -> Any:
            return tuple([formula.value({**known, "y_bar": y_bar}) for formula in read])

        return y, pullback

    text_rrule.__qualname__ = f"text_rule({primal.__name__})"
    source = Source.caller(f"text_rule({primal.__name__})", 2)
    state(primal, any_types(primal), source, RruleRecipe(text_rrule, False))


class Formula:
    """Formula of operations: parsed, checked to be linear in the cotangent, and evaluated.

    Attributes
    ----------
    text : str
        The formula as it was written.
    """

    def __init__(self, text: str, operand: str, primal: Primitive[..., Any]) -> None:
        self.text, self.operand, self.primal = text, operand, primal
        self.names = {"y", "y_bar", *primal.operands, *primal.options}
        try:
            self.tree = ast.parse(text, mode="eval").body
        except SyntaxError as error:
            self._refuse(f"is no formula: {error.msg}")
        self.is_zero = isinstance(self.tree, ast.Constant) and self.tree.value == 0
        if not self.is_zero and self._degree(self.tree) != 1:
            self._refuse("does not depend on y_bar")

    def _refuse(self, what: str) -> NoReturn:
        raise RuleError(
            f"text_rule({self.primal.__name__}): the formula {self.text!r} of {self.operand!r} "
            f"{what}; write operators, numbers, operations and the names "
            f"({', '.join(sorted(self.names))}), linear in y_bar"
        )

    def _operation(self, node: ast.Call) -> Any:
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        operation = getattr(v, name, None)
        if not isinstance(operation, Primitive) or any([k.arg is None for k in node.keywords]):
            self._refuse(f"calls {name!r}, which is not an operation")
        return operation

    def _degree(self, node: ast.expr) -> int:
        """Return the degree of a formula in y_bar, zero or one; raise for any other formula."""
        match node:
            case ast.Constant(value=bool() | int() | float() | complex() | None):
                return 0
            case ast.Name(id=name) if name in self.names:
                return int(name == "y_bar")
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=inner):
                return self._degree(inner)
            case ast.Tuple(elts=parts):
                return max([self._degree(p) for p in parts], default=0)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return self._of_call(_BINARY[type(op)], [left, right], node)
            case ast.Call(args=args):
                if any([self._degree(k.value) for k in node.keywords]):
                    self._refuse("has y_bar in an option")
                return self._of_call(self._operation(node), args, node)
        return self._refuse(f"has {ast.unparse(node)!r} in it")

    def _of_call(self, operation: Any, args: list[ast.expr], node: ast.expr) -> int:
        degrees = [self._degree(a) for a in args]
        if not any(degrees):
            return 0
        if operation in (v.add, v.subtract) and all(degrees):
            return 1
        found = [s.recipe for s in rules_for(operation) if s.recipe is not None]
        is_product = bool(found) and found[0].constructor == "bilinear_rule"
        if sum(degrees) == 1 and (is_product or degrees.index(1) in _LINEAR_IN.get(operation, ())):
            return 1
        if found and found[0].is_linear:
            linear = found[0].stated_in(len(degrees))
            at_most = [d <= flag for d, flag in zip(degrees, linear, strict=True)]
            zeros = [isinstance(a, ast.Constant) and a.value == 0 for a in args]
            rest = [d or z or not flag for d, z, flag in zip(degrees, zeros, linear, strict=True)]
            if all(at_most) and all(rest):
                return 1
        return self._refuse(f"is not linear in y_bar at {ast.unparse(node)!r}")

    def value(self, known: Mapping[str, Any]) -> Any:
        """Evaluate the formula with values by name."""
        return ZeroTangent() if self.is_zero else self._evaluate(self.tree, known)

    def _evaluate(self, node: Any, known: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return known[name]
            case ast.UnaryOp(op=op, operand=inner):
                found = self._evaluate(inner, known)
                return v.negative(found) if isinstance(op, ast.USub) else found
            case ast.Tuple(elts=parts):
                return tuple([self._evaluate(p, known) for p in parts])
            case ast.BinOp(left=left, op=op, right=right):
                operation = _BINARY[type(op)]
                return operation(self._evaluate(left, known), self._evaluate(right, known))
        options = {k.arg: self._evaluate(k.value, known) for k in node.keywords}
        return self._operation(node)(*[self._evaluate(a, known) for a in node.args], **options)

    def __repr__(self) -> str:
        return f"{self.operand}_bar = {self.text}"
