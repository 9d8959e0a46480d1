"""What functions look up when they are called: searched, for engines that run them again."""

from chainrules_bridge.reach.names import global_names, names_in
from chainrules_bridge.reach.places import entries, written
from chainrules_bridge.reach.walk import Reach

__all__ = ["Reach", "entries", "global_names", "names_in", "written"]
