"""The command ``chainrules``: look up rules, check them, and find code that does not trace.

``pip install "chainrules-py[cli]"`` installs its dependencies. ``python -m chainrules_py`` is the
same command. Some commands are functions as well: `obstacles_in` and `migrated` take the text of a
program.
"""

from chainrules_py.cli.entry_point import main
from chainrules_py.cli.migrate_from_autograd import migrated
from chainrules_py.cli.untraceable_code import OBSTACLES, Obstacle, obstacles_in
from chainrules_py.cli.versions import show_versions

__all__ = ["OBSTACLES", "Obstacle", "main", "migrated", "obstacles_in", "show_versions"]
