"""What a command refuses: one coded line, exit code 2, and every file as it was. Everybody is invented."""

import io
import sys
import zipfile

import pytest
import spacy

from tests.cli.conftest import ESSAY, files_in, put, put_texts, table

DEIDENTIFY = [
    ("E501", "missing.csv"),
    ("E502", "essays.doc"),
    ("E657", "essays.docx"),
    ("E501", "cut.zip"),
    ("E503", "none.zip"),
    ("E657", "cut.pdf"),
    ("E503", "empty.csv"),
    ("E503", "none"),
    ("E520", "bad.txt"),
    ("E520", "bad.txt --vault v --config labels_out=x.spacy"),
    ("E532", "bad.txt --config strict=true"),
    ("E520", "zip.txt"),
    ("E520", "zip.csv"),
    ("E521", "zip.json"),
    ("E520", "rtf.txt"),
    ("E543", "mail.csv"),
    ("E543", "mail.csv --dry-run"),
    # columns
    ("E652", "good.csv --text-column body"),
    ("E652", "good.csv --text-column essay --text-column no"),
    ("E652", "good.csv --keep no"),
    ("E651", "texts --keep no"),
    ("E651", "texts --drop no"),
    ("E651", "texts --text-column no"),
    ("E651", "empty/a.txt --id-column no"),
    ("E473", "good.csv --config ids=pseudonym"),
    # places
    ("E472", "good.csv --out good.csv"),
    ("E472", "good.csv --out ./sub/../good.csv --overwrite"),
    ("E472", "good.csv --out link.csv --overwrite"),
    ("E472", "good.csv --overwrite --config report=good.csv"),
    ("E472", "good.csv --out o.csv --config report=o.csv"),
    ("E472", "texts --out texts/clean"),
    ("E472", "texts/sub --out texts"),
    ("E472", "texts --out texts --overwrite"),
    ("E472", "texts --out out --id-map out/map.csv"),
    ("E472", "texts --out out --id-map texts/map.csv"),
    ("E472", "texts --out out --config headers=remove --config headers_out=out/h.csv"),
    ("E472", "texts --out out --id-map m.csv --config headers=remove --config headers_out=m.csv"),
    ("E472", "good.csv --out o.csv --vault o.csv"),
    ("E472", "good.csv --out o.csv --vault good.csv"),
    ("E472", "good.csv --out o.csv --vault v --config labels_out=v"),
    ("E472", "good.csv --out o.csv --config labels_out=good.csv"),
    ("E472", "good.csv --roster class.csv --out class.csv --overwrite"),
    ("E510", "good.csv --out there.csv"),
    ("E510", "good.csv --out fresh.csv --config report=there.csv"),
    ("E510", "good.csv --out fresh.csv --config labels_out=there.jsonl"),
    ("E510", "texts --out full"),
    ("E510", "texts --out out --id-map there.csv"),
    ("E510", "texts --out out --config headers=remove --config headers_out=there.csv"),
    ("E511", "good.csv --out clean.jsonl"),
    ("E511", "good.csv --out full"),
    ("E511", "flat/a.txt --out o.csv"),
    ("E511", "texts --out there.csv"),
    ("E512", "good.csv --out there.csv/clean.csv"),
    ("E621", "good.csv --out o.csv --config labels_out=l.xyz"),
    # settings, keys, models
    ("E513", "good.csv --resume"),
    ("E465", "good.csv --resume --overwrite"),
    ("E473", "good.csv --config vault_key_file=k"),
    ("E473", "texts --config headers_out=h.csv"),
    ("E473", "texts --config headers=keep --config headers_out=h.csv"),
    ("E519", "good.csv --config ids=no"),
    ("E519", "good.csv --config headers=shrink"),
    ("E519", "good.csv --config scope=planet"),
    ("E519", "good.csv --config operating_point=most"),
    ("E519", "good.csv --config engine=dask"),
    ("E518", "good.csv --config operating_point=recall"),
    ("E560", "good.csv --config engine=ray --config operating_point=recall"),
    ("E560", "good.csv --config engine=ray --config llm=x.cfg"),
    ("E560", "good.csv --config engine=ray --config code=x.py"),
    ("E560", "good.csv --config engine=ray --config device=cuda"),
    ("E519", "good.csv --config device=gpu"),
    ("E560", "good.csv --config engine=ray --roster class.csv"),
    ("E560", "good.csv --config engine=ray --decisions review"),
    ("E516", "good.csv --config model=no_such_model"),
    ("E517", "good.csv --config model=texts"),
    ("E518", "good.csv --config model=bare"),
    ("E401", "good.csv --key-file no_such_key"),
    ("E402", "good.csv --key-file empty.txt"),
    ("E425", "good.csv --profile no_such_profile"),
    ("E425", "good.csv --profile good.csv"),
    ("E207", "good.csv --roster none.csv"),
    ("E208", "good.csv --roster posts.jsonl"),
    ("E501", "good.csv --decisions review"),
    # threads
    ("E570", "posts.jsonl --config scope=thread"),
    ("E570", "posts.jsonl --config scope=thread --config thread=course"),
    ("E570", "posts.jsonl --config scope=thread --config thread=course --dry-run"),
    ("E473", "posts.jsonl --config thread=topic"),
    ("E652", "good.csv --config scope=thread --config thread=course"),
    ("E570", "flat --config scope=thread"),
    ("E651", "flat --config scope=thread --config thread=topic"),
    ("E570", "flat/a.txt --config scope=thread"),
]
OTHERS = [
    ("E560", "--debug deidentify good.csv --config engine=ray"),
    ("E472", "detect posts.jsonl --out posts.jsonl --overwrite"),
    ("E510", "detect posts.jsonl --out there.csv"),
    ("E501", "detect missing.csv"),
    ("E516", "detect good.csv --config model=no_such_model"),
    ("E520", "detect bad.txt --out out.jsonl"),
    ("E473", "reidentify good.csv --vault v"),
    ("E501", "review nothing --no-browser"),
    ("E585", "audit texts"),
]


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A pipeline that makes no surrogates."""
    path = tmp_path_factory.mktemp("bare") / "model"
    spacy.blank("xx").to_disk(path)
    return path


@pytest.fixture
def many_files(folder, bare):
    put(folder / "good.csv", table(2))
    (folder / "link.csv").symlink_to(folder / "good.csv")
    put(folder / "mail.csv", "id,text,mail\n1,x,ina.sorel@example.edu\n")
    put(folder / "class.csv", "Name\nHope Adeyink\n")
    for name in ("essays.doc", "essays.docx", "cut.zip", "cut.pdf"):
        put(folder / name, "x")
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    put(folder / "none.zip", empty.getvalue())
    for name in ("empty.csv", "empty.txt", "none/x.doc"):
        put(folder / name, "")
    put(folder / "bad.txt", b"Ina \xff")
    for name in ("zip.txt", "zip.csv", "zip.json"):
        put(folder / name, b"PK\3\4\x14\0\0\0\x08\0Ina Sorel\xff")
    put(folder / "rtf.txt", "{\\rtf1 Ina Sorel}")
    for name in ("texts/sub/a.txt", "flat/a.txt", "empty/a.txt"):
        put(folder / name, ESSAY)
    for name in ("there.csv", "there.jsonl", "full/old.txt"):
        put(folder / name, "old")
    put_texts(folder / "posts.jsonl", ["I am Ina."])
    (folder / "bare").symlink_to(bare)
    return folder


LINES = [(code, f"deidentify {line}") for code, line in DEIDENTIFY] + OTHERS


@pytest.mark.parametrize(("code", "line"), LINES, ids=[f"{code}-{line}" for code, line in LINES])
def test_bad_input_is_one_coded_line(many_files, pii_edu, code, line):
    before = {name: (many_files / name).read_bytes() for name in files_in(many_files)}
    run = pii_edu(line)
    assert run.exit_code == 2, run.output
    coded = [shown for shown in run.stderr.splitlines() if shown.startswith("[E")]
    assert len(coded) == 1 and coded[0].startswith(f"[{code}]"), run.output
    for word in ("Traceback", "Ina", "Adeyink", "ina.sorel", "wrote '"):
        assert word not in run.output
    assert {name: (many_files / name).read_bytes() for name in files_in(many_files)} == before


@pytest.mark.parametrize(
    "line", ["", "deidentify", "deidentify x.csv --no-such", "nothing", "audit x --spans 3"]
)
def test_usage_errors_exit_with_2(pii_edu, line):
    assert pii_edu(line).exit_code == 2


def test_a_gpu_that_is_not_there_is_told_before_anything_is_written(folder, pii_edu, monkeypatch):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is one")
    put(folder / "in.csv", "id,text\n1,I am Ina Sorel.\n")
    for code, lacks in (("E564", []), ("E005", ["torch"])):
        for name in lacks:
            monkeypatch.setitem(sys.modules, name, None)
        run = pii_edu("deidentify in.csv --config device=cuda")
        assert run.exit_code == 2 and f"[{code}]" in run.stderr, run.output
        assert files_in(folder) == ["in.csv"]
