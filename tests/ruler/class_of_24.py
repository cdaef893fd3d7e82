"""An invented class of 24 and two short texts of each: [[...]] is planted and must go, {{...}} is cited or public and stays."""

import re

HEADER = ["First name", "Last name", "Preferred name", "E-mail", "Student ID", "User name"]
_NAMES = """Jane Beatrice|Lefmo Will|Tarrowby Hope|Adeyink Grace|Öztelen Sunny|Bhattarov Luke|Zorbeck Dana|Morrison José|Ñandrill
Anne-Marie|de la Corte Jonathan|Quimbarrow Xiulan|Fengou Chidinma|Okafemi Mia|Lindqvarn Tobias|Reedmar Elizabeth|Varnholt Siobhán|O'Darragh
Mohammed|Al-Tarsi Priya|Chandrovar Mark|Ellingsore Rose|Petrakova Kofi|Amansar Joy|Wintermoor Zoë|Kraulich Benjamin|Toomsley"""
_PREFERRED = {"Jonathan": "Jonty", "Elizabeth": "Liz", "Xiulan": "Lulu", "Benjamin": "Ben"}
_PLAIN = str.maketrans("éáëÖÑñö", "eaeONno")


def _rows() -> list[list[str]]:
    rows = []
    for n, name in enumerate(re.findall(r"([^|\s][^|]*)\|([^|]+?)(?=\s+\S+\||\s+Jane|\s+Anne|\Z)", _NAMES)):
        given, family = (" ".join(part.split()) for part in name)
        plain = re.sub(r"[^a-z]", "", family.translate(_PLAIN).lower())
        letters = "".join(word[0] for word in given.translate(_PLAIN).split()).lower()
        mail = f"{plain[:4]}{n + 11}@stu.example.edu"
        rows.append([given, family, _PREFERRED.get(given, ""), mail, f"{20418037 + 7919 * n}", f"{letters}.{plain}"])
    return rows


ROWS = _rows()


class _Person:
    """The forms of a student's name, each marked as planted."""

    def __init__(self, row: list[str]) -> None:
        given, family, preferred, mail, number, user = row
        first, plain = given.split()[0], f"{given.split()[0]} {family}".translate(_PLAIN)
        at = family.rfind(" ") + 3
        forms = {
            "full": f"{first} {family}", "first": first, "last": family, "upper": plain.upper(), "number": number, "mail": mail, "user": user,
            "nick": preferred or first, "initials": f"{first[0]}{family.split()[-1].strip(chr(39))[0]}".translate(_PLAIN),
            "wide": "".join(chr(ord(c) + 0xFEE0) if c.isascii() and c.isalpha() else c for c in plain),
            "turned": f"{family}, {first[0]}.", "glued": re.sub(r"\W", "", plain).lower(), "dotted": f"{first[0]}. {family}",
            "slip": f"{first} {family[:at]}{family[at + 1]}{family[at]}{family[at + 2 :]}", "lower": plain.lower(), "at": f"@{user}",
        }  # fmt: skip
        self.__dict__.update((name, f"[[{form}]]") for name, form in forms.items())


_CITED = """Piaget (1952)|Vygotsky (1978)|Toni Morrison|Grace Hopper|Luke Skywalker|Will Smith|Rosa Parks|Mark Twain|Hope Solo|Buzan (2006)
Rose Tremain|Morrison (1987)|Varnholt and Quill (2009)|Joy Harjo|Benjamin Franklin|Maria Montessori|Dewey (1916)|Jane Austen|Elizabeth Bishop
Lindqvarn (2011)|Kant|Immanuel Kant|Freire (1970)|Darwin""".replace("\n", "|").split("|")
_TEXTS = r"""
{me.full}\nStudent no. {me.number}\n\nReading\n\nI read {c1} in one night. My classmate {you.first} said so. Later {you.first} agreed, as {c2} would.
By {me.upper}\n\nThe will to learn is a hope, says {c1}. I sat with {you.nick} and we talked about {c2} for an hour.\n\n{me.initials}
{me.last} 2\n\nMaps show what lists hide. {c1} drew one in a week. I asked {you.first} for help, and {third.full} too; both knew {c2}.
{me.user} replied:\nI agree with {you.first}. {c1} shows why.\n\n{you.user} wrote:\nThanks {me.first}! And {c2} too.
Group: {me.turned}; {you.slip}; {third.wide}\n\nOur work began with {c1}. We then read {c2} in class and drew a map of the harbour.
Hi {you.first},\n\nI liked your post on {c1}. It made me think of grace and of hope. What did {c2} mean by it?\n\nBest,\n{me.first}
{me.wide}\n\n{c1} is quoted by all. Then {you.first}'s answer came, and {third.dotted} added a page about {c2}.
File: {me.glued}.docx\n\nLast spring {you.first} and I built a boat. It was sunny. We had read {c1} and {c2} before that.\n\n{me.mail}
{me.initials}: hello all\n{you.initials}: hi, did you read {c1}?\n{me.initials}: yes, and {c2} as well, it was fine\n{you.initials}: me too
{me.slip}\n\nMy partner was {you.first}, and {third.at} sent the photos. {c1} helped us a lot; so did {c2}.
i worked with {you.lower} on this, we both like {c1} and the film about {c2}.\n\n{me.dotted}
{me.first}'s notebook\n\nThe week was long. When {you.first} came, we read {c1}. I told {third.nick} about {c2}, and all.""".strip().split("\n")


def texts() -> list[tuple[str, list[tuple[int, int]], list[tuple[int, int]]]]:
    """RETURNS (list): 48 texts, each with characters of what is planted, and of what is cited, end exclusive."""
    people, made = list(map(_Person, ROWS)), []
    for n in range(48):
        cited = [re.sub(r"^([^(]+?)( \(.*)?$", r"{{\1}}\2", _CITED[(at * n + 5 * at) % len(_CITED)]) for at in (1, 7)]
        said = {"me": people[n % 24], "you": people[(n + 5) % 24], "third": people[(n + 11) % 24], "c1": cited[0], "c2": cited[1]}
        marked = _TEXTS[(n + n // 24) % len(_TEXTS)].replace("\\n", "\n").format(**said)
        made.append(_unmarked(marked))
    return made


def _unmarked(marked: str) -> tuple[str, list[tuple[int, int]], list[tuple[int, int]]]:
    text, planted, cited, at = "", [], [], 0
    for match in re.finditer(r"\[\[(.+?)\]\]|\{\{(.+?)\}\}", marked):
        text += marked[at : match.start()]
        (planted if match[1] else cited).append((len(text), len(text) + len(match[1] or match[2])))
        text, at = text + (match[1] or match[2]), match.end()
    return text + marked[at:], planted, cited
