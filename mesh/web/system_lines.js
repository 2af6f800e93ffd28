/**
 * Events of the log that are not messages, as one sentence each.
 *
 * A sentence is a list of parts: plain text of ours, names of others as `{name, id}` and other
 * words of theirs as `{quote}`, which the view cleans, isolates and sets in quotation marks. So
 * no member's text can pass for a line of the system (only event kinds come here). Pure.
 *
 * @import { Member, RoomEvent } from "./surface.js"
 */

import { skeleton } from "./names.js";

/**
 * @typedef {{name: string, id: string, handle?: string}} Named
 * @typedef {string|Named|{until: number}|{quote: string}} Part
 * @typedef {{icon: string, tone: "plain"|"good"|"warn"|"bad", parts: Part[],
 *   state: string}} Line
 */

/** Words for what a loan allows, in the order they are said. */
const ALLOWS = new Map([
  ["dispatch", "be asked"],
  ["stop", "be stopped"],
  ["status", "be watched"],
  ["hear", "hear"],
  ["speak", "speak"],
]);

/** Why a turn failed, for the reasons that have a sentence of their own. */
const FAILURES = new Map([
  ["peer_offline", "its machine is offline"],
  ["grant_expired", "the loan has ended"],
  ["grant_revoked", "the loan was withdrawn"],
  ["policy_changed", "what it may do has changed and a person has to agree again"],
  ["catalog_changed", "what it offers has changed and a person has to agree again"],
  ["rate_limited", "its model answers too many requests at the moment"],
  ["busy", "it is busy"],
]);

/**
 * @param {readonly string[]|null|undefined} permissions
 * @returns {string} "be asked, be stopped and be watched"
 */
export function allowed(permissions) {
  const words = [...ALLOWS].filter(([word]) => permissions?.includes(word)).map(([, text]) => text);
  if (words.length < 2) return words[0] ?? "do nothing";
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/**
 * @param {RoomEvent} event
 * @param {ReadonlyMap<string, Member>} members
 * @returns {Line|null} null for events that are not shown as a line
 */
export function lineOf(event, members) {
  const { payload } = event;
  const actor = namedActor(members, event);
  const member = named(members, payload.member_id);
  switch (event.kind) {
    case "room.created":
      return line("spark", "plain", "created", [
        named(members, payload.founder?.member_id, payload.founder) ?? actor,
        " made this room",
      ]);
    case "room.renamed":
      return line("pencil", "plain", "renamed", [
        actor, " named this room ", { name: payload.name, id: event.room_id },
      ]);
    case "room.disbanded":
      return line("lock", "bad", "disbanded", [actor, " closed this room"]);
    case "member.joined":
      return joined(event, actor, members);
    case "member.left":
      return left(event, actor, member);
    case "member.muted":
      return line("mute", "plain", payload.muted ? "muted" : "unmuted", [
        actor, payload.muted ? " muted " : " lets ", member, payload.muted ? "" : " speak again",
      ]);
    case "invitation.issued":
      return line("link", "plain", "invited", [actor, " made an invitation"]);
    case "invitation.revoked":
      return line("link", "plain", "uninvited", [actor, " took an invitation back"]);
    case "route.registered":
      return lent(event, members, member);
    case "grant.revoked":
    case "route.revoked":
      return line("withdrawn", "warn", "withdrawn", [
        member, " was withdrawn", ...said(payload.reason),
      ]);
    case "policy.changed":
      return line("rules", "plain", "policy", [actor, ` changed the rules: ${rules(payload)}`]);
    case "turn.failed":
      return failed(event, member);
    case "turn.cancelled":
      return line("stop", "warn", "cancelled", [member, " was stopped"]);
    case "turn.passed":
      return line("pass", "plain", "passed", [member, " had nothing to add"]);
    case "turn.uncertain":
      return line("warn", "warn", "uncertain", [
        "Nobody knows whether ", member, " finished its answer",
      ]);
    case "proposal.voided":
      return line("trash", "plain", "voided", [actor, " discarded a message that was waiting"]);
    default:
      return null;
  }
}

/**
 * A line for what signals said: coming, going, the host.
 * @param {{what: string, member_id: string|null, reason: string|null}} notice
 * @param {ReadonlyMap<string, Member>} members
 * @returns {Line|null}
 */
export function lineOfNotice(notice, members) {
  const member = named(members, notice.member_id);
  switch (notice.what) {
    case "offline":
      return line("offline", "warn", "offline", [member, " is offline"]);
    case "online":
      return line("online", "good", "online", [member, " is back online"]);
    case "authority_down":
      return line("offline", "warn", "offline", ["The room’s host cannot be reached"]);
    case "authority_up":
      return line("online", "good", "online", ["The room’s host can be reached again"]);
    case "reloaded":
      return line("reload", "warn", "reloaded", [
        "This page fell behind, so the room was read again from the log",
      ]);
    default:
      return null;
  }
}

/**
 * @param {string} icon
 * @param {Line["tone"]} tone
 * @param {string} state
 * @param {(Part|null|undefined)[]} parts
 * @returns {Line}
 */
function line(icon, tone, state, parts) {
  const shown = /** @type {Part[]} */ (parts.map((part) => part ?? "A member"));
  return { icon, tone, state, parts: shown.filter((part) => part !== "") };
}

/**
 * @param {ReadonlyMap<string, Member>} members
 * @param {string|null|undefined} member_id
 * @param {{display_name?: string}} [seat]
 * @returns {Named|null}
 */
function named(members, member_id, seat) {
  if (typeof member_id !== "string") return null;
  const name = members.get(member_id)?.display_name ?? seat?.display_name ?? "";
  return withHandle(members, { name, id: member_id });
}

/**
 * @param {ReadonlyMap<string, Member>} members
 * @param {RoomEvent} event
 * @returns {Named}
 */
function namedActor(members, { actor }) {
  return withHandle(members, { name: actor.display_name, id: actor.id });
}

/** @type {WeakMap<ReadonlyMap<string, Member>, ReadonlySet<string>>} */
const shared = new WeakMap();

/**
 * Adds the handle where several members have one name: a line must say which of them it means.
 * @param {ReadonlyMap<string, Member>} members
 * @param {Named} who
 * @returns {Named}
 */
function withHandle(members, who) {
  let names = shared.get(members);
  if (names === undefined) {
    const all = [...members.values()].map((member) => skeleton(member.display_name));
    names = new Set(all.filter((name, at) => all.indexOf(name) !== at));
    shared.set(members, names);
  }
  const handle = members.get(who.id)?.handle;
  return handle && names.has(skeleton(who.name)) ? { ...who, handle } : who;
}

/**
 * What an agent may do here. Only a loan is worth a line: an agent of the host is at home, and
 * the event itself comes again whenever a grant within the loan is renewed.
 * @param {RoomEvent} event
 * @param {ReadonlyMap<string, Member>} members
 * @param {Named|null} member
 * @returns {Line|null}
 */
function lent({ payload }, members, member) {
  const loan = members.get(payload.member_id)?.lent;
  if (!loan) return null;
  return line("handshake", "good", "lent", [
    member, ` may ${allowed(payload.permissions)} here`,
    ...(loan.until ? [" until ", { until: loan.until }] : []),
  ]);
}

/**
 * @param {RoomEvent} event
 * @param {Named} actor
 * @param {ReadonlyMap<string, Member>} members
 * @returns {Line}
 */
function joined(event, actor, members) {
  const seat = event.payload.member ?? {};
  const who = withHandle(members, { name: seat.display_name ?? "", id: seat.member_id ?? "" });
  const where = { name: seat.install_name ?? "", id: seat.install_id ?? "" };
  if (event.payload.invitation_id) {
    const how = seat.kind === "agent" ? " was lent to this room from " : " joined from ";
    return line("joined", "good", "joined", [who, how, where, " by invitation"]);
  }
  if (seat.kind === "agent" && actor.id !== who.id) {
    return line("joined", "good", "joined", [actor, " added ", who, " on ", where]);
  }
  return line("joined", "good", "joined", [who, " joined from ", where]);
}

/**
 * @param {RoomEvent} event
 * @param {Named} actor
 * @param {Named|null} member
 * @returns {Line}
 */
function left(event, actor, member) {
  return event.payload.reason === "removed"
    ? line("left", "warn", "removed", [actor, " removed ", member])
    : line("left", "plain", "left", [member ?? actor, " left"]);
}

/**
 * @param {RoomEvent} event
 * @param {Named|null} member
 * @returns {Line}
 */
function failed(event, member) {
  const { reason, message } = event.payload;
  if (reason === "budget_spent") {
    return line("loop", "warn", "stopped", [
      "Stopped: loop. ", member, " was not asked, because the agents had answered each other",
      " often enough. A message from a person starts anew",
    ]);
  }
  const known = FAILURES.get(reason);
  const why = known ?? { quote: String(message || reason || "no reason was given") };
  return line("warn", "bad", "failed", [member, " could not answer: ", why]);
}

/**
 * @param {unknown} reason
 * @returns {Part[]}
 */
function said(reason) {
  if (typeof reason !== "string" || ["", "revoked", "withdrawn"].includes(reason)) return [];
  return [": ", { quote: reason.replaceAll("_", " ") }];
}

/** @param {Record<string, any>} payload */
function rules(payload) {
  const { invite, budget, turns } = payload.policy ?? {};
  const words = [];
  if (invite) words.push(invite === "owner" ? "only the owner invites" : "members may invite");
  if (budget) words.push(`at most ${budget} agent answers in a row`);
  if (turns === "mention") words.push("agents answer when mentioned");
  return words.join(", ") || "no change";
}
