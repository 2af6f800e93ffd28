"""The one-time link: spent by the page's POST, once, and not by anything else."""

from typing import Any

import aiohttp
from yarl import URL

from mesh.core.limits import LOGIN_ADDRESSES_MAX, LOGIN_FAILURES_MAX, LOGIN_WINDOW_S
from mesh.http.login import LoginFailures
from mesh.http.own_hosts import OwnHosts
from tests.http.edge import Edge, running_edge


async def post(
    edge: Edge, body: object, origin: str | None = "", path: str = "/login", **headers: str
) -> tuple[int, Any, aiohttp.ClientResponse]:
    if origin is not None:
        headers["Origin"] = origin or edge.url
    async with edge.client.post(edge.url + path, json=body, headers=headers) as response:
        return response.status, await response.json(), response


async def secret_of(edge: Edge) -> str:
    link, _ = await edge.sessions.login_link()
    return link.partition("#login=")[2]


async def test_a_link_becomes_a_cookie_that_works() -> None:
    async with running_edge() as edge:
        status, body, response = await post(edge, {"secret": await secret_of(edge)})
        assert (status, body) == (200, {"ok": True})
        cookie = response.cookies["roommesh_0123abcd"]
        assert cookie["httponly"] and cookie["samesite"] == "Strict" and cookie["path"] == "/"
        assert int(cookie["max-age"]) == 90 * 24 * 3600
        assert not cookie["secure"]
        headers = {"Cookie": f"{cookie.key}={cookie.value}", "Origin": edge.url}
        assert (await edge.call("toy.who", headers=headers))["result"] == {"kind": "browser"}


async def test_a_spent_link_says_what_to_do() -> None:
    async with running_edge() as edge:
        secret = await secret_of(edge)
        await post(edge, {"secret": secret})
        status, body, response = await post(edge, {"secret": secret})
        assert status == 401
        assert body["error"]["reason"] == "login_spent"
        assert "roommesh open" in body["error"]["next"]
        assert secret not in str(body)
        assert not response.cookies


async def test_behind_the_operators_proxy_the_cookie_is_secure() -> None:
    hosts = OwnHosts(hostname="toybox", public_url="https://rooms.example.org")
    async with running_edge(hosts=hosts) as edge:
        _, _, response = await post(
            edge,
            {"secret": await secret_of(edge)},
            "https://rooms.example.org",
            Host="rooms.example.org",
        )
        assert response.cookies["roommesh_0123abcd"]["secure"]


async def test_only_our_page_may_log_in() -> None:
    async with running_edge() as edge:
        secret = await secret_of(edge)
        for origin in (None, "null", "https://evil.example"):
            status, body, _ = await post(edge, {"secret": secret}, origin)
            assert (status, body["error"]["reason"]) == (403, "wrong_origin")
        assert (await post(edge, {"secret": secret}))[0] == 200


async def test_neither_a_look_nor_a_form_spends_the_link() -> None:
    async with running_edge() as edge:
        secret = await secret_of(edge)
        async with edge.client.get(URL(f"{edge.url}/login?secret={secret}")) as response:
            assert response.status == 405
        headers = {"Origin": edge.url}
        form = {"secret": secret}
        async with edge.client.post(edge.url + "/login", data=form, headers=headers) as response:
            assert response.status == 400
        assert (await post(edge, {"secret": secret}))[0] == 200


async def test_other_bodies_are_refused() -> None:
    async with running_edge() as edge:
        bodies: list[object] = [{}, {"secret": 5}, {"secret": "a", "more": 1}, [], "x"]
        for body in bodies:
            status, answer, _ = await post(edge, body)
            assert (status, answer["error"]["reason"]) == (422, "invalid_params")
        assert (await post(edge, {"secret": "x" * 10_000}))[0] == 413


async def test_failures_are_limited_and_forgiven() -> None:
    async with running_edge() as edge:
        for _ in range(LOGIN_FAILURES_MAX):
            assert (await post(edge, {"secret": "invented"}))[0] == 401
        secret = await secret_of(edge)
        status, body, _ = await post(edge, {"secret": secret})
        assert (status, body["error"]["reason"]) == (429, "rate_limited")
        edge.clock.pass_s(LOGIN_WINDOW_S)
        assert (await post(edge, {"secret": secret}))[0] == 200


def test_remembered_addresses_are_bounded() -> None:
    failures = LoginFailures()
    for n in range(LOGIN_ADDRESSES_MAX + 5):
        failures.add(f"address {n}", 0.0)
    assert len(failures._at_s) == LOGIN_ADDRESSES_MAX
    assert "address 0" not in failures._at_s


async def test_logging_out_ends_the_session() -> None:
    async with running_edge() as edge:
        cookie = await edge.cookie()
        status, body, response = await post(edge, {}, path="/logout", Cookie=cookie["Cookie"])
        assert (status, body) == (200, {"ok": True})
        assert response.cookies["roommesh_0123abcd"].value == ""
        assert edge.sessions.rows() == []
        status, _, _ = await post(edge, {}, path="/logout", Cookie=cookie["Cookie"])
        assert status == 401
        status, body, _ = await post(edge, {}, path="/logout", **edge.bearer)
        assert body["error"]["reason"] == "unsupported"
