"""Pages are served as they are, and nothing beside them."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.http.edge import CANARY, Edge, running_edge


@pytest.fixture
async def edge(tmp_path: Path) -> AsyncIterator[Edge]:
    folder = tmp_path / "web"
    (folder / "vendor").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>page</title>")
    (folder / "app.js").write_text("export const x = 1;")
    (folder / "vendor" / "lit.js").write_text("export {};")
    (folder / "icon.svg").write_text("<svg/>")
    (folder / "notes.txt").write_text(CANARY)
    (tmp_path / "secret.js").write_text(CANARY)
    (folder / "link.js").symlink_to(tmp_path / "secret.js")
    async with running_edge(folder) as running:
        yield running


async def raw(edge: Edge, target: str) -> bytes:
    """GET with that very target: no client tidies it up on the way."""
    reader, writer = await asyncio.open_connection("127.0.0.1", edge.port)
    writer.write(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/i", "text/html; charset=utf-8"),
        ("/web/app.js", "text/javascript; charset=utf-8"),
        ("/web/vendor/lit.js", "text/javascript; charset=utf-8"),
        ("/web/icon.svg", "image/svg+xml"),
    ],
)
async def test_each_page_has_its_type_and_the_headers(edge: Edge, path: str, kind: str) -> None:
    async with edge.client.get(edge.url + path) as response:
        assert response.status == 200
        assert response.headers["Content-Type"] == kind
        assert response.headers["Cache-Control"] == "no-cache"
        assert "default-src 'self'" in response.headers["Content-Security-Policy"]
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Referrer-Policy"] == "no-referrer"
        assert response.headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert "Server" not in response.headers


async def test_an_unchanged_page_is_not_sent_again(edge: Edge, tmp_path: Path) -> None:
    url = edge.url + "/web/app.js"
    async with edge.client.get(url) as response:
        etag = response.headers["ETag"]
    async with edge.client.get(url, headers={"If-None-Match": etag}) as response:
        assert response.status == 304
        assert await response.read() == b""
    changed = tmp_path / "web" / "app.js"
    changed.write_text("export const x = 2;")
    os.utime(changed, ns=(1, 1))
    async with edge.client.get(url, headers={"If-None-Match": etag}) as response:
        assert response.status == 200
        assert await response.text() == "export const x = 2;"


@pytest.mark.parametrize(
    "target",
    [
        "/web/../secret.js",
        "/web/..%2fsecret.js",
        "/web/%2e%2e/secret.js",
        "/web//secret.js",
        "/web/vendor/../../secret.js",
        "/web/%2e%2e%5csecret.js",
        "/web/notes.txt",
        "/web/link.js",
        "/web/app.js%00.txt",
        "/web/",
        "/web/vendor",
        "//etc/passwd",
        "/web/%252e%252e/secret.js",
        "/secret.js",
        "/web/app.js/",
    ],
)
async def test_nothing_beside_the_pages_is_served(edge: Edge, target: str) -> None:
    answer = await raw(edge, target)
    assert answer.split(b" ")[1] in {b"404", b"400"}
    assert CANARY.encode() not in answer


async def test_pages_are_only_read(edge: Edge) -> None:
    async with edge.client.post(edge.url + "/") as response:
        assert response.status == 405
    async with edge.client.head(edge.url + "/") as response:
        assert response.status == 200
