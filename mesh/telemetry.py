"""What a node tells its operator: a log of JSON lines and counters for Prometheus.

Every line passes one redaction step (`Redaction`), whoever writes it: names that sound like
secrets are masked, so are grants (JWS), bearer headers, URL fragments and cookies inside any text,
and every exact secret that was announced with `Redaction.hide`. Control characters are escaped by
JSON, so that no line ends or colours a terminal by what a stranger sent (attack 63); values are
cut at LOG_VALUE_CHARS_MAX. Messages of libraries that use `logging` come through the same step.

Refuses: bytes are never printed, only their number; no traceback shows local variables.
"""

import json
import logging
import os
import re
import traceback
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, cast

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from mesh.config import LOG_LEVELS

LOG_VALUE_CHARS_MAX: Final = 2_048
LOG_ITEMS_MAX: Final = 32
LOG_FILE_BYTES_MAX: Final = 16 << 20  # then the file becomes NAME.1 and a new one begins
LOG_SECRETS_MAX: Final = 1_024
MASK: Final = "[hidden]"
_SECRET_CHARS_MAX: Final = 8_192
_WORK_CHARS_MAX: Final = 65_536

_SECRET_NAME: Final = re.compile(
    r"secret|token|passw|phrase|seed|authoriz|cookie|fragment|login|private|api_?key|^key$|^grant$"
    r"|^link$|^jws$|^mac$",
    re.IGNORECASE,
)
_SECRET_TEXT: Final = re.compile(
    r"eyJ[\w-]{8,}\.[\w-]+\.[\w-]*"  # a compact JWS: a grant
    r"|(?<=[Bb]earer )\S+"
    r"|(?<=://)[^\s/@]{1,256}@"  # user:password of a URL
    r"|(?<=#)[\w=%.~+/-]{12,}"  # a URL fragment: login and invitation secrets
    r"|(?<=[?&]token=)[^\s&]+"
    r"|(?<=roommesh_[0-9a-f]{8}=)[^\s;]+"
)


class Log(Protocol):
    """Where a driver writes what happened: an event in few words, and named values."""

    def debug(self, event: str, **values: object) -> object:
        """For whoever looks for a fault."""
        ...

    def info(self, event: str, **values: object) -> object:
        """The ordinary course of things, rarely."""
        ...

    def warning(self, event: str, **values: object) -> object:
        """Something a person may want to act on; a peer's misbehaviour too."""
        ...

    def error(self, event: str, **values: object) -> object:
        """This node's own failure."""
        ...


class Redaction:
    """The one step that every value passes on its way to the log."""

    def __init__(self) -> None:
        self._exact: dict[str, None] = {}

    def hide(self, secret: str) -> None:
        """Mask this exact text from now on. The oldest is forgotten above LOG_SECRETS_MAX."""
        assert len(secret) >= 8, "too short to be masked without harm"
        self._exact[secret] = None
        while len(self._exact) > LOG_SECRETS_MAX:
            del self._exact[next(iter(self._exact))]

    def text(self, value: str) -> str:
        """`value` without secrets, cut to LOG_VALUE_CHARS_MAX."""
        is_long = len(value) > _WORK_CHARS_MAX
        value = value[:_WORK_CHARS_MAX]
        for secret in self._exact:
            if secret in value:
                value = value.replace(secret, MASK)
        value = _SECRET_TEXT.sub(MASK, value)
        if is_long:  # Half a secret may stand at the end, where nothing recognises it.
            value = value[:-_SECRET_CHARS_MAX]
        if len(value) > LOG_VALUE_CHARS_MAX:
            value = value[:LOG_VALUE_CHARS_MAX] + "[cut]"
        return value

    def value(self, value: object, depth: int = 0) -> object:
        """Any value as plain JSON without secrets, bounded in depth and length."""
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes | bytearray | memoryview):
            return f"[{len(value)} bytes]"
        if depth >= 4:
            return "[deeper]"
        if isinstance(value, Mapping):
            few = list(value.items())[:LOG_ITEMS_MAX]
            return {str(k)[:80]: self.named(str(k), v, depth + 1) for k, v in few}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.value(item, depth + 1) for item in list(value)[:LOG_ITEMS_MAX]]
        return self.text(str(value))

    def named(self, name: str, value: object, depth: int = 0) -> object:
        """The value of a field, masked whole where its name sounds like a secret."""
        if _SECRET_NAME.search(name) and value not in (None, "", True, False):
            return MASK
        return self.value(value, depth)

    def __call__(
        self, _logger: object, _method: str, event: MutableMapping[str, Any]
    ) -> Mapping[str, Any]:
        """The step as structlog calls it."""
        return {name: self.named(name, value) for name, value in event.items()}


class LogFile:
    """An append-only file of lines, 0600, turned over once when it is full."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = self._opened()
        self._size = os.fstat(self._fd).st_size

    def _opened(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(self._path, flags, 0o600)

    def write(self, line: str) -> None:
        """Append one line. A full disk loses the line, never the node."""
        data = line.encode("ascii") + b"\n"
        try:
            if self._size + len(data) > LOG_FILE_BYTES_MAX:
                self._turn_over()
            self._size += os.write(self._fd, data)
        except OSError:
            return

    def _turn_over(self) -> None:
        self._size = 0  # also when it fails: the next try is a whole file later
        os.replace(self._path, self._path.with_name(self._path.name + ".1"))
        full, self._fd = self._fd, self._opened()
        os.close(full)

    def close(self) -> None:
        """Give the file back."""
        os.close(self._fd)


def _with_traceback(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Turn `exc_info` into lines: where and what, never the values of local variables."""
    found = event.pop("exc_info", None)
    if isinstance(found, BaseException):
        event["traceback"] = "".join(traceback.format_exception(found, limit=-8))
    return event


def _with_level(
    _logger: object, method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    event["level"] = method
    return event


def _as_line(
    _logger: object, _method: str, event: Mapping[str, Any]
) -> tuple[tuple[str], dict[str, Any]]:
    return (json.dumps(event, ensure_ascii=True, default=str),), {}


class _Sink:
    """What structlog writes to: each level is the same call."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def msg(self, line: str) -> None:
        self._write(line)

    debug = info = warning = error = msg


def make_log(
    write: Callable[[str], None],
    redaction: Redaction,
    wall_ms: Callable[[], int],
    *,
    level: str = LOG_LEVELS[0],
) -> Log:
    """A log that gives finished lines of at least `level` to `write`, stamped with `wall_ms()`."""
    written = LOG_LEVELS[LOG_LEVELS.index(level) :]

    def _only_written(
        _logger: object, method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        if method not in written:
            raise structlog.DropEvent
        return event

    def _with_time(
        _logger: object, _method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        return {"at_ms": wall_ms(), **event}

    made = structlog.wrap_logger(
        _Sink(write),
        processors=[
            *(_only_written, _with_level, _with_traceback, _with_time),
            *(redaction, _as_line),
        ],
        wrapper_class=structlog.BoundLogger,
        cache_logger_on_first_use=True,
    )
    return cast(Log, made)


class _Bridge(logging.Handler):
    """Brings warnings of libraries into the node's own log."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; its text is formatted here and redacted like any other value."""
        found: tuple[Any, BaseException | None, TracebackType | None] | tuple[None, None, None]
        found = record.exc_info or (None, None, None)
        say = self._log.error if record.levelno >= logging.ERROR else self._log.warning
        say(record.name, text=record.getMessage(), exc_info=found[1])


@contextmanager
def libraries_into(log: Log) -> Iterator[None]:
    """While inside, what libraries say through `logging` goes to `log` and nowhere else."""
    root = logging.getLogger()
    before = root.handlers[:]
    bridge = _Bridge(log)
    root.handlers[:] = [bridge]
    try:
        yield
    finally:
        root.handlers[:] = before


class Metrics:
    """Counters and gauges of one node. Labels are words of ours, never a peer's text."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.links_up = self.gauge("links_up", "Open links to other installs.")
        self.dials = self.counter("dials", "Attempts to reach an install.", "outcome")
        self.link_ends = self.counter("link_ends", "Links that ended.", "reason")
        self.handshakes_refused = self.counter(
            "handshakes_refused", "Link handshakes that failed.", "reason"
        )
        self.link_messages = self.counter("link_messages", "Messages on links.", "direction")
        self.link_bytes = self.counter("link_bytes", "Bytes of messages on links.", "direction")
        self.sockets = self.counter("sockets", "Connections taken or refused.", "outcome")
        self.sightings = self.gauge("sightings", "Installs seen on the local network.")

    def counter(self, name: str, text: str, *labels: str) -> Counter:
        """A new counter `roommesh_NAME_total`."""
        return Counter(f"roommesh_{name}", text, labels, registry=self.registry)

    def gauge(self, name: str, text: str, *labels: str) -> Gauge:
        """A new gauge `roommesh_NAME`."""
        return Gauge(f"roommesh_{name}", text, labels, registry=self.registry)

    def render(self) -> bytes:
        """The text that `/metrics` answers."""
        return generate_latest(self.registry)
