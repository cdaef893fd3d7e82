"""What a component learns from a corpus before it replaces anything: names that no surrogate may be, and values that documents share.

A copy in another process gets the names as keyed digests, enough to ask whether a word is one of them, and none of the values.
"""

import hashlib
from collections.abc import Iterable
from typing import Any

from spacy.tokens import Doc

from ..errors import Errors, PiiError
from ..labels import EDUCATION, EMPLOYER, LOCATION, is_name
from ..spans import SPANS_KEY, read_spans
from .keys import Chance
from .secret import Secret

POOLED = (LOCATION, EDUCATION, EMPLOYER)
# In how many documents a value must stand before others may get it: one that fewer have tells who they are.
SHARED_BY = 3


class Observed:
    """Names and values of a corpus. `word in observed` asks for a folded word (`style.norm`) of a name.

    secret (Secret): The key, for copies.
    """

    def __init__(self, secret: Secret) -> None:
        self._secret = secret
        self._words: set[str] = set()
        # Label -> value as it stands -> digests of documents that hold it, as many as count.
        self._pools: dict[str, dict[str, set[bytes]]] = {}
        self._digests: frozenset[bytes] = frozenset()
        self._lacks_pools = False

    def observe(self, docs: Iterable[Doc], *, spans_key: str = SPANS_KEY) -> int:
        """Learn. docs (Iterable[Doc]): With spans. spans_key (str): Their group. RETURNS (int): How many words of names are known."""
        from .mentions import read_mention

        for doc in docs:
            for cand in read_spans(doc, spans_key):
                text = doc[cand.start : cand.end].text
                if is_name(cand.label):
                    self._words.update(w.norm for w in read_mention(text).words)
                elif cand.label in POOLED:
                    docs_with = self._pools.setdefault(cand.label, {}).setdefault(text, set())
                    if len(docs_with) < SHARED_BY:
                        docs_with.add(hashlib.sha256(doc.text.encode("utf8", "surrogatepass")).digest()[:8])
        return len(self._words) + len(self._digests)

    def forget(self) -> None:
        """Forget all."""
        self._words, self._pools, self._digests, self._lacks_pools = set(), {}, frozenset(), False

    def shared(self) -> dict[str, list[str]]:
        """RETURNS (dict[str, list[str]]): Values that enough documents have in common: what one student alone wrote is not lent.

        RAISES (PiiError): E475, if this is a copy.
        """
        if self._lacks_pools:
            raise PiiError(
                Errors.E475, lacks="the values that observe() learnt", cure="use one process, or call observe() there"
            )
        return {
            label: sorted(value for value, docs in values.items() if len(docs) >= SHARED_BY)
            for label, values in self._pools.items()
        }

    def __contains__(self, word: object) -> bool:
        return word in self._words or (bool(self._digests) and isinstance(word, str) and self._digest(word) in self._digests)

    def _digest(self, word: str) -> bytes:
        return Chance(self._secret.get()).digest("observed", word)[:12]

    def __getstate__(self) -> dict[str, Any]:
        return {
            "secret": self._secret,
            "digests": self._digests | {self._digest(word) for word in self._words},
            "lacks_pools": self._lacks_pools or bool(self._pools),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["secret"])  # type: ignore[misc]
        self._digests, self._lacks_pools = state["digests"], state["lacks_pools"]
