"""The audit of published claims: what would have to be true for each, and the verdict that follows from its numbers and units.

    holds                 the arithmetic gives what is claimed, within the rounding of its own words
    holds if              it does at a value that the claim leaves open, or gives otherwise
    unit error            the arithmetic is in another unit than what is claimed
    impossible            no value does it, or only one beyond a limit
    not solved            whether a value does it cannot be found here
    contradicts claim n   two claims say of one fact what cannot both be

A verdict is computed, never written in a file. `claims_reading.py` beside this reads the file, and
`claims_arithmetic.py` computes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from roi import amounts
from roi.modes import mode_problems
from roi.problems import InputError, Problem
from roi.review.claims_arithmetic import (
    ROUNDING,
    Amount,
    Limit,
    NeverError,
    NotSolvedError,
    Quantities,
    Reading,
    UnsolvableError,
    derivation,
    equation,
    is_share,
    of_the_model,
    preceding,
    rounding,
    solved,
    spaced,
    times_read,
    value,
)
from roi.symbols import Name
from roi.units import UnitError

HEADINGS = ("No.", "Claim", "Verdict", "What would have to be true")
"""Heads of the table of claims."""

NOTES = (
    "Every verdict is computed from the numbers of the claim and their units. A result is as claimed within half of the last "
    "digit that the claim writes, or within the tolerance that its file gives.",
    "What would have to be true is what the arithmetic needs, not what was measured.",
)
"""How to read an audit."""

TOO_DEEP = "derives too much from too much; write fewer steps"
"""What is said of a claim whose expressions stand in each other more deeply than Python follows."""


@dataclass(frozen=True, eq=False)
class Claim:
    """A claim: its words in short, and the ways to read it, the first as it stands.

    Attributes:
        facts: what it says of facts that other claims speak of too, by name.
        missing: what it would have to say to be checked further.
        flags: what is odd but legal in how it is written down.
    """

    key: str
    words: str
    source: str
    readings: tuple[Reading, ...]
    facts: Mapping[str, Limit] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    note: str = ""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Claims:
    """The claims of a file, in its order."""

    file: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one reading of a claim comes to.

    Attributes:
        verdict: holds, holds if, unit error, impossible, not solved; or differs, for a reading that asks for no other value.
        result: what the arithmetic gives; None where it lacks a quantity.
        solved: the values at which it gives what is claimed, by name.
        derived: what follows, by name.
        broken: why a value is none that can be, in words.
        requires: what would have to be true, in words.
        steps: the arithmetic.
        flags: what the model says is odd but legal in the numbers that it is asked about.
    """

    reading: Reading
    verdict: str
    requires: str
    steps: tuple[str, ...]
    result: Amount | None = None
    solved: Mapping[str, Amount] = field(default_factory=dict)
    derived: Mapping[str, Amount] = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Audited:
    """A claim with its number, and what its readings come to.

    Attributes:
        clashes: of each claim that cannot be true beside this one, its number and what both say of a fact.
    """

    number: int
    claim: Claim
    outcomes: tuple[Outcome, ...]
    clashes: tuple[tuple[int, str], ...]

    @property
    def contradicts(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(number for number, _ in self.clashes))

    @property
    def kind(self) -> str:
        """The verdict in a word or two, `contradicts` without the other claims."""
        own = self.outcomes[0].verdict
        return "contradicts" if self.contradicts and own in ("holds", "holds if") else own

    @property
    def verdict(self) -> str:
        """The verdict, as in `contradicts claims 10 and 11`."""
        return _contradiction(self.contradicts) if self.kind == "contradicts" else self.kind

    @property
    def verdicts(self) -> str:
        """The verdict, and beside another one the contradictions."""
        return "; ".join(dict.fromkeys(filter(None, (self.verdict, _contradiction(self.contradicts)))))

    @property
    def requires(self) -> str:
        """What would have to be true, in each reading, as sentences."""
        said = [f"{each.reading.what}: {each.requires}" if each.reading.what else each.requires for each in self.outcomes]
        return " ".join(f"{each[0].upper()}{each[1:]}." for each in said)

    @property
    def given(self) -> dict[str, str]:
        """The quantities of its readings in words, each with what it is understood as and with a source of its own."""
        found: dict[str, dict[str, None]] = {}
        for outcome in self.outcomes:
            for name, given in outcome.reading.given.items():
                found.setdefault(name, {})[given.words] = None
        return {name: " or ".join(words) for name, words in found.items()}

    @property
    def flags(self) -> list[str]:
        """What is odd but legal, as sentences."""
        below = [
            f"{name} would have to be {amount.bound}, below zero. Can it be?"
            for outcome in self.outcomes
            for name, amount in outcome.solved.items()
            if amount.value < 0 and amount.relation != "at least"
        ]
        model = [flag for outcome in self.outcomes for flag in outcome.flags]
        return list(dict.fromkeys((*self.claim.flags, *below, *model)))


@dataclass(frozen=True, eq=False)
class Audit:
    """The claims of a file with their verdicts."""

    file: str
    claims: tuple[Audited, ...]

    @property
    def answer(self) -> str:
        """How many claims have which verdict, as a sentence."""
        kinds = [each.kind for each in self.claims]
        counts = [(kinds.count(kind), words) for kind, words in _COUNTED.items() if kind in kinds]
        parts = [f"{count} {words[0 if count == 1 else 1]}" for count, words in counts]
        return f"Of {len(kinds)} claim{'' if len(kinds) == 1 else 's'}, {_listed(parts)}."


_COUNTED = {
    "holds": ("holds as it stands", "hold as they stand"),
    "holds if": ("holds on a condition", "hold on a condition"),
    "unit error": ("has a unit error", "have a unit error"),
    "impossible": ("is impossible", "are impossible"),
    "not solved": ("cannot be solved here", "cannot be solved here"),
    "contradicts": ("contradicts another", "contradict another"),
}


def audit(claims: Claims) -> Audit:
    """The verdict on every claim.

    Raises:
        InputError: an expression that cannot be computed, such as a division by zero, or two claims that speak of one fact in
            different units; each with its line.
    """
    outcomes, facts, problems = [], [], []
    for claim in claims.claims:
        try:
            outcomes.append([_outcome(reading, index == 0) for index, reading in enumerate(claim.readings)])
            facts.append(_facts(claim, outcomes[-1][0]))
        except (UnitError, ArithmeticError, RecursionError) as error:
            what = TOO_DEEP if isinstance(error, RecursionError) else f"cannot be computed: {error}"
            problems.append(Problem(f"{claim.key} {what}", claims.file, claim.readings[0].line))
    if problems:
        raise InputError(problems)
    clashes = _clashes(claims, facts)
    rows = enumerate(zip(claims.claims, outcomes, clashes, strict=True), 1)
    return Audit(claims.file, tuple(Audited(number, claim, tuple(found), against) for number, (claim, found, against) in rows))


# --- one reading of a claim -------------------------------------------------------------------------------------------------


def _outcome(reading: Reading, as_it_stands: bool) -> Outcome:
    quantities = Quantities(reading)
    try:
        found = _found(quantities, as_it_stands)
    except UnitError as error:
        steps = () if reading.arithmetic is None else (equation(reading.arithmetic, quantities),)
        found = Outcome(reading, "unit error", str(error), steps)
    except NeverError as error:
        found = Outcome(reading, "impossible", str(error), (), broken=(str(error),))
    return replace(found, flags=_model_flags(Quantities(reading, found.solved)))


def _found(quantities: Quantities, as_it_stands: bool) -> Outcome:
    reading, arithmetic, claimed = quantities.reading, quantities.reading.arithmetic, quantities.reading.claimed
    if arithmetic is None or claimed is None:
        return _stated(quantities)
    try:
        result = replace(value(arithmetic, quantities), percent=claimed.percent)
    except NeverError as error:
        return _compared(None, quantities, as_it_stands, str(error))
    if result.unit != claimed.unit:
        raise UnitError(f"it comes out in {result.unit}, and not in {claimed.unit}")
    unknown = [name for name, each in reading.given.items() if not each.amount.known and times_read(arithmetic, name, reading)]
    if not unknown:
        return _compared(result, quantities, as_it_stands, f"it comes to {result.words}")
    if result.known and _meets(result, claimed, reading):
        return _compared(result, quantities, as_it_stands, f"whatever {spaced(unknown[0])} is, it comes to {result.words}")
    return _solved_for(unknown[0], quantities)


def _model_flags(quantities: Quantities) -> tuple[str, ...]:
    """What the model says is odd but legal in the numbers that a claim asks it about."""
    if quantities.reading.proposal is None:
        return ()
    try:
        result = quantities.result
    except InputError:  # at the value that was solved for there is no result
        return ()
    return (*result.flags, *mode_problems(result.proposal))


def _stated(quantities: Quantities) -> Outcome:
    """A claim without arithmetic holds on its condition, if it is possible at all."""
    broken = _broken(quantities)
    requires = "; ".join([_filled(quantities, {}), *broken])
    verdict = "impossible" if broken else "holds if"
    return Outcome(quantities.reading, verdict, requires, (), derived=quantities.derived(), broken=broken)


def _solved_for(unknown: str, quantities: Quantities) -> Outcome:
    """A claim that leaves a quantity open holds if that is what it would have to be."""
    reading = quantities.reading
    assert reading.arithmetic is not None
    steps = preceding(reading.arithmetic, quantities)
    try:
        amount, found = solved(unknown, quantities)
    except UnsolvableError as error:
        return Outcome(reading, "impossible", str(error), tuple(steps), broken=(str(error),))
    except NotSolvedError as error:
        return Outcome(reading, "not solved", str(error), tuple(steps))
    values = {unknown: amount}
    after = Quantities(reading, values)
    broken = _broken(after)
    requires = "; ".join([_filled(after, values), *broken])
    steps = [*steps, *found, *of_the_model(after), *(derivation(name, after) for name in after.derived())]
    verdict = "impossible" if broken else "holds if"
    return Outcome(reading, verdict, requires, tuple(dict.fromkeys(steps)), None, values, after.derived(), broken)


def _compared(result: Amount | None, quantities: Quantities, as_it_stands: bool, comes: str) -> Outcome:
    """A claim that gives all quantities holds, or holds if one of them has another value.

    Args:
        result: what the arithmetic gives; None for a moment that does not come within the horizon.
        comes: that in words.
    """
    reading = quantities.reading
    assert reading.arithmetic is not None
    assert reading.claimed is not None
    if result:
        holds = _meets(result, reading.claimed, reading)
    else:  # what does not come within the horizon takes at least that long
        within = reading.claimed.value <= quantities.result["horizon"]
        holds = isinstance(reading.arithmetic, Name) and reading.claimed.relation == "at least" and within
    broken = _broken(quantities)
    steps = list[str]()
    if result:
        left = str(equation(reading.arithmetic, quantities)).rpartition(" = ")[0]
        steps += [*preceding(reading.arithmetic, quantities), f"{left} = {result}"]
    values, failures, unsolved = dict[str, Amount](), list[str](), list[str]()
    for name in () if holds else reading.solve_for:
        try:
            amount, found = solved(name, quantities)
        except UnsolvableError as error:
            failures.append(str(error))
            continue
        except NotSolvedError as error:
            unsolved.append(str(error))
            continue
        steps += found
        passed = () if broken else _broken(Quantities(reading, {name: amount}))
        failures += passed
        if not passed:
            values[name] = amount
    steps += [*of_the_model(quantities), *(derivation(name, quantities) for name in quantities.derived())]
    if holds:
        verdict, said = "holds", [f"{comes}, as claimed"]
    else:
        times = result.value / reading.claimed.value if result and reading.claimed.value else math.nan
        against = f"not {reading.claimed.bound}" if math.isnan(times) else f"{amounts.figures(times)} times what is claimed"
        said = [f"{comes}, {against}" if result else comes]
        verdict = "not solved" if unsolved else "impossible" if as_it_stands or failures else "differs"
    if values:
        verdict = "holds if"
        said.append(f"as claimed if {_filled(quantities, values)}")
    else:
        said += [*failures, *unsolved]
    verdict = "impossible" if broken else verdict
    requires = "; ".join([*said, *broken])
    return Outcome(
        reading, verdict, requires, tuple(dict.fromkeys(steps)), result, values, quantities.derived(), (*broken, *failures)
    )


def _meets(result: Amount, claimed: Amount, reading: Reading) -> bool:
    """Whether a result is what is claimed."""
    above, allowed = result.value - claimed.value, reading.allowed
    return (claimed.relation == "at least" or above <= allowed) and (claimed.relation == "at most" or above >= -allowed)


def _broken(quantities: Quantities) -> tuple[str, ...]:
    """The limits that are passed, in words; a share that is not within 0 and 1 passes one as well.

    What can be at most an amount can be less, and passes no limit above which that amount is.
    """
    reading, found = quantities.reading, []
    for name, limit in reading.limits.items():
        amount, bound = quantities[name], value(limit.symbol, quantities)
        if amount.unit != bound.unit:
            raise UnitError(f"{name} is in {amount.unit}, and its limit in {bound.unit}")
        margin = ROUNDING * abs(bound.value)
        over, under = amount.value > bound.value + margin, amount.value < bound.value - margin
        over, under = over and amount.relation != "at most", under and amount.relation != "at least"
        if (over and limit.relation != "at least") or (under and limit.relation != "at most"):
            most = replace(bound, percent=amount.percent).words
            named = f"{most} ({spaced(limit.symbol.name)})" if isinstance(limit.symbol, Name) else most
            found.append(f"{spaced(name)} would be {amount.bound}, and can be {limit.relation or 'only'} {named}")
    for name in (*quantities.found, *reading.derived):
        amount = quantities[name]
        if not is_share(name, amount.unit) or not amount.known:
            continue
        under, over = amount.value < -ROUNDING, amount.value > 1 + ROUNDING
        if (under and amount.relation != "at least") or (over and amount.relation != "at most"):
            found.append(f"{spaced(name)} would be {replace(amount, percent=True).bound}, and can be 0 to 100 %")
    return tuple(found)


def _filled(quantities: Quantities, values: Mapping[str, Amount]) -> str:
    """What would have to be true: the condition with its amounts, or the plain values where none is written.

    An amount that is a bound says so, where the condition does not say it before the amount.
    """
    reading = quantities.reading

    def amount(name: re.Match[str]) -> str:
        found = values.get(name["name"]) or quantities[name["name"]]
        return f"{name['said']}{found.words}" if name["said"] else found.bound

    if reading.condition:
        return re.sub(r"(?P<said>(?:\b[Aa]t (?:least|most) )?)\{(?P<name>\w+)\}", amount, reading.condition)
    said = {name: reading.given[name].amount for name in values}
    return ", or ".join(
        f"{spaced(name)} is {amount.bound}" + (f", not {said[name].words}" if said[name].known else "")
        for name, amount in values.items()
    )


# --- facts that several claims speak of -------------------------------------------------------------------------------------


def _facts(claim: Claim, outcome: Outcome) -> dict[str, Amount]:
    """What a claim says of each fact, at the value for which it was solved, which is as rounded as what is claimed.

    Raises:
        UnitError, ArithmeticError: a fact has no amount.
    """
    reading = claim.readings[0]
    found = {
        name: replace(amount, rounding=rounding(name, amount, reading))
        for name, amount in outcome.solved.items()
        if claim.facts and not reading.given[name].amount.known
    }
    quantities, said = Quantities(reading, found), dict[str, Amount]()
    for name, limit in claim.facts.items():
        try:
            amount = value(limit.symbol, quantities)
        except NeverError:
            continue
        if amount.known:  # what could not be solved for says nothing
            said[name] = replace(amount, relation=limit.relation or amount.relation)
    return said


def _clashes(claims: Claims, facts: Sequence[Mapping[str, Amount]]) -> list[tuple[tuple[int, str], ...]]:
    """For each claim, the numbers of those that say of a fact what cannot be true beside it, and what both say.

    Raises:
        InputError: two claims speak of one fact in different units.
    """
    found: list[list[tuple[int, str]]] = [[] for _ in facts]
    problems = []
    for one, said in enumerate(facts):
        for other in range(one + 1, len(facts)):
            for name in (each for each in said if each in facts[other]):
                units = [str(facts[place][name].unit) for place in (one, other)]
                if units[0] != units[1]:
                    claim = claims.claims[other]
                    message = (
                        f"{claim.key}: facts: {name} is in {units[1]}, but in {units[0]} in claim {one + 1}; convert one of them"
                    )
                    problems.append(Problem(message, claims.file, claim.readings[0].line))
                elif _apart(said[name], facts[other][name]):
                    for here, there in ((one, other), (other, one)):
                        own, theirs = facts[here][name].bound, facts[there][name].bound
                        found[here].append((there + 1, f"{spaced(name)}: {own} here, {theirs} in claim {there + 1}"))
    if problems:
        raise InputError(problems)
    return [tuple(sorted(each)) for each in found]


def _apart(one: Amount, other: Amount) -> bool:
    """Whether no value is what both say, whatever was rounded. 60.5 is rounded to 60 or to 61, and not to both."""
    (low, high), (from_, to) = _interval(one), _interval(other)
    common, noise = min(high, to) - max(low, from_), ROUNDING * max(abs(one.value), abs(other.value))
    rounded = min(one.rounding, other.rounding)
    return common < (min(noise, rounded / 2) if rounded else -noise)


def _interval(said: Amount) -> tuple[float, float]:
    low = -math.inf if said.relation == "at most" else said.value - said.rounding
    return low, math.inf if said.relation == "at least" else said.value + said.rounding


def _contradiction(numbers: Sequence[int]) -> str:
    return f"contradicts claim{'s' if len(numbers) > 1 else ''} {_listed([str(each) for each in numbers])}" if numbers else ""


def _listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


# --- as data ----------------------------------------------------------------------------------------------------------------


def as_data(found: Audit) -> dict[str, Any]:
    """Plain data for JSON: every claim with its verdict, its readings, their numbers with units, and the arithmetic."""
    return {
        "file": found.file,
        "answer": found.answer,
        "claims": [
            {
                "number": each.number,
                "key": each.claim.key,
                "words": each.claim.words,
                "source": each.claim.source,
                "verdict": each.verdict,
                "contradicts": list(each.contradicts),
                "clashes": [text for _, text in each.clashes],
                "requires": each.requires,
                "missing": list(each.claim.missing),
                "note": each.claim.note,
                "flags": each.flags,
                "readings": [_reading_data(outcome) for outcome in each.outcomes],
            }
            for each in found.claims
        ],
    }


def _reading_data(outcome: Outcome) -> dict[str, Any]:
    reading = outcome.reading
    return {
        "what": reading.what or "as it stands",
        "verdict": outcome.verdict,
        "given": {
            name: _amount_data(given.amount) | {"written": given.written, "source": given.source}
            for name, given in reading.given.items()
        },
        "arithmetic": "" if reading.arithmetic is None else str(reading.arithmetic),
        "claimed": _amount_data(reading.claimed) | {"relation": reading.claimed.relation} if reading.claimed else None,
        "result": _amount_data(outcome.result) if outcome.result else None,
        "solved": {name: _amount_data(amount) | {"relation": amount.relation} for name, amount in outcome.solved.items()},
        "derived": {name: _amount_data(amount) for name, amount in outcome.derived.items()},
        "broken": list(outcome.broken),
        "requires": outcome.requires,
        "steps": list(outcome.steps),
    }


def _amount_data(amount: Amount) -> dict[str, Any]:
    return {"value": amount.value, "unit": str(amount.unit)}
