"""The board as a widget: the director's app in Voila, and in JupyterLab.

Every scalar input is a synced trait, so that a notebook can set `board.latency_saved = 90` and read `board.net_gain`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import date
from typing import Any

import anywidget
import traitlets

from roi.alternatives import known_alternative
from roi.assets import SCRIPT_ADDRESS
from roi.board.intake import Intake
from roi.board.page import payload, script, style, vega
from roi.board.views import VIEWS
from roi.inputs import inputs
from roi.problems import InputError
from roi.proposals import Proposal
from roi.reading import load, shipped
from roi.results import Result


def _module() -> str:
    """The ES module of the widget: from the server where one serves it, so that a browser keeps it; else brought along."""
    address = os.environ.get(SCRIPT_ADDRESS)
    if address is None:
        return f"{vega()}{script()}\nexport default {{ render }};\n"
    where = f"new URL({json.dumps(address)}, location.origin).href"
    return f"const {{ render }} = await import({where});\nexport default {{ render }};\n"


class _Board(anywidget.AnyWidget):
    """The page of a proposal with the others to choose from.

    Args:
        proposal: the key of the proposal shown first.
        proposals: those to choose from; the shipped ones by default.

    `board.net_gain`, `board.cumulative` and every other line are computed here, in Python, from the board's present inputs.
    """

    _esm = _module()
    _css = style()

    data = traitlets.Dict().tag(sync=True)
    proposal = traitlets.Unicode().tag(sync=True)
    sites = traitlets.Dict().tag(sync=True)

    def __init__(self, proposal: str = "two-region", proposals: list[Proposal] | None = None) -> None:
        self._proposals = {each.key: each for each in proposals or map(load, shipped())}
        if proposal not in self._proposals:
            raise InputError(f"there is no proposal '{proposal}' on this board; it has {', '.join(self._proposals)}")
        chosen = self._proposals[proposal]
        # A page of the app has the shipped proposals already, and shows the first; it asks where it lacks them.
        known = proposals is None and proposal == shipped()[0] and SCRIPT_ADDRESS in os.environ
        super().__init__(
            data={} if known else self._payload(proposal),
            proposal=proposal,
            **{row.name: chosen.number(row.name) for row in inputs().values() if row.axis == "scalar"},
        )
        self._intake = Intake()
        self.on_msg(self._answer)

    def _answer(self, _: Any, message: Any, buffers: Any) -> None:
        """What the browser asks beside setting inputs: whether the kernel is there, a view, to read evidence from files."""
        kind = message.get("kind") if isinstance(message, dict) else None
        if kind == "ping":
            self.send({"kind": "pong"})
            return
        try:
            if kind == "piece":
                self._intake.piece(str(message.get("name", "")), bool(message.get("first")), bytes(buffers[0]))
                self.send({"kind": "kept"})
            elif kind == "view" and message.get("name") in VIEWS:
                name, proposal = message["name"], self._proposals.get(message.get("proposal", ""), self._proposals[self.proposal])
                result = Result(proposal.with_values(message.get("changes") or {}))
                self.send({"kind": "view", "name": name, "html": VIEWS[name].section(result)})
            elif kind == "read":
                self.send({"kind": "evidence", **self._intake.read(self._proposals[self.proposal], message)})
            elif kind == "data":
                self.data = self._payload(self.proposal)
            elif kind == "take":
                changed = self._intake.take()
                self._proposals[changed.key] = changed
                self.data = self._payload(changed.key, [changed])
        except InputError as error:
            self.send({"kind": "unread", "reason": str(error)})
        except Exception as error:
            # Whatever else goes wrong with a file, the page says so and goes on; the log has the rest.
            self.log.exception("evidence from the app")
            self._intake.forget()
            self.send({"kind": "unread", "reason": f"that did not work: {error}"})

    def _payload(self, selected: str, of: Iterable[Proposal] | None = None) -> dict[str, Any]:
        """The board's data, of all its proposals or of those that have changed."""
        described = {each.key: each for each in of or self._proposals.values()}
        return payload(described, selected, known_alternative(), date.today(), with_html=True, among=self._proposals.values())

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """What a browser asks for: inputs, the proposal and its sites are set, and nothing else that it sends.

        A refused value leaves the board as it was and comes back as a sentence. A traceback never does.
        """
        asked = {name: value for name, value in sync_data.items() if name in _traits or name in ("proposal", "sites")}
        try:
            super().set_state(asked)
        except traitlets.TraitError as error:
            self.send_state(list(asked))
            self.send({"kind": "refused", "reason": str(error)})

    @traitlets.validate("proposal")
    def _known_proposal(self, change: Any) -> str:
        if change["value"] not in self._proposals:
            raise traitlets.TraitError(f"there is no proposal '{change['value']}'")
        return str(change["value"])

    @traitlets.validate("sites")
    def _known_sites(self, change: Any) -> dict[str, float]:
        """Other values of site inputs, by path; whatever the browser sends is checked as a user's input is."""
        try:
            self._proposals[self.proposal].with_values(change["value"])
        except InputError as error:
            raise traitlets.TraitError(str(error)) from None
        return dict(change["value"])

    @property
    def result(self) -> Result:
        """The model's answer to the board's present inputs."""
        scalars = {row.name: getattr(self, row.name) for row in inputs().values() if row.axis == "scalar"}
        return Result(self._proposals[self.proposal].with_values({**scalars, **self.sites}))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("result", "comm"):
            raise AttributeError(name)
        return getattr(self.result, name)


def _checked(name: str) -> Any:
    """The validator of one input's trait: what the browser sends is checked as a user's input is."""

    def check(self: _Board, change: Any) -> float:
        try:
            return inputs()[name].check(change["value"])
        except ValueError as error:
            raise traitlets.TraitError(str(error)) from None

    return traitlets.validate(name)(check)


_traits: dict[str, Any] = {}
for _row in inputs().values():
    if _row.axis == "scalar":
        _traits[_row.name] = traitlets.Float(_row.default).tag(sync=True)
        _traits[f"_check_{_row.name}"] = _checked(_row.name)

Board: type[_Board] = type("Board", (_Board,), {"__doc__": _Board.__doc__, "__module__": __name__, **_traits})
