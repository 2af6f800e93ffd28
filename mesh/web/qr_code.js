/**
 * The picture of an invitation link, read from the SVG text that the node sends.
 *
 * The text is not put into the page: only its size and the data of its paths are taken, checked
 * against the few letters that path data needs, and the view draws them as elements of its own.
 * So the policy `default-src 'self'` needs no exception, and no markup from a string. Pure.
 */

/** Largest side of a QR code in units, with its quiet zone, at any sensible scale. */
const SIDE_MAX = 4_000;

/**
 * @typedef {{data: string, is_line: boolean, scale: number}} QrPath
 * @typedef {{side: number, paths: QrPath[]}} QrCode
 */

/**
 * @param {unknown} svg
 * @returns {QrCode|null} null when the text is not the kind of picture we draw
 */
export function readQrCode(svg) {
  if (typeof svg !== "string" || svg.length > 400_000) return null;
  const head = /<svg\b[^>]*>/.exec(svg)?.[0] ?? "";
  const box = /\bviewBox="0 0 (\d+(?:\.\d+)?) (\d+(?:\.\d+)?)"/.exec(head);
  const size = /\bwidth="(\d+(?:\.\d+)?)/.exec(head);
  const side = Number(box?.[1] ?? size?.[1] ?? 0);
  if (!(side > 0 && side <= SIDE_MAX)) return null;
  const paths = [...svg.matchAll(/<path\b[^>]*>/g)].flatMap(([tag]) => pathOf(tag) ?? []);
  return paths.length > 0 ? { side, paths } : null;
}

/**
 * @param {string} tag
 * @returns {QrPath|null}
 */
function pathOf(tag) {
  const data = /\bd="([MmHhVvLlZz0-9 .,-]+)"/.exec(tag)?.[1];
  if (data === undefined) return null;
  const fill = /\bfill="([^"]*)"/.exec(tag)?.[1];
  const is_line = /\bstroke="/.test(tag);
  // A light background comes as a filled path: the view gives the code its own background.
  if (!is_line && /^(#fff(fff)?|white)$/i.test(fill ?? "")) return null;
  const scale = Number(/\btransform="scale\((\d+(?:\.\d+)?)\)"/.exec(tag)?.[1] ?? 1);
  return { data, is_line, scale };
}
