"""Write the computation of a list of calls as a formula in LaTeX.

A value that is used once is written where it is used; a longer value that is used several times
gets a letter and an equation before the formula.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from chainrules_py.program import Call, Program, Value

Part: TypeAlias = tuple[str, int]
"""Text of a part of a formula, and how tightly it binds."""

TRUTH, SUM, PRODUCT, PREFIX, POWER, ATOM = range(-1, 5)
LETTERS = "uvwpqrst"
_SHORT, _SIMPLE = 24, 12

# The text of a call: its operands by number, and after the colon how tightly each has to bind.
_FORMS: dict[str, tuple[str, int]] = {
    "add": ("{0:0} + {1:0}", SUM),
    "sub": ("{0:0} - {1:1}", SUM),
    "neg": ("-{0:1}", SUM),
    "pos": ("{0:0}", SUM),
    "mul": (r"{0:1} \, {1:1}", PRODUCT),
    "truediv": (r"\frac{{{0:0}}}{{{1:0}}}", ATOM),
    "pow": ("{0:4}^{{{1:0}}}", POWER),
    "square": ("{0:4}^2", POWER),
    "sqrt": (r"\sqrt{{{0:0}}}", ATOM),
    "cbrt": (r"\sqrt[3]{{{0:0}}}", ATOM),
    "reciprocal": (r"\frac{{1}}{{{0:0}}}", ATOM),
    "exp": ("e^{{{0:0}}}", POWER),
    "exp2": ("2^{{{0:0}}}", POWER),
    "abs": (r"\left|{0:0}\right|", ATOM),
    "conj": (r"\overline{{{0:0}}}", ATOM),
    "real": (r"\operatorname{{Re}} {0:2}", PREFIX),
    "imag": (r"\operatorname{{Im}} {0:2}", PREFIX),
    "where": (r"\begin{{cases}} {1:0} & {0:-1} \\ {2:0} & \text{{else}} \end{{cases}}", ATOM),
    "lt": ("{0:0} < {1:0}", TRUTH),
    "le": (r"{0:0} \le {1:0}", TRUTH),
    "gt": ("{0:0} > {1:0}", TRUTH),
    "ge": (r"{0:0} \ge {1:0}", TRUTH),
    "eq": ("{0:0} = {1:0}", TRUTH),
    "ne": (r"{0:0} \ne {1:0}", TRUTH),
    "logical_and": (r"{0:-1} \land {1:-1}", TRUTH),
    "logical_or": (r"\left({0:-1} \lor {1:-1}\right)", TRUTH),
    "matmul": (r"{0:1} \, {1:1}", PRODUCT),
    "matrix_transpose": (r"{0:4}^{{\mathsf{{T}}}}", POWER),
    "inv": ("{0:4}^{{-1}}", POWER),
    "gamma": (r"\Gamma({0:0})", ATOM),
    "floor": (r"\lfloor {0:0} \rfloor", ATOM),
    "ceil": (r"\lceil {0:0} \rceil", ATOM),
}
_SAME = {
    "subtract": "sub",
    "negative": "neg",
    "positive": "pos",
    "multiply": "mul",
    "strong_multiply": "mul",
    "divide": "truediv",
    "power": "pow",
    "float_power": "pow",
    "absolute": "abs",
    "conjugate": "conj",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "equal": "eq",
    "not_equal": "ne",
}
_NAMES = {  # the argument is written without parentheses if it is a letter
    **{name: rf"\{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{f"arc{name}": rf"\arc{name}" for name in ("sin", "cos", "tan")},
    "log": r"\ln",
}
_LETTERED = {
    "psi": r"\psi",
    "digamma": r"\psi",
    "gammaln": r"\ln\Gamma",
    "betaln": r"\ln\mathrm{B}",
    "zeta": r"\zeta",
    **{f"{kind}{n}": f"{kind.upper()}_{n}" for kind in "jyik" for n in (0, 1)},
}
_FILLED = {"full_like": None, "zeros_like": 0.0, "ones_like": 1.0}
_GREEK = {"lmbda": r"\lambda", "delta": r"\delta"}
_KNOWN = {
    math.pi: r"\pi",
    2 * math.pi: r"2 \pi",
    math.e: "e",
    math.inf: r"\infty",
    math.log(2): r"\ln 2",
    math.log(10): r"\ln 10",
    math.sqrt(2): r"\sqrt{2}",
    math.sqrt(2 * math.pi): r"\sqrt{2 \pi}",
    math.sqrt(2 / math.pi): r"\sqrt{2 / \pi}",
    math.sqrt(math.pi) / 2: r"\tfrac{\sqrt{\pi}}{2}",
    2 / math.sqrt(math.pi): r"\tfrac{2}{\sqrt{\pi}}",
    1 / math.log(2): r"\tfrac{1}{\ln 2}",
    1 / math.log(10): r"\tfrac{1}{\ln 10}",
    math.pi / 180: r"\tfrac{\pi}{180}",
    180 / math.pi: r"\tfrac{180}{\pi}",
    0.5: r"\tfrac{1}{2}",
}


def formula(program: Program, names: Mapping[str, str] | None = None) -> str:
    r"""Write the outputs of a program as a formula in LaTeX.

    Parameters
    ----------
    program : Program
        Calls of operations, or of functions that are called like operations.
    names : mapping of str to str, optional
        The text of an input, if not its name.

    Returns
    -------
    str
        One formula, or several separated by commas, after equations such as ``u = e^{x}`` for
        values that are used several times.

    Examples
    --------
    >>> from chainrules_py.program import Call
    >>> from chainrules_py.ops import add, exp, square
    >>> x, a, b, c = map(Value, "xabc")
    >>> calls = [Call(exp, (x,), {}, (a,)), Call(square, (a,), {}, (b,))]
    >>> calls.append(Call(add, (b, 1.0), {}, (c,)))
    >>> formula(Program("f", (x,), tuple(calls), (c,)))
    '\\left(e^{x}\\right)^2 + 1'
    """
    parts: dict[Value, Part] = {v: (as_letter(v.name), ATOM) for v in program.inputs}
    parts.update({v: ((names or {}).get(v.name, parts[v][0]), ATOM) for v in program.inputs})
    uses = Counter([v for call in program.calls for v in call.values])
    uses.update([v for v in _flat(program.outputs) if isinstance(v, Value)])
    letters, ahead = iter(LETTERS), []
    for call in program.calls:
        part = _applied(call, [_part(x, parts) for x in call.operands])
        for k, result in enumerate(call.results):
            text, tight = part if len(call.results) == 1 else (f"{_tight(part, ATOM)}_{k}", POWER)
            if uses[result] > 1 and len(text) > _SHORT and (letter := next(letters, None)):
                ahead.append(f"{letter} = {text}")
                text, tight = letter, ATOM
            parts[result] = text, tight
    return r", \quad ".join([*ahead, *[_part(v, parts)[0] for v in _flat(program.outputs)]])


def _applied(call: Call, operands: list[Part]) -> Part:
    name = getattr(call.function, "__name__", "f")
    name = _SAME.get(name, name)
    if name in _FILLED:
        given = call.options.get("fill", _FILLED[name])
        return _number(given)
    if name == "astype":
        return rf"\left[{operands[0][0]}\right]", ATOM
    if name == "mul" and operands[0] == operands[1]:
        name, operands = "square", operands[:1]
    if name == "mul" and operands[0][0].startswith("-") and " " not in operands[0][0]:
        return (
            f"-{_tight((operands[0][0][1:], ATOM), PRODUCT)} \\, {_tight(operands[1], PRODUCT)}",
            SUM,
        )
    if name == "sub" and operands[1][0].startswith("-") and operands[1][1] == SUM:
        name, operands = "add", [operands[0], (operands[1][0][1:], PRODUCT)]
    form = _FORMS.get(name)
    if form is not None and form[0].count("{" + str(len(operands) - 1) + ":"):
        return form[0].format(*map(_Operand, operands)), form[1]
    shown = ", ".join([text for text, _ in operands])
    given = rf"\left({shown}\right)"
    if len(operands) == 1 and name in _NAMES:
        simple = operands[0][1] == ATOM and len(shown) < _SIMPLE
        return f"{_NAMES[name]} {shown if simple else given}", PREFIX
    spelled = name.replace("_", r"\_")
    return _LETTERED.get(name, rf"\operatorname{{{spelled}}}") + given, ATOM


class _Operand:
    """Operand in a form: `format` gets it with the tightness that its position needs."""

    def __init__(self, part: Part) -> None:
        self.part = part

    def __format__(self, spec: str) -> str:
        return _tight(self.part, int(spec))


def _tight(part: Part, needed: int) -> str:
    text, tight = part
    if tight >= needed:
        return text
    return rf"\left[{text}\right]" if tight == TRUTH else rf"\left({text}\right)"


def _part(x: Any, parts: Mapping[Value, Part]) -> Part:
    if isinstance(x, Value):
        return parts.get(x, (as_letter(x.name), ATOM))
    if isinstance(x, (tuple, list)):
        return rf"\left({', '.join([_part(e, parts)[0] for e in x])}\right)", ATOM
    return _number(x)


def _number(x: Any) -> Part:
    try:
        number = float(x)
    except (TypeError, ValueError):
        return rf"\text{{{type(x).__name__}}}", ATOM
    size = abs(number)
    known = next((t for n, t in _KNOWN.items() if math.isclose(n, size, rel_tol=1e-14)), None)
    text, _, exponent = (known or f"{size:.6g}").partition("e" if known is None else "\0")
    if exponent:
        text = rf"{text} \cdot 10^{{{int(exponent)}}}"
    return (f"-{text}", SUM) if number < 0 else (text, ATOM)


def as_letter(name: str) -> str:
    r"""Return a name as a letter of a formula.

    Examples
    --------
    >>> as_letter("x_bar"), as_letter("delta"), as_letter("axis_n")
    ('\\bar{x}', '\\delta', '\\mathrm{axis\\_n}')
    """
    name = name.lstrip("_")
    if name in _GREEK:
        return _GREEK[name]
    if name.endswith("_bar"):
        return rf"\bar{{{name.removesuffix('_bar')}}}"
    return name if len(name) == 1 else rf"\mathrm{{{name}}}".replace("_", r"\_")


def _flat(outputs: Any) -> Iterable[Any]:
    if isinstance(outputs, (tuple, list)):
        for x in outputs:
            yield from _flat(x)
    else:
        yield outputs
