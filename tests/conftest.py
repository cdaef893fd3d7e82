"""`--slow` runs what takes long: the shipped pipeline, trainings, workers that are spawned."""

import os

import hypothesis
import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault(
    "ORT_DISABLE_TELEMETRY", "1"
)  # tests import onnxruntime before the package does
# The same examples each time, so that a green run stays green; HYPOTHESIS_PROFILE=default looks for new ones.
hypothesis.settings.register_profile("steady", derandomize=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run slow tests as well")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="takes long; run with --slow"))


@pytest.fixture
def own_code():
    """What a test registers is gone after it. Gives a function that takes away all at once."""
    import catalogue

    from pii_components.names.table import name_tables
    from pii_components.surrogates.values import surrogates

    def forget():
        for key in [key for key in catalogue.REGISTRY if key[0] == "pii_components"]:
            del catalogue.REGISTRY[key]
        for registry in (surrogates, name_tables):
            registry._known = None

    yield forget
    forget()
