"""The page of an audit: the answer, every claim with its verdict, and the arithmetic behind each."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

from roi.review.claims import HEADINGS, NOTES, Audit


def section(found: Audit) -> str:
    """The audit as an HTML section."""
    return _template().render(found=found, headings=HEADINGS, notes=NOTES)


def page(found: Audit) -> str:
    """The audit with the style of the app, for a notebook."""
    from roi.board.page import style

    return Markup('<style>{}</style>\n<div class="roi-board">\n{}\n</div>').format(Markup(style()), Markup(section(found)))


@cache
def _template() -> jinja2.Template:
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    return environment.get_template("claims.html.j2")
