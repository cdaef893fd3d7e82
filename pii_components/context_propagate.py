"""Mark a name everywhere in its document once it was found anywhere (skweak's document history; CTRL-F in ETS's procedure).

    found: "Ana Lopez" (student)    then also: "Lopez", "ANA LOPEZ", "ana lopez", "Ana" in "Ana's idea"

A full name is found in any case. A single word must have the case that its name has elsewhere, and one that is an English
word, a month or a place too must look like a name where it stands.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .context_persons import Form
from .context_view import DocView
from .context_words import case_style, in_table, is_initial, words
from .spans import PROPAGATION, Candidate
from .surrogates.names import fold

_JOINERS = ("-", "_", "‐")
_AS_NAMES = frozenset(("title", "upper"))
_PROPAGATED = 0.95  # factor on the score of the mention it was copied from


@dataclass(frozen=True, slots=True)
class Known:
    """One accepted mention.

    cand (Candidate), form (Form): As found. person (int): Whose it is. texts (tuple[str, ...]): Its words as written.
    """

    cand: Candidate
    form: Form
    person: int
    texts: tuple[str, ...]


def propagate(view: DocView, known: Sequence[Known], taken: Sequence[Candidate]) -> list[tuple[Candidate, int]]:
    """Further mentions of names that were accepted.

    view (DocView): The document. known (Sequence[Known]): Accepted mentions.
    taken (Sequence[Candidate]): Everything marked so far.
    RETURNS (list[tuple[Candidate, int]]): New candidates (source "propagation") and their person.
    """
    if not known:
        return []
    full, single, styles = _index(known)
    joined = {"".join(order): k for forms in full.values() for order, k in forms}
    used = [False] * len(view)
    for c in taken:
        used[c.start : c.end] = [True] * (c.end - c.start)
    found = []

    def add(start: int, end: int, k: Known) -> None:
        score = round(k.cand.score * _PROPAGATED, 6)
        found.append((Candidate(start, end, k.cand.label, score, PROPAGATION, k.cand.reason), k.person))
        used[start:end] = [True] * (end - start)

    for worn in view.worn:
        if any(used[worn.start : worn.end]):
            continue
        parts = [fold(word) for word in worn.words]
        whose = joined.get("".join(parts)) or (single.get(parts[0]) if all(part in single for part in parts) else None)
        if whose is not None and not all(words().is_common(word) for word in worn.words):
            add(worn.start, worn.end, whose)
    i = 0
    folded = [fold(word) if word[:1].isalpha() else "" for word in view.words]
    while i < len(view):
        word = folded[i]
        if not word or used[i] or word not in single and word not in full:
            if word in joined and not used[i]:
                add(i, i + 1, joined[word])  # "analopez"
            i += 1
            continue
        end, source = _full_at(view, folded, used, i, full.get(word, ()))
        if source is None and word in single and _single_fits(view, i, styles.get(word, _AS_NAMES)):
            end, source = i + 1, single[word]
        if source is None:
            i += 1
            continue
        add(i, end, source)
        i = end
    return sorted(found, key=lambda pair: pair[0].start)


def _index(
    known: Sequence[Known],
) -> tuple[dict[str, list[tuple[tuple[str, ...], Known]]], dict[str, Known], dict[str, set[str]]]:
    """First word -> full forms that start with it; word -> who bears it; word -> cases in which it was written."""
    full: dict[str, list[tuple[tuple[str, ...], Known]]] = {}
    single: dict[str, Known] = {}
    styles: dict[str, set[str]] = {}
    for k in sorted(known, key=lambda k: (-k.cand.score, k.cand.start)):
        form = k.form
        if form.full:
            for order in {form.words, (form.given, form.surname), (form.surname, form.given)}:
                full.setdefault(order[0], []).append((order, k))
        for word in form.words if not form.full else {form.given, form.surname}:
            if len(word) >= 2:
                single.setdefault(word, k)
        for text in k.texts:
            styles.setdefault(fold(text).removesuffix("'s"), set()).add(case_style(text))
    for forms in full.values():
        forms.sort(key=lambda pair: (-len(pair[0]), -pair[1].cand.score, pair[1].cand.start))
    return full, single, styles


def _full_at(
    view: DocView, folded: list[str], used: list[bool], i: int, forms: Sequence[tuple[tuple[str, ...], Known]]
) -> tuple[int, Known | None]:
    """The end of a full name that starts at token i, and whose it is."""
    for form, k in forms:
        at, complete = i + 1, True
        for word in form[1:]:
            at = _next_word(view, at)
            if at >= len(view) or used[at] or folded[at] != word:
                complete = False
                break
            at += 1
        if not complete:
            continue
        plain = [w for w in range(i, at) if folded[w] in form]
        if all(case_style(view.words[w]) == "lower" and words().is_common(view.words[w]) for w in plain):
            continue
        return at, k
    return i, None


def _next_word(view: DocView, at: int) -> int:
    """Steps over one joiner, a comma, or initials between the parts of a name; never over a line break."""
    for _ in range(3):
        if at >= len(view) or "\n" in view.words[at]:
            return len(view)
        word = view.words[at]
        if not word or word in _JOINERS or word in (".", ",") or is_initial(word) or (view.is_space(at) and len(word) == 1):
            at += 1
        else:
            break
    return at


def _single_fits(view: DocView, i: int, styles: Collection[str]) -> bool:
    """Whether one word at token i is the name and not something else that is written so."""
    word = view.words[i]
    style = case_style(word)
    lists = words()
    if style == "other" and word[:1].isascii():
        return not lists.is_common(word)  # "mARIA"
    if (
        style not in styles
        and not (style == "title" and styles)  # "blerta" who is welcomed as "Blerta"
        or (style == "lower" and "title" in styles)
    ):
        return False
    if (
        i + 1 < len(view)
        and view.words[i + 1] in _JOINERS
        and not view.gap(i)
        and i + 2 < len(view)
        and view.words[i + 2][:1].isalpha()
        and view.words[i + 1] != "_"
    ):
        return False
    if not lists.is_common(word):
        return True
    if style != "title" or lists.is_heading(word):
        return False
    before = view.words[i - 1] if i else ""
    if i and (view.is_space(i - 1) or not in_table(word)):
        # opens a line, or is no name that anybody else has
        return False
    if fold(word) in lists.ambiguous and fold(before) in lists.place_before:
        return False
    neighbours = [view.words[j] for j in (i - 1, i + 1) if 0 <= j < len(view)]
    if any(case_style(n) in ("title", "upper") and n[:1].isalpha() and not lists.is_title(n) and n != "I" for n in neighbours):
        # among other capitals: a title or the name of a place
        return False
    return before[:1].isalpha() or before in (",", ";", "&", "(", "-")
