"""Characters: accents, look-alikes of other scripts, the invisible, full width, and names that are in another script altogether.

What hides a name from a program and not from a reader: seen in CRAPII (accents, ligatures, no-break spaces), or used on purpose
(OpenMed's red team: homoglyphs, zero width, combining marks; microsoft/agent-governance-toolkit 3500: more invisible code points).
"""

import random
import unicodedata
from collections.abc import Callable, Sequence

from ..corpus.wear import NAME_WEAR
from ..labels import is_name
from .perturb import (
    NAMES,
    SCRIPT,
    Change,
    Edit,
    OnValue,
    Perturbation,
    Perturbed,
    Spans,
    apply_edits,
    around_names,
    on_everything,
    on_names,
    rewrite,
)

_ACCENTS = {
    "a": "áàâãäå",
    "e": "éèêëě",
    "i": "íìîï",
    "o": "óòôõöø",
    "u": "úùûüů",
    "c": "çčć",
    "n": "ñń",
    "s": "šş",
    "z": "žż",
    "y": "ý",
}
_GREEK = str.maketrans("ABEZHIKMNOPTYXovua", "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονυα")
_CJK = str.maketrans("oOlIiTEJH", "口口丨丨丨丅彐亅卄")
_LIGATURES = (("ffi", "ﬃ"), ("ffl", "ﬄ"), ("ff", "ﬀ"), ("fi", "ﬁ"), ("fl", "ﬂ"), ("st", "ﬆ"))
_EMOJI = "🌸😊⭐🔥🦋"
_MATH = {"A": 0x1D400, "a": 0x1D41A}

# Syllables and words that are names; a name's words get one each, the same word the same one throughout a text.
_ARABIC = "محمد فاطمة أحمد ليلى يوسف مريم حسن خالد نور سلمان زينب طارق".split()  # noqa: SIM905
_HEBREW = "נועה דוד מאיה יוסי כהן לוי תמר אורי מזרחי רבקה".split()  # noqa: SIM905
_CYRILLIC = "Анна Иван Петров Ольга Смирнова Дмитрий Козлов Мария Орлова Юрий".split()  # noqa: SIM905
_GREEK_NAMES = "Ελένη Γιώργος Παπαδόπουλος Μαρία Νίκος Κωνσταντίνου Σοφία Δημήτρης".split()  # noqa: SIM905
_DEVANAGARI = "प्रिया राहुल शर्मा अनीता सिंह विक्रम पटेल मीना".split()  # noqa: SIM905
_HAN = "李 王 陈 伟 芳 敏 静 强 洋 刘 张 杰".split()  # noqa: SIM905
_KANJI_KANA = "田中 佐藤 さくら 花子 健太 山本 ゆき 大輔".split()  # noqa: SIM905
_HANGUL = "김 이 박 지민 서연 현우 민준 하은".split()  # noqa: SIM905


def accents_added(name: str, rng: random.Random) -> str:
    """RETURNS (str): "Ána Lópéz": one letter in two that can bear an accent, and one at least."""
    places = [i for i, char in enumerate(name) if char.lower() in _ACCENTS]
    chosen = {i for i in places if rng.random() < 0.5} or set(places[:1])
    return "".join(_accented(char, rng) if i in chosen else char for i, char in enumerate(name))


def _accented(char: str, rng: random.Random) -> str:
    marked = rng.choice(_ACCENTS[char.lower()])
    return marked.upper() if char.isupper() else marked


def accents_removed(text: str, rng: random.Random) -> str:
    """RETURNS (str): Without accents, ø and ł too."""
    return NAME_WEAR["no accents"](text, rng).translate(str.maketrans("øØłŁđĐı", "oOlLdDi"))


def inserted(mark: str) -> OnValue:
    """RETURNS (OnValue): Sets a mark between two letters of each word of two letters or more."""

    def change(name: str, rng: random.Random) -> str:
        words = name.split(" ")
        for i, word in enumerate(words):
            if len(word) > 1:
                at = rng.randint(1, len(word) - 1)
                words[i] = word[:at] + mark + word[at:]
        return " ".join(words)

    return change


def every_gap(mark: str) -> OnValue:
    """RETURNS (OnValue): A mark between all characters, as who wants to hide does."""
    return lambda name, rng: mark.join(name)


def ligatures(text: str, rng: random.Random) -> str:
    """RETURNS (str): "Griﬃn": what PDFs make of ffi, fi, fl and the like."""
    for plain, joined in _LIGATURES:
        text = text.replace(plain, joined)
    return text


def math_letters(name: str, rng: random.Random) -> str:
    """RETURNS (str): "𝐀𝐧𝐚", as on social media."""

    def bold(char: str) -> str:
        if not (char.isascii() and char.isalpha()):
            return char
        first = "A" if char.isupper() else "a"
        return chr(_MATH[first] + ord(char) - ord(first))

    return "".join(map(bold, name))


def combining_marks(name: str, rng: random.Random) -> str:
    """RETURNS (str): A stray mark over or under a letter of each word."""
    return inserted(rng.choice("\u0307\u0323\u0332\u0336"))(name, rng)


def rtl_override(name: str, rng: random.Random) -> str:
    """RETURNS (str): The name with signs for the other direction of writing after its first and before its last letter."""
    return f"{name[:1]}\u202b{name[1:-1]}\u202c{name[-1:]}" if len(name) > 2 else name


def apostrophe(name: str, rng: random.Random) -> str:
    """RETURNS (str): "Ana O'Lopez"; a name of one word stays."""
    first, space, last = name.rpartition(" ")
    return f"{first} {rng.choice(('O', 'D', 'N'))}'{last}" if space and last[:1].isalpha() else name


def emoji_beside(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): "🌸Ana Lopez🌸", the signs outside of the span."""
    edits: list[Edit] = []
    for start, end, label in spans:
        if is_name(label):
            sign = rng.choice(_EMOJI)
            edits += [(start, start, sign), (end, end, sign)]
    return apply_edits(text, spans, edits)


def in_script(words: Sequence[str], joint: str = " ") -> Change:
    """Names in another script, in English text.

    words (Sequence[str]): Names of that script. joint (str): What stands between two of them.
    RETURNS (Change): The same word of a name becomes the same word throughout a text; initials and commas go.
    """

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        left = list(words)
        rng.shuffle(left)
        known: dict[str, str] = {}

        def name(value: str, label: str) -> str:
            if not is_name(label):
                return value
            parts = ["".join(ch for ch in word if ch.isalnum()).lower() for word in value.replace("_", " ").split()]
            out = []
            for part in filter(None, parts):
                if part not in known:
                    known[part] = left[len(known) % len(left)]
                out.append(known[part])
            return joint.join(out)

        return rewrite(text, spans, inside=name)

    return change


def gap(mark: str) -> OnValue:
    """RETURNS (OnValue): Every space of a name becomes this."""
    return lambda name, rng: name.replace(" ", mark)


def _names(name: str, about: str, change: OnValue | Callable[[str, random.Random], str]) -> Perturbation:
    return Perturbation(name, SCRIPT, about, on_names(change), NAMES, rewrites=True)


def _script(name: str, about: str, words: Sequence[str], joint: str = " ") -> Perturbation:
    return Perturbation(name, SCRIPT, about, in_script(words, joint), NAMES, rewrites=True)


PERTURBATIONS = (
    _names("accents_added", "Ána López", accents_added),
    _names("accents_removed", "Jose for José", accents_removed),
    Perturbation("text_accents_removed", SCRIPT, "no accents in all of the text", on_everything(accents_removed)),
    _names("homoglyphs_cyrillic", "Cyrillic а, о, е in a Latin name", NAME_WEAR["look-alikes"]),
    _names("homoglyphs_greek", "Greek Α, ο, ν in a Latin name", lambda v, rng: v.translate(_GREEK)),
    _names("homoglyphs_cjk", "signs like 口 for o and 丨 for l", lambda v, rng: v.translate(_CJK)),
    _names("zero_width_space", "U+200B inside each word", inserted("\u200b")),
    _names("zero_width_everywhere", "U+200B between all letters", every_gap("\u200b")),
    _names("zero_width_joiner", "U+200D inside each word", inserted("\u200d")),
    _names("soft_hyphen", "U+00AD inside each word", inserted("\u00ad")),
    _names("grapheme_joiner", "U+034F inside each word", inserted("\u034f")),
    _names("variation_selector", "U+FE0F inside each word", inserted("\ufe0f")),
    _names("hangul_filler", "U+3164 inside each word", inserted("\u3164")),
    _names("no_break_space", "U+00A0 between first and last", gap("\u00a0")),
    _names("zero_width_gap", "U+200B where the space was", gap("\u200b")),
    _names("thin_space", "U+2009 between first and last", gap("\u2009")),
    _names("full_width", "Ａｎａ　Ｌｏｐｅｚ", NAME_WEAR["full width"]),
    _names("math_letters", "𝐀𝐧𝐚 𝐋𝐨𝐩𝐞𝐳", math_letters),
    _names("combining_decomposed", "é as e and U+0301", lambda v, rng: unicodedata.normalize("NFD", v)),
    _names("combining_marks", "a stray mark on a letter", combining_marks),
    _names("ligatures", "Griﬃn", ligatures),
    _names("hyphen", "Ana-Lopez", gap("-")),
    _names("apostrophe", "Ana O'Lopez", apostrophe),
    _names("apostrophe_curly", "Ana O’Lopez", lambda v, rng: apostrophe(v, rng).replace("'", "’")),
    Perturbation("text_ligatures", SCRIPT, "ligatures in all of the text", on_everything(ligatures)),
    _names("rtl_override", "U+202B, U+202C around the letters, in the span", rtl_override),
    Perturbation("rtl_marks", SCRIPT, "U+200F before and after a name", around_names("\u200f", "\u200f"), NAMES),
    Perturbation("emoji_beside", SCRIPT, "🌸Ana Lopez🌸", emoji_beside, NAMES),
    _names("emoji_inside", "Ana 🌸 Lopez", lambda v, rng: v.replace(" ", f" {rng.choice(_EMOJI)} ", 1)),
    _script("name_arabic", "ليلى حسن", _ARABIC),
    _script("name_hebrew", "נועה לוי", _HEBREW),
    _script("name_cyrillic", "Анна Орлова", _CYRILLIC),
    _script("name_greek", "Ελένη Κωνσταντίνου", _GREEK_NAMES),
    _script("name_devanagari", "प्रिया शर्मा", _DEVANAGARI),
    _script("name_chinese", "李伟", _HAN, ""),
    _script("name_japanese", "田中 さくら", _KANJI_KANA),
    _script("name_korean", "김지민", _HANGUL, ""),
)  # fmt: skip
