"""A round sorts effects by who performs them, and says whether the disk must hear of it."""

import asyncio

from mesh.core.effects import Answer, DropProposal, RefuseProposal, Send, Stream, Tell
from mesh.core.errors import Refused
from mesh.core.link_messages import NotHere
from mesh.service.round import Round, Submission


def test_effects_go_where_they_belong() -> None:
    done = Round()
    send = Send(install_id="install:1", message=NotHere(room_id="r", reason="not_found"))
    stream = Stream(install_id="install:1", since_seq=0, upto_seq=3)
    tell = Tell(body={"kind": "presence"})
    answer = Answer(ticket=1, outcome=Refused("busy", "No."))
    for effect in (stream, tell, answer, send):
        done.add(effect)
    assert (done.sends, done.shows, done.answers) == ([stream, send], [tell], [answer])
    assert changes(done) is False
    done.add(DropProposal(key="a"))
    done.add(RefuseProposal(key="b", reason="muted"))
    assert changes(done) is True
    assert (done.dropped, done.refused) == (["a"], [("b", "muted")])


def changes(done: Round) -> bool:
    """Whether the disk must hear of it."""
    return done.changes


async def test_a_submission_is_kept_before_it_has_an_outcome() -> None:
    loop = asyncio.get_running_loop()
    submission = Submission(kept=loop.create_future(), outcome=loop.create_future())
    submission.kept.set_result(None)
    assert submission.kept.done() and not submission.outcome.done()
