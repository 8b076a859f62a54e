"""Settings that every test shares."""

from hypothesis import settings

# The same examples in every run, so that a failure is the change's; and no deadline, since a busy machine is not a mistake.
settings.register_profile("tests", derandomize=True, deadline=None)
settings.load_profile("tests")
