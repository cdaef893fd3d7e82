"""What takes how much in an environment."""

from scripts.sizes import bytes_in, packages_in


def test_a_package_is_all_its_files(tmp_path):
    for name, size in (("one", 10), ("two", 300)):
        info = tmp_path / f"{name}-1.dist-info"
        (tmp_path / name).mkdir()
        info.mkdir()
        (tmp_path / name / "module.py").write_bytes(bytes(size))
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (info / "RECORD").write_text(f"{name}/module.py,,\n{name}/gone.py,,\n")
    assert packages_in(tmp_path) == {"two": 300, "one": 10}
    assert bytes_in(tmp_path / "one", tmp_path / "two" / "module.py") == 310
