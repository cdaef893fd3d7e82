"""Keys and the chance that comes from them."""

import hmac

import pytest

from pii_components.errors import PiiError, PiiWarning
from pii_components.surrogates.keys import SurrogateKey, check_key, load_key, random_key

K, J = b"k" * 16, b"j" * 16


def test_key_from_a_file(tmp_path, monkeypatch):
    monkeypatch.setenv("PII_EDU_KEY", "another key, which a file overrides")
    path = tmp_path / "key"
    path.write_bytes(b"  sixteen bytes at least \n")
    path.chmod(0o640)
    with pytest.warns(PiiWarning, match="W403"):
        assert load_key(path=path) == b"sixteen bytes at least"
    path.chmod(0o600)
    assert load_key(path=path) == b"sixteen bytes at least"


def test_key_from_the_environment(monkeypatch):
    monkeypatch.setenv("PII_EDU_KEY", "sixteen bytes at least\n")
    assert load_key() == b"sixteen bytes at least"
    monkeypatch.setenv("OURS", "a key of our own naming")
    assert load_key(env="OURS") == b"a key of our own naming"
    monkeypatch.delenv("PII_EDU_KEY")
    assert load_key() is load_key(env=None) is None


def test_wrong_keys(tmp_path, monkeypatch):
    with pytest.raises(PiiError, match="E401"):
        load_key(path=tmp_path / "none")
    for weak in (b"\0" * 16, b"k" * 64, b"ab" * 16):
        with pytest.raises(PiiError, match="E402"):
            check_key(weak, source="a test")
    monkeypatch.setenv("PII_EDU_KEY", "short")
    with pytest.raises(PiiError, match="E402") as err:
        load_key()
    assert "short" not in str(err.value)


def test_chance_depends_on_all_it_gets():
    base = SurrogateKey(K, "corpus")
    streams = [
        base.rng("EMAIL", "a"),
        base.rng("EMAIL", "b"),
        base.rng("PHONE_NUM", "a"),
        base.rng("EMAIL", "a", attempt=1),
        SurrogateKey(J, "corpus").rng("EMAIL", "a"),
        SurrogateKey(K, "thread:1").rng("EMAIL", "a"),
        base.rng("EMAI", "La"),
    ]
    assert len({s.random() for s in streams}) == len(streams)
    assert base.rng("EMAIL", "a").random() == SurrogateKey(K, "corpus").rng("EMAIL", "a").random()
    assert random_key() != random_key()
    assert "kkkk" not in repr(base)


def test_known_number():
    # Pins the derivation: a change here changes every surrogate of every user.
    rng = SurrogateKey(b"0123456789abcdef", "corpus").rng("EMAIL", "ana@example.org")
    assert round(rng.random(), 12) == 0.972087185012


@pytest.mark.parametrize("key", [K, b"k" * 64, b"k" * 65, bytes(range(200))])
def test_digests_are_hmac_sha256(key):
    def digest(*parts):
        message = b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in parts)
        return hmac.digest(key, message, "sha256")

    chance = SurrogateKey(key, "corpus")
    assert chance.digest("a", "é") == digest("a", "é")
    assert chance.rng("EMAIL", "zoë", attempt=3).seed == digest("corpus", "EMAIL", "zoë", "3")
    assert chance.within("x").order("a") == digest("x", "order", "a")
