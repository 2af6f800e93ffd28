"""Live audio: rooms of people and agents over WebRTC, forwarded and mixed. The guided tour.

The package needs nothing of ours and could be lifted into another project. It takes SDP's partner
libraries for what they do well (`aiortc`: ICE, DTLS, SRTP; `libopus`) and owns the media path,
because the stock one decodes everything, never mends a loss and waits longer after each.

**What is decided without doing** (no loop, no clock, no socket; `now_s` is an argument):

    limits errors          every bound; every refusal
    sdp answer             what an offer asks for; what we answer, and a link's own offer
    negotiation ice call   steps of an offer; which addresses are tried; who is in, who is muted
    rtp red rtcp           packets, copies of the packet before, reports
    opus_toc jitter        how long a packet plays; when it plays, and what if it is lost
    talkers mix            who is heard; everybody but oneself

**What is done with it** (each has one owner, who closes it):

    rtc_seam               the only file that knows aiortc's inner parts, and says when they moved
    opus                   libopus: encode, decode, mend, conceal
    incoming outgoing      one peer's packets as frames; frames as one listener's packets
    peer                   one connection: its offers, its reports, its life
    voice bridge           one talker; the call's media: passing one, mixing several
    link                   between two engines: each of the loudest once, under his name
    seating engine         one call kept in step with its rules; all calls of a process
    events stats           what is told, and what is counted
    worker                 the media process
    worker_messages worker_process      what a node says to it, and how it holds it

A packet's way: socket -> `rtc_seam` decrypts -> `incoming` makes frames -> `bridge` asks `talkers`
whether it is heard. With one talker his packets go to everybody as they are. With more, `jitter`
puts each voice in order, `mix` adds them up once, and one encoding serves all who only listen.
`outgoing` hides every such change from the listener: one stream, in the numbers he agreed on.

To use it from a node: `worker_process.WorkerProcess`. To use it in a program of one's own:
`engine.Engine`. Nothing is imported here, so that a node never loads the media libraries.
"""
