"""Build the compact name table that ships in `pii_components/resources/names/`.

    python scripts/build_name_table.py [--out pii_components/resources/names]

Needs names-dataset 3.3.1 (the `train` extra) and spacy-lookups-data; takes about a minute and 3 GB. What is written: frequent given names and
surnames with the gender (given names), up to three countries, a frequency class and a mark for those that are good surrogates. No
count and no full name of anybody. Deterministic: the same packages give the same bytes.
"""

import argparse
import gzip
import json
import pickle
import re
import sys
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pii_components.surrogates.names import REGION_OF, TableRow, fold, write_table  # noqa: E402

MAX_GIVEN, MAX_SURNAMES = 60_000, 70_000
# A name counts as known when it is among the first so many of some country; as a surrogate when among fewer.
KNOWN_RANK, SAMPLE_RANK = 2_500, 900
# Leaked counts of these countries are small: deep ranks would be single people.
SMALL = {"SV", "KH", "BF", "HN", "FJ", "KR", "ET", "DJ", "BI", "HT", "IS", "MT", "BN", "LU", "MV", "MO", "BH", "TM", "CY", "MU", "NA", "GE"}
# Countries where people of many origins live say less about the origin of a name; Indonesia and the Philippines are short in the source,
# and their people abroad count as at home in Hong Kong or Taiwan.
IMMIGRATION = {"ID": 3.0, "PH": 3.0, "HK": 0.6, "TW": 0.7, "MO": 0.5, "MU": 0.6, "MV": 0.6,
               "US": 0.45, "CA": 0.45, "GB": 0.7, "FR": 0.75, "DE": 0.8, "IT": 0.7, "NL": 0.8, "BE": 0.8, "AT": 0.8, "CH": 0.8, "SE": 0.8,
               "NO": 0.8, "AE": 0.3, "QA": 0.3, "KW": 0.4, "OM": 0.4, "BH": 0.4, "SA": 0.5, "ES": 0.8, "MY": 0.7, "SG": 0.8, "ZA": 0.8}  # fmt: skip
LATIN = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
PARTICLES = {"de", "la", "del", "los", "las", "da", "do", "dos", "das", "di", "van", "von", "der", "den", "ter", "al", "el", "bin", "ben", "ibn", "st", "le"}
JUNK = {
    "dr", "mr", "mrs", "ms", "miss", "sir", "prof", "jr", "sr", "md", "mohd", "moh", "muh", "phd", "iii", "iv", "the", "and", "facebook",
    "admin", "official", "page", "shop", "store", "love", "lover", "user", "test", "name", "surname", "none", "null", "anonymous",
    "unknown", "abc", "xyz", "xxx", "qwerty", "asdf", "junior", "senior", "mama", "papa", "baba", "baby", "king", "queen", "boss",
    "prince", "princess", "angel", "god", "allah", "jesus", "jehovah", "buddha", "hitler", "adolf", "stalin", "osama", "saddam", "gaddafi", "putin", "trump", "obama",
    "messi", "ronaldo", "neymar", "beckham", "anime", "naruto", "goku", "joker", "batman", "superman", "gamer", "gaming",
    "university", "school", "college", "hotel", "hospital", "city", "club", "team", "group", "music", "studio", "photo", "online",
}  # fmt: skip
RUDE = re.compile(
    r"fuck|shit|cunt|dick|cock|penis|vagin|porn|sex|slut|whore|bitch|bastard|pussy|fag|nigg|rape|nazi|puta|puto|mierda|merde|pute$|"
    r"pendej|cabron|kurwa|anus|^anal|boob|^tit[sz]?$|suck|^wank|^ass$|^arse|kill|death|devil|satan|^porco|^coño|^joda|^fanny$|^gay|^homo$|"
    r"^phuc|^phuk|^dong$|^wang$|^dung$|^bum|^poo|^pee$|^hoe|^ho$|^lund$|^gand|^randi$|^chut|^fuk|^fuck|^kaka$|^caca$|^negro$",
)
# Vietnam, Thailand, Pakistan and East Africa are absent or short in the source, Korean and Irish names badly split; here the frequent
# ones, from general knowledge.
EXTRA_GIVEN = {
    ("VN", "F"): "Ai An Bich Bao Cam Chau Chi Cuc Dao Diem Diep Dieu Dung Duyen Gam Giang Ha Han Hang Hanh Hau Hien Hoa Hoai Hong Hue Huong "
    "Huyen Khuyen Kieu Lan Lien Linh Loan Ly Mai Minh My Nga Ngan Nghi Ngoc Nguyet Nhan Nhi Nhung Nhu Oanh Phuong Quyen Quynh Tham Thao "
    "Thanh Thoa Thu Thuong Thuy Thuan Tien Tram Trang Trinh Truc Tuyen Tuyet Uyen Vy Xuan Yen",
    ("VN", "M"): "Bach Bang Binh Cuong Cong Chien Danh Dat Dien Doan Duc Duy Gia Hai Hieu Hoan Hoang Hung Huy Khai Khanh Khiem Khoa Khoi "
    "Kiet Kien Lam Loc Luan Luc Manh Nghia Nhat Ninh Phat Phong Phu Phuoc Quan Quang Quoc Quy Sang Tai Tam Tan Thai Thang Thien Thinh Tho "
    "Thong Tin Toan Triet Trong Trung Truong Tuan Tung Viet Vinh Vuong",
    ("TH", "F"): "Achara Anchali Anong Apinya Aranya Araya Areeya Benjawan Boonsri Busaba Chailai Chalita Chanida Chariya Chutima Darunee "
    "Duangjai Hathai Jariya Jintana Kamala Kannika Kanya Kulap Lawan Malai Malee Manee Mayuree Nanthida Natcha Natthida Ngamjit Nisa Orapin "
    "Patcharin Pensri Phailin Pornthip Praphai Ratana Saowanee Sirikit Siriporn Somjai Sudarat Sukanya Sunisa Supaporn Suphansa Sureeporn "
    "Thanyarat Wanida Waraporn Wilawan Wipa Yaowalak",
    ("TH", "M"): "Adisak Anan Anurak Apichat Arthit Athit Boonmee Chakrit Chanchai Chatchai Chaiwat Decha Itthipol Jakkrit Kasem Kiattisak "
    "Kittisak Kriangsak Manop Narong Nattapong Nattawut Niran Nopparat Pakorn Panupong Parinya Phichit Phongsak Pongsakorn Prasert Prayut "
    "Preecha Rachata Sakchai Sarawut Sirichai Somchai Somkiat Sompong Sunthorn Supachai Surasak Suriya Tanawat Thanakorn Thanawat Thawatchai "
    "Veerapong Wanchai Wichai Winai Wirat Yongyut",
    ("KR", "F"): "Ae-ri Bo-ra Bo-young Chae-won Da-eun Eun-bi Eun-ji Eun-jung Eun-kyung Ga-young Ha-eun Ha-na Ha-yoon Hae-won Hee-jin "
    "Hye-in Hye-jin Hye-kyung Hye-rim Hye-won Hyun-ah Hyun-joo Ji-a Ji-eun Ji-hye Ji-min Ji-soo Ji-won Ji-yeon Ji-yoon Jin-ah Joo-hee "
    "Kyung-mi Mi-kyung Mi-rae Mi-sook Min-ji Min-seo Na-ra Na-young Sae-rom Seo-yeon Seo-yoon Seul-gi So-hee So-ra So-young Soo-ah Soo-jin "
    "Soo-min Su-bin Sun-hee Ye-eun Ye-jin Yeon-joo Yoo-jin Yoo-na Young-hee Yu-ri Yun-ah",
    ("KR", "M"): "Byung-ho Chang-min Chul-soo Dae-hyun Dae-jung Do-hyun Do-yoon Dong-hyun Dong-wook Dong-woo Eun-ho Gun-woo Gyu-ri Ha-joon "
    "Hyun-jin Hyun-soo Hyun-woo In-ho Jae-hoon Jae-hyun Jae-min Jae-sung Jae-won Ji-ho Ji-hoon Ji-hun Jin-ho Jin-woo Jong-hyun Jong-min "
    "Joo-won Joon-ho Joon-young Jun-seo Jung-ho Ki-hoon Kwang-soo Kyung-ho Kyung-soo Min-ho Min-jae Min-jun Min-kyu Min-woo Sang-hoon "
    "Sang-woo Seo-jun Seung-ho Seung-hyun Seung-min Si-woo Sung-ho Sung-hoon Sung-jin Sung-min Tae-hyun Tae-woo Tae-yang Won-jun Woo-jin "
    "Yong-ho Young-ho Young-jae Young-min Yun-ho",
    ("PK", "F"): "Aqsa Ayesha Bisma Faiza Farah Farzana Hafsa Hina Humaira Iqra Javeria Kainat Kiran Komal Laiba Lubna Mahnoor Maira Mehwish "
    "Misbah Momina Nabila Naila Nimra Noreen Rabia Rida Rukhsana Saba Sadaf Sadia Saima Samina Sehrish Shazia Sidra Sobia Sumaira Tahira "
    "Uzma Zahra Zoya Zunaira",
    ("PK", "M"): "Aamir Adeel Adnan Aftab Arslan Asad Asif Atif Babar Bilal Danish Ehsan Faisal Farhan Fawad Haris Haroon Hassaan Imran Irfan "
    "Junaid Kamran Kashif Khurram Mubashir Nadeem Naveed Noman Qasim Rizwan Saad Salman Shahbaz Shahzad Shoaib Tanveer Tariq Umair Umar "
    "Usman Waqar Waqas Yasir Zahid Zeeshan",
    ("EA", "F"): "Abeba Achieng Adhiambo Akello Akinyi Almaz Amina Anyango Aster Atieno Ayana Aynalem Bethlehem Birtukan Chebet Chepkemoi "
    "Desta Eyerusalem Fatuma Genet Hiwot Hirut Kagendo Kanini Kerubo Konjit Lemlem Lulit Makeda Meaza Mekdes Moraa Mumbi Mwende Nafula "
    "Nakato Nasimiyu Nduta Nekesa Njeri Njoki Nyambura Rahel Saba Selamawit Senait Tigist Tsehay Wairimu Wambui Wangari Wanjiku Worknesh "
    "Yeshi Zawadi Zewditu",
    ("EA", "M"): "Abebe Abel Addisu Alemayehu Ashenafi Baraka Barasa Bekele Berhanu Biruk Cheruiyot Daudi Dawit Dereje Ermias Eyob Fikru Gathogo "
    "Getachew Girma Habtamu Haile Juma Kamau Kebede Kelbessa Kibet Kimani Kipchoge Kipkorir Kiprono Kiprotich Kiptoo Koech Makori Mekonnen "
    "Mesfin Mulugeta Mutua Mutiso Mwangi Ndungu Njoroge Nyaga Ochieng Odhiambo Okello Omondi Otieno Samson Tadesse Tamrat Tesfaye Wafula "
    "Wekesa Wondwossen Yared Yohannes Zelalem",
}  # fmt: skip
COUNTRY = {"EA": "ET"}
EXTRA_SURNAMES = {
    "VN": "Nguyen Tran Le Pham Huynh Hoang Phan Vu Vo Dang Bui Do Ngo Duong Ly Dinh Trinh Truong Mai Dao Doan Lam Luong Luu Quach Thai Tang Ta "
    "Cao Chau Dam Danh Diep Giang Ha Ho Khuat Khuu Kieu Lac La Lieu Luc Mac Nghiem Ong Phung Quan Thach To Ton Tong Trieu Tu Ung Van Vuong Vuu",
    "TH": "Saetang Saelim Chaiyasit Boonmee Srisai Suwan Thongchai Rattanakul Wongsakul Kittikul Somboon Phromma Chantara",
    "KR": "Kim Park Choi Jung Jeong Kang Cho Yoon Jang Lim Han Shin Seo Kwon Hwang Ahn Hong Ryu Bae Baek Heo Nam Noh Joo Koo Moon Byun Cha "
    "Chae Chu Do Eom Gil Hyun Im Jin Kwak Ma Oh Paik Pyo Sim Seok Seong Tak Uhm Um Woo Yim Yoo Yu Gong Gwak Ham Bang",
    "PK": "Khan Chaudhry Butt Qureshi Malik Mughal Awan Rajput Bhatti Khokhar Mirza Siddiqui Abbasi Cheema Niazi Baloch Gondal Afridi Ansari "
    "Arain Bukhari Chohan Dar Durrani Farooqi Gilani Gujjar Hashmi Jatoi Kiani Lodhi Mehmood Memon Naqvi Paracha Rizvi Sheikh Soomro Wattoo Zaidi",
    "GB": "O'Brien O'Callaghan O'Connor O'Donnell O'Donoghue O'Dowd O'Farrell O'Grady O'Hara O'Keeffe O'Leary O'Mahony O'Malley O'Neill O'Reilly "
    "O'Rourke O'Shea O'Sullivan O'Toole",
    "DE": "Müller Schäfer Schröder Jäger Köhler Krüger Böhm Günther Möller Schütz Krämer Kühn",
    "IN": "D'Souza D'Costa D'Mello D'Silva",
}


def common_words(path: Path) -> set[str]:
    """RETURNS (set[str]): Folded words that English writes in lower case about as often as with a capital: "will", "rose", "grace"."""
    probs: dict[str, float] = json.loads(gzip.decompress(path.read_bytes()))
    words = set()
    for word, prob in probs.items():
        if word.isalpha() and word.islower() and prob > -16.5 and prob > probs.get(word.title(), -25.0) - 1.5:
            words.add(fold(word))
    return words


def place_names() -> set[str]:
    """RETURNS (set[str]): Folded names of countries: nobody should be called India by us."""
    import pycountry

    return {fold(w) for c in pycountry.countries for w in re.findall(r"\w+", c.name)}


def display(name: str) -> str | None:
    """The form in which a name is shown: O'Brien, McDonald; the source writes O'brien and Mcdonald.

    name (str): As in the source.
    RETURNS (str | None): None if it is no name in Latin letters, of one word (with particles before it, for surnames).
    """
    name = unicodedata.normalize("NFC", name).replace("’", "'").replace("`", "'")
    words = name.split(" ")
    if any(fold(w) not in PARTICLES for w in words[:-1]) or not LATIN.fullmatch(words[-1]) or not 2 <= len(words[-1]) <= 14:
        return None
    if any("LATIN" not in unicodedata.name(ch, "") for ch in words[-1] if ch.isalpha()):
        return None
    if re.search(r"(.)\1\1", fold(name)) or not re.search(r"[aeiouy]", fold(words[-1])) or (name.isupper() and len(name) > 2):
        return None
    last = "-".join(w[:1].upper() + w[1:].lower() for w in words[-1].split("-"))
    last = re.sub(r"^(O|D|L|Dell|Dall)'(\w)", lambda m: m[1] + "'" + m[2].upper(), last)
    last = re.sub(r"^Mc([a-z])(?=[a-z]{2})", lambda m: "Mc" + m[1].upper(), last)
    return " ".join([*(w.capitalize() for w in words[:-1]), last])


def best_rank(ranks: dict[str, int | None]) -> int:
    """RETURNS (int): The best place of a name in any country, with small countries counted as three times deeper."""
    return min((r * (3 if c in SMALL else 1) for c, r in ranks.items() if r), default=10**9)


def origin(entry: dict[str, Any]) -> tuple[str, ...]:
    """Up to three countries that a name comes from: two of its main region, one of the second if that is not far behind.

    entry (dict): Shares and ranks per country.
    RETURNS (tuple[str, ...]): Country codes, the best first.
    """
    ranks = entry["rank"]
    shares = {}
    for country, share in entry["country"].items():
        if country in REGION_OF:
            rank = ranks.get(country) or 20_000
            shares[country] = share * IMMIGRATION.get(country, 1.0) * (1.0 + 2.0 / (1.0 + (rank / 150.0)))
    regions: dict[str, float] = {}
    for country, share in shares.items():
        regions[REGION_OF[country]] = regions.get(REGION_OF[country], 0.0) + share
    order = sorted(regions, key=lambda r: (-regions[r], r))
    if not order:
        return ()
    total = sum(regions.values())
    ranked = sorted(shares, key=lambda c: (-shares[c], c))
    first = [c for c in ranked if REGION_OF[c] == order[0]][:2]
    if len(order) > 1 and regions[order[1]] / total >= 0.3 and regions[order[1]] > 0.5 * regions[order[0]]:
        first = first[:1] + [c for c in ranked if REGION_OF[c] == order[1]][:1]
    return tuple(first)


def collect(
    entries: dict[str, dict[str, Any]], other: dict[str, dict[str, Any]], common: set[str], limit: int, *, given: bool
) -> list[TableRow]:
    """The rows for one kind of name.

    entries (dict): The source of this kind. other (dict): Of the other kind: a name more frequent there is no surrogate here.
    common (set[str]): Folded words that are no surrogates. limit (int): Most rows.
    RETURNS (list[TableRow]): The most frequent first.
    """
    rows: dict[str, tuple[int, TableRow]] = {}
    for raw, entry in entries.items():
        rank = best_rank(entry["rank"])
        if rank > KNOWN_RANK:
            continue
        name = display(raw)
        countries = origin(entry)
        if name is None or not countries or fold(name) in JUNK or (given and " " in name):
            continue
        in_region = best_rank({c: r for c, r in entry["rank"].items() if REGION_OF.get(c) == REGION_OF[countries[0]]})
        gender = ""
        if given and entry["gender"]:
            share = entry["gender"].get("F", 0.5)
            gender = "F" if share >= 0.8 else "M" if share <= 0.2 else ""
        rival = best_rank(other.get(raw, {"rank": {}})["rank"])
        good = (
            in_region <= SAMPLE_RANK
            and " " not in name
            and 3 <= len(name) <= 11
            and fold(name) not in common
            and not RUDE.search(fold(name))
            and rank < rival
            and (not given or gender != "")
        )
        row = TableRow(name, gender, countries, min(in_region, rank * 4).bit_length(), good)
        if name not in rows or rank < rows[name][0]:
            rows[name] = (rank, row)
    ranked = sorted(rows.values(), key=lambda item: (item[0], item[1].name))
    return [row for _, row in ranked[:limit]]


def add_extra(rows: list[TableRow], extra: Iterable[TableRow]) -> list[TableRow]:
    """RETURNS (list[TableRow]): The rows, those of `extra` in place of rows with the same name."""
    extra = list(extra)
    names = {r.name for r in extra}
    return [r for r in rows if r.name not in names] + extra


def main() -> None:
    import names_dataset
    import spacy_lookups_data

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=ROOT / "pii_components" / "resources" / "names")
    out = parser.parse_args().out
    source = Path(names_dataset.__file__).parent / "v3"
    given = pickle.loads(gzip.decompress((source / "first_names.pkl.gz").read_bytes()))
    last = pickle.loads(gzip.decompress((source / "last_names.pkl.gz").read_bytes()))
    common = common_words(Path(spacy_lookups_data.__file__).parent / "data" / "en_lexeme_prob.json.gz") | place_names()
    given_rows = collect(given, last, common, MAX_GIVEN, given=True)
    last_rows = collect(last, given, common, MAX_SURNAMES, given=False)
    given_rows = add_extra(
        given_rows,
        (
            TableRow(n, gender, (COUNTRY.get(region, region),), 5, len(n) >= 3 and fold(n) not in common)
            for (region, gender), text in EXTRA_GIVEN.items()
            for n in text.split()
        ),
    )
    last_rows = add_extra(
        last_rows,
        (TableRow(n, "", (c,), 4, len(n) >= 3 and fold(n) not in common) for c, text in EXTRA_SURNAMES.items() for n in text.split()),
    )
    out.mkdir(parents=True, exist_ok=True)
    for kind, rows in (("given", given_rows), ("surnames", last_rows)):
        path = out / f"{kind}.tsv.gz"
        write_table(path, rows)
        print(f"{path.name}: {len(rows)} names, {sum(r.good for r in rows)} of them surrogates, {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
