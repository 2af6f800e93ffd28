/**
 * The beginning: which page this is, whether the browser is signed in, and the first drawing.
 *
 * `/#login=SECRET` signs in, `/i#...` is an invitation, everything else is the rooms. This is
 * the only file that knows all three and the only one that calls lit-html's render.
 */

import { render } from "./vendor/lit-html/lit-html.js";
import { Clipboard } from "./clipboard.js";
import { GuestInvitation } from "./invitation.js";
import { invitePage } from "./invite_page.js";
import { listenToKeys } from "./keyboard.js";
import { login, nodeFacts, takeLoginSecret } from "./login.js";
import { loginView } from "./login_view.js";
import { Page } from "./page.js";
import { asProblem, Problem } from "./problem.js";
import { titleOf } from "./room_view.js";
import { shellView } from "./shell_view.js";
import { followViewport } from "./viewport.js";

const root = /** @type {HTMLElement} */ (document.getElementById("page"));

/** @param {Problem} problem */
function showLogin(problem) {
  document.title = "Sign in · roommesh";
  const draw = () => render(
    loginView(problem, {
      isCopied: clipboard.copied !== "",
      copy: (text) => void clipboard.copy(text, "command"),
      retry: () => location.reload(),
    }),
    root,
  );
  const clipboard = new Clipboard(draw);
  draw();
}

function showInvitation() {
  document.title = "Invitation · roommesh";
  const draw = () => render(
    invitePage(invitation, {
      isCopied: clipboard.copied !== "",
      copy: (text) => void clipboard.copy(text, "command"),
    }),
    root,
  );
  const clipboard = new Clipboard(draw);
  const invitation = new GuestInvitation(location.href, draw);
  void invitation.read();
}

/** @param {import("./surface.js").NodeFacts} facts */
function showRooms(facts) {
  let isOver = false;
  const page = new Page(
    facts,
    () => {
      if (isOver) return;
      render(shellView(page), root);
      document.title = titleOf(page);
    },
    () => {
      isOver = true;
      showLogin(new Problem("login_required", "This browser was signed out."));
    },
  );
  listenToKeys(page);
  page.start();
}

async function begin() {
  const secret = takeLoginSecret(location, history);
  followViewport();
  if (location.pathname === "/i") {
    showInvitation();
    return;
  }
  /** @type {Problem|null} */
  let refused = null;
  if (secret !== null) {
    try {
      await login(secret);
    } catch (thrown) {
      refused = asProblem(thrown);
    }
  }
  try {
    showRooms(await nodeFacts());
  } catch (thrown) {
    showLogin(refused ?? asProblem(thrown));
  }
}

addEventListener("hashchange", () => {
  // A new link, to sign in or an invitation, that was opened in a page which is open already.
  const isInvitation = location.pathname === "/i" && location.hash.length > 1;
  if (isInvitation || location.hash.startsWith("#login=")) location.reload();
});
void begin();
