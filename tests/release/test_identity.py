"""One person of a class list has one surrogate in all files, by all names. Eight invented students, twelve invented files."""

import re
from itertools import chain

import pytest
import spacy

from pii_components.names.letters import fold
from pii_components.names.table import name_table
from pii_components.release.engine import use_roster
from pii_components.ruler.roster import Roster
from pii_components.spans import read_spans
from tests.tiny import TOKENIZER

KEY = b"a key for tests, 32 bytes long.."
HEADER = "First name,Last name,Preferred name,Email,Login ID,Student ID".split(",")
CLASS = """
Dashiell,Pryce,Dash,dpryce7@fernhollow.example,dpryce7,88120417
Ngozi,Okafor-Lindqvist,,nokafor3@fernhollow.example,nokafor3,88120424
Grace,Tillmore,,gtillmore@fernhollow.example,gtillmore,88120431
Will,Varnum,,wvarnum2@fernhollow.example,wvarnum2,88120448
Hope,Sandoval,,hsandoval@fernhollow.example,hsandoval,88120455
Xiulan,Fenwu,Lulu,xfenwu5@fernhollow.example,moonkite42,88120462
Søren,Halvorsby,,shalvors@fernhollow.example,shalvors,88120479
Guadalupe,Montaraz,Lupe,gmontaraz@fernhollow.example,gmontaraz,88120486
"""
# {p|...} is a name of the student whose family name begins so; <...> are words that stay.
FILES = r"""
{p|Dashiell Pryce}\nEnglish 9\n\nMy bridge of spaghetti held two bricks, says my partner {o|Ngozi}.\n\n{p|Dash}
{p|Pryce, D.}\nI learned to measure. My partner {o|Okafor} says that I rush. Write to {p|dpryce7@fernhollow.example}.
Peer review for {p|Dash Pryce}\n\n{p|Dash}'s draft is on bridges. The {p|Pryces} live near us.\n\n{o|Ngozi Okafor-Lindqvist}
{p|dpryce7} wrote:\nDid anybody find it?\n\n{f|moonkite42} wrote:\nIt is page 12. Thanks {p|Dash}!\n\n{o|nokafor3} wrote:\nThank you {f|Lulu}.
{t|Grace Tillmore}\n\nBefore dinner we say <grace>. {t|Grace} said <grace> last night. A <will> to learn helps, and <hope>.\n\n{t|G. Tillmore}
{v|Will Varnum}\n\n<Hope> is the thing with feathers. I think <hope> is a habit. You <will> eat better with <hope>. My classmate {s|Hope} read it.
{s|Hope Sandoval}\n\nMy uncle wrote a <will>. I asked {v|Will} about it. With <grace> my mother said no. <Will> it rain?
Group: {f|Fenwu, X.}; {h|Halvorsby}; {m|Montaraz, Guadalupe}\n\n{f|Xiulan} watered it. {h|Søren}'s plant died. {m|Lupe} drew it.
Dear {f|Lulu},\n\nyour essay on kites made me smile. {h|Soren} liked it too.\n\nYours,\n{m|Lupe Montaraz}
{f|Xiulan Fenwu}\n{f|88120462}\n\nShe calls me {f|Lulu}. {h|Soren Halvorsby} sits beside me.
Notes by {h|S. Halvorsby} and {o|N. Okafor-Lindqvist}\n\nThe {h|Halvorsbys} have a greenhouse. {o|Lindqvist} counted.
{m|LUPE MONTARAZ}\n\nI met {t|Tillmore} and {v|Varnum}. Write to {m|gmontaraz@fernhollow.example} or {v|w.varnum@home.example}.
""".strip().splitlines()
MARK = re.compile(r"\{(\w)\|(.*?)\}|<(.*?)>")
PLANTED = sum(len(re.findall(r"\{\w\|", text)) for text in FILES)


def roster() -> Roster:
    return Roster.from_rows(HEADER, [row.split(",") for row in CLASS.strip().splitlines()])


def pipeline(scope: str = "corpus"):
    """A pipeline without a model: what has a shape of its own, and surrogates."""
    nlp = spacy.blank("en", config=TOKENIZER)
    nlp.add_pipe("pii_ruler")
    hips = nlp.add_pipe("hips_surrogate", config={"scope": scope})
    hips.set_key(KEY)
    return nlp


def hide(scope: str) -> tuple[list[tuple[str, str, str]], list[str]]:
    """RETURNS (tuple): Of each planted name whose it is, the name, and what stands there now; and what stands for words that stay."""
    nlp, names, kept = pipeline(scope), [], []
    use_roster(nlp, roster())
    texts, places = [], []
    for marked in FILES:
        text, at, here = "", 0, []
        marked = marked.replace(r"\n", "\n")
        for match in MARK.finditer(marked):
            text += marked[at : match.start()]
            here.append((len(text), match[1] or "", match[2] or match[3]))
            text, at = text + here[-1][2], match.end()
        texts.append(text + marked[at:])
        places.append(here)
    hips = nlp.get_pipe("hips_surrogate")
    hips.observe(nlp.pipe(texts, disable=["hips_surrogate"]))
    for doc, here in zip(nlp.pipe(texts), places, strict=True):
        for start, who, name in here:
            a, b = doc._.pii_offsets.span_to_new(start, start + len(name))
            now = doc._.deidentified[a:b]
            names += [(who, name, now)] if who else []
            kept += [] if who or now == name else [now]
    return names, kept


def words(text: str) -> list[str]:
    return [fold(word) for word in re.findall(r"[^\W\d_]{2,}", text.partition("@")[0])]


@pytest.fixture(scope="module")
def hidden() -> tuple[list[tuple[str, str, str]], list[str]]:
    return hide("corpus")


def test_nothing_planted_is_left(hidden):
    names, kept = hidden
    assert len(names) == PLANTED == 44 and kept == []
    known = roster().words
    for _, name, now in names:
        assert now != name and known.isdisjoint(words(now)), now


# Each student's forms, and which word of the surrogate each of their words is.
SAME = {
    "p": ("Dashiell Pryce", ["Dash Pryce", "Dash", "Pryce, D.", "Pryces", "dpryce7"]),
    "o": ("Ngozi Okafor-Lindqvist", ["Ngozi", "Okafor", "Lindqvist", "N. Okafor-Lindqvist"]),
    "f": ("Xiulan Fenwu", ["Lulu", "Xiulan", "Fenwu, X."]),
    "h": ("Soren Halvorsby", ["Søren", "Soren", "Halvorsby", "Halvorsbys", "S. Halvorsby"]),
    "m": ("Lupe Montaraz", ["Montaraz, Guadalupe", "Lupe", "LUPE MONTARAZ"]),
    "t": ("Grace Tillmore", ["Grace", "Tillmore", "G. Tillmore"]),
}


@pytest.mark.parametrize("who", SAME)
def test_all_forms_are_one_person(hidden, who):
    full, forms = SAME[who]
    now = {name: new for whose, name, new in hidden[0] if whose == who}
    surrogate = words(now[full])
    assert len(surrogate) == len(words(full))
    for form in forms:
        own = {word.removesuffix("s") if form.endswith("s") else word for word in words(now[form])}
        handles = {surrogate[0][0] + surrogate[-1]}
        assert own <= {*surrogate, *handles}, (form, now[form], now[full])
    # The same in every file, also where the name alone stands there.
    every = {}
    for whose, name, new in hidden[0]:
        if whose == who:
            every.setdefault(name, set()).add(new)
    assert all(len(made) == 1 for made in every.values())


def test_gender_is_kept(hidden):
    now = {name: new for _, name, new in hidden[0]}
    table = name_table()
    for name, gender in (("Grace Tillmore", "F"), ("Will Varnum", "M"), ("Lupe Montaraz", "F")):
        assert table.gender(words(now[name])[0]) == gender


def test_families_stay_plural(hidden):
    now = {name: new for _, name, new in hidden[0]}
    assert now["Pryces"].endswith("s") and now["Halvorsbys"].endswith("s")


def test_documents_alone_do_not_agree():
    names, kept = hide("document")
    assert kept == []
    assert len({new for _, name, new in names if name == "Dash"}) > 1


def test_namesakes_share_a_surname_only():
    rows = [["Dana", "Pryce"], ["Dashiell", "Pryce"], ["Mo", "Ek"]]
    nlp = pipeline()
    use_roster(nlp, Roster.from_rows(["given", "family"], rows))
    made = [nlp(text)._.deidentified for text in ("Dana Pryce", "Dashiell Pryce", "See Pryce.")]
    dana, dash, (_, alone) = (words(text) for text in made)
    assert dana[1] == dash[1] == alone and dana[0] != dash[0]


def test_whose_handle_it_is_the_list_says():
    header = ["given", "family", "username"]
    rows = [["Dana", "Pryce", "dpryce7"], ["Dora", "Pryce", "dpryce8"], ["Mo", "Ek", "kite42"]]
    for order in (rows, rows[::-1]):
        nlp = pipeline()
        use_roster(nlp, Roster.from_rows(header, order))
        texts = ["Dana Pryce", "Dora Pryce", "dpryce7 and dpryce8 agree"]
        dana, dora, both = (words(nlp(text)._.deidentified) for text in texts)
        assert both[0][0] == dana[0][0] and both[2][0] == dora[0][0]


def test_a_given_name_with_a_hyphen_is_one_persons():
    nlp = pipeline()
    use_roster(nlp, Roster.from_rows(HEADER[:2], [["Jean-Luc", "Brevoort"], ["Joo-won", "Park"]]))
    whole = nlp("I met Jean-Luc Brevoort and Joo-won Park.")._.deidentified
    first, second = nlp("Jean-Luc came, Joo-won too.")._.deidentified[:-5].split(" came, ")
    assert f"I met {first} " in whole and f" and {second} " in whole


@pytest.mark.parametrize("label", ["LOCATION", "EDUCATION", "EMPLOYER"])
def test_no_half_of_a_listed_name_stays(label):
    nlp = spacy.blank("en", config=TOKENIZER)
    found = nlp.add_pipe("span_ruler", config={"spans_key": "pii"})
    found.add_patterns([{"label": label, "pattern": "Quellvane"}])
    nlp.add_pipe("pii_context")
    use_roster(nlp, Roster.from_rows(["given", "family"], [["Orsina", "Quellvane"]]))
    doc = nlp("My partner Orsina Quellvane came.")
    assert [doc[c.start : c.end].text for c in read_spans(doc)] == ["Orsina Quellvane"]
    assert {c.label for c in read_spans(doc)} == {"NAME_STUDENT"}


@pytest.mark.slow
def test_the_shipped_pipeline_leaves_nothing():
    nlp = spacy.load("en_pii_edu", config={"components.hips_surrogate.scope": "corpus"})
    nlp.get_pipe("hips_surrogate").set_key(KEY)
    use_roster(nlp, roster())
    left, texts = (
        list[str](),
        [MARK.sub(lambda m: m[2] or m[3], t.replace(r"\n", "\n")) for t in FILES],
    )
    for text, marked in zip(texts, FILES, strict=True):
        new = set(re.findall(r"\w+", nlp(text)._.deidentified))
        planted = {m[2] for m in MARK.finditer(marked) if m[1]}
        left += [word for word in chain.from_iterable(map(words, planted)) if word.title() in new]
    assert [word for word in left if word not in ("will", "hope", "grace")] == []
