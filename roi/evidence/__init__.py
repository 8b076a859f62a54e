"""Inputs from what was measured: training logs, job statuses, billing exports, price lists and networks.

Each reader takes files that people already have and returns `Evidence`: values for inputs with a spread, a source and a count,
and an account of everything that the files held, so that nothing is dropped without a word.
"""

from roi.evidence.evidence import Account, Evidence, Finding, Measure

__all__ = ["Account", "Evidence", "Finding", "Measure"]
