"""Programs as people bring them: small and large, with their derivatives by hand and by engines.

``python -m benchmarks.others`` measures them and prints how each engine compares to NumPy by hand.
"""

from benchmarks.others.chains import CHAINS
from benchmarks.others.letters import LETTERS_FORESEEN
from benchmarks.others.models import MODELS
from benchmarks.others.other import ENGINES, Other, difference
from benchmarks.others.parts import PARTS
from benchmarks.others.second import SECOND
from benchmarks.others.waste import VARIED, WASTE

__all__ = ["ENGINES", "OTHERS", "WASTED", "Other", "difference"]

OTHERS: dict[str, Other] = {
    program.name: program
    for program in (*CHAINS, *SECOND, *MODELS, *LETTERS_FORESEEN, *PARTS, VARIED, *WASTE)
}
"""The programs by their names."""
WASTED = frozenset(program.name for program in WASTE)
"""Those that a compiler wins by leaving out work; a mean without them is given as well."""
