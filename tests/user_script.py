"""What a user's script looks like; checked by mypy --strict (setup.cfg) and run by test_neighbours.py."""

import spacy

from pii_components import __version__
from pii_components.offsets import OffsetMap
from pii_components.presidio import build_analyzer
from pii_components.profiles import Profile
from pii_components.spans import SPANS_KEY, Candidate, read_spans, write_spans
from pii_components.surrogates.component import HipsSurrogate

nlp = spacy.load("en_pii_edu")
surrogates = nlp.get_pipe("hips_surrogate")
assert isinstance(surrogates, HipsSurrogate)
surrogates.profile = "ets"
surrogates.set_key(b"a key of sixteen bytes")
doc = nlp("My name is Ana Lopez.")
found: list[Candidate] = read_spans(doc)
write_spans(doc, found, SPANS_KEY)
offsets: OffsetMap = doc._.pii_offsets
print(found[0].label, found[0].score, offsets.to_new(3), Profile.load("crapii").name, __version__)
analyzer = build_analyzer()
reveal = [result.score for result in analyzer.analyze("My name is Ana Lopez.", "en")]
