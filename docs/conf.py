"""The site: ``python scripts/docs.py`` builds it. Its source is the whole tree, so that links need no change."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

from fsmodels.version import __version__  # noqa: E402

project = "fsmodels"
author = "the fsmodels authors"
copyright = f"2026, {author}"
version = release = __version__

root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/**/*.md",
    "notebooks/*.ipynb",
    "benchmarks/benchopt/README.md",
    "benchmarks/results/*.md",
    "data/SOURCES.md",
    "solvers/README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
]
exclude_patterns = ["build", "docs/_build", "**/.ipynb_checkpoints"]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
extensions += ["sphinx.ext.viewcode"]
extensions += ["gallery", "mathml", "plain_docstrings", "public_names"]

html_theme = "furo"
html_title = f"fsmodels {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False

nb_execution_mode = "off"  # what is stored is shown
nb_number_source_lines = False
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
suppress_warnings = [
    "myst.header",
    "mystnb.unknown_mime_type",
    "ref.python",  # names of parameters that several classes have
]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autosummary_generate = False
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
default_role = "code"
add_module_names = False


def _those_there(app, docname, source):
    """Leave out of the contents what ends with "?" and is no page of this tree."""
    if docname == root_doc:
        lines = source[0].splitlines()
        there = [line for line in lines if not line.endswith("?") or (HERE / f"{line[:-1]}.md").is_file()]
        source[0] = "\n".join(line.removesuffix("?") for line in there)


def setup(app):
    """Connect it to Sphinx."""
    app.connect("source-read", _those_there)
