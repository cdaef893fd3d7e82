"""Names in the scripts that they come from: given names, family names, what stands between, and which comes first.

A student may sign an English essay in Greek or Korean letters. No table that ships holds such names, and no e-mail is built from them; they
are set in for training as wear is (`wear.wear_name`).
"""

import random

# Script -> given names, family names, what stands between them, whether the family name comes first.
_NATIVE: dict[str, tuple[tuple[str, ...], tuple[str, ...], str, bool]] = {
    "Arabic": (
        ("فاطمة", "يوسف", "مريم", "خالد", "سارة", "عمر", "زينب", "طارق", "هدى", "كريم", "أمل", "سامي"),
        ("المصري", "الخطيب", "حداد", "النجار", "سليمان", "منصور", "الشريف", "عباس", "قاسم", "درويش"),
        " ",
        False,
    ),
    "Hebrew": (
        ("יעל", "דניאל", "תמר", "איתן", "שירה", "אורי", "מיכל", "גיא", "רות", "עומר"),
        ("כהן", "מזרחי", "פרידמן", "ביטון", "אברהם", "שפירא", "דהן", "אזולאי", "רוזן", "גולן"),
        " ",
        False,
    ),
    "Cyrillic": (
        ("Мария", "Дмитрий", "Ольга", "Иван", "Татьяна", "Сергей", "Олена", "Петро", "Милица", "Стоян", "Юлия", "Артём"),
        (
            "Соколова",
            "Кузнецов",
            "Шевченко",
            "Петровић",
            "Димитров",
            "Лебедева",
            "Морозов",
            "Бондаренко",
            "Јовановић",
            "Зайцева",
        ),
        " ",
        False,
    ),
    "Greek": (
        ("Μαρία", "Γιώργος", "Αικατερίνη", "Δημήτρης", "Σοφία", "Νίκος", "Ιωάννα", "Κώστας", "Χρυσούλα", "Παναγιώτης"),
        ("Παπαδάκης", "Νικολάου", "Γεωργίου", "Αντωνίου", "Βασιλείου", "Οικονόμου", "Μακρής", "Χατζής", "Δημητρίου", "Λάμπρου"),
        " ",
        False,
    ),
    "Devanagari": (
        ("अनिता", "राहुल", "सुनीता", "विकास", "पूजा", "अमित", "मीरा", "संजय", "कविता", "रोहन"),
        ("वर्मा", "गुप्ता", "मिश्रा", "यादव", "पाटिल", "जोशी", "चौहान", "देशमुख", "ठाकुर", "मेहता"),
        " ",
        False,
    ),
    "Bengali": (
        ("রহিম", "সুমাইয়া", "অর্পিতা", "তানভীর", "নাসরিন", "শুভ"),
        ("হোসেন", "চৌধুরী", "দাস", "সরকার", "আক্তার", "রায়"),
        " ",
        False,
    ),
    "Thai": (("สมชาย", "กานดา", "ณัฐพล", "มาลี", "ปิยะ"), ("ใจดี", "ศรีสุข", "วงศ์ไทย", "ทองคำ", "แสงจันทร์"), " ", False),
    "Han": (
        ("芳", "娜", "敏", "建国", "秀英", "磊", "晓东", "雪梅", "志强", "丽华", "宇轩", "婷婷"),
        ("王", "张", "刘", "陈", "杨", "黄", "赵", "周", "吴", "徐", "孙", "欧阳"),
        "",
        True,
    ),
    "Japanese": (
        ("翔太", "美咲", "健一", "愛", "ひなた", "大輔", "由美", "まこと", "里奈", "直樹"),
        ("佐藤", "高橋", "渡辺", "山本", "小林", "加藤", "吉田", "山口", "松本", "斎藤"),
        " ",
        True,
    ),
    "Hangul": (
        ("서연", "민준", "지우", "현우", "수빈", "예은", "도윤", "하은", "준호", "유진"),
        ("이", "박", "최", "정", "강", "조", "윤", "장", "임", "한"),
        "",
        True,
    ),
}


def native_name(rng: random.Random) -> str:
    """RETURNS (str): A full name in a script other than Latin; a given name alone at times."""
    given, family, gap, family_first = _NATIVE[rng.choice(list(_NATIVE))]
    first, last = rng.choice(given), rng.choice(family)
    if gap and rng.random() < 0.2:
        return first
    return f"{last}{gap}{first}" if family_first else f"{first}{gap}{last}"
