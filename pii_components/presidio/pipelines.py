"""A pipeline behind Presidio: found without downloading, run without surrogates, over texts of any length.

    pipeline = Pipeline.open("en_pii_edu")          # an installed package, a folder, or a Language that is loaded
    doc = pipeline.doc(text)
    for doc, context in pipeline.docs([(text, 1), (other, 2)]): ...

A text longer than `max_chars` is cut at a line break and its parts become one Doc again, so memory is bounded and nothing is left
out. Nothing here imports Presidio.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Errors, PiiError
from ..labels import LABELS, NAME_LABELS
from ..spans import Candidate, read_spans, write_spans

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

DEFAULT_PIPELINE = "en_pii_edu"
# About 50,000 words, more than a book's chapter: all that a name's first and last mention may be apart.
MAX_CHARS = 250_000
# Makes surrogates, which Presidio's anonymizer is there for.
_NOT_NEEDED = "hips_surrogate"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A loaded pipeline.

    nlp (Language): It writes `doc.spans["pii"]`; it is not changed. max_chars (int): Characters that become one Doc at once.
    disable (tuple[str, ...]): Components that do not run.
    """

    nlp: "Language"
    max_chars: int = MAX_CHARS
    disable: tuple[str, ...] = ()

    @classmethod
    def open(cls, source: "str | Path | Language", *, language: str = "", max_chars: int = MAX_CHARS) -> "Pipeline":
        """Load a pipeline, unless it is loaded.

        source (str | Path | Language): An installed package, a folder, or a pipeline. language (str): Two letters; any if empty.
        max_chars (int): See above; the pipeline's own limit is kept if it is lower.
        RETURNS (Pipeline): Ready.
        RAISES (PiiError): E804 if there is none, E805 if it does not load, E806 for another language, E807 if it finds nothing,
            E801 for `max_chars`.
        """
        import spacy

        if not isinstance(max_chars, int) or isinstance(max_chars, bool) or max_chars < 1000:
            raise PiiError(Errors.E801, name="max_chars", value=max_chars, allowed="a whole number from 1000")
        check_source(source, language=language)
        if isinstance(source, str | Path):
            try:
                nlp = spacy.load(source, exclude=[_NOT_NEEDED])
            except (ImportError, OSError, ValueError) as err:
                raise PiiError(Errors.E805, pipeline=Path(source).name, reason=type(err).__name__) from err
        else:
            nlp = source
        metas = {name: nlp.get_pipe_meta(name) for name in nlp.pipe_names}
        if not any("doc.spans" in meta.assigns for meta in metas.values()):
            raise PiiError(Errors.E807, pipeline=name_of(nlp), pipes=", ".join(nlp.pipe_names) or "nothing")
        disable = tuple(name for name, meta in metas.items() if meta.factory == _NOT_NEEDED)
        return cls(nlp, min(max_chars, nlp.max_length), disable)

    def doc(self, text: str) -> "Doc":
        """RETURNS (Doc): Of the whole text. RAISES (PiiError): E808, E809 for what is no text."""
        parts = cut(checked_text(text), self.max_chars)
        return join([self.nlp(part, disable=self.disable) for part in parts])

    def docs(
        self, texts: Iterable[tuple[str, Any]], *, batch_size: int | None = None, n_process: int = 1
    ) -> "Iterator[tuple[Doc, Any]]":
        """Process a stream with `nlp.pipe`.

        texts (Iterable[tuple[str, Any]]): Texts with something that stays with each. batch_size (int | None), n_process (int): As
            in `nlp.pipe`.
        YIELDS (tuple[Doc, Any]): In order. RAISES (PiiError): E808, E809 for what is no text.
        """
        parts: list[Doc] = []
        piped = self.nlp.pipe(
            self._parts(texts), as_tuples=True, batch_size=batch_size, n_process=n_process, disable=list(self.disable)
        )
        for doc, (last, context) in piped:
            parts.append(doc)
            if last:
                yield join(parts), context
                parts = []

    def _parts(self, texts: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, tuple[bool, Any]]]:
        for text, context in texts:
            *before, last = cut(checked_text(text), self.max_chars)
            for part in before:
                yield part, (False, None)
            yield last, (True, context)

    def memory_zone(self) -> AbstractContextManager[Any]:
        """RETURNS (AbstractContextManager): What is done with it frees its words at the end; nothing where a tokenizer has a cache
        that would point into what is gone. No Doc may be used after it."""
        from spacy.tokenizer import Tokenizer

        tokenizer = self.nlp.tokenizer
        fine = type(tokenizer) is Tokenizer or hasattr(tokenizer, "memory_zone")
        return self.nlp.memory_zone() if fine else nullcontext()


def check_source(source: "str | Path | Language", *, language: str = "") -> None:
    """Check that a pipeline can be had, without loading it.

    source (str | Path | Language): As in `Pipeline.open`. language (str): Two letters; any if empty.
    RAISES (PiiError): E804 if there is none, E806 if it is for another language, E801 if it is nothing of the kind.
    """
    import spacy
    from spacy.language import Language

    if isinstance(source, Language):
        spoken = source.lang
    elif isinstance(source, str | Path) and str(source):
        if not (spacy.util.is_package(str(source)) or Path(source).is_dir()):
            raise PiiError(Errors.E804, pipeline=Path(source).name)
        spoken = meta_of(source).get("lang", "")
    else:
        raise PiiError(Errors.E801, name="pipeline", value=type(source).__name__, allowed="a package, a folder or a Language")
    if language and spoken and spoken != language:
        raise PiiError(Errors.E806, language=language, allowed=spoken)


def meta_of(source: "str | Path | Language") -> dict[str, Any]:
    """RETURNS (dict[str, Any]): meta.json of a pipeline, without loading it; empty if it cannot be read."""
    from spacy.util import get_model_meta, get_package_path, is_package

    if not isinstance(source, str | Path):
        return source.meta
    path = get_package_path(str(source)) if is_package(str(source)) else Path(source)
    try:
        return get_model_meta(path)
    except (OSError, ValueError):
        return {}


def found_labels(source: "str | Path | Language") -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): Labels that a pipeline says it finds, in our order; all of ours where it does not say. Names are
    always among them: cue words find them where no model does, and that component has no list."""
    said = {label for labels in meta_of(source).get("labels", {}).values() for label in labels if label in LABELS}
    return tuple(label for label in LABELS if label in said or label in NAME_LABELS) if said else LABELS


def name_of(source: "str | Path | Language") -> str:
    """RETURNS (str): The name of a pipeline, without the folders above it."""
    if isinstance(source, str | Path):
        return Path(source).name
    return f"{source.lang}_{source.meta['name']}"


def checked_text(text: Any) -> str:
    """RETURNS (str): The text. RAISES (PiiError): E808 for what is no text, E809 for half of a surrogate pair."""
    if not isinstance(text, str):
        raise PiiError(Errors.E808, type=type(text).__name__)
    try:
        text.encode("utf8")
    except UnicodeEncodeError as err:
        raise PiiError(Errors.E809, offset=err.start) from None
    return text


def cut(text: str, most: int) -> list[str]:
    """Cut a text at line breaks, or else at a space.

    text (str): The text. most (int): Characters of a part.
    RETURNS (list[str]): Its parts: together they are the text, character for character. One part at least.

        |<-------------- most --------------->|
        ... paragraph ...\n\n ... paragraph ...\n\n ... para
                              ^ searched from the end, in its last half ^
    """
    parts, start = [], 0
    while len(text) - start > most:
        end = start + most
        low = start + most // 2
        for mark in ("\n\n", "\n", " "):
            at = text.rfind(mark, low, end - len(mark))
            if at >= 0:
                end = at + len(mark)
                break
        parts.append(text[start:end])
        start = end
    return [*parts, text[start:]]


def join(docs: "list[Doc]") -> "Doc":
    """One Doc out of the parts of a text, with `doc.spans["pii"]`, scores, roles and reasons.

    docs (list[Doc]): In order; one alone is returned as it is. RETURNS (Doc): Its text is that of the parts.
    """
    from spacy.tokens import Doc

    if len(docs) == 1:
        return docs[0]
    moved: list[Candidate] = []
    words, spaces, offset = [], [], 0
    for doc in docs:
        moved += [replace(cand, start=cand.start + offset, end=cand.end + offset) for cand in read_spans(doc)]
        words += [token.text for token in doc]
        spaces += [bool(token.whitespace_) for token in doc]
        offset += len(doc)
    whole = Doc(docs[0].vocab, words=words, spaces=spaces)
    write_spans(whole, moved)
    return whole
