"""Decide whether a multi-region Kubeflow GPU-training deployment pays back.

>>> import roi
>>> result = roi.evaluate(roi.load("two-region"), latency_saved=120)
>>> round(result.net_gain)
328974
"""

from roi.problems import InputError
from roi.proposals import Proposal
from roi.reading import load
from roi.results import Result, evaluate

__all__ = ["InputError", "Proposal", "Result", "evaluate", "load"]
__version__ = "0.1.0"
