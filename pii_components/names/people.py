"""Who stands in a document: each name parsed once, the mentions linked to persons once, and the result on the Doc.

    people = people_of(doc)                       # People, from doc.spans["pii"]
    people.mentions[0], people.persons[people.owners[0]]
    doc._.pii_people                              # the same as plain data: offsets, no words

Spans of `pii_context` say whose each name is (`span._.pii_person`); spans from elsewhere (Presidio, a user's ruler, gold) are linked by
their names. What is stored are offsets into the text, never a word, under a key that moves with the text: it goes through DocBin,
`Doc.to_bytes`, processes and `Doc.from_docs`. It is made anew where the names of the span group are no longer those that it was made from.
"""

import re
from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..labels import CHARACTER, CITED, is_name, role_of
from .letters import norm
from .link import Person, links_of, spell_initials
from .parse import FAMILY, Mention, Word, read_mention
from .table import name_table

if TYPE_CHECKING:
    from spacy.tokens import Doc

# Start, end (characters, exclusive), label, and whose name it is, if that was found out.
NameSpan = tuple[int, int, str, int | None]
KEY = "pii_people"
# Who is cited or in a story is nobody of the writer's life.
_APART = (CITED, CHARACTER)
_THE = re.compile(r"\b[Tt](?:he|HE)\s+")
_BEFORE = 20  # characters before a name, in which its title may stand


class People(NamedTuple):
    """The names of a document and its persons; the first four lists are parallel.

    spans (list[NameSpan]): Sorted.
    mentions (list[Mention]): Each name, parsed.
    owners (list[int]): Place of each one's person; -1, if there is no letter in it.
    places (list[tuple[int, ...]]): Which word of its person each of its words is.
    persons (list[Person]): By the fullest form of their names.
    """

    spans: list[NameSpan]
    mentions: list[Mention]
    owners: list[int]
    places: list[tuple[int, ...]]
    persons: list[Person]

    def among(self, spans: Iterable[tuple[int, int]]) -> "People":
        """RETURNS (People): With these names only (start and end of each), and the persons that they name, in order of first mention."""
        wanted = set(spans)
        kept = [i for i, span in enumerate(self.spans) if span[:2] in wanted]
        owners = [self.owners[i] for i in kept]
        numbers = {old: new for new, old in enumerate(dict.fromkeys(o for o in owners if o >= 0))}
        return People(
            [self.spans[i] for i in kept],
            [self.mentions[i] for i in kept],
            [numbers.get(owner, -1) for owner in owners],
            [self.places[i] for i in kept],
            [self.persons[old] for old in numbers],
        )

    def words(self) -> set[str]:
        """RETURNS (set[str]): The folded words of all names."""
        return {word for mention in self.mentions for word in mention.form.norms}


NO_PEOPLE = People([], [], [], [], [])


def identify(text: str, spans: Iterable[NameSpan]) -> People:
    """Parse the names among some spans, and link them.

    spans (Iterable[tuple]): Start, end and label of each, and whose name it is, if that was found out (equal numbers are one person);
        those that are no names do not count.
    """
    names = sorted([span for span in spans if is_name(span[2])], key=lambda name: name[:2])
    read = [read_mention(text[a:b], before=text[max(0, a - _BEFORE) : a]) for a, b, *_ in names]
    apart = _apart(names)
    owners, places = [-1] * len(names), list[tuple[int, ...]]([()] * len(names))
    persons: list[Person] = []
    for group in ([i for i, n in enumerate(apart) if not n], [i for i, n in enumerate(apart) if n]):
        known = {word for i in group for word in read[i].form.norms}
        for i in group:
            read[i] = singular(read[i], text[max(0, names[i][0] - 4) : names[i][0]], known)
        mentions = spell_initials([read[i] for i in group])
        found = links_of(mentions, [names[i][3] for i in group])
        for n, i in enumerate(group):
            read[i], places[i] = mentions[n], found.places[n]
            owners[i] = found.owners[n] + len(persons) if found.owners[n] >= 0 else -1
        persons += found.people
    whole = People(names, read, owners, places, persons)
    return whole.among([name[:2] for name in names])  # persons in order of first mention


def _apart(names: Sequence[NameSpan]) -> list[bool]:
    """Of each name, whether it is one of those that are linked apart; a person with a number is so by all names, or by none."""
    roles = [role_of(label) in _APART for *_, label, _ in names]
    private = {name[3] for name, is_apart in zip(names, roles, strict=True) if not is_apart}
    private.discard(None)
    return [
        is_apart and name[3] not in private for name, is_apart in zip(names, roles, strict=True)
    ]


def people_of(doc: "Doc", key: str = "pii", text: str | None = None) -> People:
    """RETURNS (People): Those named in `doc.spans[key]`, as they stand on the Doc; made, and put there, where they do not yet.

    text (str | None): `doc.text`, which costs as much as all else here, if it is at hand.
    """
    text = doc.text if text is None else text
    names, stored = _names_of(doc, key), _stored(doc)
    if names == [(n["start"], n["end"], n["label"], n["number"]) for n in stored["names"]]:
        return _read(text, stored)
    found = identify(text, names)
    set_people(doc, _plain(found))
    return found


def _names_of(doc: "Doc", key: str) -> list[NameSpan]:
    """The names of a span group, sorted."""
    group = doc.spans[key] if key in doc.spans else []  # noqa: SIM401 (not a dict)
    names = [
        (span.start_char, span.end_char, span.label_, span._.pii_person)
        for span in group
        if is_name(span.label_)
    ]
    return sorted(names, key=lambda name: name[:2])


def singular(mention: Mention, before: str, known: Container[str]) -> Mention:
    """A family in the plural, "the Parkers", as the surname in it. before (str): What stands before it. known (Container[str]): Folded words of
    the names of the document."""
    text = mention.text
    is_plural = text[-2:].lower().endswith(("s", "s'", "s’"))
    the = _THE.search(before + text) if is_plural else None
    if the is None:
        return mention
    start, end = max(0, the.end() - len(before)), len(text.rstrip("'’"))
    for stem in (text[start : end - 2], text[start : end - 1]):
        word, plural = norm(stem), norm(text[start:end])
        of_table = name_table().is_surname(word) and not name_table().is_surname(plural)
        if stem.isalpha() and plural in (word + "s", word + "es") and (word in known or of_table):
            only = Word(start, start + len(stem), stem, word, FAMILY)
            return Mention.of(text, [only], mention.gender)
    return mention


# What is stored: offsets from where the text began then.


def _plain(people: People) -> dict[str, Any]:
    """The people as plain data."""
    names: list[dict[str, Any]] = []
    words_of: dict[tuple[str, ...], list[list[Any]]] = {}
    for (start, end, label, number), mention, owner, places in zip(*people[:4], strict=True):
        words = [[start + w.start, start + w.end, w.kind] for w in mention.words]
        words_of.setdefault(tuple(w.text for w in mention.words), words)
        about = {"start": start, "end": end, "label": label, "number": number, "person": owner}
        names.append(about | {"gender": mention.gender, "words": words, "places": list(places)})
    persons = []
    for person in people.persons:
        at = zip(words_of[person.texts], person.kinds, strict=True)
        words = [[start, end, kind] for (start, end, _), kind in at]
        persons.append({"gender": person.gender, "words": words})
    return {"names": names, "persons": persons}


def _stored(doc: "Doc") -> dict[str, Any]:
    """What stands on a Doc, maybe one of several that were put together: plain data, with offsets into its text."""
    names: list[dict[str, Any]] = []
    persons: list[dict[str, Any]] = []
    for key in sorted(_keys(doc), key=lambda key: key[2]):
        part, by, before = doc.user_data[key], key[2], len(persons)
        for name in part["names"]:
            number, person = name["number"], name["person"]
            moved = {
                "start": name["start"] + by,
                "end": name["end"] + by,
                "number": None if number is None else number + by,
                "person": person + before if person >= 0 else -1,
                "words": _moved(name["words"], by),
                "places": list(name["places"]),
            }
            names.append(name | moved)
        persons += [person | {"words": _moved(person["words"], by)} for person in part["persons"]]
    return {"names": names, "persons": persons}


def _keys(doc: "Doc") -> list[Any]:
    # As of `span._`: `Doc.from_docs` moves them.
    return [key for key in doc.user_data if isinstance(key, tuple) and key[1:2] == (KEY,)]


def _moved(words: Iterable[Sequence[Any]], by: int) -> list[list[Any]]:
    return [[start + by, end + by, kind] for start, end, kind in words]


def _read(text: str, stored: dict[str, Any]) -> People:
    """The people that plain data tells, with their words from the text."""
    people = People([], [], [], [], [])
    for name in stored["names"]:
        start, end = name["start"], name["end"]
        words = [
            Word(a - start, b - start, text[a:b], norm(text[a:b]), kind)
            for a, b, kind in name["words"]
        ]
        people.spans.append((start, end, name["label"], name["number"]))
        people.mentions.append(Mention.of(text[start:end], words, name["gender"]))
        people.owners.append(name["person"])
        people.places.append(tuple(name["places"]))
    for person in stored["persons"]:
        texts = tuple([text[a:b] for a, b, _ in person["words"]])
        kinds = tuple([kind for *_, kind in person["words"]])
        people.persons.append(Person(tuple(map(norm, texts)), kinds, texts, person["gender"]))
    return people


def get_people(doc: "Doc") -> dict[str, Any]:
    """RETURNS (dict[str, Any]): `doc._.pii_people`: plain data, see `_plain`."""
    people_of(doc)
    return _stored(doc)


def set_people(doc: "Doc", people: dict[str, Any] | None) -> None:
    """people (dict | None): What `doc._.pii_people` was, of this text; spacy-llm copies extensions, set or not."""
    for old in _keys(doc):
        del doc.user_data[old]
    if people is not None and people["names"]:
        kept: Any = {("._.", KEY, 0, people["names"][-1]["end"]): people}
        doc.user_data.update(kept)
