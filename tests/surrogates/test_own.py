"""Generators and names of a user's own: what they return is checked, and a pipeline that needs them says so."""

import pickle
import re

import pytest
import spacy

from pii_components.errors import PiiError
from pii_components.names.table import name_table, name_tables
from pii_components.profiles import Profile
from pii_components.surrogates.component import HipsSurrogate
from pii_components.surrogates.keys import pick
from pii_components.surrogates.style import randomize_same_shape
from pii_components.surrogates.values import canonical, surrogates
from tests.fresh import fresh

from .conftest import KEY, hide, make_doc

pytestmark = [
    pytest.mark.filterwarnings("ignore:.W402:pii_components.errors.PiiWarning"),
    pytest.mark.usefixtures("own_code"),
]
COURSES = ("ART", "BIO", "LAW")
CODE = """
from pii_components.surrogates.values import canonical, surrogates

@surrogates.register("COURSE")
def course(value, context, attempt):
    rng = context.chance.rng("COURSE", canonical(value), attempt=attempt)
    return f"ART {int(rng.random() * 900) + 100}"
"""


def course(value, context, attempt):
    rng = context.chance.rng("COURSE", canonical(value), attempt=attempt)
    return f"{pick(rng, COURSES)} {int(rng.random() * 900) + 100}"


def made(**actions) -> HipsSurrogate:
    data = {"name": "own", "base": "crapii", "actions": {"COURSE": "surrogate", **actions}}
    hips = HipsSurrogate(profile=data)
    hips.set_key(KEY)
    return hips


def test_an_own_label_gets_its_surrogate():
    hips, text = made(), "I took {COURSE|ENG 101} and {COURSE|eng-101}, then {COURSE|BIO 220}."
    assert hide(hips, text) == "I took [COURSE] and [COURSE], then [COURSE]."
    surrogates.register("COURSE", func=course)
    one, again, other = re.findall(r"[A-Z]{3} \d{3}", hide(hips, text))
    assert one == again != other
    assert "COURSE" in hips.labels


def test_one_of_ours_is_replaced():
    surrogates.register("ID_NUM", func=lambda value, context, attempt: "S" + "9" * (attempt + 7))
    assert hide(made(), "{ID_NUM|20481234}, {ID_NUM|20481235}") in (
        "S9999999, S99999999",  # two values are never one
        "S99999999, S9999999",
    )


@pytest.mark.parametrize("label", ["AGE", "DATE"])
def test_ages_and_dates_are_too(label):
    surrogates.register(label, func=lambda value, context, attempt: "long ago")
    hips = made(**{label: "surrogate"})
    assert hide(hips, f"{{{label}|May 5, 2001}}, {{{label}|2001}}") == "long ago, long ago"
    surrogates.register(label, func=lambda value, context, attempt: value)
    assert hide(hips, f"{{{label}|May 5, 2001}}") == f"[{label}]"


@pytest.mark.parametrize(
    "function",
    [
        lambda value, context, attempt: None,
        lambda value, context, attempt: value,
        lambda value, context, attempt: value.lower(),
        lambda value, context, attempt: f"the course {value}",  # holds its original
        lambda value, context, attempt: "BIO 220",  # another original
    ],
)
def test_what_does_not_fit_becomes_the_tag(function):
    surrogates.register("COURSE", func=function)
    surrogates.register("EMAIL", func=function)
    text = "{COURSE|ENG 101}, {EMAIL|ana@uni.edu}; {DATE|BIO 220}"
    hidden = hide(made(DATE="surrogate"), text)
    assert hidden.startswith("[COURSE], [EMAIL]; ")


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda value, context, attempt: int(value), "ValueError, line"),
        (lambda value: value, "TypeError"),
        (lambda value, context, attempt: 7, "returned int"),
        (lambda value, context, attempt: "", "returned str"),
    ],
)
def test_a_failure_is_told_without_the_text(function, told):
    surrogates.register("COURSE", func=function)
    doc = make_doc("{COURSE|ENG 101}")
    with pytest.raises(PiiError, match=rf"E426.*COURSE.*{told}") as err:
        made()(doc)
    assert "ENG" not in str(err.value) and err.value.__cause__ is None
    assert doc._.deidentified is None


@pytest.mark.parametrize(("label", "code"), [("NAME_STUDENT", "E519"), ("EMIAL", "E002")])
def test_labels_without_a_generator(label, code):
    with pytest.raises(PiiError, match=code):
        surrogates.register(label, func=course)


def test_what_is_missing_is_told(tmp_path, monkeypatch, own_code):
    monkeypatch.setenv("PII_EDU_KEY", KEY.decode())
    surrogates.register("COURSE", func=course)
    surrogates.register("CLUB", func=course)  # the profile does not ask for it
    hips = made()
    hips.to_disk(tmp_path)
    data = pickle.dumps(hips)
    text = "{COURSE|ENG 101}"
    assert hide(pickle.loads(data), text) == hide(HipsSurrogate().from_disk(tmp_path), text)
    own_code()
    with pytest.raises(PiiError, match=r"E475.* lacks surrogates\.COURSE,"):
        HipsSurrogate().from_disk(tmp_path)
    doc = make_doc(text)
    with pytest.raises(PiiError, match=r"E475.* lacks surrogates\.COURSE,"):
        pickle.loads(data)(doc)
    assert doc._.deidentified is None


def test_a_fresh_process_makes_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("PII_EDU_KEY", KEY.decode())
    (tmp_path / "functions.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    __import__("functions")
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("span_ruler", config={"spans_key": "pii"})
    ruler.add_patterns([{"label": "COURSE", "pattern": "ENG 101"}])
    nlp.add_pipe("hips_surrogate").profile = Profile("own", actions={"COURSE": "surrogate"})
    nlp.to_disk(tmp_path / "mine")
    text = "I took ENG 101."
    here = nlp(text)._.deidentified
    assert re.fullmatch(r"I took ART \d{3}\.", here)
    # Workers that are not forked import the module by themselves.
    code = f"""
import multiprocessing, sys
if __name__ == "__main__":
    import spacy, functions
    multiprocessing.set_start_method("spawn")
    nlp = spacy.load("mine")
    print(*(doc._.deidentified for doc in nlp.pipe([{text!r}] * 2, n_process=2)), sep="\\n")
"""
    (tmp_path / "main.py").write_text(code)
    assert fresh("main", how="-m", cwd=tmp_path).stdout.splitlines() == [here, here]


GIVEN = " ".join(f"{a}{b}qqi" for a in "BDFGKL" for b in "aeiou")
SURNAMES = " ".join(f"{a}{b}qqu" for a in "BDFGKL" for b in "aeiou")


def test_names_of_another_country_stand_in_for_each_other(own_code):
    text = "{NAME_STUDENT|Baqqi Deqqu} and {NAME_STUDENT|Smith}"
    before = name_table().regions("Deqqu")
    name_tables.register("qland", func=lambda: f"QQ F {GIVEN}\nQQ S {SURNAMES}\n")
    table = name_table()
    assert (before, table.regions("deqqu"), table.gender("Baqqi")) == ((), ("QQ",), "F")
    assert table.countries("Deqqu") == ("QQ",) and table.is_given("BAQQI")
    assert table.regions("Smith")[0] == "EN"  # what ships stays
    given, surname = hide(made(), text).split()[:2]
    assert given in GIVEN.split() and surname in SURNAMES.split()
    with pytest.raises(PiiError, match=r"E475.*names\.qland"):
        data = made().to_bytes()
        own_code()
        HipsSurrogate().from_bytes(data)


def test_own_names_of_a_region_join_it_and_win():
    name_tables.register("english", func=lambda: "GB S Baqqu\nGB S Rossi")
    table = name_table()
    assert table.regions("Baqqu") == table.regions("Rossi") == ("EN",)
    assert table.rarity_of_surname("Baqqu") == 0 and table.rarity_of_surname("Rossi") == 1
    assert "Baqqu" in table.pool(given=False, region="EN").names


@pytest.mark.parametrize("line", ["KE", "KE F", "ke F Ana", "KE X Ana", "KE F Ana1", "KE F -"])
def test_tables_of_names_that_cannot_be_read(line):
    name_tables.register("mine", func=lambda: f"KE F Ana\n{line}")
    with pytest.raises(PiiError, match=r"E900.*'mine'.*line 2"):
        name_table()


def test_same_shape_is_at_hand():
    surrogates.register(
        "COURSE",
        func=lambda value, context, attempt: randomize_same_shape(
            value, context.chance.rng("COURSE", canonical(value), attempt=attempt)
        ),
    )
    assert re.fullmatch(r"[A-Z]{3} \d{3}", hide(made(), "{COURSE|ENG 101}"))
