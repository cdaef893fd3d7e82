"""Words of other scripts that are no names: words under discussion, titles, towns, dishes, greetings.

    native_sentence(random.Random(1))      # "In Korean the word 바람 means both wind and a hope."

Without them a detector that learnt names in their own scripts (`native_names`) would take every such word for a person.
"""

import random

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
