"""`pii_context`: cases by hand, settings, properties, serialisation."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pii_components.context.people import Mention, link, parse_form, same_person
from spacy.tokens import Doc

from pii_components.context.component import PiiContext, make_pii_context  # noqa: F401  (registers the factory)
from pii_components.context.cues import compile_cues, load_cues
from pii_components.context.evidence import figures
from pii_components.context.settings import ContextSettings
from pii_components.errors import PiiError
from pii_components.labels import EMAIL, NAME_CITED, NAME_STUDENT, ROLES, is_name, label_for_role
from pii_components.names.wordlists import case_style, words
from pii_components.ruler.tokenizer import make_student_tokenizer
from pii_components.spans import Candidate, read_spans, resolve_overlaps, write_spans

CASES = json.loads((Path(__file__).parent / "data" / "regression_cases" / "context.json").read_text("utf8"))
NLP = spacy.blank("en")
NLP.tokenizer = make_student_tokenizer(NLP)
CONTEXT = PiiContext()
EVEN = (0.2,) * 5
_MARK = re.compile(r"\[\[(?:(\.\d+):)?(.+?)\]\]", re.DOTALL)


def roles_of(model: str | None) -> tuple[float, ...]:
    return tuple(0.6 if role == model else 0.1 for role in ROLES) if model else EVEN


def marked(text: str, model: str | None = None) -> Doc:
    """A document with the candidates that stand in [[...]], or [[.3:...]] with their score."""
    plain, spans, at = "", [], 0
    for match in _MARK.finditer(text):
        plain += text[at : match.start()]
        spans.append((len(plain), len(plain) + len(match[2]), float(match[1] or 0.9)))
        plain += match[2]
        at = match.end()
    doc = NLP(plain + text[at:])
    cands = []
    for start, end, score in spans:
        span = doc.char_span(start, end, alignment_mode="expand")
        roles = roles_of(model)
        cands.append(Candidate(span.start, span.end, label_for_role(model or "STUDENT"), score, "model", "model", roles))
    write_spans(doc, cands)
    return doc


def names_in(doc: Doc) -> list[list[str]]:
    return [[span.text, span._.pii_role] for span in doc.spans["pii"] if is_name(span.label_)]


def test_cases_fail_only_where_known() -> None:
    assert len({case["id"] for case in CASES["cases"]}) == len(CASES["cases"]) >= 120
    got = {case["id"]: names_in(CONTEXT(marked(case["text"], case.get("model")))) for case in CASES["cases"]}
    failures = {case["id"]: got[case["id"]] for case in CASES["cases"] if got[case["id"]] != case["expected"]}
    assert sorted(failures) == sorted(CASES["known_failures"]), failures


@pytest.mark.parametrize(
    "case", [c for c in CASES["cases"] if c["id"].startswith(("self_", "cite_", "char_", "inst_", "conn_"))][::4]
)
def test_every_decision_has_a_reason(case: dict) -> None:
    doc = CONTEXT(marked(case["text"], case.get("model")))
    for span in doc.spans["pii"]:
        assert span._.pii_role.lower() == span._.pii_reason.split(":")[0]
        assert span._.pii_source and "\n" not in span._.pii_reason and len(span._.pii_reason) < 100


def test_reason_names_the_cue() -> None:
    doc = CONTEXT(marked("[[Hobart]] (2014) came to another result.", "STUDENT"))
    assert doc.spans["pii"][0]._.pii_reason == "cited: year in brackets follows"


def test_reason_says_when_the_evidence_is_elsewhere() -> None:
    doc = CONTEXT(marked("My friend [[Tomas]] came. Later Tomas went home by bus.", "STUDENT"))
    assert doc.spans["pii"][1]._.pii_reason.endswith("(another mention)")


def test_other_labels_are_left_alone() -> None:
    doc = NLP("By Ana Lopez\nana.lopez@example.edu\n\nI wrote this on a long train ride home from the sea.\n")
    mail = next(t.i for t in doc if t.like_email)
    write_spans(doc, [Candidate(mail, mail + 1, EMAIL, 0.2, "rule", "an address")])
    kept = [c for c in read_spans(CONTEXT(doc)) if c.label == EMAIL]
    assert kept == [Candidate(mail, mail + 1, EMAIL, 0.2, "rule", "an address")]


def test_name_does_not_grow_into_another_span() -> None:
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
    ("values", "code"),
    [({"min_score": 2}, "E301"), ({"repeat": -1}, "E301"), ({"header_alone": -1}, "E301"), ({"min_scores": 0.5}, "E302")],
)
def test_settings_out_of_range(values: dict, code: str) -> None:
    with pytest.raises(PiiError) as err:
        PiiContext(settings=values)
    assert err.value.code == code


GOOD = {"id": "x", "role": "CITED", "weight": 1.0, "before": "saith $", "reason": "an old verb"}


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
        {"find": True, "before": None, "after": "x"}, {"before": None}, {"reason": None},
    ],
)  # fmt: skip
def test_cue_that_cannot_be_used(change: dict) -> None:
    cue = {key: value for key, value in {**GOOD, **change}.items() if value is not None}
    with pytest.raises(PiiError) as err:
        compile_cues({"cue": [cue]})
    assert err.value.code == "E303"


def test_shipped_cues_compile_and_are_many() -> None:
    rules = load_cues()
    assert len(rules.cues) >= 120 and len({cue.id for cue in rules.cues}) == len(rules.cues)
    assert {cue.role for cue in rules.cues} == {*ROLES, "NOT_NAME"}


def test_figures() -> None:
    assert len(figures().full) >= 400
    assert figures().of(parse_form(["J.", "K.", "Rowling"])) == "CITED"
    assert figures().of(parse_form(["Rowling", ",", "J.", "K."])) == "CITED"
    assert figures().of(parse_form(["Sherlock", "Holmes"])) == "CHARACTER"
    assert figures().of(parse_form(["Ana", "Kant"])) == ""


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["Ana", "Lopez"], (("ana", "lopez"), (), False)),
        (["Lopez", ",", "A."], (("lopez",), ("a",), True)),
        (["A.L."], ((), ("a", "l"), False)),
        (["Maria", "de", "la", "Cruz"], (("maria", "cruz"), (), False)),
        (["JOSÉ", "'s"], (("jose",), (), False)),
        (["Ana", "_", "Lopez"], (("ana", "lopez"), (), False)),
        (["King", "Jr."], (("king",), (), False)),
    ],
)
def test_parse_form(tokens: list[str], expected: tuple) -> None:
    form = parse_form(tokens)
    assert (form.words, form.initials, form.comma) == expected


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Ana Lopez", "ana lopez", True),
        ("Ana Lopez", "Lopez , Ana", True),
        ("Ana Lopez", "A. Lopez", True),
        ("Ana Lopez", "Ana M. Lopez", True),
        ("Ana Lopez", "Ana Lopez Garcia", True),
        ("Ana Lopez", "Ana L.", True),
        ("Ana Lopez", "Ben Lopez", False),
        ("Ana Lopez", "B. Lopez", False),
        ("Ana Lopez", "Ana Garcia", False),
        ("A. Lopez", "B. Lopez", False),
        ("Ana Lopez", "Ben Roth", False),
    ],
)
def test_same_person(a: str, b: str, same: bool) -> None:
    assert same_person(parse_form(a.split()), parse_form(b.split())) is same
    assert same_person(parse_form(b.split()), parse_form(a.split())) is same


def linked(*names: str, own: dict[int, dict[str, float]] | None = None) -> list[list[int]]:
    mentions = [Mention(i, 10 * i, parse_form(name.split()), (own or {}).get(i, {})) for i, name in enumerate(names)]
    return link(mentions, margin=1.5)


def test_link() -> None:
    assert linked("Ana Lopez", "Lopez", "Ana", "A. Lopez", "A.L.") == [[0, 1, 2, 3, 4]]
    assert linked("Ana Lopez", "Ben Lopez", "Lopez") == [[0], [1, 2]]
    assert linked("Lopez", "Ana Lopez", "Ben Lopez") == [[0, 1], [2]]
    assert linked("Ana Lopez", "Lopez", own={0: {"STUDENT": 3.0}, 1: {"CITED": 5.0}}) == [[0], [1]]
    assert linked("Ana Lopez", "Lopez", own={0: {"STUDENT": 3.0}, 1: {"CITED": 1.0}}) == [[0, 1]]
    assert linked("A. Lopez", "B. Lopez", "Lopez") == [[0], [1, 2]]


def test_doubtful_bare_name_goes_to_the_protected_person() -> None:
    own = {0: {"STUDENT": 3.0}, 1: {"CITED": 5.0}}
    assert linked("Ana Lopez", "Ben Lopez", "Lopez", own=own) == [[0, 2], [1]]


def test_words() -> None:
    assert words().is_title("Prof.") and words().is_heading("Reflection") and not words().is_heading("Lopez")
    assert [case_style(w) for w in ("Ana", "ANA", "ana", "McKay", "A.", "安")] == [
        "title",
        "upper",
        "lower",
        "title",
        "title",
        "other",
    ]


LINES = [case["text"] for case in CASES["cases"]]
DOCS = st.lists(st.sampled_from(LINES), min_size=1, max_size=3).map("\n".join)
MODELS = st.sampled_from([None, *ROLES])
FAST = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))


def snapshot(doc: Doc) -> list:
    return [(c.start, c.end, c.label, c.score, c.source, c.reason, c.roles) for c in read_spans(doc)]


@FAST
@given(DOCS, MODELS)
def test_twice_is_once(text: str, model: str | None) -> None:
    doc = CONTEXT(marked(text, model))
    once = snapshot(doc)
    assert snapshot(CONTEXT(doc)) == once


@FAST
@given(DOCS, MODELS, st.data())
def test_others_and_text_stay_and_nothing_overlaps(text: str, model: str | None, data: st.DataObject) -> None:
    doc = marked(text, model)
    places = data.draw(st.lists(st.integers(0, max(len(doc) - 1, 0)), max_size=4))
    others = [
        Candidate(i, i + 1, data.draw(st.sampled_from(["EMAIL", "ID_NUM", "DATE"])), 0.4, "rule", "r") for i in set(places)
    ]
    cands = resolve_overlaps([*others, *read_spans(doc)])
    write_spans(doc, cands)
    before = doc.text
    found = read_spans(CONTEXT(doc))
    assert doc.text == before
    assert [c for c in found if not is_name(c.label)] == [c for c in cands if not is_name(c.label)]
    assert resolve_overlaps(found) == found
    assert not any("\n" in doc[c.start : c.end].text for c in found if is_name(c.label))


@FAST
@given(st.lists(st.tuples(DOCS, MODELS), min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_order_and_batches_do_not_matter(pairs: list, rng) -> None:
    alone = [snapshot(CONTEXT(marked(*pair))) for pair in pairs]
    order = list(range(len(pairs)))
    rng.shuffle(order)
    piped = list(CONTEXT.pipe((marked(*pairs[i]) for i in order), batch_size=2))
    assert [snapshot(doc) for doc in piped] == [alone[i] for i in order]


def test_errors_go_to_the_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("pii_context")
    seen = []
    nlp.set_error_handler(lambda name, proc, docs, e: seen.append((name, len(docs), type(e))))
    monkeypatch.setattr(PiiContext, "find_all", lambda self, docs: 1 / 0)
    assert list(nlp.pipe(["Ana", "Ben"])) == []
    assert seen == [("pii_context", 2, ZeroDivisionError)]


def test_serialisation_in_a_fresh_process(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("pii_context", config={"settings": {**ContextSettings().to_dict(), "min_score": 0.05}, "cues": [GOOD]})
    nlp.to_disk(tmp_path / "pipe")
    code = (
        "import sys, spacy, pii_components.context.component\n"
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


def test_import_is_light() -> None:
    heavy = "('faker', 'pandas', 'presidio_analyzer', 'phonenumbers', 'tldextract', 'typer', 'names_dataset')"
    # spaCy itself imports typer; what counts is what comes on top of it.
    code = (
        "import sys, spacy; before = set(sys.modules); import pii_components.context.component; new = set(sys.modules) - before; "
        f"print([m for m in {heavy} if m in new])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
