"""The lines of a scaling curve: what more GPUs make of the time and the cost of a run, in the order in which it is read.

Time is always that of the same work, so the lines hold for strong scaling, where every run does the same work, and for weak
scaling, where the work grows with the GPUs. Everything is relative to the smallest count that was measured, which need not be one
GPU: a model may not fit on one.
"""

import sys

from roi.lines import UNDEFINED, Model, Variable, line, lines_of, where
from roi.payback import minutes_per_hour
from roi.units import Unit

# --- what was measured ------------------------------------------------------------------------------------------------------


@line("hour/run", "Time of the same work as the run on the smallest count does")
def same_work_hours(measured_hours, first_work, work):
    return measured_hours * first_work / work


@line("1", "GPUs over those of the smallest count")
def relative_gpus(gpus, smallest_gpus):
    return gpus / smallest_gpus


@line("1", "Speed-up against the smallest count")
def speed_up(first_hours, run_hours):
    return first_hours / run_hours


@line("1", "Efficiency: share of the speed-up that the GPUs would give if none was lost")
def efficiency(speed_up, relative_gpus):
    return speed_up / relative_gpus


@line("1", "Cost factor: GPU-hours of the same work over those of the smallest count")
def cost_factor(relative_gpus, speed_up):
    return relative_gpus / speed_up


# --- laws -------------------------------------------------------------------------------------------------------------------


@line("hour/run", "Time by the universal scalability law")
def law_hours(first_hours, contention, coherency, relative_gpus):
    """Gunther, Guerrilla Capacity Planning (2007), chapter 4: n GPUs are n / (1 + s (n - 1) + k n (n - 1)) times as fast as one.

    Without coherency it is Amdahl's law (AFIPS 1967), and contention is the serial share of the run.
    """
    return first_hours * ((1 - contention) / relative_gpus + contention + coherency * (relative_gpus - 1))


@line("gpu", "GPUs at which the law's time is shortest")
def fastest_gpus(smallest_gpus, contention, coherency):
    return where(coherency > 0, smallest_gpus * ((1 - contention) / coherency) ** 0.5, UNDEFINED)


@line("1", "Speed-up that no number of GPUs reaches, by Amdahl's law")
def highest_speed_up(contention):
    return where(contention > 0, 1 / contention, UNDEFINED)


# --- cost -------------------------------------------------------------------------------------------------------------------


@line("node", "Nodes beyond those of the smallest count")
def more_nodes(gpus, smallest_gpus, gpus_per_node):
    return (gpus - smallest_gpus) / gpus_per_node


@line("hour/run", "Time in the queue")
def queue_hours(queue_minutes, growth_per_node, more_nodes):
    return queue_minutes * (1 + growth_per_node * more_nodes) / minutes_per_hour


@line("hour/run", "Time of starting up")
def start_hours(start_minutes, growth_per_node, more_nodes):
    return start_minutes * (1 + growth_per_node * more_nodes) / minutes_per_hour


@line("hour/run", "Time from the queue to the end of the run")
def hours_in_all(queue_hours, start_hours, run_hours):
    return queue_hours + start_hours + run_hours


@line("gpu*hour/run", "GPU-hours that are paid for")
def gpu_hours(gpus, hours_in_all):
    """All GPUs are paid for from the queue to the end, as those of a reserved fleet are."""
    return gpus * hours_in_all


@line("1", "Cost over that at the smallest count")
def relative_cost(gpu_hours, first_gpu_hours):
    return gpu_hours / first_gpu_hours


@line("USD/run", "Cost of the run")
def run_cost(gpu_hours, gpu_price):
    return gpu_hours * gpu_price


UNITS = {
    "measured_hours": "hour/run",
    "work": "work",
    "first_work": "work",
    "first_hours": "hour/run",
    "run_hours": "hour/run",
    "first_gpu_hours": "gpu*hour/run",
    "gpus": "gpu",
    "smallest_gpus": "gpu",
    "gpus_per_node": "gpu/node",
    "contention": "1",
    "coherency": "1",
    "queue_minutes": "minute/run",
    "start_minutes": "minute/run",
    "growth_per_node": "1/node",
    "gpu_price": "USD/(gpu*hour)",
}
"""What the lines read; `first_hours` and `run_hours` are of the same work, measured or by the law."""

MODEL = Model(lines_of(sys.modules[__name__]), [Variable(name, Unit.parse(unit), "scalar") for name, unit in UNITS.items()])
