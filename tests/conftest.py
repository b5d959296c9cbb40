"""What holds for all tests."""

from hypothesis import settings

# How long an example takes says something about the machine, not about what is tested.
settings.register_profile("whimbrel", deadline=None)
settings.load_profile("whimbrel")
