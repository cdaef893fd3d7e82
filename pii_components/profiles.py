"""What happens to each label: a profile, from a TOML file.

    >>> from pii_components.profiles import Profile
    >>> profile = Profile.load("crapii")
    >>> profile.action("NAME_STUDENT"), profile.action("NAME_CITED"), profile.action("SOMETHING_NEW")
    ('surrogate', 'keep', 'tag')

Unsure means protect: a label that a profile does not name becomes its tag. The shipped profiles are in resources/profiles/; a
path to a file works wherever a name does.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from .errors import Errors, PiiError
from .labels import LABELS

KEEP, SURROGATE, TAG, REDACT, MASK, PSEUDONYM, GENERIC, REMOVE = ACTIONS = (
    "keep", "surrogate", "tag", "redact", "mask", "pseudonym", "generic", "remove",
)  # fmt: skip
# Within what the same value gets the same surrogate: one document, all documents, or those of one thread or author
# (`doc._.pii_scope`).
SCOPES = ("document", "corpus", "thread")
HEADERS = ("keep", "remove")
# Besides labels, what a list of pseudonyms may be for: any protected name that is no student's, a profile on LinkedIn, a
# county.
PSEUDONYM_KEYS = (*LABELS, "NAME_OTHER", "LINKEDIN", "COUNTY")


@dataclass(frozen=True)
class Profile:
    """What to do with each label.

    name (str): Its name. description (str): One line.
    actions (Mapping[str, str]): Label -> one of `ACTIONS`; a label that is missing gets "tag".
    scope (str): One of `SCOPES`.
    locale (str): Language and country of phones and addresses, as Faker writes it.
    header (str): "keep" or "remove"; removing is not the business of `hips_surrogate`.
    reserved (bool): Whether surrogates use values that can belong to nobody (example.edu, 555-01xx) rather than fully realistic
        ones.
    pseudonyms (Mapping[str, str | list[str]]): For the action "pseudonym": one fixed value, or one for each person or place in
        order.
    generic (Mapping[str, str]): For the action "generic": a noun with its determiner.
    RAISES (PiiError): E421 to E424 for values that are not allowed.
    """

    name: str
    description: str = ""
    actions: Mapping[str, str] = field(default_factory=dict)
    scope: str = "document"
    locale: str = "en_US"
    header: str = "keep"
    reserved: bool = True
    pseudonyms: Mapping[str, str | list[str]] = field(default_factory=dict)
    generic: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for label, action in self.actions.items():
            if label not in LABELS:
                raise PiiError(Errors.E002, label=label, allowed=", ".join(LABELS))
            if action not in ACTIONS:
                raise PiiError(Errors.E421, label=label, action=action, profile=self.name, allowed=", ".join(ACTIONS))
        for setting, value, allowed in (("scope", self.scope, SCOPES), ("header", self.header, HEADERS)):
            if value not in allowed:
                raise PiiError(Errors.E422, setting=setting, value=value, profile=self.name, allowed=", ".join(allowed))
        for label, fixed in self.pseudonyms.items():
            texts = fixed if isinstance(fixed, list) else [fixed]
            if label not in PSEUDONYM_KEYS or not texts or not all(isinstance(t, str) and t for t in texts):
                raise PiiError(Errors.E424, label=label, profile=self.name, allowed=", ".join(PSEUDONYM_KEYS))

    def action(self, label: str) -> str:
        """RETURNS (str): What to do with a label; "tag" if the profile does not name it."""
        return self.actions.get(label, TAG)

    def protects(self, label: str) -> bool:
        """RETURNS (bool): Whether values with this label do not stay as they are."""
        return self.action(label) != KEEP

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (dict): Plain data, for a saved pipeline."""
        return {key: dict(value) if isinstance(value, Mapping) else value for key, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, where: str = "") -> "Profile":
        """RETURNS (Profile): From plain data. RAISES (PiiError): E423 for a setting that profiles do not have."""
        allowed = list(cls.__dataclass_fields__)
        wrong = sorted(set(data) - set(allowed))
        if wrong or not isinstance(data.get("name"), str):
            raise PiiError(
                Errors.E423,
                setting=wrong[0] if wrong else "name",
                profile=where or data.get("name"),
                allowed=", ".join(allowed),
            )
        kinds = {
            key: bool if key == "reserved" else Mapping if key in ("actions", "pseudonyms", "generic") else str
            for key in allowed
        }
        for key, value in data.items():
            if not isinstance(value, kinds[key]):
                raise PiiError(
                    Errors.E422, setting=key, value=type(value).__name__, profile=data["name"], allowed=kinds[key].__name__
                )
        return cls(**data)

    @classmethod
    def load(cls, name_or_path: str | Path) -> "Profile":
        """Read a profile.

        name_or_path (str | Path): The name of a shipped profile, or a TOML file.
        RETURNS (Profile): The profile, checked.
        RAISES (PiiError): E425 if there is none, E426 if the file is no TOML in UTF-8.
        """
        shipped = resources.files("pii_components") / "resources" / "profiles" / f"{name_or_path}.toml"
        path = shipped if str(name_or_path) in shipped_profiles() else Path(name_or_path)
        try:
            data = tomllib.loads(path.read_text(encoding="utf8"))
        except OSError:
            raise PiiError(Errors.E425, profile=name_or_path, allowed=", ".join(shipped_profiles())) from None
        except ValueError as err:
            raise PiiError(Errors.E426, profile=name_or_path, reason=type(err).__name__) from None
        return cls.from_dict(data, where=str(name_or_path))


def make_profile(name: str) -> Profile:
    """RETURNS (Profile): For configs: `{"@misc": "pii_edu.profile.v1", "name": "crapii"}`. name (str): As in `Profile.load`."""
    return Profile.load(name)


def shipped_profiles() -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): Names of the profiles that come with the package."""
    folder = resources.files("pii_components") / "resources" / "profiles"
    return tuple(sorted(p.name.removesuffix(".toml") for p in folder.iterdir() if p.name.endswith(".toml")))
