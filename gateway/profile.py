"""A profile: what the operator writes in `profile.toml`, and what others may know of it.

- `ProfileConfig` is the file, parsed strictly: an unknown key, a wrong type, an invisible
  character in a name are refused by name.
- `Catalog` is what the profile offers. It is shown before it is lent, and its digest is agreed to.
- `Policy` is what may change how it behaves. Only its digest leaves the install, so it may name
  an endpoint; a changed digest refuses the next turn until a person agrees again.

`to_json` of both uses text, whole numbers, lists and objects only, so that any canonical form has
one reading of it. Secrets have no place here: options name where a key lies, never the key.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from gateway.errors import ProfileInvalid
from gateway.limits import (
    DESCRIPTION_CHARS_MAX,
    DISPLAY_NAME_CHARS_MAX,
    OPTION_CHARS_MAX,
    OPTIONS_MAX,
    REPLY_BYTES_MAX,
    RUNS_PER_MOUNT_MAX,
)
from gateway.options import OptionValue
from gateway.scope import TEXT_SCOPES, methods_of

Json = str | int | list["Json"] | dict[str, "Json"]

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_KEY = re.compile(r"[a-z][a-z0-9_]{0,31}")
_KEYS = frozenset({"name", "backend", "display_name", "description", "options"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileConfig:
    """One `profile.toml`. `options` belong to the backend, sorted by key."""

    name: str
    backend: str
    display_name: str
    description: str
    options: tuple[tuple[str, OptionValue], ...]

    @classmethod
    def parse(cls, raw: Mapping[str, object]) -> Self:
        """Read a decoded file or request strictly. Raises ProfileInvalid."""
        for key in sorted(raw.keys() - _KEYS):
            raise ProfileInvalid(key, "is not a key of a profile")
        name = parse_name(raw.get("name"))
        backend = raw.get("backend")
        if not isinstance(backend, str) or not _KEY.fullmatch(backend):
            raise ProfileInvalid("backend", "is required and names a kind of backend")
        return cls(
            name=name,
            backend=backend,
            display_name=_label(raw, "display_name", DISPLAY_NAME_CHARS_MAX) or name,
            description=_label(raw, "description", DESCRIPTION_CHARS_MAX),
            options=_options(raw.get("options", {})),
        )

    def to_toml(self) -> str:
        """The file's text; `parse` of it gives this value again."""
        head = [
            f"{key} = {_toml(value)}"
            for key, value in (
                ("name", self.name),
                ("backend", self.backend),
                ("display_name", self.display_name),
                ("description", self.description),
            )
        ]
        body = [f"{key} = {_toml(value)}" for key, value in self.options]
        return "\n".join([*head, "", "[options]", *body, ""])


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """What a profile offers to a room."""

    id: str
    methods: tuple[str, ...]
    toolsets: tuple[str, ...]
    approval_mode: str
    limits: tuple[tuple[str, int], ...]
    media: tuple[str, ...]

    def to_json(self) -> dict[str, Json]:
        """Text, whole numbers, lists and objects only: ready for a canonical form."""
        return {
            "id": self.id,
            "methods": list(self.methods),
            "toolsets": list(self.toolsets),
            "approval_mode": self.approval_mode,
            "limits": dict(self.limits),
            "media": list(self.media),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What may change a profile's behaviour. `system_prompt_sha256` is "" without a prompt."""

    backend: str
    model: str
    endpoint: str
    system_prompt_sha256: str
    approval_mode: str
    settings: tuple[tuple[str, int], ...]

    def to_json(self) -> dict[str, Json]:
        """Text, whole numbers and objects only: ready for a canonical form."""
        return {
            "backend": self.backend,
            "model": self.model,
            "endpoint": self.endpoint,
            "system_prompt_sha256": self.system_prompt_sha256,
            "approval_mode": self.approval_mode,
            "settings": dict(self.settings),
        }


NO_TOOLS = "no_tools"
"""The approval mode of a profile that runs no tools, so that there is nothing to approve."""


def text_catalog(name: str) -> Catalog:
    """The catalog of a profile that answers in text and runs no tools."""
    return Catalog(
        id=name,
        methods=methods_of(TEXT_SCOPES),
        toolsets=(),
        approval_mode=NO_TOOLS,
        limits=(("reply_bytes_max", REPLY_BYTES_MAX), ("runs_max", RUNS_PER_MOUNT_MAX)),
        media=("text",),
    )


def parse_name(raw: object) -> str:
    """A profile's name, which is also its directory's. Raises ProfileInvalid."""
    if not isinstance(raw, str) or not NAME.fullmatch(raw):
        raise ProfileInvalid("name", f"is required and matches {NAME.pattern}")
    return raw


def _label(raw: Mapping[str, object], key: str, chars_max: int) -> str:
    """A line shown to people; invisible and direction-changing characters are refused."""
    value = raw.get(key, "")
    if not isinstance(value, str) or len(value) > chars_max:
        raise ProfileInvalid(key, f"must be a text of at most {chars_max} characters")
    # isprintable is false for controls, bidi overrides, zero-width and lone surrogates: a name
    # must not be able to pass for another one, or to turn the text around it.
    if not value.isprintable():
        raise ProfileInvalid(key, "must be one line of visible characters")
    return value.strip()


def _options(raw: object) -> tuple[tuple[str, OptionValue], ...]:
    if not isinstance(raw, Mapping) or len(raw) > OPTIONS_MAX:
        raise ProfileInvalid("options", f"must be a table of at most {OPTIONS_MAX} options")
    checked: list[tuple[str, OptionValue]] = []
    for key, value in raw.items():
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise ProfileInvalid("options", f"has a key that does not match {_KEY.pattern}")
        if not isinstance(value, str | int):
            raise ProfileInvalid(f"options.{key}", "must be a text, a whole number, true or false")
        if isinstance(value, str):
            _refuse_unwritable(key, value)
        elif not -(2**53) < value < 2**53:
            raise ProfileInvalid(f"options.{key}", "is a number beyond 2^53")
        checked.append((key, value))
    return tuple(sorted(checked, key=lambda pair: pair[0]))


def _refuse_unwritable(key: str, value: str) -> None:
    """Refuse what has no place in a UTF-8 file, or is too long to belong into this one."""
    if len(value) > OPTION_CHARS_MAX:
        raise ProfileInvalid(f"options.{key}", f"may have {OPTION_CHARS_MAX} characters")
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise ProfileInvalid(f"options.{key}", "holds half of a character (a lone surrogate)")


def _toml(value: OptionValue) -> str:
    """One TOML value. JSON's text form is TOML's too, but for DEL, which TOML wants escaped."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower()
