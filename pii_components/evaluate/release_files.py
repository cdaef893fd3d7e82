"""Read an original, its release and its gold, in any form that the commands read or write.

    documents = read_release(Path("essays.jsonl"), Path("essays.deidentified.jsonl"))

`pii-edu deidentify` writes texts without the spans of the surrogates, and passes a field `spans` of its input through as it was:
the spans are found by comparing. A release that the library wrote (`doc._.surrogate_spans` as JSON Lines with id, text, spans) has
them; that must be said (`with_spans`), since nobody can tell the one from the other.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from ..corpus.formats.jsonl import USUAL_ID_FIELDS
from ..corpus.labelled import guess_form, read_corpus
from ..corpus.readers import open_source
from ..corpus.records import Skip
from ..errors import Errors, PiiError
from .release import ReleasedDocument
from .release_align import LabelledSpan, ReleasedText

Text = tuple[str, str, tuple[LabelledSpan, ...] | None]


def read_release(
    original: Path,
    release: Path,
    *,
    gold: Path | None = None,
    with_spans: bool = False,
    hides: Callable[[str], bool] = lambda label: True,
    encoding: str = "utf-8",
    text_field: str = "",
    id_field: str = "",
) -> list[ReleasedDocument]:
    """Lay a release beside its original.

    original (Path), release (Path): Files or folders with the same documents. gold (Path | None): A labelled corpus; without it the
        labels of the original, if it has some. with_spans (bool): Whether the release has the spans of its surrogates.
    hides (Callable[[str], bool]): Labels that had to be hidden; gold of others is no leak.
    encoding (str), text_field (str), id_field (str): As elsewhere.
    RETURNS (list[ReleasedDocument]): In the order of the original. Documents are joined by id; by place, if no id is shared.
    RAISES (PiiError): E703 if there are none, E770, E771, E774; what reading raises.
    """
    before = read_texts(original, labelled=None, encoding=encoding, text_field=text_field, id_field=id_field)
    after = read_texts(release, labelled=with_spans, encoding=encoding, text_field=text_field, id_field=id_field)
    if not before:
        raise PiiError(Errors.E703, file=original.name)
    known = [spans for _, _, spans in before]
    if gold is not None:
        found = read_texts(gold, labelled=True, encoding=encoding, text_field="", id_field="")
        known = []
        for (ident, text, _), (_, gold_text, spans) in zip(before, joined(before, found, original, gold), strict=True):
            if text != gold_text:
                raise PiiError(Errors.E774, document=ident, original=original.name)
            known.append(spans)
    documents = []
    for (ident, text, _), (_, new, surrogates), spans in zip(
        before, joined(before, after, original, release), known, strict=True
    ):
        # A released corpus may hold labels of what was kept as well; they are no surrogates.
        made = tuple(span for span in surrogates or () if hides(span[2])) if with_spans else None
        pair = ReleasedText(ident, text, new, made)
        hidden = None if spans is None else tuple(span for span in spans if hides(span[2]))
        documents.append(ReleasedDocument(pair, hidden))
    return documents


def read_texts(path: Path, *, labelled: bool | None, encoding: str, text_field: str, id_field: str) -> list[Text]:
    """Texts with ids, and labels.

    path (Path): File or folder. labelled (bool | None): Whether the labels are wanted; None for "if there are some".
    RETURNS (list[Text]): Id, text and spans; None instead of spans where they are not wanted, or there are none. Where two ids are
        equal, the place stands for each.
    RAISES (PiiError): What reading raises.
    """
    if labelled is None:
        try:
            guess_form(path, encoding=encoding, text_field=text_field)
            labelled = not path.is_dir() or any(path.glob("*.ann"))
        except PiiError as err:
            if err.code not in ("E621", "E506"):
                raise
            labelled = False
    out: list[Text]
    if labelled:
        essays = read_corpus(path, encoding=encoding, text_field=text_field, id_field=id_field)
        out = [(essay.id, essay.text, essay.spans) for essay in essays]
    else:
        source = open_source(path, text_field=text_field, id_field=id_field, encoding=encoding)
        usual = next((name for name in USUAL_ID_FIELDS if name in source.others), "")
        if not id_field and usual:
            source.close()
            source = open_source(path, text_field=text_field, id_field=usual, encoding=encoding)
        out = []
        for item in source:
            if isinstance(item, Skip):
                raise item.error
            out.append((item.id, item.text, None))
        source.close()
    if len({ident for ident, _, _ in out}) < len(out):
        return [(f"#{number}", text, spans) for number, (_, text, spans) in enumerate(out, 1)]
    return out


def joined(first: Sequence[Text], second: Sequence[Text], first_path: Path, second_path: Path) -> list[Text]:
    """The texts of the second in the order of the first.

    RETURNS (list[Text]): By id; by place if no id is shared and there are as many.
    RAISES (PiiError): E770, if some are in one only.
    """
    by_id = {text[0]: text for text in second}
    shared = [by_id[ident] for ident, _, _ in first if ident in by_id]
    if len(shared) == len(first) == len(second):
        return shared
    if not shared and len(first) == len(second):
        return list(second)
    n = len(first) + len(second) - 2 * len(shared)
    raise PiiError(Errors.E770, n=n, first=first_path.name, second=second_path.name)
