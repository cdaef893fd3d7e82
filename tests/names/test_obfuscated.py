"""Names letter by letter, torn, with digits for letters, in scripts of their own: found, and what looks like them left alone."""

import pytest
import spacy

from pii_components.names.obfuscated import find_obfuscated, native_runs, read_leet, rejoin
from pii_components.ruler.tokenizer import make_student_tokenizer

TOKENIZER = make_student_tokenizer(spacy.blank("en"))


# fmt: off
SPACED = [
    ("by A N A  L O P E Z, 12", [("ANA", "LOPEZ")]), ("so v i d a s  he said", [("vidas",)]), ("H I R A N O ,  I S S E I", [("HIRANO", "ISSEI")]),
    ("O ' B R I E N  J O", [("O'BRIEN", "JO")]), ("S h e e l a   T h a k u r", [("Sheela", "Thakur")]), ("Ana Lo-\npez", [("Lopez",)]),
    ("LO-\nPEZ", [("LOPEZ",)]),
    # series, formulas, initials
    ("A B C D E F", []), ("x y z", []), ("n n n n", []), ("a b c d", []), ("J. R. R. Tolkien", []), ("I am a boy", []), ("p q r s t", []),
    ("self-\nMade", []), ("A - B", []),
]
LEET = [
    ("4n4 L0p3z", ["Ana", "Lopez"]), ("by M4r14's", ["Maria"]), ("M4R14", ["MARIA"]),
    # beside a known one, again, within a hyphenated name, or all of a kind
    ("L0p3z Gw4tk", ["Lopez", "Gwatk"]), ("J1n-w00 L0p3z", ["Lopez", "woo", "Jin"]), ("4n4 L0p3z and Zv3tl4n4", ["Ana", "Lopez", "Zvetlana"]),
    ("L0p3z in Week10 of 3D at B2B, C3PO", ["Lopez"]), ("L0p3z Week3, L0p3z Group10", ["Lopez", "Lopez"]), ("Zv3tl4nk4 came", []),
    ("3rd 10am H1N1 mp3 3D h3ll0 Week3 B2B C4 iOS11 2nd 1980s", []), ("ana4@x.org /l30/ #4n4", []),
]
NATIVE = [
    ("by Ελένη Κωνσταντίνου", ["Ελένη Κωνσταντίνου"]), ("my friend 李伟 came", ["李伟"]),
    ("伟's bag", ["伟"]), ("田中 さくら said so", ["田中 さくら"]),
    ("Ana Li (安娜) wrote", ["安娜"]), ("Анна Орлова and נועה לוי", ["Анна Орлова", "נועה לוי"]),
    ("田中 佐藤 さくら wrote", ["田中 佐藤 さくら"]), ("今日はとても良い天気ですね yes", []),
    ("प्रिया शर्मा, ليلى حسن", ["प्रिया शर्मा", "ليلى حسن"]),
    # words that are explained, formulas, texts in another language
    ("the Greek word λόγος", []), ("the word Λόγος is old", []),
    ("Λόγος means word", []), ("filial piety (孝) matters", []), ("ΔG = 5 and Σx", []),
    ("the concept of 仁 is Chinese", []), ("孝 (filial piety)", []), ("in Japanese さくら is a tree", []), ("αβγ", []),
    ("我喜欢学习中文,因为它很有意思。我每天都学习。李伟也学习。我们一起学习,一起吃饭,一起看书。李伟是我的朋友。", []),
]
# fmt: on


@pytest.mark.parametrize(("text", "expected"), SPACED)
def test_words_letter_by_letter_and_torn(text, expected):
    doc = TOKENIZER(text)
    found = find_obfuscated(text, [t.idx for t in doc], [t.idx + len(t) for t in doc])
    assert [piece.words for piece in found] == expected


@pytest.mark.parametrize(("text", "expected"), LEET)
def test_digits_for_letters(text, expected):
    assert list(read_leet(text).values()) == expected


@pytest.mark.parametrize(("text", "expected"), NATIVE)
def test_names_in_their_own_script(text, expected):
    assert [text[start:end] for start, end in native_runs(text)] == expected


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["A", "N", "A", " ", "L", "O"], ["ANA", "LO"]),
        (["Ana", "Lo", "-", "\n", "pez"], ["Ana", "Lopez"]),
        (["Lo", "\n", "pez"], ["Lo", "\n", "pez"]),
        (["A", "B", "Lopez"], ["A", "B", "Lopez"]),
    ],
)
def test_rejoin(tokens, expected):
    assert list(rejoin(tokens)) == expected
