/**
 * Light, dark, or as the system says. A classic script in the head, so that the right colours
 * are there before the first paint. The choice is an attribute of <html>; the style sheet does
 * the rest. The choice is kept for this address, for every install that lives on it.
 */
(() => {
  const KEY = "roommesh:theme";
  const root = document.documentElement;

  /** @returns {"light"|"dark"|"system"} */
  function chosen() {
    try {
      const theme = localStorage.getItem(KEY);
      return theme === "light" || theme === "dark" ? theme : "system";
    } catch {
      return "system";
    }
  }

  /** @param {"light"|"dark"|"system"} theme */
  function choose(theme) {
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
    try {
      if (theme === "system") localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, theme);
    } catch {
      return; // Storage is forbidden here: the choice holds until the page is closed.
    }
  }

  choose(chosen());
  Object.assign(window, { roommeshTheme: { chosen, choose } });
})();
