/**
 * New ids, from the browser's secure randomness.
 *
 * The page mints `event_id` and `request_id` before it asks, so that asking again after a lost
 * answer can never do a thing twice.
 */

/**
 * @param {"evt"|"req"} prefix
 * @returns {string} the prefix, an underscore and 128 random bits in hex
 */
export function newId(prefix) {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${prefix}_${hex}`;
}
