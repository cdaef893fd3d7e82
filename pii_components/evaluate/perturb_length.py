"""Length: essays of 20,000 characters with the same people early, in the middle or late, and names at the edges of the encoder's windows.

    window 0  |------------------------------|            pieces 0 .. window - 1
    window 1                         |------------------------------|     from window - overlap on
                                     ^       ^
                          window_start       window_end: the name lies on the edge, half in and half out

What a long essay is made of is clean prose: paragraphs of the authored test essays in which no slot stands, or the few below.
"""

import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .perturb import LENGTH, Change, Perturbation, Perturbed, Spans, insert, main_span, stops

if TYPE_CHECKING:
    from spacy.language import Language

LONG = 20_000
FAR = 10_000
PARAGRAPHS = (
    "The first thing that one notices about the market is the noise. Carts roll over the stones, prices are called out, and somewhere a "
    "radio plays. After an hour the noise becomes a kind of silence, and one begins to see how much of the trade happens without a word.",
    "A good summary leaves things out. It keeps the question, the method and the answer, and it lets go of the examples. That is harder "
    "than it sounds, because the examples are what made the reading a pleasure in the first place.",
    "When the water was heated slowly, the salt dissolved within two minutes. When it was heated quickly, a crust formed on the bottom of "
    "the pan. The difference may come from the stirring, which was not the same in both trials, so the trial should be repeated.",
    "Public transport works best when nobody has to think about it. A bus that comes every ten minutes needs no timetable. A bus that comes "
    "every hour needs one, and a shelter, and patience, and in the end most people who can will take a car.",
    "The third act changes the pace. Scenes grow short, speeches become questions, and the chorus, which has explained everything so far, "
    "falls silent. What the audience knows is now less than what it fears, and the play uses this with great care.",
)  # fmt: skip
EDGES = {
    "window_end": "the main name across the end of a window",
    "window_start": "the main name across the start of a window",
    "window_overlap": "the main name amid what two windows share",
}
FILLER = "so"  # one piece in every vocabulary of words


@dataclass(frozen=True, slots=True)
class Windows:
    """How the pipeline's encoder reads a long text.

    window (int): Pieces in a window. overlap (int): Pieces that neighbours share.
    pieces (Callable[[str, int], int]): How many pieces stand before a character of a text.
    """

    window: int
    overlap: int
    pieces: Callable[[str, int], int]


def windows_of(nlp: "Language") -> Windows | None:
    """Read window and overlap from a pipeline's transformer config.

    nlp (Language): A loaded pipeline.
    RETURNS (Windows | None): None for a pipeline without a transformer that reads in windows.
    """
    model: dict[str, Any] = nlp.config.get("components", {}).get("transformer", {}).get("model", {})
    settings = model.get("with_spans", {})
    if "window" not in settings or "transformer" not in nlp.pipe_names:
        return None
    layer = getattr(nlp.get_pipe("transformer"), "model", None)
    encoder = layer.get_ref("piece_encoder") if layer is not None and layer.has_ref("piece_encoder") else None

    def pieces(text: str, at: int) -> int:
        doc = nlp.make_doc(text)
        n_tokens = sum(token.idx < at for token in doc)
        # Without the encoder, 1.3 pieces per token: what English prose has with BERT's vocabulary.
        return round(1.3 * n_tokens) + 1 if encoder is None else int(encoder.predict([doc])[0].lengths[: n_tokens + 1].sum())

    return Windows(int(settings["window"]), int(settings.get("overlap", 0)), pieces)


def prose(paragraphs: Sequence[str], length: int, rng: random.Random) -> str:
    """RETURNS (str): Clean prose of at least that many characters, ending with a paragraph; empty for 0 and less."""
    order: list[str] = []
    total = 0
    while total < length:
        left = list(paragraphs)
        rng.shuffle(left)
        for paragraph in left:
            if total >= length:
                break
            order.append(paragraph)
            total += len(paragraph) + 2
    return "\n\n".join(order)


def padded(paragraphs: Sequence[str], before: float, after: float) -> Change:
    """Lengthen a text to `LONG` characters.

    paragraphs (Sequence[str]): Clean prose. before, after (float): Share of what is added that stands before and after.
    RETURNS (Change): A text that is as long already stays.
    """

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        missing = LONG - len(text)
        if missing <= 0:
            return text, spans
        if after:
            text, spans = insert(text, spans, len(text), "\n\n" + prose(paragraphs, int(missing * after), rng))
        if before:
            text, spans = insert(text, spans, 0, prose(paragraphs, int(missing * before), rng) + "\n\n")
        return text, spans

    return change


def torn_apart(paragraphs: Sequence[str]) -> Change:
    """RETURNS (Change): `FAR` characters of prose set in after the sentence with the main name: the same name comes again far below."""

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        main = main_span(spans)
        first = spans[main][1] if main is not None else 0
        at = next((stop for stop in stops(text, spans) if stop >= first), len(text))
        return insert(text, spans, at, "\n\n" + prose(paragraphs, FAR, rng) + "\n\n")

    return change


def at_border(paragraphs: Sequence[str], windows: Windows, target: int) -> Change:
    """Pad a text so that its main name begins at a piece.

    paragraphs (Sequence[str]): Clean prose. windows (Windows): Of the pipeline. target (int): The piece, or the same place in a
    later window.
    RETURNS (Change): A text without private people stays.
    """

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        main = main_span(spans)
        if main is None:
            return text, spans
        start = spans[main][0]
        head = text[: start + 1]
        already = windows.pieces(head, start)
        needed = target - already
        while needed < 8:
            needed += windows.window - windows.overlap
        words = prose(paragraphs, 8 * needed, rng).split()
        # As many words as fit, then one-piece words to the very piece.
        low, high = 0, len(words)
        while low < high:
            middle = (low + high + 1) // 2
            front = " ".join(words[:middle]) + "\n\n"
            low, high = (middle, high) if windows.pieces(front, len(front)) <= needed else (low, middle - 1)
        chosen = words[:low]
        for _ in range(3):  # what stands at the seam may join: count again with the text behind it
            front = " ".join(chosen) + "\n\n"
            missing = needed + already - windows.pieces(front + head, len(front) + start)
            chosen = chosen + [FILLER] * missing if missing >= 0 else chosen[:missing]
            if not missing:
                break
        tail = "\n\n" + prose(paragraphs, 8 * windows.window, rng)
        text, spans = insert(text, spans, len(text), tail)
        return insert(text, spans, 0, front)

    return change


def _main_only(spans: Spans) -> list[int]:
    main = main_span(spans)
    return [] if main is None else [main]


def length_perturbations(paragraphs: Sequence[str] = PARAGRAPHS, windows: Windows | None = None) -> tuple[Perturbation, ...]:
    """The perturbations of this class.

    paragraphs (Sequence[str]): Clean prose to pad with. windows (Windows | None): Of the pipeline; without them none at windows' edges.
    RETURNS (tuple[Perturbation, ...]): In order.
    """
    found = [
        Perturbation("long_people_early", LENGTH, "20,000 characters, the text first", padded(paragraphs, 0, 1)),
        Perturbation("long_people_middle", LENGTH, "20,000 characters, the text in the middle", padded(paragraphs, 0.5, 0.5)),
        Perturbation("long_people_late", LENGTH, "20,000 characters, the text last", padded(paragraphs, 1, 0)),
        Perturbation("name_again_far_below", LENGTH, "10,000 characters after the first name", torn_apart(paragraphs)),
    ]
    if windows is not None:
        targets = (windows.window - 1, windows.window - windows.overlap - 1, windows.window - windows.overlap // 2)
        for (name, about), target in zip(EDGES.items(), targets, strict=True):
            change = at_border(paragraphs, windows, target)
            found.append(Perturbation(name, LENGTH, about, change, only=_main_only))
    return tuple(found)


def clean_paragraphs(texts: Iterable[str], *, least: int = 200) -> list[str]:
    """RETURNS (list[str]): Paragraphs of at least so many characters, each once, in order."""
    found = (re.sub(r"\s+", " ", block).strip() for text in texts for block in re.split(r"\n\s*\n", text))
    return list(dict.fromkeys(block for block in found if len(block) >= least))
