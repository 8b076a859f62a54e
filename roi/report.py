"""Reports: `notebooks/proposal.ipynb` run for each proposal, its page and its numbers, and an index that compares them all.

The notebook imports this module too, so papermill and nbconvert are imported only where they are used.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

import roi
from roi import amounts, words
from roi.files import write_whole
from roi.inputs import ROOT, inputs, model
from roi.lines import did_you_mean
from roi.problems import InputError, Problem
from roi.proposals import FLEETS, Proposal
from roi.reading import load, parse
from roi.results import Result, evaluate
from roi.typeset import mathml

if TYPE_CHECKING:
    import jinja2
    from nbformat import NotebookNode

    from roi.portfolio import Portfolio

NOTEBOOK = ROOT / "notebooks" / "proposal.ipynb"
TEMPLATES = Path(__file__).parent / "report_template"
STYLES = Path(__file__).parent / "board"
FILES = ("report.html", "report.ipynb", "workbook.xlsx", "results.json")

# --- what the notebook calls ------------------------------------------------------------------------------------------------

_HISTORY = re.compile(r"_{1,3}|_i{1,3}|_i?\d+")
"""Names under which IPython keeps what was typed and shown."""


def _parameters(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters among a notebook's `globals()`.

    papermill injects an unknown name as gladly as a known one, so every plain value in the notebook counts as a parameter.
    """
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    hidden = shell.user_ns_hidden if shell else {}
    return {
        name: value
        for name, value in namespace.items()
        if isinstance(value, str | int | float | list | dict | None)
        and not _HISTORY.fullmatch(name)
        and not (name in hidden and hidden[name] is value)
    }


def from_parameters(namespace: Mapping[str, Any]) -> Result:
    """The result for a notebook's parameters: a proposal, and the inputs that are set to other values.

    Args:
        namespace: the notebook's `globals()`. `proposal` is a path or a shipped name, or a mapping of its `text`, its `key`
            and the `folder` from which its text names files; `sites` holds values of single regions; any other name is an
            input, and None leaves it as the proposal has it.

    Raises:
        InputError: an unknown name, a value that its input refuses, or a proposal that is refused.
    """
    given = _parameters(namespace)
    proposal, sites = given.pop("proposal", None), given.pop("sites", None) or {}
    scalars = [row.name for row in inputs().values() if row.axis == "scalar"]
    problems = []
    if not isinstance(proposal, str) and not _is_text(proposal):
        problems.append(f"proposal is {proposal!r}; write the path of a YAML file or the name of a shipped proposal")
    if not isinstance(sites, dict):
        problems.append(f"sites is {sites!r}; write -y 'sites: {{proposed.europe-west4.gpu_price: 12}}'")
    for name in given:
        if name in inputs() and name not in scalars:
            problems.append(f"{name} has a value for each site; write -y 'sites: {{proposed.europe-west4.{name}: ...}}'")
        elif name not in scalars:
            problems.append(f"'{name}' is not a parameter{did_you_mean(name, ['proposal', 'sites', *scalars])}")
    if problems:
        raise InputError([Problem(problem, "parameters") for problem in problems])
    read = load(proposal) if isinstance(proposal, str) else _parsed(**proposal)
    return evaluate(read, {name: value for name, value in given.items() if value is not None} | sites)


def _is_text(proposal: Any) -> bool:
    """Whether it is the text of a proposal with its key, its folder and, where it goes by another, its name."""
    fields = {"text", "key", "folder"}
    return isinstance(proposal, dict) and fields <= set(proposal) <= fields | {"name"} and _is_list_of_words([*proposal.values()])


def _parsed(text: str, key: str, folder: str, name: str = "") -> Proposal:
    proposal = parse(text, str(Path(folder) / f"{key}.yaml"), key)
    return replace(proposal, name=name) if name else proposal


def portfolio_from_parameters(namespace: Mapping[str, Any]) -> Portfolio:
    """What to fund, for a notebook's parameters.

    Args:
        namespace: the notebook's `globals()`. `proposals` is a list of paths and shipped names, `budget` an amount of dollars
            such as 3000000 or 3M, `exclusive` and `independent` are lists of groups of these proposals.

    Raises:
        InputError: an unknown name, or what `roi.portfolio` refuses.
    """
    from roi.portfolio import fund, read, read_budget

    given, known = _parameters(namespace), ("proposals", "budget", "exclusive", "independent")
    problems = [f"'{name}' is not a parameter{did_you_mean(name, known)}" for name in given if name not in known]
    names, budget, exclusive, independent = (given.get(name) for name in known)
    if not _is_list_of_words(names):
        problems.append(f"proposals is {names!r}; write a list of paths and shipped names, such as [two-region, mine.yaml]")
    for name, each in (("exclusive", exclusive), ("independent", independent)):
        if each is not None and not (isinstance(each, list) and all(map(_is_list_of_words, each))):
            problems.append(f"{name} is {each!r}; write a list of groups, such as [[two-region, mine.yaml]]")
    try:
        amount = read_budget(budget)
    except ValueError as error:
        problems.append(f"budget: {error}")
    if problems:
        raise InputError([Problem(problem, "parameters") for problem in problems])
    return fund(read(names or []), amount, exclusive or [], independent or [])


def _is_list_of_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def portfolio_page(found: Portfolio) -> str:
    """What to fund and why, as HTML: the answer, every proposal in a table, and risk against return."""
    from roi import charts, portfolio

    answer, *more = portfolio.sentences(found)
    return (
        _templates()
        .get_template("portfolio.html.j2")
        .render(
            answer=answer,
            more=more,
            headings=portfolio.HEADINGS,
            rows=portfolio.rows(found),
            svg=Markup(charts.risk_svg(found)),
            drawn=portfolio.drawn(found),
        )
    )


MOST_FACTS = 12
"""Facts that the table of a report lists, the one that moves the net gain most first."""


def influence_table(result: Result) -> str:
    """Which facts the spread of the net gain comes from, and what measuring each is worth at most, as an HTML table."""
    from roi.information import value_of_measuring
    from roi.sensitivity import sensitivity
    from roi.uncertain import uncertain

    proposal = result.proposal
    template = _templates().get_template("influence.html.j2")
    if not uncertain(proposal):
        return template.render(heads=[], rows=[], sentences=[words.SENTENCES["no_odds"]])
    found, information = sensitivity(proposal), value_of_measuring(proposal)
    worth = {each.label: amounts.money(each.evppi) for each in information.facts}
    heads, *rows = words.influence_rows(found)
    others = len(rows) - MOST_FACTS
    return template.render(
        heads=[*heads, "Worth measuring, at most"],
        rows=[[*row, worth[row[0]]] for row in rows[:MOST_FACTS]],
        sentences=[
            *([f"Each of the other {others} facts moves it less."] if others > 0 else []),
            words.measure_sentence(information),
            *words.sensitivity_sentences(proposal, found),
        ],
    )


def break_even_curve(result: Result, first: str, second: str) -> str:
    """The pairs of two inputs at which the net gain is zero, as an HTML figure."""
    from roi import charts

    labels = " and ".join(inputs()[name].label.lower() for name in (first, second))
    return (
        f'<figure style="max-width: 720px"><div class="chart">{charts.pair_svg(result, first, second)}</div>'
        f"<figcaption>Break-even of {labels}, the others as they are</figcaption></figure>"
    )


def monthly_table(result: Result) -> str:
    """The cash of each month in whole dollars as an HTML table."""
    known = model()
    behind = {*_behind("cumulative"), *_behind("discounted")}
    shown = {name: known.lines[name].label for name in result.months if name in behind and str(known.unit(name)) == "USD"}
    dollars = result.to_frame()[list(shown)].map(lambda value: amounts.boxed(amounts.half_up(value, 0)))
    frame = dollars.rename(columns=shown).rename_axis(index=None, columns="Month")
    table = frame.to_html(border=0, classes="months")
    return f'<div class="wide" role="region" tabindex="0" aria-label="Month by month">{table}</div>'


def lines_table(result: Result, name: str) -> str:
    """The lines behind a number, in the order in which they are read, each with its value and formula, as an HTML table."""
    rows = [
        (each, model().lines[each].label, _values(result, each), Markup(mathml(model().formulas[each])))
        for each in model().lines
        if each in _behind(name)
    ]
    return _templates().get_template("lines.html.j2").render(rows=rows)


@cache
def _behind(name: str) -> set[str]:
    """The line itself and every line that it reads, at whatever remove."""
    line = model().lines.get(name)
    return {name}.union(*(_behind(each) for each in line.arguments)) if line else set()


def _values(result: Result, name: str) -> list[tuple[str, str]]:
    """(where, value) of a line: of a line by site every site's, of a line by month the first and the last."""
    unit, axis = str(model().unit(name)), model().axes[name]
    if axis == "scalar":
        return [("", words.show_line(result, name))]
    if axis == "site":
        places = [" ".join(site) for site in result.proposal.regions]
        return [(place, amounts.quantity(float(value), unit)) for place, value in zip(places, result[name], strict=True)]
    return [(f"month {month}", amounts.quantity(result.months[name][month], unit)) for month in (0, len(result.months[name]) - 1)]


# --- files ------------------------------------------------------------------------------------------------------------------


def as_json(data: Any) -> str:
    """Strict JSON with sorted keys; what is infinite or undefined is null."""

    def strict(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: strict(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [strict(each) for each in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return json.dumps(strict(data), allow_nan=False, indent=2, sort_keys=True)


def results_json(result: Result) -> str:
    """The inputs, lines, flags and checks of a result; equal inputs give equal bytes."""
    from roi.simulate import on_a_page

    proposal, rows = result.proposal, inputs().values()
    contents = {
        "proposal": proposal.key,
        "name": proposal.name,
        "version": roi.__version__,
        "input_hash": proposal.fingerprint,
        "inputs": {row.name: proposal.number(row.name) for row in rows if row.axis == "scalar"},
        "sites": {
            fleet: {
                region: {row.name: proposal.site_number(fleet, region, row.name) for row in rows if row.axis == "site"}
                for region in proposal.sites[fleet]
            }
            for fleet in FLEETS
        },
        "lines": result.scalars,
        "months": result.months,
        "flags": result.flags,
        "checks": result.checks,
        "odds": asdict(odds) if (odds := on_a_page(proposal)[2]) else None,
    }
    return as_json(contents) + "\n"


def flags(result: Result) -> list[str]:
    """What is odd but legal today, in the numbers and in where they come from."""
    return [*result.flags, *words.standing_flags(result.proposal, date.today())]


# --- reports ----------------------------------------------------------------------------------------------------------------


LONGEST_KEY = 200
"""Bytes; file systems take 255 for a name."""


def key_problem(key: str) -> str:
    """Why a key cannot name the folder of a report; empty where it can."""
    if key == "index.html" or key.startswith("."):
        return f"'{key}', which is not free"
    if "/" in key or "\\" in key or not key.isprintable():
        return f"{key!r}, which holds what no name may hold"
    return f"'{key[:40]}...', which is too long" if len(os.fsencode(key)) > LONGEST_KEY else ""


def prepare(proposals: Mapping[str, Proposal], folder: Path) -> None:
    """Make the folder that receives the reports, before any of them is begun.

    Args:
        proposals: the checked proposals, by the path or name under which the user knows them.
        folder: receives a folder for each proposal, named by its key.

    Raises:
        InputError: the folder cannot be made or written to, or two proposals would share one folder.
    """
    problems = []
    by_key: dict[str, list[str]] = {}
    for given, proposal in proposals.items():
        by_key.setdefault(proposal.key, []).append(given)
    for key, sharing in by_key.items():
        if len(sharing) > 1:
            problems.append(Problem(f"{' and '.join(sharing)} would both be reported in {folder / key}; rename one of the files"))
        if why := key_problem(key):
            problems.append(Problem(f"{sharing[0]} cannot give its name to a folder, {why}; rename the file"))
    if folder.exists() and not folder.is_dir():
        problems.append(Problem("is a file; give a folder that receives the reports", str(folder)))
    if problems:
        raise InputError(problems)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError([Problem(f"cannot be made: {error.strerror}", str(folder))]) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError([Problem("cannot be written to; give another folder, or the right to write there", str(folder))])


def steps() -> int:
    """How many steps a report takes: the cells of the notebook, and writing its files."""
    # Read without nbformat, whose import takes a second that the kernels would be kept from starting in.
    return [cell["cell_type"] for cell in json.loads(NOTEBOOK.read_bytes())["cells"]].count("code") + 1


def write_index(results: Mapping[str, Result], failed: Mapping[str, str], folder: Path) -> None:
    """Write the page that compares the reports in a folder: numbers, verdicts, differences from the first, and what failed.

    Args:
        results: the results that are reported, by the path or name under which the user knows them.
        failed: what went wrong with the others.
        folder: where the reports are.
    """
    from roi.simulate import on_a_page

    shown = list(results.values())
    page = _templates().get_template("index.html.j2")
    text = page.render(
        results=shown,
        failed=failed,
        files=FILES,
        tiles=words.TILES,
        labels={name: model().lines[name].label for name in words.TILES},
        show=words.show_line,
        verdict=words.verdict,
        odds={result.proposal.key: words.odds_sentence(on_a_page(result.proposal)[2]) for result in shown},
        difference=partial(_difference, shown[0]),
        differing=_differing([result.proposal for result in shown]),
        flags={result.proposal.key: flags(result) for result in shown},
        version=roi.__version__,
    )
    write_whole(folder / "index.html", text)


def _difference(first: Result, other: Result, name: str) -> str:
    """How much more or less than in the first result, with its sign; nothing where either is infinite."""
    difference = other[name] - first[name]
    if not math.isfinite(difference):
        return ""
    unit = str(model().unit(name))
    shown = amounts.money(difference) if unit == "USD" else amounts.quantity(amounts.half_up(difference, 1), unit)
    return ("+" if difference > 0 else "") + shown


def _differing(proposals: list[Proposal]) -> list[tuple[str, str, str, list[str]]]:
    """Label, place, unit and each proposal's value of every input that differs.

    Of a region that only some proposals have, it is the inputs that their files give.
    """
    regions = list(dict.fromkeys(site for each in proposals for site in each.regions))
    rows = []
    for row in inputs().values():
        for fleet, region in regions if row.axis == "site" else [("", "")]:
            having = [each for each in proposals if not fleet or region in each.sites[fleet]]
            numbers = [each.site_number(fleet, region, row.name) if fleet else each.number(row.name) for each in having]
            said = any(fleet and row.name in each.sites[fleet][region] for each in having)
            if len(set(numbers)) > 1 or (said and len(having) < len(proposals)):
                values = dict(zip((each.key for each in having), map(amounts.boxed, numbers), strict=True))
                unit = amounts.unit_words(row.unit)[1] if row.unit != "1" else ""
                place = f"{fleet}, {region}" if fleet else ""
                rows.append((row.label, place, unit, [values.get(each.key, "no such region") for each in proposals]))
    return rows


def files_of(text: str, key: str, folder: str, on_step: Callable[[], None] = lambda: None) -> dict[str, bytes]:
    """The report of one proposal: the content of each of `FILES`, by name. Nothing is written.

    Args:
        text: the proposal as YAML.
        key: names the report.
        folder: from which the text names files of measurements.
        on_step: called once for each cell of code that has run.

    Returns:
        The files. `results.json` is equal for equal arguments; a notebook says when it was run.

    Raises:
        InputError: the proposal is refused.
        RuntimeError: the notebook fails; the message is that of its error.
    """
    return files(_parsed(text, key, folder), {"text": text, "key": key, "folder": folder}, {}, on_step)


def files(
    proposal: Proposal, said: Mapping[str, str], changes: Mapping[str, float], on_step: Callable[[], None]
) -> dict[str, bytes]:
    """The same for a proposal that has been read already.

    Args:
        proposal: with the changes.
        said: how the notebook reads it, as `from_parameters` takes it.
        changes: other values for inputs, as `roi.evaluate` takes them.
        on_step: as above.
    """
    import nbformat

    from roi.sheet import workbook

    # First what needs no kernel: that of the first report is not yet there.
    numbers = {"workbook.xlsx": workbook(proposal), "results.json": results_json(Result(proposal)).encode()}
    scalars = {name: value for name, value in changes.items() if "." not in name}
    sites = {name: value for name, value in changes.items() if "." in name}
    notebook = _executed({"proposal": dict(said), **scalars, **({"sites": sites} if sites else {})}, on_step)
    source = nbformat.writes(notebook) + "\n"  # type: ignore[no-untyped-call]
    return {"report.html": _html(notebook, proposal).encode(), "report.ipynb": source.encode(), **numbers}


def warm_up() -> None:
    """Computes once what every report would compute again, for the kernels that are forked from this process.

    It asks a process that draws, as `roi.drawing` does, and starts no thread then.
    """
    from roi.board import Page

    result = evaluate(load("two-region"))
    Page(result.proposal)._repr_html_()
    influence_table(result)
    break_even_curve(result, "latency_saved", "value_per_release_day")
    monthly_table(result)
    lines_table(result, "net_gain")


def _notebook() -> NotebookNode:
    import nbformat

    notebook: NotebookNode = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    return notebook


def _executed(parameters: Mapping[str, Any], on_step: Callable[[], None]) -> NotebookNode:
    """The notebook with its outputs for one proposal, as its parameters name it.

    Raises:
        RuntimeError: a cell fails; the message is that of its error.
    """
    import papermill  # type: ignore[import-untyped]

    from roi.kernels import OwnKernel

    # What goes wrong is said once, by us.
    logging.getLogger("papermill").setLevel(logging.CRITICAL)
    try:
        executed: NotebookNode = papermill.execute_notebook(
            _notebook(),
            None,
            dict(parameters),
            kernel_name="python3",
            progress_bar=False,
            kernel_manager_class=OwnKernel,
            shutdown_kernel="immediate",
            on_cell_executed=lambda **_: on_step(),
        )
    except papermill.PapermillExecutionError as error:
        raise RuntimeError(f"{error.ename}: {error.evalue}") from error
    return executed


def _html(notebook: NotebookNode, proposal: Proposal) -> str:
    """The executed notebook as one self-contained page: its words and outputs, not its code."""
    from nbconvert.exporters import TemplateExporter

    exporter = TemplateExporter(  # type: ignore[no-untyped-call]
        extra_template_basedirs=[str(TEMPLATES.parent)],
        extra_template_paths=[str(STYLES)],
        template_name=TEMPLATES.name,
        template_file="report.html.j2",
    )
    text, _ = exporter.from_notebook_node(notebook, {"metadata": {"name": proposal.name}})
    return str(text)


@cache
def _templates() -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader([TEMPLATES, STYLES]), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
