"""How the regions of the proposed fleet work together, which decides what a second region can do for the time of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from roi.inputs import inputs
from roi.records import Record

if TYPE_CHECKING:
    from roi.proposals import Proposal

Kind = Literal["placement_only", "sync_cross_region", "low_comm"]

MODES: dict[str, str] = {
    "placement_only": "each job runs whole in one region",
    "sync_cross_region": "a job spans regions, which synchronise at every step",
    "low_comm": "a job spans regions, which synchronise every few hundred steps",
}


class Mode(Record, frozen=True):
    """How regions work together.

    Attributes:
        kind: a key of `MODES`.
        reason: what makes a step faster although each job runs whole in one region; empty where nothing is said.
    """

    kind: Kind
    reason: str = ""

    def __str__(self) -> str:
        return f"{MODES[self.kind]} ({self.kind})"


class Rule(NamedTuple):
    """What a mode demands of one input.

    Attributes:
        path: of the input.
        value: that it must have, or must not have.
        equal: which of the two.
        sentence: what is wrong where it does not hold.
    """

    path: str
    value: float
    equal: bool
    sentence: str


def mode_rules(proposal: Proposal) -> list[Rule]:
    """What the mode of a proposal demands of its inputs."""
    kind = proposal.mode.kind if proposal.mode else None
    if kind == "placement_only":
        paths = ["sync_time", *(f"proposed.{region}.egress_per_sync" for region in proposal.sites["proposed"])]
        wrong = "mode placement_only synchronises nothing, but {} is not 0; write 0, or another mode"
        return [Rule(path, 0, True, wrong.format(path)) for path in paths]
    if kind == "sync_cross_region":
        wrong = "mode sync_cross_region synchronises at every step, but steps_per_sync is not 1; write 1, or low_comm"
        return [Rule("steps_per_sync", 1, True, wrong)]
    if kind == "low_comm":
        wrong = "mode low_comm synchronises now and then, but steps_per_sync is 1; write more steps, or sync_cross_region"
        return [Rule("steps_per_sync", 1, False, wrong)]
    return []


def mode_problems(proposal: Proposal) -> list[str]:
    """What the mode of a proposal says against its numbers."""
    wrong = [rule.sentence for rule in mode_rules(proposal) if (proposal.at(rule.path) == rule.value) != rule.equal]
    if proposal.mode and proposal.mode.kind != "placement_only" and len(proposal.sites["proposed"]) == 1:
        wrong.append(f"mode {proposal.mode.kind} synchronises regions, but one alone is proposed; leave the mode out")
    return wrong


def mode_flags(proposal: Proposal) -> list[str]:
    """Sentences on what a mode leaves open."""
    mode, regions = proposal.mode, proposal.sites["proposed"]
    if mode is None:
        if len(regions) == 1:
            return []
        return [f"How the {len(regions)} proposed regions work together is not said; write mode: {', '.join(MODES)}."]
    saved = proposal.number("latency_saved")
    if mode.kind == "placement_only":
        if saved <= 0 or mode.reason.strip():
            return []
        return [
            f"Each job runs whole in one region, which makes no step faster. The latency saved "
            f"({inputs()['latency_saved'].show(saved)}) needs a reason of its own, under mode."
        ]
    flags = []
    if "sync_time" not in proposal.inputs:
        flags.append(f"Regions synchronise ({mode.kind}), but no time is given for it; `roi evidence network` says how long.")
    silent = [region for region in regions if not proposal.site_number("proposed", region, "egress_per_sync")]
    if silent:
        flags.append(f"Regions synchronise ({mode.kind}), but nothing is sent from {', '.join(silent)}.")
    return flags
