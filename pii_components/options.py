"""Settings of a command, a server or a file: read, checked once, then frozen.

    @dataclass(frozen=True, kw_only=True)
    class Wanted(Settings):
        name: str = key("")
        size: int = key(3, limit=ABOVE_0)

    read_settings(Wanted, ["wanted.toml", "size=4"], name="a")      # Wanted(name="a", size=4)

A key that no setting has is an error, so that a slip of the pen ("profil") never releases a text under another profile.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from .errors import Errors, PiiError, reason_of

_KINDS = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    tuple: "a list of texts",
}
# A test that a value passes, and how an error calls it.
Limit = tuple[Callable[[Any], bool], str]
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
    allowed (Sequence[str]): The texts that it may be, where they are listed. In a run file an empty one means: not given.
    limit (Limit | None): What it must be.
    needs (str): Another setting that must be given with it.
    """
    rules = {"allowed": allowed, "limit": limit, "needs": needs}
    return field(default=default, metadata={"about": about, "section": section, **rules})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The base of all settings: they check themselves. Each field is a `key`.

    RAISES (PiiError): E473, E519, E650, if a value is not allowed.
    """

    def __post_init__(self) -> None:
        for setting in fields(self):
            name, value, rules = setting.name, getattr(self, setting.name), setting.metadata
            is_given = value or (setting.default and not rules["about"])
            if is_given and rules["allowed"] and value not in rules["allowed"]:
                allowed = ", ".join(rules["allowed"])
                raise PiiError(Errors.E519, value=value, what=name, allowed=allowed)
            if rules["limit"] and not rules["limit"][0](value):
                raise PiiError(Errors.E650, name=name, value=value, allowed=rules["limit"][1])
            if rules["needs"]:
                need(value, name, getattr(self, rules["needs"]), rules["needs"])


def need(given: object, name: str, other: object, needed: str) -> None:
    """RAISES (PiiError): E473, if a setting was given without the one that it needs."""
    if given and not other:
        raise PiiError(Errors.E473, option=name, needed=needed)


def read_settings(record: type[Record], configs: Iterable[str] | None, **options: Any) -> Record:
    """The settings of one call.

    configs (Iterable[str] | None): TOML files, or KEY=VALUE; a later one wins.
    options (Any): From the command line; None, False and "" mean that an option was not given.
    RAISES (PiiError): E501, E546, E650; what the record raises.
    """
    values: dict[str, Any] = {}
    for config in configs or ():
        name, equals, text = config.partition("=")
        if equals:
            name = name.strip().replace("-", "_")
            found = {name: _parse(text.strip(), _defaults(record).get(name))}
            values |= checked(record, found, "--config")
        else:
            values |= checked(record, read_toml(config), f"'{config}'")
    for name, value in options.items():
        if value is not None and value is not False and value != "":
            values[name] = tuple(value) if isinstance(value, list) else value
    return record(**values)


def _defaults(record: Any) -> dict[str, Any]:
    return {setting.name: setting.default for setting in fields(record)}


def read_toml(path: str | Path) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): What a file says. RAISES (PiiError): E501."""
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as err:
        raise PiiError(Errors.E501, what=f"'{path}'", reason=reason_of(err)) from None
    except ValueError:
        raise PiiError(Errors.E501, what=f"'{path}'", reason="it is no TOML in UTF-8") from None


def _parse(text: str, default: Any) -> Any:
    """The value of KEY=VALUE: a text as it is, a list with commas, else as TOML writes it."""
    if isinstance(default, tuple):
        return text.split(",")
    if isinstance(default, bool | int | float):
        with suppress(ValueError):  # of the wrong type, which `checked` tells
            return tomllib.loads(f"value = {text}")["value"]
    return text


def checked(record: Any, values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): Values of the types of a record's settings.

    where (str): How an error calls what holds them. RAISES (PiiError): E546 for a key that there is none of, E650 for another type.
    """
    found, defaults = {}, _defaults(record)
    for name, value in values.items():
        if name not in defaults:
            raise PiiError(Errors.E546, key=name, where=where, allowed=", ".join(defaults))
        kind = type(defaults[name])
        if kind is float and type(value) is int:
            value = float(value)
        if kind is tuple and isinstance(value, list) and all(isinstance(v, str) for v in value):
            value = tuple(value)
        if type(value) is not kind:
            raise PiiError(
                Errors.E650,
                name=f"'{name}' of {where}",
                value=f"of type {type(value).__name__}",
                allowed=_KINDS[kind],
            )
        found[name] = value
    return found
