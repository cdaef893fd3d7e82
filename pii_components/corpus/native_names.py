"""Names in the scripts that they come from: given names, family names, what stands between, and which comes first.

    person = native_person(random.Random(4), "Hangul")
    person.form("full"), person.form("first"), person.form("last")      # ("윤도윤", "도윤", "윤")

A student may sign an English essay in Greek or Korean letters, and may name a friend or an author so. No table that ships holds such
names, and no e-mail is built from them; they are set in for training as wear is (`habits.Wardrobe`).
"""

import random
from dataclasses import dataclass

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
