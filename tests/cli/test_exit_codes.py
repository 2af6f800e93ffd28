"""Every reason has its exit status."""

import pytest

from mesh.cli import exit_codes
from mesh.core.errors import REASONS


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("timeout", 3),
        ("forbidden", 4),
        ("not_found", 4),
        ("unreachable", 5),
        ("peer_offline", 5),
        ("uncertain", 6),
        ("internal", 1),
        ("invalid_params", 2),
        ("not_reachable", 4),
    ],
)
def test_reasons_that_scripts_rely_on(reason: str, status: int) -> None:
    assert exit_codes.of_reason(reason) == status


def test_no_reason_looks_like_success() -> None:
    assert all(exit_codes.of_reason(reason) in {1, 2, 3, 4, 5, 6} for reason in REASONS)


def test_every_exception_is_a_reason() -> None:
    assert exit_codes._BY_REASON.keys() <= REASONS.keys()
