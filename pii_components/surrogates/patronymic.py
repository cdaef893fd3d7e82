"""Patronymics: the name after a father's, between given name and surname. "Ivan Petrovich Sidorov" -> "Boris Antonovich Orlov".

>>> from pii_components.surrogates.patronymic import patronymic, patronymic_gender
>>> patronymic_gender("petrovna"), patronymic("Sergei", "F"), patronymic("Anton", "M"), patronymic("Nikita", "M")
('F', 'Sergeevna', 'Antonovich', None)
"""

import re

_ENDING = re.compile(r"[^\W\d_]{3,}(?:ov|ev)(?:ich|na)|(?:nikit|il|fom|luk|kuzm)(?:ich|yich|ichna|inichna|yinichna)")
_VOWELS = "aeiouy"


def patronymic_gender(word: str) -> str:
    """RETURNS (str): "M" or "F" for a patronymic, the empty string for any other word. word (str): Folded."""
    if not word.endswith(("ich", "na")) or _ENDING.fullmatch(word) is None:
        return ""
    return "M" if word.endswith("ich") else "F"


def patronymic(father: str, gender: str) -> str | None:
    """The patronymic after a father.

    father (str): His name. gender (str): "M" or "F", the child's.
    RETURNS (str | None): None for names that make irregular ones.
    """
    ending = {"M": "ich", "F": "na"}[gender]
    low = father.lower()
    if not low.isascii() or len(low) < 3:
        return None
    if low.endswith(("ei", "ey", "ai", "ay")):
        return father[:-1] + "ev" + ending
    if low.endswith(("iy", "ii")):
        return father[:-2] + "iev" + ending
    return father + "ov" + ending if low[-1] not in _VOWELS else None
