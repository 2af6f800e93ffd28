"""The pages: files of mesh/web, served as they are.

Names are looked up in an index made at the start, so a path can name nothing else: `..`,
absolute paths, links and encodings of them are simply not in it. Each answer has an ETag of its
content and must be asked for again, so a page never runs with half of an older version.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aiohttp import hdrs, web

from mesh.core.errors import Refused

TYPES: Final = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".webmanifest": "application/manifest+json",
}
_TEXT: Final = frozenset({".html", ".js", ".css"})
INDEX: Final = "index.html"


@dataclass(slots=True)
class _File:
    path: Path
    changed_ns: int = -1
    body: bytes = b""
    etag: str = ""

    def read(self) -> None:
        """Take the content again if the file has changed since."""
        changed_ns = self.path.stat().st_mtime_ns
        if changed_ns != self.changed_ns:
            self.body = self.path.read_bytes()
            self.etag = f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'
            self.changed_ns = changed_ns


class Pages:
    """The index of one folder of pages."""

    def __init__(self, folder: Path) -> None:
        """Files with other endings than TYPES are not served; neither are links out of it."""
        root = folder.resolve()
        self._files = {
            path.relative_to(root).as_posix(): _File(path)
            for path in sorted(root.rglob("*"))
            if path.suffix in TYPES and path.is_file() and path.resolve().is_relative_to(root)
        }

    async def index(self, request: web.Request) -> web.Response:
        """`/` and `/i`: one page, which looks at its own address."""
        return self._answer(request, INDEX)

    async def file(self, request: web.Request) -> web.Response:
        """`/web/NAME`."""
        return self._answer(request, request.match_info["name"])

    def _answer(self, request: web.Request, name: str) -> web.Response:
        found = self._files.get(name)
        if found is None:
            raise Refused("not_found", "There is no such page.")
        found.read()
        headers = {hdrs.ETAG: found.etag, hdrs.CACHE_CONTROL: "no-cache"}
        if found.etag in request.headers.get(hdrs.IF_NONE_MATCH, ""):
            return web.Response(status=304, headers=headers)
        suffix = found.path.suffix
        headers[hdrs.CONTENT_TYPE] = TYPES[suffix] + ("; charset=utf-8" if suffix in _TEXT else "")
        return web.Response(body=found.body, headers=headers)
