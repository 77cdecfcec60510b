import { Announcer } from "./announcer.js";
import { Composer } from "./composer.js";
import { Context } from "./context.js";
import { Conversation } from "./conversation.js";
import { Conversations } from "./conversations.js";
import { make } from "./dom.js";
import { failure } from "./failure.js";
import { head, limits, offlineNote, waiting } from "./frame.js";
import { HistoryList } from "./history.js";
import { KeyDialog } from "./key.js";
import { Log } from "./log.js";
import { PassagePanel } from "./passage.js";
import { Problem } from "./problem.js";
import { Reader } from "./reader.js";
import { Service } from "./service.js";
import { SettingsDialog } from "./settings.js";
import { Store } from "./store.js";
import { Theme } from "./theme.js";

/**
 * @typedef {object} Options
 * @property {string} endpoint
 * @property {string | null} book
 * @property {string | null} key
 * @property {string} heading
 * @property {string | null} theme
 * @property {boolean} closable
 * @property {boolean} onPage Whether the page around may hold what is asked about.
 */

/** What is inside the element's shadow: the conversation, and what stands around it. */
export class Chat {
  /** @param {HTMLElement} host @param {Options} options */
  constructor(host, options) {
    this.host = host;
    this.options = options;
    this.ended = new AbortController();
    /** @type {Promise<void>} */
    this.ready = Promise.resolve();
    const store = new Store(new URL(options.endpoint, location.href).host);
    const say = (/** @type {string} */ words) => this.announcer.say(words);

    this.announcer = new Announcer();
    this.keyDialog = new KeyDialog(store);
    this.service = new Service(options.endpoint, options.key ?? this.keyDialog.remembered);
    this.service.isPages = Boolean(options.key);
    if (!options.key) this.service.askForKey = (problem) => this.keyDialog.ask(problem);
    this.reader = new Reader(store, options.book);
    this.theme = new Theme(host, store, options.theme);
    this.kept = new Conversations(store);
    this.passage = new PassagePanel(this.service, { say, changed: () => this.arrange() });
    this.log = new Log();
    this.context = new Context(store, { say, focus: () => this.composer.focus() });
    if (options.onPage) this.context.showPage();
    this.composer = new Composer(
      {
        begin: () => this.conversation.prepareEarly(),
        ask: (question) => void this.conversation.ask(question),
        stop: () => this.conversation.stop(),
      },
      this.context,
    );
    this.conversation = new Conversation({
      service: this.service,
      reader: this.reader,
      store,
      kept: this.kept,
      log: this.log,
      composer: this.composer,
      context: this.context,
      passage: this.passage,
      ready: () => this.ready,
      say,
      emit: (name, detail) => this.emit(name, detail),
      changed: () => this.showBook(),
    });
    this.history = this.makeHistory();
    this.settings = new SettingsDialog(this.reader, this.theme, {
      bookChosen: () => this.conversation.startAnew(false),
      partsChosen: () => this.limits.show(this.reader.inWords),
    });
    this.limits = limits(() => {
      this.reader.clear();
      this.limits.show("");
      this.composer.focus();
    });
    this.head = head({
      list: () => this.showList(!this.isListing),
      settings: () => this.settings.open(),
      theme: this.theme,
      close: options.closable ? () => this.emit("dismiss") : null,
    });
    this.main = make(
      "div",
      { class: "main" },
      this.head.element,
      offlineNote(this.ended.signal),
      this.log.element,
      this.limits.element,
      this.composer.element,
    );
    this.element = make(
      "div",
      {
        class: "shell",
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.onKey(event),
        onclick: (/** @type {Event} */ event) => this.onClick(event),
      },
      this.history.element,
      this.main,
      this.passage.element,
      this.announcer.element,
      this.settings.element,
      this.keyDialog.element,
    );
    this.resizing = new ResizeObserver(() => this.arrange());
    this.resizing.observe(this.element);
  }

  /** Learn which books there are, and go on where this tab was. */
  start() {
    this.ready = this.load();
    return this.ready;
  }

  async load() {
    this.showBook();
    this.log.show(waiting("Opening the book …"));
    try {
      this.reader.setBooks(await this.service.books());
    } catch (thrown) {
      this.log.show(failure(Problem.from(thrown), { retry: () => void this.start() }));
      return;
    }
    await this.conversation.goOn();
  }

  end() {
    this.conversation.stop();
    this.resizing.disconnect();
    this.ended.abort();
  }

  /** @param {string} question */
  async ask(question) {
    if (this.conversation.running) this.composer.write(question);
    else await this.conversation.ask(question);
  }

  makeHistory() {
    return new HistoryList({
      resume: (id) => {
        this.showList(false);
        void this.conversation.resume(id);
      },
      remove: (id) => this.conversation.remove(id),
      startAnew: () => {
        this.showList(false);
        this.conversation.startAnew();
      },
      close: () => this.showList(false),
    });
  }

  showBook() {
    const { book, bookId } = this.reader;
    this.passage.book = bookId;
    this.head.title.textContent = this.options.heading || book?.title || "bythebook";
    this.limits.show(this.reader.inWords);
    this.history.show(this.kept.list(bookId), this.conversation.session);
  }

  get isListing() {
    return this.element.classList.contains("listing");
  }

  /** @param {boolean} shown */
  showList(shown) {
    const was = this.isListing;
    this.element.classList.toggle("listing", shown);
    this.arrange();
    if (shown) this.history.heading.focus();
    else if (was) this.head.list.focus();
  }

  /** What lies under a sheet or drawer can't be reached until it is closed. */
  arrange() {
    const isDrawer = getComputedStyle(this.history.element).getPropertyValue("--drawer").trim() === "1";
    const covered = this.passage.covers;
    const listing = isDrawer && this.isListing;
    this.history.element.inert = covered || (isDrawer && !listing);
    this.main.inert = covered || listing;
  }

  /** A click beside a sheet or drawer closes it: what is covered passes it on. @param {Event} event */
  onClick(event) {
    if (event.target !== this.element) return;
    if (this.passage.covers) this.passage.close();
    else if (this.isListing) this.showList(false);
  }

  /** Escape closes what lies on top, then stops, then leaves. @param {KeyboardEvent} event */
  onKey(event) {
    if (event.key !== "Escape" || event.isComposing) return;
    event.stopPropagation();
    // A dialog closes itself.
    if (this.settings.element.open || this.keyDialog.element.open) return;
    if (this.passage.isOpen) this.passage.close();
    else if (this.isListing) this.showList(false);
    else if (this.conversation.running) this.conversation.stop();
    else if (this.options.closable) this.emit("dismiss");
  }

  /** @param {string} name @param {object} [detail] */
  emit(name, detail = {}) {
    this.host.dispatchEvent(new CustomEvent(`bythebook:${name}`, { bubbles: true, composed: true, detail }));
  }
}
