"""A tokenizer for what student files look like: sentences that run together, names glued to titles, file names and numbers.

    [nlp.tokenizer]
    @tokenizers = "pii_edu.StudentTokenizer.v1"

    "menu.Keep it"               menu . Keep it
    "Ana_Lopez_1234567"          Ana _ Lopez _ 1234567
    "AnaLopez3rdYear"            Ana Lopez 3rdYear
    "Email:ana.lopez@x.org."     Email : ana.lopez@x.org .

It is spaCy's own Tokenizer with other rules, so it is saved and loaded with the pipeline, and `doc.text == text` always holds.
The rule behind the rules: a span can cover several tokens but never half of one, so where a name may end, a token ends. E-mail
addresses, web addresses and @handles stay whole, also in the middle of a string: the infix expression takes them first.

It also sets how SHAPE is computed for its vocabulary: of what shows, so that a zero-width space in a name does not make it a word without
a known shape.
"""

import re
import unicodedata
from collections.abc import Callable
from itertools import pairwise

from spacy.attrs import ORTH, SHAPE
from spacy.lang.char_classes import ALPHA, ALPHA_LOWER, ALPHA_UPPER
from spacy.lang.lex_attrs import word_shape
from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.util import compile_infix_regex, compile_prefix_regex, compile_suffix_regex, registry

from ..names.normalize import INVISIBLE, is_invisible

# What shows nothing belongs to the word that it is in (the encoder sees the word without it); after a small letter and before a capital, and
# beside signs, it parts two words.
LOWER = ALPHA_LOWER + r"\uff41-\uff5a\ufb00-\ufb06\u0300-\u036f"
UPPER = ALPHA_UPPER + r"\uff21-\uff3a"
LETTER = LOWER + UPPER
SCRIPT = ALPHA + LETTER
# spaCy counts letters of scripts without case as both; here it must be known where a capital stands.
AFTER_SMALL = rf"(?<=[{LOWER}])(?<![{ALPHA_UPPER}])"
BEFORE_CAPITAL = rf"(?=[{UPPER}])(?![{ALPHA_LOWER}])"
AT = "@\uff20"
DOT = ".\uff0e"
# Scripts that have no case, and letters of mathematics: spaCy leaves a full stop on their words.
CASELESS = (
    "\u0590-\u05ff\u0600-\u06ff\u0750-\u077f\u0900-\u0dff\u0e00-\u0eff\u0f00-\u109f\u10d0-\u10ff\u1100-\u11ff\u1200-\u137f"
    "\u1780-\u17df\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U0001d400-\U0001d7ff"
)
ICON = r"[\u2600-\u27bf\u2b50\U0001f1e6-\U0001faff]"  # spaCy knows those of older Unicode

# Without "http" or "www", a host needs one of these endings: others are words (in, it, is, so, my, do) or endings of files.
SURE_TLD = (
    "com|org|net|edu|gov|mil|io|info|biz|app|dev|blog|site|online|website|xyz|tech|cloud|page|link|wiki"
    "|uk|ca|au|nz|ie|br|mx|ru|cn|jp|kr|ng|ke|za|eu|fr|nl|ch|pk|ph|sg|hk|tw|vn|tr"
)
_SECOND = r"(?:co|ac|edu|com|gov|org|net|nic|res)\.(?:[a-z]{2})"
_ANY_CASE = f"(?:{SURE_TLD}|{SURE_TLD.upper()}|Com|Org|Net|Edu|Gov)"
_WORD = rf"[\w{INVISIBLE}]"
_LABEL = rf"[\w{INVISIBLE}](?:[\w{INVISIBLE}-]{{0,62}})"
_END = rf"(?![\w{INVISIBLE}-])"
_PATH_CHAR = r"[^\s<>\"\u201c\u201d\u00ab\u00bb]"
_PATH_LAST = r"[^\s<>\"\u201c\u201d\u00ab\u00bb.,;:!?()\[\]{}'\u2018\u2019\u2026]"
_PATH = rf"(?:[/?#](?:{_PATH_CHAR}*{_PATH_LAST})?)"

EMAIL_SHAPE = (
    rf"[\w.+{INVISIBLE}\uff0e-]{{1,64}}[{AT}](?:{_LABEL}[{DOT}]){{1,8}}"
    rf"(?:[a-z\uff41-\uff5a\u0430-\u044f{INVISIBLE}]{{2,24}}|[A-Z\uff21-\uff3a]{{2,24}}|Com|Org|Net|Edu){_END}"
)
URL_SHAPE = (
    rf"(?:(?:[Hh][Tt][Tt][Pp][Ss]?|ftp)[:\uff1a][/\uff0f]{{1,2}}{_PATH_CHAR}*{_PATH_LAST}/?"
    rf"|[Ww][Ww][Ww]\.(?:{_LABEL}\.){{1,8}}[A-Za-z]{{2,24}}{_END}(?::\d{{2,5}})?{_PATH}?"
    rf"|(?:{_LABEL}\.){{1,8}}(?:{_ANY_CASE}|{_SECOND}){_END}(?::\d{{2,5}})?{_PATH}?"
    rf"|(?:{_LABEL}\.){{1,8}}[a-z]{{2,10}}/(?:{_PATH_CHAR}*{_PATH_LAST})/?)"
)
HANDLE_SHAPE = rf"[{AT}]{_WORD}(?:[\w.{INVISIBLE}-]{{0,62}}{_WORD})?"

# A line of signs ("_____", "=====") is one token: spaCy takes affixes one by one and would copy the rest each time.
# In brackets, since spaCy anchors each expression by what it sets before or after it.
_RUN = r"(?:(?P<run>[^\w\s])(?P=run){2,}|_{2,}|(?:[^\w\s]|_){8,})"
_RUN_AT_END = r"(?:(?<=[^\W_])(?:(?:[^\w\s]|_){8,}|_{3,}))"
PREFIXES = [
    _RUN,
    rf"[{INVISIBLE}]+",
    rf"{ICON}",
    # "@@Ana##", as prompts mark names
    rf"[{AT}]{{2,}}(?=[{LETTER}])",
    # "-Ana Lopez", "|Name", "/Ana", "→ Ana": spaCy leaves these on the word
    rf"[-~|/\\^\u2010-\u2015\u2022\u2023\u25e6\u2043\u2190-\u21ff\u27a2]+(?=[{LETTER}0-9])(?![0-9])",
    r"[\u2022\u2023\u25e6\u2043\u2190-\u21ff|\\]",
    r"[\u2039\u203a]",
]
SUFFIXES = [
    _RUN_AT_END,
    rf"[{INVISIBLE}]+",
    r"##",
    rf"{ICON}",
    rf"(?<=[{LETTER}])[-~|/\\^\u2010-\u2015\u2022\u2190-\u21ff]+",
    r"[|\\]",
    # "Ana==", "$Ana$", "@@Ana@@", "‹Ana›": the other half of a pair of signs
    rf"(?<=[{LETTER}{CASELESS}'.])(?:=+|[{AT}]+|[$%\u00a7])",
    rf"(?<=[{LETTER}{CASELESS}][{LETTER}{CASELESS}])\+",
    rf"(?<=[{AT}=$\u00a7#~^|/\u2013\u2014\u203a])\.",
    r"[\u2039\u203a]",
    rf"(?<=[\ufb00-\ufb06{CASELESS}])\.",
    rf"(?<=[{LETTER}][{LETTER}])[\u00b4`\u02bc\uff07][sS]",
]
INFIXES = [
    # Whole addresses come first, so that nothing splits them; they begin where no other part of them could stand before.
    rf"(?<![\w.+{INVISIBLE}\uff0e-]){EMAIL_SHAPE}",
    rf"(?<![\w.{AT}-]){URL_SHAPE}",
    rf"(?<![\w.{AT}-]){HANDLE_SHAPE}",
    r"_+",
    # brackets, double quotes, bars and bullets part words wherever they stand
    r"[()\[\]{}<>\"\u201c\u201d\u201e\u00ab\u00bb|\\\u2022\u2023\u25e6\uff08\uff09\uff3b\uff3d\u3010\u3011\u300a\u300b\u2190-\u21ff]",
    r"[\uff1a\uff0c\uff1b\u3001\u3002\uff0f\uff3f\uff01\uff1f]",
    # "word.Next", "menu.keep", "END.NEXT", "3.Ana", "word!Next", "one;two", "2019,Ana"
    rf"(?<=[{LOWER})\uff09])\.+(?=[{UPPER}(\u201c\"])",
    rf"(?<=[{LETTER}][{LETTER}][{LETTER}])\.+(?=[{LETTER}]{{3}})",
    rf"(?<=[{UPPER}][{UPPER}])\.(?=[{UPPER}][{LETTER}])",
    rf"(?<=[0-9])[.\uff0e](?=[{UPPER}](?:[{LOWER}]|['\u2019][{UPPER}]))|(?<=[0-9])\.(?=[{LETTER}]{{3}})",
    rf"(?<=[{LETTER}0-9])[!?;]+(?=[{LETTER}0-9])",
    rf"(?<=[{LETTER}0-9]),+(?=[{LETTER}])",
    rf"(?<=[{LETTER}]),+(?=[0-9])",
    # "Name:Ana", "ID:1234", "ID#1234", "Ana/1234567", "Week3-Ana", "Ana-1234567", "Ana+Bob", "Ana&Bob"
    rf"(?<=[{LETTER}0-9])[:=/#~^](?=[{LETTER}])|(?<=[{LETTER}]\.)~(?=[{LETTER}])",
    rf"(?<=[{LETTER}])[:=#](?=[0-9{AT}])",
    rf"(?<=[{LETTER}])[/~](?=[0-9]{{4}})",
    rf"(?<=[0-9])(?:--+|[-\u2010-\u2015])(?=[{LETTER}][{LETTER}])",
    rf"(?<=[{LETTER}])[-\u2010-\u2015](?=[0-9]{{4}})",
    rf"(?<=[{LETTER}])[+*](?=[{LETTER}])",
    rf"(?<=[{LOWER}])&(?=[{UPPER}])",
    # nothing between them: "1234567Ana", "Lopez1234567"; "Ana123" stays whole
    rf"(?<=[0-9][0-9][0-9][0-9])(?=[{UPPER}][{LOWER}]{{2}})",
    rf"(?<=[{LETTER}])(?=[0-9]{{6}})",
    # "AnaLopez", "byAna", "LopezXuWei"; not "iPhone", "McDonald", "PhDs", "NaCl"
    rf"(?:(?<=[{LOWER}][{LOWER}])|(?<=[{UPPER}][{LOWER}])){AFTER_SMALL}(?<![Mm]c)(?<!Ph){BEFORE_CAPITAL}(?=.[{LOWER}][{LOWER}])",
    # "Lopez3rdYear", "LOPEZ3rd", "Week3Ana"; "Lopez3" and "3rd" stay whole
    rf"(?<=[{LETTER}][{LETTER}][{LETTER}])(?=[0-9]{{1,2}}(?:st|nd|rd|th)(?![{LOWER}]))",
    rf"(?<=[{LOWER}][{LOWER}])(?=[0-9]{{1,4}}(?:st|nd|rd|th|){BEFORE_CAPITAL}.[{LOWER}])",
    rf"(?<=[{LOWER}][0-9]){BEFORE_CAPITAL}(?=.[{LOWER}][{LOWER}])",
    # what shows nothing
    rf"(?<=[^{UPPER}{INVISIBLE}])[{INVISIBLE}]+{BEFORE_CAPITAL}|[{INVISIBLE}]+(?![{SCRIPT}0-9{INVISIBLE}])",
    rf"(?<=[{LETTER}])[{INVISIBLE}]+(?=[0-9])|(?<=[0-9])[{INVISIBLE}]+(?=[{LETTER}])",
]
# Brands and terms that are written with a capital inside and are one word.
CAMEL_WORDS = frozenset(
    """
YouTube JavaScript TypeScript PowerPoint WhatsApp TikTok GitHub SnapChat FaceBook FaceTime PayPal MasterCard WordPress
LaTeX MySpace SoundCloud DropBox OneDrive ClassDojo BlackBoard EdTech FinTech BioTech NeuroTech StarCraft MineCraft
PlayStation PlayStore DreamWorks LinkedList ResearchGate SurveyMonkey MindMeister MindMap MindMup DeepMind OpenAI
ChatGPT FedEx HyperCard BuzzFeed DuoLingo GoFundMe SlideShare QuickTime MailChimp HubSpot SalesForce SharePoint
OutLook DocuSign CapCut AirBnb TripAdvisor BlaBlaCar UberEats DoorDash StoryBoard StoryTelling SketchUp AutoCad
PhotoShop InDesign MatLab SciPy NumPy TensorFlow HealthCare
""".split()  # noqa: SIM905
)
# English exceptions that take "id" for "I'd" and "Wed" for "we'd".
NOT_EXCEPTIONS = ("id", "Id", "ID", "wed", "Wed")


def _is_shifted(text: str) -> bool:
    """Whether a word is typed with the shift key the wrong way round, or in turn; "mRNA", "NaCl" and "iPhone" are not."""
    if len(text) < 5 or text.islower() or text.isupper() or text.istitle() or not text.isalpha() or text in CAMEL_WORDS:
        return False
    switches = sum(a.isupper() != b.isupper() for a, b in pairwise(text))
    return (text[0].islower() and text[1:].isupper()) or switches >= len(text) - 2


def visible_shape(text: str) -> str:
    """RETURNS (str): spaCy's word shape, computed without marks and without what shows nothing; "lOPEZ" and "LoPeZ" have that of "Lopez"."""
    if _is_shifted(text):
        return word_shape(text.capitalize())
    if text.isascii() or not any(unicodedata.category(char)[0] == "M" or is_invisible(char) for char in text):
        return word_shape(text)
    composed = unicodedata.normalize("NFC", "".join(char for char in text if not is_invisible(char)))
    return word_shape("".join(char for char in composed if unicodedata.category(char)[0] != "M")) or word_shape(text)


# Anchored at the end, without flags: spaCy stores the pattern alone.
_ADDRESS = re.compile(rf"(?:{EMAIL_SHAPE}|{URL_SHAPE}|{HANDLE_SHAPE})\Z")


def make_student_tokenizer(nlp: Language) -> Tokenizer:
    """RETURNS (Tokenizer): A plain spaCy Tokenizer. nlp (Language): Gives vocabulary, exceptions and the rules that ours stand before."""
    defaults = nlp.Defaults
    rules = {orth: spec for orth, spec in (defaults.tokenizer_exceptions or {}).items() if orth not in NOT_EXCEPTIONS}
    rules |= {word: [{ORTH: word}] for word in CAMEL_WORDS}
    nlp.vocab.lex_attr_getters[SHAPE] = visible_shape  # type: ignore[attr-defined]
    return Tokenizer(
        nlp.vocab,
        rules=rules,
        prefix_search=compile_prefix_regex([*PREFIXES, *(defaults.prefixes or [])]).search,
        suffix_search=compile_suffix_regex([*SUFFIXES, *(defaults.suffixes or [])]).search,
        infix_finditer=compile_infix_regex([*INFIXES, *(defaults.infixes or [])]).finditer,
        token_match=_ADDRESS.match,
        url_match=_ADDRESS.match,
    )


@registry.tokenizers("pii_edu.StudentTokenizer.v1")
def create_student_tokenizer() -> Callable[[Language], Tokenizer]:
    """RETURNS (Callable[[Language], Tokenizer]): For configs: `@tokenizers = "pii_edu.StudentTokenizer.v1"`."""
    return make_student_tokenizer
