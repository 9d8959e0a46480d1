"""What functions may look up when they are called, for engines that run them again."""

from chainrules_bridge.reach.names import names_in
from chainrules_bridge.reach.walk import generators_of

__all__ = ["generators_of", "names_in"]
