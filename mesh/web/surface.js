/**
 * The shapes that the node and the page exchange, as types only (docs/surface.md is the contract).
 *
 * This file holds no code that runs. Fields keep the names they have on the wire, so that a
 * reader finds the same word in the page, in the protocol and in the log.
 *
 * @typedef {"online"|"offline"|"joining"|"withdrawn"|"left"} Presence
 *
 * @typedef {{
 *   room_id: string, name: string, members: number, authority_gateway_id: string,
 *   authority_epoch: number, revision: number, created_at: number, updated_at: number,
 *   latest_seq: number, protected_seq: number, disbanded_at: number|null, copy: boolean,
 *   me: string|null, role: "owner"|"member"|"listener"|null
 * }} Room
 *
 * @typedef {{
 *   kind: "person"|"agent"|"system", id: string, display_name: string, handle: string,
 *   install_id: string
 * }} Actor
 *
 * @typedef {{root: string, hop: number, turn_id?: string}} Cause
 *
 * @typedef {{
 *   room_id: string, seq: number, event_id: string, kind: string, actor: Actor,
 *   authority_epoch: number, payload: Record<string, any>, cause: Cause|null,
 *   created_at: number, admitted_at: number, prev_hash: string, hash: string,
 *   level: "local"|"protected"
 * }} RoomEvent
 *
 * @typedef {"queued"|"dispatched"|"running"|"settled"|"passed"|"failed"|"cancelled"|"uncertain"|
 *   "offline"|"stopping"} TurnState
 *
 * @typedef {{
 *   turn_id: string, member_id: string, root: string, trigger_seq: number, attempt: number,
 *   hop: number, state: TurnState, since: number, reason: string|null, message: string|null
 * }} Turn
 *
 * @typedef {{permissions: string[], until: number|null}} Lent
 *
 * @typedef {{
 *   member_id: string, handle: string, display_name: string, kind: "person"|"agent",
 *   role: string, install_id: string, install_name: string, profile: string|null,
 *   muted: boolean, me: boolean, mine: boolean, joined_at: number, presence: Presence,
 *   presence_since: number|null, reason: string|null, lent: Lent|null, turn: Turn|null
 * }} Member
 *
 * @typedef {{
 *   event_id: string, kind: string, text: string, queued_at: number,
 *   state: "waiting"|"sent"|"refused", reason: string|null
 * }} Queued
 *
 * @typedef {{gateway_id: string, epoch: number, mode?: string,
 *   link?: "local"|"up"|"down", since?: number}} Authority
 *
 * @typedef {{turns?: string, budget?: number, invite?: "owner"|"members"}} Policy
 *
 * @typedef {{
 *   room: Room, members: Member[], authority: Authority, voters: any[], latest_seq: number,
 *   protected_seq: number, turns: Turn[], outbox: Queued[], policy: Policy, branches: any[]
 * }} RoomAnswer
 *
 * @typedef {{kind: string, [field: string]: any}} Signal
 *
 * @typedef {{
 *   invitation_id: string, room_id: string, room_name: string, role: string, uses: number,
 *   used: number, state: "open"|"used"|"expired"|"revoked", created_at: number,
 *   expires_at: number, issuer: {member_id: string, display_name: string},
 *   previewed_at: number|null,
 *   redeemed_by: {member_id: string, display_name: string, at: number}[]
 * }} Invitation
 *
 * @typedef {{
 *   invitation_id: string, link: string, reach: "this_machine"|"lan"|"public",
 *   expires_at: number, qr_svg: string
 * }} NewInvitation
 *
 * @typedef {{
 *   room_name: string, room_id: string,
 *   inviter: {display_name: string, install_id: string, install_name: string}, role: string,
 *   uses_left: number, expires_at: number, members: any, already_member: boolean,
 *   server_time: number
 * }} Preview
 *
 * @typedef {{
 *   request_id: string, operation: string,
 *   status: "pending"|"applied"|"rejected"|"uncertain", reason: string|null,
 *   message: string|null, result: any, created_at: number, updated_at: number
 * }} Receipt
 *
 * @typedef {{
 *   name: string, display_name: string, description: string, backend: string,
 *   state: "ready"|"starting"|"failed", reason: string|null, rooms: any
 * }} ProfileStatus
 *
 * @typedef {{
 *   grant_id: string, direction: "issued"|"held", room_id: string, room_name: string,
 *   member_id: string, handle: string, profile: string, permissions: string[],
 *   home_install_id: string, target_install_id: string, issued_at: number,
 *   expires_at: number, until: number|null, state: "active"|"expired"|"revoked",
 *   last_used_at: number|null
 * }} Grant
 *
 * @typedef {{
 *   install_id: string, boot_id: string, version: string, name: string,
 *   operator: {member_name: string}, listen: string[], lan: boolean, lan_urls: string[],
 *   fingerprint: string, started_at_ms: number, home: string
 * }} NodeFacts
 *
 * @typedef {{
 *   install_id: string, name: string, state: "up"|"down", address: string, since_ms: number,
 *   reason: string|null
 * }} LinkStatus
 *
 * @typedef {{
 *   install_id: string, name: string, ready: boolean, rooms: any, links: LinkStatus[],
 *   profiles: ProfileStatus[],
 *   sightings: {install_id: string, name: string, address: string}[],
 *   storage: {events: number, queue: number}, warnings: string[]
 * }} NodeStatus
 *
 * @typedef {{
 *   session_id: string, created_at: number, last_seen_at: number, user_agent: string,
 *   current: boolean
 * }} BrowserSession
 */

export {};
