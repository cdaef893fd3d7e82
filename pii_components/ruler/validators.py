"""What the digits, the host or the letters of a piece of text may be: is it an e-mail address, a telephone number, an ID, a user name?

    >>> from pii_components.ruler.validators import VALIDATORS, Context, Hit, is_date, is_years, split_host
    >>> VALIDATORS["email"](Hit("to e-mail:ana@x.org.Then", 3, 24), Context()).value
    'ana@x.org'
    >>> is_years("2018-2019"), is_date("20190512"), split_host("blog.uni.edu.in")
    (True, True, ('blog', 'uni', 'edu.in'))

A validator gets a Hit and returns it, with corrected ends or another score, or None. phonenumbers and tldextract do the work, offline; they
are imported when first needed. Where a library does not know a thing but its shape is clear, it is kept with a lower score: unsure means
protect. All offsets are end exclusive.
"""

import ipaddress
import re
from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from .. import keep_offline
from ..names import word_list
from ..names.table import name_table
from ..names.wordlists import words

# Without "http" or "www", a host needs one of these endings: others are words (in, it, is, so, my, do) or endings of files.
SURE_TLD = (
    "com|org|net|edu|gov|mil|io|info|biz|app|dev|blog|site|online|website|xyz|tech|cloud|page|link|wiki"
    "|uk|ca|au|nz|ie|br|mx|ru|cn|jp|kr|ng|ke|za|eu|fr|nl|ch|pk|ph|sg|hk|tw|vn|tr"
)

_PUBLICATION = re.compile(
    r"(?i)(?:isbn|issn|doi|arxiv|pmid|pmcid|asin|ean|issue|vol(?:ume)?|pp?\.)[\s:.#(-]*(?:1[03])?[\s:()-]*$"
)
_DATE_WORD = re.compile(r"(?i)(?<![^\W_])(?:date|dated|datum|fecha)\s?[:\-–=.]*\s*$")
_YEARS = re.compile(r"\(?(?:1[5-9]|20)\d\d\s?(?:[-/,]\s?(?:(?:1[5-9]|20)\d\d|\d\d)\)?)?\s?\.?")
_AMOUNT_BEFORE = re.compile(r"(?:[$€£¥₹=*^<>]|(?:[\d)]|\b[A-Za-z])\s?/|\bUSD|\bEUR|\bRs\.?)\s?$")
_AMOUNT = re.compile(r"\s?(?:%|[=*^<>]|(?:dollars|euros|people|million|billion|users|USD|EUR)\b)")


@dataclass(frozen=True, slots=True)
class Hit:
    """Characters start to end of the normalised text, with a score, and `cue`: what the expression matched before the piece."""

    text: str
    start: int
    end: int
    score: float = 1.0
    cue: str = ""

    @property
    def value(self) -> str:
        """RETURNS (str): The piece itself."""
        return self.text[self.start : self.end]

    @property
    def chars(self) -> range:
        return range(self.start, self.end)

    def before(self, n: int = 40) -> str:
        """RETURNS (str): At most n characters before the piece."""
        return self.text[max(0, self.start - n) : self.start]

    def cut(self, start: int, end: int) -> "Hit":
        """RETURNS (Hit): A part of the piece, by offsets within it."""
        return replace(self, start=self.start + start, end=self.start + end)


class Context(NamedTuple):
    """What a validator may know beside the hit: whose national numbers count, and where names were found in the normalised text, in order."""

    regions: tuple[str, ...] = ("US",)
    names: tuple[tuple[int, int], ...] = ()


def count_digits(text: str) -> int:
    """RETURNS (int): Number of digits of any script."""
    return sum(char.isdigit() for char in text)


@cache
def _suffixes() -> Callable[[str], Any]:
    """The list of public suffixes as tldextract ships it, and those of RFC 2606 that examples have: no network, no cache folder."""
    keep_offline()
    import tldextract

    return tldextract.TLDExtract(
        cache_dir=None,
        suffix_list_urls=(),
        fallback_to_snapshot=True,
        extra_suffixes=("example", "test", "invalid"),
    )


def split_host(host: str) -> tuple[str, str, str]:
    """RETURNS (tuple[str, str, str]): Subdomain, domain and public suffix; an empty suffix means that there is none such."""
    found = _suffixes()(host)
    return found.subdomain, found.domain, found.suffix


def is_date(value: str) -> bool:
    """RETURNS (bool): Whether the digits can be read as a day between 1900 and 2099, in any order."""
    groups = re.findall(r"\d+", value)
    if len(groups) == 1 and len(groups[0]) == 8:
        d = groups[0]
        orders = [(d[:4], d[4:6], d[6:]), (d[4:], d[2:4], d[:2]), (d[4:], d[:2], d[2:4])]
    elif len(groups) == 3 and {len(g) for g in groups} <= {1, 2, 4}:
        a, b, c = groups
        orders = [(a, b, c), (c, b, a), (c, a, b)]
    else:
        return False
    return any(
        _is_day(int("20" + year if len(year) == 2 else year), int(month), int(day))
        for year, month, day in orders
    )


def _is_day(year: int, month: int, day: int) -> bool:
    return 1900 <= year <= 2099 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]


def is_dated(hit: Hit) -> bool:
    """RETURNS (bool): Whether six or eight digits in a row are a day, since a word right before them says so: "Date: 140319"."""
    value = hit.value
    if not re.fullmatch(r"\d{6}(?:\d\d)?", value) or not _DATE_WORD.search(hit.before(16)):
        return False
    return is_date(value) if len(value) == 8 else is_date(" ".join(re.findall("..", value)))


def is_years(value: str) -> bool:
    """RETURNS (bool): Whether the piece is a year or a range of years."""
    return _YEARS.fullmatch(value.strip()) is not None


def is_publication(hit: Hit) -> bool:
    """RETURNS (bool): Whether an ISBN, ISSN, DOI or another number of a publication is meant."""
    if _PUBLICATION.search(hit.before()) or re.search(r"10\.\d{4,9}/\S*$", hit.before(80)):
        return True
    digits = re.sub(r"\D", "", hit.value)
    checksum = sum(int(d) * (3 if i % 2 else 1) for i, d in enumerate(digits))
    return len(digits) == 13 and digits[:3] in ("978", "979") and checksum % 10 == 0


def is_amount(hit: Hit) -> bool:
    """RETURNS (bool): Whether money, a share or a formula is meant."""
    is_after = _AMOUNT_BEFORE.search(hit.before(6)) is not None
    return is_after or _AMOUNT.match(hit.text, hit.end) is not None


# Numbers of rooms, sections, ports and things, courses, and what a program computed: nobody's, whatever a model says of them.
_NUMBERED = re.compile(
    rf"(?i)(?<![^\W_])(?:{'|'.join(sorted(word_list('ruler/words', 'nobodys_numbers')))})s?"
    r"(?:[\s_-](?:id|no|nr|num(?:ber)?|code))?[\s.:#=_]{0,3}\Z"
)
_COURSE = re.compile(r"(?<!\w)(?!PIN|SID|SSN|NIM|PRN|USN|UIN)[A-Z]{3,4}\s?\Z")
_HASH = re.compile(r"[\da-f]{32,128}|[\dA-F]{32,128}")
_TOLL_FREE = re.compile(r"(?:\+?1[\s.-]?)?\(?8(?:00|33|44|55|66|77|88)\)?[\s.-]?\d{3}[\s.-]?\d{4}")


def is_nobodys(hit: Hit) -> bool:
    """RETURNS (bool): Whether a number is that of a thing, by the word right before it or by its form: "room 214B", "ENG 102-04", a hash."""
    value = hit.value.lstrip("^")
    if _HASH.fullmatch(value) or _NUMBERED.search(hit.before(30)):
        return True
    course = re.fullmatch(r"\d{3}[A-Z]?-\d{2,3}", value)
    return course is not None and _COURSE.search(hit.before(6)) is not None


_IBAN = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", re.IGNORECASE | re.ASCII)
Validator = Callable[[Hit, Context], Hit | None]
MAIL_HOSTS = frozenset(("gmail", "yahoo", "hotmail", "outlook", "icloud", "protonmail"))


def email(hit: Hit, _: Context) -> Hit | None:
    """An address without what is glued to it, its host cut where one with a public suffix ends."""
    local, _at, host = hit.value.partition("@")
    lead = len(local) - len(re.sub(r"(?i)^(?:[.'-]+|e?-?mail[-_.:])+", "", local))
    local = local[lead:]
    labels = host.split(".")
    if (
        not local
        or local.endswith(".")
        or ".." in local
        or any(not x or x.startswith("-") for x in labels)
    ):
        return None
    # "ana@x.org.Then": the longest host with a public suffix
    for n in range(len(labels), 1, -1):
        known = ".".join(labels[:n])
        _sub, domain, suffix = split_host(known)
        if suffix and domain:
            return hit.cut(lead, lead + len(local) + 1 + len(known))
    if not re.search(r"[A-Za-z]", labels[-1]):
        return None
    return replace(hit.cut(lead, len(hit.value)), score=min(hit.score, 0.7))


def email_spaced(hit: Hit, _: Context) -> Hit | None:
    """An address with spaces, if its host exists."""
    local, _at, host = hit.value.partition("@")
    handle = local.endswith(" ") and not host.startswith(" ") and _is_prose(local.strip())
    return hit if not handle and split_host(re.sub(r"\s", "", host))[2] else None


_WORDED_AT = re.compile(r"(?i)\s*[\[({<]\s?(?:at|@)\s?[\])}>]\s*|\s+at\s+|_at_")
_WORDED_DOT = re.compile(r"(?i)\s?[\[({<]\s?(?:dot|\.)\s?[\])}>]\s?|\sdot\s|_dot_")
_WRITE_TO = re.compile(r"(?i)(?:e-?mail|\bmail|contact|reach|write|address)[^.\n]{0,30}$")
_PROVIDERS = word_list("ruler/words", "mail_providers") | MAIL_HOSTS


def _is_prose(word: str) -> bool:
    """Whether a word may stand before "at" in a sentence."""
    common = len(word) < 4 or words().is_common(word) or words().is_common(word.removesuffix("s"))
    return common or re.fullmatch(r"(?i).*(?:ed|ing|ly|able|ible)", word) is not None


def _holds_name(local: str, hit: Hit, context: Context) -> bool:
    """Whether a name of the document, a word of it with 4 letters, stands in the first part of an address."""
    named = " ".join(hit.text[start:end].lower() for start, end in context.names)
    parts = {word for word in re.split(r"[\W\d_]+", named) if len(word) >= 4}
    return any(word in local.lower() for word in parts)


def email_capital(hit: Hit, context: Context) -> Hit | None:
    """Capitals for the sign: "ana.lopez7 AT orange"; "look AT this" is none."""
    local, _at, host = (part.strip() for part in re.split(r"(\sAT\s{1,2})", hit.value, maxsplit=1))
    if local.isupper() or local[-1] in ".+-":
        return None
    if re.search(r"[._\d+-]", local):
        return hit
    known = re.split(r"[. ]", host.lower())[0] in _PROVIDERS or _holds_name(local, hit, context)
    return hit if known and not _is_prose(local) else None


def email_worded(hit: Hit, context: Context) -> Hit | None:
    """Strict, since "meet me at example.com" is no address: something must hide a sign, and the host must exist."""
    at = _WORDED_AT.search(hit.value)
    if at is None:
        return None
    local, host = hit.value[: at.start()], hit.value[at.end() :]
    name, address = _WORDED_DOT.sub(".", local), _WORDED_DOT.sub(".", host).lower()
    is_hidden = at.group().strip().lower() != "at"
    sure = is_hidden or re.search(r"[._\d+]", name) or _WRITE_TO.search(hit.before())
    if address in MAIL_HOSTS:
        return hit if sure else None
    if not split_host(address)[2] or not (is_hidden or _WORDED_DOT.search(host)):
        return None
    if sure:
        return hit
    known = address.split(".")[0] in _PROVIDERS or _holds_name(name, hit, context)
    return hit if known and not _is_prose(name) else None


def _accept(hit: Hit, _: Context) -> Hit | None:
    return hit


def _parsed(value: str, region: str | None) -> tuple[bool, bool]:
    """Whether a number is possible and valid there."""
    import phonenumbers

    try:
        number = phonenumbers.parse(value, region)
    except phonenumbers.NumberParseException:
        return False, False
    return phonenumbers.is_possible_number(number), phonenumbers.is_valid_number(number)


def _trim_phone(hit: Hit) -> Hit:
    """Take off what is not part of the number: closing signs, a bracket without its partner."""
    value = hit.value
    end = len(value.rstrip(" \t\n\r().-/"))
    return hit.cut(int(value[0] == "(" and ")" not in value[:end]), end)


def not_a_phone(hit: Hit) -> bool:
    """Whether the digits are years, a date, a publication, an amount or an address of a computer."""
    value = hit.value
    if is_years(value) or is_date(value) or is_publication(hit) or is_amount(hit):
        return True
    if _TOLL_FREE.fullmatch(value):  # a hotline
        return True
    return re.fullmatch(r"\d{1,3}(?:\.\d{1,3}){3}|\d+\.\d+", value) is not None


def _phone(hit: Hit, context: Context) -> Hit | None:
    hit = _trim_phone(hit)
    value = re.sub(r"^00\s*", "+", hit.value.lstrip("("))
    if "\n" in value or not_a_phone(hit):
        return None
    regions = (None,) if value.startswith("+") else context.regions
    possible, valid = zip(*(_parsed(value, region) for region in regions), strict=True)
    if any(valid):
        return hit
    is_plus = hit.value.lstrip("(").startswith("+")
    return replace(hit, score=min(hit.score, 0.8)) if is_plus and any(possible) else None


def _phone_shape(hit: Hit, _: Context) -> Hit | None:
    """The American shape is kept even where no such area exists: made-up numbers stand for real ones."""
    hit = _trim_phone(hit)
    return None if "\n" in hit.value or not_a_phone(hit) else hit


def _phone_cued(hit: Hit, _: Context) -> Hit | None:
    """Over the end of a line too, unless the first half is a number by itself."""
    hit = _trim_phone(hit)
    first, _sign, rest = hit.value.partition("\n")
    if rest and (count_digits(first) >= 7 or "\n" in rest):
        hit = _trim_phone(hit.cut(0, len(first)))
    if "/" in hit.value and count_digits(hit.value) > 15:
        hit = _trim_phone(hit.cut(0, hit.value.index("/")))  # "07700 900128 / 07700 900830"
    digits = re.sub(r"\D", "", re.sub(r"(?i)\s?(?:x|ext\.?)\s?\d+$", "", hit.value))
    return hit if 7 <= len(digits) <= 15 and not not_a_phone(hit) else None


_STRONG_ID = re.compile(
    r"(?i)student|learner|pupil|candidate|roll|matric|enrol|passport|ssn|social|aadhaar|cpf|usn|sid|interviewee|employee"
)
_NUMBER_WORD = re.compile(r"(?i)(?:id|no|nr|num|number|code|card|[:#=])[\s.:#=]*(?:is\s+)?$")


def _id_number(hit: Hit, _: Context) -> Hit | None:
    value = hit.value
    digits = re.sub(r"\D", "", value)
    strong = _STRONG_ID.search(hit.cue) is not None
    numbered = _NUMBER_WORD.search(hit.cue) is not None
    least = 4 if re.search(r"[:#=]|\b(?:no|number|code)\b", hit.cue.lower()) else 5
    if (
        len(digits) < 3
        or len(value) > 24
        or is_publication(hit)
        or (re.search(r"[-/]", value) and is_date(value))
    ):
        return None
    if (is_years(value) and not (strong and value.isdigit() and numbered)) or (
        not strong and len(digits) < least
    ):
        return None
    return hit if numbered or len(digits) >= 5 else None


def _id_mixed(hit: Hit, _: Context) -> Hit | None:
    """What no word and no amount looks like: letters and digits, letters whose case changes four times, three groups of digits."""
    kinds = [
        "9" if char.isdigit() else "A" if char.isupper() else "a"
        for char in hit.value
        if char.isalnum()
    ]
    groups = re.findall(r"\d+", hit.value)
    turns = sum(a != b for a, b in zip(kinds, kinds[1:], strict=False))
    if len(kinds) < 4 or is_publication(hit) or is_date(hit.value) or is_years(hit.value):
        return None
    if "9" not in kinds:
        return hit if turns >= 4 and hit.value.isalpha() else None
    if len(set(kinds)) == 1:
        return hit if len(groups) >= 3 and len(kinds) >= 5 else None
    return hit if kinds.count("9") >= 3 or (turns >= 4 and hit.value.isalnum()) else None


def _id_unless_date(hit: Hit, _: Context) -> Hit | None:
    if (hit.value.isdecimal() and is_date(hit.value)) or is_dated(hit):
        return None
    return None if is_publication(hit) or is_amount(hit) else hit


def _id_beside_name(hit: Hit, context: Context) -> Hit | None:
    """A long number right after a name, or right before it, with nothing between them but white space and a sign or two."""
    first, last = (bisect_left(context.names, (at,)) for at in (hit.start, hit.end))
    for start, end in (*context.names[max(0, first - 1) : first], *context.names[last : last + 1]):
        after, before = hit.text[end : hit.start], hit.text[hit.end : start]
        follows = start < hit.start and (
            end > hit.start or (len(after) <= 40 and re.fullmatch(r"[\s_(\[,:#|/-]*", after))
        )
        leads = (
            hit.end <= start
            and len(hit.value) >= 8
            and len(before) <= 12
            and re.fullmatch(r"[ \t_)\],:|/-]+", before)
        )
        if follows or leads:
            return _id_unless_date(hit, context)
    return None


def _id_groups_beside_name(hit: Hit, context: Context) -> Hit | None:
    """As `_id_beside_name`, of three groups of digits or more, which a date may be, too."""
    return None if is_date(hit.value) or is_years(hit.value) else _id_beside_name(hit, context)


_CALLED = re.compile(
    r"(?i)(?<![^\W_])(?:id|no|nr|num|number|code|pin|exam|student|badge|card|phone|mobile|cell|tel|call|text|dial|ring|whatsapp|fax)\b"
)


def _spread(hit: Hit, context: Context) -> Hit | None:
    """A number digit by digit: with points between them, or long, or where a word or a name before it says that it is one."""
    digits = re.sub(r"\D", "", hit.value)
    signs = set(re.sub(r"\w", "", hit.value.lstrip("+")))
    steps = {int(b) - int(a) for a, b in zip(digits, digits[1:], strict=False)}
    if (
        len(signs) != 1
        or len(set(digits)) < 3
        or len(steps) < 3
        or min(steps) >= 0
        or max(steps) <= 0
        or is_amount(hit)
    ):
        return None
    if "." in signs or len(digits) in (10, 11) or hit.value[0].isalpha():
        return hit
    at = bisect_right(context.names, hit.start, key=lambda name: name[1])
    called = _CALLED.search(hit.before(30)) or any(
        hit.start - end <= 3 for _, end in context.names[max(0, at - 1) : at]
    )
    return hit if called and len(digits) >= 6 else None


def is_card(code: str) -> bool:
    """RETURNS (bool): Whether a number has as many digits as payment cards have, and a right check digit (ISO 7812, Luhn)."""
    if len(code) not in range(13, 20) or not code.isdecimal():
        return False
    doubled = [int(ch) * (1 + i % 2) for i, ch in enumerate(reversed(code))]
    return sum(n - 9 if n > 9 else n for n in doubled) % 10 == 0


def is_iban(code: str) -> bool:
    """RETURNS (bool): Whether letters and digits are the number of a bank account, by its check digits (ISO 13616)."""
    if not _IBAN.fullmatch(code):
        return False
    return int("".join([str(int(ch, 36)) for ch in code[4:] + code[:4]])) % 97 == 1


def _card_number(hit: Hit, _: Context) -> Hit | None:
    return hit if is_card("".join(filter(str.isdecimal, hit.value))) else None


def _iban(hit: Hit, _: Context) -> Hit | None:
    return hit if is_iban(hit.value.replace(" ", "")) else None


_VERSION = re.compile(r"(?i)(?:\bv(?:er(?:sion|\.)?)?|release|build|section|sec\.|chapter|§)\s?\Z")
_NETWORK = re.compile(r"(?i)\b(?:ip|ipv4|address|host|server|router|ping|from|login)\b")


def _ip_address(hit: Hit, _: Context) -> Hit | None:
    """An address that is one computer's in all the world; of four small numbers, which a version has too, only with a word for it."""
    try:
        address = ipaddress.ip_address(hit.value)
    except ValueError:
        return None
    if not address.is_global or _VERSION.search(hit.before(10)):
        return None
    if address.version == 4:
        big = max(address.packed) > 99
        return hit if big or _NETWORK.search(hit.before(30)) else None
    return hit if hit.value.count(":") >= 3 and re.search(r"\d", hit.value) else None


def _coordinates(hit: Hit, _: Context) -> Hit | None:
    """A place on earth; numbers below one are shares."""
    degrees = [float(n) for n in re.findall(r"(?<![\d.])\d+\.\d{4,}", hit.value)]
    if "°" in hit.value:
        return hit
    called = re.search(r"(?i)\b(?:gps|coord\w*|lat\w*|location|live|position)\b", hit.before())
    fits = len(degrees) == 2 and degrees[0] <= 90 and degrees[1] <= 180 and max(degrees) >= 1
    return hit if fits and (called or re.search(r"\.\d{5,}\D+\d+\.\d{5,}", hit.value)) else None


def _speaker(hit: Hit, _: Context) -> Hit | None:
    """Who speaks in a log: no word of English, no role, no element of HTML."""
    known = words().is_common(hit.value) or words().is_title(hit.value)
    element = f"</{hit.value}>" in hit.text or hit.value in ("br", "hr", "img", "li", "tr", "td")
    return None if known or element else hit


_NO_USERNAME = word_list("ruler/words", "no_username")


def _is_of_formula(hit: Hit) -> bool:
    """Whether a spreadsheet's formula has the piece: @SUM(A1:A9), =@AB12."""
    around = hit.before(1) + hit.text[hit.start : hit.end + 1]
    return not hit.cue and re.search(r"@[A-Z][A-Z\d]*\(\Z|\A=@[A-Z]{1,3}\d+\b", around) is not None


def _username(hit: Hit, _: Context) -> Hit | None:
    value = hit.value.rstrip(".-,;:!?")
    hit = hit.cut(0, len(value))
    bare = value.lstrip("@").lower()
    if (
        len(bare) < 2
        or hit.text[hit.end : hit.end + 1] == "@"
        or bare in _NO_USERNAME
        or _is_of_formula(hit)
    ):
        return None
    if value.startswith("@"):
        return hit
    has_shape = re.search(r"[\d_#]|\w\.\w|[a-z][A-Z]", value) is not None
    declared = re.search(r"[:=]\s*[\"'(]?$", hit.cue) is not None and len(bare) >= 3
    return hit if has_shape or declared else None


def _name_handle(hit: Hit, _: Context) -> Hit | None:
    """An "@" before a given name, as threads and forums call somebody; with an initial or a surname behind it."""
    first, *rest = hit.value.lstrip("@").split(" ")
    second = re.sub(r"['’]", "", "".join(rest))
    if _is_of_formula(hit) or not name_table().is_given(re.split(r"[._]", first)[0]):
        return None
    named = len(second) == 1 or (name_table().is_surname(second) and not words().is_common(second))
    return hit if not second or named else hit.cut(0, len(hit.value) - len(rest[0]) - 1)


# "url" is decided by patterns.py: judge_url, which knows the table of web sites; here it only passes.
_FUNCTIONS = (
    _accept,
    email,
    email_spaced,
    email_worded,
    email_capital,
    _phone,
    _phone_shape,
    _phone_cued,
    _id_number,
    _id_mixed,
    _id_unless_date,
    _id_beside_name,
    _id_groups_beside_name,
    _spread,
    _card_number,
    _iban,
    _ip_address,
    _coordinates,
    _speaker,
    _username,
    _name_handle,
)
VALIDATORS: dict[str, Validator] = {
    **{function.__name__.lstrip("_"): function for function in _FUNCTIONS},
    "url": _accept,
}
