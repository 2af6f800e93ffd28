/**
 * Keeps the page as tall as what is really visible, so that the message field stays above the
 * keyboard of a phone also in browsers that let the keyboard lie over the page.
 */

export function followViewport() {
  const viewport = window.visualViewport;
  if (!viewport) return;
  const fit = () => {
    const isZoomed = viewport.scale > 1.01;
    const height = isZoomed ? "" : `${Math.round(viewport.height)}px`;
    document.documentElement.style.setProperty("--visible-height", height || "100dvh");
    // iOS scrolls the page under the keyboard; the page itself never scrolls.
    if (!isZoomed) window.scrollTo(0, 0);
  };
  viewport.addEventListener("resize", fit);
  viewport.addEventListener("scroll", fit);
  fit();
}
