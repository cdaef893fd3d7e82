"""Names of commands and options up to 0.12, which work for one version and tell the new one.

TO BE TAKEN OUT IN THE NEXT VERSION: delete this file and `cls=TranslatingGroup` in app.py.

    ["deidentify", "a.csv", "--sweep", "hide"] -> ["deidentify", "a.csv", "--config", "sweep=hide"]
    ["compare", "gold.jsonl", "--quiet"]       -> ["--quiet", "evaluate", "run", "gold.jsonl"]

A name is old only where the command that was asked for does not have it.
"""

from typing import Any

from typer.core import TyperGroup

from .common import say

COMMANDS = {
    "compare --list": "evaluate systems",
    "compare": "evaluate run",
    "version": "--version",
    "vault repair": "vault verify --repair",
}
GONE = {
    "corpus assets": "weasel assets . tells which files are there",
    "utility": "see scripts/utility.py of the repository",
    "corpus chats": "see scripts/chats.py of the repository",
    "evaluate report": "evaluate table prints metrics files",
}
UNNEEDED = ("--passphrase", "--new-passphrase", "--header")
GLOBAL = ("--debug", "--quiet", "-q")
# "--x": another option. "x=": a setting with the option's value. "x=true": a setting.
OPTIONS = {
    "--id-field": "--id-column",
    "--text-field": "--text-column",
    "--map": "--id-map",
    "--review-out": "--review-dir",
    "--pipeline": "--systems",
    "--no-spreadsheet-safe": "spreadsheet_safe=false",
    "--no-scenes": "scenes=false",
    "--no-crapii": "crapii=false",
    "--from": "form=",
    "--allow-host": "allowed_hosts=",
    "--return-cited": "cited=own",
}
_FLAGS = "strict allow-remote uncut reasoning"
_SETTINGS = (
    "id-column text-column encoding operating-point headers headers-out scope thread model batch-size report "
    "vault-key-file labels-out sweep ids llm prices engine workers text-source student-column time-column "
    "per-student max-bytes max-pages language min-words similarity keep contamination pool-below seed scale "
    "carriers perturbed profile splits resamples service vault recognizers time-limit analyzer-conf-file "
    "folds method part labels"
)
OPTIONS |= {f"--{name}": name.replace("-", "_") + "=true" for name in _FLAGS.split()}
OPTIONS |= {f"--{name}": name.replace("-", "_") + "=" for name in _SETTINGS.split()}


class TranslatingGroup(TyperGroup):
    """Reads a command line with old names as one with the new ones, and warns."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See `translate`."""
        return super().parse_args(ctx, translate(self, args))


def translate(group: Any, args: list[str]) -> list[str]:
    """RETURNS (list[str]): The arguments of `pii-edu`, with the new names."""
    for old, new in (COMMANDS | GONE).items():
        words = old.split()
        if args[: len(words)] != words:
            continue
        if old in GONE:
            say(f"'pii-edu {old}' is gone: {new}")
            return args
        _warn(old, f"pii-edu {new}")
        args = [*new.split(), *args[len(words) :]]
    command, depth = group, 0
    while depth < len(args) and args[depth] in getattr(command, "commands", {}):
        command, depth = command.commands[args[depth]], depth + 1
    known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    first: list[str] = []
    translated, rest = args[:depth], iter(args[depth:])
    for word in rest if depth else ():
        name, equals, value = word.partition("=")
        new = _new_name(name, known)
        if name in GLOBAL and name not in known:
            _warn(name, f"pii-edu {name} {' '.join(args[:depth])} ...")
            first.append(name)
        elif name in UNNEEDED and name not in known:
            _warn(name, "nothing")
        elif not new:
            translated.append(word)
        else:
            if not equals and not new.endswith(("true", "false", "own")):
                value = next(rest, "")
            translated += [new, value] if new.startswith("--") else ["--config", new + value]
            _warn(name, " ".join(translated[-2:]))
    return first + (translated if depth else args)


def _new_name(name: str, known: set[str]) -> str:
    """RETURNS (str): What an old option became; empty if the command has it, or has nothing for it."""
    new = "" if name in known else OPTIONS.get(name, "")
    if new.startswith("--") and new not in known:
        new = OPTIONS.get(new, "")  # --id-field became --id-column, and that a setting
    return new if new in known or "--config" in known else ""


def _warn(old: str, new: str) -> None:
    say(f"'{old}' is an old name that the next version will not have; use {new}")
