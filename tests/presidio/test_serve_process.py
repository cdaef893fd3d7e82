"""End to end: `pii-edu serve` as a process on this machine, asked with httpx, ended with the test. Everyone here is invented."""

import json
import signal
import socket
import subprocess
import sys

import httpx
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("presidio_analyzer")

from pii_components.cli.common import DONE, REFUSED

from .serving import ROOT, TEXT, server, small_pipeline

NAMES = ("Ina", "Sorel", "Odile", "Prath", "Buzan", "Quillfeather")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return small_pipeline(tmp_path_factory.mktemp("pipeline"))


def test_there_and_back_without_a_text_in_the_logs(model, tmp_path):
    vault = tmp_path / "essays.vault"
    with server("--model", model, "--vault", str(vault), "--max-bytes", "20000", cwd=tmp_path) as running:
        with httpx.Client(base_url=running.url, timeout=120) as client:
            assert client.get("/health").text == "Presidio Analyzer service is up"
            found = client.post("/analyze", json={"text": TEXT, "language": "en", "correlation_id": "Quillfeather"}).json()
            kept = [row for row in found if row["entity_type"] in ("PERSON", "EMAIL_ADDRESS")]
            assert sorted(TEXT[row["start"] : row["end"]] for row in kept) == [
                "Ina Sorel",
                "Odile Prath",
                "ina.sorel@example.edu",
            ]
            hidden = client.post(
                "/anonymize", json={"text": TEXT, "analyzer_results": kept, "anonymizers": {"DEFAULT": {"type": "hips"}}}
            ).json()
            assert "Ina Sorel" not in hidden["text"] and "Buzan (2006)" in hidden["text"]
            back = client.post(
                "/deanonymize",
                json={
                    "text": hidden["text"],
                    "anonymizer_results": hidden["items"],
                    "deanonymizers": {"DEFAULT": {"type": "reidentify"}},
                },
            ).json()
            assert back["text"] == TEXT
            # Whatever goes wrong, and wherever a text may stand in a request.
            client.get("/recognizers", params={"language": "Ina Sorel"})
            client.get("/Odile%20Prath")
            client.post("/analyze", content=b'{"text": "Ina Sorel', headers={"content-type": "application/json"})
            client.post("/analyze", json={"text": {"Ina": "Sorel"}, "language": "en"})
            client.post("/analyze", json={"text": "Ina Sorel", "language": "Quillfeather"})
            client.post("/analyze", json={"text": "Ina Sorel", "language": "en", "entities": ["QUILLFEATHER", "PERSON"]})
            client.post(
                "/analyze", json={"text": "Ina Sorel", "language": "en", "allow_list": ["Sorel("], "allow_list_match": "regex"}
            )
            client.post(
                "/anonymize",
                json={"text": "Ina", "analyzer_results": [{"start": 0, "end": 9, "score": 1, "entity_type": "Ina"}]},
            )
            client.post("/anonymize", json={"text": 5, "analyzer_results": ["Ina Sorel"]})
            client.post("/deanonymize", json={"text": "Ina Sorel", "anonymizer_results": hidden["items"], "deanonymizers": {}})
            assert client.post("/analyze", json={"text": "Ina " * 9000, "language": "en"}).status_code == 413
            assert 'pii_edu_found_total{entity="PERSON"}' in client.get("/metrics").text
            assert not any(name in client.get("/metrics").text for name in NAMES)
        assert running.stop() == DONE
    assert "POST /analyze 200, " in running.log and "GET (other) 404" in running.log
    assert not any(name.lower() in running.log.lower() for name in NAMES)
    assert not any(b"Sorel" in path.read_bytes() for path in tmp_path.iterdir() if path.is_file())


def test_ends_cleanly_and_answers_what_is_at_work(model, tmp_path):
    with server("--model", model, "--service", "analyzer", "--quiet", cwd=tmp_path) as running:
        assert httpx.post(f"{running.url}/anonymize", json={}).status_code == 404
        assert httpx.post(f"{running.url}/analyze", json={"text": TEXT, "language": "en"}, timeout=120).status_code == 200
        assert running.stop(signal.SIGINT) == DONE
    assert running.log.splitlines() == [f"listening on {running.url}"]


def test_second_server_on_a_port_is_refused_before_it_loads(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "pii_components.cli", "serve", "--port", port, "--service", "analyzer"]
        run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert run.returncode == REFUSED
    assert run.stderr.startswith(f"[E859] '127.0.0.1' port {port} cannot be listened on")


@pytest.mark.slow
def test_the_shipped_pipeline_answers(tmp_path):
    text = "By Marisol Quintero\n\nAs Buzan (2006) says, a map helps. Write to marisol.quintero@gmail.com"
    with server(cwd=tmp_path, wait=600) as running:
        with httpx.Client(base_url=running.url, timeout=300) as client:
            found = client.post("/analyze", json={"text": [text, "Maps help."], "language": "en"}).json()
            named = {(row["entity_type"], text[row["start"] : row["end"]]) for row in found[0]}
            assert {("PERSON", "Marisol Quintero"), ("EMAIL_ADDRESS", "marisol.quintero@gmail.com")} <= named
            assert not any(entity == "PERSON" and "Buzan" in value for entity, value in named)
            explained = client.post("/analyze", json={"text": text, "language": "en", "return_decision_process": True}).json()
            assert any("student" in json.dumps(row["analysis_explanation"]) for row in explained)
        assert running.stop() == DONE
