"""Names in scripts of their own: people beside words that are none."""

import pytest
import spacy

from pii_components.labels import NAME_CONNECTED, NAME_LABELS, ROLES
from pii_components.names.scripts import name_form, native_names
from pii_components.ruler.merge import SOURCE, with_native
from pii_components.ruler.tokenizer import make_student_tokenizer
from pii_components.spans import Candidate

# fmt: off
TABLE = [
    # a person | the same script, no person
    ("My friend 김지민 said no.", "김지민", "The word 사랑 means love."),
    ("Dear 서연, how are you?", "서연", "We flew to 서울 in May."),
    ("김서연_Reflection\n\nStory.", "김서연", "I ate 김치 and 불고기."),
    ("Jimin Kim (김지민) wrote it.", "김지민", "The idea of tact (눈치) is old."),
    ("By 박서연\n\nThe essay follows here.", "박서연", "The band 방탄소년단 sang."),
    ("=====\n최민호 (Wed 23:02)\n\nI lived there.", "최민호", "In Korean 정 is affection."),
    ("I went to 김지민's house.", "김지민", "I went to 강남 by bus."),
    ("I met 李伟 in the lab.\n李伟 said hi.", "李伟", "道 (dao) is the way."),
    ("Sincerely,\n王芳", "王芳", "高兴 means glad."),
    ("王芳 (2014) found it.", "王芳", "I visited 黄山 and 北京."),
    ("欧阳娜 told us.", "欧阳娜", "The concept of 孝 (filial duty) is old."),
    ("田中 さくら told me so.", "田中 さくら", "We watched 千と千尋の神隠し."),
    ("Hi 花子, see you.", "花子", "They call it もったいない."),
    ("My sister Анна Орлова agrees.", "Анна Орлова", "The novel Братья Карамазовы is long."),
    ("My brother Дмитрий's essay", "Дмитрий", "Москва is cold."),
    ("I asked Ελένη Κωνσταντίνου about it.", "Ελένη Κωνσταντίνου", "λόγος and νόστος matter."),
    ("My aunt Σοφία came.", "", "the Greek word Σοφία means wisdom"),
    ("ليلى حسن said that I am late.", "ليلى حسن", "نور means light."),
    ("My teacher דוד כהן helped me.", "דוד כהן", "the Hebrew word שלום"),
    ("Prof. प्रिया शर्मा (2014) claims so.", "प्रिया शर्मा", "नमस्ते is hello."),
    ("My friend สมชาย ใจดี came.", "สมชาย ใจดี", "We say สวัสดี there."),
    ("I am கவிதா, from Madurai.", "கவிதா", "The Tamil word அன்பு is love."),
    ("ნინო ბერიძე told us.", "ნინო ბერიძე", "We drank tea in თბილისი."),
]
# fmt: on


@pytest.mark.parametrize(("person", "name", "other"), TABLE)
def test_a_person_beside_a_word(person, name, other):
    assert [found.text for found in native_names(person)] == ([name] if name else []) * (2 if person.count(name or "?") == 2 else 1)
    assert native_names(other) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("김지민", 2), ("김 지민", 2), ("지민", 1), ("김치", -1), ("대한민국만세", -1), ("李小龙", 1), ("佐藤花子", 2), ("さくら", 1),
        ("ありがとう", -1),
        ("Анна Орлова", 2), ("Анна", 1), ("анна орлова", -1), ("Москва", -1), ("रोहन वर्मा", 2), ("रामायण", -1), ("Ana", -1),
    ],
)  # fmt: skip
def test_name_form(text, expected):
    assert name_form(text) == expected


def test_part_of_a_name_that_is_plain_elsewhere_is_one():
    text = "My friend 김지민 is here. It was 지민 again. And the word 지민 means nothing."
    assert [found.text for found in native_names(text)] == ["김지민", "지민"]


def test_a_text_in_that_script_is_left_alone():
    assert native_names("우리는 오늘 학교에서 김지민을 만났다. 그리고 우리는 함께 점심을 먹었다. Hello 김지민!") == []
    assert native_names("My friend Kim said no.") == []


@pytest.fixture(scope="module")
def tokenizer():
    return make_student_tokenizer(spacy.blank("en"))


def test_the_ruler_takes_the_models_role_and_mends_the_ends(tokenizer):
    doc = tokenizer("My friend 田中 さくら told me so.")
    roles = (0.1, 0.1, 0.6, 0.1, 0.1)
    (found,) = with_native(doc, [Candidate(2, 3, NAME_CONNECTED, 0.4, "model", "", roles)])
    assert (doc[found.start : found.end].text, found.label, found.source) == ("田中 さくら", NAME_CONNECTED, SOURCE)
    # The same role, less surely: the model has read few names in other scripts.
    assert found.roles.index(max(found.roles)) == 2 and 0.2 < found.roles[2] < roles[2]
    assert sum(found.roles) == pytest.approx(1.0)


def test_a_name_that_nobody_proposed_has_neutral_roles(tokenizer):
    doc = tokenizer("My friend 김지민 told me so.")
    (found,) = with_native(doc, [])
    assert found.label in NAME_LABELS and len(set(found.roles)) == 1 and len(found.roles) == len(ROLES)


@pytest.mark.parametrize(
    ("label", "source", "kept"), [("USERNAME", "model", False), ("USERNAME", "username-cue", True), ("EMAIL", "model", True)]
)
def test_details_of_rules_stay(tokenizer, label, source, kept):
    doc = tokenizer("My friend 김지민 told me so.")
    found = with_native(doc, [Candidate(2, 3, label, 0.8, source)])
    assert (found[0].label == label) is kept and len(found) == 1


def test_the_option_of_the_ruler(tokenizer):
    nlp = spacy.blank("en")
    doc = tokenizer("My friend 김지민 told me so.")
    on = nlp.add_pipe("pii_ruler", config={"native_names": True})
    off = nlp.add_pipe("pii_ruler", name="off")
    assert [c.source for c in on.find_spans(doc)] == [SOURCE] and off.find_spans(doc) == []
