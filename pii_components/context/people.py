"""Which mentions are one person: full, bare, initialled, "Last, First", capitals, lower case, glued by "_".

    form = parse_form(["Lopez", ",", "A."])      # words ("lopez",), initials ("a",)
    persons = link(mentions)                     # list[list[int]]

Rules, in this order:
1. Forms of two parts or more are one person if they share a word and what is left agrees: equal, missing on one side, or an
   initial of the other. So two full names with the same surname stay two people.
2. A bare word belongs to a person who has it; if several do, to the one mentioned last before it, else to the first after it.
3. A bare or initialled form whose own cues speak clearly for another role than that person's is somebody else ("Smith (2014)"
   in an essay signed Ana Smith). Where doubt is left, the protected one is chosen: "my colleague Farid" may suggest something, as
   authors do, and is one person.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations

from rapidfuzz.distance import OSA

from ..labels import CHARACTER, CITED, CONNECTED, INSTRUCTOR, ROLES, STUDENT
from ..names.obfuscated import rejoin
from ..names.table import fold, name_table
from ..names.wordlists import in_table, is_initial
from ..names.wordlists import words as word_lists

KEPT = (CITED, CHARACTER)  # roles that stay as they are in every shipped profile


@dataclass(frozen=True, slots=True)
class Form:
    """The parts of one mention, folded.

    words (tuple[str, ...]): Without initials, particles, suffixes and the possessive, in the order written.
    initials (tuple[str, ...]): Single letters.
    comma (bool): Whether it is written "Last, First".
    """

    words: tuple[str, ...]
    initials: tuple[str, ...] = ()
    comma: bool = False

    @property
    def single(self) -> bool:
        """RETURNS (bool): Whether this is one word and nothing else."""
        return len(self.words) == 1 and not self.initials

    @property
    def full(self) -> bool:
        """RETURNS (bool): Whether at least two words are written out."""
        return len(self.words) >= 2

    @property
    def surname(self) -> str:
        """RETURNS (str): The last word, or the first before a comma; empty for initials."""
        if not self.words:
            return ""
        return self.words[0] if self.comma else self.words[-1]

    @property
    def given(self) -> str:
        """RETURNS (str): The first word, or the first after a comma; empty if there is no second word."""
        if len(self.words) < 2:
            return ""
        return self.words[1] if self.comma else self.words[0]


def parse_form(tokens: Sequence[str]) -> Form:
    """Take a mention apart.

    tokens (Sequence[str]): The words of its tokens.
    RETURNS (Form): Its parts.
    """
    lists = word_lists()
    found: list[str] = []
    initials: list[str] = []
    comma = False
    for token in rejoin(tokens):
        if token == "," and found:
            comma = True
            continue
        word = fold(token).replace("’", "'")
        if word in ("'s", "'") or not any(c.isalpha() for c in word):
            continue
        if word.endswith("'s") and len(word) > 3:
            word = word[:-2]
        bare = word.replace(".", "")
        if (len(bare) == 1 and is_initial(bare)) or ("." in word and all(len(part) <= 1 for part in word.split("."))):
            initials += list(bare)
        elif bare in lists.suffixes and found:
            continue
        elif bare not in lists.particles:
            found.append(word.rstrip("."))
    if not found and not initials:
        found = [fold(token) for token in tokens if any(c.isalpha() for c in token)]
    return Form(tuple(found), tuple(initials), comma and len(found) + len(initials) > 1)


def same_person(a: Form, b: Form) -> bool:
    """RETURNS (bool): Whether two forms of two parts or more can be one person (rule 1)."""
    shared = set(a.words) & set(b.words)
    if not shared:
        return False
    left_a = [w for w in a.words if w not in shared]
    left_b = [w for w in b.words if w not in shared]
    if left_a and left_b:
        return False
    if not a.initials and not b.initials:
        return len(shared) >= 2
    letters_a = [w[0] for w in left_a] + list(a.initials)
    letters_b = [w[0] for w in left_b] + list(b.initials)
    if len(shared) >= 2 and (not letters_a or not letters_b):
        return True
    return bool(set(letters_a) & set(letters_b)) and (not left_a or not left_b)


def initials_fit(initials: tuple[str, ...], form: Form) -> bool:
    """RETURNS (bool): Whether letters alone ("A.L.") are those of a full name."""
    if not form.full or len(initials) < 2:
        return False
    letters = (form.given[0], form.surname[0])
    return letters == (initials[0], initials[-1]) and len(initials) <= len(form.words) + len(form.initials)


@dataclass(slots=True)
class Mention:
    """One name in the text.

    index (int): Its number in the document. position (int): Its first token. form (Form): Its parts.
    own (dict[str, float]): What its own cues and zones say, per role.
    signs (bool): Whether it heads or signs the text. addressed (bool): Whether it is thanked or written to, which a teacher may be
        too, and nothing else connects it.
    """

    index: int
    position: int
    form: Form
    own: dict[str, float] = field(default_factory=dict)
    signs: bool = False
    addressed: bool = False


def best_role(own: dict[str, float], margin: float) -> str:
    """RETURNS (str): The role that leads by at least `margin`; empty if none does."""
    ranked = sorted(((own.get(role, 0.0), -i) for i, role in enumerate(ROLES)), reverse=True)
    return ROLES[-ranked[0][1]] if ranked[0][0] - ranked[1][0] >= margin else ""


def link(mentions: Sequence[Mention], *, margin: float, signed: float | None = None) -> list[list[int]]:
    """Group mentions into persons.

    mentions (Sequence[Mention]): In the order of the text.
    margin (float), signed (float | None): See `ContextSettings.split_margin` and `split_signed`; None: the margin.
    RETURNS (list[list[int]]): Indices into `mentions`, one list per person, in the order of first mention.
    """
    groups = _link_full(mentions)
    by_word: dict[str, list[int]] = defaultdict(list)
    for number, group in enumerate(groups):
        for word in {w for i in group for w in mentions[i].form.words}:
            by_word[word].append(number)
    forms = [{mentions[i].form for i in group} for group in groups]
    roles = [best_role(_sum(mentions[i].own for i in group), margin) for group in groups]
    signers = {n for n, group in enumerate(groups) if roles[n] == STUDENT and any(mentions[i].signs for i in group)}
    # Bare and initialled forms, those that say most about themselves first, so that the others can follow them.
    rest = [m for m in mentions if not m.form.full]
    for m in sorted(rest, key=lambda m: (not m.form.words, not best_role(m.own, margin), not m.form.initials, m.index)):
        wanted = best_role(m.own, margin)
        clear = not wanted or signed is None or wanted not in KEPT or best_role(m.own, signed) == wanted
        fitting = [
            n
            for n in _fitting(m.form, forms, by_word)
            if not wanted
            or not roles[n]
            or roles[n] == wanted
            or (not clear and (n in signers or (roles[n] not in KEPT and _called_so(m.form, forms[n]))))
            or _addressed_teacher(m, wanted, roles[n], [mentions[i] for i in groups[n]])
        ]
        if fitting:
            number = _nearest(m, fitting, groups, mentions)
            if not wanted and roles[number] in KEPT:
                protected = [n for n in fitting if roles[n] and roles[n] not in KEPT]
                number = _nearest(m, protected, groups, mentions) if protected else number
            groups[number].append(m.index)
            forms[number].add(m.form)
        else:
            groups.append([m.index])
            forms.append({m.form})
            roles.append(wanted)
            for word in m.form.words:
                by_word[word].append(len(groups) - 1)
    return sorted((sorted(group) for group in groups), key=lambda group: group[0])


def _link_full(mentions: Sequence[Mention]) -> list[list[int]]:
    """Persons with at least one full form: union over forms that share a word."""
    forms: dict[Form, list[int]] = {}
    for m in mentions:
        if m.form.full:
            forms.setdefault(m.form, []).append(m.index)
    keys = list(forms)
    parent = list(range(len(keys)))

    def root(n: int) -> int:
        while parent[n] != n:
            n = parent[n]
        return n

    by_word: dict[str, list[int]] = defaultdict(list)
    for n, form in enumerate(keys):
        for word in form.words:
            for other in by_word[word]:
                if root(other) != root(n) and same_person(form, keys[other]):
                    parent[max(root(other), root(n))] = min(root(other), root(n))
            by_word[word].append(n)
    groups: dict[int, list[int]] = {}
    for n, form in enumerate(keys):
        groups.setdefault(root(n), []).extend(forms[form])
    return [sorted(group) for group in groups.values()]


def _fitting(form: Form, forms: list[set[Form]], by_word: dict[str, list[int]]) -> list[int]:
    """Numbers of the groups that a bare or initialled form can belong to."""
    if not form.words:
        return [n for n, held in enumerate(forms) if form in held or any(initials_fit(form.initials, other) for other in held)]
    near = by_word.get(form.words[0], [])
    if form.single:
        return list(near)
    return [
        n
        for n in near
        if all(other == form or other.single or not other.words or same_person(form, other) for other in forms[n])
    ]


def _nearest(m: Mention, numbers: list[int], groups: list[list[int]], mentions: Sequence[Mention]) -> int:
    """The group mentioned last before m, else the first after it. A group with a full name goes before one without."""

    def key(n: int) -> tuple[int, int]:
        before = [mentions[i].position for i in groups[n] if mentions[i].position < m.position]
        if before:
            return (0, m.position - max(before))
        return (1, min((mentions[i].position for i in groups[n]), default=0))

    return min(numbers, key=key)


def _called_so(form: Form, forms: set[Form]) -> bool:
    """Whether somebody is called by this very word elsewhere, or has it for a first name: who is cited is not."""
    return form.single and (form in forms or any(other.given == form.words[0] for other in forms))


def _addressed_teacher(m: Mention, wanted: str, role: str, group: Sequence[Mention]) -> bool:
    """Whether a teacher is thanked or written to: no reason to see two people."""
    if (wanted, role) == (CONNECTED, INSTRUCTOR):
        return m.addressed
    return (wanted, role) == (INSTRUCTOR, CONNECTED) and all(other.addressed or not other.own.get(CONNECTED) for other in group)


def _sum(parts: Iterable[dict[str, float]]) -> dict[str, float]:
    total: dict[str, float] = defaultdict(float)
    for part in parts:
        for role, value in part.items():
            total[role] += value
    return total


# Names that are written wrong: which word of a text is another one with a slip in it, and which is a frequent name with o

_LEAST, _WHOLE, _LONG = 4, 5, 8  # letters of the word, of the longer of both, and of one that may have two slips
_MOST = 30  # letters of a name that is compared with others: each has half the square of that many neighbours
# Rarity up to which a name of the table is one that somebody may have meant, of short names and of longer ones: any five letters are near some name.
_SHORT, _FREQUENT_SHORT, _FREQUENT = 5, 6, 8


def respell(forms: Sequence[Form]) -> list[Form]:
    """The forms of a text, doubtful words as what was meant.

    forms (Sequence[Form]): All of a text.
    RETURNS (list[Form]): The same; a word that is no known name and one slip away from one other word of the names (two, from eight letters
        on) as that word. Which of two is right is told by the table, then by how often each stands there.
    """
    count = Counter(word for form in forms for word in form.words)
    doubtful = [word for word in count if _is_doubtful(word)]
    if not doubtful or len(count) < 2:
        return list(forms)
    in_full = {word for form in forms if form.full for word in form.words}
    meant: dict[str, str] = {}
    # Those that are most likely right first; a word follows one that stands, never one that follows another.
    order = sorted(count, key=lambda word: (_is_doubtful(word), -count[word], word not in in_full))
    rank = {word: n for n, word in enumerate(order)}
    alike = _by_letters_left(word for word in order if _LEAST <= len(word) <= _MOST and _is_name(word))
    for word in sorted(doubtful, key=lambda word: rank[word]):
        near = {
            other
            for letters in _letters_left(word)
            for other in alike.get(letters, ())
            if rank[other] < rank[word]
            and other not in meant
            and (other in in_full or in_table(other) or len(word) > _SHORT)
            and is_slip(word, other)
        }
        if len(near) == 1:
            meant[word] = near.pop()
    if not meant:
        return list(forms)
    return [replace(form, words=tuple(meant.get(word, word) for word in form.words)) for form in forms]


def _is_doubtful(word: str) -> bool:
    return _LEAST <= len(word) <= _MOST and word.isalpha() and not in_table(word) and not word_lists().is_common(word)


def _is_name(word: str) -> bool:
    return in_table(word) or not word_lists().is_common(word)


def _letters_left(word: str) -> set[str]:
    """RETURNS (set[str]): A word with as many letters out as it may have slips, or fewer: of two that are that near one of these is the same
    (the deletions of SymSpell)."""
    slips = 1 + (len(word) + 2 >= _LONG)
    return {"".join(kept) for out in range(slips + 1) for kept in combinations(word, len(word) - out)}


def _by_letters_left(names: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        for letters in _letters_left(name):
            found.setdefault(letters, []).append(name)
    return found


def is_slip(word: str, other: str) -> bool:
    """RETURNS (bool): Whether one can be the other with a letter changed, dropped, added or two swapped; with two of these in long ones."""
    longer = max(len(word), len(other))
    if min(len(word), len(other)) < _LEAST or longer < _WHOLE or not {word[0], word[1]} & {other[0], other[1]}:
        return False
    slips = 1 + (longer >= _LONG)
    return OSA.distance(word, other, score_cutoff=slips) <= slips


@lru_cache(maxsize=4096)
def is_near_table(word: str) -> bool:
    """RETURNS (bool): Whether a word, folded, is one slip away from a frequent name and is none itself, and no English word either."""
    if not _is_doubtful(word):
        return False
    return any(len(name) >= _WHOLE and OSA.distance(word, name, score_cutoff=1) <= 1 for name in _names_like(word))


def _names_like(word: str) -> Iterable[str]:
    """RETURNS (Iterable[str]): Frequent names of nearly its length that begin as it does, or with its second letter."""
    by_start = _by_start()
    for first in dict.fromkeys(word[:2]):
        for size in (len(word) - 1, len(word), len(word) + 1):
            yield from by_start.get((first, size), ())


@lru_cache(maxsize=1)
def _by_start() -> dict[tuple[str, int], list[str]]:
    table = name_table()
    found: dict[tuple[str, int], dict[str, None]] = {}
    for given in (True, False):
        short, names = set(table.frequent(_FREQUENT_SHORT, given=given)), table.frequent(_FREQUENT, given=given)
        for name in names:
            if len(name) > _SHORT or name in short:
                found.setdefault((name[0], len(name)), {})[name] = None
    return {key: list(names) for key, names in found.items()}
