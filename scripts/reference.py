"""The reference pages of the documentation, made from the code: mkdocs calls `on_files` at each build.

    mkdocs build --strict
    python -m scripts.reference labels           # prints one page

Nothing of these pages is written by hand: commands come from typer, labels from labels.py, profiles from their
TOML files, messages from errors.py. The Python API is made by mkdocstrings; `Blocks` turns our docstrings
(`threshold (float): Minimum probability.`, RETURNS, RAISES) into lists.
"""

import html
import re
import sys
from collections.abc import Callable, Iterable
from inspect import cleandoc
from typing import Any

import griffe
import typer.cli
import typer.main
from mkdocs.structure.files import File, Files

from pii_components import __version__
from pii_components.cli.app import app
from pii_components.cli.settings import run_file
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


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """RETURNS (str): A Markdown table."""
    lines = [list(head)]
    lines.append(["---"] * len(lines[0]))
    lines += [list(row) for row in rows]
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
    parts += ["## The run file", "What `pii-edu init` writes.", f"```toml\n{run_file()}```"]
    return "\n\n".join(parts)


PAGES: dict[str, Callable[[], str]] = {
    "cli": cli_page,
    "labels": labels_page,
    "profiles": profiles_page,
    "errors": errors_page,
}


def on_files(files: Files, config: Any) -> Files:
    """Hook of mkdocs: adds the pages to those in docs/."""
    for name, make in PAGES.items():
        files.append(File.generated(config, f"reference/{name}.md", content=make() + "\n"))
    return files


_ARGUMENT = re.compile(
    r"(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*) \((?P<type>[^()]*(?:\([^()]*\)[^()]*)*)\): "
)
_RESULT = re.compile(r"(?P<word>RETURNS|YIELDS|RAISES)\b(?: \((?P<type>[^()]*)\))?:? ?")


def as_list(docstring: str) -> str:
    """RETURNS (str): A docstring in our form as Markdown: each argument and result an item of a list."""
    lines = []
    for line in cleandoc(docstring).split("\n"):
        found = _RESULT.match(line) or _ARGUMENT.match(line)
        if found is None:
            lines.append(line)
            continue
        groups = found.groupdict()
        name = f"`{groups['names']}`" if "names" in groups else groups["word"].capitalize()
        kind = f" (`{groups['type']}`)" if groups["type"] else ""
        if lines and not lines[-1].startswith(("- ", "    ")):
            lines.append("")
        lines.append(f"- **{name}**{kind}: {line[found.end() :]}")
    return "\n".join(lines)


class Blocks(griffe.Extension):
    """Extension of griffe, which mkdocstrings reads the code with."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of each object."""
        if obj.docstring is not None:
            obj.docstring.value = as_list(obj.docstring.value)


if __name__ == "__main__":
    sys.stdout.write(PAGES[sys.argv[1]]() + "\n")
