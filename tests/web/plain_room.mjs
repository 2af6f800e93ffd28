// Events of a made-up room, for the tests of the page's pure parts.

export const ME = "m_me";
export const AGENT = "m_agent";

export const ROOM = {
  room_id: "r_1", name: "Kitchen", members: 2, authority_gateway_id: "install:aa",
  authority_epoch: 1, revision: 1, created_at: 0, updated_at: 0, latest_seq: 0,
  protected_seq: 0, disbanded_at: null, copy: false, me: ME, role: "owner",
};

export const MINUTE = 60_000;
const START = new Date(2026, 0, 5, 12, 0).getTime();

/** An event; `seq` decides its hash and its time. */
export function event(seq, kind, payload = {}, more = {}) {
  const id = more.by ?? ME;
  return {
    room_id: ROOM.room_id, seq, event_id: more.event_id ?? `evt_${seq}`, kind,
    actor: { kind: id === ME ? "person" : "agent", id, display_name: id, handle: id,
      install_id: "install:aa" },
    authority_epoch: 1, payload, cause: more.cause ?? null, created_at: 0,
    admitted_at: more.at ?? START + seq * 1000, prev_hash: `h${seq - 1}`,
    hash: more.hash ?? `h${seq}`, level: "local",
  };
}

export function says(seq, text, more = {}) {
  return event(seq, "message.user", { text }, more);
}

export function answers(seq, text, turn_id) {
  const cause = { root: "evt_1", hop: 1, turn_id };
  return event(seq, "message.member", { text, turn_id }, { by: AGENT, cause });
}

export function admitted(seq, turn_id, trigger_seq) {
  const payload = { turn_id, member_id: AGENT, root: "evt_1", trigger_seq, attempt: 1, hop: 1 };
  return event(seq, "turn.admitted", payload, { by: AGENT });
}

export function delta(turn_id, n, text) {
  return { kind: "turn.delta", turn_id, member_id: AGENT, n, text };
}

export function member(member_id, more = {}) {
  return {
    member_id, handle: member_id.slice(2), display_name: member_id.slice(2), kind: "agent",
    role: "member", install_id: "install:aa", install_name: "desk", profile: null, muted: false,
    me: member_id === ME, mine: true, joined_at: 0, presence: "online", presence_since: null,
    reason: null, lent: null, turn: null, ...more,
  };
}
