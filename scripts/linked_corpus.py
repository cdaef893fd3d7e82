"""Are all links kept? Every mention of every person of a corpus, laid beside what it has to become.

    python -m scripts.linked_corpus --essays 2000 --out metrics/linked_corpus.json

Spans are given, so that this is about surrogates and not about finding. Five things are counted: links (each form is that of the
person's surrogate names, by `FORMS`, which know nothing of the component), people of an essay that stay distinct,
surnames that stay shared or apart, originals that are left, text outside of spans that has changed. Exit code 1: not every link is kept.
"""

import random
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console

from pii_components.cli.common import DONE, DONE_WITH_SKIPS, guard
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.report import FORMAT, versions
from pii_components.labels import NAME_CONNECTED, NAME_STUDENT
from pii_components.names.letters import fold, norm
from pii_components.names.link import FAMILY_FIRST, nicknames, nicknames_of
from pii_components.names.table import REGIONS, NameTable, name_table
from pii_components.offsets import Edit, Replacement, apply_replacements
from pii_components.profiles import Profile
from pii_components.surrogates.handles import letters
from pii_components.surrogates.keys import Chance
from pii_components.surrogates.plan import plan
from pii_components.surrogates.style import words as word_set
from pii_components.surrogates.values import Item
from scripts import common

# Everyone may know what these people become: nobody is meant.
KEY = b"the key of the linked corpus"
TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf8"))
_PLAIN_SHARE = 0.55


def main(
    *,
    essays: Annotated[
        int, typer.Option(min=1, help="Synthetic essays; nobody in them is meant.")
    ] = 2000,
    seed: common.SeedOpt = 46,
    profile: Annotated[
        str, typer.Option(help="One that makes surrogates of names and details.")
    ] = "crapii",
    scope: Annotated[str, typer.Option(help="document or corpus.")] = "document",
    out: common.OutOpt = None,
    quiet: common.QuietOpt = False,
    debug: common.DebugOpt = False,
) -> None:
    """Hide the people of synthetic essays, in which who is who is known, and check every form of every name.

    First, last, full names, initials, nicknames, particles, two surnames, family name first, one name only, capitals, slips of the
    pen, file names, e-mail addresses, handles and web addresses. Spans are given: this is about surrogates, not about finding.
    """
    with guard(debug):
        common.early(out)
        if scope not in ("document", "corpus"):
            raise PiiError(Errors.E519, value=scope, what="scope", allowed="document, corpus")
        found = measure_links(essays, seed=seed, profile=profile, scope=scope)
        report = {"format": FORMAT, "versions": versions(), "links": found}
        common.publish("linked_corpus", report, out, None if quiet else print_links)
        raise typer.Exit(DONE_WITH_SKIPS if found["essays_with_something_broken"] else DONE)


def print_links(report: Mapping[str, Any], to: Console) -> None:
    """Print the counts."""
    found = report["links"]
    common.show(
        to,
        "",
        [found],
        "essays people mentions links_checked links_kept essays_with_something_broken",
    )
    common.show(to, "Links and properties", found["links"] | found["properties"], "checked kept")


# --- the ways in which one person stands in a text: a name in many forms, addresses, handles, file names

# In a form: a digit, a code, a domain, the ending of one, and where a number may be added to a handle that is taken.
DIGIT, CODE, DOMAIN, ENDING, MORE = "#", "¤", "§", "¦", "±"
_OPEN = {
    DIGIT: r"\d",
    CODE: r"[0-9a-z]{6}",
    MORE: r"(?:\d\d)?",
    DOMAIN: r"[\w-]+(?:\.[\w-]+)+",
    ENDING: r"(?:\.[\w-]+)+/?",
}


@dataclass(frozen=True, slots=True)
class Names:
    """The names of somebody: as written, how they stand in full ("{0} de la {1}"), and "g" or "f" for each: given or family name."""

    words: tuple[str, ...]
    layout: str
    kinds: str

    @property
    def full(self) -> str:
        return self.layout.format(*self.words)

    @property
    def given(self) -> str:
        return self.words[self.kinds.index("g")] if "g" in self.kinds else self.words[0]

    @property
    def family(self) -> str:
        places = [i for i, kind in enumerate(self.kinds) if kind == "f"]
        if not places or len(self.words) == 1:
            return ""
        start = f"{{{places[0]}}}"
        if places[0] < self.kinds.index("g"):
            return self.words[places[0]]
        last_given = max(i for i, kind in enumerate(self.kinds) if kind == "g" and i < places[0])
        before = f"{{{last_given}}}"
        between = self.layout[
            self.layout.index(before) + len(before) : self.layout.index(start)
        ].lstrip()
        return between + self.layout[self.layout.index(start) :].format(*self.words)

    @property
    def g(self) -> str:
        return letters(self.given)

    @property
    def f(self) -> str:
        places = [i for i, kind in enumerate(self.kinds) if kind == "f"]
        return letters(self.words[places[0]]) if places else self.g

    def with_words(self, words: tuple[str, ...]) -> "Names":
        """Another person, in the same layout."""
        return Names(words, self.layout, self.kinds)


@dataclass(frozen=True, slots=True)
class Form:
    """One form (linked_corpus.toml): how it is written, the label of its span (empty for a name), and who has it.

    lone (bool): People with one name only, too. plain (bool): Only people without particles and double surnames.
    """

    text: str
    label: str = ""
    lone: bool = False
    plain: bool = True

    def write(self, names: Names) -> str:
        """RETURNS (str): As this person has it; empty if they have no nickname, or no surname to misspell."""
        given, family, full, g, f = names.given, names.family, names.full, names.g, names.f
        first, second = (f, g) if names.kinds == "fg" else (g, f)
        return self.text.format(
            given=given,
            family=family,
            full=full,
            g=g,
            f=f,
            upper=full.upper(),
            lower=full.lower(),
            FAMILY=family.upper(),
            G=g[:1].upper(),
            F=f[:1].upper(),
            first=first[:1].upper(),
            second=second[:1].upper(),
            Last=f.capitalize(),
            spaced=" ".join(ch for ch in given.upper() if ch.isalpha()),
            nick=nick(names),
            slip=_slipped(names),
        )


def nick(names: Names) -> str:
    """A nickname; empty if the given name has none."""
    found = [n for n in nicknames_of(names.given) if len(n) > 2 and n.isascii()]
    return found[0].capitalize() if found else ""


def slip(word: str) -> str:
    """The word with two of its inner letters swapped; empty if it is short or they are alike."""
    at = next((i for i in range(len(word) - 2, 1, -1) if word[i] != word[i - 1]), 0)
    return (
        word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :]
        if len(word) >= 6 and at and norm(word).isascii()
        else ""
    )


def _slipped(names: Names) -> str:
    wrong = slip(names.family) if " " not in names.family and "-" not in names.family else ""
    return f"{names.given} {wrong}" if wrong else ""


FORMS = {name: Form(**row) for name, row in TEXTS["forms"].items()}


def expected(form: Form, new: Names, old: Names) -> re.Pattern[str]:
    """What a form must look like once its person has other names; a nickname may become several, and a slip is put right."""
    texts = [form.write(new)]
    if form.text == "{nick}":
        texts = [
            new.given,
            *(n.capitalize() for n in nicknames_of(new.given) if n[0] != nick(old)[0].lower()),
        ]
    elif form.text == "{slip}":
        texts = [f"{new.given} {new.family}"]
    shown = ("".join(_OPEN.get(ch, re.escape(ch)) for ch in text) for text in texts)
    return re.compile("|".join(f"(?:{text})" for text in shown))


# --- synthetic essays


class LinkedMention(NamedTuple):
    """A span: characters, end exclusive; whose it is, and in which of `FORMS`."""

    start: int
    end: int
    label: str
    person: int
    form: str


class LinkedEssay(NamedTuple):
    """An essay, the people in it, and their mentions, sorted."""

    text: str
    people: tuple[Names, ...]
    mentions: tuple[LinkedMention, ...]


def linked_essays(n: int, *, seed: int) -> Iterator[LinkedEssay]:
    """So many essays; each depends on the seed and its number only."""
    for number in range(n):
        yield linked_essay(random.Random(f"linked essay {number} of seed {seed}"))


def linked_essay(rng: random.Random) -> LinkedEssay:
    """One essay of two to four people."""
    people = _people(rng, rng.choice((2, 2, 3, 4)))
    pieces: list[str] = []
    mentions: list[LinkedMention] = []

    def add(carrier: str, person: int, form: str) -> None:
        value = _fill(FORMS[form].write(people[person]), rng)
        lead, _, rest = carrier.partition("{}")
        start = sum(map(len, pieces)) + len(lead)
        label = FORMS[form].label or (NAME_STUDENT if person == 0 else NAME_CONNECTED)
        mentions.append(LinkedMention(start, start + len(value), label, person, form))
        pieces.extend((lead, value, rest))

    add(rng.choice(TEXTS["starts"]), 0, "full")
    for person in range(1, len(people)):
        add(rng.choice(TEXTS["sentences"]) + " ", person, "full")
    forms = [(person, form) for person in range(len(people)) for form in _forms_of(people[person])]
    # A surname alone, and initials alone, must not be those of two people: who is meant would be known to nobody.
    shared = {
        p
        for p in range(len(people))
        for q in range(len(people))
        if p != q and people[p].f == people[q].f
    }
    forms = [
        (p, form) for p, form in forms if not (p in shared and form in ("last", "Last#", "tilde"))
    ]
    for person, form in rng.sample(forms, min(len(forms), rng.randint(8, 16))):
        kind = (
            "files"
            if form.startswith("file name")
            else "addresses"
            if FORMS[form].label
            else "sentences"
        )
        add(rng.choice(TEXTS[kind]) + rng.choice((" ", " ", "\n\n")), person, form)
    return LinkedEssay("".join(pieces), tuple(people), tuple(mentions))


def _forms_of(names: Names) -> list[str]:
    lone = len(names.words) == 1
    plain = (
        len(names.words) == 2 and names.layout in ("{0} {1}", "{1} {0}") and names.given.isascii()
    )
    has = {
        form: rule.write(names)
        for form, rule in FORMS.items()
        if (rule.lone if lone else plain or not rule.plain)
    }
    slipped = has.get("slip of the pen", "").split()[-1:]
    known = [
        word for word in slipped if name_table().is_given(word) or name_table().is_surname(word)
    ]
    return [
        form for form, text in has.items() if text and not (known and form == "slip of the pen")
    ]


def _fill(value: str, rng: random.Random) -> str:
    """A form with its digits, codes and domain."""
    code = "".join(rng.choice("23456789") + rng.choice("abcdef") for _ in range(3))
    signs = {
        MORE: "",
        CODE: code,
        DOMAIN: rng.choice(TEXTS["domains"]),
        ENDING: rng.choice((".com", ".org", ".net/", ".com/")),
    }
    value = value.translate({ord(sign): text for sign, text in signs.items()})
    return "".join(rng.choice("23456789") if ch == DIGIT else ch for ch in value)


def _people(rng: random.Random, n: int) -> list[Names]:
    """People whose names cannot be taken for each other's; sometimes two of them share a surname."""
    table = name_table()
    found: list[Names] = []
    used: set[str] = set()
    while len(found) < n:
        sibling = (
            found[0]
            if len(found) == 1 and len(found[0].words) == 2 and rng.random() < 0.4
            else None
        )
        names = _sibling(rng, table, sibling) if sibling else _person(rng, table)
        fresh = [
            word for word in map(norm, names.words) if not sibling or word != norm(sibling.family)
        ]
        # The capital of a Turkish dotless i has lost its accent.
        if any(ch.upper().isascii() for ch in names.full if not ch.isascii()):
            continue
        if len(set(map(norm, names.words))) < len(names.words):
            continue  # "Kieu Kieu": which of the two stands in an address, nobody can tell
        if all(_fit(word, used) for word in fresh) and names.g[:1] not in {
            other.g[:1] for other in found
        }:
            found.append(names)
            used.update(fresh)
    return found


def _person(rng: random.Random, table: NameTable) -> Names:
    region = rng.choice(
        [
            r
            for r in REGIONS
            if all(table.pool_size(given=given, region=r) for given in (True, False))
        ]
    )
    gender = rng.choice("FM")
    given, family = table.sample_given(rng, gender, region), table.sample_surname(rng, region)
    if region == "EN" or rng.random() < 0.06:
        given = rng.choice(
            sorted({name for names in nicknames().values() for name in names})
        ).capitalize()
    kind = rng.random()
    if kind < _PLAIN_SHARE:
        return Names((given, family), "{0} {1}", "gf")
    if kind < _PLAIN_SHARE + 0.1:
        return Names((given,), "{0}", "g")
    if region in FAMILY_FIRST:
        read_first = table.leaning(family) == "surname" and table.rarity_of_surname(
            family
        ) < table.rarity_of_surname(given)
        return Names((family, given), "{0} {1}", "fg") if read_first else _person(rng, table)
    if region in TEXTS["particles"] and kind < 0.85:
        return Names((given, family), f"{{0}} {rng.choice(TEXTS['particles'][region])} {{1}}", "gf")
    if region in ("ES", "PT"):
        return Names(
            (given, family, table.sample_surname(rng, region)),
            rng.choice(("{0} {1} {2}", "{0} {1}-{2}")),
            "gff",
        )
    second = table.sample_given(rng, gender, region)
    return Names((given, second, family), "{0} {1} {2}", "ggf")


def _sibling(rng: random.Random, table: NameTable, other: Names) -> Names:
    family = other.words[other.kinds.index("f")]
    region = next(iter(table.regions(family)), "EN")
    words = [
        table.sample_given(rng, rng.choice("FM"), region) if kind == "g" else family
        for kind in other.kinds
    ]
    return other.with_words(tuple(words))


def _fit(word: str, used: set[str]) -> bool:
    """Whether a name is that of nobody else here, no word of the sentences, and no part of another name."""
    if len(word) < 4 or word in _common() or word in used:
        return False
    kin = {*nicknames_of(word), *nicknames().get(word, ())}
    return used.isdisjoint(kin) and not any(
        word.startswith(u[:4]) or word in u or u in word for u in used
    )


def _common() -> frozenset[str]:
    texts = [
        text
        for part in ("sentences", "addresses", "files", "starts", "domains")
        for text in TEXTS[part]
    ]
    text = " ".join([*texts, "https www linkedin github com docx pdf essay draft final"])
    own = {norm(word) for word in text.replace(".", " ").replace("_", " ").split()}
    return frozenset(own | word_set("handle_words") | word_set("path_words"))


# --- the check


@dataclass(slots=True)
class Links:
    """Counts of a corpus: how often each thing was checked and held, and where it did not: number of an essay, and what."""

    checked: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[int, str]] = field(default_factory=list)

    def count(self, number: int, what: str, holds: bool) -> None:
        self.checked[what] += 1
        self.kept[what] += holds
        if not holds:
            self.broken.append((number, what))


def hide(essay: LinkedEssay, profile: Profile, chance: Chance) -> list[Replacement]:
    """What stands in the place of each mention."""
    items = [Item(m.start, m.end, m.label, profile.action(m.label)) for m in essay.mentions]
    return plan(
        essay.text, items, profile=profile, chance=chance, local=chance.scope.startswith("document")
    )


def new_names(essay: LinkedEssay, replacements: Sequence[Replacement]) -> list[Names | None]:
    """Who the people became, read off their full names; None where that is no such name."""
    found: list[Names | None] = []
    for person, names in enumerate(essay.people):
        first = next(
            i for i, m in enumerate(essay.mentions) if m.person == person and m.form == "full"
        )
        shape = re.escape(names.layout).replace(r"\{", "{").replace(r"\}", "}")
        match = re.fullmatch(
            re.sub(r"\{\d\}", r"([^\\s]+?)", shape).replace(r"\ ", " "), replacements[first].new
        )
        found.append(names.with_words(match.groups()) if match else None)
    return found


def check_essay(
    number: int, essay: LinkedEssay, replacements: Sequence[Replacement], links: Links
) -> None:
    """Count what holds in one essay and its replacements, one for each mention."""
    people = new_names(essay, replacements)
    for mention, replacement in zip(essay.mentions, replacements, strict=True):
        new = people[mention.person]
        form = FORMS[mention.form]
        holds = (
            new is not None
            and expected(form, new, essay.people[mention.person]).fullmatch(replacement.new)
            is not None
        )
        links.count(number, f"link: {mention.form}", holds)
    for (old_a, a), (old_b, b) in combinations(zip(essay.people, people, strict=True), 2):
        if a is None or b is None:
            continue
        links.count(
            number,
            "distinct people stay distinct",
            fold(a.full) != fold(b.full) and fold(a.given) != fold(b.given),
        )
        if "f" in old_a.kinds and "f" in old_b.kinds:
            what = (
                "shared surname stays shared" if old_a.f == old_b.f else "other surnames stay apart"
            )
            links.count(number, what, (a.f == b.f) == (old_a.f == old_b.f))
    text, offsets = apply_replacements(essay.text, replacements)
    left = {norm(word) for word in re.findall(r"[^\W\d_]+", text)}
    for names in essay.people:
        links.count(number, "no original name is left", left.isdisjoint(map(norm, names.words)))
    at, rest, new_rest = (0, 0), "", ""
    for edit in [*offsets.edits, Edit(len(essay.text), len(essay.text), len(text), len(text))]:
        rest, new_rest = (
            rest + essay.text[at[0] : edit.start] + "\0",
            new_rest + text[at[1] : edit.new_start] + "\0",
        )
        at = (edit.end, edit.new_end)
    links.count(number, "text outside is unchanged", rest == new_rest)


def measure_links(
    n: int, *, seed: int = 46, profile: str = "crapii", scope: str = "document"
) -> dict[str, Any]:
    """Make a corpus, hide its people, and count what holds."""
    chosen, links = Profile.load(profile), Links()
    people = mentions = 0
    for number, essay in enumerate(linked_essays(n, seed=seed)):
        chance = Chance(KEY, "corpus" if scope == "corpus" else f"document:{number}")
        check_essay(number, essay, hide(essay, chosen, chance), links)
        people += len(essay.people)
        mentions += len(essay.mentions)
    rows = {
        name: {"checked": links.checked[name], "kept": links.kept[name]}
        for name in sorted(links.checked)
    }
    kept = {
        name.removeprefix("link: "): row for name, row in rows.items() if name.startswith("link: ")
    }
    return {
        "essays": n,
        "seed": seed,
        "profile": chosen.name,
        "scope": scope,
        "people": people,
        "mentions": mentions,
        "links": kept,
        "links_checked": sum(row["checked"] for row in kept.values()),
        "links_kept": sum(row["kept"] for row in kept.values()),
        "properties": {name: row for name, row in rows.items() if not name.startswith("link: ")},
        "essays_with_something_broken": len({number for number, _ in links.broken}),
    }


if __name__ == "__main__":
    typer.run(main)
