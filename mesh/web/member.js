/**
 * Members of a room, folded from events and signals.
 *
 * `groups.state` gives the whole list; between two such answers, joins, leaves, mutes,
 * withdrawals and presence are folded here so that the panel moves with the log. Members who
 * left stay known, because their messages are still there to be read. Pure.
 *
 * @import { Member, RoomEvent, Signal } from "./surface.js"
 */

/** @typedef {ReadonlyMap<string, Member>} Members */

/**
 * @param {Members} members
 * @param {string} member_id
 * @param {Partial<Member>} change
 * @returns {Members}
 */
function changed(members, member_id, change) {
  const before = members.get(member_id);
  if (before === undefined) return members;
  return new Map(members).set(member_id, { ...before, ...change });
}

/**
 * Members after one event of the log.
 * @param {Members} members
 * @param {RoomEvent} event
 * @returns {Members}
 */
export function foldMemberEvent(members, event) {
  const { kind, payload, admitted_at } = event;
  switch (kind) {
    case "room.created":
      return payload.founder ? seated(members, payload.founder, admitted_at) : members;
    case "member.joined":
      return seated(members, payload.member, admitted_at);
    case "member.left":
      return changed(members, payload.member_id, {
        presence: "left",
        presence_since: admitted_at,
        reason: payload.reason ?? null,
        turn: null,
      });
    case "member.muted":
      return changed(members, payload.member_id, { muted: payload.muted === true });
    case "route.revoked":
    case "grant.revoked":
      return changed(members, payload.member_id, {
        presence: "withdrawn",
        presence_since: admitted_at,
        reason: payload.reason ?? null,
      });
    default:
      return members;
  }
}

/**
 * Members after a `presence` signal.
 * @param {Members} members
 * @param {Signal} signal
 * @returns {Members}
 */
export function foldPresence(members, signal) {
  const before = members.get(signal.member_id);
  if (before === undefined || before.presence === "left") return members;
  return changed(members, signal.member_id, {
    presence: signal.presence,
    presence_since: signal.since ?? null,
    reason: signal.reason ?? null,
  });
}

/**
 * @param {Members} members
 * @param {any} seat
 * @param {number} joined_at
 * @returns {Members}
 */
function seated(members, seat, joined_at) {
  if (!seat || typeof seat.member_id !== "string") return members;
  const before = members.get(seat.member_id);
  /** @type {Member} */
  const member = {
    me: false,
    mine: false,
    muted: false,
    turn: null,
    ...before,
    member_id: seat.member_id,
    handle: seat.handle,
    display_name: seat.display_name,
    kind: seat.kind,
    role: seat.role,
    install_id: seat.install_id,
    install_name: seat.install_name,
    profile: seat.profile ?? null,
    lent: seat.lent ?? before?.lent ?? null,
    joined_at,
    presence: before && before.presence !== "left" ? before.presence : "joining",
    presence_since: joined_at,
    reason: null,
  };
  return new Map(members).set(member.member_id, member);
}

/**
 * The members that are in the room, people first, then by handle.
 * @param {Members} members
 * @returns {Member[]}
 */
export function present(members) {
  return [...members.values()]
    .filter((member) => member.presence !== "left")
    .sort(
      (a, b) =>
        Number(a.kind === "agent") - Number(b.kind === "agent") ||
        Number(b.me) - Number(a.me) ||
        a.handle.localeCompare(b.handle),
    );
}
