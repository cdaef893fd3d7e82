"""`pii-edu corpus chats`: redacted teacher-student chats, filled with people of ten groups."""

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ..corpus.chat_files import read_chats
from ..corpus.chat_table import load_table
from ..corpus.chats import CALLS, CASES, FilledChat, count_placeholders, make_chats
from ..corpus.culture_names import GROUPS
from ..corpus.records import reason_of
from ..errors import Errors, PiiError
from .guard import guard
from .show import console

EPILOG = (
    "What the placeholders stand for: pii_components/resources/chats/placeholders.toml. Exit codes: 0 all done; 2 refused, nothing "
    "was written; 130 interrupted, nothing was written."
)

InputOpt = Annotated[
    str, typer.Option("--input", help="Redacted chats: a .txt, .csv, .tsv, .jsonl or .json file, or a folder of them.")
]
PARTS = ("test", "rest")
OutOpt = Annotated[str, typer.Option("--out", help="JSON Lines: id, text, spans, gender, culture, and more.")]
PerGroupOpt = Annotated[
    int | None,
    typer.Option("--per-group", min=1, help="Chats of each group [as many as can be had with no chat in two groups]."),
]
SeedOpt = Annotated[int, typer.Option("--seed", help="Same seed, same chats.")]
SameOpt = Annotated[bool, typer.Option("--same-chats", help="The same chats in every group, so that only the names differ.")]
CalledOpt = Annotated[
    str, typer.Option("--called", help="What <STUDENT> alone becomes: first (name), or full (name) as in the JEDM paper.")
]
CaseOpt = Annotated[
    str, typer.Option("--case", help="written: names with capitals; surroundings: in lower case in a turn without capitals.")
]
PartOpt = Annotated[
    str, typer.Option("--part", help="test: only chats that say `part: test`; rest: only the others [all].", show_default=False)
]
TableOpt = Annotated[str, typer.Option("--placeholders", help="TOML file that adds placeholders to those that ship.")]
SpeakerOpt = Annotated[str, typer.Option("--speaker-column", help="Column of a table that says who speaks [a usual name].")]
TextOpt = Annotated[str, typer.Option("--text-column", "--text-field", help="Column of the turns [edited, or a usual name].")]
ChatOpt = Annotated[str, typer.Option("--chat-column", help="Column that tells the chats of a table apart [a file is a chat].")]
EncodingOpt = Annotated[str, typer.Option("--encoding", help="Encoding of the files; a byte order mark is seen without it.")]
ListOpt = Annotated[bool, typer.Option("--list", help="Show the placeholders and what they stand for; write nothing.")]
OverwriteOpt = Annotated[bool, typer.Option("--overwrite", help="Replace an OUT that exists.")]
QuietOpt = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DebugOpt = Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback, which may show text.")]


def chats(
    *,
    input_path: InputOpt = "assets/chats",
    out: OutOpt = "",
    per_group: PerGroupOpt = None,
    seed: SeedOpt = 46,
    same_chats: SameOpt = False,
    called: CalledOpt = "first",
    case: CaseOpt = "written",
    part: PartOpt = "",
    placeholders: TableOpt = "",
    speaker_field: SpeakerOpt = "",
    text_field: TextOpt = "",
    chat_field: ChatOpt = "",
    encoding: EncodingOpt = "utf-8",
    list_only: ListOpt = False,
    overwrite: OverwriteOpt = False,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Fill redacted chats with names of each gender (F, M) and culture (the UN's five regions); write texts with labelled spans.

    As in the JEDM paper, the chats are dealt out to ten groups, and the people of a chat have names of its group. Works on the chats
    in assets/chats, on TSCC, and on any corpus with placeholders.
    """
    with guard(debug):
        screen = console(stderr=True)
        for value, what, allowed in ((called, "form for --called", CALLS), (case, "--case", CASES), (part or PARTS[0], "--part", PARTS)):
            if value not in allowed:
                raise PiiError(Errors.E685, value=value, what=what, allowed=", ".join(allowed))
        out_path = Path(out)
        if not list_only and not out:
            raise PiiError(Errors.E512, what="the chats", reason="no --out is given")
        if not list_only and out_path.exists() and not overwrite:
            raise PiiError(Errors.E541, path=out_path)
        table = load_table(Path(placeholders) if placeholders else None)
        found = read_chats(
            Path(input_path),
            table=table,
            speaker_field=speaker_field,
            text_field=text_field,
            chat_field=chat_field,
            encoding=encoding,
        )
        if part:
            found = [chat for chat in found if (chat.part == PARTS[0]) == (part == PARTS[0])]
            if not found:
                raise PiiError(Errors.E691, where=f"'{input_path}'", problem=f"no chat is of --part {part}")
        if list_only:
            shown = Table("placeholder", "count", "person", "stands for", "label", title=f"{len(found)} chats")
            for words, n, meaning in count_placeholders(found, table=table):
                row = (meaning.who, meaning.what, meaning.label) if meaning else ("", "not in the table", "")
                shown.add_row(words, str(n), *row)
            console().print(shown)
            return
        filled = list(
            make_chats(found, per_group=per_group, seed=seed, same_chats=same_chats, table=table, called=called, case=case)
        )
        _write(out_path, filled)
        if not quiet:
            screen.print(_summary(filled))
            screen.print(f"wrote {len(filled)} chats, made of {len({c.chat for c in filled})}, to '{out_path}'", markup=False)


def _write(path: Path, filled: list[FilledChat]) -> None:
    partial = path.with_name(f"{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf8", newline="\n") as stream:
            for chat in filled:
                stream.write(json.dumps(chat.as_record(), ensure_ascii=False) + "\n")
        partial.replace(path)
    except OSError as err:
        raise PiiError(Errors.E512, what=f"'{path}'", reason=reason_of(err)) from err


def _summary(filled: list[FilledChat]) -> Table:
    shown = Table("gender", "culture", "chats", "students", "teachers", "other names", "details")
    for gender, culture in GROUPS:
        mine = [chat for chat in filled if (chat.gender, chat.culture) == (gender, culture)]
        labels = Counter(label for chat in mine for _, _, label in chat.spans)
        names = sum(n for label, n in labels.items() if label.startswith("NAME_"))
        students, teachers = labels["NAME_STUDENT"], labels["NAME_INSTRUCTOR"]
        counts = (len(mine), students, teachers, names - students - teachers, sum(labels.values()) - names)
        shown.add_row(gender, culture, *map(str, counts))
    return shown
