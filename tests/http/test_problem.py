"""Refusals as HTTP answers."""

import json

from mesh.core.errors import REASONS, MeshError
from mesh.http import problem


def test_every_reason_has_its_answer() -> None:
    for reason, meaning in REASONS.items():
        response = problem.answer(MeshError(reason, "A sentence."))
        assert response.status == meaning.status
        assert isinstance(response.body, bytes)
        said = json.loads(response.body)["error"]
        assert said == {"reason": reason, "message": "A sentence.", "next": meaning.next}
        assert response.keep_alive is False


def test_a_missing_login_names_the_scheme() -> None:
    assert "Bearer" in problem.answer(MeshError("unauthenticated", "x")).headers["WWW-Authenticate"]
    assert "WWW-Authenticate" not in problem.answer(MeshError("forbidden", "x")).headers


def test_statuses_of_the_server_become_reasons() -> None:
    reasons = {status: problem.of_status(status).reason for status in (400, 404, 405)}
    assert reasons == {400: "invalid_request", 404: "not_found", 405: "unsupported"}


def test_the_policy_lets_nothing_in_from_elsewhere() -> None:
    policy = problem.HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy and "http" not in policy and "*" not in policy
