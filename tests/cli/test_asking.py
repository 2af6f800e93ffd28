"""One connection per command."""

import pytest

from mesh.cli.asking import ask, failed
from mesh.cli.failure import Failed
from mesh.cli.terminal import Terminal
from mesh.client import OutcomeUnknown
from tests.cli.nodes import Command


def test_the_sdks_error_becomes_the_commands() -> None:
    failure = failed(OutcomeUnknown("groups.rename", "q_1"))
    assert (failure.reason, failure.message) == (
        "uncertain",
        "The reply to groups.rename was lost.",
    )


def test_without_a_node_the_job_is_never_begun(nowhere: Command) -> None:
    with pytest.raises(Failed) as failure:
        ask(Terminal(home=nowhere.home, json=False), lambda node: node.node.info())
    assert failure.value.reason == "unreachable"
