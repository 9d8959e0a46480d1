"""Sphinx settings. The pages must be complete without a network; else the build fails."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# The documentation describes the tree it stands in, installed or not.
sys.path[:0] = [str(HERE / "_ext"), str(ROOT), str(ROOT / "backends")]

project = "chainrules_py"
author = "The chainrules_py developers"
copyright = author
release = version = importlib.import_module("chainrules_py").__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "sphinx_copybutton",
    "api_pages",
    "operations_table",
    "extend_table",
    "adapters_table",
    "coverage_table",
    "libraries_table",
    "messages_table",
    "rule_book",
    "scipy_texts",
    "outputs",
    "offline",
]
exclude_patterns = ["_build", "_ext", "_templates", "jupyter_execute", "**.ipynb_checkpoints"]
nitpicky = False
suppress_warnings = ["ref.python"]  # `T` of an annotation may be one of several attributes
default_role = "py:obj"

# ---------------------------------------------------------------------------------- reference
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_validation_checks: set[str] = set()

# ---------------------------------------------------------------------------- pages and notebooks
# Formulas in the text are written in Unicode; those of the rule book are set by scripts that a
# package brings along, not fetched from a network.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
# Notebook pages (those with a `kernelspec` in their head) are run at each build.
nb_execution_mode = "force"
# A cell that fails is a warning: `sphinx-build -W --keep-going` reports it after writing all pages.
nb_execution_raise_on_error = False
nb_execution_timeout = 300
nb_merge_streams = True
nb_render_markdown_format = "myst"  # with tables
# Widgets would load two scripts from a network.
nb_ipywidgets_js: dict[str, dict[str, str]] = {}

# ---------------------------------------------------------------------------------------- HTML
html_theme = "pydata_sphinx_theme"
html_title = "chainrules_py"
# Its scripts alone: as an extension it does not say whether pages may be read in parallel.
MATHJAX = Path(str(importlib.import_module("sphinx-mathjax-offline").__file__)).parent
html_static_path = ["_static", str(MATHJAX / "static")]
mathjax_path = "mathjax/tex-chtml.js"
html_css_files = ["house.css"]
html_search_scorer = str(HERE / "_ext" / "search.js")
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
    "show_nav_level": 1,
    "navbar_center": [],
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
templates_path = ["_templates"]
html_sidebars = {"**": ["pages.html"]}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
