"""The review's other questions beside payback: total cost, scaling, readiness, scaling policy, and the audit of claims."""
