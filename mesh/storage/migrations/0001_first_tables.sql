-- The first schema. Digests and keys are 32-byte blobs; P, H and signatures are the bytes that
-- were signed, verbatim. Times are wall milliseconds.

-- One row. `clean` is 1 only between an orderly close and the next open.
CREATE TABLE store (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    clean INTEGER NOT NULL
) STRICT;
INSERT INTO store (one, clean) VALUES (1, 0);

-- AUTOINCREMENT: the number of a forgotten room is never given to another one.
CREATE TABLE rooms (
    room INTEGER PRIMARY KEY AUTOINCREMENT,
    room_id TEXT NOT NULL UNIQUE,
    authority_install_id TEXT NOT NULL,
    promised_epoch INTEGER NOT NULL,
    head_seq INTEGER NOT NULL,
    head_hash BLOB NOT NULL,
    joined_at_ms INTEGER NOT NULL
) STRICT;

-- place = room * 2^40 + seq: one tree, in the order of the log, with no second index for it.
CREATE TABLE events (
    place INTEGER PRIMARY KEY,
    room INTEGER NOT NULL REFERENCES rooms (room),
    epoch INTEGER NOT NULL,
    key BLOB NOT NULL,
    kind TEXT NOT NULL,
    raw BLOB NOT NULL,
    author_sig BLOB NOT NULL,
    header BLOB NOT NULL,
    authority_sig BLOB NOT NULL,
    hash BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_by_key ON events (room, key);

-- The only way into `events`, and the fence: a head moves only by the event that links to it, and
-- only in an epoch that is not below the promised one. It stands here, with the data, so that no
-- code can append around it; and one statement can append for many rooms.
CREATE VIEW append AS
SELECT
    NULL AS room_id, NULL AS seq, NULL AS epoch, NULL AS prev_hash, NULL AS key, NULL AS kind,
    NULL AS raw, NULL AS author_sig, NULL AS header, NULL AS authority_sig, NULL AS hash;
CREATE TRIGGER append_behind_the_fence INSTEAD OF INSERT ON append
BEGIN
    UPDATE rooms
    SET head_seq = NEW.seq, head_hash = NEW.hash, promised_epoch = NEW.epoch
    WHERE room_id = NEW.room_id AND promised_epoch <= NEW.epoch
        AND head_seq = NEW.seq - 1 AND head_hash = NEW.prev_hash;
    SELECT RAISE(ABORT, 'fence') WHERE changes() <> 1;
    INSERT INTO events
        (place, room, epoch, key, kind, raw, author_sig, header, authority_sig, hash)
    SELECT
        (room << 40) + NEW.seq, room, NEW.epoch, NEW.key, NEW.kind, NEW.raw, NEW.author_sig,
        NEW.header, NEW.authority_sig, NEW.hash
    FROM rooms WHERE room_id = NEW.room_id;
END;

CREATE TABLE outbox (
    room INTEGER NOT NULL REFERENCES rooms (room),
    n INTEGER NOT NULL,
    key BLOB NOT NULL,
    raw BLOB NOT NULL,
    signature BLOB NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'refused')),
    reason TEXT NOT NULL,
    queued_at_ms INTEGER NOT NULL,
    UNIQUE (room, n),
    UNIQUE (room, key)
) STRICT;
CREATE VIEW outbox_put AS
SELECT
    NULL AS room_id, NULL AS n, NULL AS key, NULL AS raw, NULL AS signature, NULL AS state,
    NULL AS reason, NULL AS queued_at_ms;
CREATE TRIGGER outbox_put_once INSTEAD OF INSERT ON outbox_put
BEGIN
    INSERT INTO outbox (room, n, key, raw, signature, state, reason, queued_at_ms)
    VALUES (
        (SELECT room FROM rooms WHERE room_id = NEW.room_id),
        NEW.n, NEW.key, NEW.raw, NEW.signature, NEW.state, NEW.reason, NEW.queued_at_ms
    )
    ON CONFLICT (room, key) DO UPDATE SET
        n = excluded.n, state = excluded.state, reason = excluded.reason,
        queued_at_ms = excluded.queued_at_ms;
END;

CREATE TABLE receipts (
    request_id TEXT PRIMARY KEY,
    operation TEXT NOT NULL,
    owner TEXT NOT NULL,
    input_sha256 TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'applied', 'rejected', 'uncertain')),
    reason TEXT NOT NULL,
    message TEXT NOT NULL,
    result BLOB NOT NULL,
    state BLOB NOT NULL,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX receipts_pending ON receipts (created_at_ms) WHERE status = 'pending';

CREATE TABLE loans (
    room_id TEXT NOT NULL,
    member_id TEXT NOT NULL,
    profile TEXT NOT NULL,
    permissions BLOB NOT NULL,
    until_ms INTEGER NOT NULL,
    policy_digest TEXT NOT NULL,
    catalog_digest TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    withdrawn_at_ms INTEGER,
    PRIMARY KEY (room_id, member_id)
) STRICT;

-- An install that lends to its own room both issues and holds a grant: one row for each.
CREATE TABLE grants (
    grant_id TEXT NOT NULL,
    direction TEXT NOT NULL CHECK (direction IN ('issued', 'held')),
    room_id TEXT NOT NULL,
    member_id TEXT NOT NULL,
    profile TEXT NOT NULL,
    permissions BLOB NOT NULL,
    home_install_id TEXT NOT NULL,
    target_install_id TEXT NOT NULL,
    issued_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    token BLOB NOT NULL,
    catalog BLOB NOT NULL,
    revoked_at_ms INTEGER,
    last_used_at_ms INTEGER,
    PRIMARY KEY (grant_id, direction)
) STRICT;
CREATE INDEX grants_by_member ON grants (room_id, member_id);
-- A revoked grant id stays revoked for ever, whatever the program says.
CREATE TRIGGER grants_stay_revoked BEFORE UPDATE OF revoked_at_ms ON grants
WHEN OLD.revoked_at_ms IS NOT NULL AND NEW.revoked_at_ms IS NOT OLD.revoked_at_ms
BEGIN SELECT RAISE(ABORT, 'a revoked grant stays revoked'); END;
CREATE TRIGGER grants_are_kept BEFORE DELETE ON grants
BEGIN SELECT RAISE(ABORT, 'a grant id is used once, for ever'); END;

CREATE TABLE turn_inbox (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    turn_id TEXT NOT NULL UNIQUE,
    room_id TEXT NOT NULL,
    member_id TEXT NOT NULL,
    trigger_seq INTEGER NOT NULL,
    root TEXT NOT NULL,
    hop INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    deadline_ms INTEGER NOT NULL,
    grant_id TEXT NOT NULL,
    state TEXT NOT NULL CHECK (
        state IN ('queued', 'running', 'settled', 'passed', 'failed', 'cancelled', 'uncertain')
    ),
    reason TEXT NOT NULL,
    message TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    closed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX turn_inbox_open ON turn_inbox (n) WHERE closed = 0;

CREATE TABLE contexts (
    room_id TEXT NOT NULL,
    member_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (room_id, member_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE peers (
    install_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    public_keys BLOB NOT NULL,
    addresses BLOB NOT NULL,
    last_seen_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE browser_sessions (
    session_id TEXT PRIMARY KEY,
    secret_sha256 TEXT NOT NULL UNIQUE,
    created_at_ms INTEGER NOT NULL,
    last_seen_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    user_agent TEXT NOT NULL
) STRICT;

CREATE TABLE login_links (
    secret_sha256 TEXT PRIMARY KEY,
    expires_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE invitation_notes (
    invitation_id TEXT PRIMARY KEY,
    room_id TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    previewed_at_ms INTEGER
) STRICT, WITHOUT ROWID;
