"""Keys and the chance that comes from them."""

import hmac

import pytest

from pii_components.errors import PiiError
from pii_components.surrogates.keys import Chance, load_key, pick, random_key


def test_key_from_a_file(tmp_path, monkeypatch):
    monkeypatch.setenv("PII_EDU_KEY", "another key, which a file overrides")
    path = tmp_path / "key"
    path.write_bytes(b"  sixteen bytes at least \n")
    assert load_key(path=path) == b"sixteen bytes at least"


def test_key_from_the_environment(monkeypatch):
    monkeypatch.setenv("PII_EDU_KEY", "sixteen bytes at least\n")
    assert load_key() == b"sixteen bytes at least"
    monkeypatch.setenv("OURS", "a key of our own naming")
    assert load_key(env="OURS") == b"a key of our own naming"


def test_no_key(monkeypatch):
    monkeypatch.delenv("PII_EDU_KEY", raising=False)
    assert load_key() is None
    assert load_key(env=None) is None


def test_wrong_keys(tmp_path, monkeypatch):
    with pytest.raises(PiiError) as err:
        load_key(path=tmp_path / "none")
    assert err.value.code == "E401"
    monkeypatch.setenv("PII_EDU_KEY", "short")
    with pytest.raises(PiiError) as err:
        load_key()
    assert err.value.code == "E402"
    assert "short" not in str(err.value)


def test_random_keys_differ():
    assert random_key() != random_key()


def test_chance_depends_on_everything_it_is_given():
    base = Chance(b"k" * 16, "corpus")
    streams = [
        base.rng("EMAIL", "a"),
        base.rng("EMAIL", "b"),
        base.rng("PHONE_NUM", "a"),
        base.rng("EMAIL", "a", attempt=1),
        Chance(b"j" * 16, "corpus").rng("EMAIL", "a"),
        Chance(b"k" * 16, "thread:1").rng("EMAIL", "a"),
        base.rng("EMAI", "La"),
    ]
    assert len({s.random() for s in streams}) == len(streams)
    assert base.rng("EMAIL", "a").random() == Chance(b"k" * 16, "corpus").rng("EMAIL", "a").random()


def test_key_is_not_shown():
    assert "kkkk" not in repr(Chance(b"k" * 16, "corpus"))


def test_known_number():
    # Pins the derivation: a change here changes every surrogate of every user.
    assert (
        round(Chance(b"0123456789abcdef", "corpus").rng("EMAIL", "ana@example.org").random(), 12)
        == 0.972087185012
    )


def test_pick_uses_every_option():
    rng = Chance(b"k" * 16, "x").rng("a", "b")
    assert {pick(rng, "abc") for _ in range(60)} == set("abc")


@pytest.mark.parametrize("key", [b"k" * 16, b"k" * 64, b"k" * 65, bytes(range(200))])
def test_digests_are_hmac_sha256(key):
    def message(*parts):
        return b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in parts)

    chance = Chance(key, "corpus")
    assert chance.digest("a", "é") == hmac.digest(key, message("a", "é"), "sha256")
    assert chance.rng("EMAIL", "zoë", attempt=3).seed == hmac.digest(
        key, message("corpus", "EMAIL", "zoë", "3"), "sha256"
    )
    assert chance.within("x").order("a") == hmac.digest(key, message("x", "order", "a"), "sha256")
