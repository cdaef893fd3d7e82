"""Names letter by letter, torn, with digits for letters, in scripts of their own: found, and what looks like them left alone."""

import pytest
import spacy

from pii_components.context.component import PiiContext
from pii_components.context.find import FORM_SOURCES
from pii_components.context.settings import ContextSettings
from pii_components.context.view import DocView
from pii_components.labels import NAME_STUDENT
from pii_components.names.obfuscated import native_runs, read_leet, find_obfuscated, rejoin
from pii_components.ruler.merge import SOURCE
from pii_components.ruler.tokenizer import make_student_tokenizer
from pii_components.spans import Candidate, read_spans, write_spans

NLP = spacy.blank("en")
NLP.tokenizer = make_student_tokenizer(NLP)
CONTEXT = PiiContext(settings={"min_score": 0.9})


def worn_in(text: str) -> list[tuple[str, ...]]:
    doc = NLP(text)
    return [worn.words for worn in find_obfuscated(text, [t.idx for t in doc], [t.idx + len(t) for t in doc])]


# fmt: off
WORN = [
    ("by A N A  L O P E Z, 12", [("ANA", "LOPEZ")]), ("so v i d a s  he said", [("vidas",)]), ("H I R A N O ,  I S S E I", [("HIRANO", "ISSEI")]),
    ("O ' B R I E N  J O", [("O'BRIEN", "JO")]), ("S h e e l a   T h a k u r", [("Sheela", "Thakur")]), ("Ana Lo-\npez", [("Lopez",)]),
    ("LO-\nPEZ", [("LOPEZ",)]),
    # series, formulas, initials
    ("A B C D E F", []), ("x y z", []), ("n n n n", []), ("a b c d", []), ("J. R. R. Tolkien", []), ("I am a boy", []), ("p q r s t", []),
    ("self-\nMade", []), ("A - B", []),
]
LEET = [
    ("4n4 L0p3z", ["Ana", "Lopez"]), ("by M4r14's", ["Maria"]), ("M4R14", ["MARIA"]),
    # beside a known one, again, within a hyphenated name, or all of a kind
    ("L0p3z Gw4tk", ["Lopez", "Gwatk"]), ("J1n-w00 L0p3z", ["Lopez", "woo", "Jin"]), ("4n4 L0p3z and Zv3tl4n4", ["Ana", "Lopez", "Zvetlana"]),
    ("L0p3z in Week10 of 3D at B2B, C3PO", ["Lopez"]), ("L0p3z Week3, L0p3z Group10", ["Lopez", "Lopez"]), ("Zv3tl4nk4 came", []),
    ("3rd 10am H1N1 mp3 3D h3ll0 Week3 B2B C4 iOS11 2nd 1980s", []), ("ana4@x.org /l30/ #4n4", []),
]
NATIVE = [
    ("by Ελένη Κωνσταντίνου", ["Ελένη Κωνσταντίνου"]), ("my friend 李伟 came", ["李伟"]),
    ("伟's bag", ["伟"]), ("田中 さくら said so", ["田中 さくら"]),
    ("Ana Li (安娜) wrote", ["安娜"]), ("Анна Орлова and נועה לוי", ["Анна Орлова", "נועה לוי"]),
    ("田中 佐藤 さくら wrote", ["田中 佐藤 さくら"]), ("今日はとても良い天気ですね yes", []),
    ("प्रिया शर्मा, ليلى حسن", ["प्रिया शर्मा", "ليلى حسن"]),
    # words that are explained, formulas, texts in another language
    ("the Greek word λόγος", []), ("the word Λόγος is old", []),
    ("Λόγος means word", []), ("filial piety (孝) matters", []), ("ΔG = 5 and Σx", []),
    ("the concept of 仁 is Chinese", []), ("孝 (filial piety)", []), ("in Japanese さくら is a tree", []), ("αβγ", []),
    ("我喜欢学习中文,因为它很有意思。我每天都学习。李伟也学习。我们一起学习,一起吃饭,一起看书。李伟是我的朋友。", []),
]
# fmt: on


@pytest.mark.parametrize(("text", "expected"), WORN)
def test_words_letter_by_letter_and_torn(text, expected):
    assert worn_in(text) == expected


@pytest.mark.parametrize(("text", "expected"), LEET)
def test_digits_for_letters(text, expected):
    assert list(read_leet(text).values()) == expected


@pytest.mark.parametrize(("text", "expected"), NATIVE)
def test_names_in_their_own_script(text, expected):
    assert [text[start:end] for start, end in native_runs(text)] == expected


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["A", "N", "A", " ", "L", "O"], ["ANA", "LO"]),
        (["Ana", "Lo", "-", "\n", "pez"], ["Ana", "Lopez"]),
        (["Lo", "\n", "pez"], ["Lo", "\n", "pez"]),
        (["A", "B", "Lopez"], ["A", "B", "Lopez"]),
    ],
)
def test_rejoin(tokens, expected):
    assert list(rejoin(tokens)) == expected


def names(text: str, *given: tuple[str, float]) -> list[str]:
    """What `pii_context` finds. given: what the model found, with its score."""
    doc = NLP(text)
    spans = [(doc.char_span(text.index(value), text.index(value) + len(value)), score) for value, score in given]
    write_spans(doc, [Candidate(s.start, s.end, NAME_STUDENT, score, "model", "model", (0.2,) * 5) for s, score in spans])
    return [doc[c.start : c.end].text for c in CONTEXT.find_spans(doc)]


BODY = "The town is old and the river is long, and every spring the water comes up to the doors.\n"


# fmt: off
@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        # found by form
        (f"{BODY}by A N A  L O P E Z", [], ["A N A  L O P E Z"]), (f"{BODY}We met 4n4 L0p3z there.", [], ["4n4 L0p3z"]),
        (f"{BODY}My friend 李伟 came.", [], ["李伟"]), (f"{BODY}It is in Essay_AnaLopez_final.docx now.", [], ["AnaLopez"]),
        ("by KATIEVAUGHAN\n\n" + BODY, [], ["KATIEVAUGHAN"]),
        # what shows nothing hides nothing
        (f"{BODY}my name is A\u200bna L\u00adopez.", [], ["A\u200bna L\u00adopez"]), (f"{BODY}my name is \u200fAna Lopez\u200f.", [], ["Ana Lopez"]),
        # the model saw a part
        (f"{BODY}Then N i l o o said so.", [("i l", 0.5)], ["N i l o o"]),
        (f"{BODY}Then Ana Lo-\npez said so.", [("Ana Lo", 0.95)], ["Ana Lo-\npez"]),
        (f"{BODY}Then נועה לוי said so.", [("לוי", 0.95)], ["נועה לוי"]),
        ("Exam no. 12 / Hirano, Issei / Q5\n\n" + BODY, [("Issei", 0.95)], ["Hirano, Issei"]),
        # found elsewhere, so here too
        (f"{BODY}Ana Lopez and analopez and A n a  L o p e z too.", [("Ana Lopez", 0.99)], ["Ana Lopez", "analopez", "A n a  L o p e z"]),
        (f"{BODY}Ana Lopez and aNA.", [("Ana Lopez", 0.99)], ["Ana Lopez", "aNA"]),
        # left alone
        (f"R E S U L T S\n{BODY}", [], []), (f"{BODY}T H E  E N D", [], []),
    (f"{BODY}A commu-\nnication and P A R I S and the word 孝.", [], []),
        (f"{BODY}In Paris, Ana sang.", [("Ana", 0.99)], ["Ana"]), (f"{BODY}See notes_week_final.docx.", [], []),
    ],
)
# fmt: on
def test_context_finds_worn_names(text, given, expected):
    assert names(text, *given) == expected


def test_view_of_plain_text_is_the_text():
    doc = NLP("Ana Lopez, 3rd year.\nWeek3")
    view = DocView(doc, ContextSettings())
    assert (view.text, view.words) == (doc.text, [t.text for t in doc])


def test_form_sources_are_those_that_are_written():
    doc = CONTEXT(NLP(f"{BODY}by A N A  L O P E Z and 4n4 L0p3z, then Budi San-\ntoso and 李伟, Essay_MiraKowalska_v2.docx"))
    assert {c.source for c in read_spans(doc)} >= FORM_SOURCES - {"cue:name_torn", SOURCE}


def test_running_twice_changes_nothing():
    doc = CONTEXT(NLP(f"{BODY}by A N A  L O P E Z and 4n4 and 李伟, Essay_AnaLopez_v2.docx"))
    before = read_spans(doc)
    assert before and read_spans(CONTEXT(doc)) == before


def test_emoji_beside_a_name_are_nothing():
    view = DocView(NLP("my name is 🌸Ana Lopez🌸, ⭐ hi ★ 5"), ContextSettings())
    assert view.text.split() == ["my", "name", "is", "Ana", "Lopez,", "hi", "5"]
    assert "→" in DocView(NLP("Ana → Bob é"), ContextSettings()).text


def test_digits_for_letters_in_a_part_of_a_token():
    view = DocView(NLP("by J1n-w00 L0p3z today"), ContextSettings())
    assert view.text == "by Jin-woo Lopez today"
