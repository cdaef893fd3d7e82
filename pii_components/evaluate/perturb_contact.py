"""Contact details written so that no machine shall find them, torn by line ends, or in the form of another country.

"john dot doe at gmail dot com", digits as words, "www . site . com" (seen in CRAPII), full-width @ (RPBLC-hq/DAM 9 and 12).
"""

import random
import re
from collections.abc import Callable

from ..corpus.wear import NAME_WEAR
from ..labels import DETAIL_LABELS, EMAIL, ID_NUM, PHONE_NUM, STREET_ADDRESS, URL_PERSONAL, USERNAME
from .perturb import CONTACT, DETAILS, Edit, OnValue, Perturbation, Perturbed, Spans, apply_edits, on_labels
from .perturb_script import every_gap

_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_NUMBERS = (PHONE_NUM, ID_NUM)
_CYRILLIC = str.maketrans("aceopx", "асеорх")


def spelt(at: str, dot: str) -> OnValue:
    """RETURNS (OnValue): An e-mail address with words or signs for @ and dots. at, dot (str): What stands for them."""
    return lambda value, rng: value.replace("@", at).replace(".", dot)


def digits_worded(value: str, rng: random.Random) -> str:
    """RETURNS (str): "five five five": digits as words, letters as they are; what joined groups becomes a space."""
    words = re.sub(r"\d", lambda m: f" {_DIGITS[int(m.group())]} ", value)
    return re.sub(r"[\s()+.-]+", " ", words).strip()


def spread(joint: str) -> OnValue:
    """RETURNS (OnValue): "5 5 5": digits and letters with something between them, other signs gone."""
    return lambda value, rng: joint.join(ch for ch in value if ch.isalnum())


def _digits(rng: random.Random, number: int) -> str:
    return str(rng.randint(1, 9)) + "".join(str(rng.randint(0, 9)) for _ in range(number - 1))


def phone_in(form: str) -> OnValue:
    """RETURNS (OnValue): An invented number in the form of a country; "#" is a digit."""
    return lambda value, rng: re.sub("#", lambda m: str(rng.randint(0, 9)), form)


def spaced_url(value: str, rng: random.Random) -> str:
    """RETURNS (str): "www . site . com / ana": spaces around the dots and slashes after the scheme."""
    scheme, mark, rest = value.rpartition("://")
    return scheme + mark + re.sub(r"[./]", lambda m: f" {m.group()} ", rest).strip()


def line_broken(sign: str) -> OnValue:
    """RETURNS (OnValue): A line break after the first `sign`, as PDFs have it."""
    return lambda value, rng: value.replace(sign, sign + "\n", 1) if not value.endswith(sign) else value


def defanged(value: str, rng: random.Random) -> str:
    """RETURNS (str): "hxxps://site[.]com"."""
    return re.sub(r"^http", "hxxp", value).replace(".", "[.]", 1)


def followed_by(kind: str, before: str = "", after: str = "") -> Callable[[str, Spans, random.Random], Perturbed]:
    """RETURNS (Change): Strings set before and after the spans of a label, outside of them."""

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        edits: list[Edit] = []
        for start, end, label in spans:
            if label == kind:
                edits += [(start, start, before)] * bool(before) + [(end, end, after)] * bool(after)
        return apply_edits(text, spans, edits)

    return change


def _on(name: str, about: str, change: OnValue, *labels: str) -> Perturbation:
    return Perturbation(name, CONTACT, about, on_labels(dict.fromkeys(labels, change)), DETAILS, rewrites=True)


PERTURBATIONS = (
    _on("email_at_dot", "john dot doe at gmail dot com", spelt(" at ", " dot "), EMAIL),
    _on("email_brackets", "john(dot)doe[at]uni(dot)edu", spelt("[at]", "(dot)"), EMAIL),
    _on("email_brackets_spaced", "john [at] uni (dot) edu", spelt(" [at] ", " (dot) "), EMAIL),
    _on("email_spaced", "john @ uni . edu", spelt(" @ ", " . "), EMAIL),
    _on("email_no_at", "john AT gmail, no ending", lambda v, rng: re.sub(r"@([^.@]+)\..*$", r" AT \1", v), EMAIL),
    _on("email_full_width", "john＠uni．edu", lambda v, rng: v.replace("@", "＠").replace(".", "．"), EMAIL),
    _on("email_homoglyph", "Cyrillic letters in an address", lambda v, rng: v.translate(_CYRILLIC), EMAIL),
    _on("email_zero_width", "U+200B between all characters", every_gap("\u200b"), EMAIL),
    _on("email_line_broken", "john@\\nuni.edu", line_broken("@"), EMAIL),
    Perturbation("email_full_stop", CONTACT, "john@uni.edu.", followed_by(EMAIL, "", "."), EMAIL),
    Perturbation("email_angle", CONTACT, "<mailto:john@uni.edu>", followed_by(EMAIL, "<mailto:", ">"), EMAIL),
    _on("digits_spaced", "5 5 5 0 1 2", spread(" "), *_NUMBERS),
    _on("digits_dotted", "5.5.5.0.1.2", spread("."), *_NUMBERS),
    _on("digits_worded", "five five five", digits_worded, *_NUMBERS),
    _on("digits_full_width", "５５５", NAME_WEAR["full width"], *_NUMBERS),
    _on("digits_line_broken", "a line break in the middle", lambda v, rng: f"{v[: len(v) // 2]}\n{v[len(v) // 2 :]}", *_NUMBERS),
    _on("phone_indian", "+91 98765 43210", phone_in("+91 9#### #####"), PHONE_NUM),
    _on("phone_brazilian", "(11) 98765-4321", phone_in("(11) 9####-####"), PHONE_NUM),
    _on("phone_british", "07700 900123", phone_in("07700 900###"), PHONE_NUM),
    _on("phone_bare", "5550123456", lambda v, rng: "".join(ch for ch in v if ch.isdigit()), PHONE_NUM),
    _on("id_twelve", "a number of twelve digits", lambda v, rng: _digits(rng, 12), ID_NUM),
    _on("id_grouped", "202-312-34", lambda v, rng: "-".join(re.findall(r"\w{1,3}", re.sub(r"\W", "", v))), ID_NUM),
    _on("url_spaced", "www . site . com / ana", spaced_url, URL_PERSONAL),
    _on("url_no_scheme", "site.com/ana", lambda v, rng: re.sub(r"^https?://(www\.)?", "", v), URL_PERSONAL),
    _on("url_defanged", "hxxps://site[.]com/ana", defanged, URL_PERSONAL),
    _on("url_line_broken", "a line break after a slash", lambda v, rng: re.sub(r"(?<=\w)/(?=\w)", "/\n", v, count=1), URL_PERSONAL),
    _on("url_as_handle", "@ana of site.com/ana", lambda v, rng: "@" + (re.findall(r"[\w.-]+", v) or ["ana"])[-1], URL_PERSONAL),
    Perturbation("handle_at", CONTACT, "my insta: @ana", followed_by(USERNAME, "@"), USERNAME),
    _on("address_lines", "Mill Road 3\\nLeeds", lambda v, rng: re.sub(r",\s*", "\n", v), STREET_ADDRESS),
    _on("address_no_commas", "Mill Road 3 Leeds", lambda v, rng: re.sub(r"[,\n]+\s*", " ", v), STREET_ADDRESS),
    _on("details_zero_width", "U+200B inside every detail", every_gap("\u200b"), *DETAIL_LABELS),
)  # fmt: skip
