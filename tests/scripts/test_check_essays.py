"""The check of the authored essays: what is broken, alike or outside of slots."""

from pathlib import Path

from pii_components.labels import ID_NUM, PHONE_NUM, STREET_ADDRESS, USERNAME
from scripts.check_essays import check
from tests.corpus.test_templates import write_essay

ASSETS = Path(__file__).parents[2] / "assets"
SAYS = "the river was low that spring and we walked across it on the stones with our shoes in our hands while {{friend.first}} sang"


def test_check_finds_copies_broken_slots_and_bare_names(tmp_path):
    write_essay(tmp_path, "one", f"At home {SAYS}.")
    write_essay(tmp_path, "two", f"In town {SAYS.replace('friend', 'student')}!")
    bare = "yesterday Maria Gomez rang from ana@example.org about the roof"
    write_essay(tmp_path, "three", f"Nothing here is like the others, and {bare}.")
    write_essay(tmp_path, "four", "A slot {{student.shoe}} that nobody knows")
    found = check(tmp_path)
    assert [(a, b) for a, b, _ in found.near] == [("one", "two")] and found.failed
    assert [err.code for err in found.broken] == ["E601"]
    assert found.names == {"three": ["Maria Gomez", "ana@example.org"]}
    assert (found.essays, found.clean, found.labels["NAME_CONNECTED"]) == (3, 1, 1)
    (tmp_path / "accepted_names.txt").write_text("Maria Gomez\nana@example.org\n", "utf8")
    assert not check(tmp_path).names


def test_short_texts_of_one_file_may_be_alike_on_purpose(tmp_path):
    for folder in ("essays", "scenes"):
        (tmp_path / folder).mkdir()
    scenes = {"k1": ("k1_000_a", "k1_001_b"), "m1": ("m1_c",)}
    for n, (name, idents) in enumerate(scenes.items()):
        texts = (f"id: {ident}\n---\nAs {ident} {SAYS}." for ident in idents)
        (tmp_path / "scenes" / f"{name}.txt").write_text("%%\n" + "\n%%\n".join(texts), "utf8")
        assert len(check(tmp_path).near) == 2 * n


def test_essay_in_another_encoding_is_named_and_the_others_are_checked(tmp_path):
    (tmp_path / "essays").mkdir()
    essay = "id: {}\n---\nI drew this map, naïve as it is.\n"
    (tmp_path / "essays" / "a.txt").write_bytes(essay.format("a").encode("latin-1"))
    # As an editor of Windows saves it.
    (tmp_path / "essays" / "b.txt").write_bytes(essay.format("b").encode("utf-8-sig"))
    found = check(tmp_path)
    assert [err.code for err in found.broken] == ["E501"] and "a.txt" in str(found.broken[0])
    assert found.essays == 1 and found.failed


def test_shipped_essays_pass_the_check_and_are_as_many_as_promised():
    found = check(ASSETS)
    assert not found.failed, (found.broken, found.near)
    assert not found.names, found.names
    assert found.essays >= 400 and found.clean >= 120
    assert all(
        found.labels[label] >= 60 for label in (USERNAME, STREET_ADDRESS, PHONE_NUM, ID_NUM)
    ), found.labels
