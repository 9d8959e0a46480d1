"""A listing of the calls of a program, which can be run again, in 54 lines."""

import functools

from chainrules_py import extend
from chainrules_py import ops as v

moves = lambda x: extend.kind_of(x) in ("real", "complex")


class Named(extend.Tracer):
    """A value with its number in the listing."""

    __payload__ = level = None
    shape = property(lambda self: self.__payload__.shape)  # which map, scan and reduce ask for

    def __init__(self, value, number, listing):
        self.__payload__, self.number = value, number
        self.listing, self.level = listing, listing.level

    def __trace__(self, operation, operands, options, primal=None):
        found, tree = self.listing.split(operands)
        values = extend.unflatten(tree, [x.__payload__ for x in found])
        y, out = self.listing.enter((primal or operation)(*values, **options))
        self.listing.lines.append(
            (primal or operation, tree, [x.number for x in found], options, out)
        )
        return y


for name, (operation, _) in v.binary_operators.items():  # the functions of map and scan use them
    setattr(Named, name, lambda x, y, operation=operation: operation(x, y))
    setattr(Named, f"__r{name[2:]}", lambda x, y, operation=operation: operation(y, x))


@functools.cache
def named(payload):
    return type("Named", (Named,), {"__dispatch_type__": payload})


class Listing:
    def __init__(self, f, *xs):
        self.level, self.lines, self.count = extend.new_level(), [], 0
        entered, self.given = self.enter(xs)
        found, self.tree = self.split(f(*entered))
        self.result = [x.number for x in found]

    def split(self, x):
        return extend.partition(x, lambda leaf: getattr(leaf, "listing", None) is self)

    def enter(self, y):
        leaves, tree = extend.partition(y, moves)
        numbers = range(self.count, self.count + len(leaves))
        self.count += len(leaves)
        pairs = zip(leaves, numbers, strict=True)
        return extend.unflatten(tree, [named(type(x))(x, i, self) for x, i in pairs]), tree

    def __call__(self, *xs):
        values = extend.partition(xs, moves)[0]
        for operation, tree, numbers, options, _ in self.lines:
            y = operation(*extend.unflatten(tree, [values[i] for i in numbers]), **options)
            values += extend.partition(y, moves)[0]
        return extend.unflatten(self.tree, [values[i] for i in self.result])

    def __str__(self):
        return "\n".join(
            [f"{operation.__name__}{numbers}" for operation, _, numbers, _, _ in self.lines]
        )
