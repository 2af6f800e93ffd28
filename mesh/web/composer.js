/**
 * Where a message is written: the text, kept per room, and the completion of mentions.
 *
 * Enter sends, Shift+Enter makes a line. While a mention is typed, arrows choose, Enter or Tab
 * takes, Escape closes. Before sending it says what will happen: who is offline, who is not in
 * this room. What cannot be written (listener, muted, closed room) is said instead of a field.
 *
 * @import { Page } from "./page.js"
 * @import { RoomFeed } from "./room_feed.js"
 * @import { Query, Suggestion } from "./mentions.js"
 */

import { live } from "./vendor/lit-html/directives/live.js";
import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { icon } from "./icon.js";
import { nameOf, presenceWords } from "./marks.js";
import { present } from "./member.js";
import {
  byHandle, completed, mentioned, queryAt, suggestions, unknownMentions,
} from "./mentions.js";
import { cleanName, shownName } from "./names.js";
import { suggestionList } from "./suggestion_list.js";

/** Longest text of a message, in bytes of UTF-8: the node refuses more. */
export const TEXT_BYTES_MAX = 128 * 1024;

/** @param {string} text */
function isTooLong(text) {
  if (text.length * 3 <= TEXT_BYTES_MAX) return false;
  return new TextEncoder().encode(text).length > TEXT_BYTES_MAX;
}

export class Composer {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    /** @type {Map<string, string>} texts by room */
    this.texts = new Map();
    /** @type {Query|null} */
    this.query = null;
    /** @type {Suggestion[]} */
    this.found = [];
    this.at = 0;
  }

  /** @param {string} room_id */
  text(room_id) {
    let text = this.texts.get(room_id);
    if (text === undefined) {
      text = this.page.preferences.draft(room_id);
      this.texts.set(room_id, text);
    }
    return text;
  }

  /** @returns {HTMLTextAreaElement|null} */
  get field() {
    return document.querySelector("[data-role=composer-text]");
  }

  focus() {
    this.field?.focus();
  }

  /**
   * @param {RoomFeed} feed
   * @returns {unknown}
   */
  view(feed) {
    const closed = closedWords(feed);
    if (closed) {
      return html`<div class="composer closed" data-role="composer-closed">${closed}</div>`;
    }
    const text = this.text(feed.room_id);
    const isOpen = this.query !== null && this.found.length > 0;
    return html`<form class="composer" data-role="composer"
      @submit=${(/** @type {Event} */ event) => this.#submit(event, feed)}>
      ${isOpen
        ? suggestionList(this.found, this.at, this.page.now(), (handle) => this.#take(feed, handle))
        : nothing}
      <div class="hint" role="status" data-role="hint">${this.#hint(feed, text)}</div>
      <div class="field">
        <textarea data-role="composer-text" rows="1" enterkeyhint="send" autocomplete="off"
          dir="auto" spellcheck="true"
          placeholder="Write a message"
          aria-label="Message to ${shownName(feed.state.room.name, feed.room_id)}"
          aria-autocomplete="list" aria-controls=${isOpen ? "suggestions" : nothing}
          aria-activedescendant=${isOpen ? `suggestion-${this.at}` : nothing}
          .value=${live(text)}
          @input=${() => this.#typed(feed)}
          @click=${() => this.#look(feed)}
          @blur=${() => this.#close()}
          @keydown=${(/** @type {KeyboardEvent} */ event) => this.#key(event, feed)}
        ></textarea>
        <button type="submit" class="button primary send" data-role="send" aria-label="Send"
          title="Send (Enter)"
          ?disabled=${text.trim() === "" || isTooLong(text)}>${icon("send")}</button>
      </div>
    </form>`;
  }

  /**
   * Puts a mention where the caret is.
   * @param {string} handle
   */
  insertMention(handle) {
    const { field } = this;
    const { feed } = this.page;
    if (!field || !feed) return;
    const at = field.selectionStart;
    const before = field.value.slice(0, at);
    const space = before === "" || /\s$/.test(before) ? "" : " ";
    const put = `${space}@${handle} `;
    this.#put(feed, before + put + field.value.slice(field.selectionEnd), at + put.length);
  }

  /**
   * @param {RoomFeed} feed
   * @param {string} text
   * @param {number} caret
   */
  #put(feed, text, caret) {
    const { field } = this;
    this.#keep(feed.room_id, text);
    this.#close();
    if (!field) return;
    field.value = text;
    field.focus();
    field.setSelectionRange(caret, caret);
    this.page.redraw();
  }

  /**
   * @param {string} room_id
   * @param {string} text
   */
  #keep(room_id, text) {
    this.texts.set(room_id, text);
    this.page.preferences.setDraft(room_id, text);
  }

  /** @param {RoomFeed} feed */
  #typed(feed) {
    if (this.field) this.#keep(feed.room_id, this.field.value);
    this.#look(feed);
  }

  /**
   * Whether a mention is being typed at the caret.
   * @param {RoomFeed} feed
   */
  #look(feed) {
    const { field } = this;
    if (!field) return;
    const query = queryAt(field.value, field.selectionStart);
    this.found = query ? suggestions(query.word, present(feed.state.members)) : [];
    if (query?.start !== this.query?.start || this.at >= this.found.length) this.at = 0;
    this.query = query;
    this.#say();
  }

  /** A field of several lines cannot be a combobox: what is chosen is said instead. */
  #say() {
    const chosen = this.found[this.at];
    if (chosen) {
      this.page.announcement = `@${chosen.handle}, ${this.at + 1} of ${this.found.length}`;
    }
    this.page.redraw();
  }

  #close() {
    if (this.query === null) return;
    this.query = null;
    this.found = [];
    this.page.redraw();
  }

  /**
   * @param {KeyboardEvent} event
   * @param {RoomFeed} feed
   */
  #key(event, feed) {
    if (event.isComposing) return; // An input method is choosing letters: Enter belongs to it.
    const isOpen = this.query !== null && this.found.length > 0;
    if (isOpen && this.#choose(event, feed)) {
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      this.#send(feed);
    }
  }

  /**
   * @param {KeyboardEvent} event
   * @param {RoomFeed} feed
   * @returns {boolean} true when the key was for the list
   */
  #choose(event, feed) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      this.at = (this.at + step + this.found.length) % this.found.length;
      this.#say();
      return true;
    }
    if (event.key === "Escape") {
      this.#close();
      return true;
    }
    if (event.key !== "Tab" && event.key !== "Enter") return false;
    const suggestion = this.found[this.at];
    if (event.shiftKey || suggestion === undefined) return false;
    this.#take(feed, suggestion.handle);
    return true;
  }

  /**
   * @param {RoomFeed} feed
   * @param {string} handle
   */
  #take(feed, handle) {
    if (this.query === null) return;
    const { text, caret } = completed(this.text(feed.room_id), this.query, handle);
    this.#put(feed, text, caret);
  }

  /**
   * @param {Event} event
   * @param {RoomFeed} feed
   */
  #submit(event, feed) {
    event.preventDefault();
    this.#send(feed);
    this.focus();
  }

  /** @param {RoomFeed} feed */
  #send(feed) {
    const text = this.text(feed.room_id).trim();
    if (text === "" || isTooLong(text)) return;
    this.#keep(feed.room_id, "");
    this.#close();
    this.page.rooms.answered();
    this.page.rooms.outgoing.send(feed.room_id, text);
    this.page.scroll.toFoot();
  }

  /**
   * @param {RoomFeed} feed
   * @param {string} text
   */
  #hint(feed, text) {
    if (isTooLong(text)) {
      return html`${icon("warn")}<span>This is longer than a message may be (128 KiB).</span>`;
    }
    if (this.query !== null || !text.includes("@")) return nothing;
    const handles = byHandle(feed.state.members.values());
    const away = mentioned(text, handles).find((member) =>
      member.kind === "agent" && member.presence !== "online");
    if (away) {
      return html`${icon("offline")}<span>${nameOf(away.display_name, away.member_id)} is
        ${presenceWords(away, this.page.now())}.
        ${away.presence === "offline" ? "It answers when it is back." : nothing}</span>`;
    }
    const unknown = unknownMentions(text, handles)[0];
    return unknown === undefined ? nothing
      : html`${icon("warn")}<span>Nobody here is called <bdi>@${cleanName(unknown)}</bdi>.</span>`;
  }
}

/**
 * Why nothing can be written, or null.
 * @param {RoomFeed} feed
 */
function closedWords(feed) {
  const { room, members, stated } = feed.state;
  const me = room.me ? members.get(room.me) : undefined;
  if (room.disbanded_at !== null) return "This room was closed. Nothing can be written any more.";
  if (me?.muted) return "The owner muted you: you can read, and write again when that ends.";
  if (room.role === "listener") return "You listen here. The owner can make you a member.";
  if (stated && (room.me === null || me?.presence === "left")) return "You left this room.";
  return null;
}
