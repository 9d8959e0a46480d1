"""Dual numbers, in 60 lines: what docs/build-an-engine.md says is all that they need."""

import functools

from chainrules_py import Config, extend, unthunk
from chainrules_py import ops as v

config = Config()
moves = lambda x: extend.kind_of(x) in ("real", "complex")


class Dual(extend.Tracer):
    """A value and its tangent."""

    __payload__ = level = None
    shape = property(lambda self: self.__payload__.shape)  # which map, scan and reduce ask for

    def __init__(self, value, dot, level):
        self.__payload__, self.dot, self.level = value, dot, level

    def __trace__(self, operation, operands, options, primal=None):
        found, tree = split(operands, self.level)
        values = extend.unflatten(tree, [x.__payload__ for x in found])
        types = tuple(map(type, values))
        rule = extend.demand_rule(operation, types, config, "forward")
        wanted = tuple([child.num_leaves > 0 for child in tree.children])
        bound = extend.bind(rule, types, wanted, "forward", primal=primal, config=config)
        if bound is None:
            return (primal or operation)(*values, **options)
        dots = extend.unflatten_tangent(tree, [x.dot for x in found])
        dots = tuple([dot for dot, wanted in zip(dots, bound.wanted, strict=True) if wanted])
        return enter(*bound.run(dots, *values, **options), self.level)


for name, (operation, _) in v.binary_operators.items():  # the functions of map and scan use them
    setattr(Dual, name, lambda x, y, operation=operation: operation(x, y))
    setattr(Dual, f"__r{name[2:]}", lambda x, y, operation=operation: operation(y, x))


@functools.cache
def dual(payload):
    return type("Dual", (Dual,), {"__dispatch_type__": payload})


def split(x, level):
    return extend.partition(x, lambda leaf: isinstance(leaf, Dual) and leaf.level == level)


def enter(y, y_dot, level):
    leaves, tree = extend.partition(y, moves)
    dots = map(unthunk, extend.flatten_tangent(tree, y_dot))
    return extend.unflatten(
        tree, [dual(type(x))(x, t, level) for x, t in zip(leaves, dots, strict=True)]
    )


def jvp(f, xs, x_dots):
    level = extend.new_level()
    found, tree = split(f(*enter(xs, extend.canonicalize(xs, x_dots), level)), level)
    y = extend.unflatten(tree, [x.__payload__ for x in found])
    return y, extend.unflatten_tangent(tree, [x.dot for x in found])
