"""Surrogates are made fast enough for corpora. metrics/surrogate_speed.json has the figures of scripts/bench_surrogates.py."""

import importlib.util

import pytest


@pytest.mark.slow
def test_time_beside_faker(pytestconfig):
    pytest.importorskip("faker")
    path = pytestconfig.rootpath / "scripts" / "bench_surrogates.py"
    spec = importlib.util.spec_from_file_location("bench_surrogates", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # Beside Faker, since a machine that is busy is slow for both.
    rates = module.rates(module.corpora(160, 1)["linked"], 3)
    assert rates["plan"]["surrogates"] >= 0.97 * rates["faker"]["surrogates"]
    assert 3 * rates["plan"]["per_second"] > rates["faker"]["per_second"]
