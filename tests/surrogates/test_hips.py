"""The component: what it writes, what it leaves alone, keys, scopes, errors, saving."""

import re
import warnings

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span

from pii_components.errors import PiiError, PiiWarning
from pii_components.labels import INDIRECT_LABELS
from pii_components.profiles import Profile
from pii_components.surrogates import dates, values
from pii_components.surrogates.component import HipsSurrogate

from .conftest import INDIRECT_TOO, KEY, hide, make_doc

ESSAY = (
    "Reflection by {NAME_STUDENT|Ana Lopez}\n\nI am {NAME_STUDENT|Ana}, and Dr. {NAME_INSTRUCTOR|Hartwell} and my friend "
    "{NAME_CONNECTED|Wei Chen} helped me. {NAME_CITED|Garcia} (2019) says so. Write to {EMAIL|ana.lopez7@stateu.edu} or "
    "{PHONE_NUM|(312) 867-5309}, {URL_PERSONAL|linkedin.com/in/analopez7}, ID {ID_NUM|AB-2047}.\n"
    "{STREET_ADDRESS|14 Oak Road, Dayton, OH 45402} in {LOCATION|Dayton}, at {EDUCATION|Ridgeview College}. "
    "My {EDUCATION|Ridgeview College}! Born {DATE|May 3, 1999}, {AGE|24}.\n"
    "{NAME_STUDENT|A. Lopez} / {NAME_STUDENT|LOPEZ, Ana}"
)


def essay_with(hips: HipsSurrogate, profile: str | Profile) -> str:
    hips.profile = profile
    return hips(make_doc(ESSAY))._.deidentified


def test_crapii(hips):
    text = essay_with(hips, "crapii")
    assert not re.search("Ana|Lopez|LOPEZ|stateu|867|2047|Oak|45402|Wei|Chen|Hartwell", text)
    assert re.search(
        r"and Dr\. [A-Z]\w+ and my friend \w+ \w+ helped me\. Garcia \(2019\) says", text
    )
    given, family = text.split("\n")[0].removeprefix("Reflection by ").split()
    assert text.endswith(f"\n{given[0]}. {family} / {family.upper()}, {given}")
    assert f"I am {given}, and" in text
    assert f"{given.lower()}.{family.lower()}" in text
    assert f"linkedin.com/in/{given.lower()}{family.lower()}" in text
    assert "@example.edu" in text and "555-01" in text
    assert " in Dayton, at Ridgeview College. My Ridgeview College! Born May 3, 1999, 24.\n" in text
    assert text.count("Dayton") == 1  # in the address it is gone
    assert "[" not in text


def test_indirect_identifiers_if_asked(hips):
    text = essay_with(hips, INDIRECT_TOO)
    assert not re.search(r"Dayton|Ridgeview|1999|\[", text)
    where = r"in [A-Z]\w+, at ([A-Z]\w+) College\. My \1 College! Born [A-Z]\w+ \d+, 19\d\d, 2\d\."
    assert re.search(where, text)


STUDENTS = (
    "Ana Lopez; Tom Baker; Wei Chen; Nora Wang; Priya Patel; Chidi Okafor; Hana Sato; Ivo Novak"
)


def test_ets_lists_may_run_out(hips):
    hips.profile = "ets"
    people = STUDENTS.split("; ")
    new = hide(hips, "; ".join(f"{{NAME_STUDENT|{p}}}" for p in people)).split("; ")
    assert new[:3] == ["Sam Doe", "Casey Smith", "Riley Johnson"]
    assert len(set(new)) == len(people) and "[" not in "".join(new)


def test_no_pseudonym_is_the_original(hips):
    hips.profile = "ets"
    new = hide(hips, "{NAME_STUDENT|Sam Baker} and Ms. {NAME_INSTRUCTOR|Smith}")
    assert "Sam" not in new and "Smith" not in new


def test_keyed_tokens_without_a_list(hips):
    hips.profile = Profile("tokens", actions=dict.fromkeys(("NAME_STUDENT", "EMAIL"), "pseudonym"))
    names = "{NAME_STUDENT|Ana Lopez} {NAME_STUDENT|Tom Baker} {NAME_STUDENT|Ana}"
    new = hide(hips, names + " {EMAIL|a@b.org} {EMAIL|c@d.org} {EMAIL|A@b.org}").split()
    assert all(re.fullmatch(r"\[(STUDENT|EMAIL)_[0-9a-f]{10}\]", token) for token in new)
    assert (new[0], new[3]) == (new[2], new[5])
    assert len(set(new)) == 4
    hips.set_key(KEY + b"!")
    assert not set(new) & set(hide(hips, names).split())


def test_failed_names_become_tags(hips, monkeypatch):
    monkeypatch.setattr("pii_components.surrogates.person_names.MAX_TRIES", 0)
    with pytest.warns(UserWarning, match="W402"):
        assert hide(hips, "{NAME_STUDENT|Maria Lopez}") == "[NAME_STUDENT]"


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("keep", "Ana Lopez"),
        ("tag", "[NAME_STUDENT]"),
        ("redact", "[REDACTED]"),
        ("mask", "Axx Lxxxx"),
        ("legacy_sha256", "ddc720421ba6bac982e9937bd33dc8eb725573f97711ab0b7b1027f0f77bd90d"),
        ("remove", ""),
        ("generic", "someone"),
    ],
)
def test_actions(hips, action, expected):
    actions, generic = {"NAME_STUDENT": action}, {"NAME_STUDENT": "someone"}
    hips.profile = Profile("one", actions=actions, generic=generic)
    doc = hips(make_doc("I am {NAME_STUDENT|Ana Lopez}, hello"))
    assert doc._.deidentified == f"I am {expected}, hello"
    assert len(doc._.surrogate_spans) == (action != "keep")
    assert [e.text for e in doc.ents] == ([] if action == "keep" else ["Ana Lopez"])


def test_document_stays_as_it_was(hips):
    doc = make_doc(ESSAY)
    text, spans = doc.text, [(s.start, s.end, s.label_) for s in doc.spans["pii"]]
    hips(doc)
    assert doc.text == text
    assert [(s.start, s.end, s.label_) for s in doc.spans["pii"]] == spans
    assert [e.text for e in doc.ents if e.label_ == "NAME_STUDENT"][:2] == ["Ana Lopez", "Ana"]
    assert not {e.label_ for e in doc.ents} & {"NAME_CITED", *INDIRECT_LABELS}


def test_groups_may_overlap_and_change(hips):
    doc = make_doc("{NAME_STUDENT|Ana Lopez} met Bo")
    student, part, friend = (
        Span(doc, a, b, label=label)
        for a, b, label in (
            (0, 3, "NAME_STUDENT"),
            (2, 3, "NAME_STUDENT"),
            (6, 7, "NAME_CONNECTED"),
        )
    )
    doc.spans["pii"] = [friend, part, student]
    assert re.fullmatch(r"(?!Ana)\w+ (?!Lopez)\w+ met (?!Bo)\w+", hips(doc)._.deidentified)
    assert [ent.text for ent in doc.ents] == ["Ana Lopez", "Bo"]
    hips.profile = Profile("other", actions={"NAME_STUDENT": "keep"})
    assert [ent.text for ent in hips(doc).ents] == ["Bo"]


@pytest.mark.filterwarnings("ignore:\\[W402\\]")
def test_what_a_detail_leaves_of_a_name_stays_hidden(hips):
    doc = make_doc("{NAME_STUDENT|Ana Lopez} met Bo")
    doc.spans["pii"] = [Span(doc, 0, 3, label="NAME_STUDENT"), Span(doc, 2, 3, label="USERNAME")]
    assert re.fullmatch(r"(?!Ana)\S+ (?!Lopez)\S+ met Bo", hips(doc)._.deidentified)


def test_empty_documents(hips):
    nobody = Doc(spacy.blank("en").vocab)
    for doc in (make_doc(""), make_doc("  \n "), make_doc("nothing here"), nobody):
        assert hips(doc)._.deidentified == doc.text
        assert doc._.surrogate_spans == []


def test_results_survive_serialisation(hips):
    doc = hips(make_doc(ESSAY))
    for copy in (
        Doc(doc.vocab).from_bytes(doc.to_bytes()),
        next(DocBin(docs=[doc], store_user_data=True).get_docs(doc.vocab)),
    ):
        assert copy._.deidentified == doc._.deidentified
        assert copy._.pii_offsets == doc._.pii_offsets
        assert copy._.surrogate_spans == doc._.surrogate_spans


@pytest.mark.parametrize(
    "pipes", ["hips_surrogate", "hips_surrogate pii_ruler", "pii_ruler hips_surrogate pii_ner"]
)
def test_nothing_to_read_is_refused(pipes):
    nlp = spacy.blank("en")
    for name in pipes.split():
        nlp.add_pipe(name)
    nlp.get_pipe("hips_surrogate").set_key(KEY)
    if "pii_ner" in pipes:
        nlp.get_pipe("pii_ner").add_label("NAME_STUDENT")
    docs = [nlp.make_doc("I am Ana Lopez, ana@x.edu"), nlp.make_doc("")]
    if "pii_ruler" in pipes.split()[0]:
        docs[0].spans["pii"] = []
    with pytest.raises(PiiError, match="E403.*hips_surrogate cannot protect"):
        nlp.get_pipe("hips_surrogate")(docs[0])


def test_another_key_is_refused(hips):
    doc = make_doc(ONE)
    doc.spans["sc"] = doc.spans.pop("pii")
    with pytest.raises(PiiError, match="E403.*'pii'.* is missing") as caught:
        hips(doc)
    assert "Ana" not in str(caught.value) and doc._.deidentified is None
    other = HipsSurrogate(spans_key="sc")
    other.set_key(KEY)
    assert "Ana" not in other(doc)._.deidentified


def first_line(hips: HipsSurrogate, marked: str) -> str:
    return hide(hips, marked).split("\n")[0]


ONE, TWO = "{NAME_STUDENT|Ana Lopez}\none", "{NAME_STUDENT|Ana Lopez}\ntwo"


def test_scopes(hips):
    assert (hips.scope, first_line(hips, ONE)) == ("document", first_line(hips, ONE))
    assert first_line(hips, ONE) != first_line(hips, TWO)
    with hips.using(scope="corpus"):
        assert first_line(hips, ONE) == first_line(hips, TWO)
    with hips.using(thread="author 1"):
        assert hips.scope == "thread"
        mine = first_line(hips, ONE)
        assert first_line(hips, TWO) == mine
    with hips.using(thread="author 2"):
        assert first_line(hips, ONE) != mine
    assert hips.scope == "document"
    hips.scope = "thread"
    docs = [make_doc(ONE), make_doc(TWO), make_doc(TWO)]
    docs[0]._.pii_scope = docs[1]._.pii_scope = "author 1"
    lines = [d._.deidentified.split("\n")[0] for d in hips.pipe(docs)]
    assert lines[0] == lines[1] == mine != lines[2]
    with pytest.raises(ZeroDivisionError), hips.using(profile="ets", scope="corpus"):
        assert hips.profile.name == "ets"
        raise ZeroDivisionError
    assert (hips.profile.name, hips.scope, hips.thread) == ("crapii", "thread", None)


def test_random_key_is_told_once(monkeypatch):
    monkeypatch.delenv("PII_EDU_KEY", raising=False)
    one, two = HipsSurrogate(), HipsSurrogate()
    with pytest.warns(PiiWarning, match="W401.*PII_EDU_KEY"):
        mine = first_line(one, ONE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert first_line(one, ONE) == mine
    with pytest.warns(PiiWarning, match="W401"):
        assert first_line(two, ONE) != mine


def test_bad_documents_stop_no_others(hips, monkeypatch):
    failed, bad, chance = [], make_doc("bad"), HipsSurrogate.chance

    def broken(self, doc, text):
        return 1 / 0 if doc is bad else chance(self, doc, text)

    monkeypatch.setattr(HipsSurrogate, "chance", broken)
    with pytest.raises(ZeroDivisionError):
        hips(bad)
    hips.set_error_handler(lambda name, _, docs, err: failed.append((name, len(docs), type(err))))
    docs = list(hips.pipe([make_doc(ONE), bad, make_doc(TWO)], batch_size=2))
    assert [d.text for d in docs] == ["Ana Lopez\none", "Ana Lopez\ntwo"]
    assert failed == [("hips_surrogate", 1, ZeroDivisionError)]
    assert bad._.deidentified is None


def test_no_word_stays_in_caches(hips, monkeypatch):
    hips.profile = INDIRECT_TOO
    caches = [dates._numbers, dates._read, values.canonical]
    essay = ESSAY + " {OTHER|x} {URL_PERSONAL|github.com/mlopez}"
    docs = hips.pipe([make_doc(essay), make_doc(essay)], batch_size=1)
    for call in (
        lambda: next(docs),
        lambda: hips(make_doc(essay)),
        lambda: hips.observe([make_doc(essay)]),
    ):
        values.canonical("left by something else")
        call()
        assert [cache.cache_info().currsize for cache in caches] == [0, 0, 0]
    broken = lambda self, *read: 1 / len(values.canonical("?"))  # noqa: E731
    monkeypatch.setattr(HipsSurrogate, "set_annotations", broken)
    with pytest.raises(ZeroDivisionError):
        hips(make_doc(essay))
    assert not values.canonical.cache_info().currsize


def test_round_trips(hips, tmp_path):
    path = tmp_path / "ours.toml"
    path.write_text('name = "ours"\n[actions]\nNAME_STUDENT = "mask"\n', encoding="utf8")
    hips.profile = path
    hips.scope = "corpus"
    hips.observe([make_doc("{NAME_STUDENT|Qzxwa Zzywq}")])
    data = hips.to_bytes()
    hips.to_disk(tmp_path / "saved")
    path.unlink()
    saved = data + b"".join(p.read_bytes() for p in (tmp_path / "saved").rglob("*") if p.is_file())
    assert KEY not in saved
    assert b"zxwa" not in saved
    for copy in (HipsSurrogate().from_bytes(data), HipsSurrogate().from_disk(tmp_path / "saved")):
        assert copy.profile == hips.profile
        assert copy.scope == "corpus"
        copy.set_key(KEY)
        assert first_line(copy, ONE) == "Axx Lxxxx"
    assert HipsSurrogate().from_bytes(data, exclude=["profile"]).profile.name == "crapii"
