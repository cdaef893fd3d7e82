"""Coded messages: what was got, what is allowed, what to do. Offsets, labels and counts; never a person's text.

    >>> from pii_components.errors import Errors, PiiError
    >>> str(PiiError(Errors.E002, label="MAIL", allowed="EMAIL, URL"))
    "[E002] Label 'MAIL' is unknown; use one of EMAIL, URL."

Ranges: 0 core, 1 pii_ner, 2 pii_ruler, 3 pii_context, 4 surrogates, 5 command line and files, 6 corpus, 7 measuring, 8 Presidio, 9 language
models.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["PiiError", "PiiStop", "PiiWarning"]


class _Codes(type):
    """Puts the code before the message: `Errors.E002` is `"[E002] Label ..."`."""

    def __getattribute__(cls, name: str):
        value = super().__getattribute__(name)
        return f"[{name}] {value}" if len(name) == 4 and name[1:].isdigit() else value


class Errors(metaclass=_Codes):
    # 0 core
    E001 = "Span [{start}, {end}) cannot be used: {reason}; give tokens of the document, a label, and a score from 0 to 1."
    E002 = "Label '{label}' is unknown; use one of {allowed}."
    E005 = '{package} is needed for {what}; install it with: pip install "en_pii_edu[{extra}]"'
    E011 = (
        "The text has {length} characters, and {limit} are read at once (nlp.max_length); split it."
    )
    E012 = (
        "nlp.memory_zone() is open already, here or for over {seconds:.0f} seconds in another thread, and what is made meanwhile would be freed "
        "with it; close it sooner, or load a pipeline for each thread."
    )
    # 1 pii_ner
    E102 = 'pii_ner has no labels; call nlp.initialize() with examples that hold spans in doc.spans["{key}"] or entities, or give it labels.'
    E105 = "Windows of {window} pieces with overlap {overlap} in batches of {batch_size}: overlap must be 0 to window / 2, the batch 1 or more."
    E108 = (
        "pii_ner needs the encoder's vectors, ({length}, {width}), in doc.tensor and got {got}; let the component '{name}' run before it, in training by "
        "annotating_components."
    )
    E109 = 'The ONNX encoder holds no weights; load a pipeline that has some, or let a config take the component from one: source = "en_pii_edu".'
    E110 = "The pipeline cannot be packaged over an ONNX encoder: it has {problem}; use configs/pii_ner.cfg."
    # 2 pii_ruler
    E201 = "Pattern '{id}' is of no known kind; give it exactly one of: pattern (spaCy), regex, host, near."
    E203 = "The expression of pattern '{id}' does not compile ({error}); correct it."
    E204 = "Pattern '{id}' has {field} = '{value}'; use {allowed}."
    E206 = "There is no country '{region}' for phone_regions; use codes of two letters, such as US or GB."
    E207 = "Class list {path} cannot be read ({reason}); save it as CSV in UTF-8, with a header, and every quote closed."
    E208 = "None of the {n} columns of the class list is known by its header, or one with names is not; give some of these in the first row: {known}."
    E209 = "Row {row} of the class list has {got} cells where the header has {expected}; put what holds a comma in quotes."
    E210 = "There is nobody on the class list; give a header and a row for each student."
    E211 = "A class list is never saved or copied, into another process neither; call set_roster there, or use one process."
    # 3 pii_context
    E305 = (
        'pii_context learns from the names that are proposed in doc.spans["{key}"], and there is no such group; in training, name transformer, pii_ner and '
        "pii_ruler in annotating_components."
    )
    E304 = "The {what} of pii_context cannot be read, or does not fit; make it again: weasel run {task}"
    # 4 surrogates
    E401 = "Key file {path} cannot be read ({reason}); give a file with at least {least} bytes, made by: pii-edu keygen, or any random bytes."
    E402 = 'The key from {source} has {length} bytes, {different} different; use {least} of chance: python -c "import secrets; print(secrets.token_hex(32))"'
    E403 = (
        "{name} cannot protect: doc.spans['{key}'] is missing, or written only afterwards (by: {late}), so the text would stay as it is. Put "
        "{name} behind all that find personal information, and give it their spans_key."
    )
    E411 = "Characters [{start}, {end}) do not lie within the text of {length} characters; give offsets into this text, end exclusive."
    E412 = "Replacement of characters [{start}, {end}) overlaps the one before it; resolve overlaps first (spans.resolve_overlaps)."
    E422 = "Setting '{setting}' of profile '{profile}' is {value}; use {allowed}."
    E423 = "Profile '{profile}' lacks a name or has an unknown setting '{setting}'; settings are: {allowed}."
    E425 = "There is no profile '{profile}'; give the path of a TOML file in UTF-8, or one of: {allowed}."
    E426 = (
        "The generator of surrogates for {label} failed ({reason}); it takes (value, context, attempt) and returns a text that is not empty, or None "
        "for the tag."
    )
    E450 = "Vault {path} cannot be {done} ({reason}); check the path and your right to it."
    E451 = "{path} is no vault of this program, or its header is damaged or hostile ({reason}); give the file that --vault wrote, or a copy of it."
    E453 = "The {kind} does not fit vault {path}, which opens with a {wanted}; or its header was changed. Give the one that the vault was made with."
    E456 = "Vault {path} was not closed, or cut off in record {record}: a run failed, or its end was removed. Use --resume or pii-edu vault verify --repair."
    E457 = "Vault {path} was changed at record {record}: altered, removed, added or moved. Use a copy from before."
    E458 = (
        "Document {document} is in no record of the vault: its text was changed since its release, or it belongs to another vault; give "
        "the text as it was released, of a table the same --text-column in the same order, and the vault of that run."
    )
    E460 = "The text of document {document} was released for {n} originals; give all of them, in their order, or with the ids of the release (id_column)."
    E461 = "Document {document} cannot be restored: what comes out is not what was hidden; try a copy of the vault."
    E462 = "'{path}' is in use by another run; wait until that one has ended, or give another name."
    E464 = "There is no key for {what}; give a key file, or set {env} (pii-edu keygen makes a key; one made for a single run is not enough)."
    E465 = "{first} and {second} are both given; give one of them."
    E467 = "Head {head} is not in the vault: records were removed from its end since it was noted, or it is of another vault; try a copy of the vault."
    E469 = "The vault is {state}; open it for {needed}."
    E470 = (
        "What document {document} becomes would not lead back to its text; nothing of it was put into the vault or released. Let "
        "hips_surrogate work on it, or do without a vault."
    )
    E471 = "Keys and vaults are not saved with other objects; open them where they are needed."
    E472 = "The {what} would lie on, in or around {other}; keep it apart from what is read and what is released."
    E473 = "{option} goes with {needed}; give that too, or leave it out."
    E475 = "This hips_surrogate, saved or copied for another process, lacks {lacks}, which does not go with it; {cure}."
    # 5 command line and files
    E501 = "Cannot read {what} ({reason}); check the path and your right to read it."
    E502 = "Files that end in '{suffix}' are not read; save them as .docx, .pdf or .txt, tables as .xlsx or .csv (all kinds: docs/explanation/documents.md)."
    E503 = "The input is empty, or holds no file of a kind that is read (.docx, .pdf, .txt and others: docs/explanation/documents.md); nothing was written."
    E506 = "Which column holds the text? Name it with --text-column; the file has: {fields}."
    E507 = "Two columns are named '{name}', so the second copy would stay as it is; rename one."
    E508 = "Encoding '{encoding}' is unknown or not for text; use utf-8, utf-16, cp1252 or another of Python's text encodings."
    E510 = "{what} exists already; give another name, or --overwrite where the command has it (deidentify --resume goes on with an interrupted run)."
    E511 = "OUTPUT must be {expected}, as INPUT is; '{got}' is not."
    E512 = "Cannot write {what} ({reason}); choose another place with --out."
    E513 = "There is no interrupted run to take up for this OUTPUT, or its files were changed; start again with --overwrite."
    E514 = "The interrupted run had another {what} (a key made for one run is gone with it); use the same as then, or start again with --overwrite."
    E516 = "Model '{model}' is not installed; use: pip install en_pii_edu, or give the path of a pipeline (--config model=PATH)."
    E517 = "Model '{model}' could not be loaded ({reason}); install the spaCy that it was made for, or give the path of another pipeline."
    E518 = "Model '{model}' has no component {factory}, so it cannot {what}; use en_pii_edu."
    E519 = "'{value}' is no {what}; use {allowed}."
    E520 = "Record {number} cannot be read as {encoding}; save it as UTF-8, or name its encoding: --config encoding=cp1252."
    E521 = "Record {number} is no JSON object, or has a field twice (line {line}); repair it."
    E522 = "Record {number} has no field '{name}', or nothing stands there; fill it in, or name another field."
    E524 = "Record {number}, on line {line}, is broken ({reason}); it was left out. Check its quotes and delimiters."
    E526 = "The pipeline failed on record {number} ({type}); it was left out. Run it alone with pii-edu --debug to see where (shows text)."
    E528 = "The text of record {number} has {length} characters, more than the {limit} that are read at once; split it."
    E529 = "The tokens of record {number} do not join to its text and cannot be replaced; use --drop tokens."
    E530 = "Record {number} is an empty file; put its text back, or take it out."
    E531 = (
        "The input cannot be read past record {number} ({reason}); what comes after is missing in the output. Repair it there, and start "
        "again with --overwrite."
    )
    E532 = "Stopped at the first record that had to be skipped (without the setting strict, it would be left out): {skip}"
    E533 = "Unexpected error of type {type}; what was done stays. Run `pii-edu --debug ...` to see where it happened (shows text)."
    E538 = "Record {number} cannot be written in {encoding}; name another for the input, utf-8 fits all: --config encoding=utf-8."
    E543 = (
        "These columns would be released in clear: {columns}. Name each of them with --text-column (to have it de-identified), --drop "
        "(to leave it out) or --keep (to release it as it is); the one of --id-column goes with --config ids=pseudonym, too."
    )
    E544 = "Record {number} holds {what} in {column}, which looked harmless before; use --text-column, --drop or --keep for it."
    E545 = "The texts of record {number} cannot be told apart: one of them holds the sign \u241e, which is put between them; take it out."
    E546 = "'{key}' of {where} is no setting; use one of: {allowed}."
    E551 = "Record {number} is a file of a kind that is not read ({kind}); {way_out}."
    E552 = "{what} holds nothing that can be used ({reason}); nothing was written."
    E557 = "Record {number} was set aside: a component could not do its work on it ({code}); run again with it alone."
    E576 = "'{path}' is not what {option} writes, or not finished; give the file that it wrote, or make it anew."
    E578 = "INPUT is not the one of that run or review: {n} documents have another text, or none: one is record {number}. Put it back, or do it again."
    E580 = "Nothing can be decided about characters [{start}, {end}): {reason}."
    E581 = "No document is marked as reviewed; open the page and mark some (key m)."
    E584 = "The request is not one that the page sends ({reason}); use the whole address that pii-edu printed, on this machine."
    E565 = "Record {number} unpacks to more than {limit} bytes, which no essay does; it was not read. Unpack it, and split what it holds."
    E566 = (
        "Record {number} was not read: its name leads out of the archive or is there twice (essay.pdf becomes essay.pdf.txt), or it is a "
        "link; rename it, or put the file itself there."
    )
    E585 = "There is no report of a run for {path}; give the OUTPUT that `pii-edu deidentify` wrote, as it was then, or the path of its report."
    E586 = (
        "These numbers of a review do not fit: {reviewed} of {documents} documents read, a miss in {missed}. Give --reviewed and --missed-in, and if "
        "wanted, --spans MISSED THERE, each no more than the one before."
    )
    E560 = "Engine '{engine}' cannot do {what}; leave it out, or use the engine 'local'."
    E561 = "A worker failed ({reason}); what is written stays, and --resume goes on. See that each has memory (fewer workers need less) and the model."
    E564 = "'{engine}' did not start ({reason}); Spark needs Java 17 or later, Ray the cluster of RAY_ADDRESS, if it is set, cuda a GPU, torch and CuPy."
    E570 = "Scope 'thread' needs records that tell their thread: by --config thread=COLUMN (of a table or JSON, not dropped), or a folder for each thread."
    # 6 corpus
    E601 = "{where} is not of the format ({problem}); see assets/ESSAY_FORMAT.md, for chats assets/README.md."
    E604 = "{path} holds no {what}; make it with: weasel run {task}"
    E621 = (
        "The form of {what} cannot be told from its name; name it with --from or --to: {allowed}."
    )
    E624 = "Field '{name}' of record {number} is not {expected}; correct it."
    E627 = "Record {number} has the same id as a record before it; ids must differ here. --id-column names another column."
    E628 = "Record {number} names a document that the text source does not hold; give the source that was labelled."
    E635 = "Gold or a masked stretch at characters [{start}, {end}) overlaps, is out of order or outside of {length} characters; use resolve_gold_overlaps()."
    E640 = "Record {number} cannot be written as {form} ({reason}); choose another form, or leave it out."
    E650 = "{name} is {value}; use {allowed}."
    E651 = "{option} needs columns, and {kind} has none; leave it out, or give a table (.csv, .tsv, .jsonl, .json)."
    E652 = "There is no column '{name}' for {option}, or more than one; name one that the file has: {fields}."
    E654 = "Record {number} has {size} bytes; {limit} are allowed; split it, or set max_bytes."
    E655 = "Record {number} has {pages} pages; {limit} are allowed; split it, or set max_pages."
    E656 = "Record {number} is encrypted (or, if it ends in .docx, an old .doc; in .xlsx, an old .xls); save it anew, without a password."
    E657 = "Record {number} is no {kind} that can be read ({reason}); save it anew in the program that it is from."
    E658 = "Record {number} is a PDF without text; scanned pages need text recognition (OCR) first."
    E664 = (
        "Anomalous characters were not looked for: {documents} documents, but the covariance of {columns} columns needs {needed}; clean "
        "more of them together."
    )
    # 7 measuring
    E701 = (
        "Span [{start}, {end}) of document {document} cannot be used: {reason}; correct it there."
    )
    E705 = "{file} does not fit the gold ({reason}); both must hold the same documents."
    E706 = (
        "'{system}' is worse than '{other}': {where} (difference of F5, and its 95 % interval). Give it more essays, or look whether their labels are "
        "right; --config gate=false lets it pass."
    )
    E743 = "'{name}' cannot be loaded: {how}."
    E746 = "{name} needs environment variables that are not set; set these: {missing}."
    E747 = "'{endpoint}' is no address that texts are sent to; use https://, or http:// for 127.0.0.1, ::1 and localhost."
    E748 = "{service} refused {what} (status {status}, {reason}). Check its key, address, model and limits; nothing is scored on part of the texts."
    # 8 Presidio
    E808 = "The text is of type {type}; give a string (bytes: decode them first)."
    E809 = 'The text holds half of a surrogate pair at character {offset}; decode it anew, with errors="replace".'
    # operators from 830, presidio_source from 840
    E833 = "Operator 'hips' sees one span at a time, so it cannot {what}; use PiiEduAnonymizer."
    E837 = "A value of type {entity} stands for {n} originals in the vault; give the id of its document, or the whole text to PiiEduDeanonymizer."
    E839 = "A hidden value lies across the edge of characters [{start}, {end}) of the released text; use the spans that the anonymizer gave."
    E844 = "Recognizer '{name}' cannot be made ({reason}); use the name and settings of one of Presidio's, or patterns of your own."
    E845 = "Presidio's recognizers failed on a document ({reason}); take the one that fails out of the setting recognizers."
    E855 = "A pattern needed more than {seconds} seconds; send a shorter text, or start the server with a higher REGEX_TIMEOUT_SECONDS."
    # 9 language models
    E900 = "'{file}' is no {kind} of ours ({reason}); compare with the one that ships, or that a command wrote."
    E911 = "Text would leave this machine for {host}, which nobody has allowed; give --config allow_remote=true."
    E914 = "The model gave no usable answer; see that its server runs, and run again."
    E915 = "The model declined to answer, or what it said was filtered; look at the document yourself, or ask another model."
    E919 = "An answer was not computed: this is a dry run; a real one asks."
    E930 = "The model rewrote a passage; marks in it are not trusted; look at it yourself, or ask another model."
    E931 = "The model's copy breaks off; it has not read the rest; set a smaller max_shard."
    E932 = "A mark of the model has no place in the text; look at the document yourself."
    E934 = "The text steers the model: it calls an invented student's name not personal; what it denies does not count, look at the document yourself."


class Warnings(metaclass=_Codes):
    # 0 core
    W001 = (
        "{component} is made for the tokens of pii_edu.StudentTokenizer.v1, and this pipeline has others: words that are written together "
        "(Ana_Lopez_2048, end.Then) stay one, so what is personal in them is missed, or hidden with all that touches it. "
        'Make it with config={{"nlp": {{"tokenizer": {{"@tokenizers": "pii_edu.StudentTokenizer.v1"}}}}}}.'
    )
    W002 = (
        "{component} is made for English, and this pipeline is for '{lang}': its words and tokens are others, so names and details are "
        'missed; use spacy.blank("en").'
    )
    # 4 surrogates
    W401 = (
        "No key: surrogates are made with a random key for this run, so another run gives other surrogates. "
        "For the same ones again, keep a secret in a file (key_file) or in the environment variable {env}."
    )
    W402 = "{n} values in this batch got their tag, because no surrogate could be made for them: the new texts hold [LABEL] there."
    W403 = "The key file {path} is open to other users of this machine; close it: chmod 600 {path}"
    W451 = "Vault {path} was not closed: a run was broken off, or its end was removed. It holds {documents} whole documents; what was cut off is dropped."
    # 6 corpus
    W620 = "{n} gold labels in {docs} documents cannot be used; the stretches they may stand in are masked. Pass a ReadStats to see where."


class PiiError(ValueError):
    """An error with a code. values: What the template (one of `Errors`) names; numbers, labels, file names; no text of a person."""

    def __init__(self, template: str, **values: object) -> None:
        self.code = template[1 : template.index("]")]
        super().__init__(template.format(**values))

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return type(self), (str(self).replace("{", "{{").replace("}", "}}"),)


class PiiStop(PiiError):
    """An error that every further document would meet too: a run ends, and can be taken up."""


class PiiWarning(UserWarning):
    """The category of every warning that this package gives."""


# Whose lines tell a user nothing: a warning is given at the line that called them.
_INNER = ("pii_components", "spacy", "thinc", "presidio_analyzer", "contextlib")


def warn(template: str, **values: object) -> None:
    """Give a PiiWarning at the user's line. values: What the template (one of `Warnings`) names."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals["__name__"].partition(".")[0] in _INNER:
        frame, level = frame.f_back, level + 1
    warnings.warn(template.format(**values), PiiWarning, stacklevel=level)


def checked_text(text: Any) -> str:
    """RETURNS (str): The same. RAISES (PiiError): E808 for what is no text, E809 for half of a surrogate pair."""
    if not isinstance(text, str):
        raise PiiError(Errors.E808, type=type(text).__name__)
    try:
        text.encode("utf8")
    except UnicodeEncodeError as err:
        raise PiiError(Errors.E809, offset=err.start) from None
    return text


def reason_of(err: BaseException) -> str:
    """RETURNS (str): Why the system refused, without file names: "No such file or directory"; else the type of the error."""
    return (err.strerror if isinstance(err, OSError) else None) or type(err).__name__


def imported(module: str, what: str, extra: str) -> Any:
    """RETURNS (Any): A module that not everybody has. RAISES (PiiError): E005 without it."""
    try:
        return import_module(module)
    except ImportError as err:
        package = module.partition(".")[0]
        raise PiiError(Errors.E005, package=package, what=what, extra=extra) from err


@contextmanager
def writing(what: Path | str) -> Iterator[None]:
    """RAISES (PiiError): E512 with the name of what is written, if the system refuses."""
    try:
        yield
    except OSError as err:
        raise PiiError(
            Errors.E512, what=f"'{what}'" if isinstance(what, Path) else what, reason=reason_of(err)
        ) from err
