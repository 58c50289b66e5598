"""Sphinx: `sphinx-build -W -b html docs BUILD` makes the site, from the root of the repository."""

from importlib.metadata import version as installed

project = "sfs"
author = "sfs developers"
copyright = "sfs developers, BSD 3-Clause"
version = release = installed("sfs-cli")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.intersphinx",
]
# no other site is asked: a build needs no network
intersphinx_mapping: dict[str, tuple[str, str]] = {}

source_suffix = {".md": "markdown"}
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
exclude_patterns = ["_build"]

napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
# docstrings name parameters and functions in single backticks, as numpydoc does
default_role = "code"

smartquotes = False  # they would make one dash of the two of an option

html_theme = "furo"
html_title = f"sfs {release}"
html_show_sourcelink = False
templates_path: list[str] = []
nitpicky = False
