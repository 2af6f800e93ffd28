/**
 * Times in words. Every instant is an integer of milliseconds since 1970, as on the wire.
 *
 * The times of messages are the authority's (`admitted_at`), so that two readers see the same
 * order with the same clock; only durations ("for 3 min") use this machine's clock. `now` is
 * always an argument here.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/**
 * @param {string} name
 * @param {Intl.DateTimeFormatOptions} options
 */
function format(name, options) {
  let made = formats.get(name);
  if (made === undefined) {
    made = new Intl.DateTimeFormat(undefined, options);
    formats.set(name, made);
  }
  return made;
}

/**
 * "14:05", or as the reader's language writes it
 * @param {number} at_ms
 */
export function clock(at_ms) {
  return format("clock", { hour: "numeric", minute: "2-digit" }).format(at_ms);
}

/**
 * A full date and time, for titles.
 * @param {number} at_ms
 */
export function fullTime(at_ms) {
  return format("full", { dateStyle: "full", timeStyle: "medium" }).format(at_ms);
}

/**
 * A key that changes at local midnight.
 * @param {number} at_ms
 */
export function dayKey(at_ms) {
  const day = new Date(at_ms);
  return `${day.getFullYear()}-${day.getMonth() + 1}-${day.getDate()}`;
}

/**
 * "Today", "Yesterday", "Friday, 12 September"
 * @param {number} at_ms
 * @param {number} now_ms
 */
export function dayName(at_ms, now_ms) {
  if (dayKey(at_ms) === dayKey(now_ms)) return "Today";
  if (dayKey(at_ms) === dayKey(now_ms - DAY_MS)) return "Yesterday";
  const sameYear = new Date(at_ms).getFullYear() === new Date(now_ms).getFullYear();
  const name = sameYear ? "day" : "dayYear";
  return format(name, {
    weekday: "long",
    day: "numeric",
    month: "long",
    ...(sameYear ? {} : { year: "numeric" }),
  }).format(at_ms);
}

/**
 * "14:05" today, "Fri 14:05" within a week, "12 Sep 14:05" otherwise; past and future.
 * @param {number} at_ms
 * @param {number} now_ms
 */
export function moment(at_ms, now_ms) {
  if (dayKey(at_ms) === dayKey(now_ms)) return clock(at_ms);
  const within = Math.abs(at_ms - now_ms) < 6 * DAY_MS;
  const day = within
    ? format("weekday", { weekday: "short" }).format(at_ms)
    : format("date", { day: "numeric", month: "short" }).format(at_ms);
  return `${day} ${clock(at_ms)}`;
}

/**
 * "just now", "3 min", "2 h", "5 days"
 * @param {number} span_ms
 */
export function duration(span_ms) {
  const span = Math.max(0, span_ms);
  if (span < MINUTE_MS) return `${Math.floor(span / 1000)} s`;
  if (span < HOUR_MS) return `${Math.floor(span / MINUTE_MS)} min`;
  if (span < 2 * DAY_MS) return `${Math.floor(span / HOUR_MS)} h`;
  return `${Math.floor(span / DAY_MS)} days`;
}

/**
 * "just now" or "3 min ago"
 * @param {number} at_ms
 * @param {number} now_ms
 */
export function ago(at_ms, now_ms) {
  return now_ms - at_ms < MINUTE_MS ? "just now" : `${duration(now_ms - at_ms)} ago`;
}

/**
 * "in 23 h" or "3 min ago"
 * @param {number} at_ms
 * @param {number} now_ms
 */
export function until(at_ms, now_ms) {
  // Half a minute of patience: what was made for a day ends "in 24 h", not "in 23 h".
  return at_ms > now_ms ? `in ${duration(at_ms - now_ms + 30_000)}` : ago(at_ms, now_ms);
}

/**
 * The end of the coming Friday, for loans "until Friday".
 * @param {number} now_ms
 */
export function endOfFriday(now_ms) {
  const day = new Date(now_ms);
  const ahead = (5 - day.getDay() + 7) % 7;
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + ahead, 23, 59).getTime();
}
