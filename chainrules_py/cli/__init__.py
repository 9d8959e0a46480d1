"""The command ``chainrules``: what there is, what is wrong, and what to write.

``pip install "chainrules-py[cli]"`` brings what it is drawn with. ``python -m chainrules_py`` is
the same. What the commands compute can be called as well: `obstacles_in` and `migrated` take the
text of a program.
"""

from chainrules_py.cli.entry import main
from chainrules_py.cli.migrate import migrated
from chainrules_py.cli.obstacles import OBSTACLES, Obstacle, obstacles_in
from chainrules_py.cli.versions import show_versions

__all__ = ["OBSTACLES", "Obstacle", "main", "migrated", "obstacles_in", "show_versions"]
