/**
 * Copying, and which button says "Copied" for a moment.
 */

const COPIED_MS = 1_800;

export class Clipboard {
  /** @param {() => void} redraw */
  constructor(redraw) {
    this.redraw = redraw;
    this.copied = "";
  }

  /**
   * @param {string} text
   * @param {string} key which button it is
   * @returns {Promise<boolean>} false when the browser does not let the page copy
   */
  async copy(text, key) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      return false;
    }
    this.copied = key;
    setTimeout(() => {
      if (this.copied === key) this.copied = "";
      this.redraw();
    }, COPIED_MS);
    this.redraw();
    return true;
  }
}
