/**
 * Where the page is, as the fragment of its address says: a room, this machine, or the rooms.
 */

/**
 * @typedef {{name: "rooms"}|{name: "room", room_id: string}|{name: "node"}} Route
 */

/**
 * @param {string} hash
 * @returns {Route}
 */
export function routeOf(hash) {
  const room = /^#\/r\/([^/]+)$/.exec(hash);
  if (room) return { name: "room", room_id: unescaped(room[1] ?? "") };
  return hash === "#/node" ? { name: "node" } : { name: "rooms" };
}

/**
 * @param {string} room_id
 * @returns {string} the fragment that leads to a room
 */
export function hashOfRoom(room_id) {
  return `#/r/${encodeURIComponent(room_id)}`;
}

/** @param {string} text */
function unescaped(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // Not written by this page: it will name no room.
  }
}
