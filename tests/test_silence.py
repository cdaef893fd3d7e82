"""Nothing calls out: fresh processes with an empty home open no socket to anywhere and leave no file there."""

import os
import sys

import pytest

from tests.fresh import fresh

# Python's own sockets are caught by the hook; those of libraries in C stay open, as sockets among the process's files.
WATCHED = """
import os, sys, time, warnings
warnings.simplefilter("ignore")
def hook(event, args):
    if event in ("socket.getaddrinfo", "socket.gethostbyname", "urllib.Request") or event == "socket.connect":
        raise AssertionError(f"{event} {args}")
sys.addaudithook(hook)
TEXT = "By Marisol Quintero. My friend Tobias drew it, write to marisol.quintero@gmail.com or see www.example.edu/page or blog.uni.edu.in."
%s
time.sleep(0.5)
files = [os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{n}")]
assert not any(name.startswith("socket:") or os.environ["HOME"] in name for name in files), files
print("quiet")
"""
USES = {
    "python": """
import spacy
nlp = spacy.load("en_pii_edu")
nlp.get_pipe("hips_surrogate").set_key(b"a key of sixteen bytes")
assert "Quintero" not in nlp(TEXT)._.deidentified
""",
    "command line": """
from pathlib import Path
from pii_components.cli import main
folder = Path(os.environ["HOME"]).parent
(folder / "essay.txt").write_text(TEXT, "utf8")
sys.argv = ["pii-edu", "deidentify", str(folder / "essay.txt"), "-o", str(folder / "out.txt")]
os.environ["PII_EDU_KEY"] = "a key of sixteen bytes and more"
try:
    main()
except SystemExit as end:
    assert end.code == 0, end.code
assert "Quintero" not in (folder / "out.txt").read_text("utf8")
""",
    "presidio and its server": """
from pii_components.presidio.recognizer import StudentPiiRecognizer
from presidio_analyzer import AnalyzerEngine
from presidio_analyzer.nlp_engine import SpacyNlpEngine
import spacy
from pii_components.presidio.serve import Services, answer, create_app
from pii_components.presidio.settings import ServeSettings
engine = SpacyNlpEngine(models=[{"lang_code": "en", "model_name": "en_pii_edu"}])
engine.nlp = {"en": spacy.load("en_pii_edu")}
analyzer = AnalyzerEngine(nlp_engine=engine, supported_languages=["en"])
analyzer.registry.add_recognizer(StudentPiiRecognizer())
assert {"PERSON", "EMAIL_ADDRESS", "URL"} <= {found.entity_type for found in analyzer.analyze(TEXT, "en")}
create_app(ServeSettings(service="analyzer"), Services(analyzer))
assert answer(Services(analyzer), "/recognizers", "en")[0] == 200
""",
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.parametrize("use", USES)
def test_no_file_and_no_socket(use, tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    for name in list(os.environ):
        if name.startswith(("XDG_", "ORT_", "TLDEXTRACT", "PII_")):
            monkeypatch.delenv(name)
    assert fresh(WATCHED % USES[use], HOME=str(home)).stdout.endswith("quiet\n")
    assert list(home.rglob("*")) == []
