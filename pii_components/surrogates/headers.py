"""Headers of assignments and posts, and running heads: which lines of a text they are (ETS's procedure, step 1).

    find_headers(text, items)           # [(0, 36), (88, 96)]: start and end in characters, end exclusive

    Ana Lopez                       header      Each line that holds a letter or digit gets a weighted sum of what can be seen of it
    English 101, 12 May 2019        header      and of the lines before and after: shape, place, labels of the spans. The weights are
                                                learned (`python -m scripts.headers`), and so is how sure a line must be: prose that
    The Summer of Ferries           body        is removed is lost, a header that is missed only stays, and its spans are replaced as
    I am Ana, and I like ferries.   body        all others are.
    Lopez 2                         header

A title stays. No word is listed or learned but the stop words of spaCy.
"""

import json
import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

from spacy.lang.en.stop_words import STOP_WORDS

from .. import labels
from ..profiles import KEEP
from .dates import is_day
from .values import Item

MODEL = "resources/surrogates/headers.json"
HEADER_REMOVED = "header removed"
NEVER = {"bias": -1.0}  # weights under which no line is a header
PART = "\u241e"  # stands between the texts of one record (files.record.JOINT): each has a header of its own
# What a label tells of a line.
_GROUPS = {
    labels.NAME_STUDENT: "student",
    labels.NAME_INSTRUCTOR: "instructor",
    labels.NAME_CONNECTED: "connected",
    labels.NAME_CITED: "public",
    labels.NAME_CHARACTER: "public",
    labels.DATE: "date",
    labels.ID_NUM: "number",
    labels.EMAIL: "contact",
    labels.URL_PERSONAL: "contact",
    labels.USERNAME: "contact",
    labels.EDUCATION: "place",
    labels.LOCATION: "place",
}
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_SPACE = re.compile(r"\s*")
_KEY = re.compile(r"\s*\w[\w .#/-]{0,24}:\s")
# Who speaks, maybe behind a time; a time or date alone.
_SPEAKER = re.compile(
    r"[\W\d]*(?:[ap]\.?m\b[\W\d]*)?(\w[\w .'’-]{0,40}?)\s*(?:\([^)]*\)\s*)?:\s", re.IGNORECASE
)
_STAMP = re.compile(r"\W*\d+[/:.-]\d+[\d/:., -]*")
_ITEM = re.compile(r"\s*(?:\d+[.):]|\d+:\d\d|[a-z][.)]|[^\w\s(\[\"'“>]+)(?=\s|@|\w)", re.IGNORECASE)
_CELLS = [re.compile(sign) for sign in (";", r"\|", r"\t", ",", " / ", r"\S {2,}\S|\.{4,}")]
_NEAR = 3  # lines on either side, of which the long ones are counted
_TURNS = 0.4  # share of the lines that are turns, in a chat
# Share of the lines of running text, and words of such a line, below which a text is none.
_PROSE, _LONG = 0.6, 0.8
# What is seen of the lines before and after, too; in a fixed order, since floats are summed.
_SEEN = (
    "words",
    "sentence",
    "comma",
    "lower",
    "capitals",
    "stop words",
    "covered",
    "alone",
    "key",
    "figures",
    "none",
    *dict.fromkeys(_GROUPS.values()),
)


class Line(NamedTuple):
    """A line with a letter or digit. start, end (int): Characters, its line break included. features (dict[str, float]): What is seen.
    form (str): Without its spans and numbers: that of other pages' running heads, too."""

    start: int
    end: int
    features: dict[str, float]
    form: str = ""


def read_lines(text: str, items: Sequence[Item]) -> list[Line]:
    """The lines that hold a letter or digit, with their features. items: Sorted, without overlaps."""
    rows, pos, first, blank = list[Line](), 0, 0, True
    for line in text.splitlines(keepends=True):
        start, pos = pos, pos + len(line)
        while first < len(items) and items[first].end <= start:
            first += 1
        if not any(map(str.isalnum, line)):
            if rows:
                rows[-1].features["blank after"] = 1
            blank = True
            continue
        last = first
        while last < len(items) and items[last].start < pos:
            last += 1
        inside, rest = items[first:last], line
        if not inside and is_day(line.strip()):  # of a hand-in, which is nobody's date
            begin = start + len(line) - len(line.lstrip())
            inside = [Item(begin, begin + len(line.strip()), labels.DATE, KEEP)]
        for item in reversed(inside):
            rest = rest[: max(0, item.start - start)] + " \0 " + rest[max(0, item.end - start) :]
        seen = _look(line, rest, inside) | ({"blank before": 1.0} if blank else {})
        rows.append(Line(start, pos, seen, re.sub(r"\d+", "0", " ".join(rest.split()))))
        blank = False
    if rows:
        rows[-1].features["blank after"] = 1
    _add_places(rows)
    return rows


def _add_places(rows: Sequence[Line]) -> None:
    """Add what is seen of a line's place: of the lines before and after it, and where lines alike stand."""
    own = [dict(row.features) for row in rows]
    lengths = [seen.get("words", 0) for seen in own]
    sums, below, places = [0, *accumulate(lengths)], False, defaultdict[str, list[int]](list)
    for n, row in enumerate(rows):
        places[row.form].append(n)
    apart = {
        form: min((sums[b] - sums[a + 1] for a, b in pairwise(same)), default=-1.0)
        for form, same in places.items()
    }
    for n, row in enumerate(rows):
        seen = row.features
        near = [i for i in range(max(0, n - _NEAR), min(len(rows), n + _NEAR + 1)) if i != n]
        seen["long around"] = sum(lengths[i] >= _LONG for i in near) / max(1, len(near))
        if below:  # running text, where a line that comes again may be a running head
            gap = apart[row.form]
            seen |= {f"below {name}": own[n][name] for name in _SEEN if name in own[n]}
            seen["below once" if gap < 0 else "below again"] = 1.0
            seen["again apart"] = min(1.0, max(0.0, gap / 3))
        below = below or "many words" in own[n]
        seen["near top"] = 1 / (1 + n)
        seen["from top"] = math.log1p(n) / 4
        seen[f"line {min(n, 4)}"] = 1.0
        seen["last"] = float(n == len(rows) - 1)
        seen["again"] = float(len(places[row.form]) > 1)
        for side in (-1, 1):
            other = own[n + side] if 0 <= n + side < len(rows) else {"none": 1.0}
            seen |= {f"{side:+} {name}": other[name] for name in _SEEN if name in other}


def _look(line: str, rest: str, inside: Sequence[Item]) -> dict[str, float]:
    """What is seen of a line alone. rest (str): Without the spans in it."""
    words, all_words, shown = _WORD.findall(rest), _WORD.findall(line), line.strip()
    folded = [word.lower().replace("’", "'") for word in words]
    letters = sum(map(str.isalnum, shown))
    covered = 1 - sum(map(str.isalnum, rest)) / letters
    capitals = sum(word[0].isupper() for word in all_words) / max(1, len(all_words))
    seen = {
        "words": min(len(all_words), 25) / 10,
        "one word": len(all_words) == 1,
        "few words": len(all_words) < 5,
        "many words": len(all_words) > 12,
        "sentence": shown.endswith((".", "!", "?", '."', ".”")),
        "comma": shown.endswith((",", ";")),
        "colon": shown.endswith(":"),
        "lower": shown[0].islower(),
        "capitals": capitals,
        "upper case": shown.isupper(),
        "stop words": sum(word in STOP_WORDS for word in folded) / max(1, len(all_words)),
        "no stop word": not any(word in STOP_WORDS for word in folded),
        "covered": covered,
        "alone": covered == 1 and bool(inside),
        "key": bool(_KEY.match(line)),
        "figures": any(map(str.isdigit, rest)),
        "only figures": not words and any(map(str.isdigit, rest)),
        "figures last": rest.rstrip()[-1:].isdigit(),
        "signs": sum(not ch.isalnum() and not ch.isspace() for ch in shown) / len(shown),
        "bars": bool(re.search(r"\s[|–—·•-]\s|\t", shown)),
        "spans": min(len(inside), 4),
        "span first": rest.split(maxsplit=1)[0] == "\0",
    }
    seen |= dict.fromkeys((_GROUPS.get(item.label, "other") for item in inside), 1)
    return {name: float(value) for name, value in seen.items() if value}


def content_lines(lines: Sequence[str]) -> list[bool]:
    """Items of a list and rows of a table: they begin as the lines beside them do, and are never removed; nor is any line of a chat."""
    heads = list[list[str]]()
    for line in lines:
        who, when = _SPEAKER.match(line), _STAMP.match(line)
        heads.append([who[1].casefold()] if who else [])
        heads[-1] += [re.sub(r"\d+", "0", when[0])] if when else []
    turns = Counter(chain.from_iterable(heads))
    if sum(any(turns[head] > 1 for head in row) for row in heads) >= _TURNS * len(lines):
        return [True] * len(lines)
    items = [re.sub(r"\w+", "0", m[0].strip()) if (m := _ITEM.match(x)) else "" for x in lines]
    cells = [[len(sign.findall(line)) for sign in _CELLS] for line in lines]
    found = []
    for n in range(len(lines)):
        near = [i for i in (n - 1, n + 1) if 0 <= i < len(lines)]
        item = bool(items[n]) and any(items[i] == items[n] for i in near)
        row = any(a > 1 and a == b for i in near for a, b in zip(cells[n], cells[i], strict=True))
        found.append(item or row)
    return found


def names_work(seen: Mapping[str, float], *, alone: bool) -> bool:
    """Whether a line is a title, or names authors and characters only. alone (bool): Whether no line beside it looks like a header."""
    if "public" in seen:
        return seen.keys().isdisjoint(("student", "instructor", "connected"))
    is_whole = seen.get("covered", 0) == 1 or seen["again"] or "figures" in seen
    return alone and seen.get("capitals", 0) == 1 and not is_whole


def is_prose(lines: Sequence[Line], chosen: Sequence[bool]) -> bool:
    """Whether lines that are chosen stand over, or part, running text: what has none is a list, a table, a poem, a chat or a play.

    From the first line of running text on most lines are long; and so is one between any two chosen stretches but a title.
    """
    words = [line.features.get("words", 0) for line in lines]
    stays = [n for n, gone in enumerate(chosen) if not gone]
    first = next((n for n in stays if "many words" in lines[n].features), len(lines))
    long = [words[n] >= _LONG for n in stays if n >= first]
    gaps = [(a, b) for a, b in pairwise([n for n, gone in enumerate(chosen) if gone]) if b > a + 1]
    titles = [gap for gap in gaps if max(words[gap[0] + 1 : gap[1]]) < _LONG]
    return bool(long) and sum(long) >= _PROSE * len(long) and len(titles) < 2


@cache
def shipped_weights() -> dict[str, float]:
    """RETURNS (dict[str, float]): Feature -> weight, "bias" among them."""
    return dict(json.loads((resources.files("pii_components") / MODEL).read_text(encoding="utf8")))


def weigh(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """RETURNS (float): Above 0 for a line of a header: log-odds, less what a line must be surer."""
    return weights["bias"] + sum(weights.get(name, 0) * value for name, value in features.items())


def find_headers(
    text: str,
    items: Sequence[Item],
    weights: Mapping[str, float] | None = None,
    decided: Sequence[tuple[int, int, bool | None]] = (),
) -> list[tuple[int, int]]:
    """Start and end of each header and running head, sorted; no item lies across an edge.

    items: Sorted, without overlaps; those that are kept too. weights (Mapping | None): Those that ship, by default.
    decided (Sequence[tuple[int, int, bool | None]]): Start and end of lines that go, or stay, whatever they look like; the last word
        holds. None for those that stay as they are no part of the text: cells, comments.
    """
    weights, found, at = weights or shipped_weights(), list[tuple[int, int]](), 0
    for part in text.split(PART):
        inside = [
            item._replace(start=item.start - at, end=item.end - at)
            for item in items
            if at <= item.start < at + len(part)
        ]
        lines = read_lines(part, inside)
        said = [
            [goes for a, b, goes in decided if a < at + line.end and at + line.start < b]
            for line in lines
        ]
        own = [n for n, words in enumerate(said) if None not in words]
        texts = [part[lines[n].start : lines[n].end] for n in own]
        gone = dict(zip(own, _learned(texts, [lines[n] for n in own], weights), strict=True))
        chosen = [bool([gone.get(n), *words][-1]) for n, words in enumerate(said)]
        found += [(at + start, at + end) for start, end in stretches(part, inside, lines, chosen)]
        at += len(part) + 1
    return found


def _learned(
    texts: Sequence[str], lines: Sequence[Line], weights: Mapping[str, float]
) -> list[bool]:
    """Which lines go. texts (Sequence[str]): Of the lines."""
    odds = defaultdict[str, list[float]](list)
    for line in lines:
        odds[line.form].append(weigh(line.features, weights))
    # Lines alike are running heads together, or not at all.
    chosen = [
        min(odds[line.form]) > 0 and not kept
        for line, kept in zip(lines, content_lines(texts), strict=True)
    ]
    beside = [any(pair) for pair in zip([False, *chosen], [*chosen[1:], False], strict=False)]
    chosen = [
        gone and not names_work(line.features, alone=not near)
        for line, gone, near in zip(lines, chosen, beside, strict=False)
    ]
    return chosen if is_prose(lines, chosen) else [False] * len(lines)


def stretches(
    text: str, items: Sequence[Item], lines: Sequence[Line], chosen: Sequence[bool]
) -> list[tuple[int, int]]:
    """The chosen lines as stretches of the text. Lines that follow one another are one; blank ones behind it go with it where it
    stands apart. A line stays if an item reaches from it into one that stays."""
    starts, begun, out = (
        [line.start for line in lines],
        [item.start for item in items],
        list(chosen),
    )
    ends = [
        (bisect_right(starts, item.start) - 1, bisect_right(starts, item.end - 1)) for item in items
    ]
    wide = [range(max(first, 0), end) for first, end in ends if end - first > 1]
    for joint in (*wide, *reversed(wide)):
        if not all(out[n] for n in joint):
            for n in joint:
                out[n] = False
    found = []
    for n, line in enumerate(lines):
        if out[n] and not (n and out[n - 1]):
            last = next(i for i in range(n, len(out)) if not out[i + 1 : i + 2] or not out[i + 1])
            end = lines[last].end
            if "blank before" in line.features:
                end = text.rfind("\n", end, _SPACE.match(text, end).end()) + 1 or end  # type: ignore[union-attr]
            before = bisect_left(begun, end)
            end = max(end, items[before - 1].end) if before else end
            found.append((line.start if n else 0, end))
    return found
