"""Settings of a command: its run file, then `--config KEY=VALUE`, then its own options; checked once, then frozen.

    pii-edu init run.toml
    pii-edu deidentify essays.csv --config run.toml --config engine=ray

A key means the same in every command that takes `--config`. A key that no setting has is an error, so that
a slip of the pen ("profil") never releases a text under another profile.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from ..errors import Errors, PiiError, reason_of
from ..files.labelled import FORMS
from ..labels import POINTS
from ..profiles import HEADERS, SCOPES
from ..release.columns import KEEP_IDS, PSEUDONYM
from ..release.scale import ENGINES, LOCAL

MODEL = "en_pii_edu"
# What happens to surnames that were hidden in one text and stand in clear in another.
SWEEPS = REPORT, HIDE, OFF = ("report", "hide", "off")
CHOICES: Mapping[str, tuple[str, ...]] = {
    "scope": SCOPES,
    "headers": HEADERS,
    "operating_point": POINTS,
    "sweep": SWEEPS,
    "ids": (KEEP_IDS, PSEUDONYM),
    "engine": ENGINES,
}
NEEDED = {
    "labels_format": "labels_out",
    "allow_remote": "llm",
    "prices": "llm",
    "vault_key_file": "vault",
    "vault_passphrase": "vault",
}
NOT_IN_WORKERS = ("llm", "roster", "operating_point", "decisions")
_KINDS = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    tuple: "a list of texts",
}
Settings = TypeVar("Settings")


def key(default: Any, about: str = "", *, section: str = "") -> Any:
    """A setting, with what `pii-edu init` writes above it. Without a comment it is for one call, not for a run file."""
    return field(default=default, metadata={"about": about, "section": section})


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What `pii-edu deidentify` is asked for; `detect` and `reidentify` use the part that says how files are read.

    RAISES (PiiError): E465, E473, E519, E560, E650, if settings do not fit together.
    """

    text_column: tuple[str, ...] = key(
        (),
        "Columns or fields that hold text. Where it has a usual name, one is found.",
        section="What is read",
    )
    id_column: str = key("", "Column or field that names a document.")
    keep: tuple[str, ...] = key(
        (), "Columns that are released as they are, though they look personal."
    )
    drop: tuple[str, ...] = key((), "Columns that are left out.")
    encoding: str = key("utf-8", "Encoding of input that is not Unicode; often cp1252.")
    spreadsheet_safe: bool = key(
        True, "Put an apostrophe before a cell that a spreadsheet would run: = + - @, tab."
    )
    roster: str = key(
        "", "Class list (CSV). Its names, e-mails and IDs are looked for in all texts."
    )
    decisions: str = key("", "Folder of a review whose decisions overrule what is found.")
    profile: str = key(
        "crapii",
        "What happens to each label: a name (see pii-edu profiles), or a TOML file.",
        section="What is done",
    )
    operating_point: str = key("", "balanced, recall (hides more) or precision (keeps more).")
    scope: str = key("", "Equal values get equal surrogates in a document, a thread or the corpus.")
    thread: str = key("", 'Column that names the thread, for scope = "thread".')
    headers: str = key("", "Headers of assignments and posts: keep or remove.")
    sweep: str = key(
        "report",
        "Surnames hidden in one text, in clear in another: report, hide (reads INPUT twice) or off.",
    )
    ids: str = key(
        "", "File names and IDs: keep or pseudonym. Empty: those that hold names change."
    )
    key_file: str = key(
        "", "Secret key (see pii-edu keygen), else PII_EDU_KEY. Same key, same surrogates."
    )
    model: str = key(MODEL, "Name or path of the pipeline.")
    llm: str = key("", "Language models too: a config of spacy-llm (docs/how-to/llm.md).")
    allow_remote: bool = key(False, "Texts may leave this machine for the servers that llm names.")
    prices: str = key("", "Prices of the models (TOML); empty for those that ship.")
    out: str = key("", "OUTPUT; empty for <INPUT>.deidentified.", section="What is written")
    report: str = key("", "The report; empty for report.json beside OUTPUT, or in its folder.")
    show_leaks: bool = key(False, "Show on the terminal, with context, what the sweep found.")
    labels_out: str = key("", "The new texts with labels, to train on. Form by its suffix.")
    labels_format: str = key(
        "", f"Form of labels_out: {', '.join(form.name for form in FORMS.values() if form.writer)}."
    )
    id_map: str = key("", "Table of file names or IDs before and after. Not to be released.")
    headers_out: str = key("", "Table of the headers that were removed. Not to be released.")
    review_dir: str = key("", "Folder that gets what pii-edu review needs (no text).")
    vault: str = key("", "Encrypted file that gets the way back (see pii-edu reidentify).")
    vault_key_file: str = key(
        "", "Key of the vault, else PII_EDU_VAULT_KEY or PII_EDU_VAULT_PASSPHRASE, else key_file."
    )
    vault_passphrase: bool = key(False, "Ask for a passphrase that locks the vault.")
    batch_size: int = key(16, "Texts that are processed together.", section="How it runs")
    strict: bool = key(False, "Stop at the first record that cannot be processed.")
    engine: str = key(
        LOCAL, "local, ray or spark (docs/how-to/large-corpora.md). The output is the same."
    )
    workers: int = key(0, "Processes of ray or spark; 0 for one a core.")
    dry_run: bool = key(False)
    resume: bool = key(False)
    overwrite: bool = key(False)

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if value and value not in allowed:
                raise PiiError(Errors.E519, value=value, what=name, allowed=", ".join(allowed))
        for name, needed in NEEDED.items():
            need(getattr(self, name), name, getattr(self, needed), needed)
        need(self.workers, "workers", self.engine != LOCAL, "engine = ray or spark")
        if self.resume and self.overwrite:
            raise PiiError(Errors.E465, first="--resume", second="--overwrite")
        if self.batch_size < 1:
            raise PiiError(
                Errors.E650, name="batch_size", value=self.batch_size, allowed="a number above 0"
            )
        for name in NOT_IN_WORKERS:
            self.refuse_in_workers(getattr(self, name), name)

    def refuse_in_workers(self, given: object, what: str) -> None:
        """RAISES (PiiError): E560, if it was asked for and the engine cannot do it."""
        if given and self.engine != LOCAL:
            raise PiiError(Errors.E560, engine=self.engine, what=what)


def need(given: object, name: str, other: object, needed: str) -> None:
    """RAISES (PiiError): E473, if a setting was given without the one that it needs."""
    if given and not other:
        raise PiiError(Errors.E473, option=name, needed=needed)


def read_settings(
    record: type[Settings], configs: Iterable[str] | None, **options: Any
) -> Settings:
    """The settings of one call.

    configs (Iterable[str] | None): Run files, or KEY=VALUE; a later one wins.
    options (Any): From the command line; None, False and "" mean that an option was not given.
    RAISES (PiiError): E501, E546, E650; what the record raises.
    """
    defaults = {setting.name: setting.default for setting in fields(record)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for config in configs or ():
        values.update(_read_config(config, defaults))
    for name, value in options.items():
        if value is not None and value is not False and value != "":
            values[name] = tuple(value) if isinstance(value, list) else value
    return record(**values)


def _read_config(config: str, defaults: Mapping[str, Any]) -> dict[str, Any]:
    if "=" in config:
        name, _, text = config.partition("=")
        name = name.strip().replace("-", "_")
        where, found = "--config", {name: _parse(text.strip(), defaults.get(name))}
    else:
        where, found = f"'{config}'", _read_toml(config)
    return {name: _checked(name, value, defaults, where) for name, value in found.items()}


def _read_toml(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as err:
        raise PiiError(Errors.E501, what=f"'{path}'", reason=reason_of(err)) from None
    except ValueError:
        raise PiiError(Errors.E501, what=f"'{path}'", reason="it is no TOML in UTF-8") from None


def _parse(text: str, default: Any) -> Any:
    """The value of KEY=VALUE: a text as it is, a list with commas, else as TOML writes it."""
    if default is None or isinstance(default, str):
        return text
    if isinstance(default, tuple):
        return text.split(",")
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        return text  # of the wrong type, which `_checked` tells


def _checked(name: str, value: Any, defaults: Mapping[str, Any], where: str) -> Any:
    if name not in defaults:
        raise PiiError(Errors.E546, key=name, where=where, allowed=", ".join(defaults))
    kind = type(defaults[name])
    if kind is float and type(value) is int:
        return float(value)
    if kind is tuple and isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(value)
    if type(value) is not kind:
        raise PiiError(
            Errors.E650,
            name=f"'{name}' of {where}",
            value=f"of type {type(value).__name__}",
            allowed=_KINDS[kind],
        )
    return value


def run_file() -> str:
    """RETURNS (str): A run file with every setting at its default, each under its comment."""
    lines = [
        "# Settings of pii-edu deidentify, detect and reidentify: pii-edu deidentify INPUT --config run.toml",
        "# Options on the command line win over these. Empty means: not given.",
    ]
    for setting in fields(RunSettings):
        if not setting.metadata["about"]:
            continue
        if setting.metadata["section"]:
            lines += ["", f"# --- {setting.metadata['section']}"]
        default = setting.default
        shown = list(default) if isinstance(default, tuple) else default
        lines += [f"# {setting.metadata['about']}", f"{setting.name} = {json.dumps(shown)}"]
    return "\n".join(lines) + "\n"
