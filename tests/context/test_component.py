"""`pii_context`: cases of regression_cases/context.json, settings, properties, serialisation."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pii_components.context.component import PiiContext
from pii_components.context.cues import compile_cues, load_cues
from pii_components.context.evidence import figures
from pii_components.context.find import FORM_SOURCES
from pii_components.context.settings import ContextSettings
from pii_components.context.view import _shown
from pii_components.errors import PiiError
from pii_components.labels import EMAIL, NAME_CITED, NAME_STUDENT, ROLES, is_name
from pii_components.names.normalize import normalize_token
from pii_components.names.parse import read_tokens
from pii_components.names.wordlists import case_style, words
from pii_components.ruler.merge import SOURCE
from pii_components.spans import Candidate, read_spans, resolve_overlaps, write_spans

from ..tiny import TOKENIZER
from .marking import CONTEXT, EVEN, NLP, marked, names_in

CASES = json.loads((Path(__file__).parents[1] / "data" / "regression_cases" / "context.json").read_text("utf8"))
GOOD = {"id": "x", "role": "CITED", "weight": 1.0, "before": "saith $", "reason": "an old verb"}


def test_cases_fail_only_where_known() -> None:
    assert len({case["id"] for case in CASES["cases"]}) == len(CASES["cases"]) >= 420
    failures = {}
    for case in CASES["cases"]:
        doc = PiiContext(settings=case.get("settings"))(marked(case["text"], case.get("model")))
        if names_in(doc) != case["expected"]:
            failures[case["id"]] = names_in(doc)
        for span in doc.spans["pii"]:
            assert span._.pii_role.lower() == span._.pii_reason.split(":")[0], case["id"]
            assert span._.pii_source and "\n" not in span._.pii_reason and len(span._.pii_reason) < 100
    assert sorted(failures) == sorted(CASES["known_failures"]), failures


@pytest.mark.parametrize(
    "text, reasons",
    [
        ("[[Hobart]] (2014) came to another result.", ["cited: year in brackets follows"]),
        ("My boss would often tell me: “Hey [[.5:Felicia]], mind the step.”", ["student: the writer is spoken to"]),
        (
            "My friend [[Tomas]] came. Later Tomas went home by bus.",
            ["connected: friend, classmate or colleague of the writer" + where for where in ("", " (another mention)")],
        ),
    ],
)
def test_reason_names_the_cue(text: str, reasons: list[str]) -> None:
    doc = CONTEXT(marked(text))
    assert [span._.pii_reason for span in doc.spans["pii"]] == reasons


def test_names_found_by_their_form_say_so() -> None:
    body = "The town is old and the river is long, and every spring the water comes up to the doors.\n"
    doc = CONTEXT(NLP(f"{body}by A N A  L O P E Z and 4n4 L0p3z, then Budi San-\ntoso and 李伟, Essay_MiraKowalska_v2.docx"))
    assert {c.source for c in read_spans(doc)} >= FORM_SOURCES - {"cue:name_torn", SOURCE}


def test_no_other_span_is_changed_or_grown_into() -> None:
    doc = NLP("By Ana Lopez\nana.lopez@example.edu\n\nI wrote this on a long train ride home from the sea.\n")
    mail = next(t.i for t in doc if t.like_email)
    address = Candidate(mail, mail + 1, EMAIL, 0.2, "rule", "an address")
    write_spans(doc, [address])
    assert [c for c in read_spans(CONTEXT(doc)) if c.label == EMAIL] == [address]
    doc = NLP("My friend Maria Kowalska came.")
    write_spans(doc, [Candidate(2, 3, NAME_STUDENT, 0.9, "model", "", EVEN), Candidate(3, 4, "ID_NUM", 0.9, "rule", "")])
    assert [(c.start, c.end) for c in read_spans(CONTEXT(doc))] == [(2, 3), (3, 4)]


@pytest.mark.parametrize("text", ["", "   ", "\n\n", ".", "Ana"])
def test_short_documents(text: str) -> None:
    assert list(CONTEXT(NLP(text)).spans["pii"]) == []


def test_label_without_role_probabilities_counts_as_a_soft_reading() -> None:
    doc = NLP("Nobody but Tomas Halden stood there.")
    write_spans(doc, [Candidate(2, 4, NAME_CITED, 0.9, "llm", "")])
    assert names_in(CONTEXT(doc)) == [["Tomas Halden", "CITED"]]


def test_roster_keeps_a_weak_name_and_is_never_saved() -> None:
    text = "The last thing we saw was the [[.3:Zorbo]] on the wall."
    assert names_in(PiiContext()(marked(text))) == []
    context = PiiContext(roster=["Kemal Zorbo"])
    assert names_in(context(marked(text))) == [["Zorbo", "STUDENT"]]
    assert b"orbo" not in context.to_bytes()
    context.set_roster([])
    assert names_in(context(marked(text))) == []


def test_settings_change_decisions() -> None:
    text = "The last thing we saw was the [[.4:Zorbo]] on the wall."
    assert names_in(PiiContext(settings={"min_score": 0.3})(marked(text))) == [["Zorbo", "STUDENT"]]
    thin = "Nobody but [[Tomas Halden]] stood there."
    assert names_in(PiiContext(settings={"student_bias": 4.0})(marked(thin, "CITED"))) == [["Tomas Halden", "STUDENT"]]
    off = PiiContext(settings={"find": False, "propagate": False, "repair": False})
    assert names_in(off(marked("My name is Mira Kowalska."))) == []


@pytest.mark.parametrize(
    "values, code",
    [
        ({"min_score": 2}, "E301"), ({"repeat": -1}, "E301"), ({"header_alone": -1}, "E301"), ({"company": 1.5}, "E301"),
        ({"alone": -1.0}, "E301"), ({"blind": 0.6}, "E301"), ({"min_scores": 0.5}, "E302"),
    ],
)  # fmt: skip
def test_settings_out_of_range(values: dict, code: str) -> None:
    with pytest.raises(PiiError) as err:
        PiiContext(settings=values)
    assert err.value.code == code


def test_own_cue_is_used_and_saved() -> None:
    text, cue = "Thus saith [[Tomas Halden]] to them.", {**GOOD, "weight": 5.0}
    context = PiiContext(cues=[cue])
    assert names_in(context(marked(text))) == [["Tomas Halden", "CITED"]]
    assert names_in(PiiContext().from_bytes(context.to_bytes())(marked(text))) == [["Tomas Halden", "CITED"]]
    assert names_in(PiiContext()(marked(text))) == [["Tomas Halden", "STUDENT"]]


@pytest.mark.parametrize(
    "change",
    [
        {"role": "NOBODY"}, {"weight": 0}, {"before": "("}, {"before": "<nothing>$"}, {"zone": ["cellar"]}, {"colour": 1},
        {"find": True, "before": None, "after": "x"}, {"before": None}, {"reason": None}, {"english": True},
    ],
)  # fmt: skip
def test_cue_that_cannot_be_used(change: dict) -> None:
    cue = {key: value for key, value in {**GOOD, **change}.items() if value is not None}
    for cues in ([cue], [GOOD, GOOD]):
        with pytest.raises(PiiError) as err:
            compile_cues({"cue": cues})
        assert err.value.code == "E303"


def test_shipped_cues_compile_and_are_many() -> None:
    rules = load_cues()
    assert len(rules.cues) >= 120 and len({cue.id for cue in rules.cues}) == len(rules.cues)
    assert {cue.role for cue in rules.cues} == {*ROLES, "NOT_NAME"}


def test_figures() -> None:
    assert len(figures().full) >= 400
    people = {"J. K. Rowling": "CITED", "Rowling , J. K.": "CITED", "Sherlock Holmes": "CHARACTER", "Ana Kant": ""}
    assert {who: figures().of(read_tokens(who.split()).form) for who in people} == people


def test_words() -> None:
    assert words().is_title("Prof.") and words().is_heading("Reflection") and not words().is_heading("Lopez")
    styles = {"Ana": "title", "ANA": "upper", "ana": "lower", "McKay": "title", "A.": "title", "安": "other"}
    assert {word: case_style(word) for word in styles} == styles


LINES = [case["text"] for case in CASES["cases"][:220]]
DOCS = st.lists(st.sampled_from(LINES), min_size=1, max_size=3).map("\n".join)
MODELS = st.sampled_from([None, *ROLES])
FAST = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))


@FAST
@given(DOCS, MODELS, st.data())
def test_twice_is_once_and_others_and_text_stay_and_nothing_overlaps(text: str, model: str | None, data: st.DataObject) -> None:
    doc = marked(text, model)
    places = data.draw(st.sets(st.integers(0, max(len(doc) - 1, 0)), max_size=4))
    labels = st.sampled_from(["EMAIL", "ID_NUM", "DATE"])
    others = [Candidate(i, i + 1, data.draw(labels), 0.4, "rule", "r") for i in places]
    cands = resolve_overlaps([*others, *read_spans(doc)])
    write_spans(doc, cands)
    before = doc.text
    found = read_spans(CONTEXT(doc))
    assert doc.text == before and read_spans(CONTEXT(doc)) == found
    assert [c for c in found if not is_name(c.label)] == [c for c in cands if not is_name(c.label)]
    assert resolve_overlaps(found) == found
    assert not any("\n" in doc[c.start : c.end].text for c in found if is_name(c.label))


@FAST
@given(st.lists(st.tuples(DOCS, MODELS), min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_order_and_batches_do_not_matter(pairs: list, rng) -> None:
    alone = [read_spans(CONTEXT(marked(*pair))) for pair in pairs]
    order = list(range(len(pairs)))
    rng.shuffle(order)
    piped = list(CONTEXT.pipe((marked(*pairs[i]) for i in order), batch_size=2))
    assert [read_spans(doc) for doc in piped] == [alone[i] for i in order]


def test_errors_go_to_the_handler_and_no_word_outlives_its_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = spacy.blank("en", config=TOKENIZER)
    pipe = nlp.add_pipe("pii_context")
    seen = []
    nlp.set_error_handler(lambda name, proc, docs, e: seen.append((name, len(docs), type(e))))
    caches = (normalize_token, _shown)
    pipe(nlp.make_doc("Zoë was here"))
    assert [cached.cache_info().currsize for cached in caches] == [0, 0]

    def broken(self, docs):
        normalize_token("Zoë")
        raise ZeroDivisionError

    monkeypatch.setattr(PiiContext, "find_all", broken)
    assert list(nlp.pipe(["Ana", "Ben"])) == []
    pipe(nlp.make_doc("Ana"))
    assert seen == [("pii_context", 2, ZeroDivisionError), ("pii_context", 1, ZeroDivisionError)]
    assert normalize_token.cache_info().currsize == 0


def test_serialisation_in_a_fresh_process_that_imports_nothing_heavy(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("pii_context", config={"settings": {**ContextSettings().to_dict(), "min_score": 0.05}, "cues": [GOOD]})
    nlp.to_disk(tmp_path / "pipe")
    code = (
        "import sys, spacy; before = set(sys.modules); import pii_components.context.component\n"
        "heavy = {'faker', 'pandas', 'presidio_analyzer', 'phonenumbers', 'tldextract', 'names_dataset'}\n"
        "assert not heavy & (set(sys.modules) - before)\n"
        "from pii_components.spans import Candidate, write_spans\n"
        "nlp = spacy.load(sys.argv[1]); pipe = nlp.get_pipe('pii_context')\n"
        "assert pipe.settings.min_score == 0.05 and any(c.id == 'x' for c in pipe.rules.cues)\n"
        "again = pipe.from_bytes(pipe.to_bytes()); doc = nlp.make_doc('We saw the Zorbo there.')\n"
        "write_spans(doc, [Candidate(3, 4, 'NAME_STUDENT', 0.1, 'model')])\n"
        "print([(s.text, s._.pii_role) for s in again(doc).spans['pii']])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "pipe")], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[('Zorbo', 'STUDENT')]", done.stderr


def test_exclude() -> None:
    changed = PiiContext(settings={"min_score": 0.1}).to_bytes()
    assert PiiContext().from_bytes(changed, exclude=["cfg"]).settings.min_score == 0.5
