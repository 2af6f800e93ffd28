"""The command's own refusal."""

from mesh.cli.failure import Failed


def test_it_has_the_three_words_of_every_refusal() -> None:
    failure = Failed("busy", "Too much.", "Wait.")
    assert (failure.reason, str(failure), failure.next) == ("busy", "Too much.", "Wait.")
