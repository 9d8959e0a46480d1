"""A tape, in 80 lines: what docs/build-an-engine.md says is all that it needs."""

import functools

from chainrules_py import Config, ZeroTangent, add_tangents, extend, is_zero, unthunk
from chainrules_py import ops as v

config = Config()
moves = lambda x: extend.kind_of(x) in ("real", "complex")


class Recorded(extend.Tracer):
    """A value, and its place among the cotangents."""

    __payload__ = level = None
    shape = property(lambda self: self.__payload__.shape)  # which map, scan and reduce ask for

    def __init__(self, value, place, tape):
        self.__payload__, self.place, self.tape, self.level = value, place, tape, tape.level

    def __trace__(self, operation, operands, options, primal=None):
        found, tree = self.tape.split(operands)
        values = extend.unflatten(tree, [x.__payload__ for x in found])
        types = tuple(map(type, values))
        rule = extend.demand_rule(operation, types, config, "reverse")
        wanted = tuple([child.num_leaves > 0 for child in tree.children])
        bound = extend.bind(rule, types, wanted, "reverse", primal=primal, config=config)
        if bound is None:
            return (primal or operation)(*values, **options)
        y, record = bound.run((tree, [x.place for x in found], bound.wanted), *values, **options)
        entered, out, places = self.tape.enter(y)
        self.tape.records.append((record, out, places))
        return entered


for name, (operation, _) in v.binary_operators.items():  # the functions of map and scan use them
    setattr(Recorded, name, lambda x, y, operation=operation: operation(x, y))
    setattr(Recorded, f"__r{name[2:]}", lambda x, y, operation=operation: operation(y, x))


@functools.cache
def recorded(payload):
    return type("Recorded", (Recorded,), {"__dispatch_type__": payload})


class Tape:
    def __init__(self):
        self.level, self.records, self.count = extend.new_level(), [], 0

    def split(self, x):
        return extend.partition(x, lambda leaf: getattr(leaf, "tape", None) is self)

    def enter(self, y):
        leaves, tree = extend.partition(y, moves)
        places = range(self.count, self.count + len(leaves))
        self.count += len(leaves)
        pairs = zip(leaves, places, strict=True)
        return (
            extend.unflatten(tree, [recorded(type(x))(x, i, self) for x, i in pairs]),
            tree,
            places,
        )

    def pull(self, bars):
        for (pull, (tree, into, wanted), *saved), out, places in reversed(self.records):
            if all([is_zero(bars[i]) for i in places]):
                continue
            answer = pull(extend.unflatten_tangent(out, [bars[i] for i in places]), *saved)
            given = iter(answer if sum(wanted) > 1 else [answer])
            parts = tuple([next(given) if w else ZeroTangent() for w in wanted])
            for i, part in zip(into, extend.flatten_tangent(tree, parts), strict=True):
                bars[i] = add_tangents(bars[i], unthunk(part))


def vjp(f, xs, y_bar):
    tape = Tape()
    entered, given, places = tape.enter(xs)
    found, out = tape.split(f(*entered))
    y = extend.unflatten(out, [x.__payload__ for x in found])
    bars = [ZeroTangent()] * tape.count
    for x, bar in zip(
        found, extend.flatten_tangent(out, extend.check_cotangent(y, y_bar(y))), strict=True
    ):
        bars[x.place] = add_tangents(bars[x.place], bar)
    tape.pull(bars)
    return y, extend.unflatten_tangent(given, [bars[i] for i in places])
