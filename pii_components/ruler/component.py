"""`pii_ruler`: e-mail and web addresses, telephone and ID numbers, user names, by patterns as data and validators.

    nlp.add_pipe("pii_ruler")                                       # the patterns that ship
    ruler.add_patterns([{"label": "ID_NUM", "regex": r"U\\d{7}", "id": "our-id"}])
    doc = nlp("Ana_Lopez_20481234 linkedin.com/in/ana-lopez")

It is spaCy's SpanRuler with three more kinds of patterns (see patterns.py) and another way to write: it reads
`doc.spans["pii"]`, corrects what the model proposed for these labels, adds what the rules find, and leaves names alone.
Expressions are searched in a normalised view of the text, so a zero-width space or a Cyrillic letter hides nothing; what is
reported are tokens of the Doc.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import srsly
from spacy.language import Language
from spacy.pipeline.span_ruler import SpanRuler
from spacy.tokens import Doc
from spacy.training import Example

from ..config import Saved
from ..errors import Errors, PiiError
from ..labels import EMAIL, NAME_CITED, STREET_ADDRESS, URL_PERSONAL, is_name
from ..names.letters import forget
from ..names.normalize import NormalizedView
from ..spans import SPANS_KEY, Candidate, read_spans, with_given, write_spans
from .addresses import addresses
from .merge import (
    Page,
    clean_candidate,
    merge,
    repeated,
)
from .patterns import (
    Pattern,
    RuleSet,
    Verdict,
    compile_patterns,
    judge_url,
    kind_of,
    shipped_patterns,
    words_of_names,
)
from .validators import Context

__all__ = ["PiiRuler"]

_PUBLISHED = re.compile(r"(?i)\b10\.\d{4,9}/[^\s<>\"]{1,200}")


DEFAULTS: dict[str, Any] = {"phone_regions": ["US"], "shipped": True}


class OnePerDoc:
    """Mixin of a component that decides in `find_spans` and writes in `set_annotations`, a document at a time."""

    def __call__(self, doc: Doc) -> Doc:
        """Find, and write; the text and all else of the document stay."""
        me: Any = self
        try:
            me.set_annotations(doc, me.find_spans(doc))
            return doc
        except Exception as err:  # noqa: BLE001  (the handler decides, as in spaCy's own pipes)
            # A handler that swallows the error leaves no Doc: an unchecked document must not pass for a checked one.
            return me.get_error_handler()(me.name, me, [doc], err)  # type: ignore[no-any-return]
        finally:
            forget()

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """YIELDS (Doc): The documents, in order; one that failed goes to the error handler and is left out."""
        yield from (doc for doc in map(self, stream) if doc is not None)


class PiiRuler(OnePerDoc, Saved, SpanRuler):
    """The component. `find_spans` is pure; `set_annotations` writes `doc.spans[spans_key]`."""

    def __init__(
        self,
        nlp: Language,
        name: str = "pii_ruler",
        *,
        spans_key: str = SPANS_KEY,
        phone_regions: Sequence[str] | None = None,
        shipped: bool | None = None,
        validate: bool = False,
    ) -> None:
        """spans_key (str): Key of `doc.spans` to read and write.
        phone_regions (Sequence[str]): Countries, as two letters, whose national numbers count where no word says that a number is one; US.
        shipped (bool): Whether to start with the patterns that ship; true. validate (bool): Whether spaCy checks token patterns.
        RAISES (PiiError): E206 for a country that there is not."""
        from phonenumbers import SUPPORTED_REGIONS

        if wrong := [region for region in phone_regions or () if region not in SUPPORTED_REGIONS]:
            raise PiiError(Errors.E206, region=wrong[0])
        regions = list(phone_regions) if phone_regions is not None else None
        asked = {"spans_key": spans_key, "phone_regions": regions, "shipped": shipped}
        self.configure(DEFAULTS, asked)
        self._compiled, self._compiled_of = RuleSet(), list[Pattern]()
        super().__init__(nlp, name, spans_key=spans_key, validate=validate, scorer=None)
        if self.cfg["shipped"]:
            self.add_patterns(shipped_patterns())

    @property
    def rules(self) -> RuleSet:
        """RETURNS (RuleSet): The patterns that spaCy does not match, compiled."""
        patterns: list[Any] = self._patterns
        if self._compiled_of != patterns:
            own = (entry for entry in patterns if kind_of(entry) != "pattern")
            self._compiled, self._compiled_of = compile_patterns(own), list(patterns)
        return self._compiled

    def find_spans(self, doc: Doc) -> list[Candidate]:
        """RETURNS (list[Candidate]): What `doc.spans[spans_key]` should hold: names as they were, other labels corrected and completed."""
        proposals = read_spans(doc, self.cfg["spans_key"])
        if not len(doc):
            return proposals
        page = Page(doc, NormalizedView(doc.text))
        verdicts = self._judge_urls(page, proposals)
        found = self._match_regexes(page, proposals, verdicts) + self._match_tokens(doc)
        cleaned = [c for p in proposals if (c := clean_candidate(page, p, verdicts))]
        found += addresses(page, [*cleaned, *found])
        found += repeated(page, found, {i for v in verdicts for i in v.hit.chars})
        cued = frozenset(rule.id for rule in self.rules.regexes if rule.cue)
        return merge(page, cleaned, found, cued)

    def set_annotations(self, doc: Doc, matches: Iterable[Candidate]) -> None:
        """Write what `find_spans` returned to `doc.spans[spans_key]`."""
        self.has_our_tokens(doc)  # warns
        key = self.cfg["spans_key"]
        write_spans(doc, with_given(doc, list(matches), key), key)

    def _judge_urls(self, page: Page, proposals: Sequence[Candidate]) -> list[Verdict]:
        """Every web address of the document, personal or not."""
        named = (c for c in proposals if is_name(c.label) and c.label != NAME_CITED)
        names = words_of_names(page.hit(c).value for c in named)
        hits = (
            hit
            for rule in self.rules.regexes
            if rule.validate == "url"
            for hit in rule.hits(page.view.text, Context())
        )
        return [verdict for hit in hits if (verdict := judge_url(hit, self.rules, names))]

    def _match_regexes(
        self, page: Page, proposals: Sequence[Candidate], verdicts: Sequence[Verdict]
    ) -> list[Candidate]:
        """What the expressions find, validated, as candidates."""
        text = page.view.text
        names = tuple(page.chars(c.start, c.end) for c in proposals if is_name(c.label))
        context = Context(regions=tuple(self.cfg["phone_regions"]), names=names)
        found = list[Candidate]()
        blocked = {i for published in _PUBLISHED.finditer(text) for i in range(*published.span())}
        for v in verdicts:
            blocked.update(v.hit.chars)
            if v.personal == "yes":
                found += page.found(v.hit, URL_PERSONAL, v.source, v.reason)
        for rule in self.rules.regexes:
            for hit in rule.hits(text, context) if rule.validate != "url" else ():
                if rule.label == EMAIL or not blocked.issuperset(hit.chars):
                    found += page.found(hit, rule.label, rule.id, rule.reason)
        return found

    def _match_tokens(self, doc: Doc) -> list[Candidate]:
        """What spaCy's matchers find: token patterns and phrases that a user added."""
        if not len(self.matcher) and not len(self.phrase_matcher):
            return []
        entries: dict[tuple[str, str], Any] = {
            (str(e["label"]), str(e.get("id", ""))): e for e in self._patterns
        }
        found = []
        for span in self.match(doc):
            entry, source = entries[span.label_, span.id_], span.id_ or self.name
            reason = entry.get("reason", "") or f"pattern {span.id_}".strip()
            score = float(entry.get("score", 1.0))
            found.append(Candidate(span.start, span.end, span.label_, score, source, reason))
        return found

    # --- patterns ---

    @property
    def labels(self) -> tuple[str, ...]:
        """RETURNS (tuple[str, ...]): Of the patterns; and that of addresses, which are found without one."""
        return tuple(sorted({*super().labels, STREET_ADDRESS}))

    def add_patterns(self, patterns: Iterable[Pattern]) -> None:  # type: ignore[override]
        """Add patterns; see patterns.py. All are checked before one is added. RAISES (PiiError): E201 to E204."""
        entries = list(patterns)
        own = [entry for entry in entries if kind_of(entry) != "pattern"]
        compile_patterns(own)
        super().add_patterns([entry for entry in entries if kind_of(entry) == "pattern"])
        self._patterns.extend(own)
        for entry in own:
            self.nlp.vocab.strings.add(entry["label"], allow_transient=False)  # type: ignore[call-arg]

    def clear(self) -> None:
        super().clear()
        self._match_label_id_map = {}

    def __contains__(self, label: object) -> bool:
        return label in super().labels

    def _set_patterns(self, patterns: Sequence[Pattern]) -> None:
        self.clear()
        self.add_patterns(patterns)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        patterns: Sequence[Pattern] | None = None,
    ) -> None:
        """Set the patterns for training: those that ship, then the given ones, which stand before them."""
        self._set_patterns([*shipped_patterns(), *(patterns or [])])

    # --- to disk and back

    def parts(self) -> dict[str, Callable[[], bytes]]:
        lines = "\n".join(map(srsly.json_dumps, self._patterns))
        return {
            "cfg": lambda: srsly.json_dumps(self.cfg, indent=2).encode("utf8"),
            "patterns": lambda: lines.encode("utf8"),
        }

    def read_parts(self, found: Mapping[str, bytes]) -> None:
        patterns: list[Any] = list(self._patterns)
        if "patterns" in found:
            patterns = list(map(srsly.json_loads, found["patterns"].splitlines()))
        with self.loading() as saved:
            saved.update(srsly.json_loads(found.get("cfg", b"{}")))
        if self.overrides(saved, "shipped"):
            ours = srsly.json_loads(srsly.json_dumps(shipped_patterns()))  # as a file has them
            patterns = [entry for entry in patterns if entry not in ours]
            patterns = [*ours, *patterns] if self.cfg["shipped"] else patterns
        self._set_patterns(patterns)
