"""Presidio's YAML files that come with the package.

    >>> from pii_components.presidio.configuration import config_path
    >>> config_path("recognizers").name
    'recognizers.yaml'

They are package data (`resources/presidio/`), so an installed wheel has them; `configs/presidio/` in the repository has the same.
Nothing here imports Presidio.
"""

from importlib import resources
from pathlib import Path
from typing import Any

import srsly

from ..errors import Errors, PiiError

CONFIGS = ("analyzer", "nlp", "recognizers")


def config_path(name: str) -> Path:
    """The path of a file that ships.

    name (str): "analyzer", "nlp" or "recognizers". RETURNS (Path): For Presidio's providers.
    RAISES (PiiError): E811, if there is none of this name.
    """
    if name not in CONFIGS:
        raise PiiError(Errors.E811, name=name, allowed=", ".join(CONFIGS))
    return Path(str(resources.files("pii_components") / "resources" / "presidio" / f"{name}.yaml"))


def read_config(name_or_path: str | Path) -> dict[str, Any]:
    """What a file says.

    name_or_path (str | Path): One that ships by name, or a file of your own.
    RETURNS (dict[str, Any]): As Presidio's providers take it. RAISES (PiiError): E811, if there is none; E812, if it is no mapping.
    """
    path = config_path(str(name_or_path)) if str(name_or_path) in CONFIGS else Path(name_or_path)
    if not path.is_file():
        raise PiiError(Errors.E811, name=path.name, allowed=", ".join(CONFIGS))
    try:
        data = srsly.read_yaml(path)
    except Exception as err:  # noqa: BLE001  (the parser has many kinds, and their messages quote the file)
        raise PiiError(Errors.E812, path=path.name, reason=type(err).__name__) from None
    if not isinstance(data, dict):
        raise PiiError(Errors.E812, path=path.name, reason=type(data).__name__)
    return data
