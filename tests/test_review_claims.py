"""The audit of claims: published figures, verdicts from numbers and units, laws of solving, what is refused, and what people see.

The claims are those of "Kubeflow GPU Cluster Provisioning: A PM's Review with Cost Analysis for LLM Training" (2026-06-24). What
each comes to is worked out beside the number that is expected.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import nbformat
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import roi
from roi.inputs import ROOT
from roi.problems import InputError
from roi.review.claims import Audited, audit
from roi.review.claims_reading import SHIPPED, expression, from_parameters, parse, quantity, read
from roi.review.claims_view import page, section
from roi.units import Unit
from tests.browser import DESKTOP, PHONE, barriers, chromium, visit
from tests.mutations import mutated
from tests.test_cli import Run, refused, run, strict

__all__ = ["run"]  # a fixture

NOTEBOOK = ROOT / "notebooks" / "claims.ipynb"
PAPERMILL = Path(sys.executable).parent / "papermill"


def one(body: str, more: str = "") -> Audited:
    """The audit of the first claim of a file."""
    return audited(f"  mine:\n    words: A claim\n{indented(body)}{more}")[0]


def audited(claims: str) -> tuple[Audited, ...]:
    return audit(parse(f"source: {{title: A leaflet}}\nclaims:\n{claims}", "mine.yaml")).claims


def indented(body: str) -> str:
    return "".join(f"    {line}\n" for line in body.splitlines())


def said(claims: str) -> list[str]:
    """What is wrong with a file, a line each."""
    with pytest.raises(InputError) as error:
        audited(claims)
    return str(error.value).splitlines()


# --- the published claims ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published() -> dict[str, Any]:
    """The claims as `roi audit --json` prints them, by key."""
    done = subprocess.run([sys.executable, "-m", "roi", "audit", "--json"], capture_output=True, text=True, check=True)
    return {each["key"]: each for each in strict(done.stdout)["claims"]}


# (claim, reading, kind of number, name): the number, and its unit.
FIGURES: list[tuple[str, int, str, str, float, str]] = [
    # 12,000,000 / (0.62 x 20 x 24) = 12,000,000 / 297.6
    ("orchestration-cost", 0, "solved", "gpus", 40_322.580645, "gpu"),
    # 0.62 x 20 x 24 x 64
    ("orchestration-cost", 1, "result", "", 19_046.4, "USD"),
    # 15 minutes / 60 / 4 %
    ("start-up-share", 0, "solved", "run", 6.25, "hour"),
    # 15 / (20 x 24 x 60) = 15 / 28,800, 0.05 %
    ("start-up-share", 1, "result", "", 0.000520833333, "1"),
    # 14 s / 900 s
    ("start-up-average", 0, "solved", "cold_share", 0.0155555556, "1"),
    # $2.1M / ($0.08 x 1,000,000)
    ("egress", 1, "solved", "volume", 26.25, "PB/year"),
    # $2.1M / 30,000,000 GB
    ("egress", 1, "solved", "price", 0.07, "USD/GB"),
    # 30,000,000 GB x 0.08 x 8,760 hours: 21 billion
    ("egress", 2, "result", "", 21_024_000_000, "USD/year"),
    # 0.04 x 730
    ("checkpoints", 1, "result", "", 29.2, "USD/(GB*month)"),
    # 2 days x 24 x 3,600,000 ms / 120 ms
    ("days-saved", 0, "solved", "steps_per_run", 1_440_000, "step/run"),
    # 2 x $250K
    ("worth-of-days", 0, "result", "", 500_000, "USD/release"),
    # (2M + 3.4M) / (2 x 250K)
    ("net-gain", 0, "derived", "releases", 10.8, "release"),
    # 10.8 / 18
    ("net-gain", 0, "solved", "releases_per_month", 0.6, "release/month"),
    # (2M + 3.4M) / (7 x 250K) = 5.4 / 1.75
    ("net-gain", 1, "derived", "releases", 3.0857142857, "release"),
    ("net-gain", 1, "derived", "days", 7, "day/release"),
    # 1.5 / 1.07, and that over 1.5
    ("cost-of-48", 0, "solved", "speed_up", 1.4018691589, "1"),
    ("cost-of-48", 0, "derived", "efficiency", 0.9345794393, "1"),
    # 8 / 0.9 on 64 / 8 times the GPUs
    ("cost-factor", 0, "solved", "speed_up", 8.8888888889, "1"),
    ("cost-factor", 0, "derived", "linear_speed_up", 8, "1"),
    # 4 / 8
    ("no-gain-beyond", 0, "solved", "efficiency", 0.5, "1"),
    # 0.88 / 0.7; as fast as 1 / 0.7 on that many GPUs
    ("time-to-market", 0, "solved", "spend_per_day", 1.2571428571, "1"),
    ("time-to-market", 1, "derived", "efficiency", 1.1363636364, "1"),
    # the root of 0.05; and 0.05 x 0.85
    ("utilisation-target", 0, "solved", "deviation", 0.2236067977, "1"),
    ("utilisation-target", 1, "solved", "deviation", 0.0425, "1"),
    # 450,000 / (64 x 0.25 x 11.53) = 450,000 / 184.48 a quarter, over 91.25 days
    ("scale-down-churn", 0, "solved", "starts", 2_439.2888118, "start/quarter"),
    ("scale-down-churn", 0, "derived", "starts_per_day", 26.7319321, "start/day"),
    # 120 / 450; 120 / 1,800
    ("hysteresis-saving", 0, "solved", "avoided_share", 0.2666666667, "1"),
    ("hysteresis-saving", 1, "solved", "avoided_share", 0.0666666667, "1"),
    # 5 % / 0.97; 5 % + 3 %
    ("spot-signal", 0, "solved", "variance", 0.0515463918, "1"),
    ("spot-signal", 1, "solved", "variance", 0.08, "1"),
]


@pytest.mark.parametrize(("key", "reading", "kind", "name", "value", "unit"), FIGURES)
def test_the_published_figures(
    published: dict[str, Any], key: str, reading: int, kind: str, name: str, value: float, unit: str
) -> None:
    found = published[key]["readings"][reading][kind]
    amount = found[name] if name else found
    assert (amount["value"], amount["unit"]) == (pytest.approx(value, rel=1e-8), unit)


def test_the_verdicts_on_the_published_claims(published: dict[str, Any]) -> None:
    numbers = {each["number"]: key for key, each in published.items()}
    assert list(numbers) == list(range(1, 17))
    assert {key: each["verdict"] for key, each in published.items()} == {
        "orchestration-cost": "holds if",
        "start-up-share": "contradicts claim 3",
        "start-up-average": "contradicts claim 2",
        "egress": "unit error",
        "checkpoints": "unit error",
        "days-saved": "holds if",
        "worth-of-days": "holds",
        "net-gain": "holds if",
        "cost-of-48": "contradicts claims 10 and 11",
        "cost-factor": "impossible",
        "no-gain-beyond": "contradicts claims 9 and 10",
        "time-to-market": "holds if",
        "utilisation-target": "holds if",
        "scale-down-churn": "holds if",
        "hysteresis-saving": "holds if",
        "spot-signal": "holds if",
    }
    assert published["cost-factor"]["contradicts"] == [9, 11]
    # 15 minutes against 14 s = 0.2333 minutes; 8 / 4 and 48 / 32 at no more speed.
    assert published["start-up-share"]["clashes"] == ["average start up: 15 minutes here, 0.2333 minutes in claim 3"]
    assert published["no-gain-beyond"]["clashes"] == [
        "cost factor from 32 to 48: at least 1.5 here, 1.07 in claim 9",
        "cost factor from 8 to 64: at least 2 here, 0.9 in claim 10",
    ]


def test_the_arithmetic_is_shown_by_units(published: dict[str, Any]) -> None:
    steps = {key: [reading["steps"] for reading in each["readings"]] for key, each in published.items()}
    assert steps["orchestration-cost"][0] == [
        "0.62 USD/(gpu*hour) \u00d7 20 day \u00d7 24 hour/day = 297.6 USD/gpu",
        "12,000,000 USD / 297.6 USD/gpu = 40,323 gpu",
    ]
    assert steps["egress"][0] == ["0.08 USD/(GB*hour) \u00d7 30 PB/year \u00d7 1,000,000 GB/PB = 2,400,000 USD/(hour*year)"]
    assert published["egress"]["readings"][0]["requires"] == "it comes out in USD/(hour*year), and not in USD/year"
    assert published["checkpoints"]["readings"][0]["requires"] == "it comes out in USD/(GB*hour), and not in USD/(GB*month)"
    assert "730 times what is claimed" in published["checkpoints"]["requires"]
    assert "releases = (3,400,000 USD + 2,000,000 USD) / 500,000 USD/release = 10.8 release" in steps["net-gain"][0]
    assert "step_hours_saved = 1,440,000 step/run \u00d7 120 ms/step / 3,600,000 ms/hour = 48 hour/run" in steps["days-saved"][0]
    assert "It is paid for 40,323 GPUs." in published["orchestration-cost"]["requires"]
    assert "can be at most 8 (linear speed up)" in published["cost-factor"]["requires"]


def test_the_models_lines_are_asked_and_not_written_again(published: dict[str, Any]) -> None:
    result = roi.evaluate(roi.load("published-claim"), releases_per_month=0.6)
    assert result.net_gain == pytest.approx(3_400_000)
    assert published["days-saved"]["readings"][0]["arithmetic"] == "release_days_saved"
    assert published["worth-of-days"]["readings"][0]["result"]["value"] == result.release_gain


def test_no_verdict_stands_in_the_file() -> None:
    assert "verdict:" not in SHIPPED.read_text(encoding="utf-8")


# --- verdicts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claimed", "verdict"),
    [
        ("6 USD", "holds"),
        ("6.0 USD", "holds"),
        ("6.4 USD", "holds if"),  # a tenth is written, so 6.35 to 6.45 would do
        ("5.6 USD", "holds if"),
        ("at least 5 USD", "holds"),
        ("at least 6.01 USD", "holds if"),
        ("at most 6 USD", "holds"),
        ("at most 5 USD", "holds if"),
        ("0.006K USD", "holds"),
        ("6 gpu", "unit error"),
    ],
)
def test_as_claimed_is_within_half_of_the_last_digit(claimed: str, verdict: str) -> None:
    assert one(f"given: {{price: 2 USD/gpu, gpus: 3 gpu}}\narithmetic: price * gpus\nclaimed: {claimed}").verdict == verdict


@pytest.mark.parametrize(("gives", "verdict"), [("2.05", "holds"), ("2.1", "holds"), ("2.151", "holds if"), ("2.0", "holds if")])
def test_two_figures_hold_within_half_of_the_second(gives: str, verdict: str) -> None:
    # 2.1M is 2,050,000 to 2,150,000.
    assert one(f"given: {{cost: {gives}M USD}}\narithmetic: cost\nclaimed: 2.1M USD").verdict == verdict


def test_a_tolerance_takes_the_place_of_the_rounding() -> None:
    body = "given: {cost: 104 USD}\narithmetic: cost\nclaimed: 100 USD\ntolerance: "
    assert one(body + "5 %").verdict == "holds"
    assert one(body + "3 %").verdict == "holds if"


def test_a_claim_that_differs_says_what_each_quantity_would_have_to_be() -> None:
    claim = one("given: {price: 2 USD/gpu, gpus: 3 gpu}\narithmetic: price * gpus\nclaimed: 12 USD")
    assert claim.verdict == "holds if"
    # 12 / 3, and 12 / 2
    assert (
        claim.requires
        == "It comes to $6, 0.5 times what is claimed; as claimed if price is $4/GPU, not $2/GPU, or gpus is 6 GPUs, not 3 GPUs."
    )


def test_a_unit_error_names_both_units_and_one_within_an_expression() -> None:
    claim = one("given: {a: 2 hour, b: 3 day, x: unknown USD}\narithmetic: x * (a + b)\nclaimed: 12 USD")
    assert (claim.verdict, claim.requires) == ("unit error", "Units do not add up in 2 hour + 3 day: hour and day.")
    claim = one("given: {a: 2 hour}\narithmetic: a ** 2\nclaimed: 4 hour")
    assert claim.requires == "2 hour stands in a power, which takes pure numbers; its unit is hour."
    claim = one("given: {a: 2 hour, b: 3 gpu}\narithmetic: a\nclaimed: 2 hour\nlimits: {a: at most b}")
    assert (claim.verdict, claim.requires) == ("unit error", "A is in hour, and its limit in gpu.")


@pytest.mark.parametrize(
    ("body", "requires"),
    [
        # 12 / 10 of a whole
        (
            "given: {cost: 10 USD, lost_share: unknown %}\narithmetic: cost * lost_share\nclaimed: 12 USD",
            "lost share would be 120 %",
        ),
        (
            "given: {a: 3 gpu, b: 2 gpu}\narithmetic: a\nclaimed: 3 gpu\nlimits: {a: at most b}",
            "a would be 3 GPUs, and can be at most 2 GPUs (b)",
        ),
        ("given: {a: 3 gpu}\narithmetic: a\nclaimed: 3 gpu\nlimits: {a: 2 * a}", "a would be 3 GPUs, and can be only 6 GPUs"),
        ("given: {a: 0 gpu, x: unknown USD/gpu}\narithmetic: a * x\nclaimed: 3 USD", "whatever x is, it is multiplied by zero"),
        ("given: {x: unknown 1}\narithmetic: x ** 2\nclaimed: -4 1", "-4 is below zero, and no power of 2 is"),
        ("given: {x: unknown 1}\narithmetic: x ** 0\nclaimed: 3 1", "whatever x is, its power of zero is 1"),
        ("given: {x: unknown 1}\narithmetic: 2 ** x\nclaimed: -8 1", "no power of 2 is -8"),
        ("given: {x: unknown 1}\narithmetic: 1 ** x\nclaimed: 3 1", "whatever x is, that power of 1 is 1"),
        # 1 ms a step is worth less each month than a second region costs, so cumulative cash never comes back to zero.
        (
            "proposal: two-region\ngiven: {latency_saved: 1 ms/step}\narithmetic: payback_month\nclaimed: 1 month",
            "it never pays back within the horizon, 18 months",
        ),
        # Cash comes back within the horizon of 18 months or never, so not in month 30.
        (
            "proposal: two-region\ngiven: {latency_saved: unknown ms/step}\narithmetic: payback_month\nclaimed: 30 month",
            "no value of latency saved",
        ),
        ("given: {x: unknown gpu}\narithmetic: 3 / x\nclaimed: 0 1/gpu", "3 is divided by zero"),
        # Nothing to be asked of: 1 is not 2.
        ("arithmetic: 1\nclaimed: 2 1", "it comes to 1, 0.5 times what is claimed"),
        ("arithmetic: 1\nclaimed: 0 1", "it comes to 1, not 0"),
        # No share of the time saved is more than all: 100 days are not within the range of any share.
        (
            "proposal: published-claim\ngiven: {critical_path_share: unknown %}\n"
            "arithmetic: release_days_saved\nclaimed: 100 day/release",
            "no value of critical path share from 0 to 100 % does it",
        ),
    ],
)
def test_what_no_value_does_is_impossible(body: str, requires: str) -> None:
    claim = one(body)
    assert claim.verdict == "impossible"
    assert requires.lower() in claim.requires.lower()


@pytest.mark.parametrize(
    ("body", "requires"),
    [
        # Nothing times zero is other than zero; zero over a quantity, the power of zero, and the powers of one are as sure.
        (
            "given: {a: 0 gpu, b: unknown USD/gpu}\narithmetic: b * a\nclaimed: 0 USD",
            "Whatever b is, it comes to $0, as claimed.",
        ),
        (
            "given: {a: 0 gpu, b: unknown USD/gpu, d: 1 USD}\nderived: {c: 3 * d}\narithmetic: b * a + 2 * c\nclaimed: 6 USD",
            "Whatever b is, it comes to $6, as claimed.",
        ),
        ("given: {b: unknown 1}\narithmetic: 0 / b\nclaimed: 0 1", "Whatever b is, it comes to 0, as claimed."),
        ("given: {b: unknown 1}\narithmetic: b ** 0\nclaimed: 1 1", "Whatever b is, it comes to 1, as claimed."),
        ("given: {b: unknown 1}\narithmetic: 1 ** b\nclaimed: 1 1", "Whatever b is, it comes to 1, as claimed."),
        ("given: {b: unknown gpu}\narithmetic: 0 * b\nclaimed: at most 5 gpu", "Whatever b is, it comes to 0 GPUs, as claimed."),
    ],
)
def test_what_every_value_does_holds(body: str, requires: str) -> None:
    claim = one(body)
    assert (claim.verdict, claim.requires) == ("holds", requires)


@pytest.mark.parametrize(
    ("arithmetic", "claimed", "x"),
    [
        ("2 ** x", "4 1", 2),  # 2 x 2
        ("a ** (x - 1)", "0.125 1", 4),  # (1 / 2) ** 3
        ("x ** 3", "-8 1", -2),  # (-2) x (-2) x (-2)
        ("1 - x ** 3", "9 1", -2),
        ("x ** (0 - 1)", "-4 1", -0.25),  # 1 / (-1 / 4)
    ],
)
def test_powers_are_undone_by_roots_and_logarithms(arithmetic: str, claimed: str, x: float) -> None:
    claim = one(f"given: {{a: 0.5 1, x: unknown 1}}\narithmetic: {arithmetic}\nclaimed: {claimed}")
    assert claim.verdict == "holds if"
    assert claim.outcomes[0].solved["x"].value == pytest.approx(x)


@pytest.mark.parametrize(
    ("body", "requires"),
    [
        # (-2) ** 2 = 4, but between the whole powers of -2 there is nothing.
        (
            "given: {a: -2 1, x: unknown 1}\narithmetic: a ** x\nclaimed: 4 1",
            "X stands in a power of -2, for which this is not solved here.",
        ),
        # 1e15 / 1e-9 = 1e24
        ("given: {x: unknown 1}\narithmetic: x * 1e-9\nclaimed: 1e15 1", "A number is too large; nothing may pass 1e+18"),
    ],
)
def test_what_cannot_be_solved_here_is_not_called_impossible(body: str, requires: str) -> None:
    claim = one(body)
    assert claim.verdict == "not solved"
    assert claim.requires.startswith(requires)


@pytest.mark.parametrize(
    ("given_", "arithmetic", "claimed", "requires"),
    [
        # 640 USD / 10 USD/gpu = 64 GPUs, and more cost more.
        ("p: 10 USD/gpu, x: unknown gpu", "x * p", "at most 640 USD", "X is at most 64 GPUs."),
        ("p: 10 USD/gpu, x: unknown gpu", "x * p", "at least 640 USD", "X is at least 64 GPUs."),
        # 640 / 10 = 64: each share is the smaller, the more there are.
        ("p: 640 USD, x: unknown gpu", "p / x", "at most 10 USD/gpu", "X is at least 64 GPUs."),
        ("p: 100 USD, x: unknown USD", "p - x", "at most 40 USD", "X is at least $60."),
        ("p: -2 1, x: unknown 1", "x * p", "at most 6 1", "X is at least -3."),
        ("p: 0.5 1, x: unknown 1", "p ** x", "at most 0.25 1", "X is at least 2."),
        ("p: 2 1, x: unknown 1", "x ** p", "at most 9 1", "X is at most 3."),
        ("p: 10 USD/gpu, x: 70 gpu", "x * p", "at most 640 USD", "X is at most 64 GPUs, not 70 GPUs"),
    ],
)
def test_a_claimed_bound_asks_for_a_bound(given_: str, arithmetic: str, claimed: str, requires: str) -> None:
    claim = one(f"given: {{{given_}}}\narithmetic: {arithmetic}\nclaimed: {claimed}")
    assert claim.verdict == "holds if"
    assert requires.lower() in claim.requires.lower()
    assert claim.outcomes[0].solved["x"].relation in claim.requires


def test_a_bound_stands_once_in_a_condition_and_passes_no_limit_that_less_would_keep() -> None:
    body = "given: {p: 10 USD/gpu, x: unknown gpu}\narithmetic: x * p\nclaimed: at most 640 USD\n"
    assert one(f"{body}condition: it has {{x}}").requires == "It has at most 64 GPUs."
    assert one(f"{body}condition: it has at most {{x}}").requires == "It has at most 64 GPUs."
    assert one(f"{body}limits: {{x: at most 5 * y}}".replace("p:", "y: 10 gpu, p:")).verdict == "holds if"  # 50 or fewer
    assert one(f"{body}limits: {{x: at least 70 * y}}".replace("p:", "y: 1 gpu, p:")).verdict == "impossible"


def test_a_bound_on_a_line_of_the_model_follows_from_its_course() -> None:
    # The more a step saves, the more is gained and the sooner it is paid back.
    body = "proposal: two-region\ngiven: {latency_saved: unknown ms/step}\narithmetic: "
    for claimed, relation in (
        ("net_gain\nclaimed: at least 1M USD", "at least"),
        ("payback_month\nclaimed: at most 10 month", "at least"),
        ("payback_month\nclaimed: at least 10 month", "at most"),
    ):
        assert one(body + claimed).outcomes[0].solved["latency_saved"].relation == relation


@pytest.mark.parametrize(("claimed", "verdict"), [("at least 18 month", "holds"), ("at most 18 month", "holds if")])
def test_what_never_comes_takes_at_least_the_horizon(claimed: str, verdict: str) -> None:
    # The horizon of the proposal is 18 months; nobody can say what comes after. If more is saved it is paid back before.
    claim = one(f"proposal: two-region\ngiven: {{latency_saved: 1 ms/step}}\narithmetic: payback_month\nclaimed: {claimed}")
    assert claim.verdict == verdict
    assert claim.requires.startswith("It never pays back within the horizon, 18 months")


def test_the_flags_of_the_model_stand_with_the_claim_that_asks_it() -> None:
    # The published claim saves 120 ms a step with as many regions as before, which the model flags.
    flags = roi.evaluate(roi.load("published-claim"), latency_saved=120).flags
    claim = one("proposal: published-claim\ngiven: {latency_saved: 120 ms/step}\narithmetic: net_gain\nclaimed: 1M USD")
    assert flags
    assert set(flags) <= set(claim.flags)


def test_another_value_counts_only_within_its_limit() -> None:
    given = "given: {gpus: 3 gpu, price: 2 USD/gpu, room: 5 gpu}"
    body = f"{given}\narithmetic: gpus * price\nclaimed: 12 USD\nlimits: {{gpus: at most room}}\n"
    # 12 USD / 2 USD are 6 GPUs, and there is room for 5; at 12 / 3 = 4 USD it would hold.
    assert one(body).requires == "It comes to $6, 0.5 times what is claimed; as claimed if price is $4/GPU, not $2/GPU."
    claim = one(f"{body}solve_for: [gpus]")
    assert (claim.verdict, claim.outcomes[0].solved) == ("impossible", {})
    assert "gpus would be 6 GPUs, and can be at most 5 GPUs (room)" in claim.requires


def test_only_the_claim_as_it_stands_makes_the_verdict() -> None:
    body = "given: {cost: 3 USD}\narithmetic: cost\nclaimed: 3 USD\nreadings:\n  - {what: by the day, given: {cost: 3 USD/day}}\n"
    claim = one(body)
    assert (claim.verdict, [each.verdict for each in claim.outcomes]) == ("holds", ["holds", "unit error"])


def test_a_claim_without_arithmetic_holds_on_its_condition() -> None:
    claim = one("given: {gpus: 3 gpu}\ncondition: somebody counts {gpus}")
    assert (claim.verdict, claim.requires) == ("holds if", "Somebody counts 3 GPUs.")


# --- contradictions ---------------------------------------------------------------------------------------------------------


def facts(*values: str) -> tuple[Audited, ...]:
    return audited(
        "".join(
            f"  c{place}:\n    {{words: w, given: {{a: 1 gpu}}, arithmetic: a, claimed: 1 gpu, facts: {{f: {value}}}}}\n"
            for place, value in enumerate(values)
        )
    )


@pytest.mark.parametrize(
    ("first", "second", "apart"),
    [
        ("2", "3", True),
        ("2", "2", False),
        ("at least 2", "2", False),
        ("at least 2", "1.9", True),
        ("at least 2", "at least 5", False),
        ("at least 2", "at most 1", True),
        ("at most 2", "3", True),
        ("at most 2", "at most 1", False),
    ],
)
def test_claims_contradict_each_other_or_neither(first: str, second: str, apart: bool) -> None:
    one, other = facts(first, second)
    assert (one.contradicts, other.contradicts) == (((2,), (1,)) if apart else ((), ()))
    assert one.verdict == ("contradicts claim 2" if apart else "holds")


def test_what_was_rounded_does_not_contradict() -> None:
    # 85 % is 84.5 to 85.5 %, and 86 % begins where that ends.
    body = "  {}: {{words: w, given: {{utilisation: {}}}, condition: so, facts: {{utilisation: utilisation}}}}\n"
    assert not audited(body.format("a", "85 %") + body.format("b", "85.4 %"))[0].contradicts
    for other in ("86 %", "86.2 %"):
        assert audited(body.format("a", "85 %") + body.format("b", other))[0].contradicts


@pytest.mark.parametrize("given_", ["60 minute", "unknown minute"])
@pytest.mark.parametrize(
    ("other", "apart"),
    # 60 is 59.5 to 60.5; 61 is 60.5 to 61.5; 60.4 is 60.35 to 60.45.
    [("61", True), ("60", False), ("60.4", False), ("60.6", True)],
)
def test_neighbours_contradict_whether_given_or_solved_for(given_: str, other: str, apart: bool) -> None:
    claim = "  {}:\n    words: w\n    given: {{t: {}}}\n    arithmetic: t\n    claimed: {} minute\n    facts: {{start: t}}\n"
    found = audited(claim.format("a", given_, 60) + claim.format("b", f"{other} minute", other))
    assert [each.contradicts for each in found] == ([(2,), (1,)] if apart else [(), ()])


def test_a_claimed_bound_is_a_bound_on_the_facts_behind_it() -> None:
    # At most 640 USD at 10 USD are at most 64 GPUs, and twice as many at the most over two sites; 50 and 100 are fewer.
    bound = (
        "  a:\n    words: w\n    given: {p: 10 USD/gpu, x: unknown gpu}\n    arithmetic: x * p\n"
        "    claimed: at most 640 USD\n    facts: {gpus: x, both: 2 * x}\n"
    )
    count = "  b:\n    words: w\n    given: {{x: {} gpu}}\n    condition: so\n    facts: {{gpus: x, both: 2 * x}}\n"
    assert not audited(bound + count.format(50))[0].contradicts
    assert [text for _, text in audited(bound + count.format(70))[0].clashes] == [
        "both: at most 128 GPUs here, 140 GPUs in claim 2",
        "gpus: at most 64 GPUs here, 70 GPUs in claim 2",
    ]


def test_a_fact_in_two_units_is_refused() -> None:
    claim = "  {}:\n    words: w\n    given: {{time: {}}}\n    condition: so\n    facts: {{time: time}}\n"
    (message,) = said(claim.format("a", "15 minute") + claim.format("b", "14 second"))
    assert message == "mine.yaml:8: b: facts: time is in second, but in minute in claim 1; convert one of them"


# --- laws -------------------------------------------------------------------------------------------------------------------

KNOWN = st.floats(0.5, 20).map(lambda value: round(value, 3))
UNITS = st.sampled_from(["USD", "gpu", "hour", "USD/(gpu*hour)", "GB/day", "1"])


@given(KNOWN, UNITS, st.lists(st.tuples(st.sampled_from(["*", "/", "over", "+", "-", "less"]), KNOWN, UNITS), max_size=6))
def test_the_value_that_is_solved_for_gives_what_is_claimed_in_the_unit_of_all_else(
    answer: float, unit: str, steps: list[tuple[str, float, str]]
) -> None:
    text, value, now, named = "x", answer, Unit.parse(unit), {"x": f"unknown {unit}"}
    for place, (operator, known, its_unit) in enumerate(steps):
        name = f"k{place}"
        named[name] = f"{known} {now if operator in ('+', '-', 'less') else its_unit}"
        of = Unit.parse(its_unit)
        text, value, now = {
            "*": (f"({text}) * {name}", value * known, now * of),
            "/": (f"({text}) / {name}", value / known, now / of),
            "over": (f"{name} / ({text})", known / value, of / now),
            "+": (f"{name} + ({text})", value + known, now),
            "-": (f"({text}) - {name}", value - known, now),
            "less": (f"{name} - ({text})", known - value, now),
        }[operator]
        assume(1e-3 < abs(value) < 1e6)
    listed = ", ".join(f"{name}: {written}" for name, written in named.items())
    found = one(f"given: {{{listed}}}\narithmetic: {text}\nclaimed: {value!r} {now}").outcomes[0]
    assert found.verdict == "holds if"
    assert found.solved["x"].unit == Unit.parse(unit)
    assert found.solved["x"].value == pytest.approx(answer, rel=1e-5)


@given(st.sampled_from([1e-3, 0.5, 2.0, 1e6]), KNOWN, KNOWN)
def test_money_counted_otherwise_changes_no_count(scale: float, price: float, cost: float) -> None:
    def gpus(by: float) -> float:
        body = (
            f"given: {{price: {price * by!r} USD/gpu, gpus: unknown gpu}}\narithmetic: price * gpus\nclaimed: {cost * by!r} USD"
        )
        return one(body).outcomes[0].solved["gpus"].value

    assert gpus(scale) == pytest.approx(gpus(1))


@given(st.floats(0.05, 1).map(lambda share: round(share, 3)))
@settings(max_examples=10)
def test_what_the_model_gives_is_what_it_is_solved_for(share: float) -> None:
    days = roi.evaluate(roi.load("published-claim"), critical_path_share=share).release_days_saved
    body = "proposal: published-claim\ngiven: {critical_path_share: unknown %}\narithmetic: release_days_saved\n"
    found = one(f"{body}claimed: {days!r} day/release").outcomes[0].solved["critical_path_share"]
    assert found.value == pytest.approx(share)


# --- quantities and expressions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value", "unit", "rounding"),
    [
        ("0.62 USD/(gpu*hour)", 0.62, "USD/(gpu*hour)", 0.005),
        ("12M USD", 12e6, "USD", 5e5),
        ("2.1M USD/year", 2.1e6, "USD/year", 5e4),
        ("1,440,000 step", 1.44e6, "step", 0.5),
        ("5_040_000 step/run", 5.04e6, "step/run", 0.5),
        ("2.1e6 step", 2.1e6, "step", 5e4),
        ("85 %", 0.85, "1", 0.005),
        ("85%", 0.85, "1", 0.005),
        ("2.5 %/month", 0.025, "1/month", 0.0005),
        ("0.9 1", 0.9, "1", 0.05),
        ("-3 hour", -3, "hour", 0.5),
        ("$12M USD", 12e6, "USD", 5e5),
        ("12090 ms/synchronisation", 12090, "ms/sync", 0.5),  # as the tools print it
        ("3 GPUs", 3, "gpu", 0.5),
        ("3 hours/day", 3, "hour/day", 0.5),
        ("0 USD", 0, "USD", 0.5),
        ("1e18 USD", 1e18, "USD", 5e17),
        ("1e-15 USD", 1e-15, "USD", 5e-16),
    ],
)
def test_a_quantity_is_read_with_its_unit_and_its_digits(text: str, value: float, unit: str, rounding: float) -> None:
    amount = quantity(text)
    assert (amount.value, str(amount.unit)) == (pytest.approx(value), unit)
    assert amount.rounding == pytest.approx(rounding)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("12M", "write a number, a space and its unit, such as 12M USD, 85 % or 0.9 1"),
        ("", "is no quantity"),
        ("3 hors", "'hors' is not a unit; did you mean hour?"),
        ("1e301 USD", "'1e301 USD' has a number that is too large; write one from 1e-15 to 1e+18"),
        ("-1e19 USD", "too large"),
        ("1e-16 USD", "too small"),
        ("3 quux", "'quux' is not a unit; name it under units:"),
        ("1,5 USD", "is not a number"),
        ("nan USD", "is not a number"),
        ("1e999 USD", "is not a finite number"),
        ("3 USD/", "cannot read the unit"),
        ("3 %/", "cannot read the unit"),
        ("5 % of it", "cannot read the unit"),
        ("3 " + "(" * 5000, "is no quantity"),
    ],
)
def test_what_is_no_quantity_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        quantity(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('x')",
        "a.b",
        "a[0]",
        "max(a, b)",
        "a if b else c",
        "a < b",
        "a and b",
        "-a",
        "a // b",
        "a % b",
        "lambda: a",
        "[a]",
        "'a'",
        "True",
        "1j",
        "a =",
        "",
        "a; b",
        "1e999",
        "a + " * 200 + "a",
    ],
)
def test_an_expression_is_names_numbers_and_signs_alone(text: str) -> None:
    with pytest.raises(ValueError, match=r"write names, numbers|write at most 300|too large"):
        expression(text)


def test_a_percentage_is_understood_and_a_bare_one_is_flagged() -> None:
    body = "given: {utilisation: USED, gpus: 10 gpu}\narithmetic: gpus * utilisation\nclaimed: 8.5 gpu"
    claim = one(body.replace("USED", "85 %"))
    assert (claim.verdict, claim.flags) == ("holds", [])
    assert claim.given["utilisation"] == "85 %, understood as 0.85"
    claim = one(body.replace("USED", "85 1"))
    assert claim.flags == ["utilisation is 85, more than the whole. If a percentage is meant, write 85 %."]


def test_what_no_arithmetic_reads_and_what_is_below_zero_is_flagged() -> None:
    claim = one("given: {a: 3 gpu, b: 4 gpu, x: unknown gpu}\narithmetic: a + x\nclaimed: 1 gpu")
    assert claim.flags == [
        "b is given, and no arithmetic reads it.",
        "x would have to be -2 GPUs, below zero. Can it be?",
    ]


# --- files ------------------------------------------------------------------------------------------------------------------

GOOD = "given: {a: 3 gpu, x: unknown USD/gpu}\narithmetic: a * x\nclaimed: 6 USD"


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        ("arithmatic: 1", 5, "'arithmatic' is not known in mine; did you mean arithmetic?"),
        ("given: 3", 5, "mine: given is 3; write lines such as `name: 20 day`"),
        ("given:\n  a: 85", 6, "mine: a is 85, without a unit; write it like `85 gpu`, `85 %`, or `0.9 1` for a pure number"),
        ("given:\n  a:", 6, "mine: a is left empty, without a unit"),
        ("given:\n  a: [1 gpu]", 6, "mine: a is ['1 gpu'], without a unit"),
        ("given:\n  a: 3 gpu\n  a: 4 gpu", 7, "'a' is given twice; keep one of the two"),
        ("given:\n  a: !!python/name:os.system 3 gpu", 6, "has the YAML tag"),
        ("given:\n  a: &it 3 gpu\n  b: *it", 7, "the alias *it is not read here"),
        ("given:\n  a: {valu: 3 gpu}", 6, "'valu' is not known in mine: a; did you mean value?"),
        ("given:\n  lambda: 3 gpu", 6, "mine: given: 'lambda' is no name"),
        ("given:\n  claimed: 3 gpu", 6, "claimed has a meaning of its own here"),
        ("given:\n  hours_per_day: 3 gpu", 6, "hours_per_day has a meaning of its own here"),
        (
            "given: {a: 3 gpu}\nderived: {a: 3}\narithmetic: a\nclaimed: 3 gpu",
            6,
            "mine: a is given and derived; keep one of the two",
        ),
        ("arithmetic: gpsu\nclaimed: 3 gpu\ngiven: {gpus: 3 gpu}", 5, "'gpsu' is not known here; did you mean gpus?"),
        ("arithmetic: tariff\nclaimed: 3 gpu", 5, "'tariff' is not known here; write it under given:, with its unit"),
        ("arithmetic: net_gain\nclaimed: 3 USD", 5, "it is the model's: write `proposal: published-claim`"),
        ("proposal: published-claim\narithmetic: gpu_cost\nclaimed: 3 USD", 6, "it has a value for each site or month"),
        ("proposal: published-clam", 5, "did you mean published-claim"),
        ("proposal: published-claim\ngiven:\n  horizon: 3 day", 7, "is in day, but the model has horizon in month"),
        ("proposal: published-claim\ngiven:\n  horizon: 99 month", 7, "horizon is 99 month, which is out of range"),
        (
            "proposal: published-claim\ngiven:\n  gpu_price: 9 USD/(gpu*hour)",
            7,
            "gpu_price has a value for each site in the model",
        ),
        ("proposal: published-claim\ngiven:\n  net_gain: 9 USD", 7, "net_gain follows in the model"),
        (
            "derived: {a: b, b: c + 1, c: a}\narithmetic: a\nclaimed: 3 1",
            5,
            "derived quantities go round in a circle: a -> b -> c -> a",
        ),
        ("given: {a: 3 gpu}\narithmetic: a", 6, "mine has arithmetic, but nothing is claimed"),
        ("given: {a: 3 gpu}\narithmetic: a\nclaimed: 85", 7, "mine: claimed is 85, without a unit"),
        ("given: {a: 3 gpu}\narithmetic: a\nclaimed: unknown gpu", 7, "mine: claimed is unknown; write what is claimed"),
        (
            "given: {a: unknown 1, b: unknown 1}\narithmetic: a * b\nclaimed: 3 1",
            6,
            "mine: a and b are both unknown in one arithmetic",
        ),
        ("given: {a: unknown 1}\narithmetic: a + a * 2\nclaimed: 3 1", 6, "a stands 2 times in the arithmetic"),
        ("given: {a: 3 1, b: 2 1}\narithmetic: a\nclaimed: 2 1\nsolve_for: [b]", 6, "solve_for: the arithmetic does not read b"),
        ("given: {a: 3 1}\narithmetic: a\nclaimed: 2 1\nsolve_for: [aa]", 8, "mine: solve_for: 'aa' is not known here"),
        (f"{GOOD}\ncondition: it is {{y}}", 8, "mine: condition: 'y' is not known here"),
        (f"{GOOD}\ncondition: 3", 8, "mine: condition is 3; write it as words"),
        (f"{GOOD}\ntolerance: 3 gpu", 8, "mine: tolerance is '3 gpu'; write a share of what is claimed, such as 1 %"),
        (f"{GOOD}\nlimits: {{y: at most a}}", 8, "mine: limits: 'y' is not known here"),
        (f"{GOOD}\nlimits: {{x: at most}}", 8, "'at most' is no expression"),
        (f"{GOOD}\nfacts: {{f: max(a)}}", 8, "mine: facts: f: 'max(a)' is not read here"),
        (f"{GOOD}\nmissing: all", 8, "mine: missing is 'all'; write a list of words such as [one, other]"),
        (f"{GOOD}\nreadings: 3", 8, "mine: readings is 3; write a list of `- what: ...`"),
        (f"{GOOD}\nreadings: [3]", 8, "mine: readings: 3 is no reading"),
        (f"{GOOD}\nreadings:\n  - given: {{a: 4 gpu}}", 9, "mine: readings: what is missing"),
        (f"{GOOD}\nreadings:\n  - what: so\n    facts: {{a: 4}}", 10, "'facts' is not known in a reading of mine"),
        (f"{GOOD}\nreadings:\n  - what: so\n    arithmetic: a * y", 10, "mine: so: arithmetic: 'y' is not known here"),
        (f"{GOOD}\nsource: me", 8, "source of mine is 'me'; write {title: ..., date: 2026-06-24}"),
        (f"{GOOD}\nsource: {{title: T, date: soon}}", 8, "source of mine: 'soon' is not a date"),
        ("given: {a: 3 gpu}", 3, "mine has no arithmetic; write it, or a condition in words"),
        # What can be computed only to fail stands with the claim.
        ("given: {a: 3 gpu, b: 0 1}\narithmetic: a / b\nclaimed: 3 gpu", 3, "mine cannot be computed: 3 gpu is divided by zero"),
        ("given: {a: 1e10 1}\narithmetic: a * a\nclaimed: 3 1", 3, "mine cannot be computed: a number is too large; nothing may"),
        (
            "given: {a: 10 1}\narithmetic: a ** 1000\nclaimed: 3 1",
            3,
            "mine cannot be computed: a number is too large; nothing may",
        ),
        ("arithmetic: 9**9**9**9\nclaimed: 3 1", 3, "mine cannot be computed: a number is too large; nothing may pass 1e+18"),
        ("given: {a: 1e301 USD}\narithmetic: a\nclaimed: 1 USD", 5, "mine: a: '1e301 USD' has a number that is too large"),
        ("given: {a: 1 USD}\narithmetic: a * 1e-300\nclaimed: 1 USD", 6, "'a * 1e-300' has a number that is too small"),
        (
            "proposal: two-region\narithmetic: runway_with\nclaimed: 9 month",
            3,
            "runway_with is not defined for two-region; give the inputs that it needs",
        ),
        ("given: {a: 9 1}\narithmetic: a ** 9 ** 9\nclaimed: 3 1", 3, "mine cannot be computed: "),
        ("given: {a: -3 1}\narithmetic: a ** 0.5\nclaimed: 3 1", 3, "mine cannot be computed: -3 is below zero"),
        ("given: {a: 0 1}\narithmetic: a ** (0 - 1)\nclaimed: 3 1", 3, "mine cannot be computed: zero has no power of -1"),
    ],
)
def test_a_mistake_is_refused_with_its_line(body: str, line: int, message: str) -> None:
    messages = said(f"  mine:\n    words: A claim\n{indented(body)}")
    assert any(each.startswith(f"mine.yaml:{line}: ") and message in each for each in messages), messages


def test_all_mistakes_come_in_one_go() -> None:
    messages = said("  a:\n    words: 3\n    given: {x: 3}\n    arithmetic: x +\n  b:\n    claimed: 3\n")
    assert [each.split(": ")[0] for each in messages] == [f"mine.yaml:{line}" for line in (4, 5, 6, 7, 7, 8)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mine.yaml:1: is empty; a file of claims has source and claims"),
        ("- a\n", "is not a file of claims"),
        ("claims: {}\n", "mine.yaml:1: claims is empty or missing"),
        ("source: {title: T}\n", "mine.yaml:1: claims is empty or missing"),
        ("claims:\n  a: {words: w, condition: c}\n", "mine.yaml:2: a has no source"),
        ("claims:\n  a: 3\n", "mine.yaml:2: a is 3; write words, given, arithmetic and claimed under it"),
        ("units: [a b]\nclaims: {a: 3}\n", "mine.yaml:1: units: 'a b' is no name of a unit"),
        ("claims: [\n", "is not YAML"),
        ("claims: " + "[" * 40, "is nested too deeply\n"),
        ("clams: {}\n", "'clams' is not known in a file of claims; did you mean claims?"),
        ("claims:\n" + "".join(f"  a{at}: 3\n" for at in range(201)), "has 201 claims; write at most 200 in one file"),
    ],
)
def test_what_is_no_file_of_claims_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        parse(text, "mine.yaml")
    assert message in f"{error.value}\n"


def test_what_derives_too_much_is_refused() -> None:
    chain = "".join(f"      d{at}: d{at + 1} + 1\n" for at in range(900))
    claim = f"  mine:\n    words: w\n    derived:\n{chain}      d900: 1\n    arithmetic: d0\n    claimed: 901 1\n"
    assert said(claim) == ["mine.yaml:3: mine derives too much from too much; write fewer steps"]


def test_what_doubles_at_each_step_is_computed_at_once() -> None:
    chain = "".join(f"      d{at}: d{at + 1} + d{at + 1}\n" for at in range(40))
    (claim,) = audited(f"  mine:\n    words: w\n    derived:\n{chain}      d40: 1\n    arithmetic: d0\n    claimed: {2**40} 1\n")
    assert claim.verdict == "holds"


def test_units_of_ones_own_are_declared() -> None:
    body = "claims:\n  a:\n    words: w\n    given: {staff: 3 engineer}\n    arithmetic: staff\n    claimed: 3 engineer\n"
    with pytest.raises(InputError, match="'engineer' is not a unit"):
        parse(f"source: {{title: T}}\n{body}", "mine.yaml")
    (claim,) = audit(parse(f"source: {{title: T}}\nunits: [engineer]\n{body}", "mine.yaml")).claims
    assert claim.requires == "It comes to 3 engineers, as claimed."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe\x00", "is not text in UTF-8"),
        (b"\x00\x01", "is not YAML"),
        (b"#" * 1_000_001, "is larger than 1,000,000 bytes"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "mine.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read(path)


@given(st.integers(0, 2**32))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_file_is_audited_or_refused(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(mutated(SHIPPED.read_bytes(), Random(seed)))
    with suppress(InputError):
        assert section(audit(read(path)))


# --- what people see --------------------------------------------------------------------------------------------------------


def test_the_command_prints_every_claim_with_its_verdict(run: Run) -> None:
    outcome = run("audit")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("Of 16 claims, 1 holds as it stands, 8 hold on a condition, 2 have a unit error, ")
    rows = [line.split(maxsplit=1) for line in outcome.out.splitlines()]
    assert [row[0] for row in rows if row and row[0].isdigit()] == [str(number) for number in range(1, 17)]
    assert "impossible; contradicts claims 9 and 11" in outcome.out
    assert "Claim 2, average start up: 15 minutes here, 0.2333 minutes in claim 3." in outcome.out


def test_the_command_audits_a_file_of_ones_own(run: Run, tmp_path: Path) -> None:
    text = f"source: {{title: T}}\nclaims:\n  mine:\n    words: A claim \x1b\n{indented(GOOD)}".replace("\x1b", '"\\e"')
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    found = json.loads(run("audit", "mine.yaml", "--json").out)
    assert found["claims"][0]["readings"][0]["solved"] == {"x": {"value": 2.0, "unit": "USD/gpu", "relation": ""}}
    assert run("audit", "mine.yaml", "--html", "out.html").out == "out.html\n"
    assert "<h2>Audit of claims</h2>" in (tmp_path / "out.html").read_text(encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(text.replace("6 USD", "6 USDs"), encoding="utf-8")
    assert refused(run("audit", "mine.yaml")) == "mine.yaml:7: mine: claimed: 'USDs' is not a unit; did you mean USD?\n"
    assert "nowhere.yaml: cannot be read" in refused(run("audit", "nowhere.yaml"))


def test_the_page_holds_in_a_browser_and_keeps_text_as_text(tmp_path: Path) -> None:
    text = SHIPPED.read_text(encoding="utf-8").replace("120 ms a step are 2 days", "<b>120 ms</b> a step are 2 days")
    head = '<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>t</title>'
    path = tmp_path / "page.html"
    path.write_text(f"{head}<main><h1>t</h1>{page(audit(parse(text, 'mine.yaml')))}</main></html>", encoding="utf-8")
    with chromium() as browser:
        for options in ({"viewport": DESKTOP}, {"viewport": PHONE}, {"viewport": PHONE, "color_scheme": "dark"}):
            seen = visit(browser, path.as_uri(), **options)
            assert seen.page.is_visible("p.answer")
            assert seen.page.locator("tbody tr").count() == 16
            assert seen.page.locator("details").count() == 16
            assert "<b>120 ms</b> a step are 2 days" in seen.page.locator("tbody tr th").nth(5).text_content()
            seen.page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
            assert seen.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            assert (seen.said, len(seen.asked), barriers(seen.page)) == ([], 1, [])


def code_cells() -> list[Any]:
    return [cell for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code"]


def test_the_notebook_is_stored_without_outputs_and_computes_nothing() -> None:
    nbformat.validate(nbformat.read(NOTEBOOK, as_version=4))
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code_cells())
    for cell in code_cells():
        body = ast.parse(cell.source).body
        assert all(isinstance(each, ast.Import | ast.ImportFrom | ast.Assign | ast.Expr) for each in body)
        assert not [each for each in ast.walk(ast.Module(body, [])) if isinstance(each, ast.BinOp | ast.Lambda)]


def test_the_notebook_runs_with_papermill(tmp_path: Path) -> None:
    command = [str(PAPERMILL), str(NOTEBOOK), "out.ipynb", "-p", "claims", str(SHIPPED)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (output,) = nbformat.read(tmp_path / "out.ipynb", as_version=4).cells[-1].outputs
    assert "Of 16 claims, 1 holds as it stands" in output.data["text/html"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"clams": "mine.yaml"}, "parameters: 'clams' is not a parameter; did you mean claims?"),
        ({"claims": 3}, "parameters: claims is 3; write the path of a file, or None"),
        ({"claims": "nowhere.yaml"}, "nowhere.yaml: cannot be read"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        from_parameters(parameters)
    assert len(from_parameters({"claims": None, "roi": roi}).claims) == 16
