"""How Sphinx builds the documentation: `make docs` writes site/."""

import json
import re
from importlib import metadata
from pathlib import Path

project = "Richter"
author = "The Richter developers"
release = metadata.version("richter")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
exclude_patterns = ["README.md", "images/*.py"]  # README is the first page, by inclusion
html_theme = "furo"
html_title = f"Richter {release}"
html_show_sphinx = False
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"


def setup(app):
    """Docstrings are plain words with formulas in them: what reStructuredText would read as markup is escaped."""
    app.connect("autodoc-process-docstring", _as_words)
    app.connect("build-finished", _with_schema)
    app.connect("source-read", _with_words)


def _with_schema(app, fault):
    from richter.audit import results_schema

    Path(app.outdir, "results.schema.json").write_text(json.dumps(results_schema(), indent=1) + "\n", encoding="utf-8")


def _with_words(app, docname, source):
    if docname == "reference/glossary":
        from richter.words import GLOSSARY

        rows = (f"| **{term}** | {text} |" for term, text in GLOSSARY.items())
        source[0] += "\n".join(["", "| word | meaning |", "|---|---|", *rows, ""])


def _as_words(app, what, name, obj, options, lines):
    for k, line in enumerate(lines):
        parts = line.split("`")
        parts[::2] = [re.sub(r"([|*_])", r"\\\1", part) for part in parts[::2]]
        lines[k] = "`".join(parts)
