"""Total cost of ownership: what the bill pays for, and what a run, a release and a million tokens cost.

These are lines of the same model as `roi/payback.py`, and read its lines: the GPU cost by what the GPUs do, and the bill of each
fleet over what the fleet gets done.
"""

from roi.lines import UNDEFINED, line, total, where
from roi.symbols import Constant

tokens_per_million = Constant("tokens_per_million", 1_000_000, "token/Mtoken")

# --- what the GPUs are paid for ---------------------------------------------------------------------------------------------


@line("USD/month", "GPUs that train")
def training_cost(training_gpu_hours, gpu_price):
    return training_gpu_hours * gpu_price


@line("USD/month", "GPUs that start up")
def startup_cost(startup_gpu_hours, gpu_price):
    return startup_gpu_hours * gpu_price


@line("USD/month", "GPUs that are idle")
def idle_cost(training_gpu_hours, utilisation, gpu_price):
    """What is billed for each hour of training beyond that hour."""
    return training_gpu_hours * (1 / utilisation - 1) * gpu_price


@line("USD/month", "GPU cost of a site by what the GPUs do, less its GPU cost")
def gpu_cost_difference(training_cost, startup_cost, idle_cost, gpu_cost):
    return training_cost + startup_cost + idle_cost - gpu_cost


@line("USD/month", "GPU cost by what the GPUs do, less GPU cost", check=True)
def check_gpu_cost(gpu_cost_difference):
    return total(gpu_cost_difference)


# --- what a unit of work costs ----------------------------------------------------------------------------------------------


@line("Mtoken/run", "Million tokens of a run")
def tokens_per_run(steps_per_run, tokens_per_step):
    return steps_per_run * tokens_per_step / tokens_per_million


@line("Mtoken/month", "Million tokens of a month")
def tokens_per_month(tokens_per_run, runs_per_month):
    return tokens_per_run * runs_per_month


@line("USD/run", "Baseline cost of a run")
def baseline_cost_per_run(baseline_bill, runs_per_month):
    return where(runs_per_month > 0, baseline_bill / runs_per_month, UNDEFINED)


@line("USD/run", "Proposed cost of a run")
def proposed_cost_per_run(proposed_bill, runs_per_month):
    return where(runs_per_month > 0, proposed_bill / runs_per_month, UNDEFINED)


@line("USD/release", "Baseline cost of a release")
def baseline_cost_per_release(baseline_bill, releases_per_month):
    return where(releases_per_month > 0, baseline_bill / releases_per_month, UNDEFINED)


@line("USD/release", "Proposed cost of a release")
def proposed_cost_per_release(proposed_bill, releases_per_month):
    return where(releases_per_month > 0, proposed_bill / releases_per_month, UNDEFINED)


@line("USD/Mtoken", "Baseline cost of a million tokens")
def baseline_cost_per_million_tokens(baseline_bill, tokens_per_month):
    return where(tokens_per_month > 0, baseline_bill / tokens_per_month, UNDEFINED)


@line("USD/Mtoken", "Proposed cost of a million tokens")
def proposed_cost_per_million_tokens(proposed_bill, tokens_per_month):
    return where(tokens_per_month > 0, proposed_bill / tokens_per_month, UNDEFINED)
