"""Models for spacy-llm's `[components.llm.model]`: any server that speaks OpenAI's chat API, and several together; and what they cost.

    @llm_models = "pii_edu.OpenAICompatible.v1"
    name = "gpt-4o-mini"
    endpoint = "https://api.openai.com/v1"
    key_env = "OPENAI_API_KEY"

The client is OpenAI's own; llama.cpp, Ollama and vLLM on this machine speak the same API. An answer that does not come is an
empty `Reply` with a code, so that it spoils no other document; what makes every call fail (a wrong key) is an error at
once. Nothing is cached or logged. A server on another machine is refused unless `allow_remote` is true.

    total(usages, Prices.load(), words=30_000)      # what was sent, where to, US dollars: like Table 8 of the JEDM paper
"""

import ipaddress
import os
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Iterable  # noqa: UP035 - spacy-llm compares these very types
from urllib.parse import urlsplit

from ..errors import Errors, PiiError, PiiStop
from . import Prompt, Reply, read_toml

DRY = "E919"
# A wrong key, model or address.
_FATAL = (401, 403, 404)


CHARACTERS_A_TOKEN = 4  # of English, for an estimate
TOKENS_A_WORD = 4 / 3  # of English; Table 8 counts a corpus in tokens


def estimate(characters: int) -> int:
    """RETURNS (int): Tokens, estimated from a number of characters."""
    return -(-characters // CHARACTERS_A_TOKEN)


@dataclass(slots=True)
class Usage:
    """What one model was asked.

    host (str): Where texts went.
    local (bool): Whether they stayed on this machine.
    guessed (bool): Whether tokens are estimated since the server did not count them.
    errors (Counter[str]): Answers that did not come, by code.
    """

    model: str
    host: str
    local: bool
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    characters: int = 0
    guessed: bool = False
    errors: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Prices:
    """A dated table. models: Start of a model's name -> US dollars for a million tokens "in" and "out"."""

    models: Mapping[str, Mapping[str, float]]
    date: str
    file: str

    @classmethod
    def load(cls, path: str | Path | None = None) -> "Prices":
        """From a TOML file; the one that ships if there is none. RAISES (PiiError): E900."""
        data, name = read_toml("prices.toml", path), Path(path or "prices.toml").name
        models = data.get("models", {})
        try:
            for price in models.values():
                if min(*price.values(), price["in"], price["out"]) < 0:
                    raise ValueError
        except (AttributeError, KeyError, TypeError, ValueError):
            reason = "models need in and out, numbers of 0 or more"
            raise PiiError(Errors.E900, file=name, kind="table of prices", reason=reason) from None
        return cls(models, str(data.get("date", "")), name)

    def cost(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """RETURNS (float | None): US dollars; None, if the table has no such model."""
        known = max((name for name in self.models if model.startswith(name)), key=len, default=None)
        if known is None:
            return None
        price = self.models[known]
        return (tokens_in * price["in"] + tokens_out * price["out"]) / 1e6


def total(usages: Iterable[Usage], prices: Prices, *, words: int) -> dict[str, Any]:
    """The report of a run.

    words (int): Of the corpus.
    RETURNS (dict): Per model what was sent and its price, None where nobody knows one; the sum, and the sum per million
        tokens of the corpus, estimated from its words. A model on this machine costs nothing.
    """
    rows = []
    usd: float | None = 0.0
    for usage in usages:
        cost: float | None = 0.0
        if not usage.local:
            cost = prices.cost(usage.model, usage.tokens_in, usage.tokens_out)
        usd = None if usd is None or cost is None else usd + cost
        rows.append(
            {
                "model": usage.model,
                "host": usage.host,
                "left_this_machine": not usage.local and usage.calls > 0,
                "calls": usage.calls,
                "characters_sent": usage.characters,
                "tokens_in": usage.tokens_in,
                "tokens_out": usage.tokens_out,
                "tokens_estimated": usage.guessed,
                "errors": dict(sorted(usage.errors.items())),
                "usd": cost,
            }
        )
    tokens = words * TOKENS_A_WORD
    return {
        "models": rows,
        "prices": prices.date,
        "usd": usd,
        "corpus_tokens": round(tokens),
        "usd_per_million_tokens": usd / tokens * 1e6 if usd is not None and tokens else None,
    }


class ChatModel:
    """Base of all: counts, and can be made to only count.

    usage (Usage): What was asked so far.
    context_length (int | None): Tokens for prompt and answer together.
    dry (bool): Whether nothing is sent; tokens are estimated.
    """

    dry = False

    def __init__(self, usage: Usage, context_length: int | None) -> None:
        self.usage = usage
        self.context_length = context_length

    def usages(self) -> list[Usage]:
        """RETURNS (list[Usage]): Of this model, or of those that it asks."""
        return [self.usage]

    def rehearse(self) -> None:
        """Send nothing from now on."""
        self.dry = True

    def __call__(self, prompts: Iterable[Iterable[Any]]) -> Iterable[Iterable[Any]]:
        """prompts: For each document its prompts. RETURNS: For each document its replies, in order."""
        asked = [list(some) for some in prompts]
        flat = [prompt for some in asked for prompt in some]
        replies = iter(map(self._rehearsed, flat) if self.dry else self.answer(flat))
        return [list(islice(replies, len(some))) for some in asked]

    def answer(self, prompts: list[str]) -> list[Reply]:
        """RETURNS (list[Reply]): One for each prompt, in order."""
        raise NotImplementedError

    def _rehearsed(self, prompt: str) -> Reply:
        expected = prompt.expected if isinstance(prompt, Prompt) else len(prompt)
        return self.counted(prompt, Reply(code=DRY), expected=expected)

    def counted(
        self, prompt: str, reply: Reply, usage: Any = None, *, expected: int | None = None
    ) -> Reply:
        """Count a call.

        usage (CompletionUsage | None): The server's own count, if it gave one.
        expected (int | None): Characters of an answer that was not computed.
        """
        tokens: list[Any] = [
            getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")
        ]
        is_guessed = not all(isinstance(n, int) for n in tokens)
        if is_guessed:
            length = len(reply) if expected is None else expected
            tokens = [estimate(len(prompt)), estimate(length)]
        self.usage.calls += 1
        self.usage.tokens_in += tokens[0]
        self.usage.tokens_out += tokens[1]
        self.usage.characters += len(prompt)
        self.usage.guessed |= is_guessed
        if reply.code and not self.dry:
            self.usage.errors[reply.code] += 1
        return reply


def is_local(host: str) -> bool:
    """RETURNS (bool): Whether a host name or address is this machine."""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def host_of(endpoint: str) -> str:
    """RETURNS (str): Host of an address. RAISES (PiiError): E747 for what is no address of a server, or holds a password."""
    host = ""
    with suppress(ValueError):
        parts = urlsplit(endpoint)
        if parts.scheme in ("http", "https") and not parts.username and parts.port != 0:
            host = parts.hostname or ""
    if not host:
        raise PiiError(Errors.E747, endpoint=endpoint.rsplit("@", 1)[-1])
    return host


class OpenAIModel(ChatModel):
    """A server that speaks OpenAI's chat API. Registered as `pii_edu.OpenAICompatible.v1` of `llm_models`.

    name (str): The model.
    endpoint (str): Address up to and with "/v1"; a local server's too.
    key_env (str): Environment variable with the key; "" for none.
    config (dict | None): More for the request's body; temperature 0 and top_p 1 unless given (JEDM paper, section 3.2).
    allow_remote (bool): Whether text may leave this machine.
    tries (int): Of one call; the client waits between them, as long as the server asks for.
    timeout (float): Seconds for one try.
    concurrency (int): Calls at a time.
    context_length (int): Tokens for prompt and answer together.
    RAISES (PiiError): E005, E746, E747, E911.
    """

    def __init__(
        self,
        name: str,
        endpoint: str = "https://api.openai.com/v1",
        key_env: str = "OPENAI_API_KEY",
        config: dict[str, Any] | None = None,
        allow_remote: bool = False,
        tries: int = 6,
        timeout: float = 120.0,
        concurrency: int = 4,
        context_length: int = 16_384,
    ) -> None:
        self.host = host_of(endpoint)
        key = os.environ.get(key_env, "").strip()
        if key_env and not key:
            raise PiiError(Errors.E746, name=self.host, missing=key_env)
        is_here = is_local(self.host)
        if not (is_here or allow_remote):
            raise PiiError(Errors.E911, host=self.host)
        super().__init__(Usage(name, self.host, is_here), context_length)
        self._body = {"temperature": 0, "top_p": 1, **(config or {})}
        self._concurrency = concurrency
        if find_spec("openai") is None:
            raise PiiError(Errors.E005, package="openai", what="models on a server", extra="llm")
        import openai

        self._client = openai.OpenAI(
            base_url=endpoint,
            api_key=key or "none",
            max_retries=tries - 1,
            timeout=timeout,
            # What is for this machine goes through no proxy.
            http_client=openai.DefaultHttpxClient(trust_env=not is_here),
        )

    def answer(self, prompts: list[str]) -> list[Reply]:
        """Up to `concurrency` calls at a time. RAISES (PiiError): E748, for what would fail every call."""
        with ThreadPoolExecutor(self._concurrency) as pool:
            answers = pool.map(self._one, prompts)  # an error calls off what has not begun
            return [
                self.counted(prompt, *found) for prompt, found in zip(prompts, answers, strict=True)
            ]

    def _one(self, prompt: str) -> tuple[Reply, Any]:
        """RETURNS (tuple): The reply, and the server's count of tokens, if it gave one."""
        messages: Any = [{"role": "user", "content": prompt}]
        if isinstance(prompt, Prompt):
            messages = list(prompt.messages)
        try:
            answer = self._client.chat.completions.create(
                model=self.usage.model, messages=messages, extra_body=self._body
            )
            return reply_of(answer), answer.usage
        except Exception as err:  # its message may quote the text
            status = getattr(err, "status_code", None)
            if status in _FATAL:
                reason = "its key, its model or its address"
                raise PiiStop(
                    Errors.E748, service=self.host, what="a text", status=status, reason=reason
                ) from None
            is_filtered = getattr(err, "code", None) == "content_filter"
            return Reply(code="E915" if is_filtered else "E914"), None


def reply_of(answer: Any) -> Reply:
    """RETURNS (Reply): What stands in a chat completion; E914, if it is not of that form."""
    choice = answer.choices[0]
    if choice.message.refusal or choice.finish_reason == "content_filter":
        return Reply(code="E915")
    content = choice.message.content
    return Reply(content) if isinstance(content, str) else Reply(code="E914")


class Panel(ChatModel):
    """Several models, or one several times; a reply carries every vote. Registered as `pii_edu.Panel.v1` of `llm_models`.

    models (dict): Name -> a model, [components.llm.model.models.first] and so on.
    calls (int): Of each.
    """

    def __init__(
        self,
        models: dict[str, Callable[[Iterable[Iterable[Any]]], Iterable[Iterable[Any]]]],
        calls: int = 1,
    ) -> None:
        self.models: list[Any] = [models[name] for name in sorted(models)]
        self._calls = calls
        lengths = [model.context_length for model in self.models if model.context_length]
        super().__init__(self.models[0].usage, min(lengths, default=None))

    def usages(self) -> list[Usage]:
        return [usage for model in self.models for usage in model.usages()]

    def rehearse(self) -> None:
        for model in self.models:
            model.rehearse()

    def __call__(self, prompts: Iterable[Iterable[Any]]) -> Iterable[Iterable[Any]]:
        asked = [list(some) for some in prompts]
        rounds = [model(asked) for model in self.models for _ in range(self._calls)]
        found = []
        for of_document in zip(*rounds, strict=True):
            found.append([Reply(votes=votes) for votes in zip(*of_document, strict=True)])
        return found


# As setup.cfg registers them.
make_openai_compatible, make_panel = OpenAIModel, Panel
