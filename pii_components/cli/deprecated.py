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
    ("compare", "--list"): ("evaluate", "systems"),
    ("compare",): ("evaluate", "run"),
    ("version",): ("--version",),
}
GONE = {
    ("corpus", "assets"): "weasel assets . tells which files are there",
    ("utility",): "see scripts/utility.py of the repository",
    ("corpus", "chats"): "see scripts/chats.py of the repository",
    ("vault", "repair"): "deidentify --resume takes up what a crash has left",
    ("evaluate", "report"): "evaluate table prints metrics files",
}
# Of `pii-edu` itself: they stand before the command now.
GLOBAL = {"--debug": "--debug", "--quiet": "--quiet", "-q": "--quiet"}
# "--x": another option. "x=": a setting with the option's value. "x=true": a setting. "": not needed any more.
OPTIONS = {
    "--id-field": "--id-column",
    "--text-field": "--text-column",
    "--map": "--id-map",
    "--review-out": "--review-dir",
    "--pipeline": "--systems",
    "--labels-to": "labels_format=",
    "--spreadsheet-safe": "spreadsheet_safe=true",
    "--no-spreadsheet-safe": "spreadsheet_safe=false",
    "--strict": "strict=true",
    "--allow-remote": "allow_remote=true",
    "--vault-passphrase": "vault_passphrase=true",
    "--passphrase": "",
    "--header": "",
    "--new-passphrase": "",
    "--no-scenes": "scenes=false",
    "--scenes": "scenes=true",
    "--no-crapii": "crapii=false",
    "--crapii": "crapii=true",
    "--uncut": "uncut=true",
    "--reasoning": "reasoning=true",
    "--return-cited": "return_cited=true",
    "--from": "form=",
    "--show-leaks": "show_leaks=",
    "--analyzer-conf-file": "analyzer_conf_file=",
    "--allow-host": "allowed_hosts=",
}
_SETTINGS = (
    "id-column text-column encoding operating-point headers headers-out scope thread model batch-size report "
    "vault-key-file labels-out sweep ids llm prices engine workers text-source student-column time-column "
    "per-student max-bytes max-pages language min-words similarity keep contamination pool-below seed scale "
    "carriers perturbed profile splits resamples service vault nlp-conf-file recognizers time-limit "
    "max-waiting folds method part labels"
)
_SHOWN = {"no": "false", "screen": "true", "always": "true"}
OPTIONS |= {
    f"--{name}": name.replace("-", "_") + "="
    for name in _SETTINGS.split()
    if f"--{name}" not in OPTIONS
}


class TranslatingGroup(TyperGroup):
    """Reads a command line with old names as one with the new ones, and warns."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See `translate`."""
        return super().parse_args(ctx, translate(self, args))


def translate(group: Any, args: list[str]) -> list[str]:
    """RETURNS (list[str]): The arguments of `pii-edu`, with the new names."""
    for old, words in COMMANDS.items():
        if tuple(args[: len(old)]) == old:
            _warn(" ".join(old), "pii-edu " + " ".join(words))
            args = [*words, *args[len(old) :]]
    for old, instead in GONE.items():
        if tuple(args[: len(old)]) == old:
            say(f"'pii-edu {' '.join(old)}' is gone: {instead}")
    command, depth = group, 0
    while depth < len(args) and args[depth] in getattr(command, "commands", {}):
        command, depth = command.commands[args[depth]], depth + 1
    known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    if not depth or not known:
        return args
    first, rest = [], iter(args[depth:])
    translated = args[:depth]
    for word in rest:
        name, equals, value = word.partition("=")
        if name in GLOBAL and name not in known:
            _warn(name, f"pii-edu {GLOBAL[name]} {' '.join(args[:depth])} ...")
            first.append(GLOBAL[name])
            continue
        new = _new_name(name, known)
        if new is None:
            translated.append(word)
            continue
        if not equals and (new.startswith("--") or new.endswith("=")):
            value = next(rest, "")
        translated += _new_words(name, new, value)
    return first + translated


def _new_name(name: str, known: set[str]) -> str | None:
    """RETURNS (str | None): What an old option became; None if the command has it, or has nothing for it."""
    if name in known or name not in OPTIONS:
        return None
    new = OPTIONS[name]
    if new.startswith("--") and new not in known:
        new = OPTIONS.get(new, new)  # --id-field became --id-column, and that a setting
    if new.startswith("--") or not new:
        return new
    return new if "--config" in known else None


def _new_words(old: str, new: str, value: str) -> list[str]:
    if not new:
        _warn(old, "nothing: it is not needed any more")
        return []
    if new.startswith("--"):
        _warn(old, new)
        return [new, value]
    setting = new + (_SHOWN.get(value, value) if new == "show_leaks=" else value)
    _warn(old, f"--config {setting}, or '{new.partition('=')[0]}' in a run file (pii-edu init)")
    return ["--config", setting]


def _warn(old: str, new: str) -> None:
    say(f"'{old}' is an old name that the next version will not have; use {new}")
