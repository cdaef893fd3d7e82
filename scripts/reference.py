"""The reference pages of the documentation, made from the code: mkdocs calls `on_files` at each build.

    mkdocs build --strict
    python -m scripts.reference config           # prints one page

Nothing of these pages is written by hand: commands come from typer, labels from labels.py, profiles from their
TOML files, messages from errors.py, config keys from signatures and docstrings. The Python API is made by
mkdocstrings: a module with `__all__` is public, and what stands in it. `Blocks` turns our docstrings
(`threshold (float): Minimum probability.`, RETURNS, RAISES) into lists.

A key or a public name without a description is an error of the build, and of tests/test_reference.py.
"""

import ast
import html
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from configparser import ConfigParser
from dataclasses import MISSING, fields
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import typer.cli
import typer.main
from spacy.language import Language

from pii_components import __version__
from pii_components.cli import corpus, evaluate, llm, serve, train
from pii_components.cli.app import app
from pii_components.cli.settings import RunSettings, run_file
from pii_components.context.view import ContextSettings
from pii_components.errors import Errors, Warnings
from pii_components.labels import (
    DIRECT_LABELS,
    LABELS,
    NAME_LABELS,
    PRESIDIO_ENTITIES,
    PRIORITY,
    ROLES,
    role_of,
)
from pii_components.profiles import ACTIONS, Profile, shipped_profiles
from pii_components.release.day import Choices

try:
    from griffe import Extension
except ImportError:  # tests read the pages without what makes the site
    Extension = object  # type: ignore[assignment,misc]

ROOT = Path(__file__).resolve().parents[1]
# Ranges of error codes, as errors.py has them.
RANGES = {
    "0": "Core",
    "1": "pii_ner",
    "2": "pii_ruler",
    "3": "pii_context",
    "4": "Surrogates and vault",
    "5": "Command line and files",
    "6": "Corpus",
    "7": "Evaluation",
    "8": "Presidio",
    "9": "Language models",
}
LABEL_MEANINGS = {
    "NAME_STUDENT": "the writer, members of the writer's group, and classmates",
    "NAME_INSTRUCTOR": "the writer's teachers, tutors and coaches",
    "NAME_CONNECTED": "other private people in the writer's life: family, friends, colleagues",
    "NAME_CITED": "authors, scientists, public figures, people quoted from a text",
    "NAME_CHARACTER": "invented people: personas, figures of a story, names in an exercise",
    "EMAIL": "e-mail addresses",
    "USERNAME": "user names and handles",
    "ID_NUM": "student numbers and other numbers of one person",
    "PHONE_NUM": "telephone numbers",
    "URL_PERSONAL": "pages, profiles and repositories of a private person",
    "STREET_ADDRESS": "street and house, with town and post code if they follow; a PO box; coordinates",
    "IP_ADDRESS": "address of a computer in a network (IPv4, IPv6) or of its card (MAC)",
    "AGE": "ages of private people",
    "DATE": "dates of a private life: born, moved, began a job",
    "LOCATION": "places and nationalities of private people",
    "EDUCATION": "schools, universities and degrees of private people",
    "EMPLOYER": "workplaces of private people",
    "OTHER": "anything else that could point to one person",
}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """RETURNS (str): A Markdown table. mkdocs loads this file alone, so `scripts.common` has the same."""
    lines = (head, ["---"] * len(head), *rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def code(text: str) -> str:
    """RETURNS (str): A text as code that a table's cell can hold."""
    return f"<code>{html.escape(text, quote=False).replace('|', '&#124;')}</code>"


def labels_page() -> str:
    """Labels, roles and priorities."""
    rows = []
    for label in LABELS:
        kind = (
            "direct" if label in DIRECT_LABELS else "name" if label in NAME_LABELS else "indirect"
        )
        meaning = LABEL_MEANINGS.get(label, "")
        cells = (kind, role_of(label), str(PRIORITY[label]), f"`{PRESIDIO_ENTITIES[label]}`")
        rows.append((f"`{label}`", meaning, *cells))
    head = ("label", "what it marks", "kind", "role", "priority", "Presidio's entity")
    return "\n\n".join(
        (
            "# Labels and roles",
            "Here you can look up what each label marks, which role it carries, and which label wins.",
            f"A person's name has its role in its label. Roles: {', '.join(f'`{role}`' for role in ROLES)}.",
            "Direct identifiers point to one person by themselves; indirect ones do so together. "
            "Where two spans overlap, the label with the higher priority stays.",
            table(head, rows),
        )
    )


def profiles_page() -> str:
    """What each shipped profile does with each label."""
    profiles = [Profile.load(name) for name in shipped_profiles()]
    head = ("label", *(f"`{profile.name}`" for profile in profiles))
    rows = [(f"`{label}`", *(p.action(label) for p in profiles)) for label in LABELS]
    names = ("scope", "header", "locale", "reserved", "strategy", "pool", "length")
    settings = [(f"`{s}`", *(str(getattr(p, s)) for p in profiles)) for s in names]
    return "\n\n".join(
        (
            "# Profiles",
            "Here you can look up what each profile does with each label. "
            "[How to use and change a profile](../how-to/profiles.md) explains the actions.",
            "\n".join(f"- `{p.name}`: {p.description}" for p in profiles),
            f"Actions: {', '.join(f'`{action}`' for action in ACTIONS)}.",
            table(head, rows),
            "## Settings",
            table(("setting", *head[1:]), settings),
        )
    )


def errors_page() -> str:
    """Every code with its message, by room."""
    parts = [
        "# Errors and warnings",
        "Here you can look up a code that you were shown. Words in braces are filled in: file names, labels "
        "and numbers, never what a person wrote. `E` stops what you asked for; `W` is a warning.",
    ]
    for first, title in RANGES.items():
        rows = []
        for group, letter in ((Errors, "E"), (Warnings, "W")):
            codes = sorted(
                name for name in vars(group) if re.fullmatch(rf"{letter}{first}\d\d", name)
            )
            for name in codes:
                message = getattr(group, name).removeprefix(f"[{name}] ")
                message = message.replace("{{", "{").replace("}}", "}")
                rows.append((f'<span id="{name}">{name}</span>', code(message)))
        if rows:
            parts += [f"## {title}", table(("code", "message"), rows)]
    return "\n\n".join(parts)


def cli_page() -> str:
    """The commands, as typer documents them, and the run file."""
    command = typer.main.get_command(app)
    context: Any = typer.Context(command, info_name="pii-edu")  # type: ignore[arg-type]
    text = typer.cli.get_docs_for_click(obj=command, ctx=context, name="pii-edu")
    title = (
        f"# Command line\n\nHere you can look up every command and option of version {__version__}."
    )
    parts = [title, text.partition("\n")[2].strip()]
    parts += [
        "## The run file",
        "What `pii-edu init` writes; [Config keys](config.md) has it as a table, and what other commands take.",
        f"```toml\n{run_file()}```",
    ]
    return "\n\n".join(parts)


# --- what docstrings say of arguments

_ARGUMENT = re.compile(
    r"(?:^|(?<=\s))(?P<names>(?!RETURNS|YIELDS|RAISES)\*{0,2}\w+(?:, \*{0,2}\w+)*) \((?P<type>[^()\n]*(?:\([^()]*\)[^()]*)*)\): ",
    re.MULTILINE,
)
_RESULT = re.compile(
    r"(?:^|(?<=\s))(?P<word>RETURNS|YIELDS|RAISES)\b(?: \((?P<type>[^()]*)\))?:? ?"
)


def arguments(*docstrings: str | None) -> dict[str, tuple[str, str]]:
    """RETURNS (dict[str, tuple[str, str]]): Each argument that the docstrings describe, with its type and what it is."""
    told: dict[str, tuple[str, str]] = {}
    for docstring in docstrings:
        text = inspect.cleandoc(docstring or "")
        for found in _ARGUMENT.finditer(text):
            rest = text[found.end() :]
            ends = (_ARGUMENT.search(rest), _RESULT.search(rest), re.search(r"\n\s*\n", rest))
            about = rest[: min((end.start() for end in ends if end), default=len(rest))]
            for name in found["names"].split(", "):
                told[name.lstrip("*")] = found["type"], " ".join(about.split())
    return told


def as_list(docstring: str) -> str:
    """RETURNS (str): A docstring in our form as Markdown: each argument and result an item of a list."""
    lines = []
    for line in inspect.cleandoc(docstring).split("\n"):
        found = sorted(
            [*_ARGUMENT.finditer(line), *_RESULT.finditer(line)], key=lambda f: f.start()
        )
        found = [] if line.startswith(" ") else found  # an example, or how a line goes on
        if not found or found[0].start():
            lines.append(line[: found[0].start()].rstrip() if found else line)
        for one, end in zip(
            found, [*(later.start() for later in found[1:]), len(line)], strict=False
        ):
            groups = one.groupdict()
            name = f"`{groups['names']}`" if "names" in groups else groups["word"].capitalize()
            kind = f" (`{groups['type']}`)" if groups["type"] else ""
            if lines and lines[-1] and not lines[-1].startswith(("- ", "    ")):
                lines.append("")
            lines.append(f"- **{name}**{kind}: {line[one.end() : end].rstrip()}")
    return "\n".join(lines)


# --- config keys


class Key(NamedTuple):
    """A row of a table: a setting, what it may be, what it is if nobody says, what it does."""

    name: str
    kind: str
    default: str
    about: str


# What takes `--config`, and the record that holds its settings; release.toml and profiles are read the same way.
RECORDS: dict[str, tuple[str, Any]] = {
    "ContextSettings": ("`settings` of `pii_context`.", ContextSettings),
    "Profiles": ("A TOML file for `--profile`, or for `profile` of `hips_surrogate`.", Profile),
    "Run files": (
        "`--config` of `deidentify`, `detect`, `reidentify`, `demo` and `llm estimate`.",
        RunSettings,
    ),
    "release.toml": ("What `pii-edu release FOLDER` keeps in that folder.", Choices),
    "corpus convert": ("`--config` of `pii-edu corpus convert`.", corpus.ReadingSettings),
    "corpus clean": ("`--config` of `pii-edu corpus clean`.", corpus.CleanSettings),
    "corpus build": ("`--config` of `pii-edu corpus build`.", corpus.BuildSettings),
    "corpus split": ("`--config` of `pii-edu corpus split`.", corpus.SplitSettings),
    "init-train": ("`--config` of `pii-edu init-train`.", train.TrainSettings),
    "evaluate run": ("`--config` of `pii-edu evaluate run`.", evaluate.ScoreSettings),
    "llm export": ("`--config` of `pii-edu llm export`.", llm.ExportSettings),
    "serve": (
        "`--config` of `pii-edu serve`; in a server of your own, `PII_EDU_SERVE_MODEL` and so on.",
        serve.ServerSettings,
    ),
}
_NO_KEYS = ("console_scripts", "spacy_models", "spacy_displacy_colors")


def entry_points() -> dict[str, dict[str, str]]:
    """RETURNS (dict[str, dict[str, str]]): What setup.cfg registers and a config can name: group -> name -> "module:function"."""
    config = ConfigParser(interpolation=None)
    config.optionxform = str  # type: ignore[assignment,method-assign]
    config.read(ROOT / "setup.cfg", "utf8")
    found = {}
    for group, lines in config["options.entry_points"].items():
        if group not in _NO_KEYS:
            found[group] = dict(line.split(" = ") for line in lines.strip().split("\n"))
    return found


def docstrings(module: str, name: str) -> list[str]:
    """RETURNS (list[str]): Those of a component's module, class and constructor; not imported, since that may need an extra."""
    path = (ROOT / module.replace(".", "/")).with_suffix(".py")
    tree = ast.parse(path.read_text("utf8"))
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            inner = [part for part in node.body if getattr(part, "name", "") == "__init__"]
            return [ast.get_docstring(part) or "" for part in (tree, node, *inner)]  # type: ignore[arg-type]
    raise LookupError(f"{module} has no class {name}")


def shown(value: Any) -> str:
    """RETURNS (str): A default, as a config writes it; of a registered function its name."""
    if value in (inspect.Parameter.empty, MISSING):
        return "must be given"
    if isinstance(value, dict) and any(key.startswith("@") for key in value):
        value = next(value[key] for key in value if key.startswith("@"))
        return code(value)
    return code(json.dumps(value if not isinstance(value, tuple) else list(value), default=str))


def keys_of(
    what: str, named: Mapping[str, tuple[str, Any]], told: Mapping[str, tuple[str, str]]
) -> list[Key]:
    """The rows of a table.

    what (str): For the error. named (Mapping): Key -> type, default. told (Mapping): Key -> type, what it does.
    RAISES (LookupError): For a key that no docstring describes.
    """
    rows = []
    for name, (kind, default) in named.items():
        if not told.get(name, ("", ""))[1]:
            raise LookupError(f"{what} does not say what '{name}' does")
        rows.append(Key(name, told[name][0] or kind, shown(default), told[name][1]))
    return rows


def registered(group: str, name: str, value: str) -> tuple[str, list[Key]]:
    """RETURNS (tuple[str, list[Key]]): What something registered is, and its keys; a factory's as its component has them."""
    module, _, attribute = value.partition(":")
    made = getattr(import_module(module), attribute)
    docs = [made.__doc__ or "", made.__init__.__doc__ or "" if inspect.isclass(made) else ""]
    defaults: Mapping[str, Any] = {}
    given: tuple[str, ...] = ()
    if group == "spacy_factories":
        given = ("nlp", "name", "doc")
        defaults = (
            Language.get_factory_meta(name).default_config if Language.has_factory(name) else {}
        )
        component = re.search(r"from (\.[\w.]+) import ([A-Z]\w+)", inspect.getsource(made))
        own = made.__doc__ or ""
        docs = (
            [*docstrings(f"pii_components{component[1]}", component[2]), own] if component else docs
        )
    named = {}
    for key, parameter in inspect.signature(made).parameters.items():
        if key not in given:
            kind = inspect.formatannotation(parameter.annotation)
            named[key] = kind, defaults.get(key, parameter.default)
    return docs[0], keys_of(name, named, arguments(*docs))


def keys_of_record(record: Any) -> list[Key]:
    """RETURNS (list[Key]): The fields of a record of settings; those of a run file have a comment there, others are in docstrings."""
    told = arguments(*(base.__doc__ for base in reversed(record.__mro__)))
    named = {}
    for setting in fields(record):
        if record is RunSettings and not setting.metadata["about"]:
            continue  # of one call
        kind = (
            setting.type
            if isinstance(setting.type, str)
            else inspect.formatannotation(setting.type)
        )
        default = (
            setting.default if setting.default_factory is MISSING else setting.default_factory()
        )
        named[setting.name] = kind, default
        if about := setting.metadata.get("about"):
            told[setting.name] = kind, about
    return keys_of(record.__name__, named, told)


def summary(docstring: str) -> str:
    """RETURNS (str): The first paragraph of a docstring, without name, arguments and results; else what is returned."""
    text = re.sub(r"^`\w+`: ", "", inspect.cleandoc(docstring))
    head = text[
        : min(
            [found.start() for p in (_ARGUMENT, _RESULT) if (found := p.search(text))]
            or [len(text)]
        )
    ]
    result = _RESULT.match(text)
    text = text[result.end() :] if result and not head.strip() else head
    text = re.sub(r"\s+", " ", text.strip().partition("\n\n")[0])
    return text[:1].upper() + text[1:]


def as_table(keys: Iterable[Key]) -> str:
    """RETURNS (str): A table of keys."""
    rows = []
    for key in keys:
        parts = enumerate(key.about.replace("|", "\\|").split("`"))  # each other one is code
        about = "`".join(part if i % 2 else html.escape(part, quote=False) for i, part in parts)
        rows.append((f"`{key.name}`", code(key.kind), key.default, about))
    return table(("key", "type", "default", "what it does"), rows)


def config_page() -> str:
    """Each key of what setup.cfg registers, and of each file of settings."""
    parts = [
        "# Config keys",
        "Here you can look up each key of a pipeline's config and of each file of settings: what it may be, what it is if "
        "nobody says, and what it does.",
        'A component of a loaded pipeline takes its keys by `spacy.load(..., config={"components.pii_ner.operating_point": '
        '"recall"})`. `null` means: as the pipeline was saved with, else the default that the last column tells.',
    ]
    for group, entries in entry_points().items():
        where = "factory" if group == "spacy_factories" else f"@{group.partition('_')[2]}"
        parts.append(f"## `{where}`")
        for name, value in entries.items():
            about, keys = registered(group, name, value)
            parts += [
                f"### `{name}`",
                summary(about),
                as_table(keys) if keys else "It has no keys.",
            ]
    for title, (where, record) in RECORDS.items():
        parts += [f"## {title}", where, as_table(keys_of_record(record))]
    return "\n\n".join(parts)


PAGES: dict[str, Callable[[], str]] = {
    "cli": cli_page,
    "config": config_page,
    "labels": labels_page,
    "profiles": profiles_page,
    "errors": errors_page,
}


def on_files(files: Any, config: Any) -> Any:
    """Hook of mkdocs: adds the pages to those in docs/."""
    from mkdocs.structure.files import File

    for name, make in PAGES.items():
        files.append(File.generated(config, f"reference/{name}.md", content=make() + "\n"))
    return files


class Blocks(Extension):
    """Extension of griffe, which mkdocstrings reads the code with."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of each object."""
        if obj.docstring is not None:
            obj.docstring.value = as_list(obj.docstring.value)


if __name__ == "__main__":
    sys.stdout.write(PAGES[sys.argv[1]]() + "\n")
