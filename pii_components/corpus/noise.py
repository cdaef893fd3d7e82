"""Wear on single names and details, as it was seen in students' files and is to be expected there.

    wear_name("Ana Lopez", rng)   ->  ("A N A  L O P E Z", "spaced")
    wear_detail("ana@uni.edu", "EMAIL", rng)   ->  ("ana [at] uni (dot) edu", "spelt out")

Whole texts are worn by `synthesis.roughen`, all names of a text in one way by `habits.Wardrobe`; here one mention is, whatever stands
around it and whoever it belongs to: wear must not tell a student from an author.
"""

import random
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from ..labels import EMAIL, ID_NUM, PHONE_NUM, URL_PERSONAL, is_name
from .templates import Slot

# Names in the scripts that they come from: given names, family names, what stands between, and which comes first.

# Script -> given names, family names, what stands between them, whether the family name comes first. Words parted by spaces.
_NATIVE: dict[str, tuple[str, str, str, bool]] = {
    "Arabic": (
        "فاطمة يوسف مريم خالد سارة عمر زينب طارق هدى كريم أمل سامي رانيا ياسر نادية بلال سلمى وليد إيمان حمزة دينا مصطفى هند إبراهيم",
        "المصري الخطيب حداد النجار سليمان منصور الشريف عباس قاسم درويش العلي الحسيني صالح عثمان الزهراني بكري فرحات شاهين الرفاعي نصر",
        " ",
        False,
    ),
    "Hebrew": (
        "יעל דניאל תמר איתן שירה אורי מיכל גיא רות עומר נועם הדס רון ליאת אלון סיון עידו אפרת",
        "כהן מזרחי פרידמן ביטון אברהם שפירא דהן אזולאי רוזן גולן ברק קפלן אוחיון סגל חדד שלום",
        " ",
        False,
    ),
    "Cyrillic": (
        "Мария Дмитрий Ольга Иван Татьяна Сергей Олена Петро Милица Стоян Юлия Артём Наталия Владимир Ксения Никола Богдан Елена Тарас Ирина",
        "Соколова Кузнецов Шевченко Петровић Димитров Лебедева Морозов Бондаренко Јовановић Зайцева Волков Коваленко Николић Георгиева Мельник"
        " Павлова Ткаченко Стојановић",
        " ",
        False,
    ),
    "Greek": (
        "Μαρία Γιώργος Αικατερίνη Δημήτρης Ιωάννα Κώστας Χρυσούλα Παναγιώτης Θεοδώρα Σπύρος Ευαγγελία Στέλιος Άννα Αλέξανδρος Βασιλική Θάνος",
        "Παπαδάκης Νικολάου Γεωργίου Αντωνίου Βασιλείου Οικονόμου Μακρής Χατζής Δημητρίου Λάμπρου Αναγνώστου Καραγιάννης Ιωαννίδης Σταύρου Ζαχαρίου",
        " ",
        False,
    ),
    "Devanagari": (
        "अनिता सुनीता विकास पूजा अमित मीरा संजय कविता रोहन अर्जुन नेहा दीपक सीमा मनोज रेखा सुरेश किरण आशा गौरव",
        "वर्मा गुप्ता मिश्रा यादव पाटिल जोशी चौहान देशमुख ठाकुर मेहता कुलकर्णी तिवारी राठौर नायर अग्रवाल त्रिपाठी",
        " ",
        False,
    ),
    "Bengali": (
        "রহিম সুমাইয়া অর্পিতা তানভীর নাসরিন শুভ মৌসুমী আরিফ শর্মিলা রাজীব",
        "হোসেন চৌধুরী দাস সরকার আক্তার রায় মুখার্জি খান সেন বিশ্বাস",
        " ",
        False,
    ),
    "Tamil": (
        "கவிதா முருகன் லட்சுமி செந்தில் மீனா அருண் தமிழ்ச்செல்வி குமார் பிரியா கார்த்திக் மாலதி வேலு",
        "ராஜன் சுப்பிரமணியன் நடராஜன் செல்வம் பாலகிருஷ்ணன் கண்ணன் ராமசாமி சிவகுமார் பெருமாள்",
        " ",
        False,
    ),
    "Thai": (
        "สมชาย กานดา ณัฐพล มาลี ปิยะ สุดา วิชัย อรทัย ธนพล ศิริพร ประเสริฐ จันทร์",
        "ใจดี ศรีสุข วงศ์ไทย ทองคำ แสงจันทร์ บุญมี รักษา สุวรรณ พรหมมา จิตรดี",
        " ",
        False,
    ),
    "Georgian": ("ნინო გიორგი თამარ ლევან ეკა დავით", "ბერიძე კაპანაძე გელაშვილი მაისურაძე ლომიძე", " ", False),
    "Han": (
        "娜 建国 秀英 磊 晓东 雪梅 志强 丽华 宇轩 婷婷 浩然 子涵 美玲 国庆 文博 思远 佳怡 明 海燕 俊杰 雅婷 家豪 怡君 冠宇 淑芬",
        "张 杨 黄 赵 周 吴 徐 孙 欧阳 马 朱 胡 郭 何 林 罗 高 郑 梁 谢 宋 唐 許 鄭 韓 馮 司马 葉 謝 鄧",
        "",
        True,
    ),
    "Japanese": (
        "翔太 美咲 健一 愛 ひなた 由美 まこと 里奈 直樹 陽子 拓也 葵 恵子 ゆうき 千尋 蓮",
        "高橋 渡辺 小林 加藤 吉田 山口 松本 斎藤 中村 井上 木村 林 清水 山崎 森 池田",
        " ",
        True,
    ),
    "Hangul": (
        "지우 수빈 예은 도윤 준호 유진 승민 은지 재현 소영 동현 혜진 성훈 다은 태윤 미경 영수 가영 시우 나래",
        "최 정 강 조 윤 장 임 한 오 서 신 권 황 안 송 류 홍 전 고 문 남궁 배 백 허",
        "",
        True,
    ),
}
SCRIPTS = tuple(_NATIVE)
# The scripts that students sign in most; the rest share what is left.
_SHARES = {"Hangul": 4, "Han": 4, "Devanagari": 3, "Arabic": 3, "Japanese": 3, "Cyrillic": 2, "Greek": 2, "Hebrew": 2}
_GIVEN_FORMS = frozenset(("first", "nick", "first_initial", "initials"))


@dataclass(frozen=True, slots=True)
class NativePerson:
    """A person whose name is written in a script other than Latin.

    script (str): One of `SCRIPTS`. given, family (str): The parts. gap (str): What stands between them.
    family_first (bool): Whether the family name comes first.
    """

    script: str
    given: str
    family: str
    gap: str
    family_first: bool

    def form(self, what: str) -> str:
        """RETURNS (str): The form of the name that a slot asks for: given name, family name, or both; there are no initials."""
        if what in _GIVEN_FORMS:
            return self.given
        if what == "last":
            return self.family
        return f"{self.family}{self.gap}{self.given}" if self.family_first else f"{self.given}{self.gap}{self.family}"


def pick_script(rng: random.Random) -> str:
    """RETURNS (str): One of `SCRIPTS`, those that students sign in most more often."""
    return rng.choices(SCRIPTS, [_SHARES.get(script, 1) for script in SCRIPTS])[0]


def native_person(rng: random.Random, script: str = "") -> NativePerson:
    """Invent a person.

    rng (random.Random): Where chance comes from. script (str): One of `SCRIPTS`; empty for any.
    RETURNS (NativePerson): The person. Chinese and Korean names are written with a space at times.
    """
    script = script or pick_script(rng)
    given, family, gap, family_first = _NATIVE[script]
    if script in ("Han", "Hangul", "Japanese") and rng.random() < 0.12:
        gap = "" if gap else " "
    return NativePerson(script, rng.choice(given.split()), rng.choice(family.split()), gap, family_first)


def native_name(rng: random.Random) -> str:
    """RETURNS (str): A full name in a script other than Latin; a given name alone at times."""
    return native_person(rng).form("first" if rng.random() < 0.2 else "full")


# Words of other scripts that are no names: words under discussion, titles, towns, dishes, greetings.

# Language -> words with what they mean, towns with their English names, titles with what they are.
_WORDS: dict[str, tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]] = {
    "Korean": (
        (("사랑", "love"), ("바람", "wind"), ("눈치", "tact"), ("정", "affection"), ("한글", "the alphabet"), ("안녕하세요", "hello")),
        (("서울", "Seoul"), ("부산", "Busan"), ("대구", "Daegu"), ("제주도", "Jeju")),
        (("기생충", "film"), ("토지", "novel"), ("아리랑", "song")),
    ),
    "Chinese": (
        (("道", "the way"), ("孝", "filial duty"), ("关系", "connections"), ("面子", "face"), ("家", "home"), ("高兴", "glad"), ("马上", "at once")),
        (("北京", "Beijing"), ("上海", "Shanghai"), ("黄山", "Huangshan"), ("张家界", "Zhangjiajie")),
        (("红楼梦", "novel"), ("论语", "book"), ("茶馆", "play"), ("活着", "novel")),
    ),
    "Japanese": (
        (("もったいない", "too good to waste"), ("改善", "steady improvement"), ("木漏れ日", "light through leaves"), ("心", "heart")),
        (("東京", "Tokyo"), ("京都", "Kyoto"), ("山口県", "Yamaguchi"), ("おおさか", "Osaka")),
        (("こころ", "novel"), ("雪国", "novel"), ("千と千尋の神隠し", "film")),
    ),
    "Arabic": (
        (("سلام", "peace"), ("كتاب", "book"), ("صبر", "patience"), ("علم", "knowledge"), ("إن شاء الله", "if God wills"), ("نور", "light")),
        (("القاهرة", "Cairo"), ("دمشق", "Damascus"), ("بغداد", "Baghdad")),
        (("ألف ليلة وليلة", "book"), ("الأيام", "book")),
    ),
    "Hebrew": (
        (("שלום", "peace"), ("חיים", "life"), ("בית", "house"), ("תיקון עולם", "repair of the world"), ("אור", "light")),
        (("ירושלים", "Jerusalem"), ("חיפה", "Haifa"), ("תל אביב", "Tel Aviv")),
        (("התקווה", "song"), ("מיכאל שלי", "novel")),
    ),
    "Russian": (
        (("тоска", "longing"), ("мир", "peace"), ("дача", "summer house"), ("Правда", "truth"), ("спасибо", "thanks"), ("Надежда", "hope")),
        (("Москва", "Moscow"), ("Казань", "Kazan"), ("Киев", "Kiev"), ("Владимир", "Vladimir")),
        (("Война и мир", "novel"), ("Обломов", "novel"), ("Чайка", "play")),
    ),
    "Greek": (
        (("λόγος", "reason"), ("ἀρετή", "virtue"), ("φιλία", "friendship"), ("Σοφία", "wisdom"), ("νόστος", "the way home")),
        (("Αθήνα", "Athens"), ("Θεσσαλονίκη", "Thessaloniki"), ("Πάτρα", "Patras")),
        (("Ὀδύσσεια", "poem"), ("Ἀντιγόνη", "play"), ("Πολιτεία", "book")),
    ),
    "Hindi": (
        (("धर्म", "duty"), ("कर्म", "deed"), ("नमस्ते", "hello"), ("जुगाड़", "a clever fix"), ("शांति", "peace"), ("आशा", "hope")),
        (("दिल्ली", "Delhi"), ("मुंबई", "Mumbai"), ("वाराणसी", "Varanasi")),
        (("गोदान", "novel"), ("रामायण", "epic"), ("शोले", "film")),
    ),
    "Bengali": (
        (("ভালোবাসা", "love"), ("মা", "mother"), ("আড্ডা", "idle talk"), ("ধন্যবাদ", "thanks")),
        (("ঢাকা", "Dhaka"), ("কলকাতা", "Kolkata")),
        (("গীতাঞ্জলি", "book"), ("পথের পাঁচালী", "film")),
    ),
    "Tamil": (
        (("அன்பு", "love"), ("வணக்கம்", "hello"), ("நன்றி", "thanks"), ("வீடு", "house")),
        (("சென்னை", "Chennai"), ("மதுரை", "Madurai")),
        (("திருக்குறள்", "book"), ("நாயகன்", "film")),
    ),
    "Thai": (
        (("สนุก", "fun"), ("ขอบคุณ", "thanks"), ("ใจ", "heart"), ("เกรงใจ", "not wanting to impose")),
        (("กรุงเทพฯ", "Bangkok"), ("เชียงใหม่", "Chiang Mai")),
        (("รามเกียรติ์", "epic"), ("สี่แผ่นดิน", "novel")),
    ),
}  # fmt: skip
_OF_WORDS = (
    "In {language} the word {word} means {meaning}.", "The {language} word {word} is hard to translate; {meaning} comes close.",
    "There is a word for it, {word} ({meaning}).", "My notebook says {word} = {meaning}.", "I learned to write {word}, \"{meaning}\", in {language}.",
    "On the wall somebody had painted {word}.", "What {language} speakers call {word} is not quite {meaning}.", "{word} means {meaning}.",
    "The sign on the door said {word}.", "The idea of {word} runs through the whole chapter.", "She had {word} tattooed on her wrist.",
    "The app shows {word} first and {meaning} after a second.", "Her concept of {meaning} (in {language}: {word}) is older than that.",
    "We compared {word} and {word2} letter by letter.", "The search for {word} gave no results.", "First we practised {word}, then {word2}.",
)  # fmt: skip
_OF_TOWNS = (
    "The train to {town} ({name}) leaves at nine.", "{name}, {town} in {language}, was cold that winter.", "The map only said {town}.",
    "We landed in {town} late at night.", "The postmark read {town}.", "The menu came from a shop in {town}.",
)  # fmt: skip
_OF_TITLES = (
    "I have read the {kind} {title} twice.", "The {kind} {title} is on the syllabus.", "Chapter 2 of {title} was hard going.",
    "We watched or read {title}, a {kind}.", "{title} is the best known {language} {kind}.", "The original title is {title}.",
)  # fmt: skip


def native_sentence(rng: random.Random) -> str:
    """RETURNS (str): An English sentence with a word, a town or a title in another script. rng (random.Random): Where chance comes from."""
    language = rng.choice(list(_WORDS))
    words, towns, titles = _WORDS[language]
    (word, meaning), (word2, _) = rng.sample(words, 2)
    town, name = rng.choice(towns)
    title, kind = rng.choice(titles)
    sentence = rng.choice(rng.choices((_OF_WORDS, _OF_TOWNS, _OF_TITLES), (6, 2, 2))[0])
    return sentence.format(
        language=language, word=word, word2=word2, meaning=meaning, town=town, name=name, title=title, kind=kind
    )


_LOOK_ALIKE = str.maketrans("aceopxyABCEHKMOPTX", "асеорхуАВСЕНКМОРТХ")
_OCR = (("rn", "m"), ("m", "rn"), ("l", "1"), ("i", "l"), ("o", "0"), ("cl", "d"), ("e", "c"))
_LEET = str.maketrans("aeiostAEIOST", "431057431057")
_DIGIT_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def _spaced(name: str, rng: random.Random) -> str:
    return rng.choice(("  ", "   ")).join(" ".join(word.upper()) for word in name.split())


def _mixed(name: str, rng: random.Random) -> str:
    words = name.split(" ")
    return " ".join([words[0].lower() if rng.random() < 0.6 else words[0], *(word.upper() for word in words[1:])])


def _alternating(name: str, rng: random.Random) -> str:
    """Letters in turn large and small, from either; each word begins with the same size at times."""
    large, anew = rng.random() < 0.5, rng.random() < 0.3
    out, turn = [], large
    for ch in name:
        out.append(ch.upper() if turn else ch.lower())
        turn = large if anew and not ch.isalpha() else turn != ch.isalpha()
    return "".join(out)


def _random_case(name: str, rng: random.Random) -> str:
    return "".join(ch.upper() if rng.random() < 0.5 else ch.lower() for ch in name)


def _everywhere(mark: str) -> Callable[[str, random.Random], str]:
    return lambda name, rng: mark.join(name)


def _torn(name: str, rng: random.Random) -> str:
    word = max(re.findall(r"[^\W\d_]+", name) or [""], key=len)
    at = len(word) // 2
    return name.replace(word, f"{word[:at]}-\n{word[at:]}", 1) if len(word) > 3 else name


def _bold(name: str, rng: random.Random) -> str:
    """Letters of mathematics, as on social media."""
    first = {True: 0x1D400, False: 0x1D41A}
    return "".join(
        chr(first[ch.isupper()] + ord(ch.lower()) - ord("a")) if ch.isascii() and ch.isalpha() else ch for ch in name
    )


def _no_accents(name: str, rng: random.Random) -> str:
    return "".join(ch for ch in unicodedata.normalize("NFD", name) if not unicodedata.combining(ch))


def _gap(mark: str) -> Callable[[str, random.Random], str]:
    return lambda name, rng: name.replace(" ", mark, 1)


def _inside(mark: str) -> Callable[[str, random.Random], str]:
    def change(name: str, rng: random.Random) -> str:
        at = rng.randint(1, max(1, len(name) - 1))
        return name[:at] + mark + name[at:]

    return change


def _full_width(name: str, rng: random.Random) -> str:
    return "".join(chr(ord(ch) + 0xFEE0) if "!" <= ch <= "~" else "\u3000" if ch == " " else ch for ch in name)


def _swap(name: str, rng: random.Random) -> str:
    at = rng.randint(1, max(1, len(name) - 3))
    pair = name[at : at + 2]
    return name[:at] + pair[::-1] + name[at + 2 :] if pair.isalpha() and pair.islower() else name


def _double(name: str, rng: random.Random) -> str:
    at = rng.randint(1, max(1, len(name) - 1))
    return name[:at] + name[at - 1] + name[at:] if name[at - 1].isalpha() and name[at - 1].islower() else name


def _ocr(name: str, rng: random.Random) -> str:
    old, new = rng.choice([pair for pair in _OCR if pair[0] in name[1:]] or [("", "")])
    return name[0] + name[1:].replace(old, new, 1) if old else name


# Kind -> change and how often, in parts of all wear. A kind that leaves a name as it is (no accent to lose) counts as none.
_NAME_WEAR: dict[str, tuple[Callable[[str, random.Random], str], int]] = {
    "upper": (lambda name, rng: name.upper(), 18),
    "lower": (lambda name, rng: name.lower(), 18),
    "mixed case": (_mixed, 8),
    "spaced": (_spaced, 5),
    "no accents": (_no_accents, 8),
    "combining": (lambda name, rng: unicodedata.normalize("NFD", name), 4),
    "newline": (_gap("\n"), 6),
    "wide gap": (_gap("  "), 6),
    "no-break space": (_gap("\u00a0"), 4),
    "glued": (_gap(""), 4),
    "underscore": (_gap("_"), 3),
    "zero width": (_inside("\u200b"), 3),
    "soft hyphen": (_inside("\u00ad"), 2),
    "full width": (_full_width, 2),
    "look-alikes": (lambda name, rng: name.translate(_LOOK_ALIKE), 2),
    "ligature": (lambda name, rng: name.replace("fi", "ﬁ").replace("fl", "ﬂ"), 3),
    "letters swapped": (_swap, 5),
    "letter doubled": (_double, 4),
    "ocr": (_ocr, 5),
    "native script": (lambda name, rng: native_name(rng), 12),
    "spaced lower": (lambda name, rng: _spaced(name, rng).lower(), 4),
    "leet": (lambda name, rng: name.translate(_LEET), 3),
    "grapheme joiner": (_inside("\u034f"), 2),
    "swapped case": (lambda name, rng: name.swapcase(), 4),
    "alternating": (_alternating, 4),
    "random case": (_random_case, 2),
    "tab": (_gap("\t"), 2),
    "thin space": (_gap("\u2009"), 2),
    "dotted": (_gap("."), 2),
    "hyphen": (_gap("-"), 2),
    "torn": (_torn, 3),
    "invisible everywhere": (_everywhere("\u200b"), 1),
    "bold letters": (_bold, 2),
}

# The changes by themselves, for whoever measures them one by one.
NAME_WEAR: dict[str, Callable[[str, random.Random], str]] = {kind: change for kind, (change, _) in _NAME_WEAR.items()}


def wear_name(name: str, rng: random.Random) -> tuple[str, str]:
    """A name as it might stand in a badly kept file.

    name (str): The name. rng (random.Random): Where chance comes from.
    RETURNS (tuple[str, str]): What stands there, and the kind of wear; the kind is empty if nothing changed.
    """
    kind = rng.choices(list(_NAME_WEAR), [share for _, share in _NAME_WEAR.values()])[0]
    worn = _NAME_WEAR[kind][0](name, rng)
    return (worn, kind) if worn != name and worn.strip() else (name, "")


def _spell_email(value: str, rng: random.Random) -> str:
    at = rng.choice((" at ", " [at] ", "(at)", " AT ", " @ "))
    dot = rng.choice((" dot ", " (dot) ", "[dot]", " DOT ")) if at != " @ " else " . "
    local, _, domain = value.partition("@")
    if rng.random() < 0.5:
        local = local.replace(".", dot)
    return local + at + domain.replace(".", dot)


def _spell_digits(value: str, rng: random.Random) -> str:
    return " ".join(_DIGIT_WORDS[int(ch)] for ch in value if ch.isascii() and ch.isdigit())


def wear_detail(value: str, label: str, rng: random.Random) -> tuple[str, str]:
    """A detail written so that a machine shall not find it, or with stray spaces.

    value (str): The detail. label (str): Its label. rng (random.Random): Where chance comes from.
    RETURNS (tuple[str, str]): What stands there, and the kind of wear; the kind is empty if nothing changed.
    """
    if label == EMAIL and "@" in value:
        return (_spell_email(value, rng), "spelt out") if rng.random() < 0.6 else (value.replace("@", " @ "), "spaced")
    if label == PHONE_NUM:
        if rng.random() < 0.3:
            return _spell_digits(value, rng), "spelt out"
        return " ".join(re.findall(r"\d", value)), "spaced"
    if label == ID_NUM and value.isalnum() and len(value) > 5:
        return f"{value[:3]} {value[3:]}", "spaced"
    if label == URL_PERSONAL and "." in value and "\n" not in value:
        return value.replace(".", ". ", 1) if rng.random() < 0.5 else value.replace("/", " / ", 1), "spaced"
    return value, ""


def wear(value: str, label: str, rng: random.Random) -> tuple[str, str]:
    """RETURNS (tuple[str, str]): `wear_name` or `wear_detail`, by the label."""
    return wear_name(value, rng) if is_name(label) else wear_detail(value, label, rng)


# How a whole text wears its names: all of them between markers, in a script of their own, letter by letter, in one case.

NATIVE, MARKS = "native script", "marks"
# How a text wears its names, in parts of all habits; "any" is one of all kinds of wear.
_HABITS = {
    MARKS: 30, NATIVE: 26, "upper": 9, "lower": 10, "mixed case": 3, "swapped case": 3, "alternating": 4, "spaced": 5, "spaced lower": 3,
    "any": 14,
}  # fmt: skip
# What is set before and after a name; none says whose it is.
MARK_PAIRS = (
    ("@@", "##"), ("@@", "@@"), ("##", "##"), ("@", "@"), ("**", "**"), ("*", "*"), ("***", "***"), ("_", "_"), ("__", "__"),
    ("[", "]"), ("[[", "]]"), ("(", ")"), ("((", "))"), ("<", ">"), ("<<", ">>"), ("{", "}"), ("{{", "}}"), ("|", "|"), ("| ", " |"),
    ("~", "~"), ("~~", "~~"), ('"~', '~"'), ('"', '"'), ("“", "”"), ("'", "'"), ("‘", "’"), ("«", "»"), ("‹", "›"), ("„", "“"),
    ("`", "`"), ("=", "="), ("==", "=="), ("$", "$"), ("%", "%"), ("+", "+"), ("^", "^"), ("#", "#"), ("#", ""), ("§", "§"),
    ("【", "】"), ("「", "」"), ("<b>", "</b>"), ("<i>", "</i>"), ("<u>", "</u>"), ("<em>", "</em>"), ("<name>", "</name>"),
    ("<person>", "</person>"), ("<mark>", "</mark>"), ("<q>", "</q>"), ("[NAME] ", ""), ("[NAME]", "[/NAME]"), ("<NAME>", "</NAME>"),
    ("\\textbf{", "}"), ("1.", ""), ("- ", ""), ("-", "-"), ("--", "--"), ("—", "—"), ("• ", ""), ("/", "/"), ("\\", "\\"),
    ("...", "..."), (":", ":"), ("*", ""), ("> ", ""), ("🌸", "🌸"), ("⭐ ", " ⭐"), ("\u200f", "\u200f"), ("\u200b", "\u200b"),
)  # fmt: skip
_ALWAYS = 0.9  # share of the names that follow the text's habit
_WORD = re.compile(r"(?<![\w@/.-])[a-z]{3,12}(?: [a-z]{3,12})?(?![\w@/-])")


@dataclass(frozen=True, slots=True)
class Worn:
    """What stands in the place of a name or detail.

    before (str), after (str): Beside the span. text (str): The span. kind (str): Of the wear; empty if there is none.
    """

    before: str
    text: str
    after: str
    kind: str = ""


class Wardrobe:
    """Wear on the names and details of one text.

    rng (random.Random): Where chance comes from. worn (float): Share of the mentions that are worn by themselves, 0 to 1.
    habit (float): Probability that the text has a habit, 0 to 1.
    """

    def __init__(self, rng: random.Random, *, worn: float = 0.0, habit: float = 0.0) -> None:
        self.rng = rng
        self.worn = worn
        self.habit = ""
        if habit and rng.random() < habit:
            self.habit = rng.choices(list(_HABITS), list(_HABITS.values()))[0]
            if self.habit == "any":
                self.habit = rng.choice([kind for kind in NAME_WEAR if kind != NATIVE])
        self.marks = rng.choice(MARK_PAIRS) if self.habit == MARKS else ("", "")
        # Friends who write to each other share a script; in a course they do not.
        self.script = pick_script(rng) if self.habit == NATIVE and rng.random() < 0.6 else ""
        self.natives: dict[str, NativePerson] = {}

    def wear(self, value: str, slot: Slot) -> Worn:
        """Dress one mention.

        value (str): What fills the slot. slot (Slot): Says who and in which form.
        RETURNS (Worn): With the habit of the text, or with wear of its own, or as it is.
        """
        if is_name(slot.label):
            if self.habit and self.rng.random() < _ALWAYS:
                return self._by_kind(value, slot, self.habit)
            if self.worn and self.rng.random() < self.worn:
                if self.rng.random() < 0.2:
                    return self._by_kind(value, slot, MARKS)
                text, kind = wear(value, slot.label, self.rng)
                return self._by_kind(value, slot, NATIVE) if kind == NATIVE else Worn("", text, "", kind)
        elif self.worn and self.rng.random() < self.worn:
            text, kind = wear(value, slot.label, self.rng)
            return Worn("", text, "", kind)
        return Worn("", value, "")

    def _by_kind(self, value: str, slot: Slot, kind: str) -> Worn:
        if kind == MARKS:
            before, after = self.marks if self.habit == MARKS else self.rng.choice(MARK_PAIRS)
            return Worn(before, value, after, kind)
        text = self._native(value, slot) if kind == NATIVE else NAME_WEAR[kind](value, self.rng)
        return Worn("", text, "", kind) if text.strip() and text != value else Worn("", value, "")

    def _native(self, value: str, slot: Slot) -> str:
        """The name of the same person in a script of its own, the same one throughout the text."""
        who, what = slot.who, slot.what
        if what == "literal":
            words = value.split()
            who, what = words[-1].lower(), "full" if len(words) > 1 else "last"
        if who not in self.natives:
            self.natives[who] = native_person(self.rng, self.script)
        return self.natives[who].form(what)

    def wear_prose(self, piece: str) -> str:
        """Ordinary words worn as the names of the text are, and words of other languages that are no names.

        piece (str): Text between spans.
        RETURNS (str): The piece, mostly as it is.
        """
        if self.habit == NATIVE:
            return _set_in(piece, native_sentence(self.rng), self.rng) if self.rng.random() < 0.12 else piece
        if not self.habit or len(piece) < 60 or self.rng.random() > 0.45:
            return piece
        places = list(_WORD.finditer(piece))
        for match in sorted(self.rng.sample(places, min(len(places), self.rng.randint(1, 2))), key=lambda m: -m.start()):
            piece = piece[: match.start()] + self._worn_word(match.group()) + piece[match.end() :]
        return piece

    def _worn_word(self, words: str) -> str:
        shown = self.rng.choice((words, words, words.title(), words.capitalize()))
        if self.habit == MARKS:
            return f"{self.marks[0]}{shown}{self.marks[1]}"
        return NAME_WEAR[self.habit](shown, self.rng)


def _set_in(piece: str, sentence: str, rng: random.Random) -> str:
    """A sentence set into prose, after one of its sentences; the prose as it is where it has no end of one."""
    stops = [match.end() for match in re.finditer(r"[a-z][.!?](?=\s+[A-Z])", piece)]
    if not stops:
        return piece
    at = rng.choice(stops)
    return f"{piece[:at]} {sentence}{piece[at:]}"
