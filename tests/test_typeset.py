"""Formulas as people read them: complete, well-formed, with brackets where they are needed and only there."""

import doctest
import re
from xml.etree import ElementTree

import pytest

from roi import typeset
from roi.inputs import model
from roi.lines import maximum, running, total, where
from roi.symbols import Constant, Name
from roi.typeset import latex, mathml

a, b, c = Name("first_part"), Name("b"), Name("c")
per_day = Constant("hours_per_day", 24, "hour/day")

CASES = [
    (a + b, r"\text{first part} + \text{b}"),
    (a - (b - c), r"\text{first part} - \left(\text{b} - \text{c}\right)"),
    (a * b / per_day, r"\frac{\text{first part} \cdot \text{b}}{\text{hours per day}}"),
    (a * (b + c), r"\text{first part} \cdot \left(\text{b} + \text{c}\right)"),
    (a * (b / c), r"\text{first part} \cdot \frac{\text{b}}{\text{c}}"),
    (a / (b * c), r"\frac{\text{first part}}{\text{b} \cdot \text{c}}"),
    ((1 + a) ** (0 - b / c), r"\left(1 + \text{first part}\right)^{0 - \frac{\text{b}}{\text{c}}}"),
    ((a / b) ** c, r"\left(\frac{\text{first part}}{\text{b}}\right)^{\text{c}}"),
    (
        where(a <= b, 0, c),
        r"\begin{cases} 0 & \text{if } \text{first part} \le \text{b} \\ \text{c} & \text{otherwise} \end{cases}",
    ),
    (maximum(a, 0), r"\max\left(\text{first part}, 0\right)"),
    (total(a), r"\sum \text{first part}"),
    (running(a), r"\text{running sum of }\text{first part}"),
]


@pytest.mark.parametrize(("formula", "text"), CASES, ids=lambda case: str(case)[:40])
def test_latex(formula, text):
    assert latex(formula) == text


@pytest.mark.parametrize("name", model().lines)
def test_every_line_is_well_formed_and_names_what_it_reads(name):
    formula = model().formulas[name]
    tree = ElementTree.fromstring(re.sub(r"&#(\d+);", lambda match: chr(int(match[1])), mathml(formula)))
    shown = "".join(tree.itertext())
    for argument in model().lines[name].arguments:
        assert argument.replace("_", " ") in shown
        assert rf"\text{{{argument.replace('_', ' ')}}}" in latex(formula)
    assert latex(formula).count("{") == latex(formula).count("}")


def test_a_fraction_stands_in_mathml_as_one():
    assert mathml(a / b) == (
        '<math displaystyle="true"><mfrac><mrow><mtext>first part</mtext></mrow><mrow><mtext>b</mtext></mrow></mfrac></math>'
    )


def test_the_examples_run():
    found = doctest.testmod(typeset)
    assert (found.failed, found.attempted > 0) == (0, True)
