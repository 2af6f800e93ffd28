"""Settings: what an operator may choose, where it comes from, and which source wins.

A flag wins over the environment (`ROOMMESH_NAME`), which wins over `config.toml` in the home, which
wins over the default. Each value remembers its origin, so `config show` can say why. A secret may
also come as `ROOMMESH_NAME_FILE`, for container secrets. Unknown keys of the file and values of
the wrong kind are refused: a setting that is silently ignored is worse than none.
"""

import re
import socket
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from mesh.core.errors import Malformed
from mesh.core.ids import clean_name

ENVIRONMENT: Final = "ROOMMESH_"
FILE_NAME: Final = "config.toml"
MASK: Final = "(hidden)"
LOG_LEVELS: Final = ("debug", "info", "warning", "error")
_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off", ""})
_LISTEN: Final = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):(?P<port>[0-9]{1,5})\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One thing that can be chosen. `read` makes its value of text, or of the file's value."""

    name: str
    doc: str
    default: object
    read: Callable[[object], object]
    secret: bool = False

    @property
    def variable(self) -> str:
        """Its variable in the environment."""
        return ENVIRONMENT + self.name.upper()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A value and where it comes from: `flag`, `environment`, `file` or `default`."""

    value: object
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The effective settings of one node. `origins` says per name where each comes from.

    A value whose origin is `default` may be replaced by what the page saved (lan, name).
    """

    home: Path
    listen: tuple[str, int]
    name: str
    lan: bool
    advertise: tuple[str, ...]
    discovery: bool
    tls_cert: Path | None
    tls_key: Path | None
    public_url: str
    log_level: str
    origins: Mapping[str, str]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("it must be text")
    return value


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = _text(value).lower()
    if word not in _TRUE | _FALSE:
        raise ValueError("it must be true or false")
    return word in _TRUE


def _listen(value: object) -> tuple[str, int]:
    match = _LISTEN.match(_text(value))
    if match is None or int(match["port"]) > 65_535:
        raise ValueError("it must be HOST:PORT, for example 127.0.0.1:7420")
    return match["host"].strip("[]"), int(match["port"])


def _path(value: object) -> Path | None:
    text = _text(value)
    return Path(text).expanduser() if text else None


def _url(value: object) -> str:
    text = _text(value).rstrip("/")
    if not text:
        return ""
    parts = urlsplit(text)
    whole = parts.scheme in {"http", "https"} and parts.hostname and not parts.path
    if not whole or parts.query or parts.fragment or parts.username or parts.port == 0:
        raise ValueError("it must be http(s)://HOST or http(s)://HOST:PORT")
    return text


def _urls(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, Iterable):
        raise ValueError("it must be a list of URLs")
    return tuple(url for url in map(_url, value) if url)


def _level(value: object) -> str:
    word = _text(value).lower()
    if word not in LOG_LEVELS:
        raise ValueError(f"it must be one of {', '.join(LOG_LEVELS)}")
    return word


def _name(value: object) -> str:
    try:
        return clean_name(value)
    except Malformed as error:
        raise ValueError(error.message) from None


SETTINGS: Final[tuple[Setting, ...]] = (
    Setting(
        name="listen",
        doc="Where the node always listens: HOST:PORT on this machine; port 0 takes any free one.",
        default=("127.0.0.1", 7420),
        read=_listen,
    ),
    Setting(
        name="name",
        doc="What this install is called; else the host name.",
        default=None,
        read=_name,
    ),
    Setting(
        name="lan",
        doc="Let other machines connect: listen on all interfaces and announce it by mDNS.",
        default=False,
        read=_flag,
    ),
    Setting(
        name="advertise",
        doc="Addresses that other nodes may dial, beside those of the interfaces.",
        default=(),
        read=_urls,
    ),
    Setting(name="discovery", doc="Look for other nodes by mDNS.", default=True, read=_flag),
    Setting(
        name="tls_cert",
        doc="A certificate (PEM) instead of the self-signed one.",
        default=None,
        read=_path,
    ),
    Setting(name="tls_key", doc="The key of tls_cert (PEM).", default=None, read=_path),
    Setting(
        name="public_url",
        doc="The address under which a proxy shows this node; its host is allowed as Host.",
        default="",
        read=_url,
    ),
    Setting(
        name="log_level",
        doc="What is logged at least: debug, info, warning or error.",
        default="info",
        read=_level,
    ),
)


def home_of(flag: str | Path | None, environ: Mapping[str, str]) -> Path:
    """The home: `--home`, else ROOMMESH_HOME, else the user's data directory."""
    chosen = flag or environ.get(ENVIRONMENT + "HOME")
    if chosen:
        return Path(chosen).expanduser().absolute()
    # Imported here: the SDK reads a home without it when one is named.
    import platformdirs

    return Path(platformdirs.user_data_dir("roommesh", appauthor=False))


def choose(
    home: Path,
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    table: Iterable[Setting] = SETTINGS,
) -> dict[str, Chosen]:
    """Every setting's value and origin. `flags` holds only what was given.

    Raises:
        Malformed: a value that is not of its kind, or a key of the file that is no setting.
    """
    table = tuple(table)
    stored = _read_file(home / FILE_NAME, {setting.name for setting in table})
    return {setting.name: _choose_one(setting, flags, environ, stored) for setting in table}


def read_settings(home: Path, flags: Mapping[str, object], environ: Mapping[str, str]) -> Settings:
    """The effective settings.

    Raises:
        Malformed: as `choose`; or only one of tls_cert and tls_key is there.
    """
    chosen = choose(home, flags, environ)
    values: dict[str, Any] = {name: found.value for name, found in chosen.items()}
    if (values["tls_cert"] is None) != (values["tls_key"] is None):
        raise _refusal("tls_key", "tls_cert and tls_key go together")
    values["name"] = values["name"] or default_name(socket.gethostname())
    return Settings(
        home=home, origins={name: found.origin for name, found in chosen.items()}, **values
    )


def default_name(hostname: str) -> str:
    """An install's name made of its host name. Never empty."""
    return hostname.split(".")[0][:40] or "this machine"


def shown(
    chosen: Mapping[str, Chosen], table: Iterable[Setting] = SETTINGS
) -> list[dict[str, Any]]:
    """The settings for `config show`: plain values, secrets masked, origin and doc."""
    return [
        {
            "name": setting.name,
            "value": _plain(setting, chosen[setting.name].value),
            "origin": chosen[setting.name].origin,
            "variable": setting.variable,
            "doc": setting.doc,
        }
        for setting in table
    ]


def _plain(setting: Setting, value: object) -> object:
    if setting.secret and value:
        return MASK
    if isinstance(value, Path):
        return str(value)
    if setting.name == "listen" and isinstance(value, tuple):
        host, port = value
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return list(value) if isinstance(value, tuple) else value


def _read_file(path: Path, names: set[str]) -> dict[str, object]:
    try:
        stored = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Malformed("invalid_params", f"{FILE_NAME} is not TOML: {error}.") from None
    unknown = sorted(stored.keys() - names)
    if unknown:
        raise _refusal(unknown[0], f"{FILE_NAME} has a key that is no setting")
    return stored


def _choose_one(
    setting: Setting,
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    stored: Mapping[str, object],
) -> Chosen:
    """The first source that has it, read and checked."""
    found: tuple[object, str] | None = None
    if setting.name in flags:
        found = (flags[setting.name], "flag")
    elif setting.variable in environ:
        found = (environ[setting.variable], "environment")
    elif setting.secret and setting.variable + "_FILE" in environ:
        found = (_secret_file(setting, environ[setting.variable + "_FILE"]), "environment")
    elif setting.name in stored:
        found = (stored[setting.name], "file")
    if found is None:
        return Chosen(value=setting.default, origin="default")
    try:
        return Chosen(value=setting.read(found[0]), origin=found[1])
    except ValueError as error:
        raise _refusal(setting.name, f"{error} (from {found[1]})") from None


def _secret_file(setting: Setting, path: str) -> str:
    try:
        return Path(path).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise _refusal(setting.name, f"{setting.variable}_FILE cannot be read") from None


def _refusal(name: str, why: str) -> Malformed:
    return Malformed(
        "invalid_params",
        f"Setting {name}: {why}.",
        next="Run `roommesh config show` to see where each value comes from.",
        field=name,
    )
