"""docs/explanation/architecture.md names files and functions that are there, and every room of the package."""

import re
from configparser import ConfigParser
from importlib.metadata import distribution, distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/explanation/architecture.md"


def test_every_step_is_where_the_page_says():
    named = re.findall(r"`([\w/]+\.py): (\w+)`", PAGE.read_text("utf8"))
    assert len(named) > 15
    for file, name in named:
        source = (ROOT / "pii_components" / file).read_text("utf8")
        assert re.search(rf"^(?:def |class )?{name}\b", source, re.MULTILINE), (file, name)


def test_every_room_stands_in_the_drawing():
    drawing = PAGE.read_text("utf8").split("```")[1]
    rooms = {path.parent.name for path in (ROOT / "pii_components").glob("*/__init__.py")}
    assert rooms == set(re.findall(r"^  (\w+) ─", drawing, re.MULTILINE)) - {"root"}


def test_each_package_that_is_installed_is_imported_where_the_page_says():
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", "utf8")
    core = {re.split(r"[><=]", line)[0] for line in config["options"]["install_requires"].split()}
    table = PAGE.read_text("utf8").partition("## What it needs")[2]
    rows = re.findall(r"^\| ([a-z\d, -]+) \| (.+?) \|", table, re.MULTILINE)
    named = {
        package: re.findall(r"`(.+?)`", files)
        for packages, files in rows[1:]
        for package in packages.split(", ")
    }
    assert set(named) == core
    for package, files in named.items():
        module = package.replace("-", "_").removesuffix("lite")  # of phonenumbers
        imports = re.compile(rf"^\s*(?:import|from) {module}\b", re.MULTILINE)
        assert any(
            imports.search((ROOT / "pii_components" / file).read_text("utf8")) for file in files
        ), package


def test_no_package_is_pinned_and_lgpl_is_named():
    """Exact versions stand in constraints.txt; in setup.cfg they would break a user's environment."""
    config = ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg", "utf8")
    core = config["options"]["install_requires"].split()
    extras = " ".join(config["options.extras_require"].values()).split()
    assert not [line for line in core + extras if "==" in line]
    assert {"cryptography>=42.0.4", "jinja2>=3.1.6"} <= set(core)
    page = PAGE.read_text("utf8")
    asked = [line for line in core + extras if not line.startswith("%")]
    seen = set[str]()
    while asked:
        name = re.match(r"[\w-]+", asked.pop())[0].lower()
        if name in seen or not list(distributions(name=name)):
            continue
        seen.add(name)
        about = distribution(name)
        told = about.metadata.get_all("Classifier") or []
        told += (about.metadata["License-Expression"] or about.metadata["License"] or "").split(
            "\n"
        )[:1]
        assert name in page or not re.search(r"\bL?GPL|Lesser General", " ".join(told)), name
        asked += [line for line in about.requires or () if "extra ==" not in line]
    assert "nameparser" in seen
