"""A complete engine: both modes, to any order and nested in any way, for all that has a rule."""

import functools

import chainrules_py as cr
from chainrules_py import extend
from chainrules_py import ops as v

together = functools.partial(zip, strict=True)


class Value(extend.Tracer):
    """Stands for a value; what it carries is its place among the cotangents, or its tangent."""

    __payload__ = level = None

    def __init__(self, payload, trace, carried):
        self.__payload__, self.trace, self.level = payload, trace, trace.level
        self.carried = carried

    def __getattr__(self, name):
        if name in ("shape", "ndim", "size", "dtype", "device"):
            return getattr(self.__payload__, name)
        raise AttributeError(name)

    def __trace__(self, operation, operands, options, primal=None):
        """Run a call of which this differentiation is the innermost."""
        found, of = self.trace.split(operands)
        values = extend.unflatten(of, [x.__payload__ for x in found])
        types, wanted = tuple(map(type, values)), tuple([bool(x.num_leaves) for x in of.children])
        unknown = extend.find_rule(operation, types, config) is None
        if unknown and operation.has_body and not operation.opaque:
            return operation.__wrapped__(*operands, **options)  # look into it
        rule = extend.demand_rule(operation, types, config, self.trace.mode)
        bound = extend.bind(rule, types, wanted, self.trace.mode, primal=primal, config=config)
        if bound is None:  # no derivative flows
            return (primal or operation)(*values, **options)
        return self.trace.run(bound, found, of, values, options)

    def __array_ufunc__(self, ufunc, method, *operands, **options):
        f = ufunc if method == "__call__" else getattr(ufunc, method)
        return self.__array_function__(f, (), operands, options)

    def __array_function__(self, f, types, operands, options):
        extend.see(f, types)  # a library's functions are entered when one is first seen
        row = extend.aliases.get(f)
        return row.call(operands, options)() if row else NotImplemented

    __getitem__ = v.index


def operator(operation, swapped=False):
    return lambda *operands: operation(*(operands[::-1] if swapped else operands))


for name, (operation, _) in (*v.unary_operators.items(), *v.binary_operators.items()):
    setattr(Value, name, operator(operation))
    setattr(Value, f"__r{name[2:]}", operator(operation, swapped=True))


@functools.cache
def class_for(cls):  # rules are chosen by the type of the innermost payload
    return type("Value", (Value,), {"__dispatch_type__": getattr(cls, "__dispatch_type__", cls)})


moves = lambda x: extend.kind_of(x) in ("real", "complex")
dense = lambda t, x: cr.zero_tangent(x) if cr.is_zero(t) else cr.unthunk(t)


class Trace:
    """Differentiation in one mode."""

    def __init__(self, mode):
        self.mode, self.records, self.count = mode, [], 0
        self.level = extend.new_level()  # the inner differentiation begins later: it is higher

    def split(self, x):
        """Split something into the values of this differentiation and the rest."""
        return extend.partition(x, lambda x: getattr(x, "trace", None) is self)

    def enter(self, x, dots=None):
        """Something with values for all in it that moves."""
        leaves, of = extend.partition(x, moves)
        carried = range(self.count, self.count + of.num_leaves)
        if self.mode == "forward":
            carried = list(map(dense, extend.flatten_tangent(of, dots), leaves))
        self.count += of.num_leaves
        values = [class_for(type(x))(x, self, c) for x, c in together(leaves, carried)]
        return extend.unflatten(of, values), of, carried

    def run(self, bound, found, of, values, options):
        """Compute the result of a call, with values for what moves in it."""
        carried = [x.carried for x in found]
        if self.mode == "forward":
            dots = together(extend.unflatten_tangent(of, carried), bound.wanted)
            dots = tuple([t for t, wanted in dots if wanted])
            return self.enter(*bound.run(dots, *values, **options))[0]
        y, (pull, _, *saved) = bound.run(None, *values, **options)
        result, *entered = self.enter(y)
        self.records.append((pull, saved, bound.wanted, of, carried, *entered))
        return result

    def backward(self, bars):
        """Add up all cotangents by place, in reverse order of record."""
        for pull, saved, wanted, of, into, result, places in reversed(self.records):
            if not all([cr.is_zero(bars[i]) for i in places]):
                y_bar = extend.unflatten_tangent(result, [bars[i] for i in places])
                answer = pull(y_bar, *saved)
                rest = iter(answer if sum(wanted) > 1 else [answer])
                each = tuple([next(rest) if w else cr.ZeroTangent() for w in wanted])
                for i, part in together(into, extend.flatten_tangent(of, each)):
                    bars[i] = cr.add_tangents(bars[i], part)


def vjp(f, *xs):
    """Return the value, and the pullback: a tangent per operand for a cotangent of the value."""
    trace = Trace("reverse")
    entered, given, places = trace.enter(xs)
    found, out = trace.split(f(*entered))
    y = extend.unflatten(out, [value.__payload__ for value in found])

    def pullback(y_bar):
        bars = [cr.ZeroTangent()] * trace.count
        seeds = extend.flatten_tangent(out, extend.check_cotangent(y, y_bar))
        for value, t in together(found, seeds):
            bars[value.carried] = cr.add_tangents(bars[value.carried], t)
        trace.backward(bars)
        return tuple(extend.unflatten_tangent(given, [bars[i] for i in places]))

    return y, pullback


def jvp(f, xs, dots):
    """Compute the value and its tangent, for one tangent per operand."""
    trace = Trace("forward")
    found, out = trace.split(f(*trace.enter(xs, extend.canonicalize(xs, dots))[0]))
    y = extend.unflatten(out, [x.__payload__ for x in found])
    return y, extend.unflatten_tangent(out, [x.carried for x in found])


class Engine(cr.Config):
    """Derivatives that rules can ask for if they are given functions."""

    capabilities = frozenset({cr.ReverseMode, cr.ForwardMode})
    rrule_via_ad = staticmethod(vjp)
    frule_via_ad = staticmethod(lambda dots, f, *xs: jvp(f, xs, dots))


config = Engine()
