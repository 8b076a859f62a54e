"""The runway: until when the cash at hand lasts, without the deployment and with it.

These are lines of the same model as `roi/payback.py`, and read its lines. Without the deployment cash falls by what is spent net
of income; with it, the cash of the deployment comes on top, which the payback counts against the baseline.
"""

from roi.lines import NEVER, UNDEFINED, line, lowest, maximum, running, where
from roi.payback import one_month

# --- month by month ---------------------------------------------------------------------------------------------------------


@line("USD", "Change in cash without the deployment")
def change_without(month, horizon, burn):
    """Like the cash of the deployment, at the end of each month from 1 to the horizon."""
    return where(month < one_month, 0, where(month <= horizon, 0 - burn * one_month, 0))


@line("USD", "Changes in cash so far, without the deployment")
def change_without_so_far(change_without):
    return running(change_without)


@line("USD", "Cash without the deployment")
def cash_without(cash_at_hand, change_without_so_far):
    return cash_at_hand + change_without_so_far


@line("USD", "Change in cash with the deployment")
def change_with(change_without, net_cash):
    return change_without + net_cash


@line("USD", "Cash with the deployment")
def cash_with(cash_without, cumulative):
    return cash_without + cumulative


def _out_of_cash(month, cash, change):
    """Where cash is below zero, when it went there: in a straight line from the month before, and in month 0 at once.

    Where it was below zero a month before already, that month stands here; so the earliest of all months is when it first went
    there, and no rounding of a balance that is just zero can lose it.
    """
    within = where(change < cash, month - one_month * cash / change, month - one_month)
    return where(cash < 0, maximum(within, 0), NEVER)


@line("month", "Out of cash without the deployment, at the latest")
def out_of_cash_without(month, cash_without, change_without):
    return _out_of_cash(month, cash_without, change_without)


@line("month", "Out of cash with the deployment, at the latest")
def out_of_cash_with(month, cash_with, change_with):
    return _out_of_cash(month, cash_with, change_with)


# --- the answer -------------------------------------------------------------------------------------------------------------


@line("month", "Runway without the deployment")
def runway_without(cash_at_hand, out_of_cash_without):
    """The first time that cash goes below zero; not defined where no cash at hand is given."""
    return where(cash_at_hand > 0, lowest(out_of_cash_without), UNDEFINED)


@line("month", "Runway with the deployment")
def runway_with(cash_at_hand, out_of_cash_with):
    return where(cash_at_hand > 0, lowest(out_of_cash_with), UNDEFINED)


@line("USD", "Lowest cash without the deployment")
def lowest_cash_without(cash_at_hand, cash_without):
    return where(cash_at_hand > 0, lowest(cash_without), UNDEFINED)


@line("USD", "Lowest cash with the deployment")
def lowest_cash_with(cash_at_hand, cash_with):
    return where(cash_at_hand > 0, lowest(cash_with), UNDEFINED)
