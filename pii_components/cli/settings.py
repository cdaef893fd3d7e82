"""Settings of a run: the run file, then `--config KEY=VALUE`, then options of the command.

    pii-edu init run.toml
    pii-edu deidentify essays.csv --config run.toml --config engine=ray

A key means the same in every command that takes `--config`.
"""

import json
from dataclasses import dataclass, fields
from typing import Any

from ..errors import Errors, PiiError
from ..labels import POINTS
from ..options import ABOVE_0, FROM_0, Settings, key
from ..profiles import HEADERS, SCOPES
from ..release import CPU, DEVICES, ENGINES, LOCAL, NAMINGS

MODEL = "en_pii_edu"
# What happens to surnames that were hidden in one text and stand in clear in another.
SWEEPS = REPORT, HIDE, OFF = ("report", "hide", "off")
NOT_IN_WORKERS = ("llm", "roster", "operating_point", "decisions", "code")


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
        "Processes that work, 300 MB of memory or more each; 0 for one a processor, where INPUT is long.",
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
