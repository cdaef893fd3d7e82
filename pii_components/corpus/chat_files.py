"""Read redacted teacher-student chats: the authored ones of assets/chats, TSCC, or any other corpus.

    chats = read_chats(Path("assets/chats"))
    chats[0].id, chats[0].turns[0].speaker, chats[0].turns[0].text

A .txt file is one chat, each turn a line `teacher: ...` or `student: ...`, with or without front matter (assets/chats/README.md). A
table (.csv, .tsv, .jsonl) has one turn per row; it is one chat, as in TSCC, or many, told apart by a column. A folder holds any of these.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import Errors, PiiError
from .chat_table import ChatTable, load_table
from .readers import JSON_SUFFIXES, TABLE_SUFFIXES, decode_text, open_source
from .records import Record, Skip, Source, open_binary, show_fields

SUFFIXES = (".txt", *TABLE_SUFFIXES, *JSON_SUFFIXES)
# TSCC has `role` and `edited`.
USUAL_SPEAKER_FIELDS = ("speaker", "role", "participant", "who", "author")
USUAL_TURN_FIELDS = ("edited", "turn", "utterance", "message")


@dataclass(frozen=True, slots=True)
class Turn:
    """What one says at a time. speaker (str): "teacher" or "student". text (str): With placeholders; may hold line breaks."""

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Chat:
    """A redacted chat. id (str): Unique in its corpus. turns (tuple[Turn, ...]): In order. genre, voice (str): Of the front matter.
    part (str): "test" for those that nobody looks at while rules are made; of the front matter too."""

    id: str
    turns: tuple[Turn, ...]
    genre: str = ""
    voice: str = ""
    part: str = ""


def read_chats(
    path: Path,
    *,
    table: ChatTable | None = None,
    speaker_field: str = "",
    text_field: str = "",
    chat_field: str = "",
    encoding: str = "utf-8",
) -> list[Chat]:
    """Read every chat of a file or folder.

    path (Path): A .txt, .csv, .tsv, .jsonl or .json file, or a folder of such files.
    table (ChatTable | None): Says which words are speakers; the one that ships if None.
    speaker_field, text_field (str): Columns of a table; empty to find usual ones. chat_field (str): Column that tells the chats of one
    file apart; empty if a file is a chat. encoding (str): Of the files.
    RETURNS (list[Chat]): By the order of the paths.
    RAISES (PiiError): E501 to E508; E681 to E684, E688, E690 to E692, if something is not of the form.
    """
    table = table or load_table()
    if not path.exists():
        raise PiiError(Errors.E501, what=f"'{path}'", reason="it does not exist")
    files = sorted(p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file()) if path.is_dir() else [path]
    chats: dict[str, Chat] = {}
    for file in files:
        name = file.relative_to(path).with_suffix("").as_posix() if path.is_dir() else file.stem
        if file.suffix.lower() == ".txt":
            found: Iterable[Chat] = [_read_text(file, name, table, encoding)]
        else:
            found = _read_table(file, name, table, (speaker_field, text_field, chat_field), encoding)
        for chat in found:
            if chat.id in chats:
                raise PiiError(Errors.E688, chat=chat.id)
            chats[chat.id] = chat
    if not chats:
        raise PiiError(Errors.E684, path=path.name)
    return list(chats.values())


def parse_chat(text: str, name: str, *, table: ChatTable | None = None) -> Chat:
    """Read one chat from its text.

    text (str): Turns, front matter before them or not. name (str): Its id. table (ChatTable | None): Says which words are speakers.
    RETURNS (Chat): A line without a speaker goes on with the turn before it.
    RAISES (PiiError): E681, E682, E692.
    """
    table = table or load_table()
    head, mark, body = text.partition("\n---\n")
    first_line, meta = 1, {}
    if mark and not _speaker(head.lstrip().split("\n", 1)[0], table)[0]:
        meta = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in head.splitlines())}
        if meta.get("id") != name.rpartition("/")[2]:
            raise PiiError(Errors.E692, chat=name)
        first_line = head.count("\n") + 3
    else:
        body = text
    turns: list[Turn] = []
    for number, line in enumerate(body.split("\n"), first_line):
        line = line.rstrip("\r")
        speaker, said = _speaker(line, table)
        if speaker:
            turns.append(Turn(speaker, said))
        elif turns and line.strip():
            turns[-1] = Turn(turns[-1].speaker, f"{turns[-1].text}\n{line}")
        elif line.strip():
            raise PiiError(Errors.E681, chat=name, line=number, allowed=", ".join(table.speakers))
    if not turns:
        raise PiiError(Errors.E682, chat=name)
    return Chat(name, tuple(turns), meta.get("genre", ""), meta.get("voice", ""), meta.get("part", ""))


def _speaker(line: str, table: ChatTable) -> tuple[str, str]:
    """RETURNS (tuple[str, str]): Who speaks, and what is said; two empty strings for a line that begins with no speaker."""
    word, mark, said = line.partition(":")
    speaker = table.speakers.get(word.strip().lower(), "") if mark else ""
    return (speaker, said.strip()) if speaker else ("", "")


def _read_text(file: Path, name: str, table: ChatTable, encoding: str) -> Chat:
    with open_binary(file) as raw:
        item = decode_text(raw.read(), 1, name, encoding=encoding)
    if isinstance(item, Skip):
        raise PiiError(Errors.E691, where=file.name, problem=item.error) from item.error
    return parse_chat(item.text, name, table=table)


def _read_table(file: Path, name: str, table: ChatTable, fields: tuple[str, str, str], encoding: str) -> Iterator[Chat]:
    speaker_field, text_field, chat_field = fields
    source = _open_table(file, text_field, chat_field, encoding)
    names = source.others
    speaker_field = speaker_field or next((field for field in USUAL_SPEAKER_FIELDS if field in names), "")
    if speaker_field not in names:
        raise PiiError(Errors.E690, where=file.name, what="the speaker", fields=show_fields(names), option="--speaker-column")
    turns: dict[str, list[Turn]] = {}
    for item in source:
        if isinstance(item, Skip):
            raise PiiError(Errors.E691, where=file.name, problem=item.error) from item.error
        speaker = table.speakers.get(_other(item, speaker_field).strip().lower())
        if speaker is None:
            raise PiiError(Errors.E683, where=file.name, number=item.number, allowed=", ".join(table.speakers))
        chat = item.id if chat_field else name
        turns.setdefault(chat, []).append(Turn(speaker, item.text.strip()))
    if not turns:
        raise PiiError(Errors.E682, chat=name)
    yield from (Chat(chat, tuple(said)) for chat, said in turns.items())


def _open_table(file: Path, text_field: str, chat_field: str, encoding: str) -> Source:
    """RETURNS (Source): Rows of a table, with the first text column of TSCC's and the like that it has."""
    for wanted in (text_field,) if text_field else (*USUAL_TURN_FIELDS, ""):
        try:
            return open_source(file, text_field=wanted, id_field=chat_field, encoding=encoding)
        except PiiError as err:
            if err.code != "E505" or text_field or not wanted:
                raise PiiError(Errors.E691, where=file.name, problem=err) from err
    raise AssertionError("the last one raises")


def _other(record: Record, field: str) -> str:
    return next((value for name, value in record.others if name == field), "")
