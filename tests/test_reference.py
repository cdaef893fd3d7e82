"""The reference is whole: every public name, config key and code is on the site, and says what it is for.

A module with `__all__` is public, and what stands in it. Nothing here needs mkdocs.
"""

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

from pii_components.errors import Errors, Warnings
from pii_components.labels import LABELS
from pii_components.profiles import shipped_profiles
from scripts import reference

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def public_modules():
    """RETURNS (dict[str, Path]): Name and file of each module with `__all__`, but for the command line's."""
    found = {}
    for path in sorted((ROOT / "pii_components").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if re.search(r"^__all__ = ", path.read_text("utf8"), re.MULTILINE) and "cli" not in parts:
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


MODULES = public_modules()
CODES = [
    (code, getattr(group, code))
    for group in (Errors, Warnings)
    for code in vars(group)
    if re.fullmatch(r"[EW]\d{3}", code)
]


def public(name):
    """RETURNS (dict): What a public module gives."""
    module = import_module(name)
    return {each: getattr(module, each) for each in module.__all__}


def told_of_constants(path):
    """RETURNS (set[str]): Names that a string right behind them describes."""
    body = ast.parse(path.read_text("utf8")).body
    pairs = zip(body, body[1:])
    return {
        one.target.id
        for one, then in pairs
        if isinstance(one, ast.AnnAssign)
        and isinstance(then, ast.Expr)
        and isinstance(then.value, ast.Constant)
    }


def members(made):
    """YIELDS (tuple[str, object]): The public methods and properties that a class itself has."""
    for name, member in vars(made).items():
        if isinstance(member, classmethod | staticmethod):
            member = member.__func__
        if not name.startswith("_") and (
            inspect.isfunction(member) or isinstance(member, property)
        ):
            yield name, getattr(made, name)


def test_every_public_module_is_on_the_page():
    page = (DOCS / "reference/python.md").read_text("utf8")
    assert set(re.findall(r"^::: (\S+)$", page, re.MULTILINE)) == set(MODULES)


def test_every_attribute_of_ours_is_on_the_page():
    """What our factories add to Doc and Span when spaCy is asked for one."""
    from spacy.tokens.underscore import Underscore

    import pii_components.factories  # noqa: F401

    page = (DOCS / "reference/python.md").read_text("utf8")
    told = re.findall(r"^\| `(doc|span)\._\.(\w+)` \|", page, re.MULTILINE)
    for kind, known in (("doc", Underscore.doc_extensions), ("span", Underscore.span_extensions)):
        assert {name for of, name in told if of == kind} <= set(known)
        assert {name for name in known if name.startswith("pii_")} <= {name for _, name in told}


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_has_a_docstring(name):
    constants = {"__version__", *told_of_constants(MODULES[name])}
    for title, made in public(name).items():
        if inspect.isclass(made):
            assert made.__doc__ and "(*args, **kwargs)" not in made.__doc__, title
            # What overrides a documented method of spaCy's or Presidio's needs none.
            assert all(inspect.getdoc(member) for _, member in members(made)), title
        else:
            assert title in constants or (
                inspect.isfunction(inspect.unwrap(made)) and made.__doc__
            ), title


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_of_classes_tell_their_options(name):
    for title, made in public(name).items():
        if not inspect.isclass(made) or issubclass(made, Exception) or title == "Vault":
            continue  # a Vault is made by its class methods
        options = set(inspect.signature(made).parameters) - {"nlp", "vocab", "name"}
        told = f"{made.__doc__} {made.__init__.__doc__}"
        assert not {each for each in options if not re.search(rf"\b{each}\b", told)}, title


def test_what_pages_and_examples_import_is_public():
    pages = [ROOT / "README.md", *DOCS.rglob("*.md"), *(ROOT / "examples").glob("*")]
    for page in pages:
        text = page.read_text("utf8")
        for module, names in re.findall(r"from (pii_components[\w.]*) import ([\w, ]+)", text):
            assert set(names.split(", ")) <= set(public(module)), (page.name, module, names)


def test_every_key_of_a_config_is_described():
    page = reference.config_page()  # raises for a key without a description
    for entries in reference.entry_points().values():
        assert all(f"### `{name}`" in page for name in entries)
    assert "| `class_weights` |" in page and "| `protect_recall` |" in page
    with pytest.raises(LookupError, match="'colour'"):
        reference.keys_of("paint", {"colour": ("str", "")}, {})


def test_every_record_of_settings_is_described():
    read = set()
    for path in (ROOT / "pii_components/cli").glob("*.py"):
        read |= set(re.findall(r"read_settings\(\s*(\w+Settings)\b", path.read_text("utf8")))
    assert read <= {record.__name__ for _, record in reference.RECORDS.values()}


def test_pages_have_every_command_label_profile_and_code():
    made = {name: make() for name, make in reference.PAGES.items()}
    commands = reference.typer.main.get_command(reference.app).commands
    assert all(f"## `pii-edu {name}`" in made["cli"] for name in commands)
    assert list(reference.LABEL_MEANINGS) == list(LABELS)
    assert all(f"`{label}`" in made["labels"] for label in LABELS)
    assert all(f"`{name}`" in made["profiles"] for name in shipped_profiles())
    assert all(f">{code}<" in made["errors"] for code, _ in CODES)


@pytest.mark.parametrize(("code", "message"), CODES)
def test_every_message_goes_on_after_what_is_wrong(code, message):
    assert re.search(r"[;:.] \S", message.removeprefix(f"[{code}] "))


def test_docstrings_become_lists():
    written = "Find spans.\n\nthreshold (float): Least\n    probability. least (int): Of tokens.\nRETURNS (list[Span]): Sorted. RAISES (PiiError): E002."
    assert reference.as_list(written) == (
        "Find spans.\n\n- **`threshold`** (`float`): Least\n    probability. least (int): Of tokens.\n"
        "- **Returns** (`list[Span]`): Sorted.\n- **Raises** (`PiiError`): E002."
    )
    told = {"threshold": ("float", "Least probability."), "least": ("int", "Of tokens.")}
    assert reference.arguments(written) == told
