"""Settings of a command: its run file, then `--config KEY=VALUE`, then its own options; checked once, then frozen.

    pii-edu init run.toml
    pii-edu deidentify essays.csv --config run.toml --config engine=ray

A key means the same in every command that takes `--config`. A key that no setting has is an error, so that
a slip of the pen ("profil") never releases a text under another profile.
"""

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from ..errors import Errors, PiiError, reason_of
from ..labels import POINTS
from ..profiles import HEADERS, SCOPES
from ..release import CPU, DEVICES, ENGINES, LOCAL, NAMINGS

MODEL = "en_pii_edu"
# What happens to surnames that were hidden in one text and stand in clear in another.
SWEEPS = REPORT, HIDE, OFF = ("report", "hide", "off")
NOT_IN_WORKERS = ("llm", "roster", "operating_point", "decisions", "code")
_KINDS = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    tuple: "a list of texts",
}
# A test that a number passes, and how an error calls it.
Limit = tuple[Callable[[float], bool], str]
ABOVE_0: Limit = (lambda value: value > 0, "a number above 0")
FROM_0: Limit = (lambda value: value >= 0, "0 or more")
Record = TypeVar("Record")


def key(
    default: Any,
    about: str = "",
    *,
    section: str = "",
    allowed: Sequence[str] = (),
    limit: Limit | None = None,
    needs: str = "",
) -> Any:
    """A setting.

    about (str): What `pii-edu init` writes above it. Without it the setting is for one call, not for a run file.
    section (str): Heading before it in the run file.
    allowed (Sequence[str]): The texts that it may be, where they are listed.
    limit (Limit | None): What a number must be.
    needs (str): Another setting that must be given with it.
    """
    rules = {"allowed": allowed, "limit": limit, "needs": needs}
    return field(default=default, metadata={"about": about, "section": section, **rules})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The base of the settings of a command: they check themselves.

    RAISES (PiiError): E473, E519, E650, if a value is not allowed.
    """

    def __post_init__(self) -> None:
        for setting in fields(self):
            name, value, rules = setting.name, getattr(self, setting.name), setting.metadata
            if value and rules["allowed"] and value not in rules["allowed"]:
                allowed = ", ".join(rules["allowed"])
                raise PiiError(Errors.E519, value=value, what=name, allowed=allowed)
            if rules["limit"] and not rules["limit"][0](value):
                raise PiiError(Errors.E650, name=name, value=value, allowed=rules["limit"][1])
            if rules["needs"]:
                need(value, name, getattr(self, rules["needs"]), rules["needs"])


@dataclass(frozen=True, kw_only=True)
class RunSettings(Settings):
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
    operating_point: str = key(
        "", "balanced, recall (hides more) or precision (keeps more).", allowed=POINTS
    )
    scope: str = key(
        "",
        "Equal values get equal surrogates in a document, a thread or the corpus. With a class list: corpus.",
        allowed=SCOPES,
    )
    thread: str = key("", 'Column that names the thread, for scope = "thread".')
    headers: str = key("", "Headers of assignments and posts: keep or remove.", allowed=HEADERS)
    sweep: str = key(
        "report",
        "Surnames hidden in one text, in clear in another: report, hide (reads INPUT twice) or off.",
        allowed=SWEEPS,
    )
    ids: str = key(
        "",
        "File names and IDs: keep or pseudonym. Empty: those that hold names change.",
        allowed=NAMINGS,
    )
    key_file: str = key(
        "", "Secret key (see pii-edu keygen), else PII_EDU_KEY. Same key, same surrogates."
    )
    model: str = key(MODEL, "Name or path of the pipeline.")
    code: str = key(
        "", "Python file that the pipeline needs: surrogates, names, components of your own."
    )
    llm: str = key("", "Language models too: a config of spacy-llm (docs/how-to/llm.md).")
    allow_remote: bool = key(
        False, "Texts may leave this machine for the servers that llm names.", needs="llm"
    )
    prices: str = key("", "Prices of the models (TOML); empty for those that ship.", needs="llm")
    out: str = key("", "OUTPUT; empty for <INPUT>.deidentified.", section="What is written")
    report: str = key("", "The report; empty for report.json beside OUTPUT, or in its folder.")
    labels_out: str = key("", "The new texts with labels, to train on. Form by its suffix.")
    id_map: str = key("", "Table of file names or IDs before and after. Not to be released.")
    headers_out: str = key("", "Table of the headers that were removed. Not to be released.")
    review_dir: str = key("", "Folder that gets what pii-edu review needs (no text).")
    vault: str = key("", "Encrypted file that gets the way back (see pii-edu reidentify).")
    vault_key_file: str = key(
        "",
        "Key of the vault, else PII_EDU_VAULT_KEY or PII_EDU_VAULT_PASSPHRASE, else key_file.",
        needs="vault",
    )
    batch_size: int = key(
        16, "Texts that are processed together.", section="How it runs", limit=ABOVE_0
    )
    strict: bool = key(False, "Stop at the first record that cannot be processed.")
    engine: str = key(
        LOCAL,
        "local, ray or spark (docs/how-to/large-corpora.md). The output is the same.",
        allowed=ENGINES,
    )
    workers: int = key(
        0,
        "Processes that work, .3 GB of memory or more each; 0 for one a processor, where INPUT is long.",
        limit=FROM_0,
    )
    device: str = key(
        CPU, "cpu, or cuda: a GPU reads (docs/how-to/large-corpora.md).", allowed=DEVICES
    )
    dry_run: bool = key(False)
    resume: bool = key(False)
    overwrite: bool = key(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.resume and self.overwrite:
            raise PiiError(Errors.E465, first="--resume", second="--overwrite")
        self.refuse_in_workers(self.device != CPU, f"device = {self.device}")
        for name in NOT_IN_WORKERS:
            self.refuse_in_workers(getattr(self, name), name)

    def refuse_in_workers(self, given: object, what: str) -> None:
        """RAISES (PiiError): E560, if it was asked for and the engine cannot do it."""
        if given and self.engine != LOCAL:
            raise PiiError(Errors.E560, engine=self.engine, what=what)

    @property
    def reading(self) -> dict[str, Any]:
        """How INPUT is read: options of `open_source`."""
        return {
            "text_field": self.text_column[0] if self.text_column else "",
            "more": list(self.text_column[1:]),
            "id_field": self.id_column,
            "drop": self.drop,
            "encoding": self.encoding,
            "spreadsheet_safe": self.spreadsheet_safe,
        }


def need(given: object, name: str, other: object, needed: str) -> None:
    """RAISES (PiiError): E473, if a setting was given without the one that it needs."""
    if given and not other:
        raise PiiError(Errors.E473, option=name, needed=needed)


def read_settings(record: type[Record], configs: Iterable[str] | None, **options: Any) -> Record:
    """The settings of one call.

    configs (Iterable[str] | None): Run files, or KEY=VALUE; a later one wins.
    options (Any): From the command line; None, False and "" mean that an option was not given.
    RAISES (PiiError): E501, E546, E650; what the record raises.
    """
    defaults = {setting.name: setting.default for setting in fields(record)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for config in configs or ():
        where, found = _read_config(config, defaults)
        for name, value in found.items():
            values[name] = _checked(name, value, defaults, where)
    for name, value in options.items():
        if value is not None and value is not False and value != "":
            values[name] = tuple(value) if isinstance(value, list) else value
    return record(**values)


def _read_config(config: str, defaults: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """RETURNS (tuple): How an error calls it, and what it says."""
    name, equals, text = config.partition("=")
    if equals:
        name = name.strip().replace("-", "_")
        return "--config", {name: _parse(text.strip(), defaults.get(name))}
    try:
        with open(config, "rb") as file:
            return f"'{config}'", tomllib.load(file)
    except OSError as err:
        raise PiiError(Errors.E501, what=f"'{config}'", reason=reason_of(err)) from None
    except ValueError:
        raise PiiError(Errors.E501, what=f"'{config}'", reason="it is no TOML in UTF-8") from None


def _parse(text: str, default: Any) -> Any:
    """The value of KEY=VALUE: a text as it is, a list with commas, else as TOML writes it."""
    if isinstance(default, tuple):
        return text.split(",")
    if isinstance(default, bool | int | float):
        with suppress(ValueError):  # of the wrong type, which `_checked` tells
            return tomllib.loads(f"value = {text}")["value"]
    return text


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
        about, section = setting.metadata["about"], setting.metadata["section"]
        if not about:
            continue
        if section:
            lines += ["", f"# --- {section}"]
        lines += [f"# {about}", f"{setting.name} = {json.dumps(setting.default)}"]
    return "\n".join(lines) + "\n"
