"""How the regions of the proposed fleet work together, which decides what a second region can do for the time of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from roi.inputs import _Record, inputs

if TYPE_CHECKING:
    from roi.proposals import Proposal

Kind = Literal["placement_only", "sync_cross_region", "low_comm"]

MODES: dict[str, str] = {
    "placement_only": "each job runs whole in one region",
    "sync_cross_region": "a job spans regions, which synchronise at every step",
    "low_comm": "a job spans regions, which synchronise every few hundred steps",
}


class Mode(_Record):
    """How regions work together.

    Attributes:
        kind: a key of `MODES`.
        reason: what makes a step faster although each job runs whole in one region; empty where nothing is said.
    """

    kind: Kind
    reason: str = ""

    def __str__(self) -> str:
        return f"{MODES[self.kind]} ({self.kind})"


def mode_problems(proposal: Proposal) -> list[str]:
    """What the mode of a proposal says against its numbers."""
    if proposal.mode is None:
        return []
    kind, steps = proposal.mode.kind, proposal.number("steps_per_sync")
    sent = [region for region in proposal.sites["proposed"] if proposal.site_number("proposed", region, "egress_per_sync")]
    if kind == "placement_only":
        given = ["sync_time"] if proposal.number("sync_time") else []
        given += [f"proposed.{region}.egress_per_sync" for region in sent]
        return [f"mode placement_only synchronises nothing, but {each} is not 0; write 0, or another mode" for each in given]
    if kind == "sync_cross_region" and steps != 1:
        return [f"mode sync_cross_region synchronises at every step, but steps_per_sync is {steps:g}; write 1, or low_comm"]
    if kind == "low_comm" and steps == 1:
        return ["mode low_comm synchronises now and then, but steps_per_sync is 1; write more steps, or sync_cross_region"]
    return []


def mode_flags(proposal: Proposal) -> list[str]:
    """Sentences on what a mode leaves open."""
    mode, regions = proposal.mode, proposal.sites["proposed"]
    if mode is None:
        if len(regions) == 1:
            return []
        return [f"How the {len(regions)} proposed regions work together is not said; write mode: {', '.join(MODES)}."]
    saved = proposal.number("latency_saved")
    if mode.kind == "placement_only":
        if saved <= 0 or mode.reason:
            return []
        return [
            f"Each job runs whole in one region, which makes no step faster. The latency saved "
            f"({inputs()['latency_saved'].show(saved)}) needs a reason of its own, under mode."
        ]
    flags = []
    if not proposal.number("sync_time"):
        flags.append(f"Regions synchronise ({mode.kind}), but no time is given for it; `roi evidence network` says how long.")
    silent = [region for region in regions if not proposal.site_number("proposed", region, "egress_per_sync")]
    if silent:
        flags.append(f"Regions synchronise ({mode.kind}), but nothing is sent from {', '.join(silent)}.")
    return flags
