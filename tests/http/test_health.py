"""Live, ready, counted."""

from tests.http.edge import running_edge


async def test_a_process_that_answers_lives() -> None:
    async with running_edge() as edge, edge.client.get(edge.url + "/livez") as response:
        assert (response.status, await response.text()) == (200, "ok\n")


async def test_ready_says_what_is_wrong() -> None:
    async with running_edge() as edge:
        async with edge.client.get(edge.url + "/readyz") as response:
            assert (response.status, await response.json()) == (
                200,
                {"ready": True, "problems": []},
            )
        edge.problems.append("storage_failed: /home/ann/mesh.db is gone")
        async with edge.client.get(edge.url + "/readyz") as response:
            assert (response.status, await response.json()) == (
                503,
                {"ready": False, "problems": ["storage_failed"]},
            )


async def test_counters_are_for_those_who_are_logged_in() -> None:
    async with running_edge() as edge:
        url = edge.url + "/metrics"
        async with edge.client.get(url) as response:
            assert response.status == 401
        async with edge.client.get(url, headers=edge.bearer) as response:
            assert response.status == 200
            assert "roommesh_connections 0.0" in await response.text()
        cookie = {"Cookie": (await edge.cookie())["Cookie"]}
        async with edge.client.get(url, headers=cookie) as response:
            assert response.status == 200
