"""Models: a server that misbehaves spoils no other document; nothing leaves unasked; what was sent is counted."""

import json
from collections import Counter

import pytest

from pii_components.errors import PiiError
from pii_components.llm import Prompt, Reply
from pii_components.llm.models import (
    ChatModel,
    Prices,
    Usage,
    estimate,
    is_local,
    make_openai_compatible,
    make_panel,
    total,
)
from tests.llm.server import completion, serving

QUICK = {"key_env": "", "tries": 3, "timeout": 5.0}


@pytest.fixture(autouse=True)
def without_waits(monkeypatch):
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)


def echo(body, number):
    return completion("said " + body["messages"][-1]["content"])


def asking(answer, prompts=("one", "two", "three"), **settings):
    """RETURNS (tuple): Replies, the fake server, and the model."""
    with serving(answer) as (endpoint, fake):
        model = make_openai_compatible("m", endpoint, **(QUICK | settings))
        return [list(replies) for replies in model([[prompt] for prompt in prompts])], fake, model


def test_answers_come_in_the_order_of_the_prompts_however_long_they_take():
    def answer(body, number):
        return 200, echo(body, number), {}, 0.15 if number == 1 else 0

    prompts = [f"p{i}" for i in range(8)]
    replies, fake, model = asking(answer, prompts, concurrency=3)
    assert replies == [[f"said {prompt}"] for prompt in prompts]
    assert 1 < fake.most <= 3
    usage = model.usage
    assert (usage.calls, usage.tokens_in, usage.tokens_out) == (8, 56, 24)
    assert (usage.host, usage.local) == ("127.0.0.1", True)


def test_documents_with_many_prompts_and_with_none():
    with serving(echo) as (endpoint, _):
        model = make_openai_compatible("m", endpoint, **QUICK)
        assert model([["a", "b"], [], ["c"]]) == [["said a", "said b"], [], ["said c"]]
        assert model([]) == []


def said(content, **choice):
    return {"choices": [{"message": {"content": content} | choice.pop("message", {}), **choice}]}


@pytest.mark.parametrize(
    ("status", "body", "headers", "code", "calls"),
    [
        (500, {"error": {}}, {}, "E914", 5),
        (429, {"error": {}}, {}, "E914", 5),
        (400, {"error": {}}, {}, "E914", 3),
        (400, {"error": {"code": "content_filter"}}, {}, "E915", 3),
        (200, '{"choices": [{"mess', {}, "E914", 3),
        (200, "{}", {"X-Cut": "1"}, "E914", 5),
        (200, {"choices": []}, {}, "E914", 3),
        (200, said(None), {}, "E914", 3),
        (200, said(None, message={"refusal": "no"}), {}, "E915", 3),
        (200, said("x", finish_reason="content_filter"), {}, "E915", 3),
        (200, [], {}, "E914", 3),
    ],
)
def test_one_bad_answer_spoils_no_other(status, body, headers, code, calls):
    def answer(request, number):
        bad = status, body.encode() if isinstance(body, str) else body, headers
        return bad if request["messages"][-1]["content"] == "two" else echo(request, number)

    replies, fake, model = asking(answer)
    assert replies == [["said one"], [""], ["said three"]]
    assert replies[1][0].code == code and len(fake.asked) == calls
    assert model.usage.errors == {code: 1}


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_fails_every_call_ends_the_run_at_once(status):
    refusal = status, {"error": {"message": "Ana Lopez"}}
    with pytest.raises(PiiError) as err:
        asking(lambda body, number: refusal, [str(i) for i in range(50)], concurrency=2)
    assert err.value.code == "E748" and "Ana" not in str(err.value)


def test_what_is_sent(monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret")
    prompt = Prompt.of("be short", "hello", expected=5)
    more = {"max_tokens": 9, "temperature": 0.5}
    _, fake, model = asking(echo, [prompt], key_env="MY_KEY", config=more)
    path, headers, body, _ = fake.asked[0]
    sent = {name.lower(): value for name, value in headers.items()}
    assert (path, sent["authorization"]) == ("/v1/chat/completions", "Bearer secret")
    assert body == {"model": "m", "top_p": 1, "messages": list(prompt.messages)} | more
    assert "secret" not in repr(model.usage)


@pytest.mark.parametrize(
    ("endpoint", "code"),
    [
        ("https://api.openai.com/v1", "E911"),
        ("http://192.168.0.7:8000/v1", "E911"),
        ("http://127.0.0.1.example.com/v1", "E911"),
        ("file:///etc/passwd", "E747"),
        ("http://user:pw@127.0.0.1/v1", "E747"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_sent(endpoint, code):
    with pytest.raises(PiiError, match="E746"):
        make_openai_compatible("m", "http://127.0.0.1:9/v1", key_env="NO_SUCH_KEY")
    with pytest.raises(PiiError, match=code) as err:
        make_openai_compatible("m", endpoint, key_env="")
    assert "pw" not in str(err.value)


def test_which_hosts_are_this_machine():
    assert all(map(is_local, ("localhost", "127.0.0.1", "127.8.8.8", "::1")))
    assert not any(map(is_local, ("10.0.0.1", "localhost.example.com", "0.0.0.0", "")))


class Fixed(ChatModel):
    def __init__(self, said):
        super().__init__(Usage("fixed", "this machine", True), 1000)
        self.said = said

    def answer(self, prompts):
        return [self.counted(prompt, Reply(self.said)) for prompt in prompts]


def test_a_panel_brings_every_vote_and_every_count():
    panel = make_panel({"b": Fixed("F"), "a": Fixed("T")}, calls=2)
    ((reply,), none) = panel([["x"], []])
    assert (reply, list(reply.votes), none) == ("T", ["T", "T", "F", "F"], [])
    assert [usage.calls for usage in panel.usages()] == [2, 2] and panel.context_length == 1000


def test_a_dry_run_sends_nothing_and_estimates():
    with serving(echo) as (endpoint, fake):
        model = make_openai_compatible("gpt-4o-mini", endpoint, **QUICK)
        make_panel({"a": model}).rehearse()
        prompt = Prompt.of("s" * 398, "u" * 400, expected=401)
        ((reply,),) = model([[prompt]])
    assert fake.asked == [] and reply.code == "E919"
    assert (model.usage.tokens_in, model.usage.tokens_out, model.usage.guessed) == (200, 101, True)


def test_prices_and_the_sum_of_a_run(tmp_path):
    prices = Prices.load()
    for name in ("gpt-4o-mini", "gpt-4o-mini-2024-07-18"):
        assert prices.cost(name, 1_000_000, 500_000) == pytest.approx(0.15 + 0.30)
    usage = Usage("gpt-4o-mini", "api.openai.com", False, calls=1, tokens_in=1_000_000)
    local = Usage("any", "this machine", True, calls=1, errors=Counter(("E914",)))
    report = total([usage, local], prices, words=750_000)
    assert report["usd"] == report["usd_per_million_tokens"] == pytest.approx(0.15)
    assert [row["left_this_machine"] for row in report["models"]] == [True, False]
    assert report["models"][1]["errors"] == {"E914": 1} and json.dumps(report)
    unknown = Usage("mystery", "example.com", False)
    assert total([unknown], prices, words=10)["usd"] is None
    assert prices.cost("mystery", 1, 1) is None
    for price in ("{ in = -1, out = 2 }", "{ in = 1 }", "2", '"free"'):
        (tmp_path / "p.toml").write_text(f"[models]\nx = {price}\n")
        with pytest.raises(PiiError, match="E900"):
            Prices.load(tmp_path / "p.toml")
    assert [estimate(n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]
