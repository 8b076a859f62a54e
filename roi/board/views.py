"""The views beside the decision: each a section of HTML that the page shows as a tab."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from roi.results import Result


class View(NamedTuple):
    """One tab.

    Attributes:
        label: on the tab.
        of_proposal: whether it changes with the proposal's numbers.
        section: its content for a result.
    """

    label: str
    of_proposal: bool
    section: Callable[[Result], str]


def _total_cost(result: Result) -> str:
    from roi.review.tco_view import section

    return section(result)


def _pitch(result: Result) -> str:
    from roi.review.pitch_view import section

    return section(result)


@cache
def _scaling() -> str:
    from roi.review.scaling import Terms, scaling
    from roi.review.scaling_view import section

    return section(scaling((), Terms()))


@cache
def _readiness() -> str:
    from roi.review.readiness_view import section

    return section()


@cache
def _policy() -> str:
    from roi.review.policy_view import shipped

    return shipped()


@cache
def _claims() -> str:
    from roi.review.claims import audit
    from roi.review.claims_reading import SHIPPED, read
    from roi.review.claims_view import section

    return section(audit(read(SHIPPED)))


VIEWS = {
    "tco": View("Total cost", True, _total_cost),
    "pitch": View("Cost curve and runway", True, _pitch),
    "scaling": View("Scaling", False, lambda _: _scaling()),
    "readiness": View("Readiness", False, lambda _: _readiness()),
    "policy": View("Scaling policy", False, lambda _: _policy()),
    "claims": View("Claims", False, lambda _: _claims()),
}
"""By name, in the order of the tabs."""
