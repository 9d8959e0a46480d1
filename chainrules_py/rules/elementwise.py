"""Rules for functions that act element by element. Broadcasting is the projection's business."""

from chainrules_py.rule import linear_rule, scalar_rule
from chainrules_py.vocabulary import add, conj, cos, divide, exp, lift, multiply, negative, real, sin, strong_multiply, subtract

scalar_rule(add, lambda _z, _x, _y: 1, lambda _z, _x, _y: 1, complex="holomorphic")
scalar_rule(subtract, lambda _z, _x, _y: 1, lambda _z, _x, _y: -1, complex="holomorphic")
scalar_rule(multiply, lambda _z, _x, y: y, lambda _z, x, _y: x, complex="holomorphic")
scalar_rule(negative, lambda _y, _x: -1, complex="holomorphic")
scalar_rule(sin, lambda _y, x: cos(x), complex="holomorphic")
scalar_rule(cos, lambda _y, x: -sin(x), complex="holomorphic")
scalar_rule(exp, lambda y, _x: y, complex="holomorphic")
linear_rule(conj, lambda y_bar, x: conj(y_bar))
linear_rule(lift, lambda y_bar, x, *, to: y_bar)
linear_rule(real, lambda y_bar, x: y_bar)
