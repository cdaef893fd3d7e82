"""Reading one name, and one person linker for detection (with the roles that cues tell) and for surrogates (by the names)."""

import pytest

from pii_components.names.link import RoleCues, link, link_with_roles, links_of, nicknames, spell_initials
from pii_components.names.parse import read_mention, read_tokens

STUDENT, CITED, WEAK, FRIEND = {"STUDENT": 3.0}, {"CITED": 5.0}, {"CITED": 2.0}, {"CONNECTED": 4.0}


def mentions(names):
    return spell_initials([read_mention(name) for name in names])


def with_roles(names, own=(), signed=None, **options):
    own = dict(own if isinstance(own, dict) else enumerate(own))
    cues = [RoleCues(10 * i, own.get(i, {}), **options.get(f"cue{i}", {})) for i in range(len(names))]
    return link_with_roles(mentions(names), cues, margin=1.5, signed=signed).owners


# fmt: off
@pytest.mark.parametrize(("text", "words"), [
    ("Maria Lopez", ["given:maria", "family:lopez"]), ("Lopez, Maria", ["family:lopez", "given:maria"]),
    ("Garcia Maria", ["given:garcia", "family:maria"]),  # put right in link(), by the table
    ("Dr. Maria Lopez Jr.", ["given:maria", "family:lopez"]), ("Mr. Lopez", ["family:lopez"]), ("Maria", ["lone:maria"]),
    ("M. Lopez", ["given:m", "family:lopez"]), ("J.R. Lopez", ["given:j", "given:r", "family:lopez"]),
    ("Juan de la Cruz", ["given:juan", "family:cruz"]), ("de la Cruz", ["lone:cruz"]), ("De La Cruz", ["lone:cruz"]),
    ("van der Berg", ["lone:berg"]), ("Al de la Cruz", ["given:al", "family:cruz"]),
    ("Nguyen Van Anh", ["given:nguyen", "family:van", "family:anh"]),
    ("Jean-Luc Garcia-Lopez", ["given:jeanluc", "family:garcia", "family:lopez"]),
    *((f"Maria{gap}Lopez", ["given:maria", "family:lopez"]) for gap in ("_", "\n", "\u200b", "\u00a0")),
    ("Ma\u00adria Lopez", ["given:maria", "family:lopez"]), ("M A R I A", ["lone:maria"]), ("JOSÉ O'NEIL", ["given:jose", "family:oneil"]),
    ("Maria Lopez's", ["given:maria", "family:lopez"]), ("Dean King", ["given:dean", "family:king"]), ("Jack Ma", ["given:jack", "family:ma"]),
    ("Md. Rahim Khan", ["given:rahim", "family:khan"]), ("Maria_Lopez_102938", ["given:maria", "family:lopez"]), ("...", []), ("", []),
])
def test_read_mention(text, words):
    mention = read_mention(text)
    assert [f"{w.kind}:{w.norm}" for w in mention.words] == words
    assert all(text[w.start : w.end] == w.text for w in mention.words)


def test_title_before_the_span():
    mention = read_mention("Lopez", before="I asked Ms. ")
    assert (mention.gender, mention.words[0].kind) == ("F", "family")
    assert {read_mention("Lopez", before=before).words[0].kind for before in ("I asked ", "I asked 4Ms. ", "_ms ")} == {"lone"}


@pytest.mark.parametrize(("tokens", "words", "letters", "comma"), [
    (["Ana", "Lopez"], ("ana", "lopez"), (), False), (["Lopez", ",", "A."], ("lopez",), ("a",), True),
    (["J.", "K.", "Rowling"], ("rowling",), ("j", "k"), False), (["Ana", "_", "Lopez"], ("ana", "lopez"), (), False),
    (["Ana", "Lopez", "'s"], ("ana", "lopez"), (), False), (["de", "la", "Cruz"], ("cruz",), (), False),
    (["M", "A", "R", "I", "A"], ("maria",), (), False), (["Mar", "-", "\n", "isol", "Vance"], ("marisol", "vance"), (), False),
    (["..."], (), (), False),
])
def test_form_of_tokens(tokens, words, letters, comma):
    form = read_tokens(tokens).form
    assert (form.words, form.letters, form.comma) == (words, letters, comma)


def test_parts_of_a_form():
    forms = [read_tokens(tokens).form for tokens in (["Lopez", ",", "Ana"], ["Ana"])]
    assert [(f.surname, f.given, f.full, f.single) for f in forms] == [("lopez", "ana", True, False), ("ana", "", False, True)]


# Names in the order of a text, and whose each is.
@pytest.mark.parametrize(("names", "owners"), [
    ("Ana Lopez/Lopez/Ana/A. Lopez/A.L.", [0] * 5), ("Lopez, Ana/Ana/A.L.", [0] * 3), ("Tobias Reed/Toby/REED", [0] * 3),
    ("Maria Lopez/ML/M.L./M. L.", [0] * 4), ("Katherine Osei/Kate", [0, 0]), ("Robert Osei/Bob", [0, 0]),
    ("Chidi Okafor/Chidi Okaofr", [0, 0]), ("Ana Lopez/Ben Lopez/Lopez", [0, 1, 1]), ("Lopez/Ana Lopez/Ben Lopez", [0, 0, 1]),
    ("John Smith/Jane Smith/J. Smith", [0, 1, 1]), ("A. Lopez/B. Lopez/Lopez", [0, 1, 1]), ("Ana Lopez/Bo Chen/Ana/Bo", [0, 1, 0, 1]),
    ("Ana Lopez/Lopez , Ana/Ana M. Lopez/Ana L.", [0] * 4), ("Ana Lopez/Ana Lopez Garcia", [0, 0]), ("Ana Lopez/Ana Garcia", [0, 1]),
])
def test_detection_and_surrogates_see_the_same_people(names, owners):
    assert with_roles(names.split("/")) == link(mentions(names.split("/"))).owners == owners


@pytest.mark.parametrize(("names", "owners"), [
    ("Maria Lopez/Maria/Lopez/M. Lopez/Lopez, M./Lopez, Maria/MARIA LOPEZ/lopez", [0] * 8),
    ("Maria Elena Lopez/Maria Lopez/Maria E. Lopez/Elena", [0] * 4), ("José García/Jose Garcia", [0, 0]),
    ("John Smith/Jane Smith/John/Jane", [0, 1, 0, 1]), ("John Smith/Jane Smith/Mr. Smith/Ms. Smith", [0, 1, 0, 1]),
    ("Maria Lopez/Maria Garcia/M. Lopez/M. Garcia", [0, 1, 0, 1]), ("Mike Johnson/Michael Johnson/Mike/Johnson", [0] * 4),
    ("Michael Johnson/Mikey", [0, 0]), ("Nathaniel Reed/Nat", [0, 0]), ("Nora Wang/Wang/Mr. Tran", [0, 0, 1]),
    ("Garcia Maria/Maria Garcia", [0, 0]), ("García-López/José García-López/López", [0] * 3), ("Maria/Ana", [0, 1]), (".../Maria", [-1, 0]),
    # slips of the pen: swapped, left out, put in, changed; and pairs that are two names all the same
    ("Mraia Lopez/Maria Lopez/Maria Lopze/Lopze/M. Lopze", [0] * 5), ("Wszqotk Zzywqa/Wszqotk Zzywqe", [0, 0]),
    ("Katherine Bennett/Katherne Bennett/Katherine Bennnett/Bennrtt", [0] * 4), ("Maria Lopez/Maria Lopes", [0, 1]),
    ("Maria Lopez/Mario Lopez/Marie Lopez", [0, 1, 2]), ("Zanfortus/Zanfortis", [0, 1]), ("Ana Lee/Ann Lee/Anq Lee", [0, 1, 2]),
    ("Hoang Hien/H.H./HH", [0] * 3),
])
def test_link(names, owners):
    assert link(mentions(names.split("/"))).owners == owners


@pytest.mark.parametrize(("names", "own", "signed", "owners"), [
    ("Ana Lopez/Lopez", [STUDENT, CITED], None, [0, 1]),  # "Lopez (2014)" in an essay signed Ana Lopez
    ("Ana Lopez/Lopez", [STUDENT, {"CITED": 1.0}], None, [0, 0]),
    ("Ana Lopez/Lopez/Lopez", [STUDENT, CITED, CITED], None, [0, 1, 1]),
    ("William Turner/Will Turner", [CITED, FRIEND], None, [0, 1]), ("William Turner/Will Turner", [FRIEND], None, [0, 0]),
    ("Ana Lopez/Ben Lopez/Lopez", [STUDENT, CITED], None, [0, 1, 0]),  # in doubt, who is protected
    ("Ana Lopez/Ben Lopez/Lopez", [CITED, STUDENT, CITED], None, [0, 1, 0]),
    # "My colleague Farid ... Farid suggested that": the same word, or the first name, is not cited without more.
    ("Farid/Farid", [FRIEND, WEAK], 3.5, [0, 0]), ("Farid Rahimi/Farid", [FRIEND, WEAK], 3.5, [0, 0]),
    ("Farid/Farid", [{"STUDENT": 4.0}, {"CHARACTER": 2.0}], 3.5, [0, 0]),
    # With a year behind it, it is an author.
    ("Smith/Smith", [FRIEND, CITED], 3.5, [0, 1]), ("Farid Rahimi/Farid", [FRIEND, CITED], 3.5, [0, 1]),
    # A surname may be another's; two private roles are told apart as before; who is cited protects nobody.
    ("Ana Smith/Smith", [FRIEND, WEAK], 3.5, [0, 1]), ("Farid/Farid", [FRIEND, {"INSTRUCTOR": 2.0}], 3.5, [0, 1]),
    ("Farid/Farid", [{"CITED": 4.0}, {"CHARACTER": 2.0}], 3.5, [0, 1]),
])
# fmt: on
def test_cues_part_people_of_one_name(names, own, signed, owners):
    assert with_roles(names.split("/"), own, signed) == owners


def test_a_teacher_who_is_thanked_is_one_person():
    own = [{"INSTRUCTOR": 3.0}, {"CONNECTED": 3.0}]
    assert with_roles(("Joan Hart", "Joan"), own) == [0, 1]
    assert with_roles(("Joan Hart", "Joan"), own, cue1={"addressed": True}) == [0, 0]


def test_every_mention_has_an_owner_even_without_letters():
    assert with_roles(("", "Ana Lopez", "...")) == [0, 1, 2]


@pytest.mark.parametrize(
    ("names", "persons", "owners"),
    [
        (("Ana Lopez", "Lopez"), (0, 1), [0, 1]),  # what detection parted stays apart
        (("Ana Lopez", "Lopez"), (4, 4), [0, 0]),
        (("Ana Lopez", "Lopez", "Ana"), (0, 1, None), [0, 1, 0]),  # a span of a roster goes to who has its name
        (("Ana Lopez", "Bo Chen"), (0, None), [0, 1]),
        (("Ana Lopez", "Lopez"), (None, None), [0, 0]),
        (("...", "Ana"), (0, 1), [-1, 0]),
    ],
)
def test_links_of_detection_are_taken_over(names, persons, owners):
    links = links_of([read_mention(name) for name in names], persons)
    assert links.owners == owners
    assert all(len(p) == len(read_mention(n).words) for n, p, o in zip(names, links.places, owners, strict=True) if o >= 0)


def test_the_person_is_called_by_the_fullest_form():
    links = links_of([read_mention(name) for name in ("Ana", "Lopez, Ana", "A. Lopez")], (7, 7, 7))
    assert [person.words for person in links.people] == [("lopez", "ana")]
    assert links.places == [(1,), (0, 1), (1, 0)]


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        ("Nguyen Van Anh/Garcia Maria/Kim Min-jun", ["family given given", "family given", "family given"]),
        # a surname that two share is one in both
        ("Diep Chien/Diep Hoang", ["family given"] * 2),
        ("Wang Xiaoming/Wang Jun", ["family given"] * 2),
        ("McDonald/Maria", ["family", "given"]),
    ],
)
def test_kinds_of_words_come_from_the_table(names, kinds):
    assert [" ".join(p.kinds) for p in link(mentions(names.split("/"))).people] == kinds


def test_nicknames_are_folded():
    assert "michael" in nicknames()["mike"]
    assert all(nick == nick.lower() and names for nick, names in nicknames().items())
