"""The view of scaling: the answer, time and cost against GPUs, and the figures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

from roi.review.scaling import Curve, answer, flags, headline, notes, sentences, table
from roi.review.scaling_charts import HEIGHT, WIDTH, cost_svg, time_svg


def section(found: Sequence[Curve]) -> str:
    """Curves as an HTML section."""
    return _template().render(
        answer=answer(found),
        several=len(found) > 1,
        ratio=f"{WIDTH}/{HEIGHT}",
        time_svg=Markup(time_svg(found)),
        cost_svg=Markup(cost_svg(found)),
        table=table(found),
        curves=[(each.series.name, headline(each), sentences(each)) for each in found],
        flags=flags(found),
        notes=notes(found),
    )


@cache
def _template() -> jinja2.Template:
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    return environment.get_template("scaling.html.j2")
